/*
 * batches_cancelled.c - batches that are cancelled before their start, among
 * other operations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

enum { BATCHES = 300, SIZE = 3, OTHERS = BATCHES + 1 };

/* Batches on a suspended queue, an operation before each one and after the
   last.
 */
typedef struct row {
  stage stage;
  inturn_batch batches[BATCHES];
  inturn_batch_item items[SIZE];
  int others[OTHERS]; /* each context is a number */
  int next;           /* the number that has to be called next */
  gate gone;          /* contexts of destroyed batches */
  gate other_gone;
} row;

/* The row that the callbacks belong to. */
static row *current;

static void gone(void *row_gone) { gate_pass(row_gone); }

static void other_gone(void *number) {
  (void)number;
  gate_pass(&current->other_gone);
}

static void other_called(void *number, inturn_token token) {
  CHECK_INT(*(int *)number, current->next);
  current->next += 1;
  CHECK_OK(inturn_token_finish(token));
}

static void enqueue_other(row *row, int number,
                          const inturn_operation_options *options) {
  row->others[number] = number;
  CHECK_OK(inturn_queue_enqueue_with(row->stage.queue, options, other_called,
                                     &row->others[number], other_gone, NULL));
}

/* `priority` is that of the others; if it is not 0, the queue has an order. */
static void row_begin(row *row, inturn_queue_kind kind, int32_t priority) {
  current = row;
  row->next = 0;
  row->gone = row->other_gone = (gate)GATE_INIT;
  row->stage = stage_create_of(kind, kind == INTURN_QUEUE_CONCURRENT ? 1 : 0);
  CHECK_OK(inturn_queue_suspend(row->stage.queue));
  for (int i = 0; i < SIZE; i++)
    row->items[i] = (inturn_batch_item){never_work, &row->gone, gone};
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.priority = priority;
  for (int i = 0; i < BATCHES; i++) {
    enqueue_other(row, i, &options);
    CHECK_OK(inturn_queue_enqueue_batch(row->stage.queue, NULL, row->items,
                                        SIZE, &row->batches[i]));
  }
  enqueue_other(row, BATCHES, &options);
}

/* Cancels the batches from this one on; draining ends each at once. */
static void row_cancel(row *row, int first) {
  for (int i = first; i < BATCHES; i++)
    CHECK_OK(inturn_batch_cancel(row->batches[i]));
  stage_drain(&row->stage);
  CHECK_INT(gate_count(&row->gone), (BATCHES - first) * SIZE);
  for (int i = first; i < BATCHES; i++) {
    inturn_batch_end end = {0};
    CHECK_OK(inturn_batch_wait(row->batches[i], 0, &end));
    CHECK_INT(end.outcome, INTURN_CANCELLED);
  }
  CHECK_INT(statistics_of(row->stage.queue).pending, OTHERS + first * SIZE);
  static inturn_operation_info infos[OTHERS + BATCHES * SIZE] = {
      INTURN_OPERATION_INFO_INIT};
  size_t count;
  CHECK_OK(inturn_queue_list(row->stage.queue, infos,
                             sizeof infos / sizeof *infos, &count));
  CHECK_INT(count, OTHERS + first * SIZE);
}

static void row_release(row *row) {
  CHECK_INT(gate_count(&row->gone), BATCHES * SIZE);
  CHECK_INT(gate_count(&row->other_gone), OTHERS);
  for (int i = 0; i < BATCHES; i++)
    CHECK_OK(inturn_batch_release(row->batches[i]));
}

static void others_keep_their_order(inturn_queue_kind kind, int32_t priority) {
  row row;
  row_begin(&row, kind, priority);
  row_cancel(&row, 0);
  CHECK_OK(inturn_queue_resume(row.stage.queue));
  stage_drain(&row.stage);
  CHECK_INT(row.next, OTHERS);
  CHECK_INT(statistics_of(row.stage.queue).finished, OTHERS);
  CHECK_INT(statistics_of(row.stage.queue).cancelled, BATCHES * SIZE);
  CHECK_OK(inturn_queue_drain(row.stage.queue, 0));
  row_release(&row);
  stage_destroy(&row.stage);
}

static void cancelled_batches_leave_the_others_in_order(void) {
  others_keep_their_order(INTURN_QUEUE_FIFO, 0);
  others_keep_their_order(INTURN_QUEUE_ACTOR, 0);
  others_keep_their_order(INTURN_QUEUE_CONCURRENT, 0);
  others_keep_their_order(INTURN_QUEUE_CONCURRENT, 1);
}

