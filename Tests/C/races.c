/*
 * races.c - several threads end, cancel and destroy at the same moment: whoever
 * wins, an operation ends exactly once, and each context is destroyed exactly
 * once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "race.h"

static stage board;
static inturn_token token;
static inturn_operation operation;
static atomic_int wins, ends, destroys, calls;
static inturn_end last_end = {0};

static void count_destroys(void *context) {
  CHECK(context == &destroys);
  atomic_fetch_add(&destroys, 1);
}

static void count_ends(void *context, const inturn_end *end) {
  CHECK(context == &ends);
  atomic_fetch_add(&ends, 1);
  last_end = *end;
}

static void count_calls(void *context, inturn_token unused) {
  CHECK(context == &destroys && unused.bits != 0);
  atomic_fetch_add(&calls, 1);
}

static void take_token(void *context, inturn_token given) {
  CHECK(context == &destroys);
  token = given;
}

/* Counts who ends the operation; the others must learn that it has ended. */
static void count_win(inturn_status status) {
  if (status == INTURN_OK)
    atomic_fetch_add(&wins, 1);
  else
    CHECK(status == INTURN_E_ALREADY_FINISHED || status == INTURN_E_STALE);
}

static void clear_counts(void) {
  atomic_store(&wins, 0);
  atomic_store(&ends, 0);
  atomic_store(&destroys, 0);
  atomic_store(&calls, 0);
}

/* Starts an operation that holds its token, with deadlines of 1 ns. */
static void start_operation(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_run_ns = 1;
  options.max_run_policy = INTURN_MAX_RUN_FREE;
  options.cancel_grace_ns = 1;
  options.on_end = count_ends;
  options.end_context = &ends;
  clear_counts();
  CHECK_OK(inturn_queue_enqueue_with(board.queue, &options, take_token,
                                     &destroys, count_destroys, &operation));
  stage_drain(&board);
}

/* One end; and a token call won, unless something else ended it. */
static void check_one_end(void) {
  bool by_token = last_end.cause == INTURN_CAUSE_NONE ||
                  last_end.cause == INTURN_CAUSE_REQUEST;
  CHECK_INT(ends, 1);
  CHECK_INT(destroys, 1);
  CHECK_INT(wins, by_token);
}

/* The players. */
static void finish(void) { count_win(inturn_token_finish(token)); }
static void fail(void) { count_win(inturn_token_fail(token, 1)); }
static void give_in(void) { count_win(inturn_token_cancel(token)); }

static void request(void) {
  inturn_status status = inturn_operation_cancel(operation);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED ||
        status == INTURN_E_CANCELLED);
}

static void let_time_pass(void) {
  CHECK_OK(inturn_clock_advance(board.clock, 1));
}

static void destroy_queue(void) { CHECK_OK(inturn_queue_destroy(board.queue)); }

static void drain_board(void) { stage_drain(&board); }

static void wait_for_operation(void) {
  inturn_end end = {0};
  inturn_status status = inturn_operation_wait(operation, LIMIT_NS, &end);
  CHECK(status == INTURN_OK || status == INTURN_E_STALE);
}

static void release_operation(void) {
  CHECK_OK(inturn_operation_release(operation));
}

static void drain_queue(void) {
  inturn_status status = inturn_queue_drain(board.queue, LIMIT_NS);
  CHECK(status == INTURN_OK || status == INTURN_E_STALE);
}

/* The rounds of a race, which share a stage of this kind. */
static void run_on(inturn_queue_kind kind, const race *race) {
  board = stage_create(kind);
  run_race(race);
  stage_destroy(&board);
}

/* The races --------------------------------------------------------------- */

static void judge_end(void) {
  stage_drain(&board);
  check_one_end();
  CHECK_OK(inturn_operation_release(operation));
}

static void several_that_finish_have_one_winner(void) {
  run_on(INTURN_QUEUE_FIFO,
         &(race){start_operation, {finish, fail, give_in, finish}, judge_end});
}

static void a_finish_and_a_deadline_have_one_winner(void) {
  run_on(INTURN_QUEUE_FIFO,
         &(race){start_operation, {finish, let_time_pass, fail}, judge_end});
}

static void a_finish_a_request_and_its_grace_have_one_winner(void) {
  run_on(INTURN_QUEUE_FIFO,
         &(race){start_operation,
                 {request, finish, let_time_pass, drain_board},
                 judge_end});
}

static void prepare_own_board(void) {
  board = stage_create(INTURN_QUEUE_FIFO);
  start_operation();
}

/* Destroys the rest of a board whose queue is gone. */
static void destroy_rest_of_board(void) {
  CHECK_OK(inturn_executor_destroy(board.executor));
  CHECK_OK(inturn_clock_destroy(board.clock));
}

static void judge_own_board(void) {
  check_one_end();
  CHECK_OK(inturn_operation_release(operation));
  destroy_rest_of_board();
}

static void a_finish_and_a_destruction_have_one_winner(void) {
  run_race(&(race){prepare_own_board,
                   {destroy_queue, finish, request, let_time_pass},
                   judge_own_board});
}

