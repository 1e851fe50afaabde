/*
 * operations.c - see world.h: what operations' callbacks may encounter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <string.h>

operation_facts *new_operation(input *input, int queue) {
  int index = atomic_fetch_add(&the_world.operation_count, 1);
  if (index >= OPERATIONS)
    return NULL;
  operation_facts *operation = &the_world.operations[index];
  operation->queue = queue;
  operation->batch = -1;
  if (queue >= 0)
    operation->queue_generation = the_world.queues[queue].generation;
  for (int i = 0; i < ATTEMPTS; i++)
    operation->acts[i] = take(input);
  operation->is_plain = true;
  return operation;
}

void judge_enqueue(operation_facts *operation, bool is_accepted) {
  HOLDS(operation->attempts == 0 || is_accepted);
  if (is_accepted) {
    operation->accepted = true;
    return;
  }
  HOLDS(operation->destroyed == 1);
  HOLDS(operation->ended == 0);
  HOLDS(operation->end_destroyed == (operation->has_end ? 1 : 0));
  operation->refused = true;
}

/* Whether an earlier operation still holds its place. */
static bool holds_its_place(const operation_facts *operation) {
  int attempt = operation->attempts - 1;
  if (operation->may_be_cut || operation->is_taken)
    return false;
  return attempt < ATTEMPTS && operation->wins[attempt] == 0 &&
         !operation->is_over;
}

static bool is_queue_suspended(const queue_facts *queue) {
  int count = queue->suspends;
  for (int i = 0; i < REASONS; i++)
    count += queue->reasons[i];
  return count > 0;
}

static void check_turn(operation_facts *operation) {
  queue_facts *queue = &the_world.queues[operation->queue];
  if (the_world.has_two_threads ||
      queue->generation != operation->queue_generation)
    return;
  bool is_suspended = is_queue_suspended(queue);
  if (queue->kind == INTURN_QUEUE_INTERACTION)
    HOLDS(queue->is_visible && !is_suspended);
  else if (is_suspended)
    HOLDS(queue->decided-- > 0);
  if (queue->kind == INTURN_QUEUE_CONCURRENT)
    return;
  if (queue->kind != INTURN_QUEUE_ACTOR && queue->current >= 0) {
    operation_facts *before = &the_world.operations[queue->current];
    if (before != operation && !before->may_be_cut) {
      if (holds_its_place(before))
        WRONG("%d begins while %d runs", operation->place, before->place);
      if (!before->has_retry && !before->is_taken &&
          queue->kind == INTURN_QUEUE_FIFO)
        HOLDS(before->destroyed == 1);
    }
  }
  if (queue->kind != INTURN_QUEUE_INTERACTION && !queue->is_out_of_order &&
      operation->attempts == 0 && operation->place <= queue->last_begun)
    WRONG("%d begins after %d", operation->place, queue->last_begun);
  if (operation->place > queue->last_begun)
    queue->last_begun = operation->place;
  queue->current = (int)(operation - the_world.operations);
}

/* Another thread may cut an operation off just as one of its calls begins. */
static void check_not_ended(const operation_facts *operation) {
  HOLDS(operation->destroyed == 0);
  HOLDS(operation->ended == 0 ||
        (the_world.has_two_threads &&
         (operation->may_be_cut || !is_alive(QUEUE, operation->queue))));
}

static void begin_attempt(operation_facts *operation, inturn_token token) {
  HOLDS(!operation->refused);
  check_not_ended(operation);
  HOLDS(token.bits != 0);
  if (!operation->has_retry &&
      the_world.queues[operation->queue].kind != INTURN_QUEUE_INTERACTION)
    HOLDS(operation->attempts == 0);
  check_turn(operation);
  int attempt = operation->attempts;
  if (attempt < ATTEMPTS)
    operation->tokens[attempt] = token.bits;
  operation->attempts++;
}

/* Notes whether a call of this attempt's token has ended it; only one does. */
static void wins(operation_facts *operation, int attempt, bool is_ok) {
  if (is_ok && attempt < ATTEMPTS)
    HOLDS(atomic_fetch_add(&operation->wins[attempt], 1) == 0);
}

/* Ends an attempt's token in one of the ways in which its holder may. */
static void give(operation_facts *operation, int attempt, inturn_token token,
                 uint8_t how, allowed allowed) {
  bool is_ok;
  if (atomic_fetch_add(&operation->ending, 1) > 0)
    allowed.may |= BIT(INTURN_E_ALREADY_FINISHED);
  switch (how % 8) {
  default:
    is_ok = EXPECT(inturn_token_finish(token), allowed);
    break;
  case 1:
    is_ok = EXPECT(inturn_token_fail(token, attempt + 1), allowed);
    break;
  case 2:
    is_ok = EXPECT(inturn_token_cancel(token), allowed);
    break;
  case 3:
    operation->results++;
    is_ok =
        EXPECT(inturn_token_finish_with(token, operation, on_result_destroyed),
               allowed);
    break;
  case 4:
    is_ok = EXPECT(inturn_token_abandon_at(token, "fuzz.c:1"), allowed);
    break;
  case 5:
    is_ok = EXPECT(inturn_token_abandon(token), allowed);
    break;
  }
  wins(operation, attempt, is_ok);
  atomic_fetch_sub(&operation->ending, 1);
}

