/*
 * order_waits.c - section 9 of the manual for operations that wait for others:
 * a wait for one that cannot start before the waiter is done is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

/* What the waiting work waits for, and the status that it gets. */
static inturn_operation target;
static inturn_queue target_queue;
static inturn_status status;
static reports told;

static void wait_for_target(void *context, inturn_token token) {
  status = inturn_operation_wait(target, LIMIT_NS, NULL);
  just_finish(context, token);
}

static void drain_target(void *context, inturn_token token) {
  status = inturn_queue_drain(target_queue, LIMIT_NS);
  just_finish(context, token);
}

static inturn_operation enqueue_after(inturn_queue queue,
                                      inturn_operation earlier) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.after = &earlier;
  options.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

static inturn_operation enqueue_plain(inturn_queue queue) {
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, &operation));
  return operation;
}

static void begin(void) {
  status = INTURN_OK;
  reports_begin(&told);
}

static void end(bool is_refused) {
  reports_end();
  CHECK_STATUS(status, is_refused ? INTURN_E_DEADLOCK : INTURN_OK);
  CHECK_INT(gate_count(&told.told), is_refused);
  if (is_refused)
    CHECK_INT(told.kind, INTURN_REPORT_DEADLOCK);
}

static void check_after_own(inturn_queue_kind kind) {
  stage own = stage_create_of(kind, 1);
  inturn_queue others[3];
  inturn_operation operations[4];
  for (int i = 0; i < 3; i++)
    others[i] = pool_queue_create((inturn_queue_kind)(i + 1), NULL);
  begin();
  CHECK_OK(inturn_queue_enqueue(own.queue, wait_for_target, NULL, NULL, NULL));
  operations[0] = enqueue_plain(own.queue);
  for (int i = 0; i < 3; i++)
    operations[i + 1] = enqueue_after(others[i], operations[i]);
  target = operations[3];
  stage_drain(&own);
  end(true);
  for (int i = 0; i < 4; i++)
    CHECK_INT(end_of(operations[i]).outcome, INTURN_FINISHED);
  for (int i = 0; i < 4; i++)
    CHECK_OK(inturn_operation_release(operations[i]));
  for (int i = 0; i < 3; i++)
    drain_and_destroy(others[i]);
  stage_destroy(&own);
}

static void for_one_that_comes_after_a_later_one_of_the_own_queue(void) {
  for_each_kind(check_after_own);
}

static void check_drain_after_own(inturn_queue_kind kind) {
  stage own = stage_create_of(INTURN_QUEUE_FIFO, 1);
  target_queue = pool_queue_create(kind, NULL);
  begin();
  CHECK_OK(inturn_queue_enqueue(own.queue, drain_target, NULL, NULL, NULL));
  inturn_operation later = enqueue_plain(own.queue);
  inturn_operation after = enqueue_after(target_queue, later);
  stage_drain(&own);
  end(true);
  CHECK_INT(end_of(after).outcome, INTURN_FINISHED);
  CHECK_OK(inturn_operation_release(later));
  CHECK_OK(inturn_operation_release(after));
  drain_and_destroy(target_queue);
  stage_destroy(&own);
}

static void for_a_queue_with_such_an_operation(void) {
  for_each_kind(check_drain_after_own);
}

static inturn_operation flaky;

static void wait_when_it_has_failed(void *context, inturn_token token) {
  CHECK_INT(state_of(flaky), INTURN_PENDING);
  wait_for_target(context, token);
}

static void after_a_failed_attempt_as_well(void) {
  stage own = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  inturn_queue other = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job job = JOB("flaky");
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_operation_options options = job_options(&job);
  options.retry = &retry;
  begin();
  flaky = job_enqueue_with(own.queue, &job, work_hold, &options);
  stage_drain(&own);
  target = enqueue_after(other, flaky);
  CHECK_OK(inturn_queue_enqueue(own.queue, wait_when_it_has_failed, NULL, NULL,
                                NULL));
  stage_fail(&own, &job);
  end(true);
  stage_finish(&own, &job);
  CHECK_INT(end_of(target).outcome, INTURN_FINISHED);
  CHECK_OK(inturn_operation_release(target));
  CHECK_OK(inturn_operation_release(flaky));
  drain_and_destroy(other);
  stage_destroy(&own);
}

