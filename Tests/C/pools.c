/*
 * pools.c - the library's pool of workers, and a program's own pools.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static inturn_executor pool_create(uint32_t workers, uint32_t max_workers) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor pool;
  options.workers = workers;
  options.max_workers = max_workers;
  options.label = "a pool";
  CHECK_OK(inturn_executor_create(&options, &pool));
  return pool;
}

static inturn_queue queue_of(inturn_queue_kind kind, inturn_executor executor,
                             uint32_t limit) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.executor = executor;
  options.max_concurrent = limit;
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  return queue;
}

static inturn_queue queue_on(inturn_executor executor) {
  return queue_of(INTURN_QUEUE_FIFO, executor, 0);
}

static pthread_t caller;

static void run_elsewhere(void *context, inturn_token token) {
  CHECK(!pthread_equal(caller, pthread_self()));
  count_work(context, token);
}

static void a_pool_calls_work_on_threads_of_its_own(void) {
  inturn_executor pool = pool_create(2, 0);
  inturn_queue queue = queue_on(pool);
  gate worked = GATE_INIT;
  caller = pthread_self();
  for (int i = 0; i < 100; i++)
    CHECK_OK(inturn_queue_enqueue(queue, run_elsewhere, &worked, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
  CHECK_INT(gate_count(&worked), 100);
}

static void check_not_driven(inturn_executor pool) {
  gate destroyed = GATE_INIT;
  int fd = -1;
  CHECK_STATUS(inturn_executor_drain(pool, 0, NULL), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_executor_run(pool), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_executor_stop(pool), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_executor_fd(pool, &fd), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(
      inturn_executor_set_wake(pool, never_wake, &destroyed, count_destroy),
      INTURN_E_UNSUPPORTED);
  CHECK_INT(gate_count(&destroyed), 1);
}

static void a_pool_is_not_driven_by_the_host(void) {
  inturn_executor library_pool, own = pool_create(1, 0);
  CHECK_OK(inturn_executor_pool(&library_pool));
  check_not_driven(library_pool);
  check_not_driven(own);
  CHECK_OK(inturn_executor_destroy(own));
}

static void the_pool_of_the_library_cannot_be_destroyed(void) {
  inturn_executor pool, again;
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_STATUS(inturn_executor_destroy(pool), INTURN_E_UNSUPPORTED);
  CHECK_OK(inturn_executor_pool(&again));
  CHECK_INT(again.bits, pool.bits);
}

static void a_pool_that_a_queue_uses_is_busy(void) {
  inturn_executor pool = pool_create(1, 0);
  inturn_queue queue = queue_on(pool);
  CHECK_STATUS(inturn_executor_destroy(pool), INTURN_E_BUSY);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(pool));
}

/* Blocks this many workers, each with a queue of its own, until the work of one
   more queue releases them. */
static void check_growth(inturn_executor pool, int blocked) {
  enum { MOST = 64 };
  inturn_queue queues[MOST], rescue = queue_on(pool);
  job jobs[MOST], last = JOB("last");
  CHECK(blocked <= MOST);
  for (int i = 0; i < blocked; i++) {
    jobs[i] = (job)JOB("blocked");
    queues[i] = queue_on(pool);
    CHECK_OK(inturn_queue_enqueue(queues[i], work_block, &jobs[i], NULL, NULL));
  }
  for (int i = 0; i < blocked; i++)
    GATE_WAIT(&jobs[i].started, 1);
  job_enqueue(rescue, &last, work_finish);
  GATE_WAIT(&last.ended, 1);
  for (int i = 0; i < blocked; i++)
    gate_pass(&jobs[i].go);
  for (int i = 0; i < blocked; i++)
    drain_and_destroy(queues[i]);
  drain_and_destroy(rescue);
}

static void a_pool_grows_while_its_workers_are_blocked(void) {
  inturn_executor pool = pool_create(2, 0);
  check_growth(pool, 10);
  CHECK_OK(inturn_executor_destroy(pool));
}

