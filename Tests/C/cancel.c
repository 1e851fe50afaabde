/*
 * cancel.c - cancelling: section 8 of the manual.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void a_pending_one_never_runs(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job first = JOB("first"), second = JOB("second"), third = JOB("third");
  job_enqueue(stage.queue, &first, work_finish);
  inturn_operation operation =
      job_enqueue_kept(stage.queue, &second, never_work);
  job_enqueue(stage.queue, &third, work_finish);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_INT(state_of(operation), INTURN_ENDED);
  CHECK_INT(end_of(operation).outcome, INTURN_CANCELLED);
  CHECK_INT(end_of(operation).cause, INTURN_CAUSE_REQUEST);
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&third, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_STATUS(inturn_operation_cancel(operation), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_pending_operation_that_is_cancelled_never_runs(void) {
  for_each_kind(a_pending_one_never_runs);
}

/* A stage with one running operation, and its handle. */
typedef struct running {
  stage stage;
  job job;
  inturn_operation operation;
} running;

static void running_create(running *running, inturn_queue_kind kind) {
  running->job = (job)JOB("a");
  running->stage =
      stage_create_running_kept(kind, &running->job, &running->operation);
  trace_begin();
}

static void running_destroy(const running *running) {
  CHECK_OK(inturn_operation_release(running->operation));
  stage_destroy(&running->stage);
}

static void a_running_one_keeps_its_place(inturn_queue_kind kind) {
  running it;
  running_create(&it, kind);
  CHECK(!is_cancelled(it.job.token));
  CHECK_OK(inturn_operation_cancel(it.operation));
  CHECK(is_cancelled(it.job.token));
  CHECK_STATUS(inturn_operation_cancel(it.operation), INTURN_E_CANCELLED);
  stage_drain(&it.stage);
  CHECK_INT(state_of(it.operation), INTURN_RUNNING);
  CHECK_INT(statistics_of(it.stage.queue).running, 1);
  CHECK_OK(inturn_token_cancel(it.job.token));
  stage_drain(&it.stage);
  CHECK_ENDED(&it.job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  running_destroy(&it);
}

static void a_running_operation_is_asked_and_keeps_its_place(void) {
  for_each_kind(a_running_one_keeps_its_place);
}

static void what_is_pending_is_cancelled_alone(inturn_queue_kind kind) {
  running it;
  job next[] = {JOB("b"), JOB("c")}, later = JOB("d");
  running_create(&it, kind);
  CHECK_OK(
      inturn_token_on_cancel(it.job.token, job_cancel_called, &it.job, NULL));
  job_enqueue(it.stage.queue, &next[0], never_work);
  inturn_operation named =
      job_enqueue_kept(it.stage.queue, &next[1], never_work);
  CHECK_OK(inturn_queue_cancel_pending(it.stage.queue));
  CHECK_INT(state_of(named), INTURN_ENDED);
  CHECK(!is_cancelled(it.job.token));
  job_enqueue(it.stage.queue, &later, work_finish);
  CHECK_OK(inturn_token_finish(it.job.token));
  stage_drain(&it.stage);
  CHECK_ENDED(&it.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  for (int i = 0; i < 2; i++)
    CHECK_ENDED(&next[i], INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_operation_release(named));
  running_destroy(&it);
}

static void pending_operations_are_cancelled_alone(void) {
  for_each_kind(what_is_pending_is_cancelled_alone);
}

static void the_next_begins_when_the_cancelled_one_has_given_in(void) {
  running it;
  job next = JOB("b");
  running_create(&it, INTURN_QUEUE_FIFO);
  job_enqueue(it.stage.queue, &next, work_finish);
  CHECK_OK(inturn_operation_cancel(it.operation));
  stage_advance(&it.stage, INT64_C(1) << 50);
  CHECK_TRACE("");
  CHECK_OK(inturn_token_cancel(it.job.token));
  stage_drain(&it.stage);
  CHECK_TRACE("end a cancelled, work b, end b finished");
  running_destroy(&it);
}

static void a_cancelled_operation_may_finish_all_the_same(void) {
  running it;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_operation_cancel(it.operation));
  CHECK_OK(inturn_token_finish(it.job.token));
  CHECK_STATUS(inturn_operation_cancel(it.operation),
               INTURN_E_ALREADY_FINISHED);
  stage_drain(&it.stage);
  CHECK_ENDED(&it.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  running_destroy(&it);
}

static void work_that_cancels_itself_ends_cancelled_without_a_request(void) {
  running it;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_token_cancel(it.job.token));
  stage_drain(&it.stage);
  CHECK_ENDED(&it.job, INTURN_CANCELLED, INTURN_CAUSE_NONE);
  running_destroy(&it);
}

static void the_handler_is_called_once_by_the_executor(void) {
  running it;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(
      inturn_token_on_cancel(it.job.token, job_cancel_called, &it.job, NULL));
  CHECK_OK(inturn_operation_cancel(it.operation));
  CHECK_TRACE("");
  CHECK_INT(stage_drain(&it.stage), 1);
  CHECK_TRACE("cancel a");
  CHECK_OK(inturn_queue_cancel_all(it.stage.queue));
  stage_drain(&it.stage);
  CHECK_TRACE("");
  running_destroy(&it);
}

static void a_handler_is_called_when_the_request_came_before(void) {
  running it;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_operation_cancel(it.operation));
  CHECK_OK(
      inturn_token_on_cancel(it.job.token, job_cancel_called, &it.job, NULL));
  stage_drain(&it.stage);
  CHECK_TRACE("cancel a");
  running_destroy(&it);
}

