/*
 * values.c - a thermostat: a sensor's thread changes the temperature, observers
 * keep the heating and a record of everything that happened.
 *
 * SPDX-License-Identifier: MIT
 */
#include "inturn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static inturn_value temperature, heating;

static void check(inturn_status status, const char *what) {
  if (status == INTURN_OK)
    return;
  fprintf(stderr, "%s: %s\n", what, inturn_status_message(status));
  exit(1);
}

/* Called by whoever changes the temperature, before the change returns. It
   changes another value, whose observers are told in turn. */
static void regulate(void *context, const inturn_change *change) {
  (void)context;
  bool is_on;
  check(inturn_value_get_boolean(heating, &is_on), "heating");
  if (change->after.integer < 20 && !is_on)
    check(inturn_value_set_boolean(heating, true), "heating on");
  if (change->after.integer >= 22 && is_on)
    check(inturn_value_set_boolean(heating, false), "heating off");
}

/* Called by a worker of the library, later and in order. */
static void record(void *context, const inturn_change *change) {
  (void)context;
  printf("temperature: %lld to %lld\n", (long long)change->before.integer,
         (long long)change->after.integer);
}

/* A sensor in a room that is heated. */
static void *measure(void *context) {
  bool is_on = true;
  while (is_on) {
    check(inturn_value_add(temperature, 1, NULL), "temperature");
    check(inturn_value_get_boolean(heating, &is_on), "heating");
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

  check(inturn_value_create(NULL, &cold, &temperature), "temperature");
  check(inturn_value_create(NULL, &off, &heating), "heating");
  at_once.initial = true;
  check(inturn_executor_pool(&by_workers.executor), "pool");
  check(inturn_value_observe(temperature, &at_once, regulate, NULL, NULL, NULL),
        "thermostat");
  check(
      inturn_value_observe(temperature, &by_workers, record, NULL, NULL, NULL),
      "record");

  pthread_create(&sensor, NULL, measure, NULL);
  check(inturn_value_wait(heating, is_false, NULL, -1, NULL), "the end");
  pthread_join(sensor, NULL);
  check(inturn_value_drain(temperature, -1), "the record's end");

  check(inturn_value_get_integer(temperature, &degrees), "temperature");
  printf("the heating is off at %lld degrees\n", (long long)degrees);
  check(inturn_value_destroy(temperature), "temperature");
  check(inturn_value_destroy(heating), "heating");
  return 0;
}
