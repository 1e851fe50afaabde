/*
 * dependencies.h - a job, and another one that comes after it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DEPENDENCIES_H
#define DEPENDENCIES_H

#include "fixture.h"

/* A job's options, to come after one operation. */
static inline inturn_operation_options
options_after(job *job, const inturn_operation *after,
              inturn_after_policy policy) {
  inturn_operation_options options = job_options(job);
  options.after = after;
  options.after_count = 1;
  options.after_policy = policy;
  return options;
}

/* Two stages: a job on the first that runs and holds its token, and one on the
   second that comes after it. */
typedef struct pair {
  stage first, second;
  job earlier, later;
  inturn_operation earlier_operation, later_operation;
} pair;

static inline void pair_create(pair *pair, inturn_queue_kind kind,
                               inturn_after_policy policy,
                               inturn_work_fn work) {
  pair->earlier = (job)JOB("earlier");
  pair->later = (job)JOB("later");
  pair->first = stage_create_running_kept(
      INTURN_QUEUE_CONCURRENT, &pair->earlier, &pair->earlier_operation);
  pair->second = stage_create(kind);
  inturn_operation_options options =
      options_after(&pair->later, &pair->earlier_operation, policy);
  pair->later_operation =
      job_enqueue_with(pair->second.queue, &pair->later, work, &options);
  stage_drain(&pair->second);
  CHECK_INT(state_of(pair->later_operation), INTURN_PENDING);
  trace_begin();
}

static inline void pair_destroy(const pair *pair) {
  CHECK_OK(inturn_operation_release(pair->earlier_operation));
  CHECK_OK(inturn_operation_release(pair->later_operation));
  stage_destroy(&pair->first);
  stage_destroy(&pair->second);
}

static inline void pair_drain(const pair *pair) {
  stage_drain(&pair->first);
  stage_drain(&pair->second);
}

#endif