static void a_second_handler_replaces_the_first(void) {
  running it;
  gate first = GATE_INIT, second = GATE_INIT;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(
      inturn_token_on_cancel(it.job.token, never_work, &first, count_destroy));
  CHECK_OK(inturn_token_on_cancel(it.job.token, count_call, &second, NULL));
  stage_drain(&it.stage);
  CHECK_INT(gate_count(&first), 1);
  CHECK_OK(inturn_operation_cancel(it.operation));
  stage_drain(&it.stage);
  CHECK_INT(gate_count(&second), 1);
  running_destroy(&it);
  CHECK_INT(gate_count(&first), 1);
}

static void a_null_handler_takes_the_handler_away(void) {
  running it;
  gate first = GATE_INIT, second = GATE_INIT;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(
      inturn_token_on_cancel(it.job.token, never_work, &first, count_destroy));
  CHECK_OK(inturn_token_on_cancel(it.job.token, NULL, &second, count_destroy));
  CHECK_OK(inturn_operation_cancel(it.operation));
  stage_drain(&it.stage);
  running_destroy(&it);
  CHECK_INT(gate_count(&first), 1);
  CHECK_INT(gate_count(&second), 1);
}

static void no_handler_is_called_once_the_operation_has_ended(void) {
  running it;
  gate destroyed = GATE_INIT;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_token_on_cancel(it.job.token, never_work, &destroyed,
                                  count_destroy));
  CHECK_OK(inturn_operation_cancel(it.operation));
  CHECK_OK(inturn_token_finish(it.job.token));
  stage_drain(&it.stage);
  CHECK_ENDED(&it.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(gate_count(&destroyed), 1);
  running_destroy(&it);
}

static void a_handler_that_is_not_needed_is_destroyed_with_the_end(void) {
  running it;
  gate destroyed = GATE_INIT;
  running_create(&it, INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_token_on_cancel(it.job.token, never_work, &destroyed,
                                  count_destroy));
  CHECK_OK(inturn_token_finish(it.job.token));
  CHECK_INT(gate_count(&destroyed), 0); /* the executor does this */
  stage_drain(&it.stage);
  CHECK_INT(gate_count(&destroyed), 1);
  running_destroy(&it);
}

static void await_handler(void *context, inturn_token token) {
  job *job = context;
  work_hold(job, token);
  CHECK_OK(inturn_token_on_cancel(token, job_cancel_called, job, NULL));
  gate_pass(&job->go);
  GATE_WAIT(&job->cancel_called, 1);
  CHECK(is_cancelled(token));
  CHECK_OK(inturn_token_cancel(token));
}

