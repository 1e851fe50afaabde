/*
 * callbacks.c - conditions that block or use the library; views and queues that
 * go away inside conditions, work and event handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sched.h>

/* Destroys the rest of a stage whose queue is gone. */
static void stage_destroy_rest(const stage *stage) {
  stage_drain(stage);
  CHECK_STATUS(inturn_queue_close(stage->queue), INTURN_E_STALE);
  CHECK_OK(inturn_executor_destroy(stage->executor));
  CHECK_OK(inturn_clock_destroy(stage->clock));
}

/* Conditions that block: on a pool, while the test continues */

typedef struct blocked {
  job job;
  gate asked;
  inturn_queue queue;
  inturn_clock clock;
} blocked;

static inturn_verdict block(void *context) {
  blocked *self = context;
  gate_pass(&self->asked);
  GATE_WAIT(&self->job.go, 1);
  return INTURN_START;
}

static void blocked_destroyed(void *context) {
  blocked *self = context;
  gate_pass(&self->job.destroyed);
}

/* An interaction queue on the pool whose first condition blocks. */
static void blocked_create(blocked *self, inturn_operation_options options,
                           inturn_work_fn work) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  self->asked = (gate)GATE_INIT;
  queue_options.settle_ns = queue_options.gap_ns = INTURN_NO_DELAY;
  queue_options.label = "dialogs";
  CHECK_OK(inturn_executor_pool(&queue_options.executor));
  CHECK_OK(inturn_clock_create_manual(&self->clock));
  queue_options.clock = self->clock;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &queue_options,
                               &self->queue));
  CHECK_OK(inturn_queue_view_did_appear(self->queue));
  options.condition = block;
  CHECK_OK(inturn_queue_enqueue_with(self->queue, &options, work, self,
                                     blocked_destroyed, NULL));
  GATE_WAIT(&self->asked, 1);
}

static void blocked_destroy(const blocked *self) {
  CHECK_OK(inturn_queue_drain(self->queue, LIMIT_NS));
  CHECK_OK(inturn_queue_destroy(self->queue));
  CHECK_OK(inturn_clock_destroy(self->clock));
}

/* Lets a worker finish work of another queue. */
static void let_the_pool_work(void) {
  inturn_queue other = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_enqueue(other, just_finish, NULL, NULL, NULL));
  drain_and_destroy(other);
}

