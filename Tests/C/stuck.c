/*
 * stuck.c - stalls are reported, with the chain to their cause.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "stuck.h"

#include <sys/syscall.h>
#include <unistd.h>

static void drain_queue(void *queue) {
  CHECK_OK(inturn_queue_drain(*(inturn_queue *)queue, LIMIT_NS));
}

/* A site in this file, as a report names it. */
static const char *here(int line) {
  static char site[32];
  snprintf(site, sizeof site, "stuck.c:%d", line);
  return site;
}

/* Running work does not end ------------------------------------------------ */

static void a_token_that_is_out_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(network, "load", &load);
  for (int i = 0; i < 3; i++)
    enqueue_one(network, NULL);
  stall told = STALL("token load@network");
  CHECK(stall_says(&told, "stuck for "));
  CHECK(stall_says(&told, "\"load\" of queue \"network\": running for "));
  CHECK(stall_says(&told,
                   "its call has returned, its token has not been finished."));
  CHECK(stall_says(&told, " 3 wait behind it."));
  CHECK_TEXT(told.queue_label, "network");
  CHECK_INT(told.waiting, 3);
  CHECK(told.stalled_ns >= STALL_NS);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(network);
  stalls_end();
}

static void a_call_that_does_not_return_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  job job = JOB("compute");
  job_enqueue(queue, &job, work_block);
  enqueue_one(queue, NULL);
  stall told = STALL("call compute@slow");
  CHECK(stall_says(&told, "its call has not returned. 1 waits behind it."));
  gate_pass(&job.go);
  drain_and_destroy(queue);
  stalls_end();
}

/* Work that says on which thread it is, and blocks. */
typedef struct called {
  gate started, go;
  uint64_t thread;
} called;

static void tell_thread_and_block(void *context, inturn_token token) {
  called *called = context;
  called->thread = (uint64_t)syscall(SYS_gettid);
  gate_pass(&called->started);
  GATE_WAIT(&called->go, 1);
  CHECK_OK(inturn_token_finish(token));
}

static void check_thread(const called *called, const stall *told,
                         const char *name) {
  char place[64];
  CHECK(called->thread != 0);
  CHECK(told->thread == called->thread);
  snprintf(place, sizeof place,
           " on thread %llu (%s), its call has not returned",
           (unsigned long long)called->thread, name);
  CHECK(stall_says(told, place));
}

static void the_thread_of_a_call_is_told(inturn_queue_kind kind) {
  inturn_operation_options labelled_options = labelled("compute");
  const inturn_operation_options *each[] = {NULL, &labelled_options};
  for (int i = 0; i < 2; i++) {
    stalls_begin(STALL_NS);
    inturn_queue queue = pool_queue_create(kind, "slow");
    called called = {GATE_INIT, GATE_INIT, 0};
    inturn_operation operation;
    CHECK_OK(inturn_queue_enqueue_with(queue, each[i], tell_thread_and_block,
                                       &called, NULL, &operation));
    GATE_WAIT(&called.started, 1);
    stall reason = reason_of(operation);
    check_thread(&called, &reason, "inturn-worker");
    enqueue_one(queue, NULL);
    stall told = STALL(i ? "call compute@slow" : "call ?@slow");
    check_thread(&called, &told, "inturn-worker");
    gate_pass(&called.go);
    drain_and_destroy(queue);
    CHECK_OK(inturn_operation_release(operation));
    stalls_end();
  }
}

static void the_thread_of_a_call_is_told_on_each_kind(void) {
  for_each_kind(the_thread_of_a_call_is_told);
}

/* Plain operations are called one after the other, without the lock. */
static void the_thread_of_a_plain_call_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  called called = {GATE_INIT, GATE_INIT, 0};
  CHECK_OK(inturn_queue_suspend(queue));
  enqueue_one(queue, NULL);
  CHECK_OK(
      inturn_queue_enqueue(queue, tell_thread_and_block, &called, NULL, NULL));
  enqueue_one(queue, NULL);
  CHECK_OK(inturn_queue_resume(queue));
  stall told = STALL("call ?@slow");
  GATE_WAIT(&called.started, 1);
  check_thread(&called, &told, "inturn-worker");
  gate_pass(&called.go);
  drain_and_destroy(queue);
  stalls_end();
}

/* Does not return, and is cut off meanwhile. */
static void block_until_go(void *context, inturn_token token) {
  job *job = context;
  GATE_WAIT(&job->go, 1);
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void finish_and_block(void *context, inturn_token token) {
  job *job = context;
  work_finish(job, token);
  GATE_WAIT(&job->go, 1);
}

static void a_call_that_goes_on_after_its_end_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  job job = JOB("compute");
  job_enqueue(queue, &job, finish_and_block);
  enqueue_one(queue, NULL);
  stall told = STALL("call compute@slow");
  CHECK(stall_says(&told, "it has ended, its call or the destroy callback of "
                          "its context has not returned. 1 waits"));
  gate_pass(&job.go);
  drain_and_destroy(queue);
  stalls_end();
}

