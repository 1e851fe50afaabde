/*
 * states_storm.c - values of the library's states, under load.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sched.h>

static inturn_value queue_value(inturn_queue queue,
                                inturn_queue_aspect aspect) {
  inturn_value value;
  CHECK_OK(inturn_queue_create_value(queue, aspect, &value));
  return value;
}

static void observe(inturn_value value, inturn_change_fn observer,
                    void *context) {
  CHECK_OK(inturn_value_observe(value, NULL, observer, context, NULL, NULL));
}

static bool is_number(void *number, const inturn_datum *datum) {
  return datum->integer == *(int64_t *)number;
}

enum { PRODUCERS = 4, LOOKERS = 2, PLAYERS = PRODUCERS + LOOKERS };

/* What an observer of a progress or a count has seen; its calls do not
   overlap. */
typedef struct seen {
  uint64_t number;
  int64_t integer, total;
} seen;

static inturn_queue busy;
static long each;
static atomic_int producers_left;

static void follow(void *context, const inturn_change *change) {
  seen *seen = context;
  if (change->before.integer != seen->integer ||
      change->before.total != seen->total || change->number != seen->number + 1)
    FAIL("change %llu begins with %lld of %lld after %lld of %lld",
         (unsigned long long)change->number, (long long)change->before.integer,
         (long long)change->before.total, (long long)seen->integer,
         (long long)seen->total);
  if (change->after.type == INTURN_DATUM_PROGRESS &&
      (change->after.integer < seen->integer ||
       change->after.total < seen->total))
    FAIL("a progress goes back");
  if (change->after.integer < 0)
    FAIL("fewer than none");
  seen->number = change->number;
  seen->integer = change->after.integer;
  seen->total = change->after.total;
}

/* Producers enqueue bare operations and cancel others; lookers create and
   destroy values. */
static void play(int index) {
  if (index >= PRODUCERS) {
    while (atomic_load(&producers_left) > 0) {
      inturn_datum datum;
      inturn_value value = queue_value(busy, INTURN_QUEUE_PROGRESS);
      CHECK_OK(inturn_value_get(value, &datum));
      CHECK(datum.integer <= datum.total);
      CHECK_OK(inturn_value_destroy(value));
      sched_yield();
    }
    return;
  }
  for (long i = 0; i < each; i++) {
    inturn_operation operation;
    if (i % 4 == 3) {
      CHECK_OK(inturn_queue_enqueue(busy, just_finish, NULL, NULL, &operation));
      inturn_status status = inturn_operation_cancel(operation);
      CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
      CHECK_OK(inturn_operation_release(operation));
    } else {
      CHECK_OK(inturn_queue_enqueue(busy, just_finish, NULL, NULL, NULL));
    }
  }
  atomic_fetch_sub(&producers_left, 1);
}

static void check_storm(inturn_queue_kind kind) {
  seen seen[4] = {{0}};
  inturn_value values[4];
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  options.executor = pool;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_queue_create(kind, &options, &busy));
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(busy));
  static const inturn_queue_aspect aspects[] = {
      INTURN_QUEUE_PENDING, INTURN_QUEUE_RUNNING, INTURN_QUEUE_PROGRESS,
      INTURN_QUEUE_PROGRESS};
  for (int i = 0; i < 4; i++) {
    values[i] = queue_value(busy, aspects[i]);
    observe(values[i], follow, &seen[i]);
  }
  each = scaled(20000) / PRODUCERS;
  atomic_store(&producers_left, PRODUCERS);
  in_parallel(PLAYERS, play);
  CHECK_OK(inturn_queue_drain(busy, LIMIT_NS));
  for (int i = 0; i < 4; i++) {
    CHECK_OK(inturn_value_drain(values[i], LIMIT_NS));
    CHECK_INT(seen[i].integer, i < 2 ? 0 : PRODUCERS * each);
    CHECK_INT(seen[i].total, i < 2 ? 0 : PRODUCERS * each);
    CHECK_OK(inturn_value_destroy(values[i]));
  }
  CHECK_OK(inturn_queue_destroy(busy));
}

static void the_trails_of_a_busy_queue_are_gapless(void) {
  for_each_kind(check_storm);
}

/* The queue is busy unobserved, until somebody looks. */
static void check_late_look(inturn_queue_kind kind) {
  inturn_executor pool;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  CHECK_OK(inturn_executor_pool(&pool));
  options.executor = pool;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  for (long round = 0; round < scaled(200); round++) {
    CHECK_OK(inturn_queue_create(kind, &options, &busy));
    if (kind == INTURN_QUEUE_INTERACTION)
      CHECK_OK(inturn_queue_view_did_appear(busy));
    for (int i = 0; i < 200; i++)
      CHECK_OK(inturn_queue_enqueue(busy, just_finish, NULL, NULL, NULL));
    inturn_value value = queue_value(busy, INTURN_QUEUE_PROGRESS);
    inturn_value running = queue_value(busy, INTURN_QUEUE_RUNNING);
    CHECK_OK(inturn_queue_drain(busy, LIMIT_NS));
    inturn_datum datum;
    CHECK_OK(inturn_value_get(value, &datum));
    CHECK_INT(datum.integer, 200);
    CHECK_INT(datum.total, 200);
    CHECK_OK(inturn_value_get(running, &datum));
    CHECK_INT(datum.integer, 0);
    CHECK_OK(inturn_value_destroy(value));
    CHECK_OK(inturn_value_destroy(running));
    CHECK_OK(inturn_queue_destroy(busy));
  }
}

static void a_look_at_a_busy_queue_counts_all_of_it(void) {
  for_each_kind(check_late_look);
}

static inturn_value raced;

static void keep_state_value(void *context) {
  inturn_operation operation = *(inturn_operation *)context;
  CHECK_OK(
      inturn_operation_create_value(operation, INTURN_OPERATION_STATE, &raced));
}

static void finish_token(void *context) {
  CHECK_OK(inturn_token_finish(*(inturn_token *)context));
}

/* A value that is created while the operation ends still sees the end. */
static void an_end_is_not_missed(void) {
  for (long round = 0; round < scaled(1000); round++) {
    inturn_queue queue;
    inturn_operation operation;
    job job = JOB("a");
    int64_t ended = INTURN_ENDED;
    thread finisher;
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue));
    CHECK_OK(inturn_queue_enqueue(queue, work_hold, &job, NULL, &operation));
    GATE_WAIT(&job.started, 1);
    thread_start(&finisher, finish_token, &job.token);
    keep_state_value(&operation);
    CHECK_OK(inturn_value_wait(raced, is_number, &ended, LIMIT_NS, NULL));
    thread_join(&finisher);
    CHECK_OK(inturn_value_destroy(raced));
    CHECK_OK(inturn_operation_release(operation));
    CHECK_OK(inturn_queue_destroy(queue));
  }
}

PROGRAM(states_storm, TEST(the_trails_of_a_busy_queue_are_gapless),
        TEST(a_look_at_a_busy_queue_counts_all_of_it),
        TEST(an_end_is_not_missed))
