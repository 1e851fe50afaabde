/*
 * states_life.c - values of the library's states: what they refuse, how long
 * they live, and what their observers may do.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static inturn_value queue_value(inturn_queue queue,
                                inturn_queue_aspect aspect) {
  inturn_value value;
  CHECK_OK(inturn_queue_create_value(queue, aspect, &value));
  return value;
}

static void trace_number(void *name, const inturn_change *change) {
  trace("%s%lld>%lld", (const char *)name, (long long)change->before.integer,
        (long long)change->after.integer);
}

static void observe(inturn_value value, inturn_change_fn observer,
                    void *context) {
  CHECK_OK(inturn_value_observe(value, NULL, observer, context, NULL, NULL));
}

/* Refusals ---------------------------------------------------------------- */

static void nobody_else_changes_a_state(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value pending = queue_value(stage.queue, INTURN_QUEUE_PENDING);
  inturn_value suspended = queue_value(stage.queue, INTURN_QUEUE_SUSPENDED);
  inturn_datum one = INTURN_INTEGER(1), none = INTURN_INTEGER(0), before;
  bool exchanged, truth;
  int64_t number;
  CHECK_STATUS(inturn_value_set(pending, &one), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_value_set_integer(pending, 1), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_value_set_double(pending, 1), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_value_set_boolean(suspended, true), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_value_exchange(pending, &one, &before),
               INTURN_E_UNSUPPORTED);
  CHECK_STATUS(
      inturn_value_compare_exchange(pending, &none, &one, &exchanged, NULL),
      INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_value_add(pending, 1, &number), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_value_add_double(pending, 1, NULL), INTURN_E_UNSUPPORTED);
  CHECK_OK(inturn_value_get_integer(pending, &number));
  CHECK_INT(number, 0);
  CHECK_OK(inturn_value_get_boolean(suspended, &truth));
  CHECK(!truth);
  CHECK_STATUS(inturn_value_get_boolean(pending, &truth), INTURN_E_WRONG_KIND);
  CHECK_OK(inturn_value_destroy(pending));
  CHECK_OK(inturn_value_destroy(suspended));
  stage_destroy(&stage);
}

