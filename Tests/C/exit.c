/*
 * exit.c - section 12 of the manual: when the process exits, no new callback is
 * started and nothing is waited for. This program runs itself again for each
 * way of leaving, and checks how it ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = 7, MANY = 5000 };

static inturn_queue queue;

static void leave(void) { exit(CODE); }

static void enqueue_many(inturn_work_fn work, void *context) {
  for (int i = 0; i < MANY; i++)
    CHECK_OK(inturn_queue_enqueue(queue, work, context, NULL, NULL));
}

static void leave_with_work_pending(void) {
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  enqueue_many(never_work, NULL);
  leave();
}

static void leave_with_work_in_its_call(void) {
  static job jobs[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job)JOB("blocked");
    job_enqueue(pool_queue_create(INTURN_QUEUE_FIFO, NULL), &jobs[i],
                work_block);
  }
  for (int i = 0; i < 4; i++)
    GATE_WAIT(&jobs[i].started, 1);
  leave();
}

static gate worked = GATE_INIT;
static gate leaving = GATE_INIT;

static void leave_with_work_that_waits_for_its_finish(void) {
  queue = pool_queue_create(INTURN_QUEUE_ACTOR, NULL);
  enqueue_many(count_call, &worked);
  GATE_WAIT(&worked, MANY);
  leave();
}

static void count_and_enqueue(void *context, inturn_token token) {
  (void)inturn_queue_enqueue(queue, count_and_enqueue, context, NULL, NULL);
  count_work(context, token);
}

static void leave_with_thousands_in_flight(void) {
  queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  enqueue_many(count_and_enqueue, &worked);
  GATE_WAIT(&worked, 100);
  leave();
}

static void enqueue_for_ever(void *context) {
  for (;;)
    (void)inturn_queue_enqueue(queue, count_work, context, NULL, NULL);
}

/* A thread that nobody joins: it runs until the process has ended. */
static void start_for_ever(thread *thread, void (*body)(void *),
                           void *context) {
  thread_start(thread, body, context);
  CHECK_INT(pthread_detach(thread->id), 0);
}

static void leave_while_others_enqueue(void) {
  static thread threads[3];
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.capacity = MANY;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  for (int i = 0; i < 3; i++)
    start_for_ever(&threads[i], enqueue_for_ever, &worked);
  GATE_WAIT(&worked, 1000);
  leave();
}

static void wait_for_ever(void *context) {
  CHECK(context == NULL);
  (void)inturn_queue_drain(queue, -1);
}

static void run_for_ever(void *context) {
  (void)inturn_executor_run(*(inturn_executor *)context);
}

static void leave_while_others_wait(void) {
  static thread threads[2];
  static inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  enqueue_many(never_work, NULL);
  start_for_ever(&threads[0], wait_for_ever, NULL);
  start_for_ever(&threads[1], run_for_ever, &executor);
  leave();
}

static void leave_inside(void *context, inturn_token token) {
  CHECK(context == NULL && token.bits != 0);
  leave();
}

static void leave_inside_work(void) {
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  enqueue_many(leave_inside, NULL);
  GATE_WAIT(&worked, 1);
}

static void leave_inside_work_on_the_main_thread(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  queue = stage.queue;
  enqueue_many(leave_inside, NULL);
  stage_drain(&stage);
}

static void leave_at_destruction(void *context) {
  CHECK(context == NULL);
  leave();
}

static void leave_inside_a_destruction(void) {
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_queue_enqueue(queue, never_work, NULL, leave_at_destruction,
                                NULL));
  CHECK_OK(inturn_queue_destroy(queue));
}

static void leave_with_deadlines_falling_due(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = count_end;
  options.end_context = &worked;
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < MANY; i++) {
    options.max_wait_ns = 1 + 1000 * i;
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, never_work, NULL, NULL,
                                       NULL));
  }
  GATE_WAIT(&worked, 10);
  leave();
}

