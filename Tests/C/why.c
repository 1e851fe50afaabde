/*
 * why.c - a question can be asked at any time about what keeps an operation.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

/* It stays "3600 s" until the last second has passed: also on a clock that
   stands still. */
#define SOON_AN_HOUR (3600 * 1000 * MS + 999 * MS)

static inturn_operation enqueue(inturn_queue queue,
                                inturn_operation_options options) {
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

static inturn_operation enqueue_after(inturn_queue queue, const char *label,
                                      inturn_operation after) {
  inturn_operation_options options = labelled(label);
  options.after = &after;
  options.after_count = 1;
  return enqueue(queue, options);
}

static void release(inturn_operation operation) {
  CHECK_OK(inturn_operation_release(operation));
}

/* Its call has returned: only its token is missing. */
static inturn_operation held(inturn_queue queue, const char *label,
                             inturn_token *token) {
  inturn_operation_options options = labelled(label);
  inturn_operation operation;
  hold_kept(queue, &options, token, &operation);
  stall reason;
  do {
    reason = reason_of(operation);
  } while (!stall_says(&reason, "has returned"));
  return operation;
}

static void the_chain_leads_from_the_operation_to_its_cause_at_once(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "network";
  stage network = stage_create_with(INTURN_QUEUE_FIFO, options);
  options.label = "database";
  stage database = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_token token;
  inturn_operation_options login_options = labelled("login");
  inturn_operation login, load = {0};
  CHECK_OK(inturn_queue_enqueue_with(network.queue, &login_options, keep_token,
                                     &token, NULL, &login));
  load = enqueue(network.queue, labelled("load"));
  inturn_operation save = enqueue_after(database.queue, "save", load);
  inturn_operation last = enqueue(database.queue, labelled("last"));
  stage_drain(&network);
  stage_drain(&database);
  stall reason = reason_of(last);
  CHECK_TEXT(reason.chain, "turn last@database > after save@database > "
                           "turn load@network > token login@network");
  CHECK_TEXT(reason.message,
             "\"last\" of queue \"database\" waits for \"save\" of queue "
             "\"database\" waits for \"load\" of queue \"network\" waits for "
             "\"login\" of queue \"network\": its call has returned, its token "
             "has not been finished.");
  CHECK_TEXT(reason.queue_label, "network");
  CHECK_INT(reason.waiting, 0);
  CHECK(reason.first.bits == 0 && reason.last.bits == token.bits);
  CHECK_REASON(load, "turn load@network > token login@network");
  stall own = reason_of(login);
  CHECK_TEXT(own.chain, "token login@network");
  CHECK_INT(own.waiting, 1);
  CHECK(stall_says(&own, "has not been finished. 1 waits in its queue."));
  CHECK_OK(inturn_token_finish(token));
  stage_drain(&network);
  stage_drain(&database);
  CHECK_STATUS(inturn_why(login, NULL, NULL), INTURN_E_ALREADY_FINISHED);
  stage_destroy(&network);
  stage_destroy(&database);
  release(login), release(load), release(save), release(last);
}

static void how_long_something_runs_is_told(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token token;
  inturn_operation load = held(queue, "load", &token);
  stall reason = reason_of(load);
  CHECK(stall_says(&reason, "\"load\" of queue \"network\": running for "));
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  release(load);
}

static void a_call_that_goes_on_is_told(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "slow");
  job job = JOB("compute");
  inturn_operation operation = job_enqueue_kept(queue, &job, work_block);
  GATE_WAIT(&job.started, 1);
  CHECK_REASON(operation, "call compute@slow");
  gate_pass(&job.go);
  drain_and_destroy(queue);
  release(operation);
}

static void what_holds_a_queue_back_is_told(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  inturn_operation ask = enqueue(stage.queue, labelled("ask"));
  CHECK_REASON(ask, "turn ask@q > view @q");
  CHECK_OK(inturn_queue_suspend_for(stage.queue, "a call"));
  stall reason = reason_of(ask);
  CHECK_TEXT(reason.chain, "turn ask@q > suspended @q");
  CHECK(
      stall_says(&reason, "it is suspended for \"a call\", and has been for "));
  CHECK_OK(inturn_queue_resume_for(stage.queue, "a call"));
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  CHECK_REASON(ask, "turn ask@q > clock @q");
  CHECK_OK(inturn_clock_advance(stage.clock, 1000 * MS));
  CHECK_REASON(ask, "turn ask@q > executor @q");
  stage_drain(&stage);
  stage_destroy(&stage);
  release(ask);
}