static void an_unknown_state_is_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_finish);
  inturn_value value;
  static const int unknown[] = {-1, 0, 6, 1000};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    CHECK_STATUS(inturn_queue_create_value(
                     stage.queue, (inturn_queue_aspect)unknown[i], &value),
                 INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(
      inturn_queue_create_value(stage.queue, INTURN_QUEUE_PENDING, NULL),
      INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_operation_create_value(
                   operation, (inturn_operation_aspect)3, &value),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(
      inturn_operation_create_value(operation, INTURN_OPERATION_STATE, NULL),
      INTURN_E_INVALID_ARGUMENT);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_progress_may_be_any_values_datum(void) {
  inturn_datum progress = INTURN_PROGRESS(1, 4), wrong = INTURN_PROGRESS(5, 4);
  inturn_datum got;
  inturn_value value;
  CHECK_STATUS(inturn_value_create(NULL, &wrong, &value),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_value_create(NULL, &progress, &value));
  progress.integer = 3;
  CHECK_OK(inturn_value_set(value, &progress));
  CHECK_STATUS(inturn_value_set(value, &wrong), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_value_set_integer(value, 4), INTURN_E_WRONG_KIND);
  CHECK_OK(inturn_value_get(value, &got));
  CHECK_INT(got.type, INTURN_DATUM_PROGRESS);
  CHECK_INT(got.integer, 3);
  CHECK_INT(got.total, 4);
  CHECK_OK(inturn_value_destroy(value));
}

/* Lifetime ---------------------------------------------------------------- */

static bool is_number(void *number, const inturn_datum *datum) {
  return datum->integer == *(int64_t *)number;
}

typedef struct waiter {
  inturn_value value;
  int64_t number;
  inturn_status status;
  gate asked;
} waiter;

static bool ask(void *context, const inturn_datum *datum) {
  waiter *waiter = context;
  gate_pass(&waiter->asked);
  return datum->integer == waiter->number;
}

static void wait_for_number(void *context) {
  waiter *waiter = context;
  waiter->status =
      inturn_value_wait(waiter->value, ask, waiter, LIMIT_NS, NULL);
}

static void a_value_outlives_its_queue_and_keeps_the_last_state(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_observe_options initial = INTURN_OBSERVE_OPTIONS_INIT;
  waiter waiter = {queue_value(stage.queue, INTURN_QUEUE_PENDING), 7, INTURN_OK,
                   GATE_INIT};
  thread thread;
  int64_t number = 0;
  inturn_datum datum;
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  observe(waiter.value, trace_number, "p");
  observe(waiter.value, trace_number, "p");
  thread_start(&thread, wait_for_number, &waiter);
  GATE_WAIT(&waiter.asked, 1);
  CHECK_OK(inturn_queue_destroy(stage.queue));
  CHECK_TRACE("p2>0, p2>0");
  thread_join(&thread);
  CHECK_STATUS(waiter.status, INTURN_E_CLOSED);
  CHECK_OK(inturn_value_get_integer(waiter.value, &number));
  CHECK_INT(number, 0);
  CHECK_OK(inturn_value_wait(waiter.value, is_number, &number, -1, &datum));
  number = 1;
  CHECK_STATUS(inturn_value_wait(waiter.value, is_number, &number, -1, NULL),
               INTURN_E_CLOSED);
  initial.initial = true;
  CHECK_OK(inturn_value_observe(waiter.value, &initial, trace_number, "late ",
                                NULL, NULL));
  CHECK_TRACE("late 0>0");
  CHECK_OK(inturn_value_drain(waiter.value, -1));
  CHECK_OK(inturn_value_destroy(waiter.value));
  CHECK_OK(inturn_executor_destroy(stage.executor));
  CHECK_OK(inturn_clock_destroy(stage.clock));
}

static void a_value_outlives_its_operation(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_finish);
  inturn_value early, late;
  int64_t number = INTURN_ENDED;
  CHECK_OK(
      inturn_operation_create_value(operation, INTURN_OPERATION_STATE, &early));
  stage_drain(&stage);
  CHECK_OK(
      inturn_operation_create_value(operation, INTURN_OPERATION_STATE, &late));
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
  CHECK_OK(inturn_value_wait(early, is_number, &number, -1, NULL));
  CHECK_OK(inturn_value_wait(late, is_number, &number, -1, NULL));
  number = INTURN_RUNNING;
  CHECK_STATUS(inturn_value_wait(early, is_number, &number, -1, NULL),
               INTURN_E_CLOSED);
  CHECK_STATUS(inturn_value_wait(late, is_number, &number, -1, NULL),
               INTURN_E_CLOSED);
  CHECK_OK(inturn_value_destroy(early));
  CHECK_OK(inturn_value_destroy(late));
}

static void a_destroyed_value_leaves_its_queue_and_other_values_alone(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value one = queue_value(stage.queue, INTURN_QUEUE_PENDING);
  inturn_value two = queue_value(stage.queue, INTURN_QUEUE_PENDING);
  observe(one, trace_number, "one ");
  observe(two, trace_number, "two ");
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_value_destroy(one));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_TRACE("one 0>1, two 0>1, two 1>2");
  CHECK_OK(inturn_value_destroy(two));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).finished, 3);
  two = queue_value(stage.queue, INTURN_QUEUE_PROGRESS);
  inturn_datum datum;
  CHECK_OK(inturn_value_get(two, &datum));
  CHECK_INT(datum.integer, 3);
  CHECK_INT(datum.total, 3);
  CHECK_OK(inturn_value_destroy(two));
  stage_destroy(&stage);
}

static void values_that_come_and_go_leave_nothing(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  for (long i = 0; i < scaled(10000); i++)
    CHECK_OK(inturn_value_destroy(
        queue_value(stage.queue, (inturn_queue_aspect)(1 + i % 4))));
  stage_destroy(&stage);
}

/* Observers --------------------------------------------------------------- */

/* Enqueues another operation when the first comes, suspends and resumes. */
static void enqueue_more(void *context, const inturn_change *change) {
  inturn_queue queue = *(inturn_queue *)context;
  trace("%lld", (long long)change->after.integer);
  if (change->after.integer == 1 && change->before.integer == 0) {
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_suspend(queue));
    CHECK_OK(inturn_queue_resume(queue));
  }
  trace("back");
}

