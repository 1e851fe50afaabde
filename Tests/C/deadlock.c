/*
 * deadlock.c - section 9 of the manual: a wait that cannot end is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static inturn_queue own;
static inturn_operation own_operation, next_operation;
static reports told;

static void wait_for_own_queue(void) {
  CHECK_STATUS(inturn_queue_drain(own, LIMIT_NS), INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_queue_drain(own, -1), INTURN_E_DEADLOCK);
}

static atomic_bool has_begun;

static void wait_inside_work(void *context, inturn_token token) {
  atomic_store(&has_begun, true);
  wait_for_own_queue();
  just_finish(context, token);
}

static void wait_inside_end(void *context, const inturn_end *end) {
  CHECK(context == NULL);
  CHECK_INT(end->outcome, INTURN_FINISHED);
  wait_for_own_queue();
}

static void wait_inside_destroy(void *context) {
  CHECK(context != NULL);
  /* Otherwise, the enqueue was refused. */
  if (atomic_load(&has_begun))
    wait_for_own_queue();
}

static void the_own_queue_cannot_be_waited_for(inturn_queue_kind kind) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = wait_inside_end;
  own = pool_queue_create(kind, "own queue");
  atomic_store(&has_begun, false);
  reports_begin(&told);
  CHECK_OK(inturn_queue_enqueue_with(own, &options, wait_inside_work, &own,
                                     wait_inside_destroy, NULL));
  drain_and_destroy(own);
  reports_end();
  CHECK_INT(gate_count(&told.told), 6);
  CHECK_INT(told.kind, INTURN_REPORT_DEADLOCK);
  CHECK(strstr(told.message, "own queue") != NULL);
}

static int line_of_drain;

static void drain_own(void *context, inturn_token token) {
  line_of_drain = __LINE__ + 1;
  CHECK_STATUS(inturn_queue_drain(*(inturn_queue *)context, LIMIT_NS),
               INTURN_E_DEADLOCK);
  just_finish(context, token);
}

static void the_line_of_the_work_that_waits_is_told(void) {
  inturn_operation_options o = INTURN_OPERATION_OPTIONS_INIT;
  char site[32];
  own = pool_queue_create(INTURN_QUEUE_FIFO, "own queue");
  reports_begin(&told);
  CHECK_OK(inturn_queue_enqueue(own, drain_own, &own, NULL, NULL));
  snprintf(site, sizeof site, "deadlock.c:%d", __LINE__ - 1);
  GATE_WAIT(&told.told, 1);
  CHECK_TEXT(told.site, site);
  CHECK(strstr(told.message, "; the work that waits was enqueued at ") != NULL);
  CHECK(strstr(told.message, ", and waits at ") != NULL);
  snprintf(site, sizeof site, "deadlock.c:%d", line_of_drain);
  CHECK(strstr(told.message, site) != NULL);
  o.label = "labelled";
  CHECK_OK(inturn_queue_enqueue_with(own, &o, drain_own, &own, NULL, NULL));
  snprintf(site, sizeof site, "deadlock.c:%d", __LINE__ - 1);
  GATE_WAIT(&told.told, 2);
  CHECK_TEXT(told.site, site);
  drain_and_destroy(own);
  reports_end();
}

static void drain_own_at_the_end(void *context, const inturn_end *end) {
  CHECK(context == NULL);
  CHECK_INT(end->outcome, INTURN_FINISHED);
  CHECK_STATUS(inturn_queue_drain(own, LIMIT_NS), INTURN_E_DEADLOCK);
}

static void the_line_of_what_runs_beside_an_end_callback_is_not_told(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  inturn_operation_options o = INTURN_OPERATION_OPTIONS_INIT;
  inturn_token token;
  own = stage.queue;
  CHECK_OK(inturn_queue_enqueue(own, keep_token, &token, NULL, NULL));
  o.on_end = drain_own_at_the_end;
  CHECK_OK(inturn_queue_enqueue_with(own, &o, just_finish, NULL, NULL, NULL));
  reports_begin(&told);
  stage_drain(&stage);
  reports_end();
  CHECK_INT(gate_count(&told.told), 1);
  CHECK_TEXT(told.site, "?:0");
  CHECK_OK(inturn_token_finish(token));
  stage_drain(&stage);
  stage_destroy(&stage);
}

