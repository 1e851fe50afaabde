/*
 * take.c - operations that a host takes instead of having their work called.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <poll.h>

static const inturn_token none = {0};

static inturn_taken take(const stage *stage, inturn_token finished) {
  inturn_taken taken = {NULL, {99}};
  CHECK_OK(inturn_executor_take(stage->executor, never_work, finished, &taken));
  return taken;
}

/* Once it is taken, neither a destroy callback nor an end is left to call. */
static void enqueue_wanted(const stage *stage, gate *destroyed) {
  CHECK_OK(inturn_queue_enqueue(stage->queue, never_work, destroyed,
                                count_destroy, NULL));
}

static void an_operation_is_taken_instead_of_its_work_being_called(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  bool cancelled = true;
  enqueue_wanted(&stage, &destroyed);
  inturn_taken taken = take(&stage, none);
  CHECK(taken.context == &destroyed);
  CHECK_OK(inturn_token_is_cancelled(taken.token, &cancelled));
  CHECK(!cancelled);
  CHECK_INT(take(&stage, none).token.bits, 0);
  CHECK_OK(inturn_token_finish(taken.token));
  CHECK_STATUS(inturn_token_finish(taken.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  stage_destroy(&stage);
  CHECK_INT(gate_count(&destroyed), 0);
}

static void one_call_finishes_an_operation_and_takes_the_next(void) {
  enum { COUNT = 1000 };
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
  gate destroyed[COUNT];
  inturn_token token = none;
  for (int i = 0; i < COUNT; i++) {
    destroyed[i] = (gate)GATE_INIT;
    enqueue_wanted(&stage, &destroyed[i]);
  }
  for (int i = 0; i < COUNT; i++) {
    inturn_taken taken = take(&stage, token);
    CHECK(taken.context == &destroyed[i]);
    token = taken.token;
    CHECK_OK(inturn_queue_get_statistics(stage.queue, &statistics));
    CHECK_INT(statistics.finished, i);
    CHECK_INT(statistics.running, 1);
    CHECK_INT(statistics.pending, COUNT - 1 - i);
  }
  CHECK_INT(take(&stage, token).token.bits, 0);
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  stage_destroy(&stage);
}

static void what_comes_before_it_is_called(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  job first = JOB("a"), last = JOB("b");
  job_enqueue(stage.queue, &first, work_finish);
  enqueue_wanted(&stage, &destroyed);
  job_enqueue(stage.queue, &last, work_finish);
  inturn_taken taken = take(&stage, none);
  CHECK(taken.context == &destroyed);
  CHECK_TRACE("work a, end a finished");
  CHECK_INT(take(&stage, taken.token).token.bits, 0);
  CHECK_TRACE("work b, end b finished");
  stage_destroy(&stage);
}

static void one_that_is_cancelled_before_it_is_destroyed(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  enqueue_wanted(&stage, &destroyed);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  CHECK_INT(take(&stage, none).token.bits, 0);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

static void a_queue_whose_operation_was_taken_can_be_destroyed(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate taken_destroyed = GATE_INIT, destroyed = GATE_INIT;
  enqueue_wanted(&stage, &taken_destroyed);
  enqueue_wanted(&stage, &destroyed);
  inturn_taken taken = take(&stage, none);
  stage_destroy(&stage);
  CHECK_INT(gate_count(&taken_destroyed), 0);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK(inturn_token_finish(taken.token) != INTURN_OK);
}

static void a_concurrent_queue_gives_so_many_at_a_time(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 2);
  gate destroyed[3] = {GATE_INIT, GATE_INIT, GATE_INIT};
  for (int i = 0; i < 3; i++)
    enqueue_wanted(&stage, &destroyed[i]);
  inturn_taken first = take(&stage, none), second = take(&stage, none);
  CHECK(first.context == &destroyed[0]);
  CHECK(second.context == &destroyed[1]);
  CHECK_INT(take(&stage, none).token.bits, 0);
  inturn_taken third = take(&stage, second.token);
  CHECK(third.context == &destroyed[2]);
  CHECK_OK(inturn_token_finish(first.token));
  CHECK_OK(inturn_token_finish(third.token));
  stage_destroy(&stage);
}

static bool readable(int fd) {
  struct pollfd waiting = {fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1 && (waiting.revents & POLLIN) != 0;
}

static void the_host_is_told_of_what_a_take_leaves(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue other;
  gate destroyed[3] = {GATE_INIT, GATE_INIT, GATE_INIT}, wakes = GATE_INIT;
  int fd;
  options.executor = stage.executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  CHECK_OK(inturn_executor_fd(stage.executor, &fd));
  enqueue_wanted(&stage, &destroyed[0]);
  enqueue_wanted(&stage, &destroyed[1]);
  inturn_taken taken = take(&stage, none);
  CHECK(!readable(fd));
  CHECK_OK(inturn_executor_set_wake(stage.executor, count_wake, &wakes, NULL));
  taken = take(&stage, taken.token); /* nothing is left in between */
  CHECK(taken.context == &destroyed[1]);
  CHECK(!readable(fd));
  CHECK_INT(gate_count(&wakes), 0);
  enqueue_wanted(&stage, &destroyed[2]);
  CHECK_OK(inturn_queue_enqueue(other, just_finish, NULL, NULL, NULL));
  long before = gate_count(&wakes);
  /* Another queue's work is called first; then the third is taken. */
  taken = take(&stage, taken.token);
  CHECK(taken.context == &destroyed[2]);
  CHECK(!readable(fd));
  CHECK(gate_count(&wakes) >= before);
  CHECK_INT(take(&stage, taken.token).token.bits, 0);
  CHECK_OK(inturn_queue_destroy(other));
  stage_destroy(&stage);
}

static void the_host_is_told_of_what_becomes_ready_during_a_take(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options after = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue other;
  inturn_operation first;
  gate destroyed[2] = {GATE_INIT, GATE_INIT}, wakes = GATE_INIT;
  options.executor = stage.executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, NULL, never_work,
                                     &destroyed[0], count_destroy, &first));
  enqueue_wanted(&stage, &destroyed[1]);
  after.after = &first;
  after.after_count = 1;
  CHECK_OK(
      inturn_queue_enqueue_with(other, &after, just_finish, NULL, NULL, NULL));
  inturn_taken taken = take(&stage, none);
  CHECK_INT(take(&stage, none).token.bits, 0);
  CHECK_OK(inturn_executor_set_wake(stage.executor, count_wake, &wakes, NULL));
  CHECK_INT(gate_count(&wakes), 0);
  /* This call handles one queue's turn; the other is left to the host. */
  taken = take(&stage, taken.token);
  CHECK(gate_count(&wakes) > 0);
  CHECK_INT(take(&stage, taken.token).token.bits, 0);
  CHECK_OK(inturn_operation_release(first));
  CHECK_OK(inturn_queue_destroy(other));
  stage_destroy(&stage);
}

static void more_than_64_calls_are_left_to_the_next_take(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT, worked = GATE_INIT;
  int fd, takes = 1;
  CHECK_OK(inturn_executor_fd(stage.executor, &fd));
  for (int i = 0; i < 100; i++)
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
  enqueue_wanted(&stage, &destroyed);
  inturn_taken taken = take(&stage, none);
  while (taken.token.bits == 0) {
    CHECK(readable(fd));
    CHECK(gate_count(&worked) <= 64 * takes++);
    taken = take(&stage, none);
  }
  CHECK(takes > 1);
  CHECK_INT(gate_count(&worked), 100);
  CHECK_OK(inturn_token_finish(taken.token));
  stage_destroy(&stage);
}

static void one_call_enqueues_an_operation_and_takes_it(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  inturn_operation operation = {99};
  inturn_taken taken = {NULL, {99}};
  int readable;
  CHECK_OK(inturn_executor_fd(stage.executor, &readable));
  CHECK_OK(inturn_executor_enqueue_and_take(NULL, stage.executor, stage.queue,
                                            never_work, &destroyed,
                                            count_destroy, &operation, &taken));
  CHECK(taken.context == &destroyed);
  CHECK_INT(operation.bits, 0);
  CHECK_INT(poll(&(struct pollfd){readable, POLLIN, 0}, 1, 0), 0);
  /* An operation that has to wait is the caller's to cancel and to release. */
  inturn_taken none_yet = {NULL, {99}};
  CHECK_OK(inturn_executor_enqueue_and_take(
      NULL, stage.executor, stage.queue, never_work, &destroyed, count_destroy,
      &operation, &none_yet));
  CHECK_INT(none_yet.token.bits, 0);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_token_finish(taken.token));
  stage_drain(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_OK(inturn_executor_enqueue_and_take(NULL, stage.executor, stage.queue,
                                            never_work, &destroyed,
                                            count_destroy, NULL, &taken));
  CHECK(taken.context == &destroyed);
  CHECK_OK(inturn_token_finish(taken.token));
  stage_destroy(&stage);
  CHECK_INT(gate_count(&destroyed), 1);
}

static void what_came_before_is_taken_first(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate first = GATE_INIT, second = GATE_INIT;
  inturn_operation operation = {0};
  inturn_taken taken = {NULL, {0}};
  enqueue_wanted(&stage, &first);
  CHECK_OK(inturn_executor_enqueue_and_take(NULL, stage.executor, stage.queue,
                                            never_work, &second, count_destroy,
                                            &operation, &taken));
  CHECK(taken.context == &first);
  CHECK(operation.bits != 0);
  CHECK_OK(inturn_operation_release(operation));
  taken = take(&stage, taken.token);
  CHECK(taken.context == &second);
  /* A queue that refuses does not keep anything from being taken. */
  enqueue_wanted(&stage, &first);
  CHECK_OK(inturn_token_finish(taken.token));
  CHECK_OK(inturn_queue_close(stage.queue));
  CHECK_STATUS(inturn_executor_enqueue_and_take(
                   NULL, stage.executor, stage.queue, never_work, &second,
                   count_destroy, &operation, &taken),
               INTURN_E_CLOSED);
  CHECK_INT(gate_count(&second), 1);
  CHECK(taken.context == &first);
  CHECK_OK(inturn_token_finish(taken.token));
  stage_destroy(&stage);
}

static void what_is_refused_finishes_and_takes_nothing(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT, refused = GATE_INIT;
  bool cancelled;
  inturn_executor pool;
  enqueue_wanted(&stage, &destroyed);
  inturn_taken taken = take(&stage, none), other = {NULL, {99}};
  CHECK_STATUS(inturn_executor_take(stage.executor, NULL, taken.token, &other),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(
      inturn_executor_take(stage.executor, never_work, taken.token, NULL),
      INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_STATUS(inturn_executor_take(pool, never_work, taken.token, &other),
               INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_executor_enqueue_and_take(NULL, stage.executor,
                                                stage.queue, NULL, &refused,
                                                count_destroy, NULL, &other),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_enqueue_and_take(
                   NULL, stage.executor, stage.queue, never_work, &refused,
                   count_destroy, NULL, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_executor_enqueue_and_take(NULL, pool, stage.queue,
                                                never_work, &refused,
                                                count_destroy, NULL, &other),
               INTURN_E_UNSUPPORTED);
  CHECK_INT(gate_count(&refused), 3);
  CHECK_INT(other.token.bits, 99);
  CHECK_OK(inturn_token_is_cancelled(taken.token, &cancelled));
  CHECK_OK(inturn_token_finish(taken.token));
  /* A refused token does not keep the next operation from being taken. */
  enqueue_wanted(&stage, &destroyed);
  taken = take(&stage, taken.token);
  CHECK(taken.context == &destroyed);
  CHECK_OK(inturn_token_finish(taken.token));
  stage_destroy(&stage);
}

static void a_take_inside_a_drain(void *stage, inturn_token token) {
  inturn_taken taken;
  CHECK_STATUS(inturn_executor_take(((struct stage *)stage)->executor,
                                    never_work, token, &taken),
               INTURN_E_WRONG_THREAD);
  CHECK_STATUS(
      inturn_executor_enqueue_and_take(NULL, ((struct stage *)stage)->executor,
                                       ((struct stage *)stage)->queue,
                                       never_work, NULL, NULL, NULL, &taken),
      INTURN_E_WRONG_THREAD);
  CHECK_OK(inturn_token_finish(token));
}

static void who_drains_already_is_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_enqueue(stage.queue, a_take_inside_a_drain, &stage,
                                NULL, NULL));
  stage_drain(&stage);
  stage_destroy(&stage);
}

PROGRAM(take, TEST(an_operation_is_taken_instead_of_its_work_being_called),
        TEST(one_call_finishes_an_operation_and_takes_the_next),
        TEST(what_comes_before_it_is_called),
        TEST(one_that_is_cancelled_before_it_is_destroyed),
        TEST(a_queue_whose_operation_was_taken_can_be_destroyed),
        TEST(a_concurrent_queue_gives_so_many_at_a_time),
        TEST(the_host_is_told_of_what_a_take_leaves),
        TEST(the_host_is_told_of_what_becomes_ready_during_a_take),
        TEST(more_than_64_calls_are_left_to_the_next_take),
        TEST(one_call_enqueues_an_operation_and_takes_it),
        TEST(what_came_before_is_taken_first),
        TEST(what_is_refused_finishes_and_takes_nothing),
        TEST(who_drains_already_is_refused))