static void an_observer_may_use_its_queue(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value value = queue_value(stage.queue, INTURN_QUEUE_PENDING);
  observe(value, enqueue_more, &stage.queue);
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_TRACE("1, back, 2, back");
  stage_drain(&stage);
  CHECK_TRACE("1, back, 0, back");
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

typedef struct destroying {
  inturn_queue queue;
  inturn_value value;
  int64_t at;
} destroying;

static void destroy_both(void *context, const inturn_change *change) {
  destroying *what = context;
  if (change->after.integer != what->at)
    return;
  what->at = -1;
  CHECK_OK(inturn_queue_destroy(what->queue));
  CHECK_OK(inturn_value_destroy(what->value));
}

static void check_destroyed_inside(inturn_queue_kind kind) {
  /* During an enqueue, on its thread; during a start, on the drainer's. */
  static const int64_t moments[] = {2, 1};
  for (int i = 0; i < 2; i++) {
    stage stage = stage_create(kind);
    job first = JOB("a"), second = JOB("b");
    destroying what = {stage.queue,
                       queue_value(stage.queue, INTURN_QUEUE_PENDING), -1};
    observe(what.value, destroy_both, &what);
    job_enqueue(stage.queue, &first, work_hold);
    if (i == 0)
      what.at = moments[i];
    job_enqueue(stage.queue, &second, work_hold);
    if (i == 1)
      what.at = moments[i];
    stage_drain(&stage);
    GATE_WAIT(&first.destroyed, 1);
    GATE_WAIT(&second.destroyed, 1);
    CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    CHECK_STATUS(inturn_queue_close(what.queue), INTURN_E_STALE);
    CHECK_OK(inturn_executor_destroy(stage.executor));
    CHECK_OK(inturn_clock_destroy(stage.clock));
  }
}

static void an_observer_may_destroy_its_queue(void) {
  for_each_kind(check_destroyed_inside);
}

static void drain_other(void *context, const inturn_change *change) {
  (void)change;
  CHECK_OK(inturn_value_drain(*(inturn_value *)context, LIMIT_NS));
}

/* One thread delivers both, one after the other: the wait delivers the one that
   it waits for. */
static void an_observer_may_wait_for_another_state_to_be_told(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value one = queue_value(stage.queue, INTURN_QUEUE_PENDING);
  inturn_value two = queue_value(stage.queue, INTURN_QUEUE_PROGRESS);
  observe(one, drain_other, &two);
  observe(two, trace_number, "");
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_TRACE("0>0");
  stage_drain(&stage);
  CHECK_TRACE("0>1");
  CHECK_OK(inturn_value_destroy(one));
  CHECK_OK(inturn_value_destroy(two));
  stage_destroy(&stage);
}

static void drain_queue(void *context, const inturn_change *change) {
  if (change->after.integer < change->before.integer)
    CHECK_STATUS(inturn_queue_drain(*(inturn_queue *)context, -1),
                 INTURN_E_DEADLOCK);
}

static void a_drain_inside_an_observer_of_a_start_is_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  reports reports = {0};
  inturn_value value = queue_value(stage.queue, INTURN_QUEUE_PENDING);
  reports_begin(&reports);
  observe(value, drain_queue, &stage.queue);
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  stage_drain(&stage);
  reports_end();
  CHECK_INT(reports.kind, INTURN_REPORT_DEADLOCK);
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

PROGRAM(states_life, TEST(nobody_else_changes_a_state),
        TEST(an_unknown_state_is_refused),
        TEST(a_progress_may_be_any_values_datum),
        TEST(a_value_outlives_its_queue_and_keeps_the_last_state),
        TEST(a_value_outlives_its_operation),
        TEST(a_destroyed_value_leaves_its_queue_and_other_values_alone),
        TEST(values_that_come_and_go_leave_nothing),
        TEST(an_observer_may_use_its_queue),
        TEST(an_observer_may_destroy_its_queue),
        TEST(an_observer_may_wait_for_another_state_to_be_told),
        TEST(a_drain_inside_an_observer_of_a_start_is_refused))