/* A suspended concurrent queue on a pool of this program's own. */
typedef struct crew {
  inturn_executor pool;
  inturn_queue queue;
} crew;

static crew crew_create(void) {
  crew crew;
  inturn_executor_options pool = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  pool.workers = 4;
  CHECK_OK(inturn_executor_create(&pool, &crew.pool));
  options.executor = crew.pool;
  options.max_concurrent = 4;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &crew.queue));
  CHECK_OK(inturn_queue_suspend(crew.queue));
  return crew;
}

static void crew_go(const crew *crew) {
  CHECK_OK(inturn_queue_resume(crew->queue));
  drain_and_destroy(crew->queue);
  CHECK_OK(inturn_executor_destroy(crew->pool));
}

static inturn_operation enqueue_barrier(inturn_queue queue,
                                        inturn_work_fn work) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.barrier = true;
  CHECK_OK(
      inturn_queue_enqueue_with(queue, &options, work, NULL, NULL, &operation));
  return operation;
}

static void for_a_later_barrier_of_the_own_queue(void) {
  crew crew = crew_create();
  begin();
  CHECK_OK(inturn_queue_enqueue(crew.queue, wait_for_target, NULL, NULL, NULL));
  target = enqueue_barrier(crew.queue, just_finish);
  crew_go(&crew);
  end(true);
  CHECK_OK(inturn_operation_release(target));
}

static void for_one_behind_a_later_barrier(void) {
  crew crew = crew_create();
  begin();
  CHECK_OK(inturn_queue_enqueue(crew.queue, wait_for_target, NULL, NULL, NULL));
  CHECK_OK(inturn_operation_release(enqueue_barrier(crew.queue, just_finish)));
  target = enqueue_plain(crew.queue);
  crew_go(&crew);
  end(true);
  CHECK_OK(inturn_operation_release(target));
}

static void inside_a_barrier_for_one_behind_it(void) {
  crew crew = crew_create();
  begin();
  CHECK_OK(
      inturn_operation_release(enqueue_barrier(crew.queue, wait_for_target)));
  target = enqueue_plain(crew.queue);
  crew_go(&crew);
  end(true);
  CHECK_OK(inturn_operation_release(target));
}

static void before_a_barrier_another_one_can_be_waited_for(void) {
  crew crew = crew_create();
  begin();
  CHECK_OK(inturn_queue_enqueue(crew.queue, wait_for_target, NULL, NULL, NULL));
  target = enqueue_plain(crew.queue);
  CHECK_OK(inturn_operation_release(enqueue_barrier(crew.queue, just_finish)));
  crew_go(&crew);
  end(false);
  CHECK_OK(inturn_operation_release(target));
}

static void wait_inside_end(void *context, const inturn_end *end) {
  CHECK(context == NULL && end->outcome == INTURN_FINISHED);
  status = inturn_operation_wait(target, LIMIT_NS, NULL);
}

static void one_that_has_ended_may_wait_for_a_barrier(void) {
  crew crew = crew_create();
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = wait_inside_end;
  begin();
  CHECK_OK(inturn_queue_enqueue_with(crew.queue, &options, just_finish, NULL,
                                     NULL, NULL));
  target = enqueue_barrier(crew.queue, just_finish);
  crew_go(&crew);
  end(false);
  CHECK_OK(inturn_operation_release(target));
}

static const char *const names[] = {"one"};

static inturn_operation enqueue_named(inturn_queue queue, inturn_work_fn work) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.exclusive = names;
  options.exclusive_count = 1;
  CHECK_OK(
      inturn_queue_enqueue_with(queue, &options, work, NULL, NULL, &operation));
  return operation;
}

static stage asking;

static void let_it_ask_and_wait(void *context, inturn_token token) {
  stage_drain(&asking);
  wait_for_target(context, token);
}

