/*
 * awaited.c - waits outside of the library's calls can be named, and then
 * reports come as soon as for a waiting thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

static void an_operation_that_is_awaited_is_told_soon(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_operation_options options = labelled("load");
  inturn_operation operation;
  inturn_token load;
  hold_kept(queue, &options, &load, &operation);
  CHECK_OK(inturn_report_set_awaited(operation.bits));
  stall told = STALL("token load@network");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(load));
  CHECK_STATUS(inturn_report_set_awaited(operation.bits),
               INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_STATUS(inturn_report_set_awaited(operation.bits), INTURN_E_STALE);
  drain_and_destroy(queue);
  stalls_end();
}

/* An operation that is awaited while pending is still awaited when it runs. */
static void a_pending_operation_that_is_awaited_is_told_soon(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend(queue));
  inturn_operation_options options = labelled("load");
  inturn_operation operation;
  inturn_token load = {0};
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, keep_token, &load, NULL,
                                     &operation));
  CHECK_OK(inturn_report_set_awaited(operation.bits));
  stall told = STALL("suspended @uploads");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_queue_resume(queue));
  told = STALL("token load@uploads");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_operation_release(operation));
  stalls_end();
}

typedef struct held {
  inturn_token token;
  gate has_come;
} held;

static void take_token(void *context, inturn_token token) {
  held *held = context;
  held->token = token;
  gate_pass(&held->has_come);
}

/* Plain work: only its token can name it. */
static inturn_token hold_plain(inturn_queue queue) {
  held held = {{0}, GATE_INIT};
  CHECK_OK(inturn_queue_enqueue(queue, take_token, &held, NULL, NULL));
  GATE_WAIT(&held.has_come, 1);
  return held.token;
}

static void an_operation_is_awaited_by_its_token(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load = hold_plain(queue);
  CHECK_OK(inturn_report_set_awaited(load.bits));
  stall told = STALL("token ?@network");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(load));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  /* The next one is not awaited, though it may have the same slot. */
  inturn_token next = hold_plain(queue);
  CHECK_STATUS(inturn_report_set_awaited(load.bits), INTURN_E_ALREADY_FINISHED);
  stalls_begin(STALL_NS);
  told = STALL("token ?@network");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(next));
  drain_and_destroy(queue);
  stalls_end();
}

/* Awaited until it is empty. */
static void a_queue_that_is_awaited_is_told_soon(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token token;
  hold(queue, "load", &token);
  CHECK_OK(inturn_report_set_awaited(queue.bits));
  stall told = STALL("token load@network");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(token));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  hold(queue, "next", &token);
  told = STALL("token next@network");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  CHECK_STATUS(inturn_report_set_awaited(queue.bits), INTURN_E_STALE);
  stalls_end();
}

static void keep_item(void *context, inturn_token token) {
  *(inturn_token *)context = token;
}

static void a_batch_that_is_awaited_is_told_soon(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend(queue));
  inturn_token token;
  inturn_batch_item item = {keep_item, &token, NULL};
  inturn_batch batch;
  CHECK_OK(inturn_queue_enqueue_batch(queue, NULL, &item, 1, &batch));
  CHECK_OK(inturn_report_set_awaited(batch.bits));
  stall told = STALL("suspended @uploads");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_batch_release(batch));
  CHECK_STATUS(inturn_report_set_awaited(batch.bits), INTURN_E_STALE);
  stalls_end();
}

static void what_cannot_end_is_not_awaited(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_pool(&executor));
  CHECK_STATUS(inturn_report_set_awaited(0), INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_report_set_awaited(executor.bits), INTURN_E_WRONG_KIND);
}

PROGRAM(awaited, TEST(an_operation_that_is_awaited_is_told_soon),
        TEST(a_pending_operation_that_is_awaited_is_told_soon),
        TEST(an_operation_is_awaited_by_its_token),
        TEST(a_queue_that_is_awaited_is_told_soon),
        TEST(a_batch_that_is_awaited_is_told_soon),
        TEST(what_cannot_end_is_not_awaited))
