/*
 * storm.c - operations by the million, none of which is lost or doubled.
 *
 * SPDX-License-Identifier: MIT
 *
 *   storm [OPERATIONS [SEED]]   (1,000,000 and 1)
 *
 * Eight threads enqueue work on 1,000 queues of all kinds, one by one and in
 * batches; it ends at once, later on another thread, in a second segment, as
 * failed or as cancelled, while a ninth thread suspends queues and hides views.
 * An operation's context is its own number. For each queue and each producer,
 * numbers are counted and summed where they are accepted, called, ended and
 * destroyed: sums of well-mixed numbers are only equal if each number occurred
 * once. Where order is promised, each number must also be greater than the one
 * before.
 */
#include "harness.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum {
  PRODUCERS = 8,
  QUEUES = 1000,
  CAPACITY = 2000,
  BATCH = 8,
  RING = 1024,
  SILENCE_SECONDS = 60
};

/* A count, and the sum of the mixed numbers. */
typedef struct sum {
  atomic_ullong count, mixed;
} sum;

/* The account of one producer in one queue. */
typedef struct account {
  uint64_t next; /* the producer's: the next number */
  sum accepted, skipped, worked, ended, destroyed, with_end;
  atomic_ullong last; /* the greatest number that was called */
} account;

static account accounts[QUEUES][PRODUCERS];
static inturn_queue queues[QUEUES];
static atomic_ullong moves; /* so that a standstill is noticed */
static atomic_bool is_over;
static atomic_ullong refusals, cancels, batches, segments, handed_on;
static long long operations = 1000000;
static uint64_t seed = 1;

/* What an operation does, in the lowest bits of its number. */
typedef enum way {
  FINISH,
  FINISH_TWICE,
  HAND_ON, /* another thread finishes it */
  GIVE_FAILURE,
  TELL_END,
  CANCEL,
  SEGMENT,
  IN_BATCH
} way;

/* number: 40 bits sequence, 10 queue, 3 producer, 3 way; never 0. */
static uint64_t number_of(uint64_t sequence, unsigned queue, unsigned producer,
                          way way) {
  return sequence << 16 | queue << 6 | producer << 3 | way;
}
static way way_of(uint64_t number) { return number & 7; }
static unsigned queue_of(uint64_t number) { return number >> 6 & 1023; }
static account *account_of(uint64_t number) {
  return &accounts[queue_of(number)][number >> 3 & 7];
}
static void *context_of(uint64_t number) { return (void *)(uintptr_t)number; }
static uint64_t number_in(void *context) { return (uintptr_t)context; }

static inturn_queue_kind kind_of(unsigned queue) { return 1 + queue % 4; }

static uint64_t mix(uint64_t number) { return next_random(&number); }

static void add(sum *sum, uint64_t number) {
  atomic_fetch_add_explicit(&sum->count, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&sum->mixed, mix(number), memory_order_relaxed);
}

static bool same(const sum *a, const sum *b) {
  return a->count == b->count && a->mixed == b->mixed;
}

/* Tokens that another thread finishes ------------------------------------- */

static pthread_mutex_t ring_mutex = PTHREAD_MUTEX_INITIALIZER;
static inturn_token ring[RING];
static unsigned ring_first, ring_count;

static bool hand_on(inturn_token token) {
  pthread_mutex_lock(&ring_mutex);
  bool fits = ring_count < RING;
  if (fits)
    ring[(ring_first + ring_count++) % RING] = token;
  pthread_mutex_unlock(&ring_mutex);
  return fits;
}

static bool take_over(inturn_token *token) {
  pthread_mutex_lock(&ring_mutex);
  bool is_there = ring_count > 0;
  if (is_there) {
    *token = ring[ring_first];
    ring_first = (ring_first + 1) % RING;
    ring_count--;
  }
  pthread_mutex_unlock(&ring_mutex);
  return is_there;
}

static void finish_for_others(void *unused) {
  (void)unused;
  inturn_token token;
  while (!atomic_load(&is_over)) {
    if (take_over(&token))
      CHECK_OK(inturn_token_finish(token));
    else
      sched_yield();
  }
}

/* Callbacks --------------------------------------------------------------- */

/* What the calling thread is enqueuing, and what part of that was destroyed so
   far: all that is refused is destroyed before the call returns. */
static _Thread_local uint64_t enqueuing_first, enqueuing_last, refused;

static void destroyed(void *context) {
  uint64_t number = number_in(context);
  if (number >= enqueuing_first && number <= enqueuing_last)
    refused++;
  else
    add(&account_of(number)->destroyed, number);
}

static void begin_enqueue(uint64_t first, uint64_t last) {
  enqueuing_first = first;
  enqueuing_last = last;
  refused = 0;
}

