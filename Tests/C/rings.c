/*
 * rings.c - which waits close a ring, and which only seem to.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

enum { MOST = 8 };

static reports told;

static inturn_queue concurrent_queue(uint32_t places) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.max_concurrent = places;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  return queue;
}

/* Work that waits for a new operation of its own queue once all have met. */
static inturn_queue own;
static gate inside, refused, passed;
static long meeting;

static inturn_status wait_for_new_work(void) {
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue(own, just_finish, NULL, NULL, &operation));
  inturn_status status = inturn_operation_wait(operation, LIMIT_NS, NULL);
  CHECK_OK(inturn_operation_release(operation));
  return status;
}

static void take_a_place(void *context, inturn_token token) {
  gate_pass(&inside);
  GATE_WAIT(&inside, meeting);
  inturn_status status = wait_for_new_work();
  CHECK(status == INTURN_OK || status == INTURN_E_DEADLOCK);
  gate_pass(status == INTURN_OK ? &passed : &refused);
  just_finish(context, token);
}

static void take_places(uint32_t of, int count) {
  own = concurrent_queue(of);
  inside = refused = passed = (gate)GATE_INIT;
  meeting = count;
  reports_begin(&told);
  for (int i = 0; i < count; i++)
    CHECK_OK(inturn_queue_enqueue(own, take_a_place, NULL, NULL, NULL));
  drain_and_destroy(own);
  reports_end();
}

static void the_last_one_that_takes_a_place_and_waits_is_refused(void) {
  for (int round = 0; round < 100; round++)
    for (int places = 1; places <= MOST; places += places) {
      take_places((uint32_t)places, places);
      CHECK_INT(gate_count(&refused), 1);
      CHECK_INT(gate_count(&passed), places - 1);
      CHECK_INT(gate_count(&told.told), 1);
    }
}

static void nobody_is_refused_while_a_place_is_left(void) {
  for (int round = 0; round < 100; round++)
    for (int places = 2; places <= MOST; places += places) {
      take_places((uint32_t)places, places - 1);
      CHECK_INT(gate_count(&refused), 0);
      CHECK_INT(gate_count(&passed), places - 1);
    }
}

static void wait_inside_end(void *context, const inturn_end *end) {
  CHECK(end->outcome == INTURN_FINISHED);
  CHECK_OK(wait_for_new_work());
  gate_pass(context);
}

static void an_end_callback_takes_no_place(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  gate ended = GATE_INIT;
  own = concurrent_queue(1);
  options.on_end = wait_inside_end;
  options.end_context = &ended;
  CHECK_OK(
      inturn_queue_enqueue_with(own, &options, just_finish, NULL, NULL, NULL));
  GATE_WAIT(&ended, 1);
  drain_and_destroy(own);
}

/* Work that waits for what comes after it, by way of others. */
static inturn_operation awaited;
static gate go;
static inturn_status status_of_wait;

static void wait_for_awaited(void *context, inturn_token token) {
  GATE_WAIT(&go, 1);
  status_of_wait = inturn_operation_wait(awaited, LIMIT_NS, NULL);
  just_finish(context, token);
}

static inturn_operation enqueue_after(inturn_queue queue,
                                      const inturn_operation *earlier,
                                      size_t count) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.after = earlier;
  options.after_count = count;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

static void check_wait(inturn_status expected) {
  reports_begin(&told);
  gate_pass(&go);
  CHECK_OK(inturn_queue_drain(own, LIMIT_NS));
  reports_end();
  CHECK_STATUS(status_of_wait, expected);
  CHECK_INT(gate_count(&told.told), expected == INTURN_OK ? 0 : 1);
  CHECK_OK(inturn_operation_release(awaited));
}

static inturn_operation enqueue_waiter(inturn_queue queue) {
  inturn_operation waiter;
  go = (gate)GATE_INIT;
  CHECK_OK(inturn_queue_enqueue(queue, wait_for_awaited, NULL, NULL, &waiter));
  return waiter;
}

static void a_chain_of_any_length_is_followed(void) {
  enum { LENGTH = 20000 };
  own = concurrent_queue(4);
  awaited = enqueue_waiter(own);
  for (int i = 0; i < LENGTH; i++) {
    inturn_operation next = enqueue_after(own, &awaited, 1);
    CHECK_OK(inturn_operation_release(awaited));
    awaited = next;
  }
  check_wait(INTURN_E_DEADLOCK);
  CHECK_OK(inturn_queue_destroy(own));
}

