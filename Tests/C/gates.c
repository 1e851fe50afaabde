/*
 * gates.c - a call with a token only ever reaches its own operation, never
 * another one that has taken its place meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

enum { THREADS = 2 };

/* Two operations of a batch run, and a bystander waits for a place. The batch
   is cancelled; during that, while the first one's handler is handed to the
   executor, the second one ends and the bystander begins in its place. */
static struct scene {
  gate running, handled, go, cancelled, over;
  gate bystander_started;
  bool is_armed, is_told;
} scene;

static void first_work(void *context, inturn_token token) {
  gate_pass(&scene.running);
  GATE_WAIT(&scene.running, 2);
  CHECK_OK(inturn_token_on_cancel(token, count_call, &scene.handled, NULL));
  gate_pass(&scene.running);
  GATE_WAIT(&scene.cancelled, 1);
  just_finish(context, token);
}

static void second_work(void *context, inturn_token token) {
  gate_pass(&scene.running);
  GATE_WAIT(&scene.go, 1);
  just_finish(context, token);
}

static void bystander(void *context, inturn_token token) {
  gate_pass(&scene.bystander_started);
  GATE_WAIT(&scene.cancelled, 1);
  scene.is_told = is_cancelled(token);
  just_finish(context, token);
}

/* Called on the thread that cancels. */
static void let_the_bystander_begin(void *context) {
  CHECK(context == NULL);
  if (!scene.is_armed)
    return;
  scene.is_armed = false;
  /* Only the second one's thread is free, and it still has the gate. */
  gate_pass(&scene.go);
  GATE_WAIT(&scene.bystander_started, 1);
}

/* With no limit to the calls of a turn, so that a thread continues at once. */
static void drain_executor(void *context) {
  inturn_executor executor = *(inturn_executor *)context;
  while (gate_count(&scene.over) == 0)
    if (inturn_executor_wait(executor, 10000000, NULL) == INTURN_OK)
      CHECK_OK(inturn_executor_drain(executor, 0, NULL));
}

static void a_batch_cancels_its_own_operations_and_no_bystander(void) {
  static const struct scene none;
  scene = none;
  scene.running = scene.go = scene.cancelled = (gate)GATE_INIT;
  scene.over = scene.handled = scene.bystander_started = (gate)GATE_INIT;
  inturn_executor_options how = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  const inturn_batch_item items[2] = {{first_work, NULL, NULL},
                                      {second_work, NULL, NULL}};
  inturn_executor executor;
  inturn_queue queue;
  inturn_batch batch;
  thread threads[THREADS];
  how.host_threads = THREADS;
  how.wake = let_the_bystander_begin;
  CHECK_OK(inturn_executor_create(&how, &executor));
  options.executor = executor;
  options.max_concurrent = 2;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  for (int i = 0; i < THREADS; i++)
    thread_start(&threads[i], drain_executor, &executor);
  CHECK_OK(inturn_queue_enqueue_batch(queue, NULL, items, 2, &batch));
  GATE_WAIT(&scene.running, 3);
  CHECK_OK(inturn_queue_enqueue(queue, bystander, NULL, NULL, NULL));
  scene.is_armed = true;
  CHECK_OK(inturn_batch_cancel(batch));
  CHECK(!scene.is_armed);
  gate_pass(&scene.cancelled);
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK(!scene.is_told);
  gate_pass(&scene.over);
  for (int i = 0; i < THREADS; i++)
    thread_join(&threads[i]);
  CHECK_OK(inturn_batch_release(batch));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(executor));
}

PROGRAM(gates, TEST(a_batch_cancels_its_own_operations_and_no_bystander))
