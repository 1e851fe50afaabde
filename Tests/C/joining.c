/*
 * joining.c - operations that join others of their key, and end with them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "groups.h"

#include <stdlib.h>

static void a_result_stays_as_long_as_one_that_joined(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("first"), second = JOB("second");
  gate destroyed = GATE_INIT;
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, work_hold);
  inturn_operation b =
      enqueue_of_key(stage.queue, &second, "k", true, never_work);
  stage_drain(&stage);
  release(a);
  CHECK_OK(inturn_token_finish_with(first.token, &destroyed, count_destroy));
  stage_drain(&stage);
  CHECK(end_of(b).result == &destroyed);
  CHECK_INT(gate_count(&destroyed), 0);
  release(b);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
  trace_begin();
}

static void those_that_join_end_with_the_first(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job first = JOB("first"), second = JOB("second"), third = JOB("third");
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "down", true, work_hold);
  inturn_operation b =
      enqueue_of_key(stage.queue, &second, "down", true, never_work);
  stage_drain(&stage);
  inturn_operation c =
      enqueue_of_key(stage.queue, &third, "down", true, never_work);
  CHECK_INT(state_of(b), INTURN_PENDING);
  CHECK_INT(statistics_of(stage.queue).pending, 2);
  int *result = malloc(sizeof *result);
  *result = 42;
  CHECK_OK(inturn_token_finish_with(first.token, result, free));
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  CHECK_ENDED(&third, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  release(a);
  CHECK_INT(*(int *)end_of(b).result, 42);
  release(b);
  CHECK_INT(*(int *)end_of(c).result, 42);
  release(c);
  stage_destroy(&stage);
}

static void those_that_join_end_with_the_first_in_each_kind(void) {
  for_each_kind(those_that_join_end_with_the_first);
}

static void a_failure_is_everybodys(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), second = JOB("second");
  release(enqueue_of_key(stage.queue, &first, "k", false, work_hold));
  release(enqueue_of_key(stage.queue, &second, "k", true, never_work));
  stage_drain(&stage);
  CHECK_OK(inturn_token_fail(first.token, 9));
  stage_drain(&stage);
  CHECK_ENDED(&second, INTURN_FAILED, INTURN_CAUSE_JOINED);
  CHECK_INT(second.end.code, 9);
  stage_destroy(&stage);
}

static void one_that_does_not_join_waits_for_its_own_turn(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), second = JOB("second");
  release(enqueue_of_key(stage.queue, &first, "k", true, work_finish));
  release(enqueue_of_key(stage.queue, &second, "k", false, work_finish));
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished, work second, "
              "end second finished");
  stage_destroy(&stage);
}

static void one_whose_leader_is_cancelled_stands_in_for_it(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), second = JOB("second"), third = JOB("third"),
      last = JOB("last");
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, work_hold);
  release(enqueue_of_key(stage.queue, &second, "k", true, work_hold));
  release(enqueue_of_key(stage.queue, &third, "k", true, never_work));
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(a));
  CHECK_OK(inturn_token_cancel(first.token));
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_INT(gate_count(&second.started), 1);
  CHECK_INT(gate_count(&third.ended), 0);
  CHECK_OK(inturn_token_finish(second.token));
  stage_drain(&stage);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&third, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  release(a);
  stage_destroy(&stage);
}

static void a_pending_leader_that_is_cancelled_is_stood_in_for(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), second = JOB("second");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, never_work);
  release(enqueue_of_key(stage.queue, &second, "k", true, work_finish));
  CHECK_OK(inturn_operation_cancel(a));
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
  release(a);
  stage_destroy(&stage);
}

/* `third` comes after the second, and stands behind it. */
static void a_stand_in_starts_in_its_own_place(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job first = JOB("first"), between = JOB("between"), second = JOB("second"),
      third = JOB("third");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, never_work);
  job_enqueue(stage.queue, &between, work_finish);
  inturn_operation b =
      enqueue_of_key(stage.queue, &second, "k", true, work_finish);
  inturn_operation_options options = job_options(&third);
  options.after = &b;
  options.after_count = 1;
  release(job_enqueue_with(stage.queue, &third, work_finish, &options));
  CHECK_OK(inturn_operation_cancel(a));
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("end first cancelled, work between, end between finished, "
              "work second, end second finished, work third, "
              "end third finished");
  release(a);
  release(b);
  stage_destroy(&stage);
}

