/*
 * deadlines.c - max_wait_ns, max_run_ns, stall_ns, and their clock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

/* Enqueues a job with deadlines; keeps no handle. */
static void enqueue_timed(const stage *stage, job *job, inturn_work_fn work,
                          int64_t max_wait_ns, int64_t max_run_ns,
                          inturn_max_run_policy policy) {
  inturn_operation_options options = job_options(job);
  options.max_wait_ns = max_wait_ns;
  options.max_run_ns = max_run_ns;
  options.max_run_policy = policy;
  CHECK_OK(inturn_queue_enqueue_with(stage->queue, &options, work, job,
                                     job_destroyed, NULL));
}

static void max_wait_ends_what_waits_too_long(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  stage_advance(&stage, 1000);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  enqueue_timed(&stage, &job, never_work, 100, 0, INTURN_MAX_RUN_HOLD);
  stage_advance(&stage, 99);
  CHECK_INT(statistics_of(stage.queue).pending, 1);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("end a timed out");
  CHECK_ENDED(&job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_WAIT);
  CHECK_INT(job.end.enqueued_ns, 1000);
  CHECK_INT(job.end.started_ns, 0);
  CHECK_INT(job.end.ended_ns, 1100);
  CHECK_INT(statistics_of(stage.queue).timed_out, 1);
  stage_destroy(&stage);
}

static void max_wait_ends_a_pending_operation(void) {
  for_each_kind(max_wait_ends_what_waits_too_long);
}

static void max_wait_counts_until_the_work_is_called(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  enqueue_timed(&stage, &job, never_work, 100, 0, INTURN_MAX_RUN_HOLD);
  /* The executor is not drained, so nothing starts meanwhile. */
  CHECK_OK(inturn_clock_advance(stage.clock, 100));
  stage_drain(&stage);
  CHECK_TRACE("end a timed out");
  stage_destroy(&stage);
}

static void max_wait_is_over_with_the_start(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  enqueue_timed(&stage, &job, work_hold, 100, 0, INTURN_MAX_RUN_HOLD);
  stage_advance(&stage, 99);
  stage_advance(&stage, 1000);
  CHECK_TRACE("work a");
  CHECK_OK(inturn_token_finish(job.token));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void max_wait_of_one_frees_the_way_for_the_next(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  job_enqueue(stage.queue, &first, work_hold);
  enqueue_timed(&stage, &second, never_work, 100, 0, INTURN_MAX_RUN_HOLD);
  job_enqueue(stage.queue, &third, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 100);
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_TRACE("work a, end b timed out, end a finished, work c, "
              "end c finished");
  stage_destroy(&stage);
}

static void what_falls_due_on_the_way_falls_due_in_its_order(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), second = JOB("b"), third = JOB("c"), fourth = JOB("d");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  enqueue_timed(&stage, &first, never_work, 30, 0, INTURN_MAX_RUN_HOLD);
  enqueue_timed(&stage, &second, never_work, 20, 0, INTURN_MAX_RUN_HOLD);
  enqueue_timed(&stage, &third, never_work, 40, 0, INTURN_MAX_RUN_HOLD);
  enqueue_timed(&stage, &fourth, never_work, 10, 0, INTURN_MAX_RUN_HOLD);
  stage_advance(&stage, 1000);
  CHECK_TRACE("end d timed out, end b timed out, end a timed out, "
              "end c timed out");
  CHECK_INT(fourth.end.ended_ns, 10);
  CHECK_INT(third.end.ended_ns, 40);
  stage_destroy(&stage);
}

