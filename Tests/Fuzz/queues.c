/*
 * queues.c - see world.h: calls on queues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <string.h>

static inturn_queue queue_of(pick pick) { return (inturn_queue){pick.bits}; }

static const char *const words[] = {"a", "b", NULL, "\xff"};

void refusals_of_enqueue(pick pick, uint64_t count, allowed *allowed) {
  allowed->late |= BIT(INTURN_E_CLOSED) | BIT(INTURN_E_FULL);
  if (!is_alive(QUEUE, pick.index))
    return;
  queue_facts *queue = &the_world.queues[pick.index];
  inturn_queue_statistics now = INTURN_QUEUE_STATISTICS_INIT;
  if (inturn_queue_get_statistics(queue_of(pick), &now) != INTURN_OK)
    return;
  if (queue->is_closed)
    allowed->must |= BIT(INTURN_E_CLOSED);
  if (queue->capacity != 0 && now.pending + count > queue->capacity)
    allowed->must |= BIT(INTURN_E_FULL);
}

int next_place(pick pick) {
  return pick.index < 0
             ? 0
             : atomic_fetch_add(&the_world.queues[pick.index].accepted, 1) + 1;
}

static void enqueue_plain(input *input) {
  pick pick = pick_handle(input, QUEUE);
  operation_facts *operation = new_operation(input, pick.index);
  if (operation == NULL)
    return;
  inturn_work_fn work = on_work;
  refusals_of_enqueue(pick, 1, &pick.allowed);
  if (take(input) >= 252) {
    work = NULL;
    pick.allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
  }
  operation->place = next_place(pick);
  judge_enqueue(operation,
                EXPECT(inturn_queue_enqueue(queue_of(pick), work, operation,
                                            on_destroyed, NULL),
                       pick.allowed));
}

/* Options that only some kinds of queue have, or that are wrong. */
static void choose_order(input *input, pick pick,
                         inturn_operation_options *options, allowed *allowed) {
  inturn_queue_kind kind =
      pick.index >= 0 ? the_world.queues[pick.index].kind : 0;
  uint8_t choice = take(input);
  bool is_concurrent = kind == INTURN_QUEUE_CONCURRENT;
  bool is_interaction = kind == INTURN_QUEUE_INTERACTION;
  if (choice & 1) {
    options->priority = (int8_t)take(input) / 32;
    if (options->priority != 0 && !is_concurrent && !is_interaction)
      allowed->must |= BIT(INTURN_E_UNSUPPORTED);
  }
  if ((choice & 6) == 6) {
    options->barrier = true;
    if (!is_concurrent)
      allowed->must |= BIT(INTURN_E_UNSUPPORTED);
  }
  if ((choice & 24) == 24) {
    options->urgent = true;
    if (!is_interaction)
      allowed->must |= BIT(INTURN_E_UNSUPPORTED);
  }
  if (choice & 32) {
    options->key = words[take(input) % 2];
    options->join = choice & 64;
  }
}

static void choose_deadlines(input *input, operation_facts *operation,
                             inturn_operation_options *options,
                             allowed *allowed) {
  uint8_t choice = take(input);
  int64_t *const limits[] = {&options->max_wait_ns, &options->max_run_ns,
                             &options->stall_ns, &options->cancel_grace_ns};
  for (int i = 0; i < 4; i++)
    if (choice & 1 << i) {
      uint8_t time = take(input);
      *limits[i] = time == 255 ? -1 : time == 254 ? INT64_MAX : time * 4;
      if (*limits[i] < 0)
        allowed->must |= BIT(INTURN_E_INVALID_ARGUMENT);
    }
  options->max_run_policy = choice >> 4 & 1;
  operation->may_be_cut |= options->max_run_ns != 0 ||
                           options->cancel_grace_ns != 0 ||
                           options->max_wait_ns != 0;
}

