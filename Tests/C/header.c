/*
 * header.c - a program that includes inturn.h and nothing before it. It is
 * compiled as each C and C++ that the header promises, with all warnings as
 * errors: the test is that it compiles.
 *
 * SPDX-License-Identifier: MIT
 */
#include "inturn.h"

#include <stdio.h>
#include <stdlib.h>

static void require(bool condition, const char *what) {
  if (condition)
    return;
  fprintf(stderr, "%s does not hold\n", what);
  exit(1);
}

#define REQUIRE(condition) require(condition, #condition)

int main(void) {
  inturn_queue queue = {0};
  inturn_operation operation = {0};
  inturn_token token = {0};
  inturn_executor executor = {0};
  inturn_clock clock = {0};
  inturn_executor_options executor_options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options operation_options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue_statistics of_queue = INTURN_QUEUE_STATISTICS_INIT;
  inturn_library_statistics of_library = INTURN_LIBRARY_STATISTICS_INIT;

  REQUIRE(executor_options.size == sizeof executor_options);
  REQUIRE(queue_options.size == sizeof queue_options);
  REQUIRE(operation_options.size == sizeof operation_options);
  REQUIRE(of_queue.size == sizeof of_queue);
  REQUIRE(of_library.size == sizeof of_library);

  /* Zero selects the default, even if that is not none. */
  REQUIRE(queue_options.settle_ns == 0);
  REQUIRE(queue_options.gap_ns == 0);

  /* Handles have 64 bits; data and taken operations keep their sizes, too. */
  REQUIRE(sizeof queue == 8 && sizeof operation == 8 && sizeof token == 8);
  REQUIRE(sizeof executor == 8 && sizeof clock == 8);
  REQUIRE(sizeof(inturn_datum) == 64 && sizeof(inturn_taken) == 16);

  /* The functions have C names in C++ too, or this would not link. */
  REQUIRE(inturn_version() / 1000000 == INTURN_VERSION / 1000000);
  REQUIRE(inturn_queue_close(queue) == INTURN_E_NULL_HANDLE);
  REQUIRE(inturn_operation_cancel(operation) == INTURN_E_NULL_HANDLE);
  REQUIRE(inturn_token_finish(token) == INTURN_E_NULL_HANDLE);
  REQUIRE(inturn_executor_stop(executor) == INTURN_E_NULL_HANDLE);
  REQUIRE(inturn_clock_destroy(clock) == INTURN_E_NULL_HANDLE);
  return 0;
}
