/*
 * stuck_life.c - who looks for stalls, and when.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "stuck.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char watchdog[] = "inturn-watchdog";

static void looks_only_while_something_is_there(inturn_queue_kind kind) {
  stalls_begin(20 * MS);
  await_threads(watchdog, 0);
  inturn_queue queue = pool_queue_create(kind, "rare");
  await_threads(watchdog, 0);
  for (int i = 0; i < 2; i++) {
    inturn_token token;
    hold(queue, "held", &token);
    await_threads(watchdog, 1);
    CHECK_OK(inturn_token_finish(token));
    CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
    await_threads(watchdog, 0);
    /* An idle queue that is suspended needs no thread. */
    CHECK_OK(inturn_queue_suspend(queue));
    await_threads(watchdog, 0);
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
    await_threads(watchdog, 1);
    CHECK_OK(inturn_queue_cancel_all(queue));
    CHECK_OK(inturn_queue_resume(queue));
    CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
    await_threads(watchdog, 0);
  }
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

static void nobody_looks_while_nothing_is_there(void) {
  for_each_kind(looks_only_while_something_is_there);
}

static void nobody_looks_while_that_is_off(void) {
  stalls_begin(-1);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  await_threads(watchdog, 0);
  CHECK_OK(inturn_report_set_stall_limit(20 * MS));
  STALL("token load@network");
  CHECK_OK(inturn_report_set_stall_limit(-1));
  await_threads(watchdog, 0);
  CHECK_OK(inturn_report_set_stall_limit(20 * MS));
  await_threads(watchdog, 1);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
  stalls_end();
}

/* A queue that was only slow is given twice as long before the next report. */
static void what_was_slow_is_given_longer(void) {
  stalls_begin(20 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token token;
  hold(queue, "first", &token);
  inturn_token next;
  inturn_operation_options options = labelled("second");
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, keep_token, &next, NULL,
                                     NULL));
  enqueue_one(queue, NULL);
  STALL("token first@network");
  CHECK_OK(inturn_token_finish(token));
  stall told = STALL("token second@network");
  CHECK(told.stalled_ns >= 40 * MS);
  CHECK_OK(inturn_token_finish(next));
  drain_and_destroy(queue);
  stalls_end();
}

/* The handler ------------------------------------------------------------- */

static gate blocked = GATE_INIT, go_on = GATE_INIT;

static void block_handler(const inturn_report *report) {
  CHECK(report->message != NULL);
  gate_pass(&blocked);
  GATE_WAIT(&go_on, 1);
}

