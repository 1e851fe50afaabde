/*
 * objects.c - see world.h: calls on executors and clocks, and questions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

static const allowed no_reason;
static const allowed unsupported = {BIT(INTURN_E_UNSUPPORTED), 0, 0};
static const allowed invalid = {BIT(INTURN_E_INVALID_ARGUMENT), 0, 0};

/* Executors --------------------------------------------------------------- */

static void on_wake(void *context) { HOLDS(context == &the_world); }

static void on_wake_destroyed(void *context) {
  HOLDS(context == &the_world);
  HOLDS(the_world.wakes_destroyed < the_world.wakes_given);
  the_world.wakes_destroyed++;
}

static bool is_used(enum kind kind, int index) {
  for (int i = 0; i < SLOTS; i++) {
    queue_facts *queue = &the_world.queues[i];
    if (is_alive(QUEUE, i) &&
        (kind == CLOCK ? queue->clock == index : queue->executors >> index & 1))
      return true;
  }
  return false;
}

static void act_on(inturn_taken taken) {
  if (taken.token.bits == 0)
    return;
  operation_facts *operation = taken.context;
  HOLDS(operation->destroyed == 0 && operation->ended == 0);
  operation->is_taken = true;
  int attempt = operation->attempts++;
  if (attempt < ATTEMPTS)
    operation->tokens[attempt] = taken.token.bits;
  act(operation, attempt, taken.token);
}

static void enqueue_and_take(input *input, inturn_executor executor,
                             allowed allowed) {
  pick queue = pick_handle(input, QUEUE);
  operation_facts *operation = new_operation(input, queue.index);
  if (operation == NULL)
    return;
  inturn_taken taken = {NULL, {0}};
  refusals_of_enqueue(queue, 1, &queue.allowed);
  /* The model cannot tell which of the two refuses. */
  queue.allowed.must |= allowed.must;
  queue.allowed.may |= allowed.may;
  queue.allowed.late |= allowed.late;
  operation->place = next_place(queue);
  judge_enqueue(operation,
                EXPECT(inturn_executor_enqueue_and_take(
                           NULL, executor, (inturn_queue){queue.bits}, on_work,
                           operation, on_destroyed, NULL, &taken),
                       queue.allowed));
  act_on(taken);
}

/* A drain, take or run; refused if one is under way further up the stack. */
static void drain(input *input, pick pick) {
  inturn_executor handle = {pick.bits};
  allowed allowed = pick.allowed;
  uint8_t choice = take(input);
  uint32_t calls = 0;
  if (the_world.draining > 0)
    allowed.may |= BIT(INTURN_E_WRONG_THREAD);
  allowed.late |= BIT(INTURN_E_WRONG_THREAD);
  atomic_fetch_add(&the_world.draining, 1);
  if (choice % 8 == 7) {
    enqueue_and_take(input, handle, allowed);
  } else if (choice % 4 == 3) {
    token_pick finished = {{0}, NULL, 0, no_reason};
    inturn_taken taken = {NULL, {0}};
    if (EXPECT(inturn_executor_take(handle, on_work, finished.token, &taken),
               allowed))
      act_on(taken);
  } else if (choice % 4 == 2 && !the_world.has_two_threads) {
    if (EXPECT(inturn_executor_stop(handle), pick.allowed))
      EXPECT(inturn_executor_run(handle), allowed);
  } else {
    uint32_t most = choice >> 4;
    if (EXPECT(inturn_executor_drain(handle, most, &calls), allowed))
      if (!(most == 0 || calls <= most))
        WRONG("%u calls, not %u", calls, most);
  }
  atomic_fetch_sub(&the_world.draining, 1);
}

static void create_executor(input *input) {
  int index = claim(input, EXECUTOR);
  if (index < 0)
    return;
  inturn_executor handle;
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  uint8_t choice = take(input);
  allowed allowed = no_reason;
  if (choice & 1) {
    options.wake = on_wake;
    options.wake_context = &the_world;
    options.wake_destroy = on_wake_destroyed;
    the_world.wakes_given++;
  }
  options.host_threads = choice >> 1 & 3;
  if (choice == 255) {
    options.host_threads = 1025;
    allowed.must = BIT(INTURN_E_INVALID_ARGUMENT);
  }
  the_world.attached[index] = false;
  if (EXPECT(inturn_executor_create(&options, &handle), allowed))
    make_alive(EXECUTOR, index, handle.bits);
  else
    unclaim(EXECUTOR, index);
}

/* If there are two threads, only one of them attaches and detaches. */
static void attach(pick pick, uint8_t choice) {
  inturn_executor handle = {pick.bits};
  allowed allowed = pick.allowed;
  atomic_bool *attached = &the_world.attached[pick.index < 0 ? 0 : pick.index];
  void *data;
  allowed.late |= BIT(INTURN_E_WRONG_THREAD) | BIT(INTURN_E_BUSY) |
                  BIT(INTURN_E_INVALID_ARGUMENT);
  if (the_world.draining > 0)
    allowed.may |= BIT(INTURN_E_WRONG_THREAD);
  switch (choice % 4) {
  case 0:
    if (the_world.has_two_threads)
      return;
    if (*attached)
      allowed.must |= BIT(INTURN_E_BUSY);
    if (EXPECT(inturn_executor_attach(handle, "loop", &the_world), allowed))
      *attached = true;
    break;
  case 1:
    if (!*attached)
      allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
    if (EXPECT(inturn_executor_get_attached(handle, "loop", &data), allowed) &&
        !the_world.has_two_threads)
      HOLDS(data == &the_world);
    break;
  default:
    if (!*attached)
      allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
    if (EXPECT(inturn_executor_detach(handle, "loop"), allowed))
      *attached = false;
    break;
  }
}

