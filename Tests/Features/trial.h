/*
 * trial.h - what features.c tries features with: work that says its name, or
 * holds its token, and the last end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRIAL_H
#define TRIAL_H

#include "../C/fixture.h"

/* What has been called, by name. */
static char called[32];
static inturn_token held;

static void say(void *name, inturn_token token) {
  strcat(called, name);
  CHECK_OK(inturn_token_finish(token));
}

static void hold(void *name, inturn_token token) {
  strcat(called, name);
  held = token;
}

static void fail(void *name, inturn_token token) {
  strcat(called, name);
  CHECK_OK(inturn_token_fail(token, 1));
}

static inturn_end ended;

static void keep_end(void *context, const inturn_end *end) {
  (void)context;
  ended = *end;
}

static inturn_operation_options with_end(void) {
  inturn_operation_options options = {.on_end = keep_end};
  return options;
}

/* Enqueues work of this name; gives why not, if not. */
#define PUT(work, name, options)                                               \
  inturn_queue_enqueue_with(stage->queue, options, work, name, NULL, NULL)

#define OR_NO(call)                                                            \
  do {                                                                         \
    inturn_status refusal = (call);                                            \
    if (refusal != INTURN_OK)                                                  \
      return refusal;                                                          \
  } while (0)

static void finish_held(const stage *stage) {
  CHECK_OK(inturn_token_finish(held));
  stage_drain(stage);
}

#endif
