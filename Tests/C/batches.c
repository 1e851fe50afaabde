/*
 * batches.c - lists of operations with one completion.
 *
 * SPDX-License-Identifier: MIT
 */
#include "batches.h"

#include <stdlib.h>

/* Four jobs, and their batch on a stage. */
typedef struct set {
  stage stage;
  job jobs[4];
  inturn_batch_item items[4];
  batch_end end;
  inturn_batch batch;
} set;

static void set_begin(set *set, inturn_queue_kind kind, uint32_t limit,
                      inturn_batch_options options, inturn_work_fn work) {
  static const char *const names[] = {"a", "b", "c", "d"};
  set->stage = stage_create_of(kind, limit);
  for (int i = 0; i < 4; i++) {
    set->jobs[i] = (job)JOB(names[i]);
    set->items[i] = item_of(&set->jobs[i], work);
  }
  CHECK_OK(inturn_queue_enqueue_batch(set->stage.queue, &options, set->items, 4,
                                      &set->batch));
}

/* Checks how often everything was called, and releases everything. */
static void set_end(set *set) {
  CHECK_INT(gate_count(&set->end.told), 1);
  CHECK_INT(gate_count(&set->end.destroyed), 1);
  for (int i = 0; i < 4; i++)
    CHECK_INT(gate_count(&set->jobs[i].destroyed), 1);
  CHECK_OK(inturn_batch_release(set->batch));
  CHECK_STATUS(inturn_batch_release(set->batch), INTURN_E_STALE);
  stage_destroy(&set->stage);
}

static void a_batch_runs_in_order_and_tells_its_end_once(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_FIFO, 0, options, work_finish);
  stage_drain(&set.stage);
  CHECK_TRACE("work a, work b, work c, work d, batch finished");
  CHECK_INT(set.end.end.count, 4);
  CHECK_INT(set.end.end.finished, 4);
  CHECK_INT(set.end.end.decided_by, 4);
  set_end(&set);
}

static void ends_are_in_the_order_of_the_list(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_CONCURRENT, 4, options, work_hold);
  stage_drain(&set.stage);
  for (int i = 3; i >= 0; i--) {
    int *result = malloc(sizeof *result);
    *result = i;
    CHECK_OK(inturn_token_finish_with(set.jobs[i].token, result, free));
    stage_drain(&set.stage);
  }
  for (size_t i = 0; i < 4; i++) {
    inturn_end end = {0};
    CHECK_OK(inturn_batch_get_end(set.batch, i, &end));
    CHECK_INT(*(int *)end.result, (int)i);
  }
  set_end(&set);
}

static void a_result_may_be_the_callers_own(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_CONCURRENT, 4, options, work_hold);
  stage_drain(&set.stage);
  for (int i = 0; i < 4; i++) {
    if (i % 2 == 0)
      CHECK_OK(inturn_token_finish_with(set.jobs[i].token, &set.jobs[i], NULL));
    else
      CHECK_OK(inturn_token_finish(set.jobs[i].token));
  }
  stage_drain(&set.stage);
  for (int i = 0; i < 4; i++)
    CHECK(set.end.ends[i].result == (i % 2 == 0 ? &set.jobs[i] : NULL));
  set_end(&set);
}

static void finish_with_itself(void *job, inturn_token token) {
  CHECK_OK(inturn_token_finish_with(token, job, NULL));
}

static void keep_own_results(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  int results[4];
  inturn_batch_item items[4];
  for (int i = 0; i < 4; i++)
    items[i] = (inturn_batch_item){
        i % 2 == 0 ? finish_with_itself : just_finish, &results[i], NULL};
  inturn_batch batch;
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 4, &batch));
  stage_drain(&stage);
  for (size_t i = 0; i < 4; i++) {
    inturn_end end = {0};
    CHECK_OK(inturn_batch_get_end(batch, i, &end));
    CHECK(end.result == (i % 2 == 0 ? &results[i] : NULL));
  }
  CHECK_OK(inturn_batch_release(batch));
  stage_destroy(&stage);
}

static void a_result_is_not_the_next_operations(void) {
  for_each_kind(keep_own_results);
}

