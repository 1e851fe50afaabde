/*
 * attach.c - an event loop takes over an executor: one loop, on one thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void *attached_of(inturn_executor executor, const char *loop) {
  void *data = NULL;
  CHECK_OK(inturn_executor_get_attached(executor, loop, &data));
  return data;
}

static void an_executor_is_attached_to_one_loop_at_a_time(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  int first, second;
  char name[] = "first";
  CHECK_OK(inturn_executor_attach(stage.executor, name, &first));
  name[0] = '?'; /* the name was copied */
  CHECK_STATUS(inturn_executor_attach(stage.executor, "second", &second),
               INTURN_E_BUSY);
  CHECK_STATUS(inturn_executor_attach(stage.executor, "first", &second),
               INTURN_E_BUSY);
  CHECK(attached_of(stage.executor, "first") == &first);
  CHECK_OK(inturn_executor_detach(stage.executor, "first"));
  CHECK_OK(inturn_executor_attach(stage.executor, "second", &second));
  CHECK(attached_of(stage.executor, "second") == &second);
  CHECK_OK(inturn_executor_detach(stage.executor, "second"));
  stage_destroy(&stage);
}

static void what_is_not_attached_is_not_detached(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  void *data = &stage;
  CHECK_STATUS(inturn_executor_detach(stage.executor, "loop"),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_get_attached(stage.executor, "loop", &data),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_attach(stage.executor, "loop", NULL));
  CHECK_STATUS(inturn_executor_detach(stage.executor, "another"),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_get_attached(stage.executor, "another", &data),
               INTURN_E_INVALID_ARGUMENT);
  CHECK(data == &stage);
  CHECK(attached_of(stage.executor, "loop") == NULL);
  CHECK_OK(inturn_executor_detach(stage.executor, "loop"));
  stage_destroy(&stage);
}