/* The queue may be destroyed meanwhile. */
static void try_to_finish(void *context, inturn_token token) {
  CHECK(context == NULL);
  (void)inturn_token_finish(token);
}

static void use_the_library(void) {
  inturn_queue late;
  if (inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &late) == INTURN_OK) {
    (void)inturn_queue_enqueue(late, try_to_finish, NULL, NULL, NULL);
    (void)inturn_queue_drain(late, 0);
    (void)inturn_queue_destroy(late);
  }
  (void)inturn_queue_cancel_all(queue);
  (void)inturn_queue_destroy(queue);
}

static gate returned = GATE_INIT, left = GATE_INIT;

static void work_until_the_exit(void *context, inturn_token token) {
  gate_pass(&worked);
  CHECK_INT(gate_count(&worked), 1);
  GATE_WAIT(&returned, 1);
  just_finish(context, token);
}

static void run_until_the_exit(void *context) {
  run_for_ever(context);
  gate_pass(&left);
}

/* By now the library knows that the process exits, and its thread leaves. */
static void let_the_work_return(void) {
  gate_pass(&returned);
  GATE_WAIT(&left, 1);
}

/* A queue whose executor is run by another thread until the process exits. */
static void begin_to_run_a_queue(void) {
  static thread thread;
  static inturn_executor executor;
  CHECK_INT(atexit(let_the_work_return), 0);
  CHECK_OK(inturn_executor_create(NULL, &executor));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  start_for_ever(&thread, run_until_the_exit, &executor);
}

static void leave_while_another_runs_an_executor(void) {
  begin_to_run_a_queue();
  enqueue_many(work_until_the_exit, NULL);
  GATE_WAIT(&worked, 1);
  leave();
}

/* A callback that returns once the library has begun to exit. The second time,
   it would be a new one. */
static void stay_until_the_exit(void) {
  if (gate_count(&worked) > 0)
    _exit(CODE + 1);
  gate_pass(&worked);
  GATE_WAIT(&returned, 1);
}

static void too_late(void *context) {
  CHECK(context == NULL);
  _exit(CODE + 2);
}

static void work_too_late(void *context, inturn_token token) {
  CHECK(token.bits != 0);
  too_late(context);
}

static inturn_verdict decide_at_the_exit(void *context) {
  CHECK(context == NULL);
  stay_until_the_exit();
  return INTURN_START;
}

static void end_at_the_exit(void *context, const inturn_end *end) {
  CHECK(context == NULL && end->outcome == INTURN_FINISHED);
  stay_until_the_exit();
}

static void batch_end_at_the_exit(void *context, const inturn_batch_end *end) {
  CHECK(context == NULL && end->finished == 1);
  stay_until_the_exit();
}

static void change_at_the_exit(void *context, const inturn_change *change) {
  CHECK(context == NULL && change != NULL);
  stay_until_the_exit();
}

static void leave_inside_a_condition(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  begin_to_run_a_queue();
  options.condition = decide_at_the_exit;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, work_too_late, NULL,
                                     too_late, NULL));
  GATE_WAIT(&worked, 1);
  leave();
}

static void leave_inside_an_end(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  begin_to_run_a_queue();
  options.on_end = end_at_the_exit;
  options.end_destroy = too_late;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL,
                                     too_late, NULL));
  GATE_WAIT(&worked, 1);
  leave();
}

static void leave_inside_the_end_of_a_batch(void) {
  inturn_batch_item item = {just_finish, NULL, NULL};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  begin_to_run_a_queue();
  options.on_end = batch_end_at_the_exit;
  options.end_destroy = too_late;
  CHECK_OK(inturn_queue_enqueue_batch(queue, &options, &item, 1, NULL));
  GATE_WAIT(&worked, 1);
  leave();
}

static void destroy_at_the_exit(void *context) {
  CHECK(context == NULL);
  stay_until_the_exit();
}