static void all_must_finish_and_the_first_in_the_list_decides(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_CONCURRENT, 4, options, work_hold);
  stage_drain(&set.stage);
  CHECK_OK(inturn_token_fail(set.jobs[2].token, 22));
  CHECK_OK(inturn_token_fail(set.jobs[1].token, 11));
  stage_drain(&set.stage);
  CHECK_INT(gate_count(&set.end.told), 0);
  CHECK_OK(inturn_token_finish(set.jobs[0].token));
  CHECK_OK(inturn_token_finish(set.jobs[3].token));
  stage_drain(&set.stage);
  CHECK_INT(set.end.end.outcome, INTURN_FAILED);
  CHECK_INT(set.end.end.code, 11);
  CHECK_INT(set.end.end.decided_by, 1);
  CHECK_INT(set.end.end.finished, 2);
  set_end(&set);
}

static void the_first_error_cancels_the_rest(void) {
  set set;
  inturn_batch_options options =
      batch_options(INTURN_BATCH_FIRST_ERROR, &set.end);
  set_begin(&set, INTURN_QUEUE_CONCURRENT, 2, options, work_hold);
  stage_drain(&set.stage);
  CHECK_OK(inturn_token_fail(set.jobs[1].token, 7));
  stage_drain(&set.stage);
  CHECK(is_cancelled(set.jobs[0].token));
  CHECK_INT(gate_count(&set.jobs[2].started), 0);
  CHECK_OK(inturn_token_finish(set.jobs[0].token));
  stage_drain(&set.stage);
  CHECK_INT(set.end.end.outcome, INTURN_FAILED);
  CHECK_INT(set.end.end.code, 7);
  CHECK_INT(set.end.end.decided_by, 1);
  CHECK_INT(set.end.ends[0].outcome, INTURN_FINISHED);
  CHECK_INT(set.end.ends[3].outcome, INTURN_CANCELLED);
  CHECK_INT(set.end.ends[3].cause, INTURN_CAUSE_REQUEST);
  set_end(&set);
}

static void collecting_finishes_whatever_the_ends(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_COLLECT, &set.end);
  set_begin(&set, INTURN_QUEUE_CONCURRENT, 4, options, work_hold);
  stage_drain(&set.stage);
  for (int i = 0; i < 4; i++)
    CHECK_OK(inturn_token_fail(set.jobs[i].token, i));
  stage_drain(&set.stage);
  CHECK_INT(set.end.end.outcome, INTURN_FINISHED);
  CHECK_INT(set.end.end.finished, 0);
  CHECK_INT(set.end.ends[2].code, 2);
  set_end(&set);
}

static void when_enough_have_finished_the_rest_is_cancelled(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ENOUGH, &set.end);
  options.enough = 2;
  set_begin(&set, INTURN_QUEUE_FIFO, 0, options, work_finish);
  stage_drain(&set.stage);
  CHECK_TRACE("work a, work b, batch finished");
  CHECK_INT(set.end.end.finished, 2);
  CHECK_INT(set.end.ends[2].outcome, INTURN_CANCELLED);
  set_end(&set);
}

static void a_batch_can_be_cancelled_once(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_COLLECT, &set.end);
  set_begin(&set, INTURN_QUEUE_FIFO, 0, options, work_hold);
  stage_drain(&set.stage);
  CHECK_OK(inturn_batch_cancel(set.batch));
  CHECK_STATUS(inturn_batch_cancel(set.batch), INTURN_E_CANCELLED);
  CHECK_OK(inturn_token_cancel(set.jobs[0].token));
  stage_drain(&set.stage);
  CHECK_STATUS(inturn_batch_cancel(set.batch), INTURN_E_ALREADY_FINISHED);
  CHECK_INT(set.end.end.outcome, INTURN_CANCELLED);
  CHECK_INT(set.end.end.decided_by, 0);
  set_end(&set);
}

