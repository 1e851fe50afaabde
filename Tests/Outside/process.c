/*
 * process.c - processes whose memory the tests of the program `inturn` read.
 *
 * SPDX-License-Identifier: MIT
 *
 *     process still    one object of each sort, all of them stalled
 *     process plain    a suspended queue of plain operations
 *     process many     100,000 operations that wait for one
 *     process deep     three queues of 5,000 operations, and one after these
 *     process waits    threads and a task that wait inside work
 *     process drained  executors, one that threads drain, one with a loop
 *     process edges    batches whose operations come after each other
 *     process ends     ends that are not told, or whose callbacks block
 *     process destroyed  a queue that is destroyed while its work goes on
 *     process joined, labels, numerous, following  see process.h
 *     process busy     two queues that never stand still
 *     process fork     forks; the child, whose number it prints, has a queue
 *     process odd      texts that a terminal or JSON could not have as they are
 *     process wide     labels of wide characters, and of some that combine
 *     process PATH     uses the library at that path, too
 *
 * It prints "ready" when everything is in place, and runs for ever.
 */
#include "process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The lock protects the count of calls.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_called = PTHREAD_COND_INITIALIZER;
static int called;

void check(inturn_status status) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s\n", inturn_status_name(status));
    exit(1);
  }
}

void note_call(void) {
  pthread_mutex_lock(&lock);
  called++;
  pthread_cond_broadcast(&has_called);
  pthread_mutex_unlock(&lock);
}

void await_calls(int count) {
  pthread_mutex_lock(&lock);
  while (called < count)
    pthread_cond_wait(&has_called, &lock);
  pthread_mutex_unlock(&lock);
}

void block(void *context, inturn_token token) {
  (void)context, (void)token;
  note_call();
  for (;;)
    pause();
}

void keep(void *context, inturn_token token) {
  (void)context, (void)token;
  note_call();
}

static void finish(void *context, inturn_token token) {
  (void)context;
  inturn_token_finish(token);
}

static void fail(void *context, inturn_token token) {
  (void)context;
  inturn_token_fail(token, 7);
  note_call();
}

static inturn_queue make(inturn_queue_kind kind, inturn_queue_options options) {
  inturn_queue queue;
  check(inturn_queue_create(kind, &options, &queue));
  return queue;
}

inturn_queue make_named(inturn_queue_kind kind, const char *label) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = label;
  return make(kind, options);
}

static inturn_operation
add(inturn_queue queue, inturn_operation_options options, inturn_work_fn work) {
  inturn_operation operation;
  check(
      inturn_queue_enqueue_with(queue, &options, work, NULL, NULL, &operation));
  return operation;
}

inturn_operation add_named(inturn_queue queue, const char *label,
                           inturn_work_fn work) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = label;
  return add(queue, options, work);
}

void add_plain(inturn_queue queue, inturn_work_fn work, int count) {
  for (int i = 0; i < count; i++)
    check(inturn_queue_enqueue(queue, work, NULL, NULL, NULL));
}

/* Lets so many operations start, and adds one that has to wait. */
static void use_up(inturn_queue queue, int starts) {
  for (; starts > 0; starts--)
    check(inturn_operation_wait(add_named(queue, NULL, finish), -1, NULL));
  add_plain(queue, finish, 1);
}

