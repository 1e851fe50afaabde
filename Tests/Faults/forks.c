/*
 * forks.c - forks at random moments, and children that use the library.
 *
 * SPDX-License-Identifier: MIT
 *
 *   forks [FORKS [SEED]]   (300 and 1)
 *   forks one NUMBER SEED  that one alone
 *
 * Each fork gets a fresh process: two of its threads use a feature for the
 * first time, before, while and after its main thread forks. Before that,
 * nothing of the library was used, or something else, or everything. The child
 * then uses that feature and one more, and must reach its end by itself; so
 * must the parent. Each number is a process; the seed and the number determine
 * what happens in it, but not the moment.
 */
#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_SECONDS = 5, MOST_DELAY_NS = 300000, SIDE_BY_SIDE = 2 };

/* Features: each works with objects of its own, and checks what it gets. -- */

static void pool_queue(inturn_queue_kind kind) {
  gate worked = GATE_INIT;
  inturn_queue queue = pool_queue_create(kind, "forked");
  for (int i = 0; i < 10; i++)
    CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&worked), 10);
}

static void fifo(void) { pool_queue(INTURN_QUEUE_FIFO); }
static void actor(void) { pool_queue(INTURN_QUEUE_ACTOR); }
static void interaction(void) { pool_queue(INTURN_QUEUE_INTERACTION); }
static void concurrent(void) { pool_queue(INTURN_QUEUE_CONCURRENT); }

static void host_executor(void) {
  gate worked = GATE_INIT;
  int fd = -1;
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_executor_fd(stage.executor, &fd));
  CHECK_OK(inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
  stage_advance(&stage, 1);
  CHECK_INT(gate_count(&worked), 1);
  stage_destroy(&stage);
}

static void own_pool(void) {
  gate worked = GATE_INIT;
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.workers = 2;
  CHECK_OK(inturn_executor_create(&options, &queue_options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &queue_options, &queue));
  for (int i = 0; i < 10; i++)
    CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
  drain_and_destroy(queue);
  inturn_status status;
  do /* A worker may still be on its way out of the queue. */
    status = inturn_executor_destroy(queue_options.executor);
  while (status == INTURN_E_BUSY);
  CHECK_OK(status);
}

static void main_executor(void) {
  inturn_executor executor;
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_OK(inturn_library_get_statistics(&statistics));
}

static void deadline(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.max_wait_ns = 1000000;
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, never_work, NULL, NULL,
                                     &operation));
  CHECK_INT(end_of(operation).cause, INTURN_CAUSE_MAX_WAIT);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_queue_destroy(queue));
}

static void names(void) {
  static const char *const words[] = {"door", "window"};
  gate worked = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  options.exclusive = words;
  options.exclusive_count = 2;
  options.priority = 3;
  for (int i = 0; i < 5; i++)
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, count_work, &worked,
                                       NULL, NULL));
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&worked), 5);
}

static void batch(void) {
  gate worked = GATE_INIT;
  inturn_batch_item items[3];
  inturn_batch_edge edges[] = {{1, 0}, {2, 1}};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  inturn_batch batch;
  for (int i = 0; i < 3; i++)
    items[i] = (inturn_batch_item){count_work, &worked, NULL};
  options.edges = edges;
  options.edge_count = 2;
  CHECK_OK(inturn_queue_enqueue_batch(queue, &options, items, 3, &batch));
  CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, NULL));
  CHECK_OK(inturn_batch_release(batch));
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&worked), 3);
}

static void count_change(void *context, const inturn_change *change) {
  CHECK(change->number > 0);
  gate_pass(context);
}

static void value(void) {
  gate told = GATE_INIT;
  inturn_datum datum = INTURN_STRING("text", 4);
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &datum, &value));
  CHECK_OK(inturn_value_observe(value, NULL, count_change, &told, NULL, NULL));
  CHECK_OK(inturn_value_set(value, &datum));
  CHECK_INT(gate_count(&told), 1);
  CHECK_OK(inturn_value_destroy(value));
}

