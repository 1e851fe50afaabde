/*
 * host_threads.c - executors that several threads of the host drain, waiting
 * for work, and queues that change their executor.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

enum { THREADS = 4 };

static inturn_executor create_shared(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor executor;
  options.host_threads = THREADS;
  CHECK_OK(inturn_executor_create(&options, &executor));
  return executor;
}

static inturn_queue create_on(inturn_queue_kind kind,
                              inturn_executor executor) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.executor = executor;
  if (kind == INTURN_QUEUE_CONCURRENT)
    options.max_concurrent = THREADS;
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  return queue;
}

static void run_executor(void *context) {
  CHECK_OK(inturn_executor_run(*(inturn_executor *)context));
}

static gate inside = GATE_INIT;
static gate go = GATE_INIT;

static void work_together(void *context, inturn_token token) {
  gate_pass(&inside);
  GATE_WAIT(&inside, THREADS);
  GATE_WAIT(&go, 1);
  just_finish(context, token);
}

static gate all_run = GATE_INIT;

static void meet(void *context, inturn_token token) {
  gate_pass(&all_run);
  GATE_WAIT(&all_run, THREADS);
  just_finish(context, token);
}

/* Starts threads that run the executor, and waits until all of them have begun:
   a stop only reaches those that have. */
static void start_running(thread threads[THREADS], inturn_executor *executor) {
  inturn_queue queue = create_on(INTURN_QUEUE_CONCURRENT, *executor);
  all_run = (gate)GATE_INIT;
  for (int i = 0; i < THREADS; i++) {
    thread_start(&threads[i], run_executor, executor);
    CHECK_OK(inturn_queue_enqueue(queue, meet, NULL, NULL, NULL));
  }
  drain_and_destroy(queue);
}

static void drain_one_more(void *context) {
  inturn_executor executor = *(inturn_executor *)context;
  CHECK_STATUS(inturn_executor_drain(executor, 0, NULL), INTURN_E_WRONG_THREAD);
}

static void so_many_threads_drain_at_a_time(void) {
  inturn_executor executor = create_shared();
  inturn_queue queue = create_on(INTURN_QUEUE_CONCURRENT, executor);
  thread threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    thread_start(&threads[i], run_executor, &executor);
  for (int i = 0; i < THREADS; i++)
    CHECK_OK(inturn_queue_enqueue(queue, work_together, NULL, NULL, NULL));
  GATE_WAIT(&inside, THREADS);
  on_another_thread(drain_one_more, &executor);
  CHECK_STATUS(inturn_executor_destroy(executor), INTURN_E_BUSY);
  gate_pass(&go);
  CHECK_OK(inturn_queue_drain(queue, -1));
  CHECK_OK(inturn_executor_stop(executor));
  for (int i = 0; i < THREADS; i++)
    thread_join(&threads[i]);
  /* The stop is over when the last one has returned. */
  CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(executor));
}

static inturn_queue fifos[8];
static int in_fifo[8], counts[8];

static void work_alone(void *context, inturn_token token) {
  int index = (int)(intptr_t)context;
  CHECK_INT(++in_fifo[index], 1);
  counts[index]++;
  in_fifo[index]--;
  just_finish(NULL, token);
}

static void fifo_queues_keep_their_order_on_many_threads(void) {
  enum { EACH = 2000 };
  inturn_executor executor = create_shared();
  thread threads[THREADS];
  start_running(threads, &executor);
  for (int i = 0; i < 8; i++) {
    fifos[i] = create_on(INTURN_QUEUE_FIFO, executor);
    in_fifo[i] = counts[i] = 0;
  }
  for (int j = 0; j < EACH; j++)
    for (int i = 0; i < 8; i++)
      CHECK_OK(inturn_queue_enqueue(fifos[i], work_alone, (void *)(intptr_t)i,
                                    NULL, NULL));
  for (int i = 0; i < 8; i++) {
    CHECK_OK(inturn_queue_drain(fifos[i], -1));
    CHECK_INT(counts[i], EACH);
    CHECK_OK(inturn_queue_destroy(fifos[i]));
  }
  CHECK_OK(inturn_executor_stop(executor));
  for (int i = 0; i < THREADS; i++)
    thread_join(&threads[i]);
  CHECK_OK(inturn_executor_destroy(executor));
}

