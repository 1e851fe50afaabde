/*
 * values_ended.c - how observations, values and waits for them end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "observing.h"

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

/* An observer that waits until it may return. */
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

/* A value whose observer another thread is in. */
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
  for (int i = 0; i < 2; i++)
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

PROGRAM(values_ended,
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
