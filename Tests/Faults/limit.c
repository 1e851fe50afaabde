/*
 * limit.c - 64 MiB of memory, and queues that are filled until they refuse.
 *
 * SPDX-License-Identifier: MIT
 *
 *   limit [FILTER]
 *
 * For each kind of operation a process of its own: its address space is
 * limited, and it enqueues while the queue is suspended until a call is
 * refused. Then what was accepted runs, or is cancelled, and the queue ends
 * cleanly.
 */
#include "fixture.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_BYTES = 64 << 20, CHILD_SECONDS = 120, IN_BATCH = 1000 };

/* More are never taken, whatever an operation costs. */
enum { MOST = 20000000 };

static long accepted, ended;
static atomic_long worked, destroyed;

static void work(void *context, inturn_token token) {
  (void)context;
  atomic_fetch_add(&worked, 1);
  CHECK_OK(inturn_token_finish(token));
}

static void count_destroyed(void *context) {
  (void)context;
  atomic_fetch_add(&destroyed, 1);
}

static void count_end_of(void *context, const inturn_end *end) {
  (void)context;
  ended += end->outcome != 0;
}

/* One kind of operation: what it is enqueued with. */
typedef struct sort {
  const char *name;
  inturn_queue_kind kind;
  void (*choose)(inturn_operation_options *options, long number);
} sort;

static void choose_nothing(inturn_operation_options *options, long number) {
  (void)options;
  (void)number;
}

static void choose_label(inturn_operation_options *options, long number) {
  (void)number;
  options->label = "a label";
  options->max_run_ns = INT64_C(1000000000000);
}

static void choose_deadline(inturn_operation_options *options, long number) {
  (void)number;
  options->max_wait_ns = INT64_C(1000000000000);
}

static void choose_end(inturn_operation_options *options, long number) {
  (void)number;
  options->on_end = count_end_of;
}

static void choose_names(inturn_operation_options *options, long number) {
  static const char *const names[] = {"N"};
  (void)number;
  options->exclusive = names;
  options->exclusive_count = 1;
}

static void choose_other_names(inturn_operation_options *options, long number) {
  static char name[16];
  static const char *const names[] = {name};
  snprintf(name, sizeof name, "%ld", number);
  options->exclusive = names;
  options->exclusive_count = 1;
}

static void choose_key(inturn_operation_options *options, long number) {
  static char key[16];
  snprintf(key, sizeof key, "%ld", number);
  options->key = key;
}

static void choose_one_key(inturn_operation_options *options, long number) {
  (void)number;
  options->key = "key";
}

static void choose_priority(inturn_operation_options *options, long number) {
  options->priority = (int32_t)(number % 1000);
}

static void choose_any_priority(inturn_operation_options *options,
                                long number) {
  options->priority = (int32_t)number;
}

static void choose_barrier(inturn_operation_options *options, long number) {
  options->barrier = number % 100 == 0;
}

static void choose_urgent(inturn_operation_options *options, long number) {
  options->urgent = number % 2 == 0;
}

static void choose_retry(inturn_operation_options *options, long number) {
  static const inturn_retry retry = INTURN_RETRY_INIT;
  (void)number;
  options->retry = &retry;
}

static const sort sorts[] = {
    {"plain_fifo", INTURN_QUEUE_FIFO, choose_nothing},
    {"plain_actor", INTURN_QUEUE_ACTOR, choose_nothing},
    {"plain_concurrent", INTURN_QUEUE_CONCURRENT, choose_nothing},
    {"plain_interaction", INTURN_QUEUE_INTERACTION, choose_nothing},
    {"label", INTURN_QUEUE_FIFO, choose_label},
    {"deadline", INTURN_QUEUE_FIFO, choose_deadline},
    {"end", INTURN_QUEUE_CONCURRENT, choose_end},
    {"names", INTURN_QUEUE_CONCURRENT, choose_names},
    {"names_in_order", INTURN_QUEUE_FIFO, choose_names},
    {"other_names", INTURN_QUEUE_CONCURRENT, choose_other_names},
    {"key", INTURN_QUEUE_FIFO, choose_one_key},
    {"other_keys", INTURN_QUEUE_CONCURRENT, choose_key},
    {"priority", INTURN_QUEUE_CONCURRENT, choose_priority},
    {"any_priority", INTURN_QUEUE_CONCURRENT, choose_any_priority},
    {"barrier", INTURN_QUEUE_CONCURRENT, choose_barrier},
    {"urgent", INTURN_QUEUE_INTERACTION, choose_urgent},
    {"retry", INTURN_QUEUE_ACTOR, choose_retry},
};
enum { SORTS = sizeof sorts / sizeof *sorts };

static inturn_queue warm_queue(inturn_queue_kind kind) {
  inturn_queue queue = pool_queue_create(kind, NULL);
  /* A worker is there from now on. */
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_OK(inturn_queue_suspend(queue));
  return queue;
}

static void limit_memory(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + LIMIT_BYTES;
  struct rlimit limit = {bytes, bytes};
  CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
}

static void fill(const sort *sort, inturn_queue queue) {
  inturn_status status = INTURN_OK;
  while (accepted < MOST) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    sort->choose(&options, accepted);
    status = inturn_queue_enqueue_with(queue, &options, work, NULL,
                                       count_destroyed, NULL);
    if (status != INTURN_OK)
      break;
    accepted++;
  }
  CHECK(status == INTURN_E_NO_MEMORY || accepted == MOST);
  /* That of the refused one. */
  CHECK_INT(atomic_exchange(&destroyed, 0), status != INTURN_OK);
  CHECK_INT(statistics_of(queue).pending, accepted);
}

_Noreturn static void run(const sort *sort, bool cancels) {
  alarm(CHILD_SECONDS);
  inturn_queue queue = warm_queue(sort->kind);
  limit_memory();
  fill(sort, queue);
  if (cancels)
    CHECK_OK(inturn_queue_cancel_all(queue));
  CHECK_OK(inturn_queue_resume(queue));
  CHECK_OK(inturn_queue_drain(queue, -1));
  CHECK_INT(atomic_load(&worked), cancels ? 0 : accepted);
  CHECK_INT(atomic_load(&destroyed), accepted);
  CHECK_INT(ended, sort->choose == choose_end ? accepted : 0);
  CHECK_OK(inturn_queue_destroy(queue));
  printf("%s: %ld accepted, all %s\n", sort->name, accepted,
         cancels ? "cancelled" : "run");
  fflush(stdout);
  _Exit(0);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  int passed = 0, failed = 0;
  for (int i = 0; i < 2 * SORTS; i++) {
    const sort *sort = &sorts[i / 2];
    if (argc > 1 && strstr(sort->name, argv[1]) == NULL)
      continue;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
      run(sort, i % 2);
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    if (status == 0) {
      passed++;
      continue;
    }
    failed++;
    printf("FAILED limit %s, %s: ", sort->name, i % 2 ? "cancelled" : "run");
    if (WIFSIGNALED(status))
      printf("it ends by signal %d\n", WTERMSIG(status));
    else
      printf("it ends with status %d\n", WEXITSTATUS(status));
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
