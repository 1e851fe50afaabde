/*
 * list.c - inturn_queue_list, which lists what has not ended; and the counts
 * for the whole library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void the_list_has_running_ones_first_then_pending_ones_in_order(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  inturn_operation_info infos[5] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 99;
  job first = JOB("first"), second = JOB("second"), third = JOB("third");
  stage_advance(&stage, 5);
  job_enqueue(stage.queue, &first, work_hold);
  stage_advance(&stage, 6);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  job_enqueue(stage.queue, &second, never_work);
  CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  job_enqueue(stage.queue, &third, never_work);
  CHECK_OK(inturn_queue_list(stage.queue, infos, 5, &count));
  CHECK_INT(count, 4);
  CHECK_INT(infos[0].state, INTURN_RUNNING);
  CHECK_TEXT(infos[0].label, "first");
  CHECK_INT(infos[0].enqueued_ns, 5);
  CHECK_INT(infos[0].started_ns, 11);
  CHECK_TEXT(infos[1].label, "second");
  CHECK_INT(infos[1].enqueued_ns, 11);
  CHECK_TEXT(infos[2].label, "");
  CHECK_INT(infos[2].enqueued_ns, 0);
  CHECK_TEXT(infos[3].label, "third");
  for (int i = 1; i < 4; i++) {
    CHECK_INT(infos[i].state, INTURN_PENDING);
    CHECK_INT(infos[i].started_ns, 0);
    CHECK(!infos[i].cancelled);
  }
  stage_destroy(&stage);
}

static void the_list_says_which_were_asked_to_end(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation_info info = INTURN_OPERATION_INFO_INIT;
  size_t count = 0;
  job running = JOB("running"), pending = JOB("pending");
  job_enqueue(stage.queue, &running, work_hold);
  stage_drain(&stage);
  job_enqueue(stage.queue, &pending, never_work);
  CHECK_OK(inturn_queue_list(stage.queue, &info, 1, &count));
  CHECK(!info.cancelled);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  CHECK_OK(inturn_queue_list(stage.queue, &info, 1, &count));
  CHECK_INT(count, 1);
  CHECK_TEXT(info.label, "running");
  CHECK(info.cancelled);
  stage_destroy(&stage);
}

static void one_that_was_cancelled_in_its_place_is_not_in_the_list(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation_info infos[3] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 99;
  job jobs[3] = {JOB("a"), JOB("b"), JOB("c")};
  inturn_operation operations[3];
  CHECK_OK(inturn_queue_suspend(stage.queue));
  for (int i = 0; i < 3; i++)
    operations[i] = job_enqueue_with(stage.queue, &jobs[i], never_work, NULL);
  CHECK_OK(inturn_operation_cancel(operations[1]));
  CHECK_OK(inturn_queue_list(stage.queue, infos, 3, &count));
  CHECK_INT(count, 2);
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_operation_release(operations[i]));
  stage_destroy(&stage);
  trace_begin();
}

static void the_list_is_no_longer_than_its_room(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation_info infos[2] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 99;
  job jobs[3] = {JOB("a"), JOB("b"), JOB("c")};
  for (int i = 0; i < 3; i++)
    job_enqueue(stage.queue, &jobs[i], never_work);
  CHECK_OK(inturn_queue_list(stage.queue, NULL, 0, &count));
  CHECK_INT(count, 0);
  CHECK_OK(inturn_queue_list(stage.queue, infos, 1, &count));
  CHECK_INT(count, 1);
  CHECK_TEXT(infos[0].label, "a");
  CHECK_INT(infos[1].state, 0);
  CHECK_STATUS(inturn_queue_list(stage.queue, NULL, 1, &count),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_queue_list(stage.queue, infos, 1, NULL),
               INTURN_E_INVALID_ARGUMENT);
  stage_destroy(&stage);
}

static void a_drain_whose_time_is_over_lists_what_is_left(void) {
  job running = JOB("running"), pending = JOB("pending");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &running);
  inturn_operation_info infos[3] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 99;
  job_enqueue(stage.queue, &pending, work_finish);
  for (int64_t limit_ns = 0; limit_ns < 2; limit_ns++) {
    infos[0].label[0] = infos[1].label[0] = '\0';
    CHECK_STATUS(
        inturn_queue_drain_or_list(stage.queue, limit_ns, infos, 3, &count),
        INTURN_E_TIMED_OUT);
    CHECK_INT(count, 2);
    CHECK_INT(infos[0].state, INTURN_RUNNING);
    CHECK_TEXT(infos[0].label, "running");
    CHECK_INT(infos[1].state, INTURN_PENDING);
    CHECK_TEXT(infos[1].label, "pending");
  }
  stage_finish(&stage, &running);
  CHECK_OK(inturn_queue_drain_or_list(stage.queue, -1, infos, 3, &count));
  CHECK_INT(count, 0);
  CHECK_STATUS(inturn_queue_drain_or_list(stage.queue, 0, infos, 3, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_queue_drain_or_list(stage.queue, 0, NULL, 3, &count),
               INTURN_E_INVALID_ARGUMENT);
  stage_destroy(&stage);
}

static void the_list_of_an_empty_queue_is_empty(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  inturn_operation_info info = INTURN_OPERATION_INFO_INIT;
  size_t count = 99;
  job job = JOB("a");
  job_enqueue(stage.queue, &job, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_queue_list(stage.queue, &info, 1, &count));
  CHECK_INT(count, 0);
  stage_destroy(&stage);
}

/* `ascii` letters, then `rest`. */
static void list_label(int ascii, const char *rest, char *listed) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation_info info = INTURN_OPERATION_INFO_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  char label[200];
  size_t count = 0;
  memset(label, 'a', (size_t)ascii);
  strcpy(label + ascii, rest);
  options.label = label;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, never_work, NULL,
                                     NULL, NULL));
  CHECK_OK(inturn_queue_list(stage.queue, &info, 1, &count));
  CHECK_INT(count, 1);
  strcpy(listed, info.label);
  stage_destroy(&stage);
}

