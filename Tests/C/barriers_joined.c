/*
 * barriers_joined.c - barriers that others join, and barriers that join: they
 * keep the order in which they were enqueued.
 *
 * SPDX-License-Identifier: MIT
 */
#include "barriers.h"

static inturn_operation enqueue(inturn_queue queue, job *job, bool barrier,
                                bool join, inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  options.barrier = barrier;
  options.key = "k";
  options.join = join;
  return job_enqueue_with(queue, job, work, &options);
}

static void enqueue_as(inturn_queue queue, job *job, bool barrier, bool join,
                       inturn_work_fn work) {
  CHECK_OK(inturn_operation_release(enqueue(queue, job, barrier, join, work)));
}

static void one_that_joins_a_barrier_ends_with_it(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), joined = JOB("joined"), late = JOB("late");
  enqueue_as(stage.queue, &fence, true, false, work_hold);
  enqueue_as(stage.queue, &joined, false, true, never_work);
  stage_drain(&stage);
  CHECK_TRACE("work fence");
  enqueue_as(stage.queue, &late, false, true, never_work);
  stage_finish(&stage, &fence);
  CHECK_ENDED(&joined, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  CHECK_ENDED(&late, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  stage_destroy(&stage);
}

static void one_that_joins_what_a_barrier_holds_back_ends_with_it(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), first = JOB("first"), joined = JOB("joined");
  enqueue_barrier(stage.queue, &fence, work_finish);
  enqueue_as(stage.queue, &first, false, false, work_finish);
  enqueue_as(stage.queue, &joined, false, true, never_work);
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&joined, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  stage_destroy(&stage);
}

static void a_barrier_that_was_joined_while_it_ran_is_started_again(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), joined = JOB("joined");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  inturn_operation_options options = barrier_options(&fence);
  options.key = "k";
  options.retry = &retry;
  job_enqueue_as(stage.queue, &fence, work_hold, &options);
  stage_drain(&stage);
  enqueue_as(stage.queue, &joined, false, true, never_work);
  CHECK_OK(inturn_token_fail(fence.token, 1));
  stage_drain(&stage);
  stage_finish(&stage, &fence);
  CHECK_INT(gate_count(&fence.started), 2);
  CHECK_ENDED(&joined, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  stage_destroy(&stage);
}

static void what_comes_after_a_barrier_that_has_joined_waits_for_it(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), fence = JOB("fence"), after = JOB("after");
  enqueue_as(stage.queue, &first, false, false, work_hold);
  enqueue_as(stage.queue, &fence, true, true, never_work);
  job_enqueue(stage.queue, &after, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work first");
  stage_finish(&stage, &first);
  CHECK_ENDED(&fence, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  CHECK_ENDED(&after, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void one_that_stands_in_for_a_barrier_comes_next_after_it(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job fence = JOB("fence"), other = JOB("other"), joined = JOB("joined");
  inturn_operation first = enqueue(stage.queue, &fence, true, false, work_hold);
  job_enqueue(stage.queue, &other, work_finish);
  enqueue_as(stage.queue, &joined, false, true, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(first));
  CHECK_OK(inturn_token_cancel(fence.token));
  stage_drain(&stage);
  CHECK_TRACE("work fence, end fence cancelled, work joined, "
              "end joined finished, work other, end other finished");
  CHECK_OK(inturn_operation_release(first));
  stage_destroy(&stage);
}

/* All orders of a few jobs. Works hold their tokens, so that everything that
   may run at the same time does. */

enum { COUNT = 4, KINDS = 6 };
static job jobs[COUNT];
static int kinds[COUNT];

static bool is_barrier(int index) { return kinds[index] & 1; }
static bool joins(int index) { return kinds[index] >> 1 == 1; }
static bool has_key(int index) { return kinds[index] >> 1 <= 1; }

static void work_in_its_place(void *context, inturn_token token) {
  int own = (int)((job *)context - jobs);
  for (int i = 0; i < COUNT; i++) {
    if (i < own && (is_barrier(i) || is_barrier(own)))
      CHECK_INT(gate_count(&jobs[i].ended), 1);
    if (i > own && (is_barrier(i) || is_barrier(own)))
      CHECK_INT(gate_count(&jobs[i].started), 0);
  }
  work_hold(context, token);
}

static void end_those_that_run(const stage *stage) {
  for (int i = 0; i < COUNT; i++) {
    if (gate_count(&jobs[i].started) == 0 || gate_count(&jobs[i].ended) > 0)
      continue;
    CHECK_OK(is_cancelled(jobs[i].token) ? inturn_token_cancel(jobs[i].token)
                                         : inturn_token_finish(jobs[i].token));
    stage_drain(stage);
    /* What is running now, beginning with the first. */
    i = -1;
  }
}

static void run_all(int order, int cancelled, bool when_they_run) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  inturn_operation operations[COUNT];
  trace_begin();
  for (int i = 0; i < COUNT; i++, order /= KINDS) {
    static const char *const names[] = {"a", "b", "c", "d"};
    kinds[i] = order % KINDS;
    jobs[i] = (job)JOB(names[i]);
  }
  for (int i = 0; i < COUNT; i++) {
    inturn_operation_options options = job_options(&jobs[i]);
    options.barrier = is_barrier(i);
    options.key = has_key(i) ? "k" : NULL;
    options.join = joins(i);
    operations[i] =
        job_enqueue_with(stage.queue, &jobs[i], work_in_its_place, &options);
  }
  if (when_they_run)
    stage_drain(&stage);
  if (cancelled < COUNT)
    CHECK_OK(inturn_operation_cancel(operations[cancelled]));
  stage_drain(&stage);
  end_those_that_run(&stage);
  for (int i = 0; i < COUNT; i++) {
    CHECK_INT(gate_count(&jobs[i].ended), 1);
    CHECK_INT(gate_count(&jobs[i].destroyed), 1);
    CHECK_OK(inturn_operation_release(operations[i]));
  }
  stage_destroy(&stage);
}

static void each_order_of_barriers_joins_and_others_ends_in_its_places(void) {
  for (int order = 0; order < KINDS * KINDS * KINDS * KINDS; order++)
    for (int cancelled = 0; cancelled <= COUNT; cancelled++)
      for (int when = 0; when < 2; when++)
        run_all(order, cancelled, when);
}

PROGRAM(barriers_joined, TEST(one_that_joins_a_barrier_ends_with_it),
        TEST(one_that_joins_what_a_barrier_holds_back_ends_with_it),
        TEST(a_barrier_that_was_joined_while_it_ran_is_started_again),
        TEST(what_comes_after_a_barrier_that_has_joined_waits_for_it),
        TEST(one_that_stands_in_for_a_barrier_comes_next_after_it),
        TEST(each_order_of_barriers_joins_and_others_ends_in_its_places))