static void max_run_tells_the_end_and_holds_the_place(
    inturn_status (*end)(inturn_token token)) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), second = JOB("b");
  enqueue_timed(&stage, &first, work_hold, 0, 100, INTURN_MAX_RUN_HOLD);
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 99);
  CHECK_TRACE("work a");
  stage_advance(&stage, 1);
  CHECK_TRACE("end a timed out");
  CHECK_INT(first.end.cause, INTURN_CAUSE_MAX_RUN);
  CHECK_INT(first.end.started_ns, 0);
  CHECK_INT(first.end.ended_ns, 100);
  CHECK(must_stop(first.token));
  stage_advance(&stage, 1000);
  CHECK_TRACE("");
  CHECK_STATUS(end(first.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_TRACE("work b, end b finished");
  CHECK_ENDED(&first, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  stage_destroy(&stage);
}

/* What a call that is cut off has to know, and the operation behind it. */
typedef struct cut_off {
  inturn_operation next;
  gate told;
  atomic_bool is_done;
} cut_off;

static void stay_until_told(void *context, inturn_token token) {
  cut_off *it = context;
  GATE_WAIT(&it->told, 1);
  for (int i = 0; i < 1000; i++) {
    inturn_operation_state state;
    CHECK_OK(inturn_operation_get_state(it->next, &state));
    CHECK_INT(state, INTURN_PENDING);
    sched_yield();
  }
  atomic_store(&it->is_done, true);
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void note_end(void *context, const inturn_end *end) {
  cut_off *it = context;
  CHECK_INT(end->outcome, INTURN_TIMED_OUT);
  gate_pass(&it->told);
}

static void start_when_it_is_done(void *context, inturn_token token) {
  cut_off *it = context;
  CHECK(atomic_load(&it->is_done));
  CHECK_OK(inturn_token_finish(token));
}

/* Its end is told during the call. */
static void a_call_that_is_cut_off_keeps_its_place(void) {
  for (int kind = INTURN_QUEUE_FIFO; kind <= INTURN_QUEUE_CONCURRENT; kind++) {
    if (kind == INTURN_QUEUE_INTERACTION)
      continue;
    cut_off it = {.told = GATE_INIT};
    inturn_queue_options of_queue = INTURN_QUEUE_OPTIONS_INIT;
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_queue queue;
    of_queue.max_concurrent = 1;
    CHECK_OK(inturn_queue_create((inturn_queue_kind)kind, &of_queue, &queue));
    options.max_run_ns = 1;
    options.on_end = note_end;
    options.end_context = &it;
    CHECK_OK(inturn_queue_suspend(queue));
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, stay_until_told, &it,
                                       NULL, NULL));
    CHECK_OK(inturn_queue_enqueue(queue, start_when_it_is_done, &it, NULL,
                                  &it.next));
    CHECK_OK(inturn_queue_resume(queue));
    CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
    CHECK_OK(inturn_operation_release(it.next));
    CHECK_OK(inturn_queue_destroy(queue));
  }
}

static inturn_status fail_token(inturn_token token) {
  return inturn_token_fail(token, 1);
}

static inturn_status finish_token_with(inturn_token token) {
  gate destroyed = GATE_INIT;
  inturn_status status =
      inturn_token_finish_with(token, &destroyed, count_destroy);
  CHECK_INT(gate_count(&destroyed), 1);
  return status;
}

static void max_run_holds_the_place_until_the_token_is_finished(void) {
  max_run_tells_the_end_and_holds_the_place(inturn_token_finish);
}

static void a_held_place_is_freed_however_the_token_is_ended(void) {
  max_run_tells_the_end_and_holds_the_place(fail_token);
  max_run_tells_the_end_and_holds_the_place(finish_token_with);
  max_run_tells_the_end_and_holds_the_place(inturn_token_cancel);
}

static void max_run_frees_the_place_when_told_to(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), second = JOB("b");
  enqueue_timed(&stage, &first, work_hold, 0, 100, INTURN_MAX_RUN_FREE);
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 100);
  CHECK_TRACE("work a, end a timed out, work b, end b finished");
  CHECK_ENDED(&first, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  inturn_status status = inturn_token_finish(first.token);
  CHECK(status == INTURN_E_ALREADY_FINISHED || status == INTURN_E_STALE);
  stage_destroy(&stage);
}

static void max_run_is_nothing_to_what_ends_in_time(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  enqueue_timed(&stage, &job, work_hold, 0, 100, INTURN_MAX_RUN_HOLD);
  stage_drain(&stage);
  stage_advance(&stage, 99);
  CHECK_OK(inturn_token_finish(job.token));
  stage_advance(&stage, 1000);
  CHECK_TRACE("work a, end a finished");
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void check_over(const job *job) {
  bool cancelled = true;
  CHECK_STATUS(inturn_token_is_cancelled(job->token, &cancelled),
               INTURN_E_ALREADY_FINISHED);
  CHECK(cancelled);
}

static void what_was_cut_off_is_over_once_its_call_has_returned(void) {
  static const inturn_max_run_policy policies[] = {INTURN_MAX_RUN_HOLD,
                                                   INTURN_MAX_RUN_FREE};
  for (int i = 0; i < 2; i++) {
    stage stage = stage_create(INTURN_QUEUE_FIFO);
    job job = JOB("a");
    enqueue_timed(&stage, &job, work_hold, 0, 100, policies[i]);
    stage_drain(&stage);
    CHECK(!is_cancelled(job.token));
    stage_advance(&stage, 100);
    check_over(&job);
    CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
    check_over(&job);
    stage_destroy(&stage);
  }
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  options.cancel_grace_ns = 100;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &job, work_hold, &options);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK(is_cancelled(job.token));
  stage_advance(&stage, 100);
  check_over(&job);
  CHECK_OK(inturn_operation_release(operation));
  stage_drain(&stage);
  check_over(&job);
  stage_destroy(&stage);
}