static void leave_inside_the_destruction_of_a_batchs_item(void) {
  inturn_batch_item item = {just_finish, NULL, destroy_at_the_exit};
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  begin_to_run_a_queue();
  each.label = "last";
  options.operation = &each;
  options.on_end = batch_end_at_the_exit;
  options.end_destroy = too_late;
  CHECK_OK(inturn_queue_enqueue_batch(queue, &options, &item, 1, NULL));
  GATE_WAIT(&worked, 1);
  leave();
}

static void cancel_at_the_exit(void *context, inturn_token token) {
  CHECK(context == NULL && token.bits != 0);
  stay_until_the_exit();
}

static void suspend_cancellable(void *context, inturn_token token) {
  CHECK(context == NULL);
  CHECK_OK(inturn_token_on_cancel(token, cancel_at_the_exit, NULL, too_late));
  CHECK_OK(inturn_queue_cancel_all(queue));
}

static void leave_inside_a_cancel_handler(void) {
  begin_to_run_a_queue();
  CHECK_OK(
      inturn_queue_enqueue(queue, suspend_cancellable, NULL, too_late, NULL));
  GATE_WAIT(&worked, 1);
  leave();
}

static void leave_inside_an_observer(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_value value;
  begin_to_run_a_queue();
  options.queue = queue;
  CHECK_OK(inturn_value_create(NULL, &zero, &value));
  CHECK_OK(inturn_value_observe(value, &options, change_at_the_exit, NULL,
                                too_late, NULL));
  for (int i = 1; i < 3; i++)
    CHECK_OK(inturn_value_set_integer(value, i));
  GATE_WAIT(&worked, 1);
  leave();
}

static void leave_with_exit_handlers_that_use_the_library(void) {
  CHECK_INT(atexit(use_the_library), 0);
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_INT(atexit(use_the_library), 0);
  enqueue_many(try_to_finish, NULL);
  leave();
}

static void work_into_the_exit(void *context, inturn_token token) {
  gate_pass(&worked);
  GATE_WAIT(&returned, 1);
  try_to_finish(context, token);
}

/* The library has begun to exit before: its work has stopped where it was. */
static void destroy_late(void) {
  gate_pass(&returned);
  CHECK_OK(inturn_queue_destroy(queue));
}

static void leave_with_a_destruction_after_the_librarys_exit(void) {
  CHECK_INT(atexit(destroy_late), 0);
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  enqueue_many(work_into_the_exit, NULL);
  GATE_WAIT(&worked, 1);
  leave();
}

/* A pool notices meanwhile that its threads have gone. Each may call one more.
 */
static void expect_no_new_work(void) {
  enum { THREADS = 100, LOOK_NS = 50000000 };
  int64_t begin, now;
  long count = gate_count(&worked);
  gate_pass(&leaving);
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &begin));
  do {
    if (gate_count(&worked) > count + THREADS)
      _exit(CODE + 1);
    sched_yield();
    CHECK_OK(inturn_clock_now((inturn_clock){0}, &now));
  } while (now - begin < LOOK_NS);
}

static void count_and_stay(void *context, inturn_token token) {
  gate_pass(&worked);
  GATE_WAIT(&leaving, 1);
  just_finish(context, token);
}

static void leave_with_many_queues_busy(void) {
  CHECK_INT(atexit(expect_no_new_work), 0);
  for (int i = 0; i < MANY; i++)
    CHECK_OK(inturn_queue_enqueue(pool_queue_create(INTURN_QUEUE_FIFO, NULL),
                                  count_and_stay, NULL, NULL, NULL));
  GATE_WAIT(&worked, 1);
  leave();
}

static inturn_executor late_executor, idle_executor;