static void block_until_passed(void *go) { GATE_WAIT((gate *)go, 1); }

/* Plain operations that are started one after the other without the lock. */
static void a_destroy_callback_that_blocks_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "plain");
  gate go = GATE_INIT;
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(
      inturn_queue_enqueue(queue, just_finish, &go, block_until_passed, NULL));
  enqueue_one(queue, NULL);
  CHECK_OK(inturn_queue_resume(queue));
  stall told = STALL("call ?@plain");
  CHECK(stall_says(&told, "it has ended, its call or the destroy callback of "
                          "its context has not returned. 1 waits"));
  gate_pass(&go);
  drain_and_destroy(queue);
  stalls_end();
}

static void a_call_that_was_cut_off_is_told_later(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  inturn_operation_options options = labelled("compute");
  job job = JOB("compute");
  options.max_run_ns = MS;
  options.max_run_policy = INTURN_MAX_RUN_FREE;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, block_until_go, &job,
                                     NULL, NULL));
  stall told = STALL("callback @slow");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  gate_pass(&job.go);
  drain_and_destroy(queue);
  stalls_end();
}

/* The engine does not know a label. */
static void plain_work_is_told_without_a_label(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, NULL);
  inturn_token token;
  CHECK_OK(inturn_queue_enqueue(queue, keep_token, &token, NULL, NULL));
  const char *site = here(__LINE__ - 1);
  enqueue_one(queue, NULL);
  stall told = STALL("token ?@?");
  CHECK_TEXT(told.sites, site);
  CHECK(stall_says(&told, "an operation of an unnamed queue: running for "));
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  stalls_end();
}

/* It is called from its queue's buffer, which has its site. */
static void plain_work_in_its_call_is_told_with_its_site(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  job job = JOB("compute");
  enqueue_one(queue, NULL);
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(queue, work_block, &job, NULL, NULL));
  const char *site = here(__LINE__ - 1);
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  stall told = STALL("call ?@slow");
  CHECK_TEXT(told.sites, site);
  gate_pass(&job.go);
  drain_and_destroy(queue);
  stalls_end();
}

static void a_place_that_a_deadline_holds_is_told(void) {
  stalls_begin(STALL_NS);
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
  stalls_begin(STALL_NS);
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

/* Work that just runs, and blocks nothing, gets ten times as long. */
static void what_runs_alone_is_told_later(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  stall told = STALL("token load@network");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  CHECK_INT(told.waiting, 0);
  CHECK_OK(inturn_token_finish(load));
  drain_and_destroy(queue);
  stalls_end();
}

static inturn_queue dialogs_create(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue dialogs;
  options.label = "dialogs";
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &dialogs));
  return dialogs;
}

/* So does what is shown to a person, whatever is behind it, and whoever waits
   for the answer. */
static void what_is_shown_to_a_person_is_told_later(void) {
  stalls_begin(STALL_NS);
  inturn_queue dialogs = dialogs_create();
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  inturn_token question;
  hold(dialogs, "question", &question);
  CHECK_OK(inturn_report_set_awaited(question.bits));
  enqueue_one(dialogs, NULL);
  stall told = STALL("token question@dialogs");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  CHECK_INT(told.waiting, 1);
  CHECK_OK(inturn_token_finish(question));
  drain_and_destroy(dialogs);
  stalls_end();
}

static void what_is_shown_while_its_queue_is_drained_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue dialogs = dialogs_create();
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  inturn_token question;
  hold(dialogs, "question", &question);
  thread waiter;
  thread_start(&waiter, drain_queue, &dialogs);
  stall told = STALL("token question@dialogs");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(question));
  thread_join(&waiter);
  CHECK_OK(inturn_queue_destroy(dialogs));
  stalls_end();
}

/* Pending work may not start ----------------------------------------------- */

static void a_suspended_queue_that_a_thread_waits_for_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend_for(queue, "offline"));
  const char *site = here(__LINE__ - 1);
  enqueue_one(queue, NULL);
  thread waiter;
  thread_start(&waiter, drain_queue, &queue);
  stall told = STALL("suspended @uploads");
  CHECK_TEXT(told.sites, site);
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK(stall_says(&told, "queue \"uploads\": it is suspended for \"offline\", "
                          "and has been for "));
  CHECK(stall_says(&told, " 1 waits in it."));
  CHECK_OK(inturn_queue_resume_for(queue, "offline"));
  thread_join(&waiter);
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

static void a_suspended_queue_that_nobody_waits_for_is_told_later(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend(queue));
  const char *site = here(__LINE__ - 1);
  enqueue_one(queue, NULL);
  stall told = STALL("suspended @uploads");
  CHECK_TEXT(told.sites, site);
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  CHECK(stall_says(&told,
                   "queue \"uploads\": it is suspended, and has been for "));
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
  stalls_end();
}