/* Nobody has to wait for it, unlike in a report. */
static void a_delay_of_the_systems_clock_is_told(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  options.rate = (inturn_rate){1, 1, SOON_AN_HOUR};
  inturn_queue queue;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  inturn_operation first = enqueue(queue, labelled("first"));
  inturn_operation second = enqueue(queue, labelled("second"));
  CHECK_INT(end_of(first).outcome, INTURN_FINISHED);
  stall reason = reason_of(second);
  CHECK_TEXT(reason.chain, "turn second@q > delay @q");
  CHECK(stall_says(&reason, "it starts nothing for another 3600 s."));
  CHECK_OK(inturn_queue_destroy(queue));
  release(first), release(second);
}

static void fail_once(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(inturn_token_fail(token, FAIL_CODE));
}

static void the_time_to_the_next_attempt_is_told(void) {
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = SOON_AN_HOUR;
  inturn_operation_options options = labelled("upload");
  options.retry = &retry;
  inturn_queue_options timed = INTURN_QUEUE_OPTIONS_INIT;
  timed.label = "q";
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, timed);
  inturn_operation upload[2];
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, fail_once, NULL, NULL,
                                     &upload[0]));
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, fail_once, NULL,
                                     NULL, &upload[1]));
  stage_drain(&stage);
  stall reason;
  do {
    reason = reason_of(upload[0]);
  } while (strcmp(reason.chain, "delay upload@q") != 0);
  /* The chain may have been taken before it failed. */
  reason = reason_of(upload[0]);
  CHECK(stall_says(&reason, "its next attempt begins in 3600 s."));
  CHECK(!stall_says(&reason, "in its queue")); /* there are no others */
  reason = reason_of(upload[1]);
  CHECK_TEXT(reason.chain, "clock upload@q");
  CHECK(stall_says(&reason, "manual clock has not reached its next attempt."));
  CHECK_OK(inturn_queue_destroy(queue));
  stage_destroy(&stage);
  release(upload[0]), release(upload[1]);
}

/* Reported once, though it is found for each name: no reference is left. */
static void names_that_another_one_has_are_told(void) {
  inturn_queue photos = labelled_queue(INTURN_QUEUE_CONCURRENT, "photos");
  const char *names[] = {"disk", "camera"};
  inturn_operation_options options = labelled("write");
  options.exclusive = names;
  options.exclusive_count = 2;
  inturn_token token;
  hold_with(photos, &options, &token);
  options.label = "copy";
  inturn_operation copy = enqueue(photos, options);
  while (strcmp(reason_of(copy).chain,
                "name copy@photos > token write@photos") != 0)
    ; /* it gets into line when it is admitted, on another thread */
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(photos);
  release(copy);
}

static void what_comes_after_others_of_its_batch_is_told(void) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.label = "q";
  stage stage = stage_create_with(INTURN_QUEUE_CONCURRENT, queue_options);
  inturn_operation_options each = labelled("part");
  inturn_token token;
  inturn_batch_item items[2] = {{keep_token, &token, NULL},
                                {just_finish, NULL, NULL}};
  inturn_batch_edge edge = {1, 0};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = &each;
  options.edges = &edge;
  options.edge_count = 1;
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, 2, NULL));
  stage_drain(&stage);
  inturn_operation_options barrier = labelled("barrier");
  barrier.barrier = true;
  inturn_operation operation = enqueue(stage.queue, barrier);
  stall reason = reason_of(operation);
  CHECK_TEXT(reason.chain, "turn barrier@q > after part@q > token part@q");
  CHECK(stall_says(&reason, "its token has not been finished."));
  CHECK_OK(inturn_token_finish(token));
  stage_drain(&stage);
  stage_destroy(&stage);
  release(operation);
}

static void that_nothing_keeps_it_is_told(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  stage stage = stage_create_with(INTURN_QUEUE_CONCURRENT, options);
  inturn_operation_options barrier = labelled("barrier");
  barrier.barrier = true;
  inturn_operation operation = enqueue(stage.queue, barrier);
  CHECK_REASON(operation, "turn barrier@q > executor @q");
  stage_drain(&stage);
  CHECK_STATUS(inturn_why(operation, NULL, NULL), INTURN_E_ALREADY_FINISHED);
  stage_destroy(&stage);
  release(operation);
}

/* Asks about itself, while its end is decided and its call continues. */
static void ask_of_itself(void *into, inturn_token token) {
  inturn_operation operation = *(inturn_operation *)into;
  CHECK_REASON(operation, "call self@q");
  CHECK_OK(inturn_token_finish(token));
  CHECK_STATUS(inturn_why(operation, NULL, NULL), INTURN_E_ALREADY_FINISHED);
}