static void the_handler_may_block(void) {
  stalls_told = block_handler;
  stalls_begin(20 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue other = labelled_queue(INTURN_QUEUE_FIFO, "other");
  inturn_operation_options limited = labelled("limited");
  inturn_operation operation;
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  GATE_WAIT(&blocked, 1);
  /* Deadlines, which the clock's thread delivers, and work continue. */
  limited.max_wait_ns = MS;
  CHECK_OK(inturn_queue_enqueue_with(queue, &limited, never_work, NULL, NULL,
                                     &operation));
  CHECK_INT(end_of(operation).cause, INTURN_CAUSE_MAX_WAIT);
  CHECK_OK(inturn_operation_release(operation));
  enqueue_one(other, NULL);
  drain_and_destroy(other);
  gate_pass(&go_on);
  STALL("token load@network");
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
  stalls_end();
}

static inturn_token handlers_token;

static void finish_in_handler(const inturn_report *report) {
  CHECK(report->chain_count == 1);
  CHECK_OK(inturn_token_finish(handlers_token));
}

static void the_handler_may_end_what_is_stuck(void) {
  stalls_told = finish_in_handler;
  stalls_begin(20 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  hold(queue, "load", &handlers_token);
  enqueue_one(queue, NULL);
  drain_and_destroy(queue);
  stalls_end();
}

/* Forks and exits --------------------------------------------------------- */

static void be_stuck(void *label) {
  stalls_begin(20 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, label);
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  char chain[64];
  snprintf(chain, sizeof chain, "token load@%s", (const char *)label);
  STALL(chain);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
  stalls_end();
}

static void a_child_has_a_watchdog_of_its_own(void) {
  stalls_begin(20 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "parent's");
  inturn_token load;
  hold(queue, "load", &load);
  await_threads(watchdog, 1);
  char label[] = "child's";
  IN_CHILD(be_stuck, label);
  enqueue_one(queue, NULL);
  STALL("token load@parent's");
  IN_CHILD(be_stuck, label);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
  stalls_end();
}

static gate never = GATE_INIT;

static void block_for_ever(const inturn_report *report) {
  CHECK(report->kind == INTURN_REPORT_STALL);
  gate_pass(&blocked);
  GATE_WAIT(&never, 1);
}

static void a_process_exits_while_the_handler_blocks(void) {
  if (!is_alone(__func__, "INTURN_STALL", NULL))
    return;
  stalls_told = block_for_ever;
  stalls_begin(20 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  GATE_WAIT(&blocked, 1);
  exit(0);
}

/* What moves, and what cannot move ---------------------------------------- */

static int64_t now_ns(void) {
  int64_t now;
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &now));
  return now;
}

static void what_reports_progress_moves(void) {
  const int64_t limit = 200 * MS;
  stalls_begin(limit);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  int64_t begin = now_ns(), last = begin, longest = 0;
  for (int64_t number = 1; last - begin < 3 * limit; number++) {
    CHECK_OK(inturn_token_set_progress(load, number, 0));
    int64_t now = now_ns();
    longest = now - last > longest ? now - last : longest;
    last = now;
  }
  /* Unless this thread itself stood still for so long. */
  CHECK(stalls_of("token load@network") == 0 || longest > limit / 2);
  STALL("token load@network");
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
  stalls_end();
}

/* Goes on when it can read a byte; nothing may be reported before. */
static void work_with_pauses(int end) {
  stalls_begin(1000 * MS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  await_threads(watchdog, 1);
  char byte = 's';
  CHECK_INT(write(end, &byte, 1), 1);
  CHECK_INT(read(end, &byte, 1), 1);
  int64_t begin = now_ns();
  CHECK_OK(inturn_token_finish(load));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK(stalls_of("token load@network") == 0 || now_ns() - begin > 900 * MS);
  _exit(0);
}

/* As by Ctrl-Z and fg, or in a debugger. */
static void a_process_that_was_stopped_has_its_time_anew(void) {
  int ends[2];
  char byte;
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0)
    work_with_pauses(ends[1]);
  CHECK_INT(close(ends[1]), 0);
  if (read(ends[0], &byte, 1) != 1)
    FAIL("it has ended: %d", wait_for_child(child));
  CHECK_INT(kill(child, SIGSTOP), 0);
  int status;
  CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
  /* The time for which it is stopped. */
  CHECK_INT(poll(NULL, 0, 1800), 0);
  CHECK_INT(write(ends[0], &byte, 1), 1);
  CHECK_INT(kill(child, SIGCONT), 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
  CHECK_INT(close(ends[0]), 0);
}

/* Races ------------------------------------------------------------------- */

/* Its queue may be destroyed meanwhile. */
static void try_to_finish(void *context, inturn_token token) {
  CHECK(context == NULL);
  inturn_status status = inturn_token_finish(token);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

/* Queues are created, stalled and destroyed while the watchdog looks. */
static void use_queues(int index) {
  static const inturn_queue_kind kinds[] = {
      INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR, INTURN_QUEUE_CONCURRENT};
  uint64_t random = (uint64_t)index;
  for (long i = scaled(3000); i > 0; i--) {
    inturn_queue queue = labelled_queue(kinds[i % 3], "busy");
    inturn_operation first = {0}, second;
    inturn_operation_options options = labelled("one");
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, try_to_finish, NULL,
                                       NULL, &first));
    if (next_random(&random) % 2)
      CHECK_OK(inturn_queue_suspend(queue));
    options.after = &first;
    options.after_count = 1;
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, try_to_finish, NULL,
                                       NULL, &second));
    if (next_random(&random) % 16 == 0) {
      /* It is stuck if the queue is suspended. */
      inturn_status status = inturn_operation_wait(second, 2 * MS, NULL);
      CHECK(status == INTURN_OK || status == INTURN_E_TIMED_OUT);
    }
    CHECK_OK(inturn_operation_release(first));
    CHECK_OK(inturn_queue_destroy(queue));
    CHECK_OK(inturn_operation_release(second));
  }
}

static void it_looks_while_queues_come_and_go(void) {
  stalls_begin(1);
  in_parallel(4, use_queues);
  stalls_end();
}

PROGRAM(stuck_life, TEST(nobody_looks_while_nothing_is_there),
        TEST(nobody_looks_while_that_is_off),
        TEST(what_was_slow_is_given_longer), TEST(the_handler_may_block),
        TEST(the_handler_may_end_what_is_stuck),
        TEST(a_child_has_a_watchdog_of_its_own),
        TEST(a_process_exits_while_the_handler_blocks),
        TEST(what_reports_progress_moves),
        TEST(a_process_that_was_stopped_has_its_time_anew),
        TEST(it_looks_while_queues_come_and_go))
