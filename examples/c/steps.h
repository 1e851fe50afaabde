/*
 * steps.h - what the onboarding examples ask, and what an answer does.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STEPS_H
#define STEPS_H

#include <inturn.h>

enum { STEPS = 4 };

typedef struct step {
  const char *label, *question;
  /* Takes a line; says whether it was an answer, which has ended the
     interaction. */
  bool (*answer)(inturn_token token, const char *line);
  bool was_granted;  /* nothing needs to be asked */
  bool asks_service; /* nothing needs to be asked if the service is up */
} step;

extern step steps[STEPS];

/* Prints how a step has ended; gives how many have by now. Called by one thread
   at a time, as is the next. */
int tell_end(const inturn_end *end);

/* Prints how all have ended. */
void tell_summary(void);

#endif