static void a_pool_grows_up_to_its_maximum(void) {
  inturn_executor pool = pool_create(1, 6);
  check_growth(pool, 5);
  CHECK_OK(inturn_executor_destroy(pool));
}

static void the_pool_of_the_library_grows_too(void) {
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  check_growth(pool, 32);
}

static atomic_int inside, most;
static gate pairs;

static void go_inside(void) {
  int now = atomic_fetch_add(&inside, 1) + 1;
  int before = atomic_load(&most);
  while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
    ;
}

static void meet_in_pairs(void *context, inturn_token token) {
  go_inside();
  gate_pass(&pairs);
  GATE_WAIT(&pairs, 2);
  atomic_fetch_sub(&inside, 1);
  just_finish(context, token);
}

static void a_pool_never_has_more_workers_than_its_maximum(void) {
  enum { QUEUES = 8 };
  inturn_executor pool = pool_create(1, 2);
  inturn_queue queues[QUEUES];
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = queue_on(pool);
    for (int j = 0; j < 100; j++)
      CHECK_OK(
          inturn_queue_enqueue(queues[i], meet_in_pairs, NULL, NULL, NULL));
  }
  for (int i = 0; i < QUEUES; i++)
    drain_and_destroy(queues[i]);
  CHECK_OK(inturn_executor_destroy(pool));
  CHECK_INT(most, 2);
}

static void take_a_moment(void *context, inturn_token token) {
  struct timespec moment = {.tv_sec = 0, .tv_nsec = 200000};
  go_inside();
  nanosleep(&moment, NULL);
  atomic_fetch_sub(&inside, 1);
  just_finish(context, token);
}

/* The queue always has something for other workers to do; but its own workers
   go from one call to the next, and need no help. A worker that the system
   delays may look blocked, so a few may be added. */
static void a_pool_does_not_grow_while_its_workers_get_on(void) {
  inturn_executor pool = pool_create(2, 0);
  inturn_queue queue = queue_of(INTURN_QUEUE_CONCURRENT, pool, 16);
  atomic_store(&inside, 0);
  atomic_store(&most, 0);
  for (int i = 0; i < 2000; i++)
    CHECK_OK(inturn_queue_enqueue(queue, take_a_moment, NULL, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
  CHECK(most < 8);
}

static int begun, begun_before_other;

static void note_how_many(void *context, inturn_token token) {
  begun_before_other = begun;
  just_finish(context, token);
}

static void ask_for_another_queue(void *context, inturn_token token) {
  begun += 1;
  if (begun == 1) {
    inturn_queue *other = context;
    CHECK_OK(inturn_queue_enqueue(*other, note_how_many, NULL, NULL, NULL));
  }
  CHECK_OK(inturn_token_finish(token));
}

/* A queue that has moved has left drainers at its previous executor. */
static void check_giving_way(bool has_moved,
                             const inturn_operation_options *options) {
  inturn_executor pool = pool_create(1, 1), host;
  CHECK_OK(inturn_executor_create(NULL, &host));
  inturn_queue queue = queue_of(INTURN_QUEUE_CONCURRENT,
                                has_moved ? host : pool, 8),
               other = queue_on(pool);
  begun = begun_before_other = 0;
  for (int i = 0; has_moved && i < 4; i++)
    CHECK_OK(
        inturn_queue_enqueue(queue, ask_for_another_queue, &other, NULL, NULL));
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_queue_set_executor(queue, pool));
  for (int i = has_moved ? 4 : 0; i < 1000; i++)
    CHECK_OK(options ? inturn_queue_enqueue_with(queue, options,
                                                 ask_for_another_queue, &other,
                                                 NULL, NULL)
                     : inturn_queue_enqueue(queue, ask_for_another_queue,
                                            &other, NULL, NULL));
  CHECK_OK(inturn_queue_resume(queue));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  drain_and_destroy(other);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(pool));
  CHECK_OK(inturn_executor_destroy(host));
  CHECK_INT(begun, 1000);
  /* Each of the drainers that it had before may make a call. */
  CHECK(begun_before_other <= 10);
}