void act(operation_facts *operation, int attempt, inturn_token token) {
  allowed allowed = {0, 0, BIT(INTURN_E_ALREADY_FINISHED)};
  if (operation->may_be_cut ||
      the_world.slots[QUEUE][operation->queue].life != ALIVE)
    allowed.may = BIT(INTURN_E_ALREADY_FINISHED);
  if (attempt < ATTEMPTS && operation->wins[attempt] > 0)
    allowed.must = BIT(INTURN_E_ALREADY_FINISHED);
  uint8_t act = operation->acts[attempt < ATTEMPTS ? attempt : ATTEMPTS - 1];
  if (the_world.is_closing)
    act = 0;
  switch (act % 8) {
  default:
    give(operation, attempt, token, act >> 3, allowed);
    break;
  case 4:
    return; /* later, or never */
  case 5:
    if (the_world.queues[operation->queue].kind == INTURN_QUEUE_ACTOR) {
      operation->segments++;
      EXPECT(inturn_token_resume(token, on_segment, operation,
                                 on_segment_destroyed),
             allowed);
      return;
    }
    give(operation, attempt, token, act >> 3, allowed);
    break;
  case 6:
    step_inside(act, operation->acts[(attempt + 1) % ATTEMPTS]);
    return;
  case 7:
    give(operation, attempt, token, act >> 3, allowed);
    step_inside(operation->acts[0], operation->acts[ATTEMPTS - 1]);
    break;
  }
}

void on_work(void *context, inturn_token token) {
  operation_facts *operation = context;
  begin_attempt(operation, token);
  /* A drain may also repeat the attempt of an operation that was taken. */
  HOLDS(!operation->is_taken || operation->attempts > 1);
  atomic_fetch_add(&operation->in_call, 1);
  act(operation, operation->attempts - 1, token);
  atomic_fetch_sub(&operation->in_call, 1);
}

void on_segment(void *context, inturn_token token) {
  operation_facts *operation = context;
  HOLDS(operation->destroyed == 0);
  HOLDS(operation->attempts > 0);
  queue_facts *queue = &the_world.queues[operation->queue];
  if (!the_world.has_two_threads &&
      queue->generation == operation->queue_generation)
    HOLDS(!is_queue_suspended(queue));
  atomic_fetch_add(&operation->in_call, 1);
  int attempt = operation->attempts - 1;
  allowed allowed = {0,
                     operation->may_be_cut ||
                             the_world.slots[QUEUE][operation->queue].life !=
                                 ALIVE
                         ? BIT(INTURN_E_ALREADY_FINISHED)
                         : 0,
                     BIT(INTURN_E_ALREADY_FINISHED)};
  if (operation->segments < 4 && !the_world.is_closing &&
      operation->acts[3] & 1) {
    operation->segments++;
    EXPECT(
        inturn_token_resume(token, on_segment, operation, on_segment_destroyed),
        allowed);
  } else {
    give(operation, attempt, token, operation->acts[3], allowed);
  }
  atomic_fetch_sub(&operation->in_call, 1);
}

void on_cancel(void *context, inturn_token token) {
  operation_facts *operation = context;
  HOLDS(operation->destroyed == 0);
  HOLDS(token.bits != 0);
  /* A handler that always sets another one would be called for ever. */
  if (operation->acts[1] & 1 && operation->handlers < 16)
    step_inside(operation->acts[1], operation->acts[2]);
}

static void check_outcome(const operation_facts *operation,
                          const inturn_end *end) {
  if (end->cause == INTURN_CAUSE_JOINED || operation->may_be_cut)
    return;
  switch (end->outcome) {
  case INTURN_FINISHED:
    HOLDS(end->cause == INTURN_CAUSE_SKIPPED ||
          end->cause == INTURN_CAUSE_RESOLVED || operation->attempts > 0);
    break;
  case INTURN_FAILED:
    HOLDS(operation->attempts > 0);
    HOLDS(end->code > 0 && end->code <= operation->attempts);
    break;
  case INTURN_CANCELLED:
    break;
  case INTURN_ABANDONED:
    HOLDS(operation->attempts > 0);
    break;
  default:
    WRONG("an operation without a deadline has ended as %d", end->outcome);
  }
}

void on_end(void *context, const inturn_end *end) {
  operation_facts *operation = context;
  operation->is_over = true;
  HOLDS(atomic_fetch_add(&operation->ended, 1) == 0);
  HOLDS(operation->end_destroyed == 0);
  HOLDS(operation->destroyed == 0);
  HOLDS(!operation->refused);
  HOLDS(end->outcome >= INTURN_FINISHED && end->outcome <= INTURN_ABANDONED);
  /* An operation that has joined another ends like that, attempts included. */
  HOLDS(end->attempts <= (uint32_t)operation->attempts ||
        end->cause == INTURN_CAUSE_JOINED || operation->is_taken ||
        the_world.has_two_threads || operation->has_condition);
  check_outcome(operation, end);
  if (operation->acts[2] & 1)
    step_inside(operation->acts[2], operation->acts[3]);
}

