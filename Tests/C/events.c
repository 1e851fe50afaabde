/*
 * events.c - a queue's events, and the reasons of its suspension.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void tell(void *context, const inturn_event *event) {
  static const char *const kinds[] = {
      "?",     "enqueued",  "joined",  "started", "restarting",
      "ended", "suspended", "resumed", "closed",  "idle"};
  (void)context;
  if (event->kind == INTURN_EVENT_ENDED)
    trace("%s %d %s", kinds[event->kind], (int)event->operation,
          outcome_name(event->outcome));
  else if (event->operation)
    trace("%s %d", kinds[event->kind], (int)event->operation);
  else
    trace("%s", kinds[event->kind]);
}

static stage stage_create_told(inturn_queue_kind kind, inturn_event_fn on_event,
                               void *context, inturn_destroy_fn destroy) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  options.on_event = on_event;
  options.event_context = context;
  options.event_destroy = destroy;
  stage stage = stage_create_with(kind, options);
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  return stage;
}

static void plain_finish(void *context, inturn_token token) {
  (void)context;
  trace("work");
  CHECK_OK(inturn_token_finish(token));
}

static void events_are_told_in_order(inturn_queue_kind kind) {
  gate destroyed = GATE_INIT;
  stage stage = stage_create_told(kind, tell, &destroyed, count_destroy);
  CHECK_OK(inturn_queue_enqueue(stage.queue, plain_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, plain_finish, NULL, NULL, NULL));
  stage_drain(&stage);
  if (kind != INTURN_QUEUE_CONCURRENT)
    CHECK_TRACE("enqueued 1, enqueued 2, started 1, work, ended 1 finished, "
                "started 2, work, ended 2 finished, idle");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_resume(stage.queue));
  CHECK_OK(inturn_queue_resume(stage.queue));
  CHECK_OK(inturn_queue_close(stage.queue));
  stage_drain(&stage);
  if (kind != INTURN_QUEUE_CONCURRENT)
    CHECK_TRACE("suspended, resumed, closed");
  CHECK_INT(gate_count(&destroyed), 0);
  stage_destroy(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  trace_begin();
}

static void events_are_told_in_order_by_each_kind(void) {
  for_each_kind(events_are_told_in_order);
}

static void a_retry_and_a_joined_one_are_told(void) {
  stage stage = stage_create_told(INTURN_QUEUE_INTERACTION, tell, NULL, NULL);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  job first = JOB("a"), second = JOB("b");
  options.key = "k";
  options.join = true;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work_hold, &first,
                                     NULL, NULL));
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, never_work, &second,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_token_yield(first.token));
  stage_drain(&stage);
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_TRACE("enqueued 1, joined 2, started 1, work a, restarting 1, "
              "started 1, work a, ended 1 finished, ended 2 finished, idle");
  stage_destroy(&stage);
}

static void a_suspended_queue_tells_its_ends(void) {
  stage stage = stage_create_told(INTURN_QUEUE_FIFO, tell, NULL, NULL);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("suspended, enqueued 1, ended 1 cancelled, idle");
  stage_destroy(&stage);
}

static void destroying_a_queue_tells_what_is_left(void) {
  gate destroyed = GATE_INIT;
  stage stage =
      stage_create_told(INTURN_QUEUE_FIFO, tell, &destroyed, count_destroy);
  CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  stage_destroy(&stage);
  CHECK_TRACE("enqueued 1, ended 1 cancelled, idle");
  CHECK_INT(gate_count(&destroyed), 1);
}

static void a_refused_queue_destroys_the_context(void) {
  gate destroyed = GATE_INIT;
  inturn_queue queue = {77};
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.on_event = tell;
  options.event_context = &destroyed;
  options.event_destroy = count_destroy;
  CHECK_STATUS(inturn_queue_create(INTURN_QUEUE_FIFO, &options, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&destroyed), 1);
  options.executor.bits = 12345;
  CHECK_STATUS(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue),
               INTURN_E_STALE);
  CHECK_INT(gate_count(&destroyed), 2);
  /* A context without a handler is destroyed with the queue. */
  options.executor.bits = 0;
  options.on_event = NULL;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_INT(gate_count(&destroyed), 3);
}

