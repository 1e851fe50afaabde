/*
 * actor.c - actor queues: operations begin in order, and suspend between
 * segments that never overlap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

/* Segments, with a job as the context. */
static void segment_stay(void *context, inturn_token token) {
  job *job = context;
  CHECK_INT(token.bits, job->token.bits);
  trace("segment %s", job->name);
}

static void segment_finish(void *context, inturn_token token) {
  segment_stay(context, token);
  CHECK_OK(inturn_token_finish(token));
}

static void resume_job(job *job, inturn_work_fn segment) {
  CHECK_OK(inturn_token_resume(job->token, segment, job, NULL));
}

static void the_next_begins_when_the_one_before_has_suspended(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  job_enqueue(stage.queue, &first, work_hold);
  job_enqueue(stage.queue, &second, work_finish);
  job_enqueue(stage.queue, &third, work_hold);
  stage_drain(&stage);
  CHECK_INT(gate_count(&first.started), 1);
  CHECK_INT(gate_count(&third.started), 1);
  CHECK_INT(statistics_of(stage.queue).running, 2);
  CHECK_OK(inturn_token_finish(third.token));
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_TRACE("work a, work b, end b finished, work c, end c finished, "
              "end a finished");
  stage_destroy(&stage);
}

static int next_to_begin;

static void begin_in_order(void *context, inturn_token token) {
  CHECK_INT(*(int *)context, next_to_begin++);
  just_finish(context, token);
}

static void a_thousand_operations_begin_in_order(void) {
  enum { COUNT = 1000 };
  int numbers[COUNT];
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_ACTOR, NULL);
  next_to_begin = 0;
  for (int i = 0; i < COUNT; i++) {
    numbers[i] = i;
    CHECK_OK(
        inturn_queue_enqueue(queue, begin_in_order, &numbers[i], NULL, NULL));
  }
  drain_and_destroy(queue);
  CHECK_INT(next_to_begin, COUNT);
}

