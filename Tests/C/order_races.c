/*
 * order_races.c - several threads add dependencies, end, cancel, wait and
 * destroy at once: whoever wins, each operation ends exactly once, each context
 * is destroyed exactly once, and nothing is forgotten.
 *
 * SPDX-License-Identifier: MIT
 */
#include "order_races.h"

static inturn_status enqueue_later(void) {
  inturn_operation_options options = options_of(&later);
  options.after = &earlier_operation;
  options.after_count = 1;
  options.after_policy = (inturn_after_policy)(round_number % 2);
  inturn_status status = inturn_queue_enqueue_with(
      other.queue, &options, work_once, &later, on_destroy, &later_operation);
  atomic_store(&is_accepted, status == INTURN_OK);
  return status;
}

static void add_later(void) { CHECK_OK(enqueue_later()); }

static void try_later(void) {
  inturn_status status = enqueue_later();
  CHECK(status == INTURN_OK || status == INTURN_E_STALE);
}

static void judge_later(void) {
  stage_drain(&board);
  stage_drain(&other);
  check_once(&earlier, 1);
  check_once(&later, 1);
  bool is_lost = earlier.end.outcome != INTURN_FINISHED &&
                 round_number % 2 == INTURN_AFTER_FINISHED;
  if (later.end.cause != INTURN_CAUSE_REQUEST) {
    CHECK_INT(later.end.outcome, is_lost ? INTURN_CANCELLED : INTURN_FINISHED);
    CHECK_INT(later.works, !is_lost);
  }
  CHECK_INT(statistics_of(other.queue).pending, 0);
  CHECK_OK(inturn_operation_release(earlier_operation));
  CHECK_OK(inturn_operation_release(later_operation));
}

static void an_enqueue_may_meet_the_end_that_it_waits_for(void) {
  run_on(INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT,
         &(race){start_plain, {add_later, finish, fail}, judge_later});
  run_on(INTURN_QUEUE_CONCURRENT, INTURN_QUEUE_FIFO,
         &(race){start_plain,
                 {add_later, fail, drain_board, drain_other},
                 judge_later});
}

static void start_both(void) {
  start_plain();
  CHECK_OK(enqueue_later());
  stage_drain(&other);
}

static void the_end_may_meet_the_cancel_of_who_waits(void) {
  run_on(INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT,
         &(race){start_both,
                 {finish, cancel_later, fail, drain_other},
                 judge_later});
  run_on(INTURN_QUEUE_ACTOR, INTURN_QUEUE_INTERACTION,
         &(race){start_both, {finish, cancel_later, fail}, judge_later});
}

static void prepare_stages(void) {
  board = stage_create(kinds[0]);
  other = stage_create(kinds[1]);
  start_both();
}

static void judge_other_gone(void) {
  stage_drain(&board);
  CHECK_OK(inturn_queue_destroy(board.queue));
  judge_stages();
}

static void judge_board_gone(void) {
  stage_drain(&other);
  CHECK_OK(inturn_queue_destroy(other.queue));
  judge_stages();
}

static void the_end_may_meet_the_destruction_of_who_waits(void) {
  run_on_each_pair(&(race){prepare_stages,
                           {finish, destroy_other, fail, cancel_later},
                           judge_other_gone});
}

static void who_waits_may_meet_the_destruction_of_the_other_queue(void) {
  run_on_each_pair(&(race){prepare_stages,
                           {destroy_board, finish, cancel_later, drain_other},
                           judge_board_gone});
}

static void judge_both_gone(void) { judge_stages(); }

static void both_queues_may_be_destroyed_at_once(void) {
  run_on_each_pair(&(race){prepare_stages,
                           {destroy_board, destroy_other, finish, fail},
                           judge_both_gone});
}

static void prepare_first(void) {
  board = stage_create(kinds[0]);
  other = stage_create(kinds[1]);
  start_plain();
}

static void judge_late_enqueue(void) {
  CHECK_OK(inturn_queue_destroy(other.queue));
  judge_stages();
}

static void judge_refused(void) {
  stage_drain(&board);
  CHECK_OK(inturn_queue_destroy(board.queue));
  check_once(&earlier, 1);
  check_once(&later, is_accepted ? 1 : 0);
  CHECK_OK(inturn_operation_release(earlier_operation));
  if (is_accepted)
    CHECK_OK(inturn_operation_release(later_operation));
  release_stage(&board);
  release_stage(&other);
}

static void an_enqueue_may_meet_the_destruction_of_either_queue(void) {
  run_on_each_pair(&(race){prepare_first,
                           {add_later, destroy_board, drain_other},
                           judge_late_enqueue});
  run_on_each_pair(&(race){
      prepare_first, {try_later, destroy_other, finish}, judge_refused});
}

static void wait_for_later(void) {
  inturn_status status = inturn_operation_wait(later_operation, LIMIT_NS, NULL);
  CHECK_OK(status);
}

static void wait_for_earlier(void) {
  CHECK_OK(inturn_operation_wait(earlier_operation, LIMIT_NS, NULL));
}

static void who_waits_is_let_go_by_a_destruction(void) {
  run_on_each_pair(
      &(race){prepare_stages,
              {wait_for_later, wait_for_earlier, destroy_other, destroy_board},
              judge_both_gone});
}

PROGRAM(order_races, TEST(an_enqueue_may_meet_the_end_that_it_waits_for),
        TEST(the_end_may_meet_the_cancel_of_who_waits),
        TEST(the_end_may_meet_the_destruction_of_who_waits),
        TEST(who_waits_may_meet_the_destruction_of_the_other_queue),
        TEST(both_queues_may_be_destroyed_at_once),
        TEST(an_enqueue_may_meet_the_destruction_of_either_queue),
        TEST(who_waits_is_let_go_by_a_destruction))
