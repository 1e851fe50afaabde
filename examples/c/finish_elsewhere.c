/*
 * finish_elsewhere.c - the C half of an operation: it ends what Python has
 * enqueued (examples/python/finish_elsewhere.py).
 *
 * What to look at: a token is a number. Whoever has it may end the operation,
 * in any language and on any thread; here it is the printer's. So a completion
 * callback becomes the end of an operation with a function of five lines.
 *
 * SPDX-License-Identifier: MIT
 */
#include "printer.h"

#include "check.h"

void print_page(const char *page, inturn_token token);

/* The printer's completion callback. */
static void finish(void *context, int error) {
  inturn_token token = *(inturn_token *)context;
  free(context);
  if (error)
    CHECK(inturn_token_fail(token, error));
  else
    CHECK(inturn_token_finish(token));
}

/* Starts to print a page; the operation ends when the page is printed. */
void print_page(const char *page, inturn_token token) {
  inturn_token *kept = malloc(sizeof *kept);
  REQUIRE(kept != NULL);
  *kept = token;
  int error = printer_print(page, finish, kept);
  if (error)
    finish(kept, error);
}
