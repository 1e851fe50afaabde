/*
 * values_observed.c - who is told what of a value's changes, when, and how that
 * ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

static inturn_value create(int64_t number) {
  inturn_datum initial = INTURN_INTEGER(number);
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &initial, &value));
  return value;
}

/* An observer that traces "<name>1>2", "<name>>2" for an initial value and
   "<name>(1>2)" before the others. */
static void trace_change(void *name, const inturn_change *change) {
  bool prior = change->kind == INTURN_CHANGE_PRIOR;
  CHECK_INT(change->after.type, INTURN_DATUM_INTEGER);
  if (change->kind == INTURN_CHANGE_INITIAL) {
    CHECK_INT(change->before.type, INTURN_DATUM_NONE);
    trace("%s>%lld", (char *)name, (long long)change->after.integer);
  } else {
    trace("%s%s%lld>%lld%s", (char *)name, prior ? "(" : "",
          (long long)change->before.integer, (long long)change->after.integer,
          prior ? ")" : "");
  }
}

static inturn_observation observe(inturn_value value,
                                  inturn_observe_options options,
                                  inturn_change_fn observer, void *context) {
  inturn_observation observation;
  CHECK_OK(inturn_value_observe(value, &options, observer, context, NULL,
                                &observation));
  return observation;
}

static const inturn_observe_options plain = INTURN_OBSERVE_OPTIONS_INIT;

static void each_change_is_told_with_its_old_and_new_datum(void) {
  inturn_value value = create(1);
  inturn_datum datum = INTURN_INTEGER(9), before;
  bool exchanged;
  CHECK_OK(inturn_value_observe(value, NULL, trace_change, "", NULL, NULL));
  CHECK_OK(inturn_value_set_integer(value, 2));
  CHECK_OK(inturn_value_set_integer(value, 2));
  CHECK_OK(inturn_value_add(value, 3, NULL));
  CHECK_OK(inturn_value_exchange(value, &datum, &before));
  CHECK_OK(
      inturn_value_compare_exchange(value, &before, &datum, &exchanged, NULL));
  CHECK_OK(
      inturn_value_compare_exchange(value, &datum, &before, &exchanged, NULL));
  CHECK_TRACE("1>2, 2>2, 2>5, 5>9, 9>5");
  CHECK_OK(inturn_value_destroy(value));
}

static void check_string_change(void *told, const inturn_change *change) {
  CHECK_TEXT(change->before.bytes, "before");
  CHECK_TEXT(change->after.bytes, "after");
  CHECK_INT(change->number, 1);
  gate_pass(told);
}

static void a_string_is_told_with_its_old_and_new_bytes(void) {
  inturn_datum datum = INTURN_STRING("before", 6);
  inturn_value value;
  gate told = GATE_INIT;
  CHECK_OK(inturn_value_create(NULL, &datum, &value));
  CHECK_OK(inturn_value_observe(value, NULL, check_string_change, &told, NULL,
                                NULL));
  datum.bytes = "after";
  datum.length = 5;
  CHECK_OK(inturn_value_set(value, &datum));
  CHECK_INT(gate_count(&told), 1);
  CHECK_OK(inturn_value_destroy(value));
}

static void initial_prior_and_latest_are_told_so(void) {
  inturn_value value = create(1);
  inturn_observe_options initial = plain, prior = plain, both = plain;
  initial.initial = true;
  prior.prior = true;
  both.prior = both.latest = true;
  observe(value, plain, trace_change, "a");
  observe(value, initial, trace_change, "b");
  observe(value, prior, trace_change, "c");
  CHECK_STATUS(
      inturn_value_observe(value, &both, trace_change, NULL, NULL, NULL),
      INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_value_set_integer(value, 2));
  CHECK_TRACE("b>1, c(1>2), a1>2, b1>2, c1>2");
  CHECK_OK(inturn_value_destroy(value));
}