static void an_operation_that_comes_after_many_is_looked_at_wholly(void) {
  enum { MANY = 3000 };
  static inturn_operation earlier[MANY + 1];
  own = concurrent_queue(4);
  inturn_queue still = concurrent_queue(1);
  CHECK_OK(inturn_queue_suspend(still));
  for (int i = 0; i < MANY; i++)
    CHECK_OK(inturn_queue_enqueue(still, just_finish, NULL, NULL, &earlier[i]));
  earlier[MANY] = enqueue_waiter(own);
  awaited = enqueue_after(own, earlier, MANY + 1);
  reports_begin(&told);
  gate_pass(&go);
  CHECK_OK(inturn_operation_wait(earlier[MANY], LIMIT_NS, NULL));
  reports_end();
  CHECK_STATUS(status_of_wait, INTURN_E_DEADLOCK);
  CHECK_OK(inturn_queue_resume(still));
  CHECK_OK(inturn_queue_drain(own, LIMIT_NS));
  CHECK_OK(inturn_operation_release(awaited));
  for (int i = 0; i <= MANY; i++)
    CHECK_OK(inturn_operation_release(earlier[i]));
  CHECK_OK(inturn_queue_destroy(own));
  drain_and_destroy(still);
}

/* In a FIFO queue, the operation that comes after the waiting work blocks those
   behind it, and none before it. */
static void check_order_in_queue(bool is_behind, inturn_status expected) {
  inturn_queue other = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  own = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_operation waiter = enqueue_waiter(own);
  if (!is_behind)
    CHECK_OK(inturn_queue_enqueue(other, just_finish, NULL, NULL, &awaited));
  CHECK_OK(inturn_operation_release(enqueue_after(other, &waiter, 1)));
  if (is_behind)
    CHECK_OK(inturn_queue_enqueue(other, just_finish, NULL, NULL, &awaited));
  CHECK_OK(inturn_operation_release(waiter));
  check_wait(expected);
  CHECK_OK(inturn_queue_destroy(own));
  drain_and_destroy(other);
}

static void what_stands_before_it_in_a_queue_holds_it_up(void) {
  check_order_in_queue(true, INTURN_E_DEADLOCK);
  check_order_in_queue(false, INTURN_OK);
}

/* An operation that has joined the waiting work ends with it. */
static void who_has_joined_the_waiting_work_cannot_be_waited_for(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  own = concurrent_queue(4);
  options.key = "key";
  go = (gate)GATE_INIT;
  CHECK_OK(inturn_queue_enqueue_with(own, &options, wait_for_awaited, NULL,
                                     NULL, NULL));
  options.join = true;
  CHECK_OK(inturn_queue_enqueue_with(own, &options, never_work, NULL, NULL,
                                     &awaited));
  check_wait(INTURN_E_DEADLOCK);
  CHECK_OK(inturn_queue_destroy(own));
}

static void end_and_wait(void *context, inturn_token token) {
  GATE_WAIT(&go, 1);
  just_finish(context, token);
  status_of_wait = inturn_operation_wait(awaited, LIMIT_NS, NULL);
}

/* `awaited` needs the work's call to return, as what shares its name, comes
   after it or has joined it. */
static void check_ended(bool has_name, bool comes_after, bool has_joined) {
  static const char *const name = "name";
  inturn_queue other = concurrent_queue(4);
  inturn_operation waiter;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  own = concurrent_queue(4);
  options.key = "key";
  options.exclusive = has_name ? &name : NULL;
  options.exclusive_count = has_name;
  go = (gate)GATE_INIT;
  CHECK_OK(inturn_queue_enqueue_with(own, &options, end_and_wait, NULL, NULL,
                                     &waiter));
  while (state_of(waiter) == INTURN_PENDING)
    ;
  options.join = has_joined;
  options.after = &waiter;
  options.after_count = comes_after;
  CHECK_OK(inturn_queue_enqueue_with(has_joined ? own : other, &options,
                                     just_finish, NULL, NULL, &awaited));
  check_wait(INTURN_E_DEADLOCK);
  drain_and_destroy(other);
  CHECK_OK(inturn_queue_destroy(own));
  CHECK_OK(inturn_operation_release(waiter));
}

static void work_that_has_ended_cannot_wait_for_what_needs_its_return(void) {
  check_ended(true, false, false);
  check_ended(false, true, false);
  check_ended(false, false, true);
}

/* The main thread waits for work that waits for what only the main thread can
   call; the last wait is refused. */
