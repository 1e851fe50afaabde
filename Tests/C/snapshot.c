/*
 * snapshot.c - each kind of entry in a snapshot.
 *
 * SPDX-License-Identifier: MIT
 */
#include "snapshot.h"

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
  seen seen = look_until("login", INTURN_STALL_TOKEN);
  const inturn_entry *entry = find(&seen, INTURN_ENTRY_QUEUE, queue.bits);
  CHECK_TEXT(entry->label, "network");
  CHECK_INT(entry->queue_kind, INTURN_QUEUE_CONCURRENT);
  CHECK_INT(entry->pending, 1);
  CHECK_INT(entry->running, 1);
  CHECK_INT(entry->ended, 0);
  CHECK_INT(entry->flags, INTURN_ENTRY_CLOSED);
  CHECK_INT(entry->cause, INTURN_STALL_TURN);
  /* Its operations follow it. */
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

static void the_kind_of_each_queue_is_told(inturn_queue_kind kind) {
  inturn_queue queue = labelled_queue(kind, "q");
  seen seen = look();
  CHECK_INT(find(&seen, INTURN_ENTRY_QUEUE, queue.bits)->queue_kind, kind);
  forget(&seen);
  CHECK_OK(inturn_queue_destroy(queue));
}

static void each_queue_is_told_with_its_kind(void) {
  for_each_kind(the_kind_of_each_queue_is_told);
}

static void an_operation_that_was_asked_to_end_is_told_so(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  inturn_token token;
  hold(queue, "x", &token);
  seen seen = look();
  CHECK_INT(operation_named(&seen, "x")->flags, 0);
  forget(&seen);
  CHECK_OK(inturn_queue_cancel_all(queue));
  seen = look();
  CHECK_INT(operation_named(&seen, "x")->flags, INTURN_ENTRY_CANCELLED);
  forget(&seen);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
}

static void a_segment_is_told_as_the_operation_that_runs(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  inturn_operation_options options = labelled("x");
  inturn_token token;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, keep_token, &token,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_token_resume(token, just_finish, NULL, NULL));
  seen seen = look();
  CHECK_INT(operation_named(&seen, "x")->state, INTURN_RUNNING);
  CHECK_INT(count_of(&seen, INTURN_ENTRY_OPERATION, stage.queue.bits), 1);
  forget(&seen);
  stage_drain(&stage);
  stage_destroy(&stage);
}

static void a_name_that_was_given_twice_is_told_once(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  const char *names[] = {"a", "a"};
  inturn_operation_options options = labelled("x");
  options.exclusive = names;
  options.exclusive_count = 2;
  inturn_token token;
  hold_with(queue, &options, &token);
  seen seen = look();
  CHECK_INT(count_of(&seen, INTURN_ENTRY_NAME, queue.bits), 1);
  forget(&seen);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
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
  seen seen = look_until("second", INTURN_STALL_NAME);
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

static void a_running_operation_of_a_batch_is_told_as_one(void) {
  for (int kind = INTURN_QUEUE_FIFO; kind <= INTURN_QUEUE_CONCURRENT; kind++) {
    if (kind == INTURN_QUEUE_INTERACTION)
      continue;
    stage stage = stage_create((inturn_queue_kind)kind);
    inturn_token token;
    inturn_batch batch;
    inturn_batch_item items[] = {{keep_token, &token, NULL},
                                 {just_finish, NULL, NULL}};
    CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 2, &batch));
    CHECK_OK(inturn_executor_drain(stage.executor, 1, NULL));
    seen seen = look();
    const inturn_entry *entry =
        find(&seen, INTURN_ENTRY_QUEUE, stage.queue.bits);
    while (entry->kind != INTURN_ENTRY_OPERATION ||
           entry->state != INTURN_RUNNING)
      entry++;
    CHECK(entry->queue == stage.queue.bits);
    CHECK(entry->batch == batch.bits);
    forget(&seen);
    CHECK_OK(inturn_token_finish(token));
    stage_drain(&stage);
    CHECK_OK(inturn_batch_release(batch));
    stage_destroy(&stage);
  }
}

typedef struct waiting {
  inturn_operation operation;
  gate is_over;
  inturn_queue own; /* destroyed first, in one test */
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
  waiting waiting = {load, GATE_INIT, {0}};
  CHECK_OK(
      inturn_queue_enqueue(database, wait_for_other, &waiting, NULL, NULL));
  inturn_entry wait = {0};
  while (wait.kind == 0)
    CHECK_OK(inturn_snapshot(find_wait, &wait));
  CHECK(wait.operation == load.bits && wait.queue == 0);
  CHECK(wait.other == database.bits && wait.id != 0);
  CHECK_INT(wait.flags, 0);
  bool is_told = false;
  while (!is_told) {
    seen seen = look();
    is_told = operation_named(&seen, "load")->flags == INTURN_ENTRY_WAITED_FOR;
    forget(&seen);
  }
  CHECK_OK(inturn_token_finish(token));
  GATE_WAIT(&waiting.is_over, 1);
  drain_and_destroy(database);
  drain_and_destroy(network);
  release(load);
}

