/*
 * awaits.c - waits of tasks, which say so: a ring of waits is refused, whether
 * threads or tasks make them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static reports told;

/* An operation that is running without a call, as a coroutine's is. */
typedef struct out {
  inturn_queue queue;
  inturn_operation operation;
  job job;
} out;

static void enqueue_out(out *out) {
  out->job = (job)JOB("task");
  out->operation = job_enqueue_kept(out->queue, &out->job, work_hold);
}

static void begin_out(out *out) {
  enqueue_out(out);
  GATE_WAIT(&out->job.started, 1);
}

static void end_out(out *out) {
  GATE_WAIT(&out->job.started, 1);
  CHECK_OK(inturn_token_finish(out->job.token));
  CHECK_OK(inturn_operation_wait(out->operation, LIMIT_NS, NULL));
  GATE_WAIT(&out->job.end_destroyed, 1);
  GATE_WAIT(&out->job.destroyed, 1);
  CHECK_OK(inturn_operation_release(out->operation));
}

static inturn_await begin_await(const out *inside, uint64_t awaited) {
  inturn_await await;
  CHECK_OK(inturn_await_begin(awaited, &inside->job.token, 1, &await));
  CHECK(await.bits != 0);
  return await;
}

/* The report names these, in this order, and then perhaps where work was
   enqueued. */
static void check_ring(const char *ring) {
  const char *named = strstr(told.message, ": ");
  CHECK(named != NULL);
  size_t length = strlen(ring);
  if (strncmp(named + 2, ring, length) != 0 ||
      (named[2 + length] != 0 && named[2 + length] != ';'))
    FAIL("%s, not %s", told.message, ring);
}

static void is_refused(const out *inside, uint64_t awaited, const char *ring) {
  inturn_await await = {1};
  reports_begin(&told);
  CHECK_STATUS(inturn_await_begin(awaited, &inside->job.token, 1, &await),
               INTURN_E_DEADLOCK);
  reports_end();
  CHECK(await.bits == 1);
  CHECK_INT(gate_count(&told.told), 1);
  CHECK_INT(told.kind, INTURN_REPORT_DEADLOCK);
  check_ring(ring);
}

static void a_task_does_not_wait_for_its_own_queue(inturn_queue_kind kind) {
  out first = {.queue = pool_queue_create(kind, "own")}, next = first;
  begin_out(&first);
  is_refused(&first, first.operation.bits,
             "queue \"own\" waits for queue \"own\"");
  is_refused(&first, first.queue.bits, "queue \"own\" waits for queue \"own\"");
  if (kind == INTURN_QUEUE_FIFO) {
    enqueue_out(&next);
    is_refused(&first, next.operation.bits,
               "queue \"own\" waits for queue \"own\"");
    end_out(&first);
    end_out(&next);
  } else {
    end_out(&first);
  }
  drain_and_destroy(first.queue);
}

static void a_ring_of_tasks_is_refused(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out other = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "other")};
  begin_out(&one);
  begin_out(&other);
  inturn_await await = begin_await(&one, other.operation.bits);
  const char *ring = "queue \"other\" waits for queue \"one\" waits for queue "
                     "\"other\"";
  is_refused(&other, one.operation.bits, ring);
  is_refused(&other, one.job.token.bits, ring);
  is_refused(&other, one.queue.bits, ring);
  /* Nothing of the refused wait is left, and the other one is over. */
  CHECK_OK(inturn_await_end(await));
  CHECK_STATUS(inturn_await_end(await), INTURN_E_STALE);
  await = begin_await(&other, one.operation.bits);
  CHECK_OK(inturn_await_end(await));
  end_out(&one);
  end_out(&other);
  drain_and_destroy(one.queue);
  drain_and_destroy(other.queue);
}

/* A thread inside of work that waits for a task. */
typedef struct waiter {
  inturn_operation awaited;
  inturn_status expected;
  gate has_begun, has_waited;
} waiter;

static void wait_inside(void *context, inturn_token token) {
  waiter *waiter = context;
  gate_pass(&waiter->has_begun);
  CHECK_STATUS(inturn_operation_wait(waiter->awaited, LIMIT_NS, NULL),
               waiter->expected);
  gate_pass(&waiter->has_waited);
  just_finish(NULL, token);
}

static bool waits_in(void *context, const inturn_entry *entry) {
  if (entry->kind == INTURN_ENTRY_WAIT)
    ++*(int *)context;
  return true;
}