static void a_stand_in_starts_in_its_own_place_in_a_fifo_queue(void) {
  a_stand_in_starts_in_its_own_place(INTURN_QUEUE_FIFO);
}

static void a_stand_in_starts_in_its_own_place_in_an_actor_queue(void) {
  a_stand_in_starts_in_its_own_place(INTURN_QUEUE_ACTOR);
}

static void a_stand_in_whose_turn_has_passed_comes_next(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  job first = JOB("first"), second = JOB("second"), between = JOB("between"),
      third = JOB("third");
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, work_hold);
  inturn_operation b =
      enqueue_of_key(stage.queue, &second, "k", true, work_finish);
  job_enqueue(stage.queue, &between, work_finish);
  inturn_operation_options options = job_options(&third);
  options.after = &b;
  options.after_count = 1;
  release(job_enqueue_with(stage.queue, &third, work_finish, &options));
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(a));
  CHECK_OK(inturn_token_cancel(first.token));
  stage_drain(&stage);
  CHECK_TRACE("work first, work between, end between finished, "
              "end first cancelled, work second, end second finished, "
              "work third, end third finished");
  release(a);
  release(b);
  stage_destroy(&stage);
}

/* It had started once. */
static void a_stand_in_for_one_between_attempts_comes_next(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job first = JOB("first"), between = JOB("between"), second = JOB("second");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 1;
  inturn_operation_options options = job_options(&first);
  options.retry = &retry;
  options.key = "k";
  inturn_operation a =
      job_enqueue_with(stage.queue, &first, work_fail, &options);
  stage_drain(&stage);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  job_enqueue(stage.queue, &between, work_finish);
  release(enqueue_of_key(stage.queue, &second, "k", true, work_finish));
  CHECK_OK(inturn_operation_cancel(a));
  stage_resume(&stage);
  CHECK_TRACE("work first, end first cancelled, work second, "
              "end second finished, work between, end between finished");
  release(a);
  stage_destroy(&stage);
}

static void one_that_has_joined_can_be_cancelled_alone(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job jobs[4] = {JOB("a"), JOB("b"), JOB("c"), JOB("d")};
  inturn_operation operations[4];
  for (int i = 0; i < 4; i++)
    operations[i] = enqueue_of_key(stage.queue, &jobs[i], "k", true,
                                   i == 0 ? work_hold : never_work);
  stage_drain(&stage);
  /* The middle one, the last one, and the first of those that have joined. */
  CHECK_OK(inturn_operation_cancel(operations[2]));
  CHECK_OK(inturn_operation_cancel(operations[3]));
  stage_drain(&stage);
  CHECK_ENDED(&jobs[2], INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&jobs[3], INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_INT(gate_count(&jobs[1].ended), 0);
  CHECK_OK(inturn_operation_cancel(operations[1]));
  stage_drain(&stage);
  CHECK_OK(inturn_token_finish(jobs[0].token));
  stage_drain(&stage);
  CHECK_ENDED(&jobs[0], INTURN_FINISHED, INTURN_CAUSE_NONE);
  for (int i = 0; i < 4; i++)
    release(operations[i]);
  stage_destroy(&stage);
}

static void destroying_and_cancelling_all_reach_those_that_have_joined(void) {
  for (int round = 0; round < 2; round++) {
    stage stage = stage_create(INTURN_QUEUE_FIFO);
    job first = JOB("first"), second = JOB("second"), third = JOB("third");
    release(enqueue_of_key(stage.queue, &first, "k", true, work_hold));
    release(enqueue_of_key(stage.queue, &second, "k", true, never_work));
    release(enqueue_of_key(stage.queue, &third, "k", true, never_work));
    stage_drain(&stage);
    if (round == 0) {
      CHECK_OK(inturn_queue_cancel_all(stage.queue));
      CHECK_OK(inturn_token_finish(first.token));
      stage_drain(&stage);
      CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
    }
    stage_destroy(&stage);
    CHECK_INT(gate_count(&third.ended), 1);
    CHECK_INT(gate_count(&third.destroyed), 1);
  }
}

static void attempts_are_its_own_or_with_joined_its_leaders(void) {
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  for (int round = 0; round < 3; round++) {
    stage stage = stage_create(INTURN_QUEUE_ACTOR);
    job first = JOB("first"), second = JOB("second");
    inturn_operation_options options = job_options(&first);
    options.key = "k";
    options.retry = &retry;
    stage_advance(&stage, 1);
    inturn_operation a =
        job_enqueue_with(stage.queue, &first, work_hold, &options);
    release(enqueue_of_key(stage.queue, &second, "k", true, work_finish));
    if (round > 0)
      stage_drain(&stage);
    if (round == 1) {
      CHECK_OK(inturn_token_fail(first.token, 1));
      stage_drain(&stage);
      stage_finish(&stage, &first);
      CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_JOINED);
    } else if (round == 2) {
      CHECK_OK(inturn_operation_cancel(a));
      CHECK_OK(inturn_token_cancel(first.token));
      stage_drain(&stage);
      CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
    }
    release(a);
    stage_destroy(&stage);
    /* Neither started; the first had two attempts; the second stood in. */
    CHECK_INT(first.end.attempts, (round == 0 ? 0 : round == 1 ? 2 : 1));
    CHECK_INT(second.end.attempts, (round == 0 ? 0 : round == 1 ? 2 : 1));
    CHECK((first.end.started_ns != 0) == (round > 0));
    CHECK((second.end.started_ns != 0) == (round == 2));
  }
}

