/*
 * plain_order.c - operations with only dependencies and priorities, on the
 * library's pool: each starts after its dependencies and runs once, and its
 * context is destroyed once, whoever cancels, releases and waits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "race.h"

#include <stdlib.h>

static inturn_queue concurrent_queue(uint32_t limit) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.max_concurrent = limit;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  return queue;
}

static inturn_operation enqueue_after(inturn_queue queue,
                                      const inturn_operation *after,
                                      size_t count, inturn_work_fn work,
                                      void *context) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.after = after;
  options.after_count = count;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, work, context, NULL,
                                     &operation));
  return operation;
}

/* Two that come after one, in two queues ---------------------------------- */

static gate first_may_end, second_has_run;

static void wait_and_finish(void *context, inturn_token token) {
  GATE_WAIT((gate *)context, 1);
  CHECK_OK(inturn_token_finish(token));
}

static void pass_and_finish(void *context, inturn_token token) {
  gate_pass(context);
  CHECK_OK(inturn_token_finish(token));
}

static void
who_starts_next_may_wait_for_another_that_comes_after_the_same(void) {
  inturn_queue here = concurrent_queue(2), there = concurrent_queue(1);
  first_may_end = (gate)GATE_INIT;
  second_has_run = (gate)GATE_INIT;
  inturn_operation first =
      enqueue_after(here, NULL, 0, wait_and_finish, &first_may_end);
  inturn_operation waits =
      enqueue_after(here, &first, 1, wait_and_finish, &second_has_run);
  inturn_operation other =
      enqueue_after(there, &first, 1, pass_and_finish, &second_has_run);
  gate_pass(&first_may_end);
  CHECK_OK(inturn_operation_wait(waits, LIMIT_NS, NULL));
  CHECK_OK(inturn_operation_wait(other, LIMIT_NS, NULL));
  CHECK_OK(inturn_operation_release(first));
  CHECK_OK(inturn_operation_release(waits));
  CHECK_OK(inturn_operation_release(other));
  drain_and_destroy(here);
  drain_and_destroy(there);
}

/* A pair that several threads meet on -------------------------------------- */

static inturn_queue board;
static inturn_operation earlier, later;
static _Atomic(uint64_t) token_bits;
static atomic_int earlier_ran, later_ran, destroyed;
static gate is_held;

static void hold(void *context, inturn_token token) {
  (void)context;
  atomic_store(&token_bits, token.bits);
  gate_pass(&is_held);
}

static void run_later(void *context, inturn_token token) {
  (void)context;
  CHECK_INT(earlier_ran, 1);
  atomic_fetch_add(&later_ran, 1);
  CHECK_OK(inturn_token_finish(token));
}

static void count_destroyed(void *context) {
  (void)context;
  atomic_fetch_add(&destroyed, 1);
}

static void prepare(void) {
  long held = gate_count(&is_held);
  earlier_ran = later_ran = destroyed = 0;
  CHECK_OK(inturn_queue_enqueue(board, hold, NULL, count_destroyed, &earlier));
  GATE_WAIT(&is_held, held + 1);
  later.bits = 0;
}

static void end_earlier(void) {
  atomic_store(&earlier_ran, 1);
  CHECK_OK(inturn_token_finish((inturn_token){atomic_load(&token_bits)}));
}

static void add_later(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = &earlier;
  options.after_count = 1;
  options.after_policy = INTURN_AFTER_FINISHED;
  inturn_status status = inturn_queue_enqueue_with(
      board, &options, run_later, NULL, count_destroyed, &later);
  CHECK(status == INTURN_OK || status == INTURN_E_STALE);
}

static void release_earlier(void) {
  CHECK_OK(inturn_operation_release(earlier));
}

static void wait_for_earlier(void) {
  inturn_status status = inturn_operation_wait(earlier, LIMIT_NS, NULL);
  CHECK(status == INTURN_OK || status == INTURN_E_STALE);
}

static void judge(void) {
  CHECK_OK(inturn_queue_drain(board, LIMIT_NS));
  CHECK_INT(destroyed, 2);
  if (later.bits != 0) {
    CHECK_INT(later_ran, 1);
    CHECK_OK(inturn_operation_release(later));
  } else {
    CHECK_INT(later_ran, 0);
  }
}

static void an_enqueue_may_meet_the_end_the_release_and_a_wait(void) {
  board = concurrent_queue(2);
  is_held = (gate)GATE_INIT;
  run_short_race(
      &(race){prepare,
              {end_earlier, add_later, release_earlier, wait_for_earlier},
              judge},
      20000);
  drain_and_destroy(board);
}