static bool end_enqueue(inturn_status status, unsigned count) {
  enqueuing_first = enqueuing_last = 0;
  CHECK(status == INTURN_OK || status == INTURN_E_FULL);
  CHECK_INT(refused, status == INTURN_OK ? 0 : count);
  if (status == INTURN_OK)
    return true;
  atomic_fetch_add(&refusals, 1);
  sched_yield();
  return false;
}

static void end_segment(void *context, inturn_token token) {
  (void)context;
  atomic_fetch_add_explicit(&segments, 1, memory_order_relaxed);
  CHECK_OK(inturn_token_finish(token));
}

static void work(void *context, inturn_token token) {
  uint64_t number = number_in(context);
  account *account = account_of(number);
  add(&account->worked, number);
  atomic_fetch_add_explicit(&moves, 1, memory_order_relaxed);
  if (kind_of(queue_of(number)) != INTURN_QUEUE_CONCURRENT &&
      atomic_exchange(&account->last, number) >= number)
    FAIL("%llx is called after a later one", (unsigned long long)number);
  switch (way_of(number)) {
  case FINISH_TWICE:
    CHECK_OK(inturn_token_finish(token));
    CHECK_STATUS(inturn_token_fail(token, 1), INTURN_E_ALREADY_FINISHED);
    return;
  case HAND_ON:
    if (hand_on(token)) {
      atomic_fetch_add_explicit(&handed_on, 1, memory_order_relaxed);
      return;
    }
    break;
  case GIVE_FAILURE:
    CHECK_OK(inturn_token_fail(token, 7));
    return;
  case SEGMENT:
    if (kind_of(queue_of(number)) == INTURN_QUEUE_ACTOR) {
      CHECK_OK(inturn_token_resume(token, end_segment, NULL, NULL));
      return;
    }
    break;
  default:
    break;
  }
  CHECK_OK(inturn_token_finish(token));
}

static void ended(void *context, const inturn_end *end) {
  uint64_t number = number_in(context);
  account *account = account_of(number);
  add(&account->ended, number);
  if (end->attempts == 0) {
    CHECK_INT(end->outcome, INTURN_CANCELLED);
    add(&account->skipped, number);
  }
}

/* Producers --------------------------------------------------------------- */

static void give(unsigned queue, uint64_t number) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = ended;
  options.end_context = context_of(number);
  bool has_end = way_of(number) == TELL_END || way_of(number) == CANCEL;
  bool has_handle = way_of(number) == CANCEL;
  inturn_operation operation;
  inturn_status status;
  do {
    begin_enqueue(number, number);
    status = inturn_queue_enqueue_with(queues[queue], has_end ? &options : NULL,
                                       work, context_of(number), destroyed,
                                       has_handle ? &operation : NULL);
  } while (!end_enqueue(status, 1));
  if (has_handle) {
    status = inturn_operation_cancel(operation);
    CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
    atomic_fetch_add(&cancels, status == INTURN_OK);
    CHECK_OK(inturn_operation_release(operation));
  }
}

static void give_batch(unsigned queue, const uint64_t *numbers) {
  inturn_batch_item items[BATCH];
  for (int i = 0; i < BATCH; i++)
    items[i] = (inturn_batch_item){work, context_of(numbers[i]), destroyed};
  inturn_status status;
  do {
    begin_enqueue(numbers[0], numbers[BATCH - 1]);
    status =
        inturn_queue_enqueue_batch(queues[queue], NULL, items, BATCH, NULL);
  } while (!end_enqueue(status, BATCH));
  atomic_fetch_add(&batches, 1);
}

static uint64_t accept(unsigned queue, unsigned producer, way way) {
  account *account = &accounts[queue][producer];
  uint64_t number = number_of(++account->next, queue, producer, way);
  add(&account->accepted, number);
  if (way == TELL_END || way == CANCEL)
    add(&account->with_end, number);
  return number;
}

static void *produce(void *index) {
  const unsigned producer = (unsigned)(uintptr_t)index;
  uint64_t random = seed * PRODUCERS + producer;
  long long left = operations / PRODUCERS;
  while (left > 0) {
    unsigned queue = next_random(&random) % QUEUES;
    long long burst = 1 + (long long)(next_random(&random) % 32);
    if (next_random(&random) % 16 == 0 && left >= BATCH) {
      uint64_t numbers[BATCH];
      for (int i = 0; i < BATCH; i++)
        numbers[i] = accept(queue, producer, IN_BATCH);
      give_batch(queue, numbers);
      left -= BATCH;
      continue;
    }
    for (; burst > 0 && left > 0; burst--, left--) {
      uint64_t chance = next_random(&random) % 64;
      give(queue, accept(queue, producer, chance < IN_BATCH ? chance : FINISH));
    }
  }
  return NULL;
}

