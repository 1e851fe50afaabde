/*
 * executors.c - host-driven executors and the main one: whoever drains, calls.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <poll.h>
#include <sys/resource.h>

static void a_drain_calls_at_most_so_many_and_says_how_many(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  uint32_t calls = 99;
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, work_finish);
  job_enqueue(stage.queue, &second, work_finish);
  CHECK_OK(inturn_executor_drain(stage.executor, 1, &calls));
  CHECK_INT(calls, 1);
  CHECK_TRACE("work a");
  CHECK_OK(inturn_executor_drain(stage.executor, 2, &calls));
  CHECK_INT(calls, 2);
  CHECK_TRACE("end a finished, work b");
  CHECK_OK(inturn_executor_drain(stage.executor, 100, &calls));
  CHECK_INT(calls, 1);
  CHECK_TRACE("end b finished");
  CHECK_OK(inturn_executor_drain(stage.executor, 0, &calls));
  CHECK_INT(calls, 0);
  CHECK_OK(inturn_executor_drain(stage.executor, 0, NULL));
  stage_destroy(&stage);
}

typedef struct steps {
  gate worked, destroyed;
} steps;

static void step_work(void *context, inturn_token token) {
  gate_pass(&((steps *)context)->worked);
  CHECK_OK(inturn_token_finish(token));
}

static void step_destroy(void *context) {
  gate_pass(&((steps *)context)->destroyed);
}

static void a_drain_of_one_call_makes_one_in_every_kind_of_queue(void) {
  const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR,
                                     INTURN_QUEUE_CONCURRENT};
  for (int i = 0; i < 6; i++) {
    stage stage = stage_create(kinds[i / 2]);
    steps steps = {GATE_INIT, GATE_INIT};
    inturn_operation operation;
    uint32_t calls = 99;
    CHECK_OK(inturn_queue_enqueue(stage.queue, step_work, &steps, step_destroy,
                                  i % 2 ? &operation : NULL));
    CHECK_OK(inturn_executor_drain(stage.executor, 1, &calls));
    CHECK_INT(calls, 1);
    CHECK_INT(gate_count(&steps.worked), 1);
    /* Destroying the context is part of the work's call, or the next call. */
    CHECK_OK(inturn_executor_drain(stage.executor, 1, &calls));
    CHECK(calls <= 1);
    CHECK_INT(gate_count(&steps.destroyed), 1);
    if (i % 2)
      CHECK_OK(inturn_operation_release(operation));
    stage_destroy(&stage);
  }
}

static void a_drain_without_a_maximum_calls_until_nothing_waits(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate worked = GATE_INIT;
  for (int i = 0; i < 1000; i++)
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
  CHECK(stage_drain(&stage) >= 1000);
  CHECK_INT(gate_count(&worked), 1000);
  stage_destroy(&stage);
}

static void several_queues_share_an_executor(void) {
  enum { QUEUES = 10, EACH = 100 };
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queues[QUEUES];
  gate worked = GATE_INIT;
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  for (int i = 0; i < QUEUES; i++) {
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queues[i]));
    for (int j = 0; j < EACH; j++)
      CHECK_OK(
          inturn_queue_enqueue(queues[i], count_work, &worked, NULL, NULL));
  }
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_INT(gate_count(&worked), QUEUES * EACH);
  for (int i = 0; i < QUEUES; i++)
    CHECK_OK(inturn_queue_destroy(queues[i]));
  CHECK_OK(inturn_executor_destroy(options.executor));
}

static bool readable(int fd) {
  struct pollfd waiting = {fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1 && (waiting.revents & POLLIN) != 0;
}

static void the_descriptor_is_readable_while_work_waits(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  int fd = -1, again = -1;
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, work_hold);
  CHECK_OK(inturn_executor_fd(stage.executor, &fd));
  CHECK_OK(inturn_executor_fd(stage.executor, &again));
  CHECK_INT(again, fd);
  CHECK(readable(fd));
  stage_drain(&stage);
  CHECK(!readable(fd));
  job_enqueue(stage.queue, &second, work_finish);
  CHECK(!readable(fd)); /* its turn has not come */
  CHECK_OK(inturn_token_finish(first.token));
  CHECK(readable(fd));
  CHECK_OK(inturn_executor_drain(stage.executor, 1, NULL));
  CHECK(readable(fd));
  stage_drain(&stage);
  CHECK(!readable(fd));
  stage_destroy(&stage);
}

