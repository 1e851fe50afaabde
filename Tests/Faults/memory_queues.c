/*
 * memory_queues.c - queues and their operations; see memory.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memory.h"

static bool is_worth_it(void *context, int32_t code, uint32_t attempts) {
  (void)context;
  (void)code;
  return attempts < 3;
}

static inturn_verdict let_start(void *context) {
  (void)context;
  return INTURN_START;
}

/* Creating queues --------------------------------------------------------- */

/* From the library's first call on. */
static void use_new_queue(inturn_queue_kind kind,
                          inturn_queue_options *options) {
  inturn_queue queue;
  fail_from_here();
  if (options != NULL && options->on_event != NULL) {
    options->event_context = made();
    options->event_destroy = destroyed;
  }
  if (!ATTEMPT(inturn_queue_create(kind, options, &queue)))
    return;
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_close(queue));
  else
    enqueue(queue, NULL, NULL);
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_INT(worked, accepted);
  CHECK_OK(inturn_queue_destroy(queue));
}

static void queue_create_fifo(void) { use_new_queue(INTURN_QUEUE_FIFO, NULL); }
static void queue_create_actor(void) {
  use_new_queue(INTURN_QUEUE_ACTOR, NULL);
}
static void queue_create_concurrent(void) {
  use_new_queue(INTURN_QUEUE_CONCURRENT, NULL);
}
static void queue_create_interaction(void) {
  use_new_queue(INTURN_QUEUE_INTERACTION, NULL);
}

static void queue_create_with(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "a queue";
  options.capacity = 10;
  options.rate = (inturn_rate){1000, 0, 1000000};
  options.on_event = told_event;
  use_new_queue(INTURN_QUEUE_FIFO, &options);
}

/* Enqueuing --------------------------------------------------------------- */

/* Enqueues some of one sort, and lets them end. */
static void enqueue_some(inturn_queue_kind kind,
                         const inturn_operation_options *options) {
  begin(kind);
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    enqueue(own.queue, options, NULL);
  run_all();
}

static void plain_fifo(void) { enqueue_some(INTURN_QUEUE_FIFO, NULL); }
static void plain_actor(void) { enqueue_some(INTURN_QUEUE_ACTOR, NULL); }
static void plain_interaction(void) {
  enqueue_some(INTURN_QUEUE_INTERACTION, NULL);
}
static void plain_concurrent(void) {
  enqueue_some(INTURN_QUEUE_CONCURRENT, NULL);
}

static void plain_pool(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    enqueue(queue, NULL, NULL);
  drain_and_destroy(queue);
  CHECK_INT(worked, accepted);
}

static void with_label(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = "an operation";
  options.on_end = told;
  enqueue_some(INTURN_QUEUE_FIFO, &options);
}

static void with_deadlines(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_wait_ns = options.max_run_ns = options.stall_ns = 1000000;
  options.cancel_grace_ns = 1000;
  enqueue_some(INTURN_QUEUE_CONCURRENT, &options);
}

static void with_priority(void) {
  begin(INTURN_QUEUE_CONCURRENT);
  fail_from_here();
  for (int i = 0; i < SOME; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.priority = i - SOME / 2;
    enqueue(own.queue, &options, NULL);
  }
  run_all();
}

static void with_barrier(void) {
  begin(INTURN_QUEUE_CONCURRENT);
  fail_from_here();
  for (int i = 0; i < SOME; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.barrier = i % 3 == 0;
    enqueue(own.queue, &options, NULL);
  }
  run_all();
}

static void with_urgency(void) {
  begin(INTURN_QUEUE_INTERACTION);
  fail_from_here();
  for (int i = 0; i < SOME; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.urgent = i % 3 == 0;
    enqueue(own.queue, &options, NULL);
  }
  run_all();
}

static void with_names(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.exclusive = names;
  options.exclusive_count = 2;
  enqueue_some(INTURN_QUEUE_CONCURRENT, &options);
}

static void with_names_in_order(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.exclusive = names;
  options.exclusive_count = 1;
  enqueue_some(INTURN_QUEUE_ACTOR, &options);
}

static void with_key(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.key = "key";
  enqueue_some(INTURN_QUEUE_FIFO, &options);
}

static void with_condition(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.condition = let_start;
  enqueue_some(INTURN_QUEUE_INTERACTION, &options);
}

static void joining(inturn_queue_kind kind) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.key = "key";
  options.join = true;
  begin(kind);
  CHECK_OK(inturn_queue_suspend(own.queue));
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    enqueue(own.queue, &options, NULL);
  CHECK_OK(inturn_queue_resume(own.queue));
  run_until_quiet();
  CHECK_INT(worked, accepted > 0);
}

