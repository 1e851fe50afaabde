/*
 * host.h - an event loop with an adapter, as the suite sees it.
 *
 * SPDX-License-Identifier: MIT
 *
 * suite.c and refusals.c have the tests for every adapter. One program for each
 * loop links them with a `host` and with the tests for that loop alone.
 */
#ifndef HOST_H
#define HOST_H

#include <inturn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct host {
  const char *name;
  /* Creates the thread's loop, and ends it with what is attached to it. */
  void (*begin)(void);
  void (*end)(void);
  inturn_status (*attach)(inturn_executor executor);
  inturn_status (*detach)(inturn_executor executor);
  /* Runs the loop until `stop`, which is called on its thread. */
  void (*run)(void);
  void (*stop)(void);
  /* Calls `tick` on the loop every few milliseconds, until it is NULL, in the
     loop's least urgent way. */
  void (*set_tick)(int milliseconds, void (*tick)(void));
  /* Runs a loop inside the loop for this long; NULL if loops cannot be
     nested. */
  void (*nest)(int milliseconds);
} host;

/* Defined by the program. */
extern const host the_host;

/* Tests for a loop that can be nested; for one that can end with an executor
   attached; for one that is named by a pointer, NULL before `begin`; and for
   one that ends when nothing is left in it. */
void a_loop_inside_work_sleeps_and_calls_no_other_work(void);
void a_loop_inside_work_may_detach(void);
void a_loop_that_ends_gives_the_executor_back(void);
void without_a_loop_it_is_refused(void);
void a_detached_executor_does_not_keep_the_loop_going(void);

/* A test for a loop that any thread can run: `run_once` lets its argument make
   one turn without waiting. Has to be called between `begin` and `end`. */
void check_that_another_thread_calls_nothing(void *loop,
                                             void (*run_once)(void *loop));

/* How often INTURN_LOOP_REPORT was called. */
extern int reports_told;

typedef struct named_test {
  const char *name;
  void (*run)(void);
} named_test;

/* The tests for this loop alone; the last one's name is NULL. */
extern const named_test own_tests[];

#ifdef __cplusplus
}
#endif

#undef INTURN_LOOP_REPORT
#define INTURN_LOOP_REPORT(message) (reports_told++, (void)(message))

#endif
