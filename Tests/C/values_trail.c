/*
 * values_trail.c - the trail under load: 8 writers, 4 readers, 4 observers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

enum { WRITERS = 8, READERS = 4, OBSERVERS = 4, PLAYERS = WRITERS + READERS };

/* One observer's trail, which must have no gap. It needs no lock: the calls of
   one observer never overlap. */
typedef struct trail {
  uint64_t number;
  int64_t last;
  uint64_t hash;
} trail;

static inturn_value value;
static trail trails[OBSERVERS];
static long each;
static atomic_int writers_left;

/* A datum's number: the number itself, or the one that all its bytes repeat. */
static int64_t number_of(const inturn_datum *datum) {
  if (datum->type == INTURN_DATUM_INTEGER)
    return datum->integer;
  const int64_t *numbers = datum->bytes;
  for (size_t i = 0; i < datum->length / sizeof *numbers; i++)
    if (numbers[i] != numbers[0])
      FAIL("a datum is torn: %lld and %lld", (long long)numbers[0],
           (long long)numbers[i]);
  return numbers[0];
}

static void follow(void *context, const inturn_change *change) {
  trail *trail = context;
  int64_t before = number_of(&change->before);
  if (before != trail->last || change->number != trail->number + 1)
    FAIL("change %llu begins with %lld after %llu has ended with %lld",
         (unsigned long long)change->number, (long long)before,
         (unsigned long long)trail->number, (long long)trail->last);
  trail->number = change->number;
  trail->last = number_of(&change->after);
  trail->hash = trail->hash * 31 + (uint64_t)trail->last;
}

static int64_t read_number(void) {
  inturn_datum datum;
  CHECK_OK(inturn_value_get(value, &datum));
  int64_t number = number_of(&datum);
  CHECK_OK(inturn_datum_release(&datum));
  return number;
}

static void add_to_integer(long round) {
  inturn_datum datum, next = INTURN_INTEGER(0);
  bool exchanged = round % 2 == 0;
  if (exchanged)
    CHECK_OK(inturn_value_add(value, 1, NULL));
  while (!exchanged) {
    CHECK_OK(inturn_value_get(value, &datum));
    next.integer = datum.integer + 1;
    CHECK_OK(
        inturn_value_compare_exchange(value, &datum, &next, &exchanged, NULL));
  }
}

static void add_to_bytes(long round) {
  int64_t numbers[8];
  inturn_datum datum, next = INTURN_BYTES(numbers, sizeof numbers);
  bool exchanged = false;
  (void)round;
  while (!exchanged) {
    CHECK_OK(inturn_value_get(value, &datum));
    for (int i = 0; i < 8; i++)
      numbers[i] = ((const int64_t *)datum.bytes)[i] + 1;
    CHECK_OK(
        inturn_value_compare_exchange(value, &datum, &next, &exchanged, NULL));
    CHECK_OK(inturn_datum_release(&datum));
  }
}

static void (*add)(long round);

static void play(int index) {
  if (index < WRITERS) {
    for (long round = 0; round < each; round++)
      add(round);
    atomic_fetch_sub(&writers_left, 1);
    return;
  }
  int64_t last = 0;
  while (atomic_load(&writers_left) > 0) {
    int64_t number = read_number();
    if (number < last)
      FAIL("a read gives %lld after %lld", (long long)number, (long long)last);
    last = number;
    sched_yield();
  }
}

/* Two of the observers are called on the changing thread, two on the pool. */
static void check(inturn_datum initial, void (*step)(long), long changes) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_OK(inturn_value_create(NULL, &initial, &value));
  memset(trails, 0, sizeof trails);
  for (int i = 0; i < OBSERVERS; i++) {
    if (i == 2)
      options.executor = pool;
    CHECK_OK(
        inturn_value_observe(value, &options, follow, &trails[i], NULL, NULL));
  }
  each = scaled(changes) / WRITERS;
  add = step;
  atomic_store(&writers_left, WRITERS);
  in_parallel(PLAYERS, play);
  CHECK_OK(inturn_value_drain(value, LIMIT_NS));
  for (int i = 0; i < OBSERVERS; i++) {
    CHECK_INT(trails[i].number, WRITERS * each);
    CHECK_INT(trails[i].last, WRITERS * each);
    CHECK_INT(trails[i].hash, trails[0].hash);
  }
  CHECK_INT(read_number(), WRITERS * each);
  CHECK_OK(inturn_value_destroy(value));
}

static void the_trail_of_an_integer_is_gapless_and_one_for_all(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  check(zero, add_to_integer, 1000000);
}

static void the_trail_of_bytes_is_gapless_and_one_for_all(void) {
  static const int64_t zeros[8];
  inturn_datum datum = INTURN_BYTES(zeros, sizeof zeros);
  check(datum, add_to_bytes, 100000);
}

PROGRAM(values_trail, TEST(the_trail_of_an_integer_is_gapless_and_one_for_all),
        TEST(the_trail_of_bytes_is_gapless_and_one_for_all))