static void wait_says_whether_work_waits_and_calls_nothing(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  uint32_t waiting = 99;
  job first = JOB("a");
  CHECK_STATUS(inturn_executor_wait(stage.executor, 0, &waiting),
               INTURN_E_TIMED_OUT);
  CHECK_INT(waiting, 0);
  CHECK_STATUS(inturn_executor_wait(stage.executor, 1000, NULL),
               INTURN_E_TIMED_OUT);
  job_enqueue(stage.queue, &first, work_finish);
  CHECK_OK(inturn_executor_wait(stage.executor, 0, NULL));
  CHECK_OK(inturn_executor_wait(stage.executor, -1, NULL));
  CHECK_TRACE("");
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  stage_destroy(&stage);
}

static gate worked = GATE_INIT;
static gate over = GATE_INIT;

static void wait_and_drain(void *context) {
  inturn_executor executor = *(inturn_executor *)context;
  while (gate_count(&over) == 0) {
    inturn_status status = inturn_executor_wait(executor, 1000000, NULL);
    if (status != INTURN_E_TIMED_OUT)
      CHECK_OK(status);
    CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  }
}

static void no_wake_up_is_lost(void) {
  enum { ROUNDS = 2000 };
  inturn_executor executor = create_shared();
  inturn_queue queue = create_on(INTURN_QUEUE_FIFO, executor);
  thread threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    thread_start(&threads[i], wait_and_drain, &executor);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
    GATE_WAIT(&worked, i + 1);
  }
  gate_pass(&over);
  for (int i = 0; i < THREADS; i++)
    thread_join(&threads[i]);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(executor));
}

static gate has_waited = GATE_INIT;

static void wait_once(void *context) {
  CHECK_OK(inturn_executor_wait(*(inturn_executor *)context, LIMIT_NS, NULL));
  gate_pass(&has_waited);
}

/* Until so many threads sleep, in a wait or a run. */
static void await_sleepers(inturn_executor executor, uint32_t count) {
  uint32_t waiting = 0;
  while (waiting < count)
    CHECK_STATUS(inturn_executor_wait(executor, 0, &waiting),
                 INTURN_E_TIMED_OUT);
}

static void a_thread_that_waits_takes_no_wake_up_from_one_that_runs(void) {
  enum { ROUNDS = 20 };
  inturn_executor executor = create_shared();
  inturn_queue queue = create_on(INTURN_QUEUE_FIFO, executor);
  for (int i = 0; i < ROUNDS; i++) {
    thread waits, runs;
    thread_start(&waits, wait_once, &executor);
    await_sleepers(executor, 1);
    thread_start(&runs, run_executor, &executor);
    await_sleepers(executor, 2);
    do { /* once more, if the other one was woken */
      CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
      CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
    } while (gate_count(&has_waited) == i);
    CHECK_OK(inturn_executor_stop(executor));
    thread_join(&runs);
    thread_join(&waits);
  }
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(executor));
}

static void wait_elsewhere(void *context) {
  (void)context;
  inturn_executor executor;
  uint32_t waiting = 99;
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_STATUS(inturn_executor_wait(executor, 0, &waiting),
               INTURN_E_WRONG_THREAD);
  CHECK_INT(waiting, 99);
}

static void the_main_executor_is_waited_for_on_the_main_thread_only(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_STATUS(inturn_executor_wait(executor, 0, NULL), INTURN_E_TIMED_OUT);
  on_another_thread(wait_elsewhere, NULL);
}

