/*
 * batches.c - see world.h: calls on operations, batches and owners.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <string.h>

static const allowed no_reason;

/* Operations -------------------------------------------------------------- */

static void take_reason(void *count, const inturn_report *report) {
  HOLDS(report->kind == INTURN_REPORT_STALL && report->chain_count > 0);
  HOLDS(++*(int *)count == 1);
}

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
  switch (choice % 9) {
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
    inturn_end end = {0};
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
  case 6: {
    int count = 0;
    allowed.may |= BIT(INTURN_E_ALREADY_FINISHED);
    if (EXPECT(inturn_why(handle, take_reason, &count), allowed))
      HOLDS(count == 1);
    break;
  }
  default:
    EXPECT_END(inturn_operation_release(handle), pick, OPERATION);
    break;
  }
}

/* Batches ----------------------------------------------------------------- */

static void on_batch_end(void *context, const inturn_batch_end *end) {
  batch_facts *batch = context;
  HOLDS(batch->ended == 0);
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
  /* The last batch of this place has reported its end, or its queue would not
     be there. */
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
    /* Their ends are not reported one by one. */
    operations[i]->may_be_cut = true;
    operations[i]->place = next_place(pick);
    items[i] = (inturn_batch_item){on_work, operations[i], on_destroyed};
  }
  if (options.edge_count > 0 && pick.index >= 0)
    the_world.queues[pick.index].is_out_of_order = true;
  bool is_ok =
      EXPECT(inturn_queue_enqueue_batch((inturn_queue){pick.bits}, &options,
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
  inturn_end end = {0};
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
    allowed.late |= BIT(INTURN_E_INVALID_ARGUMENT);
    allowed.may |= BIT(INTURN_E_BUSY);
    EXPECT(inturn_batch_get_end(handle, place, &end), allowed);
    break;
  }
  case 6: {
    int64_t timeout = take(input) % 4 ? 0 : 1;
    inturn_batch_end batch_end = {0};
    if (EXPECT(inturn_batch_wait(handle, timeout, &batch_end),
               waiting(allowed, timeout)) &&
        !the_world.has_two_threads)
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
