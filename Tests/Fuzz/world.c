/*
 * world.c - see world.h: handles, slots, statuses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

world the_world;
atomic_ullong calls_made;
bool says_calls;

/* Protects the bits and the life of a slot together: workers create and end
   objects, too. */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

_Noreturn void wrong_at(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: WRONG: ", file, line);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  abort();
}

bool expect_at(int line, const char *call, inturn_status status,
               allowed allowed) {
  atomic_fetch_add_explicit(&calls_made, 1, memory_order_relaxed);
  mask all = allowed.must | allowed.may;
  if (allowed.must == 0)
    all |= BIT(INTURN_OK);
  if (the_world.has_two_threads)
    all |= allowed.late | HANDLE_BITS | BIT(INTURN_OK);
  HOLDS(status <= 0 && status >= INTURN_E_BUSY);
  if (says_calls)
    fprintf(stderr, "%s: %s\n", call, inturn_status_name(status));
  if ((all & BIT(status)) == 0) {
    char text[512] = "";
    for (int s = 0; s >= INTURN_E_BUSY; s--)
      if (all & BIT(s))
        snprintf(text + strlen(text), sizeof text - strlen(text), " %s",
                 inturn_status_name(s));
    WRONG("line %d: %s is %s, not one of%s", line, call,
          inturn_status_name(status), text);
  }
  return status == INTURN_OK;
}

uint8_t take(input *input) {
  return input->next < input->end ? *input->next++ : 0;
}

uint64_t take_long(input *input) {
  uint64_t result = 0;
  for (int i = 0; i < 8; i++)
    result = result << 8 | take(input);
  return result;
}

bool is_alive(enum kind kind, int index) {
  return index >= 0 && the_world.slots[kind][index].life == ALIVE;
}

