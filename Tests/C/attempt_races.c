/*
 * attempt_races.c - several threads fail, retry, yield, release names, end and
 * destroy at once: whoever wins, each operation ends exactly once, each context
 * is destroyed exactly once, and nothing is forgotten.
 *
 * SPDX-License-Identifier: MIT
 */
#include "order_races.h"

static const char *const names[] = {"race"};

static void yield(void) {
  inturn_status status = inturn_token_yield(current_token());
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void cancel_earlier(void) {
  CHECK(is_right(inturn_operation_cancel(earlier_operation)));
}

static void let_time_pass(void) {
  CHECK_OK(inturn_clock_advance(board.clock, 1));
}

static void suspend_and_resume(void) {
  CHECK_OK(inturn_queue_suspend(board.queue));
  CHECK_OK(inturn_queue_resume(board.queue));
}

static atomic_int verdicts;

static bool decide(void *context, int32_t code, uint32_t attempts) {
  CHECK(context == &earlier);
  CHECK_INT(code, 1);
  CHECK(attempts >= 1);
  return atomic_fetch_add(&verdicts, 1) % 3 != 2;
}

static void start_flaky(void) {
  inturn_operation_options options = options_of(&earlier);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 4;
  retry.delay_ns = (int64_t)(round_number % 2);
  retry.decide = round_number % 4 < 2 ? decide : NULL;
  options.retry = &retry;
  options.exclusive = names;
  options.exclusive_count = round_number % 3 == 0;
  start_earlier(&options);
}

/* Ends the present attempt, whichever it is. */
static void judge_attempts(void) {
  for (int i = 0; i < 100 && earlier.ends == 0; i++) {
    CHECK_OK(inturn_clock_advance(board.clock, 1));
    stage_drain(&board);
    inturn_token_finish(current_token());
    stage_drain(&board);
  }
  check_once(&earlier, 1);
  CHECK(earlier.end.attempts == (uint32_t)earlier.works);
  CHECK_OK(inturn_operation_release(earlier_operation));
}

static void run_on_each_kind(const race *race) {
  for (int kind = 1; kind <= 4; kind++)
    run_on((inturn_queue_kind)kind, INTURN_QUEUE_FIFO, race);
}

static void a_failure_may_meet_a_cancel_and_time(void) {
  run_on_each_kind(&(race){start_flaky,
                           {fail, cancel_earlier, let_time_pass, drain_board},
                           judge_attempts});
}

static void fail_and_drain(void) {
  for (int i = 0; i < 3; i++) {
    fail();
    uint32_t calls;
    inturn_status status = inturn_executor_drain(board.executor, 0, &calls);
    CHECK(status == INTURN_OK || status == INTURN_E_WRONG_THREAD);
  }
}

static void failures_may_meet_suspends_and_time(void) {
  run_on_each_kind(
      &(race){start_flaky,
              {fail_and_drain, suspend_and_resume, let_time_pass, finish},
              judge_attempts});
}

static void prepare_flaky(void) {
  board = stage_create(kinds[0]);
  start_flaky();
}

static void judge_flaky_gone(void) {
  check_once(&earlier, 1);
  CHECK_OK(inturn_operation_release(earlier_operation));
  release_stage(&board);
}

static void a_failure_may_meet_a_destruction(void) {
  for (int kind = 1; kind <= 4; kind++) {
    kinds[0] = (inturn_queue_kind)kind;
    run_short_race(&(race){prepare_flaky,
                           {fail_and_drain, destroy_board, let_time_pass, fail},
                           judge_flaky_gone},
                   ROUNDS);
  }
}

static void a_yield_may_meet_a_finish_and_a_cancel(void) {
  run_on(INTURN_QUEUE_INTERACTION, INTURN_QUEUE_FIFO,
         &(race){start_plain,
                 {yield, finish, cancel_earlier, drain_board},
                 judge_attempts});
}

static void prepare_interaction(void) {
  board = stage_create(INTURN_QUEUE_INTERACTION);
  start_plain();
}

static void a_yield_may_meet_a_destruction(void) {
  run_race(&(race){prepare_interaction,
                   {yield, destroy_board, drain_board, cancel_earlier},
                   judge_flaky_gone});
}

static atomic_int asked, asked_destroys;

static void note_asked(void *context, inturn_token token) {
  CHECK(context == &asked_destroys && token.bits != 0);
  atomic_fetch_add(&asked, 1);
}

static void count_asked_destroy(void *context) {
  atomic_fetch_add((atomic_int *)context, 1);
}

static void set_handler(void) {
  inturn_status status = inturn_token_on_preempt(
      current_token(), note_asked, &asked_destroys, count_asked_destroy);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void add_urgent(void) {
  inturn_operation_options options = options_of(&later);
  options.urgent = true;
  CHECK_OK(inturn_queue_enqueue_with(board.queue, &options, work_once, &later,
                                     on_destroy, NULL));
}

static void start_asked(void) {
  atomic_store(&asked, 0);
  atomic_store(&asked_destroys, 0);
  start_plain();
}

static void judge_asked(void) {
  judge_attempts();
  stage_drain(&board);
  check_once(&later, 1);
  CHECK_INT(later.end.outcome, INTURN_FINISHED);
  CHECK(asked <= 1);
  CHECK_INT(asked_destroys, 1);
}

static void an_urgent_one_may_meet_the_handler_a_yield_and_a_finish(void) {
  run_on(INTURN_QUEUE_INTERACTION, INTURN_QUEUE_FIFO,
         &(race){start_asked,
                 {add_urgent, set_handler, yield, drain_board},
                 judge_asked});
  run_on(INTURN_QUEUE_INTERACTION, INTURN_QUEUE_FIFO,
         &(race){start_asked,
                 {add_urgent, set_handler, finish, suspend_and_resume},
                 judge_asked});
}

static void start_holder(void) {
  inturn_operation_options options = options_of(&earlier);
  options.exclusive = names;
  options.exclusive_count = 1;
  start_earlier(&options);
  options = options_of(&later);
  options.exclusive = names;
  options.exclusive_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(other.queue, &options, work_once, &later,
                                     on_destroy, &later_operation));
}

static void prepare_holder(void) {
  board = stage_create(kinds[0]);
  other = stage_create(kinds[1]);
  start_holder();
}

static void judge_names(void) {
  /* Nothing has the name any more. */
  counts last;
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  clear_counts(&last);
  inturn_operation_options options = options_of(&last);
  options.exclusive = names;
  options.exclusive_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work_once, &last,
                                     on_destroy, NULL));
  stage_drain(&stage);
  CHECK_INT(last.works, 1);
  stage_destroy(&stage);
}

static void judge_holder(void) {
  finish();
  stage_drain(&board);
  stage_drain(&other);
  stage_drain(&board);
  judge_names();
  CHECK_OK(inturn_queue_destroy(board.queue));
  judge_stages();
}

static void judge_waiter(void) {
  stage_drain(&other);
  judge_names();
  CHECK_OK(inturn_queue_destroy(other.queue));
  judge_stages();
}

static void a_name_may_be_given_back_while_who_waits_leaves(void) {
  run_on_each_pair(&(race){prepare_holder,
                           {finish, drain_other, destroy_other, cancel_later},
                           judge_holder});
  run_on_each_pair(&(race){prepare_holder,
                           {destroy_board, drain_other, finish, cancel_later},
                           judge_waiter});
}

PROGRAM(attempt_races, TEST(a_failure_may_meet_a_cancel_and_time),
        TEST(failures_may_meet_suspends_and_time),
        TEST(a_failure_may_meet_a_destruction),
        TEST(a_yield_may_meet_a_finish_and_a_cancel),
        TEST(a_yield_may_meet_a_destruction),
        TEST(an_urgent_one_may_meet_the_handler_a_yield_and_a_finish),
        TEST(a_name_may_be_given_back_while_who_waits_leaves))
