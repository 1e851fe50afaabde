/*
 * wait_sites.c - the lines that wait, as named by snapshots and reports.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

/* What a work waits for, and in which line of this file; 0: in none that is
   known. */
typedef struct waiter {
  inturn_queue network;
  inturn_operation load;
  inturn_batch batch;
  inturn_value value;
  void (*wait)(struct waiter *waiter, inturn_token token);
  unsigned line;
} waiter;

#define WAIT(call) (waiter->line = __LINE__, (call))

static void wait_for_operation(waiter *waiter, inturn_token token) {
  CHECK_OK(WAIT(inturn_operation_wait(waiter->load, LIMIT_NS, NULL)));
  CHECK_OK(inturn_token_finish(token));
}

static void wait_for_batch(waiter *waiter, inturn_token token) {
  CHECK_OK(WAIT(inturn_batch_wait(waiter->batch, LIMIT_NS, NULL)));
  CHECK_OK(inturn_token_finish(token));
}

static void wait_for_queue(waiter *waiter, inturn_token token) {
  CHECK_OK(WAIT(inturn_queue_drain(waiter->network, LIMIT_NS)));
  CHECK_OK(inturn_token_finish(token));
}

static void wait_for_queue_or_list(waiter *waiter, inturn_token token) {
  inturn_operation_info list = INTURN_OPERATION_INFO_INIT;
  inturn_queue queue = waiter->network;
  size_t n;
  CHECK_OK(WAIT(inturn_queue_drain_or_list(queue, LIMIT_NS, &list, 1, &n)));
  CHECK_OK(inturn_token_finish(token));
}

static bool is_set(void *context, const inturn_datum *datum) {
  (void)context;
  return datum->integer != 0;
}

static void wait_for_value(waiter *waiter, inturn_token token) {
  CHECK_OK(
      WAIT(inturn_value_wait(waiter->value, is_set, NULL, LIMIT_NS, NULL)));
  CHECK_OK(inturn_token_finish(token));
}

/* A task goes on elsewhere. */
static void wait_as_a_task(waiter *waiter, inturn_token token) {
  inturn_await await;
  CHECK_OK(WAIT(inturn_await_begin(waiter->load.bits, &token, 1, &await)));
  CHECK_OK((inturn_operation_wait)(waiter->load, LIMIT_NS, NULL));
  CHECK_OK(inturn_await_end(await));
  CHECK_OK(inturn_token_finish(token));
}

/* A line that has not had to wait, or was refused, is not taken for another
   one's. */
