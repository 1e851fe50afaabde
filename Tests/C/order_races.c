/*
 * order_races.c - several threads at once make operations come after others,
 * end, cancel, retry, yield and destroy: whoever wins, each operation ends
 * exactly once, each context is destroyed exactly once, nothing is forgotten.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "race.h"

/* So many for each kind of queue, or each of several pairs. */
enum { ROUNDS = 6000 };

/* A player's operation, or the board's: what became of it. */
typedef struct counts {
  atomic_int works, ends, end_destroys, destroys;
  inturn_end end;
} counts;

static stage board, other;
static counts earlier, later;
static inturn_operation earlier_operation, later_operation;
static _Atomic(uint64_t) token_bits;
static atomic_bool is_accepted;
static uint64_t round_number;

static const char *const names[] = {"race"};

static void clear_counts(counts *counts) {
  atomic_store(&counts->works, 0);
  atomic_store(&counts->ends, 0);
  atomic_store(&counts->end_destroys, 0);
  atomic_store(&counts->destroys, 0);
}

static void on_end(void *context, const inturn_end *end) {
  counts *counts = context;
  counts->end = *end;
  atomic_fetch_add(&counts->ends, 1);
}

static void on_end_destroy(void *context) {
  atomic_fetch_add(&((counts *)context)->end_destroys, 1);
}

static void on_destroy(void *context) {
  atomic_fetch_add(&((counts *)context)->destroys, 1);
}

static void take_token(void *context, inturn_token token) {
  atomic_fetch_add(&((counts *)context)->works, 1);
  atomic_store(&token_bits, token.bits);
}

static void work_once(void *context, inturn_token token) {
  atomic_fetch_add(&((counts *)context)->works, 1);
  inturn_status status = inturn_token_finish(token);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static inturn_operation_options options_of(counts *counts) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = on_end;
  options.end_context = counts;
  options.end_destroy = on_end_destroy;
  return options;
}

static inturn_token current_token(void) {
  return (inturn_token){atomic_load(&token_bits)};
}

static void start_earlier(const inturn_operation_options *options) {
  clear_counts(&earlier);
  clear_counts(&later);
  later_operation.bits = 0;
  atomic_store(&is_accepted, false);
  round_number++;
  CHECK_OK(inturn_queue_enqueue_with(board.queue, options, take_token, &earlier,
                                     on_destroy, &earlier_operation));
  stage_drain(&board);
  CHECK_INT(earlier.works, 1);
}

static void start_plain(void) {
  inturn_operation_options options = options_of(&earlier);
  start_earlier(&options);
}

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

static void check_once(const counts *counts, int ends) {
  CHECK_INT(counts->ends, ends);
  CHECK_INT(counts->end_destroys, 1);
  CHECK_INT(counts->destroys, 1);
}

static bool is_right(inturn_status status) {
  return status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED ||
         status == INTURN_E_CANCELLED;
}

/* The players. */
static void finish(void) {
  inturn_status status = inturn_token_finish(current_token());
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void fail(void) {
  inturn_status status = inturn_token_fail(current_token(), 1);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void yield(void) {
  inturn_status status = inturn_token_yield(current_token());
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void cancel_earlier(void) {
  CHECK(is_right(inturn_operation_cancel(earlier_operation)));
}

static void cancel_later(void) {
  CHECK(is_right(inturn_operation_cancel(later_operation)));
}

static void add_later(void) { CHECK_OK(enqueue_later()); }

static void try_later(void) {
  inturn_status status = enqueue_later();
  CHECK(status == INTURN_OK || status == INTURN_E_STALE);
}

static void drain_board(void) { stage_drain(&board); }
static void drain_other(void) { stage_drain(&other); }

static void destroy_board(void) { CHECK_OK(inturn_queue_destroy(board.queue)); }
static void destroy_other(void) { CHECK_OK(inturn_queue_destroy(other.queue)); }

static void let_time_pass(void) {
  CHECK_OK(inturn_clock_advance(board.clock, 1));
}

static void suspend_and_resume(void) {
  CHECK_OK(inturn_queue_suspend(board.queue));
  CHECK_OK(inturn_queue_resume(board.queue));
}

static void release_stage(const stage *stage) {
  CHECK_OK(inturn_executor_destroy(stage->executor));
  CHECK_OK(inturn_clock_destroy(stage->clock));
}

/* Runs a race on stages of these kinds that it shares by all its rounds. */
static void run_on(inturn_queue_kind kind, inturn_queue_kind other_kind,
                   const race *race) {
  board = stage_create(kind);
  other = stage_create(other_kind);
  run_short_race(race, ROUNDS);
  stage_destroy(&board);
  stage_destroy(&other);
}

/* Dependencies ------------------------------------------------------------ */

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

static inturn_queue_kind kinds[2];

static void prepare_stages(void) {
  board = stage_create(kinds[0]);
  other = stage_create(kinds[1]);
  start_both();
}

static void judge_stages(void) {
  check_once(&later, 1);
  check_once(&earlier, 1);
  CHECK_OK(inturn_operation_release(earlier_operation));
  CHECK_OK(inturn_operation_release(later_operation));
  release_stage(&board);
  release_stage(&other);
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

/* Each pair of kinds has its share of the rounds. */
static void run_on_each_pair(const race *race) {
  for (int i = 0; i < 4; i++) {
    kinds[0] = (inturn_queue_kind)(i + 1);
    kinds[1] = (inturn_queue_kind)((i + 3) % 4 + 1);
    run_short_race(race, ROUNDS);
  }
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

/* Retries and yields ------------------------------------------------------ */

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

/* Ends whatever attempt it has come to. */
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

/* Urgent ones ------------------------------------------------------------- */

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

/* Names ------------------------------------------------------------------- */

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
  /* Nobody has the name any more. */
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

/* Waits ------------------------------------------------------------------- */

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
        TEST(a_failure_may_meet_a_cancel_and_time),
        TEST(failures_may_meet_suspends_and_time),
        TEST(a_failure_may_meet_a_destruction),
        TEST(a_yield_may_meet_a_finish_and_a_cancel),
        TEST(a_yield_may_meet_a_destruction),
        TEST(an_urgent_one_may_meet_the_handler_a_yield_and_a_finish),
        TEST(a_name_may_be_given_back_while_who_waits_leaves),
        TEST(who_waits_is_let_go_by_a_destruction))
