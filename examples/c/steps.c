/*
 * steps.c - the four interactions of the onboarding examples.
 *
 * SPDX-License-Identifier: MIT
 */
#include "steps.h"

#include "check.h"

#include <string.h>

enum { PERMISSION_DENIED = 1, TOO_MANY_TRIES = 2 };

static bool answer_permission(inturn_token token, const char *line) {
  if (strcmp(line, "y") == 0 || strcmp(line, "yes") == 0)
    CHECK(inturn_token_finish(token));
  else if (strcmp(line, "n") == 0 || strcmp(line, "no") == 0)
    CHECK(inturn_token_fail(token, PERMISSION_DENIED));
  else
    return false;
  return true;
}

/* One operation keeps the queue through all tries. */
static bool answer_sign_in(inturn_token token, const char *line) {
  static int tries_left = 3;
  if (strcmp(line, "inturn") == 0)
    CHECK(inturn_token_finish(token));
  else if (--tries_left == 0)
    CHECK(inturn_token_fail(token, TOO_MANY_TRIES));
  else {
    printf("[sign-in] That is not it; %d left.\n", tries_left);
    return false;
  }
  return true;
}

static bool answer_notice(inturn_token token, const char *line) {
  (void)line;
  CHECK(inturn_token_finish(token));
  return true;
}

step steps[STEPS] = {
    {"location", "May the app use your location? [y/n]", answer_permission,
     false, false},
    {"camera", "May the app use the camera? [y/n]", answer_permission, true,
     false},
    {"sign-in", "Your password (here it is \"inturn\"):", answer_sign_in, false,
     false},
    {"service notice", "Some things will not work today. [Return]",
     answer_notice, false, true},
};

static char summary[STEPS][80];
static int ended;

int tell_end(const inturn_end *end) {
  static const char *const names[] = {"",          "finished",  "failed",
                                      "cancelled", "timed out", "abandoned"};
  char outcome[48];
  const char *detail = end->result; /* of inturn_token_finish_with, or NULL */
  if (end->outcome == INTURN_FAILED)
    detail = end->code == PERMISSION_DENIED ? "denied" : "too many tries";
  else if (end->outcome == INTURN_CANCELLED && end->started_ns == 0)
    detail = "never started";
  if (detail)
    snprintf(outcome, sizeof outcome, "%s (%s)", names[end->outcome], detail);
  else
    snprintf(outcome, sizeof outcome, "%s", names[end->outcome]);
  printf("[%s] %s\n", end->label, outcome);
  snprintf(summary[ended], sizeof summary[0], "%-16s%s", end->label, outcome);
  return ++ended;
}

void tell_summary(void) {
  printf("\nHow they ended, in order:\n");
  for (int index = 0; index < ended; index++)
    printf("  %s\n", summary[index]);
}
