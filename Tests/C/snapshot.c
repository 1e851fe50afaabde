/*
 * snapshot.c - everything that there is can be looked at.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What a snapshot tells, copied. */
typedef struct seen {
  inturn_entry *entries;
  size_t count, room;
} seen;

static bool take_entry(void *into, const inturn_entry *entry) {
  seen *seen = into;
  CHECK_INT(entry->size, sizeof *entry);
  CHECK(entry->kind >= INTURN_ENTRY_EXECUTOR &&
        entry->kind <= INTURN_ENTRY_NAME);
  CHECK(memchr(entry->label, 0, sizeof entry->label) != NULL);
  CHECK((entry->file == NULL) == (entry->line == 0));
  if (seen->count == seen->room) {
    seen->room = 2 * seen->room + 64;
    seen->entries = realloc(seen->entries, seen->room * sizeof *entry);
    CHECK(seen->entries != NULL);
  }
  seen->entries[seen->count++] = *entry;
  return true;
}

static seen look(void) {
  seen seen = {NULL, 0, 0};
  CHECK_OK(inturn_snapshot(take_entry, &seen));
  return seen;
}

static void forget(seen *seen) { free(seen->entries); }

static const inturn_entry *find(const seen *seen, inturn_entry_kind kind,
                                uint64_t id) {
  const inturn_entry *found = NULL;
  for (size_t i = 0; i < seen->count; i++)
    if (seen->entries[i].kind == kind && seen->entries[i].id == id) {
      CHECK(found == NULL);
      found = &seen->entries[i];
    }
  CHECK(found != NULL);
  return found;
}

static const inturn_entry *operation_named(const seen *seen,
                                           const char *label) {
  const inturn_entry *found = NULL;
  for (size_t i = 0; i < seen->count; i++)
    if (seen->entries[i].kind == INTURN_ENTRY_OPERATION &&
        strcmp(seen->entries[i].label, label) == 0) {
      CHECK(found == NULL);
      found = &seen->entries[i];
    }
  CHECK(found != NULL);
  return found;
}

static size_t count_of(const seen *seen, inturn_entry_kind kind,
                       uint64_t queue) {
  size_t count = 0;
  for (size_t i = 0; i < seen->count; i++)
    count += seen->entries[i].kind == kind && seen->entries[i].queue == queue;
  return count;
}

