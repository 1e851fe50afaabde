/*
 * names.h - operations with names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NAMES_H
#define NAMES_H

#include "fixture.h"

static const char *const one[] = {"one"};
static const char *const two[] = {"two"};
static const char *const both[] = {"one", "two"};
static const char *const both_reversed[] = {"two", "one"};

static inline inturn_operation_options named(job *job, const char *const *names,
                                             size_t count) {
  inturn_operation_options options = job_options(job);
  options.exclusive = names;
  options.exclusive_count = count;
  return options;
}

static inline void enqueue_named(inturn_queue queue, job *job,
                                 inturn_work_fn work, const char *const *names,
                                 size_t count) {
  inturn_operation_options options = named(job, names, count);
  job_enqueue_as(queue, job, work, &options);
}

/* Two stages: a job on the first that runs and has the name "one", and one on
   the second that wants it. */
typedef struct pair {
  stage first, second;
  job holder, waiter;
  inturn_operation holder_operation, waiter_operation;
} pair;

static inline void pair_create(pair *pair, inturn_queue_kind holder_kind,
                               inturn_queue_kind waiter_kind,
                               inturn_work_fn work) {
  pair->holder = (job)JOB("holder");
  pair->waiter = (job)JOB("waiter");
  pair->first = stage_create(holder_kind);
  pair->second = stage_create(waiter_kind);
  inturn_operation_options options = named(&pair->holder, one, 1);
  pair->holder_operation =
      job_enqueue_with(pair->first.queue, &pair->holder, work_hold, &options);
  stage_drain(&pair->first);
  CHECK_INT(gate_count(&pair->holder.started), 1);
  options = named(&pair->waiter, one, 1);
  pair->waiter_operation =
      job_enqueue_with(pair->second.queue, &pair->waiter, work, &options);
  stage_drain(&pair->second);
  CHECK_INT(gate_count(&pair->waiter.started), 0);
  CHECK_INT(state_of(pair->waiter_operation), INTURN_PENDING);
  trace_begin();
}

static inline void pair_drain(const pair *pair) {
  stage_drain(&pair->first);
  stage_drain(&pair->second);
}

static inline void pair_destroy(const pair *pair) {
  CHECK_OK(inturn_operation_release(pair->holder_operation));
  CHECK_OK(inturn_operation_release(pair->waiter_operation));
  stage_destroy(&pair->first);
  stage_destroy(&pair->second);
  trace_begin();
}

#endif