static void join_fifo(void) { joining(INTURN_QUEUE_FIFO); }
static void join_concurrent(void) { joining(INTURN_QUEUE_CONCURRENT); }

static void with_owner(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  uint64_t count = 0;
  begin(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_owner_create(0, &options.owner));
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    enqueue(own.queue, &options, NULL);
  CHECK_OK(inturn_owner_get_count(options.owner, &count));
  CHECK_INT(count, accepted);
  CHECK_OK(inturn_owner_destroy(options.owner));
  run_until_quiet();
  CHECK_INT(worked, 0);
}

static void with_handles(void) {
  inturn_operation operations[SOME];
  inturn_end end = {0};
  begin(INTURN_QUEUE_FIFO);
  fail_from_here();
  for (int i = 0; i < SOME; i++)
    if (!enqueue(own.queue, NULL, &operations[i]))
      operations[i].bits = 0;
  run_all();
  for (int i = 0; i < SOME; i++)
    if (operations[i].bits != 0) {
      CHECK_INT(state_of(operations[i]), INTURN_ENDED);
      CHECK_OK(inturn_operation_wait(operations[i], LIMIT_NS, &end));
      CHECK_OK(inturn_operation_release(operations[i]));
    }
}

/* Each comes after the two before it. */
static void chain(inturn_queue_kind kind, const char *label) {
  inturn_operation before[2] = {{0}, {0}};
  begin(kind);
  fail_from_here();
  for (int i = 0; i < SOME; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation next;
    options.label = label;
    options.after = before;
    options.after_count = before[0].bits != 0 ? 2 : 0;
    if (!enqueue(own.queue, &options, &next))
      continue;
    if (before[0].bits != 0)
      CHECK_OK(inturn_operation_release(before[0]));
    before[0] = before[1];
    before[1] = next;
  }
  for (int i = 0; i < 2; i++)
    if (before[i].bits != 0)
      CHECK_OK(inturn_operation_release(before[i]));
  run_all();
}

static void after_concurrent(void) { chain(INTURN_QUEUE_CONCURRENT, NULL); }
static void after_fifo(void) { chain(INTURN_QUEUE_FIFO, NULL); }
static void after_labelled(void) { chain(INTURN_QUEUE_CONCURRENT, "x"); }

/* Retries ----------------------------------------------------------------- */

static int failures;

static void fail_at_first(void *context, inturn_token token) {
  (void)context;
  worked++;
  if (failures++ % 3 < 2)
    CHECK_OK(inturn_token_fail(token, 1));
  else
    CHECK_OK(inturn_token_finish(token));
}

static void retrying(inturn_queue_kind kind, int64_t delay_ns) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = delay_ns;
  retry.decide = is_worth_it;
  options.retry = &retry;
  begin(kind);
  fail_from_here();
  for (int i = 0; i < 3; i++) {
    failures = 0;
    enqueue_work(own.queue, &options, fail_at_first, NULL);
    for (int attempt = 0; attempt < 3; attempt++)
      stage_advance(&own, delay_ns);
  }
  run_until_quiet();
  CHECK_INT(worked, 3 * accepted);
}

static void retry_fifo(void) { retrying(INTURN_QUEUE_FIFO, 0); }
static void retry_actor(void) { retrying(INTURN_QUEUE_ACTOR, 10); }
static void retry_interaction(void) { retrying(INTURN_QUEUE_INTERACTION, 10); }
static void retry_concurrent(void) { retrying(INTURN_QUEUE_CONCURRENT, 10); }

#define SCENARIO(name)                                                         \
  { #name, name }

const scenario queue_scenarios[] = {
    SCENARIO(queue_create_fifo),
    SCENARIO(queue_create_actor),
    SCENARIO(queue_create_concurrent),
    SCENARIO(queue_create_interaction),
    SCENARIO(queue_create_with),
    SCENARIO(plain_fifo),
    SCENARIO(plain_actor),
    SCENARIO(plain_interaction),
    SCENARIO(plain_concurrent),
    SCENARIO(plain_pool),
    SCENARIO(with_label),
    SCENARIO(with_deadlines),
    SCENARIO(with_priority),
    SCENARIO(with_barrier),
    SCENARIO(with_urgency),
    SCENARIO(with_names),
    SCENARIO(with_names_in_order),
    SCENARIO(with_key),
    SCENARIO(with_condition),
    SCENARIO(join_fifo),
    SCENARIO(join_concurrent),
    SCENARIO(with_owner),
    SCENARIO(with_handles),
    SCENARIO(after_concurrent),
    SCENARIO(after_fifo),
    SCENARIO(after_labelled),
    SCENARIO(retry_fifo),
    SCENARIO(retry_actor),
    SCENARIO(retry_interaction),
    SCENARIO(retry_concurrent),
    {NULL, NULL},
};