static inturn_operation enqueue(inturn_queue queue,
                                inturn_operation_options options) {
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

static void release(inturn_operation operation) {
  CHECK_OK(inturn_operation_release(operation));
}

/* Each kind ---------------------------------------------------------------- */

static void executors_and_clocks_are_told(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor pool, own, main_executor;
  options.workers = 1;
  options.label = "a pool";
  CHECK_OK(inturn_executor_create(&options, &own));
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_OK(inturn_executor_main(&main_executor));
  CHECK_OK(inturn_clock_advance(stage.clock, 12));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  seen seen = look();
  const inturn_entry *entry = find(&seen, INTURN_ENTRY_EXECUTOR, own.bits);
  CHECK_TEXT(entry->label, "a pool");
  CHECK_INT(entry->flags, INTURN_ENTRY_POOL);
  CHECK(find(&seen, INTURN_ENTRY_EXECUTOR, pool.bits)->flags ==
        INTURN_ENTRY_POOL);
  CHECK(find(&seen, INTURN_ENTRY_EXECUTOR, main_executor.bits)->flags ==
        INTURN_ENTRY_MAIN);
  entry = find(&seen, INTURN_ENTRY_EXECUTOR, stage.executor.bits);
  CHECK_INT(entry->count, 1);
  CHECK_INT(entry->flags, 0);
  entry = find(&seen, INTURN_ENTRY_CLOCK, stage.clock.bits);
  CHECK_INT(entry->at_ns, 12);
  CHECK_INT(entry->flags, INTURN_ENTRY_MANUAL);
  entry = find(&seen, INTURN_ENTRY_CLOCK, 0);
  CHECK_INT(entry->flags, 0);
  CHECK(entry->at_ns > 0);
  entry = find(&seen, INTURN_ENTRY_QUEUE, stage.queue.bits);
  CHECK(entry->executor == stage.executor.bits);
  CHECK(entry->clock == stage.clock.bits);
  CHECK_INT(entry->cause, INTURN_STALL_EXECUTOR);
  forget(&seen);
  stage_drain(&stage);
  stage_destroy(&stage);
  CHECK_OK(inturn_executor_destroy(own));
}

static void a_queue_is_told_with_what_runs_and_what_is_pending(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "network");
  CHECK_OK(inturn_queue_set_max_concurrent(queue, 1));
  inturn_owner owner;
  CHECK_OK(inturn_owner_create(0, &owner));
  inturn_token token;
  hold(queue, "login", &token);
  inturn_operation_options options = labelled("load");
  options.priority = -3;
  options.owner = owner;
  options.barrier = true;
  inturn_operation load = enqueue(queue, options);
  CHECK_OK(inturn_queue_close(queue));
  seen seen;
  do {
    seen = look();
  } while (operation_named(&seen, "login")->cause != INTURN_STALL_TOKEN);
  const inturn_entry *entry = find(&seen, INTURN_ENTRY_QUEUE, queue.bits);
  CHECK_TEXT(entry->label, "network");
  CHECK_INT(entry->queue_kind, INTURN_QUEUE_CONCURRENT);
  CHECK_INT(entry->pending, 1);
  CHECK_INT(entry->running, 1);
  CHECK_INT(entry->ended, 0);
  CHECK_INT(entry->flags, INTURN_ENTRY_CLOSED);
  CHECK_INT(entry->cause, INTURN_STALL_TURN);
  /* Its operations come right after it. */
  CHECK(operation_named(&seen, "login") == entry + 1);
  CHECK(operation_named(&seen, "load") == entry + 2);
  CHECK_INT(entry[1].state, INTURN_RUNNING);
  CHECK(entry[1].token == token.bits && entry[1].queue == queue.bits);
  CHECK(entry[1].started_ns >= entry[1].enqueued_ns &&
        entry[1].enqueued_ns > 0);
  CHECK_INT(entry[2].state, INTURN_PENDING);
  CHECK(entry[2].id == load.bits && entry[2].queue == queue.bits);
  CHECK_INT(entry[2].cause, INTURN_STALL_TURN);
  CHECK_INT(entry[2].priority, -3);
  CHECK_INT(entry[2].flags, INTURN_ENTRY_BARRIER);
  CHECK(entry[2].owner == owner.bits);
  CHECK_INT(entry[2].count, 1);
  CHECK_INT(find(&seen, INTURN_ENTRY_OWNER, owner.bits)->count, 1);
  forget(&seen);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  CHECK_OK(inturn_owner_destroy(owner));
  release(load);
}