static void the_descriptor_sees_deadlines_and_suspends(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  int fd = -1;
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  options.max_wait_ns = 100;
  CHECK_OK(inturn_executor_fd(stage.executor, &fd));
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_operation_release(
      job_enqueue_with(stage.queue, &job, never_work, &options)));
  CHECK(!readable(fd));
  CHECK_OK(inturn_clock_advance(stage.clock, 100));
  CHECK(readable(fd));
  stage_drain(&stage);
  CHECK_TRACE("end a timed out");
  CHECK(!readable(fd));
  stage_destroy(&stage);
}

static void the_wake_callback_says_that_work_waits_where_none_did(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  gate wakes = GATE_INIT;
  inturn_queue queue;
  inturn_token token;
  options.wake = count_wake;
  options.wake_context = &wakes;
  CHECK_OK(inturn_executor_create(&options, &queue_options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &queue_options, &queue));
  CHECK_INT(gate_count(&wakes), 0);
  CHECK_OK(inturn_queue_enqueue(queue, keep_token, &token, NULL, NULL));
  CHECK_INT(gate_count(&wakes), 1);
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_INT(gate_count(&wakes), 1);
  CHECK_OK(inturn_executor_drain(queue_options.executor, 0, NULL));
  long before = gate_count(&wakes);
  CHECK_OK(inturn_token_finish(token));
  CHECK_INT(gate_count(&wakes), before + 1);
  CHECK_OK(inturn_executor_drain(queue_options.executor, 0, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(queue_options.executor));
}

static void the_wake_context_is_destroyed_with_the_executor(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor executor;
  gate destroyed = GATE_INIT;
  options.wake = never_wake;
  options.wake_context = &destroyed;
  options.wake_destroy = count_destroy;
  CHECK_OK(inturn_executor_create(&options, &executor));
  CHECK_INT(gate_count(&destroyed), 0);
  CHECK_OK(inturn_executor_destroy(executor));
  CHECK_INT(gate_count(&destroyed), 1);
}

/* A wake callback that another thread is in while its executor is destroyed. */
static gate waking = GATE_INIT, woken = GATE_INIT;
static atomic_bool blocks;

static void wake_in_two_steps(void *context) {
  gate_pass(context);
  if (!atomic_exchange(&blocks, false))
    return;
  gate_pass(&waking);
  GATE_WAIT(&woken, 1);
}

static void cancel_both(void *queue) {
  CHECK_OK(inturn_queue_cancel_key(*(inturn_queue *)queue, "both", NULL));
}

static void count_cancel(void *handled, inturn_token token) {
  CHECK(token.bits != 0);
  gate_pass(handled);
}

static void hold_cancellable(void *handled, inturn_token token) {
  CHECK_OK(inturn_token_on_cancel(token, count_cancel, handled, count_destroy));
}

static void what_comes_after_the_executor_is_gone_is_not_lost(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options of_queue = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options of_operation = INTURN_OPERATION_OPTIONS_INIT;
  gate wakes = GATE_INIT, handled = GATE_INIT;
  inturn_queue queue;
  thread canceller;
  options.wake = wake_in_two_steps;
  options.wake_context = &wakes;
  CHECK_OK(inturn_executor_create(&options, &of_queue.executor));
  of_queue.max_concurrent = 2;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &of_queue, &queue));
  of_operation.key = "both";
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_queue_enqueue_with(queue, &of_operation, hold_cancellable,
                                       &handled, NULL, NULL));
  CHECK_OK(inturn_executor_drain(of_queue.executor, 0, NULL));
  atomic_store(&blocks, true);
  thread_start(&canceller, cancel_both, &queue);
  GATE_WAIT(&waking, 1);
  CHECK_OK(inturn_executor_drain(of_queue.executor, 0, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(of_queue.executor));
  long before = gate_count(&wakes);
  gate_pass(&woken);
  thread_join(&canceller);
  CHECK_INT(gate_count(&wakes), before);
  inturn_library_statistics left = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_library_get_statistics(&left));
  CHECK_INT(left.operations, 0);
}

