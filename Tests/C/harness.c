/*
 * harness.c - see harness.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A whole test may wait for several things. */
#define TEST_LIMIT_SECONDS (8 * LIMIT_SECONDS)

static const char *path_of_program;
static const char *name_of_program = "?";
static const char *volatile name_of_test = "?";
static int passed;

_Noreturn void fail_at(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  flockfile(stderr);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\nFAILED %s\n", name_of_test);
  va_end(arguments);
  printf("%s: %d passed, 1 failed\n", name_of_program, passed);
  fflush(stdout);
  _Exit(1);
}

void refused_at(const char *file, int line, const char *call) {
  if (getenv("INTURN_TEST_REFUSALS") == NULL)
    return;
  fprintf(stderr, "%s:%d: refused: %s\n", file, line, call);
  _Exit(REFUSED);
}

void redirect_standard_error(int end) {
  FILE *before = fdopen(dup(STDERR_FILENO), "w");
  CHECK(before != NULL && setvbuf(before, NULL, _IONBF, 0) == 0);
  stderr = before;
  CHECK(dup2(end, STDERR_FILENO) >= 0);
}

/* Shows the stack of each thread after a time-out, if there is a debugger. The
   debugger is spawned, as a fork would run the library's handlers, which may
   also wait. */
static void show_stacks(void) {
  extern char **environ;
  char line[80];
  char *const command[] = {"sh", "-c", line, NULL};
  snprintf(line, sizeof line, "timeout 60 gdb -nx -batch -p %ld -ex '%s'",
           (long)getpid(), "thread apply all backtrace");
  pid_t child;
  if (posix_spawnp(&child, command[0], NULL, NULL, command, environ) == 0)
    waitpid(child, NULL, 0);
}

void gate_pass(gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  gate->count++;
  pthread_cond_broadcast(&gate->grown);
  pthread_mutex_unlock(&gate->mutex);
}

long gate_count(gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  long count = gate->count;
  pthread_mutex_unlock(&gate->mutex);
  return count;
}

void gate_wait_at(const char *file, int line, const char *what, gate *gate,
                  long count) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += LIMIT_SECONDS;
  pthread_mutex_lock(&gate->mutex);
  while (gate->count < count) {
    int error = pthread_cond_timedwait(&gate->grown, &gate->mutex, &limit);
    if (error != 0 && gate->count < count) {
      show_stacks();
      fail_at(file, line, "waited %d s for %s to be passed %ld times, not %ld",
              LIMIT_SECONDS, what, count, gate->count);
    }
  }
  pthread_mutex_unlock(&gate->mutex);
}

static void *thread_main(void *context) {
  thread *self = context;
  self->body(self->context);
  gate_pass(&self->over);
  return NULL;
}

void thread_start(thread *thread, void (*body)(void *), void *context) {
  thread->body = body;
  thread->context = context;
  thread->over = (gate)GATE_INIT;
  CHECK_INT(pthread_create(&thread->id, NULL, thread_main, thread), 0);
}

void thread_join(thread *thread) {
  GATE_WAIT(&thread->over, 1);
  CHECK_INT(pthread_join(thread->id, NULL), 0);
}

void on_another_thread(void (*body)(void *), void *context) {
  thread other;
  thread_start(&other, body, context);
  thread_join(&other);
}

typedef struct share {
  void (*body)(int index);
  int index;
} share;

static void run_share(void *context) {
  share *mine = context;
  mine->body(mine->index);
}

void in_parallel(int count, void (*body)(int index)) {
  thread threads[16];
  share shares[16];
  CHECK(count <= 16);
  for (int i = 0; i < count; i++) {
    shares[i] = (share){body, i};
    thread_start(&threads[i], run_share, &shares[i]);
  }
  for (int i = 0; i < count; i++)
    thread_join(&threads[i]);
}

static pthread_mutex_t trace_mutex = PTHREAD_MUTEX_INITIALIZER;
static char trace_text[8192];
static size_t trace_length;

void trace(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&trace_mutex);
  size_t room = sizeof trace_text - trace_length;
  int comma = snprintf(trace_text + trace_length, room, "%s",
                       trace_length > 0 ? ", " : "");
  int line = vsnprintf(trace_text + trace_length + comma, room - (size_t)comma,
                       format, arguments);
  if ((size_t)(comma + line) >= room)
    FAIL("the trace is too long: %s", trace_text);
  trace_length += (size_t)(comma + line);
  pthread_mutex_unlock(&trace_mutex);
  va_end(arguments);
}

