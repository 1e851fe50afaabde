/*
 * stuck.c - what stands still is reported, with the chain to its cause.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

enum { LIMIT_MS = 50 };

static void begin(void) { stalls_begin(LIMIT_MS * MS); }

static void finish(inturn_token token) { CHECK_OK(inturn_token_finish(token)); }

static bool has(const stall *stall, const char *text) {
  return strstr(stall->message, text) != NULL;
}

static void drain_queue(void *queue) {
  CHECK_OK(inturn_queue_drain(*(inturn_queue *)queue, LIMIT_NS));
}

/* What runs does not end --------------------------------------------------- */

static void a_token_that_is_out_is_told(void) {
  begin();
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(network, "load", &load);
  for (int i = 0; i < 3; i++)
    enqueue_one(network, NULL);
  stall told = STALL("token load@network");
  CHECK(has(&told, "stuck for "));
  CHECK(has(&told, "\"load\" of queue \"network\": running for "));
  CHECK(has(&told, "its call has returned, its token has not been finished."));
  CHECK(has(&told, " 3 wait behind it."));
  CHECK_TEXT(told.queue_label, "network");
  CHECK_INT(told.waiting, 3);
  CHECK(told.stalled_ns >= LIMIT_MS * MS);
  finish(load);
  drain_and_destroy(network);
  stalls_end();
}

static void a_call_that_does_not_return_is_told(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  job job = JOB("compute");
  job_enqueue(queue, &job, work_block);
  enqueue_one(queue, NULL);
  stall told = STALL("call compute@slow");
  CHECK(has(&told, "its call has not returned. 1 waits behind it."));
  gate_pass(&job.go);
  drain_and_destroy(queue);
  stalls_end();
}

/* Its label is not known to the engine. */
static void plain_work_is_told_without_a_label(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, NULL);
  inturn_token token;
  CHECK_OK(inturn_queue_enqueue(queue, keep_token, &token, NULL, NULL));
  enqueue_one(queue, NULL);
  stall told = STALL("token ?@?");
  CHECK(has(&told, "an operation of an unnamed queue: running for "));
  finish(token);
  drain_and_destroy(queue);
  stalls_end();
}

static void a_place_that_a_deadline_holds_is_told(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  inturn_operation_options options = labelled("late");
  inturn_token token;
  options.max_run_ns = MS;
  options.max_run_policy = INTURN_MAX_RUN_HOLD;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, keep_token, &token, NULL,
                                     NULL));
  enqueue_one(queue, NULL);
  STALL("place late@uploads");
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
  drain_and_destroy(queue);
  stalls_end();
}

static void block_end(void *context, const inturn_end *end) {
  CHECK(end->outcome == INTURN_FINISHED);
  GATE_WAIT((gate *)context, 1);
}

static void a_callback_that_does_not_return_is_told(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  inturn_operation_options options = labelled("first");
  gate go = GATE_INIT;
  options.on_end = block_end;
  options.end_context = &go;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     NULL));
  enqueue_one(queue, NULL);
  STALL("callback @uploads");
  gate_pass(&go);
  drain_and_destroy(queue);
  stalls_end();
}

/* What just runs, and holds nobody up, gets ten times as long. */
static void what_runs_alone_is_told_later(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  stall told = STALL("token load@network");
  CHECK(told.stalled_ns >= 10 * LIMIT_MS * MS);
  CHECK_INT(told.waiting, 0);
  finish(load);
  drain_and_destroy(queue);
  stalls_end();
}

/* What is pending may not start ---------------------------------------------
 */

static void a_suspended_queue_that_a_thread_waits_for_is_told(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend_for(queue, "offline"));
  enqueue_one(queue, NULL);
  thread waiter;
  thread_start(&waiter, drain_queue, &queue);
  stall told = STALL("suspended @uploads");
  CHECK(told.stalled_ns < 10 * LIMIT_MS * MS);
  CHECK(has(&told, "queue \"uploads\": it is suspended for \"offline\"."));
  CHECK(has(&told, " 1 waits in it."));
  CHECK_OK(inturn_queue_resume_for(queue, "offline"));
  thread_join(&waiter);
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

