/*
 * process_stalls.c - what stands still for other reasons than a wait in work.
 *
 * SPDX-License-Identifier: MIT
 */
#include "process.h"

#include <pthread.h>
#include <stddef.h>

static inturn_queue destroyed;

static void begin(void *(*body)(void *), void *context) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, context);
}

static void finish(void *context, inturn_token token) {
  (void)context;
  inturn_token_finish(token);
}

static void finish_and_block(void *context, inturn_token token) {
  inturn_token_finish(token);
  block(context, token);
}

static void keep_there(void *context, inturn_token token) {
  *(inturn_token *)context = token;
}

static void block_at_end(void *context, const inturn_end *end) {
  (void)end;
  block(context, (inturn_token){0});
}

static void block_at_end_of_batch(void *context, const inturn_batch_end *end) {
  (void)end;
  block(context, (inturn_token){0});
}

static inturn_queue make_at(inturn_executor executor, const char *label) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = label;
  options.executor = executor;
  check(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  return queue;
}

static inturn_executor make_host(const char *label, uint32_t threads) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor executor;
  options.label = label;
  options.host_threads = threads;
  check(inturn_executor_create(&options, &executor));
  return executor;
}

static void *run(void *executor) {
  check(inturn_executor_run(*(inturn_executor *)executor));
  return NULL;
}

/* A loop is attached to one executor, which nobody drains; threads that do not
   return drain the other. */
void wait_for_drainers(void) {
  static inturn_executor drained;
  inturn_executor attached = make_host("attached", 1);
  check(inturn_executor_attach(attached, "a loop", &drained));
  add_named(make_at(attached, "of a loop"), "paint", finish);
  drained = make_host("drained", 3);
  begin(run, &drained);
  begin(run, &drained);
  inturn_queue busy = make_at(drained, "busy");
  add_named(busy, "spin", block);
  add_named(busy, "spin, too", block);
  await_calls(2);
  add_named(make_at(drained, "behind"), "draw", finish);
}

/* Each operation of a batch comes after the one before it. The first has begun,
   or waits for a name. */
void wait_for_edges(void) {
  inturn_batch_edge edges[] = {{1, 0}, {2, 1}, {3, 1}};
  inturn_batch_item items[] = {{keep, NULL, NULL},
                               {finish, NULL, NULL},
                               {finish, NULL, NULL},
                               {finish, NULL, NULL}};
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  static const char *const name = "usb";
  options.operation = &each;
  options.edges = edges;
  options.edge_count = 3;
  each.label = "begun";
  check(inturn_queue_enqueue_batch(make_named(INTURN_QUEUE_FIFO, "parts"),
                                   &options, items, 4, NULL));
  await_calls(1);
  each.exclusive = &name;
  each.exclusive_count = 1;
  each.label = "shoots";
  check(inturn_queue_enqueue_with(make_named(INTURN_QUEUE_FIFO, "camera"),
                                  &each, keep, NULL, NULL, NULL));
  await_calls(2);
  each.label = "named";
  check(inturn_queue_enqueue_batch(make_named(INTURN_QUEUE_CONCURRENT, "names"),
                                   &options, items, 4, NULL));
}

/* Queues in which nothing is pending, and whose operations have ended. */
void wait_at_ends(void) {
  inturn_operation_options one = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options all = INTURN_BATCH_OPTIONS_INIT;
  inturn_batch_item item = {finish, NULL, NULL};
  static inturn_token token;
  inturn_executor nobodys = make_host(NULL, 1);
  one.on_end = block_at_end;
  check(inturn_queue_enqueue_with(make_named(INTURN_QUEUE_CONCURRENT, "told"),
                                  &one, finish, NULL, NULL, NULL));
  all.on_end = block_at_end_of_batch;
  check(inturn_queue_enqueue_batch(make_named(INTURN_QUEUE_CONCURRENT, "batch"),
                                   &all, &item, 1, NULL));
  add_named(make_named(INTURN_QUEUE_FIFO, "in a call"), "ended",
            finish_and_block);
  await_calls(3);
  item = (inturn_batch_item){keep_there, &token, NULL};
  check(inturn_queue_enqueue_batch(make_at(nobodys, "not told"), NULL, &item, 1,
                                   NULL));
  check(inturn_executor_drain(nobodys, 1, NULL));
  check(inturn_token_finish(token));
  make_named(INTURN_QUEUE_FIFO, "idle");
}

static void *destroy(void *context) {
  (void)context;
  check(inturn_queue_destroy(destroyed));
  return NULL;
}

/* Its destruction begins some time after it is ready. */
void wait_in_destroyed_queue(void) {
  destroyed = make_named(INTURN_QUEUE_FIFO, "cache");
  add_named(destroyed, "evict", block);
  await_calls(1);
  begin(destroy, NULL);
}
