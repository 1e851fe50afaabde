/*
 * queues.c - see world.h: calls of queues, operations, batches and owners.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <string.h>

static inturn_queue queue_of(pick pick) { return (inturn_queue){pick.bits}; }

static const char *const words[] = {"a", "b", NULL, "\xff"};

/* What keeps an enqueue from being accepted, besides the handle. */
static void refusals_of_enqueue(pick pick, uint64_t count, allowed *allowed) {
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

static int next_place(pick pick) {
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
  /* One that has joined may begin late, or never. */
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

static void create_queue(input *input) {
  int index = claim(input, QUEUE);
  if (index < 0)
    return;
  /* Whoever was here last may still be spoken of. */
  queue_facts *queue = &the_world.queues[index];
  unsigned generation = queue->generation;
  if (queue->has_events && !queue->event_destroyed) {
    unclaim(QUEUE, index);
    return;
  }
  memset(queue, 0, sizeof *queue);
  queue->generation = generation + 1;
  queue->current = -1;
  queue->kind = 1 + take(input) % 4;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue handle;
  uint8_t choice = take(input);
  struct pick executor = pick_handle(input, EXECUTOR);
  struct pick clock = pick_handle(input, CLOCK);
  allowed allowed = executor.allowed;
  options.executor.bits = executor.bits;
  options.clock.bits = clock.bits;
  if (!is_alive(EXECUTOR, executor.index) || clock.bits == 0) {
    /* The defaults are the process's, which would not be repeatable. */
    unclaim(QUEUE, index);
    return;
  }
  allowed.must |= clock.allowed.must;
  allowed.may |= clock.allowed.may;
  queue->executors = 1 << executor.index;
  queue->clock = clock.index;
  options.capacity = queue->capacity = choice & 1 ? 1 + (choice >> 4) : 0;
  options.settle_ns = choice & 2 ? 100 : 0;
  options.gap_ns = choice & 4 ? 50 : 0;
  queue->max_concurrent =
      queue->kind == INTURN_QUEUE_CONCURRENT ? 1 + (choice >> 6) : 1;
  options.max_concurrent = queue->max_concurrent;
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

static const allowed no_reason;

/* Calls that wait; in callbacks they may be refused. */
static allowed waiting(allowed allowed, int64_t timeout) {
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
    queue->executors |= 1 << executor.index;
    EXPECT(inturn_queue_set_executor(handle, (inturn_executor){executor.bits}),
           allowed);
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
    inturn_operation_info infos[4];
    size_t written = 0;
    if (EXPECT(inturn_queue_list(handle, infos, 4, &written), allowed))
      HOLDS(written <= 4);
    break;
  }
  }
}

/* Operations -------------------------------------------------------------- */

void step_operation(input *input) {
  uint8_t choice = take(input);
  pick pick = pick_handle(input, OPERATION);
  allowed allowed = pick.allowed;
  inturn_operation handle = {pick.bits};
  inturn_operation_state state;
  int64_t completed, total;
  operation_facts *operation =
      pick.index < 0
          ? NULL
          : &the_world.operations[the_world.operation_of[pick.index]];
  switch (choice % 8) {
  case 0:
    if (EXPECT(inturn_operation_get_state(handle, &state), allowed) &&
        !the_world.has_two_threads) {
      if (operation->is_over)
        HOLDS(state == INTURN_ENDED);
      if (operation->attempts == 0 && !operation->has_condition)
        HOLDS(state != INTURN_RUNNING);
    }
    break;
  case 1:
  case 2:
  case 3:
    allowed.may |= BIT(INTURN_E_CANCELLED) | BIT(INTURN_E_ALREADY_FINISHED);
    if (operation != NULL && operation->is_over && allowed.must == 0)
      allowed.must = BIT(INTURN_E_ALREADY_FINISHED);
    EXPECT(inturn_operation_cancel(handle), allowed);
    break;
  case 4: {
    inturn_end end;
    int64_t timeout = take(input) % 4 ? 0 : 1;
    if (EXPECT(inturn_operation_wait(handle, timeout, &end),
               waiting(allowed, timeout)))
      operation->is_over = true;
    break;
  }
  case 5:
    if (EXPECT(inturn_operation_get_progress(handle, &completed, &total),
               allowed))
      HOLDS(completed >= 0 && total >= 0);
    break;
  default:
    EXPECT_END(inturn_operation_release(handle), pick, OPERATION);
    break;
  }
}

/* Batches ----------------------------------------------------------------- */

static void on_batch_end(void *context, const inturn_batch_end *end) {
  batch_facts *batch = context;
  HOLDS(batch->accepted || the_world.has_two_threads);
  HOLDS(atomic_fetch_add(&batch->told, 1) == 0);
  HOLDS((int)end->count == batch->count);
  HOLDS(end->finished <= end->count);
  HOLDS(batch->destroyed == batch->count);
}

static void on_batch_end_destroyed(void *context) {
  batch_facts *batch = context;
  HOLDS(atomic_fetch_add(&batch->ended, 1) == 0);
}

static void enqueue_batch(input *input) {
  pick pick = pick_handle(input, QUEUE);
  int index = claim(input, BATCH);
  if (index < 0)
    return;
  batch_facts *batch = &the_world.batches[index];
  inturn_batch_item items[ITEMS];
  operation_facts *operations[ITEMS];
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  static const inturn_batch_edge edges[] = {{1, 0}, {2, 0}, {3, 1}, {3, 2}};
  inturn_batch handle = {0};
  uint8_t choice = take(input);
  size_t count = choice % (ITEMS + 1);
  /* The last batch of this place has told its end, or its queue would not be
     where it is. */
  if (batch->accepted && batch->ended == 0) {
    unclaim(BATCH, index);
    return;
  }
  memset(batch, 0, sizeof *batch);
  batch->count = (int)count;
  options.policy = choice >> 4 & 3;
  if (options.policy == INTURN_BATCH_ENOUGH && count == 0)
    options.policy = INTURN_BATCH_ALL;
  options.enough = options.policy == INTURN_BATCH_ENOUGH;
  if (choice & 64 && count == ITEMS) {
    options.edges = edges;
    options.edge_count = 4;
  }
  if (choice & 128) {
    each.max_run_ns = 8 * take(input);
    each.after_policy = choice & 1;
    options.operation = &each;
  }
  options.on_end = on_batch_end;
  options.end_context = batch;
  options.end_destroy = on_batch_end_destroyed;
  refusals_of_enqueue(pick, count, &pick.allowed);
  for (size_t i = 0; i < count; i++) {
    operations[i] = new_operation(input, pick.index);
    if (operations[i] == NULL) {
      unclaim(BATCH, index);
      for (size_t j = 0; j < i; j++)
        operations[j]->refused = operations[j]->destroyed = 1;
      return;
    }
    operations[i]->is_plain = false;
    operations[i]->batch = index;
    /* Their ends are not told one by one. */
    operations[i]->may_be_cut = true;
    operations[i]->place = next_place(pick);
    items[i] = (inturn_batch_item){on_work, operations[i], on_destroyed};
  }
  if (options.edge_count > 0 && pick.index >= 0)
    the_world.queues[pick.index].is_out_of_order = true;
  bool is_ok = EXPECT(inturn_queue_enqueue_batch(queue_of(pick), &options,
                                                 items, count, &handle),
                      pick.allowed);
  for (size_t i = 0; i < count; i++)
    judge_enqueue(operations[i], is_ok);
  if (is_ok) {
    batch->accepted = true;
    make_alive(BATCH, index, handle.bits);
  } else {
    HOLDS(batch->ended == 1 && batch->told == 0);
    unclaim(BATCH, index);
  }
}

void step_batch(input *input) {
  uint8_t choice = take(input);
  if (choice % 8 < 3) {
    enqueue_batch(input);
    return;
  }
  pick pick = pick_handle(input, BATCH);
  allowed allowed = pick.allowed;
  inturn_batch handle = {pick.bits};
  size_t ended, count;
  inturn_end end;
  switch (choice % 8) {
  case 3:
    allowed.may |= BIT(INTURN_E_CANCELLED) | BIT(INTURN_E_ALREADY_FINISHED);
    EXPECT(inturn_batch_cancel(handle), allowed);
    break;
  case 4:
    if (EXPECT(inturn_batch_get_progress(handle, &ended, &count), allowed))
      HOLDS(ended <= count);
    break;
  case 5: {
    size_t place = take(input);
    if (pick.index >= 0 && place >= (size_t)the_world.batches[pick.index].count)
      allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
    allowed.may |= BIT(INTURN_E_BUSY);
    EXPECT(inturn_batch_get_end(handle, place, &end), allowed);
    break;
  }
  case 6: {
    int64_t timeout = take(input) % 4 ? 0 : 1;
    inturn_batch_end batch_end;
    if (EXPECT(inturn_batch_wait(handle, timeout, &batch_end),
               waiting(allowed, timeout)))
      HOLDS(the_world.batches[pick.index].told == 1);
    break;
  }
  default:
    EXPECT_END(inturn_batch_release(handle), pick, BATCH);
    break;
  }
}

/* Owners ------------------------------------------------------------------ */

void step_owner(input *input) {
  uint8_t choice = take(input);
  inturn_owner handle;
  uint64_t count;
  if (choice % 4 == 0) {
    int index = claim(input, OWNER);
    if (index < 0)
      return;
    if (EXPECT(inturn_owner_create(choice >> 4 & 3, &handle), no_reason))
      make_alive(OWNER, index, handle.bits);
    else
      unclaim(OWNER, index);
    return;
  }
  pick pick = pick_handle(input, OWNER);
  handle.bits = pick.bits;
  if (choice % 4 == 1)
    EXPECT_END(inturn_owner_destroy(handle), pick, OWNER);
  else
    EXPECT(inturn_owner_get_count(handle, &count), pick.allowed);
}
