/*
 * stuck_chains.c - a stall that is caused elsewhere is reported with the chain
 * to its cause.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

static void the_chain_leads_to_the_cause(void) {
  stalls_begin(-1);
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "database";
  stage database = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_token login;
  hold(network, "login", &login);
  inturn_operation load = enqueue_kept(network, "load", (inturn_operation){0});
  inturn_operation save = enqueue_kept(database.queue, "save", load);
  for (int i = 0; i < 213; i++)
    enqueue_one(database.queue, NULL);
  stage_drain(&database);
  /* Both are stalled by now, and are looked at together. */
  CHECK_OK(inturn_report_set_stall_limit(STALL_NS));
  stall told =
      STALL("after save@database > turn load@network > token login@network");
  CHECK(stall_says(&told,
                   "\"save\" of queue \"database\" waits for \"load\" of queue "
                   "\"network\" waits for \"login\" of queue \"network\": "
                   "running for "));
  CHECK(stall_says(&told, " 214 more wait behind it."));
  CHECK_TEXT(told.queue_label, "network");
  /* It is the same cause, and reported once. */
  CHECK_INT(stalls_of("token login@network"), 0);
  CHECK_OK(inturn_token_finish(login));
  CHECK_INT(end_of(load).outcome, INTURN_FINISHED);
  CHECK_OK(inturn_executor_wait(database.executor, LIMIT_NS, NULL));
  stage_drain(&database);
  CHECK_INT(end_of(save).outcome, INTURN_FINISHED);
  stage_destroy(&database);
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(load));
  CHECK_OK(inturn_operation_release(save));
  stalls_end();
}

static char whole_message[1024];
static const char *functions[3];

static void take_sites(const inturn_report *report) {
  CHECK(strlen(report->message) < sizeof whole_message);
  CHECK_INT(report->chain_count, 2);
  strcpy(whole_message, report->message);
  for (size_t i = 0; i < report->chain_count; i++)
    functions[i] = report->chain[i].function;
  CHECK(strcmp(report->file, report->chain[1].file) == 0);
  CHECK_INT(report->line, report->chain[1].line);
  functions[2] = report->function;
}

static void each_link_names_the_line_that_has_enqueued_it(void) {
  stalls_told = take_sites;
  stalls_begin(STALL_NS);
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue db = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation_options o = labelled("save");
  inturn_operation load;
  inturn_token token = {0};
  CHECK_OK(inturn_queue_enqueue(network, keep_token, &token, NULL, &load));
  int load_line = __LINE__ - 1;
  o.after = &load;
  o.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(db, &o, just_finish, NULL, NULL, NULL));
  int save_line = __LINE__ - 1;
  stall told = STALL("after save@database > token ?@network");
  char expected[512];
  snprintf(expected, sizeof expected, "stuck_chains.c:%d > stuck_chains.c:%d",
           save_line, load_line);
  CHECK_TEXT(told.sites, expected);
  snprintf(expected, sizeof expected,
           ": \"save\" (%s:%d) of queue \"database\" waits for an operation "
           "(%s:%d) of queue \"network\": running for ",
           __FILE__, save_line, __FILE__, load_line);
  if (strstr(whole_message, expected) == NULL)
    FAIL("%s is not in %s", expected, whole_message);
  for (int i = 0; i < 3; i++)
    CHECK_TEXT(functions[i], __func__);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(db);
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(load));
  stalls_end();
}

/* What is waited for is running, whatever else its queue does meanwhile. */
static void the_chain_leads_to_a_queue_that_gets_on(void) {
  stalls_begin(STALL_NS);
  inturn_queue network = labelled_queue(INTURN_QUEUE_CONCURRENT, "network");
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation_options options = labelled("load");
  inturn_operation load;
  inturn_token token = {0};
  CHECK_OK(inturn_queue_enqueue_with(network, &options, keep_token, &token,
                                     NULL, &load));
  inturn_operation save = enqueue_kept(database, "save", load);
  const char *chain = "after save@database > token load@network";
  while (stalls_of(chain) == 0) {
    inturn_operation other =
        enqueue_kept(network, "other", (inturn_operation){0});
    CHECK_OK(inturn_operation_wait(other, LIMIT_NS, NULL));
    CHECK_OK(inturn_operation_release(other));
  }
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(database);
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(load));
  CHECK_OK(inturn_operation_release(save));
  stalls_end();
}

enum { AWAITED_LIMIT_MS = 10, AWAITED_TIMES = 10 };

/* Both queues get on meanwhile, until the chain is told for what is awaited.
   Where the machine lets nothing run for the limit, a queue stands still and
   that is told before: then once more. */
static void get_on_until(const char *chain, inturn_queue one,
                         inturn_queue another) {
  for (stalls_begin(AWAITED_LIMIT_MS * MS);;) {
    if (stalls_of(NULL) > 0) {
      if (stalls_of(chain) > 0 &&
          STALL(chain).stalled_ns >= AWAITED_TIMES * AWAITED_LIMIT_MS * MS)
        return;
      stalls_begin(AWAITED_LIMIT_MS * MS);
    }
    enqueue_one(one, NULL);
    inturn_operation other =
        enqueue_kept(another, "other", (inturn_operation){0});
    CHECK_OK(inturn_operation_wait(other, LIMIT_NS, NULL));
    CHECK_OK(inturn_operation_release(other));
  }
}

