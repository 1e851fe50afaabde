/*
 * values.c - see world.h: calls on values and observations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <string.h>

static const allowed no_reason;

static void on_change(void *context, const inturn_change *change) {
  observation_facts *observation = context;
  HOLDS(observation->destroyed == 0);
  if (change->kind == INTURN_CHANGE_PRIOR)
    return;
  uint64_t last = observation->told;
  if (change->kind == INTURN_CHANGE_INITIAL) {
    HOLDS(last == 0);
  } else if (last != 0) {
    HOLDS(observation->is_latest ? change->number > last
                                 : change->number == last + 1);
    if (observation->is_integer && !observation->is_latest)
      HOLDS(change->before.integer == observation->after);
  }
  observation->told = change->number;
  observation->after = change->after.integer;
  the_world.deciding++;
  observation->in_call++;
  if (change->number % 3 == 0)
    step_inside((uint8_t)(observation->acts[0] + change->number),
                (uint8_t)(observation->acts[1] + change->after.integer));
  observation->in_call--;
  the_world.deciding--;
}

static void on_observation_destroyed(void *context) {
  observation_facts *observation = context;
  HOLDS(atomic_fetch_add(&observation->destroyed, 1) == 0);
}

static inturn_datum datum_of(inturn_datum_type type, input *input) {
  inturn_datum integer = INTURN_INTEGER((int8_t)take(input));
  inturn_datum real = INTURN_DOUBLE(1.5), truth = INTURN_BOOLEAN(true);
  inturn_datum text = INTURN_STRING("inturn", 6), bytes = INTURN_BYTES("\0", 1);
  inturn_datum progress = INTURN_PROGRESS(1, 3);
  switch (type) {
  case INTURN_DATUM_DOUBLE:
    return real;
  case INTURN_DATUM_BOOLEAN:
    return truth;
  case INTURN_DATUM_STRING:
    return text;
  case INTURN_DATUM_BYTES:
    return bytes;
  case INTURN_DATUM_PROGRESS:
    return progress;
  default:
    if (take(input) == 255)
      integer.integer = INT64_MAX;
    return integer;
  }
}

static void create_value(input *input) {
  int index = claim(input, VALUE);
  if (index < 0)
    return;
  value_facts *value = &the_world.values[index];
  uint8_t choice = take(input);
  inturn_value handle;
  allowed allowed = no_reason;
  bool is_ok;
  value->is_state = choice % 8 >= 5;
  value->type = INTURN_DATUM_INTEGER;
  if (choice % 8 == 7) {
    pick pick = pick_handle(input, BATCH);
    value->type = INTURN_DATUM_PROGRESS;
    is_ok =
        EXPECT(inturn_batch_create_value((inturn_batch){pick.bits}, &handle),
               pick.allowed);
  } else if (choice % 8 == 6) {
    pick pick = pick_handle(input, OPERATION);
    int aspect = 1 + (choice >> 4) % 2;
    if (aspect == 2)
      value->type = INTURN_DATUM_PROGRESS;
    is_ok = EXPECT(inturn_operation_create_value((inturn_operation){pick.bits},
                                                 aspect, &handle),
                   pick.allowed);
  } else if (choice % 8 == 5) {
    pick pick = pick_handle(input, QUEUE);
    int aspect = 1 + (choice >> 4) % 4;
    if (aspect == 3)
      value->type = INTURN_DATUM_BOOLEAN;
    if (aspect == 4)
      value->type = INTURN_DATUM_PROGRESS;
    is_ok = EXPECT(
        inturn_queue_create_value((inturn_queue){pick.bits}, aspect, &handle),
        pick.allowed);
  } else {
    static const inturn_datum_type types[] = {
        INTURN_DATUM_INTEGER, INTURN_DATUM_INTEGER, INTURN_DATUM_DOUBLE,
        INTURN_DATUM_STRING, INTURN_DATUM_BOOLEAN};
    value->type = types[choice % 8];
    inturn_datum datum = datum_of(value->type, input);
    value->number = datum.integer;
    is_ok = EXPECT(inturn_value_create(NULL, &datum, &handle), allowed);
  }
  if (is_ok)
    make_alive(VALUE, index, handle.bits);
  else
    unclaim(VALUE, index);
}

static void observe(input *input, pick value) {
  int index = claim(input, OBSERVATION);
  if (index < 0)
    return;
  observation_facts *observation = &the_world.observations[index];
  if (the_world.slots[OBSERVATION][index].bits != 0 &&
      observation->destroyed == 0) {
    unclaim(OBSERVATION, index); /* the previous one has not ended yet */
    return;
  }
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_observation handle = {0};
  allowed allowed = value.allowed;
  uint8_t choice = take(input);
  pick executor = {0};
  if (choice & 8) {
    executor = pick_handle(input, EXECUTOR);
    if (executor.bits == 0) { /* no executor */
      unclaim(OBSERVATION, index);
      return;
    }
  }
  memset(observation, 0, sizeof *observation);
  for (int i = 0; i < 2 && choice & 16; i++)
    observation->acts[i] = take(input);
  options.initial = choice & 1;
  options.latest = observation->is_latest = choice & 2;
  options.prior = choice & 4;
  if (options.latest && options.prior)
    allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
  if (choice & 8) {
    observation->is_elsewhere = true;
    options.executor.bits = executor.bits;
    allowed.must |= executor.allowed.must;
    allowed.may |= executor.allowed.may;
  }
  observation->is_integer =
      value.index >= 0 &&
      the_world.values[value.index].type == INTURN_DATUM_INTEGER;
  bool is_ok = EXPECT(inturn_value_observe((inturn_value){value.bits}, &options,
                                           on_change, observation,
                                           on_observation_destroyed, &handle),
                      allowed);
  if (is_ok) {
    make_alive(OBSERVATION, index, handle.bits);
  } else {
    HOLDS(observation->destroyed == 1);
    unclaim(OBSERVATION, index);
  }
}

