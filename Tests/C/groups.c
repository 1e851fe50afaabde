/*
 * groups.c - operations that belong together: keys, joining, owners.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

static inturn_operation enqueue_of_key(inturn_queue queue, job *job,
                                       const char *key, bool join,
                                       inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  options.key = key;
  options.join = join;
  return job_enqueue_with(queue, job, work, &options);
}

static void release(inturn_operation operation) {
  CHECK_OK(inturn_operation_release(operation));
}

/* Keys */

static void resolving_a_key_finishes_what_is_pending(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job running = JOB("running"), first = JOB("first"), other = JOB("other"),
      second = JOB("second");
  uint64_t count;
  release(enqueue_of_key(stage.queue, &running, "location", false, work_hold));
  stage_drain(&stage);
  release(enqueue_of_key(stage.queue, &first, "location", false, never_work));
  release(enqueue_of_key(stage.queue, &other, "camera", false, work_finish));
  release(enqueue_of_key(stage.queue, &second, "location", false, never_work));
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "location", &count));
  CHECK_INT(count, 2);
  CHECK_INT(statistics_of(stage.queue).pending, 1);
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_RESOLVED);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_RESOLVED);
  CHECK_INT(gate_count(&running.ended), 0);
  CHECK(!is_cancelled(running.token));
  CHECK_OK(inturn_token_finish(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&other, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "location", &count));
  CHECK_INT(count, 0);
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "nobody's", NULL));
  stage_destroy(&stage);
}

static void cancelling_a_key_cancels_running_ones_too(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, kind == INTURN_QUEUE_CONCURRENT ? 1 : 0);
  job running = JOB("running"), pending = JOB("pending");
  uint64_t count;
  release(enqueue_of_key(stage.queue, &running, "k", false, work_hold));
  stage_drain(&stage);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  release(enqueue_of_key(stage.queue, &pending, "k", false, never_work));
  CHECK_OK(inturn_queue_cancel_key(stage.queue, "k", &count));
  CHECK_INT(count, 2);
  CHECK_OK(inturn_queue_cancel_key(stage.queue, "k", &count));
  CHECK_INT(count, 0);
  stage_drain(&stage);
  CHECK_ENDED(&pending, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK(is_cancelled(running.token));
  CHECK_OK(inturn_token_cancel(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  stage_destroy(&stage);
}

static void cancelling_a_key_cancels_running_ones_of_each_kind(void) {
  for_each_kind(cancelling_a_key_cancels_running_ones_too);
}

/* To Unicode the two keys are one text. */
static void keys_with_other_bytes_are_other_keys(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job composed = JOB("composed"), decomposed = JOB("decomposed");
  uint64_t count;
  release(
      enqueue_of_key(stage.queue, &composed, "\xc3\xa9", false, never_work));
  release(enqueue_of_key(stage.queue, &decomposed, "e\xcc\x81", false,
                         work_finish));
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "\xc3\xa9", &count));
  CHECK_INT(count, 1);
  stage_drain(&stage);
  CHECK_ENDED(&composed, INTURN_FINISHED, INTURN_CAUSE_RESOLVED);
  CHECK_ENDED(&decomposed, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void bad_keys_are_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  CHECK_STATUS(inturn_queue_resolve_key(stage.queue, NULL, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_queue_cancel_key(stage.queue, "\xff", NULL),
               INTURN_E_INVALID_ARGUMENT);
  options.join = true;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &job, job_destroyed, NULL),
               INTURN_E_INVALID_ARGUMENT);
  stage_destroy(&stage);
}

/* Joining */

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

static void one_that_has_joined_can_be_cancelled_alone(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job jobs[4] = {JOB("a"), JOB("b"), JOB("c"), JOB("d")};
  inturn_operation operations[4];
  for (int i = 0; i < 4; i++)
    operations[i] = enqueue_of_key(stage.queue, &jobs[i], "k", true,
                                   i == 0 ? work_hold : never_work);
  stage_drain(&stage);
  /* The middle one, the last one, the first one of those that have joined. */
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
    /* Neither started; two attempts of the first; the second stood in. */
    CHECK_INT(first.end.attempts, (round == 0 ? 0 : round == 1 ? 2 : 1));
    CHECK_INT(second.end.attempts, (round == 0 ? 0 : round == 1 ? 2 : 1));
    CHECK((first.end.started_ns != 0) == (round > 0));
    CHECK((second.end.started_ns != 0) == (round == 2));
  }
}

/* Owners */

static inturn_operation enqueue_owned(inturn_queue queue, job *job,
                                      inturn_owner owner, inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  options.owner = owner;
  return job_enqueue_with(queue, job, work, &options);
}

