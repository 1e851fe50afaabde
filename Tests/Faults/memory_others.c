/*
 * memory_others.c - executors, batches, values, clocks; see memory.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memory.h"

/* Executors and clocks ---------------------------------------------------- */

static void executors(void) {
  inturn_executor executor;
  fail_from_here();
  if (ATTEMPT(inturn_executor_main(&executor)))
    CHECK_STATUS(inturn_executor_destroy(executor), INTURN_E_UNSUPPORTED);
  if (ATTEMPT(inturn_executor_pool(&executor)))
    CHECK_STATUS(inturn_executor_destroy(executor), INTURN_E_UNSUPPORTED);
}

static void woken(void *context) { (void)context; }

static void host_executor(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  inturn_taken taken;
  uint32_t waiting = 0;
  int fd = -1;
  void *data = NULL;
  fail_from_here();
  options.label = "a host";
  options.wake = woken;
  options.wake_context = made();
  options.wake_destroy = destroyed;
  if (!ATTEMPT(inturn_executor_create(&options, &queue_options.executor)))
    return;
  inturn_executor executor = queue_options.executor;
  ATTEMPT(inturn_executor_set_wake(executor, woken, made(), destroyed));
  ATTEMPT(inturn_executor_fd(executor, &fd));
  if (ATTEMPT(inturn_executor_attach(executor, "loop", &data))) {
    CHECK_OK(inturn_executor_get_attached(executor, "loop", &data));
    CHECK_OK(inturn_executor_detach(executor, "loop"));
  }
  if (ATTEMPT(inturn_queue_create(INTURN_QUEUE_FIFO, &queue_options, &queue))) {
    for (int i = 0; i < SOME; i++)
      enqueue(queue, NULL, NULL);
    if (accepted > 0) {
      CHECK_OK(inturn_executor_wait(executor, 0, &waiting));
      CHECK_OK(inturn_executor_take(executor, work, (inturn_token){0}, &taken));
      work(taken.context, taken.token);
      destroyed(taken.context);
    }
    CHECK_OK(inturn_executor_drain(executor, 0, NULL));
    if (ATTEMPT(inturn_executor_enqueue_and_take(
            NULL, executor, queue, work, made(), destroyed, NULL, &taken))) {
      accepted++;
      work(taken.context, taken.token);
      destroyed(taken.context);
    }
    CHECK_OK(inturn_executor_stop(executor));
    CHECK_OK(inturn_executor_run(executor));
    CHECK_INT(worked, accepted);
    CHECK_OK(inturn_queue_destroy(queue));
  }
  CHECK_OK(inturn_executor_destroy(executor));
}

static void pool_executor(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  fail_from_here();
  options.label = "a pool";
  options.workers = 2;
  if (!ATTEMPT(inturn_executor_create(&options, &queue_options.executor)))
    return;
  if (ATTEMPT(inturn_queue_create(INTURN_QUEUE_FIFO, &queue_options, &queue))) {
    enqueue(queue, NULL, NULL);
    drain_and_destroy(queue);
    CHECK_INT(worked, accepted);
  }
  inturn_status status;
  do /* A worker may still be on its way out of the queue. */
    status = inturn_executor_destroy(queue_options.executor);
  while (status == INTURN_E_BUSY);
  CHECK_OK(status);
}

static void clocks(void) {
  inturn_clock clock;
  int64_t now = 0;
  fail_from_here();
  if (!ATTEMPT(inturn_clock_create_manual(&clock)))
    return;
  CHECK_OK(inturn_clock_advance(clock, 5));
  CHECK_OK(inturn_clock_now(clock, &now));
  CHECK_INT(now, 5);
  CHECK_OK(inturn_clock_destroy(clock));
}

static void owners(void) {
  inturn_owner owners[SOME];
  int count = 0;
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    count += ATTEMPT(inturn_owner_create(1, &owners[count]));
  while (count > 0)
    CHECK_OK(inturn_owner_destroy(owners[--count]));
}

static void handle_report(void *context, const inturn_report *report) {
  (void)context;
  (void)report;
}

static void report_handler(void) {
  inturn_report report = INTURN_REPORT_INIT;
  report.kind = INTURN_REPORT_EXCEPTION;
  report.message = "something was thrown";
  fail_from_here();
  bool is_set =
      ATTEMPT(inturn_report_set_handler(handle_report, made(), destroyed));
  ATTEMPT(inturn_report_send(&report));
  if (is_set)
    CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
}

