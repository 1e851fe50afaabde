/*
 * fork_callbacks.c - a callback forks, and the child returns from it: it goes
 * on without the parent's objects, and the parent as if nothing had been.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sys/wait.h>
#include <unistd.h>

enum { FORK_IN_END, FORK_IN_END_DESTROY, FORK_IN_ITEM_DESTROY, FORK_IN_CHANGE };
static int place_of_fork;
static bool is_child;

static void fork_in(int place) {
  if (place != place_of_fork)
    return;
  place_of_fork = -1;
  pid_t child = fork();
  CHECK(child >= 0);
  is_child = child == 0;
  if (is_child) {
    alarm(LIMIT_SECONDS);
    return;
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
}

static void fork_at_end(void *context, const inturn_batch_end *end) {
  CHECK(context == NULL && end != NULL);
  fork_in(FORK_IN_END);
}

static void fork_at_end_destroy(void *context) {
  CHECK(context == NULL);
  fork_in(FORK_IN_END_DESTROY);
}

static void fork_at_item_destroy(void *context) {
  CHECK(context == NULL);
  fork_in(FORK_IN_ITEM_DESTROY);
}

static void fork_at_change(void *context, const inturn_change *change) {
  CHECK(context == NULL && change != NULL);
  fork_in(FORK_IN_CHANGE);
}

/* The child's drain says that it is one, and the parent's goes on. */
static void drain_while_one_forks(stage *stage) {
  inturn_status status = inturn_executor_drain(stage->executor, 0, NULL);
  if (is_child) {
    CHECK_STATUS(status, INTURN_E_FORKED);
    _exit(0);
  }
  CHECK_OK(status);
  stage_drain(stage);
  CHECK_INT(place_of_fork, -1);
}

static void fork_in_batch(int place, bool has_options) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.label = "one of a batch";
  options.on_end = fork_at_end;
  options.end_destroy = fork_at_end_destroy;
  options.operation = has_options ? &each : NULL;
  inturn_batch_item item = {just_finish, NULL, fork_at_item_destroy};
  const inturn_batch_item items[] = {item, item};
  inturn_batch batch;
  inturn_value progress;
  place_of_fork = place;
  is_child = false;
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, 2, &batch));
  CHECK_OK(inturn_batch_create_value(batch, &progress));
  CHECK_OK(
      inturn_value_observe(progress, NULL, fork_at_change, NULL, NULL, NULL));
  CHECK_OK(inturn_batch_release(batch));
  drain_while_one_forks(&stage);
  CHECK_OK(inturn_value_destroy(progress));
  stage_destroy(&stage);
}

static void callbacks_of_a_batch_may_fork(void) {
  for (int place = FORK_IN_END; place <= FORK_IN_CHANGE; place++) {
    fork_in_batch(place, false);
    fork_in_batch(place, true);
  }
}

static inturn_verdict fork_at_condition(void *context) {
  fork_at_item_destroy(context);
  return INTURN_START;
}

/* Not in the child. */
static void finish_in_the_parent(void *context, inturn_token token) {
  if (is_child)
    _exit(1);
  just_finish(context, token);
}

static void suspend_into_a_segment(void *context, inturn_token token) {
  CHECK_OK(
      inturn_token_resume(token, just_finish, context, fork_at_item_destroy));
}

static void fork_in_operation(inturn_condition_fn condition,
                              inturn_work_fn work) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  place_of_fork = FORK_IN_ITEM_DESTROY;
  is_child = false;
  options.condition = condition;
  CHECK_OK(
      inturn_queue_enqueue_with(stage.queue, &options, work, NULL, NULL, NULL));
  drain_while_one_forks(&stage);
  stage_destroy(&stage);
}

static void conditions_and_destructions_of_segments_may_fork(void) {
  fork_in_operation(fork_at_condition, finish_in_the_parent);
  fork_in_operation(NULL, suspend_into_a_segment);
}

static void never_event(void *context, const inturn_event *event) {
  CHECK(context == NULL && event != NULL);
}

/* What a queue tells, or destroys, when it is destroyed. */
static void the_destruction_of_a_queue_may_fork(void) {
  for (int place = FORK_IN_ITEM_DESTROY; place <= FORK_IN_CHANGE; place++) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    inturn_queue queue;
    inturn_operation operation;
    inturn_value state;
    options.on_event = never_event;
    options.event_destroy = fork_at_item_destroy;
    place_of_fork = -1;
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
    CHECK_OK(inturn_queue_suspend(queue));
    CHECK_OK(inturn_queue_enqueue(queue, never_work, NULL, NULL, &operation));
    CHECK_OK(inturn_operation_create_value(operation, INTURN_OPERATION_STATE,
                                           &state));
    CHECK_OK(
        inturn_value_observe(state, NULL, fork_at_change, NULL, NULL, NULL));
    place_of_fork = place;
    is_child = false;
    inturn_status status = inturn_queue_destroy(queue);
    if (is_child) {
      CHECK_STATUS(inturn_queue_suspend(queue), INTURN_E_FORKED);
      queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
      CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
      drain_and_destroy(queue);
      _exit(0);
    }
    CHECK_OK(status);
    CHECK_INT(place_of_fork, -1);
    CHECK_OK(inturn_operation_release(operation));
    CHECK_OK(inturn_value_destroy(state));
  }
}

PROGRAM(fork_callbacks, TEST(callbacks_of_a_batch_may_fork),
        TEST(conditions_and_destructions_of_segments_may_fork),
        TEST(the_destruction_of_a_queue_may_fork))
