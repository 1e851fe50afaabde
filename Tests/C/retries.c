/*
 * retries.c - a failure is not the end while the retry policy allows another
 * attempt, which has a token of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "flaky.h"

#include <math.h>

static bool decide(void *context, int32_t code, uint32_t attempts) {
  flaky *self = context;
  self->asked++;
  self->code = code;
  self->attempts = attempts;
  if (self->meanwhile != NULL)
    self->meanwhile(self);
  return self->answer;
}

static void check_count(inturn_queue_kind kind) {
  for (uint32_t most = 1; most <= 4; most++) {
    flaky a = flaky_create("a");
    inturn_retry retry = retry_with(most, 0);
    stage stage = create_with(kind, &a, &retry, work_fail);
    CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
    CHECK_INT(gate_count(&a.job.started), most);
    CHECK_INT(a.job.end.attempts, most);
    CHECK_INT(a.job.end.code, FAIL_CODE);
    CHECK_INT(end_of(a.operation).attempts, most);
    CHECK_INT(end_of(a.operation).code, FAIL_CODE);
    CHECK_INT(statistics_of(stage.queue).failed, 1);
    CHECK_INT(statistics_of(stage.queue).pending, 0);
    CHECK_INT(statistics_of(stage.queue).running, 0);
    destroy_with(&stage, &a);
  }
}

static void it_is_started_max_attempts_times_at_most(void) {
  for_each_kind(check_count);
}

static void check_no_limit(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = INTURN_RETRY_INIT;
  stage stage = create_with(kind, &a, &retry, work_hold);
  for (int i = 1; i < 200; i++) {
    CHECK_INT(gate_count(&a.job.started), i);
    CHECK_INT(gate_count(&a.job.ended), 0);
    CHECK_INT(state_of(a.operation), INTURN_RUNNING);
    stage_fail(&stage, &a.job);
    trace_begin();
  }
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(a.job.end.attempts, 200);
  CHECK_INT(a.job.end.code, 0);
  destroy_with(&stage, &a);
}

static void zero_attempts_are_no_limit(void) { for_each_kind(check_no_limit); }

static void check_tokens(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(3, 0);
  stage stage = create_with(kind, &a, &retry, work_hold);
  inturn_token first = a.job.token;
  stage_fail(&stage, &a.job);
  inturn_token second = a.job.token;
  CHECK(first.bits != second.bits);
  bool cancelled;
  gate destroyed = GATE_INIT;
  CHECK_STATUS(inturn_token_finish(first), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_fail(first, 1), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_cancel(first), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_abandon(first), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_is_cancelled(first, &cancelled),
               INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_finish_with(first, &destroyed, count_destroy),
               INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(
      inturn_token_on_cancel(first, count_call, &destroyed, count_destroy),
      INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(
      inturn_token_on_preempt(first, count_call, &destroyed, count_destroy),
      INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(
      inturn_token_resume(first, count_call, &destroyed, count_destroy),
      INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_yield(first), INTURN_E_ALREADY_FINISHED);
  CHECK_INT(gate_count(&destroyed), 4);
  CHECK_INT(state_of(a.operation), INTURN_RUNNING);
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(a.job.end.attempts, 2);
  CHECK_STATUS(inturn_token_finish(second), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_finish(first), INTURN_E_ALREADY_FINISHED);
  destroy_with(&stage, &a);
}

static void each_attempt_has_a_token_of_its_own(void) {
  for_each_kind(check_tokens);
}

static void check_delays(inturn_queue_kind kind) {
  static const int64_t delays[] = {100, 200, 400, 800, 1000, 1000, 1000};
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(8, 100);
  retry.factor = 2;
  retry.max_delay_ns = 1000;
  stage stage = create_with(kind, &a, &retry, work_fail);
  for (int i = 0; i < 7; i++) {
    CHECK_INT(state_of(a.operation), INTURN_PENDING);
    CHECK_INT(statistics_of(stage.queue).pending, 1);
    CHECK_INT(statistics_of(stage.queue).running, 0);
    stage_advance(&stage, delays[i] - 1);
    CHECK_INT(gate_count(&a.job.started), i + 1);
    stage_advance(&stage, 1);
    CHECK_INT(gate_count(&a.job.started), i + 2);
  }
  CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  CHECK_INT(a.job.end.started_ns, 4500);
  CHECK_INT(a.job.end.ended_ns, 4500);
  CHECK_INT(a.job.end.enqueued_ns, 0);
  destroy_with(&stage, &a);
}

static void a_delay_grows_by_its_factor_up_to_the_maximum(void) {
  for_each_kind(check_delays);
}

static void the_largest_numbers_are_fine(void) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(UINT32_MAX, INT64_MAX);
  retry.factor = 1e300;
  stage stage = create_with(INTURN_QUEUE_FIFO, &a, &retry, work_fail);
  stage_advance(&stage, INT64_MAX - 1);
  CHECK_INT(gate_count(&a.job.started), 1);
  stage_advance(&stage, 1);
  CHECK_INT(gate_count(&a.job.ended), 0);
  destroy_with(&stage, &a);
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
}

static void jitter_leaves_out_at_most_its_part_of_a_delay(void) {
  bool was_shorter = false;
  for (int i = 0; i < 50; i++) {
    flaky a = flaky_create("a");
    inturn_retry retry = retry_with(2, 1000000);
    retry.jitter = 0.25;
    stage stage = create_with(INTURN_QUEUE_FIFO, &a, &retry, work_fail);
    stage_advance(&stage, 749999);
    CHECK_INT(gate_count(&a.job.started), 1);
    stage_advance(&stage, 125001);
    was_shorter = was_shorter || gate_count(&a.job.started) == 2;
    stage_advance(&stage, 125000);
    CHECK_INT(gate_count(&a.job.started), 2);
    destroy_with(&stage, &a);
  }
  CHECK(was_shorter);
}

static void check_decide(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(4, 0);
  retry.decide = decide;
  stage stage = create_with(kind, &a, &retry, work_hold);
  for (uint32_t i = 1; i <= 3; i++) {
    CHECK_OK(inturn_token_fail(a.job.token, (int32_t)(10 * i)));
    stage_drain(&stage);
    CHECK_INT(a.asked, i);
    CHECK_INT(a.code, 10 * i);
    CHECK_INT(a.attempts, i);
    CHECK_INT(gate_count(&a.job.started), i + 1);
  }
  /* No further attempt is allowed, so there is nothing to ask. */
  stage_fail(&stage, &a.job);
  CHECK_INT(a.asked, 3);
  CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  CHECK_INT(a.job.end.code, FAIL_CODE);
  destroy_with(&stage, &a);
}