static void on_the_pool_the_handler_may_overlap_the_work(void) {
  for (int round = 0; round < 100; round++) {
    inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    job job = JOB("a");
    inturn_operation operation = job_enqueue_kept(queue, &job, await_handler);
    GATE_WAIT(&job.go, 1);
    CHECK_OK(inturn_operation_cancel(operation));
    CHECK_INT(end_of(operation).outcome, INTURN_CANCELLED);
    CHECK_OK(inturn_operation_release(operation));
    drain_and_destroy(queue);
    CHECK_ENDED(&job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  }
}

/* Runs a job whose grace time is 100 ns, and the job "b" behind it. */
static void create_with_grace(running *running, job *next) {
  running->job = (job)JOB("a");
  inturn_operation_options options = job_options(&running->job);
  options.cancel_grace_ns = 100;
  running->stage = stage_create(INTURN_QUEUE_FIFO);
  running->operation = job_enqueue_with(running->stage.queue, &running->job,
                                        work_hold, &options);
  job_enqueue(running->stage.queue, next, work_finish);
  stage_advance(&running->stage, 1000);
  CHECK_TRACE("work a");
}

static void the_place_is_freed_when_the_grace_is_over(void) {
  running it;
  job next = JOB("b");
  create_with_grace(&it, &next);
  CHECK_OK(inturn_operation_cancel(it.operation));
  stage_advance(&it.stage, 99);
  CHECK_TRACE("");
  stage_advance(&it.stage, 1);
  CHECK_TRACE("end a cancelled, work b, end b finished");
  CHECK_ENDED(&it.job, INTURN_CANCELLED, INTURN_CAUSE_GRACE);
  CHECK(must_stop(it.job.token));
  CHECK_STATUS(inturn_token_finish(it.job.token), INTURN_E_ALREADY_FINISHED);
  running_destroy(&it);
}

static void an_operation_that_ends_within_its_grace_ends_its_own_way(void) {
  running it;
  job next = JOB("b");
  create_with_grace(&it, &next);
  CHECK_OK(inturn_operation_cancel(it.operation));
  stage_advance(&it.stage, 99);
  CHECK_OK(inturn_token_fail(it.job.token, 5));
  stage_advance(&it.stage, 1000);
  CHECK_ENDED(&it.job, INTURN_FAILED, INTURN_CAUSE_NONE);
  running_destroy(&it);
}

static void each_one_there_is_cancelled(inturn_queue_kind kind) {
  running it;
  job pending = JOB("b"), later = JOB("c");
  gate plain = GATE_INIT;
  running_create(&it, kind);
  CHECK_OK(inturn_queue_suspend(it.stage.queue));
  job_enqueue(it.stage.queue, &pending, never_work);
  CHECK_OK(inturn_queue_enqueue(it.stage.queue, never_work, &plain,
                                count_destroy, NULL));
  CHECK_OK(inturn_queue_cancel_all(it.stage.queue));
  job_enqueue(it.stage.queue, &later, work_finish);
  CHECK(is_cancelled(it.job.token));
  CHECK_OK(inturn_token_cancel(it.job.token));
  CHECK_OK(inturn_queue_resume(it.stage.queue));
  stage_drain(&it.stage);
  CHECK_ENDED(&it.job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&pending, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(gate_count(&plain), 1);
  CHECK_INT(statistics_of(it.stage.queue).cancelled, 3);
  running_destroy(&it);
}

static void cancel_all_cancels_what_is_there_and_not_what_comes_later(void) {
  for_each_kind(each_one_there_is_cancelled);
}

/* Two operations; a callback of the first cancels both. */
static inturn_operation own, next;
static inturn_status own_status;

static void cancel_both(void) {
  own_status = inturn_operation_cancel(own);
  CHECK_OK(inturn_operation_cancel(next));
}

static void cancel_in_work(void *job, inturn_token token) {
  work_hold(job, token);
  cancel_both();
  CHECK(is_cancelled(token));
  CHECK_OK(inturn_token_cancel(token));
}

static void cancel_in_end(void *job, const inturn_end *end) {
  job_ended(job, end);
  cancel_both();
}

static void cancel_in_handler(void *job, inturn_token token) {
  job_cancel_called(job, token);
  cancel_both();
  CHECK_OK(inturn_token_cancel(token));
}

static void set_handler(void *context, inturn_token token) {
  work_hold(context, token);
  CHECK_OK(inturn_token_on_cancel(token, cancel_in_handler, context, NULL));
  CHECK_OK(inturn_operation_cancel(own));
}

static void check_cancel_inside(inturn_work_fn work, inturn_end_fn on_end,
                                inturn_status expected) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), second = JOB("b");
  inturn_operation_options options = job_options(&first);
  options.on_end = on_end;
  own = job_enqueue_with(stage.queue, &first, work, &options);
  next = job_enqueue_kept(stage.queue, &second, never_work);
  stage_drain(&stage);
  CHECK_STATUS(own_status, expected);
  CHECK_INT(gate_count(&first.ended), 1);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_OK(inturn_operation_release(own));
  CHECK_OK(inturn_operation_release(next));
  stage_destroy(&stage);
}

