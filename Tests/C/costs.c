/*
 * costs.c - what a call costs does not grow with what was cancelled, or with
 * what waits behind something else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>
#include <time.h>

enum { FEW = 1000, MANY = 32 * FEW };

static double thread_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* `seconds` tells how long FEW rounds take beside so many operations. They may
   miss the caches, but not be looked at. */
static void check_does_not_grow(double (*seconds)(int count), int many) {
  seconds(FEW);
  double least = seconds(FEW), most = seconds(many);
  if (most > 8 * least + 0.001)
    FAIL("%.0f us beside %d, %.0f us beside %d", least * 1e6, FEW, most * 1e6,
         many);
}

static void hold_on(void *context, inturn_token token) {
  if (context != NULL)
    *(inturn_token *)context = token;
}

/* Cancels one urgent interaction after the other, in a queue in which others
   wait, and where many were cancelled before. */
static double cancel_urgent_ones(int count) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.urgent = true;
  for (int i = 0; i < count; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, hold_on, NULL, NULL, NULL));
  stage_drain(&stage);
  double begin = 0;
  for (int i = 0; i < count; i++) {
    if (i == count - FEW)
      begin = thread_seconds();
    inturn_operation operation;
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, never_work, NULL,
                                       NULL, &operation));
    CHECK_OK(inturn_operation_cancel(operation));
    CHECK_OK(inturn_operation_release(operation));
  }
  double result = thread_seconds() - begin;
  stage_destroy(&stage);
  return result;
}

/* Resumes an operation in front of one that waits, from behind which others are
   cancelled. */
static double resume_before_a_blocked_one(int count) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  inturn_token token;
  inturn_operation running, behind[FEW];
  CHECK_OK(inturn_queue_enqueue(stage.queue, hold_on, &token, NULL, &running));
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = &running;
  options.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, never_work, NULL,
                                     NULL, NULL));
  for (int i = 0; i < count; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL,
                                  i < FEW ? &behind[i] : NULL));
  stage_drain(&stage);
  double begin = thread_seconds();
  for (int i = 0; i < FEW; i++) {
    CHECK_OK(inturn_operation_cancel(behind[i]));
    CHECK_OK(inturn_token_resume(token, hold_on, NULL, NULL));
    stage_drain(&stage);
  }
  double result = thread_seconds() - begin;
  for (int i = 0; i < FEW; i++)
    CHECK_OK(inturn_operation_release(behind[i]));
  CHECK_OK(inturn_operation_release(running));
  stage_destroy(&stage);
  return result;
}

/* Cancels batches of one operation, the last one first. */
static double cancel_small_batches(int count) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  inturn_batch *batches = malloc((size_t)count * sizeof *batches);
  inturn_batch_item item = {never_work, NULL, NULL};
  CHECK_OK(inturn_queue_suspend(stage.queue));
  for (int i = 0; i < count; i++)
    CHECK_OK(
        inturn_queue_enqueue_batch(stage.queue, NULL, &item, 1, &batches[i]));
  double begin = thread_seconds();
  for (int i = count - 1; i >= 0; i--)
    CHECK_OK(inturn_batch_cancel(batches[i]));
  double result = (thread_seconds() - begin) / count * FEW;
  for (int i = 0; i < count; i++)
    CHECK_OK(inturn_batch_release(batches[i]));
  free(batches);
  stage_destroy(&stage);
  return result;
}

static void a_cancelled_urgent_one_costs_nothing_later(void) {
  check_does_not_grow(cancel_urgent_ones, MANY);
}

static void a_segment_costs_the_same_whatever_waits(void) {
  check_does_not_grow(resume_before_a_blocked_one, MANY);
}

static void a_small_batch_costs_the_same_whatever_waits(void) {
  check_does_not_grow(cancel_small_batches, 8 * MANY);
}

PROGRAM(costs, TEST(a_small_batch_costs_the_same_whatever_waits),
        TEST(a_cancelled_urgent_one_costs_nothing_later),
        TEST(a_segment_costs_the_same_whatever_waits))