static void a_destruction_may_meet_a_drain_of_the_executor(void) {
  run_race(&(race){prepare_own_board,
                   {destroy_queue, drain_board, finish},
                   judge_own_board});
}

static void who_waits_is_let_go_by_a_finish_or_a_destruction(void) {
  run_race(&(race){prepare_own_board,
                   {wait_for_operation, destroy_queue, finish, drain_queue},
                   judge_own_board});
}

static void judge_released(void) {
  stage_drain(&board);
  check_one_end();
}

static void a_handle_may_be_released_while_another_thread_waits(void) {
  run_on(INTURN_QUEUE_FIFO,
         &(race){start_operation,
                 {wait_for_operation, release_operation, finish},
                 judge_released});
}

/* An operation whose place is held when its deadline has passed. */
static atomic_bool is_told;

static void tell_end(void *context, const inturn_end *end) {
  static unsigned round;
  atomic_store(&is_told, true);
  /* A little longer each time, to meet the other thread at each step. */
  for (unsigned i = round++ % 512; i > 0; i--)
    (void)atomic_load(&is_told);
  count_ends(context, end);
}

static void start_held(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_run_ns = 1;
  options.on_end = tell_end;
  options.end_context = &ends;
  clear_counts();
  atomic_store(&is_told, false);
  CHECK_OK(inturn_queue_enqueue_with(board.queue, &options, take_token,
                                     &destroys, count_destroys, NULL));
  stage_drain(&board);
}

static void let_time_pass_and_drain(void) {
  let_time_pass();
  stage_drain(&board);
}

static void judge_held(void) {
  stage_drain(&board);
  CHECK_INT(ends, 1);
  CHECK_INT(destroys, 1);
  CHECK_INT(last_end.cause, INTURN_CAUSE_MAX_RUN);
  CHECK_INT(wins, 0);
  CHECK_INT(statistics_of(board.queue).running, 0);
}

/* At the moment when the end is reported. */
static void finish_late(void) {
  while (!atomic_load(&is_told))
    ;
  finish();
}

static void a_late_end_may_meet_the_delivery_of_the_deadline(void) {
  for (int kind = INTURN_QUEUE_FIFO; kind <= INTURN_QUEUE_CONCURRENT; kind++) {
    board = stage_create((inturn_queue_kind)kind);
    run_short_race(
        &(race){start_held, {let_time_pass_and_drain, finish_late}, judge_held},
        50000);
    stage_destroy(&board);
  }
}

/* Finishing the token releases the place once the deadline has begun to hold
   it; the queue may be destroyed before that call returns. */
static void prepare_held_on_own_board(void) {
  board = stage_create(INTURN_QUEUE_CONCURRENT);
  start_held();
}

static void let_time_pass_and_destroy(void) {
  let_time_pass();
  destroy_queue();
}

static void judge_gone(void) {
  CHECK_INT(ends, 1);
  CHECK_INT(destroys, 1);
  CHECK_INT(wins, last_end.cause == INTURN_CAUSE_NONE);
  destroy_rest_of_board();
}

static void a_late_end_may_meet_the_deadline_and_a_destruction(void) {
  run_race(&(race){prepare_held_on_own_board,
                   {finish, let_time_pass_and_destroy, fail, give_in},
                   judge_gone});
}

static void set_handler(void) {
  inturn_status status =
      inturn_token_on_cancel(token, count_calls, &destroys, count_destroys);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void resume_segment(void) {
  inturn_status status =
      inturn_token_resume(token, count_calls, &destroys, count_destroys);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

/* The contexts of the operation and of two players. */
static void judge_calls(int most) {
  stage_drain(&board);
  CHECK_INT(ends, 1);
  CHECK_INT(destroys, 3);
  CHECK(calls <= most);
  CHECK_OK(inturn_operation_release(operation));
}

static void judge_handlers(void) { judge_calls(1); }

static void judge_segments(void) { judge_calls(2); }

static void a_cancel_handler_is_called_at_most_once(void) {
  run_on(INTURN_QUEUE_FIFO, &(race){start_operation,
                                    {set_handler, request, finish, set_handler},
                                    judge_handlers});
}

static void a_segment_runs_or_its_operation_has_ended(void) {
  run_on(INTURN_QUEUE_ACTOR,
         &(race){start_operation,
                 {resume_segment, finish, resume_segment, drain_board},
                 judge_segments});
}

PROGRAM(races, TEST(several_that_finish_have_one_winner),
        TEST(a_finish_and_a_deadline_have_one_winner),
        TEST(a_finish_a_request_and_its_grace_have_one_winner),
        TEST(a_late_end_may_meet_the_delivery_of_the_deadline),
        TEST(a_late_end_may_meet_the_deadline_and_a_destruction),
        TEST(a_finish_and_a_destruction_have_one_winner),
        TEST(a_destruction_may_meet_a_drain_of_the_executor),
        TEST(who_waits_is_let_go_by_a_finish_or_a_destruction),
        TEST(a_handle_may_be_released_while_another_thread_waits),
        TEST(a_cancel_handler_is_called_at_most_once),
        TEST(a_segment_runs_or_its_operation_has_ended))
