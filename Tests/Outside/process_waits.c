/*
 * process_waits.c - threads and a task that wait inside work: `process waits`;
 * and operations that wait for others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "process.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static inturn_operation awaited;
static inturn_queue of_awaited;
static inturn_value watched;
static atomic_bool is_enqueued;

static void wait_for_end(void *context, inturn_token token) {
  (void)context, (void)token;
  check(inturn_operation_wait(awaited, -1, NULL));
}

static void wait_for_queue(void *context, inturn_token token) {
  (void)context, (void)token;
  check(inturn_queue_drain(of_awaited, -1));
}

static void wait_for_observers(void *context, inturn_token token) {
  (void)context, (void)token;
  check(inturn_value_drain(watched, -1));
}

static void wait_as_task(void *context, inturn_token token) {
  const uint64_t *what = context;
  inturn_await await;
  check(inturn_await_begin(*what, &token, 1, &await));
  note_call();
}

static void watch(void *context, const inturn_change *change) {
  (void)change;
  block(context, (inturn_token){0});
}

/* Their waits are there only some time after it is ready. */
void wait_in_work(void) {
  inturn_value_options of_value = INTURN_VALUE_OPTIONS_INIT;
  inturn_observe_options observing = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_datum first = INTURN_INTEGER(1), second = INTURN_INTEGER(2);
  of_awaited = make_named(INTURN_QUEUE_FIFO, "awaited");
  awaited = add_named(of_awaited, "never ends", keep);
  of_value.label = "a value with a long name";
  check(inturn_value_create(&of_value, &first, &watched));
  check(inturn_executor_pool(&observing.executor));
  check(inturn_value_observe(watched, &observing, watch, NULL, NULL, NULL));
  check(inturn_value_set(watched, &second));
  await_calls(2);
  add_plain(make_named(INTURN_QUEUE_FIFO, "for an end"), wait_for_end, 1);
  add_plain(make_named(INTURN_QUEUE_FIFO, "for a queue"), wait_for_queue, 1);
  add_plain(make_named(INTURN_QUEUE_FIFO, "told"), wait_for_observers, 1);
  inturn_queue tasks = make_named(INTURN_QUEUE_CONCURRENT, "of tasks");
  check(inturn_queue_enqueue(tasks, wait_as_task, &awaited.bits, NULL, NULL));
  check(
      inturn_queue_enqueue(tasks, wait_as_task, &of_awaited.bits, NULL, NULL));
  await_calls(4);
}

static void wait_for_later(void *context, inturn_token token) {
  (void)context, (void)token;
  note_call();
  while (!atomic_load(&is_enqueued))
    sched_yield();
  check(inturn_operation_wait(awaited, -1, NULL));
}

/* The first of three waits for the last, which the second lets start. The wait
   is there only some time after it is ready. */
void wait_for_what_comes_later(void) {
  inturn_queue queue = make_named(INTURN_QUEUE_CONCURRENT, "two places");
  check(inturn_queue_set_max_concurrent(queue, 2));
  add_named(queue, "first", wait_for_later);
  add_named(queue, "second", keep);
  awaited = add_named(queue, "third", keep);
  atomic_store(&is_enqueued, true);
  await_calls(2);
}

static inturn_operation add(inturn_queue queue, const char *label,
                            const char *key, inturn_operation after) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.label = label;
  options.key = key;
  options.join = key != NULL;
  options.after = &after;
  options.after_count = after.bits != 0;
  check(
      inturn_queue_enqueue_with(queue, &options, keep, NULL, NULL, &operation));
  return operation;
}

void join_one_of_two(void) {
  inturn_operation none = {0};
  inturn_queue queue = make_named(INTURN_QUEUE_CONCURRENT, "joined");
  add(queue, "leader", "key", none);
  add(queue, "joiner", "key", add(queue, "other", NULL, none));
  await_calls(2);
}

void make_odd_labels(void) {
  char longest[81];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  add_named(make_named(INTURN_QUEUE_FIFO, longest), "in the long one", keep);
  add_named(make_named(INTURN_QUEUE_FIFO, "two\nlines"), "in those", keep);
  add_named(make_named(INTURN_QUEUE_FIFO, "0x12345"), "in the number", keep);
  add_named(make_named(INTURN_QUEUE_FIFO, NULL), NULL, keep);
  await_calls(4);
}

void run_in_great_number(void) {
  enum { COUNT = 40000 };
  inturn_queue queue = make_named(INTURN_QUEUE_CONCURRENT, "runs");
  check(inturn_queue_set_max_concurrent(queue, COUNT));
  for (int left = COUNT; left > 0; left--)
    add_named(queue, "one of many", keep);
  await_calls(COUNT);
}

static void finish(void *context, inturn_token token) {
  (void)context;
  check(inturn_token_finish(token));
}

void follow_each_other(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue queues[] = {make_named(INTURN_QUEUE_FIFO, "first"),
                           make_named(INTURN_QUEUE_FIFO, "second")};
  puts("ready");
  fflush(stdout);
  for (int round = 0;; round = !round) {
    inturn_operation first, second;
    check(inturn_queue_enqueue(queues[round], finish, NULL, NULL, &first));
    options.after = &first;
    options.after_count = 1;
    check(inturn_queue_enqueue_with(queues[!round], &options, finish, NULL,
                                    NULL, &second));
    check(inturn_operation_wait(second, -1, NULL));
    check(inturn_operation_release(first));
    check(inturn_operation_release(second));
  }
}