static void wait_in_no_line(waiter *waiter, inturn_token token) {
  CHECK_STATUS(inturn_operation_wait(waiter->load, 0, NULL),
               INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_queue_drain((inturn_queue){0}, -1), INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_value_wait(waiter->value, NULL, NULL, -1, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_await_begin(waiter->load.bits, &token, 1, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK((inturn_operation_wait)(waiter->load, LIMIT_NS, NULL));
  CHECK_OK(inturn_token_finish(token));
}

/* Who waits on behalf of others says where they are. */
static void wait_for_others(waiter *waiter, inturn_token token) {
  inturn_site site = {"wait_sites.c", NULL, 7, 0};
  waiter->line = site.line;
  inturn_report_wait_at(&site);
  CHECK_OK((inturn_operation_wait)(waiter->load, LIMIT_NS, NULL));
  CHECK_OK(inturn_token_finish(token));
}

static void forget_a_line(waiter *waiter, inturn_token token) {
  inturn_site site = {"wait_sites.c", NULL, 7, 0};
  inturn_report_wait_at(&site);
  inturn_report_wait_at(NULL);
  CHECK_OK((inturn_operation_wait)(waiter->load, LIMIT_NS, NULL));
  CHECK_OK(inturn_token_finish(token));
}

static void call_wait(void *context, inturn_token token) {
  waiter *waiter = context;
  waiter->wait(waiter, token);
}

static bool find_wait(void *into, const inturn_entry *entry) {
  if (entry->kind == INTURN_ENTRY_WAIT)
    *(inturn_entry *)into = *entry;
  return true;
}

/* The only one, once it is there. */
static inturn_entry the_wait(void) {
  inturn_entry told = {0};
  while (told.kind == 0)
    CHECK_OK(inturn_snapshot(find_wait, &told));
  return told;
}

static void check_line(void (*wait)(waiter *waiter, inturn_token token)) {
  waiter waiter = {.wait = wait};
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_token token;
  inturn_batch_item item = {just_finish, NULL, NULL};
  inturn_datum no = INTURN_INTEGER(0), yes = INTURN_INTEGER(1);
  waiter.network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  hold(waiter.network, "load", &token);
  inturn_operation_options options = labelled("next");
  CHECK_OK(inturn_queue_enqueue_with(waiter.network, &options, just_finish,
                                     NULL, NULL, &waiter.load));
  CHECK_OK(inturn_queue_enqueue_batch(waiter.network, NULL, &item, 1,
                                      &waiter.batch));
  CHECK_OK(inturn_value_create(NULL, &no, &waiter.value));
  CHECK_OK(inturn_queue_enqueue(database, call_wait, &waiter, NULL, NULL));
  inturn_entry told = the_wait();
  CHECK_INT(told.line, waiter.line);
  CHECK((told.file != NULL) == (waiter.line != 0));
  if (told.file)
    CHECK(strstr(told.file, "wait_sites.c") != NULL);
  CHECK(told.other == database.bits);
  CHECK_OK(inturn_token_finish(token));
  CHECK_OK(inturn_value_set(waiter.value, &yes));
  drain_and_destroy(database);
  drain_and_destroy(waiter.network);
  CHECK_OK(inturn_operation_release(waiter.load));
  CHECK_OK(inturn_batch_release(waiter.batch));
  CHECK_OK(inturn_value_destroy(waiter.value));
}

static void the_line_of_each_wait_is_told(void) {
  check_line(wait_for_operation);
  check_line(wait_for_batch);
  check_line(wait_for_queue);
  check_line(wait_for_queue_or_list);
  check_line(wait_for_value);
  check_line(wait_as_a_task);
}

static inturn_observation observed;
static atomic_bool is_called, may_return;

static void stay(void) {
  atomic_store(&is_called, true);
  while (!atomic_load(&may_return))
    sched_yield();
}

static void stay_in_the_call(void *context, inturn_token token) {
  (void)context;
  stay();
  inturn_token_finish(token); /* E_STALE where the queue is gone */
}

static void stay_in_the_observer(void *context, const inturn_change *change) {
  (void)context, (void)change;
  stay();
}

static void destroy_the_queue(void *context) {
  waiter *waiter = context;
  CHECK_OK(WAIT(inturn_queue_destroy(waiter->network)));
}

static void destroy_the_value(void *context) {
  waiter *waiter = context;
  CHECK_OK(WAIT(inturn_value_destroy(waiter->value)));
}

static void cancel_the_observation(void *context) {
  waiter *waiter = context;
  CHECK_OK(WAIT(inturn_observation_cancel(observed, -1)));
}

/* These wait for a call that is under way elsewhere. */
static void check_line_of_end(void (*end)(void *waiter)) {
  waiter waiter = {.wait = NULL};
  inturn_datum no = INTURN_INTEGER(0), yes = INTURN_INTEGER(1);
  inturn_observe_options how = INTURN_OBSERVE_OPTIONS_INIT;
  waiter.network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  CHECK_OK(inturn_executor_pool(&how.executor));
  CHECK_OK(inturn_value_create(NULL, &no, &waiter.value));
  CHECK_OK(inturn_value_observe(waiter.value, &how, stay_in_the_observer, NULL,
                                NULL, &observed));
  atomic_store(&may_return, false);
  atomic_store(&is_called, false);
  if (end == destroy_the_queue)
    CHECK_OK(inturn_queue_enqueue(waiter.network, stay_in_the_call, NULL, NULL,
                                  NULL));
  else
    CHECK_OK(inturn_value_set(waiter.value, &yes));
  while (!atomic_load(&is_called))
    sched_yield();
  thread thread;
  thread_start(&thread, end, &waiter);
  inturn_entry told = the_wait();
  CHECK_INT(told.line, waiter.line);
  atomic_store(&may_return, true);
  thread_join(&thread);
  if (end != destroy_the_queue)
    CHECK_OK(inturn_queue_destroy(waiter.network));
  if (end != destroy_the_value)
    CHECK_OK(inturn_value_destroy(waiter.value));
}

static void the_line_that_waits_for_calls_to_return_is_told(void) {
  check_line_of_end(destroy_the_queue);
  check_line_of_end(destroy_the_value);
  check_line_of_end(cancel_the_observation);
}

static void a_line_is_that_of_one_wait(void) {
  check_line(wait_in_no_line);
  check_line(wait_for_others);
  check_line(forget_a_line);
}

static void wait_in_a_thread(void *context) {
  waiter *waiter = context;
  CHECK_OK(WAIT(inturn_queue_drain(waiter->network, LIMIT_NS)));
}

/* It holds nothing up, and is told all the same. */
static void a_thread_that_waits_outside_of_work_is_told(void) {
  waiter waiter = {.wait = NULL};
  inturn_token token;
  waiter.network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  hold(waiter.network, "load", &token);
  thread thread;
  thread_start(&thread, wait_in_a_thread, &waiter);
  inturn_entry told = the_wait();
  CHECK_INT(told.line, waiter.line);
  CHECK(told.queue == waiter.network.bits && told.other == 0 && told.id != 0);
  CHECK_OK(inturn_token_finish(token));
  thread_join(&thread);
  told.kind = 0;
  CHECK_OK(inturn_snapshot(find_wait, &told));
  CHECK_INT(told.kind, 0);
  drain_and_destroy(waiter.network);
}

/* A task that goes on elsewhere. */
static inturn_await begun;
static inturn_token token_of_task;

static void begin_a_task(waiter *waiter, inturn_token token) {
  token_of_task = token;
  CHECK_OK(WAIT(inturn_await_begin(waiter->load.bits, &token, 1, &begun)));
}

/* What keeps the work is what it waits for: one report tells both, and the line
   that waits. */
static void check_chain(void (*wait)(waiter *waiter, inturn_token token)) {
  waiter waiter = {.wait = wait};
  inturn_token token;
  char expected[128];
  stalls_begin(-1);
  waiter.network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation_options options = labelled("load");
  CHECK_OK(inturn_queue_enqueue_with(waiter.network, &options, keep_token,
                                     &token, NULL, &waiter.load));
  options.label = "save";
  CHECK_OK(inturn_queue_enqueue_with(database, &options, call_wait, &waiter,
                                     NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(database, just_finish, NULL, NULL, NULL));
  (void)the_wait();
  CHECK_OK(inturn_report_set_stall_limit(STALL_NS));
  stall told = STALL("wait save@database > token load@network");
  snprintf(expected, sizeof expected,
           "wait_sites.c:%u) for \"load\" of queue \"network\": running for ",
           waiter.line);
  CHECK(stall_says(&told, "\"save\" of queue \"database\" waits ("));
  CHECK(stall_says(&told, expected));
  CHECK_INT(stalls_of("token load@network"), 0);
  CHECK_OK(inturn_token_finish(token));
  if (begun.bits) {
    CHECK_OK(inturn_await_end(begun));
    CHECK_OK(inturn_token_finish(token_of_task));
  }
  drain_and_destroy(database);
  drain_and_destroy(waiter.network);
  CHECK_OK(inturn_operation_release(waiter.load));
  stalls_end();
}

static void the_chain_leads_through_a_wait(void) {
  check_chain(wait_for_operation);
  check_chain(wait_for_queue);
  check_chain(begin_a_task);
}

static atomic_bool goes_on;

/* A queue of these is never empty. */
static void enqueue_the_next(void *queue, inturn_token token) {
  if (atomic_load(&goes_on))
    CHECK_OK(inturn_queue_enqueue(*(inturn_queue *)queue, enqueue_the_next,
                                  queue, NULL, NULL));
  CHECK_OK(inturn_token_finish(token));
}

/* It may be for ever. */
static void work_that_waits_for_what_gets_on_is_told_later(void) {
  waiter waiter = {.wait = wait_for_queue};
  stalls_begin(STALL_NS);
  waiter.network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation_options options = labelled("save");
  atomic_store(&goes_on, true);
  CHECK_OK(inturn_queue_enqueue(waiter.network, enqueue_the_next,
                                &waiter.network, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue_with(database, &options, call_wait, &waiter,
                                     NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(database, just_finish, NULL, NULL, NULL));
  stall told = STALL("call save@database");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  atomic_store(&goes_on, false);
  drain_and_destroy(database);
  drain_and_destroy(waiter.network);
  stalls_end();
}

PROGRAM(wait_sites, TEST(the_line_of_each_wait_is_told),
        TEST(the_line_that_waits_for_calls_to_return_is_told),
        TEST(a_line_is_that_of_one_wait),
        TEST(a_thread_that_waits_outside_of_work_is_told),
        TEST(the_chain_leads_through_a_wait),
        TEST(work_that_waits_for_what_gets_on_is_told_later))
