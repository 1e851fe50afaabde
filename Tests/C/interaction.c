/*
 * interaction.c - interaction queues: one at a time, while the view is visible,
 * with delays.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <poll.h>

/* A queue that settles in 500 ns and leaves a gap of 250 ns. */
static stage interaction_create(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = 500;
  options.gap_ns = 250;
  return stage_create_with(INTURN_QUEUE_INTERACTION, options);
}

static void appear(const stage *stage) {
  CHECK_OK(inturn_queue_view_did_appear(stage->queue));
  stage_drain(stage);
}

static void disappear(const stage *stage) {
  CHECK_OK(inturn_queue_view_will_disappear(stage->queue));
  stage_drain(stage);
}

/* A stage whose view has appeared, with a job that waits for it to settle. */
static stage create_settling(job *job, inturn_work_fn work) {
  stage stage = interaction_create();
  job_enqueue(stage.queue, job, work);
  appear(&stage);
  return stage;
}

/* A stage whose view has settled, with a running job. */
static stage create_running(job *job) {
  stage stage = create_settling(job, work_hold);
  stage_advance(&stage, 500);
  CHECK_TRACE("work a");
  return stage;
}

/* Ends the job's interaction, and delivers its end. */
static void finish(const stage *stage, job *job) {
  CHECK_OK(inturn_token_finish(job->token));
  stage_drain(stage);
}

static void a_queue_starts_with_its_view_not_visible(void) {
  stage stage = interaction_create();
  job job = JOB("a");
  job_enqueue(stage.queue, &job, never_work);
  stage_advance(&stage, INT64_C(1) << 60);
  CHECK_TRACE("");
  CHECK_INT(statistics_of(stage.queue).pending, 1);
  stage_destroy(&stage);
}

static void the_first_begins_when_the_view_has_settled(void) {
  job job = JOB("a");
  stage stage = create_settling(&job, work_hold);
  stage_advance(&stage, 499);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("work a");
  stage_destroy(&stage);
}

static void what_comes_after_the_settling_begins_at_once(void) {
  stage stage = interaction_create();
  job job = JOB("a");
  appear(&stage);
  stage_advance(&stage, 500);
  job_enqueue(stage.queue, &job, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a");
  stage_destroy(&stage);
}

static void the_next_begins_a_gap_after_the_end_of_the_one_before(void) {
  job first = JOB("a"), second = JOB("b");
  stage stage = create_running(&first);
  job_enqueue(stage.queue, &second, work_hold);
  stage_advance(&stage, 1000);
  CHECK_TRACE("");
  finish(&stage, &first);
  stage_advance(&stage, 249);
  CHECK_TRACE("end a finished");
  stage_advance(&stage, 1);
  CHECK_TRACE("work b");
  stage_destroy(&stage);
}

static void what_comes_within_the_gap_waits_for_its_end(void) {
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  stage stage = create_running(&first);
  finish(&stage, &first);
  stage_advance(&stage, 100);
  job_enqueue(stage.queue, &second, work_hold);
  stage_advance(&stage, 149);
  CHECK_TRACE("end a finished");
  stage_advance(&stage, 1);
  CHECK_TRACE("work b");
  finish(&stage, &second);
  stage_advance(&stage, 250);
  job_enqueue(stage.queue, &third, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("end b finished, work c");
  stage_destroy(&stage);
}

static void one_that_ends_inside_its_call_costs_no_gap(void) {
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  stage stage = create_settling(&first, work_finish);
  job_enqueue(stage.queue, &second, work_finish);
  job_enqueue(stage.queue, &third, work_hold);
  stage_advance(&stage, 500);
  CHECK_TRACE("work a, end a finished, work b, end b finished, work c");
  stage_destroy(&stage);
}

static void one_that_is_cancelled_while_pending_costs_no_gap(void) {
  stage stage = interaction_create();
  job first = JOB("a"), second = JOB("b");
  inturn_operation operation =
      job_enqueue_kept(stage.queue, &first, never_work);
  job_enqueue(stage.queue, &second, work_hold);
  appear(&stage);
  stage_advance(&stage, 499);
  CHECK_OK(inturn_operation_cancel(operation));
  stage_advance(&stage, 1);
  CHECK_TRACE("end a cancelled, work b");
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void an_appearing_while_visible_changes_nothing(void) {
  job job = JOB("a");
  stage stage = create_settling(&job, work_hold);
  stage_advance(&stage, 400);
  appear(&stage);
  stage_advance(&stage, 100);
  CHECK_TRACE("work a");
  stage_destroy(&stage);
}

static void a_disappearing_while_not_visible_changes_nothing(void) {
  stage stage = interaction_create();
  job job = JOB("a");
  disappear(&stage);
  disappear(&stage);
  job_enqueue(stage.queue, &job, work_hold);
  appear(&stage);
  stage_advance(&stage, 500);
  CHECK_TRACE("work a");
  stage_destroy(&stage);
}

static void a_view_that_disappears_while_it_settles_starts_nothing(void) {
  job job = JOB("a");
  stage stage = create_settling(&job, never_work);
  stage_advance(&stage, 499);
  disappear(&stage);
  stage_advance(&stage, 10000);
  CHECK_TRACE("");
  stage_destroy(&stage);
}

static void a_view_that_disappears_within_the_gap_starts_nothing(void) {
  job first = JOB("a"), second = JOB("b");
  stage stage = create_running(&first);
  job_enqueue(stage.queue, &second, work_hold);
  finish(&stage, &first);
  stage_advance(&stage, 100);
  disappear(&stage);
  stage_advance(&stage, 10000);
  CHECK_TRACE("end a finished");
  appear(&stage);
  stage_advance(&stage, 499);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("work b");
  stage_destroy(&stage);
}

static void a_view_that_disappears_before_the_drain_starts_nothing(void) {
  job job = JOB("a");
  stage stage = create_settling(&job, never_work);
  CHECK_OK(inturn_clock_advance(stage.clock, 500));
  disappear(&stage);
  CHECK_TRACE("");
  stage_destroy(&stage);
}

static void a_view_that_appears_again_settles_from_the_start(void) {
  job job = JOB("a");
  stage stage = create_settling(&job, work_hold);
  stage_advance(&stage, 400);
  disappear(&stage);
  appear(&stage);
  stage_advance(&stage, 100);
  CHECK_TRACE("");
  stage_advance(&stage, 399);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("work a");
  stage_destroy(&stage);
}

static void a_disappearing_view_leaves_the_running_one_alone(void) {
  job first = JOB("a"), second = JOB("b");
  stage stage = create_running(&first);
  job_enqueue(stage.queue, &second, never_work);
  disappear(&stage);
  CHECK(!is_cancelled(first.token));
  finish(&stage, &first);
  stage_advance(&stage, 10000);
  CHECK_TRACE("end a finished");
  stage_destroy(&stage);
}

static void a_suspended_queue_settles_and_waits_for_its_resume(void) {
  stage stage = interaction_create();
  job job = JOB("a");
  job_enqueue(stage.queue, &job, work_hold);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  appear(&stage);
  stage_advance(&stage, 500);
  CHECK_TRACE("");
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("work a");
  stage_destroy(&stage);
}

static void zero_means_no_delay(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = INTURN_NO_DELAY;
  options.gap_ns = INTURN_NO_DELAY;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, work_hold);
  job_enqueue(stage.queue, &second, work_hold);
  appear(&stage);
  finish(&stage, &first);
  CHECK_TRACE("work a, end a finished, work b");
  stage_destroy(&stage);
}

static void other_kinds_of_queues_have_no_view(void) {
  static const inturn_queue_kind kinds[] = {
      INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR, INTURN_QUEUE_CONCURRENT};
  for (int i = 0; i < 3; i++) {
    stage stage = stage_create(kinds[i]);
    CHECK_STATUS(inturn_queue_view_did_appear(stage.queue),
                 INTURN_E_WRONG_KIND);
    CHECK_STATUS(inturn_queue_view_will_disappear(stage.queue),
                 INTURN_E_WRONG_KIND);
    stage_destroy(&stage);
  }
}

static pthread_t thread_of_work;

static void note_thread_of_work(void *context, inturn_token token) {
  thread_of_work = pthread_self();
  count_work(context, token);
}

static void
by_default_work_is_called_on_the_main_thread_after_half_a_second(void) {
  inturn_queue queue;
  inturn_executor executor;
  struct pollfd waiting = {-1, POLLIN, 0};
  gate worked = GATE_INIT;
  int64_t appeared, began;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, NULL, &queue));
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_OK(inturn_executor_fd(executor, &waiting.fd));
  CHECK_OK(
      inturn_queue_enqueue(queue, note_thread_of_work, &worked, NULL, NULL));
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &appeared));
  CHECK_OK(inturn_queue_view_did_appear(queue));
  while (gate_count(&worked) == 0) {
    CHECK_INT(poll(&waiting, 1, LIMIT_SECONDS * 1000), 1);
    CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  }
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &began));
  CHECK(began - appeared >= 500000000);
  CHECK(pthread_equal(thread_of_work, pthread_self()));
  drain_and_destroy(queue);
}

