/*
 * tokens.c - the finish token: its holder ends the operation, exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void the_first_call_that_ends_an_operation_wins(void) {
  job job = JOB("a");
  gate result_destroyed = GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_fail(job.token, 7));
  CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_fail(job.token, 8), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_cancel(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_abandon(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(
      inturn_token_finish_with(job.token, &result_destroyed, count_destroy),
      INTURN_E_ALREADY_FINISHED);
  CHECK_INT(gate_count(&result_destroyed), 1);
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FAILED, INTURN_CAUSE_NONE);
  CHECK_INT(job.end.code, 7);
  CHECK(job.end.result == NULL);
  stage_destroy(&stage);
}

static void finish_ends_as_finished(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_finish(job.token));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(job.end.code, 0);
  stage_destroy(&stage);
}

static void any_number_is_a_fine_code_of_failure(void) {
  static const int32_t codes[] = {0, 1, -1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    job job = JOB("a");
    stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
    CHECK_OK(inturn_token_fail(job.token, codes[i]));
    stage_drain(&stage);
    CHECK_ENDED(&job, INTURN_FAILED, INTURN_CAUSE_NONE);
    CHECK_INT(job.end.code, codes[i]);
    stage_destroy(&stage);
  }
}

static void an_abandoned_operation_ends_and_is_reported(void) {
  reports reports;
  job job = JOB("lost");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  reports_begin(&reports);
  CHECK_OK(inturn_token_abandon(job.token));
  stage_drain(&stage);
  GATE_WAIT(&reports.told, 1);
  reports_end();
  CHECK_INT(reports.kind, INTURN_REPORT_LOST_TOKEN);
  CHECK_TEXT(reports.operation_label, "lost");
  CHECK_ENDED(&job, INTURN_ABANDONED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void
a_report_names_the_place_that_an_abandoned_operation_came_from(void) {
  reports reports;
  job job = JOB("lost");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  reports_begin(&reports);
  CHECK_OK(inturn_token_abandon_at(job.token, "program.cpp:12"));
  CHECK_STATUS(inturn_token_abandon_at(job.token, NULL),
               INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  GATE_WAIT(&reports.told, 1);
  reports_end();
  CHECK_INT(reports.kind, INTURN_REPORT_LOST_TOKEN);
  CHECK(strstr(reports.message, "enqueued at program.cpp:12") != NULL);
  CHECK_ENDED(&job, INTURN_ABANDONED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_result_reaches_the_end_callback_and_who_waits(void) {
  job job = JOB("a");
  int result = 42;
  inturn_operation operation;
  stage stage = stage_create_running_kept(INTURN_QUEUE_FIFO, &job, &operation);
  CHECK_OK(inturn_token_finish_with(job.token, &result, NULL));
  CHECK(end_of(operation).result == &result);
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK(job.end.result == &result);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_result_lives_until_its_handle_is_released(void) {
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  inturn_operation operation;
  stage stage = stage_create_running_kept(INTURN_QUEUE_FIFO, &job, &operation);
  CHECK_OK(inturn_token_finish_with(job.token, &destroyed, count_destroy));
  stage_drain(&stage);
  CHECK_INT(gate_count(&job.ended), 1);
  CHECK_INT(gate_count(&destroyed), 0);
  CHECK(end_of(operation).result == &destroyed);
  CHECK_OK(inturn_operation_release(operation));
  stage_drain(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
}

static void a_result_lives_until_its_end_was_delivered(void) {
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  inturn_operation operation;
  stage stage = stage_create_running_kept(INTURN_QUEUE_FIFO, &job, &operation);
  CHECK_OK(inturn_token_finish_with(job.token, &destroyed, count_destroy));
  CHECK_OK(inturn_operation_release(operation));
  CHECK_INT(gate_count(&destroyed), 0);
  stage_drain(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

static void a_result_that_nobody_asks_for_is_destroyed(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_token token = {0};
  gate destroyed = GATE_INIT;
  CHECK_OK(inturn_queue_enqueue(stage.queue, keep_token, &token, NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_token_finish_with(token, &destroyed, count_destroy));
  stage_drain(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

static gate null_destroyed;

static void count_null(void *context) {
  CHECK(context == NULL);
  gate_pass(&null_destroyed);
}

static void a_result_that_is_null_is_destroyed_like_any_other(void) {
  job job = JOB("a");
  null_destroyed = (gate)GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_finish_with(job.token, NULL, count_null));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(gate_count(&null_destroyed), 1);
  stage_destroy(&stage);
}

static void finish_job(void *context) {
  job *job = context;
  CHECK_OK(inturn_token_finish(job->token));
}

static void finish_job_at_end(void *context, const inturn_end *end) {
  CHECK_INT(end->outcome, INTURN_FINISHED);
  finish_job(context);
}

static void a_token_is_finished_from_any_thread(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("first"), second = JOB("second");
  job_enqueue(stage.queue, &first, work_hold);
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  on_another_thread(finish_job, &first);
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished, work second, "
              "end second finished");
  stage_destroy(&stage);
}

static void a_token_is_finished_inside_a_destroy_function(void) {
  job held = JOB("held");
  stage stage = stage_create_running(INTURN_QUEUE_CONCURRENT, &held);
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, just_finish, &held, finish_job, NULL));
  stage_drain(&stage);
  CHECK_ENDED(&held, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_token_is_finished_inside_an_end_callback(void) {
  job held = JOB("held");
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = finish_job_at_end;
  options.end_context = &held;
  stage stage = stage_create_running(INTURN_QUEUE_CONCURRENT, &held);
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, just_finish, NULL,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_ENDED(&held, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void finish_on_request(void *context, inturn_token token) {
  CHECK(context == NULL);
  CHECK_OK(inturn_token_finish(token));
}

static void a_token_is_finished_inside_its_cancel_handler(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_on_cancel(job.token, finish_on_request, NULL, NULL));
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_token_is_a_number_that_may_be_stored(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  char text[32];
  unsigned long long bits = 0;
  snprintf(text, sizeof text, "%llu", (unsigned long long)job.token.bits);
  CHECK_INT(sscanf(text, "%llu", &bits), 1);
  CHECK_OK(inturn_token_finish((inturn_token){bits}));
  stage_destroy(&stage);
}

/* Finishes its token, and stays in its call until `go`. */
static void finish_and_stay(void *context, inturn_token token) {
  job *job = context;
  CHECK_OK(inturn_token_finish(token));
  gate_pass(&job->started);
  GATE_WAIT(&job->go, 1);
  CHECK_INT(gate_count(&job->destroyed), 0);
  CHECK_INT(gate_count(&job->ended), 0);
}