/* Stalls may be reported or not; the watchdog's thread may be started later. */
static void stuck(void) {
  begin(INTURN_QUEUE_FIFO);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "stuck";
  inturn_queue queue;
  CHECK_OK(inturn_report_set_handler(handle_report, NULL, NULL));
  fail_from_here();
  ATTEMPT(inturn_report_set_stall_limit(1000000));
  if (ATTEMPT(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue)))
    CHECK_OK(inturn_queue_destroy(queue));
  ATTEMPT(inturn_report_set_awaited(own.queue.bits));
  inturn_site site = {"here.c", NULL, 1, 0}; /* not known without memory */
  CHECK_OK(inturn_report_wait_at(&site));
  if (enqueue(own.queue, NULL, NULL))
    CHECK_STATUS(inturn_queue_drain(own.queue, 20000000), INTURN_E_TIMED_OUT);
  ATTEMPT(inturn_report_set_stall_limit(-1));
  run_all();
}

/* A task of the first operation waits for the second one, and cannot for its
   own, of which two are made when there is memory. */
static void wait_inside(void *context, inturn_token token) {
  inturn_operation *operations = context;
  inturn_await awaits[2];
  for (int i = 0; i < 2; i++) {
    if (ATTEMPT(inturn_await_begin(operations[1].bits, &token, 1, &awaits[i])))
      CHECK_OK(inturn_await_end(awaits[i]));
    inturn_status status =
        inturn_await_begin(operations[0].bits, &token, 1, &awaits[i]);
    if (status != INTURN_E_NO_MEMORY)
      CHECK_INT(status, INTURN_E_DEADLOCK);
  }
  worked++;
  CHECK_OK(inturn_token_finish(token));
}

static void awaits(void) {
  begin(INTURN_QUEUE_FIFO);
  inturn_operation operations[2];
  inturn_queue other;
  CHECK_OK(inturn_report_set_handler(handle_report, NULL, NULL));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &other));
  CHECK_OK(inturn_queue_suspend(other));
  CHECK_OK(inturn_queue_enqueue(own.queue, wait_inside, operations, NULL,
                                &operations[0]));
  accepted++;
  CHECK_OK(
      inturn_queue_enqueue(other, work, made(), destroyed, &operations[1]));
  accepted++;
  fail_from_here();
  stage_drain(&own);
  CHECK_INT(worked, 1);
  CHECK_OK(inturn_queue_resume(other));
  CHECK_OK(inturn_queue_drain(other, LIMIT_NS));
  CHECK_OK(inturn_queue_destroy(other));
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_operation_release(operations[i]));
  run_all();
}

static void statistics(void) {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  fail_from_here();
  CHECK_INT(inturn_version(), INTURN_VERSION);
  CHECK(inturn_status_message(INTURN_E_NO_MEMORY) != NULL);
  ATTEMPT(inturn_library_get_statistics(&statistics));
}

/* Batches ----------------------------------------------------------------- */

static inturn_batch_item items[SOME];
static int ends;

static void batch_ended(void *context, const inturn_batch_end *end) {
  (void)context;
  CHECK_INT(end->count, SOME);
  ends++;
}

/* A batch with these options and an end; suspended, so that it waits. */
static bool enqueue_batch(inturn_queue_kind kind, inturn_batch_options *options,
                          inturn_batch *batch) {
  begin(kind);
  CHECK_OK(inturn_queue_suspend(own.queue));
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    items[i] = (inturn_batch_item){work, made(), destroyed};
  options->on_end = batch_ended;
  options->end_context = made();
  options->end_destroy = destroyed;
  if (ATTEMPT(
          inturn_queue_enqueue_batch(own.queue, options, items, SOME, batch))) {
    accepted = SOME;
    return true;
  }
  CHECK_INT(statistics_of(own.queue).pending, 0);
  return false;
}

static void run_batch(inturn_queue_kind kind, inturn_batch_options *options) {
  inturn_batch batch;
  inturn_batch_end batch_end = {0};
  inturn_end end = {0};
  size_t ended = 0, count = 0;
  bool is_there = enqueue_batch(kind, options, &batch);
  CHECK_OK(inturn_queue_resume(own.queue));
  run_all();
  if (!is_there)
    return;
  CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, &batch_end));
  CHECK_INT(batch_end.finished, SOME);
  CHECK_OK(inturn_batch_get_progress(batch, &ended, &count));
  CHECK_INT(ended, count);
  CHECK_OK(inturn_batch_get_end(batch, 3, &end));
  CHECK_INT(end.outcome, INTURN_FINISHED);
  CHECK_OK(inturn_batch_release(batch));
  CHECK_INT(ends, 1);
}

