/*
 * chains.c - a hundred thousand operations that come after each other, or after
 * one, or one after all of them: without recursion, and not in quadratic time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

/* Scaled, but never so few that a recursion would fit on the stack. */
enum { MANY = 100000, FEWEST = 20000 };

static long many(void) {
  long count = scaled(MANY);
  return count < FEWEST ? FEWEST : count;
}

static inturn_operation *operations;
static long next_started, finished, cancelled;

static void start_in_order(void *context, inturn_token token) {
  CHECK_INT((long)(intptr_t)context, next_started);
  next_started++;
  CHECK_OK(inturn_token_finish(token));
}

static void count_start(void *context, inturn_token token) {
  (void)context;
  next_started++;
  CHECK_OK(inturn_token_finish(token));
}

static void count_outcome(void *context, const inturn_end *end) {
  (void)context;
  finished += end->outcome == INTURN_FINISHED;
  cancelled +=
      end->outcome == INTURN_CANCELLED && end->cause == INTURN_CAUSE_DEPENDENCY;
}

static void enqueue_after(inturn_queue queue, long number,
                          const inturn_operation *after, size_t count,
                          inturn_after_policy policy, inturn_work_fn work) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = after;
  options.after_count = count;
  options.after_policy = policy;
  options.on_end = count_outcome;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, work,
                                     (void *)(intptr_t)number, NULL,
                                     &operations[number]));
}

static void begin(void) {
  next_started = finished = cancelled = 0;
  operations = malloc((size_t)(many() + 1) * sizeof *operations);
  CHECK(operations != NULL);
}

static void end(long count) {
  for (long i = 0; i < count; i++)
    CHECK_OK(inturn_operation_release(operations[i]));
  free(operations);
}

/* A stage whose queue is suspended, with a chain on it. */
static stage chain_create(inturn_queue_kind kind, inturn_after_policy policy) {
  stage stage = stage_create(kind);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  begin();
  for (long i = 0; i < many(); i++)
    enqueue_after(stage.queue, i, i > 0 ? &operations[i - 1] : NULL, i > 0,
                  policy, start_in_order);
  return stage;
}

static void check_chain(inturn_queue_kind kind) {
  stage stage = chain_create(kind, INTURN_AFTER_FINISHED);
  stage_resume(&stage);
  CHECK_INT(next_started, many());
  CHECK_INT(finished, many());
  end(many());
  stage_destroy(&stage);
}

static void a_long_chain_starts_in_its_order(void) {
  for_each_kind(check_chain);
}

static void check_cancelled(inturn_queue_kind kind) {
  stage stage = chain_create(kind, INTURN_AFTER_FINISHED);
  CHECK_OK(inturn_operation_cancel(operations[0]));
  CHECK_INT(statistics_of(stage.queue).pending, 0);
  stage_resume(&stage);
  CHECK_INT(next_started, 0);
  CHECK_INT(cancelled, many() - 1);
  CHECK_INT(statistics_of(stage.queue).cancelled, many());
  end(many());
  stage_destroy(&stage);
}

static void a_long_chain_whose_first_is_cancelled_ends_at_once(void) {
  for_each_kind(check_cancelled);
}

static void a_long_chain_over_queues_is_cancelled_as_well(void) {
  stage stages[4];
  begin();
  for (int i = 0; i < 4; i++) {
    stages[i] = stage_create((inturn_queue_kind)(i + 1));
    CHECK_OK(inturn_queue_suspend(stages[i].queue));
  }
  for (long i = 0; i < many(); i++)
    enqueue_after(stages[i % 4].queue, i, i > 0 ? &operations[i - 1] : NULL,
                  i > 0, INTURN_AFTER_FINISHED, never_work);
  CHECK_OK(inturn_queue_destroy(stages[0].queue));
  for (int i = 1; i < 4; i++) {
    CHECK_INT(statistics_of(stages[i].queue).pending, 0);
    stage_resume(&stages[i]);
    stage_destroy(&stages[i]);
  }
  CHECK_OK(inturn_executor_destroy(stages[0].executor));
  CHECK_OK(inturn_clock_destroy(stages[0].clock));
  end(many());
}

static void check_destroyed(inturn_queue_kind kind) {
  stage stage = chain_create(kind, INTURN_AFTER_ENDED);
  stage_destroy(&stage);
  CHECK_INT(next_started, 0);
  CHECK_INT(finished, 0);
  end(many());
}

static void a_long_chain_is_destroyed_with_its_queue(void) {
  for_each_kind(check_destroyed);
}

static void check_fan_out(inturn_queue_kind kind) {
  stage first = stage_create(INTURN_QUEUE_FIFO), second = stage_create(kind);
  begin();
  enqueue_after(first.queue, 0, NULL, 0, INTURN_AFTER_ENDED, count_start);
  for (long i = 1; i < many(); i++)
    enqueue_after(second.queue, i, &operations[0], 1, INTURN_AFTER_FINISHED,
                  start_in_order);
  stage_drain(&second);
  CHECK_INT(next_started, 0);
  stage_drain(&first);
  stage_drain(&second);
  CHECK_INT(next_started, many());
  end(many());
  stage_destroy(&first);
  stage_destroy(&second);
}

static void many_that_come_after_one_start_in_order(void) {
  for_each_kind(check_fan_out);
}

static void check_fan_in(inturn_queue_kind kind) {
  stage first = stage_create(INTURN_QUEUE_CONCURRENT),
        second = stage_create(kind);
  begin();
  for (long i = 0; i < many(); i++)
    enqueue_after(first.queue, i, NULL, 0, INTURN_AFTER_ENDED, count_start);
  enqueue_after(second.queue, many(), operations, (size_t)many(),
                INTURN_AFTER_FINISHED, start_in_order);
  stage_drain(&second);
  CHECK_INT(next_started, 0);
  stage_drain(&first);
  CHECK_INT(next_started, many());
  stage_drain(&second);
  CHECK_INT(next_started, many() + 1);
  end(many() + 1);
  stage_destroy(&first);
  stage_destroy(&second);
}

static void one_that_comes_after_many_starts_last(void) {
  for_each_kind(check_fan_in);
}

/* With names and a barrier now and then: they pass through all the lists that a
   pending operation may be in. */
static void a_long_queue_of_everything_ends(void) {
  static const char *const names[] = {"chain"};
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  begin();
  for (long i = 0; i < many(); i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.after = i >= 3 ? &operations[i - 3] : NULL;
    options.after_count = i >= 3;
    options.exclusive = names;
    options.exclusive_count = i % 2;
    options.priority = (int32_t)(i % 5);
    options.barrier = i % 7 == 6;
    options.on_end = count_outcome;
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, count_start, NULL,
                                       NULL, &operations[i]));
  }
  stage_resume(&stage);
  CHECK_INT(next_started, many());
  CHECK_INT(finished, many());
  end(many());
  stage_destroy(&stage);
}

PROGRAM(chains, TEST(a_long_chain_starts_in_its_order),
        TEST(a_long_chain_whose_first_is_cancelled_ends_at_once),
        TEST(a_long_chain_over_queues_is_cancelled_as_well),
        TEST(a_long_chain_is_destroyed_with_its_queue),
        TEST(many_that_come_after_one_start_in_order),
        TEST(one_that_comes_after_many_starts_last),
        TEST(a_long_queue_of_everything_ends))