static void the_next_begins_when_the_call_of_the_one_before_has_returned(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_queue other = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job first = JOB("first"), second = JOB("second"), passer = JOB("passer");
  job_enqueue(queue, &first, finish_and_stay);
  job_enqueue(queue, &second, work_finish);
  GATE_WAIT(&first.started, 1);
  /* Another worker is free: it runs this, and could have run the second. */
  job_enqueue(other, &passer, work_finish);
  GATE_WAIT(&passer.ended, 1);
  CHECK_INT(gate_count(&second.started), 0);
  gate_pass(&first.go);
  drain_and_destroy(queue);
  drain_and_destroy(other);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
}

static void a_token_of_a_destroyed_queue_is_refused(void) {
  job job = JOB("a");
  inturn_operation operation;
  stage stage = stage_create_running_kept(INTURN_QUEUE_FIFO, &job, &operation);
  stage_destroy(&stage);
  CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_cancel(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_ENDED(&job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_OK(inturn_operation_release(operation));
}

static void a_token_that_has_ended_its_operation_is_not_asked(void) {
  job job = JOB("a");
  bool cancelled = true;
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_STATUS(inturn_token_is_cancelled(job.token, &cancelled),
               INTURN_E_ALREADY_FINISHED);
  CHECK(cancelled);
  stage_destroy(&stage);
}

static void no_handler_is_set_after_the_end(void) {
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_STATUS(
      inturn_token_on_cancel(job.token, never_work, &destroyed, count_destroy),
      INTURN_E_ALREADY_FINISHED);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

static void a_token_ends_the_operation_it_was_given_to_and_no_other(void) {
  inturn_queue other = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job here = JOB("here"), there = JOB("there");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &here);
  job_enqueue(other, &there, work_hold);
  GATE_WAIT(&there.started, 1);
  CHECK(here.token.bits != there.token.bits);
  CHECK_OK(inturn_token_finish(there.token));
  drain_and_destroy(other);
  CHECK_INT(gate_count(&here.ended), 0);
  CHECK_INT(statistics_of(stage.queue).running, 1);
  CHECK_OK(inturn_token_finish(here.token));
  stage_destroy(&stage);
}

static void just_fail(void *context, inturn_token token) {
  CHECK(context == NULL);
  CHECK_OK(inturn_token_fail(token, 1));
}

static void a_queue_whose_operations_all_fail_counts_them(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  for (int i = 0; i < 100; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, just_fail, NULL, NULL, NULL));
  stage_drain(&stage);
  inturn_queue_statistics statistics = statistics_of(stage.queue);
  CHECK_INT(statistics.failed, 100);
  CHECK_INT(statistics.finished, 0);
  stage_destroy(&stage);
}

PROGRAM(tokens, TEST(a_queue_whose_operations_all_fail_counts_them),
        TEST(the_first_call_that_ends_an_operation_wins),
        TEST(finish_ends_as_finished),
        TEST(any_number_is_a_fine_code_of_failure),
        TEST(an_abandoned_operation_ends_and_is_reported),
        TEST(a_report_names_the_place_that_an_abandoned_operation_came_from),
        TEST(a_result_reaches_the_end_callback_and_who_waits),
        TEST(a_result_lives_until_its_handle_is_released),
        TEST(a_result_lives_until_its_end_was_delivered),
        TEST(a_result_that_nobody_asks_for_is_destroyed),
        TEST(a_result_that_is_null_is_destroyed_like_any_other),
        TEST(a_token_is_finished_from_any_thread),
        TEST(a_token_is_finished_inside_a_destroy_function),
        TEST(a_token_is_finished_inside_an_end_callback),
        TEST(a_token_is_finished_inside_its_cancel_handler),
        TEST(a_token_is_a_number_that_may_be_stored),
        TEST(the_next_begins_when_the_call_of_the_one_before_has_returned),
        TEST(a_token_of_a_destroyed_queue_is_refused),
        TEST(a_token_that_has_ended_its_operation_is_not_asked),
        TEST(no_handler_is_set_after_the_end),
        TEST(a_token_ends_the_operation_it_was_given_to_and_no_other))
