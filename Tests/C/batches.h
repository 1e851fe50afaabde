/*
 * batches.h - what a batch's completion reported.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BATCHES_H
#define BATCHES_H

#include "fixture.h"

/* A batch under test, and what its completion reported. */
typedef struct batch_end {
  gate told;
  gate destroyed;
  inturn_batch_end end;
  inturn_end ends[4];
} batch_end;

static inline void batch_ended(void *context, const inturn_batch_end *end) {
  batch_end *into = context;
  into->end = *end;
  for (size_t i = 0; i < end->count && i < 4; i++)
    CHECK_OK(inturn_batch_get_end(end->batch, i, &into->ends[i]));
  trace("batch %s", outcome_name(end->outcome));
  gate_pass(&into->told);
}

static inline void batch_end_destroyed(void *context) {
  gate_pass(&((batch_end *)context)->destroyed);
}

static inline inturn_batch_options batch_options(inturn_batch_policy policy,
                                                 batch_end *end) {
  *end = (batch_end){.told = GATE_INIT, .destroyed = GATE_INIT};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.policy = policy;
  options.on_end = batch_ended;
  options.end_context = end;
  options.end_destroy = batch_end_destroyed;
  return options;
}

static inline inturn_batch_item item_of(job *job, inturn_work_fn work) {
  return (inturn_batch_item){work, job, job_destroyed};
}

#endif
