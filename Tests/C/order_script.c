/*
 * order_script.c - random scripts of priorities, barriers, dependencies, limits
 * and cancels on a concurrent queue, against a model of what may start when.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

enum { MOST = 400, STEPS = 500, PATIENCE = 64, PRIORITIES = 4 };

/* The state of an operation, in the model. */
typedef enum place { ABSENT, WAITING, STARTED, OVER } place;

typedef struct item {
  place place;
  int priority; /* 0 to PRIORITIES - 1 */
  bool is_barrier, needs_finished, has_finished;
  int after; /* the number of an earlier one, or -1 */
  /* When it became ready to start; 0 if it is not ready. */
  long ready_at;
  inturn_operation operation;
  inturn_token token;
} item;

static item items[MOST];
static int item_count;
static unsigned limit;
static bool is_suspended;
static long now; /* counts changes to ready */
static long last_turn[PRIORITIES];
static int passed_by;
/* The pending or running barrier, or -1; and how many have been admitted. */
static int fence, admitted;

/* What the library has started and ended, in order. */
static int started[MOST], start_count;
static int ended[MOST], end_count;
static stage board;

static void note_start(void *context, inturn_token token) {
  item *item = context;
  item->token = token;
  started[start_count++] = (int)(item - items);
}

static void note_end(void *context, const inturn_end *end) {
  item *item = context;
  item->has_finished = end->outcome == INTURN_FINISHED;
  ended[end_count++] = (int)(item - items);
}

/* The model --------------------------------------------------------------- */

static int running_count(void) {
  int count = 0;
  for (int i = 0; i < item_count; i++)
    count += items[i].place == STARTED;
  return count;
}

static bool waits_for_other(const item *item) {
  return item->after >= 0 && items[item->after].place != OVER;
}

/* The first ready operation of a priority, or -1. One that was cancelled stays
   ready until it is passed over. */
static int first_of(int priority) {
  int best = -1;
  for (int i = 0; i < item_count; i++)
    if (items[i].ready_at > 0 && items[i].priority == priority &&
        (best < 0 || items[i].ready_at < items[best].ready_at))
      best = i;
  return best;
}

static void make_ready(int number) {
  int priority = items[number].priority;
  now++;
  /* A priority that was empty has had no turn yet. */
  if (first_of(priority) < 0)
    last_turn[priority] = now;
  items[number].ready_at = now;
}

/* Admits operations that no barrier holds back any more. */
static void admit_up_to_a_barrier(void) {
  while (fence < 0 && admitted < item_count) {
    item *item = &items[admitted];
    if (item->place == WAITING && item->is_barrier)
      fence = admitted;
    else if (item->place == OVER || !waits_for_other(item))
      make_ready(admitted);
    admitted++;
  }
}

/* An operation has ended, and with it those that needed it to finish. Its
   barrier is lifted first; then the operations that come after it are notified
   in order, and then those that come after any that have ended with it. */
static void note_over(int number, bool has_finished) {
  static int ended_by_it[MOST];
  int count = 0;
  items[number].has_finished = has_finished;
  ended_by_it[count++] = number;
  items[number].place = OVER;
  if (number == fence) {
    fence = -1;
    admit_up_to_a_barrier();
  }
  while (count > 0) {
    int earlier = ended_by_it[--count];
    for (int i = earlier + 1; i < item_count; i++) {
      item *item = &items[i];
      if (item->place != WAITING || item->after != earlier)
        continue;
      if (item->needs_finished && !items[earlier].has_finished) {
        item->place = OVER;
        ended_by_it[count++] = i;
        if (i == fence) {
          fence = -1;
          admit_up_to_a_barrier();
        }
      } else if (i < admitted && i != fence) {
        make_ready(i);
      }
    }
  }
}

/* The next one to start, or -1. */
static int choose(void) {
  while (!is_suspended && (unsigned)running_count() < limit) {
    int highest = -1, longest = -1, levels = 0;
    for (int priority = 0; priority < PRIORITIES; priority++) {
      if (first_of(priority) < 0)
        continue;
      levels++;
      highest = priority;
      if (longest < 0 || last_turn[priority] < last_turn[longest])
        longest = priority;
    }
    if (levels == 0)
      break;
    bool is_due = passed_by >= PATIENCE;
    int priority = levels > 1 && is_due ? longest : highest;
    int number = first_of(priority);
    items[number].ready_at = 0;
    if (levels == 1)
      passed_by = 0;
    /* Passing over a cancelled one is not a turn. */
    if (items[number].place == OVER)
      continue;
    if (levels > 1) {
      passed_by = is_due ? 0 : passed_by + 1;
      last_turn[priority] = ++now;
    }
    return number;
  }
  if (is_suspended || fence < 0 || items[fence].place != WAITING ||
      waits_for_other(&items[fence]) || limit == 0)
    return -1;
  for (int i = 0; i < fence; i++)
    if (items[i].place != OVER)
      return -1;
  return fence;
}