void trace_begin(void) {
  pthread_mutex_lock(&trace_mutex);
  trace_text[0] = '\0';
  trace_length = 0;
  pthread_mutex_unlock(&trace_mutex);
}

void check_trace_at(const char *file, int line, const char *expected) {
  pthread_mutex_lock(&trace_mutex);
  if (strcmp(trace_text, expected) != 0)
    fail_at(file, line, "the trace is\n  %s\nnot\n  %s", trace_text, expected);
  pthread_mutex_unlock(&trace_mutex);
  trace_begin();
}

long scaled(long count) {
  const char *text = getenv("INTURN_TEST_SCALE");
  long result = text ? (long)((double)count * atof(text)) : count;
  return result > 0 ? result : 1;
}

uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* For calls without a time limit, such as inturn_queue_destroy. */
static void on_alarm(int number) {
  (void)number;
  static const char message[] = "the test did not end within its limit: ";
  const char *name = name_of_test;
  ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  written += write(STDERR_FILENO, name, strlen(name));
  written += write(STDERR_FILENO, "\n", 1);
  show_stacks();
  _exit(written > 0 ? 1 : 2);
}

/* Whether the test is in the environment's INTURN_TEST_LEFT_OUT, which has
   names between spaces. */
static int is_left_out(const test *test) {
  const char *names = getenv("INTURN_TEST_LEFT_OUT");
  char name[128];
  snprintf(name, sizeof name, " %s ", test->name);
  return names != NULL && strstr(names, name) != NULL;
}

int run_tests(const program *program, int argc, char **argv) {
  path_of_program = argv[0];
  name_of_program = program->name;
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGALRM, on_alarm);
  for (size_t i = 0; i < program->count; i++) {
    const test *test = &program->tests[i];
    if (argc > 1 && strstr(test->name, argv[1]) == NULL)
      continue;
    if (is_left_out(test)) {
      printf("left out %s\n", test->name);
      continue;
    }
    name_of_test = test->name;
    printf("begin %s\n", test->name);
    trace_begin();
    alarm(TEST_LIMIT_SECONDS);
    if (program->before != NULL)
      program->before();
    test->run();
    if (program->after != NULL)
      program->after();
    alarm(0);
    passed++;
    printf("ok %s\n", test->name);
  }
  printf("%s: %d passed, 0 failed\n", program->name, passed);
  return passed > 0 ? 0 : 1;
}

int wait_for_child(pid_t child) {
  int status = 0;
  pid_t result;
  do
    result = waitpid(child, &status, 0);
  while (result < 0 && errno == EINTR);
  CHECK_INT(result, child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == REFUSED)
    refused_at(__FILE__, __LINE__, "a call of the child");
  return status;
}

/* Memory left behind by a sudden end is not a leak. */
static void ignore_leaks(void) {
  const char *before = getenv("ASAN_OPTIONS");
  char options[1024];
  snprintf(options, sizeof options, "%s:detect_leaks=0", before ? before : "");
  setenv("ASAN_OPTIONS", options, 1);
}

int run_self(const char *argument, const char *second_argument) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(LIMIT_SECONDS);
    ignore_leaks();
    /* Its tests do not count for this program. */
    if (dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO) < 0)
      _exit(126);
    execl(path_of_program, path_of_program, argument, second_argument,
          (char *)NULL);
    _exit(127);
  }
  return wait_for_child(child);
}

bool is_alone(const char *test, const char *variable, const char *value) {
  const char *alone = getenv("INTURN_TEST_ALONE");
  if (alone != NULL && strcmp(alone, test) == 0)
    return true;
  const char *before = getenv(variable);
  char kept[256] = "";
  snprintf(kept, sizeof kept, "%s", before ? before : "");
  CHECK_INT(setenv("INTURN_TEST_ALONE", test, 1), 0);
  CHECK_INT(value ? setenv(variable, value, 1) : unsetenv(variable), 0);
  int status = run_self(test, NULL);
  CHECK_INT(before ? setenv(variable, kept, 1) : unsetenv(variable), 0);
  CHECK_INT(unsetenv("INTURN_TEST_ALONE"), 0);
  CHECK(WIFEXITED(status));
  CHECK_INT(WEXITSTATUS(status), 0);
  return false;
}

void in_child_at(const char *file, int line, void (*body)(void *),
                 void *context) {
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(LIMIT_SECONDS);
    body(context);
    _exit(0);
  }
  int status = wait_for_child(child);
  if (WIFSIGNALED(status))
    fail_at(file, line, "the child was ended by signal %d", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0)
    fail_at(file, line, "the child has failed (status %d)",
            WEXITSTATUS(status));
}