/* Calls that block come first, so that there are threads for the others. */
static void stand_still(void) {
  inturn_queue_options of_queue = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options of_operation = INTURN_OPERATION_OPTIONS_INIT;
  inturn_executor_options of_executor = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor executor;
  inturn_clock clock;
  check(inturn_clock_create_manual(&clock));

  /* A plain operation in its call, and plain ones behind it. */
  inturn_queue plain = make_named(INTURN_QUEUE_FIFO, "plain \"<\n>\"");
  add_plain(plain, block, 1);
  add_plain(plain, finish, 20);
  add_named(plain, "among them", finish);
  add_plain(plain, finish, 3);
  await_calls(1);

  /* A plain operation whose token is out, after others that have ended. */
  inturn_queue token = make_named(INTURN_QUEUE_FIFO, "token");
  add_plain(token, finish, 5);
  add_plain(token, keep, 1);
  add_plain(token, finish, 1);
  await_calls(2);

  /* All workers of a pool in calls, and a queue that waits for them. */
  of_executor.workers = of_executor.max_workers = 1;
  of_executor.label = "a pool with a long name";
  check(inturn_executor_create(&of_executor, &executor));
  of_queue.label = "holds the pool";
  of_queue.executor = executor;
  add_named(make(INTURN_QUEUE_FIFO, of_queue), NULL, block);
  await_calls(3);
  of_queue.label = "waits for the pool";
  add_named(make(INTURN_QUEUE_FIFO, of_queue), "pooled", finish);

  /* An executor that nobody drains. */
  of_executor = (inturn_executor_options)INTURN_EXECUTOR_OPTIONS_INIT;
  of_executor.label = "nobody's";
  check(inturn_executor_create(&of_executor, &executor));
  of_queue.label = "waits for a host";
  of_queue.executor = executor;
  add_named(make(INTURN_QUEUE_ACTOR, of_queue), "hosted", finish);

  /* Suspended, once without and once with a reason. */
  inturn_queue still = make_named(INTURN_QUEUE_FIFO, "suspended");
  check(inturn_queue_suspend(still));
  inturn_operation first = add_named(still, "first", finish);
  inturn_operation second = add_named(still, "second", finish);
  add_plain(still, finish, 2);
  check(inturn_operation_cancel(second));
  inturn_queue reasoned = make_named(INTURN_QUEUE_CONCURRENT, NULL);
  check(inturn_queue_suspend_for(reasoned, "no network"));
  add_named(reasoned, NULL, finish);
  check(inturn_queue_close(reasoned));

  /* Priorities, a dependency, a barrier and operations behind it. */
  of_queue = (inturn_queue_options)INTURN_QUEUE_OPTIONS_INIT;
  of_queue.max_concurrent = 2;
  of_queue.label = "ordered";
  inturn_queue ordered = make(INTURN_QUEUE_CONCURRENT, of_queue);
  inturn_operation running = add_named(ordered, "runs", keep);
  of_operation.cancel_grace_ns = 0;
  add_named(ordered, "runs, too", block);
  await_calls(5);
  check(inturn_operation_cancel(running));
  for (int i = -2; i <= 2; i++) {
    of_operation.priority = i;
    of_operation.label = "of a priority";
    add(ordered, of_operation, finish);
  }
  add_plain(ordered, finish, 4);
  inturn_operation both[] = {running, first};
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.label = "after two";
  of_operation.after = both;
  of_operation.after_count = 2;
  add(ordered, of_operation, finish);
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.label = "barrier";
  of_operation.barrier = true;
  add(ordered, of_operation, finish);
  add_named(ordered, "behind", finish);
  add_plain(ordered, finish, 2);

  /* The head waits for an end, and all others wait behind it. */
  inturn_queue blocked = make_named(INTURN_QUEUE_FIFO, "blocked");
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.label = "after first";
  of_operation.after = &first;
  of_operation.after_count = 1;
  add(blocked, of_operation, finish);
  add_named(blocked, "behind it", finish);

  /* Names: one operation has them, two wait. */
  static const char *const names[] = {"disk", "lamp"};
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.exclusive = names;
  of_operation.exclusive_count = 2;
  of_operation.label = "has its names";
  inturn_queue naming = make_named(INTURN_QUEUE_CONCURRENT, "names");
  add(naming, of_operation, keep);
  await_calls(6);
  of_operation.label = "waits for its names";
  add(naming, of_operation, finish);
  of_operation.exclusive_count = 1;
  add(naming, of_operation, finish);

  /* A view that has not appeared; one that has, with a stopped clock. */
  inturn_queue_options of_views = INTURN_QUEUE_OPTIONS_INIT;
  of_views.label = "hidden";
  add_named(make(INTURN_QUEUE_INTERACTION, of_views), "dialog", finish);
  of_views.label = "settling";
  of_views.clock = clock;
  inturn_queue settling = make(INTURN_QUEUE_INTERACTION, of_views);
  check(inturn_queue_view_did_appear(settling));
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.urgent = true;
  add(settling, of_operation, finish);

  /* A second attempt that is not due. */
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = INT64_C(3600000000000);
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.retry = &retry;
  of_operation.label = "tries again";
  of_queue = (inturn_queue_options)INTURN_QUEUE_OPTIONS_INIT;
  of_queue.clock = clock;
  of_queue.label = "retries";
  add(make(INTURN_QUEUE_FIFO, of_queue), of_operation, fail);
  await_calls(7);

  /* A batch whose operations come after its first. */
  inturn_batch_options of_batch = INTURN_BATCH_OPTIONS_INIT;
  inturn_batch_item items[] = {{keep, NULL, NULL}, {finish, NULL, NULL}};
  inturn_batch_edge edge = {1, 0};
  of_batch.edges = &edge;
  of_batch.edge_count = 1;
  check(inturn_queue_enqueue_batch(make_named(INTURN_QUEUE_CONCURRENT, "batch"),
                                   &of_batch, items, 2, NULL));
  await_calls(8);

  /* An operation that has joined another; one cut off that keeps its place. */
  inturn_queue joined = make_named(INTURN_QUEUE_CONCURRENT, "joined");
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.key = "key";
  of_operation.label = "leads";
  add(joined, of_operation, keep);
  await_calls(9);
  of_operation.join = true;
  of_operation.label = "has joined";
  add(joined, of_operation, finish);
  inturn_queue cut = make_named(INTURN_QUEUE_FIFO, "cut off");
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.max_run_ns = 1;
  of_operation.label = "over time";
  inturn_end end = INTURN_END_INIT;
  check(inturn_operation_wait(add(cut, of_operation, keep), -1, &end));
  add_named(cut, "behind that", finish);

  /* Batches that wait for their turn: plain, plain, and one with labels. */
  inturn_batch_item three[] = {
      {keep, NULL, NULL}, {keep, NULL, NULL}, {keep, NULL, NULL}};
  inturn_queue later = make_named(INTURN_QUEUE_FIFO, "batches");
  check(inturn_queue_suspend(later));
  check(inturn_queue_enqueue_batch(later, NULL, three, 3, NULL));
  check(inturn_queue_enqueue_batch(later, NULL, three, 2, NULL));
  add_plain(later, finish, 2);
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.label = "of a batch";
  of_batch = (inturn_batch_options)INTURN_BATCH_OPTIONS_INIT;
  of_batch.operation = &of_operation;
  check(inturn_queue_enqueue_batch(later, &of_batch, three, 2, NULL));

  /* Owners, one of them of two operations. */
  inturn_owner owner, other;
  check(inturn_owner_create(0, &other));
  check(inturn_owner_create(0, &owner));
  of_operation = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
  of_operation.owner = owner;
  inturn_queue owned = make_named(INTURN_QUEUE_FIFO, "owned");
  add(owned, of_operation, keep);
  add(owned, of_operation, finish);
  await_calls(11);

  /* No more starts, by the system's clock and by one that stands still. */
  of_queue = (inturn_queue_options)INTURN_QUEUE_OPTIONS_INIT;
  of_queue.rate = (inturn_rate){3, 2, INT64_C(36000000000001)};
  of_queue.label = "rated";
  use_up(make(INTURN_QUEUE_FIFO, of_queue), 2);
  check(inturn_clock_advance(clock, 100));
  of_queue.clock = clock;
  use_up(make(INTURN_QUEUE_CONCURRENT, of_queue), 2);

  /* Longer than a dump allows, and cut between two characters. */
  char label[100] = "x";
  for (int i = 0; i < 45; i++)
    strcat(label, "\xc3\xa9");
  make_named(INTURN_QUEUE_ACTOR, label);
}