static void until_there_are_waits(int count) {
  int waits = 0;
  while (waits < count) {
    waits = 0;
    CHECK_OK(inturn_snapshot(waits_in, &waits));
  }
}

static void a_thread_that_closes_the_ring_is_refused(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, "threads");
  out task = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "tasks")};
  begin_out(&task);
  CHECK_OK(inturn_queue_suspend(queue));
  waiter waiter = {task.operation, INTURN_E_DEADLOCK, GATE_INIT, GATE_INIT};
  inturn_operation waits;
  CHECK_OK(inturn_queue_enqueue(queue, wait_inside, &waiter, NULL, &waits));
  inturn_await await = begin_await(&task, waits.bits);
  reports_begin(&told);
  CHECK_OK(inturn_queue_resume(queue));
  GATE_WAIT(&waiter.has_waited, 1);
  reports_end();
  check_ring("queue \"threads\" waits for queue \"tasks\" waits for queue "
             "\"threads\"");
  CHECK_OK(inturn_await_end(await));
  CHECK_OK(inturn_operation_release(waits));
  end_out(&task);
  drain_and_destroy(task.queue);
  drain_and_destroy(queue);
}

static void a_task_that_closes_the_ring_is_refused(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, "threads");
  out task = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "tasks")};
  begin_out(&task);
  waiter waiter = {task.operation, INTURN_OK, GATE_INIT, GATE_INIT};
  inturn_operation waits, behind;
  CHECK_OK(inturn_queue_enqueue(queue, wait_inside, &waiter, NULL, &waits));
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, &behind));
  until_there_are_waits(1);
  const char *ring = "queue \"tasks\" waits for queue \"threads\" waits for "
                     "queue \"tasks\"";
  is_refused(&task, waits.bits, ring);
  is_refused(&task, behind.bits, ring);
  is_refused(&task, queue.bits, ring);
  /* Who is refused goes on, and so all do. */
  end_out(&task);
  GATE_WAIT(&waiter.has_waited, 1);
  CHECK_OK(inturn_operation_release(waits));
  CHECK_OK(inturn_operation_release(behind));
  drain_and_destroy(task.queue);
  drain_and_destroy(queue);
}

/* The operation comes after one of another queue, whose task waits. */
static void a_ring_may_lead_through_a_dependency(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out other = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "other")};
  out last = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "last")};
  begin_out(&one);
  begin_out(&other);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = &other.operation;
  options.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(last.queue, &options, just_finish, NULL,
                                     NULL, &last.operation));
  inturn_await await = begin_await(&other, one.operation.bits);
  is_refused(&one, last.operation.bits,
             "queue \"one\" waits for queue \"other\" waits for queue \"one\"");
  CHECK_OK(inturn_await_end(await));
  await = begin_await(&one, last.operation.bits);
  end_out(&other);
  CHECK_OK(inturn_operation_wait(last.operation, LIMIT_NS, NULL));
  CHECK_OK(inturn_await_end(await));
  CHECK_OK(inturn_operation_release(last.operation));
  end_out(&one);
  drain_and_destroy(one.queue);
  drain_and_destroy(other.queue);
  drain_and_destroy(last.queue);
}

/* Of several places, all have to be held by those who wait. */
static void only_the_last_place_is_refused(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.max_concurrent = 2;
  options.label = "shared";
  inturn_queue queue;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  out first = {.queue = queue}, second = first, third = first;
  begin_out(&first);
  begin_out(&second);
  enqueue_out(&third);
  /* However often one waits, it takes one place. */
  inturn_await awaits[2] = {begin_await(&first, third.operation.bits),
                            begin_await(&first, third.operation.bits)};
  is_refused(&second, third.operation.bits,
             "queue \"shared\" waits for queue \"shared\"");
  end_out(&second);
  end_out(&third);
  CHECK_OK(inturn_await_end(awaits[0]));
  CHECK_OK(inturn_await_end(awaits[1]));
  end_out(&first);
  drain_and_destroy(queue);
}

/* A task inside of a thread's work: both take one place together. */
static void a_thread_and_a_task_in_one_operation_take_one_place(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.max_concurrent = 2;
  inturn_queue queue;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  out first = {.queue = queue}, pending = first;
  out awaited = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "awaited")};
  begin_out(&awaited);
  waiter waiter = {awaited.operation, INTURN_OK, GATE_INIT, GATE_INIT};
  inturn_operation waits;
  CHECK_OK(inturn_queue_enqueue(queue, wait_inside, &waiter, NULL, &waits));
  GATE_WAIT(&waiter.has_begun, 1);
  begin_out(&first);
  enqueue_out(&pending);
  until_there_are_waits(1);
  /* The thread's operation ends before this one, which then goes on. */
  inturn_await await = begin_await(&first, pending.operation.bits);
  end_out(&awaited);
  end_out(&pending);
  CHECK_OK(inturn_await_end(await));
  end_out(&first);
  CHECK_OK(inturn_operation_release(waits));
  drain_and_destroy(awaited.queue);
  drain_and_destroy(queue);
}

