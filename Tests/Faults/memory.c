/*
 * memory.c - scenarios in which the library finds no memory.
 *
 * SPDX-License-Identifier: MIT
 *
 *   memory [FILTER]              each scenario, each allocation
 *   memory one NAME NUMBER WHEN  that one alone; WHEN is once or ever
 *
 * Has to be run with preload.so. In a process of its own, the Nth allocation of
 * a scenario fails, once or for ever after; N grows until there are no more.
 * Each call that may be refused can return NO_MEMORY, and then has changed
 * nothing; all others behave as always; and nothing is left behind.
 */
#include "memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many failed runs of a scenario are enough. */
enum { CHILD_SECONDS = 20, NO_FAULT = 3, ENOUGH = 5 };

static uint64_t (*set_fault)(const char *fault);
static char fault[32];
static bool is_failing;

const char *const names[2] = {"door", "window"};

int worked, accepted;
static int made_count, destroyed_count, refusals;

void fail_from_here(void) {
  set_fault(fault);
  is_failing = true;
}

bool attempt_at(const char *file, int line, const char *call,
                inturn_status status) {
  if (status == INTURN_OK)
    return true;
  if (status != INTURN_E_NO_MEMORY || !is_failing)
    fail_at(file, line, "%s is %s", call, inturn_status_name(status));
  refusals++;
  return false;
}

void *made(void) {
  made_count++;
  return &made_count;
}

void destroyed(void *context) {
  CHECK(context == &made_count);
  destroyed_count++;
}

void told(void *context, const inturn_end *end) {
  (void)context;
  CHECK(end->outcome != 0);
}

void told_event(void *context, const inturn_event *event) {
  (void)context;
  CHECK(event->kind != 0);
}

void work(void *context, inturn_token token) {
  CHECK(context == &made_count);
  worked++;
  CHECK_OK(inturn_token_finish(token));
}

bool enqueue_work(inturn_queue queue, const inturn_operation_options *options,
                  inturn_work_fn function, inturn_operation *operation) {
  inturn_operation_options all = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue_statistics before = statistics_of(queue);
  if (options != NULL) {
    all = *options;
    if (all.on_end != NULL) {
      all.end_context = made();
      all.end_destroy = destroyed;
    }
  }
  int destroyed_before = destroyed_count;
  void *context = made();
  if (ATTEMPT(options == NULL
                  ? inturn_queue_enqueue(queue, function, context, destroyed,
                                         operation)
                  : inturn_queue_enqueue_with(queue, &all, function, context,
                                              destroyed, operation))) {
    accepted++;
    return true;
  }
  CHECK_INT(destroyed_count - destroyed_before, all.on_end == NULL ? 1 : 2);
  inturn_queue_statistics after = statistics_of(queue);
  CHECK_INT(after.pending, before.pending);
  CHECK_INT(after.running, before.running);
  return false;
}

bool enqueue(inturn_queue queue, const inturn_operation_options *options,
             inturn_operation *operation) {
  return enqueue_work(queue, options, work, operation);
}

stage own;

void begin(inturn_queue_kind kind) { own = stage_create(kind); }

void run_until_quiet(void) {
  do
    stage_drain(&own);
  while (inturn_queue_drain(own.queue, 0) == INTURN_E_TIMED_OUT);
}

void run_all(void) {
  run_until_quiet();
  CHECK_INT(worked, accepted);
}

/* One process ------------------------------------------------------------- */

_Noreturn static void run_in_child(const scenario *scenario) {
  alarm(CHILD_SECONDS);
  scenario->run();
  if (own.queue.bits != 0)
    stage_destroy(&own);
  bool has_failed = set_fault(NULL) > 0;
  inturn_library_statistics left = INTURN_LIBRARY_STATISTICS_INIT;
  /* A worker may be a moment behind; if it stays, this times out. */
  do
    CHECK_OK(inturn_library_get_statistics(&left));
  while (left.queues + left.operations + left.values + left.observations > 0);
  CHECK_INT(left.executors, 2);
  CHECK_INT(left.clocks, 0);
  CHECK_INT(destroyed_count, made_count);
  fflush(NULL);
  _Exit(has_failed ? 0 : NO_FAULT);
}

static int run_once(const scenario *scenario, long number, const char *when) {
  fflush(NULL);
  snprintf(fault, sizeof fault, "memory %ld %s", number, when);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0)
    run_in_child(scenario);
  int status = 0;
  CHECK_INT(waitpid(child, &status, 0), child);
  return status;
}

/* False if a run has failed. */
static bool explore(const scenario *scenario, long *runs) {
  static const char *const ways[] = {"once", "ever"};
  int bad = 0;
  for (int way = 0; way < 2; way++)
    for (long number = 1; bad < ENOUGH; number++) {
      int status = run_once(scenario, number, ways[way]);
      (*runs)++;
      if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FAULT)
        break;
      if (status == 0)
        continue;
      bad++;
      printf("FAILED memory one %s %ld %s: ", scenario->name, number,
             ways[way]);
      if (WIFSIGNALED(status))
        printf("it ends by signal %d\n", WTERMSIG(status));
      else
        printf("it ends with status %d\n", WEXITSTATUS(status));
    }
  return bad == 0;
}

static int passed, failed;
static long runs;

static void take(const scenario *table, int argc, char **argv) {
  for (const scenario *each = table; each->name != NULL; each++) {
    if (argc == 5 && strcmp(argv[1], "one") == 0) {
      if (strcmp(argv[2], each->name) != 0)
        continue;
      int status = run_once(each, atol(argv[3]), argv[4]);
      if (status == 0)
        passed++;
      else
        failed++;
    } else if (argc < 2 || strstr(each->name, argv[1]) != NULL) {
      if (explore(each, &runs))
        passed++;
      else
        failed++;
    }
  }
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  *(void **)&set_fault = dlsym(RTLD_DEFAULT, "inturn_fault_set");
  if (set_fault == NULL)
    FAIL("it has to be run with %s", "LD_PRELOAD=preload.so");
  take(queue_scenarios, argc, argv);
  take(control_scenarios, argc, argv);
  take(other_scenarios, argc, argv);
  printf("%ld runs\n", runs);
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
