/*
 * groups.h - jobs with keys.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GROUPS_H
#define GROUPS_H

#include "fixture.h"

static inline inturn_operation enqueue_of_key(inturn_queue queue, job *job,
                                              const char *key, bool join,
                                              inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  options.key = key;
  options.join = join;
  return job_enqueue_with(queue, job, work, &options);
}

static inline void release(inturn_operation operation) {
  CHECK_OK(inturn_operation_release(operation));
}

#endif
