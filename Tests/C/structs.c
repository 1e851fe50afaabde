/*
 * structs.c - structs that begin with their size: all zero, and from a program
 * that knows more fields than the library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <string.h>

static const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR,
                                          INTURN_QUEUE_INTERACTION,
                                          INTURN_QUEUE_CONCURRENT};

static void work(void *context, inturn_token token) {
  gate_pass(context);
  CHECK_OK(inturn_token_finish(token));
}

static void fail(void *context, inturn_token token) {
  gate_pass(context);
  CHECK_OK(inturn_token_fail(token, 1));
}

static void zeros_are_the_defaults_of_each_kind(void) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    inturn_executor executor;
    CHECK_OK(inturn_executor_create(&(inturn_executor_options){0}, &executor));
    CHECK_OK(inturn_executor_destroy(executor));
    stage stage = stage_create_with(kinds[i], (inturn_queue_options){0});
    gate called = GATE_INIT;
    CHECK_OK(inturn_queue_enqueue_with(stage.queue,
                                       &(inturn_operation_options){0}, work,
                                       &called, NULL, NULL));
    if (kinds[i] == INTURN_QUEUE_INTERACTION) {
      CHECK_OK(inturn_queue_view_did_appear(stage.queue));
      stage_advance(&stage, 499999999);
      CHECK_INT(gate_count(&called), 0);
      stage_advance(&stage, 1);
    }
    stage_drain(&stage);
    CHECK_INT(gate_count(&called), 1);
    inturn_queue_statistics statistics = {0};
    CHECK_OK(inturn_queue_get_statistics(stage.queue, &statistics));
    CHECK_INT(statistics.finished, 1);
    CHECK_INT(statistics.size, 0);
    stage_destroy(&stage);
  }
}

static void no_delay_is_said_by_its_name(void) {
  inturn_queue_options options = {0};
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  gate called = GATE_INIT;
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, work, &called, NULL, NULL));
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  stage_drain(&stage);
  CHECK_INT(gate_count(&called), 2);
  stage_destroy(&stage);
}

static void zeros_of_a_retry_are_its_defaults(void) {
  inturn_retry retry = {0};
  retry.max_attempts = 3;
  inturn_operation_options options = {0};
  options.retry = &retry;
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate called = GATE_INIT;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, fail, &called, NULL,
                                     NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&called), 3);
  stage_destroy(&stage);
}

static void zeros_are_the_defaults_of_values_and_batches(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value;
  CHECK_OK(inturn_value_create(&(inturn_value_options){0}, &zero, &value));
  CHECK_OK(inturn_value_destroy(value));
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate called = GATE_INIT;
  inturn_batch_item items[] = {{work, &called, NULL}, {work, &called, NULL}};
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &(inturn_batch_options){0},
                                      items, 2, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&called), 2);
  stage_destroy(&stage);
  inturn_library_statistics library = {0};
  CHECK_OK(inturn_library_get_statistics(&library));
}

/* Fields that a later header may add. */
typedef struct later_options {
  inturn_operation_options now;
  uint64_t later[2];
} later_options;

static void what_the_library_does_not_know_may_be_zero_only(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate called = GATE_INIT, destroyed = GATE_INIT;
  later_options options;
  memset(&options, 0, sizeof options);
  options.now.size = sizeof options;
  options.now.label = "later";
  const inturn_operation_options *given = &options.now;
  CHECK_OK(
      inturn_queue_enqueue_with(stage.queue, given, work, &called, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&called), 1);
  options.later[1] = 1;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, given, work, &destroyed,
                                         count_destroy, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

static void statistics_that_the_library_does_not_know_are_zero(void) {
  struct {
    inturn_queue_statistics now;
    uint64_t later[2], behind;
  } statistics;
  memset(&statistics, 0xAA, sizeof statistics);
  statistics.now.size = sizeof statistics.now + sizeof statistics.later;
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_get_statistics(stage.queue, &statistics.now));
  CHECK_INT(statistics.now.pending, 0);
  CHECK_INT(statistics.later[0] | statistics.later[1], 0);
  CHECK(statistics.behind == 0xAAAAAAAAAAAAAAAA);
  stage_destroy(&stage);
}

static void an_end_is_as_large_as_its_size_says(void) {
  struct {
    inturn_end now;
    uint64_t later, behind;
  } end;
  memset(&end, 0xAA, sizeof end);
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate called = GATE_INIT;
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue(stage.queue, work, &called, NULL, &operation));
  stage_drain(&stage);
  /* A struct without a size is refused, before anything is waited for. */
  CHECK_STATUS(inturn_operation_wait(operation, -1, &end.now),
               INTURN_E_INVALID_ARGUMENT);
  end.now.size = sizeof end.now + sizeof end.later;
  CHECK_OK(inturn_operation_wait(operation, -1, &end.now));
  CHECK_INT(end.now.outcome, INTURN_FINISHED);
  CHECK_INT(end.later, 0);
  CHECK(end.behind == 0xAAAAAAAAAAAAAAAA);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

/* A list is written in steps of the first element's size. */
static void a_list_of_larger_structs_is_written_in_larger_steps(void) {
  struct {
    inturn_operation_info now;
    uint64_t later;
  } infos[3];
  memset(infos, 0xAA, sizeof infos);
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  gate called = GATE_INIT;
  const char *const labels[] = {"a", "b", "c"};
  for (int i = 0; i < 3; i++) {
    inturn_operation_options options = {0};
    options.label = labels[i];
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, work, &called,
                                       NULL, NULL));
  }
  size_t count;
  CHECK_STATUS(inturn_queue_list(stage.queue, &infos[0].now, 3, &count),
               INTURN_E_INVALID_ARGUMENT);
  infos[0].now.size = 0;
  CHECK_STATUS(inturn_queue_list(stage.queue, &infos[0].now, 3, &count),
               INTURN_E_INVALID_ARGUMENT);
  infos[0].now.size = sizeof infos[0];
  CHECK_OK(inturn_queue_list(stage.queue, &infos[0].now, 3, &count));
  CHECK_INT(count, 3);
  for (int i = 0; i < 3; i++) {
    CHECK_INT(infos[i].now.size, sizeof infos[i]);
    CHECK_TEXT(infos[i].now.label, labels[i]);
    CHECK_INT(infos[i].later, 0);
  }
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  stage_destroy(&stage);
}

PROGRAM(structs, TEST(zeros_are_the_defaults_of_each_kind),
        TEST(no_delay_is_said_by_its_name),
        TEST(zeros_of_a_retry_are_its_defaults),
        TEST(zeros_are_the_defaults_of_values_and_batches),
        TEST(what_the_library_does_not_know_may_be_zero_only),
        TEST(statistics_that_the_library_does_not_know_are_zero),
        TEST(an_end_is_as_large_as_its_size_says),
        TEST(a_list_of_larger_structs_is_written_in_larger_steps))