static void a_busy_queue_gives_way_to_another_one(void) {
  check_giving_way(false, NULL);
}

static void a_busy_queue_of_operations_with_options_gives_way(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = "one of many";
  check_giving_way(false, &options);
}

static void a_busy_queue_that_has_moved_gives_way_to_another_one(void) {
  check_giving_way(true, NULL);
}

static void pools_come_and_go(void) {
  for (int round = 0; round < 200; round++) {
    inturn_executor pool = pool_create(2, 0);
    inturn_queue queue = queue_on(pool);
    gate worked = GATE_INIT;
    CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
    drain_and_destroy(queue);
    CHECK_INT(gate_count(&worked), 1);
    CHECK_OK(inturn_executor_destroy(pool));
  }
}

static void a_pool_of_the_most_workers_works(void) {
  inturn_executor pool = pool_create(1024, 0);
  inturn_queue queue = queue_on(pool);
  gate worked = GATE_INIT;
  CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(pool));
}

static uint32_t worker_count(void) {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_library_get_statistics(&statistics));
  return statistics.workers;
}

/* Waits a little for something that does not happen. */
static void let_time_pass(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_queue_enqueue(queue, never_work, NULL, NULL, NULL));
  CHECK_STATUS(inturn_queue_drain(queue, 20000000), INTURN_E_TIMED_OUT);
  CHECK_OK(inturn_queue_destroy(queue));
}

static void a_pool_that_has_grown_shrinks_again(void) {
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  check_growth(pool, 20);
  uint32_t grown = worker_count();
  CHECK(grown >= 20);
  int64_t rounds = LIMIT_NS / 20000000;
  while (worker_count() >= grown && rounds-- > 0)
    let_time_pass();
  CHECK(worker_count() < grown);
}

/* How many operations of a concurrent queue run at once by default. */
static int default_concurrency(void) {
  enum { MANY = 2000 };
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 0);
  static inturn_token tokens[MANY];
  for (int i = 0; i < MANY; i++)
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, keep_token, &tokens[i], NULL, NULL));
  stage_drain(&stage);
  int running = (int)statistics_of(stage.queue).running;
  stage_destroy(&stage);
  return running;
}

/* The environment is read when the library starts, so this test runs its own
   program again with another environment. */
static void the_environment_says_how_many_workers_the_library_has(void) {
  static const char *const settings[] = {"1", "2", "5", "1024", NULL};
  const char *workers = getenv("INTURN_WORKERS");
  if (getenv("INTURN_TEST_AGAIN") != NULL) {
    if (workers != NULL)
      CHECK_INT(default_concurrency(), atoi(workers));
    else
      CHECK(default_concurrency() >= 2);
    return;
  }
  CHECK_INT(setenv("INTURN_TEST_AGAIN", "1", 1), 0);
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    if (settings[i] != NULL)
      CHECK_INT(setenv("INTURN_WORKERS", settings[i], 1), 0);
    else
      CHECK_INT(unsetenv("INTURN_WORKERS"), 0);
    int status = run_self("the_environment_says", NULL);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

PROGRAM(pools, TEST(a_pool_calls_work_on_threads_of_its_own),
        TEST(a_pool_is_not_driven_by_the_host),
        TEST(the_pool_of_the_library_cannot_be_destroyed),
        TEST(a_pool_that_a_queue_uses_is_busy),
        TEST(a_pool_grows_while_its_workers_are_blocked),
        TEST(a_pool_grows_up_to_its_maximum),
        TEST(the_pool_of_the_library_grows_too),
        TEST(a_pool_that_has_grown_shrinks_again),
        TEST(a_pool_never_has_more_workers_than_its_maximum),
        TEST(a_pool_does_not_grow_while_its_workers_get_on),
        TEST(a_busy_queue_gives_way_to_another_one),
        TEST(a_busy_queue_of_operations_with_options_gives_way),
        TEST(a_busy_queue_that_has_moved_gives_way_to_another_one),
        TEST(pools_come_and_go), TEST(a_pool_of_the_most_workers_works),
        TEST(the_environment_says_how_many_workers_the_library_has))
