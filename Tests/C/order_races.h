/*
 * order_races.h - an operation and another one that comes after it, and what
 * the players of a race do with them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ORDER_RACES_H
#define ORDER_RACES_H

#include "fixture.h"
#include "race.h"

/* This many for each kind of queue, or for each of several pairs. */
enum { ROUNDS = 6000 };

/* An operation of a player or of the board, and what happened to it. */
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

static inline void clear_counts(counts *counts) {
  atomic_store(&counts->works, 0);
  atomic_store(&counts->ends, 0);
  atomic_store(&counts->end_destroys, 0);
  atomic_store(&counts->destroys, 0);
}

static inline void on_end(void *context, const inturn_end *end) {
  counts *counts = context;
  counts->end = *end;
  atomic_fetch_add(&counts->ends, 1);
}

static inline void on_end_destroy(void *context) {
  atomic_fetch_add(&((counts *)context)->end_destroys, 1);
}

static inline void on_destroy(void *context) {
  atomic_fetch_add(&((counts *)context)->destroys, 1);
}

static inline void take_token(void *context, inturn_token token) {
  atomic_fetch_add(&((counts *)context)->works, 1);
  atomic_store(&token_bits, token.bits);
}

static inline void work_once(void *context, inturn_token token) {
  atomic_fetch_add(&((counts *)context)->works, 1);
  inturn_status status = inturn_token_finish(token);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static inline inturn_operation_options options_of(counts *counts) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = on_end;
  options.end_context = counts;
  options.end_destroy = on_end_destroy;
  return options;
}

static inline inturn_token current_token(void) {
  return (inturn_token){atomic_load(&token_bits)};
}

static inline void start_earlier(const inturn_operation_options *options) {
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

static inline void start_plain(void) {
  inturn_operation_options options = options_of(&earlier);
  start_earlier(&options);
}

static inline void check_once(const counts *counts, int ends) {
  CHECK_INT(counts->ends, ends);
  CHECK_INT(counts->end_destroys, 1);
  CHECK_INT(counts->destroys, 1);
}

static inline bool is_right(inturn_status status) {
  return status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED ||
         status == INTURN_E_CANCELLED;
}

/* The players. */
static inline void finish(void) {
  inturn_status status = inturn_token_finish(current_token());
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static inline void fail(void) {
  inturn_status status = inturn_token_fail(current_token(), 1);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static inline void cancel_later(void) {
  CHECK(is_right(inturn_operation_cancel(later_operation)));
}

static inline void drain_board(void) { stage_drain(&board); }
static inline void drain_other(void) { stage_drain(&other); }

static inline void destroy_board(void) {
  CHECK_OK(inturn_queue_destroy(board.queue));
}
static inline void destroy_other(void) {
  CHECK_OK(inturn_queue_destroy(other.queue));
}

static inline void release_stage(const stage *stage) {
  CHECK_OK(inturn_executor_destroy(stage->executor));
  CHECK_OK(inturn_clock_destroy(stage->clock));
}

/* Runs a race on stages of these kinds, shared by all its rounds. */
static inline void run_on(inturn_queue_kind kind, inturn_queue_kind other_kind,
                          const race *race) {
  board = stage_create(kind);
  other = stage_create(other_kind);
  run_short_race(race, ROUNDS);
  stage_destroy(&board);
  stage_destroy(&other);
}

static inturn_queue_kind kinds[2];

static inline void judge_stages(void) {
  check_once(&later, 1);
  check_once(&earlier, 1);
  CHECK_OK(inturn_operation_release(earlier_operation));
  CHECK_OK(inturn_operation_release(later_operation));
  release_stage(&board);
  release_stage(&other);
}

/* Each pair of kinds gets its share of the rounds. */
static inline void run_on_each_pair(const race *race) {
  for (int i = 0; i < 4; i++) {
    kinds[0] = (inturn_queue_kind)(i + 1);
    kinds[1] = (inturn_queue_kind)((i + 3) % 4 + 1);
    run_short_race(race, ROUNDS);
  }
}

#endif
