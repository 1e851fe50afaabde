/*
 * values_races.c - values and observations that are used and destroyed at the
 * same moment: a call finds them intact, or is told that they are gone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "race.h"

static inturn_value value;
static inturn_observation observation;
/* The number of live contexts. */
static atomic_int contexts;
/* Whether cancelling or destroying has returned: then nothing may be called. */
static atomic_bool is_over;

static void check_ok_or_stale(inturn_status status) {
  if (status != INTURN_E_STALE)
    CHECK_OK(status);
}

static void destroy_context(void *context) {
  CHECK(context == &contexts);
  atomic_fetch_sub(&contexts, 1);
}

static void look(void *context, const inturn_change *change) {
  CHECK(context == &contexts && atomic_load(&contexts) > 0);
  CHECK(!atomic_load(&is_over));
  CHECK_TEXT(change->before.bytes, "text");
  CHECK_TEXT(change->after.bytes, "text");
}

static void observe_into(inturn_observation *out) {
  atomic_fetch_add(&contexts, 1);
  check_ok_or_stale(
      inturn_value_observe(value, NULL, look, &contexts, destroy_context, out));
}

static void create_observed(void) {
  inturn_datum text = INTURN_STRING("text", 4);
  atomic_store(&is_over, false);
  CHECK_OK(inturn_value_create(NULL, &text, &value));
  observe_into(&observation);
}

static void set_and_get(void) {
  inturn_datum text = INTURN_STRING("text", 4), datum = {0};
  check_ok_or_stale(inturn_value_set(value, &text));
  check_ok_or_stale(inturn_value_get(value, &datum));
  if (datum.type == INTURN_DATUM_STRING)
    CHECK_TEXT(datum.bytes, "text");
  CHECK_OK(inturn_datum_release(&datum));
}

static void observe_and_cancel(void) {
  inturn_observation another = {0};
  observe_into(&another);
  if (another.bits != 0)
    check_ok_or_stale(inturn_observation_cancel(another, -1));
}

static void cancel(void) {
  check_ok_or_stale(inturn_observation_cancel(observation, -1));
}

static void cancel_for_good(void) {
  cancel();
  atomic_store(&is_over, true);
}

static void destroy(void) {
  CHECK_OK(inturn_value_destroy(value));
  atomic_store(&is_over, true);
}

static void judge(void) {
  check_ok_or_stale(inturn_value_destroy(value));
  CHECK_STATUS(inturn_observation_cancel(observation, -1), INTURN_E_STALE);
  CHECK_INT(contexts, 0);
}

static void after_its_cancel_an_observer_is_not_called(void) {
  run_race(&(race){
      create_observed, {set_and_get, set_and_get, cancel_for_good}, judge});
}

static void a_value_is_whole_or_gone(void) {
  run_race(&(race){create_observed,
                   {set_and_get, observe_and_cancel, cancel, destroy},
                   judge});
}

/* An observer on the pool. */
static void create_observed_by_pool(void) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_datum text = INTURN_STRING("text", 4);
  atomic_store(&is_over, false);
  atomic_fetch_add(&contexts, 1);
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_value_create(NULL, &text, &value));
  CHECK_OK(inturn_value_observe(value, &options, look, &contexts,
                                destroy_context, &observation));
}

static void after_its_cancel_an_observer_on_the_pool_is_not_called(void) {
  run_race(&(race){create_observed_by_pool,
                   {set_and_get, set_and_get, cancel_for_good},
                   judge});
}

static void a_value_with_an_observer_on_the_pool_is_whole_or_gone(void) {
  run_race(&(race){
      create_observed_by_pool, {set_and_get, set_and_get, destroy}, judge});
}

PROGRAM(values_races, TEST(after_its_cancel_an_observer_is_not_called),
        TEST(a_value_is_whole_or_gone),
        TEST(after_its_cancel_an_observer_on_the_pool_is_not_called),
        TEST(a_value_with_an_observer_on_the_pool_is_whole_or_gone))