static void a_drain_inside_the_callbacks_of_the_queue_is_refused(void) {
  for_each_kind(the_own_queue_cannot_be_waited_for);
}

static void wait_for_operations(void *context, inturn_token token) {
  CHECK(context == NULL);
  CHECK_STATUS(inturn_operation_wait(own_operation, LIMIT_NS, NULL),
               INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_operation_wait(next_operation, -1, NULL),
               INTURN_E_DEADLOCK);
  just_finish(context, token);
}

static void own_operations_cannot_be_waited_for(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  reports_begin(&told);
  CHECK_OK(inturn_queue_enqueue(stage.queue, wait_for_operations, NULL, NULL,
                                &own_operation));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL,
                                &next_operation));
  stage_drain(&stage);
  reports_end();
  CHECK_INT(gate_count(&told.told), 2);
  CHECK_OK(inturn_operation_release(own_operation));
  CHECK_OK(inturn_operation_release(next_operation));
  stage_destroy(&stage);
}

static void an_operation_of_the_own_queue_cannot_be_waited_for(void) {
  for_each_kind(own_operations_cannot_be_waited_for);
}

static void just_fail(void *context, inturn_token token) {
  CHECK(context == NULL);
  CHECK_OK(inturn_token_fail(token, 1));
}

static bool wait_inside_decide(void *context, int32_t code, uint32_t attempts) {
  CHECK(context == NULL);
  CHECK_INT(code, 1);
  CHECK_STATUS(inturn_operation_wait(own_operation, LIMIT_NS, NULL),
               INTURN_E_DEADLOCK);
  return attempts < 2;
}

static void an_operation_cannot_be_waited_for_where_its_retry_is_decided(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_end end = INTURN_END_INIT;
  retry.decide = wait_inside_decide;
  options.retry = &retry;
  own = pool_queue_create(INTURN_QUEUE_FIFO, "own queue");
  reports_begin(&told);
  CHECK_OK(inturn_queue_suspend(own));
  CHECK_OK(inturn_queue_enqueue_with(own, &options, just_fail, NULL, NULL,
                                     &own_operation));
  CHECK_OK(inturn_queue_resume(own));
  CHECK_OK(inturn_operation_wait(own_operation, LIMIT_NS, &end));
  CHECK_INT(end.outcome, INTURN_FAILED);
  CHECK_INT(end.attempts, 2);
  reports_end();
  CHECK_INT(gate_count(&told.told), 2);
  CHECK_OK(inturn_operation_release(own_operation));
  drain_and_destroy(own);
}

static void just_ask(void *context, inturn_token token) {
  CHECK_STATUS(inturn_queue_drain(own, 0), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_operation_wait(own_operation, 0, NULL),
               INTURN_E_TIMED_OUT);
  just_finish(context, token);
  CHECK_OK(inturn_operation_wait(own_operation, 0, NULL));
}

static void who_just_asks_is_not_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  own = stage.queue;
  reports_begin(&told);
  CHECK_OK(inturn_queue_enqueue(own, just_ask, NULL, NULL, &own_operation));
  stage_drain(&stage);
  reports_end();
  CHECK_INT(gate_count(&told.told), 0);
  CHECK_OK(inturn_operation_release(own_operation));
  stage_destroy(&stage);
}

static void ask_for_the_one_before(void *context, inturn_token token) {
  inturn_end end = {0};
  CHECK_OK(inturn_operation_wait(own_operation, -1, &end));
  CHECK_INT(end.outcome, INTURN_FINISHED);
  just_finish(context, token);
}