static void enqueue_with(input *input) {
  pick pick = pick_handle(input, QUEUE);
  operation_facts *operation = new_operation(input, pick.index);
  if (operation == NULL)
    return;
  allowed *allowed = &pick.allowed;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation after[2];
  inturn_retry retry = INTURN_RETRY_INIT;
  static const char *const names[] = {"x", "y", "x"};
  operation->is_plain = false;
  refusals_of_enqueue(pick, 1, allowed);
  allowed->late |= BIT(INTURN_E_UNSUPPORTED);
  uint8_t choice = take(input), more = take(input);
  if (choice & 1)
    choose_order(input, pick, &options, allowed);
  if (choice & 2)
    choose_deadlines(input, operation, &options, allowed);
  if (choice & 4) {
    operation->has_end = true;
    options.on_end = on_end;
    options.end_context = operation;
    options.end_destroy = on_end_destroyed;
  }
  if (choice & 8) {
    options.after_count = 1 + take(input) % 2;
    options.after = after;
    options.after_policy = more & 1;
    for (size_t i = 0; i < options.after_count; i++) {
      struct pick other = pick_handle(input, OPERATION);
      after[i].bits = other.bits;
      allowed->must |= other.allowed.must;
      allowed->may |= other.allowed.may;
    }
  }
  if (choice & 16) {
    the_world.uses_names = true;
    options.exclusive = names + more % 2;
    options.exclusive_count = 1 + (more >> 1) % 2;
  }
  if (choice & 32) {
    operation->has_retry = true;
    retry.max_attempts = 1 + (more >> 3) % 4;
    retry.delay_ns = more >> 5;
    retry.factor = 1 + (more >> 6);
    retry.decide = choice & 1 ? on_retry : NULL;
    options.retry = &retry;
  }
  if (choice & 64) {
    operation->has_condition = true;
    options.condition = on_condition;
  }
  if (more & 128) {
    struct pick owner = pick_handle(input, OWNER);
    options.owner.bits = owner.bits;
    if (owner.bits != 0) {
      allowed->must |= owner.allowed.must;
      allowed->may |= owner.allowed.may | BIT(INTURN_E_FULL);
    }
  }
  uint8_t odd = take(input);
  if (odd >= 240) {
    options.label = words[odd % 4];
    if (odd % 4 == 3)
      allowed->must |= BIT(INTURN_E_INVALID_ARGUMENT);
  }
  /* An operation that has joined may begin late, or never. */
  if (options.join && pick.index >= 0)
    the_world.queues[pick.index].is_out_of_order = true;
  if (options.key != NULL && options.join)
    operation->may_be_cut = true;
  int index = choice & 128 ? claim(input, OPERATION) : -1;
  inturn_operation handle = {0};
  operation->place = next_place(pick);
  bool is_ok = EXPECT(
      inturn_queue_enqueue_with(queue_of(pick), &options, on_work, operation,
                                on_destroyed, index >= 0 ? &handle : NULL),
      *allowed);
  judge_enqueue(operation, is_ok);
  if (index >= 0 && is_ok) {
    the_world.operation_of[index] = (int)(operation - the_world.operations);
    make_alive(OPERATION, index, handle.bits);
  } else if (index >= 0) {
    unclaim(OPERATION, index);
  }
}

static void on_event(void *context, const inturn_event *event) {
  queue_facts *queue = context;
  HOLDS(queue->event_destroyed == 0);
  HOLDS(event->kind >= INTURN_EVENT_ENQUEUED &&
        event->kind <= INTURN_EVENT_IDLE);
}

static void on_event_destroyed(void *context) {
  queue_facts *queue = context;
  HOLDS(atomic_fetch_add(&queue->event_destroyed, 1) == 0);
}

/* Times are short, so that a drain ends; or as long as possible. */
static inturn_rate choose_rate(input *input, uint8_t choice, allowed *allowed) {
  static const int64_t odd[] = {0, -1, INT64_MAX, (INT64_C(1) << 61) - 1,
                                (INT64_C(1) << 62) - 1};
  uint8_t time = take(input);
  inturn_rate rate = {choice % 4, choice >> 2 & 3,
                      time >= 240 ? odd[time % 5] : 1 + time % 64};
  int64_t burst = rate.burst != 0 ? rate.burst : rate.max_starts, whole;
  if (rate.max_starts != 0 &&
      (rate.interval_ns <= 0 ||
       __builtin_mul_overflow(rate.interval_ns, burst, &whole) ||
       whole >= INT64_C(1) << 62))
    allowed->must |= BIT(INTURN_E_INVALID_ARGUMENT);
  return rate;
}

