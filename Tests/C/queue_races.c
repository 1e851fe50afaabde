/*
 * queue_races.c - several threads enqueue, while others close, suspend, cancel
 * or destroy: everything accepted gets its end, and each context is destroyed
 * exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "race.h"

enum { EACH = 4 };

static inturn_queue pool_queue;
static atomic_int accepted, ends, destroys;

static void count_destroys(void *context) {
  CHECK(context == &destroys);
  atomic_fetch_add(&destroys, 1);
}

static void count_ends(void *context, const inturn_end *end) {
  CHECK(context == &ends && end->label == NULL);
  atomic_fetch_add(&ends, 1);
}

static void finish_if_it_goes_on(void *context, inturn_token token) {
  inturn_status status = inturn_token_finish(token);
  CHECK(context == &destroys);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void prepare_pool_queue(void) {
  atomic_store(&ends, 0);
  atomic_store(&destroys, 0);
  atomic_store(&accepted, 0);
  pool_queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
}

static void enqueue_some(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = count_ends;
  options.end_context = &ends;
  for (int i = 0; i < EACH; i++) {
    inturn_status status = inturn_queue_enqueue_with(
        pool_queue, i % 2 ? &options : NULL, finish_if_it_goes_on, &destroys,
        count_destroys, NULL);
    if (status == INTURN_OK)
      atomic_fetch_add(&accepted, i % 2);
    else {
      CHECK_NOT_REFUSED(status);
      CHECK(status == INTURN_E_CLOSED || status == INTURN_E_STALE);
    }
  }
}

static void close_queue(void) { CHECK_OK(inturn_queue_close(pool_queue)); }

static void cancel_all(void) { CHECK_OK(inturn_queue_cancel_all(pool_queue)); }

static void suspend_and_resume(void) {
  CHECK_OK(inturn_queue_suspend(pool_queue));
  CHECK_OK(inturn_queue_resume(pool_queue));
}

static void destroy_pool_queue(void) {
  CHECK_OK(inturn_queue_destroy(pool_queue));
}

static void judge_enqueues(void) {
  CHECK_INT(destroys, 2 * EACH);
  CHECK_INT(ends, accepted);
}

static void judge_pool_queue(void) {
  drain_and_destroy(pool_queue);
  judge_enqueues();
}

static void enqueues_may_meet_a_close(void) {
  run_race(&(race){prepare_pool_queue,
                   {enqueue_some, enqueue_some, close_queue},
                   judge_pool_queue});
}

static void enqueues_may_meet_suspends_and_cancels(void) {
  run_race(&(race){prepare_pool_queue,
                   {enqueue_some, enqueue_some, suspend_and_resume, cancel_all},
                   judge_pool_queue});
}

static void enqueues_may_meet_a_destruction(void) {
  run_race(&(race){prepare_pool_queue,
                   {enqueue_some, enqueue_some, destroy_pool_queue},
                   judge_enqueues});
}

static stage board;

/* For the contexts of two wake callbacks: whether they are destroyed. */
static atomic_bool gone[2];

static void wake(void *context) { CHECK(!atomic_load((atomic_bool *)context)); }

static void wake_is_gone(void *context) {
  CHECK(!atomic_exchange((atomic_bool *)context, true));
  atomic_fetch_add(&destroys, 1);
}

static void set_waker(atomic_bool *context) {
  CHECK_OK(
      inturn_executor_set_wake(board.executor, wake, context, wake_is_gone));
}

static void set_first_waker(void) { set_waker(&gone[0]); }

static void set_second_waker(void) { set_waker(&gone[1]); }

static void enqueue_on_board(void) {
  for (int i = 0; i < EACH; i++)
    CHECK_OK(inturn_queue_enqueue(board.queue, finish_if_it_goes_on, &destroys,
                                  NULL, NULL));
}

static void prepare_wakers(void) {
  atomic_store(&destroys, 0);
  atomic_store(&gone[0], false);
  atomic_store(&gone[1], false);
}

static void judge_wakers(void) {
  stage_drain(&board);
  CHECK_INT(destroys, 1);
  CHECK_OK(inturn_executor_set_wake(board.executor, NULL, NULL, NULL));
  CHECK_INT(destroys, 2);
}

static void drain_board(void) { stage_drain(&board); }

static void a_wake_callback_is_not_called_once_it_was_replaced(void) {
  board = stage_create(INTURN_QUEUE_FIFO);
  run_race(&(race){
      prepare_wakers,
      {set_first_waker, set_second_waker, enqueue_on_board, drain_board},
      judge_wakers});
  stage_destroy(&board);
}

PROGRAM(queue_races, TEST(enqueues_may_meet_a_close),
        TEST(enqueues_may_meet_suspends_and_cancels),
        TEST(enqueues_may_meet_a_destruction),
        TEST(a_wake_callback_is_not_called_once_it_was_replaced))
