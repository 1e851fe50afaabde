/*
 * shared_lines.c - two threads, each with a queue and an executor of its own.
 *
 * SPDX-License-Identifier: MIT
 *
 * Only one of them runs at a time, so that a trace of memory shows whose a
 * write is; but the other's operation is running meanwhile, so that neither can
 * use what the other one has. shared_lines.py reads the trace. `whose` says
 * whose writes come next: 1 or 2, or 0 for those that do not count.
 */
#include <inturn.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                            \
  if ((call) != INTURN_OK)                                                     \
  exit(1)

enum { OPERATIONS = 2000 };

static volatile int whose;
static pthread_barrier_t turns;

struct side {
  int number;
  inturn_executor executor;
  inturn_queue queue;
};

static void other_side_goes_on(void) {
  int before = whose;
  whose = 0;
  pthread_barrier_wait(&turns);
  pthread_barrier_wait(&turns);
  whose = before;
}

static void finish(void *context, inturn_token token) {
  if (context != NULL)
    other_side_goes_on();
  CHECK(inturn_token_finish(token));
}

/* The first side lets the second one run within its first operation. */
static void enqueue_and_drain(struct side *side) {
  for (int i = 0; i < OPERATIONS; i++)
    CHECK(inturn_queue_enqueue(side->queue, finish,
                               side->number == 1 && i == 0 ? side : NULL, NULL,
                               NULL));
  CHECK(inturn_executor_drain(side->executor, 2 * OPERATIONS, NULL));
}

static void *run(void *context) {
  struct side *side = context;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  CHECK(inturn_executor_create(NULL, &side->executor));
  options.executor = side->executor;
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &side->queue));
  /* Once to warm up. */
  for (int round = 0; round < 2; round++) {
    if (side->number == 2)
      pthread_barrier_wait(&turns);
    whose = round == 0 ? 0 : side->number;
    enqueue_and_drain(side);
    whose = 0;
    if (side->number == 2)
      pthread_barrier_wait(&turns);
  }
  return NULL;
}

int main(void) {
  struct side first = {.number = 1}, second = {.number = 2};
  pthread_t thread;
  printf("%p %d\n", (void *)&whose, OPERATIONS);
  fflush(stdout);
  pthread_barrier_init(&turns, NULL, 2);
  pthread_create(&thread, NULL, run, &second);
  run(&first);
  pthread_join(thread, NULL);
  return 0;
}