static void set_rate(input *input, pick pick, uint8_t choice) {
  inturn_rate rate = choose_rate(input, choice, &pick.allowed);
  if (pick.index >= 0 && rate.interval_ns > 1000)
    the_world.queues[pick.index].has_long_rate = true;
  EXPECT(inturn_queue_set_rate(queue_of(pick), &rate), pick.allowed);
}

static void create_queue(input *input) {
  int index = claim(input, QUEUE);
  if (index < 0)
    return;
  /* The previous queue in this place may still be in use. */
  queue_facts *queue = &the_world.queues[index];
  unsigned generation = queue->generation;
  if (queue->has_events && !queue->event_destroyed) {
    unclaim(QUEUE, index);
    return;
  }
  memset(queue, 0, sizeof *queue);
  queue->generation = generation + 1;
  queue->current = -1;
  uint8_t kind = take(input);
  queue->kind = 1 + kind % 4;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue handle;
  uint8_t choice = take(input);
  struct pick executor = pick_handle(input, EXECUTOR);
  struct pick clock = pick_handle(input, CLOCK);
  allowed allowed = executor.allowed;
  options.executor.bits = executor.bits;
  options.clock.bits = clock.bits;
  if (!is_alive(EXECUTOR, executor.index) || clock.bits == 0) {
    /* The defaults are process-wide, which would not be repeatable. */
    unclaim(QUEUE, index);
    return;
  }
  allowed.must |= clock.allowed.must;
  allowed.may |= clock.allowed.may;
  queue->executors = 1 << executor.index;
  queue->clock = clock.index;
  options.capacity = queue->capacity = choice & 1 ? 1 + (choice >> 4) : 0;
  options.settle_ns = choice & 2 ? 100 : INTURN_NO_DELAY;
  options.gap_ns = choice & 4 ? 50 : INTURN_NO_DELAY;
  queue->max_concurrent =
      queue->kind == INTURN_QUEUE_CONCURRENT ? 1 + (choice >> 6) : 1;
  options.max_concurrent = queue->max_concurrent;
  if (kind >> 4 == 14) { /* does not occur in `found` */
    options.rate = choose_rate(input, take(input), &allowed);
    queue->has_long_rate = options.rate.interval_ns > 1000;
  }
  if (choice & 8) {
    queue->has_events = true;
    options.on_event = on_event;
    options.event_context = queue;
    options.event_destroy = on_event_destroyed;
  }
  if (EXPECT(inturn_queue_create(queue->kind, &options, &handle), allowed)) {
    make_alive(QUEUE, index, handle.bits);
  } else {
    HOLDS(queue->event_destroyed == (choice & 8 ? 1 : 0));
    unclaim(QUEUE, index);
  }
}

static void suspend(pick pick, uint8_t choice) {
  bool has_reason = choice & 1;
  int reason = choice >> 1 & 1;
  queue_facts *queue = &the_world.queues[pick.index < 0 ? 0 : pick.index];
  atomic_int *count = has_reason ? &queue->reasons[reason] : &queue->suspends;
  bool is_resume = choice & 4;
  if (is_resume && *count == 0)
    pick.allowed.must |= BIT(INTURN_E_NOT_SUSPENDED);
  pick.allowed.late |= BIT(INTURN_E_NOT_SUSPENDED);
  bool is_ok;
  if (has_reason && is_resume)
    is_ok = EXPECT(inturn_queue_resume_for(queue_of(pick), words[reason]),
                   pick.allowed);
  else if (has_reason)
    is_ok = EXPECT(inturn_queue_suspend_for(queue_of(pick), words[reason]),
                   pick.allowed);
  else if (is_resume)
    is_ok = EXPECT(inturn_queue_resume(queue_of(pick)), pick.allowed);
  else
    is_ok = EXPECT(inturn_queue_suspend(queue_of(pick)), pick.allowed);
  if (is_ok)
    atomic_fetch_add(count, is_resume ? -1 : 1);
  if (is_ok && !is_resume)
    queue->decided = the_world.deciding;
}

static void appear(pick pick, bool is_visible) {
  queue_facts *queue = &the_world.queues[pick.index < 0 ? 0 : pick.index];
  if (queue->kind != INTURN_QUEUE_INTERACTION)
    pick.allowed.must |= BIT(INTURN_E_WRONG_KIND);
  if (is_visible) {
    if (EXPECT(inturn_queue_view_did_appear(queue_of(pick)), pick.allowed))
      queue->is_visible = true;
  } else if (EXPECT(inturn_queue_view_will_disappear(queue_of(pick)),
                    pick.allowed)) {
    queue->is_visible = false;
  }
}

