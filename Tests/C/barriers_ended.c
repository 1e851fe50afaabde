/*
 * barriers_ended.c - how barriers end: attempts, deadlines, cancelling all,
 * destroying the queue.
 *
 * SPDX-License-Identifier: MIT
 */
#include "barriers.h"

static void between_its_attempts_nothing_passes_it(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), last = JOB("last");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  inturn_operation_options options = barrier_options(&fence);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &fence, work_hold, &options);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  stage_fail(&stage, &fence);
  stage_advance(&stage, 99);
  CHECK_TRACE("work fence");
  stage_advance(&stage, 1);
  CHECK_TRACE("work fence");
  stage_finish(&stage, &fence);
  CHECK_TRACE("end fence finished, work last, end last finished");
  stage_destroy(&stage);
}

static void one_cancelled_between_its_attempts_is_lifted(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), last = JOB("last");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  inturn_operation_options options = barrier_options(&fence);
  options.retry = &retry;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &fence, work_fail, &options);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_operation_release(operation));
  stage_drain(&stage);
  CHECK_TRACE("work fence, end fence cancelled, work last, end last finished");
  stage_destroy(&stage);
}

static void what_retries_before_it_is_waited_for(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job flaky = JOB("flaky"), fence = JOB("fence");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  retry.max_attempts = 2;
  inturn_operation_options options = job_options(&flaky);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &flaky, work_fail, &options);
  enqueue_barrier(stage.queue, &fence, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work flaky");
  stage_advance(&stage, 100);
  CHECK_TRACE("work flaky, end flaky failed, work fence, end fence finished");
  stage_destroy(&stage);
}

static void a_deadline_in_the_wait_lifts_it(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), fence = JOB("fence"), last = JOB("last");
  job_enqueue(stage.queue, &first, work_hold);
  inturn_operation_options options = barrier_options(&fence);
  options.max_wait_ns = 10;
  job_enqueue_as(stage.queue, &fence, never_work, &options);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 10);
  CHECK_ENDED(&fence, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_WAIT);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void check_max_run(inturn_max_run_policy policy, const char *after) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), last = JOB("last");
  inturn_operation_options options = barrier_options(&fence);
  options.max_run_ns = 10;
  options.max_run_policy = policy;
  job_enqueue_as(stage.queue, &fence, work_hold, &options);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 10);
  CHECK_TRACE(after);
  CHECK_STATUS(inturn_token_finish(fence.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
  trace_begin();
}

static void a_deadline_in_the_run_holds_its_place_or_frees_it(void) {
  check_max_run(INTURN_MAX_RUN_HOLD, "work fence, end fence timed out");
  check_max_run(INTURN_MAX_RUN_FREE, "work fence, end fence timed out, "
                                     "work last, end last finished");
}

static void a_place_that_is_held_is_waited_for(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job slow = JOB("slow"), fence = JOB("fence");
  inturn_operation_options options = job_options(&slow);
  options.max_run_ns = 10;
  job_enqueue_as(stage.queue, &slow, work_hold, &options);
  enqueue_barrier(stage.queue, &fence, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 10);
  CHECK_TRACE("work slow, end slow timed out");
  CHECK_STATUS(inturn_token_finish(slow.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_TRACE("work fence, end fence finished");
  stage_destroy(&stage);
}

static void cancelling_all_leaves_a_running_one_in_its_place(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("A"), second = JOB("B"), behind = JOB("c"), last = JOB("d");
  enqueue_barrier(stage.queue, &fence, work_hold);
  stage_drain(&stage);
  enqueue_barrier(stage.queue, &second, never_work);
  job_enqueue(stage.queue, &behind, never_work);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK(is_cancelled(fence.token));
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&behind, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_INT(gate_count(&last.started), 0);
  stage_finish(&stage, &fence);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void cancelling_all_takes_a_pending_one_and_what_is_behind(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), fence = JOB("fence"), behind = JOB("b"),
      next = JOB("next");
  job_enqueue(stage.queue, &first, work_hold);
  stage_drain(&stage);
  enqueue_barrier(stage.queue, &fence, never_work);
  job_enqueue(stage.queue, &behind, never_work);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_ENDED(&fence, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&behind, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(statistics_of(stage.queue).pending, 0);
  stage_finish(&stage, &first);
  stage_destroy(&stage);
}

static void check_destroy(bool is_running) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), fence = JOB("A"), second = JOB("B"),
      behind = JOB("c");
  if (!is_running)
    job_enqueue(stage.queue, &first, work_hold);
  enqueue_barrier(stage.queue, &fence, is_running ? work_hold : never_work);
  enqueue_barrier(stage.queue, &second, never_work);
  job_enqueue(stage.queue, &behind, never_work);
  stage_drain(&stage);
  stage_destroy(&stage);
  CHECK_ENDED(&fence, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&behind, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
}

static void destroying_the_queue_ends_all_before_and_behind(void) {
  check_destroy(false);
  check_destroy(true);
}

PROGRAM(barriers_ended, TEST(between_its_attempts_nothing_passes_it),
        TEST(one_cancelled_between_its_attempts_is_lifted),
        TEST(what_retries_before_it_is_waited_for),
        TEST(a_deadline_in_the_wait_lifts_it),
        TEST(a_deadline_in_the_run_holds_its_place_or_frees_it),
        TEST(a_place_that_is_held_is_waited_for),
        TEST(cancelling_all_leaves_a_running_one_in_its_place),
        TEST(cancelling_all_takes_a_pending_one_and_what_is_behind),
        TEST(destroying_the_queue_ends_all_before_and_behind))
