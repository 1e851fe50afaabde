/*
 * traces_small.c - the recorder with a ring that is soon full.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace.h"

/* The program's thread, two workers, and one that is started. */
enum { BLOCKS = 5 };

__attribute__((constructor)) static void take_little_memory(void) {
  CHECK_OK(inturn_trace_start(BLOCKS * 8192));
}

/* A ring that is too small loses its oldest records. */
static void what_is_lost_is_not_told(void) {
  begin_again();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  enum { BLOCK = 254, MANY = 10000 };
  for (int i = 0; i < MANY; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  drain_and_destroy(queue);
  char *text = written();
  CHECK_INT(count_of(text, "\"outcome\":\"unfinished\""), 0);
  CHECK(count_of(text, "\"name\":\"enqueue") <= BLOCKS * BLOCK);
  free(text);
}

static void *record_one(void *queue) {
  CHECK_OK(inturn_queue_enqueue(*(inturn_queue *)queue, just_finish, NULL, NULL,
                                NULL));
  return NULL;
}

static void a_thread_that_ends_leaves_its_room_to_others(void) {
  begin_again();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, record_one, &queue), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
  }
  drain_and_destroy(queue);
  CHECK_INT(written_count_of("\"lost\":0"), 1);
}

static _Atomic bool is_over;

static void *produce(void *context) {
  inturn_queue *queue = context;
  while (!is_over) {
    for (int i = 0; i < 100; i++)
      CHECK_OK(inturn_queue_enqueue(*queue, just_finish, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_drain(*queue, LIMIT_NS));
  }
  return NULL;
}

static void it_is_written_started_and_stopped_while_threads_record(void) {
  begin_again();
  inturn_queue queues[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    queues[i] = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
    CHECK_INT(pthread_create(&threads[i], NULL, produce, &queues[i]), 0);
  }
  for (int i = 0; i < 30; i++) {
    char *text = written();
    CHECK_INT(count_of(text, "\"queue "), 0);
    free(text);
    if (i % 5 == 4) {
      CHECK_OK(inturn_trace_stop());
      begin_again();
    }
  }
  is_over = true;
  for (int i = 0; i < 3; i++) {
    CHECK_INT(pthread_join(threads[i], NULL), 0);
    drain_and_destroy(queues[i]);
  }
}

PROGRAM(traces_small, TEST(what_is_lost_is_not_told),
        TEST(a_thread_that_ends_leaves_its_room_to_others),
        TEST(it_is_written_started_and_stopped_while_threads_record))
