/*
 * idle.c - what has nothing to do wakes nobody.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <poll.h>
#include <sys/resource.h>

enum { SECOND_MS = 1000 };
#define SECOND_NS INT64_C(1000000000)

static void an_idle_interaction_queue_wakes_nobody_in_a_minute(void) {
  stage stage =
      stage_create_with(INTURN_QUEUE_INTERACTION,
                        (inturn_queue_options)INTURN_QUEUE_OPTIONS_INIT);
  gate wakes = GATE_INIT;
  job jobs[2] = {JOB("a"), JOB("b")};
  CHECK_OK(inturn_executor_set_wake(stage.executor, count_wake, &wakes, NULL));
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  for (int i = 0; i < 2; i++)
    job_enqueue(stage.queue, &jobs[i], work_hold);
  for (int i = 0; i < 2; i++) {
    stage_advance(&stage, SECOND_NS);
    CHECK_OK(inturn_token_finish(jobs[i].token));
    stage_drain(&stage);
  }
  /* The gap after the last one is over, too. */
  stage_advance(&stage, SECOND_NS);
  long before = gate_count(&wakes);
  for (int i = 0; i < 60; i++)
    CHECK_OK(inturn_clock_advance(stage.clock, SECOND_NS));
  CHECK_INT(gate_count(&wakes), before);
  CHECK_INT(stage_drain(&stage), 0);
  stage_destroy(&stage);
}

/* Waits three seconds for a descriptor, which stays quiet, and gives how often
   threads of this process have been woken meanwhile. */
static long wakeups_of_quiet_seconds(int fd) {
  struct rusage before, after;
  struct pollfd quiet = {.fd = fd, .events = POLLIN};
  CHECK_INT(getrusage(RUSAGE_SELF, &before), 0);
  CHECK_INT(poll(&quiet, 1, 3 * SECOND_MS), 0);
  CHECK_INT(getrusage(RUSAGE_SELF, &after), 0);
  return after.ru_nvcsw - before.ru_nvcsw;
}

/* All that the library may have running has been used, and has come to rest. */
static void an_idle_process_is_not_woken(void) {
  /* Of this thread, and of a sanitizer's. */
  long without = wakeups_of_quiet_seconds(-1);
  inturn_executor_options host_options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor host;
  CHECK_OK(inturn_executor_create(&host_options, &host));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = host;
  options.settle_ns = options.gap_ns = 0;
  inturn_queue dialogs, work;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &dialogs));
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  work = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  gate done = GATE_INIT;
  inturn_operation_options timed = INTURN_OPERATION_OPTIONS_INIT;
  timed.max_run_ns = 60 * SECOND_NS;
  for (int i = 0; i < 1000; i++)
    CHECK_OK(
        inturn_queue_enqueue_with(work, &timed, count_work, &done, NULL, NULL));
  CHECK_OK(inturn_queue_drain(work, LIMIT_NS));
  CHECK_OK(inturn_queue_enqueue(dialogs, count_work, &done, NULL, NULL));
  CHECK_OK(inturn_executor_drain(host, 0, NULL));
  int fd;
  CHECK_OK(inturn_executor_fd(host, &fd));
  /* The pool looks once a second whether it has more threads than it needs. */
  wakeups_of_quiet_seconds(fd);
  CHECK(wakeups_of_quiet_seconds(fd) <= without + 2);
  CHECK_OK(inturn_queue_destroy(work));
  CHECK_OK(inturn_queue_destroy(dialogs));
  CHECK_OK(inturn_executor_destroy(host));
}

PROGRAM(idle, TEST(an_idle_interaction_queue_wakes_nobody_in_a_minute),
        TEST(an_idle_process_is_not_woken))