/* What the end of a value explains: observations of a state end by themselves.
   One that is cancelled inside its observer may be cancelled again until that
   returns. */
static allowed of_observation(pick pick) {
  allowed allowed = pick.allowed;
  if (pick.index >= 0 && the_world.observations[pick.index].in_call > 0)
    allowed.may |= BIT(INTURN_OK);
  allowed.may |=
      BIT(INTURN_E_STALE) | BIT(INTURN_E_TIMED_OUT) | BIT(INTURN_E_DEADLOCK);
  return allowed;
}

static bool is_any(void *context, const inturn_datum *datum) {
  HOLDS(datum->type != INTURN_DATUM_NONE);
  return *(bool *)context;
}

static void change_integer(input *input, pick pick, uint8_t choice) {
  value_facts *value = &the_world.values[pick.index < 0 ? 0 : pick.index];
  inturn_value handle = {pick.bits};
  allowed allowed = pick.allowed;
  int64_t number = (int8_t)take(input), sum = 0, expected;
  if (value->is_state)
    allowed.must |= BIT(INTURN_E_UNSUPPORTED);
  if (value->type != INTURN_DATUM_INTEGER)
    allowed.must |= BIT(INTURN_E_WRONG_KIND);
  allowed.late |= BIT(INTURN_E_UNSUPPORTED) | BIT(INTURN_E_INVALID_ARGUMENT);
  int64_t before = value->number;
  /* The observers are called inside, and may change the value again. */
  if (choice & 16) {
    if (allowed.must == 0)
      value->number = number;
    if (!EXPECT(inturn_value_set_integer(handle, number), allowed) &&
        allowed.must == 0)
      value->number = before;
    return;
  }
  if (__builtin_add_overflow(before, number, &expected))
    allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
  if (allowed.must == 0)
    value->number = expected;
  bool is_ok = EXPECT(inturn_value_add(handle, number, &sum), allowed);
  if (is_ok && !the_world.has_two_threads)
    HOLDS(sum == expected);
  if (!is_ok && allowed.must == 0)
    value->number = before;
}

/* A call that only one type of value allows. */
static void use_typed(pick pick, uint8_t choice) {
  value_facts *value = &the_world.values[pick.index < 0 ? 0 : pick.index];
  inturn_value handle = {pick.bits};
  allowed allowed = pick.allowed;
  bool is_double = choice & 16, is_change = choice & 32, truth;
  double real;
  if (value->type != (is_double ? INTURN_DATUM_DOUBLE : INTURN_DATUM_BOOLEAN))
    allowed.must |= BIT(INTURN_E_WRONG_KIND);
  if (is_change && value->is_state)
    allowed.must |= BIT(INTURN_E_UNSUPPORTED);
  allowed.late |= BIT(INTURN_E_UNSUPPORTED);
  if (!is_change && is_double)
    EXPECT(inturn_value_get_double(handle, &real), allowed);
  else if (!is_change)
    EXPECT(inturn_value_get_boolean(handle, &truth), allowed);
  else if (!is_double)
    EXPECT(inturn_value_set_boolean(handle, choice & 64), allowed);
  else if (choice & 64)
    EXPECT(inturn_value_set_double(handle, 2.5), allowed);
  else
    EXPECT(inturn_value_add_double(handle, 1, &real), allowed);
}

