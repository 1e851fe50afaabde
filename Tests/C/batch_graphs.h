/*
 * batch_graphs.h - five jobs in one batch, some of which come after others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BATCH_GRAPHS_H
#define BATCH_GRAPHS_H

#include "fixture.h"

/* Most tests run with each way to enqueue a batch: with and without options for
   its operations. */
static const inturn_operation_options *each;

static inline void in_both_ways(void (*body)(void)) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = "each";
  each = NULL;
  body();
  each = &options;
  body();
  each = NULL;
}

/* Jobs a to e, their batch on a stage, and how it ended. `d` comes after `b`
   and `c`, which come after `a`; `e` comes after nothing. */
enum { JOBS = 5 };

typedef struct set {
  stage stage;
  job jobs[JOBS];
  inturn_batch_item items[JOBS];
  inturn_batch_options options;
  inturn_batch batch;
  inturn_batch_end end;
} set;

static const inturn_batch_edge diamond[] = {{3, 2}, {1, 0}, {3, 1}, {2, 0}};

/* Their indices in the order in which they start, one at a time. */
static const int starts[JOBS] = {0, 4, 1, 2, 3};

static inline void batch_ended(void *into, const inturn_batch_end *end) {
  *(inturn_batch_end *)into = *end;
  trace("batch %s", outcome_name(end->outcome));
}

static inline void set_prepare(set *set, stage stage, inturn_work_fn work) {
  static const char *const names[JOBS] = {"a", "b", "c", "d", "e"};
  set->stage = stage;
  for (int i = 0; i < JOBS; i++) {
    set->jobs[i] = (job)JOB(names[i]);
    set->items[i] =
        (inturn_batch_item){work, &set->jobs[i], i == 1 ? NULL : job_destroyed};
  }
  set->options = (inturn_batch_options)INTURN_BATCH_OPTIONS_INIT;
  set->options.operation = each;
  set->options.on_end = batch_ended;
  set->options.end_context = &set->end;
  set->options.edges = diamond;
  set->options.edge_count = 4;
  set->end = (inturn_batch_end){0};
}

static inline void set_enqueue(set *set) {
  CHECK_OK(inturn_queue_enqueue_batch(set->stage.queue, &set->options,
                                      set->items, JOBS, &set->batch));
}

static inline void set_begin(set *set, inturn_work_fn work) {
  set_prepare(set, stage_create(INTURN_QUEUE_CONCURRENT), work);
  set_enqueue(set);
  stage_drain(&set->stage);
}

/* How the operation at an index has ended. */
static inline inturn_end end_at(const set *set, size_t place) {
  inturn_end end = {0};
  CHECK_OK(inturn_batch_get_end(set->batch, place, &end));
  return end;
}

#define CHECK_END(set, place, expected, because)                               \
  do {                                                                         \
    CHECK_INT(end_at(set, place).outcome, expected);                           \
    CHECK_INT(end_at(set, place).cause, because);                              \
  } while (0)

/* Checks that all have ended and that each context is destroyed once, and
   releases everything. */
static inline void set_end(set *set) {
  inturn_batch_end end = {0};
  CHECK_OK(inturn_batch_wait(set->batch, 0, &end));
  CHECK_INT(set->end.batch.bits, set->batch.bits);
  CHECK_INT(set->end.count, JOBS);
  for (int i = 0; i < JOBS; i++)
    CHECK_INT(gate_count(&set->jobs[i].destroyed), i == 1 ? 0 : 1);
  CHECK_OK(inturn_batch_release(set->batch));
  stage_destroy(&set->stage);
  trace_begin();
}

#endif
