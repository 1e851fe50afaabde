/*
 * operations.c - an operation's states, its end, its handle, its contexts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void an_operation_is_pending_then_running_then_ended(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  CHECK_INT(state_of(operation), INTURN_PENDING);
  stage_drain(&stage);
  CHECK_INT(state_of(operation), INTURN_RUNNING);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_INT(state_of(operation), INTURN_ENDED);
  stage_drain(&stage);
  CHECK_INT(state_of(operation), INTURN_ENDED);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_wait_of_zero_just_asks(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_end end = INTURN_END_INIT;
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  CHECK_STATUS(inturn_operation_wait(operation, 0, &end), INTURN_E_TIMED_OUT);
  stage_drain(&stage);
  CHECK_STATUS(inturn_operation_wait(operation, 0, &end), INTURN_E_TIMED_OUT);
  CHECK_INT(end.outcome, 0);
  CHECK_OK(inturn_token_fail(job.token, 3));
  CHECK_OK(inturn_operation_wait(operation, 0, &end));
  CHECK_INT(end.code, 3);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_wait_ends_when_its_time_is_over(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  int64_t before, after;
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &before));
  CHECK_STATUS(inturn_operation_wait(operation, 2000000, NULL),
               INTURN_E_TIMED_OUT);
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &after));
  CHECK(after - before >= 2000000);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void the_end_callback_may_be_still_to_come_after_a_wait(void) {
  job job = JOB("a");
  inturn_operation operation;
  stage stage = stage_create_running_kept(INTURN_QUEUE_FIFO, &job, &operation);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_INT(end_of(operation).outcome, INTURN_FINISHED);
  CHECK_INT(gate_count(&job.ended), 0);
  stage_drain(&stage);
  CHECK_INT(gate_count(&job.ended), 1);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static inturn_operation awaited;

static void wait_for_awaited(int index) {
  inturn_end end = {0};
  CHECK_OK(inturn_operation_wait(awaited, index % 2 ? -1 : LIMIT_NS, &end));
  CHECK_INT(end.outcome, INTURN_FAILED);
  CHECK_INT(end.code, 11);
}

static void fail_with_eleven(void *context, inturn_token token) {
  gate *waiting = context;
  GATE_WAIT(waiting, 1);
  CHECK_OK(inturn_token_fail(token, 11));
}

static void each_of_several_threads_that_wait_gets_the_end(void) {
  for (int round = 0; round < 100; round++) {
    inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    gate waiting = GATE_INIT;
    CHECK_OK(inturn_queue_enqueue(queue, fail_with_eleven, &waiting, NULL,
                                  &awaited));
    gate_pass(&waiting);
    in_parallel(8, wait_for_awaited);
    CHECK_OK(inturn_operation_release(awaited));
    drain_and_destroy(queue);
  }
}

static void the_end_has_times_label_and_outcome(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("upload");
  CHECK_OK(inturn_clock_advance(stage.clock, 10));
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  stage_advance(&stage, 20);
  CHECK_OK(inturn_clock_advance(stage.clock, 30));
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_OK(inturn_clock_advance(stage.clock, 40));
  stage_drain(&stage);
  inturn_end end = end_of(operation);
  CHECK_INT(end.outcome, INTURN_FINISHED);
  CHECK_INT(end.cause, INTURN_CAUSE_NONE);
  CHECK_INT(end.code, 0);
  CHECK(end.result == NULL);
  CHECK_TEXT(end.label, "upload");
  CHECK_INT(end.enqueued_ns, 10);
  CHECK_INT(end.started_ns, 30);
  CHECK_INT(end.ended_ns, 60);
  CHECK_INT(end.attempts, 1);
  CHECK_INT(job.end.size, sizeof end);
  end.size = sizeof end; /* the caller's is 0, for the size in 0.1 */
  end.label = NULL;
  CHECK(memcmp(&end, &job.end, sizeof end) == 0);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void the_start_of_an_operation_that_never_started_is_zero(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  CHECK_OK(inturn_clock_advance(stage.clock, 10));
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, never_work);
  CHECK_OK(inturn_clock_advance(stage.clock, 10));
  CHECK_OK(inturn_operation_cancel(operation));
  inturn_end end = end_of(operation);
  CHECK_INT(end.enqueued_ns, 10);
  CHECK_INT(end.started_ns, 0);
  CHECK_INT(end.ended_ns, 20);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void an_operation_without_a_label_ends_without_one(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation operation;
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, &operation));
  stage_drain(&stage);
  inturn_end end = end_of(operation);
  CHECK(end.label == NULL);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void label_is_gift_wrap(void *context, const inturn_end *end) {
  CHECK_TEXT(end->label, "gift wrap");
  gate_pass(context);
}

static void a_label_is_copied_and_valid_until_the_release(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate told = GATE_INIT;
  char label[] = "gift wrap";
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.label = label;
  options.on_end = label_is_gift_wrap;
  options.end_context = &told;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, just_finish, NULL,
                                     NULL, &operation));
  memset(label, 'x', sizeof label - 1);
  stage_drain(&stage);
  CHECK_INT(gate_count(&told), 1);
  inturn_end end = end_of(operation);
  stage_destroy(&stage);
  CHECK_TEXT(end.label, "gift wrap");
  CHECK_OK(inturn_operation_release(operation));
}

