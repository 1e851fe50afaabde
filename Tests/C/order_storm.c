/*
 * order_storm.c - several threads do everything at once to queues of all kinds:
 * each accepted operation ends once, each context is destroyed once, no two
 * operations with a common name overlap, and nothing is left.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUES = 6, THREADS = 4, RECENT = 64, NAMES = 5, MOST_HELD = 1 << 16 };

static const char *const all_names[NAMES] = {"v", "w", "x", "y", "z"};

/* What an operation's work does. */
typedef enum deed { FINISH, FAIL_IT, HOLD, YIELD, RESUME, DEEDS } deed;

typedef struct item {
  deed deed;
  unsigned names;
  inturn_verdict verdict;
  atomic_bool has_names;
  atomic_int ends, end_destroys, destroys;
} item;

typedef struct place {
  inturn_queue queue;
  inturn_queue_kind kind;
} place;

static inturn_executor pool;
static place places[QUEUES];
static pthread_mutex_t places_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Tokens that works have left to the threads. */
static inturn_token held[MOST_HELD];
static long held_count;
static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;

static item *items;
static long each;
static atomic_long accepted, ended, destroyed;
static atomic_int users[NAMES];
static uint64_t base_seed;

static void hold_token(inturn_token token) {
  pthread_mutex_lock(&held_mutex);
  CHECK(held_count < MOST_HELD);
  held[held_count++] = token;
  pthread_mutex_unlock(&held_mutex);
}

static bool take_token(uint64_t random, inturn_token *out_token) {
  pthread_mutex_lock(&held_mutex);
  bool found = held_count > 0;
  if (found) {
    long place = (long)(random % (uint64_t)held_count);
    *out_token = held[place];
    held[place] = held[--held_count];
  }
  pthread_mutex_unlock(&held_mutex);
  return found;
}

/* Allowed statuses for a call that may be late. */
static void check_late(inturn_status status) {
  if (status != INTURN_OK && status != INTURN_E_ALREADY_FINISHED &&
      status != INTURN_E_CANCELLED && status != INTURN_E_WRONG_KIND)
    FAIL("%s", inturn_status_name(status));
}

/* Allowed statuses for a call whose queue may be gone. */
static bool is_there(inturn_status status) {
  CHECK_NOT_REFUSED(status);
  if (status != INTURN_OK && status != INTURN_E_STALE &&
      status != INTURN_E_WRONG_KIND && status != INTURN_E_UNSUPPORTED)
    FAIL("%s", inturn_status_name(status));
  return status == INTURN_OK;
}

/* Callbacks --------------------------------------------------------------- */

/* An operation has its names from the start of its work to the call that ends
   an attempt. */
static void enter(item *item) {
  if (atomic_exchange(&item->has_names, true))
    FAIL("two attempts overlap");
  for (int i = 0; i < NAMES; i++)
    if (item->names >> i & 1)
      CHECK_INT(atomic_fetch_add(&users[i], 1), 0);
}

static void leave(item *item) {
  for (int i = 0; i < NAMES; i++)
    if (item->names >> i & 1)
      CHECK_INT(atomic_fetch_sub(&users[i], 1), 1);
  CHECK(atomic_exchange(&item->has_names, false));
}

static void segment(void *context, inturn_token token) {
  check_late(inturn_token_finish(token));
  (void)context;
}

static void asked_to_end(void *context, inturn_token token) {
  (void)context;
  check_late(inturn_token_cancel(token));
}

static void asked_to_yield(void *context, inturn_token token) {
  (void)context;
  check_late(inturn_token_yield(token));
}

static void work(void *context, inturn_token token) {
  item *item = context;
  bool ends_here = item->deed == FINISH || item->deed == FAIL_IT;
  enter(item);
  check_late(inturn_token_set_progress(token, 1, 2));
  if (!ends_here) {
    check_late(inturn_token_on_cancel(token, asked_to_end, item, NULL));
    check_late(inturn_token_on_preempt(token, asked_to_yield, item, NULL));
  }
  leave(item);
  switch (item->deed) {
  case FAIL_IT:
    check_late(inturn_token_fail(token, 1));
    break;
  case HOLD:
    hold_token(token);
    break;
  case YIELD:
    item->deed = HOLD;
    check_late(inturn_token_yield(token));
    hold_token(token);
    break;
  case RESUME:
    check_late(inturn_token_resume(token, segment, NULL, NULL));
    hold_token(token);
    break;
  default:
    check_late(inturn_token_finish(token));
  }
}

static inturn_verdict condition(void *context) {
  return ((item *)context)->verdict;
}

