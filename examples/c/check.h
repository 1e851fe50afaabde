/*
 * check.h - what the examples do when something goes wrong: say where, and end.
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

/* A call of the library has to succeed. */
#define CHECK(call) check_((call), #call)

/* Anything else that has to be so. */
#define REQUIRE(condition) require_((condition), #condition, "is not so")

#endif