static void an_ended_operation_is_no_deadlock(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL,
                                &own_operation));
  CHECK_OK(inturn_queue_enqueue(stage.queue, ask_for_the_one_before, NULL, NULL,
                                NULL));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).finished, 2);
  CHECK_OK(inturn_operation_release(own_operation));
  stage_destroy(&stage);
}

/* A ring: each queue's work waits for the next queue. */
enum { MOST = 3 };

typedef struct link {
  inturn_queue own, next;
  inturn_operation operation, next_operation;
  gate *started;
  int length;
  inturn_status status;
} link;

static void wait_for_next_queue(void *context, inturn_token token) {
  link *link = context;
  gate_pass(link->started);
  GATE_WAIT(link->started, link->length);
  link->status = inturn_queue_drain(link->next, LIMIT_NS);
  CHECK_OK(inturn_token_finish(token));
}

static void wait_for_next_operation(void *context, inturn_token token) {
  link *link = context;
  gate_pass(link->started);
  GATE_WAIT(link->started, 2 * link->length);
  link->status = inturn_operation_wait(link->next_operation, LIMIT_NS, NULL);
  CHECK_OK(inturn_token_finish(token));
}

/* Closes a ring, and checks that one of its waits is refused and reported. */
static void check_ring(int length, inturn_work_fn work) {
  static const char *const labels[MOST] = {"ring one", "ring two",
                                           "ring three"};
  for (int round = 0; round < 200; round++) {
    link links[MOST];
    gate started = GATE_INIT;
    int refused = 0;
    reports_begin(&told);
    for (int i = 0; i < length; i++)
      links[i].own = pool_queue_create(INTURN_QUEUE_FIFO, labels[i]);
    for (int i = 0; i < length; i++) {
      links[i].next = links[(i + 1) % length].own;
      links[i].started = &started;
      links[i].length = length;
      links[i].status = INTURN_OK;
      CHECK_OK(inturn_queue_enqueue(links[i].own, work, &links[i], NULL,
                                    &links[i].operation));
    }
    GATE_WAIT(&started, length);
    for (int i = 0; i < length; i++)
      links[i].next_operation = links[(i + 1) % length].operation;
    for (int i = 0; i < length; i++)
      gate_pass(&started);
    for (int i = 0; i < length; i++)
      CHECK_OK(inturn_queue_drain(links[i].own, LIMIT_NS));
    for (int i = 0; i < length; i++) {
      CHECK_OK(inturn_queue_destroy(links[i].own));
      CHECK_OK(inturn_operation_release(links[i].operation));
    }
    for (int i = 0; i < length; i++) {
      refused += links[i].status == INTURN_E_DEADLOCK;
      CHECK(links[i].status == INTURN_OK ||
            links[i].status == INTURN_E_DEADLOCK);
    }
    reports_end();
    CHECK_INT(refused, 1);
    CHECK_INT(gate_count(&told.told), 1);
    CHECK_INT(told.kind, INTURN_REPORT_DEADLOCK);
    for (int i = 0; i < length; i++)
      CHECK(strstr(told.message, labels[i]) != NULL);
    CHECK(strchr(told.message, '\n') == NULL);
  }
}

static void a_ring_of_two_queues_is_refused_to_one_of_them(void) {
  check_ring(2, wait_for_next_queue);
}

static void a_ring_of_three_queues_is_refused_to_one_of_them(void) {
  check_ring(3, wait_for_next_queue);
}

static void a_ring_of_operations_is_refused_to_one_of_them(void) {
  check_ring(2, wait_for_next_operation);
  check_ring(3, wait_for_next_operation);
}

/* Two works: one destroys the queue of the other, which waits for the first. */
static void destroy_next_queue(void *context, inturn_token token) {
  link *link = context;
  gate_pass(link->started);
  GATE_WAIT(link->started, link->length);
  link->status = inturn_queue_destroy(link->next);
  CHECK_OK(inturn_token_finish(token));
}

