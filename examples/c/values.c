/*
 * values.c - a thermostat: a sensor's thread changes the temperature, observers
 * control the heating and keep a record.
 *
 *     values
 *
 * What to look at: the record is a trail of everything that happened, written
 * later by another thread, without a gap; the heating is switched before the
 * change that asks for it returns.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <pthread.h>

static inturn_value temperature, heating;

/* Called by whoever changes the temperature, before the change returns. It
   changes another value, whose observers are called in turn. */
static void regulate(void *context, const inturn_change *change) {
  (void)context;
  bool is_on;
  CHECK(inturn_value_get_boolean(heating, &is_on));
  if (change->after.integer < 20 && !is_on)
    CHECK(inturn_value_set_boolean(heating, true));
  if (change->after.integer >= 22 && is_on)
    CHECK(inturn_value_set_boolean(heating, false));
}

/* Called by a worker of the library, later and in order. */
static void record(void *context, const inturn_change *change) {
  (void)context;
  printf("temperature: %lld to %lld\n", (long long)change->before.integer,
         (long long)change->after.integer);
}

/* A sensor in a heated room. */
static void *measure(void *context) {
  bool is_on = true;
  while (is_on) {
    CHECK(inturn_value_add(temperature, 1, NULL));
    CHECK(inturn_value_get_boolean(heating, &is_on));
  }
  return context;
}

static bool is_false(void *context, const inturn_datum *datum) {
  (void)context;
  return !datum->boolean;
}

int main(void) {
  const inturn_datum cold = INTURN_INTEGER(18), off = INTURN_BOOLEAN(false);
  inturn_observe_options at_once = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_observe_options by_workers = INTURN_OBSERVE_OPTIONS_INIT;
  pthread_t sensor;
  int64_t degrees;

  CHECK(inturn_value_create(NULL, &cold, &temperature));
  CHECK(inturn_value_create(NULL, &off, &heating));
  at_once.initial = true;
  CHECK(inturn_executor_pool(&by_workers.executor));
  CHECK(
      inturn_value_observe(temperature, &at_once, regulate, NULL, NULL, NULL));
  CHECK(
      inturn_value_observe(temperature, &by_workers, record, NULL, NULL, NULL));

  REQUIRE(pthread_create(&sensor, NULL, measure, NULL) == 0);
  CHECK(inturn_value_wait(heating, is_false, NULL, -1, NULL));
  REQUIRE(pthread_join(sensor, NULL) == 0);
  CHECK(inturn_value_drain(temperature, -1));

  CHECK(inturn_value_get_integer(temperature, &degrees));
  printf("the heating is off at %lld degrees\n", (long long)degrees);
  CHECK(inturn_value_destroy(temperature));
  CHECK(inturn_value_destroy(heating));
  return 0;
}
