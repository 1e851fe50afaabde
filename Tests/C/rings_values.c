/*
 * rings_values.c - waits for observers that can never be told are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static reports told;
static inturn_value value;
static inturn_status status_of_wait;
static const inturn_datum zero = {.type = INTURN_DATUM_INTEGER};
static const inturn_datum one_more = {.type = INTURN_DATUM_INTEGER,
                                      .integer = 1};

static void see(void *gate, const inturn_change *change) {
  (void)change;
  gate_pass(gate);
}

static void observe(inturn_queue queue, inturn_executor executor, gate *seen) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  options.queue = queue;
  options.executor = executor;
  CHECK_OK(inturn_value_create(NULL, &zero, &value));
  CHECK_OK(inturn_value_observe(value, &options, see, seen, NULL, NULL));
}

static void set_and_drain(void *context, inturn_token token) {
  CHECK_OK(inturn_value_set(value, &one_more));
  status_of_wait = inturn_value_drain(value, LIMIT_NS);
  just_finish(context, token);
}

static void check_work_that_drains(inturn_queue queue, inturn_status expected) {
  gate seen = GATE_INIT;
  observe(queue, (inturn_executor){0}, &seen);
  reports_begin(&told);
  CHECK_OK(inturn_queue_enqueue(queue, set_and_drain, NULL, NULL, NULL));
  drain_and_destroy(queue);
  reports_end();
  CHECK_STATUS(status_of_wait, expected);
  CHECK_INT(gate_count(&told.told), expected == INTURN_OK ? 0 : 1);
  CHECK_INT(gate_count(&seen), 1);
  CHECK_OK(inturn_value_destroy(value));
}

static void work_does_not_wait_for_an_observer_behind_it(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  check_work_that_drains(pool_queue_create(INTURN_QUEUE_FIFO, NULL),
                         INTURN_E_DEADLOCK);
  check_work_that_drains(pool_queue_create(INTURN_QUEUE_ACTOR, NULL),
                         INTURN_E_DEADLOCK);
  for (uint32_t places = 1; places <= 2; places++) {
    options.max_concurrent = places;
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
    check_work_that_drains(queue, places == 1 ? INTURN_E_DEADLOCK : INTURN_OK);
  }
}

static void the_main_thread_does_not_wait_for_what_it_has_to_call(void) {
  gate seen = GATE_INIT;
  inturn_executor executor;
  CHECK_OK(inturn_executor_main(&executor));
  observe((inturn_queue){0}, executor, &seen);
  CHECK_OK(inturn_value_set(value, &one_more));
  reports_begin(&told);
  CHECK_STATUS(inturn_value_drain(value, LIMIT_NS), INTURN_E_DEADLOCK);
  reports_end();
  CHECK_INT(gate_count(&told.told), 1);
  CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  CHECK_INT(gate_count(&seen), 1);
  CHECK_OK(inturn_value_drain(value, LIMIT_NS));
  CHECK_OK(inturn_value_destroy(value));
}

/* Work of one queue waits for work of the other, which drains the value that is
   observed on the first. */
static inturn_operation second;
static gate both;

static void wait_for_second(void *context, inturn_token token) {
  gate_pass(&both);
  GATE_WAIT(&both, 2);
  inturn_status status = inturn_operation_wait(second, LIMIT_NS, NULL);
  CHECK(status == INTURN_OK || status == INTURN_E_DEADLOCK);
  just_finish(context, token);
  if (status != INTURN_OK)
    gate_pass(&told.told);
}

static void drain_when_both(void *context, inturn_token token) {
  CHECK_OK(inturn_value_set(value, &one_more));
  gate_pass(&both);
  GATE_WAIT(&both, 2);
  status_of_wait = inturn_value_drain(value, LIMIT_NS);
  just_finish(context, token);
}

static void a_ring_through_two_queues_is_refused_to_one(void) {
  for (int round = 0; round < 100; round++) {
    inturn_queue one = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    inturn_queue two = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    gate seen = GATE_INIT;
    both = (gate)GATE_INIT;
    observe(one, (inturn_executor){0}, &seen);
    reports_begin(&told);
    CHECK_OK(inturn_queue_suspend(two));
    CHECK_OK(inturn_queue_enqueue(two, drain_when_both, NULL, NULL, &second));
    CHECK_OK(inturn_queue_enqueue(one, wait_for_second, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_resume(two));
    drain_and_destroy(two);
    drain_and_destroy(one);
    reports_end();
    CHECK(gate_count(&told.told) > 0);
    CHECK_INT(gate_count(&seen), 1);
    CHECK_OK(inturn_operation_release(second));
    CHECK_OK(inturn_value_destroy(value));
  }
}

PROGRAM(rings_values, TEST(work_does_not_wait_for_an_observer_behind_it),
        TEST(the_main_thread_does_not_wait_for_what_it_has_to_call),
        TEST(a_ring_through_two_queues_is_refused_to_one))
