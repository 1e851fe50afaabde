/*
 * observing.h - an integer value, and an observer that traces its changes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OBSERVING_H
#define OBSERVING_H

#include "fixture.h"

static inline inturn_value create(int64_t number) {
  inturn_datum initial = INTURN_INTEGER(number);
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &initial, &value));
  return value;
}

/* An observer that traces "<name>1>2", "<name>>2" for an initial value and
   "<name>(1>2)" before the others. */
static inline void trace_change(void *name, const inturn_change *change) {
  bool prior = change->kind == INTURN_CHANGE_PRIOR;
  CHECK_INT(change->after.type, INTURN_DATUM_INTEGER);
  if (change->kind == INTURN_CHANGE_INITIAL) {
    CHECK_INT(change->before.type, INTURN_DATUM_NONE);
    trace("%s>%lld", (char *)name, (long long)change->after.integer);
  } else {
    trace("%s%s%lld>%lld%s", (char *)name, prior ? "(" : "",
          (long long)change->before.integer, (long long)change->after.integer,
          prior ? ")" : "");
  }
}

static inline inturn_observation observe(inturn_value value,
                                         inturn_observe_options options,
                                         inturn_change_fn observer,
                                         void *context) {
  inturn_observation observation;
  CHECK_OK(inturn_value_observe(value, &options, observer, context, NULL,
                                &observation));
  return observation;
}

static const inturn_observe_options plain = INTURN_OBSERVE_OPTIONS_INIT;

#endif