static void state(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_value value;
  int64_t pending = -1;
  CHECK_OK(inturn_queue_create_value(queue, INTURN_QUEUE_PENDING, &value));
  CHECK_OK(inturn_value_get_integer(value, &pending));
  CHECK_INT(pending, 0);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_queue_destroy(queue));
}

static void observer_on_a_queue(void) {
  gate told = GATE_INIT;
  inturn_datum datum = INTURN_INTEGER(1);
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_value value;
  options.queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_value_create(NULL, &datum, &value));
  CHECK_OK(
      inturn_value_observe(value, &options, count_change, &told, NULL, NULL));
  CHECK_OK(inturn_value_set_integer(value, 2));
  CHECK_OK(inturn_value_drain(value, LIMIT_NS));
  CHECK_INT(gate_count(&told), 1);
  CHECK_OK(inturn_value_destroy(value));
  drain_and_destroy(options.queue);
}

static void owner(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_owner_create(0, &options.owner));
  options.key = "key";
  CHECK_OK(
      inturn_queue_enqueue_with(queue, &options, never_work, NULL, NULL, NULL));
  CHECK_OK(inturn_owner_destroy(options.owner));
  drain_and_destroy(queue);
}

static void wait_for_own(void *context, inturn_token token) {
  CHECK_STATUS(inturn_queue_drain(*(inturn_queue *)context, -1),
               INTURN_E_DEADLOCK);
  CHECK_OK(inturn_token_finish(token));
}

static void ignore_report(void *context, const inturn_report *report) {
  (void)context;
  (void)report;
}

/* The handler is process-wide, so this never removes it. */
static void report(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, "round");
  CHECK_OK(inturn_report_set_handler(ignore_report, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(queue, wait_for_own, &queue, NULL, NULL));
  drain_and_destroy(queue);
}

static atomic_int attempts_left;

static void fail_first(void *context, inturn_token token) {
  (void)context;
  if (atomic_fetch_sub(&attempts_left, 1) % 3 != 0)
    CHECK_OK(inturn_token_fail(token, 1));
  else
    CHECK_OK(inturn_token_finish(token));
}

static void retry(void) {
  inturn_retry policy = INTURN_RETRY_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  policy.delay_ns = 1000;
  options.retry = &policy;
  CHECK_OK(
      inturn_queue_enqueue_with(queue, &options, fail_first, NULL, NULL, NULL));
  drain_and_destroy(queue);
}

static void (*const features[])(void) = {
    fifo,  actor,  interaction, concurrent,   host_executor,       own_pool,
    value, state,  deadline,    names,        observer_on_a_queue, batch,
    owner, report, retry,       main_executor};
static const char *const feature_names[] = {
    "fifo",  "actor",  "interaction", "concurrent",   "host executor", "pool",
    "value", "state",  "deadline",    "names",        "observer",      "batch",
    "owner", "report", "retry",       "main executor"};
enum { FEATURES = sizeof features / sizeof *features };

/* One process ------------------------------------------------------------- */

typedef enum use { COLD, WARM, SETTLED } use;

typedef struct plan {
  unsigned before, first, after;
  use use;
  int64_t delay_ns;
} plan;

static plan plan_of(uint64_t seed, unsigned long number) {
  uint64_t random = seed * 1000003 + number;
  plan plan;
  plan.first = number % FEATURES;
  static const use uses[] = {COLD, WARM, SETTLED};
  plan.use = uses[next_random(&random) % 3];
  plan.before = next_random(&random) % FEATURES;
  plan.after = next_random(&random) % FEATURES;
  plan.delay_ns = (int64_t)(next_random(&random) % MOST_DELAY_NS);
  if (next_random(&random) % 2) /* often very early */
    plan.delay_ns /= 16;
  return plan;
}

static atomic_int ready;
static atomic_bool go;