/* The gap after the interaction that is shown never begins. */
static void deadlines_go_on_after_a_queue_is_destroyed_that_shows(void) {
  job shown = JOB("a"), late = JOB("b");
  stage stage = create_running(&shown);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options timed = job_options(&late);
  inturn_queue other;
  options.executor = stage.executor;
  options.clock = stage.clock;
  timed.max_wait_ns = 1000;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  CHECK_OK(inturn_queue_suspend(other));
  CHECK_OK(inturn_queue_destroy(stage.queue));
  stage_advance(&stage, 250);
  job_enqueue_as(other, &late, never_work, &timed);
  stage_advance(&stage, 999);
  CHECK_INT(gate_count(&late.ended), 0);
  stage_advance(&stage, 1);
  CHECK_ENDED(&late, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_WAIT);
  CHECK_OK(inturn_queue_destroy(other));
  CHECK_OK(inturn_executor_destroy(stage.executor));
  CHECK_OK(inturn_clock_destroy(stage.clock));
}

PROGRAM(interaction,
        TEST(deadlines_go_on_after_a_queue_is_destroyed_that_shows),
        TEST(a_queue_starts_with_its_view_not_visible),
        TEST(the_first_begins_when_the_view_has_settled),
        TEST(what_comes_after_the_settling_begins_at_once),
        TEST(the_next_begins_a_gap_after_the_end_of_the_one_before),
        TEST(what_comes_within_the_gap_waits_for_its_end),
        TEST(one_that_ends_inside_its_call_costs_no_gap),
        TEST(one_that_is_cancelled_while_pending_costs_no_gap),
        TEST(an_appearing_while_visible_changes_nothing),
        TEST(a_disappearing_while_not_visible_changes_nothing),
        TEST(a_view_that_disappears_while_it_settles_starts_nothing),
        TEST(a_view_that_disappears_within_the_gap_starts_nothing),
        TEST(a_view_that_disappears_before_the_drain_starts_nothing),
        TEST(a_view_that_appears_again_settles_from_the_start),
        TEST(a_disappearing_view_leaves_the_running_one_alone),
        TEST(a_suspended_queue_settles_and_waits_for_its_resume),
        TEST(zero_means_no_delay), TEST(other_kinds_of_queues_have_no_view),
        TEST(by_default_work_is_called_on_the_main_thread_after_half_a_second))