/* Starts what may start in the model, and checks that the library did so. */
static void check_starts(int before) {
  int count = before;
  for (int next = choose(); next >= 0; next = choose()) {
    if (count >= start_count)
      FAIL("%d was not started", next);
    CHECK_INT(started[count], next);
    items[next].place = STARTED;
    count++;
  }
  CHECK_INT(start_count, count);
}

/* The script -------------------------------------------------------------- */

static void enqueue_one(uint64_t *seed) {
  if (item_count == MOST)
    return;
  int number = item_count;
  item *item = &items[number];
  *item = (struct item){.place = WAITING, .after = -1};
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  item->priority = (int)(next_random(seed) % PRIORITIES);
  item->is_barrier = next_random(seed) % 12 == 0;
  options.priority = item->priority;
  options.barrier = item->is_barrier;
  options.on_end = note_end;
  options.end_context = item;
  if (number > 0 && next_random(seed) % 3 == 0) {
    item->after = number - 1 - (int)(next_random(seed) % 8 % number);
    item->needs_finished = next_random(seed) % 2;
    options.after = &items[item->after].operation;
    options.after_count = 1;
    options.after_policy = (inturn_after_policy)item->needs_finished;
  }
  item_count++;
  CHECK_OK(inturn_queue_enqueue_with(board.queue, &options, note_start, item,
                                     NULL, &item->operation));
  bool is_lost = item->after >= 0 && item->needs_finished &&
                 items[item->after].place == OVER &&
                 !items[item->after].has_finished;
  if (is_lost)
    item->place = OVER;
  if (is_lost && fence < 0)
    admitted++;
  else
    admit_up_to_a_barrier();
}

/* The number of an operation in this state, or -1. */
static int pick(place place, uint64_t *seed) {
  int found = -1, count = 0;
  for (int i = 0; i < item_count; i++)
    if (items[i].place == place && next_random(seed) % (uint64_t)++count == 0)
      found = i;
  return found;
}

static void end_one(uint64_t *seed) {
  int number = pick(STARTED, seed);
  if (number < 0)
    return;
  bool finishes = next_random(seed) % 4 != 0;
  CHECK_OK(finishes ? inturn_token_finish(items[number].token)
                    : inturn_token_fail(items[number].token, 1));
  note_over(number, finishes);
}

static void cancel_one(uint64_t *seed) {
  int number = pick(WAITING, seed);
  if (number < 0)
    return;
  CHECK_OK(inturn_operation_cancel(items[number].operation));
  note_over(number, false);
}

static void step(uint64_t *seed) {
  switch (next_random(seed) % 16) {
  case 0:
    cancel_one(seed);
    break;
  case 1:
    limit = 1 + (unsigned)(next_random(seed) % 4);
    CHECK_OK(inturn_queue_set_max_concurrent(board.queue, limit));
    break;
  case 2:
    CHECK_OK(is_suspended ? inturn_queue_resume(board.queue)
                          : inturn_queue_suspend(board.queue));
    is_suspended = !is_suspended;
    break;
  case 3:
  case 4:
  case 5:
  case 6:
  case 7:
  case 8:
  case 9:
    enqueue_one(seed);
    break;
  default:
    end_one(seed);
  }
}

static void check_counts(void) {
  inturn_queue_statistics statistics = statistics_of(board.queue);
  int waiting = 0;
  for (int i = 0; i < item_count; i++)
    waiting += items[i].place == WAITING;
  CHECK_INT(statistics.pending, waiting);
  CHECK_INT(statistics.running, running_count());
  CHECK_INT(end_count, item_count - waiting - running_count());
}

static void play(uint64_t seed) {
  board = stage_create_of(INTURN_QUEUE_CONCURRENT, 3);
  limit = 3;
  is_suspended = false;
  item_count = start_count = end_count = passed_by = admitted = 0;
  fence = -1;
  now = 0;
  memset(last_turn, 0, sizeof last_turn);
  for (int i = 0; i < STEPS; i++) {
    int before = start_count;
    step(&seed);
    stage_drain(&board);
    check_starts(before);
    check_counts();
  }
  /* To the end: nothing waits for ever. */
  if (is_suspended)
    CHECK_OK(inturn_queue_resume(board.queue));
  is_suspended = false;
  for (int i = 0; i <= item_count; i++) {
    int before = start_count;
    if (i > 0)
      end_one(&seed);
    stage_drain(&board);
    check_starts(before);
    check_counts();
  }
  CHECK_INT(end_count, item_count);
  for (int i = 0; i < item_count; i++)
    CHECK_OK(inturn_operation_release(items[i].operation));
  stage_destroy(&board);
}

static void random_scripts_start_what_the_model_starts(void) {
  const long count = scaled(300);
  for (long seed = 1; seed <= count; seed++)
    play((uint64_t)seed);
}

PROGRAM(order_script, TEST(random_scripts_start_what_the_model_starts))
