/*
 * rings_batches.c - which waits for a batch could never end, and which only
 * seem to.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

enum { PLACES = 3 };

static reports told;
static inturn_queue own, other;
static inturn_batch awaited;
static inturn_status status_of_wait, status_of_await;
static gate inside, go;

static inturn_queue queue_create(inturn_queue_kind kind, uint32_t places) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  if (kind == INTURN_QUEUE_CONCURRENT)
    options.max_concurrent = places;
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  return queue;
}

static inturn_batch enqueue_batch(inturn_queue queue, inturn_work_fn work,
                                  size_t count, bool has_options) {
  inturn_batch_item items[2 * PLACES] = {{0}};
  inturn_operation_options operation = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_batch batch;
  for (size_t i = 0; i < count; i++)
    items[i].work = work;
  operation.label = "part";
  if (has_options)
    options.operation = &operation;
  CHECK_OK(inturn_queue_enqueue_batch(queue, &options, items, count, &batch));
  return batch;
}

/* A wait of a task's that begins here, and ends at once. */
static inturn_status await_batch(inturn_token token) {
  inturn_await await;
  inturn_status status = inturn_await_begin(awaited.bits, &token, 1, &await);
  if (status == INTURN_OK)
    CHECK_OK(inturn_await_end(await));
  return status;
}

static void wait_for_batch(void *context, inturn_token token) {
  gate_pass(&inside);
  GATE_WAIT(&go, 1);
  status_of_await = await_batch(token);
  status_of_wait = inturn_batch_wait(awaited, LIMIT_NS, NULL);
  just_finish(context, token);
}

static void begin(void) {
  inside = go = (gate)GATE_INIT;
  reports_begin(&told);
}

static void check_waits(inturn_status expected) {
  gate_pass(&go);
  CHECK_OK(inturn_queue_drain(own, LIMIT_NS));
  reports_end();
  CHECK_STATUS(status_of_wait, expected);
  if (expected != INTURN_OK)
    CHECK_STATUS(status_of_await, expected);
  CHECK_INT(gate_count(&told.told), expected == INTURN_OK ? 0 : 2);
  CHECK_OK(inturn_batch_release(awaited));
}

static void work_of_a_concurrent_queue_may_wait_for_a_batch_of_it(void) {
  for (int has_options = 0; has_options < 2; has_options++) {
    own = queue_create(INTURN_QUEUE_CONCURRENT, PLACES);
    begin();
    CHECK_OK(inturn_queue_enqueue(own, wait_for_batch, NULL, NULL, NULL));
    GATE_WAIT(&inside, 1);
    awaited = enqueue_batch(own, just_finish, 2 * PLACES, has_options);
    check_waits(INTURN_OK);
    CHECK_OK(inturn_queue_destroy(own));
  }
}

/* But not for one that is behind it in a queue that runs one at a time, nor for
   the one that it is part of. */
static void a_batch_that_waits_for_its_waiter_is_refused(void) {
  for (int has_options = 0; has_options < 2; has_options++) {
    own = queue_create(INTURN_QUEUE_FIFO, 0);
    begin();
    CHECK_OK(inturn_queue_enqueue(own, wait_for_batch, NULL, NULL, NULL));
    awaited = enqueue_batch(own, just_finish, 2, has_options);
    check_waits(INTURN_E_DEADLOCK);
    CHECK_OK(inturn_queue_destroy(own));
  }
  for (int has_options = 0; has_options < 2; has_options++) {
    own = queue_create(INTURN_QUEUE_CONCURRENT, PLACES);
    begin();
    awaited = enqueue_batch(own, wait_for_batch, 1, has_options);
    check_waits(INTURN_E_DEADLOCK);
    CHECK_OK(inturn_queue_destroy(own));
  }
}

static void wait_inside_end(void *unused, const inturn_batch_end *end) {
  (void)unused;
  status_of_wait = inturn_batch_wait(end->batch, LIMIT_NS, NULL);
  gate_pass(&inside);
}

static void a_batch_cannot_be_waited_for_inside_its_on_end(void) {
  inturn_batch_item item = {just_finish, NULL, NULL};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.on_end = wait_inside_end;
  own = queue_create(INTURN_QUEUE_CONCURRENT, PLACES);
  begin();
  CHECK_OK(inturn_queue_enqueue_batch(own, &options, &item, 1, NULL));
  GATE_WAIT(&inside, 1);
  reports_end();
  CHECK_STATUS(status_of_wait, INTURN_E_DEADLOCK);
  drain_and_destroy(own);
}

/* What waits behind the batch in its queue, and comes after the waiting work,
   is no part of it. */
static void what_is_behind_a_batch_holds_nobody_up(void) {
  static const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO,
                                            INTURN_QUEUE_CONCURRENT};
  for (int kind = 0; kind < 2; kind++)
    for (int has_options = 0; has_options < 2; has_options++) {
      inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
      inturn_operation waiter;
      own = queue_create(INTURN_QUEUE_FIFO, 0);
      other = queue_create(kinds[kind], PLACES);
      begin();
      CHECK_OK(inturn_queue_enqueue(own, wait_for_batch, NULL, NULL, &waiter));
      CHECK_OK(inturn_queue_suspend(other));
      awaited = enqueue_batch(other, just_finish, 2, has_options);
      options.after = &waiter;
      options.after_count = 1;
      CHECK_OK(inturn_queue_enqueue_with(other, &options, just_finish, NULL,
                                         NULL, NULL));
      CHECK_OK(inturn_operation_release(waiter));
      GATE_WAIT(&inside, 1);
      CHECK_OK(inturn_queue_resume(other));
      check_waits(INTURN_OK);
      CHECK_OK(inturn_queue_destroy(own));
      drain_and_destroy(other);
    }
}