/* An audit of a queue's events: they must be consistent. */
typedef struct audit {
  atomic_int inside;
  atomic_long counts[INTURN_EVENT_IDLE + 1];
  uint64_t last_accepted;
} audit;

static void check_event(void *context, const inturn_event *event) {
  audit *audit = context;
  CHECK_INT(atomic_fetch_add(&audit->inside, 1), 0);
  atomic_fetch_add(&audit->counts[event->kind], 1);
  if (event->kind == INTURN_EVENT_ENQUEUED)
    CHECK_INT(event->operation, ++audit->last_accepted);
  atomic_fetch_sub(&audit->inside, 1);
}

static inturn_queue audited;

static void enqueue_and_cancel(int index) {
  for (long i = scaled(5000); i > 0; i--) {
    inturn_operation operation;
    CHECK_OK(
        inturn_queue_enqueue(audited, just_finish, NULL, NULL, &operation));
    if (i % 3 == index)
      (void)inturn_operation_cancel(operation);
    CHECK_OK(inturn_operation_release(operation));
  }
}

static void maybe_finish(void *context, inturn_token token) {
  (void)context;
  (void)inturn_token_finish(token);
}

static void the_events_of_a_busy_queue_add_up(void) {
  static const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO,
                                            INTURN_QUEUE_CONCURRENT};
  for (int i = 0; i < 2; i++) {
    audit audit = {0};
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.on_event = check_event;
    options.event_context = &audit;
    CHECK_OK(inturn_queue_create(kinds[i], &options, &audited));
    in_parallel(3, enqueue_and_cancel);
    inturn_batch_item items[] = {{maybe_finish, NULL, NULL},
                                 {maybe_finish, NULL, NULL}};
    CHECK_OK(inturn_queue_enqueue_batch(audited, NULL, items, 2, NULL));
    drain_and_destroy(audited);
    long all = 3 * scaled(5000) + 2;
    CHECK_INT(audit.counts[INTURN_EVENT_ENQUEUED], all);
    CHECK_INT(audit.counts[INTURN_EVENT_ENDED], all);
    CHECK(audit.counts[INTURN_EVENT_STARTED] <= all);
    CHECK(audit.counts[INTURN_EVENT_IDLE] >= 1);
  }
}

static void let_time_pass(void *context, inturn_token token) {
  trace("work");
  CHECK_OK(inturn_clock_advance(*(inturn_clock *)context, 10));
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

/* An operation whose deadline passes during its call is looked at twice. */
static void a_queue_is_idle_once(void) {
  stage stage = stage_create_told(INTURN_QUEUE_FIFO, tell, NULL, NULL);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_run_ns = 10;
  options.max_run_policy = INTURN_MAX_RUN_FREE;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, let_time_pass,
                                     &stage.clock, NULL, NULL));
  stage_drain(&stage);
  CHECK_TRACE("enqueued 1, started 1, work, ended 1 timed out, idle");
  stage_destroy(&stage);
}

/* The end is reported when the time is over; the queue is idle when the place
   is released. */
static void a_queue_whose_place_is_given_up_is_idle(void) {
  stage stage = stage_create_told(INTURN_QUEUE_FIFO, tell, NULL, NULL);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  job job = JOB("a");
  options.max_run_ns = 10;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work_hold, &job,
                                     NULL, NULL));
  stage_drain(&stage);
  stage_advance(&stage, 10);
  stage_drain(&stage);
  CHECK_TRACE("enqueued 1, started 1, work a, ended 1 timed out");
  CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_TRACE("idle");
  stage_destroy(&stage);
}

/* Suspending for a reason */

