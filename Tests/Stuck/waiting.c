/*
 * waiting.c - programs in which somebody waits, and combinations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

/* Waits -------------------------------------------------------------------- */

STUCK(queue_is_drained_in_its_own_call, REFUSED) {
  static inturn_queue steps;
  steps = QUEUE(FIFO, "steps");
  ADD(steps, "first", drain_it, &steps);
}

STUCK(one_waits_for_one_behind_it, REFUSED) {
  static inturn_operation second;
  inturn_queue steps = QUEUE(FIFO, "steps");
  OK(inturn_queue_suspend(steps));
  ADD(steps, "first", wait_for, &second);
  second = KEPT(steps, "second", finish, NULL);
  OK(inturn_queue_resume(steps));
}

STUCK(two_queues_drain_each_other, REFUSED) {
  static inturn_queue left, right;
  left = QUEUE(FIFO, "left");
  right = QUEUE(FIFO, "right");
  /* So that neither finds the other one empty. */
  OK(inturn_queue_suspend(left));
  OK(inturn_queue_suspend(right));
  ADD(left, "there", drain_it, &right);
  ADD(right, "back", drain_it, &left);
  OK(inturn_queue_resume(left));
  OK(inturn_queue_resume(right));
}

STUCK(call_waits_for_a_forgotten_one,
      "save@database >> load@network: " NOT_FINISHED) {
  static inturn_operation load;
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_queue database = QUEUE(FIFO, "database");
  load = KEPT(network, "load", keep, NULL);
  ADD(database, "save", wait_for, &load);
  ADD(database, "next", finish, NULL);
}

static void wait_a_moment_for(void *operation, inturn_token token) {
  moment();
  wait_for(operation, token);
}

NEW(ring_of_a_name_and_a_wait, REFUSED) {
  static inturn_operation copy;
  inturn_queue photos = QUEUE(FIFO, "photos");
  inturn_queue albums = QUEUE(FIFO, "albums");
  ADD(photos, "write", wait_a_moment_for, &copy, NAMED("disk"));
  copy = KEPT(albums, "copy", finish, NULL, NAMED("disk"));
}

static void wait_for_batch(void *context, inturn_token token) {
  inturn_batch_wait(*(inturn_batch *)context, -1, NULL);
  inturn_token_finish(token);
}

NEW(batch_is_waited_for_by_one_before_it, REFUSED) {
  static inturn_batch parts;
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  OK(inturn_queue_suspend(uploads));
  ADD(uploads, "send", wait_for_batch, &parts);
  parts = BATCH(uploads, "part", finish, (inturn_batch_edge){0});
  OK(inturn_queue_resume(uploads));
}

STUCK(destroy_waits_for_a_call, "compute@slow: " IN_CALL_OR_DESTROY) {
  inturn_queue slow = QUEUE(FIFO, "slow");
  ADD(slow, "compute", block, NULL);
  started(slow, 1);
  inturn_queue_destroy(slow);
}

NEW(drained_by_a_thread_beside, "load@network: " NOT_FINISHED) {
  static inturn_queue network;
  network = QUEUE(CONCURRENT, "network");
  ADD(network, "load", keep, NULL);
  thread(drain_in_thread, &network);
}

NEW(executors_only_thread_waits_for_another_queue,
    "load@network: " NOT_FINISHED) {
  static inturn_executor loop;
  static inturn_queue network;
  loop = executor_of(0);
  network = QUEUE(FIFO, "network");
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = loop);
  inturn_queue sounds = QUEUE(FIFO, "sounds", .executor = loop);
  ADD(network, "load", keep, NULL);
  ADD(sounds, "play", drain_it, &network);
  thread(run_executor, &loop);
  started(sounds, 1);
  ADD(frames, "draw", finish, NULL);
}

static bool is_true(void *context, const inturn_datum *datum) {
  (void)context;
  return datum->boolean;
}

STUCK(value_that_nobody_sets,
      "silent: nothing is pending or running in a queue") {
  inturn_datum datum = INTURN_BOOLEAN(false);
  inturn_value ready;
  OK(inturn_value_create(NULL, &datum, &ready));
  inturn_value_wait(ready, is_true, NULL, -1, NULL);
}

static inturn_value never;

static void wait_for_value(void *context, inturn_token token) {
  (void)context;
  inturn_value_wait(never, is_true, NULL, -1, NULL);
  inturn_token_finish(token);
}

NEW(call_waits_for_a_value_that_nobody_sets, "ask@network: " IN_CALL) {
  inturn_datum datum = INTURN_BOOLEAN(false);
  OK(inturn_value_create(NULL, &datum, &never));
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "ask", wait_for_value, NULL);
  drain(network);
}

NEW(child_waits_for_what_it_has_forgotten, "load@network: " NOT_FINISHED) {
  inturn_queue parents = QUEUE(FIFO, "parents");
  ADD(parents, "first", finish, NULL);
  drain(parents);
  if (fork() != 0)
    return;
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  drain(network);
}

/* Combinations ------------------------------------------------------------- */

static void block_event(void *context, const inturn_event *event) {
  (void)event;
  block(context, (inturn_token){0});
}

NEW(event_handler_does_not_return,
    "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads", .on_event = block_event);
  ADD(uploads, "first", finish, NULL);
  ADD(uploads, "second", finish, NULL);
}