static void an_urgent_stand_in_comes_before_other_urgent_ones(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), second = JOB("second"), later = JOB("later");
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, work_hold);
  stage_drain(&stage);
  inturn_operation_options options = job_options(&second);
  options.key = "k";
  options.join = options.urgent = true;
  job_enqueue_as(stage.queue, &second, work_finish, &options);
  options = job_options(&later);
  options.urgent = true;
  job_enqueue_as(stage.queue, &later, work_finish, &options);
  CHECK_OK(inturn_operation_cancel(a));
  release(a);
  trace_begin();
  CHECK_OK(inturn_token_cancel(first.token));
  stage_drain(&stage);
  CHECK_TRACE("end first cancelled, work second, end second finished, "
              "work later, end later finished");
  stage_destroy(&stage);
}

static void a_further_attempt_of_a_stand_in_takes_its_turn(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job first = JOB("first"), second = JOB("second"), other = JOB("other"),
      last = JOB("last");
  inturn_operation a =
      enqueue_of_key(stage.queue, &first, "k", true, work_hold);
  stage_drain(&stage);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 10;
  inturn_operation_options options = job_options(&second);
  options.key = "k";
  options.join = true;
  options.retry = &retry;
  job_enqueue_as(stage.queue, &second, work_hold, &options);
  job_enqueue(stage.queue, &other, work_hold);
  job_enqueue(stage.queue, &last, work_finish);
  CHECK_OK(inturn_operation_cancel(a));
  release(a);
  trace_begin();
  CHECK_OK(inturn_token_cancel(first.token));
  stage_drain(&stage);
  stage_fail(&stage, &second);
  stage_advance(&stage, 10);
  CHECK_TRACE("end first cancelled, work second, work other");
  stage_finish(&stage, &other);
  CHECK_TRACE("end other finished, work last, end last finished, work second");
  stage_finish(&stage, &second);
  stage_destroy(&stage);
}

PROGRAM(joining, TEST(a_result_stays_as_long_as_one_that_joined),
        TEST(those_that_join_end_with_the_first_in_each_kind),
        TEST(a_failure_is_everybodys),
        TEST(one_that_does_not_join_waits_for_its_own_turn),
        TEST(one_whose_leader_is_cancelled_stands_in_for_it),
        TEST(a_pending_leader_that_is_cancelled_is_stood_in_for),
        TEST(a_stand_in_starts_in_its_own_place_in_a_fifo_queue),
        TEST(a_stand_in_starts_in_its_own_place_in_an_actor_queue),
        TEST(a_stand_in_whose_turn_has_passed_comes_next),
        TEST(a_stand_in_for_one_between_attempts_comes_next),
        TEST(one_that_has_joined_can_be_cancelled_alone),
        TEST(destroying_and_cancelling_all_reach_those_that_have_joined),
        TEST(attempts_are_its_own_or_with_joined_its_leaders),
        TEST(an_urgent_stand_in_comes_before_other_urgent_ones),
        TEST(a_further_attempt_of_a_stand_in_takes_its_turn))
