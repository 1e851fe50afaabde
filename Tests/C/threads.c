/*
 * threads.c - section 6 of the manual: what happens to work and deadlines when
 * a thread cannot be started.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "fixture.h"

#include <dlfcn.h>
#include <errno.h>

/* How many of the library's next thread starts fail. */
static atomic_int refusals;
static gate refused = GATE_INIT;
enum { FOR_EVER = 1 << 30 };

/* The function's name if a sanitizer has replaced it. */
int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *,
                                 void *(*)(void *), void *)
    __attribute__((weak));

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*body)(void *), void *context) {
  int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  next = __interceptor_pthread_create;
  if (next == NULL)
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  if (atomic_load(&refusals) > 0) {
    atomic_fetch_sub(&refusals, 1);
    gate_pass(&refused);
    return EAGAIN;
  }
  return next(thread, attributes, body, context);
}

static int told;

static void count_report(void *context, const inturn_report *report) {
  CHECK(context == NULL);
  CHECK_INT(report->kind, INTURN_REPORT_NO_THREAD);
  told += 1;
}

static gate worked = GATE_INIT;

/* An operation on the library's pool, with this many thread starts refused. */
static inturn_queue enqueue_refused(int count) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_report_set_handler(count_report, NULL, NULL));
  atomic_store(&refusals, count);
  CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
  CHECK_INT(told, 1);
  return queue;
}

static void finish_without_a_call(void *context) {
  CHECK(context == NULL);
  enqueue_refused(1);
  GATE_WAIT(&worked, 1);
  CHECK_INT(gate_count(&refused), 1);
  CHECK_INT(told, 1);
}

/* In a child, as its library has no threads. */
static void a_worker_that_could_not_be_started_is_started_later(void) {
  IN_CHILD(finish_without_a_call, NULL);
}

static void wait_in_vain(void *context) {
  inturn_operation operation;
  CHECK(context == NULL);
  inturn_queue queue = enqueue_refused(FOR_EVER);
  CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, &operation));
  CHECK_STATUS(inturn_queue_drain(queue, 50000000), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_operation_wait(operation, 50000000, NULL),
               INTURN_E_TIMED_OUT);
  CHECK_INT(gate_count(&worked), 0);
  CHECK_INT(told, 1);
  /* It is tried again and again, but with pauses. */
  CHECK(gate_count(&refused) > 2 && gate_count(&refused) < 100);
  atomic_store(&refusals, 0);
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_INT(gate_count(&worked), 2);
  CHECK_OK(inturn_operation_release(operation));
  /* The next failure is reported again. */
  CHECK_OK(inturn_queue_destroy(queue));
}

static void waits_end_by_their_limits_while_no_thread_can_be_had(void) {
  IN_CHILD(wait_in_vain, NULL);
}

static void meet_a_deadline(void *context) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue refused_queue = {0};
  inturn_end end = {0};
  CHECK(context == NULL);
  atomic_store(&refusals, 1);
  CHECK_STATUS(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &refused_queue),
               INTURN_E_NO_MEMORY);
  CHECK(refused_queue.bits == 0);
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  atomic_store(&refusals, FOR_EVER);
  CHECK_OK(inturn_queue_suspend(queue));
  options.max_wait_ns = 1000000;
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, never_work, NULL, NULL,
                                     &operation));
  CHECK_OK(inturn_operation_wait(operation, LIMIT_NS, &end));
  CHECK_INT(end.cause, INTURN_CAUSE_MAX_WAIT);
  CHECK_OK(inturn_operation_release(operation));
}

/* So operations that a queue has accepted never lack a clock. */
static void a_queue_is_refused_whose_clock_cannot_be_started(void) {
  IN_CHILD(meet_a_deadline, NULL);
}

static gate set = GATE_INIT;

static void wait_until_set(void *context, inturn_token token) {
  count_work(context, token);
  GATE_WAIT(&set, 1);
}

static void rescue_a_blocked_worker(void *context) {
  CHECK(context == NULL);
  inturn_queue first = pool_queue_create(INTURN_QUEUE_FIFO, NULL),
               second = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_report_set_handler(count_report, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(first, wait_until_set, &worked, NULL, NULL));
  GATE_WAIT(&worked, 1);
  atomic_store(&refusals, 1);
  CHECK_OK(inturn_queue_enqueue(second, count_work, &set, NULL, NULL));
  CHECK_INT(gate_count(&refused), 1);
  GATE_WAIT(&set, 1);
}

static void a_second_worker_that_could_not_be_started_is_started_later(void) {
  IN_CHILD(rescue_a_blocked_worker, NULL);
}

static void stop_without_threads(void *context) {
  CHECK(context == NULL);
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options on_pool = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  gate destroyed = GATE_INIT;
  CHECK_OK(inturn_report_set_handler(count_report, NULL, NULL));
  options.workers = 1;
  CHECK_OK(inturn_executor_create(&options, &on_pool.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &on_pool, &queue));
  atomic_store(&refusals, 5);
  CHECK_OK(
      inturn_queue_enqueue(queue, never_work, &destroyed, count_destroy, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_OK(inturn_executor_destroy(on_pool.executor));
  /* A thread that starts later removes the pool. */
  GATE_WAIT(&refused, 5);
}

static void a_pool_is_destroyed_that_could_not_start_a_worker(void) {
  IN_CHILD(stop_without_threads, NULL);
}

PROGRAM(threads, TEST(a_worker_that_could_not_be_started_is_started_later),
        TEST(a_second_worker_that_could_not_be_started_is_started_later),
        TEST(a_queue_is_refused_whose_clock_cannot_be_started),
        TEST(waits_end_by_their_limits_while_no_thread_can_be_had),
        TEST(a_pool_is_destroyed_that_could_not_start_a_worker))