static void on_end(void *context, const inturn_end *end) {
  CHECK(end->outcome >= INTURN_FINISHED && end->outcome <= INTURN_TIMED_OUT);
  CHECK_INT(atomic_fetch_add(&((item *)context)->ends, 1), 0);
  atomic_fetch_add(&ended, 1);
}

static void on_end_destroy(void *context) {
  CHECK_INT(atomic_fetch_add(&((item *)context)->end_destroys, 1), 0);
  atomic_fetch_add(&destroyed, 1);
}

static void on_destroy(void *context) {
  CHECK_INT(atomic_fetch_add(&((item *)context)->destroys, 1), 0);
  atomic_fetch_add(&destroyed, 1);
}

/* The storm --------------------------------------------------------------- */

static inturn_queue create_queue(inturn_queue_kind kind) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.executor = pool;
  options.settle_ns = INTURN_NO_DELAY;
  options.gap_ns = INTURN_NO_DELAY;
  options.max_concurrent = kind == INTURN_QUEUE_CONCURRENT ? 3 : 0;
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(queue));
  return queue;
}

static place place_at(uint64_t random) {
  pthread_mutex_lock(&places_mutex);
  place place = places[random % QUEUES];
  pthread_mutex_unlock(&places_mutex);
  return place;
}

static void replace_queue(uint64_t random) {
  pthread_mutex_lock(&places_mutex);
  place *place = &places[random % QUEUES];
  inturn_queue old = place->queue;
  place->queue = create_queue(place->kind);
  pthread_mutex_unlock(&places_mutex);
  CHECK_OK(inturn_queue_destroy(old));
}

static void enqueue(item *item, inturn_operation *recent, uint64_t *seed) {
  place place = place_at(next_random(seed));
  bool is_concurrent = place.kind == INTURN_QUEUE_CONCURRENT;
  bool is_interaction = place.kind == INTURN_QUEUE_INTERACTION;
  const char *names[NAMES];
  inturn_operation after[3];
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation *slot = &recent[next_random(seed) % RECENT];
  if (slot->bits != 0)
    CHECK_OK(inturn_operation_release(*slot));
  slot->bits = 0;
  item->deed = (deed)(next_random(seed) % DEEDS);
  item->verdict = next_random(seed) % 8
                      ? INTURN_START
                      : (inturn_verdict)(next_random(seed) % 3);
  options.on_end = on_end;
  options.end_context = item;
  options.end_destroy = on_end_destroy;
  if (next_random(seed) % 4 == 0)
    options.condition = condition;
  if (is_concurrent || is_interaction)
    options.priority = (int32_t)(next_random(seed) % 4) - 1;
  options.barrier = is_concurrent && next_random(seed) % 8 == 0;
  options.urgent = is_interaction && next_random(seed) % 8 == 0;
  if (next_random(seed) % 3 == 0) {
    item->names = (unsigned)(next_random(seed) % (1u << NAMES));
    for (int i = 0; i < NAMES; i++)
      if (item->names >> i & 1)
        names[options.exclusive_count++] = all_names[i];
    options.exclusive = names;
  }
  if (next_random(seed) % 3 == 0) {
    options.after = after;
    options.after_policy = (inturn_after_policy)(next_random(seed) % 2);
    for (int i = 0; i < 3; i++) {
      after[options.after_count] = recent[next_random(seed) % RECENT];
      options.after_count += after[options.after_count].bits != 0;
    }
  }
  if (next_random(seed) % 4 == 0) {
    options.retry = &retry;
    retry.max_attempts = 3;
    retry.delay_ns = (int64_t)(next_random(seed) % 2) * 2000;
  }
  if (next_random(seed) % 6 == 0)
    options.max_wait_ns = 1 + (int64_t)(next_random(seed) % 100000);
  if (next_random(seed) % 6 == 0)
    options.max_run_ns = 1 + (int64_t)(next_random(seed) % 100000);
  if (next_random(seed) % 6 == 0)
    options.cancel_grace_ns = 1 + (int64_t)(next_random(seed) % 100000);
  /* Work that is cut off continues, and may overlap the next with its names. */
  if (options.exclusive_count > 0)
    options.max_run_ns = options.cancel_grace_ns = 0;
  if (is_there(inturn_queue_enqueue_with(place.queue, &options, work, item,
                                         on_destroy, slot)))
    atomic_fetch_add(&accepted, 1);
}