/* The engine calls these last, and the world may be over once they have
   counted: so counting is the last thing that they do. */
void on_destroyed(void *context) {
  operation_facts *operation = context;
  if (operation->is_taken)
    WRONG("the context of an operation that was taken is destroyed");
  operation->is_over = true;
  HOLDS(operation->in_call == 0);
  if (operation->accepted && operation->has_end) {
    HOLDS(operation->ended == 1);
    HOLDS(operation->end_destroyed == 1);
  }
  if (operation->batch >= 0)
    atomic_fetch_add(&the_world.batches[operation->batch].destroyed, 1);
  HOLDS(atomic_fetch_add(&operation->destroyed, 1) == 0);
}

void on_end_destroyed(void *context) {
  operation_facts *operation = context;
  if (operation->accepted)
    HOLDS(operation->ended == 1);
  HOLDS(atomic_fetch_add(&operation->end_destroyed, 1) == 0);
}

void on_result_destroyed(void *context) {
  operation_facts *operation = context;
  HOLDS(operation->results_destroyed < operation->results);
  operation->results_destroyed++;
}

void on_handler_destroyed(void *context) {
  operation_facts *operation = context;
  HOLDS(operation->handlers_destroyed < operation->handlers);
  operation->handlers_destroyed++;
}

void on_segment_destroyed(void *context) {
  operation_facts *operation = context;
  HOLDS(operation->segments_destroyed < operation->segments);
  operation->segments_destroyed++;
}

inturn_verdict on_condition(void *context) {
  operation_facts *operation = context;
  check_not_ended(operation);
  if (the_world.is_closing)
    return INTURN_START;
  the_world.deciding++;
  if (operation->acts[1] & 8)
    step_inside(operation->acts[2], operation->acts[3]);
  the_world.deciding--;
  return (inturn_verdict)(operation->acts[1] % 8);
}

bool on_retry(void *context, int32_t code, uint32_t attempts) {
  operation_facts *operation = context;
  HOLDS(operation->destroyed == 0);
  HOLDS((code > 0 || code == INTURN_E_TIMED_OUT) && attempts > 0);
  return !the_world.is_closing && operation->acts[3] % 4 != 0;
}

void step_token(input *input) {
  token_pick pick = pick_token(input);
  operation_facts *operation = pick.operation;
  uint8_t choice = take(input);
  bool truth;
  allowed allowed = pick.allowed;
  if (operation == NULL) { /* invalid: each call says so */
    if (choice % 2)
      EXPECT(inturn_token_finish(pick.token), allowed);
    else
      EXPECT(inturn_token_is_cancelled(pick.token, &truth), allowed);
    return;
  }
  bool is_interaction =
      the_world.queues[operation->queue].kind == INTURN_QUEUE_INTERACTION;
  bool is_actor = the_world.queues[operation->queue].kind == INTURN_QUEUE_ACTOR;
  switch (choice % 16) {
  default:
    give(operation, pick.attempt, pick.token, choice >> 4, allowed);
    break;
  case 6:
  case 7: {
    struct allowed asks = allowed;
    /* Work that is cut off in a call is told to stop until it returns. */
    if (operation->in_call > 0)
      asks.may |= BIT(INTURN_OK);
    EXPECT(inturn_token_is_cancelled(pick.token, &truth), asks);
    if (take(input) % 16 == 0) {
      allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
      EXPECT(inturn_token_is_cancelled(pick.token, NULL), allowed);
    }
    break;
  }
  case 8:
    operation->handlers++;
    EXPECT(inturn_token_on_cancel(pick.token, on_cancel, operation,
                                  on_handler_destroyed),
           allowed);
    break;
  case 9:
    EXPECT(inturn_token_on_cancel(pick.token, NULL, NULL, NULL), allowed);
    break;
  case 10:
    operation->handlers++;
    if (!is_interaction)
      allowed.must |= BIT(INTURN_E_WRONG_KIND);
    EXPECT(inturn_token_on_preempt(pick.token, on_cancel, operation,
                                   on_handler_destroyed),
           allowed);
    break;
  case 11:
    if (!is_interaction)
      allowed.must |= BIT(INTURN_E_WRONG_KIND);
    atomic_fetch_add(&operation->ending, 1);
    wins(operation, pick.attempt,
         EXPECT(inturn_token_yield(pick.token), allowed));
    atomic_fetch_sub(&operation->ending, 1);
    break;
  case 12:
    operation->segments++;
    if (!is_actor)
      allowed.must |= BIT(INTURN_E_WRONG_KIND);
    EXPECT(inturn_token_resume(pick.token, on_segment, operation,
                               on_segment_destroyed),
           allowed);
    break;
  case 13: {
    int64_t completed = (int8_t)take(input), total = (int8_t)take(input);
    if (completed < 0 || total < 0 || (total > 0 && completed > total))
      allowed.must |= BIT(INTURN_E_INVALID_ARGUMENT);
    EXPECT(inturn_token_set_progress(pick.token, completed, total), allowed);
    break;
  }
  }
}