/* In a queue that gets on, what somebody waits for is told, after ten times as
   long. */
static void what_is_awaited_is_told_though_its_queue_gets_on(void) {
  inturn_queue network = labelled_queue(INTURN_QUEUE_CONCURRENT, "network");
  inturn_operation_options options = labelled("load");
  inturn_token load;
  inturn_operation operation;
  hold_kept(network, &options, &load, &operation);
  CHECK_OK(inturn_report_set_awaited(operation.bits));
  get_on_until("token load@network", network, network);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(operation));
  stalls_end();
}

/* The same for one that others keep back: by an edge, by a name. */
static void what_keeps_back_what_is_awaited_is_told(void) {
  for (int by_name = 0; by_name < 2; by_name++) {
    inturn_queue photos = labelled_queue(INTURN_QUEUE_CONCURRENT, "photos");
    inturn_queue albums = labelled_queue(INTURN_QUEUE_CONCURRENT, "albums");
    const char *name = "disk";
    inturn_operation_options options = labelled("write");
    inturn_token token;
    inturn_operation write, copy;
    if (by_name) {
      options.exclusive = &name;
      options.exclusive_count = 1;
    }
    hold_kept(photos, &options, &token, &write);
    options.label = "copy";
    if (!by_name) {
      options.after = &write;
      options.after_count = 1;
    }
    CHECK_OK(inturn_queue_enqueue_with(albums, &options, just_finish, NULL,
                                       NULL, &copy));
    CHECK_OK(inturn_report_set_awaited(copy.bits));
    const char *chain = by_name ? "name copy@albums > token write@photos"
                                : "after copy@albums > token write@photos";
    get_on_until(chain, photos, albums);
    CHECK_OK(inturn_token_finish(token));
    drain_and_destroy(albums);
    drain_and_destroy(photos);
    CHECK_OK(inturn_operation_release(write));
    CHECK_OK(inturn_operation_release(copy));
    stalls_end();
  }
}

static void the_chain_leads_to_a_suspended_queue(void) {
  stalls_begin(STALL_NS);
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue database = labelled_queue(INTURN_QUEUE_CONCURRENT, "database");
  CHECK_OK(inturn_queue_suspend(network));
  inturn_operation load = enqueue_kept(network, "load", (inturn_operation){0});
  inturn_operation save = enqueue_kept(database, "save", load);
  stall told = STALL("after save@database > turn load@network > "
                     "suspended @network");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_queue_resume(network));
  drain_and_destroy(database);
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(load));
  CHECK_OK(inturn_operation_release(save));
  stalls_end();
}

static void a_name_that_another_one_has_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue photos = labelled_queue(INTURN_QUEUE_CONCURRENT, "photos");
  inturn_queue albums = labelled_queue(INTURN_QUEUE_CONCURRENT, "albums");
  const char *name = "disk";
  inturn_operation_options options = labelled("write");
  inturn_token token;
  options.exclusive = &name;
  options.exclusive_count = 1;
  hold_with(photos, &options, &token);
  options.label = "copy";
  CHECK_OK(inturn_queue_enqueue_with(albums, &options, just_finish, NULL, NULL,
                                     NULL));
  STALL("name copy@albums > token write@photos");
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(albums);
  drain_and_destroy(photos);
  stalls_end();
}

static inturn_operation third;
static inturn_token token_of_first;
static inturn_await await_of_first;
static atomic_bool may_wait, waits;

/* A task that goes on elsewhere. */
static void wait_for_the_third(void *context, inturn_token token) {
  (void)context;
  token_of_first = token;
  while (!atomic_load(&may_wait))
    sched_yield();
  CHECK_OK(inturn_await_begin(third.bits, &token, 1, &await_of_first));
  atomic_store(&waits, true);
}

static void begin_to_wait(void) {
  atomic_store(&may_wait, true);
  while (!atomic_load(&waits))
    sched_yield();
}

/* It has ended, but keeps its names until it gives its place up. */
static void a_name_that_a_held_place_keeps_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue uploads = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  inturn_queue photos = labelled_queue(INTURN_QUEUE_FIFO, "photos");
  const char *name = "disk";
  inturn_operation_options options = labelled("late");
  options.exclusive = &name;
  options.exclusive_count = 1;
  options.max_run_ns = MS;
  inturn_token token;
  hold_with(uploads, &options, &token);
  options.label = "copy";
  options.max_run_ns = 0;
  inturn_operation copy;
  CHECK_OK(inturn_queue_enqueue_with(photos, &options, just_finish, NULL, NULL,
                                     &copy));
  STALL("name copy@photos > place late@uploads");
  CHECK_REASON(copy, "name copy@photos > place late@uploads");
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
  drain_and_destroy(photos);
  drain_and_destroy(uploads);
  CHECK_OK(inturn_operation_release(copy));
  stalls_end();
}