static void a_queue_goes_on_when_no_reason_is_left(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job job = JOB("a");
  job_enqueue(stage.queue, &job, work_finish);
  CHECK_OK(inturn_queue_suspend_for(stage.queue, "call"));
  CHECK_OK(inturn_queue_suspend_for(stage.queue, "call"));
  CHECK_OK(inturn_queue_suspend_for(stage.queue, "backup"));
  CHECK_STATUS(inturn_queue_resume(stage.queue), INTURN_E_NOT_SUSPENDED);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_INT(statistics_of(stage.queue).suspends, 4);
  CHECK_OK(inturn_queue_resume_for(stage.queue, "call"));
  CHECK_OK(inturn_queue_resume_for(stage.queue, "backup"));
  CHECK_STATUS(inturn_queue_resume_for(stage.queue, "backup"),
               INTURN_E_NOT_SUSPENDED);
  CHECK_OK(inturn_queue_resume(stage.queue));
  CHECK_STATUS(inturn_queue_resume(stage.queue), INTURN_E_NOT_SUSPENDED);
  stage_drain(&stage);
  CHECK_INT(gate_count(&job.started), 0);
  CHECK_OK(inturn_queue_resume_for(stage.queue, "call"));
  stage_drain(&stage);
  CHECK_INT(gate_count(&job.ended), 1);
  CHECK_STATUS(inturn_queue_suspend_for(stage.queue, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_queue_resume_for(stage.queue, "\xff"),
               INTURN_E_INVALID_ARGUMENT);
  stage_destroy(&stage);
}

static void no_event(void *context, const inturn_event *event) {
  CHECK(context != NULL && event->kind != 0);
}

/* A drainer waits at an executor that nobody drains. */
static void the_context_is_gone_when_the_destruction_returns(void) {
  static const int operations[] = {0, 1, 50};
  for (int i = 0; i < 3; i++) {
    gate destroyed = GATE_INIT;
    stage stage = stage_create_told(INTURN_QUEUE_CONCURRENT, no_event,
                                    &destroyed, count_destroy);
    for (int k = 0; k < operations[i]; k++)
      CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_destroy(stage.queue));
    CHECK_INT(gate_count(&destroyed), 1);
    stage_drain(&stage);
    CHECK_INT(gate_count(&destroyed), 1);
    CHECK_OK(inturn_executor_destroy(stage.executor));
    CHECK_OK(inturn_clock_destroy(stage.clock));
  }
}

typedef struct own_end {
  inturn_queue queue;
  gate told, destroyed;
} own_end;

static void count_own_end(void *context) {
  gate_pass(&((own_end *)context)->destroyed);
}

static void destroy_own_queue(void *context, const inturn_event *event) {
  own_end *own = context;
  if (event->kind != INTURN_EVENT_STARTED)
    return;
  CHECK_OK(inturn_queue_destroy(own->queue));
  /* The handler is still being called. */
  CHECK_INT(gate_count(&own->destroyed), 0);
  gate_pass(&own->told);
}

static void a_handler_that_destroys_its_queue_keeps_its_context(void) {
  own_end own = {{0}, GATE_INIT, GATE_INIT};
  stage stage = stage_create_told(INTURN_QUEUE_FIFO, destroy_own_queue, &own,
                                  count_own_end);
  own.queue = stage.queue;
  CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&own.told), 1);
  CHECK_INT(gate_count(&own.destroyed), 1);
  CHECK_STATUS(inturn_queue_destroy(stage.queue), INTURN_E_STALE);
  CHECK_OK(inturn_executor_destroy(stage.executor));
  CHECK_OK(inturn_clock_destroy(stage.clock));
}

PROGRAM(events, TEST(events_are_told_in_order_by_each_kind),
        TEST(a_retry_and_a_joined_one_are_told),
        TEST(a_suspended_queue_tells_its_ends),
        TEST(destroying_a_queue_tells_what_is_left), TEST(a_queue_is_idle_once),
        TEST(a_queue_whose_place_is_given_up_is_idle),
        TEST(a_refused_queue_destroys_the_context),
        TEST(the_events_of_a_busy_queue_add_up),
        TEST(the_context_is_gone_when_the_destruction_returns),
        TEST(a_handler_that_destroys_its_queue_keeps_its_context),
        TEST(a_queue_goes_on_when_no_reason_is_left))
