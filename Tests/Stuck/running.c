/*
 * running.c - programs that are stuck because running work does not end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

STUCK(token_is_forgotten, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  drain(network);
}

STUCK(token_is_forgotten_and_others_wait, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  ADD(network, "save", finish, NULL);
}

STUCK(operation_is_waited_for, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(CONCURRENT, "network");
  wait_on(KEPT(network, "load", keep, NULL));
}

STUCK(one_behind_is_waited_for, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  wait_on(KEPT(network, "save", finish, NULL));
}

STUCK(plain_token_is_forgotten, "?@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  OK(inturn_queue_enqueue(network, keep, NULL, NULL, NULL));
  drain(network);
}

STUCK(queue_has_no_label, "load@: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, NULL);
  ADD(network, "load", keep, NULL);
  drain(network);
}

STUCK(call_does_not_return, "compute@slow: " IN_CALL) {
  inturn_queue slow = QUEUE(FIFO, "slow");
  ADD(slow, "compute", block, NULL);
  ADD(slow, "later", finish, NULL);
}

static void finish_and_block(void *context, inturn_token token) {
  finish(context, token);
  block(context, token);
}

STUCK(call_goes_on_after_its_end, "compute@slow: " IN_CALL_OR_DESTROY) {
  inturn_queue slow = QUEUE(FIFO, "slow");
  ADD(slow, "compute", finish_and_block, NULL);
  drain(slow);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_and_finish(void *context, inturn_token token) {
  pthread_mutex_lock(&mutex);
  finish(context, token);
}

STUCK(mutex_of_who_drains, "count@totals: " IN_CALL) {
  inturn_queue totals = QUEUE(FIFO, "totals");
  pthread_mutex_lock(&mutex);
  ADD(totals, "count", lock_and_finish, NULL);
  drain(totals);
}

static int ends[2];

static void read_end(void *context, inturn_token token) {
  char byte;
  if (read(ends[0], &byte, 1) == 1)
    finish(context, token);
}

STUCK(first_waits_for_second_by_a_pipe, "first@steps: " IN_CALL) {
  inturn_queue steps = QUEUE(FIFO, "steps");
  if (pipe(ends) != 0)
    exit(1);
  ADD(steps, "first", read_end, NULL);
  ADD(steps, "second", finish, NULL);
}

static void block_end(void *context, const inturn_end *end) {
  (void)context, (void)end;
  for (;;)
    pause();
}

STUCK(end_callback_does_not_return,
      "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  ADD(uploads, "first", finish, NULL, .on_end = block_end);
  ADD(uploads, "second", finish, NULL);
}

static void block_destroy(void *context) {
  (void)context;
  for (;;)
    pause();
}

NEW(context_is_destroyed_for_ever,
    "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  static int context;
  OK(inturn_queue_enqueue_with(uploads, WITH("first"), finish, &context,
                               block_destroy, NULL));
  drain(uploads);
}

static inturn_verdict block_condition(void *context) {
  block(context, (inturn_token){0});
  return INTURN_START;
}

NEW(condition_does_not_return, "ask@dialogs: " IN_CALL) {
  inturn_queue dialogs = QUEUE(FIFO, "dialogs");
  ADD(dialogs, "ask", finish, NULL, .condition = block_condition);
  drain(dialogs);
}

static void heed_nothing(void *context, inturn_token token) {
  inturn_token_on_cancel(token, block, context, NULL);
}

NEW(cancel_handler_does_not_return, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_operation load = KEPT(network, "load", heed_nothing, NULL);
  started(network, 1);
  inturn_operation_cancel(load);
  drain(network);
}

NEW(cancelled_and_not_heeded, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_operation load = KEPT(network, "load", keep, NULL);
  started(network, 1);
  inturn_operation_cancel(load);
  wait_on(load);
}

STUCK(place_is_held_after_a_deadline,
      "late@uploads: it was cut off, and keeps its place until its token is "
      "finished") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  ADD(uploads, "late", keep, NULL, .max_run_ns = 1000);
  ADD(uploads, "next", finish, NULL);
}

NEW(cut_off_call_keeps_the_queue_from_being_quiet,
    "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  ADD(uploads, "late", block, NULL, .max_run_ns = 1000,
      .max_run_policy = INTURN_MAX_RUN_FREE);
  drain(uploads);
}

static void fail_once(void *context, inturn_token token) {
  if (++*(int *)context == 1)
    inturn_token_fail(token, 1);
}

NEW(second_attempt_forgets_its_token, "load@network: " NOT_FINISHED) {
  static int attempts;
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_retry retry = INTURN_RETRY_INIT;
  ADD(network, "load", fail_once, &attempts, .retry = &retry);
  drain(network);
}

STUCK(question_has_no_answer, "question@dialogs: " NOT_FINISHED) {
  inturn_queue dialogs = visible_dialogs();
  ADD(dialogs, "question", keep, NULL);
  drain(dialogs);
}

NEW(urgent_question_is_not_given_way, "question@dialogs: " NOT_FINISHED) {
  inturn_queue dialogs = visible_dialogs();
  ADD(dialogs, "question", keep, NULL);
  started(dialogs, 1);
  ADD(dialogs, "alarm", finish, NULL, .urgent = true);
  drain(dialogs);
}

STUCK(actor_waits_for_a_segment_that_never_comes, "talk@room: " NOT_FINISHED) {
  inturn_queue room = QUEUE(ACTOR, "room");
  ADD(room, "talk", keep, NULL);
  drain(room);
}

static void resume_blocked(void *context, inturn_token token) {
  inturn_token_resume(token, block, context, NULL);
}

NEW(segment_does_not_return, "@room: a callback of it has not returned") {
  inturn_queue room = QUEUE(ACTOR, "room");
  ADD(room, "talk", resume_blocked, NULL);
  ADD(room, "listen", finish, NULL);
  moment();
  ADD(room, "leave", finish, NULL);
  drain(room);
}

NEW(nothing_waits_for_a_segment_that_does_not_return,
    "@room: a callback of it has not returned") {
  inturn_queue room = QUEUE(ACTOR, "room");
  ADD(room, "talk", resume_blocked, NULL);
  drain(room);
}

STUCK(all_places_are_taken, "first@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(CONCURRENT, "network", .max_concurrent = 2);
  ADD(network, "first", keep, NULL);
  ADD(network, "second", keep, NULL);
  ADD(network, "third", finish, NULL);
}