/* What the host does by itself calls nothing either, and waits for nothing. */
static void drain_late(void) {
  inturn_taken taken = {NULL, {1}};
  uint32_t calls = 1;
  CHECK_OK(inturn_executor_drain(late_executor, 0, &calls));
  CHECK_INT(calls, 0);
  CHECK_OK(inturn_executor_take(late_executor, work_too_late, (inturn_token){0},
                                &taken));
  CHECK(taken.token.bits == 0);
  CHECK_OK(inturn_executor_run(late_executor));
  CHECK_OK(inturn_executor_run(idle_executor));
}

static void leave_with_drains_after_the_librarys_exit(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  CHECK_INT(atexit(drain_late), 0);
  CHECK_OK(inturn_executor_create(NULL, &idle_executor));
  CHECK_OK(inturn_executor_create(NULL, &late_executor));
  options.executor = late_executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  enqueue_many(work_too_late, NULL);
  leave();
}

static void leave_the_child(void *context) {
  inturn_queue inherited = queue;
  CHECK_STATUS(inturn_queue_destroy(inherited), INTURN_E_FORKED);
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  enqueue_many(count_work, context);
  exit(0);
}

static void leave_a_child_and_then_the_parent(void) {
  gate of_child = GATE_INIT;
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  enqueue_many(count_and_enqueue, &worked);
  GATE_WAIT(&worked, 1);
  IN_CHILD(leave_the_child, &of_child);
  leave();
}

static void leave_after_everything_was_destroyed(void) {
  queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  enqueue_many(just_finish, NULL);
  drain_and_destroy(queue);
  leave();
}

/* Each way of leaving is a test of that name. */
#define WAYS(X)                                                                \
  X(leave_with_work_pending)                                                   \
  X(leave_with_work_in_its_call)                                               \
  X(leave_with_work_that_waits_for_its_finish)                                 \
  X(leave_with_thousands_in_flight)                                            \
  X(leave_while_others_enqueue)                                                \
  X(leave_while_others_wait)                                                   \
  X(leave_while_another_runs_an_executor)                                      \
  X(leave_inside_work)                                                         \
  X(leave_inside_a_condition)                                                  \
  X(leave_inside_an_end)                                                       \
  X(leave_inside_the_end_of_a_batch)                                           \
  X(leave_inside_an_observer)                                                  \
  X(leave_inside_the_destruction_of_a_batchs_item)                             \
  X(leave_inside_a_cancel_handler)                                             \
  X(leave_inside_work_on_the_main_thread)                                      \
  X(leave_inside_a_destruction)                                                \
  X(leave_with_deadlines_falling_due)                                          \
  X(leave_with_exit_handlers_that_use_the_library)                             \
  X(leave_with_a_destruction_after_the_librarys_exit)                          \
  X(leave_with_many_queues_busy)                                               \
  X(leave_with_drains_after_the_librarys_exit)                                 \
  X(leave_a_child_and_then_the_parent)                                         \
  X(leave_after_everything_was_destroyed)

static void check_leaving(const char *way) {
  for (long round = scaled(50); round > 0; round--) {
    int status = run_self("--leave", way);
    if (WIFSIGNALED(status))
      FAIL("%s was ended by signal %d", way, WTERMSIG(status));
    if (WEXITSTATUS(status) != CODE)
      FAIL("%s has ended with %d", way, WEXITSTATUS(status));
  }
}

#define DEFINE_TEST(way)                                                       \
  static void test_##way(void) { check_leaving(#way); }
WAYS(DEFINE_TEST)

#define LIST_WAY(way) TEST(way),
#define LIST_TEST(way) {#way, test_##way},

int main(int argc, char **argv) {
  static const test ways[] = {WAYS(LIST_WAY)};
  static const test tests[] = {WAYS(LIST_TEST)};
  const program all = {"exit", tests, sizeof tests / sizeof *tests, NULL, NULL};
  if (argc < 3 || strcmp(argv[1], "--leave") != 0)
    return run_tests(&all, argc, argv);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].name, argv[2]) == 0)
      ways[i].run();
  return 0;
}