static void a_suspended_queue_that_nobody_waits_for_is_told_later(void) {
  begin();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend(queue));
  enqueue_one(queue, NULL);
  stall told = STALL("suspended @uploads");
  CHECK(told.stalled_ns >= 10 * LIMIT_MS * MS);
  CHECK(has(&told, "queue \"uploads\": it is suspended."));
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
  stalls_end();
}

static void a_view_that_is_not_there_is_told(void) {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue dialogs;
  options.label = "dialogs";
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &dialogs));
  enqueue_one(dialogs, NULL);
  stall told = STALL("view @dialogs");
  CHECK(has(&told, "its view has not appeared."));
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  CHECK_OK(inturn_queue_drain(dialogs, LIMIT_NS));
  stalls_end();
  begin();
  CHECK_OK(inturn_queue_view_will_disappear(dialogs));
  enqueue_one(dialogs, NULL);
  told = STALL("view @dialogs");
  CHECK(has(&told, "its view is hidden."));
  CHECK_OK(inturn_queue_destroy(dialogs));
  stalls_end();
}

/* It is looked at in the time of the system, whatever the queue's clock is. */
static void a_manual_clock_that_stands_still_is_told(void) {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "paced";
  options.rate.max_starts = 1;
  options.rate.interval_ns = 1000;
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  stage_advance(&stage, 1);
  enqueue_one(stage.queue, NULL);
  CHECK_INT(stage_drain(&stage), 1);
  enqueue_one(stage.queue, NULL);
  stall told = STALL("clock @paced");
  CHECK(has(&told, "its clock, which is advanced by hand, is before"));
  stage_advance(&stage, 1000);
  CHECK_INT(statistics_of(stage.queue).finished, 2);
  stage_destroy(&stage);
  stalls_end();
}

/* It goes on by itself, so it is told only to who waits. */
static void a_rate_is_told_when_somebody_waits_for_it(void) {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = "paced";
  options.rate.max_starts = 1;
  options.rate.interval_ns = 3600 * INT64_C(1000000000);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  enqueue_one(queue, NULL);
  enqueue_one(queue, NULL);
  /* Time for it to be told, if it were. */
  inturn_queue other = labelled_queue(INTURN_QUEUE_FIFO, "other");
  CHECK_OK(inturn_queue_suspend(other));
  enqueue_one(other, NULL);
  STALL("suspended @other");
  CHECK_INT(stalls_of("delay @paced"), 0);
  thread waiter;
  thread_start(&waiter, drain_queue, &queue);
  stall told = STALL("delay @paced");
  CHECK(has(&told, "it starts nothing for another 35"));
  CHECK_OK(inturn_queue_cancel_all(queue));
  thread_join(&waiter);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_queue_destroy(other));
  stalls_end();
}

/* What may start is not called ----------------------------------------------
 */

static void an_executor_that_nobody_drains_is_told(void) {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "frames";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  enqueue_one(stage.queue, NULL);
  stall told = STALL("executor @frames");
  CHECK(has(&told, "nobody drains its executor. 1 waits in it."));
  stage_drain(&stage);
  stage_destroy(&stage);
  stalls_end();
}

static void drain_stage(void *context) { stage_drain(context); }

static void an_executor_whose_thread_is_in_a_call_is_told(void) {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "frames";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_queue other;
  options.label = "other";
  options.executor = stage.executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  job job = JOB("draw");
  job_enqueue(stage.queue, &job, work_block);
  enqueue_one(other, NULL);
  thread host;
  thread_start(&host, drain_stage, &stage);
  stall told = STALL("executor @other");
  CHECK(has(&told, "who drains its executor is in a call"));
  gate_pass(&job.go);
  thread_join(&host);
  CHECK_OK(inturn_queue_destroy(other));
  stage_destroy(&stage);
  stalls_end();
}

