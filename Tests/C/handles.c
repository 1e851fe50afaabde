/*
 * handles.c - section 3 of the manual: a handle is checked at each call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "handle_calls.h"

static void the_null_handle_gives_null_handle(void) {
  for (int kind = 0; kind < HANDLE_KINDS; kind++)
    check_refusals((handle_kind)kind, 0, INTURN_E_NULL_HANDLE);
}

static void the_null_clock_asks_the_clock_of_the_system(void) {
  int64_t earlier = -1, later = -1;
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &earlier));
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &later));
  CHECK(earlier > 0 && later >= earlier);
}

static void a_handle_whose_object_is_gone_is_stale(void) {
  live_handles live = live_handles_create();
  live_handles_destroy(&live);
  check_refusals(HANDLE_QUEUE, live.bits[HANDLE_QUEUE], INTURN_E_STALE);
  check_refusals(HANDLE_OPERATION, live.bits[HANDLE_OPERATION], INTURN_E_STALE);
  check_refusals(HANDLE_EXECUTOR, live.bits[HANDLE_EXECUTOR], INTURN_E_STALE);
  check_refusals(HANDLE_CLOCK, live.bits[HANDLE_CLOCK], INTURN_E_STALE);
  check_refusals(HANDLE_VALUE, live.bits[HANDLE_VALUE], INTURN_E_STALE);
  check_refusals(HANDLE_OBSERVATION, live.bits[HANDLE_OBSERVATION],
                 INTURN_E_STALE);
}

static void a_handle_of_another_kind_gives_wrong_kind(void) {
  live_handles live = live_handles_create();
  for (int kind = 0; kind < HANDLE_KINDS; kind++)
    for (int other = 0; other < HANDLE_KINDS; other++)
      if (other != kind)
        check_refusals((handle_kind)kind, live.bits[other],
                       INTURN_E_WRONG_KIND);
  live_handles_destroy(&live);
}

/* Whatever kind it claims: the low 30 bits count the objects. */
static void a_handle_of_no_object_is_stale(void) {
  live_handles live = live_handles_create();
  uint64_t counts = (UINT64_C(1) << 30) - 1;
  for (int kind = 0; kind < HANDLE_KINDS; kind++)
    for (int other = 0; other < HANDLE_KINDS; other++)
      check_refusals((handle_kind)kind, live.bits[other] & ~counts,
                     INTURN_E_STALE);
  live_handles_destroy(&live);
}

static void a_refused_call_changes_nothing(void) {
  live_handles live = live_handles_create();
  for (int other = 1; other < HANDLE_KINDS; other++)
    check_refusals(HANDLE_QUEUE, live.bits[other], INTURN_E_WRONG_KIND);
  inturn_queue_statistics statistics = statistics_of(live.stage.queue);
  CHECK_INT(statistics.running, 1);
  CHECK_INT(statistics.pending, 0);
  CHECK_INT(statistics.suspends, 0);
  CHECK_OK(inturn_token_finish((inturn_token){live.bits[HANDLE_TOKEN]}));
  live_handles_destroy(&live);
}

/* Whether the bits name an object that the function takes. */
static bool is_live(const live_handles *live, handle_kind kind, uint64_t bits) {
  inturn_executor own, pool;
  CHECK_OK(inturn_executor_main(&own));
  CHECK_OK(inturn_executor_pool(&pool));
  return bits == live->bits[kind] ||
         (kind == HANDLE_EXECUTOR && (bits == own.bits || bits == pool.bits));
}

static bool is_handle_status(inturn_status status) {
  return status == INTURN_E_STALE || status == INTURN_E_WRONG_KIND ||
         status == INTURN_E_FORKED || status == INTURN_E_NULL_HANDLE;
}