/* Compares and exchanges the value's content, which may fail. */
static void compare_exchange(input *input, pick pick) {
  value_facts *value = &the_world.values[pick.index < 0 ? 0 : pick.index];
  allowed allowed = pick.allowed;
  inturn_datum expected = datum_of(value->type, input);
  inturn_datum desired = datum_of(value->type, input);
  bool exchanged = false;
  if (value->is_state)
    allowed.must |= BIT(INTURN_E_UNSUPPORTED);
  allowed.late |= BIT(INTURN_E_UNSUPPORTED);
  bool is_same = value->number == expected.integer;
  bool knows = value->type == INTURN_DATUM_INTEGER && allowed.must == 0;
  if (knows && is_same)
    value->number = desired.integer;
  bool is_ok =
      EXPECT(inturn_value_compare_exchange((inturn_value){pick.bits}, &expected,
                                           &desired, &exchanged, NULL),
             allowed);
  if (is_ok && knows && !the_world.has_two_threads)
    HOLDS(exchanged == is_same);
  if (!is_ok && knows && is_same)
    value->number = expected.integer;
}

void step_value(input *input) {
  uint8_t choice = take(input);
  if (choice % 16 < 2) {
    create_value(input);
    return;
  }
  if (choice % 16 < 4) {
    pick pick = pick_handle(input, OBSERVATION);
    pick.allowed = of_observation(pick);
    EXPECT_END(inturn_observation_cancel((inturn_observation){pick.bits}, 0),
               pick, OBSERVATION);
    return;
  }
  pick pick = pick_handle(input, VALUE);
  inturn_value handle = {pick.bits};
  allowed allowed = pick.allowed;
  value_facts *value = &the_world.values[pick.index < 0 ? 0 : pick.index];
  inturn_datum datum, before = INTURN_INTEGER(0);
  int64_t number;
  switch (choice % 16) {
  case 4:
  case 5:
    observe(input, pick);
    break;
  case 6:
    if (EXPECT(inturn_value_get(handle, &datum), allowed)) {
      if (!the_world.has_two_threads)
        HOLDS(datum.type == value->type);
      EXPECT(inturn_datum_release(&datum), no_reason);
    }
    break;
  case 7:
    if (value->type != INTURN_DATUM_INTEGER)
      allowed.must |= BIT(INTURN_E_WRONG_KIND);
    if (EXPECT(inturn_value_get_integer(handle, &number), allowed) &&
        !value->is_state && !the_world.has_two_threads)
      HOLDS(number == value->number);
    break;
  default:
    change_integer(input, pick, choice);
    break;
  case 9:
    use_typed(pick, choice);
    break;
  case 10:
    compare_exchange(input, pick);
    break;
  case 11:
  case 12: {
    datum = datum_of(value->type, input);
    bool is_exchange = choice & 16;
    if (value->is_state)
      allowed.must |= BIT(INTURN_E_UNSUPPORTED);
    allowed.late |= BIT(INTURN_E_UNSUPPORTED);
    int64_t held = value->number;
    if (allowed.must == 0)
      value->number = datum.integer;
    bool is_ok =
        is_exchange
            ? EXPECT(inturn_value_exchange(handle, &datum, &before), allowed)
            : EXPECT(inturn_value_set(handle, &datum), allowed);
    if (is_ok && is_exchange) {
      if (!the_world.has_two_threads && value->type == INTURN_DATUM_INTEGER)
        HOLDS(before.integer == held);
      EXPECT(inturn_datum_release(&before), no_reason);
    }
    if (!is_ok && allowed.must == 0)
      value->number = held;
    break;
  }
  case 13: {
    bool is_good = choice & 16;
    allowed.may |= BIT(INTURN_E_TIMED_OUT) | BIT(INTURN_E_CLOSED);
    EXPECT(inturn_value_wait(handle, is_any, &is_good, 0, NULL), allowed);
    break;
  }
  case 14:
    allowed.may |= BIT(INTURN_E_TIMED_OUT);
    EXPECT(inturn_value_drain(handle, 0), allowed);
    break;
  case 15:
    if (the_world.has_two_threads)
      allowed.may |= BIT(INTURN_E_DEADLOCK);
    pick.allowed = allowed;
    if (choice & 64)
      EXPECT_END(inturn_value_destroy(handle), pick, VALUE);
    break;
  }
}