static void progress_and_ends_can_be_read_while_it_runs(void) {
  set set;
  size_t ended, count;
  inturn_end end = {0};
  inturn_batch_end batch_end = {0};
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_FIFO, 0, options, work_hold);
  stage_drain(&set.stage);
  CHECK_OK(inturn_token_fail(set.jobs[0].token, 5));
  stage_drain(&set.stage);
  CHECK_OK(inturn_batch_get_progress(set.batch, &ended, &count));
  CHECK_INT(ended, 1);
  CHECK_INT(count, 4);
  CHECK_OK(inturn_batch_get_progress(set.batch, NULL, NULL));
  CHECK_OK(inturn_batch_get_end(set.batch, 0, &end));
  CHECK_INT(end.code, 5);
  CHECK_INT(end.attempts, 1);
  CHECK_STATUS(inturn_batch_get_end(set.batch, 1, &end), INTURN_E_BUSY);
  CHECK_STATUS(inturn_batch_get_end(set.batch, 4, &end),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_batch_get_end(set.batch, 0, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_batch_wait(set.batch, 0, &batch_end), INTURN_E_TIMED_OUT);
  CHECK_STATUS(inturn_batch_wait(set.batch, 1000, NULL), INTURN_E_TIMED_OUT);
  for (int i = 1; i < 4; i++) {
    CHECK_OK(inturn_token_finish(set.jobs[i].token));
    stage_drain(&set.stage);
  }
  CHECK_OK(inturn_batch_wait(set.batch, -1, &batch_end));
  CHECK_INT(batch_end.code, 5);
  set_end(&set);
}

static void destroying_the_queue_ends_the_batch(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_ACTOR, 0, options, work_hold);
  CHECK_OK(inturn_queue_destroy(set.stage.queue));
  CHECK_INT(set.end.end.outcome, INTURN_CANCELLED);
  CHECK_INT(set.end.ends[3].cause, INTURN_CAUSE_DESTROYED);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &set.stage.queue));
  set_end(&set);
}

static void an_empty_batch_ends_by_the_executor(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  batch_end end;
  inturn_batch_options options = batch_options(INTURN_BATCH_ENOUGH, &end);
  options.enough = 1;
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, NULL, 0, NULL));
  CHECK_INT(gate_count(&end.told), 0);
  stage_drain(&stage);
  CHECK_INT(gate_count(&end.told), 1);
  CHECK_INT(gate_count(&end.destroyed), 1);
  CHECK_INT(end.end.outcome, INTURN_FINISHED);
  CHECK_INT(statistics_of(stage.queue).finished, 0);
  stage_destroy(&stage);
}

static bool worth_it(void *context, int32_t code, uint32_t attempts) {
  trace("%s failed with %d, %u", ((job *)context)->name, code, attempts);
  return attempts < 2;
}

static inturn_verdict wanted(void *context) {
  trace("ask %s", ((job *)context)->name);
  return ((job *)context)->name[0] == 'b' ? INTURN_SKIP : INTURN_START;
}

static void fail_with_three(void *context, inturn_token token) {
  trace("work %s", ((job *)context)->name);
  CHECK_OK(inturn_token_fail(token, 3));
}

static void options_of_the_operations_are_each_ones(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_COLLECT, &set.end);
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 3;
  retry.decide = worth_it;
  each.retry = &retry;
  each.condition = wanted;
  each.label = "each";
  options.operation = &each;
  set_begin(&set, INTURN_QUEUE_FIFO, 0, options, fail_with_three);
  stage_drain(&set.stage);
  CHECK_TRACE(
      "ask a, work a, a failed with 3, 1, ask a, work a, a failed with 3, 2, "
      "ask b, "
      "ask c, work c, c failed with 3, 1, ask c, work c, c failed with 3, 2, "
      "ask d, work d, d failed with 3, 1, ask d, work d, d failed with 3, 2, "
      "batch finished");
  CHECK_INT(set.end.ends[0].attempts, 2);
  CHECK_INT(set.end.ends[1].cause, INTURN_CAUSE_SKIPPED);
  CHECK_TEXT(set.end.ends[3].label, "each");
  set_end(&set);
}