static void segments_and_operations_run_in_the_order_of_their_calls(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  job_enqueue(stage.queue, &first, work_hold);
  job_enqueue(stage.queue, &second, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a, work b");
  resume_job(&second, segment_stay);
  job_enqueue(stage.queue, &third, work_hold);
  resume_job(&first, segment_stay);
  resume_job(&second, segment_stay);
  stage_drain(&stage);
  CHECK_TRACE("segment b, work c, segment a, segment b");
  stage_destroy(&stage);
}

static void any_number_of_segments_may_wait(void) {
  enum { COUNT = 1000 };
  job job = JOB("a");
  gate calls = GATE_INIT, last_call = GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  for (int i = 0; i < COUNT; i++)
    CHECK_OK(inturn_token_resume(job.token, count_call, &calls, NULL));
  CHECK_OK(inturn_token_resume(job.token, count_work, &last_call, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&calls), COUNT);
  CHECK_INT(gate_count(&last_call), 1);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_segment_may_end_the_operation(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  resume_job(&job, segment_finish);
  stage_drain(&stage);
  CHECK_TRACE("work a, segment a, end a finished");
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void segment_again(void *context, inturn_token token) {
  segment_stay(context, token);
  CHECK_OK(inturn_token_resume(token, segment_finish, context, NULL));
}

static void resume_at_once(void *context, inturn_token token) {
  work_hold(context, token);
  CHECK_OK(inturn_token_resume(token, segment_again, context, NULL));
}

static void work_and_segments_may_resume_their_own_operation(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, resume_at_once);
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work a, work b, end b finished, segment a, segment a, "
              "end a finished");
  stage_destroy(&stage);
}

static void a_segment_of_an_ended_operation_is_not_called(void) {
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  CHECK_OK(
      inturn_token_resume(job.token, never_work, &destroyed, count_destroy));
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_STATUS(
      inturn_token_resume(job.token, never_work, &destroyed, count_destroy),
      INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_INT(gate_count(&destroyed), 2);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_suspended_operation_is_waited_for_by_a_drain(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  CHECK_STATUS(inturn_queue_drain(stage.queue, 0), INTURN_E_TIMED_OUT);
  resume_job(&job, segment_finish);
  CHECK_STATUS(inturn_queue_drain(stage.queue, 0), INTURN_E_TIMED_OUT);
  stage_drain(&stage);
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  stage_destroy(&stage);
}

static void a_cancelled_operation_still_runs_its_segments(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  resume_job(&job, segment_stay);
  stage_drain(&stage);
  CHECK_TRACE("work a, segment a");
  CHECK_OK(inturn_token_cancel(job.token));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  stage_destroy(&stage);
}

static void max_run_counts_from_the_first_segment_to_the_end(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  options.max_run_ns = 100;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &job, work_hold, &options);
  stage_drain(&stage);
  stage_advance(&stage, 60);
  resume_job(&job, segment_stay);
  stage_drain(&stage);
  stage_advance(&stage, 39);
  CHECK_TRACE("work a, segment a");
  stage_advance(&stage, 1);
  CHECK_TRACE("end a timed out");
  CHECK_STATUS(inturn_token_resume(job.token, never_work, NULL, NULL),
               INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

/* The token was in that segment, or with the caller that is refused: nobody
   comes again to give the place up. */
static void a_segment_that_comes_too_late_frees_the_place(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  for (int is_refused = 0; is_refused < 2; is_refused++) {
    gate destroyed = GATE_INIT;
    job job = JOB("a");
    inturn_operation_options options = job_options(&job);
    options.max_run_ns = 100;
    inturn_operation operation =
        job_enqueue_with(stage.queue, &job, work_hold, &options);
    stage_drain(&stage);
    if (!is_refused)
      CHECK_OK(inturn_token_resume(job.token, never_work, &destroyed,
                                   count_destroy));
    CHECK_OK(inturn_clock_advance(stage.clock, 100));
    if (is_refused)
      CHECK_STATUS(
          inturn_token_resume(job.token, never_work, &destroyed, count_destroy),
          INTURN_E_ALREADY_FINISHED);
    stage_drain(&stage);
    CHECK_OK(inturn_queue_drain(stage.queue, 0));
    CHECK_INT(gate_count(&destroyed), 1);
    CHECK_TRACE("work a, end a timed out");
    CHECK_OK(inturn_operation_release(operation));
  }
  stage_destroy(&stage);
}

static void segments_that_wait_are_dropped_with_their_queue(void) {
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  for (int i = 0; i < 3; i++)
    CHECK_OK(
        inturn_token_resume(job.token, never_work, &destroyed, count_destroy));
  stage_destroy(&stage);
  CHECK_INT(gate_count(&destroyed), 3);
}

static void no_segment_starts_while_the_queue_is_suspended(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  resume_job(&job, segment_stay);
  stage_drain(&stage);
  CHECK_TRACE("work a");
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("segment a");
  stage_destroy(&stage);
}

static void other_kinds_of_queues_have_no_segments(void) {
  static const inturn_queue_kind kinds[] = {
      INTURN_QUEUE_FIFO, INTURN_QUEUE_INTERACTION, INTURN_QUEUE_CONCURRENT};
  for (int i = 0; i < 3; i++) {
    job job = JOB("a");
    gate destroyed = GATE_INIT;
    stage stage = stage_create_running(kinds[i], &job);
    CHECK_STATUS(
        inturn_token_resume(job.token, never_work, &destroyed, count_destroy),
        INTURN_E_WRONG_KIND);
    CHECK_INT(gate_count(&destroyed), 1);
    CHECK_OK(inturn_token_finish(job.token));
    stage_destroy(&stage);
  }
}

static void a_segment_needs_a_function(void) {
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_ACTOR, &job);
  CHECK_STATUS(inturn_token_resume(job.token, NULL, &destroyed, count_destroy),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

/* Many operations with several segments, resumed by several threads. */
enum { PRODUCERS = 4, HOPS = 3 };

static inturn_queue shared;
static atomic_int inside;
static atomic_long segments;

/* An operation's context: how many segments are left. */
typedef struct hopper {
  int hops;
} hopper;

static void hop(void *context, inturn_token token) {
  hopper *hopper = context;
  CHECK_INT(atomic_fetch_add(&inside, 1), 0);
  atomic_fetch_add(&segments, 1);
  bool last = --hopper->hops == 0;
  CHECK_INT(atomic_fetch_sub(&inside, 1), 1);
  if (last)
    just_finish(context, token);
  else
    CHECK_OK(inturn_token_resume(token, hop, hopper, NULL));
}

static hopper hoppers[PRODUCERS][5000];
static const int hoppers_each = sizeof *hoppers / sizeof **hoppers;

static void produce_hoppers(int producer) {
  for (int i = 0; i < hoppers_each; i++) {
    hoppers[producer][i].hops = HOPS;
    CHECK_OK(
        inturn_queue_enqueue(shared, hop, &hoppers[producer][i], NULL, NULL));
  }
}

static void segments_never_overlap_each_other(void) {
  shared = pool_queue_create(INTURN_QUEUE_ACTOR, NULL);
  in_parallel(PRODUCERS, produce_hoppers);
  drain_and_destroy(shared);
  CHECK_INT(segments, (long)PRODUCERS * hoppers_each * HOPS);
}

PROGRAM(actor, TEST(the_next_begins_when_the_one_before_has_suspended),
        TEST(a_thousand_operations_begin_in_order),
        TEST(segments_and_operations_run_in_the_order_of_their_calls),
        TEST(any_number_of_segments_may_wait),
        TEST(a_segment_may_end_the_operation),
        TEST(work_and_segments_may_resume_their_own_operation),
        TEST(a_segment_of_an_ended_operation_is_not_called),
        TEST(a_suspended_operation_is_waited_for_by_a_drain),
        TEST(a_cancelled_operation_still_runs_its_segments),
        TEST(max_run_counts_from_the_first_segment_to_the_end),
        TEST(a_segment_that_comes_too_late_frees_the_place),
        TEST(segments_that_wait_are_dropped_with_their_queue),
        TEST(no_segment_starts_while_the_queue_is_suspended),
        TEST(other_kinds_of_queues_have_no_segments),
        TEST(a_segment_needs_a_function),
        TEST(segments_never_overlap_each_other))
