/*
 * check.h - how the examples handle errors: they say where, and exit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHECK_H
#define CHECK_H

#include <inturn.h>
#include <stdio.h>
#include <stdlib.h>

static inline void require_(bool holds, const char *what, const char *why) {
  if (holds)
    return;
  fprintf(stderr, "%s: %s\n", what, why);
  exit(EXIT_FAILURE);
}

static inline void check_(inturn_status status, const char *call) {
  require_(status == INTURN_OK, call, inturn_status_message(status));
}

/* A call of the library that has to succeed. */
#define CHECK(call) check_((call), #call)

/* Any other condition that has to hold. */
#define REQUIRE(condition) require_((condition), #condition, "is not so")

#endif
