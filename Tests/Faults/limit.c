/*
 * limit.c - 64 MiB of memory, and queues that are filled until they refuse.
 *
 * SPDX-License-Identifier: MIT
 *
 *   limit [FILTER]
 *
 * Each kind of operation gets a process of its own: its address space is
 * limited, and it enqueues while the queue is suspended until a call is
 * refused. Then what was accepted runs or is cancelled, and the queue ends
 * cleanly.
 *
 * Last come objects without operations, until a call is refused. In some cases
 * the library still ends the process, with a message. There must not be more of
 * these; one that no longer ends it fails, so that the table is corrected.
 */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_BYTES = 64 << 20, CHILD_SECONDS = 120, IN_BATCH = 1000 };

/* Never more than this, however little an operation costs. */
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
  /* From now on, there is a worker. */
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
  /* The context of the refused one. */
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

/* Objects ------------------------------------------------------------------ */

static inturn_queue queues[1000000];

/* Each only gets memory of its own when it is first suspended. */
static void suspended_queues(void) {
  long count = 0;
  while (inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queues[count]) ==
         INTURN_OK)
    count++;
  while (count > 0)
    CHECK_OK(inturn_queue_suspend(queues[--count]));
}

static void many_owners(void) {
  inturn_owner owner;
  while (inturn_owner_create(0, &owner) == INTURN_OK)
    continue;
}

/* Room for their handles is left, and none for themselves. The library has some
   of its own, which it does not use up for what it can refuse. */
static void owners_without_memory(void) {
  inturn_owner owner;
  CHECK_OK(inturn_owner_create(0, &owner));
  for (size_t size = 1 << 20; size >= 16; size /= 2)
    while (malloc(size) != NULL)
      continue;
  for (int i = 0; i < 2000; i++) {
    inturn_status status = inturn_owner_create(0, &owner);
    CHECK(status == INTURN_OK || status == INTURN_E_NO_MEMORY);
    CHECK(i < 1000 || status == INTURN_E_NO_MEMORY);
  }
}

static void many_clocks(void) {
  inturn_clock clock;
  while (inturn_clock_create_manual(&clock) == INTURN_OK)
    continue;
}

static void take_change(void *context, const inturn_change *change) {
  (void)context;
  (void)change;
}

static inturn_value new_value(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &zero, &value));
  return value;
}

static void many_observers(void) {
  inturn_value value = new_value();
  while (inturn_value_observe(value, NULL, take_change, NULL, count_destroyed,
                              NULL) == INTURN_OK)
    accepted++;
  CHECK_INT(atomic_exchange(&destroyed, 0), 1);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_INT(atomic_load(&destroyed), accepted);
}

static void count_change(void *context, const inturn_change *change) {
  (void)context;
  CHECK_INT(change->after.integer, ++ended);
}

/* All that were accepted are told. */
static void changes_that_wait(void) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_value value = new_value();
  int64_t sum;
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(
      inturn_value_observe(value, &options, count_change, NULL, NULL, NULL));
  while (inturn_value_add(value, 1, &sum) == INTURN_OK)
    accepted++;
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_INT(ended, accepted);
  CHECK_OK(inturn_value_drain(value, LIMIT_NS));
  CHECK_OK(inturn_value_destroy(value));
}

static const struct {
  const char *name;
  void (*run)(void);
  bool ends_process;
} objects[] = {
    {"many_owners", many_owners, false},
    {"suspended_queues", suspended_queues, true},
    {"many_clocks", many_clocks, false},
    {"owners_without_memory", owners_without_memory, false},
    {"many_observers", many_observers, false},
    {"changes_that_wait", changes_that_wait, false},
};

static int run_objects(const char *filter) {
  int failed = 0;
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    if (filter != NULL && strstr(objects[i].name, filter) == NULL)
      continue;
    fflush(NULL);
    int said[2];
    CHECK_INT(pipe(said), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(CHILD_SECONDS);
      CHECK_INT(dup2(said[1], STDERR_FILENO), STDERR_FILENO);
      inturn_queue queue = warm_queue(INTURN_QUEUE_FIFO);
      limit_memory();
      objects[i].run();
      CHECK_OK(inturn_queue_destroy(queue));
      _Exit(0);
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    close(said[1]);
    char text[4096] = "";
    CHECK(read(said[0], text, sizeof text - 1) >= 0);
    close(said[0]);
    bool is_ended = WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM &&
                    strstr(text, "no memory is left") != NULL;
    bool is_right = objects[i].ends_process ? is_ended : status == 0;
    printf(is_right ? "%s: %s\n" : "FAILED limit %s: it is now %s\n",
           objects[i].name, is_ended ? "ended" : "refused");
    if (!is_right)
      printf("status %d: %s\n", status, text);
    failed += !is_right;
  }
  return failed;
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
  failed += run_objects(argc > 1 ? argv[1] : NULL);
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
