/*
 * values_observed.c - who sees which of a value's changes, when, and where.
 *
 * SPDX-License-Identifier: MIT
 */
#include "observing.h"

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

/* Sets the value inside the observer, in answer to the first change. */
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
        TEST(an_executor_and_a_queue_together_are_refused))
