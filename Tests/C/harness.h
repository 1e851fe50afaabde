/*
 * harness.h - what every test program needs: checks, gates, threads, a trace.
 *
 * SPDX-License-Identifier: MIT
 *
 * Nothing here sleeps, and nothing here waits without a limit. This part calls
 * no function of the library, so that programs can use it without linking it;
 * fixture.h does call them.
 */
#ifndef HARNESS_H
#define HARNESS_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "inturn.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Whether a sanitizer's run time is in the program: it has a thread of its own,
   and replaces functions of the C library. */
#define SANITIZED 0
#ifdef __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#undef SANITIZED
#define SANITIZED 1
#endif
#endif

/* How long a test may wait for one thing, in seconds and in nanoseconds. */
#ifndef LIMIT_SECONDS
#define LIMIT_SECONDS 30
#endif
#define LIMIT_NS (LIMIT_SECONDS * INT64_C(1000000000))

/* Checks ------------------------------------------------------------------ */

/* Prints the place and the message, and ends the program with status 1. No exit
   handlers run, not even the library's: the failure may make them hang. */
_Noreturn void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition))                                                          \
      FAIL("%s does not hold", #condition);                                    \
  } while (0)

#define CHECK_INT(expression, expected)                                        \
  do {                                                                         \
    long long got_ = (long long)(expression);                                  \
    long long want_ = (long long)(expected);                                   \
    if (got_ != want_)                                                         \
      FAIL("%s is %lld, not %lld (%s)", #expression, got_, want_, #expected);  \
  } while (0)

#define CHECK_TEXT(expression, expected)                                       \
  do {                                                                         \
    const char *got_ = (expression), *want_ = (expected);                      \
    if (got_ == NULL || strcmp(got_, want_) != 0)                              \
      FAIL("%s is \"%s\", not \"%s\"", #expression, got_ ? got_ : "(NULL)",    \
           want_);                                                             \
  } while (0)

#define CHECK_STATUS(expression, expected)                                     \
  do {                                                                         \
    inturn_status got_ = (expression), want_ = (expected);                     \
    if (got_ != want_) {                                                       \
      if (got_ == INTURN_E_NO_MEMORY)                                          \
        refused_at(__FILE__, __LINE__, #expression);                           \
      FAIL("%s is %s, not %s", #expression, inturn_status_name(got_),          \
           inturn_status_name(want_));                                         \
    }                                                                          \
  } while (0)

#define CHECK_OK(expression) CHECK_STATUS(expression, INTURN_OK)

/* A call has unexpectedly returned INTURN_E_NO_MEMORY. Under Tests/Faults,
   which sets INTURN_TEST_REFUSALS, the system may have had no thread or
   descriptor: then the program ends with REFUSED. Otherwise, this returns. */
void refused_at(const char *file, int line, const char *call);

enum { REFUSED = 75 };

/* For callers that allow several statuses, but not that one. */
#define CHECK_NOT_REFUSED(status)                                              \
  do {                                                                         \
    if ((status) == INTURN_E_NO_MEMORY)                                        \
      refused_at(__FILE__, __LINE__, #status);                                 \
  } while (0)

/* Gates ------------------------------------------------------------------- */

/* A count that only grows, and that threads can wait for. */
typedef struct gate {
  pthread_mutex_t mutex;
  pthread_cond_t grown;
  long count;
} gate;

#define GATE_INIT                                                              \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

void gate_pass(gate *gate);
long gate_count(gate *gate);

/* Waits until the gate was passed `count` times; after the limit, fails and
   shows what each thread is doing. */
#define GATE_WAIT(gate, count)                                                 \
  gate_wait_at(__FILE__, __LINE__, #gate, gate, count)

void gate_wait_at(const char *file, int line, const char *what, gate *gate,
                  long count);

/* Threads ----------------------------------------------------------------- */

typedef struct thread {
  pthread_t id;
  void (*body)(void *context);
  void *context;
  gate over;
} thread;

/* Runs `body` on a new thread. The struct must not move until the join. */
void thread_start(thread *thread, void (*body)(void *), void *context);

/* Waits for the body's end; fails after the limit. */
void thread_join(thread *thread);

/* Runs `body` once on a new thread, and waits for it. */
void on_another_thread(void (*body)(void *), void *context);

/* Runs body(0) to body(count - 1), at most 16, each on a thread of its own, and
   waits for all of them. */
void in_parallel(int count, void (*body)(int index));

/* The trace --------------------------------------------------------------- */

/* Adds a line to the test's trace. Any thread may call this. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Begins a new trace. Each test begins with one. */
void trace_begin(void);

/* Checks that the trace is `expected`, with lines separated by ", ", and begins
   a new one. */
#define CHECK_TRACE(expected) check_trace_at(__FILE__, __LINE__, expected)

void check_trace_at(const char *file, int line, const char *expected);

/* Numbers ----------------------------------------------------------------- */

/* `count` times the environment's INTURN_TEST_SCALE (1 by default), at least 1:
   the number of repetitions in long tests, so that slow builds can do less. */
long scaled(long count);

/* The next number of a generator whose state is `state` (splitmix64). */
uint64_t next_random(uint64_t *state);

/* Programs ---------------------------------------------------------------- */

typedef struct test {
  const char *name;
  void (*run)(void);
} test;

#define TEST(name)                                                             \
  { #name, name }

/* The parts of a program. `before` and `after`, which may be NULL, are called
   around each test. */
typedef struct program {
  const char *name;
  const test *tests;
  size_t count;
  void (*before)(void);
  void (*after)(void);
} program;

/* Runs the tests whose name contains argv[1], or all of them. Prints a line
   when each begins and another when it has passed, so that the last one names a
   test that hangs, and then `name: N passed, 0 failed`; a test that fails ends
   the program. Tests that the environment's INTURN_TEST_LEFT_OUT names, between
   spaces, are left out, which is printed. */
int run_tests(const program *program, int argc, char **argv);

/* Waits for a child, which has to have set itself an alarm or to end anyway.
   Returns its wait status. */
int wait_for_child(pid_t child);

/* Runs this program again, with one or two arguments, and waits for it. Returns
   its wait status; SIGALRM kills it after the limit. */
int run_self(const char *argument, const char *second_argument);

/* Runs one test again in a process of its own, with this value of an
   environment variable, or none, and checks that it ends by itself with status
   0. Returns whether the caller is that process. */
bool is_alone(const char *test, const char *variable, const char *value);

/* Makes `end` the standard error, for good. Failed checks are still written to
   where it was: whoever runs the test has to see them. */
void redirect_standard_error(int end);

/* Forks, calls `body` in the child, and waits for it. Fails unless the child
   ends by itself with status 0 within the limit. */
#define IN_CHILD(body, context) in_child_at(__FILE__, __LINE__, body, context)

void in_child_at(const char *file, int line, void (*body)(void *),
                 void *context);

#endif
