/*
 * stuck_default.c - after how long the default reports what is stuck, and how.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "stuck.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static const char watchdog[] = "inturn-watchdog";

/* Reads a line from the other end of the standard error. */
static void read_line(int end, char *line, size_t room) {
  size_t length = 0;
  while (length == 0 || line[length - 1] != '\n') {
    struct pollfd readable = {.fd = end, .events = POLLIN};
    /* What is told after ten seconds has the limit from then on. */
    CHECK_INT(poll(&readable, 1, (10 + LIMIT_SECONDS) * 1000), 1);
    ssize_t got = read(end, line + length, length < room - 1 ? 1 : 0);
    CHECK(got > 0);
    length += (size_t)got;
  }
  line[length] = '\0';
}

/* Causes a stall, and reads the line about it. If the system has no thread for
   the pool, a line says so before. */
static void read_line_of_stall(int end, char *line, size_t room) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, NULL);
  do
    read_line(end, line, room);
  while (strncmp(line, "inturn: no thread can be started", 32) == 0);
  char way_out[256], expected[128];
  read_line(end, way_out, sizeof way_out);
  snprintf(expected, sizeof expected,
           "inturn holders %d says who has the token", (int)getpid());
  CHECK(strncmp(way_out, "  a copy of the token is ", 25) == 0 ||
        way_out[2] == 'i'); /* where memory is not searched */
  if (strstr(way_out, expected) == NULL)
    FAIL("%s is not in %s", expected, way_out);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
}

/* Checks the line, and returns the milliseconds in it. */
static int check_line(const char *line) {
  int seconds = 0, rest = 0;
  const char *site = strstr(line, ": \"load\" (");
  CHECK(site != NULL && strstr(site, "stalls.c:") != NULL);
  CHECK(strstr(site, ") of queue \"network\": running for ") != NULL);
  if (sscanf(line, "inturn: stuck for %d.%d s: ", &seconds, &rest) == 2)
    return seconds * 1000 + rest * 100;
  CHECK_INT(sscanf(line, "inturn: stuck for %d ms: ", &rest), 1);
  return rest;
}

static void the_default_prints_a_line_after_a_second_on_a_terminal(void) {
  if (!is_alone(__func__, "INTURN_STALL", NULL))
    return;
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  int other_end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  CHECK(other_end >= 0);
  redirect_standard_error(other_end);
  char line[512];
  read_line_of_stall(terminal, line, sizeof line);
  int stood = check_line(line);
  CHECK(stood >= 1000 && stood < 10000);
}

static void the_environment_says_after_how_long(void) {
  if (!is_alone(__func__, "INTURN_STALL", "30ms"))
    return;
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  redirect_standard_error(ends[1]);
  char line[512];
  read_line_of_stall(ends[0], line, sizeof line);
  int stood = check_line(line);
  CHECK(stood >= 30 && stood < 10000);
}

/* No more than ten are told in a minute. */
static void the_default_says_that_there_is_more(void) {
  enum { QUEUES = 16 };
  if (!is_alone(__func__, "INTURN_STALL", "30ms"))
    return;
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  redirect_standard_error(ends[1]);
  inturn_queue queues[QUEUES];
  inturn_token tokens[QUEUES];
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = labelled_queue(INTURN_QUEUE_FIFO, "network");
    hold(queues[i], "load", &tokens[i]);
    enqueue_one(queues[i], NULL);
  }
  char line[512], expected[64];
  int told = 0;
  do {
    read_line(ends[0], line, sizeof line);
    told += strncmp(line, "inturn: stuck for ", 18) == 0;
  } while (strncmp(line, "inturn: more ", 13) != 0);
  CHECK_INT(told, 10);
  snprintf(expected, sizeof expected,
           "inturn: more is stuck; inturn why %d tells all\n", (int)getpid());
  CHECK_TEXT(line, expected);
  for (int i = 0; i < QUEUES; i++) {
    CHECK_OK(inturn_token_finish(tokens[i]));
    drain_and_destroy(queues[i]);
  }
}

static gate tenth = GATE_INIT;
static char tenth_message[1024];

static void take_the_tenth(void *context, const inturn_report *report) {
  static int told;
  (void)context;
  if (report->kind != INTURN_REPORT_STALL || ++told != 10)
    return;
  snprintf(tenth_message, sizeof tenth_message, "%s", report->message);
  gate_pass(&tenth);
}

static void a_handler_is_told_that_there_is_more(void) {
  enum { QUEUES = 16 };
  if (!is_alone(__func__, "INTURN_STALL", NULL))
    return;
  inturn_queue queues[QUEUES];
  inturn_token tokens[QUEUES];
  char expected[64];
  CHECK_OK(inturn_report_set_handler(take_the_tenth, NULL, NULL));
  CHECK_OK(inturn_report_set_stall_limit(-1));
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = labelled_queue(INTURN_QUEUE_FIFO, "network");
    hold(queues[i], "load", &tokens[i]);
    enqueue_one(queues[i], NULL);
  }
  CHECK_OK(inturn_report_set_stall_limit(30000000));
  GATE_WAIT(&tenth, 1);
  snprintf(expected, sizeof expected,
           ". More is stuck; inturn why %d tells all.", (int)getpid());
  CHECK(strstr(tenth_message, expected) != NULL);
  for (int i = 0; i < QUEUES; i++) {
    CHECK_OK(inturn_token_finish(tokens[i]));
    drain_and_destroy(queues[i]);
  }
  CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
}