/* A storm ------------------------------------------------------------------ */

enum { THREADS = 4, EACH = 20000, MOST_AFTER = 3, RECENT = 32 };

typedef struct item {
  struct item *after[MOST_AFTER];
  int after_count;
  bool needs_finished, fails;
  atomic_bool has_run, has_finished, is_cancelled;
  atomic_int runs, destroys;
} item;

/* The operations that each thread has added last, with handles of its own. */
typedef struct recent {
  item *item;
  inturn_operation operation;
} recent;

static inturn_queue storm;
static item *items;
static long each;

static void run_item(void *context, inturn_token token) {
  item *self = context;
  for (int i = 0; i < self->after_count; i++) {
    const item *before = self->after[i];
    if (self->needs_finished)
      CHECK(before->has_finished);
    else
      CHECK(before->has_run || before->is_cancelled || before->needs_finished);
  }
  CHECK_INT(atomic_fetch_add(&self->runs, 1), 0);
  if (!self->fails)
    atomic_store(&self->has_finished, true);
  atomic_store(&self->has_run, true);
  CHECK_OK(self->fails ? inturn_token_fail(token, 1)
                       : inturn_token_finish(token));
}

static void destroy_item(void *context) {
  atomic_fetch_add(&((item *)context)->destroys, 1);
}

static void add_items(int thread) {
  uint64_t seed = (uint64_t)thread + 1;
  recent recents[RECENT] = {{NULL, {0}}};
  for (long i = 0; i < each; i++) {
    item *self = &items[thread * each + i];
    inturn_operation after[MOST_AFTER];
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    long most = i < RECENT ? i : RECENT;
    self->after_count = most == 0 ? 0 : (int)(next_random(&seed) % 4);
    for (int k = 0; k < self->after_count; k++) {
      recent *one = &recents[next_random(&seed) % (uint64_t)most];
      self->after[k] = one->item;
      after[k] = one->operation;
    }
    self->needs_finished = next_random(&seed) % 8 == 0;
    self->fails = next_random(&seed) % 16 == 0;
    options.after = after;
    options.after_count = (size_t)self->after_count;
    options.after_policy =
        self->needs_finished ? INTURN_AFTER_FINISHED : INTURN_AFTER_ENDED;
    options.priority =
        next_random(&seed) % 8 == 0 ? (int32_t)(next_random(&seed) % 3) : 0;
    recent *place = &recents[i % RECENT];
    recent former = *place;
    place->item = self;
    CHECK_OK(inturn_queue_enqueue_with(storm, &options, run_item, self,
                                       i % 2 == 0 ? destroy_item : NULL,
                                       &place->operation));
    if (former.item != NULL)
      CHECK_OK(inturn_operation_release(former.operation));
    if (next_random(&seed) % 16 == 0) {
      atomic_store(&self->is_cancelled, true);
      inturn_status status = inturn_operation_cancel(place->operation);
      CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
    } else if (next_random(&seed) % 64 == 0) {
      CHECK_OK(inturn_operation_wait(place->operation, LIMIT_NS, NULL));
    }
  }
  for (int i = 0; i < RECENT; i++)
    if (recents[i].item != NULL)
      CHECK_OK(inturn_operation_release(recents[i].operation));
}

static void each_starts_after_those_that_it_comes_after(void) {
  each = scaled(EACH);
  items = calloc((size_t)(THREADS * each), sizeof *items);
  CHECK(items != NULL);
  storm = concurrent_queue(3);
  in_parallel(THREADS, add_items);
  CHECK_OK(inturn_queue_drain(storm, LIMIT_NS));
  inturn_queue_statistics statistics = statistics_of(storm);
  CHECK_INT(statistics.finished + statistics.failed + statistics.cancelled,
            THREADS * each);
  long runs = 0;
  for (long i = 0; i < THREADS * each; i++) {
    const item *self = &items[i];
    runs += self->runs;
    CHECK_INT(self->destroys, i % each % 2 == 0);
    CHECK(self->runs == 1 || self->is_cancelled || self->needs_finished);
  }
  CHECK_INT(statistics.cancelled, THREADS * each - runs);
  drain_and_destroy(storm);
  free(items);
}

PROGRAM(plain_order,
        TEST(who_starts_next_may_wait_for_another_that_comes_after_the_same),
        TEST(an_enqueue_may_meet_the_end_the_release_and_a_wait),
        TEST(each_starts_after_those_that_it_comes_after))