static void an_operation_is_told_with_what_it_waits_for(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "disk");
  const char *names[] = {"a", "b"};
  inturn_operation_options options = labelled("first");
  options.exclusive = names;
  options.exclusive_count = 1;
  inturn_token token;
  hold_with(queue, &options, &token);
  options.label = "second";
  options.exclusive_count = 2;
  inturn_operation second = enqueue(queue, options);
  inturn_operation_options after = labelled("third");
  after.after = &second;
  after.after_count = 1;
  inturn_operation third = enqueue(queue, after);
  seen seen;
  do {
    seen = look();
  } while (operation_named(&seen, "second")->cause != INTURN_STALL_NAME);
  const inturn_entry *first = operation_named(&seen, "first");
  CHECK_INT(first[1].kind, INTURN_ENTRY_NAME);
  CHECK_TEXT(first[1].label, "a");
  CHECK_INT(first[1].state, INTURN_RUNNING);
  CHECK(first[1].other == 0 && first[1].operation == first->id);
  const inturn_entry *name = operation_named(&seen, "second") + 1;
  bool isA = name[0].label[0] == 'a';
  CHECK_TEXT(name[isA].label, "b");
  CHECK_INT(name[isA].state, INTURN_RUNNING);
  CHECK_TEXT(name[!isA].label, "a");
  CHECK_INT(name[!isA].state, INTURN_PENDING);
  CHECK(name[!isA].other == first->id && name[!isA].operation == second.bits);
  const inturn_entry *last = operation_named(&seen, "third");
  CHECK(last->id == third.bits);
  CHECK_INT(last->cause, INTURN_STALL_AFTER);
  CHECK_INT(last[1].kind, INTURN_ENTRY_AFTER);
  CHECK(last[1].operation == third.bits && last[1].other == second.bits);
  CHECK(last[1].queue == queue.bits);
  forget(&seen);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  release(second), release(third);
}

static void one_that_has_joined_another_one_is_told(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "q");
  CHECK_OK(inturn_queue_suspend(queue));
  inturn_operation_options options = labelled("leader");
  options.key = "key";
  options.join = true;
  inturn_operation leader = enqueue(queue, options);
  options.label = "follower";
  inturn_operation follower = enqueue(queue, options);
  seen seen = look();
  const inturn_entry *entry = operation_named(&seen, "follower");
  CHECK_INT(entry->cause, INTURN_STALL_AFTER);
  CHECK_INT(entry[1].kind, INTURN_ENTRY_AFTER);
  CHECK(entry[1].operation == follower.bits && entry[1].other == leader.bits);
  forget(&seen);
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
  release(leader), release(follower);
}

static void what_is_gone_is_not_told(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  CHECK_OK(inturn_queue_destroy(queue));
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  stage_destroy(&stage);
  inturn_library_statistics now = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_library_get_statistics(&now));
  seen seen = look();
  size_t counts[INTURN_ENTRY_NAME + 1] = {0};
  for (size_t i = 0; i < seen.count; i++)
    counts[seen.entries[i].kind]++;
  CHECK_INT(counts[INTURN_ENTRY_QUEUE], now.queues);
  CHECK_INT(counts[INTURN_ENTRY_EXECUTOR], now.executors);
  CHECK_INT(counts[INTURN_ENTRY_CLOCK], now.clocks + 1);
  CHECK_INT(counts[INTURN_ENTRY_OWNER], 0);
  CHECK_INT(counts[INTURN_ENTRY_BATCH], 0);
  CHECK_INT(counts[INTURN_ENTRY_OPERATION], 0);
  forget(&seen);
}

static void plain_operations_are_told_by_their_number(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "plain");
  CHECK_OK(inturn_queue_suspend_for(queue, "a test"));
  for (int i = 0; i < 1000; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  enqueue_one(queue, "labelled");
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  seen seen = look();
  const inturn_entry *entry = find(&seen, INTURN_ENTRY_QUEUE, queue.bits);
  CHECK_INT(entry->pending, 1002);
  CHECK_INT(entry->suspends, 1);
  CHECK_INT(entry->cause, INTURN_STALL_SUSPENDED);
  CHECK_INT(count_of(&seen, INTURN_ENTRY_OPERATION, queue.bits), 3);
  CHECK(entry[1].id == 0 && entry[1].count == 1000);
  CHECK_TEXT(entry[2].label, "labelled");
  CHECK(entry[3].id == 0 && entry[3].count == 1);
  forget(&seen);
  CHECK_OK(inturn_queue_resume_for(queue, "a test"));
  drain_and_destroy(queue);
}