static void a_loop_needs_a_name(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  void *data;
  CHECK_STATUS(inturn_executor_attach(stage.executor, NULL, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_attach(stage.executor, "\xff", NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_attach(stage.executor, "loop", NULL));
  CHECK_STATUS(inturn_executor_get_attached(stage.executor, NULL, &data),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_get_attached(stage.executor, "loop", NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_detach(stage.executor, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_detach(stage.executor, "loop"));
  stage_destroy(&stage);
}

static void draining_is_refused(void *context) {
  inturn_executor executor = *(inturn_executor *)context;
  CHECK_STATUS(inturn_executor_drain(executor, 0, NULL), INTURN_E_WRONG_THREAD);
  CHECK_STATUS(inturn_executor_run(executor), INTURN_E_WRONG_THREAD);
  CHECK_STATUS(inturn_executor_wait(executor, 0, NULL), INTURN_E_WRONG_THREAD);
}

static void only_the_thread_that_attached_drains(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  CHECK_OK(inturn_executor_attach(stage.executor, "loop", NULL));
  job_enqueue(stage.queue, &job, work_finish);
  on_another_thread(draining_is_refused, &stage.executor);
  CHECK_TRACE("");
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  CHECK_OK(inturn_executor_stop(stage.executor));
  CHECK_OK(inturn_executor_run(stage.executor));
  CHECK_OK(inturn_executor_detach(stage.executor, "loop"));
  stage_destroy(&stage);
}

static void drain_it(void *context) {
  CHECK_OK(inturn_executor_drain(*(inturn_executor *)context, 0, NULL));
}

static void detach_it(void *context) {
  CHECK_OK(inturn_executor_detach(*(inturn_executor *)context, "loop"));
}

static void a_loop_may_be_detached_on_another_thread(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  CHECK_OK(inturn_executor_attach(stage.executor, "loop", NULL));
  job_enqueue(stage.queue, &job, work_finish);
  on_another_thread(detach_it, &stage.executor);
  on_another_thread(drain_it, &stage.executor);
  CHECK_TRACE("work a, end a finished");
  stage_destroy(&stage);
}

static void attaching_is_refused(void *context) {
  CHECK_STATUS(
      inturn_executor_attach(*(inturn_executor *)context, "loop", NULL),
      INTURN_E_WRONG_THREAD);
}

static void attach_elsewhere(void *context, inturn_token token) {
  on_another_thread(attaching_is_refused, context);
  /* The thread itself can attach it. */
  CHECK_OK(inturn_executor_attach(*(inturn_executor *)context, "loop", NULL));
  just_finish(context, token);
}

static void detaching_is_refused(void *context) {
  CHECK_STATUS(inturn_executor_detach(*(inturn_executor *)context, "loop"),
               INTURN_E_WRONG_THREAD);
}

static void detach_elsewhere(void *context, inturn_token token) {
  on_another_thread(detaching_is_refused, context);
  CHECK_OK(inturn_executor_detach(*(inturn_executor *)context, "loop"));
  just_finish(context, token);
}

static void while_it_is_drained_only_its_thread_attaches_and_detaches(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_enqueue(stage.queue, attach_elsewhere, &stage.executor,
                                NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, detach_elsewhere, &stage.executor,
                                NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).finished, 2);
  stage_destroy(&stage);
}

static void run_it(void *context) {
  CHECK_OK(inturn_executor_run(*(inturn_executor *)context));
}

static gate both_drain = GATE_INIT;
static gate both_refused = GATE_INIT;

static void attach_beside_another(void *context, inturn_token token) {
  gate_pass(&both_drain);
  GATE_WAIT(&both_drain, 2);
  attaching_is_refused(context);
  gate_pass(&both_refused);
  GATE_WAIT(&both_refused, 2);
  just_finish(context, token);
}

static void of_two_threads_that_drain_it_neither_attaches(void) {
  inturn_executor_options shared = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  thread threads[2];
  shared.host_threads = 2;
  options.max_concurrent = 2;
  CHECK_OK(inturn_executor_create(&shared, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_queue_enqueue(queue, attach_beside_another,
                                  &options.executor, NULL, NULL));
  for (int i = 0; i < 2; i++)
    thread_start(&threads[i], run_it, &options.executor);
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_OK(inturn_executor_stop(options.executor));
  for (int i = 0; i < 2; i++)
    thread_join(&threads[i]);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(options.executor));
}

static void the_main_executor_is_attached_on_the_main_thread_only(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_main(&executor));
  on_another_thread(attaching_is_refused, &executor);
  CHECK_OK(inturn_executor_attach(executor, "loop", NULL));
  /* Attaching on the wrong thread says so, even if the executor is busy. */
  on_another_thread(attaching_is_refused, &executor);
  CHECK_OK(inturn_executor_detach(executor, "loop"));
}

static void an_attached_executor_is_busy(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_OK(inturn_executor_attach(executor, "loop", NULL));
  CHECK_STATUS(inturn_executor_destroy(executor), INTURN_E_BUSY);
  CHECK_OK(inturn_executor_detach(executor, "loop"));
  CHECK_OK(inturn_executor_destroy(executor));
}

static void a_pool_is_attached_to_no_loop(void) {
  inturn_executor pool;
  void *data;
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_STATUS(inturn_executor_attach(pool, "loop", NULL),
               INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_executor_get_attached(pool, "loop", &data),
               INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_executor_detach(pool, "loop"), INTURN_E_UNSUPPORTED);
}

static void wait_elsewhere(void *context) {
  CHECK_OK(inturn_operation_wait(*(inturn_operation *)context, LIMIT_NS, NULL));
}

static void the_thread_of_the_loop_cannot_wait_for_what_it_is_to_drain(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  reports reports;
  thread waiting;
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_finish);
  reports_begin(&reports);
  CHECK_STATUS(inturn_operation_wait(operation, 1, NULL), INTURN_E_TIMED_OUT);
  CHECK_OK(inturn_executor_attach(stage.executor, "loop", NULL));
  CHECK_STATUS(inturn_operation_wait(operation, -1, NULL), INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_queue_drain(stage.queue, -1), INTURN_E_DEADLOCK);
  CHECK_INT(gate_count(&reports.told), 2);
  CHECK_INT(reports.kind, INTURN_REPORT_DEADLOCK);
  CHECK_STATUS(inturn_operation_wait(operation, 0, NULL), INTURN_E_TIMED_OUT);
  /* Other threads may wait. */
  thread_start(&waiting, wait_elsewhere, &operation);
  stage_drain(&stage);
  thread_join(&waiting);
  CHECK_OK(inturn_executor_detach(stage.executor, "loop"));
  CHECK_OK(inturn_operation_wait(operation, -1, NULL));
  CHECK_OK(inturn_operation_release(operation));
  reports_end();
  stage_destroy(&stage);
}

/* Threads compete for an executor: one at a time has it. */
static inturn_executor contested;
static atomic_int holders;
static atomic_long taken;

static void contend(int index) {
  int64_t number = index;
  for (long i = 0, rounds = scaled(20000); i < rounds; i++) {
    inturn_status status = inturn_executor_attach(contested, "loop", &number);
    if (status == INTURN_E_BUSY)
      continue;
    CHECK_OK(status);
    CHECK_INT(atomic_fetch_add(&holders, 1), 0);
    CHECK(attached_of(contested, "loop") == &number);
    atomic_fetch_add(&taken, 1);
    atomic_fetch_sub(&holders, 1);
    CHECK_OK(inturn_executor_detach(contested, "loop"));
  }
}

static void of_many_threads_one_at_a_time_attaches(void) {
  CHECK_OK(inturn_executor_create(NULL, &contested));
  in_parallel(4, contend);
  CHECK(atomic_load(&taken) > 0);
  CHECK_OK(inturn_executor_destroy(contested));
}

PROGRAM(attach, TEST(an_executor_is_attached_to_one_loop_at_a_time),
        TEST(what_is_not_attached_is_not_detached), TEST(a_loop_needs_a_name),
        TEST(only_the_thread_that_attached_drains),
        TEST(a_loop_may_be_detached_on_another_thread),
        TEST(while_it_is_drained_only_its_thread_attaches_and_detaches),
        TEST(of_two_threads_that_drain_it_neither_attaches),
        TEST(the_main_executor_is_attached_on_the_main_thread_only),
        TEST(an_attached_executor_is_busy), TEST(a_pool_is_attached_to_no_loop),
        TEST(the_thread_of_the_loop_cannot_wait_for_what_it_is_to_drain),
        TEST(of_many_threads_one_at_a_time_attaches))