/* Sets the value from inside, in answer to the first change. */
static void answer(void *value, const inturn_change *change) {
  inturn_value own = *(inturn_value *)value;
  int64_t number;
  trace("begin %lld", (long long)change->after.integer);
  if (change->after.integer == 1) {
    CHECK_OK(inturn_value_set_integer(own, 2));
    CHECK_OK(inturn_value_add(own, 1, NULL));
    CHECK_OK(inturn_value_get_integer(own, &number));
    trace("reads %lld", (long long)number);
    CHECK_STATUS(inturn_value_drain(own, -1), INTURN_E_DEADLOCK);
    CHECK_STATUS(inturn_value_drain(own, 0), INTURN_E_TIMED_OUT);
  }
  trace("end %lld", (long long)change->after.integer);
}

static void a_set_inside_an_observer_is_told_after_the_round(void) {
  inturn_value value = create(0);
  inturn_observe_options latest = plain;
  reports reports = {0};
  latest.latest = true;
  reports_begin(&reports);
  observe(value, plain, answer, &value);
  observe(value, plain, trace_change, "a");
  observe(value, latest, trace_change, "b");
  CHECK_OK(inturn_value_set_integer(value, 1));
  reports_end();
  CHECK_INT(reports.kind, INTURN_REPORT_DEADLOCK);
  CHECK_TRACE("begin 1, reads 3, end 1, a0>1, begin 2, end 2, a1>2, "
              "begin 3, end 3, a2>3, b0>3");
  CHECK_OK(inturn_value_destroy(value));
}

static void count_down(void *value, const inturn_change *change) {
  if (change->after.integer > 0)
    CHECK_OK(inturn_value_add(*(inturn_value *)value, -1, NULL));
}

static void a_run_away_loop_is_reported_once(void) {
  inturn_value_options options = INTURN_VALUE_OPTIONS_INIT;
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value;
  reports reports = {0};
  options.label = "loop";
  CHECK_OK(inturn_value_create(&options, &zero, &value));
  observe(value, plain, count_down, &value);
  reports_begin(&reports);
  CHECK_OK(inturn_value_set_integer(value, 998));
  CHECK_INT(gate_count(&reports.told), 0);
  CHECK_OK(inturn_value_set_integer(value, 5000));
  reports_end();
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK_INT(reports.kind, INTURN_REPORT_RUNAWAY);
  CHECK(strstr(reports.message, "value \"loop\" was changed 1000 times"));
  CHECK_OK(inturn_value_destroy(value));
}

/* Elsewhere --------------------------------------------------------------- */