static void set_wake_replaces_the_callback(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate first = GATE_INIT, second = GATE_INIT;
  CHECK_OK(inturn_executor_set_wake(stage.executor, never_wake, &first,
                                    count_destroy));
  CHECK_OK(inturn_executor_set_wake(stage.executor, count_wake, &second, NULL));
  CHECK_INT(gate_count(&first), 1);
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_INT(gate_count(&second), 1);
  CHECK_OK(inturn_executor_set_wake(stage.executor, NULL, NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_INT(gate_count(&second), 1);
  stage_destroy(&stage);
}

static void set_wake_calls_at_once_when_work_waits_already(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate wakes = GATE_INIT;
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_executor_set_wake(stage.executor, count_wake, &wakes, NULL));
  CHECK_INT(gate_count(&wakes), 1);
  stage_destroy(&stage);
}

/* A wake callback that removes itself. */
typedef struct once {
  inturn_executor executor;
  gate woken, destroyed;
} once;

static void wake_once(void *context) {
  once *once = context;
  gate_pass(&once->woken);
  CHECK_OK(inturn_executor_set_wake(once->executor, NULL, NULL, NULL));
  CHECK_INT(gate_count(&once->destroyed), 0);
}

static void destroy_once(void *context) {
  once *once = context;
  gate_pass(&once->destroyed);
}

static void a_wake_callback_may_replace_itself(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  once once = {stage.executor, GATE_INIT, GATE_INIT};
  CHECK_OK(
      inturn_executor_set_wake(stage.executor, wake_once, &once, destroy_once));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
    stage_drain(&stage);
  }
  CHECK_INT(gate_count(&once.woken), 1);
  CHECK_INT(gate_count(&once.destroyed), 1);
  stage_destroy(&stage);
}

static void run_executor(void *context) {
  CHECK_OK(inturn_executor_run(*(inturn_executor *)context));
}

static void run_drains_until_it_is_stopped(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  thread running;
  gate worked = GATE_INIT;
  thread_start(&running, run_executor, &stage.executor);
  for (int i = 0; i < 100; i++) {
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
    GATE_WAIT(&worked, i + 1);
  }
  CHECK_INT(gate_count(&running.over), 0);
  CHECK_OK(inturn_executor_stop(stage.executor));
  thread_join(&running);
  stage_destroy(&stage);
}

static void a_stop_before_the_run_makes_it_return_at_once(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  job_enqueue(stage.queue, &job, never_work);
  CHECK_OK(inturn_executor_stop(stage.executor));
  CHECK_OK(inturn_executor_run(stage.executor));
  stage_destroy(&stage);
}

static void stop_inside(void *context, inturn_token token) {
  stage *stage = context;
  trace("work");
  CHECK_OK(inturn_executor_stop(stage->executor));
  just_finish(context, token);
}

static void several_stops_stop_one_run_and_no_drain(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  int fd = -1;
  CHECK_OK(inturn_executor_fd(stage.executor, &fd));
  CHECK_OK(inturn_executor_stop(stage.executor));
  CHECK_OK(inturn_executor_stop(stage.executor));
  CHECK(!readable(fd));
  job_enqueue(stage.queue, &job, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  CHECK_OK(inturn_queue_enqueue(stage.queue, stop_inside, &stage, NULL, NULL));
  CHECK_OK(inturn_executor_run(stage.executor));
  CHECK_TRACE("");
  CHECK_OK(inturn_executor_run(stage.executor));
  CHECK_TRACE("work");
  stage_destroy(&stage);
}

static void run_returns_after_the_call_that_it_is_in(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  for (int i = 0; i < 2; i++)
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, stop_inside, &stage, NULL, NULL));
  CHECK_OK(inturn_executor_run(stage.executor));
  CHECK_TRACE("work");
  CHECK_OK(inturn_executor_run(stage.executor));
  CHECK_TRACE("work");
  stage_destroy(&stage);
}

static void drain_is_refused(void *context) {
  inturn_executor executor = *(inturn_executor *)context;
  uint32_t calls = 99;
  CHECK_STATUS(inturn_executor_drain(executor, 0, &calls),
               INTURN_E_WRONG_THREAD);
  CHECK_STATUS(inturn_executor_run(executor), INTURN_E_WRONG_THREAD);
  CHECK_INT(calls, 99);
}