static void a_cancel_of_all_ends_what_is_left_of_them_once(void) {
  row row;
  row_begin(&row, INTURN_QUEUE_FIFO, 0);
  row_cancel(&row, BATCHES / 2);
  CHECK_OK(inturn_queue_cancel_all(row.stage.queue));
  stage_drain(&row.stage);
  CHECK_INT(statistics_of(row.stage.queue).cancelled, OTHERS + BATCHES * SIZE);
  for (int i = 0; i < BATCHES; i++)
    CHECK_STATUS(inturn_batch_cancel(row.batches[i]),
                 INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_queue_resume(row.stage.queue));
  stage_drain(&row.stage);
  CHECK_INT(row.next, 0);
  row_release(&row);
  stage_destroy(&row.stage);
}

static void destroying_their_queue_ends_what_is_left_of_them_once(void) {
  row row;
  row_begin(&row, INTURN_QUEUE_CONCURRENT, 1);
  row_cancel(&row, BATCHES / 2);
  CHECK_OK(inturn_queue_destroy(row.stage.queue));
  row_release(&row);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &row.stage.queue));
  stage_destroy(&row.stage);
}

/* This operation is running when its batch is cancelled, and is asked to end;
   the drainer that has called it passes over the rest of the batch. */
static void finish_cancelled(void *batch, inturn_token token) {
  CHECK_OK(inturn_batch_cancel(*(inturn_batch *)batch));
  bool is_cancelled = false;
  CHECK_OK(inturn_token_is_cancelled(token, &is_cancelled));
  CHECK(is_cancelled);
  CHECK_OK(inturn_token_finish(token));
}

static void one_of_a_batch_may_cancel_it(void) {
  static const inturn_queue_kind kinds[] = {
      INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR, INTURN_QUEUE_CONCURRENT};
  for (int i = 0; i < 3; i++) {
    inturn_batch batch;
    stage stage = stage_create(kinds[i]);
    inturn_batch_item items[] = {{finish_cancelled, &batch, NULL},
                                 {never_work, NULL, NULL},
                                 {never_work, NULL, NULL}};
    CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 3, &batch));
    stage_drain(&stage);
    CHECK_OK(inturn_batch_wait(batch, 0, NULL));
    CHECK_INT(statistics_of(stage.queue).finished, 1);
    CHECK_INT(statistics_of(stage.queue).cancelled, 2);
    CHECK_OK(inturn_batch_release(batch));
    stage_destroy(&stage);
  }
}

/* It is pending again, and ends although its queue starts nothing. */
static void one_that_has_yielded_ends_at_once(void) {
  for (unsigned yields = 0; yields < 3; yields++) {
    stage stage = stage_create(INTURN_QUEUE_INTERACTION);
    job shown = JOB("shown");
    inturn_batch batch;
    inturn_batch_item items[] = {{work_hold, &shown, job_destroyed},
                                 {never_work, NULL, NULL}};
    CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 2, &batch));
    for (unsigned i = 0; i < yields; i++) {
      stage_drain(&stage);
      CHECK_OK(inturn_token_yield(shown.token));
    }
    CHECK_OK(inturn_queue_suspend(stage.queue));
    CHECK_OK(inturn_batch_cancel(batch));
    stage_drain(&stage);
    CHECK_OK(inturn_batch_wait(batch, 0, NULL));
    inturn_end end = INTURN_END_INIT;
    CHECK_OK(inturn_batch_get_end(batch, 0, &end));
    CHECK_INT(end.outcome, INTURN_CANCELLED);
    CHECK_INT(end.cause, INTURN_CAUSE_REQUEST);
    CHECK_INT(end.attempts, yields);
    CHECK_INT(gate_count(&shown.destroyed), 1);
    CHECK_OK(inturn_batch_release(batch));
    stage_destroy(&stage);
  }
}

PROGRAM(batches_cancelled, TEST(cancelled_batches_leave_the_others_in_order),
        TEST(a_cancel_of_all_ends_what_is_left_of_them_once),
        TEST(destroying_their_queue_ends_what_is_left_of_them_once),
        TEST(one_of_a_batch_may_cancel_it),
        TEST(one_that_has_yielded_ends_at_once))