static void destroying_an_owner_cancels_its_operations(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, kind == INTURN_QUEUE_CONCURRENT ? 1 : 0);
  job running = JOB("running"), other = JOB("other"), first = JOB("first"),
      second = JOB("second");
  inturn_owner window;
  uint64_t count;
  CHECK_OK(inturn_owner_create(0, &window));
  release(enqueue_owned(stage.queue, &running, window, work_hold));
  stage_drain(&stage);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  release(enqueue_owned(stage.queue, &first, window, never_work));
  job_enqueue(stage.queue, &other, work_finish);
  release(enqueue_owned(stage.queue, &second, window, never_work));
  CHECK_OK(inturn_owner_get_count(window, &count));
  CHECK_INT(count, 3);
  CHECK_OK(inturn_owner_destroy(window));
  CHECK_STATUS(inturn_owner_destroy(window), INTURN_E_STALE);
  CHECK_STATUS(inturn_owner_get_count(window, &count), INTURN_E_STALE);
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK(is_cancelled(running.token));
  CHECK_OK(inturn_token_cancel(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK_ENDED(&other, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void destroying_an_owner_cancels_in_each_kind_of_queue(void) {
  for_each_kind(destroying_an_owner_cancels_its_operations);
}

static void an_owner_has_at_most_its_capacity(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), second = JOB("second"), third = JOB("third");
  inturn_owner site;
  uint64_t count;
  CHECK_OK(inturn_owner_create(2, &site));
  release(enqueue_owned(stage.queue, &first, site, work_hold));
  release(enqueue_owned(stage.queue, &second, site, work_finish));
  inturn_operation_options options = job_options(&third);
  options.owner = site;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &third, job_destroyed, NULL),
               INTURN_E_FULL);
  CHECK_INT(gate_count(&third.destroyed), 1);
  stage_drain(&stage);
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_OK(inturn_owner_get_count(site, &count));
  CHECK_INT(count, 0);
  CHECK_STATUS(inturn_owner_get_count(site, NULL), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_owner_create(0, NULL), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_owner_destroy(site));
  third = (job)JOB("third");
  options = job_options(&third);
  options.owner = site;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &third, job_destroyed, NULL),
               INTURN_E_STALE);
  stage_destroy(&stage);
}

static void a_batch_belongs_to_its_owner_as_a_whole_or_not_at_all(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_owner owner;
  inturn_batch_item items[3];
  gate contexts = GATE_INIT;
  uint64_t count;
  CHECK_OK(inturn_owner_create(2, &owner));
  for (int i = 0; i < 3; i++)
    items[i] = (inturn_batch_item){never_work, &contexts, count_destroy};
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.owner = owner;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = &each;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, NULL),
      INTURN_E_FULL);
  CHECK_OK(inturn_owner_get_count(owner, &count));
  CHECK_INT(count, 0);
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, 2, NULL));
  CHECK_OK(inturn_owner_destroy(owner));
  stage_drain(&stage);
  CHECK_INT(gate_count(&contexts), 5);
  stage_destroy(&stage);
}

/* Races */

enum { EACH = 16 };
static inturn_queue raced_queue;
static inturn_owner raced_owner;
static atomic_int ended, accepted;

static void count_an_end(void *context, const inturn_end *end) {
  (void)context;
  (void)end;
  atomic_fetch_add(&ended, 1);
}

static void finish_or_not(void *context, inturn_token token) {
  (void)context;
  inturn_status status = inturn_token_finish(token);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void join_and_cancel(int index) {
  static const char *const keys[] = {"x", "y"};
  for (int i = 0; i < EACH; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation operation;
    options.key = keys[(index + i) % 2];
    options.join = i % 3 != 0;
    options.owner = index == 0 ? raced_owner : (inturn_owner){0};
    options.on_end = count_an_end;
    inturn_status status = inturn_queue_enqueue_with(
        raced_queue, &options, finish_or_not, NULL, NULL, &operation);
    if (status != INTURN_OK) {
      CHECK_STATUS(status, INTURN_E_STALE);
      continue;
    }
    atomic_fetch_add(&accepted, 1);
    if (i % 4 == 1)
      (void)inturn_operation_cancel(operation);
    if (i % 8 == 5)
      CHECK_OK(inturn_queue_resolve_key(raced_queue, "x", NULL));
    if (i % 8 == 6)
      CHECK_OK(inturn_queue_cancel_key(raced_queue, "y", NULL));
    CHECK_OK(inturn_operation_release(operation));
    if (index == 1 && i == EACH / 2)
      CHECK_OK(inturn_owner_destroy(raced_owner));
  }
}

static void keys_joins_and_owners_race_to_one_end_each(void) {
  for (long round = scaled(3000); round > 0; round--) {
    atomic_store(&ended, 0);
    atomic_store(&accepted, 0);
    raced_queue = pool_queue_create(
        round % 2 ? INTURN_QUEUE_CONCURRENT : INTURN_QUEUE_FIFO, NULL);
    CHECK_OK(inturn_owner_create(0, &raced_owner));
    in_parallel(3, join_and_cancel);
    if (round % 3 == 0)
      CHECK_OK(inturn_queue_destroy(raced_queue));
    else
      drain_and_destroy(raced_queue);
    CHECK_INT(atomic_load(&ended), atomic_load(&accepted));
  }
}

PROGRAM(groups, TEST(resolving_a_key_finishes_what_is_pending),
        TEST(a_result_stays_as_long_as_one_that_joined),
        TEST(cancelling_a_key_cancels_running_ones_of_each_kind),
        TEST(keys_with_other_bytes_are_other_keys), TEST(bad_keys_are_refused),
        TEST(those_that_join_end_with_the_first_in_each_kind),
        TEST(a_failure_is_everybodys),
        TEST(one_that_does_not_join_waits_for_its_own_turn),
        TEST(one_whose_leader_is_cancelled_stands_in_for_it),
        TEST(a_pending_leader_that_is_cancelled_is_stood_in_for),
        TEST(a_stand_in_starts_in_its_own_place_in_a_fifo_queue),
        TEST(a_stand_in_starts_in_its_own_place_in_an_actor_queue),
        TEST(a_stand_in_whose_turn_has_passed_comes_next),
        TEST(one_that_has_joined_can_be_cancelled_alone),
        TEST(destroying_and_cancelling_all_reach_those_that_have_joined),
        TEST(attempts_are_its_own_or_with_joined_its_leaders),
        TEST(destroying_an_owner_cancels_in_each_kind_of_queue),
        TEST(an_owner_has_at_most_its_capacity),
        TEST(a_batch_belongs_to_its_owner_as_a_whole_or_not_at_all),
        TEST(keys_joins_and_owners_race_to_one_end_each))