allowed waiting(allowed allowed, int64_t timeout) {
  allowed.may |= BIT(INTURN_E_TIMED_OUT);
  allowed.late |= BIT(INTURN_E_CLOSED);
  if (timeout != 0)
    allowed.may |= BIT(INTURN_E_DEADLOCK);
  return allowed;
}

void step_queue(input *input) {
  uint8_t choice = take(input);
  switch (choice % 32) {
  case 0:
  case 1:
  case 2:
    create_queue(input);
    return;
  case 3:
  case 4:
  case 5:
  case 6:
  case 7:
    enqueue_plain(input);
    return;
  case 8:
  case 9:
  case 10:
  case 11:
  case 12:
  case 13:
  case 14:
    enqueue_with(input);
    return;
  }
  pick pick = pick_handle(input, QUEUE);
  allowed allowed = pick.allowed;
  inturn_queue handle = queue_of(pick);
  queue_facts *queue = &the_world.queues[pick.index < 0 ? 0 : pick.index];
  uint64_t count;
  uint8_t more = take(input);
  switch (choice % 32) {
  default:
    if (choice >> 4 == 13) /* does not occur in `found` */
      set_rate(input, pick, more);
    else
      suspend(pick, more);
    break;
  case 19:
  case 20:
    appear(pick, more % 3);
    break;
  case 21: {
    if (queue->kind != INTURN_QUEUE_CONCURRENT)
      allowed.must |= BIT(INTURN_E_WRONG_KIND);
    if (EXPECT(inturn_queue_set_max_concurrent(handle, more % 4), allowed))
      queue->max_concurrent = more % 4;
    break;
  }
  case 22: {
    struct pick executor = pick_handle(input, EXECUTOR);
    if (!is_alive(EXECUTOR, executor.index))
      return;
    allowed.may |= executor.allowed.may;
    /* Noted first, as another thread may look as soon as the queue has it. */
    int bit = 1 << executor.index;
    bool had_it = atomic_fetch_or(&queue->executors, bit) & bit;
    if (!EXPECT(
            inturn_queue_set_executor(handle, (inturn_executor){executor.bits}),
            allowed) &&
        !had_it)
      atomic_fetch_and(&queue->executors, ~bit);
    break;
  }
  case 23:
    EXPECT(inturn_queue_resolve_key(handle, words[more % 2], &count), allowed);
    break;
  case 24:
    EXPECT(inturn_queue_cancel_key(handle, words[more % 2], &count), allowed);
    break;
  case 25:
    EXPECT(inturn_queue_cancel_all(handle), allowed);
    break;
  case 26:
    if (more >= 128)
      return;
    if (queue->is_closed)
      allowed.must |= BIT(INTURN_E_CLOSED);
    allowed.late |= BIT(INTURN_E_CLOSED);
    if (EXPECT(inturn_queue_close(handle), allowed))
      queue->is_closed = true;
    break;
  case 27:
    EXPECT(inturn_queue_drain(handle, more % 4 ? 0 : 1),
           waiting(allowed, more % 4 ? 0 : 1));
    break;
  case 28:
    if (more >= 64)
      return;
    allowed.may |= the_world.has_two_threads ? BIT(INTURN_E_DEADLOCK) : 0;
    pick.allowed = allowed;
    EXPECT_END(inturn_queue_destroy(handle), pick, QUEUE);
    break;
  case 29: {
    inturn_queue_statistics now = INTURN_QUEUE_STATISTICS_INIT;
    if (EXPECT(inturn_queue_get_statistics(handle, &now), allowed) &&
        !the_world.has_two_threads && queue->capacity != 0)
      HOLDS(now.pending <= queue->capacity + now.running + ITEMS);
    break;
  }
  case 30: {
    inturn_operation_info infos[4] = {INTURN_OPERATION_INFO_INIT};
    size_t written = 0;
    if (EXPECT(inturn_queue_list(handle, infos, 4, &written), allowed))
      HOLDS(written <= 4);
    break;
  }
  }
}
