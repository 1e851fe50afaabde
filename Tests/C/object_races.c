/*
 * object_races.c - executors and clocks that are used and destroyed at the same
 * moment: a call finds them intact, or is told that they are gone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "race.h"

static inturn_executor executor;
static inturn_clock manual;
static atomic_int contexts;

/* Both statuses are allowed when a call meets a destruction. */
static void check_ok_or_stale(inturn_status status) {
  if (status != INTURN_E_STALE)
    CHECK_OK(status);
}

static void check_ok_or_busy(inturn_status status) {
  if (status != INTURN_E_BUSY)
    CHECK_OK(status);
}

/* Creates a queue, if its objects still exist, and destroys it. */
static void create_queue(inturn_queue_options options) {
  inturn_queue queue = {0};
  check_ok_or_stale(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  if (queue.bits != 0)
    CHECK_OK(inturn_queue_destroy(queue));
}

/* Executors. The context of the wake callback counts its contexts. */
static void wake(void *context) { CHECK(context == &contexts && contexts > 0); }

static void destroy_context(void *context) {
  CHECK(context == &contexts);
  atomic_fetch_sub(&contexts, 1);
}

static void create_executor(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.wake = wake;
  options.wake_context = &contexts;
  options.wake_destroy = destroy_context;
  atomic_store(&contexts, 1);
  CHECK_OK(inturn_executor_create(&options, &executor));
}

static void create_queue_on_executor(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  create_queue(options);
}

static void drive_executor(void) {
  int fd;
  check_ok_or_stale(inturn_executor_fd(executor, &fd));
  check_ok_or_stale(inturn_executor_stop(executor));
  check_ok_or_stale(inturn_executor_drain(executor, 1, NULL));
}

static void replace_wake(void) {
  atomic_fetch_add(&contexts, 1);
  check_ok_or_stale(
      inturn_executor_set_wake(executor, wake, &contexts, destroy_context));
}

static void destroy_executor(void) {
  check_ok_or_busy(inturn_executor_destroy(executor));
}

static void judge_executor(void) {
  check_ok_or_stale(inturn_executor_destroy(executor));
  CHECK_INT(contexts, 0);
}

static void an_executor_is_whole_or_gone(void) {
  run_race(&(race){create_executor,
                   {create_queue_on_executor, drive_executor, replace_wake,
                    destroy_executor},
                   judge_executor});
}

/* Clocks. */
static void create_clock(void) {
  CHECK_OK(inturn_clock_create_manual(&manual));
}

static void create_queue_with_clock(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.clock = manual;
  create_queue(options);
}

static void drive_clock(void) {
  int64_t now;
  check_ok_or_stale(inturn_clock_advance(manual, 1));
  check_ok_or_stale(inturn_clock_now(manual, &now));
}

static void destroy_clock(void) {
  check_ok_or_busy(inturn_clock_destroy(manual));
}

static void judge_clock(void) {
  check_ok_or_stale(inturn_clock_destroy(manual));
}

static void a_clock_is_whole_or_gone(void) {
  run_race(&(race){create_clock,
                   {create_queue_with_clock, drive_clock, destroy_clock},
                   judge_clock});
}

PROGRAM(object_races, TEST(an_executor_is_whole_or_gone),
        TEST(a_clock_is_whole_or_gone))
