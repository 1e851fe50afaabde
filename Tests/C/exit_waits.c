/*
 * exit_waits.c - section 12 of the manual: when the process exits, nothing is
 * waited for, also not by who has begun before. This program runs itself again
 * for each wait, whose thread an exit handler joins.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>
#include <sys/wait.h>

enum { CODE = 7 };

static inturn_queue queue;
static inturn_operation operation;
static inturn_batch batch;
static inturn_value value;
static inturn_executor executor;

static bool never(void *context, const inturn_datum *datum) {
  CHECK(context == NULL && datum != NULL);
  return false;
}

static void ignore_change(void *context, const inturn_change *change) {
  CHECK(context == NULL && change != NULL);
}

static void drains(void) {
  CHECK_STATUS(inturn_queue_drain(queue, -1), INTURN_E_TIMED_OUT);
}

static void drains_for_long(void) {
  CHECK_STATUS(inturn_queue_drain(queue, INT64_MAX), INTURN_E_TIMED_OUT);
}

static void waits_for_an_operation(void) {
  CHECK_STATUS(inturn_operation_wait(operation, -1, NULL), INTURN_E_TIMED_OUT);
}

static void waits_for_a_batch(void) {
  CHECK_STATUS(inturn_batch_wait(batch, -1, NULL), INTURN_E_TIMED_OUT);
}

static void waits_for_a_value(void) {
  CHECK_STATUS(inturn_value_wait(value, never, NULL, -1, NULL),
               INTURN_E_TIMED_OUT);
}

static void drains_a_value(void) {
  CHECK_STATUS(inturn_value_drain(value, -1), INTURN_E_TIMED_OUT);
}

static void waits_for_work(void) {
  CHECK_STATUS(inturn_executor_wait(executor, -1, NULL), INTURN_E_TIMED_OUT);
}

static void runs_an_executor(void) { CHECK_OK(inturn_executor_run(executor)); }

#define WAITS(X)                                                               \
  X(drains)                                                                    \
  X(drains_for_long)                                                           \
  X(waits_for_an_operation)                                                    \
  X(waits_for_a_batch)                                                         \
  X(waits_for_a_value)                                                         \
  X(drains_a_value)                                                            \
  X(waits_for_work)                                                            \
  X(runs_an_executor)

static thread waiting;
static gate begun = GATE_INIT;

static void begin_to(void *wait) {
  gate_pass(&begun);
  (*(void (**)(void))wait)();
}

/* The library has begun to exit before. */
static void join_the_waiting(void) { thread_join(&waiting); }

static void leave_while_another(void (*wait)(void)) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_observe_options observing = INTURN_OBSERVE_OPTIONS_INIT;
  const inturn_datum first = INTURN_INTEGER(1);
  inturn_batch_item item = {just_finish, NULL, NULL};
  CHECK_INT(atexit(join_the_waiting), 0);
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_OK(inturn_executor_create(NULL, &options.executor)); /* never drained */
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, &operation));
  CHECK_OK(inturn_queue_enqueue_batch(queue, NULL, &item, 1, &batch));
  CHECK_OK(inturn_value_create(NULL, &first, &value));
  observing.queue = queue;
  CHECK_OK(
      inturn_value_observe(value, &observing, ignore_change, NULL, NULL, NULL));
  CHECK_OK(inturn_value_set_integer(value, 2));
  thread_start(&waiting, begin_to, &wait);
  GATE_WAIT(&begun, 1);
  /* It sleeps by then, most of the time. */
  CHECK_STATUS(inturn_queue_drain(queue, 2000000), INTURN_E_TIMED_OUT);
  exit(CODE);
}

static void check_leaving(const char *wait) {
  for (long round = scaled(50); round > 0; round--) {
    int status = run_self("--leave", wait);
    if (WIFSIGNALED(status))
      FAIL("%s was ended by signal %d", wait, WTERMSIG(status));
    if (WEXITSTATUS(status) != CODE)
      FAIL("%s has ended with %d", wait, WEXITSTATUS(status));
  }
}

#define DEFINE_TEST(wait)                                                      \
  static void one_that_##wait##_returns(void) { check_leaving(#wait); }
WAITS(DEFINE_TEST)

#define LIST_WAIT(wait) TEST(wait),
#define LIST_TEST(wait) TEST(one_that_##wait##_returns),

int main(int argc, char **argv) {
  static const test waits[] = {WAITS(LIST_WAIT)};
  static const test tests[] = {WAITS(LIST_TEST)};
  const program all = {"exit_waits", tests, sizeof tests / sizeof *tests, NULL,
                       NULL};
  if (argc < 3 || strcmp(argv[1], "--leave") != 0)
    return run_tests(&all, argc, argv);
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
    if (strcmp(waits[i].name, argv[2]) == 0)
      leave_while_another(waits[i].run);
  return 0;
}