static void check_names(inturn_queue_kind kind) {
  for (int has_asked = 0; has_asked < 2; has_asked++) {
    stage own = stage_create(INTURN_QUEUE_FIFO);
    asking = stage_create(kind);
    begin();
    inturn_operation holder = enqueue_named(
        own.queue, has_asked ? let_it_ask_and_wait : wait_for_target);
    target = enqueue_named(asking.queue, just_finish);
    stage_drain(&own);
    end(true);
    stage_drain(&asking);
    CHECK_INT(end_of(target).outcome, INTURN_FINISHED);
    CHECK_OK(inturn_operation_release(holder));
    CHECK_OK(inturn_operation_release(target));
    stage_destroy(&own);
    stage_destroy(&asking);
  }
}

static void for_one_that_wants_a_name_that_the_waiter_has(void) {
  for_each_kind(check_names);
}

/* Two works that wait for each other, by way of a dependency. */
static inturn_operation second_target;
static inturn_status second_status;
static gate both_run;

static void first_waits(void *context, inturn_token token) {
  gate_pass(&both_run);
  GATE_WAIT(&both_run, 2);
  wait_for_target(context, token);
}

static void second_waits(void *context, inturn_token token) {
  gate_pass(&both_run);
  GATE_WAIT(&both_run, 2);
  second_status = inturn_operation_wait(second_target, LIMIT_NS, NULL);
  just_finish(context, token);
}

static void round_a_ring_of_waits_and_dependencies(void) {
  for (int round = 0; round < 200; round++) {
    inturn_queue queues[3];
    inturn_operation operations[5];
    both_run = (gate)GATE_INIT;
    begin();
    for (int i = 0; i < 3; i++) {
      queues[i] = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
      CHECK_OK(inturn_queue_suspend(queues[i]));
    }
    CHECK_OK(inturn_queue_enqueue(queues[0], first_waits, NULL, NULL,
                                  &operations[0]));
    operations[1] = enqueue_plain(queues[0]);
    CHECK_OK(inturn_queue_enqueue(queues[1], second_waits, NULL, NULL,
                                  &operations[2]));
    operations[3] = enqueue_plain(queues[1]);
    target = operations[4] = enqueue_after(queues[2], operations[3]);
    second_target = operations[1];
    for (int i = 0; i < 3; i++)
      CHECK_OK(inturn_queue_resume(queues[i]));
    for (int i = 0; i < 5; i++)
      CHECK_INT(end_of(operations[i]).outcome, INTURN_FINISHED);
    for (int i = 0; i < 5; i++)
      CHECK_OK(inturn_operation_release(operations[i]));
    for (int i = 0; i < 3; i++)
      drain_and_destroy(queues[i]);
    reports_end();
    CHECK((status == INTURN_E_DEADLOCK) +
              (second_status == INTURN_E_DEADLOCK) ==
          1);
    CHECK((status == INTURN_OK) + (second_status == INTURN_OK) == 1);
  }
}

/* These waits have to be allowed. */
static void for_what_another_thread_can_end_it_is_waited(void) {
  stage elsewhere = stage_create(INTURN_QUEUE_FIFO);
  inturn_queue own = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  begin();
  inturn_operation earlier = enqueue_plain(elsewhere.queue);
  target = enqueue_after(elsewhere.queue, earlier);
  CHECK_OK(inturn_queue_enqueue(own, wait_for_target, NULL, NULL, NULL));
  stage_drain(&elsewhere);
  drain_and_destroy(own);
  end(false);
  CHECK_OK(inturn_operation_release(earlier));
  CHECK_OK(inturn_operation_release(target));
  stage_destroy(&elsewhere);
}

PROGRAM(order_waits,
        TEST(for_one_that_comes_after_a_later_one_of_the_own_queue),
        TEST(for_a_queue_with_such_an_operation),
        TEST(after_a_failed_attempt_as_well),
        TEST(for_a_later_barrier_of_the_own_queue),
        TEST(for_one_behind_a_later_barrier),
        TEST(inside_a_barrier_for_one_behind_it),
        TEST(before_a_barrier_another_one_can_be_waited_for),
        TEST(one_that_has_ended_may_wait_for_a_barrier),
        TEST(for_one_that_wants_a_name_that_the_waiter_has),
        TEST(round_a_ring_of_waits_and_dependencies),
        TEST(for_what_another_thread_can_end_it_is_waited))
