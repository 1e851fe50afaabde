/*
 * retries_between.c - an operation between its attempts, and its further
 * attempts: what can be done with it, and what its queue does meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "flaky.h"

static void never_told(void *context, inturn_token token) {
  (void)context, (void)token;
  FAIL("nothing runs that could be asked to end");
}

static void check_cancel_between(inturn_queue_kind kind) {
  for (int64_t delay = 0; delay <= 100; delay += 100) {
    flaky a = flaky_create("a");
    job next = JOB("next");
    inturn_retry retry = retry_with(0, delay);
    stage stage = create_with(kind, &a, &retry, work_hold);
    CHECK_OK(inturn_token_on_cancel(a.job.token, never_told, NULL, NULL));
    CHECK_OK(inturn_queue_suspend(stage.queue));
    stage_fail(&stage, &a.job);
    job_enqueue(stage.queue, &next, work_finish);
    CHECK_INT(state_of(a.operation), INTURN_PENDING);
    CHECK_OK(inturn_operation_cancel(a.operation));
    CHECK_STATUS(inturn_operation_cancel(a.operation),
                 INTURN_E_ALREADY_FINISHED);
    stage_drain(&stage);
    CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
    CHECK_INT(a.job.end.attempts, 1);
    stage_resume(&stage);
    stage_advance(&stage, 1000);
    CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
    CHECK_INT(gate_count(&a.job.started), 1);
    destroy_with(&stage, &a);
  }
}

static void it_can_be_cancelled_between_its_attempts(void) {
  for_each_kind(check_cancel_between);
}

static void check_all_and_destroy(inturn_queue_kind kind) {
  for (int way = 0; way < 2; way++) {
    flaky a = flaky_create("a");
    inturn_retry retry = retry_with(0, 100);
    stage stage = create_with(kind, &a, &retry, work_fail);
    if (way == 0)
      CHECK_OK(inturn_queue_cancel_all(stage.queue));
    stage_drain(&stage);
    destroy_with(&stage, &a);
    CHECK_ENDED(&a.job, INTURN_CANCELLED,
                way == 0 ? INTURN_CAUSE_REQUEST : INTURN_CAUSE_DESTROYED);
  }
}

static void cancelling_all_and_destroying_end_one_between_attempts(void) {
  for_each_kind(check_all_and_destroy);
}

static void check_waits(inturn_queue_kind kind, const char *meanwhile,
                        const char *then) {
  flaky a = flaky_create("a");
  job next = JOB("next");
  inturn_retry retry = retry_with(2, 100);
  stage stage = create_with(kind, &a, &retry, work_fail);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_TRACE(meanwhile);
  stage_advance(&stage, 100);
  CHECK_TRACE(then);
  destroy_with(&stage, &a);
}

static void between_attempts_a_fifo_or_interaction_queue_waits(void) {
  check_waits(INTURN_QUEUE_FIFO, "work a",
              "work a, end a failed, work next, end next finished");
  check_waits(INTURN_QUEUE_INTERACTION, "work a",
              "work a, end a failed, work next, end next finished");
}

static void between_attempts_the_others_go_on(void) {
  check_waits(INTURN_QUEUE_ACTOR, "work a, work next, end next finished",
              "work a, end a failed");
  check_waits(INTURN_QUEUE_CONCURRENT, "work a, work next, end next finished",
              "work a, end a failed");
}

static void check_turn(inturn_queue_kind kind, const char *expected) {
  flaky a = flaky_create("a");
  job next = JOB("next");
  inturn_retry retry = retry_with(2, 0);
  stage stage = create_with(kind, &a, &retry, work_hold);
  job_enqueue(stage.queue, &next, work_finish);
  stage_fail(&stage, &a.job);
  if (gate_count(&a.job.started) == 2)
    stage_finish(&stage, &a.job);
  CHECK_TRACE(expected);
  destroy_with(&stage, &a);
}

static void an_attempt_takes_its_turn_anew_or_keeps_it(void) {
  const char *keeps = "work a, work a, end a finished, work next, "
                      "end next finished";
  check_turn(INTURN_QUEUE_FIFO, keeps);
  check_turn(INTURN_QUEUE_INTERACTION, keeps);
  check_turn(INTURN_QUEUE_CONCURRENT,
             "work a, work next, end next finished, work a, end a finished");
}

static void check_deadlines(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  stage stage = stage_create_of(kind, 1);
  inturn_retry retry = retry_with(2, 100);
  inturn_operation_options options = job_options(&a.job);
  options.retry = &retry;
  options.max_wait_ns = 50;
  options.max_run_ns = 70;
  a.operation = job_enqueue_with(stage.queue, &a.job, work_hold, &options);
  stage_advance(&stage, 49);
  CHECK_INT(gate_count(&a.job.started), 1);
  stage_advance(&stage, 69);
  stage_fail(&stage, &a.job);
  /* max_wait_ns only applies to the first start. */
  stage_advance(&stage, 100);
  CHECK_INT(gate_count(&a.job.started), 2);
  stage_advance(&stage, 69);
  CHECK_INT(gate_count(&a.job.ended), 0);
  stage_advance(&stage, 1);
  CHECK_INT(gate_count(&a.job.ended), 1);
  CHECK_INT(a.job.end.outcome, INTURN_TIMED_OUT);
  CHECK_INT(a.job.end.cause, INTURN_CAUSE_MAX_RUN);
  CHECK_INT(a.job.end.attempts, 2);
  CHECK_STATUS(inturn_token_fail(a.job.token, 1), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  destroy_with(&stage, &a);
}

static void max_run_is_of_each_attempt_and_max_wait_of_the_first(void) {
  for_each_kind(check_deadlines);
}