static void be_cut_off(void *context, inturn_token token) {
  job *job = context;
  work_hold(job, token);
  GATE_WAIT(&job->go, 1);
  CHECK_INT(gate_count(&job->destroyed), 0);
  CHECK(is_cancelled(token));
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void check_cut_off(inturn_max_run_policy policy) {
  stage stage = {{0}, {0}, {0}};
  job first = JOB("a"), second = JOB("b");
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  CHECK_OK(inturn_clock_create_manual(&stage.clock));
  options.clock = stage.clock;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &stage.queue));
  enqueue_timed(&stage, &first, be_cut_off, 0, 100, policy);
  job_enqueue(stage.queue, &second, work_finish);
  GATE_WAIT(&first.started, 1);
  CHECK_OK(inturn_clock_advance(stage.clock, 100));
  GATE_WAIT(&first.ended, 1);
  CHECK_INT(first.end.outcome, INTURN_TIMED_OUT);
  if (policy == INTURN_MAX_RUN_FREE)
    GATE_WAIT(&second.ended, 1);
  else
    CHECK_INT(gate_count(&second.started), 0);
  CHECK_INT(gate_count(&first.destroyed), 0);
  gate_pass(&first.go);
  GATE_WAIT(&first.destroyed, 1);
  drain_and_destroy(stage.queue);
  CHECK_OK(inturn_clock_destroy(stage.clock));
  CHECK_ENDED(&first, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
}

static void a_call_that_is_cut_off_goes_on_and_keeps_its_context(void) {
  check_cut_off(INTURN_MAX_RUN_HOLD);
  check_cut_off(INTURN_MAX_RUN_FREE);
}

static void the_cancel_handler_is_called_when_a_deadline_cuts_off(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  enqueue_timed(&stage, &job, work_hold, 0, 100, INTURN_MAX_RUN_HOLD);
  stage_drain(&stage);
  CHECK_OK(inturn_token_on_cancel(job.token, job_cancel_called, &job, NULL));
  stage_advance(&stage, 99);
  CHECK_INT(gate_count(&job.cancel_called), 0);
  stage_advance(&stage, 1);
  CHECK_INT(gate_count(&job.cancel_called), 1);
  CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  CHECK_INT(gate_count(&job.cancel_called), 1);
  stage_destroy(&stage);
}

static void a_stall_is_reported_in_the_queue_and_in_the_run(void) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.label = "slow queue";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, queue_options);
  job job = JOB("slow");
  reports reports;
  inturn_operation_options options = job_options(&job);
  options.stall_ns = 100;
  reports_begin(&reports);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work_hold, &job,
                                     job_destroyed, NULL));
  stage_advance(&stage, 99);
  CHECK_INT(gate_count(&reports.told), 0);
  stage_advance(&stage, 1);
  GATE_WAIT(&reports.told, 1);
  CHECK_INT(reports.kind, INTURN_REPORT_STALL);
  CHECK_TEXT(reports.queue_label, "slow queue");
  CHECK_TEXT(reports.operation_label, "slow");
  stage_advance(&stage, 1000);
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  stage_advance(&stage, 99);
  CHECK_INT(gate_count(&reports.told), 1);
  stage_advance(&stage, 1);
  GATE_WAIT(&reports.told, 2);
  stage_advance(&stage, 1000);
  CHECK_INT(gate_count(&reports.told), 2);
  CHECK_OK(inturn_token_finish(job.token));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  reports_end();
  stage_destroy(&stage);
}

static void the_longest_deadline_does_not_overflow(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  stage_advance(&stage, INT64_MAX / 2);
  enqueue_timed(&stage, &job, work_hold, INT64_MAX, INT64_MAX,
                INTURN_MAX_RUN_HOLD);
  stage_drain(&stage);
  stage_advance(&stage, INT64_MAX / 2);
  CHECK_TRACE("work a");
  CHECK_OK(inturn_token_finish(job.token));
  stage_destroy(&stage);
}

static void the_clock_of_the_system_ends_operations_too(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job late = JOB("late"), slow = JOB("slow");
  inturn_operation_options options = job_options(&slow);
  options.max_run_ns = 1000000;
  inturn_operation running =
      job_enqueue_with(queue, &slow, work_hold, &options);
  GATE_WAIT(&slow.started, 1);
  options = job_options(&late);
  options.max_wait_ns = 1000000;
  inturn_operation pending =
      job_enqueue_with(queue, &late, never_work, &options);
  CHECK_INT(end_of(pending).cause, INTURN_CAUSE_MAX_WAIT);
  CHECK_INT(end_of(running).cause, INTURN_CAUSE_MAX_RUN);
  inturn_end end = end_of(running);
  CHECK(end.ended_ns - end.started_ns >= 1000000);
  CHECK_STATUS(inturn_token_finish(slow.token), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(running));
  CHECK_OK(inturn_operation_release(pending));
  drain_and_destroy(queue);
}