static void what_the_environment_says_in_vain_is_told(void) {
  if (!is_alone(__func__, "INTURN_STALL", "1.5s"))
    return;
  int ends[2];
  char line[512];
  CHECK_INT(pipe(ends), 0);
  redirect_standard_error(ends[1]);
  CHECK_OK(inturn_report_set_stall_limit(0));
  read_line(ends[0], line, sizeof line);
  CHECK_TEXT(line, "inturn: INTURN_STALL: it is not a time such as 500ms or "
                   "2s, or off\n");
}

static void the_environment_turns_it_off(void) {
  if (!is_alone(__func__, "INTURN_STALL", "off"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  await_threads(watchdog, 0);
  CHECK_OK(inturn_report_set_stall_limit(20 * MS));
  await_threads(watchdog, 1);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
}

/* Where somebody looks ---------------------------------------------------- */

/* The milliseconds that something is stuck before it is told, by default, with
   a pipe as the standard error. */
static int time_until_told(void) {
  int ends[2];
  char line[512];
  CHECK_INT(pipe(ends), 0);
  redirect_standard_error(ends[1]);
  read_line_of_stall(ends[0], line, sizeof line);
  return check_line(line);
}

static void check_told_after_a_second(void) {
  CHECK_INT(unsetenv("INTURN_STALL"), 0);
  CHECK_OK(inturn_report_set_stall_limit(0)); /* as the environment says now */
  int stood = time_until_told();
  CHECK(stood >= 1000 && stood < 10000);
}

static void a_test_of_meson_is_told_after_a_second(void) {
  if (is_alone(__func__, "MESON_TEST_ITERATION", "1"))
    check_told_after_a_second();
}

static void a_test_of_pytest_is_told_after_a_second(void) {
  if (is_alone(__func__, "PYTEST_CURRENT_TEST", "test_it.py::test (call)"))
    check_told_after_a_second();
}

/* Follows all threads of the process from now on, as a debugger does. Returns
   the process that does so; 0 where that is forbidden. */
static pid_t attach_debugger(void) {
  int ready[2];
  char is_there = 0;
  CHECK_INT(pipe(ready), 0);
  pid_t process = getpid(), debugger = fork();
  CHECK(debugger >= 0);
  if (debugger == 0) {
    close(ready[0]);
    is_there = ptrace(PTRACE_SEIZE, process, NULL, PTRACE_O_TRACECLONE) == 0;
    if (write(ready[1], &is_there, 1) != 1 || !is_there)
      _exit(0);
    for (int status, thread; (thread = waitpid(-1, &status, __WALL)) > 0;)
      if (WIFSTOPPED(status)) {
        int signal =
            status >> 8 == SIGTRAP || status >> 16 ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, thread, NULL, signal);
      }
    _exit(0);
  }
  /* Only where the system asks for it. */
  (void)prctl(PR_SET_PTRACER, debugger, 0, 0, 0);
  close(ready[1]);
  CHECK_INT(read(ready[0], &is_there, 1), 1);
  close(ready[0]);
  if (is_there)
    return debugger;
  CHECK_INT(waitpid(debugger, NULL, 0), debugger);
  return 0;
}

static void who_is_debugged_is_told_after_a_second(void) {
  if (!is_alone(__func__, "INTURN_STALL", NULL))
    return;
  pid_t debugger = attach_debugger();
  int stood = debugger ? time_until_told() : 1000;
  CHECK(stood >= 1000 && stood < 10000);
  if (debugger == 0)
    return;
  CHECK_INT(kill(debugger, SIGKILL), 0);
  CHECK_INT(waitpid(debugger, NULL, 0), debugger);
}

static void others_are_told_after_ten_seconds(void) {
  if (!is_alone(__func__, "INTURN_STALL", NULL))
    return;
  CHECK(time_until_told() >= 10000);
}

PROGRAM(stuck_default,
        TEST(the_default_prints_a_line_after_a_second_on_a_terminal),
        TEST(the_environment_says_after_how_long),
        TEST(the_default_says_that_there_is_more),
        TEST(a_handler_is_told_that_there_is_more),
        TEST(what_the_environment_says_in_vain_is_told),
        TEST(the_environment_turns_it_off),
        TEST(a_test_of_meson_is_told_after_a_second),
        TEST(a_test_of_pytest_is_told_after_a_second),
        TEST(who_is_debugged_is_told_after_a_second),
        TEST(others_are_told_after_ten_seconds))