static void an_operation_goes_on_when_its_handle_is_released(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_STATUS(inturn_operation_release(operation), INTURN_E_STALE);
  CHECK_STATUS(inturn_operation_cancel(operation), INTURN_E_STALE);
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).running, 1);
  CHECK_OK(inturn_token_finish(job.token));
  stage_drain(&stage);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_handle_outlives_the_queue(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("first"), second = JOB("second");
  inturn_operation running = job_enqueue_kept(stage.queue, &first, work_hold);
  inturn_operation pending = job_enqueue_kept(stage.queue, &second, never_work);
  stage_drain(&stage);
  stage_destroy(&stage);
  CHECK_INT(state_of(running), INTURN_ENDED);
  CHECK_INT(end_of(running).cause, INTURN_CAUSE_DESTROYED);
  CHECK_INT(end_of(pending).cause, INTURN_CAUSE_DESTROYED);
  CHECK_STATUS(inturn_operation_cancel(running), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(running));
  CHECK_OK(inturn_operation_release(pending));
}

static void trace_end(void *context, const inturn_end *end) {
  trace("end %s %s", (char *)context, outcome_name(end->outcome));
}

static void trace_end_destroy(void *context) {
  trace("destroy end of %s", (char *)context);
}

static void trace_work(void *context, inturn_token token) {
  trace("work %s", (char *)context);
  just_finish(context, token);
}

static void trace_destroy(void *context) {
  trace("destroy %s", (char *)context);
}

static void all_of_one_is_over_before_the_next_begins(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  char *names[] = {"a", "b"};
  for (int i = 0; i < 2; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.on_end = trace_end;
    options.end_context = names[i];
    options.end_destroy = trace_end_destroy;
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, trace_work,
                                       names[i], trace_destroy, NULL));
  }
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished, destroy end of a, destroy a, "
              "work b, end b finished, destroy end of b, destroy b");
  stage_destroy(&stage);
}

static void an_end_context_without_a_callback_is_destroyed_too(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.end_context = &destroyed;
  options.end_destroy = count_destroy;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, just_finish, NULL,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

/* How often each callback was called. */
typedef struct counts {
  gate worked, ended, destroyed;
} counts;

static void count_worked(void *context, inturn_token token) {
  counts *counts = context;
  count_work(&counts->worked, token);
}

static void count_destroyed(void *context) {
  counts *counts = context;
  gate_pass(&counts->destroyed);
}

static void each_callback_is_called_once(inturn_queue_kind kind) {
  enum { COUNT = 10000 };
  inturn_queue queue = pool_queue_create(kind, NULL);
  counts counts = {GATE_INIT, GATE_INIT, GATE_INIT};
  gate ends_destroyed = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = count_end;
  options.end_context = &counts.ended;
  for (int i = 0; i < COUNT; i++) {
    /* Every other operation has no options, which takes another path. */
    CHECK_OK(inturn_queue_enqueue_with(queue, i % 2 ? &options : NULL,
                                       count_worked, &counts, count_destroyed,
                                       NULL));
  }
  options.on_end = NULL;
  options.end_context = &ends_destroyed;
  options.end_destroy = count_destroy;
  for (int i = 0; i < COUNT; i++)
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, count_worked, &counts,
                                       count_destroyed, NULL));
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&counts.worked), 2 * COUNT);
  CHECK_INT(gate_count(&counts.destroyed), 2 * COUNT);
  CHECK_INT(gate_count(&counts.ended), COUNT / 2);
  CHECK_INT(gate_count(&ends_destroyed), COUNT);
}

static void everything_happens_exactly_once_on_each_kind_of_queue(void) {
  for_each_kind(each_callback_is_called_once);
}

/* Work that enqueues itself again until its gate was passed ten times. */
typedef struct repeated {
  gate calls;
  inturn_queue queue;
} repeated;

static void enqueue_again(void *context, inturn_token token) {
  repeated *repeated = context;
  gate_pass(&repeated->calls);
  if (gate_count(&repeated->calls) < 10)
    CHECK_OK(inturn_queue_enqueue(repeated->queue, enqueue_again, repeated,
                                  NULL, NULL));
  just_finish(context, token);
}

static void work_may_enqueue_further_work(void) {
  repeated repeated = {GATE_INIT, pool_queue_create(INTURN_QUEUE_FIFO, NULL)};
  CHECK_OK(inturn_queue_enqueue(repeated.queue, enqueue_again, &repeated, NULL,
                                NULL));
  GATE_WAIT(&repeated.calls, 10);
  drain_and_destroy(repeated.queue);
}

static void release_kept(void *context, const inturn_end *end) {
  inturn_operation *operation = context;
  CHECK_INT(state_of(*operation), INTURN_ENDED);
  CHECK_INT(end->outcome, INTURN_FINISHED);
  CHECK_OK(inturn_operation_release(*operation));
}

static void a_handle_may_be_released_inside_the_end_callback(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation operation;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = release_kept;
  options.end_context = &operation;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, just_finish, NULL,
                                     NULL, &operation));
  stage_drain(&stage);
  CHECK_STATUS(inturn_operation_release(operation), INTURN_E_STALE);
  stage_destroy(&stage);
}

PROGRAM(operations, TEST(an_operation_is_pending_then_running_then_ended),
        TEST(a_wait_of_zero_just_asks), TEST(a_wait_ends_when_its_time_is_over),
        TEST(the_end_callback_may_be_still_to_come_after_a_wait),
        TEST(each_of_several_threads_that_wait_gets_the_end),
        TEST(the_end_has_times_label_and_outcome),
        TEST(the_start_of_an_operation_that_never_started_is_zero),
        TEST(an_operation_without_a_label_ends_without_one),
        TEST(a_label_is_copied_and_valid_until_the_release),
        TEST(an_operation_goes_on_when_its_handle_is_released),
        TEST(a_handle_outlives_the_queue),
        TEST(all_of_one_is_over_before_the_next_begins),
        TEST(an_end_context_without_a_callback_is_destroyed_too),
        TEST(everything_happens_exactly_once_on_each_kind_of_queue),
        TEST(work_may_enqueue_further_work),
        TEST(a_handle_may_be_released_inside_the_end_callback))