static void end_and_block(void *context, inturn_token token) {
  job *job = context;
  CHECK_OK(inturn_token_finish(token));
  gate_pass(&job->started);
  GATE_WAIT(&job->go, 1);
}

static void what_comes_after_a_call_that_goes_on_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue uploads = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  inturn_queue photos = labelled_queue(INTURN_QUEUE_FIFO, "photos");
  job job = JOB("busy");
  inturn_operation busy = job_enqueue_kept(uploads, &job, end_and_block);
  GATE_WAIT(&job.started, 1);
  inturn_operation copy = enqueue_kept(photos, "copy", busy);
  STALL("after copy@photos > call busy@uploads");
  gate_pass(&job.go);
  drain_and_destroy(photos);
  drain_and_destroy(uploads);
  CHECK_OK(inturn_operation_release(busy));
  CHECK_OK(inturn_operation_release(copy));
  stalls_end();
}

static void what_a_held_place_of_its_batch_keeps_back_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "q");
  CHECK_OK(inturn_queue_set_max_concurrent(queue, 2));
  inturn_token token = {0};
  inturn_batch_item items[] = {{keep_token, &token, NULL},
                               {just_finish, NULL, NULL}};
  inturn_batch_edge edge = {1, 0};
  inturn_operation_options each = labelled("item");
  each.max_run_ns = MS;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = &each;
  options.edges = &edge;
  options.edge_count = 1;
  CHECK_OK(inturn_queue_enqueue_batch(queue, &options, items, 2, NULL));
  STALL("after item@q > place item@q");
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
  drain_and_destroy(queue);
  stalls_end();
}

static void end_the_wait(void) {
  CHECK_OK(inturn_operation_wait(third, LIMIT_NS, NULL));
  CHECK_OK(inturn_await_end(await_of_first));
  CHECK_OK(inturn_token_finish(token_of_first));
  CHECK_OK(inturn_operation_release(third));
}

static inturn_queue queue_of_two_places(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_CONCURRENT, "q");
  inturn_operation_options options = labelled("first");
  CHECK_OK(inturn_queue_set_max_concurrent(queue, 2));
  atomic_store(&may_wait, false);
  atomic_store(&waits, false);
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, wait_for_the_third, NULL,
                                     NULL, NULL));
  return queue;
}

/* It waits for what comes after it, which another one's end lets start. */
static void the_chain_leads_past_a_wait_for_what_comes_later(void) {
  stalls_begin(-1);
  inturn_queue queue = queue_of_two_places();
  inturn_token token;
  hold(queue, "second", &token);
  third = enqueue_kept(queue, "third", (inturn_operation){0});
  begin_to_wait();
  CHECK_REASON(third, "turn third@q > wait first@q > turn third@q > "
                      "token second@q");
  CHECK_OK(inturn_report_set_stall_limit(STALL_NS));
  STALL("wait first@q > turn third@q > token second@q");
  CHECK_OK(inturn_token_finish(token));
  end_the_wait();
  drain_and_destroy(queue);
  stalls_end();
}

/* A lower limit closes it, when the wait was accepted long ago. */
static void a_ring_is_told_as_one(void) {
  stalls_begin(-1);
  inturn_queue queue = queue_of_two_places();
  inturn_token token;
  hold(queue, "second", &token);
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_token_finish(token));
  third = enqueue_kept(queue, "third", (inturn_operation){0});
  begin_to_wait();
  CHECK_OK(inturn_queue_set_max_concurrent(queue, 1));
  CHECK_OK(inturn_queue_resume(queue));
  CHECK_REASON(third, "turn third@q > wait first@q > turn third@q > "
                      "wait first@q");
  CHECK_OK(inturn_report_set_stall_limit(STALL_NS));
  stall told = STALL("wait first@q > turn third@q > wait first@q");
  CHECK(stall_says(&told, " of queue \"q\": they wait for each other."));
  CHECK_OK(inturn_queue_set_max_concurrent(queue, 2));
  end_the_wait();
  drain_and_destroy(queue);
  stalls_end();
}

PROGRAM(stuck_chains, TEST(the_chain_leads_to_the_cause),
        TEST(each_link_names_the_line_that_has_enqueued_it),
        TEST(the_chain_leads_to_a_queue_that_gets_on),
        TEST(what_is_awaited_is_told_though_its_queue_gets_on),
        TEST(what_keeps_back_what_is_awaited_is_told),
        TEST(the_chain_leads_to_a_suspended_queue),
        TEST(a_name_that_another_one_has_is_told),
        TEST(a_name_that_a_held_place_keeps_is_told),
        TEST(what_comes_after_a_call_that_goes_on_is_told),
        TEST(what_a_held_place_of_its_batch_keeps_back_is_told),
        TEST(the_chain_leads_past_a_wait_for_what_comes_later),
        TEST(a_ring_is_told_as_one))