static void a_pool_is_not_waited_for(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_pool(&executor));
  CHECK_STATUS(inturn_executor_wait(executor, 0, NULL), INTURN_E_UNSUPPORTED);
}

static void a_queue_goes_on_with_another_executor(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_executor other;
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  CHECK_OK(inturn_executor_create(NULL, &other));
  job_enqueue(stage.queue, &first, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a");
  CHECK_OK(inturn_queue_set_executor(stage.queue, other));
  CHECK_OK(inturn_queue_set_executor(stage.queue, other));
  job_enqueue(stage.queue, &second, work_hold);
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_executor_drain(other, 0, NULL));
  CHECK_TRACE("end a finished, work b");
  /* Back again. Both executors are in use until the queue is destroyed. */
  CHECK_OK(inturn_queue_set_executor(stage.queue, stage.executor));
  CHECK_STATUS(inturn_executor_destroy(other), INTURN_E_BUSY);
  job_enqueue(stage.queue, &third, work_finish);
  CHECK_OK(inturn_token_finish(second.token));
  CHECK_OK(inturn_executor_drain(other, 0, NULL));
  CHECK_TRACE("");
  stage_drain(&stage);
  CHECK_TRACE("end b finished, work c, end c finished");
  stage_destroy(&stage);
  CHECK_OK(inturn_executor_destroy(other));
}

static void what_waits_at_an_executor_comes_over(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_executor other;
  job first = JOB("a");
  CHECK_OK(inturn_executor_create(NULL, &other));
  job_enqueue(stage.queue, &first, work_finish);
  CHECK_OK(inturn_queue_set_executor(stage.queue, other));
  CHECK_OK(inturn_executor_drain(other, 0, NULL));
  CHECK_TRACE("");
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_executor_drain(other, 0, NULL));
  CHECK_TRACE("work a, end a finished");
  stage_destroy(&stage);
  CHECK_OK(inturn_executor_destroy(other));
}

enum { LATER = 5 };
static _Thread_local bool is_host;
static gate begun, may_return, called_by_host, called_by_pool;

static void hold_up(void *context, inturn_token token) {
  gate_pass(&begun);
  GATE_WAIT(&may_return, 1);
  just_finish(context, token);
}

static void note_caller(void *context, inturn_token token) {
  gate_pass(is_host ? &called_by_host : &called_by_pool);
  just_finish(context, token);
}

/* The pool is in a call of the queue meanwhile, with all the rest before it:
   plain, with options, or each after the one before. */
static void check_move(inturn_queue_kind kind, bool has_options,
                       bool is_chain) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation before[1 + LATER];
  inturn_executor host;
  inturn_queue queue;
  begun = may_return = called_by_host = called_by_pool = (gate)GATE_INIT;
  options.max_concurrent = is_chain ? 2 : kind == INTURN_QUEUE_CONCURRENT;
  is_host = true;
  CHECK_OK(inturn_executor_create(NULL, &host));
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(queue));
  CHECK_OK(inturn_queue_enqueue(queue, hold_up, NULL, NULL, &before[0]));
  for (int i = 0; i < LATER; i++) {
    each.label = has_options ? "each" : NULL;
    each.after = is_chain ? &before[i] : NULL;
    each.after_count = is_chain;
    CHECK_OK(inturn_queue_enqueue_with(queue, &each, note_caller, NULL, NULL,
                                       &before[i + 1]));
  }
  GATE_WAIT(&begun, 1);
  CHECK_OK(inturn_queue_set_executor(queue, host));
  gate_pass(&may_return);
  while (gate_count(&called_by_host) < LATER) {
    inturn_status status = inturn_executor_wait(host, LIMIT_NS, NULL);
    CHECK_OK(status);
    CHECK_OK(inturn_executor_drain(host, 0, NULL));
  }
  CHECK_INT(gate_count(&called_by_pool), 0);
  for (int i = 0; i <= LATER; i++)
    CHECK_OK(inturn_operation_release(before[i]));
  while (inturn_queue_drain(queue, 0) != INTURN_OK)
    CHECK_OK(inturn_executor_drain(host, 0, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(host));
  is_host = false;
}