static void drain_inside(void *context, inturn_token token) {
  drain_is_refused(context);
  just_finish(context, token);
}

static void drain_inside_elsewhere(void *context, inturn_token token) {
  on_another_thread(drain_is_refused, context);
  just_finish(context, token);
}

static void an_executor_is_drained_by_one_at_a_time(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_enqueue(stage.queue, drain_inside, &stage.executor,
                                NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, drain_inside_elsewhere,
                                &stage.executor, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).finished, 2);
  stage_destroy(&stage);
}

static void drain_executor(void *context) {
  CHECK_OK(inturn_executor_drain(*(inturn_executor *)context, 0, NULL));
}

static void any_thread_may_drain_next(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, work_finish);
  on_another_thread(drain_executor, &stage.executor);
  job_enqueue(stage.queue, &second, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished, work b, end b finished");
  stage_destroy(&stage);
}

static void the_main_executor_is_drained_on_the_main_thread_only(void) {
  inturn_executor executor, again;
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_OK(inturn_executor_main(&again));
  CHECK_INT(again.bits, executor.bits);
  on_another_thread(drain_is_refused, &executor);
  CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  CHECK_OK(inturn_executor_stop(executor));
  CHECK_OK(inturn_executor_run(executor));
  CHECK_STATUS(inturn_executor_destroy(executor), INTURN_E_UNSUPPORTED);
}

static void an_executor_that_a_queue_uses_is_busy(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_STATUS(inturn_executor_destroy(stage.executor), INTURN_E_BUSY);
  stage_destroy(&stage);
}

static void destroy_all_inside(void *context, inturn_token token) {
  stage *stage = context;
  CHECK_OK(inturn_queue_destroy(stage->queue));
  CHECK_STATUS(inturn_executor_destroy(stage->executor), INTURN_E_BUSY);
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void an_executor_that_is_being_drained_is_busy(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_enqueue(stage.queue, destroy_all_inside, &stage, NULL,
                                NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_executor_destroy(stage.executor));
  CHECK_OK(inturn_clock_destroy(stage.clock));
}

static void without_descriptors_there_is_a_status(void) {
  struct rlimit before, none;
  inturn_executor executor;
  int fd = -1;
  CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
  none = before;
  none.rlim_cur = 0;
  CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
  /* The descriptor may be created with the executor or when it is asked for. */
  inturn_status created = inturn_executor_create(NULL, &executor);
  inturn_status asked =
      created == INTURN_OK ? inturn_executor_fd(executor, &fd) : created;
  CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
  CHECK_STATUS(asked, INTURN_E_NO_MEMORY);
  CHECK_INT(fd, -1);
  if (created == INTURN_OK) {
    CHECK_OK(inturn_executor_fd(executor, &fd));
    CHECK_OK(inturn_executor_destroy(executor));
  }
}

PROGRAM(executors, TEST(a_drain_calls_at_most_so_many_and_says_how_many),
        TEST(a_drain_of_one_call_makes_one_in_every_kind_of_queue),
        TEST(a_drain_without_a_maximum_calls_until_nothing_waits),
        TEST(several_queues_share_an_executor),
        TEST(the_descriptor_is_readable_while_work_waits),
        TEST(the_descriptor_sees_deadlines_and_suspends),
        TEST(the_wake_callback_says_that_work_waits_where_none_did),
        TEST(the_wake_context_is_destroyed_with_the_executor),
        TEST(what_comes_after_the_executor_is_gone_is_not_lost),
        TEST(set_wake_replaces_the_callback),
        TEST(set_wake_calls_at_once_when_work_waits_already),
        TEST(a_wake_callback_may_replace_itself),
        TEST(run_drains_until_it_is_stopped),
        TEST(a_stop_before_the_run_makes_it_return_at_once),
        TEST(several_stops_stop_one_run_and_no_drain),
        TEST(run_returns_after_the_call_that_it_is_in),
        TEST(an_executor_is_drained_by_one_at_a_time),
        TEST(any_thread_may_drain_next),
        TEST(the_main_executor_is_drained_on_the_main_thread_only),
        TEST(an_executor_that_a_queue_uses_is_busy),
        TEST(an_executor_that_is_being_drained_is_busy),
        TEST(without_descriptors_there_is_a_status))
