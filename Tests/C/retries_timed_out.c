/*
 * retries_timed_out.c - an attempt that exceeds max_run_ns is followed by
 * another one, as soon as nothing of it can continue.
 *
 * SPDX-License-Identifier: MIT
 */
#include "flaky.h"

enum { MOST_NS = 50, DELAY_NS = 100 };

/* The clock of the last stage. */
static inturn_clock passing;

/* A stage with a job that holds its tokens for too long. */
static stage create_slow(inturn_queue_kind kind, flaky *flaky,
                         const inturn_retry *retry,
                         inturn_max_run_policy policy, inturn_work_fn work) {
  stage stage = stage_create_of(kind, 1);
  inturn_operation_options options = job_options(&flaky->job);
  options.retry = retry;
  options.max_run_ns = MOST_NS;
  options.max_run_policy = policy;
  passing = stage.clock;
  flaky->operation = job_enqueue_with(stage.queue, &flaky->job, work, &options);
  stage_drain(&stage);
  return stage;
}

static stage create_held(inturn_queue_kind kind, flaky *flaky,
                         const inturn_retry *retry,
                         inturn_max_run_policy policy) {
  return create_slow(kind, flaky, retry, policy, work_hold);
}

static void check_hold(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(2, DELAY_NS);
  stage stage = create_held(kind, &a, &retry, INTURN_MAX_RUN_HOLD);
  stage_advance(&stage, MOST_NS);
  bool cancelled;
  CHECK_STATUS(inturn_token_is_cancelled(a.job.token, &cancelled),
               INTURN_E_ALREADY_FINISHED);
  CHECK_INT(state_of(a.operation), INTURN_RUNNING);
  CHECK_INT(statistics_of(stage.queue).running, 1);
  /* Its place is held, however long it takes. */
  stage_advance(&stage, 10 * DELAY_NS);
  CHECK_INT(gate_count(&a.job.started), 1);
  CHECK_STATUS(inturn_token_finish(a.job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_INT(state_of(a.operation), INTURN_PENDING);
  stage_advance(&stage, DELAY_NS - 1);
  CHECK_INT(gate_count(&a.job.started), 1);
  stage_advance(&stage, 1);
  CHECK_INT(gate_count(&a.job.started), 2);
  CHECK_OK(inturn_token_finish(a.job.token));
  stage_drain(&stage);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(a.job.end.attempts, 2);
  CHECK_INT(a.job.end.code, 0);
  destroy_with(&stage, &a);
}

static void it_holds_its_place_until_the_token_is_finished(void) {
  for_each_kind(check_hold);
}

static void check_free(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  job next = JOB("next");
  inturn_retry retry = retry_with(2, 0);
  stage stage = create_held(kind, &a, &retry, INTURN_MAX_RUN_FREE);
  inturn_token first = a.job.token;
  stage_advance(&stage, MOST_NS);
  CHECK_INT(gate_count(&a.job.started), 2);
  CHECK(a.job.token.bits != first.bits);
  CHECK_STATUS(inturn_token_finish(first), INTURN_E_ALREADY_FINISHED);
  CHECK_INT(state_of(a.operation), INTURN_RUNNING);
  job_enqueue(stage.queue, &next, work_finish);
  stage_advance(&stage, MOST_NS);
  /* That was the last attempt. */
  CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  CHECK_INT(a.job.end.attempts, 2);
  CHECK_INT(a.job.end.code, 0);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void where_its_place_is_freed_the_next_one_begins_at_once(void) {
  for_each_kind(check_free);
}

static void check_only_failures(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 0);
  retry.only_failures = true;
  stage stage = create_held(kind, &a, &retry, INTURN_MAX_RUN_FREE);
  stage_fail(&stage, &a.job);
  CHECK_INT(gate_count(&a.job.started), 2);
  stage_advance(&stage, MOST_NS);
  CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  CHECK_INT(a.job.end.attempts, 2);
  destroy_with(&stage, &a);
}

static void a_policy_of_failures_only_leaves_it_at_that(void) {
  for_each_kind(check_only_failures);
}

/* What its work does while time passes during its call. */
static bool was_told;
static void (*end_late)(inturn_token token);

static void pass_the_limit(void *context, inturn_token token) {
  job *job = context;
  work_hold(job, token);
  if (gate_count(&job->started) > 1)
    return;
  CHECK_OK(inturn_clock_advance(passing, MOST_NS));
  was_told = is_cancelled(token);
  end_late(token);
}

static void finish_late(inturn_token token) {
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void leave(inturn_token token) { (void)token; }

static stage create_passing(inturn_queue_kind kind, flaky *flaky,
                            const inturn_retry *retry,
                            inturn_max_run_policy policy,
                            void (*late)(inturn_token)) {
  was_told = false;
  end_late = late;
  stage stage = create_slow(kind, flaky, retry, policy, pass_the_limit);
  CHECK(was_told);
  return stage;
}

static void check_in_call(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 0);
  stage stage =
      create_passing(kind, &a, &retry, INTURN_MAX_RUN_HOLD, finish_late);
  CHECK_INT(gate_count(&a.job.started), 2);
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void a_call_that_is_too_long_returns_before_the_next_one(void) {
  for_each_kind(check_in_call);
}

static void check_in_call_and_held(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 0);
  stage stage = create_passing(kind, &a, &retry, INTURN_MAX_RUN_HOLD, leave);
  CHECK_INT(gate_count(&a.job.started), 1);
  CHECK_STATUS(inturn_token_abandon(a.job.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_INT(gate_count(&a.job.started), 2);
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void a_call_that_has_left_its_token_waits_for_that(void) {
  for_each_kind(check_in_call_and_held);
}

static void check_in_call_and_free(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 0);
  stage stage = create_passing(kind, &a, &retry, INTURN_MAX_RUN_FREE, leave);
  CHECK_INT(gate_count(&a.job.started), 1);
  CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  destroy_with(&stage, &a);
}

static void one_whose_place_is_freed_in_mid_call_is_the_last(void) {
  for_each_kind(check_in_call_and_free);
}

static bool decide(void *context, int32_t code, uint32_t attempts) {
  flaky *self = context;
  self->asked++;
  self->code = code;
  self->attempts = attempts;
  return self->answer;
}

static void check_decide(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 0);
  retry.decide = decide;
  stage stage = create_held(kind, &a, &retry, INTURN_MAX_RUN_HOLD);
  stage_advance(&stage, MOST_NS);
  CHECK_INT(a.asked, 1);
  CHECK_INT(a.code, INTURN_E_TIMED_OUT);
  CHECK_INT(a.attempts, 1);
  finish_late(a.job.token);
  stage_drain(&stage);
  CHECK_INT(gate_count(&a.job.started), 2);
  a.answer = false;
  stage_advance(&stage, MOST_NS);
  CHECK_INT(a.asked, 2);
  /* The end is reported; the place is held. */
  CHECK_INT(gate_count(&a.job.ended), 1);
  CHECK_INT(gate_count(&a.job.destroyed), 0);
  finish_late(a.job.token);
  stage_drain(&stage);
  CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  destroy_with(&stage, &a);
}

static void the_policy_is_asked_with_the_code_of_a_time_out(void) {
  for_each_kind(check_decide);
}

static void check_cancel(inturn_queue_kind kind) {
  for (int way = 0; way < 3; way++) {
    flaky a = flaky_create("a");
    inturn_retry retry = retry_with(0, 0);
    stage stage = create_held(kind, &a, &retry, INTURN_MAX_RUN_HOLD);
    stage_advance(&stage, MOST_NS);
    if (way == 0)
      CHECK_OK(inturn_operation_cancel(a.operation));
    if (way == 1)
      CHECK_OK(inturn_queue_cancel_all(stage.queue));
    stage_drain(&stage);
    CHECK_INT(gate_count(&a.job.ended), way == 2 ? 0 : 1);
    if (way == 2) {
      destroy_with(&stage, &a);
    } else {
      CHECK_STATUS(inturn_operation_cancel(a.operation),
                   INTURN_E_ALREADY_FINISHED);
      finish_late(a.job.token);
      stage_drain(&stage);
    }
    CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
    CHECK_INT(gate_count(&a.job.started), 1);
    if (way != 2)
      destroy_with(&stage, &a);
  }
}

static void one_that_is_cancelled_or_destroyed_meanwhile_ends_at_once(void) {
  for_each_kind(check_cancel);
}

static void hold_with_handler(void *context, inturn_token token) {
  job *job = context;
  if (gate_count(&job->started) == 0)
    CHECK_OK(inturn_token_on_cancel(token, job_cancel_called, job, NULL));
  work_hold(job, token);
}

static void check_handler(inturn_queue_kind kind) {
  flaky a = flaky_create("a");
  inturn_retry retry = retry_with(0, 0);
  stage stage =
      create_slow(kind, &a, &retry, INTURN_MAX_RUN_FREE, hold_with_handler);
  CHECK_OK(inturn_clock_advance(stage.clock, MOST_NS));
  uint32_t calls;
  /* The handler is called first. */
  CHECK_OK(inturn_executor_drain(stage.executor, 1, &calls));
  CHECK_INT(gate_count(&a.job.cancel_called), 1);
  CHECK_INT(gate_count(&a.job.started), 1);
  stage_drain(&stage);
  CHECK_INT(gate_count(&a.job.started), 2);
  /* The next attempt has no handler, unless it sets one. */
  stage_advance(&stage, MOST_NS);
  CHECK_INT(gate_count(&a.job.cancel_called), 1);
  CHECK_INT(gate_count(&a.job.started), 3);
  stage_finish(&stage, &a.job);
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  destroy_with(&stage, &a);
}

static void its_cancel_handler_is_called_before_the_next_one(void) {
  for_each_kind(check_handler);
}

PROGRAM(retries_timed_out, TEST(it_holds_its_place_until_the_token_is_finished),
        TEST(where_its_place_is_freed_the_next_one_begins_at_once),
        TEST(a_policy_of_failures_only_leaves_it_at_that),
        TEST(a_call_that_is_too_long_returns_before_the_next_one),
        TEST(a_call_that_has_left_its_token_waits_for_that),
        TEST(one_whose_place_is_freed_in_mid_call_is_the_last),
        TEST(the_policy_is_asked_with_the_code_of_a_time_out),
        TEST(one_that_is_cancelled_or_destroyed_meanwhile_ends_at_once),
        TEST(its_cancel_handler_is_called_before_the_next_one))
