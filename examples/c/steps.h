/*
 * steps.h - what the onboarding examples ask, and what answers do.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STEPS_H
#define STEPS_H

#include <inturn.h>

enum { STEPS = 4 };

typedef struct step {
  const char *label, *question;
  /* Takes a line; returns whether it was an answer, which has ended the
     interaction. */
  bool (*answer)(inturn_token token, const char *line);
  bool was_granted;  /* nothing has to be asked */
  bool asks_service; /* nothing has to be asked if the service is up */
} step;

extern step steps[STEPS];

/* Prints how a step has ended; returns how many have ended so far. One thread
   at a time calls this and the next function. */
int tell_end(const inturn_end *end);

/* Prints how all of them have ended. */
void tell_summary(void);

#endif
