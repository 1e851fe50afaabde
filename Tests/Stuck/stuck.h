/*
 * stuck.h - what the programs that are stuck share: each is a few lines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STUCK_H
#define STUCK_H

#include "inturn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_NS (3600 * INT64_C(1000000000))

typedef struct scenario {
  const char *name, *expected, *age;
  void (*run)(void);
  struct scenario *next;
} scenario;

static scenario *scenarios;

/* STUCK(name, what has to be said) { what is stuck }; NEW: of a kind that
   nobody had thought of before. */
#define STUCK(name, expected) SCENARIO(name, expected, "")
#define NEW(name, expected) SCENARIO(name, expected, "\tnew")
#define SCENARIO(name, expected, age)                                          \
  static void name(void);                                                      \
  __attribute__((constructor)) static void add_##name(void) {                  \
    static scenario self = {#name, expected, age, name, NULL};                 \
    self.next = scenarios;                                                     \
    scenarios = &self;                                                         \
  }                                                                            \
  static void name(void)

#define OK(call)                                                               \
  do {                                                                         \
    inturn_status status_ = (call);                                            \
    if (status_ != INTURN_OK) {                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                       \
              inturn_status_name(status_));                                    \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* Adding ------------------------------------------------------------------- */

/* Where an operation comes from is the line of the scenario. */
#define WITH(text, ...)                                                        \
  &(inturn_operation_options) {                                                \
    .size = sizeof(inturn_operation_options), .label = (text), __VA_ARGS__     \
  }
#define ADD(queue, text, work, context, ...)                                   \
  OK(inturn_queue_enqueue_with(queue, WITH(text, __VA_ARGS__), work, context,  \
                               NULL, NULL))
#define KEPT(queue, text, work, context, ...)                                  \
  __extension__({                                                              \
    inturn_operation kept_;                                                    \
    OK(inturn_queue_enqueue_with(queue, WITH(text, __VA_ARGS__), work,         \
                                 context, NULL, &kept_));                      \
    kept_;                                                                     \
  })
#define AFTER(operation) .after = &(operation), .after_count = 1
#define NAMED(name)                                                            \
  .exclusive = (const char *const[]){name}, .exclusive_count = 1

#define QUEUE(kind_, text, ...)                                                \
  __extension__({                                                              \
    inturn_queue_options options_ = {                                          \
        .size = sizeof options_, .label = (text), __VA_ARGS__};                \
    inturn_queue queue_;                                                       \
    OK(inturn_queue_create(INTURN_QUEUE_##kind_, &options_, &queue_));         \
    queue_;                                                                    \
  })

static inline inturn_executor executor_of(uint32_t workers) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor executor;
  options.workers = options.max_workers = workers;
  OK(inturn_executor_create(&options, &executor));
  return executor;
}

static inline inturn_executor library_pool(void) {
  inturn_executor pool;
  OK(inturn_executor_pool(&pool));
  return pool;
}

static inline inturn_clock manual_clock(void) {
  inturn_clock clock;
  OK(inturn_clock_create_manual(&clock));
  return clock;
}

/* Works -------------------------------------------------------------------- */

static inline void finish(void *context, inturn_token token) {
  (void)context;
  inturn_token_finish(token);
}

/* Forgets its token, unless there is somewhere to keep it. */
static inline void keep(void *context, inturn_token token) {
  if (context != NULL)
    *(inturn_token *)context = token;
}

static inline void block(void *context, inturn_token token) {
  (void)context, (void)token;
  for (;;)
    pause();
}

static inline void fail(void *context, inturn_token token) {
  (void)context;
  inturn_token_fail(token, 1);
}

/* Its context is the operation. It is said to whom it is told if it is refused.
 */
static inline void wait_for(void *context, inturn_token token) {
  inturn_operation_wait(*(inturn_operation *)context, -1, NULL);
  inturn_token_finish(token);
}

static inline void drain_it(void *context, inturn_token token) {
  inturn_queue_drain(*(inturn_queue *)context, -1);
  inturn_token_finish(token);
}

/* Waiting ------------------------------------------------------------------ */

static inline void wait_on(inturn_operation operation) {
  inturn_operation_wait(operation, -1, NULL);
}

static inline void drain(inturn_queue queue) { inturn_queue_drain(queue, -1); }

/* Waits until so many of the queue's operations run. */
static inline void started(inturn_queue queue, uint64_t running) {
  inturn_queue_statistics counts = INTURN_QUEUE_STATISTICS_INIT;
  do {
    usleep(1000);
    OK(inturn_queue_get_statistics(queue, &counts));
  } while (counts.running < running);
}

/* Lets something happen that has no sign. */
static inline void moment(void) { usleep(50000); }

static inline void thread(void *(*run)(void *), void *context) {
  pthread_t id;
  if (pthread_create(&id, NULL, run, context) != 0)
    exit(1);
}

static inline void *run_executor(void *executor) {
  inturn_executor_run(*(inturn_executor *)executor);
  return NULL;
}

static inline void *drain_in_thread(void *queue) {
  drain(*(inturn_queue *)queue);
  return NULL;
}

/* ---------------------------------------------------------------------------
 */

int main(int count, char **arguments) {
  for (scenario *it = scenarios; it != NULL; it = it->next) {
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
      printf("%s\t%s%s\n", it->name, it->expected, it->age);
    } else if (count == 2 && strcmp(arguments[1], it->name) == 0) {
      puts("ready");
      fflush(stdout);
      it->run();
      for (;;)
        pause();
    }
  }
  return 0;
}

#endif
