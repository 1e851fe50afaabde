/*
 * drains.c - a drain with a maximum makes at most that many calls, and returns
 * how many it has made.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static uint32_t made;

static void work(void *context, inturn_token token) {
  (void)context;
  made++;
  CHECK_OK(inturn_token_finish(token));
}

static void tell_end(void *context, const inturn_end *end) {
  (void)context;
  (void)end;
  made++;
}

static void tell_batch_end(void *context, const inturn_batch_end *end) {
  (void)context;
  (void)end;
  made++;
}

static void tell_event(void *context, const inturn_event *event) {
  (void)context;
  /* The event of a start belongs to the work's call. */
  if (event->kind != INTURN_EVENT_STARTED)
    made++;
}

static void be_told(void *context, inturn_token token) {
  (void)context;
  (void)token;
  made++;
}

/* Drains with this maximum until nothing is left to call. */
static uint32_t drain_by(const stage *stage, uint32_t most) {
  uint32_t all = 0, calls;
  do {
    made = 0;
    CHECK_OK(inturn_executor_drain(stage->executor, most, &calls));
    CHECK_INT(calls, made);
    CHECK(calls <= most);
    all += calls;
  } while (calls > 0);
  return all;
}

static void operations_and_their_ends_are_calls(inturn_queue_kind kind) {
  for (int count = 1; count <= 3; count++)
    for (uint32_t most = 1; most <= 8; most++) {
      stage stage = stage_create(kind);
      inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
      options.on_end = tell_end;
      for (int i = 0; i < count; i++)
        CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work, NULL,
                                           NULL, NULL));
      CHECK_INT(drain_by(&stage, most), 2 * count);
      stage_destroy(&stage);
    }
}

static void operations_and_their_ends_are_calls_in_each_kind(void) {
  for_each_kind(operations_and_their_ends_are_calls);
}

static void the_end_of_a_batch_is_a_call(inturn_queue_kind kind) {
  for (size_t count = 1; count <= 3; count++)
    for (uint32_t most = 1; most <= 8; most++) {
      stage stage = stage_create(kind);
      inturn_batch_item items[3] = {{work, 0, 0}, {work, 0, 0}, {work, 0, 0}};
      inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
      inturn_queue_statistics statistics;
      options.on_end = tell_batch_end;
      CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, count,
                                          NULL));
      CHECK_INT(drain_by(&stage, most), count + 1);
      statistics = statistics_of(stage.queue);
      CHECK_INT(statistics.finished, count);
      CHECK_INT(statistics.running, 0);
      stage_destroy(&stage);
    }
}

static void the_end_of_a_batch_is_a_call_in_each_kind(void) {
  for_each_kind(the_end_of_a_batch_is_a_call);
}

static void events_are_calls_but_that_of_a_start(void) {
  for (uint32_t most = 1; most <= 8; most++) {
    stage stage = stage_create(INTURN_QUEUE_FIFO);
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    inturn_queue queue;
    options.executor = stage.executor;
    options.on_event = tell_event;
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
    for (int i = 0; i < 2; i++)
      CHECK_OK(inturn_queue_enqueue(queue, work, NULL, NULL, NULL));
    /* Two enqueued events, two works, two ended events, and then idle. */
    CHECK_INT(drain_by(&stage, most), 7);
    CHECK_OK(inturn_queue_destroy(queue));
    stage_destroy(&stage);
  }
}

static inturn_operation raced;

static void be_cut_off(void *context, inturn_token token) {
  made++;
  CHECK_OK(inturn_token_on_cancel(token, be_told, NULL, NULL));
  CHECK_OK(inturn_operation_cancel(raced));
  CHECK_OK(inturn_clock_advance(((stage *)context)->clock, 10));
}

static void a_cancel_handler_and_an_end_are_two_calls(void) {
  for (uint32_t most = 1; most <= 4; most++) {
    stage stage = stage_create(INTURN_QUEUE_FIFO);
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.on_end = tell_end;
    options.cancel_grace_ns = 10;
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, be_cut_off,
                                       &stage, NULL, &raced));
    CHECK_INT(drain_by(&stage, most), 3);
    CHECK_OK(inturn_operation_release(raced));
    stage_destroy(&stage);
  }
}

static inturn_token shown;

static void be_shown(void *context, inturn_token token) {
  (void)context;
  made++;
  shown = token;
  CHECK_OK(inturn_token_on_cancel(token, be_told, NULL, NULL));
  CHECK_OK(inturn_token_on_preempt(token, be_told, NULL, NULL));
}

static void a_cancel_and_a_preempt_handler_are_two_calls(void) {
  for (uint32_t most = 1; most <= 4; most++) {
    stage stage = stage_create(INTURN_QUEUE_INTERACTION);
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation operation;
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, be_shown, NULL, NULL, &operation));
    CHECK_INT(drain_by(&stage, most), 1);
    options.urgent = true;
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work, NULL, NULL,
                                       NULL));
    CHECK_OK(inturn_operation_cancel(operation));
    CHECK_INT(drain_by(&stage, most), 2);
    CHECK_OK(inturn_token_finish(shown));
    CHECK_INT(drain_by(&stage, most), 1);
    CHECK_OK(inturn_operation_release(operation));
    stage_destroy(&stage);
  }
}

PROGRAM(drains, TEST(operations_and_their_ends_are_calls_in_each_kind),
        TEST(the_end_of_a_batch_is_a_call_in_each_kind),
        TEST(events_are_calls_but_that_of_a_start),
        TEST(a_cancel_handler_and_an_end_are_two_calls),
        TEST(a_cancel_and_a_preempt_handler_are_two_calls))