static void a_batch_is_awaited(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out item = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "list"),
              .job = JOB("item")};
  begin_out(&one);
  inturn_batch_item items = {work_hold, &item.job, NULL};
  inturn_batch batch;
  CHECK_OK(inturn_queue_enqueue_batch(item.queue, NULL, &items, 1, &batch));
  GATE_WAIT(&item.job.started, 1);
  inturn_await await = begin_await(&item, one.operation.bits);
  is_refused(&one, batch.bits,
             "queue \"one\" waits for queue \"list\" waits for queue \"one\"");
  CHECK_OK(inturn_await_end(await));
  CHECK_OK(inturn_token_finish(item.job.token));
  CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, NULL));
  CHECK_STATUS(inturn_await_begin(batch.bits, &one.job.token, 1, &await),
               INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_batch_release(batch));
  end_out(&one);
  drain_and_destroy(one.queue);
  drain_and_destroy(item.queue);
}

static void an_operation_that_has_ended_holds_nothing(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out next = {.queue = one.queue};
  begin_out(&one);
  enqueue_out(&next);
  inturn_await await = {1};
  CHECK_OK(inturn_token_finish(one.job.token));
  GATE_WAIT(&next.job.started, 1);
  CHECK_OK(inturn_await_begin(next.operation.bits, &one.job.token, 1, &await));
  CHECK(await.bits == 0);
  CHECK_STATUS(inturn_await_end(await), INTURN_E_NULL_HANDLE);
  CHECK_OK(inturn_await_begin(next.operation.bits, NULL, 0, &await));
  CHECK(await.bits == 0);
  CHECK_STATUS(
      inturn_await_begin(one.operation.bits, &next.job.token, 1, &await),
      INTURN_E_ALREADY_FINISHED);
  /* One that ends while its task waits holds nothing from then on. */
  out last = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "last")};
  begin_out(&last);
  await = begin_await(&last, next.operation.bits);
  end_out(&last);
  begin_out(&last);
  inturn_await second = begin_await(&next, last.operation.bits);
  CHECK_OK(inturn_await_end(second));
  CHECK_OK(inturn_await_end(await));
  end_out(&last);
  CHECK_OK(inturn_operation_release(one.operation));
  end_out(&next);
  drain_and_destroy(last.queue);
  drain_and_destroy(one.queue);
}

static void
one_that_is_cut_off_holds_its_place_until_its_token_is_finished(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one"),
             .job = JOB("task")};
  out next = {.queue = one.queue};
  inturn_operation_options options = job_options(&one.job);
  options.max_run_ns = 1;
  one.operation = job_enqueue_with(one.queue, &one.job, work_hold, &options);
  CHECK_OK(inturn_operation_wait(one.operation, LIMIT_NS, NULL));
  enqueue_out(&next);
  is_refused(&one, next.operation.bits,
             "queue \"one\" waits for queue \"one\"");
  CHECK_STATUS(inturn_token_finish(one.job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(one.operation));
  end_out(&next);
  drain_and_destroy(one.queue);
}

/* The queue and the handle of what is awaited may go meanwhile. */
static void what_is_awaited_may_go(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out other = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "other")};
  begin_out(&one);
  begin_out(&other);
  inturn_await for_operation = begin_await(&one, other.operation.bits);
  inturn_await for_queue = begin_await(&one, other.queue.bits);
  CHECK_OK(inturn_operation_release(other.operation));
  is_refused(&other, one.operation.bits,
             "queue \"other\" waits for queue \"one\" waits for queue "
             "\"other\"");
  CHECK_OK(inturn_token_finish(other.job.token));
  drain_and_destroy(other.queue);
  other.queue = pool_queue_create(INTURN_QUEUE_FIFO, "other");
  begin_out(&other);
  inturn_await await = begin_await(&other, one.operation.bits);
  CHECK_OK(inturn_await_end(await));
  CHECK_OK(inturn_await_end(for_operation));
  CHECK_OK(inturn_await_end(for_queue));
  end_out(&one);
  end_out(&other);
  drain_and_destroy(one.queue);
  drain_and_destroy(other.queue);
}

