/*
 * snapshot_pieces.c - a snapshot that is taken in pieces, and changes
 * meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "snapshot.h"

#include <stdatomic.h>

enum { MANY = 5000 };

/* Checks that each of these is listed once, in this order. */
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

/* Changes meanwhile -------------------------------------------------------- */

typedef struct renewal {
  stage stage;
  inturn_operation operations[MANY];
  inturn_token tokens[MANY], new_token;
  int told, next;
} renewal;

/* Of every seven that are listed, six end, and new ones take their places. */
static bool renew(void *context, const inturn_entry *entry) {
  renewal *it = context;
  if (entry->kind != INTURN_ENTRY_OPERATION || entry->label[0] != 'o')
    return true;
  CHECK(it->next >= 0 && entry->id == it->operations[it->next].bits);
  it->told++;
  int place = it->next--;
  if (place % 7 == 0)
    return true;
  inturn_operation_options options = labelled("new");
  CHECK_OK(inturn_token_finish(it->tokens[place]));
  release(it->operations[place]);
  stage_drain(&it->stage);
  CHECK_OK(inturn_queue_enqueue_with(it->stage.queue, &options, keep_token,
                                     &it->new_token, NULL, NULL));
  stage_drain(&it->stage);
  return true;
}

static void who_goes_on_is_not_misled_by_who_has_come_in_its_place(void) {
  static renewal it;
  it.stage = stage_create(INTURN_QUEUE_ACTOR);
  it.next = MANY - 1;
  for (int i = 0; i < MANY; i++) {
    inturn_operation_options options = labelled("o");
    CHECK_OK(inturn_queue_enqueue_with(it.stage.queue, &options, keep_token,
                                       &it.tokens[i], NULL, &it.operations[i]));
  }
  stage_drain(&it.stage);
  CHECK_OK(inturn_snapshot(renew, &it));
  CHECK_INT(it.told, MANY);
  stage_destroy(&it.stage);
  for (int i = 0; i < MANY; i += 7)
    release(it.operations[i]);
}

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

PROGRAM(snapshot_pieces, TEST(many_are_told_once_and_in_order),
        TEST(many_that_wait_are_told_once_and_in_order),
        TEST(many_that_run_are_told_once),
        TEST(all_that_an_operation_waits_for_is_told),
        TEST(who_goes_on_is_not_misled_by_who_has_come_in_its_place),
        TEST(what_keeps_its_place_is_told_once_whatever_others_do))