static bool block_decision(void *context, int32_t code, uint32_t attempts) {
  (void)code, (void)attempts;
  block(context, (inturn_token){0});
  return false;
}

NEW(retry_is_decided_for_ever,
    "load@network: a callback of it has not returned") {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.decide = block_decision;
  ADD(network, "load", fail, NULL, .retry = &retry);
  drain(network);
}

static void keep_and_heed(void *context, inturn_token token) {
  inturn_token_on_preempt(token, block, context, NULL);
}

NEW(preempted_question_does_not_go, "question@dialogs: " NOT_FINISHED) {
  inturn_queue dialogs = visible_dialogs();
  ADD(dialogs, "question", keep_and_heed, NULL);
  started(dialogs, 1);
  ADD(dialogs, "alarm", finish, NULL, .urgent = true);
  drain(dialogs);
}

NEW(taken_operation_is_not_ended, "load@network: " NOT_FINISHED) {
  inturn_executor loop = executor_of(0);
  inturn_queue network = QUEUE(FIFO, "network", .executor = loop);
  inturn_taken taken;
  ADD(network, "load", keep, NULL);
  OK(inturn_executor_take(loop, keep, (inturn_token){0}, &taken));
  drain(network);
}

NEW(one_of_two_names_is_held, "copy@albums > write@photos: " NOT_FINISHED) {
  inturn_queue photos = QUEUE(FIFO, "photos");
  inturn_queue albums = QUEUE(FIFO, "albums");
  const char *both[] = {"paper", "disk"};
  ADD(photos, "write", keep, NULL, NAMED("disk"));
  started(photos, 1);
  ADD(albums, "copy", finish, NULL, .exclusive = both, .exclusive_count = 2);
  drain(albums);
}

NEW(one_waits_for_one_behind_a_barrier, REFUSED) {
  static inturn_operation last;
  inturn_queue files = QUEUE(CONCURRENT, "files");
  OK(inturn_queue_suspend(files));
  ADD(files, "read", wait_for, &last);
  ADD(files, "sync", finish, NULL, .barrier = true);
  last = KEPT(files, "write", finish, NULL);
  OK(inturn_queue_resume(files));
}

NEW(one_waits_for_itself, REFUSED) {
  static inturn_operation self;
  inturn_queue files = QUEUE(CONCURRENT, "files");
  OK(inturn_queue_suspend(files));
  self = KEPT(files, "read", wait_for, &self);
  OK(inturn_queue_resume(files));
}

static void drain_at_end(void *context, const inturn_end *end) {
  (void)end;
  drain(*(inturn_queue *)context);
}

NEW(queue_is_drained_by_an_end_callback, REFUSED) {
  static inturn_queue uploads;
  uploads = QUEUE(CONCURRENT, "uploads");
  ADD(uploads, "send", finish, NULL, .on_end = drain_at_end,
      .end_context = &uploads);
}

NEW(loops_only_thread_waits_for_its_own_loop, REFUSED) {
  static inturn_executor loop;
  static inturn_queue frames;
  loop = executor_of(0);
  frames = QUEUE(FIFO, "frames", .executor = loop);
  inturn_queue sounds = QUEUE(FIFO, "sounds", .executor = loop);
  ADD(sounds, "play", drain_it, &frames);
  ADD(frames, "draw", finish, NULL);
  thread(run_executor, &loop);
}

NEW(two_host_threads_are_in_calls,
    "@frames: who drains its executor is in a call that has not returned") {
  static inturn_executor loop;
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.host_threads = 2;
  OK(inturn_executor_create(&options, &loop));
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = loop);
  inturn_queue slow =
      QUEUE(CONCURRENT, "slow", .executor = loop, .max_concurrent = 2);
  ADD(slow, "one", block, NULL);
  ADD(slow, "two", block, NULL);
  thread(run_executor, &loop);
  thread(run_executor, &loop);
  started(slow, 2);
  ADD(frames, "draw", finish, NULL);
}

static void watch(void *context, const inturn_change *change) {
  (void)context, (void)change;
}

NEW(observers_queue_is_suspended, "@screen: it is suspended") {
  inturn_queue screen = QUEUE(FIFO, "screen");
  inturn_datum datum = INTURN_INTEGER(1);
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_value count;
  OK(inturn_value_create(NULL, &datum, &count));
  options.queue = screen;
  options.initial = true;
  OK(inturn_queue_suspend(screen));
  OK(inturn_value_observe(count, &options, watch, NULL, NULL, NULL));
  inturn_value_drain(count, -1);
}

static void destroy_it(void *context, inturn_token token) {
  inturn_queue_destroy(*(inturn_queue *)context);
  inturn_token_finish(token);
}

NEW(queue_is_destroyed_by_work_that_waits_for_its_call,
    "compute@slow: " IN_CALL_OR_DESTROY) {
  static inturn_queue slow;
  slow = QUEUE(FIFO, "slow");
  inturn_queue other = QUEUE(FIFO, "other");
  ADD(slow, "compute", block, NULL);
  started(slow, 1);
  ADD(other, "clear", destroy_it, &slow);
  drain(other);
}

NEW(last_of_many_is_forgotten, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(CONCURRENT, "network");
  for (int i = 0; i < 1000; i++)
    ADD(network, "ping", finish, NULL);
  ADD(network, "load", keep, NULL);
  drain(network);
}