static void the_policy_may_decide_about_each_failure(void) {
  for_each_kind(check_decide);
}

static void check_decide_against(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  job next = JOB("next");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.decide = decide;
  stage stage = create_with(kind, &a, &retry, work_hold);
  job_enqueue(stage.queue, &next, work_finish);
  a.answer = false;
  stage_fail(&stage, &a.job);
  CHECK_INT(a.asked, 1);
  CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  CHECK_INT(a.job.end.code, FAIL_CODE);
  CHECK_INT(a.job.end.attempts, 1);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void what_it_decides_against_has_failed(void) {
  for_each_kind(check_decide_against);
}

static void look_while_deciding(flaky *self) {
  CHECK_INT(state_of(self->operation), INTURN_RUNNING);
  CHECK_INT(statistics_of(self->queue).running, 1);
  CHECK_STATUS(inturn_operation_wait(self->operation, 0, NULL),
               INTURN_E_TIMED_OUT);
}

static void cancel_while_deciding(flaky *self) {
  CHECK_OK(inturn_operation_cancel(self->operation));
}

static void what_was_to_be_asked_ends_with_its_queue(void) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(3, 0);
  retry.decide = decide;
  stage stage = create_with(INTURN_QUEUE_CONCURRENT, &a, &retry, work_hold);
  CHECK_OK(inturn_token_fail(a.job.token, FAIL_CODE));
  destroy_with(&stage, &a);
  CHECK_INT(a.asked, 0);
  CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
}

static void destroy_while_deciding(flaky *self) {
  CHECK_OK(inturn_queue_destroy(self->queue));
}