static void a_batch_is_told_with_its_operations(void) {
  enum { COUNT = 5 };
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  inturn_batch_item items[COUNT] = {{just_finish, NULL, NULL}};
  for (int i = 1; i < COUNT; i++)
    items[i] = items[0];
  inturn_batch_edge edges[] = {{3, 0}, {4, 0}};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.edges = edges;
  options.edge_count = 2;
  inturn_batch batch;
  CHECK_OK(
      inturn_queue_enqueue_batch(stage.queue, &options, items, COUNT, &batch));
  seen seen = look();
  const inturn_entry *entry = find(&seen, INTURN_ENTRY_BATCH, batch.bits);
  CHECK(entry->queue == stage.queue.bits);
  CHECK(entry->count == COUNT && entry->ended == 0);
  entry = find(&seen, INTURN_ENTRY_QUEUE, stage.queue.bits);
  CHECK(entry[1].batch == batch.bits && entry[1].count == 3);
  CHECK_INT(entry[1].cause, INTURN_STALL_TURN);
  CHECK(entry[2].batch == batch.bits && entry[2].count == 2);
  CHECK_INT(entry[2].cause, INTURN_STALL_AFTER);
  forget(&seen);
  stage_drain(&stage);
  CHECK_OK(inturn_batch_release(batch));
  stage_destroy(&stage);
}

typedef struct waiting {
  inturn_operation operation;
  gate is_over;
} waiting;

static void wait_for_other(void *context, inturn_token token) {
  waiting *waiting = context;
  CHECK_OK(inturn_operation_wait(waiting->operation, LIMIT_NS, NULL));
  CHECK_OK(inturn_token_finish(token));
  gate_pass(&waiting->is_over);
}

static bool find_wait(void *into, const inturn_entry *entry) {
  if (entry->kind == INTURN_ENTRY_WAIT)
    *(inturn_entry *)into = *entry;
  return true;
}

static void a_thread_that_waits_inside_a_callback_is_told(void) {
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_token token;
  hold(network, "login", &token);
  inturn_operation load = enqueue(network, labelled("load"));
  waiting waiting = {load, GATE_INIT};
  CHECK_OK(
      inturn_queue_enqueue(database, wait_for_other, &waiting, NULL, NULL));
  inturn_entry wait = {0};
  while (wait.kind == 0)
    CHECK_OK(inturn_snapshot(find_wait, &wait));
  CHECK(wait.operation == load.bits && wait.queue == 0);
  CHECK(wait.other == database.bits && wait.id != 0);
  CHECK_INT(wait.flags, 0);
  seen seen;
  do {
    seen = look();
  } while (operation_named(&seen, "load")->flags != INTURN_ENTRY_WAITED_FOR);
  forget(&seen);
  CHECK_OK(inturn_token_finish(token));
  GATE_WAIT(&waiting.is_over, 1);
  drain_and_destroy(database);
  drain_and_destroy(network);
  release(load);
}

/* The visit ---------------------------------------------------------------- */

static bool count_to_two(void *count, const inturn_entry *entry) {
  (void)entry;
  return ++*(int *)count < 2;
}

static void it_ends_when_the_visit_says_so(void) {
  int count = 0;
  CHECK_OK(inturn_snapshot(count_to_two, &count));
  CHECK_INT(count, 2);
  CHECK_STATUS(inturn_snapshot(NULL, NULL), INTURN_E_INVALID_ARGUMENT);
}

static bool destroy_it(void *queue, const inturn_entry *entry) {
  if (entry->kind == INTURN_ENTRY_QUEUE &&
      entry->id == ((inturn_queue *)queue)->bits)
    CHECK_OK(inturn_queue_destroy(*(inturn_queue *)queue));
  return true;
}

static void the_visit_may_destroy_what_it_is_told(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < 1000; i++)
    enqueue_one(queue, "o");
  CHECK_OK(inturn_snapshot(destroy_it, &queue));
  CHECK_STATUS(inturn_queue_close(queue), INTURN_E_STALE);
  seen seen = look();
  CHECK_INT(count_of(&seen, INTURN_ENTRY_OPERATION, queue.bits), 0);
  forget(&seen);
}

