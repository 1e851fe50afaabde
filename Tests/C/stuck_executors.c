/*
 * stuck_executors.c - work that may start is not called: reports of executors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

static void an_executor_that_nobody_drains_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "frames";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  enqueue_one(stage.queue, NULL);
  stall told = STALL("executor @frames");
  CHECK(stall_says(&told, "nobody is draining its executor. 1 waits in it."));
  stage_drain(&stage);
  stage_destroy(&stage);
  stalls_end();
}

/* What was given to an executor stays there when the queue gets another one. */
static void a_former_executor_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor pool;
  options.label = "frames";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  enqueue_one(stage.queue, NULL);
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_OK(inturn_queue_set_executor(stage.queue, pool));
  stall told = STALL("executor @frames");
  CHECK(stall_says(&told, "nobody is draining its executor. 1 waits in it."));
  stage_drain(&stage);
  stage_destroy(&stage);
  stalls_end();
}

static bool is_worth_it(void *context, int32_t code, uint32_t attempts) {
  CHECK(context != NULL && code == FAIL_CODE && attempts == 1);
  return false;
}

/* Its retry policy has to be asked there. */
static void an_attempt_that_waits_for_its_executor_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options retried = labelled("draw");
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_token token = {0};
  options.label = "frames";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  retry.decide = is_worth_it;
  retried.retry = &retry;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &retried, keep_token, &token,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_token_fail(token, FAIL_CODE));
  STALL("executor @frames");
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).failed, 1);
  stage_destroy(&stage);
  stalls_end();
}

static void drain_stage(void *context) { stage_drain(context); }

static void an_executor_whose_thread_is_in_a_call_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "frames";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_queue other;
  options.label = "other";
  options.executor = stage.executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  job job = JOB("draw");
  job_enqueue(stage.queue, &job, work_block);
  enqueue_one(other, NULL);
  thread host;
  thread_start(&host, drain_stage, &stage);
  stall told = STALL("executor @other");
  CHECK(stall_says(&told, "who drains its executor is in a call"));
  gate_pass(&job.go);
  thread_join(&host);
  CHECK_OK(inturn_queue_destroy(other));
  stage_destroy(&stage);
  stalls_end();
}

static void the_main_thread_is_told_of_its_own_executor_only(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = "windows";
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  enqueue_one(queue, NULL);
  stall told = STALL("executor @windows");
  CHECK(stall_says(&told, "the main thread is not draining its executor."));
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

static void a_pool_whose_threads_are_all_in_calls_is_told_once(void) {
  stalls_begin(STALL_NS);
  inturn_executor_options pool = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue blocked, others[3];
  pool.workers = pool.max_workers = 1;
  CHECK_OK(inturn_executor_create(&pool, &options.executor));
  options.label = "blocked";
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &blocked));
  job job = JOB("call");
  job_enqueue(blocked, &job, work_block);
  GATE_WAIT(&job.started, 1);
  options.label = "other";
  for (int i = 0; i < 3; i++) {
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &others[i]));
    enqueue_one(others[i], NULL);
  }
  stall told = STALL("pool @other");
  CHECK(stall_says(&told, "the only thread of its pool is in a call."));
  /* Running work is reported later: by then, the others have been. */
  STALL("call call@blocked");
  CHECK_INT(stalls_of("pool @other"), 1);
  gate_pass(&job.go);
  for (int i = 0; i < 3; i++)
    drain_and_destroy(others[i]);
  drain_and_destroy(blocked);
  CHECK_OK(inturn_executor_destroy(options.executor));
  stalls_end();
}

PROGRAM(stuck_executors, TEST(an_executor_that_nobody_drains_is_told),
        TEST(a_former_executor_is_told),
        TEST(an_attempt_that_waits_for_its_executor_is_told),
        TEST(an_executor_whose_thread_is_in_a_call_is_told),
        TEST(the_main_thread_is_told_of_its_own_executor_only),
        TEST(a_pool_whose_threads_are_all_in_calls_is_told_once))