static void max_run_frees_the_place_of_a_condition_that_blocks(void) {
  blocked it = {.job = JOB("blocked")};
  job next = JOB("next");
  inturn_operation_options options = job_options(&it.job);
  options.max_run_ns = 100;
  options.max_run_policy = INTURN_MAX_RUN_FREE;
  blocked_create(&it, options, never_work);
  job_enqueue(it.queue, &next, work_finish);
  CHECK_OK(inturn_clock_advance(it.clock, 100));
  GATE_WAIT(&next.ended, 1);
  CHECK_INT(gate_count(&it.job.ended), 1);
  CHECK_INT(gate_count(&it.job.destroyed), 0); /* the call has not returned */
  gate_pass(&it.job.go);
  blocked_destroy(&it);
  CHECK_ENDED(&it.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
}

static void max_run_holds_the_place_until_the_condition_returns(void) {
  blocked it = {.job = JOB("blocked")};
  job next = JOB("next");
  inturn_operation_options options = job_options(&it.job);
  options.max_run_ns = 100;
  blocked_create(&it, options, never_work);
  job_enqueue(it.queue, &next, work_finish);
  CHECK_OK(inturn_clock_advance(it.clock, 100));
  let_the_pool_work();
  CHECK_INT(gate_count(&next.started), 0);
  gate_pass(&it.job.go);
  GATE_WAIT(&next.ended, 1);
  blocked_destroy(&it);
  CHECK_ENDED(&it.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
}

static void give_in(void *context, inturn_token token) {
  CHECK(context != NULL);
  CHECK(is_cancelled(token));
  CHECK_OK(inturn_token_cancel(token));
}

static void a_condition_that_blocks_is_reported_as_a_stall(void) {
  blocked it = {.job = JOB("blocked")};
  reports reports;
  inturn_operation_options options = job_options(&it.job);
  options.stall_ns = 100;
  reports_begin(&reports);
  blocked_create(&it, options, give_in);
  CHECK_OK(inturn_clock_advance(it.clock, 99));
  CHECK_INT(gate_count(&reports.told), 0);
  CHECK_OK(inturn_clock_advance(it.clock, 1));
  GATE_WAIT(&reports.told, 1);
  CHECK_INT(reports.kind, INTURN_REPORT_STALL);
  CHECK_TEXT(reports.queue_label, "dialogs");
  CHECK_TEXT(reports.operation_label, "blocked");
  CHECK_OK(inturn_queue_cancel_all(it.queue)); /* asked to end, it goes on */
  CHECK_INT(statistics_of(it.queue).running, 1);
  reports_end();
  CHECK_INT(gate_count(&it.job.ended), 0);
  gate_pass(&it.job.go);
  blocked_destroy(&it);
  CHECK_ENDED(&it.job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
}

static void destroy_queue(void *context) {
  CHECK_OK(inturn_queue_destroy(*(inturn_queue *)context));
}

static void destroying_the_queue_waits_for_a_condition_that_blocks(void) {
  for (int round = 0; round < 100; round++) {
    blocked it = {.job = JOB("blocked")};
    job next = JOB("next");
    thread destroying;
    blocked_create(&it, job_options(&it.job), never_work);
    job_enqueue(it.queue, &next, never_work);
    thread_start(&destroying, destroy_queue, &it.queue);
    while (inturn_queue_suspend(it.queue) == INTURN_OK)
      sched_yield();
    CHECK_INT(gate_count(&destroying.over), 0);
    CHECK_INT(gate_count(&it.job.destroyed), 0);
    gate_pass(&it.job.go);
    thread_join(&destroying);
    CHECK_ENDED(&it.job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    CHECK_ENDED(&next, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    CHECK_OK(inturn_clock_destroy(it.clock));
    trace_begin();
  }
}

/* Callbacks that use the library: what `meanwhile` does */

static stage here;
static job shown, other;
static inturn_operation shown_operation, other_operation;
static void (*meanwhile)(void);

static inturn_verdict condition(void *context) {
  CHECK(context == &shown);
  trace("ask shown");
  meanwhile();
  return INTURN_START;
}

static void ask_for_things(void) {
  inturn_operation_info infos[3] = {INTURN_OPERATION_INFO_INIT};
  inturn_end end = {0};
  size_t count;
  int64_t now;
  gate refused = GATE_INIT;
  CHECK_INT(statistics_of(here.queue).running, 1);
  CHECK_INT(state_of(shown_operation), INTURN_RUNNING);
  CHECK_OK(inturn_queue_list(here.queue, infos, 3, &count));
  CHECK_INT(count, 2);
  CHECK_TEXT(infos[0].label, "shown");
  CHECK_OK(inturn_clock_now(here.clock, &now));
  CHECK_OK(inturn_queue_suspend(here.queue));
  CHECK_OK(inturn_queue_resume(here.queue));
  CHECK_OK(inturn_operation_cancel(other_operation));
  CHECK_OK(inturn_operation_wait(other_operation, -1, &end));
  CHECK_INT(end.outcome, INTURN_CANCELLED);
  /* A wait for itself is refused; a question never is. */
  CHECK_STATUS(inturn_operation_wait(shown_operation, -1, NULL),
               INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_queue_drain(here.queue, -1), INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_queue_drain(here.queue, 0), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_executor_drain(here.executor, 0, NULL),
               INTURN_E_WRONG_THREAD);
  CHECK_OK(inturn_queue_close(here.queue));
  CHECK_STATUS(inturn_queue_enqueue(here.queue, never_work, &refused,
                                    count_destroy, NULL),
               INTURN_E_CLOSED);
  CHECK_INT(gate_count(&refused), 1);
}

/* The queue `here`, with the job `shown`, whose condition calls `what`, and the
   job `other` behind it. */
static void create_asking(void (*what)(void), inturn_work_fn work,
                          inturn_work_fn work_of_other) {
  here = stage_create(INTURN_QUEUE_INTERACTION);
  shown = (job)JOB("shown");
  other = (job)JOB("other");
  meanwhile = what;
  inturn_operation_options options = job_options(&shown);
  options.condition = what ? condition : NULL;
  shown_operation = job_enqueue_with(here.queue, &shown, work, &options);
  other_operation = job_enqueue_kept(here.queue, &other, work_of_other);
}

static void release_both(void) {
  CHECK_OK(inturn_operation_release(shown_operation));
  CHECK_OK(inturn_operation_release(other_operation));
}

static void a_condition_may_ask_the_library_for_anything(void) {
  reports reports;
  reports_begin(&reports);
  create_asking(ask_for_things, work_finish, never_work);
  stage_drain(&here);
  CHECK_TRACE("ask shown, work shown, end shown finished, "
              "end other cancelled");
  CHECK_INT(gate_count(&reports.told), 2);
  reports_end();
  release_both();
  stage_destroy(&here);
}

/* Views that disappear inside a callback */

static void disappear(void) {
  CHECK_OK(inturn_queue_view_will_disappear(here.queue));
}

static void disappear_in_work(void *context, inturn_token token) {
  work_hold(context, token);
  disappear();
  CHECK(!is_cancelled(token));
  CHECK_OK(inturn_token_finish(token));
}

/* The running one is untouched; the other waits for the view. */
static void check_only_the_other_waits(void) {
  stage_drain(&here);
  stage_advance(&here, INT64_C(1) << 50);
  CHECK_ENDED(&shown, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(gate_count(&other.started), 0);
  CHECK_OK(inturn_queue_view_did_appear(here.queue));
  stage_drain(&here);
  CHECK_ENDED(&other, INTURN_FINISHED, INTURN_CAUSE_NONE);
  release_both();
  stage_destroy(&here);
}

static void a_view_that_disappears_inside_work_holds_the_next(void) {
  create_asking(NULL, disappear_in_work, work_finish);
  check_only_the_other_waits();
}

static inturn_event_kind awaited;
static uint64_t awaited_operation;
static gate context_destroyed;

static void when_awaited(void *context, const inturn_event *event) {
  CHECK(context == &context_destroyed);
  CHECK_INT(gate_count(&context_destroyed), 0);
  if (event->kind == awaited && event->operation == awaited_operation) {
    awaited = 0;
    meanwhile();
  }
}

/* The queue `here` with two jobs that finish, and an event handler that calls
   `what` at this event. */
static void create_told(inturn_event_kind kind, uint64_t operation,
                        void (*what)(void), inturn_work_fn work) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  awaited = kind;
  awaited_operation = operation;
  meanwhile = what;
  context_destroyed = (gate)GATE_INIT;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  options.on_event = when_awaited;
  options.event_context = &context_destroyed;
  options.event_destroy = count_destroy;
  here = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  CHECK_OK(inturn_queue_view_did_appear(here.queue));
  shown = (job)JOB("shown");
  other = (job)JOB("other");
  shown_operation = job_enqueue_kept(here.queue, &shown, work);
  other_operation = job_enqueue_kept(here.queue, &other, work);
}

/* (For the event of its start, see hidden.c: it becomes pending again.) */
static void
a_view_that_disappears_inside_an_event_handler_holds_the_next(void) {
  create_told(INTURN_EVENT_ENDED, 1, disappear, work_finish);
  check_only_the_other_waits();
  CHECK_INT(awaited, 0);
  CHECK_INT(gate_count(&context_destroyed), 1);
}

static void a_view_that_disappears_before_the_first_start_holds_all(void) {
  create_told(INTURN_EVENT_ENQUEUED, 1, disappear, work_finish);
  stage_drain(&here);
  stage_advance(&here, INT64_C(1) << 50);
  CHECK_INT(awaited, 0);
  CHECK_TRACE("");
  CHECK_OK(inturn_queue_view_did_appear(here.queue));
  stage_drain(&here);
  CHECK_TRACE("work shown, end shown finished, work other, end other finished");
  release_both();
  stage_destroy(&here);
}

/* Queues that are destroyed inside an event handler */

static void destroy_here(void) {
  CHECK_OK(inturn_queue_destroy(here.queue));
  CHECK_STATUS(inturn_queue_destroy(here.queue), INTURN_E_STALE);
  CHECK_INT(gate_count(&context_destroyed), 0);
}

static void check_destroyed_at(inturn_event_kind kind, uint64_t operation,
                               inturn_work_fn work, inturn_outcome first,
                               inturn_outcome second) {
  create_told(kind, operation, destroy_here, work);
  stage_drain(&here);
  CHECK_INT(awaited, 0);
  CHECK_INT(gate_count(&context_destroyed), 1);
  CHECK_ENDED(&shown, first,
              first == INTURN_FINISHED ? INTURN_CAUSE_NONE
                                       : INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&other, second,
              second == INTURN_FINISHED ? INTURN_CAUSE_NONE
                                        : INTURN_CAUSE_DESTROYED);
  release_both();
  stage_destroy_rest(&here);
  trace_begin();
}

static void yield_once(void *context, inturn_token token) {
  work_hold(context, token);
  CHECK_OK(inturn_token_yield(token));
}

static void a_queue_may_be_destroyed_inside_its_event_handler(void) {
  check_destroyed_at(INTURN_EVENT_ENQUEUED, 1, never_work, INTURN_CANCELLED,
                     INTURN_CANCELLED);
  check_destroyed_at(INTURN_EVENT_STARTED, 1, never_work, INTURN_CANCELLED,
                     INTURN_CANCELLED);
  check_destroyed_at(INTURN_EVENT_ENDED, 1, work_finish, INTURN_FINISHED,
                     INTURN_CANCELLED);
  check_destroyed_at(INTURN_EVENT_ENDED, 2, work_finish, INTURN_FINISHED,
                     INTURN_FINISHED);
  check_destroyed_at(INTURN_EVENT_RESTARTING, 1, yield_once, INTURN_CANCELLED,
                     INTURN_CANCELLED);
  check_destroyed_at(INTURN_EVENT_IDLE, 0, work_finish, INTURN_FINISHED,
                     INTURN_FINISHED);
}

static void let_max_run_pass(void) {
  CHECK_OK(inturn_clock_advance(here.clock, 100));
}

static void one_that_is_cut_off_while_its_start_is_told_is_not_called(void) {
  for (int policy = 0; policy < 2; policy++) {
    job late = JOB("late"), next = JOB("next");
    inturn_operation_options options = job_options(&late);
    create_told(INTURN_EVENT_STARTED, 3, let_max_run_pass, work_finish);
    options.max_run_ns = 100;
    options.max_run_policy = (inturn_max_run_policy)policy;
    job_enqueue_as(here.queue, &late, never_work, &options);
    job_enqueue(here.queue, &next, work_finish);
    stage_drain(&here);
    CHECK_ENDED(&late, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
    CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
    release_both();
    stage_destroy(&here);
  }
}

static void suspend_and_close(void) {
  CHECK_OK(inturn_queue_suspend(here.queue));
  CHECK_OK(inturn_queue_resume(here.queue));
  CHECK_OK(inturn_queue_close(here.queue));
}

static void
a_queue_may_be_destroyed_inside_what_tells_of_the_queue_alone(void) {
  for (int kind = INTURN_EVENT_SUSPENDED; kind <= INTURN_EVENT_CLOSED; kind++) {
    create_told((inturn_event_kind)kind, 0, destroy_here, never_work);
    suspend_and_close();
    stage_drain(&here);
    CHECK_INT(awaited, 0);
    CHECK_INT(gate_count(&context_destroyed), 1);
    CHECK_ENDED(&shown, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    CHECK_ENDED(&other, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    release_both();
    stage_destroy_rest(&here);
  }
}

/* On a pool: an operation's event meets the work of the one before it. */
static void destroy_at_third_end(void *context, const inturn_event *event) {
  if (event->kind == INTURN_EVENT_ENDED && event->operation == 3)
    CHECK_OK(inturn_queue_destroy(*(inturn_queue *)context));
}

static void finish_or_too_late(void *context, inturn_token token) {
  inturn_status status = inturn_token_finish(token);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
  CHECK(context != NULL);
}

static gate pool_events_destroyed;

static void pool_events_are_over(void *context) {
  CHECK(context != NULL);
  gate_pass(&pool_events_destroyed);
}

static void on_a_pool_too_each_operation_gets_its_end_then(void) {
  static const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO,
                                            INTURN_QUEUE_CONCURRENT};
  for (long round = scaled(400); round > 0; round--) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
    gate ended = GATE_INIT, destroyed = GATE_INIT;
    inturn_queue queue = {0};
    pool_events_destroyed = (gate)GATE_INIT;
    options.on_event = destroy_at_third_end;
    options.event_context = &queue;
    options.event_destroy = pool_events_are_over;
    CHECK_OK(inturn_queue_create(kinds[round % 2], &options, &queue));
    CHECK_OK(inturn_queue_suspend(queue));
    each.on_end = count_end;
    each.end_context = &ended;
    for (int i = 0; i < 10; i++)
      CHECK_OK(inturn_queue_enqueue_with(queue, &each, finish_or_too_late,
                                         &destroyed, count_destroy, NULL));
    CHECK_OK(inturn_queue_resume(queue));
    GATE_WAIT(&pool_events_destroyed, 1);
    GATE_WAIT(&destroyed, 10);
    CHECK_INT(gate_count(&ended), 10);
    CHECK_INT(gate_count(&destroyed), 10);
    CHECK_STATUS(inturn_queue_close(queue), INTURN_E_STALE);
  }
}

PROGRAM(callbacks, TEST(max_run_frees_the_place_of_a_condition_that_blocks),
        TEST(max_run_holds_the_place_until_the_condition_returns),
        TEST(a_condition_that_blocks_is_reported_as_a_stall),
        TEST(destroying_the_queue_waits_for_a_condition_that_blocks),
        TEST(a_condition_may_ask_the_library_for_anything),
        TEST(a_view_that_disappears_inside_work_holds_the_next),
        TEST(a_view_that_disappears_inside_an_event_handler_holds_the_next),
        TEST(a_view_that_disappears_before_the_first_start_holds_all),
        TEST(a_queue_may_be_destroyed_inside_its_event_handler),
        TEST(one_that_is_cut_off_while_its_start_is_told_is_not_called),
        TEST(a_queue_may_be_destroyed_inside_what_tells_of_the_queue_alone),
        TEST(on_a_pool_too_each_operation_gets_its_end_then))