static void what_stands_before_a_batch_in_a_queue_holds_it_up(void) {
  for (int has_options = 0; has_options < 2; has_options++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation waiter;
    own = queue_create(INTURN_QUEUE_FIFO, 0);
    other = queue_create(INTURN_QUEUE_FIFO, 0);
    begin();
    CHECK_OK(inturn_queue_enqueue(own, wait_for_batch, NULL, NULL, &waiter));
    options.after = &waiter;
    options.after_count = 1;
    CHECK_OK(inturn_queue_enqueue_with(other, &options, just_finish, NULL, NULL,
                                       NULL));
    CHECK_OK(inturn_operation_release(waiter));
    awaited = enqueue_batch(other, just_finish, 2, has_options);
    check_waits(INTURN_E_DEADLOCK);
    CHECK_OK(inturn_queue_destroy(own));
    drain_and_destroy(other);
  }
}

/* Behind a barrier, which waits for the waiter, or which is the waiter. */
static void a_batch_behind_a_barrier_may_wait_for_its_waiter(void) {
  for (int is_barrier = 0; is_barrier < 2; is_barrier++)
    for (int has_options = 0; has_options < 2; has_options++) {
      inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
      own = queue_create(INTURN_QUEUE_CONCURRENT, PLACES);
      begin();
      options.barrier = is_barrier;
      CHECK_OK(inturn_queue_enqueue_with(own, &options, wait_for_batch, NULL,
                                         NULL, NULL));
      GATE_WAIT(&inside, 1);
      options.barrier = true;
      if (!is_barrier)
        CHECK_OK(inturn_queue_enqueue_with(own, &options, just_finish, NULL,
                                           NULL, NULL));
      awaited = enqueue_batch(own, just_finish, 2, has_options);
      check_waits(INTURN_E_DEADLOCK);
      CHECK_OK(inturn_queue_destroy(own));
    }
}

/* A barrier of another queue does not. */
static void a_batch_behind_a_barrier_that_waits_for_others_is_waited_for(void) {
  for (int has_options = 0; has_options < 2; has_options++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    own = queue_create(INTURN_QUEUE_CONCURRENT, PLACES);
    other = queue_create(INTURN_QUEUE_CONCURRENT, PLACES);
    begin();
    CHECK_OK(inturn_queue_enqueue(own, wait_for_batch, NULL, NULL, NULL));
    GATE_WAIT(&inside, 1);
    CHECK_OK(inturn_queue_suspend(other));
    options.barrier = true;
    for (int i = 0; i < 2; i++)
      CHECK_OK(inturn_queue_enqueue_with(other, &options, just_finish, NULL,
                                         NULL, NULL));
    awaited = enqueue_batch(other, just_finish, 2, has_options);
    CHECK_OK(inturn_queue_resume(other));
    check_waits(INTURN_OK);
    CHECK_OK(inturn_queue_destroy(own));
    drain_and_destroy(other);
  }
}

/* Its end has to be told by an executor that only the waiter drains. */
static void a_batch_whose_end_only_the_waiter_could_tell_is_refused(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_token last;
  inturn_batch_item item = {keep_token, &last, NULL};
  options.max_concurrent = 2;
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &own));
  begin();
  gate_pass(&go);
  CHECK_OK(inturn_queue_enqueue_batch(own, NULL, &item, 1, &awaited));
  CHECK_OK(inturn_queue_enqueue(own, wait_for_batch, NULL, NULL, NULL));
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_STATUS(status_of_wait, INTURN_E_DEADLOCK);
  CHECK_OK(inturn_token_finish(last));
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  reports_end();
  CHECK_OK(inturn_batch_release(awaited));
  CHECK_OK(inturn_queue_destroy(own));
}

static inturn_batch batch_of_context;
static gate is_made;
static inturn_status status_in_destroy;

static void wait_in_destroy(void *context) {
  (void)context;
  GATE_WAIT(&is_made, 1);
  status_in_destroy = inturn_batch_wait(batch_of_context, LIMIT_NS, NULL);
}

static void check_destroy(inturn_queue_kind kind) {
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.key = "key";
  for (int has_options = 0; has_options < 2; has_options++) {
    inturn_queue queue = pool_queue_create(kind, NULL);
    inturn_batch_item item = {just_finish, NULL, wait_in_destroy};
    inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
    options.operation = has_options ? &each : NULL;
    reports told;
    reports_begin(&told);
    is_made = (gate)GATE_INIT;
    CHECK_OK(inturn_queue_enqueue_batch(queue, &options, &item, 1,
                                        &batch_of_context));
    gate_pass(&is_made);
    drain_and_destroy(queue);
    reports_end();
    CHECK_STATUS(status_in_destroy, INTURN_E_DEADLOCK);
    CHECK_INT(gate_count(&told.told), 1);
    CHECK_OK(inturn_batch_release(batch_of_context));
  }
}

static void a_context_that_is_destroyed_cannot_wait_for_its_batch(void) {
  for_each_kind(check_destroy);
}

PROGRAM(rings_batches,
        TEST(a_batch_whose_end_only_the_waiter_could_tell_is_refused),
        TEST(a_batch_behind_a_barrier_may_wait_for_its_waiter),
        TEST(a_batch_behind_a_barrier_that_waits_for_others_is_waited_for),
        TEST(work_of_a_concurrent_queue_may_wait_for_a_batch_of_it),
        TEST(a_batch_that_waits_for_its_waiter_is_refused),
        TEST(a_batch_cannot_be_waited_for_inside_its_on_end),
        TEST(what_is_behind_a_batch_holds_nobody_up),
        TEST(what_stands_before_a_batch_in_a_queue_holds_it_up),
        TEST(a_context_that_is_destroyed_cannot_wait_for_its_batch))
