/*
 * preemption.c - urgent interactions: they come before all others, and the
 * running one is asked to give way.
 *
 * SPDX-License-Identifier: MIT
 */
#include "preemption.h"

static void an_urgent_one_comes_before_all_that_are_not(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), high = JOB("high"), urgent = JOB("urgent"),
      second = JOB("second urgent");
  job_enqueue(stage.queue, &first, work_hold);
  stage_drain(&stage);
  inturn_operation_options options = job_options(&high);
  options.priority = INT32_MAX;
  job_enqueue_as(stage.queue, &high, work_finish, &options);
  options = urgent_options(&urgent);
  options.priority = INT32_MIN;
  job_enqueue_as(stage.queue, &urgent, work_finish, &options);
  enqueue_urgent(stage.queue, &second, work_finish);
  stage_finish(&stage, &first);
  CHECK_TRACE("work first, end first finished, work urgent, end urgent "
              "finished, work second urgent, end second urgent finished, "
              "work high, end high finished");
  stage_destroy(&stage);
}

/* Both have failed and wait for their next attempts, the urgent one for less
   long. */
static void an_urgent_one_stays_before_the_others_between_attempts(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job plain = JOB("plain"), urgent = JOB("urgent"), later = JOB("later");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  retry.delay_ns = 1000;
  inturn_operation_options options = job_options(&plain);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &plain, work_fail, &options);
  stage_drain(&stage);
  retry.delay_ns = 10;
  options = urgent_options(&urgent);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &urgent, work_fail, &options);
  stage_drain(&stage);
  enqueue_urgent(stage.queue, &later, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work plain, work urgent");
  stage_advance(&stage, 10);
  CHECK_TRACE("work urgent, end urgent failed, work later, "
              "end later finished");
  stage_advance(&stage, 1000);
  CHECK_TRACE("work plain, end plain failed");
  stage_destroy(&stage);
}

static void the_running_one_is_asked_to_give_way(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  enqueue_urgent(stage.queue, &urgent, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("asked");
  CHECK_INT(asked.token.bits, running.token.bits);
  CHECK(!is_cancelled(running.token));
  CHECK_INT(gate_count(&asked.destroyed), 1);
  stage_finish(&stage, &running);
  CHECK_TRACE("end running finished, work urgent");
  stage_destroy(&stage);
}

static void one_that_gives_way_is_presented_again_before_the_others(void) {
  job running = JOB("running"), urgent = JOB("urgent"), high = JOB("high");
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  inturn_token first = running.token;
  inturn_operation_options options = job_options(&high);
  options.priority = 5;
  job_enqueue_as(stage.queue, &high, work_finish, &options);
  enqueue_urgent(stage.queue, &urgent, work_hold);
  stage_drain(&stage);
  yield_it(&stage, &running);
  CHECK_TRACE("asked, work urgent");
  CHECK_STATUS(inturn_token_finish(first), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_yield(first), INTURN_E_ALREADY_FINISHED);
  stage_finish(&stage, &urgent);
  CHECK_TRACE("end urgent finished, work running");
  CHECK(running.token.bits != first.bits);
  CHECK_STATUS(inturn_token_finish(first), INTURN_E_ALREADY_FINISHED);
  stage_finish(&stage, &running);
  CHECK_TRACE("end running finished, work high, end high finished");
  CHECK_ENDED(&running, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(running.end.attempts, 2);
  stage_destroy(&stage);
}

static void one_may_go_on_or_end_instead(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 1000000);
  CHECK_TRACE("asked");
  stage_fail(&stage, &running);
  CHECK_TRACE("end running failed, work urgent, end urgent finished");
  CHECK_INT(running.end.attempts, 1);
  stage_destroy(&stage);
}

static void it_is_asked_once_for_each_attempt(void) {
  job running = JOB("running"), urgent[3] = {JOB("a"), JOB("b"), JOB("c")};
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  enqueue_urgent(stage.queue, &urgent[0], work_finish);
  enqueue_urgent(stage.queue, &urgent[1], work_finish);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 1);
  yield_it(&stage, &running);
  CHECK_INT(gate_count(&running.started), 2);
  set_handler(&running, &asked);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 1);
  enqueue_urgent(stage.queue, &urgent[2], work_finish);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 2);
  CHECK_INT(asked.token.bits, running.token.bits);
  stage_finish(&stage, &running);
  CHECK_INT(gate_count(&asked.destroyed), 2);
  stage_destroy(&stage);
}

static void a_handler_that_is_set_later_is_called_soon(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &running);
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_drain(&stage);
  set_handler(&running, &asked);
  CHECK_INT(gate_count(&asked.called), 0);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 1);
  stage_finish(&stage, &running);
  stage_destroy(&stage);
}

static void it_is_not_called_when_no_urgent_one_waits_any_more(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &running);
  inturn_operation_options options = urgent_options(&urgent);
  inturn_operation operation =
      job_enqueue_with(stage.queue, &urgent, never_work, &options);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_operation_release(operation));
  stage_drain(&stage);
  set_handler(&running, &asked);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 0);
  stage_finish(&stage, &running);
  CHECK_INT(gate_count(&asked.destroyed), 1);
  stage_destroy(&stage);
}