static void the_main_thread_is_told_of_its_own_executor_only(void) {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = "windows";
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  enqueue_one(queue, NULL);
  stall told = STALL("executor @windows");
  CHECK(has(&told, "the main thread does not drain its executor."));
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

static void a_pool_whose_threads_are_all_in_calls_is_told_once(void) {
  begin();
  inturn_executor_options pool = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue blocked, others[3];
  pool.workers = pool.max_workers = 1;
  CHECK_OK(inturn_executor_create(&pool, &options.executor));
  options.label = "blocked";
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &blocked));
  job job = JOB("call");
  job_enqueue(blocked, &job, work_block);
  GATE_WAIT(&job.started, 1);
  options.label = "other";
  for (int i = 0; i < 3; i++) {
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &others[i]));
    enqueue_one(others[i], NULL);
  }
  stall told = STALL("pool @other");
  CHECK(has(&told, "the only thread of its pool is in a call."));
  /* What just runs in it is told later: by then the others have been. */
  STALL("call call@blocked");
  CHECK_INT(stalls_of("pool @other"), 1);
  gate_pass(&job.go);
  for (int i = 0; i < 3; i++)
    drain_and_destroy(others[i]);
  drain_and_destroy(blocked);
  CHECK_OK(inturn_executor_destroy(options.executor));
  stalls_end();
}

/* Chains ---------------------------------------------------------------------
 */

static inturn_operation enqueue_kept(inturn_queue queue, const char *label,
                                     inturn_operation after) {
  inturn_operation_options options = labelled(label);
  inturn_operation operation;
  options.after = &after;
  options.after_count = after.bits != 0;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

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
  /* Both stand still by now, and are looked at together. */
  CHECK_OK(inturn_report_set_stall_limit(LIMIT_MS * MS));
  stall told =
      STALL("after save@database > turn load@network > token login@network");
  CHECK(has(&told, "\"save\" of queue \"database\" waits for \"load\" of queue "
                   "\"network\" waits for \"login\" of queue \"network\": "
                   "running for "));
  CHECK(has(&told, " 214 more wait behind it."));
  CHECK_TEXT(told.queue_label, "network");
  /* It is one cause, and told once. */
  CHECK_INT(stalls_of("token login@network"), 0);
  finish(login);
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

static void the_chain_leads_to_a_suspended_queue(void) {
  begin();
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_queue database = labelled_queue(INTURN_QUEUE_CONCURRENT, "database");
  CHECK_OK(inturn_queue_suspend(network));
  inturn_operation load = enqueue_kept(network, "load", (inturn_operation){0});
  inturn_operation save = enqueue_kept(database, "save", load);
  stall told = STALL("after save@database > turn load@network > "
                     "suspended @network");
  CHECK(told.stalled_ns < 10 * LIMIT_MS * MS);
  CHECK_OK(inturn_queue_resume(network));
  drain_and_destroy(database);
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(load));
  CHECK_OK(inturn_operation_release(save));
  stalls_end();
}

static void a_name_that_another_one_has_is_told(void) {
  begin();
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
  finish(token);
  drain_and_destroy(albums);
  drain_and_destroy(photos);
  stalls_end();
}

PROGRAM(stuck, TEST(a_token_that_is_out_is_told),
        TEST(a_call_that_does_not_return_is_told),
        TEST(plain_work_is_told_without_a_label),
        TEST(a_place_that_a_deadline_holds_is_told),
        TEST(a_callback_that_does_not_return_is_told),
        TEST(what_runs_alone_is_told_later),
        TEST(a_suspended_queue_that_a_thread_waits_for_is_told),
        TEST(a_suspended_queue_that_nobody_waits_for_is_told_later),
        TEST(a_view_that_is_not_there_is_told),
        TEST(a_manual_clock_that_stands_still_is_told),
        TEST(a_rate_is_told_when_somebody_waits_for_it),
        TEST(an_executor_that_nobody_drains_is_told),
        TEST(an_executor_whose_thread_is_in_a_call_is_told),
        TEST(the_main_thread_is_told_of_its_own_executor_only),
        TEST(a_pool_whose_threads_are_all_in_calls_is_told_once),
        TEST(the_chain_leads_to_the_cause),
        TEST(the_chain_leads_to_a_suspended_queue),
        TEST(a_name_that_another_one_has_is_told))