static void check_meanwhile(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(2, 0);
  retry.decide = decide;
  a.meanwhile = look_while_deciding;
  stage first = create_with(kind, &a, &retry, work_fail);
  CHECK_INT(a.job.end.attempts, 2);
  destroy_with(&first, &a);

  flaky b = flaky_create("b");
  b.meanwhile = cancel_while_deciding;
  stage second = create_with(kind, &b, &retry, work_fail);
  CHECK_ENDED(&b.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  CHECK_INT(b.job.end.attempts, 1);
  CHECK_INT(b.job.end.code, FAIL_CODE);
  destroy_with(&second, &b);

  flaky c = flaky_create("c");
  c.meanwhile = destroy_while_deciding;
  stage third = create_with(kind, &c, &retry, work_fail);
  CHECK_INT(c.job.end.attempts, 1);
  CHECK_INT(gate_count(&c.job.ended), 1);
  CHECK_INT(gate_count(&c.job.destroyed), 1);
  CHECK_OK(inturn_operation_release(c.operation));
  CHECK_OK(inturn_executor_destroy(third.executor));
  CHECK_OK(inturn_clock_destroy(third.clock));
}

static void meanwhile_it_runs_and_can_be_cancelled_or_destroyed(void) {
  for_each_kind(check_meanwhile);
}

static void check_other_ends(inturn_queue_kind kind) {
  for (int way = 0; way < 3; way++) {
    flaky a = flaky_create("a");
    inturn_retry retry = INTURN_RETRY_INIT;
    reports reports;
    reports_begin(&reports);
    retry.decide = decide;
    stage stage = create_with(kind, &a, &retry, work_hold);
    stage_fail(&stage, &a.job);
    CHECK_INT(gate_count(&a.job.started), 2);
    if (way == 0)
      CHECK_OK(inturn_token_finish_with(a.job.token, &a, NULL));
    else if (way == 1)
      CHECK_OK(inturn_token_cancel(a.job.token));
    else
      CHECK_OK(inturn_token_abandon(a.job.token));
    stage_drain(&stage);
    CHECK_ENDED(&a.job,
                way == 0   ? INTURN_FINISHED
                : way == 1 ? INTURN_CANCELLED
                           : INTURN_ABANDONED,
                INTURN_CAUSE_NONE);
    CHECK_INT(a.job.end.code, 0);
    CHECK_INT(a.asked, 1);
    reports_end();
    destroy_with(&stage, &a);
  }
}

static void only_a_failure_is_followed_up(void) {
  for_each_kind(check_other_ends);
}

static void check_cancel_requested(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.decide = decide;
  stage stage = create_with(kind, &a, &retry, work_hold);
  CHECK_OK(inturn_operation_cancel(a.operation));
  stage_fail(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  CHECK_INT(a.asked, 0);
  CHECK_INT(a.job.end.attempts, 1);
  destroy_with(&stage, &a);
}

static void one_that_was_asked_to_end_is_not_started_again(void) {
  for_each_kind(check_cancel_requested);
}

static void check_refused(const inturn_retry *retry) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.retry = retry;
  options.on_end = never_end;
  options.end_context = &destroyed;
  options.end_destroy = count_destroy;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &destroyed, count_destroy, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&destroyed), 2);
  stage_destroy(&stage);
}

static void a_policy_that_makes_no_sense_is_refused(void) {
  static const double factors[] = {0.001, 0.999, -1, NAN, INFINITY, -INFINITY};
  static const double jitters[] = {-0.001, 1.001, NAN, INFINITY, -INFINITY};
  inturn_retry retry = INTURN_RETRY_INIT;
  for (int i = 0; i < 6; i++) {
    retry.factor = factors[i];
    check_refused(&retry);
  }
  retry.factor = 1;
  for (int i = 0; i < 5; i++) {
    retry.jitter = jitters[i];
    check_refused(&retry);
  }
  retry.jitter = 0;
  retry.delay_ns = -1;
  check_refused(&retry);
  retry.delay_ns = 0;
  retry.max_delay_ns = INT64_MIN;
  check_refused(&retry);
  retry.max_delay_ns = 0;
  retry.size = sizeof retry - 1;
  check_refused(&retry);
}

static void what_the_options_point_to_is_copied(void) {
  flaky a = flaky_create("a");
  inturn_retry *retry = &(inturn_retry)INTURN_RETRY_INIT;
  retry->max_attempts = 2;
  stage stage = create_with(INTURN_QUEUE_FIFO, &a, retry, work_hold);
  memset(retry, 0, sizeof *retry);
  stage_fail(&stage, &a.job);
  CHECK_INT(gate_count(&a.job.started), 2);
  stage_fail(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

PROGRAM(retries, TEST(it_is_started_max_attempts_times_at_most),
        TEST(zero_attempts_are_no_limit),
        TEST(what_was_to_be_asked_ends_with_its_queue),
        TEST(each_attempt_has_a_token_of_its_own),
        TEST(a_delay_grows_by_its_factor_up_to_the_maximum),
        TEST(the_largest_numbers_are_fine),
        TEST(jitter_leaves_out_at_most_its_part_of_a_delay),
        TEST(the_policy_may_decide_about_each_failure),
        TEST(what_it_decides_against_has_failed),
        TEST(meanwhile_it_runs_and_can_be_cancelled_or_destroyed),
        TEST(only_a_failure_is_followed_up),
        TEST(one_that_was_asked_to_end_is_not_started_again),
        TEST(a_policy_that_makes_no_sense_is_refused),
        TEST(what_the_options_point_to_is_copied))
