/*
 * batches_refused.c - batches that are refused, and waits for them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "batches.h"

static void a_refused_batch_runs_nothing_and_destroys_each_context(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate contexts = GATE_INIT;
  batch_end end;
  inturn_batch batch = {77};
  inturn_batch_item items[3];
  for (int i = 0; i < 3; i++)
    items[i] = (inturn_batch_item){never_work, &contexts, count_destroy};
  inturn_batch_options options = batch_options(INTURN_BATCH_ALL, &end);

  /* A NULL in the middle. */
  items[1].work = NULL;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&contexts), 3);
  items[1].work = never_work;
  CHECK_STATUS(inturn_queue_enqueue_batch(stage.queue, &options, NULL, 3, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&end.destroyed), 2);

  /* Inconsistent options. */
  options.enough = 1;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_INVALID_ARGUMENT);
  options.policy = INTURN_BATCH_ENOUGH;
  options.enough = 4;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_INVALID_ARGUMENT);
  options.policy = (inturn_batch_policy)4;
  options.enough = 0;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_INVALID_ARGUMENT);
  options.policy = INTURN_BATCH_ALL;
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.on_end = never_end;
  options.operation = &each;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_INVALID_ARGUMENT);
  each.on_end = NULL;
  each.priority = 1;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_UNSUPPORTED);
  CHECK_INT(gate_count(&contexts), 18);
  CHECK_INT(gate_count(&end.destroyed), 7);

  /* A closed queue. */
  options.operation = NULL;
  CHECK_OK(inturn_queue_close(stage.queue));
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, &batch),
      INTURN_E_CLOSED);
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, NULL, 0, &batch),
      INTURN_E_CLOSED);
  CHECK_INT(gate_count(&contexts), 21);
  CHECK_INT(gate_count(&end.destroyed), 9);
  CHECK_INT(gate_count(&end.told), 0);
  CHECK_INT(batch.bits, 77);
  CHECK_INT(stage_drain(&stage), 0);
  stage_destroy(&stage);
}

static void a_batch_that_does_not_fit_is_refused_as_a_whole(void) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.capacity = 3;
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, queue_options);
  inturn_batch_item items[4];
  gate contexts = GATE_INIT;
  for (int i = 0; i < 4; i++)
    items[i] = (inturn_batch_item){count_work, &contexts, NULL};
  CHECK_STATUS(inturn_queue_enqueue_batch(stage.queue, NULL, items, 4, NULL),
               INTURN_E_FULL);
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 3, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&contexts), 3);
  stage_destroy(&stage);
}

static void wait_inside(void *context, inturn_token token) {
  CHECK_STATUS(inturn_batch_wait(*(inturn_batch *)context, -1, NULL),
               INTURN_E_DEADLOCK);
  CHECK_OK(inturn_token_finish(token));
}

static void waiting_inside_the_queue_is_refused(void) {
  reports reports;
  reports_begin(&reports);
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_batch batch;
  inturn_batch_item items[] = {{wait_inside, &batch, NULL}};
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 1, &batch));
  stage_drain(&stage);
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK_OK(inturn_batch_wait(batch, -1, NULL));
  CHECK_OK(inturn_batch_release(batch));
  reports_end();
  stage_destroy(&stage);
}

PROGRAM(batches_refused,
        TEST(a_refused_batch_runs_nothing_and_destroys_each_context),
        TEST(a_batch_that_does_not_fit_is_refused_as_a_whole),
        TEST(waiting_inside_the_queue_is_refused))
