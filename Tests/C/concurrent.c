/*
 * concurrent.c - concurrent queues: up to a maximum at once, and never more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void operations_are_taken_up_in_order_and_as_places_are_freed(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 2);
  job jobs[4] = {JOB("a"), JOB("b"), JOB("c"), JOB("d")};
  for (int i = 0; i < 4; i++)
    job_enqueue(stage.queue, &jobs[i], work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a, work b");
  CHECK_OK(inturn_token_finish(jobs[1].token));
  stage_drain(&stage);
  CHECK_INT(gate_count(&jobs[1].ended), 1);
  CHECK_INT(gate_count(&jobs[2].started), 1);
  CHECK_INT(gate_count(&jobs[3].started), 0);
  CHECK_OK(inturn_token_finish(jobs[2].token));
  CHECK_OK(inturn_token_finish(jobs[0].token));
  stage_drain(&stage);
  CHECK_INT(gate_count(&jobs[3].started), 1);
  CHECK_OK(inturn_token_finish(jobs[3].token));
  stage_drain(&stage);
  for (int i = 0; i < 4; i++)
    CHECK_ENDED(&jobs[i], INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static int next_taken_up;

static void take_up_in_order(void *context, inturn_token token) {
  CHECK_INT(*(int *)context, next_taken_up++);
  just_finish(context, token);
}

static void a_thousand_operations_are_taken_up_in_order(void) {
  enum { COUNT = 1000 };
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 3);
  int numbers[COUNT];
  next_taken_up = 0;
  for (int i = 0; i < COUNT; i++) {
    numbers[i] = i;
    CHECK_OK(inturn_queue_enqueue(stage.queue, take_up_in_order, &numbers[i],
                                  NULL, NULL));
  }
  stage_drain(&stage);
  CHECK_INT(next_taken_up, COUNT);
  stage_destroy(&stage);
}

static void one_that_has_returned_and_not_ended_keeps_its_place(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, work_hold);
  job_enqueue(stage.queue, &second, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a");
  CHECK_INT(statistics_of(stage.queue).running, 1);
  CHECK_INT(statistics_of(stage.queue).pending, 1);
  stage_destroy(&stage);
}

/* A pool with a queue on it, and how many operations are in their calls. */
enum { WORKERS = 4 };

static gate reached;
static atomic_int inside, most, calls;

static void pool_and_queue_create(inturn_executor *pool, inturn_queue *queue,
                                  uint32_t max_concurrent) {
  inturn_executor_options pool_options = INTURN_EXECUTOR_OPTIONS_INIT;
  pool_options.workers = WORKERS;
  CHECK_OK(inturn_executor_create(&pool_options, pool));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = *pool;
  options.max_concurrent = max_concurrent;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, queue));
  reached = (gate)GATE_INIT;
  atomic_store(&inside, 0);
  atomic_store(&most, 0);
  atomic_store(&calls, 0);
}

static void enter_and_leave(void *context, inturn_token token) {
  int now = atomic_fetch_add(&inside, 1) + 1;
  int before = atomic_load(&most);
  while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
    ;
  atomic_fetch_add(&calls, 1);
  atomic_fetch_sub(&inside, 1);
  just_finish(context, token);
}

