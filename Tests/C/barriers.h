/*
 * barriers.h - jobs that are barriers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BARRIERS_H
#define BARRIERS_H

#include "fixture.h"

static inline inturn_operation_options barrier_options(job *job) {
  inturn_operation_options options = job_options(job);
  options.barrier = true;
  return options;
}

static inline void enqueue_barrier(inturn_queue queue, job *job,
                                   inturn_work_fn work) {
  inturn_operation_options options = barrier_options(job);
  job_enqueue_as(queue, job, work, &options);
}

#endif