static void a_queue_that_is_awaited_is_told_so(void) {
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token token;
  hold(network, "login", &token);
  seen seen = look();
  CHECK_INT(find(&seen, INTURN_ENTRY_QUEUE, network.bits)->flags, 0);
  forget(&seen);
  CHECK_OK(inturn_report_set_awaited(network.bits));
  seen = look();
  CHECK_INT(find(&seen, INTURN_ENTRY_QUEUE, network.bits)->flags,
            INTURN_ENTRY_WAITED_FOR);
  forget(&seen);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(network);
}

static void destroy_own_and_wait(void *context, inturn_token token) {
  waiting *waiting = context;
  CHECK_OK(inturn_queue_destroy(waiting->own));
  CHECK_OK(inturn_operation_wait(waiting->operation, LIMIT_NS, NULL));
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
  gate_pass(&waiting->is_over);
}

static void the_queue_of_a_wait_is_not_told_once_it_is_destroyed(void) {
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token token;
  hold(network, "login", &token);
  inturn_operation load = enqueue(network, labelled("load"));
  waiting waiting = {load, GATE_INIT,
                     labelled_queue(INTURN_QUEUE_FIFO, "database")};
  CHECK_OK(inturn_queue_enqueue(waiting.own, destroy_own_and_wait, &waiting,
                                NULL, NULL));
  inturn_entry wait = {0};
  while (wait.kind == 0)
    CHECK_OK(inturn_snapshot(find_wait, &wait));
  CHECK(wait.operation == load.bits && wait.other == 0);
  CHECK_OK(inturn_token_finish(token));
  GATE_WAIT(&waiting.is_over, 1);
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

static inturn_queue suspended_queue(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < 1000; i++)
    enqueue_one(queue, "o");
  return queue;
}

typedef struct change {
  inturn_queue old, new;
  bool is_new_told;
} change;

/* The new one may take the old one's place. */
static bool replace_it(void *context, const inturn_entry *entry) {
  change *change = context;
  if (entry->kind == INTURN_ENTRY_QUEUE && entry->id == change->old.bits) {
    CHECK_OK(inturn_queue_destroy(change->old));
    change->new = suspended_queue();
  }
  if (entry->kind == INTURN_ENTRY_QUEUE && entry->id == change->new.bits)
    change->is_new_told = true;
  if (entry->kind == INTURN_ENTRY_OPERATION && change->new.bits != 0 &&
      entry->queue == change->new.bits)
    CHECK(change->is_new_told);
  return true;
}

static void the_visit_may_destroy_what_it_is_told(void) {
  change change = {suspended_queue(), {0}, false};
  CHECK_OK(inturn_snapshot(replace_it, &change));
  CHECK_STATUS(inturn_queue_close(change.old), INTURN_E_STALE);
  seen seen = look();
  CHECK_INT(count_of(&seen, INTURN_ENTRY_OPERATION, change.old.bits), 0);
  CHECK_INT(count_of(&seen, INTURN_ENTRY_OPERATION, change.new.bits), 1000);
  forget(&seen);
  CHECK_OK(inturn_queue_destroy(change.new));
}

PROGRAM(snapshot, TEST(executors_and_clocks_are_told),
        TEST(a_queue_is_told_with_what_runs_and_what_is_pending),
        TEST(each_queue_is_told_with_its_kind),
        TEST(an_operation_that_was_asked_to_end_is_told_so),
        TEST(a_segment_is_told_as_the_operation_that_runs),
        TEST(a_name_that_was_given_twice_is_told_once),
        TEST(an_operation_is_told_with_what_it_waits_for),
        TEST(one_that_has_joined_another_one_is_told),
        TEST(what_is_gone_is_not_told),
        TEST(plain_operations_are_told_by_their_number),
        TEST(a_batch_is_told_with_its_operations),
        TEST(a_running_operation_of_a_batch_is_told_as_one),
        TEST(a_thread_that_waits_inside_a_callback_is_told),
        TEST(a_queue_that_is_awaited_is_told_so),
        TEST(the_queue_of_a_wait_is_not_told_once_it_is_destroyed),
        TEST(it_ends_when_the_visit_says_so),
        TEST(the_visit_may_destroy_what_it_is_told))