static void a_long_label_is_cut_at_the_end_of_a_character(void) {
  static const struct {
    int ascii;
    const char *rest;
    size_t listed;
  } cases[] = {
      {54, "", 54},
      {55, "", 54},
      {150, "", 54},
      {52, "\xc3\xa9", 54},              /* two bytes that fit */
      {53, "\xc3\xa9", 53},              /* two bytes that do not */
      {51, "\xe2\x82\xac", 54},          /* three that fit */
      {52, "\xe2\x82\xac", 52},          /* and do not, by one */
      {53, "\xe2\x82\xac", 53},          /* by two */
      {50, "\xf0\x9f\x90\xa2", 54},      /* four that fit */
      {51, "\xf0\x9f\x90\xa2 slow", 51}, /* and do not */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char listed[55];
    list_label(cases[i].ascii, cases[i].rest, listed);
    CHECK_INT(strlen(listed), cases[i].listed);
  }
}

static inturn_library_statistics library(void) {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_library_get_statistics(&statistics));
  return statistics;
}

static void the_library_counts_what_lives(void) {
  inturn_library_statistics before = library();
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_finish);
  inturn_library_statistics now = library();
  CHECK_INT(now.size, sizeof now);
  CHECK_INT(now.queues - before.queues, 1);
  CHECK_INT(now.operations - before.operations, 1);
  CHECK_INT(now.executors - before.executors, 1);
  CHECK_INT(now.clocks - before.clocks, 1);
  stage_drain(&stage);
  CHECK_INT(library().operations - before.operations, 1);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_INT(library().operations, before.operations);
  stage_destroy(&stage);
  CHECK_INT(library().queues, before.queues);
}

static void a_pending_operation_without_options_or_handle_is_no_object(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  uint64_t before = library().operations;
  for (int i = 0; i < 1000; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_INT(library().operations, before);
  CHECK_INT(statistics_of(stage.queue).pending, 1000);
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).finished, 1000);
  CHECK_INT(library().operations, before);
  stage_destroy(&stage);
}

PROGRAM(list, TEST(the_list_has_running_ones_first_then_pending_ones_in_order),
        TEST(the_list_says_which_were_asked_to_end),
        TEST(one_that_was_cancelled_in_its_place_is_not_in_the_list),
        TEST(the_list_is_no_longer_than_its_room),
        TEST(a_drain_whose_time_is_over_lists_what_is_left),
        TEST(the_list_of_an_empty_queue_is_empty),
        TEST(a_long_label_is_cut_at_the_end_of_a_character),
        TEST(the_library_counts_what_lives),
        TEST(a_pending_operation_without_options_or_handle_is_no_object))