static void work_may_ask_of_itself(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_operation_options self = labelled("self");
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &self, ask_of_itself,
                                     &operation, NULL, &operation));
  stage_drain(&stage);
  stage_destroy(&stage);
  release(operation);
}

static bool ask_why_of_attempt(void *into, int32_t code, uint32_t attempts) {
  (void)code;
  CHECK_INT(attempts, 1);
  stall reason = reason_of(*(inturn_operation *)into);
  CHECK_TEXT(reason.chain, "callback upload@q");
  CHECK(stall_says(&reason, "a callback of it has not returned."));
  return false;
}

static void whether_it_is_tried_again_is_being_asked(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.decide = ask_why_of_attempt;
  inturn_operation_options upload = labelled("upload");
  upload.retry = &retry;
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &upload, fail_once,
                                     &operation, NULL, &operation));
  stage_drain(&stage);
  CHECK_STATUS(inturn_why(operation, NULL, NULL), INTURN_E_ALREADY_FINISHED);
  stage_destroy(&stage);
  release(operation);
}

/* No operation of it that waits for others is what keeps the rest. */
static void an_interaction_queue_waits_for_a_next_attempt(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  options.settle_ns = options.gap_ns = -1;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = MS;
  inturn_operation_options upload = labelled("upload");
  upload.retry = &retry;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &upload, fail_once, NULL,
                                     NULL, NULL));
  stage_drain(&stage);
  inturn_operation ask = enqueue(stage.queue, labelled("ask"));
  inturn_operation after = enqueue_after(stage.queue, "after", ask);
  stage_drain(&stage);
  CHECK_REASON(ask, "turn ask@q > clock upload@q");
  CHECK_REASON(after, "after after@q > turn ask@q > clock upload@q");
  stage_destroy(&stage);
  release(ask), release(after);
}

static bool never_asked(void *context, int32_t code, uint32_t attempts) {
  (void)context, (void)code, (void)attempts;
  FAIL("it is destroyed before");
}

static void whether_it_is_tried_again_is_not_asked_yet(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "q";
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.decide = never_asked;
  inturn_operation_options upload = labelled("upload");
  upload.retry = &retry;
  inturn_token token;
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &upload, keep_token, &token,
                                     NULL, &operation));
  stage_drain(&stage);
  CHECK_OK(inturn_token_fail(token, FAIL_CODE));
  CHECK_REASON(operation, "turn upload@q > executor @q");
  stage_destroy(&stage);
  release(operation);
}

/* The first of the batch has ended, which its executor has not told yet. */
static void what_comes_after_an_end_that_is_not_told_waits_for_that(void) {
  stalls_begin(-1);
  for (int kind = INTURN_QUEUE_ACTOR; kind <= INTURN_QUEUE_CONCURRENT; kind++) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.label = "q";
    options.settle_ns = options.gap_ns = -1;
    options.stall_ns = STALL_NS;
    stage stage = stage_create_with((inturn_queue_kind)kind, options);
    if (kind == INTURN_QUEUE_INTERACTION)
      CHECK_OK(inturn_queue_view_did_appear(stage.queue));
    inturn_token token;
    inturn_batch_item items[] = {{keep_token, &token, NULL},
                                 {just_finish, NULL, NULL}};
    inturn_batch_edge edge = {1, 0};
    inturn_operation_options of_each = labelled("item");
    inturn_batch_options of_batch = INTURN_BATCH_OPTIONS_INIT;
    of_batch.operation = &of_each;
    of_batch.edges = &edge;
    of_batch.edge_count = 1;
    CHECK_OK(
        inturn_queue_enqueue_batch(stage.queue, &of_batch, items, 2, NULL));
    stage_drain(&stage);
    CHECK_OK(inturn_token_finish(token));
    STALL("after item@q > executor @q");
    stage_drain(&stage);
    stage_destroy(&stage);
  }
  stalls_end();
}

/* Each comes after the one before, alternating between two queues. */
static void a_long_chain_is_told_with_its_cause(void) {
  enum { LENGTH = 500 };
  inturn_queue queues[2] = {labelled_queue(INTURN_QUEUE_CONCURRENT, "even"),
                            labelled_queue(INTURN_QUEUE_CONCURRENT, "odd")};
  inturn_operation operations[LENGTH];
  inturn_token token;
  operations[0] = held(queues[0], "first", &token);
  for (int i = 1; i < LENGTH; i++)
    operations[i] = enqueue_after(queues[i % 2], "next", operations[i - 1]);
  stall reason = reason_of(operations[LENGTH - 1]);
  const char *last = strrchr(reason.chain, '>');
  CHECK(last != NULL);
  CHECK_TEXT(last, "> token first@even");
  CHECK(stall_says(&reason, "waits for \"next\" of queue \"odd\" waits, by way "
                            "of 488 more, for \"first\" of queue \"even\": "
                            "running for "));
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queues[0]);
  drain_and_destroy(queues[1]);
  for (int i = 0; i < LENGTH; i++)
    release(operations[i]);
}