static void a_ring_through_the_main_thread_is_refused_to_one(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue main_queue;
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &main_queue));
  for (int round = 0; round < 200; round++) {
    own = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    CHECK_OK(
        inturn_queue_enqueue(main_queue, just_finish, NULL, NULL, &awaited));
    inturn_operation waiter = enqueue_waiter(own);
    reports_begin(&told);
    gate_pass(&go);
    inturn_status status = inturn_operation_wait(waiter, LIMIT_NS, NULL);
    if (status != INTURN_E_DEADLOCK)
      CHECK_OK(status);
    CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
    CHECK_OK(inturn_operation_wait(waiter, LIMIT_NS, NULL));
    reports_end();
    CHECK_INT((status == INTURN_E_DEADLOCK) +
                  (status_of_wait == INTURN_E_DEADLOCK),
              1);
    CHECK_OK(inturn_operation_release(waiter));
    CHECK_OK(inturn_operation_release(awaited));
    drain_and_destroy(own);
  }
  CHECK_OK(inturn_queue_destroy(main_queue));
}

/* What was given to an executor stays there when the queue gets another one. */
static void a_turn_at_the_former_executor_needs_that_one(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor pool;
  inturn_operation operation;
  inturn_queue queue;
  reports_begin(&told);
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, &operation));
  CHECK_OK(inturn_queue_set_executor(queue, pool));
  CHECK_STATUS(inturn_operation_wait(operation, LIMIT_NS, NULL),
               INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_queue_drain(queue, LIMIT_NS), INTURN_E_DEADLOCK);
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_OK(inturn_operation_wait(operation, LIMIT_NS, NULL));
  CHECK_OK(inturn_operation_release(operation));
  drain_and_destroy(queue);
  reports_end();
  CHECK_INT(gate_count(&told.told), 2);
}

static void hold_the_pool(void *context, inturn_token token) {
  gate_pass(&inside);
  GATE_WAIT(&go, 1);
  just_finish(context, token);
}

/* Also where the former one gives the turn to that which only the waiter may
   drain. */
static void a_turn_on_its_way_to_the_waiters_executor_needs_that(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options of_queue = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor main_executor;
  inturn_queue busy, queue;
  inside = go = (gate)GATE_INIT;
  reports_begin(&told);
  options.workers = 1;
  options.max_workers = 1;
  CHECK_OK(inturn_executor_create(&options, &of_queue.executor));
  CHECK_OK(inturn_executor_main(&main_executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &of_queue, &busy));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &of_queue, &queue));
  CHECK_OK(inturn_queue_enqueue(busy, hold_the_pool, NULL, NULL, NULL));
  GATE_WAIT(&inside, 1);
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_set_executor(queue, main_executor));
  CHECK_STATUS(inturn_queue_drain(queue, LIMIT_NS), INTURN_E_DEADLOCK);
  gate_pass(&go);
  drain_and_destroy(busy);
  CHECK_OK(inturn_queue_cancel_all(queue));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(of_queue.executor));
  reports_end();
  CHECK_INT(gate_count(&told.told), 1);
}

/* And what has begun there ends there. */
static void work_at_the_former_executor_needs_no_other(void) {
  inturn_executor main_executor;
  job blocked = JOB("blocked");
  CHECK_OK(inturn_executor_main(&main_executor));
  own = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job_enqueue(own, &blocked, work_block);
  GATE_WAIT(&blocked.started, 1);
  CHECK_OK(inturn_queue_set_executor(own, main_executor));
  CHECK_STATUS(inturn_queue_drain(own, 1000000), INTURN_E_TIMED_OUT);
  gate_pass(&blocked.go);
  CHECK_OK(inturn_queue_drain(own, LIMIT_NS));
  CHECK_OK(inturn_queue_destroy(own));
}

PROGRAM(rings, TEST(a_turn_at_the_former_executor_needs_that_one),
        TEST(a_turn_on_its_way_to_the_waiters_executor_needs_that),
        TEST(work_at_the_former_executor_needs_no_other),
        TEST(the_last_one_that_takes_a_place_and_waits_is_refused),
        TEST(nobody_is_refused_while_a_place_is_left),
        TEST(an_end_callback_takes_no_place),
        TEST(a_chain_of_any_length_is_followed),
        TEST(an_operation_that_comes_after_many_is_looked_at_wholly),
        TEST(what_stands_before_it_in_a_queue_holds_it_up),
        TEST(who_has_joined_the_waiting_work_cannot_be_waited_for),
        TEST(work_that_has_ended_cannot_wait_for_what_needs_its_return),
        TEST(a_ring_through_the_main_thread_is_refused_to_one))