static void batch_fifo(void) {
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  run_batch(INTURN_QUEUE_FIFO, &options);
}

static void batch_concurrent(void) {
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  run_batch(INTURN_QUEUE_CONCURRENT, &options);
}

static inturn_batch_edge edges[SOME - 1];

static void batch_edges(inturn_queue_kind kind) {
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  for (size_t i = 0; i < SOME - 1; i++)
    edges[i] = (inturn_batch_edge){i + 1, i / 2};
  options.edges = edges;
  options.edge_count = SOME - 1;
  run_batch(kind, &options);
}

static void batch_edges_concurrent(void) {
  batch_edges(INTURN_QUEUE_CONCURRENT);
}
static void batch_edges_fifo(void) { batch_edges(INTURN_QUEUE_FIFO); }

static void batch_options(void) {
  inturn_operation_options operation = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  operation.label = "one of many";
  operation.priority = 3;
  operation.max_wait_ns = 1000;
  options.operation = &operation;
  run_batch(INTURN_QUEUE_CONCURRENT, &options);
}

static void cancel_batch(inturn_operation_options *operation) {
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_batch batch;
  inturn_end end = {0};
  options.operation = operation;
  bool is_there = enqueue_batch(INTURN_QUEUE_CONCURRENT, &options, &batch);
  if (is_there)
    CHECK_OK(inturn_batch_cancel(batch));
  CHECK_OK(inturn_queue_resume(own.queue));
  run_until_quiet();
  CHECK_INT(worked, 0);
  if (!is_there)
    return;
  CHECK_OK(inturn_batch_get_end(batch, 3, &end));
  CHECK_INT(end.outcome, INTURN_CANCELLED);
  CHECK_OK(inturn_batch_release(batch));
}

static void batch_cancel(void) { cancel_batch(NULL); }

static void batch_cancel_options(void) {
  inturn_operation_options operation = INTURN_OPERATION_OPTIONS_INIT;
  operation.label = "one of many";
  cancel_batch(&operation);
}

static void batch_empty(void) {
  inturn_batch batch;
  begin(INTURN_QUEUE_FIFO);
  fail_from_here();
  if (ATTEMPT(inturn_queue_enqueue_batch(own.queue, NULL, NULL, 0, &batch))) {
    run_until_quiet();
    CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, NULL));
    CHECK_OK(inturn_batch_release(batch));
  }
}

/* Values ------------------------------------------------------------------ */

static int64_t changes;

static void change(void *context, const inturn_change *told) {
  (void)context;
  CHECK(told->number > 0 || told->kind == INTURN_CHANGE_INITIAL);
  changes++;
}

static bool is_seven(void *context, const inturn_datum *datum) {
  (void)context;
  return datum->integer == 7;
}

static void values(void) {
  inturn_datum texts[] = {INTURN_STRING("text", 4), INTURN_STRING("other", 5)};
  inturn_datum before;
  inturn_value_options options = INTURN_VALUE_OPTIONS_INIT;
  inturn_value value;
  bool is_exchanged = false;
  fail_from_here();
  options.label = "a value";
  if (!ATTEMPT(inturn_value_create(&options, &texts[0], &value)))
    return;
  ATTEMPT(inturn_value_set(value, &texts[1]));
  if (ATTEMPT(inturn_value_exchange(value, &texts[0], &before)))
    CHECK_OK(inturn_datum_release(&before));
  if (ATTEMPT(inturn_value_compare_exchange(value, &texts[0], &texts[1],
                                            &is_exchanged, NULL)))
    CHECK_OK(inturn_value_get(value, &before));
  else
    before = texts[0];
  CHECK_OK(inturn_datum_release(&before));
  CHECK_OK(inturn_value_destroy(value));
}

static inturn_value integer_value(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &zero, &value));
  return value;
}

static void numbers(void) {
  inturn_datum real = INTURN_DOUBLE(0), truth = INTURN_BOOLEAN(false), seven;
  inturn_value value, reals, truths;
  int64_t sum = 0;
  double real_sum = 0;
  bool is_true = true;
  value = integer_value();
  CHECK_OK(inturn_value_create(NULL, &real, &reals));
  CHECK_OK(inturn_value_create(NULL, &truth, &truths));
  fail_from_here();
  bool is_set = ATTEMPT(inturn_value_set_integer(value, 6));
  bool is_added = ATTEMPT(inturn_value_add(value, 1, &sum));
  CHECK_OK(inturn_value_get_integer(value, &sum));
  CHECK_INT(sum, is_set * 6 + is_added);
  ATTEMPT(inturn_value_set_double(reals, 1));
  ATTEMPT(inturn_value_add_double(reals, 1, &real_sum));
  CHECK_OK(inturn_value_get_double(reals, &real_sum));
  ATTEMPT(inturn_value_set_boolean(truths, true));
  CHECK_OK(inturn_value_get_boolean(truths, &is_true));
  if (sum == 7 &&
      ATTEMPT(inturn_value_wait(value, is_seven, NULL, LIMIT_NS, &seven)))
    CHECK_OK(inturn_datum_release(&seven));
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_value_destroy(reals));
  CHECK_OK(inturn_value_destroy(truths));
}