/* The same in a report, which would say nothing without its cause. */
static void a_report_of_a_long_chain_has_its_cause(void) {
  stalls_begin(-1);
  enum { LENGTH = 14 };
  stage stages[LENGTH];
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.label = "q";
  inturn_operation operations[LENGTH];
  inturn_operation_options options = labelled("o");
  inturn_token token;
  for (int i = 0; i < LENGTH; i++) {
    stages[i] = stage_create_with(INTURN_QUEUE_FIFO, queue_options);
    if (i == 0)
      CHECK_OK(inturn_queue_enqueue_with(stages[i].queue, &options, keep_token,
                                         &token, NULL, &operations[i]));
    else
      operations[i] = enqueue_after(stages[i].queue, "o", operations[i - 1]);
    /* So that all of them are stalled since the same look. */
    stage_drain(&stages[i]);
  }
  CHECK_OK(inturn_report_set_stall_limit(STALL_NS));
  stall told = STALL("after o@q > after o@q > after o@q > after o@q > "
                     "after o@q > after o@q > after o@q > after o@q > "
                     "after o@q > after o@q > after o@q > token o@q");
  CHECK(stall_says(&told, "waits, by way of 2 more, for \"o\" of queue "
                          "\"q\": running for "));
  CHECK_OK(inturn_token_finish(token));
  for (int i = 0; i < LENGTH; i++) {
    stage_drain(&stages[i]);
    stage_destroy(&stages[i]);
    release(operations[i]);
  }
  stalls_end();
}

static void who_asks_of_nothing_is_refused(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "q");
  inturn_token token;
  inturn_operation operation = held(queue, "o", &token);
  CHECK_STATUS(inturn_why(operation, NULL, NULL), INTURN_E_INVALID_ARGUMENT);
  inturn_operation none = {0}, token_bits = {token.bits};
  CHECK_STATUS(inturn_why(none, NULL, NULL), INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_why(token_bits, NULL, NULL), INTURN_E_WRONG_KIND);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  release(operation);
  CHECK_STATUS(inturn_why(operation, NULL, NULL), INTURN_E_STALE);
}

/* What was taken out of a queue stays in its memory until its turn, and what it
   referred to is gone; an address sanitizer sees who looks there. */
static void what_was_cancelled_is_not_asked(void) {
  enum { COUNT = 12 };
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  inturn_batch_item items[COUNT];
  for (int i = 0; i < COUNT; i++)
    items[i] = (inturn_batch_item){never_work, NULL, NULL};
  inturn_operation_options operation_options = labelled("cancelled");
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = &operation_options;
  inturn_operation kept[2];
  for (int i = 0; i < 2; i++) {
    inturn_batch batch;
    CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, COUNT,
                                        &batch));
    kept[i] = enqueue(stage.queue, labelled("kept"));
    CHECK_OK(inturn_batch_cancel(batch));
    CHECK_OK(inturn_batch_release(batch));
    stage_drain(&stage);
    CHECK_REASON(kept[i], "turn kept@? > suspended @?");
  }
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  release(kept[0]);
  release(kept[1]);
  stage_destroy(&stage);
}

PROGRAM(why, TEST(the_chain_leads_from_the_operation_to_its_cause_at_once),
        TEST(how_long_something_runs_is_told),
        TEST(a_call_that_goes_on_is_told),
        TEST(what_holds_a_queue_back_is_told),
        TEST(a_delay_of_the_systems_clock_is_told),
        TEST(the_time_to_the_next_attempt_is_told),
        TEST(names_that_another_one_has_are_told),
        TEST(what_comes_after_others_of_its_batch_is_told),
        TEST(that_nothing_keeps_it_is_told), TEST(work_may_ask_of_itself),
        TEST(whether_it_is_tried_again_is_being_asked),
        TEST(whether_it_is_tried_again_is_not_asked_yet),
        TEST(an_interaction_queue_waits_for_a_next_attempt),
        TEST(what_comes_after_an_end_that_is_not_told_waits_for_that),
        TEST(a_long_chain_is_told_with_its_cause),
        TEST(a_report_of_a_long_chain_has_its_cause),
        TEST(who_asks_of_nothing_is_refused),
        TEST(what_was_cancelled_is_not_asked))