static void wait_in_great_number(void) {
  inturn_queue queue = make_named(INTURN_QUEUE_FIFO, "many");
  add_named(queue, "first", block);
  await_calls(1);
  for (int i = 0; i < 100000; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    char label[16];
    snprintf(label, sizeof label, "number %d", i);
    options.label = label;
    check(inturn_queue_enqueue_with(queue, &options, finish, NULL, NULL, NULL));
  }
}

/* The last of many comes after the last of as many in another queue. */
static void wait_in_depth(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation last = {0};
  for (int number = 1; number <= 3; number++) {
    char label[16];
    snprintf(label, sizeof label, "queue %d", number);
    inturn_queue queue = make_named(INTURN_QUEUE_FIFO, label);
    add_named(queue, "first", block);
    add_plain(queue, finish, 5000);
    snprintf(label, sizeof label, "last %d", number);
    options.label = label;
    options.after = number > 1 ? &last : NULL;
    options.after_count = number > 1;
    last = add(queue, options, finish);
  }
  await_calls(3);
}

static void hurry(void) {
  inturn_queue fast = make_named(INTURN_QUEUE_FIFO, "fast");
  inturn_queue wide = make_named(INTURN_QUEUE_CONCURRENT, "wide");
  puts("ready");
  fflush(stdout);
  for (uint64_t round = 0;; round++) {
    inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
    inturn_queue brief = make_named(INTURN_QUEUE_FIFO, "brief");
    add_plain(brief, finish, 10);
    add_plain(fast, finish, 100);
    for (int i = 0; i < 20; i++) {
      inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
      options.label = "named";
      options.priority = i % 3;
      check(inturn_operation_release(add(wide, options, finish)));
    }
    check(inturn_queue_destroy(brief));
    check(inturn_queue_get_statistics(fast, &statistics));
    if (statistics.pending > 5000)
      check(inturn_queue_drain(fast, -1));
    check(inturn_queue_get_statistics(wide, &statistics));
    if (statistics.pending > 900)
      check(inturn_queue_drain(wide, -1));
  }
}

