/*
 * million.c - a million operations from eight producers: order, no overlap, and
 * everything exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

enum { PRODUCERS = 8 };

/* One operation: its producer, its number, and how often it was called. */
typedef struct item {
  int producer;
  long index;
  atomic_int worked, destroyed;
} item;

static inturn_queue queue;
static item *items[PRODUCERS];
static long each;             /* how many each producer enqueues */
static long finish_elsewhere; /* one in this many is finished by the finisher */

/* What the works, one at a time, have seen; plain numbers, so that race
   detectors notice an overlap, too. */
static long next_index[PRODUCERS];
static long begun, ended;
static atomic_int inside;

/* The thread that finishes tokens that works leave to it: a growing list. */
static pthread_mutex_t left_mutex = PTHREAD_MUTEX_INITIALIZER;
static inturn_token *left;
static long left_count;
static gate left_added;

static void leave_to_the_finisher(inturn_token token) {
  pthread_mutex_lock(&left_mutex);
  left[left_count++] = token;
  pthread_mutex_unlock(&left_mutex);
  gate_pass(&left_added);
}

static void finish_what_is_left(void *context) {
  long count = *(long *)context;
  for (long i = 0; i < count; i++) {
    GATE_WAIT(&left_added, i + 1);
    pthread_mutex_lock(&left_mutex);
    inturn_token token = left[i];
    pthread_mutex_unlock(&left_mutex);
    CHECK_OK(inturn_token_finish(token));
  }
}

static void work_item(void *context, inturn_token token) {
  item *item = context;
  CHECK_INT(atomic_fetch_add(&inside, 1), 0);
  CHECK_INT(next_index[item->producer]++, item->index);
  CHECK_INT(atomic_fetch_add(&item->worked, 1), 0);
  bool elsewhere = ++begun % finish_elsewhere == 0;
  CHECK_INT(atomic_fetch_sub(&inside, 1), 1);
  if (elsewhere)
    leave_to_the_finisher(token);
  else
    just_finish(context, token);
}

static void destroy_item(void *context) {
  item *item = context;
  /* If its work was not called, its enqueue was refused. */
  if (atomic_load(&item->worked) == 0)
    return;
  CHECK_INT(atomic_fetch_add(&item->destroyed, 1), 0);
  ended++;
}

static void produce(int producer) {
  for (long i = 0; i < each; i++)
    CHECK_OK(inturn_queue_enqueue(queue, work_item, &items[producer][i],
                                  destroy_item, NULL));
}

static void produce_and_check(inturn_queue_kind kind, long elsewhere) {
  thread finisher;
  each = scaled(1000000) / PRODUCERS;
  begun = ended = left_count = 0;
  left_added = (gate)GATE_INIT;
  memset(next_index, 0, sizeof next_index);
  finish_elsewhere = elsewhere > 0 ? elsewhere : PRODUCERS * each + 1;
  long count = PRODUCERS * each / finish_elsewhere;
  left = calloc((size_t)count + 1, sizeof *left);
  CHECK(left != NULL);
  for (int producer = 0; producer < PRODUCERS; producer++) {
    items[producer] = calloc((size_t)each, sizeof **items);
    CHECK(items[producer] != NULL);
    for (long i = 0; i < each; i++) {
      items[producer][i].producer = producer;
      items[producer][i].index = i;
    }
  }
  queue = pool_queue_create(kind, NULL);
  thread_start(&finisher, finish_what_is_left, &count);
  in_parallel(PRODUCERS, produce);
  drain_and_destroy(queue);
  thread_join(&finisher);
  CHECK_INT(begun, PRODUCERS * each);
  CHECK_INT(ended, PRODUCERS * each);
  for (int producer = 0; producer < PRODUCERS; producer++) {
    CHECK_INT(next_index[producer], each);
    for (long i = 0; i < each; i++)
      CHECK_INT(atomic_load(&items[producer][i].destroyed), 1);
    free(items[producer]);
  }
  free(left);
}

static void a_million_in_a_fifo_queue(void) {
  produce_and_check(INTURN_QUEUE_FIFO, 0);
}

static void a_million_in_an_actor_queue(void) {
  produce_and_check(INTURN_QUEUE_ACTOR, 0);
}

static void a_million_of_which_every_seventh_is_finished_elsewhere(void) {
  produce_and_check(INTURN_QUEUE_FIFO, 7);
}

static void a_million_of_an_actor_finished_elsewhere(void) {
  produce_and_check(INTURN_QUEUE_ACTOR, 7);
}

/* Enqueues operations that never start, and returns how many. */
static long enqueue_behind_a_suspend(gate *destroyed) {
  long count = scaled(1000000);
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  for (long i = 0; i < count; i++)
    CHECK_OK(inturn_queue_enqueue(queue, never_work, destroyed, count_destroy,
                                  NULL));
  CHECK_INT(statistics_of(queue).pending, count);
  return count;
}

static void a_million_that_wait_are_cancelled_together(void) {
  gate destroyed = GATE_INIT;
  long count = enqueue_behind_a_suspend(&destroyed);
  CHECK_OK(inturn_queue_cancel_all(queue));
  CHECK_INT(statistics_of(queue).cancelled, count);
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&destroyed), count);
}

static void a_million_that_wait_are_destroyed_with_their_queue(void) {
  gate destroyed = GATE_INIT;
  long count = enqueue_behind_a_suspend(&destroyed);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_INT(gate_count(&destroyed), count);
}

PROGRAM(million, TEST(a_million_in_a_fifo_queue),
        TEST(a_million_in_an_actor_queue),
        TEST(a_million_of_which_every_seventh_is_finished_elsewhere),
        TEST(a_million_of_an_actor_finished_elsewhere),
        TEST(a_million_that_wait_are_cancelled_together),
        TEST(a_million_that_wait_are_destroyed_with_their_queue))
