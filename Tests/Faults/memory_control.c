/*
 * memory_control.c - tokens, and control of queues; see memory.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memory.h"

#include <fcntl.h>

/* Tokens ------------------------------------------------------------------ */

static int segments;

static void segment(void *context, inturn_token token) {
  (void)context;
  segments--;
  CHECK_OK(inturn_token_finish(token));
}

static void go_on(void *context, inturn_token token) {
  (void)context;
  worked++;
  if (ATTEMPT(inturn_token_resume(token, segment, made(), destroyed)))
    segments++;
  else
    CHECK_OK(inturn_token_finish(token));
}

static void resume(void) {
  begin(INTURN_QUEUE_ACTOR);
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    enqueue_work(own.queue, NULL, go_on, NULL);
  run_all();
  CHECK_INT(segments, 0);
}

static inturn_token token;
static int handlers;

static void take_token(void *context, inturn_token given) {
  (void)context;
  worked++;
  token = given;
}

static void handle(void *context, inturn_token given) {
  (void)context;
  (void)given;
  handlers--;
}

/* Begins an operation that keeps its token. */
static inturn_operation begin_one(inturn_queue_kind kind) {
  inturn_operation operation;
  begin(kind);
  CHECK(enqueue_work(own.queue, NULL, take_token, &operation));
  stage_drain(&own);
  return operation;
}

static void on_cancel(void) {
  inturn_operation operation = begin_one(INTURN_QUEUE_FIFO);
  fail_from_here();
  handlers = ATTEMPT(inturn_token_on_cancel(token, handle, made(), destroyed));
  CHECK_OK(inturn_operation_cancel(operation));
  stage_drain(&own);
  CHECK_INT(handlers, 0);
  CHECK(must_stop(token));
  CHECK_OK(inturn_token_cancel(token));
  CHECK_OK(inturn_operation_release(operation));
  run_all();
}

static void on_preempt(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation = begin_one(INTURN_QUEUE_INTERACTION);
  options.urgent = true;
  fail_from_here();
  handlers = ATTEMPT(inturn_token_on_preempt(token, handle, made(), destroyed));
  handlers *= enqueue(own.queue, &options, NULL);
  stage_drain(&own);
  CHECK_INT(handlers, 0);
  CHECK_OK(inturn_token_yield(token));
  stage_drain(&own);
  CHECK_OK(inturn_token_finish(token));
  CHECK_OK(inturn_operation_release(operation));
  run_until_quiet();
}

static void set_progress(void) {
  inturn_operation operation = begin_one(INTURN_QUEUE_FIFO);
  int64_t completed = 0, total = 0;
  fail_from_here();
  bool is_set = ATTEMPT(inturn_token_set_progress(token, 3, 4));
  CHECK_OK(inturn_operation_get_progress(operation, &completed, &total));
  CHECK_INT(completed, is_set ? 3 : 0);
  CHECK_OK(inturn_token_finish_with(token, made(), destroyed));
  CHECK_OK(inturn_operation_release(operation));
  run_all();
}

static void abandon(void) {
  inturn_operation operation = begin_one(INTURN_QUEUE_FIFO);
  reports reports = {.told = GATE_INIT};
  reports_begin(&reports);
  fail_from_here();
  CHECK_OK(inturn_token_abandon_at(token, "here"));
  CHECK_INT(end_of(operation).outcome, INTURN_ABANDONED);
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK_STATUS(inturn_token_abandon(token), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(operation));
  run_all();
}

/* Control ----------------------------------------------------------------- */