static void cancelling_inside_the_work_is_safe(void) {
  check_cancel_inside(cancel_in_work, job_ended, INTURN_OK);
}

static void cancelling_inside_an_end_callback_is_safe(void) {
  check_cancel_inside(work_finish, cancel_in_end, INTURN_E_ALREADY_FINISHED);
}

static void cancelling_inside_a_cancel_handler_is_safe(void) {
  check_cancel_inside(set_handler, job_ended, INTURN_E_CANCELLED);
}

static inturn_operation later[3];

static void cancel_two_and_finish(void *job, inturn_token token) {
  work_hold(job, token);
  CHECK_OK(inturn_operation_cancel(later[0]));
  CHECK_OK(inturn_operation_cancel(later[1]));
  CHECK_OK(inturn_token_finish(token));
}

static void cancel_the_third(void *job, const inturn_end *end) {
  job_ended(job, end);
  CHECK_OK(inturn_operation_cancel(later[2]));
}

static void ends_come_in_order_whatever_is_cancelled_meanwhile(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), others[] = {JOB("b"), JOB("c"), JOB("d")};
  inturn_operation_options options = job_options(&first);
  options.on_end = cancel_the_third;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &first, cancel_two_and_finish, &options);
  for (int i = 0; i < 3; i++)
    later[i] = job_enqueue_kept(stage.queue, &others[i], never_work);
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished, end b cancelled, end c cancelled, "
              "end d cancelled");
  CHECK_OK(inturn_operation_release(operation));
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_operation_release(later[i]));
  stage_destroy(&stage);
}

/* Takes the queue's lock, which callbacks are called without. */
static void look_at_the_queue(void *queue) {
  (void)statistics_of(*(inturn_queue *)queue);
}

static void a_wake_callback_may_use_the_queue_that_wakes_it(void) {
  job job = JOB("a");
  inturn_operation operation;
  stage stage = stage_create_running_kept(INTURN_QUEUE_FIFO, &job, &operation);
  CHECK_OK(inturn_token_on_cancel(job.token, count_call, &job.go, NULL));
  CHECK_OK(inturn_executor_set_wake(stage.executor, look_at_the_queue,
                                    &stage.queue, NULL));
  CHECK_OK(inturn_operation_cancel(operation));
  stage_drain(&stage);
  CHECK_INT(gate_count(&job.go), 1);
  CHECK_OK(inturn_token_finish(job.token));
  stage_drain(&stage);
  CHECK_OK(inturn_executor_set_wake(stage.executor, NULL, NULL, NULL));
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

PROGRAM(cancel, TEST(a_pending_operation_that_is_cancelled_never_runs),
        TEST(a_running_operation_is_asked_and_keeps_its_place),
        TEST(pending_operations_are_cancelled_alone),
        TEST(the_next_begins_when_the_cancelled_one_has_given_in),
        TEST(a_cancelled_operation_may_finish_all_the_same),
        TEST(work_that_cancels_itself_ends_cancelled_without_a_request),
        TEST(the_handler_is_called_once_by_the_executor),
        TEST(a_handler_is_called_when_the_request_came_before),
        TEST(a_second_handler_replaces_the_first),
        TEST(a_null_handler_takes_the_handler_away),
        TEST(no_handler_is_called_once_the_operation_has_ended),
        TEST(a_handler_that_is_not_needed_is_destroyed_with_the_end),
        TEST(on_the_pool_the_handler_may_overlap_the_work),
        TEST(the_place_is_freed_when_the_grace_is_over),
        TEST(an_operation_that_ends_within_its_grace_ends_its_own_way),
        TEST(cancel_all_cancels_what_is_there_and_not_what_comes_later),
        TEST(cancelling_inside_the_work_is_safe),
        TEST(cancelling_inside_an_end_callback_is_safe),
        TEST(cancelling_inside_a_cancel_handler_is_safe),
        TEST(ends_come_in_order_whatever_is_cancelled_meanwhile),
        TEST(a_wake_callback_may_use_the_queue_that_wakes_it))
