/*
 * stuck.h - shared by the programs that are stuck, each of which is a few
 * lines.
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

extern scenario *scenarios;

/* STUCK(name, expected diagnosis) { stuck code }; NEW: a kind of stall that was
   not thought of before. */
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

#define NOT_FINISHED "its call has returned, its token has not been finished"
#define IN_CALL "its call has not returned"
#define IN_CALL_OR_DESTROY                                                     \
  "it has ended, its call or the destroy callback of its context has not "     \
  "returned"
#define REFUSED "refused: a wait was refused because it could never end"

/* Adding ------------------------------------------------------------------- */

/* An operation's site is its line in the scenario. */
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

/* An interaction queue whose view is visible, and that starts without delay. */
static inline inturn_queue visible_dialogs(void) {
  inturn_queue dialogs =
      QUEUE(INTERACTION, "dialogs", .executor = library_pool(),
            .settle_ns = INTURN_NO_DELAY);
  OK(inturn_queue_view_did_appear(dialogs));
  return dialogs;
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

/* The context is the operation. A refused wait is reported to the handler. */
static inline void wait_for(void *context, inturn_token token) {
  inturn_operation_wait(*(inturn_operation *)context, -1, NULL);
  inturn_token_finish(token);
}

static inline void drain_it(void *context, inturn_token token) {
  inturn_queue_drain(*(inturn_queue *)context, -1);
  inturn_token_finish(token);
}

/* Batches of two --------------------------------------------------------- */

static inline inturn_batch batch_of(inturn_site *site, inturn_queue queue,
                                    const char *label, inturn_work_fn first,
                                    inturn_batch_edge edge) {
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_operation_options operation = *WITH(label);
  inturn_batch_item items[2] = {{first, NULL, NULL}, {finish, NULL, NULL}};
  inturn_batch batch;
  options.operation = &operation;
  if (edge.place > edge.after) {
    options.edges = &edge;
    options.edge_count = 1;
  }
  OK(inturn_queue_enqueue_batch_at(site, queue, &options, items, 2, &batch));
  return batch;
}

#define BATCH(...)                                                             \
  __extension__({                                                              \
    static inturn_site site_ = {__FILE__, __func__, __LINE__, 0};              \
    batch_of(&site_, __VA_ARGS__);                                             \
  })

/* Waiting ------------------------------------------------------------------ */

static inline void wait_on(inturn_operation operation) {
  inturn_operation_wait(operation, -1, NULL);
}

static inline void drain(inturn_queue queue) { inturn_queue_drain(queue, -1); }

/* Waits until this many of the queue's operations run. */
static inline void started(inturn_queue queue, uint64_t running) {
  inturn_queue_statistics counts = INTURN_QUEUE_STATISTICS_INIT;
  do {
    usleep(1000);
    OK(inturn_queue_get_statistics(queue, &counts));
  } while (counts.running < running);
}

/* Lets something happen that cannot be observed. */
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

#endif