/* Each change that is made is delivered to each observer. */
static void observing(inturn_observe_options *options) {
  inturn_observation observations[SOME];
  int observers = 0, made_changes = 0;
  inturn_value value = integer_value();
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    observers +=
        ATTEMPT(inturn_value_observe(value, options, change, made(), destroyed,
                                     i % 2 ? &observations[observers] : NULL))
            ? 1
            : 0;
  for (int i = 0; i < SOME; i++)
    made_changes += ATTEMPT(inturn_value_set_integer(value, i + 1));
  if (own.queue.bits != 0)
    run_until_quiet();
  CHECK_OK(inturn_value_drain(value, LIMIT_NS));
  CHECK_INT(changes, (int64_t)observers * made_changes);
  CHECK_OK(inturn_value_destroy(value));
}

static void observe(void) { observing(NULL); }

static void observe_on_a_queue(void) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  begin(INTURN_QUEUE_FIFO);
  options.queue = own.queue;
  observing(&options);
}

static void observe_on_an_executor(void) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  begin(INTURN_QUEUE_FIFO);
  options.executor = own.executor;
  observing(&options);
}

static void cancel_observation(void) {
  inturn_observation observation;
  inturn_value value = integer_value();
  CHECK_OK(inturn_value_observe(value, NULL, change, made(), destroyed,
                                &observation));
  fail_from_here();
  CHECK_OK(inturn_observation_cancel(observation, LIMIT_NS));
  if (ATTEMPT(inturn_value_set_integer(value, 1)))
    CHECK_INT(changes, 0);
  CHECK_OK(inturn_value_destroy(value));
}

static void states(void) {
  inturn_operation operation;
  inturn_batch batch;
  inturn_value values[3] = {{0}, {0}, {0}};
  inturn_batch_item item = {work, made(), destroyed};
  begin(INTURN_QUEUE_CONCURRENT);
  CHECK(enqueue(own.queue, NULL, &operation));
  CHECK_OK(inturn_queue_enqueue_batch(own.queue, NULL, &item, 1, &batch));
  accepted++;
  fail_from_here();
  if (!ATTEMPT(inturn_queue_create_value(own.queue, INTURN_QUEUE_PENDING,
                                         &values[0])))
    values[0].bits = 0;
  if (!ATTEMPT(inturn_operation_create_value(operation, INTURN_OPERATION_STATE,
                                             &values[1])))
    values[1].bits = 0;
  if (!ATTEMPT(inturn_batch_create_value(batch, &values[2])))
    values[2].bits = 0;
  for (int i = 0; i < 3; i++)
    if (values[i].bits != 0)
      ATTEMPT(inturn_value_observe(values[i], NULL, change, made(), destroyed,
                                   NULL));
  run_all();
  for (int i = 0; i < 3; i++)
    if (values[i].bits != 0)
      CHECK_OK(inturn_value_destroy(values[i]));
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_batch_release(batch));
}

#define SCENARIO(name)                                                         \
  { #name, name }

const scenario other_scenarios[] = {
    SCENARIO(executors),
    SCENARIO(host_executor),
    SCENARIO(pool_executor),
    SCENARIO(clocks),
    SCENARIO(owners),
    SCENARIO(report_handler),
    SCENARIO(stuck),
    SCENARIO(awaits),
    SCENARIO(statistics),
    SCENARIO(batch_fifo),
    SCENARIO(batch_concurrent),
    SCENARIO(batch_edges_concurrent),
    SCENARIO(batch_edges_fifo),
    SCENARIO(batch_options),
    SCENARIO(batch_cancel),
    SCENARIO(batch_cancel_options),
    SCENARIO(batch_empty),
    SCENARIO(values),
    SCENARIO(numbers),
    SCENARIO(observe),
    SCENARIO(observe_on_a_queue),
    SCENARIO(observe_on_an_executor),
    SCENARIO(cancel_observation),
    SCENARIO(states),
    {NULL, NULL},
};