static void never_more_than_the_maximum_run_at_once(void) {
  const int count = (int)scaled(100000);
  inturn_executor pool;
  inturn_queue queue;
  pool_and_queue_create(&pool, &queue, 2);
  for (int i = 0; i < count; i++)
    CHECK_OK(inturn_queue_enqueue(queue, enter_and_leave, NULL, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
  CHECK_INT(calls, count);
  CHECK(most >= 1 && most <= 2);
}

static void wait_until_all_are_here(void *context, inturn_token token) {
  gate_pass(&reached);
  GATE_WAIT(&reached, WORKERS);
  just_finish(context, token);
}

static void the_maximum_is_reached(void) {
  inturn_executor pool;
  inturn_queue queue;
  pool_and_queue_create(&pool, &queue, WORKERS);
  for (int i = 0; i < WORKERS; i++)
    CHECK_OK(
        inturn_queue_enqueue(queue, wait_until_all_are_here, NULL, NULL, NULL));
  GATE_WAIT(&reached, WORKERS);
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
}

static void the_maximum_is_reached_after_a_resume(void) {
  inturn_executor pool;
  inturn_queue queue;
  pool_and_queue_create(&pool, &queue, WORKERS);
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < WORKERS; i++)
    CHECK_OK(
        inturn_queue_enqueue(queue, wait_until_all_are_here, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_resume(queue));
  GATE_WAIT(&reached, WORKERS);
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
}

static void the_maximum_is_reached_after_places_are_freed(void) {
  inturn_executor pool;
  inturn_queue queue;
  job held[WORKERS];
  pool_and_queue_create(&pool, &queue, WORKERS);
  for (int i = 0; i < WORKERS; i++) {
    held[i] = (job)JOB("held");
    job_enqueue(queue, &held[i], work_hold);
  }
  for (int i = 0; i < WORKERS; i++) {
    GATE_WAIT(&held[i].started, 1);
    CHECK_OK(
        inturn_queue_enqueue(queue, wait_until_all_are_here, NULL, NULL, NULL));
  }
  for (int i = 0; i < WORKERS; i++)
    CHECK_OK(inturn_token_finish(held[i].token));
  GATE_WAIT(&reached, WORKERS);
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
}

static void a_cancelled_pending_operation_takes_no_place(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job first = JOB("a"), second = JOB("b"), third = JOB("c");
  job_enqueue(stage.queue, &first, work_hold);
  inturn_operation operation =
      job_enqueue_kept(stage.queue, &second, never_work);
  job_enqueue(stage.queue, &third, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_ENDED(&third, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void check_place_after_max_run(inturn_max_run_policy policy,
                                      const char *after) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job first = JOB("a"), second = JOB("b");
  inturn_operation_options options = job_options(&first);
  options.max_run_ns = 100;
  options.max_run_policy = policy;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work_hold, &first,
                                     job_destroyed, NULL));
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  stage_advance(&stage, 100);
  CHECK_TRACE(after);
  CHECK_STATUS(inturn_token_finish(first.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
  trace_begin();
}

static void max_run_holds_a_place_or_frees_it(void) {
  check_place_after_max_run(INTURN_MAX_RUN_HOLD, "work a, end a timed out");
  check_place_after_max_run(INTURN_MAX_RUN_FREE,
                            "work a, end a timed out, work b, end b finished");
}

static void operations_may_end_in_any_order(void) {
  enum { COUNT = 8 };
  static const int order[COUNT] = {3, 7, 0, 5, 1, 6, 2, 4};
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, COUNT);
  job jobs[COUNT];
  for (int i = 0; i < COUNT; i++) {
    jobs[i] = (job)JOB("a");
    job_enqueue(stage.queue, &jobs[i], work_hold);
  }
  stage_drain(&stage);
  for (int i = 0; i < COUNT; i++) {
    CHECK_OK(inturn_token_finish(jobs[order[i]].token));
    stage_drain(&stage);
    CHECK_ENDED(&jobs[order[i]], INTURN_FINISHED, INTURN_CAUSE_NONE);
    CHECK_INT(statistics_of(stage.queue).running, COUNT - 1 - i);
  }
  stage_destroy(&stage);
}

static void the_largest_maximum_is_fine(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, UINT32_MAX);
  gate worked = GATE_INIT;
  for (int i = 0; i < 1000; i++)
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&worked), 1000);
  stage_destroy(&stage);
}

static void a_greater_maximum_lets_more_start(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job jobs[5];
  for (int i = 0; i < 5; i++) {
    jobs[i] = (job)JOB("a");
    job_enqueue(stage.queue, &jobs[i], work_hold);
  }
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).running, 1);
  CHECK_OK(inturn_queue_set_max_concurrent(stage.queue, 4));
  CHECK_INT(statistics_of(stage.queue).running, 1);
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).running, 4);
  CHECK_OK(inturn_queue_set_max_concurrent(stage.queue, UINT32_MAX));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).running, 5);
  stage_destroy(&stage);
}