/* Bits that the fuzzer cannot steer towards a handle that it has seen. */
static uint64_t random_bits(input *input) {
  uint64_t z = take_long(input) + UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static allowed of_life(int life) {
  switch (life) {
  case NEVER:
    return (allowed){BIT(INTURN_E_NULL_HANDLE), 0, 0};
  case ALIVE:
    return (allowed){0, 0, 0};
  case GONE:
    return (allowed){BIT(INTURN_E_STALE), 0, 0};
  default: /* it is being created or destroyed further up the stack */
    return (allowed){0, HANDLE_BITS, 0};
  }
}

static const mask never_made =
    BIT(INTURN_E_STALE) | BIT(INTURN_E_WRONG_KIND) | BIT(INTURN_E_FORKED);

/* A handle that is invalid for this kind, in way number `how`. */
static pick bad_handle(input *input, enum kind kind, int how) {
  pick result = {0, -1, {BIT(INTURN_E_NULL_HANDLE), 0, 0}};
  if (how == 1) {
    enum kind other = (kind + 1 + take(input) % (KINDS - 1)) % KINDS;
    slot *slot = &the_world.slots[other][take(input) % SLOTS];
    result.bits = slot->bits;
    if (result.bits != 0)
      result.allowed.must =
          slot->life == ALIVE ? BIT(INTURN_E_WRONG_KIND)
                              : BIT(INTURN_E_WRONG_KIND) | BIT(INTURN_E_STALE);
  } else if (how == 2) {
    result.bits = random_bits(input);
    if (result.bits != 0)
      result.allowed.must = never_made;
  }
  return result;
}

pick pick_handle(input *input, enum kind kind) {
  uint8_t choice = take(input);
  if (choice >= 240)
    return bad_handle(input, kind, choice % 3);
  /* Rarely one that was never created. */
  int made[SLOTS], count = 0;
  for (int i = 0; i < SLOTS; i++)
    if (the_world.slots[kind][i].bits != 0)
      made[count++] = i;
  int index = count > 0 ? made[choice % count] : choice % SLOTS;
  slot *slot = &the_world.slots[kind][index];
  pthread_mutex_lock(&slots_lock);
  int life = slot->life;
  uint64_t bits = slot->bits;
  pthread_mutex_unlock(&slots_lock);
  /* An object that another thread, say, is creating has no handle yet. */
  if (life == IN_MAKING) {
    life = NEVER;
    bits = 0;
  }
  return (pick){bits, index, of_life(life)};
}

token_pick pick_token(input *input) {
  token_pick result = {{0}, NULL, 0, {BIT(INTURN_E_NULL_HANDLE), 0, 0}};
  uint8_t choice = take(input);
  if (choice >= 244) {
    pick bad = bad_handle(input, KINDS, choice % 3);
    result.token.bits = bad.bits;
    result.allowed = bad.allowed;
    return result;
  }
  int count = the_world.operation_count;
  if (count > OPERATIONS)
    count = OPERATIONS;
  if (count == 0)
    return result;
  /* Mostly the latest ones. */
  operation_facts *operation =
      &the_world.operations[count - 1 - choice % (count < 16 ? count : 16)];
  while (operation->attempts == 0 && operation > the_world.operations)
    operation--;
  int attempts = operation->attempts;
  if (attempts == 0)
    return result;
  int attempt = attempts - 1;
  if (take(input) >= 224)
    attempt = take(input) % attempts;
  if (attempt >= ATTEMPTS)
    return result;
  result.operation = operation;
  result.attempt = attempt;
  result.token.bits = operation->tokens[attempt];
  result.allowed = (allowed){0, 0, BIT(INTURN_E_ALREADY_FINISHED)};
  bool queue_lives = is_alive(QUEUE, operation->queue) &&
                     the_world.queues[operation->queue].generation ==
                         operation->queue_generation;
  if (result.token.bits == 0) /* the call that returns it has not come yet */
    result.allowed.must = BIT(INTURN_E_NULL_HANDLE);
  else if (attempt < attempts - 1 || operation->wins[attempt] > 0 ||
           operation->is_over || !queue_lives)
    result.allowed.must = BIT(INTURN_E_ALREADY_FINISHED);
  else if (operation->may_be_cut || operation->ending > 0)
    result.allowed.may = BIT(INTURN_E_ALREADY_FINISHED);
  if (the_world.slots[QUEUE][operation->queue].life == DYING)
    result.allowed.may |= BIT(INTURN_E_ALREADY_FINISHED) | BIT(INTURN_OK);
  return result;
}

int claim(input *input, enum kind kind) {
  int index = take(input) % SLOTS;
  slot *slot = &the_world.slots[kind][index];
  int life = slot->life;
  if (life != NEVER && life != GONE)
    return -1;
  return atomic_compare_exchange_strong(&slot->life, &life, IN_MAKING) ? index
                                                                       : -1;
}

void make_alive(enum kind kind, int index, uint64_t bits) {
  slot *slot = &the_world.slots[kind][index];
  HOLDS(bits != 0);
  HOLDS(bits != slot->bits);
  pthread_mutex_lock(&slots_lock);
  slot->bits = bits;
  slot->life = ALIVE;
  pthread_mutex_unlock(&slots_lock);
}

void unclaim(enum kind kind, int index) {
  slot *slot = &the_world.slots[kind][index];
  slot->life = slot->bits != 0 ? GONE : NEVER;
}

bool begin_end(pick pick, enum kind kind) {
  if (pick.index < 0)
    return false;
  slot *slot = &the_world.slots[kind][pick.index];
  pthread_mutex_lock(&slots_lock);
  bool is_first = slot->bits == pick.bits && slot->life == ALIVE;
  if (is_first)
    slot->life = DYING;
  pthread_mutex_unlock(&slots_lock);
  return is_first;
}

void end_end(pick pick, enum kind kind, bool was_first, inturn_status status) {
  if (pick.index < 0)
    return;
  slot *slot = &the_world.slots[kind][pick.index];
  pthread_mutex_lock(&slots_lock);
  /* The first one here may have been the second in the library, and a new
     object may be in this place. */
  if (slot->bits == pick.bits && (slot->life == ALIVE || slot->life == DYING)) {
    if (status == INTURN_OK || status == INTURN_E_STALE)
      slot->life = GONE;
    else if (was_first)
      slot->life = ALIVE;
  }
  pthread_mutex_unlock(&slots_lock);
}