static void use_first(void *context) {
  atomic_fetch_add(&ready, 1);
  while (!atomic_load(&go))
    continue;
  features[*(unsigned *)context]();
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Runs in the new process. Returns its status: 0, or what went wrong. */
enum { CHILD_HANGS = 11, CHILD_FAILS = 12, CHILD_CRASHES = 13 };

static int run_plan(plan *plan) {
  if (plan->use == WARM)
    features[plan->before]();
  for (int i = 0; plan->use == SETTLED && i < FEATURES; i++)
    features[i]();
  thread users[2];
  for (int i = 0; i < 2; i++)
    thread_start(&users[i], use_first, &plan->first);
  while (atomic_load(&ready) < 2)
    continue;
  atomic_store(&go, true);
  int64_t until = now() + plan->delay_ns;
  while (now() < until)
    continue;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(CHILD_SECONDS);
    features[plan->first]();
    features[plan->after]();
    _exit(0);
  }
  int status = 0;
  CHECK(child > 0);
  CHECK_INT(waitpid(child, &status, 0), child);
  for (int i = 0; i < 2; i++)
    thread_join(&users[i]);
  features[plan->after]();
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? CHILD_HANGS : CHILD_CRASHES;
  return WEXITSTATUS(status) == 0 ? 0 : CHILD_FAILS;
}

static pid_t start(uint64_t seed, unsigned long number) {
  pid_t process = fork();
  CHECK(process >= 0);
  if (process == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(3 * CHILD_SECONDS);
    plan plan = plan_of(seed, number);
    _exit(run_plan(&plan));
  }
  return process;
}

static const char *meaning_of(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "the parent hangs"
                                       : "the parent crashes";
  switch (WEXITSTATUS(status)) {
  case CHILD_HANGS:
    return "the child hangs";
  case CHILD_CRASHES:
    return "the child crashes";
  case CHILD_FAILS:
    return "the child fails";
  default:
    return "the parent fails";
  }
}

static void explain(unsigned long number, uint64_t seed, int status) {
  plan plan = plan_of(seed, number);
  printf("FAILED forks one %lu %llu: %s; %s%s, use of %s, fork after %lld ns, "
         "then %s\n",
         number, (unsigned long long)seed, meaning_of(status),
         plan.use == COLD   ? "nothing was used"
         : plan.use == WARM ? "used before: "
                            : "everything was used",
         plan.use == WARM ? feature_names[plan.before] : "",
         feature_names[plan.first], (long long)plan.delay_ns,
         feature_names[plan.after]);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  bool one = argc > 3 && strcmp(argv[1], "one") == 0;
  uint64_t seed = argc > 2 + one ? strtoull(argv[2 + one], NULL, 0) : 1;
  unsigned long from = one ? strtoul(argv[2], NULL, 0) : 0;
  unsigned long count = one ? 1 : argc > 1 ? strtoul(argv[1], NULL, 0) : 300;
  unsigned long failed = 0, begun = 0, running = 0;
  struct {
    pid_t process;
    unsigned long number;
  } places[SIDE_BY_SIDE] = {{0, 0}};
  while (begun < count || running > 0) {
    for (int i = 0; i < SIDE_BY_SIDE && begun < count; i++)
      if (places[i].process == 0) {
        places[i].number = from + begun++;
        places[i].process = start(seed, places[i].number);
        running++;
      }
    int status = 0;
    pid_t ended = waitpid(-1, &status, 0);
    CHECK(ended > 0);
    for (int i = 0; i < SIDE_BY_SIDE; i++)
      if (places[i].process == ended) {
        if (status != 0) {
          failed++;
          explain(places[i].number, seed, status);
        }
        places[i].process = 0;
        running--;
      }
  }
  printf("%lu forks, seed %llu\n", count, (unsigned long long)seed);
  printf("%lu passed, %lu failed\n", count - failed, failed);
  return failed == 0 ? 0 : 1;
}