static void advance_past_own_end(void *context, inturn_token token) {
  stage *stage = context;
  CHECK_OK(inturn_clock_advance(stage->clock, 100));
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void a_clock_may_be_advanced_inside_work(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation operation;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_run_ns = 100;
  CHECK_OK(inturn_queue_enqueue_with(
      stage.queue, &options, advance_past_own_end, &stage, NULL, &operation));
  stage_drain(&stage);
  CHECK_INT(end_of(operation).cause, INTURN_CAUSE_MAX_RUN);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static int64_t now_of(inturn_clock clock) {
  int64_t now = -1;
  CHECK_OK(inturn_clock_now(clock, &now));
  return now;
}

static void a_manual_clock_stands_still_until_it_is_advanced(void) {
  inturn_clock clock;
  CHECK_OK(inturn_clock_create_manual(&clock));
  CHECK_INT(now_of(clock), 0);
  CHECK_OK(inturn_clock_advance(clock, 5));
  CHECK_OK(inturn_clock_advance(clock, 0));
  CHECK_INT(now_of(clock), 5);
  CHECK_STATUS(inturn_clock_advance(clock, -1), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_clock_advance(clock, INT64_MIN),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_clock_advance(clock, INT64_MAX),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(now_of(clock), 5);
  CHECK_OK(inturn_clock_advance(clock, INT64_MAX - 5));
  CHECK_INT(now_of(clock), INT64_MAX);
  CHECK_OK(inturn_clock_destroy(clock));
}

static inturn_clock shared_clock;

static void advance_shared_clock(int index) {
  for (long i = scaled(10000); i > 0; i--)
    CHECK_OK(inturn_clock_advance(shared_clock, index));
}

static void advances_of_several_threads_add_up(void) {
  CHECK_OK(inturn_clock_create_manual(&shared_clock));
  in_parallel(4, advance_shared_clock);
  CHECK_INT(now_of(shared_clock), scaled(10000) * (0 + 1 + 2 + 3));
  CHECK_OK(inturn_clock_destroy(shared_clock));
}

static void a_clock_that_a_queue_uses_is_busy(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_STATUS(inturn_clock_destroy(stage.clock), INTURN_E_BUSY);
  CHECK_INT(now_of(stage.clock), 0);
  stage_destroy(&stage);
}

static void attempts_say_what_has_started_at_0_of_a_manual_clock(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation runs, never;
  CHECK_INT(now_of(stage.clock), 0);
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, &runs));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, &never));
  CHECK_OK(inturn_operation_cancel(never));
  stage_drain(&stage);
  CHECK_INT(end_of(runs).started_ns, 0);
  CHECK_INT(end_of(runs).attempts, 1);
  CHECK_INT(end_of(never).started_ns, 0);
  CHECK_INT(end_of(never).attempts, 0);
  CHECK_OK(inturn_operation_release(runs));
  CHECK_OK(inturn_operation_release(never));
  stage_destroy(&stage);
}

PROGRAM(deadlines, TEST(max_wait_ends_a_pending_operation),
        TEST(a_call_that_is_cut_off_keeps_its_place),
        TEST(max_wait_counts_until_the_work_is_called),
        TEST(max_wait_is_over_with_the_start),
        TEST(max_wait_of_one_frees_the_way_for_the_next),
        TEST(what_falls_due_on_the_way_falls_due_in_its_order),
        TEST(max_run_holds_the_place_until_the_token_is_finished),
        TEST(a_held_place_is_freed_however_the_token_is_ended),
        TEST(max_run_frees_the_place_when_told_to),
        TEST(max_run_is_nothing_to_what_ends_in_time),
        TEST(what_was_cut_off_is_over_once_its_call_has_returned),
        TEST(a_call_that_is_cut_off_goes_on_and_keeps_its_context),
        TEST(the_cancel_handler_is_called_when_a_deadline_cuts_off),
        TEST(a_stall_is_reported_in_the_queue_and_in_the_run),
        TEST(the_longest_deadline_does_not_overflow),
        TEST(the_clock_of_the_system_ends_operations_too),
        TEST(a_clock_may_be_advanced_inside_work),
        TEST(a_manual_clock_stands_still_until_it_is_advanced),
        TEST(advances_of_several_threads_add_up),
        TEST(a_clock_that_a_queue_uses_is_busy),
        TEST(attempts_say_what_has_started_at_0_of_a_manual_clock))