static void a_smaller_maximum_stops_none_and_starts_none_until_it_holds(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 3);
  job jobs[5];
  for (int i = 0; i < 5; i++) {
    jobs[i] = (job)JOB("a");
    job_enqueue(stage.queue, &jobs[i], work_hold);
  }
  stage_drain(&stage);
  CHECK_OK(inturn_queue_set_max_concurrent(stage.queue, 1));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).running, 3);
  for (int i = 0; i < 3; i++) {
    CHECK(!is_cancelled(jobs[i].token));
    CHECK_INT(gate_count(&jobs[3].started), 0);
    stage_finish(&stage, &jobs[i]);
  }
  CHECK_INT(gate_count(&jobs[3].started), 1);
  CHECK_INT(gate_count(&jobs[4].started), 0);
  stage_finish(&stage, &jobs[3]);
  CHECK_INT(gate_count(&jobs[4].started), 1);
  stage_destroy(&stage);
}

static void a_maximum_of_zero_is_the_size_of_the_pool(void) {
  stage given = stage_create_of(INTURN_QUEUE_CONCURRENT, 0);
  stage set = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  enum { COUNT = 1500 }; /* more than a pool has workers */
  inturn_token unused;
  CHECK_OK(inturn_queue_set_max_concurrent(set.queue, 0));
  for (int i = 0; i < COUNT; i++) {
    CHECK_OK(
        inturn_queue_enqueue(given.queue, keep_token, &unused, NULL, NULL));
    CHECK_OK(inturn_queue_enqueue(set.queue, keep_token, &unused, NULL, NULL));
  }
  stage_drain(&given);
  stage_drain(&set);
  CHECK_INT(statistics_of(set.queue).running,
            statistics_of(given.queue).running);
  CHECK(statistics_of(set.queue).running < COUNT);
  stage_destroy(&given);
  stage_destroy(&set);
}

static void check_no_maximum(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  CHECK_STATUS(inturn_queue_set_max_concurrent(stage.queue, 1),
               kind == INTURN_QUEUE_CONCURRENT ? INTURN_OK
                                               : INTURN_E_WRONG_KIND);
  stage_destroy(&stage);
}

static void other_kinds_of_queues_have_no_maximum(void) {
  for_each_kind(check_no_maximum);
}

static gate waiting_end_told;
static inturn_operation awaited;

static void wait_for_awaited(void *context, const inturn_end *end) {
  CHECK(context == NULL && end->outcome == INTURN_FINISHED);
  CHECK_OK(inturn_operation_wait(awaited, LIMIT_NS, NULL));
  gate_pass(&waiting_end_told);
}

static void an_end_callback_may_wait_for_what_its_end_lets_start(void) {
  inturn_executor pool;
  inturn_queue queue;
  job held = JOB("held");
  pool_and_queue_create(&pool, &queue, 2);
  waiting_end_told = (gate)GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = wait_for_awaited;
  CHECK_OK(inturn_queue_suspend(queue));
  job_enqueue(queue, &held, work_hold);
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     NULL));
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, &awaited));
  CHECK_OK(inturn_queue_resume(queue));
  GATE_WAIT(&waiting_end_told, 1);
  GATE_WAIT(&held.started, 1);
  CHECK_OK(inturn_token_finish(held.token));
  CHECK_OK(inturn_operation_release(awaited));
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
}

PROGRAM(concurrent,
        TEST(operations_are_taken_up_in_order_and_as_places_are_freed),
        TEST(a_thousand_operations_are_taken_up_in_order),
        TEST(one_that_has_returned_and_not_ended_keeps_its_place),
        TEST(never_more_than_the_maximum_run_at_once),
        TEST(the_maximum_is_reached),
        TEST(the_maximum_is_reached_after_a_resume),
        TEST(the_maximum_is_reached_after_places_are_freed),
        TEST(a_cancelled_pending_operation_takes_no_place),
        TEST(max_run_holds_a_place_or_frees_it),
        TEST(operations_may_end_in_any_order),
        TEST(the_largest_maximum_is_fine),
        TEST(a_greater_maximum_lets_more_start),
        TEST(a_smaller_maximum_stops_none_and_starts_none_until_it_holds),
        TEST(a_maximum_of_zero_is_the_size_of_the_pool),
        TEST(other_kinds_of_queues_have_no_maximum),
        TEST(an_end_callback_may_wait_for_what_its_end_lets_start))
