/*
 * answers.c - how a process answers by itself when the environment says how to
 * ask it: INTURN_DUMP, by a signal.
 *
 * SPDX-License-Identifier: MIT
 *
 * Each test runs again in a process of its own, as the environment is read when
 * the library is loaded.
 */
#include "answers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void a_signal_asks_for_a_dump_on_the_standard_error(void) {
  if (!is_alone(__func__, "INTURN_DUMP", "SIGUSR2"))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  for (int i = 0; i < 3; i++) {
    CHECK_INT(kill(getpid(), SIGUSR2), 0);
    await_text(other_end, "\n  operation \"load\" running ");
  }
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
}

/* Both workers and the initial thread are in calls. */
static void
it_answers_while_all_threads_are_blocked_and_block_the_signal(void) {
  if (!is_alone(__func__, "INTURN_DUMP", "SIGQUIT"))
    return;
  sigset_t all;
  CHECK_INT(sigfillset(&all), 0);
  CHECK_INT(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
  int other_end = read_standard_error();
  static job blocked = JOB("blocked");
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job_enqueue(queue, &blocked, work_block);
  GATE_WAIT(&blocked.started, 1);
  CHECK_INT(kill(getpid(), SIGQUIT), 0);
  await_text(other_end, "\n  operation \"blocked\" running call ");
  exit(0);
}

static void a_signal_before_the_first_use_is_answered_then(void) {
  if (!is_alone(__func__, "INTURN_DUMP", "SIGHUP"))
    return;
  int other_end = read_standard_error();
  await_threads("inturn-answers", 0);
  CHECK_INT(raise(SIGHUP), 0);
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  await_text(other_end, "executor pool id=0x");
  drain_and_destroy(queue);
}

/* Opens a file once it is there. A line on the standard error says why not. */
static int await_file(const char *path, int other_end) {
  time_t limit = time(NULL) + LIMIT_SECONDS;
  int file;
  while ((file = open(path, O_RDONLY)) < 0) {
    struct pollfd readable = {.fd = other_end, .events = POLLIN};
    if (time(NULL) > limit || poll(&readable, 1, 0) == 1)
      await_text(other_end, "nothing but that it could not");
    sched_yield();
  }
  return file;
}

/* Always a complete file, as it replaces the previous one atomically. */
static void a_file_has_the_dump_in_the_format_of_its_name(void) {
  if (!is_alone_in_folder(__func__, "INTURN_DUMP", "SIGUSR1:", "%p.json"))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  char path[128], text[4096];
  path_of_answers("INTURN_DUMP", getpid(), path, sizeof path);
  /* Nothing is written into what was there, such as another user's pipe. */
  char part[160];
  snprintf(part, sizeof part, "%s.%d.part", path, (int)getpid());
  CHECK_INT(mkfifo(part, 0666), 0);
  CHECK_INT(raise(SIGUSR1), 0);
  int file = await_file(path, other_end);
  struct stat stat;
  CHECK_INT(fstat(file, &stat), 0);
  CHECK_INT(stat.st_mode & 07777, 0600);
  ssize_t length = read(file, text, sizeof text - 1);
  CHECK(length > 0);
  text[length] = '\0';
  CHECK_INT(strncmp(text, "{\"now_ns\":", 10), 0);
  CHECK(strstr(text, "\"label\":\"network\"") != NULL);
  CHECK_TEXT(text + length - 4, "\n]}\n");
  CHECK_INT(close(file), 0);
  CHECK_INT(unlink(path), 0);
  drain_and_destroy(queue);
}

static void a_dump_goes_into_a_pipe_that_is_there(void) {
  if (!is_alone_in_folder(__func__, "INTURN_DUMP", "SIGUSR1:", "%p.json"))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  char path[128];
  struct stat stat;
  path_of_answers("INTURN_DUMP", getpid(), path, sizeof path);
  CHECK_INT(mkfifo(path, 0600), 0);
  /* Nobody reads it. */
  CHECK_INT(raise(SIGUSR1), 0);
  await_text(other_end, "inturn: INTURN_DUMP: cannot write /");
  int reader = open(path, O_RDWR);
  CHECK(reader >= 0);
  CHECK_INT(raise(SIGUSR1), 0);
  await_text(reader, "\n]}\n");
  CHECK_INT(lstat(path, &stat), 0);
  CHECK(S_ISFIFO(stat.st_mode));
  CHECK_INT(close(reader), 0);
  CHECK_INT(unlink(path), 0);
  drain_and_destroy(queue);
}

/* Also where it leads to nothing. */
static void a_link_stays_and_the_file_at_its_end_is_replaced(void) {
  if (!is_alone_in_folder(__func__, "INTURN_DUMP", "SIGUSR1:", "%p.json"))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  char path[128], target[160];
  struct stat stat, before;
  path_of_answers("INTURN_DUMP", getpid(), path, sizeof path);
  snprintf(target, sizeof target, "%s.target", path);
  CHECK_INT(symlink(target, path), 0);
  /* At first, there is none. */
  CHECK_INT(raise(SIGUSR1), 0);
  int file = await_file(target, other_end);
  time_t limit = time(NULL) + LIMIT_SECONDS;
  do {
    CHECK(time(NULL) <= limit);
    sched_yield();
    CHECK_INT(fstat(file, &before), 0);
  } while (before.st_size == 0);
  CHECK_INT(raise(SIGUSR1), 0);
  do {
    CHECK(time(NULL) <= limit);
    sched_yield();
    CHECK_INT(lstat(target, &stat), 0);
  } while (stat.st_ino == before.st_ino);
  CHECK(stat.st_size > 0);
  CHECK_INT(lstat(path, &stat), 0);
  CHECK(S_ISLNK(stat.st_mode));
  CHECK_INT(close(file), 0);
  CHECK_INT(unlink(path), 0);
  CHECK_INT(unlink(target), 0);
  drain_and_destroy(queue);
}

static char path_of_trace[128];

static void remove_trace(void) { (void)unlink(path_of_trace); }

static void read_a_little_and_go(void *reader) {
  char text[100];
  struct pollfd readable = {.fd = *(int *)reader, .events = POLLIN};
  CHECK_INT(poll(&readable, 1, LIMIT_SECONDS * 1000), 1);
  CHECK(read(readable.fd, text, sizeof text) > 0);
  CHECK_INT(close(readable.fd), 0);
}

/* It is more than has room in a pipe. */
static void a_trace_whose_reader_goes_ends_no_process(void) {
  if (!is_alone_in_folder(__func__, "INTURN_TRACE", "", "%p.json"))
    return;
  CHECK_INT(atexit(remove_trace), 0); /* after the library's exit handler */
  thread thread;
  sigset_t pending;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  for (int i = 0; i < 5000; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  drain_and_destroy(queue);
  path_of_answers("INTURN_TRACE", getpid(), path_of_trace,
                  sizeof path_of_trace);
  CHECK_INT(mkfifo(path_of_trace, 0600), 0);
  int reader = open(path_of_trace, O_RDONLY | O_NONBLOCK);
  CHECK(reader >= 0);
  thread_start(&thread, read_a_little_and_go, &reader);
  CHECK_OK(inturn_trace_write(-1));
  thread_join(&thread);
  CHECK_INT(sigpending(&pending), 0);
  CHECK(!sigismember(&pending, SIGPIPE));
}

static void a_file_that_cannot_be_written_is_said_in_a_line(void) {
  if (!is_alone(__func__, "INTURN_DUMP", "SIGUSR1:/nowhere/at/all"))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_INT(raise(SIGUSR1), 0);
  await_text(other_end, "inturn: INTURN_DUMP: cannot write /nowhere/at/all\n");
  drain_and_destroy(queue);
}

/* Uses the library, and reads what it writes to the standard error. */
static void check_said(const char *text) {
  int other_end = read_standard_error();
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  await_text(other_end, text);
  await_threads("inturn-answers", 0);
  drain_and_destroy(queue);
}

static void a_value_that_begins_with_no_signal_is_said_in_a_line(void) {
  if (is_alone(__func__, "INTURN_DUMP", "USR2"))
    check_said("inturn: INTURN_DUMP: it begins with no signal that can ask, "
               "such as SIGUSR2\n");
}

static void a_signal_that_ends_programs_that_err_is_not_taken(void) {
  if (is_alone(__func__, "INTURN_DUMP", "SIGSEGV"))
    check_said("inturn: INTURN_DUMP: it begins with no signal that can ask, "
               "such as SIGUSR2\n");
}

static void a_number_of_workers_that_cannot_be_is_said_in_a_line(void) {
  if (is_alone(__func__, "INTURN_WORKERS", "2.5"))
    check_said("inturn: INTURN_WORKERS: it is not a number from 1 to 1024\n");
}

static void a_search_that_is_set_to_anything_but_off_is_said_in_a_line(void) {
  if (is_alone(__func__, "INTURN_SEARCH", "on"))
    check_said("inturn: INTURN_SEARCH: the only value is off\n");
}

static gate handled = GATE_INIT;

static void handle(int number) {
  CHECK_INT(number, SIGUSR2);
  gate_pass(&handled);
}

static void a_handler_of_the_programs_takes_the_place_of_the_librarys(void) {
  if (!is_alone(__func__, "INTURN_DUMP", "SIGUSR2"))
    return;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK(signal(SIGUSR2, handle) != SIG_ERR);
  CHECK_INT(raise(SIGUSR2), 0);
  GATE_WAIT(&handled, 1);
  drain_and_destroy(queue);
}

/* In a forked child */

static int childs_end;

static void be_asked_before_the_library_is_used(void *context) {
  CHECK(context == NULL);
  CHECK_INT(raise(SIGUSR2), 0);
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  /* Its own pool: no handle of its parent's has this name. */
  char line[64];
  snprintf(line, sizeof line, "executor pool id=0x%llx",
           (unsigned long long)pool.bits);
  await_text(childs_end, line);
}

static void a_child_answers_once_it_uses_the_library(void) {
  if (!is_alone(__func__, "INTURN_DUMP", "SIGUSR2"))
    return;
  childs_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "parent's");
  IN_CHILD(be_asked_before_the_library_is_used, NULL);
  CHECK_INT(raise(SIGUSR2), 0);
  await_text(childs_end, "queue \"parent's\" fifo");
  drain_and_destroy(queue);
}

static void nothing_answers_where_nothing_is_set(void) {
  if (!is_alone(__func__, "INTURN_DUMP", NULL))
    return;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  await_threads("inturn-answers", 0);
  CHECK(signal(SIGUSR2, SIG_DFL) == SIG_DFL);
  drain_and_destroy(queue);
}

PROGRAM_OF_ANSWERS(
    answers, TEST(a_signal_asks_for_a_dump_on_the_standard_error),
    TEST(it_answers_while_all_threads_are_blocked_and_block_the_signal),
    TEST(a_signal_before_the_first_use_is_answered_then),
    TEST(a_file_has_the_dump_in_the_format_of_its_name),
    TEST(a_dump_goes_into_a_pipe_that_is_there),
    TEST(a_link_stays_and_the_file_at_its_end_is_replaced),
    TEST(a_trace_whose_reader_goes_ends_no_process),
    TEST(a_file_that_cannot_be_written_is_said_in_a_line),
    TEST(a_value_that_begins_with_no_signal_is_said_in_a_line),
    TEST(a_signal_that_ends_programs_that_err_is_not_taken),
    TEST(a_number_of_workers_that_cannot_be_is_said_in_a_line),
    TEST(a_search_that_is_set_to_anything_but_off_is_said_in_a_line),
    TEST(a_handler_of_the_programs_takes_the_place_of_the_librarys),
    TEST(a_child_answers_once_it_uses_the_library),
    TEST(nothing_answers_where_nothing_is_set))
