/*
 * signals.c - section 6 of the manual: which signals reach the library's
 * threads.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "fixture.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof array / sizeof *array)

/* Those that a thread raises itself, and the profilers'. */
static const int own[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGTRAP,
                          SIGABRT, SIGSYS, SIGPIPE, SIGXFSZ, SIGPROF};
static const int others[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,  SIGALRM,
                             SIGUSR1, SIGUSR2, SIGCHLD, SIGWINCH, SIGTSTP};

static void run_on_the_pool(inturn_work_fn work) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_enqueue(queue, work, NULL, NULL, NULL));
  drain_and_destroy(queue);
}

static void look_at_the_mask(void *context, inturn_token token) {
  sigset_t blocked;
  CHECK_INT(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
  for (size_t i = 0; i < COUNT(own); i++)
    CHECK(!sigismember(&blocked, own[i]));
  for (size_t i = 0; i < COUNT(others); i++)
    CHECK(sigismember(&blocked, others[i]));
  just_finish(context, token);
}

static void work_blocks_the_signals_from_outside_only(void) {
  sigset_t all, before;
  run_on_the_pool(look_at_the_mask);
  /* Whatever the threads that start them block. */
  CHECK_INT(sigfillset(&all), 0);
  CHECK_INT(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options on_pool = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.workers = 1;
  CHECK_OK(inturn_executor_create(&options, &on_pool.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &on_pool, &queue));
  CHECK_OK(inturn_queue_enqueue(queue, look_at_the_mask, NULL, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_OK(inturn_executor_destroy(on_pool.executor));
  CHECK_INT(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static volatile sig_atomic_t handled;
static pthread_t handled_on;

static void handle(int number) {
  handled = number;
  handled_on = pthread_self();
}

static void raise_each(void *context, inturn_token token) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  for (size_t i = 0; i < COUNT(own); i++) {
    CHECK_INT(sigaction(own[i], &action, &before), 0);
    CHECK_INT(raise(own[i]), 0);
    CHECK_INT(handled, own[i]);
    CHECK(pthread_equal(handled_on, pthread_self()));
    CHECK_INT(sigaction(own[i], &before, NULL), 0);
  }
  just_finish(context, token);
}

static void a_hosts_handler_sees_the_faults_of_work(void) {
  run_on_the_pool(raise_each);
}

/* Pipes that nobody reads any more */

static void write_to_a_broken_pipe(void *context, inturn_token token) {
  struct sigaction action, before;
  int ends[2];
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  handled = 0;
  CHECK_INT(sigaction(SIGPIPE, &action, &before), 0);
  CHECK_INT(pipe(ends), 0);
  CHECK_INT(close(ends[0]), 0);
  CHECK(write(ends[1], "", 1) < 0);
  CHECK_INT(handled, SIGPIPE);
  CHECK(pthread_equal(handled_on, pthread_self()));
  CHECK_INT(close(ends[1]), 0);
  CHECK_INT(sigaction(SIGPIPE, &before, NULL), 0);
  just_finish(context, token);
}

static void work_that_writes_to_a_broken_pipe_gets_sigpipe(void) {
  run_on_the_pool(write_to_a_broken_pipe);
}

static void abandon(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(inturn_token_abandon(token));
}

static void report_to_a_broken_pipe(void) {
  inturn_report report = INTURN_REPORT_INIT;
  sigset_t blocked, pending;
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  redirect_standard_error(ends[1]);
  CHECK_INT(close(ends[0]), 0);
  run_on_the_pool(abandon);
  /* What is reported has left no signal behind. */
  run_on_the_pool(look_at_the_mask);
  /* Not even where it would come only later. */
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGPIPE);
  CHECK_INT(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
  report.kind = INTURN_REPORT_EXCEPTION;
  report.message = "nobody reads this";
  CHECK_OK(inturn_report_send(&report));
  CHECK_INT(sigpending(&pending), 0);
  CHECK(!sigismember(&pending, SIGPIPE));
}

static void a_report_that_nobody_reads_ends_no_process(void) {
  int status = run_self("--report", NULL);
  CHECK(WIFEXITED(status));
  CHECK_INT(WEXITSTATUS(status), 0);
}

/* A main thread that leaves */

/* Whether the main thread has ended or, if no thread could replace it, has
   stayed to take the signals. */
static bool has_main_thread_left(void) {
  char path[64], line[256];
  bool has_left = false;
  snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)getpid());
  FILE *status = fopen(path, "r");
  CHECK(status != NULL);
  while (fgets(line, sizeof line, status) != NULL)
    has_left |= strncmp(line, "State:\tZ", 8) == 0 ||
                strcmp(line, "Name:\tinturn-signals\n") == 0;
  fclose(status);
  return has_left;
}

static void ask_to_terminate(void *context, inturn_token token) {
  while (!has_main_thread_left())
    sched_yield();
  CHECK_INT(kill(getpid(), SIGTERM), 0);
  just_finish(context, token);
}

static void leave_the_main_thread(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_enqueue(queue, ask_to_terminate, NULL, NULL, NULL));
  pthread_exit(NULL);
}

static void sigterm_ends_a_process_whose_main_thread_has_left(void) {
  int status = run_self("--leave", NULL);
  CHECK(WIFSIGNALED(status));
  CHECK_INT(WTERMSIG(status), SIGTERM);
}

int main(int argc, char **argv) {
  static const test tests[] = {
      TEST(work_blocks_the_signals_from_outside_only),
      TEST(a_hosts_handler_sees_the_faults_of_work),
      TEST(work_that_writes_to_a_broken_pipe_gets_sigpipe),
      TEST(a_report_that_nobody_reads_ends_no_process),
      TEST(sigterm_ends_a_process_whose_main_thread_has_left)};
  const program all = {"signals", tests, COUNT(tests), NULL, NULL};
  if (argc == 2 && strcmp(argv[1], "--leave") == 0)
    leave_the_main_thread();
  if (argc == 2 && strcmp(argv[1], "--report") == 0) {
    report_to_a_broken_pipe();
    return 0;
  }
  return run_tests(&all, argc, argv);
}