static void check_grace(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  stage stage = stage_create_of(kind, 1);
  inturn_retry retry = retry_with(0, 100);
  inturn_operation_options options = job_options(&a.job);
  options.retry = &retry;
  options.cancel_grace_ns = 20;
  a.operation = job_enqueue_with(stage.queue, &a.job, work_hold, &options);
  stage_drain(&stage);
  stage_fail(&stage, &a.job);
  stage_advance(&stage, 100);
  CHECK_OK(inturn_operation_cancel(a.operation));
  CHECK(is_cancelled(a.job.token));
  stage_advance(&stage, 19);
  CHECK_INT(gate_count(&a.job.ended), 0);
  stage_advance(&stage, 1);
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_GRACE);
  CHECK_INT(a.job.end.attempts, 2);
  destroy_with(&stage, &a);
}

static void a_further_attempt_has_its_grace_time(void) {
  for_each_kind(check_grace);
}

static void check_handler(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  gate destroyed = GATE_INIT;
  inturn_retry retry = INTURN_RETRY_INIT;
  stage stage = create_with(kind, &a, &retry, work_hold);
  CHECK_OK(
      inturn_token_on_cancel(a.job.token, job_cancel_called, &a.job, NULL));
  stage_fail(&stage, &a.job);
  CHECK_INT(gate_count(&a.job.cancel_called), 0);
  CHECK_OK(inturn_operation_cancel(a.operation));
  stage_drain(&stage);
  /* It received the second attempt's token: see job_cancel_called. */
  CHECK_INT(gate_count(&a.job.cancel_called), 1);
  CHECK_OK(
      inturn_token_on_cancel(a.job.token, NULL, &destroyed, count_destroy));
  stage_finish(&stage, &a.job);
  CHECK_INT(gate_count(&destroyed), 1);
  destroy_with(&stage, &a);
}

static void a_cancel_handler_stays_for_further_attempts(void) {
  for_each_kind(check_handler);
}

static void check_wait(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 100);
  inturn_end end = {0};
  stage stage = create_with(kind, &a, &retry, work_hold);
  stage_fail(&stage, &a.job);
  CHECK_STATUS(inturn_operation_wait(a.operation, 0, &end), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_operation_wait(a.operation, 1, &end), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_queue_drain(stage.queue, 0), INTURN_E_TIMED_OUT);
  stage_advance(&stage, 100);
  stage_finish(&stage, &a.job);
  CHECK_OK(inturn_operation_wait(a.operation, 0, &end));
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  CHECK_INT(end.attempts, 2);
  destroy_with(&stage, &a);
}

static void the_end_of_an_attempt_is_not_waited_for(void) {
  for_each_kind(check_wait);
}

static void check_suspended(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 10);
  stage stage = create_with(kind, &a, &retry, work_hold);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_close(stage.queue));
  stage_fail(&stage, &a.job);
  stage_advance(&stage, 100);
  CHECK_INT(gate_count(&a.job.started), 1);
  stage_resume(&stage);
  CHECK_INT(gate_count(&a.job.started), 2);
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void a_closed_queue_starts_it_again_a_suspended_one_does_not(void) {
  for_each_kind(check_suspended);
}

static void check_capacity(inturn_queue_kind kind) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.capacity = 1;
  queue_options.max_concurrent = 1;
  queue_options.settle_ns = INTURN_NO_DELAY;
  queue_options.gap_ns = INTURN_NO_DELAY;
  flaky a = flaky_create("a");
  job next = JOB("next");
  stage stage = stage_create_with(kind, queue_options);
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  inturn_retry retry = retry_with(2, 100);
  inturn_operation_options options = job_options(&a.job);
  options.retry = &retry;
  a.operation = job_enqueue_with(stage.queue, &a.job, work_hold, &options);
  stage_drain(&stage);
  job_enqueue(stage.queue, &next, work_hold);
  /* It was accepted before, so it comes back even though the queue is full. */
  stage_fail(&stage, &a.job);
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL),
               INTURN_E_FULL);
  stage_advance(&stage, 100);
  while (gate_count(&a.job.started) < 2)
    stage_finish(&stage, &next);
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void one_that_comes_again_is_not_refused_by_a_full_queue(void) {
  for_each_kind(check_capacity);
}

static void segments_of_a_past_attempt_are_not_called(void) {
  flaky a = flaky_create("a");
  gate destroyed = GATE_INIT, called = GATE_INIT;
  inturn_retry retry = retry_with(2, 0);
  stage stage = create_with(INTURN_QUEUE_ACTOR, &a, &retry, work_hold);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(
      inturn_token_resume(a.job.token, never_work, &destroyed, count_destroy));
  CHECK_OK(inturn_token_fail(a.job.token, 1));
  stage_resume(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_INT(gate_count(&a.job.started), 2);
  CHECK_OK(inturn_token_resume(a.job.token, count_call, &called, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&called), 1);
  stage_finish(&stage, &a.job);
  destroy_with(&stage, &a);
}

PROGRAM(retries_between, TEST(it_can_be_cancelled_between_its_attempts),
        TEST(cancelling_all_and_destroying_end_one_between_attempts),
        TEST(between_attempts_a_fifo_or_interaction_queue_waits),
        TEST(between_attempts_the_others_go_on),
        TEST(an_attempt_takes_its_turn_anew_or_keeps_it),
        TEST(max_run_is_of_each_attempt_and_max_wait_of_the_first),
        TEST(a_further_attempt_has_its_grace_time),
        TEST(a_cancel_handler_stays_for_further_attempts),
        TEST(the_end_of_an_attempt_is_not_waited_for),
        TEST(a_closed_queue_starts_it_again_a_suspended_one_does_not),
        TEST(one_that_comes_again_is_not_refused_by_a_full_queue),
        TEST(segments_of_a_past_attempt_are_not_called))
