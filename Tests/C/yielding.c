/*
 * yielding.c - an interaction that gives way is pending again: its attempts,
 * its end, its names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "preemption.h"

static void one_that_was_asked_to_end_ends_cancelled_when_it_yields(void) {
  job running = JOB("running");
  inturn_operation operation;
  stage stage =
      stage_create_running_kept(INTURN_QUEUE_INTERACTION, &running, &operation);
  CHECK_OK(inturn_operation_cancel(operation));
  yield_it(&stage, &running);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_INT(running.end.attempts, 1);
  CHECK_INT(end_of(operation).outcome, INTURN_CANCELLED);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void any_interaction_may_yield_at_any_time(void) {
  job running = JOB("running");
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &running);
  for (int i = 2; i <= 100; i++) {
    yield_it(&stage, &running);
    CHECK_INT(gate_count(&running.started), i);
    trace_begin();
  }
  stage_finish(&stage, &running);
  CHECK_INT(running.end.attempts, 100);
  stage_destroy(&stage);
}

static int attempts_left;

static void yield_inside(void *context, inturn_token token) {
  CHECK(context == &attempts_left);
  if (--attempts_left > 0) {
    CHECK_OK(inturn_token_yield(token));
    CHECK_STATUS(inturn_token_yield(token), INTURN_E_ALREADY_FINISHED);
    CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
  } else {
    CHECK_OK(inturn_token_finish(token));
  }
}

static void one_without_options_may_yield_inside_its_work(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  gate destroyed = GATE_INIT;
  attempts_left = 50;
  CHECK_OK(inturn_queue_enqueue(stage.queue, yield_inside, &attempts_left, NULL,
                                NULL));
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, count_work, &destroyed, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(attempts_left, 0);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_INT(statistics_of(stage.queue).finished, 2);
  stage_destroy(&stage);
}

static void one_that_has_yielded_is_pending_and_can_be_cancelled(void) {
  job running = JOB("running"), next = JOB("next");
  inturn_operation operation;
  stage stage =
      stage_create_running_kept(INTURN_QUEUE_INTERACTION, &running, &operation);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  yield_it(&stage, &running);
  CHECK_INT(state_of(operation), INTURN_PENDING);
  CHECK_INT(statistics_of(stage.queue).pending, 1);
  CHECK_INT(statistics_of(stage.queue).running, 0);
  job_enqueue(stage.queue, &next, work_finish);
  CHECK_OK(inturn_operation_cancel(operation));
  stage_resume(&stage);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_INT(running.end.attempts, 1);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void destroying_the_queue_ends_one_that_has_yielded(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  enqueue_urgent(stage.queue, &urgent, never_work);
  yield_it(&stage, &running);
  stage_destroy(&stage);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&urgent, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_INT(gate_count(&asked.destroyed), 1);
}

static void a_yield_is_no_attempt_of_the_retry_policy_that_failed(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job running = JOB("running");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  inturn_operation_options options = job_options(&running);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &running, work_hold, &options);
  stage_drain(&stage);
  yield_it(&stage, &running);
  CHECK_INT(gate_count(&running.started), 2);
  stage_fail(&stage, &running);
  CHECK_INT(gate_count(&running.started), 2);
  stage_advance(&stage, 100);
  CHECK_INT(gate_count(&running.started), 3);
  stage_finish(&stage, &running);
  CHECK_INT(running.end.attempts, 3);
  stage_destroy(&stage);
}

static void an_urgent_one_does_not_wait_for_a_retry(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job flaky = JOB("flaky"), urgent = JOB("urgent"), next = JOB("next");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  inturn_operation_options options = job_options(&flaky);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &flaky, work_hold, &options);
  stage_drain(&stage);
  job_enqueue(stage.queue, &next, work_finish);
  stage_fail(&stage, &flaky);
  enqueue_urgent(stage.queue, &urgent, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work flaky, work urgent");
  stage_advance(&stage, 100);
  stage_finish(&stage, &urgent);
  CHECK_TRACE("end urgent finished, work flaky");
  stage_finish(&stage, &flaky);
  CHECK_TRACE("end flaky finished, work next, end next finished");
  stage_destroy(&stage);
}

static void check_wrong_kind(inturn_queue_kind kind) {
  if (kind == INTURN_QUEUE_INTERACTION)
    return;
  job job = JOB("a");
  asked asked = ASKED_INIT;
  gate destroyed = GATE_INIT;
  stage stage = stage_create_running(kind, &job);
  CHECK_STATUS(
      inturn_token_on_preempt(job.token, note_asked, &asked, asked_destroyed),
      INTURN_E_WRONG_KIND);
  CHECK_INT(gate_count(&asked.destroyed), 1);
  CHECK_STATUS(inturn_token_yield(job.token), INTURN_E_WRONG_KIND);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.urgent = true;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &destroyed, count_destroy, NULL),
               INTURN_E_UNSUPPORTED);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_finish(&stage, &job);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void other_kinds_of_queues_know_nothing_of_it(void) {
  for_each_kind(check_wrong_kind);
}

static void an_ended_interaction_has_no_handler_and_cannot_yield(void) {
  job job = JOB("a");
  asked asked = ASKED_INIT, second = ASKED_INIT;
  stage stage = create_asked(&job, &asked);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_STATUS(inturn_token_yield(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(
      inturn_token_on_preempt(job.token, note_asked, &second, asked_destroyed),
      INTURN_E_ALREADY_FINISHED);
  CHECK_INT(gate_count(&second.destroyed), 1);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.destroyed), 1);
  CHECK_STATUS(inturn_token_yield(job.token), INTURN_E_ALREADY_FINISHED);
  stage_destroy(&stage);
  CHECK_STATUS(inturn_token_yield(job.token), INTURN_E_ALREADY_FINISHED);
}

static void who_yields_inside_its_handler(void *context, inturn_token token) {
  asked *asked = context;
  CHECK_OK(inturn_token_yield(token));
  gate_pass(&asked->called);
}

static void a_handler_may_yield(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &running);
  CHECK_OK(inturn_token_on_preempt(running.token, who_yields_inside_its_handler,
                                   &asked, asked_destroyed));
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work running, work urgent, end urgent finished, work running");
  CHECK_INT(gate_count(&asked.called), 1);
  CHECK_INT(gate_count(&asked.destroyed), 1);
  stage_finish(&stage, &running);
  stage_destroy(&stage);
}

static void yield_late(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job slow = JOB("slow"), next = JOB("next");
  inturn_operation_options options = job_options(&slow);
  options.max_run_ns = 10;
  job_enqueue_as(stage.queue, &slow, work_hold, &options);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 10);
  CHECK_TRACE("work slow, end slow timed out");
  CHECK_STATUS(inturn_token_yield(slow.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_TRACE("work next, end next finished");
  CHECK_ENDED(&slow, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  stage_destroy(&stage);
}

static void a_late_yield_gives_a_held_place_up(void) {
  yield_late(INTURN_QUEUE_INTERACTION);
  yield_late(INTURN_QUEUE_FIFO);
}

static void names_come_back_when_one_yields(void) {
  static const char *const names[] = {"screen"};
  stage first = stage_create(INTURN_QUEUE_INTERACTION);
  stage second = stage_create(INTURN_QUEUE_FIFO);
  job shown = JOB("shown"), other = JOB("other");
  inturn_operation_options options = job_options(&shown);
  options.exclusive = names;
  options.exclusive_count = 1;
  job_enqueue_as(first.queue, &shown, work_hold, &options);
  stage_drain(&first);
  options = job_options(&other);
  options.exclusive = names;
  options.exclusive_count = 1;
  job_enqueue_as(second.queue, &other, work_hold, &options);
  stage_drain(&second);
  CHECK_INT(gate_count(&other.started), 0);
  yield_it(&first, &shown);
  stage_drain(&second);
  CHECK_INT(gate_count(&other.started), 1);
  CHECK_INT(gate_count(&shown.started), 1);
  stage_finish(&second, &other);
  stage_drain(&first);
  CHECK_INT(gate_count(&shown.started), 2);
  stage_finish(&first, &shown);
  stage_destroy(&first);
  stage_destroy(&second);
}

PROGRAM(yielding, TEST(one_that_was_asked_to_end_ends_cancelled_when_it_yields),
        TEST(any_interaction_may_yield_at_any_time),
        TEST(one_without_options_may_yield_inside_its_work),
        TEST(one_that_has_yielded_is_pending_and_can_be_cancelled),
        TEST(destroying_the_queue_ends_one_that_has_yielded),
        TEST(a_yield_is_no_attempt_of_the_retry_policy_that_failed),
        TEST(an_urgent_one_does_not_wait_for_a_retry),
        TEST(other_kinds_of_queues_know_nothing_of_it),
        TEST(an_ended_interaction_has_no_handler_and_cannot_yield),
        TEST(a_handler_may_yield), TEST(a_late_yield_gives_a_held_place_up),
        TEST(names_come_back_when_one_yields))