static void an_executor_calls_the_observer_when_it_is_drained(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value value = create(0);
  inturn_observe_options options = plain;
  uint32_t calls;
  options.executor = stage.executor;
  options.initial = true;
  inturn_observation observation = observe(value, options, trace_change, "");
  CHECK_OK(inturn_value_set_integer(value, 1));
  CHECK_OK(inturn_value_set_integer(value, 2));
  CHECK_TRACE("");
  CHECK_STATUS(inturn_value_drain(value, 0), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_executor_destroy(stage.executor), INTURN_E_BUSY);
  CHECK_OK(inturn_executor_drain(stage.executor, 0, &calls));
  CHECK_TRACE(">0, 0>1, 1>2");
  CHECK_OK(inturn_value_drain(value, 0));
  CHECK_OK(inturn_value_set_integer(value, 3));
  CHECK_OK(inturn_observation_cancel(observation, -1));
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

static void changes_that_wait_for_an_executor_are_joined_for_the_latest(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value value = create(0);
  inturn_observe_options options = plain;
  options.executor = stage.executor;
  options.latest = true;
  observe(value, options, trace_change, "");
  for (int number = 1; number <= 100; number++)
    CHECK_OK(inturn_value_set_integer(value, number));
  stage_drain(&stage);
  CHECK_OK(inturn_value_set_integer(value, 101));
  stage_drain(&stage);
  CHECK_TRACE("0>100, 100>101");
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

static void a_queue_calls_the_observer_among_its_operations(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value value = create(0);
  inturn_observe_options options = plain;
  job first = JOB("first"), second = JOB("second");
  options.queue = stage.queue;
  inturn_observation observation = observe(value, options, trace_change, "");
  job_enqueue(stage.queue, &first, work_finish);
  CHECK_OK(inturn_value_set_integer(value, 1));
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished, 0>1, work second, "
              "end second finished");
  CHECK_OK(inturn_observation_cancel(observation, -1));
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

static void cancelling_a_queues_operations_loses_no_change(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value value = create(0);
  inturn_observe_options options = plain;
  options.queue = stage.queue;
  observe(value, options, trace_change, "");
  CHECK_OK(inturn_value_set_integer(value, 1));
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("0>1");
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

static void a_queue_that_accepts_nothing_ends_the_observation(void) {
  for (int destroys = 0; destroys < 2; destroys++) {
    stage stage = stage_create(INTURN_QUEUE_FIFO);
    inturn_value value = create(0);
    inturn_observe_options options = plain;
    inturn_observation observation;
    gate destroyed = GATE_INIT;
    reports reports = {0};
    options.queue = stage.queue;
    reports_begin(&reports);
    CHECK_OK(inturn_value_observe(value, &options, trace_change, &destroyed,
                                  count_destroy, &observation));
    if (destroys) {
      CHECK_OK(inturn_value_set_integer(value, 1));
      stage_destroy(&stage);
    } else {
      CHECK_OK(inturn_queue_close(stage.queue));
      CHECK_OK(inturn_value_set_integer(value, 1));
    }
    CHECK_INT(gate_count(&destroyed), 1);
    CHECK_INT(reports.kind, INTURN_REPORT_LOST_OBSERVER);
    CHECK_STATUS(inturn_observation_cancel(observation, -1), INTURN_E_STALE);
    CHECK_OK(inturn_value_set_integer(value, 2));
    CHECK_OK(inturn_value_drain(value, -1));
    reports_end();
    CHECK_TRACE("");
    CHECK_OK(inturn_value_destroy(value));
    if (!destroys)
      stage_destroy(&stage);
  }
}

static void an_executor_and_a_queue_together_are_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_value value = create(0);
  inturn_observe_options options = plain;
  gate destroyed = GATE_INIT;
  options.queue = stage.queue;
  options.executor = stage.executor;
  CHECK_STATUS(inturn_value_observe(value, &options, trace_change, &destroyed,
                                    count_destroy, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&stage);
}

/* Ends -------------------------------------------------------------------- */

static void a_cancelled_observer_is_not_called_and_its_context_destroyed(void) {
  inturn_value value = create(0);
  inturn_observation observation;
  gate destroyed = GATE_INIT;
  CHECK_OK(inturn_value_observe(value, NULL, trace_change, &destroyed,
                                count_destroy, &observation));
  CHECK_INT(gate_count(&destroyed), 0);
  CHECK_OK(inturn_observation_cancel(observation, 0));
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_STATUS(inturn_observation_cancel(observation, -1), INTURN_E_STALE);
  CHECK_OK(inturn_value_set_integer(value, 1));
  CHECK_TRACE("");
  CHECK_OK(inturn_value_destroy(value));
}

/* An observer that is told when it may return. */
typedef struct blocked {
  gate begun, go, destroyed;
  inturn_value value;
  inturn_observation observation;
} blocked;

static void block(void *context, const inturn_change *change) {
  blocked *blocked = context;
  (void)change;
  gate_pass(&blocked->begun);
  GATE_WAIT(&blocked->go, 1);
}

static void blocked_destroyed(void *context) {
  gate_pass(&((blocked *)context)->destroyed);
}

static void set_to_one(void *context) {
  CHECK_OK(inturn_value_set_integer(((blocked *)context)->value, 1));
}

#define BLOCKED                                                                \
  {                                                                            \
    GATE_INIT, GATE_INIT, GATE_INIT, {0}, { 0 }                                \
  }

/* A value with an observer that another thread is in. */
static void block_begin(blocked *blocked, thread *thread) {
  blocked->value = create(0);
  CHECK_OK(inturn_value_observe(blocked->value, NULL, block, blocked,
                                blocked_destroyed, &blocked->observation));
  thread_start(thread, set_to_one, blocked);
  GATE_WAIT(&blocked->begun, 1);
}

static void an_observer_that_does_not_return_holds_up_nobody(void) {
  blocked blocked = BLOCKED;
  thread thread;
  int64_t number;
  block_begin(&blocked, &thread);
  CHECK_OK(inturn_value_set_integer(blocked.value, 2));
  CHECK_OK(inturn_value_get_integer(blocked.value, &number));
  CHECK_INT(number, 2);
  CHECK_STATUS(inturn_value_drain(blocked.value, 1000), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_observation_cancel(blocked.observation, 0),
               INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_observation_cancel(blocked.observation, 1000),
               INTURN_E_TIMED_OUT);
  CHECK_INT(gate_count(&blocked.destroyed), 0);
  gate_pass(&blocked.go);
  thread_join(&thread);
  CHECK_INT(gate_count(&blocked.destroyed), 1);
  CHECK_INT(gate_count(&blocked.begun), 1);
  CHECK_STATUS(inturn_observation_cancel(blocked.observation, -1),
               INTURN_E_STALE);
  CHECK_OK(inturn_value_destroy(blocked.value));
}

static void cancel_blocked(void *context) {
  blocked *blocked = context;
  inturn_status status = inturn_observation_cancel(blocked->observation, -1);
  if (status != INTURN_E_STALE)
    CHECK_OK(status);
  CHECK_INT(gate_count(&blocked->go), 1);
}

static void destroy_blocked(void *context) {
  blocked *blocked = context;
  CHECK_OK(inturn_value_destroy(blocked->value));
  CHECK_INT(gate_count(&blocked->go), 1);
}

static void cancelling_waits_for_the_call_to_return(void) {
  blocked blocked = BLOCKED;
  thread setter, canceller;
  block_begin(&blocked, &setter);
  thread_start(&canceller, cancel_blocked, &blocked);
  gate_pass(&blocked.go);
  thread_join(&canceller);
  thread_join(&setter);
  CHECK_INT(gate_count(&blocked.destroyed), 1);
  CHECK_OK(inturn_value_destroy(blocked.value));
}

static void destroying_waits_for_the_call_to_return(void) {
  blocked blocked = BLOCKED;
  thread setter, destroyer;
  block_begin(&blocked, &setter);
  thread_start(&destroyer, destroy_blocked, &blocked);
  gate_pass(&blocked.go);
  thread_join(&destroyer);
  thread_join(&setter);
  CHECK_INT(gate_count(&blocked.destroyed), 1);
  CHECK_STATUS(inturn_observation_cancel(blocked.observation, -1),
               INTURN_E_STALE);
}

static void a_value_that_is_destroyed_ends_its_observations(void) {
  inturn_value value = create(0);
  inturn_observation observation;
  gate destroyed = GATE_INIT;
  CHECK_OK(inturn_value_observe(value, NULL, trace_change, &destroyed,
                                count_destroy, NULL));
  CHECK_OK(inturn_value_observe(value, NULL, trace_change, &destroyed,
                                count_destroy, &observation));
  CHECK_OK(inturn_value_destroy(value));
  CHECK_INT(gate_count(&destroyed), 2);
  CHECK_STATUS(inturn_observation_cancel(observation, -1), INTURN_E_STALE);
  CHECK_STATUS(inturn_value_set_integer(value, 1), INTURN_E_STALE);
  CHECK_STATUS(inturn_value_destroy(value), INTURN_E_STALE);
}

static void cancel_self(void *context, const inturn_change *change) {
  blocked *blocked = context;
  (void)change;
  gate_pass(&blocked->begun);
  CHECK_OK(inturn_observation_cancel(blocked->observation, -1));
  CHECK_OK(inturn_value_add(blocked->value, 1, NULL));
  CHECK_INT(gate_count(&blocked->destroyed), 0);
}

static void destroy_self(void *context, const inturn_change *change) {
  blocked *blocked = context;
  (void)change;
  gate_pass(&blocked->begun);
  CHECK_OK(inturn_value_add(blocked->value, 1, NULL));
  CHECK_OK(inturn_value_destroy(blocked->value));
  CHECK_INT(gate_count(&blocked->destroyed), 0);
}

static void an_observer_may_end_itself_and_its_value(void) {
  for (int destroys = 0; destroys < 2; destroys++) {
    blocked blocked = BLOCKED;
    blocked.value = create(0);
    CHECK_OK(inturn_value_observe(
        blocked.value, NULL, destroys ? destroy_self : cancel_self, &blocked,
        blocked_destroyed, &blocked.observation));
    CHECK_OK(inturn_value_set_integer(blocked.value, 1));
    CHECK_INT(gate_count(&blocked.begun), 1);
    CHECK_INT(gate_count(&blocked.destroyed), 1);
    CHECK_STATUS(inturn_observation_cancel(blocked.observation, -1),
                 INTURN_E_STALE);
    CHECK_STATUS(inturn_value_destroy(blocked.value),
                 destroys ? INTURN_E_STALE : INTURN_OK);
  }
}

/* Two observers that cancel each other. */
static blocked ring[2] = {BLOCKED, BLOCKED};
static atomic_int deadlocks;

static void cancel_other(void *context, const inturn_change *change) {
  blocked *other = context == &ring[0] ? &ring[1] : &ring[0];
  (void)change;
  gate_pass(&ring[0].begun);
  GATE_WAIT(&ring[0].begun, 2);
  inturn_status status = inturn_observation_cancel(other->observation, -1);
  if (status == INTURN_E_DEADLOCK)
    atomic_fetch_add(&deadlocks, 1);
  else if (status != INTURN_E_STALE)
    CHECK_OK(status);
}

static void observers_that_cancel_each_other_are_told_of_the_ring(void) {
  thread threads[2];
  reports reports = {0};
  reports_begin(&reports);
  for (int i = 0; i < 2; i++) {
    ring[i].value = create(0);
    CHECK_OK(inturn_value_observe(ring[i].value, NULL, cancel_other, &ring[i],
                                  blocked_destroyed, &ring[i].observation));
  }
  for (int i = 0; i < 2; i++)
    thread_start(&threads[i], set_to_one, &ring[i]);
  for (int i = 0; i < 2; i++)
    thread_join(&threads[i]);
  reports_end();
  CHECK_INT(deadlocks, 1);
  CHECK_INT(reports.kind, INTURN_REPORT_DEADLOCK);
  for (int i = 0; i < 2; i++) {
    CHECK_INT(gate_count(&ring[i].destroyed), 1);
    CHECK_OK(inturn_value_destroy(ring[i].value));
  }
}

/* Waits ------------------------------------------------------------------- */

typedef struct wanted {
  int64_t number;
  gate asked;
} wanted;

static bool is_wanted(void *context, const inturn_datum *datum) {
  wanted *wanted = context;
  bool is = datum->integer == wanted->number;
  gate_pass(&wanted->asked);
  return is;
}

static void a_wait_for_what_is_so_already_returns_at_once(void) {
  inturn_value value = create(3);
  wanted wanted = {3, GATE_INIT};
  inturn_datum datum;
  CHECK_OK(inturn_value_wait(value, is_wanted, &wanted, 0, &datum));
  CHECK_INT(datum.integer, 3);
  wanted.number = 4;
  CHECK_STATUS(inturn_value_wait(value, is_wanted, &wanted, 0, NULL),
               INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_value_wait(value, is_wanted, &wanted, 1000, NULL),
               INTURN_E_TIMED_OUT);
  CHECK_OK(inturn_value_destroy(value));
}

typedef struct waiter {
  inturn_value value;
  wanted wanted;
  inturn_status status;
} waiter;

static void wait_for_wanted(void *context) {
  waiter *waiter = context;
  waiter->status = inturn_value_wait(waiter->value, is_wanted, &waiter->wanted,
                                     LIMIT_NS, NULL);
}

static void a_wait_sees_each_change(void) {
  waiter waiter = {create(0), {500, GATE_INIT}, INTURN_E_BUSY};
  thread thread;
  thread_start(&thread, wait_for_wanted, &waiter);
  GATE_WAIT(&waiter.wanted.asked, 1);
  for (int number = 1; number <= 1000; number++)
    CHECK_OK(inturn_value_set_integer(waiter.value, number));
  thread_join(&thread);
  CHECK_OK(waiter.status);
  CHECK_INT(gate_count(&waiter.wanted.asked), 501);
  CHECK_OK(inturn_value_destroy(waiter.value));
}

static void a_value_that_is_destroyed_is_not_waited_for(void) {
  waiter waiter = {create(0), {500, GATE_INIT}, INTURN_E_BUSY};
  thread thread;
  thread_start(&thread, wait_for_wanted, &waiter);
  GATE_WAIT(&waiter.wanted.asked, 1);
  CHECK_OK(inturn_value_destroy(waiter.value));
  thread_join(&thread);
  CHECK_STATUS(waiter.status, INTURN_E_STALE);
}

static void wait_inside(void *context, const inturn_change *change) {
  wanted wanted = {77, GATE_INIT};
  (void)change;
  CHECK_STATUS(
      inturn_value_wait(*(inturn_value *)context, is_wanted, &wanted, -1, NULL),
      INTURN_E_DEADLOCK);
}

static void a_wait_inside_an_observer_is_refused(void) {
  inturn_value value = create(0);
  reports reports = {0};
  reports_begin(&reports);
  observe(value, plain, wait_inside, &value);
  CHECK_OK(inturn_value_set_integer(value, 1));
  reports_end();
  CHECK_INT(reports.kind, INTURN_REPORT_DEADLOCK);
  CHECK_OK(inturn_value_destroy(value));
}

/* Forks ------------------------------------------------------------------- */

static void use_inherited(void *context) {
  blocked *blocked = context;
  int64_t number;
  CHECK_STATUS(inturn_value_get_integer(blocked->value, &number),
               INTURN_E_FORKED);
  CHECK_STATUS(inturn_observation_cancel(blocked->observation, -1),
               INTURN_E_FORKED);
  inturn_value value = create(1);
  observe(value, plain, trace_change, "");
  CHECK_OK(inturn_value_set_integer(value, 2));
  CHECK_TRACE("1>2");
  CHECK_OK(inturn_value_destroy(value));
}

static void a_forked_child_makes_values_of_its_own(void) {
  blocked blocked = BLOCKED;
  blocked.value = create(0);
  blocked.observation = observe(blocked.value, plain, trace_change, "");
  IN_CHILD(use_inherited, &blocked);
  CHECK_OK(inturn_value_set_integer(blocked.value, 1));
  CHECK_TRACE("0>1");
  CHECK_OK(inturn_value_destroy(blocked.value));
}

PROGRAM(values_observed, TEST(each_change_is_told_with_its_old_and_new_datum),
        TEST(a_string_is_told_with_its_old_and_new_bytes),
        TEST(initial_prior_and_latest_are_told_so),
        TEST(a_set_inside_an_observer_is_told_after_the_round),
        TEST(a_run_away_loop_is_reported_once),
        TEST(an_executor_calls_the_observer_when_it_is_drained),
        TEST(changes_that_wait_for_an_executor_are_joined_for_the_latest),
        TEST(a_queue_calls_the_observer_among_its_operations),
        TEST(cancelling_a_queues_operations_loses_no_change),
        TEST(a_queue_that_accepts_nothing_ends_the_observation),
        TEST(an_executor_and_a_queue_together_are_refused),
        TEST(a_cancelled_observer_is_not_called_and_its_context_destroyed),
        TEST(an_observer_that_does_not_return_holds_up_nobody),
        TEST(cancelling_waits_for_the_call_to_return),
        TEST(destroying_waits_for_the_call_to_return),
        TEST(a_value_that_is_destroyed_ends_its_observations),
        TEST(an_observer_may_end_itself_and_its_value),
        TEST(observers_that_cancel_each_other_are_told_of_the_ring),
        TEST(a_wait_for_what_is_so_already_returns_at_once),
        TEST(a_wait_sees_each_change),
        TEST(a_value_that_is_destroyed_is_not_waited_for),
        TEST(a_wait_inside_an_observer_is_refused),
        TEST(a_forked_child_makes_values_of_its_own))