/* What is told in pieces --------------------------------------------------- */

enum { MANY = 5000 };

/* Checks that each of these is told once, in this order. */
static void check_order(inturn_queue queue, const inturn_operation *operations,
                        size_t count) {
  seen seen = look();
  size_t next = 0;
  for (size_t i = 0; i < seen.count; i++) {
    if (seen.entries[i].kind != INTURN_ENTRY_OPERATION ||
        seen.entries[i].queue != queue.bits)
      continue;
    CHECK(next < count);
    CHECK(seen.entries[i].id == operations[next].bits);
    next++;
  }
  CHECK_INT(next, count);
  forget(&seen);
}

static void many_are_told_once_and_in_order(void) {
  static inturn_operation operations[MANY];
  for (inturn_queue_kind kind = INTURN_QUEUE_FIFO;
       kind <= INTURN_QUEUE_CONCURRENT; kind++) {
    inturn_queue queue = labelled_queue(kind, "q");
    CHECK_OK(inturn_queue_suspend(queue));
    for (int i = 0; i < MANY; i++) {
      inturn_operation_options options = labelled("o");
      if (kind >= INTURN_QUEUE_INTERACTION)
        options.priority = kind == INTURN_QUEUE_CONCURRENT ? -i : -(i / 7);
      operations[i] = enqueue(queue, options);
    }
    check_order(queue, operations, MANY);
    CHECK_OK(inturn_queue_destroy(queue));
    for (int i = 0; i < MANY; i++)
      release(operations[i]);
  }
}

static void many_that_wait_are_told_once_and_in_order(void) {
  static inturn_operation operations[MANY];
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "q");
  CHECK_OK(inturn_queue_suspend(network));
  inturn_operation load = enqueue(network, labelled("load"));
  for (int i = 0; i < MANY; i++) {
    inturn_operation_options options = labelled("o");
    options.after = &load;
    options.after_count = 1;
    operations[i] = enqueue(queue, options);
  }
  check_order(queue, operations, MANY);
  seen seen = look();
  CHECK_INT(count_of(&seen, INTURN_ENTRY_AFTER, queue.bits), MANY);
  forget(&seen);
  CHECK_OK(inturn_queue_resume(network));
  drain_and_destroy(network);
  drain_and_destroy(queue);
  release(load);
  for (int i = 0; i < MANY; i++)
    release(operations[i]);
}

static void many_that_run_are_told_once(void) {
  static inturn_operation operations[MANY], reversed[MANY];
  static inturn_token tokens[MANY];
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  for (int i = 0; i < MANY; i++) {
    inturn_operation_options options = labelled("o");
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, keep_token,
                                       &tokens[i], NULL, &operations[i]));
    reversed[MANY - 1 - i] = operations[i];
  }
  stage_drain(&stage);
  check_order(stage.queue, reversed, MANY);
  for (int i = 0; i < MANY; i++)
    CHECK_OK(inturn_token_finish(tokens[i]));
  stage_drain(&stage);
  stage_destroy(&stage);
  for (int i = 0; i < MANY; i++)
    release(operations[i]);
}

static void all_that_an_operation_waits_for_is_told(void) {
  static inturn_operation operations[MANY];
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "q");
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < MANY; i++)
    CHECK_OK(
        inturn_queue_enqueue(queue, just_finish, NULL, NULL, &operations[i]));
  inturn_operation_options options = labelled("last");
  options.after = operations;
  options.after_count = MANY;
  inturn_operation last = enqueue(queue, options);
  seen seen = look();
  int next = 0;
  for (size_t i = 0; i < seen.count; i++)
    if (seen.entries[i].kind == INTURN_ENTRY_AFTER) {
      CHECK(seen.entries[i].operation == last.bits);
      CHECK(next < MANY && seen.entries[i].other == operations[next].bits);
      next++;
    }
  CHECK_INT(next, MANY);
  CHECK_INT(count_of(&seen, INTURN_ENTRY_OPERATION, queue.bits), MANY + 1);
  forget(&seen);
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
  for (int i = 0; i < MANY; i++)
    release(operations[i]);
  release(last);
}

