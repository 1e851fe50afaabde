/*
 * dependencies_pending.c - what becomes of operations that wait for others, and
 * what can be asked about them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dependencies.h"

static void check_cancelled(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, never_work);
  job after_later = JOB("b");
  inturn_operation_options options =
      options_after(&after_later, &pair.later_operation, INTURN_AFTER_ENDED);
  job_enqueue_as(pair.second.queue, &after_later, work_finish, &options);
  CHECK_OK(inturn_operation_cancel(pair.later_operation));
  CHECK_STATUS(inturn_operation_cancel(pair.later_operation),
               INTURN_E_ALREADY_FINISHED);
  stage_drain(&pair.second);
  CHECK_ENDED(&pair.later, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  /* It waited only for that. */
  CHECK_ENDED(&after_later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(statistics_of(pair.second.queue).pending, 0);
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  pair_drain(&pair);
  pair_destroy(&pair);
}

static void one_that_waits_can_be_cancelled(void) {
  for_each_kind(check_cancelled);
}

static void check_max_wait(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, work_finish);
  stage stage = stage_create(kind);
  job late = JOB("late"), next = JOB("next");
  inturn_operation_options options =
      options_after(&late, &pair.earlier_operation, INTURN_AFTER_ENDED);
  options.max_wait_ns = 50;
  job_enqueue_as(stage.queue, &late, never_work, &options);
  job_enqueue(stage.queue, &next, work_finish);
  stage_advance(&stage, 49);
  CHECK_INT(gate_count(&late.ended), 0);
  stage_advance(&stage, 1);
  CHECK_ENDED(&late, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_WAIT);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  pair_drain(&pair);
  stage_destroy(&stage);
  pair_destroy(&pair);
}

static void one_that_waits_has_its_deadline(void) {
  for_each_kind(check_max_wait);
}

static void check_destroy_later(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, never_work);
  stage third = stage_create(kind);
  job last = JOB("last");
  inturn_operation_options options =
      options_after(&last, &pair.later_operation, INTURN_AFTER_ENDED);
  job_enqueue_as(third.queue, &last, work_finish, &options);
  stage_destroy(&pair.second);
  CHECK_ENDED(&pair.later, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  stage_drain(&third);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  /* Now the waiting operation ends, though its queue is gone. */
  stage_finish(&pair.first, &pair.earlier);
  stage_destroy(&third);
  pair.second = stage_create(kind);
  pair_destroy(&pair);
}

static void the_queue_of_one_that_waits_can_be_destroyed(void) {
  for_each_kind(check_destroy_later);
}

static void check_suspended(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, work_finish);
  CHECK_OK(inturn_queue_suspend(pair.second.queue));
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  pair_drain(&pair);
  CHECK_INT(gate_count(&pair.later.started), 0);
  stage_resume(&pair.second);
  CHECK_INT(gate_count(&pair.later.started), 1);
  pair_destroy(&pair);
}

static void a_suspended_queue_starts_none_that_has_waited(void) {
  for_each_kind(check_suspended);
}

static void check_cancel_all(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, never_work);
  job next = JOB("next");
  CHECK_OK(inturn_queue_cancel_all(pair.second.queue));
  job_enqueue(pair.second.queue, &next, work_finish);
  stage_drain(&pair.second);
  CHECK_ENDED(&pair.later, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_finish(&pair.first, &pair.earlier);
  pair_destroy(&pair);
}

static void cancelling_all_takes_those_that_wait(void) {
  for_each_kind(check_cancel_all);
}

static void check_asked(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, work_finish);
  inturn_operation_info info = INTURN_OPERATION_INFO_INIT;
  size_t count = 0;
  CHECK_INT(statistics_of(pair.second.queue).pending, 1);
  CHECK_INT(statistics_of(pair.second.queue).running, 0);
  CHECK_OK(inturn_queue_list(pair.second.queue, &info, 1, &count));
  CHECK_INT(count, 1);
  CHECK_INT(info.state, INTURN_PENDING);
  CHECK_TEXT(info.label, "later");
  CHECK_STATUS(inturn_queue_drain(pair.second.queue, 0), INTURN_E_TIMED_OUT);
  stage_finish(&pair.first, &pair.earlier);
  stage_drain(&pair.second);
  CHECK_OK(inturn_queue_drain(pair.second.queue, 0));
  pair_destroy(&pair);
}

static void one_that_waits_is_pending(void) { for_each_kind(check_asked); }

static void those_that_wait_are_listed_in_order(void) {
  static const char *const names[] = {"a", "b", "c", "d"};
  pair pair;
  pair_create(&pair, INTURN_QUEUE_CONCURRENT, INTURN_AFTER_ENDED, work_finish);
  inturn_operation_info infos[6] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 0;
  job jobs[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job)JOB(names[i]);
    inturn_operation_options options =
        options_after(&jobs[i], &pair.earlier_operation, INTURN_AFTER_ENDED);
    job_enqueue_as(pair.second.queue, &jobs[i], work_finish, &options);
  }
  CHECK_OK(inturn_queue_list(pair.second.queue, infos, 6, &count));
  CHECK_INT(count, 5);
  CHECK_TEXT(infos[0].label, "later");
  for (int i = 0; i < 4; i++)
    CHECK_TEXT(infos[i + 1].label, names[i]);
  stage_finish(&pair.first, &pair.earlier);
  stage_drain(&pair.second);
  pair_destroy(&pair);
}

static void those_that_wait_count_for_the_capacity(void) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_AFTER_ENDED, work_finish);
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.capacity = 1;
  stage stage = stage_create_with(INTURN_QUEUE_CONCURRENT, queue_options);
  job a = JOB("a");
  gate destroyed = GATE_INIT;
  inturn_operation_options options =
      options_after(&a, &pair.earlier_operation, INTURN_AFTER_ENDED);
  job_enqueue_as(stage.queue, &a, work_finish, &options);
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, &destroyed,
                                    count_destroy, NULL),
               INTURN_E_FULL);
  stage_finish(&pair.first, &pair.earlier);
  stage_drain(&stage);
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, count_work, &destroyed, NULL, NULL));
  stage_destroy(&stage);
  stage_drain(&pair.second);
  pair_destroy(&pair);
}

PROGRAM(dependencies_pending, TEST(one_that_waits_can_be_cancelled),
        TEST(one_that_waits_has_its_deadline),
        TEST(the_queue_of_one_that_waits_can_be_destroyed),
        TEST(a_suspended_queue_starts_none_that_has_waited),
        TEST(cancelling_all_takes_those_that_wait),
        TEST(one_that_waits_is_pending),
        TEST(those_that_wait_are_listed_in_order),
        TEST(those_that_wait_count_for_the_capacity))