static void stand_still_plainly(void) {
  inturn_queue plain = make_named(INTURN_QUEUE_FIFO, "plain");
  check(inturn_queue_suspend(plain));
  add_plain(plain, finish, 3);
}

static void keep_there(void *context, inturn_token token) {
  *(inturn_token *)context = token;
}

/* The first of a batch has ended, which its executor has not told yet. */
static void leave_an_end_untold(void) {
  inturn_executor_options of_executor = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options of_queue = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options of_each = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options of_batch = INTURN_BATCH_OPTIONS_INIT;
  inturn_queue queue;
  inturn_token token;
  inturn_batch_item items[] = {{keep_there, &token, NULL},
                               {finish, NULL, NULL}};
  inturn_batch_edge edge = {1, 0};
  check(inturn_executor_create(&of_executor, &of_queue.executor));
  of_queue.label = "untold";
  check(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &of_queue, &queue));
  of_each.label = "item";
  of_batch.operation = &of_each;
  of_batch.edges = &edge;
  of_batch.edge_count = 1;
  check(inturn_queue_enqueue_batch(queue, &of_batch, items, 2, NULL));
  check(inturn_executor_drain(of_queue.executor, 1, NULL));
  check(inturn_token_finish(token));
}

static void split(void) {
  make_named(INTURN_QUEUE_FIFO, "of the parent");
  pid_t child = fork();
  if (child == 0) {
    add_named(make_named(INTURN_QUEUE_FIFO, "of the child"), "work", block);
    await_calls(1);
    child = getpid();
    printf("%d\n", (int)child);
    fflush(stdout);
    for (;;)
      pause();
  }
}

/* A control character of two bytes, and a file's name in another encoding. */
static void say_oddly(void) {
  static inturn_site site = {"caf\xe9 \"<\x1b.c", NULL, 7, 0};
  inturn_queue queue = make_named(INTURN_QUEUE_FIFO, "\xc2\x9b"
                                                     "31m red");
  check(inturn_queue_enqueue_at(&site, queue, block, NULL, NULL, NULL));
  await_calls(1);
}

/* Characters of two columns, and letters with an accent of none. */
static void say_widely(void) {
  char wide[64] = "", accented[64] = "";
  for (int i = 0; i < 20; i++) {
    strcat(wide, "\xe6\xbc\xa2");
    strcat(accented, "e\xcc\x81");
  }
  add_named(make_named(INTURN_QUEUE_FIFO, wide), accented, keep);
  add_named(make_named(INTURN_QUEUE_FIFO, accented), wide, keep);
  await_calls(2);
}

static void use_copy(const char *path) {
  void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_status (*create)(inturn_queue_kind, const inturn_queue_options *,
                          inturn_queue *);
  inturn_queue queue;
  if (copy == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  *(void **)&create = dlsym(copy, "inturn_queue_create");
  options.label = "of the copy";
  check(create(INTURN_QUEUE_FIFO, &options, &queue));
  make_named(INTURN_QUEUE_FIFO, "of the library");
}

static const struct {
  const char *name;
  void (*begin)(void);
} sorts[] = {{"still", stand_still},
             {"plain", stand_still_plainly},
             {"many", wait_in_great_number},
             {"deep", wait_in_depth},
             {"waits", wait_in_work},
             {"untold", leave_an_end_untold},
             {"later", wait_for_what_comes_later},
             {"drained", wait_for_drainers},
             {"edges", wait_for_edges},
             {"ends", wait_at_ends},
             {"destroyed", wait_in_destroyed_queue},
             {"joined", join_one_of_two},
             {"labels", make_odd_labels},
             {"numerous", run_in_great_number},
             {"following", follow_each_other},
             {"busy", hurry},
             {"fork", split},
             {"odd", say_oddly},
             {"wide", say_widely}};

int main(int count, char **arguments) {
  const char *what = count == 2 ? arguments[1] : "";
  if (what[0] == '/')
    use_copy(what);
  for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
    if (strcmp(what, sorts[i].name) == 0)
      sorts[i].begin();
  puts("ready");
  fflush(stdout);
  for (;;)
    pause();
}