static void wait_for_destroyer(void *context, inturn_token token) {
  link *link = context;
  gate_pass(link->started);
  GATE_WAIT(link->started, link->length);
  link->status = inturn_queue_drain(link->next, LIMIT_NS);
  inturn_status finished = inturn_token_finish(token);
  CHECK(finished == INTURN_OK || finished == INTURN_E_ALREADY_FINISHED);
}

static void a_destruction_that_would_close_a_ring_is_refused(void) {
  reports_begin(&told);
  for (int round = 0; round < 200; round++) {
    gate started = GATE_INIT, waited = GATE_INIT;
    inturn_queue one = pool_queue_create(INTURN_QUEUE_FIFO, "one");
    inturn_queue two = pool_queue_create(INTURN_QUEUE_FIFO, "two");
    link destroyer = {one, two, {0}, {0}, &started, 2, INTURN_OK};
    link waiter = {two, one, {0}, {0}, &started, 2, INTURN_OK};
    CHECK_OK(
        inturn_queue_enqueue(one, destroy_next_queue, &destroyer, NULL, NULL));
    CHECK_OK(inturn_queue_enqueue_with(two, NULL, wait_for_destroyer, &waiter,
                                       NULL, NULL));
    GATE_WAIT(&started, 2);
    CHECK_OK(inturn_queue_drain(one, LIMIT_NS));
    if (destroyer.status == INTURN_E_DEADLOCK) {
      /* Nothing has changed: the queue still works. */
      CHECK_OK(inturn_queue_enqueue(two, count_work, &waited, NULL, NULL));
      drain_and_destroy(two);
      CHECK_INT(gate_count(&waited), 1);
      CHECK_STATUS(waiter.status, INTURN_OK);
    } else {
      CHECK_STATUS(destroyer.status, INTURN_OK);
      CHECK_STATUS(inturn_queue_destroy(two), INTURN_E_STALE);
      CHECK_STATUS(waiter.status, INTURN_E_DEADLOCK);
    }
    CHECK_OK(inturn_queue_destroy(one));
  }
  reports_end();
  CHECK_INT(gate_count(&told.told), 200);
}

/* Two queues on one executor that the test drains. */
static void wait_on_the_same_executor(void *context, inturn_token token) {
  CHECK_STATUS(inturn_queue_drain(own, LIMIT_NS), INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_operation_wait(next_operation, LIMIT_NS, NULL),
               INTURN_E_DEADLOCK);
  just_finish(context, token);
}

static void who_drains_an_executor_cannot_wait_for_its_queues(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = stage.executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &own));
  reports_begin(&told);
  CHECK_OK(inturn_queue_enqueue(stage.queue, wait_on_the_same_executor, NULL,
                                NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(own, just_finish, NULL, NULL, &next_operation));
  stage_drain(&stage);
  reports_end();
  CHECK_INT(gate_count(&told.told), 2);
  CHECK_OK(inturn_operation_release(next_operation));
  CHECK_OK(inturn_queue_destroy(own));
  stage_destroy(&stage);
}

/* A ring through the executor that the test drains: its queue waits for one on
   the pool, whose work waits for another queue of that executor. */
static void wait_for_pool(void *context, inturn_token token) {
  link *link = context;
  GATE_WAIT(link->started, 1);
  link->status = inturn_queue_drain(link->next, LIMIT_NS);
  just_finish(context, token);
}

static void wait_for_executor(void *context, inturn_token token) {
  link *link = context;
  gate_pass(link->started);
  link->status = inturn_queue_drain(link->next, LIMIT_NS);
  just_finish(context, token);
}

static void a_ring_through_an_executor_is_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate started = GATE_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue other, pool = pool_queue_create(INTURN_QUEUE_FIFO, "pool");
  options.executor = stage.executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  link first = {stage.queue, pool, {0}, {0}, &started, 2, INTURN_OK};
  link second = {pool, other, {0}, {0}, &started, 2, INTURN_OK};
  reports_begin(&told);
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, wait_for_pool, &first, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(other, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(pool, wait_for_executor, &second, NULL, NULL));
  stage_drain(&stage);
  drain_and_destroy(pool);
  reports_end();
  CHECK_INT((first.status == INTURN_E_DEADLOCK) +
                (second.status == INTURN_E_DEADLOCK),
            1);
  CHECK_INT(gate_count(&told.told), 1);
  CHECK_OK(inturn_queue_destroy(other));
  stage_destroy(&stage);
}