/* Everything that never needs memory, on a queue with various operations. */
static void control(inturn_queue_kind kind) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operations[SOME];
  inturn_operation_info infos[SOME] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 0;
  begin(kind);
  CHECK_OK(inturn_queue_suspend(own.queue));
  for (int i = 0; i < SOME; i++) {
    options.label = i % 2 ? "labelled" : NULL;
    options.exclusive = names;
    options.exclusive_count = i % 3;
    options.max_wait_ns = 1000000;
    CHECK(enqueue(own.queue, i % 5 ? &options : NULL, &operations[i]));
  }
  CHECK(enqueue(own.queue, NULL, NULL));
  fail_from_here();
  CHECK_OK(inturn_queue_suspend(own.queue));
  CHECK_OK(inturn_queue_resume(own.queue));
  CHECK_OK(inturn_operation_cancel(operations[3]));
  CHECK_OK(inturn_queue_list(own.queue, infos, SOME, &count));
  CHECK_INT(count, SOME);
  CHECK_STATUS(inturn_queue_drain_or_list(own.queue, 0, infos, SOME, &count),
               INTURN_E_TIMED_OUT);
  CHECK_INT(count, SOME);
  CHECK_OK(inturn_queue_resume(own.queue));
  CHECK_OK(inturn_executor_drain(own.executor, 5, NULL));
  CHECK_OK(inturn_queue_cancel_pending(own.queue));
  CHECK_OK(inturn_queue_cancel_all(own.queue));
  CHECK_OK(inturn_queue_close(own.queue));
  stage_advance(&own, 1000);
  run_until_quiet();
  CHECK_OK(inturn_queue_drain(own.queue, LIMIT_NS));
  for (int i = 0; i < SOME; i++)
    CHECK_OK(inturn_operation_release(operations[i]));
}

static void control_fifo(void) { control(INTURN_QUEUE_FIFO); }
static void control_actor(void) { control(INTURN_QUEUE_ACTOR); }
static void control_interaction(void) { control(INTURN_QUEUE_INTERACTION); }
static void control_concurrent(void) { control(INTURN_QUEUE_CONCURRENT); }

static void destroy_pending(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.priority = 1;
  options.on_end = told;
  begin(INTURN_QUEUE_CONCURRENT);
  for (int i = 0; i < SOME; i++)
    CHECK(enqueue(own.queue, i % 2 ? &options : NULL, NULL));
  fail_from_here();
  stage_destroy(&own);
  own.queue.bits = 0;
  CHECK_INT(worked, 0);
}

static void by_key(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  uint64_t count = 0;
  begin(INTURN_QUEUE_CONCURRENT);
  for (int i = 0; i < SOME; i++) {
    options.key = i % 2 ? "one" : "other";
    CHECK(enqueue(own.queue, &options, NULL));
  }
  fail_from_here();
  CHECK_OK(inturn_queue_cancel_key(own.queue, "one", &count));
  CHECK_INT(count, SOME / 2);
  CHECK_OK(inturn_queue_resolve_key(own.queue, "other", &count));
  CHECK_INT(count, SOME / 2);
  run_until_quiet();
  CHECK_INT(worked, 0);
}

static void suspend_for(void) {
  begin(INTURN_QUEUE_FIFO);
  CHECK(enqueue(own.queue, NULL, NULL));
  fail_from_here();
  if (ATTEMPT(inturn_queue_suspend_for(own.queue, "a reason"))) {
    stage_drain(&own);
    CHECK_INT(worked, 0);
    CHECK_OK(inturn_queue_resume_for(own.queue, "a reason"));
  }
  run_all();
}

static void change_settings(void) {
  inturn_rate rate = {1, 0, 10};
  begin(INTURN_QUEUE_CONCURRENT);
  for (int i = 0; i < SOME; i++)
    CHECK(enqueue(own.queue, NULL, NULL));
  fail_from_here();
  CHECK_OK(inturn_queue_set_max_concurrent(own.queue, 7));
  bool is_rated = ATTEMPT(inturn_queue_set_rate(own.queue, &rate));
  stage_drain(&own);
  CHECK_INT(worked, is_rated ? 1 : SOME);
  stage_advance(&own, 10 * SOME);
  for (int i = 0; i < SOME; i++)
    stage_advance(&own, 10);
  run_all();
}

static void set_executor(void) {
  inturn_executor pool, before;
  begin(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_executor_pool(&pool));
  before = own.executor;
  fail_from_here();
  bool is_set = ATTEMPT(inturn_queue_set_executor(own.queue, pool));
  enqueue(own.queue, NULL, NULL);
  if (!is_set)
    stage_drain(&own);
  CHECK_OK(inturn_queue_drain(own.queue, LIMIT_NS));
  CHECK_INT(worked, accepted);
  CHECK(own.executor.bits == before.bits);
}