static void disturb(void *unused) {
  (void)unused;
  uint64_t random = ~seed;
  while (!atomic_load(&is_over)) {
    unsigned queue = next_random(&random) % QUEUES;
    CHECK_OK(inturn_queue_suspend(queues[queue]));
    if (kind_of(queue) == INTURN_QUEUE_INTERACTION) {
      CHECK_OK(inturn_queue_view_will_disappear(queues[queue]));
      CHECK_OK(inturn_queue_view_did_appear(queues[queue]));
    }
    CHECK_OK(inturn_queue_resume(queues[queue]));
    struct timespec pause = {0, 100000};
    nanosleep(&pause, NULL);
  }
}

/* Prints the progress; fails if nothing has moved for too long. */
static void watch(void *unused) {
  (void)unused;
  unsigned long long before = 0;
  for (int silence = 0, passed = 1; !atomic_load(&is_over);
       silence++, passed++) {
    struct timespec second = {1, 0};
    nanosleep(&second, NULL);
    unsigned long long now = atomic_load(&moves);
    if (passed % 60 == 0)
      printf("%llu operations so far\n", now);
    if (now != before)
      silence = 0;
    before = now;
    if (silence >= SILENCE_SECONDS)
      FAIL("nothing has moved for %d s, after %llu operations", silence, now);
  }
}

/* The judgement ----------------------------------------------------------- */

static void create_queues(void) {
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  for (unsigned i = 0; i < QUEUES; i++) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.executor = pool;
    options.capacity = CAPACITY;
    options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
    if (kind_of(i) == INTURN_QUEUE_CONCURRENT)
      options.max_concurrent = 1 + i / 4 % 8;
    CHECK_OK(inturn_queue_create(kind_of(i), &options, &queues[i]));
    if (kind_of(i) == INTURN_QUEUE_INTERACTION)
      CHECK_OK(inturn_queue_view_did_appear(queues[i]));
  }
}

static unsigned long long judge(unsigned queue) {
  unsigned long long accepted = 0;
  for (unsigned p = 0; p < PRODUCERS; p++) {
    account *a = &accounts[queue][p];
    accepted += a->accepted.count;
    atomic_fetch_add(&a->worked.count, a->skipped.count);
    atomic_fetch_add(&a->worked.mixed, a->skipped.mixed);
    if (!same(&a->accepted, &a->worked) || !same(&a->accepted, &a->destroyed) ||
        !same(&a->with_end, &a->ended))
      FAIL("queue %u, producer %u: %llu accepted, %llu called or skipped, %llu "
           "destroyed; %llu with an end, %llu told",
           queue, p, a->accepted.count, a->worked.count, a->destroyed.count,
           a->with_end.count, a->ended.count);
  }
  return accepted;
}

static void check_statistics(unsigned queue) {
  inturn_queue_statistics now = INTURN_QUEUE_STATISTICS_INIT;
  CHECK_OK(inturn_queue_get_statistics(queues[queue], &now));
  unsigned long long accepted = 0;
  for (unsigned p = 0; p < PRODUCERS; p++)
    accepted += accounts[queue][p].accepted.count;
  CHECK_INT(now.pending + now.running, 0);
  CHECK_INT(now.finished + now.failed + now.cancelled, accepted);
  CHECK_INT(now.timed_out + now.abandoned, 0);
}

static long peak_kilobytes(void) {
  char line[256];
  long result = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "VmHWM:", 6) == 0)
      result = atol(line + 6);
  if (file != NULL)
    fclose(file);
  return result;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc > 1)
    operations = atoll(argv[1]);
  if (argc > 2)
    seed = strtoull(argv[2], NULL, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  double began = seconds();
  create_queues();
  pthread_t producers[PRODUCERS];
  thread helpers[3];
  thread_start(&helpers[0], finish_for_others, NULL);
  thread_start(&helpers[1], disturb, NULL);
  thread_start(&helpers[2], watch, NULL);
  /* Not the harness's threads, whose joins have a time limit. */
  for (uintptr_t i = 0; i < PRODUCERS; i++)
    CHECK_INT(pthread_create(&producers[i], NULL, produce, (void *)i), 0);
  for (int i = 0; i < PRODUCERS; i++)
    CHECK_INT(pthread_join(producers[i], NULL), 0);
  for (unsigned i = 0; i < QUEUES; i++) {
    CHECK_OK(inturn_queue_drain(queues[i], -1));
    check_statistics(i);
  }
  atomic_store(&is_over, true);
  for (int i = 0; i < 3; i++)
    thread_join(&helpers[i]);
  unsigned long long total = 0;
  for (unsigned i = 0; i < QUEUES; i++) {
    CHECK_OK(inturn_queue_destroy(queues[i]));
    total += judge(i);
  }
  CHECK_INT(total, operations / PRODUCERS * PRODUCERS);
  printf(
      "%llu operations in %.1f s: %llu refused at first, %llu cancelled, "
      "%llu finished by another thread, %llu in two segments, %llu batches\n",
      total, seconds() - began, refusals, cancels, handed_on, segments,
      batches);
  printf("at most %ld KiB of memory\n", peak_kilobytes());
  return 0;
}