/* The one that runs is asked to give way, and may; an urgent one is not. */
static void an_urgent_operation_may_come_before(bool is_running_urgent) {
  out first = {.queue = pool_queue_create(INTURN_QUEUE_INTERACTION, "dialogs")};
  out alert = first;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.urgent = is_running_urgent;
  first.job = (job)JOB("task");
  first.operation =
      job_enqueue_with(first.queue, &first.job, work_hold, &options);
  GATE_WAIT(&first.job.started, 1);
  options.urgent = true;
  alert.job = (job)JOB("alert");
  alert.operation =
      job_enqueue_with(alert.queue, &alert.job, work_finish, &options);
  if (is_running_urgent)
    is_refused(&first, alert.operation.bits,
               "queue \"dialogs\" waits for queue \"dialogs\"");
  else
    CHECK_OK(inturn_await_end(begin_await(&first, alert.operation.bits)));
  CHECK_OK(inturn_token_finish(first.job.token));
  CHECK_OK(inturn_operation_wait(alert.operation, LIMIT_NS, NULL));
  CHECK_OK(inturn_operation_release(first.operation));
  CHECK_OK(inturn_operation_release(alert.operation));
  drain_and_destroy(first.queue);
}

static void only_who_gives_way_waits_for_an_urgent_one(void) {
  an_urgent_operation_may_come_before(false);
  an_urgent_operation_may_come_before(true);
}

static void end_await(void *await) {
  CHECK_STATUS(inturn_await_end(*(inturn_await *)await), INTURN_E_FORKED);
}

static void a_child_does_not_end_its_parents(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out other = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "other")};
  begin_out(&one);
  begin_out(&other);
  inturn_await await = begin_await(&one, other.operation.bits);
  IN_CHILD(end_await, &await);
  CHECK_OK(inturn_await_end(await));
  end_out(&one);
  end_out(&other);
  drain_and_destroy(one.queue);
  drain_and_destroy(other.queue);
}

static void bad_arguments_are_refused(void) {
  out one = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "one")};
  out other = {.queue = pool_queue_create(INTURN_QUEUE_FIFO, "other")};
  begin_out(&one);
  begin_out(&other);
  inturn_await await;
  uint64_t awaited = other.operation.bits;
  CHECK_STATUS(inturn_await_begin(0, &one.job.token, 1, &await),
               INTURN_E_NULL_HANDLE);
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_STATUS(inturn_await_begin(pool.bits, &one.job.token, 1, &await),
               INTURN_E_WRONG_KIND);
  CHECK_STATUS(inturn_await_begin(awaited, NULL, 1, &await),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_await_begin(awaited, &one.job.token, SIZE_MAX, &await),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_await_begin(awaited, &one.job.token, 1, NULL),
               INTURN_E_INVALID_ARGUMENT);
  inturn_token wrong[2] = {one.job.token, {0}};
  CHECK_STATUS(inturn_await_begin(awaited, wrong, 2, &await),
               INTURN_E_NULL_HANDLE);
  wrong[1].bits = one.operation.bits;
  CHECK_STATUS(inturn_await_begin(awaited, wrong, 2, &await),
               INTURN_E_WRONG_KIND);
  await.bits = one.operation.bits;
  CHECK_STATUS(inturn_await_end(await), INTURN_E_WRONG_KIND);
  end_out(&one);
  end_out(&other);
  drain_and_destroy(one.queue);
  drain_and_destroy(other.queue);
}

static void of_each_kind(void) {
  for_each_kind(a_task_does_not_wait_for_its_own_queue);
}

PROGRAM(awaits, TEST(of_each_kind), TEST(a_ring_of_tasks_is_refused),
        TEST(a_thread_that_closes_the_ring_is_refused),
        TEST(a_task_that_closes_the_ring_is_refused),
        TEST(a_ring_may_lead_through_a_dependency),
        TEST(only_the_last_place_is_refused),
        TEST(a_thread_and_a_task_in_one_operation_take_one_place),
        TEST(a_batch_is_awaited),
        TEST(an_operation_that_has_ended_holds_nothing),
        TEST(one_that_is_cut_off_holds_its_place_until_its_token_is_finished),
        TEST(what_is_awaited_may_go),
        TEST(only_who_gives_way_waits_for_an_urgent_one),
        TEST(a_child_does_not_end_its_parents), TEST(bad_arguments_are_refused))