void step_executor(input *input) {
  uint8_t choice = take(input);
  pick pick = pick_handle(input, EXECUTOR);
  inturn_executor handle = {pick.bits};
  allowed allowed = pick.allowed;
  int fd;
  switch (choice % 16) {
  default:
    drain(input, pick);
    break;
  case 9:
    create_executor(input);
    break;
  case 10:
    the_world.wakes_given++;
    EXPECT(inturn_executor_set_wake(handle, choice & 16 ? on_wake : NULL,
                                    &the_world, on_wake_destroyed),
           allowed);
    break;
  case 11:
    if (choice & 128)
      EXPECT(inturn_executor_fd(handle, &fd), allowed);
    break;
  case 12:
    attach(pick, take(input));
    break;
  case 13:
    allowed.may |= BIT(INTURN_E_TIMED_OUT);
    allowed.late |= BIT(INTURN_E_WRONG_THREAD);
    EXPECT(inturn_executor_wait(handle, 0, NULL), allowed);
    break;
  case 14:
    if (choice & 128) {
      bool is_busy = pick.index >= 0 && (is_used(EXECUTOR, pick.index) ||
                                         the_world.attached[pick.index]);
      if (is_busy && allowed.must == 0)
        allowed.must = BIT(INTURN_E_BUSY);
      /* An operation of a destroyed queue, or an observer, may be left. */
      allowed.may |= BIT(INTURN_E_BUSY);
      pick.allowed = allowed;
      EXPECT_END(inturn_executor_destroy(handle), pick, EXECUTOR);
    }
    break;
  case 15: {
    inturn_executor main_executor, pool;
    EXPECT(inturn_executor_main(&main_executor), no_reason);
    EXPECT(inturn_executor_pool(&pool), no_reason);
    EXPECT(inturn_executor_destroy(choice & 16 ? pool : main_executor),
           unsupported);
    EXPECT(inturn_executor_drain(pool, 0, NULL), unsupported);
    break;
  }
  }
}

/* Clocks ------------------------------------------------------------------ */

void step_clock(input *input) {
  uint8_t choice = take(input);
  pick pick = pick_handle(input, CLOCK);
  inturn_clock handle = {pick.bits};
  allowed allowed = pick.allowed;
  int64_t now;
  switch (choice % 16) {
  case 0: {
    int index = claim(input, CLOCK);
    if (index < 0)
      return;
    if (EXPECT(inturn_clock_create_manual(&handle), no_reason)) {
      the_world.clock_time[index] = 0;
      make_alive(CLOCK, index, handle.bits);
    }
    break;
  }
  case 1:
    if (handle.bits == 0)
      return; /* the system's */
    if (EXPECT(inturn_clock_now(handle, &now), allowed) &&
        !the_world.has_two_threads)
      HOLDS(now == the_world.clock_time[pick.index]);
    break;
  case 2:
    if (pick.index >= 0 && is_used(CLOCK, pick.index) && allowed.must == 0)
      allowed.must = BIT(INTURN_E_BUSY);
    allowed.may |= BIT(INTURN_E_BUSY);
    pick.allowed = allowed;
    EXPECT_END(inturn_clock_destroy(handle), pick, CLOCK);
    break;
  default: {
    int64_t by = take(input) * (choice & 16 ? 1 : 7), *time, sum;
    if (choice >= 250)
      by = (int64_t)take_long(input);
    time = &the_world.clock_time[pick.index < 0 ? 0 : pick.index];
    bool is_over = __builtin_add_overflow(*time, by, &sum);
    /* Stays far from the end of time, so that everything can still fall due. */
    if (!is_over && sum > INT64_MAX / 2)
      return;
    if (by < 0 || is_over)
      allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
    allowed.late |= BIT(INTURN_E_INVALID_ARGUMENT);
    /* Set first, as timers that fall due in the call may ask for the time. */
    int64_t before = *time;
    if (allowed.must == 0)
      *time = sum;
    if (!EXPECT(inturn_clock_advance(handle, by), allowed) && allowed.must == 0)
      *time = before;
    break;
  }
  }
}

/* Questions --------------------------------------------------------------- */

static bool visit(void *left, const inturn_entry *entry) {
  HOLDS(entry->kind >= INTURN_ENTRY_EXECUTOR);
  HOLDS(entry->kind <= INTURN_ENTRY_NAME);
  return --*(int *)left > 0;
}

void step_diagnosis(input *input) {
  uint8_t choice = take(input);
  inturn_library_statistics now = INTURN_LIBRARY_STATISTICS_INIT;
  switch (choice % 5) {
  case 0:
    EXPECT(inturn_library_get_statistics(&now), no_reason);
    break;
  case 1:
    now.size--;
    EXPECT(inturn_library_get_statistics(&now), invalid);
    break;
  case 2:
    HOLDS(inturn_status_name((inturn_status)(int8_t)take(input)) != NULL);
    HOLDS(inturn_status_message((inturn_status)(int8_t)take(input)) != NULL);
    break;
  case 3:
    HOLDS(inturn_version() == INTURN_VERSION);
    break;
  case 4: {
    int left = 1 + take(input);
    EXPECT(inturn_snapshot(visit, &left), no_reason);
    HOLDS(left >= 0);
    break;
  }
  }
}