/* What changes meanwhile --------------------------------------------------- */

static atomic_bool is_enough;

/* Its queue may be gone by then. */
static void finish_or_not(void *context, inturn_token token) {
  (void)context;
  (void)inturn_token_finish(token);
}

static inturn_operation enqueue_short(inturn_queue queue,
                                      inturn_operation_options options) {
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, finish_or_not, NULL, NULL,
                                     &operation));
  return operation;
}

static void *come_and_go(void *context) {
  inturn_queue shared = *(inturn_queue *)context;
  while (!atomic_load(&is_enough)) {
    inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "short");
    const char *name = "shared";
    inturn_operation_options options = labelled("o");
    options.exclusive = &name;
    options.exclusive_count = 1;
    inturn_operation first = enqueue_short(queue, options);
    options.after = &first;
    options.after_count = 1;
    inturn_operation second = enqueue_short(queue, options);
    CHECK_OK(inturn_queue_enqueue(queue, finish_or_not, NULL, NULL, NULL));
    enqueue_one(shared, "late");
    inturn_batch_item item = {finish_or_not, NULL, NULL};
    CHECK_OK(inturn_queue_enqueue_batch(queue, NULL, &item, 1, NULL));
    inturn_operation_cancel(second);
    CHECK_OK(inturn_queue_destroy(queue));
    release(first), release(second);
  }
  return NULL;
}

/* In a queue whose pending operations keep their places. */
static void what_keeps_its_place_is_told_once_whatever_others_do(void) {
  enum { KEPT = 2000, THREADS = 2 };
  static inturn_operation operations[KEPT];
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "kept");
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < KEPT; i++)
    operations[i] = enqueue(queue, labelled("o"));
  pthread_t threads[THREADS];
  atomic_store(&is_enough, false);
  for (int i = 0; i < THREADS; i++)
    CHECK_INT(pthread_create(&threads[i], NULL, come_and_go, &queue), 0);
  for (int round = 0; round < 50; round++) {
    seen seen = look();
    int next = 0;
    for (size_t i = 0; i < seen.count && next < KEPT; i++) {
      if (seen.entries[i].kind != INTURN_ENTRY_OPERATION ||
          seen.entries[i].queue != queue.bits)
        continue;
      CHECK(seen.entries[i].id == operations[next].bits);
      next++;
    }
    CHECK_INT(next, KEPT);
    forget(&seen);
  }
  atomic_store(&is_enough, true);
  for (int i = 0; i < THREADS; i++)
    CHECK_INT(pthread_join(threads[i], NULL), 0);
  CHECK_OK(inturn_queue_destroy(queue));
  for (int i = 0; i < KEPT; i++)
    release(operations[i]);
}

PROGRAM(snapshot, TEST(executors_and_clocks_are_told),
        TEST(a_queue_is_told_with_what_runs_and_what_is_pending),
        TEST(an_operation_is_told_with_what_it_waits_for),
        TEST(one_that_has_joined_another_one_is_told),
        TEST(what_is_gone_is_not_told),
        TEST(plain_operations_are_told_by_their_number),
        TEST(a_batch_is_told_with_its_operations),
        TEST(a_thread_that_waits_inside_a_callback_is_told),
        TEST(it_ends_when_the_visit_says_so),
        TEST(the_visit_may_destroy_what_it_is_told),
        TEST(many_are_told_once_and_in_order),
        TEST(many_that_wait_are_told_once_and_in_order),
        TEST(many_that_run_are_told_once),
        TEST(all_that_an_operation_waits_for_is_told),
        TEST(what_keeps_its_place_is_told_once_whatever_others_do))