static void the_main_thread_cannot_wait_for_what_it_is_to_drain(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &own));
  CHECK_OK(inturn_queue_enqueue(own, just_finish, NULL, NULL, &own_operation));
  reports_begin(&told);
  CHECK_STATUS(inturn_queue_drain(own, LIMIT_NS), INTURN_E_DEADLOCK);
  CHECK_STATUS(inturn_operation_wait(own_operation, LIMIT_NS, NULL),
               INTURN_E_DEADLOCK);
  reports_end();
  CHECK_INT(gate_count(&told.told), 2);
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_OK(inturn_queue_drain(own, LIMIT_NS));
  CHECK_OK(inturn_operation_release(own_operation));
  CHECK_OK(inturn_queue_destroy(own));
}

static void drain_stage_inside(void *context, inturn_token token) {
  stage_drain(context);
  just_finish(context, token);
}

static void a_queue_further_up_the_stack_cannot_be_waited_for(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  own = pool_queue_create(INTURN_QUEUE_FIFO, "outer");
  reports_begin(&told);
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, wait_inside_work, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(own, drain_stage_inside, &stage, NULL, NULL));
  drain_and_destroy(own);
  reports_end();
  CHECK_INT(gate_count(&told.told), 2);
  CHECK_INT(statistics_of(stage.queue).finished, 1);
  stage_destroy(&stage);
}

static void wait_for_the_other(void *context, inturn_token token) {
  inturn_queue *other = context;
  CHECK_OK(inturn_queue_drain(*other, LIMIT_NS));
  just_finish(context, token);
}

static void a_chain_of_waiting_queues_is_no_ring(void) {
  inturn_queue queues[3];
  reports_begin(&told);
  for (int i = 0; i < 3; i++)
    queues[i] = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  for (int round = 0; round < 100; round++) {
    for (int i = 0; i < 2; i++)
      CHECK_OK(inturn_queue_enqueue(queues[i], wait_for_the_other,
                                    &queues[i + 1], NULL, NULL));
    CHECK_OK(inturn_queue_enqueue(queues[2], just_finish, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_drain(queues[0], LIMIT_NS));
  }
  /* In this order, so that no work waits for a destroyed queue. */
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_drain(queues[i], LIMIT_NS));
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_destroy(queues[i]));
  reports_end();
  CHECK_INT(gate_count(&told.told), 0);
}

PROGRAM(deadlock, TEST(a_drain_inside_the_callbacks_of_the_queue_is_refused),
        TEST(the_line_of_the_work_that_waits_is_told),
        TEST(the_line_of_what_runs_beside_an_end_callback_is_not_told),
        TEST(an_operation_of_the_own_queue_cannot_be_waited_for),
        TEST(an_operation_cannot_be_waited_for_where_its_retry_is_decided),
        TEST(who_just_asks_is_not_refused),
        TEST(an_ended_operation_is_no_deadlock),
        TEST(a_ring_of_two_queues_is_refused_to_one_of_them),
        TEST(a_ring_of_three_queues_is_refused_to_one_of_them),
        TEST(a_ring_of_operations_is_refused_to_one_of_them),
        TEST(a_destruction_that_would_close_a_ring_is_refused),
        TEST(who_drains_an_executor_cannot_wait_for_its_queues),
        TEST(a_ring_through_an_executor_is_refused),
        TEST(the_main_thread_cannot_wait_for_what_it_is_to_drain),
        TEST(a_queue_further_up_the_stack_cannot_be_waited_for),
        TEST(a_chain_of_waiting_queues_is_no_ring))
