/*
 * flaky.h - a job that fails, and whose retry policy asks the test.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FLAKY_H
#define FLAKY_H

#include "fixture.h"

/* A job whose retry policy asks the test. */
typedef struct flaky {
  job job;
  int asked;
  bool answer;
  int32_t code;
  uint32_t attempts;
  void (*meanwhile)(struct flaky *self);
  inturn_queue queue;
  inturn_operation operation;
} flaky;

static inline flaky flaky_create(const char *name) {
  return (flaky){JOB(name), 0, true, 0, 0, NULL, {0}, {0}};
}

static inline inturn_retry retry_with(uint32_t max_attempts, int64_t delay_ns) {
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = max_attempts;
  retry.delay_ns = delay_ns;
  return retry;
}

/* A stage with one operation at a time, and a job with this work. */
static inline stage create_with(inturn_queue_kind kind, flaky *flaky,
                                const inturn_retry *retry,
                                inturn_work_fn work) {
  stage stage = stage_create_of(kind, 1);
  inturn_operation_options options = job_options(&flaky->job);
  options.retry = retry;
  flaky->queue = stage.queue;
  flaky->operation = job_enqueue_with(stage.queue, &flaky->job, work, &options);
  stage_drain(&stage);
  return stage;
}

static inline void destroy_with(const stage *stage, const flaky *flaky) {
  CHECK_OK(inturn_operation_release(flaky->operation));
  stage_destroy(stage);
  trace_begin();
}

#endif