static void check_move_of(inturn_queue_kind kind) {
  check_move(kind, false, false);
  check_move(kind, true, false);
}

static void all_that_starts_later_is_called_by_the_new_executor(void) {
  for_each_kind(check_move_of);
}

static void a_chain_goes_on_with_the_new_executor(void) {
  check_move(INTURN_QUEUE_CONCURRENT, false, true);
  check_move(INTURN_QUEUE_CONCURRENT, true, true);
}

static void a_plain_queue_may_leave_the_librarys_pool(void) {
  inturn_executor other, pool;
  inturn_queue queue;
  gate called = GATE_INIT;
  CHECK_OK(inturn_executor_create(NULL, &other));
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue));
  CHECK_OK(inturn_queue_set_executor(queue, other));
  CHECK_OK(inturn_queue_enqueue(queue, count_work, &called, NULL, NULL));
  CHECK_INT(gate_count(&called), 0);
  CHECK_OK(inturn_executor_drain(other, 0, NULL));
  CHECK_INT(gate_count(&called), 1);
  CHECK_OK(inturn_queue_set_executor(queue, pool));
  CHECK_OK(inturn_queue_enqueue(queue, count_work, &called, NULL, NULL));
  GATE_WAIT(&called, 2);
  CHECK_OK(inturn_queue_drain(queue, -1));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(other));
}

static inturn_executor sides[2];
static inturn_queue moving;
static gate moved = GATE_INIT;

static void drain_side(void *context) {
  inturn_executor executor = sides[(intptr_t)context];
  while (gate_count(&moved) == 0) {
    inturn_status status = inturn_executor_wait(executor, 1000000, NULL);
    if (status != INTURN_E_TIMED_OUT)
      CHECK_OK(status);
    CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  }
}

static void a_queue_that_moves_to_and_fro_loses_nothing(void) {
  enum { ROUNDS = 20000 };
  thread threads[2];
  gate called = GATE_INIT;
  for (intptr_t i = 0; i < 2; i++) {
    CHECK_OK(inturn_executor_create(NULL, &sides[i]));
    thread_start(&threads[i], drain_side, (void *)i);
  }
  moving = create_on(INTURN_QUEUE_FIFO, sides[0]);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK_OK(inturn_queue_set_executor(moving, sides[i & 1]));
    CHECK_OK(inturn_queue_enqueue(moving, count_work, &called, NULL, NULL));
  }
  CHECK_OK(inturn_queue_drain(moving, -1));
  CHECK_INT(gate_count(&called), ROUNDS);
  CHECK_INT(statistics_of(moving).finished, ROUNDS);
  gate_pass(&moved);
  for (int i = 0; i < 2; i++)
    thread_join(&threads[i]);
  CHECK_OK(inturn_queue_destroy(moving));
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_executor_destroy(sides[i]));
}

PROGRAM(host_threads, TEST(so_many_threads_drain_at_a_time),
        TEST(fifo_queues_keep_their_order_on_many_threads),
        TEST(wait_says_whether_work_waits_and_calls_nothing),
        TEST(no_wake_up_is_lost),
        TEST(a_thread_that_waits_takes_no_wake_up_from_one_that_runs),
        TEST(the_main_executor_is_waited_for_on_the_main_thread_only),
        TEST(a_pool_is_not_waited_for),
        TEST(a_queue_goes_on_with_another_executor),
        TEST(what_waits_at_an_executor_comes_over),
        TEST(all_that_starts_later_is_called_by_the_new_executor),
        TEST(a_chain_goes_on_with_the_new_executor),
        TEST(a_plain_queue_may_leave_the_librarys_pool),
        TEST(a_queue_that_moves_to_and_fro_loses_nothing))
