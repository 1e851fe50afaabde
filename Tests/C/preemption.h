/*
 * preemption.h - urgent interactions, and a handler for being asked to give
 * way.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PREEMPTION_H
#define PREEMPTION_H

#include "fixture.h"

/* What a preempt handler was called with. */
typedef struct asked {
  gate called, destroyed;
  inturn_token token;
} asked;

#define ASKED_INIT                                                             \
  {                                                                            \
    GATE_INIT, GATE_INIT, { 0 }                                                \
  }

static inline void note_asked(void *context, inturn_token token) {
  asked *asked = context;
  asked->token = token;
  trace("asked");
  gate_pass(&asked->called);
}

static inline void asked_destroyed(void *context) {
  asked *asked = context;
  gate_pass(&asked->destroyed);
}

static inline void set_handler(const job *job, asked *asked) {
  CHECK_OK(
      inturn_token_on_preempt(job->token, note_asked, asked, asked_destroyed));
}

static inline inturn_operation_options urgent_options(job *job) {
  inturn_operation_options options = job_options(job);
  options.urgent = true;
  return options;
}

static inline void enqueue_urgent(inturn_queue queue, job *job,
                                  inturn_work_fn work) {
  inturn_operation_options options = urgent_options(job);
  job_enqueue_as(queue, job, work, &options);
}

/* A stage with a running job that has a handler. */
static inline stage create_asked(job *job, asked *asked) {
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, job);
  set_handler(job, asked);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked->called), 0);
  trace_begin();
  return stage;
}

static inline void yield_it(const stage *stage, const job *job) {
  CHECK_OK(inturn_token_yield(job->token));
  stage_drain(stage);
}

#endif
