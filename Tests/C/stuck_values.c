/*
 * stuck_values.c - who waits for an observer that does not return is told.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

static const inturn_datum zero = {.type = INTURN_DATUM_INTEGER};
static const inturn_datum one_more = {.type = INTURN_DATUM_INTEGER,
                                      .integer = 1};
static inturn_value value;
static inturn_observation observation;
static gate in_call, may_return;

static void hold_up(void *context, const inturn_change *change) {
  (void)context, (void)change;
  gate_pass(&in_call);
  GATE_WAIT(&may_return, 1);
}

static void set(void *context) {
  (void)context;
  CHECK_OK(inturn_value_set(value, &one_more));
}

/* From here on, an observer is being called on another thread. */
static void begin(thread *setter, inturn_queue queue) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_value_options named = INTURN_VALUE_OPTIONS_INIT;
  in_call = may_return = (gate)GATE_INIT;
  options.queue = queue;
  named.label = "state";
  CHECK_OK(inturn_value_create(&named, &zero, &value));
  CHECK_OK(
      inturn_value_observe(value, &options, hold_up, NULL, NULL, &observation));
  thread_start(setter, set, NULL);
  GATE_WAIT(&in_call, 1);
}

static void let_return(const inturn_report *report) {
  (void)report;
  gate_pass(&may_return);
}

static void destroy_it(void) { CHECK_OK(inturn_value_destroy(value)); }

static void cancel_it(void) {
  CHECK_OK(inturn_observation_cancel(observation, LIMIT_NS));
  destroy_it();
}

static void drain_it(void) {
  CHECK_OK(inturn_value_drain(value, LIMIT_NS));
  destroy_it();
}

/* There is no queue, so nobody has looked so far. */
static void each_wait_for_an_observer_is_told(void) {
  void (*const waits[])(void) = {destroy_it, cancel_it, drain_it};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    thread setter;
    begin(&setter, (inturn_queue){0});
    stalls_told = let_return;
    stalls_begin(STALL_NS);
    waits[i]();
    stalls_told = NULL;
    stall told = STALL("observer @state");
    CHECK(told.stalled_ns >= STALL_NS);
    CHECK_INT(told.waiting, 0);
    CHECK_TEXT(told.queue_label, "state");
    CHECK(stall_says(&told,
                     "the observers of value \"state\": a call of one has"
                     " not returned; the main thread waits for it"));
    CHECK_INT(stalls_of(NULL), 1);
    stalls_end();
    thread_join(&setter);
  }
}

static void destroy_in_work(void *context, inturn_token token) {
  destroy_it();
  just_finish(context, token);
}

static void work_that_waits_leads_to_the_observer(void) {
  thread setter;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation_options save = labelled("save");
  begin(&setter, (inturn_queue){0});
  stalls_begin(STALL_NS);
  CHECK_OK(inturn_queue_enqueue_with(queue, &save, destroy_in_work, NULL, NULL,
                                     NULL));
  enqueue_one(queue, NULL);
  stall told = STALL("wait save@database > observer @state");
  CHECK(stall_says(&told, " for the observers of value \"state\": a call of"
                          " one has not returned. 1 more waits behind it."));
  gate_pass(&may_return);
  drain_and_destroy(queue);
  CHECK_INT(stalls_of(NULL), 1);
  stalls_end();
  thread_join(&setter);
}

static void the_answer_to_why_leads_to_the_observer(void) {
  thread setter;
  inturn_operation operation;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation_options save = labelled("save");
  begin(&setter, (inturn_queue){0});
  CHECK_OK(inturn_queue_enqueue_with(queue, &save, destroy_in_work, NULL, NULL,
                                     &operation));
  stall reason;
  do
    reason = reason_of(operation);
  while (strstr(reason.chain, "observer") == NULL);
  CHECK_TEXT(reason.chain, "wait save@database > observer @state");
  gate_pass(&may_return);
  drain_and_destroy(queue);
  CHECK_OK(inturn_operation_release(operation));
  thread_join(&setter);
}

/* The queue tells, and no other report does. */
static void an_observer_on_a_queue_is_told_by_the_queue(void) {
  thread setter;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "screen");
  begin(&setter, queue);
  enqueue_one(queue, NULL);
  stalls_told = let_return;
  stalls_begin(STALL_NS);
  destroy_it();
  stalls_told = NULL;
  STALL("call ?@screen");
  CHECK_INT(stalls_of(NULL), 1);
  stalls_end();
  thread_join(&setter);
  drain_and_destroy(queue);
}

PROGRAM(stuck_values, TEST(each_wait_for_an_observer_is_told),
        TEST(work_that_waits_leads_to_the_observer),
        TEST(the_answer_to_why_leads_to_the_observer),
        TEST(an_observer_on_a_queue_is_told_by_the_queue))