static void random_bits_are_refused_by_each_function(void) {
  live_handles live = live_handles_create();
  uint64_t random = 20240607;
  for (long round = scaled(1000000); round > 0; round--) {
    /* From bits all over the word to a few low ones, which look like small
       indices and young generations. */
    uint64_t bits = next_random(&random) >> (round % 64);
    for (size_t i = 0; i < handle_call_count; i++) {
      const handle_call *call = &handle_calls[i];
      if (is_live(&live, call->kind, bits) || (bits == 0 && call->null_allowed))
        continue;
      inturn_status status = refused_call(call, bits);
      if (!is_handle_status(status))
        FAIL("%s gives %s for %llx", call->name, inturn_status_name(status),
             (unsigned long long)bits);
    }
  }
  live_handles_destroy(&live);
}

static void a_live_handle_with_one_bit_changed_is_refused(void) {
  live_handles live = live_handles_create();
  for (size_t i = 0; i < handle_call_count; i++) {
    const handle_call *call = &handle_calls[i];
    for (int bit = 0; bit < 64; bit++) {
      uint64_t bits = live.bits[call->kind] ^ UINT64_C(1) << bit;
      if (bits != 0 && !is_live(&live, call->kind, bits))
        refused_call(call, bits);
    }
  }
  CHECK_INT(statistics_of(live.stage.queue).running, 1);
  live_handles_destroy(&live);
}

static void a_handle_is_never_reused_for_another_object(void) {
  enum { ROUNDS = 20000 };
  inturn_clock first, clock;
  CHECK_OK(inturn_clock_create_manual(&first));
  CHECK_OK(inturn_clock_destroy(first));
  for (int round = 0; round < ROUNDS; round++) {
    CHECK_OK(inturn_clock_create_manual(&clock));
    CHECK(clock.bits != first.bits);
    CHECK_STATUS(inturn_clock_destroy(first), INTURN_E_STALE);
    CHECK_OK(inturn_clock_destroy(clock));
  }
}

static void an_old_token_never_finishes_a_later_operation(void) {
  enum { ROUNDS = 20000 };
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_token first = {0}, later = {0};
  for (int round = 0; round < ROUNDS; round++) {
    CHECK_OK(inturn_queue_enqueue(stage.queue, keep_token,
                                  round == 0 ? &first : &later, NULL, NULL));
    stage_drain(&stage);
    if (round > 0) {
      CHECK(later.bits != first.bits);
      inturn_status status = inturn_token_finish(first);
      CHECK(status == INTURN_E_ALREADY_FINISHED || status == INTURN_E_STALE);
    }
    CHECK_OK(inturn_token_finish(round == 0 ? first : later));
  }
  CHECK_INT(statistics_of(stage.queue).finished, ROUNDS);
  stage_destroy(&stage);
}

static inturn_token old_tokens[4];

/* The context is where the work keeps its own token. */
static void try_old_tokens(void *own, inturn_token token) {
  for (inturn_token *old = old_tokens; old != own; old++) {
    inturn_status status = inturn_token_finish(*old);
    CHECK(status == INTURN_E_ALREADY_FINISHED || status == INTURN_E_STALE);
  }
  *(inturn_token *)own = token;
  CHECK_OK(inturn_token_finish(token));
}

/* The same for operations with handles, which have slots, while their work is
   being called. */
static void an_old_token_never_finishes_a_later_one_with_a_handle(void) {
  inturn_queue queue;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue));
  for (int round = 0; round < 4; round++) {
    inturn_operation operation;
    CHECK_OK(inturn_queue_enqueue(queue, try_old_tokens, &old_tokens[round],
                                  NULL, &operation));
    CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
    CHECK_OK(inturn_operation_release(operation));
  }
  CHECK_OK(inturn_queue_destroy(queue));
}

PROGRAM(handles, TEST(the_null_handle_gives_null_handle),
        TEST(the_null_clock_asks_the_clock_of_the_system),
        TEST(a_handle_whose_object_is_gone_is_stale),
        TEST(a_handle_of_another_kind_gives_wrong_kind),
        TEST(a_handle_of_no_object_is_stale),
        TEST(a_refused_call_changes_nothing),
        TEST(random_bits_are_refused_by_each_function),
        TEST(a_live_handle_with_one_bit_changed_is_refused),
        TEST(a_handle_is_never_reused_for_another_object),
        TEST(an_old_token_never_finishes_a_later_operation),
        TEST(an_old_token_never_finishes_a_later_one_with_a_handle))