static void a_second_handler_replaces_the_first(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked first = ASKED_INIT, second = ASKED_INIT;
  stage stage = create_asked(&running, &first);
  set_handler(&running, &second);
  CHECK_INT(gate_count(&first.destroyed), 1);
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_drain(&stage);
  CHECK_INT(gate_count(&first.called), 0);
  CHECK_INT(gate_count(&second.called), 1);
  stage_finish(&stage, &running);
  stage_destroy(&stage);
}

static void a_null_handler_is_none(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked first = ASKED_INIT, second = ASKED_INIT;
  stage stage = create_asked(&running, &first);
  CHECK_OK(
      inturn_token_on_preempt(running.token, NULL, &second, asked_destroyed));
  CHECK_INT(gate_count(&first.destroyed), 1);
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_drain(&stage);
  CHECK_INT(gate_count(&first.called), 0);
  stage_finish(&stage, &running);
  CHECK_INT(gate_count(&second.called), 0);
  CHECK_INT(gate_count(&second.destroyed), 1);
  stage_destroy(&stage);
}

static void an_urgent_one_is_not_asked(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  enqueue_urgent(stage.queue, &running, work_hold);
  stage_drain(&stage);
  set_handler(&running, &asked);
  enqueue_urgent(stage.queue, &urgent, work_hold);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 0);
  stage_finish(&stage, &running);
  CHECK_INT(gate_count(&asked.destroyed), 1);
  CHECK_INT(gate_count(&urgent.started), 1);
  stage_destroy(&stage);
}

static void it_is_asked_when_the_queue_would_start_the_urgent_one(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 0);
  CHECK_OK(inturn_queue_view_will_disappear(stage.queue));
  stage_resume(&stage);
  CHECK_INT(gate_count(&asked.called), 0);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 1);
  stage_finish(&stage, &running);
  stage_destroy(&stage);
}

static void it_is_asked_when_a_resume_lets_the_urgent_one_start(void) {
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  stage stage = create_asked(&running, &asked);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  enqueue_urgent(stage.queue, &urgent, work_finish);
  stage_resume(&stage);
  CHECK_INT(gate_count(&asked.called), 1);
  stage_finish(&stage, &running);
  stage_destroy(&stage);
}

static void it_is_asked_when_the_urgent_one_need_not_wait_any_more(void) {
  job other = JOB("other"), running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  inturn_operation earlier;
  stage elsewhere =
      stage_create_running_kept(INTURN_QUEUE_FIFO, &other, &earlier);
  stage stage = create_asked(&running, &asked);
  inturn_operation_options options = urgent_options(&urgent);
  options.after = &earlier;
  options.after_count = 1;
  job_enqueue_as(stage.queue, &urgent, work_finish, &options);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 0);
  stage_finish(&elsewhere, &other);
  stage_drain(&stage);
  CHECK_INT(gate_count(&asked.called), 1);
  yield_it(&stage, &running);
  CHECK_ENDED(&urgent, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(gate_count(&running.started), 2);
  CHECK_OK(inturn_operation_release(earlier));
  stage_destroy(&elsewhere);
  stage_destroy(&stage);
}

static void it_is_asked_when_it_runs_in_the_gap_too(void) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.settle_ns = INTURN_NO_DELAY;
  queue_options.gap_ns = 100;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, queue_options);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  job running = JOB("running"), urgent = JOB("urgent");
  asked asked = ASKED_INIT;
  job_enqueue(stage.queue, &running, work_hold);
  stage_drain(&stage);
  set_handler(&running, &asked);
  enqueue_urgent(stage.queue, &urgent, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work running, asked");
  yield_it(&stage, &running);
  stage_advance(&stage, 99);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("work urgent");
  stage_finish(&stage, &urgent);
  stage_advance(&stage, 99);
  CHECK_TRACE("end urgent finished");
  stage_advance(&stage, 1);
  CHECK_TRACE("work running");
  stage_destroy(&stage);
}

PROGRAM(preemption, TEST(an_urgent_one_comes_before_all_that_are_not),
        TEST(an_urgent_one_stays_before_the_others_between_attempts),
        TEST(the_running_one_is_asked_to_give_way),
        TEST(one_that_gives_way_is_presented_again_before_the_others),
        TEST(one_may_go_on_or_end_instead),
        TEST(it_is_asked_once_for_each_attempt),
        TEST(a_handler_that_is_set_later_is_called_soon),
        TEST(it_is_not_called_when_no_urgent_one_waits_any_more),
        TEST(a_second_handler_replaces_the_first), TEST(a_null_handler_is_none),
        TEST(an_urgent_one_is_not_asked),
        TEST(it_is_asked_when_the_queue_would_start_the_urgent_one),
        TEST(it_is_asked_when_a_resume_lets_the_urgent_one_start),
        TEST(it_is_asked_when_the_urgent_one_need_not_wait_any_more),
        TEST(it_is_asked_when_it_runs_in_the_gap_too))