static void view(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = 500;
  options.gap_ns = 250;
  own = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  CHECK(enqueue(own.queue, NULL, NULL));
  CHECK(enqueue(own.queue, NULL, NULL));
  fail_from_here();
  CHECK_OK(inturn_queue_view_did_appear(own.queue));
  stage_advance(&own, options.settle_ns);
  CHECK(worked > 0);
  CHECK_OK(inturn_queue_view_will_disappear(own.queue));
  CHECK_OK(inturn_queue_view_did_appear(own.queue));
  stage_advance(&own, options.settle_ns + options.gap_ns);
  CHECK_INT(worked, 2);
}

static void events(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options labelled = INTURN_OPERATION_OPTIONS_INIT;
  options.on_event = told_event;
  options.event_context = made();
  options.event_destroy = destroyed;
  labelled.label = "an operation";
  own = stage_create_with(INTURN_QUEUE_FIFO, options);
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    enqueue(own.queue, i % 2 ? &labelled : NULL, NULL);
  CHECK_OK(inturn_queue_suspend(own.queue));
  CHECK_OK(inturn_queue_resume(own.queue));
  run_all();
  CHECK_OK(inturn_queue_close(own.queue));
  run_until_quiet();
}

static void count_reason(void *count, const inturn_report *report) {
  CHECK(report->chain_count > 0);
  ++*(int *)count;
}

static void why(void) {
  inturn_operation_options named = INTURN_OPERATION_OPTIONS_INIT;
  named.label = "an operation with a name that takes memory";
  inturn_operation operation = begin_one(INTURN_QUEUE_FIFO), next;
  CHECK(enqueue(own.queue, &named, &next));
  named.after = &next;
  named.after_count = 1;
  inturn_operation last;
  CHECK(enqueue(own.queue, &named, &last));
  fail_from_here();
  int count = 0;
  bool isTold = ATTEMPT(inturn_why(last, count_reason, &count));
  CHECK_INT(count, isTold);
  CHECK_OK(inturn_token_finish(token));
  run_all();
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_operation_release(next));
  CHECK_OK(inturn_operation_release(last));
}

static bool count_entry(void *count, const inturn_entry *entry) {
  *(int *)count += entry->kind == INTURN_ENTRY_OPERATION;
  return true;
}

/* A snapshot needs no memory. */
static void snapshot(void) {
  inturn_operation_options named = INTURN_OPERATION_OPTIONS_INIT;
  named.label = "an operation with a name that takes memory";
  named.exclusive = names;
  named.exclusive_count = 2;
  inturn_operation operation = begin_one(INTURN_QUEUE_CONCURRENT);
  for (int i = 0; i < SOME; i++)
    CHECK(enqueue(own.queue, &named, NULL));
  int nowhere = open("/dev/null", O_WRONLY);
  CHECK(nowhere >= 0);
  fail_from_here();
  int count = 0;
  CHECK_OK(inturn_snapshot(count_entry, &count));
  CHECK_INT(count, SOME + 1);
  for (int format = INTURN_DUMP_TEXT; format <= INTURN_DUMP_HTML; format++)
    CHECK_OK(inturn_dump(nowhere, (inturn_dump_format)format));
  if (ATTEMPT(inturn_trace_start(1))) {
    (void)ATTEMPT(inturn_trace_write(nowhere));
    CHECK_OK(inturn_trace_stop());
  }
  CHECK_OK(inturn_token_finish(token));
  run_all();
  CHECK_OK(inturn_operation_release(operation));
}

#define SCENARIO(name)                                                         \
  { #name, name }

const scenario control_scenarios[] = {
    SCENARIO(resume),
    SCENARIO(on_cancel),
    SCENARIO(on_preempt),
    SCENARIO(set_progress),
    SCENARIO(abandon),
    SCENARIO(control_fifo),
    SCENARIO(control_actor),
    SCENARIO(control_interaction),
    SCENARIO(control_concurrent),
    SCENARIO(destroy_pending),
    SCENARIO(by_key),
    SCENARIO(suspend_for),
    SCENARIO(change_settings),
    SCENARIO(set_executor),
    SCENARIO(view),
    SCENARIO(events),
    SCENARIO(snapshot),
    SCENARIO(why),
    {NULL, NULL},
};