static void a_batch_may_come_after_others(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), second = JOB("second");
  inturn_operation operation = job_enqueue_kept(stage.queue, &first, work_hold);
  batch_end end;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &end);
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.after = &operation;
  each.after_count = 1;
  options.operation = &each;
  inturn_batch_item items[] = {item_of(&second, work_finish)};
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, 1, NULL));
  stage_drain(&stage);
  CHECK_TRACE("work first");
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_INT(gate_count(&end.told), 1);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_million_operations_make_one_end(void) {
  long count = scaled(1000000);
  inturn_batch_item *items = calloc((size_t)count, sizeof *items);
  gate works = GATE_INIT;
  inturn_batch_end end = {0};
  inturn_batch batch;
  for (long i = 0; i < count; i++)
    items[i] = (inturn_batch_item){just_finish, &works, NULL};
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  CHECK_OK(
      inturn_queue_enqueue_batch(queue, NULL, items, (size_t)count, &batch));
  CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, &end));
  CHECK_INT(end.finished, count);
  CHECK_OK(inturn_batch_release(batch));
  CHECK_OK(inturn_queue_destroy(queue));
  free(items);
}

enum { RACERS = 64 };
static atomic_int started, errors;

static void maybe_fail(void *context, inturn_token token) {
  (void)context;
  inturn_status status;
  if (atomic_fetch_add(&started, 1) % 7 == 3) {
    atomic_fetch_add(&errors, 1);
    status = inturn_token_fail(token, 1);
  } else {
    status = inturn_token_finish(token);
  }
  /* It may have ended with its queue. */
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void cancel_batch(void *batch) {
  inturn_status status = inturn_batch_cancel(*(inturn_batch *)batch);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void errors_and_cancels_race_to_one_end(void) {
  for (long round = scaled(2000); round > 0; round--) {
    inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
    gate contexts = GATE_INIT;
    batch_end end;
    inturn_batch_options options =
        batch_options(INTURN_BATCH_FIRST_ERROR, &end);
    inturn_batch_item items[RACERS];
    inturn_batch batch;
    for (int i = 0; i < RACERS; i++)
      items[i] = (inturn_batch_item){maybe_fail, &contexts, count_destroy};
    CHECK_OK(
        inturn_queue_enqueue_batch(queue, &options, items, RACERS, &batch));
    if (round % 2 == 0)
      on_another_thread(cancel_batch, &batch);
    if (round % 3 == 0)
      CHECK_OK(inturn_queue_destroy(queue));
    else
      drain_and_destroy(queue);
    CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, NULL));
    CHECK_INT(gate_count(&end.told), 1);
    CHECK_INT(gate_count(&contexts), RACERS);
    CHECK_OK(inturn_batch_release(batch));
    trace_begin();
  }
  CHECK(atomic_load(&errors) > 0);
}

static void one_that_gives_in_to_its_batch_was_asked_to(void) {
  set set;
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &set.end);
  set_begin(&set, INTURN_QUEUE_FIFO, 0, options, work_hold);
  stage_drain(&set.stage);
  CHECK_OK(inturn_batch_cancel(set.batch));
  CHECK_OK(inturn_token_cancel(set.jobs[0].token));
  stage_drain(&set.stage);
  CHECK_INT(set.end.ends[0].outcome, INTURN_CANCELLED);
  CHECK_INT(set.end.ends[0].cause, INTURN_CAUSE_REQUEST);
  trace_begin();
  set_end(&set);
}

PROGRAM(batches, TEST(a_batch_runs_in_order_and_tells_its_end_once),
        TEST(one_that_gives_in_to_its_batch_was_asked_to),
        TEST(ends_are_in_the_order_of_the_list),
        TEST(a_result_may_be_the_callers_own),
        TEST(a_result_is_not_the_next_operations),
        TEST(all_must_finish_and_the_first_in_the_list_decides),
        TEST(the_first_error_cancels_the_rest),
        TEST(collecting_finishes_whatever_the_ends),
        TEST(when_enough_have_finished_the_rest_is_cancelled),
        TEST(a_batch_can_be_cancelled_once),
        TEST(progress_and_ends_can_be_read_while_it_runs),
        TEST(destroying_the_queue_ends_the_batch),
        TEST(an_empty_batch_ends_by_the_executor),
        TEST(options_of_the_operations_are_each_ones),
        TEST(a_batch_may_come_after_others),
        TEST(a_million_operations_make_one_end),
        TEST(errors_and_cancels_race_to_one_end))