static void a_view_that_is_not_there_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue dialogs = dialogs_create();
  enqueue_one(dialogs, NULL);
  stall told = STALL("view @dialogs");
  CHECK(stall_says(&told, "its view has not appeared."));
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  CHECK_OK(inturn_queue_drain(dialogs, LIMIT_NS));
  stalls_end();
  stalls_begin(STALL_NS);
  CHECK_OK(inturn_queue_view_will_disappear(dialogs));
  enqueue_one(dialogs, NULL);
  told = STALL("view @dialogs");
  CHECK(stall_says(&told, "its view is hidden."));
  CHECK_OK(inturn_queue_destroy(dialogs));
  stalls_end();
}

/* Measured in the system's time, whatever the queue's clock is. */
static void a_manual_clock_that_stands_still_is_told(void) {
  stalls_begin(STALL_NS);
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
  CHECK(stall_says(&told, "its manual clock has not reached"));
  stage_advance(&stage, 1000);
  CHECK_INT(statistics_of(stage.queue).finished, 2);
  stage_destroy(&stage);
  stalls_end();
}

/* It continues by itself, so it is only reported if somebody waits. */
static void a_rate_is_told_when_somebody_waits_for_it(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = "paced";
  options.rate.max_starts = 1;
  options.rate.interval_ns = 3600 * INT64_C(1000000000);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  enqueue_one(queue, NULL);
  enqueue_one(queue, NULL);
  /* Enough time for a report of it. */
  inturn_queue other = labelled_queue(INTURN_QUEUE_FIFO, "other");
  CHECK_OK(inturn_queue_suspend(other));
  enqueue_one(other, NULL);
  STALL("suspended @other");
  CHECK_INT(stalls_of("delay @paced"), 0);
  thread waiter;
  thread_start(&waiter, drain_queue, &queue);
  stall told = STALL("delay @paced");
  CHECK(stall_says(&told, "it starts nothing for another 35"));
  CHECK_OK(inturn_queue_cancel_all(queue));
  thread_join(&waiter);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_queue_destroy(other));
  stalls_end();
}

/* Somebody waits for it, but only for five times as long as a stall may last.
 */
static void what_goes_on_by_itself_soon_is_not_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "paced";
  options.rate.max_starts = 1;
  options.rate.interval_ns = 5 * STALL_NS;
  inturn_queue queue;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  enqueue_one(queue, NULL);
  enqueue_one(queue, NULL);
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_INT(stalls_of("delay @paced"), 0);
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

static void wait_for_batch(void *context) {
  CHECK_OK(inturn_batch_wait(*(inturn_batch *)context, LIMIT_NS, NULL));
}

static void a_rate_is_told_when_somebody_waits_for_a_batch(void) {
  stalls_begin(STALL_NS);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_batch_item items[2] = {{just_finish, NULL, NULL},
                                {just_finish, NULL, NULL}};
  inturn_queue queue;
  inturn_batch batch;
  options.label = "paced";
  options.rate.max_starts = 1;
  options.rate.interval_ns = 3600 * INT64_C(1000000000);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(inturn_queue_enqueue_batch(queue, NULL, items, 2, &batch));
  thread waiter;
  thread_start(&waiter, wait_for_batch, &batch);
  STALL("delay @paced");
  CHECK_OK(inturn_queue_cancel_all(queue));
  thread_join(&waiter);
  CHECK_OK(inturn_batch_release(batch));
  CHECK_OK(inturn_queue_destroy(queue));
  stalls_end();
}

PROGRAM(stuck, TEST(a_token_that_is_out_is_told),
        TEST(a_call_that_does_not_return_is_told),
        TEST(the_thread_of_a_call_is_told_on_each_kind),
        TEST(the_thread_of_a_plain_call_is_told),
        TEST(a_call_that_goes_on_after_its_end_is_told),
        TEST(a_destroy_callback_that_blocks_is_told),
        TEST(a_call_that_was_cut_off_is_told_later),
        TEST(plain_work_is_told_without_a_label),
        TEST(plain_work_in_its_call_is_told_with_its_site),
        TEST(a_place_that_a_deadline_holds_is_told),
        TEST(a_callback_that_does_not_return_is_told),
        TEST(what_runs_alone_is_told_later),
        TEST(what_is_shown_to_a_person_is_told_later),
        TEST(what_is_shown_while_its_queue_is_drained_is_told),
        TEST(a_suspended_queue_that_a_thread_waits_for_is_told),
        TEST(a_suspended_queue_that_nobody_waits_for_is_told_later),
        TEST(a_view_that_is_not_there_is_told),
        TEST(a_manual_clock_that_stands_still_is_told),
        TEST(a_rate_is_told_when_somebody_waits_for_it),
        TEST(what_goes_on_by_itself_soon_is_not_told),
        TEST(a_rate_is_told_when_somebody_waits_for_a_batch))