static void disturb(inturn_operation *recent, uint64_t *seed) {
  inturn_queue queue = place_at(next_random(seed)).queue;
  inturn_operation operation = recent[next_random(seed) % RECENT];
  inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
  inturn_operation_info infos[8] = {INTURN_OPERATION_INFO_INIT};
  size_t count;
  switch (next_random(seed) % 64) {
  case 0:
    replace_queue(next_random(seed));
    break;
  case 1:
    is_there(inturn_queue_cancel_all(queue));
    break;
  case 2:
  case 3:
    is_there(inturn_queue_set_max_concurrent(
        queue, 1 + (uint32_t)(next_random(seed) % 4)));
    break;
  case 4:
  case 5:
  case 6:
  case 7:
    if (is_there(inturn_queue_suspend(queue)))
      is_there(inturn_queue_resume(queue));
    break;
  case 8:
    if (is_there(inturn_queue_view_will_disappear(queue)))
      is_there(inturn_queue_view_did_appear(queue));
    break;
  case 9:
    is_there(inturn_queue_get_statistics(queue, &statistics));
    break;
  case 10:
    is_there(inturn_queue_list(queue, infos, 8, &count));
    break;
  default:
    if (operation.bits != 0 && next_random(seed) % 4 == 0)
      check_late(inturn_operation_cancel(operation));
  }
}

/* False when no token is held. */
static bool end_held(uint64_t *seed) {
  inturn_token token;
  if (!take_token(next_random(seed), &token))
    return false;
  inturn_status status;
  switch (next_random(seed) % 6) {
  case 0:
    status = inturn_token_fail(token, 1);
    break;
  case 1:
    status = inturn_token_cancel(token);
    break;
  case 2:
    status = inturn_token_yield(token);
    if (status == INTURN_E_WRONG_KIND)
      status = inturn_token_finish(token);
    break;
  default:
    status = inturn_token_finish(token);
  }
  check_late(status);
  return true;
}

static void take_part(int index) {
  uint64_t seed = base_seed * 100 + (uint64_t)index;
  inturn_operation recent[RECENT] = {{0}};
  for (long i = 0; i < each; i++) {
    enqueue(&items[index * each + i], recent, &seed);
    disturb(recent, &seed);
    end_held(&seed);
  }
  for (int i = 0; i < RECENT; i++)
    if (recent[i].bits != 0)
      CHECK_OK(inturn_operation_release(recent[i]));
}

/* Ends what is held, until everything has ended. */
static void clear_up(void) {
  uint64_t seed = 1;
  time_t limit = time(NULL) + LIMIT_SECONDS;
  for (int i = 0; i < QUEUES;) {
    bool has_ended_one = end_held(&seed);
    if (inturn_queue_drain(places[i].queue, 0) == INTURN_OK)
      i++;
    else if (time(NULL) > limit)
      FAIL("queue %d of kind %d is not empty: %ld accepted, %ld ended", i,
           (int)places[i].kind, accepted, ended);
    else if (!has_ended_one)
      sched_yield();
  }
}

static void storm(uint64_t seed, long steps) {
  inturn_executor_options pool_options = INTURN_EXECUTOR_OPTIONS_INIT;
  base_seed = seed;
  each = steps;
  items = calloc((size_t)(THREADS * each), sizeof *items);
  CHECK(items != NULL);
  held_count = 0;
  atomic_store(&accepted, 0);
  atomic_store(&ended, 0);
  atomic_store(&destroyed, 0);
  pool_options.workers = 1 + (uint32_t)(seed % 5);
  CHECK_OK(inturn_executor_create(&pool_options, &pool));
  for (int i = 0; i < QUEUES; i++) {
    places[i].kind = (inturn_queue_kind)(i % 4 + 1);
    places[i].queue = create_queue(places[i].kind);
  }
  in_parallel(THREADS, take_part);
  clear_up();
  for (int i = 0; i < QUEUES; i++)
    CHECK_OK(inturn_queue_destroy(places[i].queue));
  CHECK_OK(inturn_executor_destroy(pool));
  CHECK_INT(ended, accepted);
  CHECK_INT(destroyed, 2 * THREADS * each);
  for (int i = 0; i < NAMES; i++)
    CHECK_INT(users[i], 0);
  free(items);
}

static void in_a_storm_each_ends_once_and_nothing_is_left(void) {
  for (uint64_t seed = 1; seed <= 30; seed++)
    storm(seed, scaled(2000));
}

static void thousands_of_short_storms_leave_nothing(void) {
  for (uint64_t seed = 1; seed <= (uint64_t)scaled(5000); seed++)
    storm(seed, 20);
}

PROGRAM(order_storm, TEST(in_a_storm_each_ends_once_and_nothing_is_left),
        TEST(thousands_of_short_storms_leave_nothing))
