/*
 * dependencies.c - operations that come after others: `after`, and its policy.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dependencies.h"

static void check_wait_for_end(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, work_finish);
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  stage_drain(&pair.second);
  CHECK_TRACE("work later, end later finished");
  pair_drain(&pair);
  CHECK_ENDED(&pair.earlier, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&pair.later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_INT(pair.later.end.attempts, 1);
  pair_destroy(&pair);
}

static void one_starts_when_that_of_another_queue_has_ended(void) {
  for_each_kind(check_wait_for_end);
}

/* How the earlier operation may end. */
static void end_finished(pair *pair) {
  CHECK_OK(inturn_token_finish(pair->earlier.token));
}

static void end_with_result(pair *pair) {
  CHECK_OK(inturn_token_finish_with(pair->earlier.token, pair, NULL));
}

static void end_failed(pair *pair) {
  CHECK_OK(inturn_token_fail(pair->earlier.token, 3));
}

static void end_cancelled(pair *pair) {
  CHECK_OK(inturn_token_cancel(pair->earlier.token));
}

static void end_abandoned(pair *pair) {
  reports reports;
  reports_begin(&reports);
  CHECK_OK(inturn_token_abandon(pair->earlier.token));
  reports_end();
}

static void end_destroyed(pair *pair) {
  CHECK_OK(inturn_queue_destroy(pair->first.queue));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = pair->first.executor;
  options.clock = pair->first.clock;
  CHECK_OK(
      inturn_queue_create(INTURN_QUEUE_FIFO, &options, &pair->first.queue));
}

static void check_policies(inturn_queue_kind kind) {
  static void (*const ends[])(pair *) = {end_finished,  end_with_result,
                                         end_failed,    end_cancelled,
                                         end_abandoned, end_destroyed};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    for (int policy = 0; policy < 2; policy++) {
      bool starts = i < 2 || policy == INTURN_AFTER_ENDED;
      pair pair;
      pair_create(&pair, kind, (inturn_after_policy)policy,
                  starts ? work_finish : never_work);
      ends[i](&pair);
      pair_drain(&pair);
      if (starts)
        CHECK_ENDED(&pair.later, INTURN_FINISHED, INTURN_CAUSE_NONE);
      else
        CHECK_ENDED(&pair.later, INTURN_CANCELLED, INTURN_CAUSE_DEPENDENCY);
      CHECK_INT(pair.later.end.attempts, starts);
      CHECK(starts || pair.later.end.started_ns == 0);
      pair_destroy(&pair);
    }
  }
}

static void the_policy_says_whether_the_earlier_one_has_to_finish(void) {
  for_each_kind(check_policies);
}

static void check_ended_already(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job good = JOB("good"), bad = JOB("bad"), cancelled = JOB("cancelled");
  job later[4] = {JOB("a"), JOB("b"), JOB("c"), JOB("d")};
  inturn_operation operations[3];
  operations[0] = job_enqueue_kept(stage.queue, &good, work_finish);
  operations[1] = job_enqueue_kept(stage.queue, &bad, work_fail);
  operations[2] = job_enqueue_kept(stage.queue, &cancelled, never_work);
  CHECK_OK(inturn_operation_cancel(operations[2]));
  stage_drain(&stage);
  for (int i = 0; i < 4; i++) {
    inturn_operation_options options =
        options_after(&later[i], &operations[i % 3], INTURN_AFTER_FINISHED);
    if (i == 3) {
      options.after = operations;
      options.after_count = 2;
    }
    job_enqueue_as(stage.queue, &later[i], i == 0 ? work_finish : never_work,
                   &options);
  }
  stage_drain(&stage);
  CHECK_ENDED(&later[0], INTURN_FINISHED, INTURN_CAUSE_NONE);
  for (int i = 1; i < 4; i++)
    CHECK_ENDED(&later[i], INTURN_CANCELLED, INTURN_CAUSE_DEPENDENCY);
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_operation_release(operations[i]));
  stage_destroy(&stage);
}

static void those_that_have_ended_already_count_as_well(void) {
  for_each_kind(check_ended_already);
}

static void check_several(inturn_queue_kind kind) {
  enum { COUNT = 5 };
  static const int order[COUNT] = {3, 0, 4, 2, 1};
  stage first = stage_create_of(INTURN_QUEUE_CONCURRENT, COUNT);
  stage second = stage_create(kind);
  job earlier[COUNT], later = JOB("later");
  /* Has the first one twice: waited for once or twice, and listed in full. */
  inturn_operation operations[COUNT + 1];
  for (int i = 0; i < COUNT; i++) {
    earlier[i] = (job)JOB("earlier");
    operations[i] = job_enqueue_kept(first.queue, &earlier[i], work_hold);
  }
  operations[COUNT] = operations[0];
  stage_drain(&first);
  inturn_operation_options options = job_options(&later);
  options.after = operations;
  options.after_count = COUNT + 1;
  job_enqueue_as(second.queue, &later, work_finish, &options);
  /* The options' arrays were copied. */
  inturn_operation kept[COUNT];
  memcpy(kept, operations, sizeof kept);
  memset(operations, 0xee, sizeof operations);
  for (int i = 0; i < COUNT; i++) {
    stage_drain(&second);
    CHECK_INT(gate_count(&later.started), 0);
    CHECK_OK(inturn_token_finish(earlier[order[i]].token));
  }
  stage_drain(&second);
  CHECK_INT(gate_count(&later.started), 1);
  for (int i = 0; i < COUNT; i++)
    CHECK_OK(inturn_operation_release(kept[i]));
  stage_destroy(&first);
  stage_destroy(&second);
}

static void one_waits_for_the_last_of_several(void) {
  for_each_kind(check_several);
}

/* Jobs a, b and c; b comes after one that is held. */
static void check_place(inturn_queue_kind kind, const char *held,
                        const char *freed) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_AFTER_ENDED, work_finish);
  stage stage = stage_create_of(kind, 1);
  job a = JOB("a"), b = JOB("b"), c = JOB("c");
  job_enqueue(stage.queue, &a, work_finish);
  inturn_operation_options options =
      options_after(&b, &pair.earlier_operation, INTURN_AFTER_ENDED);
  job_enqueue_as(stage.queue, &b, work_finish, &options);
  job_enqueue(stage.queue, &c, work_finish);
  stage_drain(&stage);
  CHECK_TRACE(held);
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  stage_drain(&stage);
  CHECK_TRACE(freed);
  pair_drain(&pair);
  stage_destroy(&stage);
  pair_destroy(&pair);
  trace_begin();
}

static void it_waits_in_its_place_of_a_fifo_or_actor_queue(void) {
  for (int i = 0; i < 2; i++)
    check_place(i == 0 ? INTURN_QUEUE_FIFO : INTURN_QUEUE_ACTOR,
                "work a, end a finished",
                "work b, end b finished, work c, end c finished");
}

static void a_concurrent_or_interaction_queue_goes_on_with_others(void) {
  for (int i = 0; i < 2; i++)
    check_place(i == 0 ? INTURN_QUEUE_INTERACTION : INTURN_QUEUE_CONCURRENT,
                "work a, end a finished, work c, end c finished",
                "work b, end b finished");
}

static void finish_segment(void *context, inturn_token token) {
  trace("segment %s", ((job *)context)->name);
  CHECK_OK(inturn_token_finish(token));
}

/* An actor's operation that has suspended, and one that comes after it or waits
   for its name. */
static void check_begun(bool by_name, bool is_late) {
  static const char *const names[] = {"begun"};
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  job a = JOB("a"), b = JOB("b"), c = JOB("c");
  inturn_operation_options options = job_options(&a);
  options.exclusive = names;
  options.exclusive_count = by_name;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &a, work_hold, &options);
  stage_drain(&stage);
  options = job_options(&b);
  options.exclusive = names;
  options.exclusive_count = by_name;
  options.after = &operation;
  options.after_count = !by_name;
  job_enqueue_as(stage.queue, &b, work_finish, &options);
  job_enqueue(stage.queue, &c, work_finish);
  if (is_late)
    stage_drain(&stage);
  CHECK_OK(inturn_token_resume(a.token, finish_segment, &a, NULL));
  stage_drain(&stage);
  CHECK_TRACE("work a, segment a, end a finished, work b, end b finished, "
              "work c, end c finished");
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void what_has_begun_does_not_wait_behind_one_that_has_not(void) {
  for (int i = 0; i < 4; i++)
    check_begun(i / 2, i % 2);
}

static void a_further_attempt_does_not_wait_behind_who_waits_for_it(void) {
  for (int64_t delay = 0; delay <= 10; delay += 10) {
    stage stage = stage_create(INTURN_QUEUE_ACTOR);
    job a = JOB("a"), b = JOB("b");
    inturn_retry retry = INTURN_RETRY_INIT;
    retry.delay_ns = delay;
    inturn_operation_options options = job_options(&a);
    options.retry = &retry;
    inturn_operation operation =
        job_enqueue_with(stage.queue, &a, work_hold, &options);
    stage_drain(&stage);
    options = options_after(&b, &operation, INTURN_AFTER_ENDED);
    job_enqueue_as(stage.queue, &b, work_finish, &options);
    stage_drain(&stage);
    stage_fail(&stage, &a);
    stage_advance(&stage, delay);
    CHECK_TRACE("work a, work a");
    stage_finish(&stage, &a);
    CHECK_TRACE("end a finished, work b, end b finished");
    CHECK_OK(inturn_operation_release(operation));
    stage_destroy(&stage);
  }
}

static void check_place_among_equals(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_AFTER_ENDED, work_finish);
  stage stage = stage_create_of(kind, 1);
  job jobs[] = {JOB("first"), JOB("waiting"), JOB("equal"),
                JOB("low"),   JOB("late"),    JOB("high")};
  static const int32_t priorities[] = {0, 0, 0, -1, 0, 1};
  CHECK_OK(inturn_queue_suspend(stage.queue));
  for (int i = 0; i < 6; i++) {
    if (i == 4)
      CHECK_OK(inturn_token_finish(pair.earlier.token));
    inturn_operation_options options = job_options(&jobs[i]);
    options.priority = priorities[i];
    if (i == 1) {
      options.after = &pair.earlier_operation;
      options.after_count = 1;
    }
    job_enqueue_as(stage.queue, &jobs[i], work_hold, &options);
  }
  trace_begin();
  CHECK_OK(inturn_queue_resume(stage.queue));
  static const int order[] = {5, 0, 2, 1, 4, 3};
  for (int i = 0; i < 6; i++) {
    stage_drain(&stage);
    CHECK_INT(gate_count(&jobs[order[i]].started), 1);
    CHECK_OK(inturn_token_finish(jobs[order[i]].token));
  }
  stage_drain(&stage);
  stage_destroy(&stage);
  pair_drain(&pair);
  pair_destroy(&pair);
}

static void when_the_wait_is_over_it_takes_its_place_among_its_equals(void) {
  check_place_among_equals(INTURN_QUEUE_INTERACTION);
  check_place_among_equals(INTURN_QUEUE_CONCURRENT);
}

static void check_attempts(inturn_queue_kind kind) {
  pair pair;
  inturn_retry retry = INTURN_RETRY_INIT;
  pair_create(&pair, kind, INTURN_AFTER_FINISHED, work_finish);
  job flaky = JOB("flaky"), later = JOB("b");
  inturn_operation_options options = job_options(&flaky);
  retry.max_attempts = 2;
  options.retry = &retry;
  inturn_operation operation =
      job_enqueue_with(pair.first.queue, &flaky, work_hold, &options);
  options = options_after(&later, &operation, INTURN_AFTER_FINISHED);
  stage stage = stage_create(kind);
  job_enqueue_as(stage.queue, &later, work_finish, &options);
  stage_drain(&pair.first);
  stage_fail(&pair.first, &flaky);
  stage_drain(&stage);
  CHECK_INT(gate_count(&flaky.started), 2);
  CHECK_INT(gate_count(&later.started), 0);
  stage_finish(&pair.first, &flaky);
  stage_drain(&stage);
  CHECK_ENDED(&later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  pair_drain(&pair);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
  pair_destroy(&pair);
}

static void an_attempt_that_fails_is_not_the_end_that_is_waited_for(void) {
  for_each_kind(check_attempts);
}

static void check_held_place(inturn_queue_kind kind) {
  pair pair;
  job slow = JOB("slow"), later = JOB("b");
  pair_create(&pair, kind, INTURN_AFTER_ENDED, work_finish);
  inturn_operation_options options = job_options(&slow);
  options.max_run_ns = 10;
  inturn_operation operation =
      job_enqueue_with(pair.first.queue, &slow, work_hold, &options);
  stage_drain(&pair.first);
  options = options_after(&later, &operation, INTURN_AFTER_ENDED);
  stage stage = stage_create(kind);
  job_enqueue_as(stage.queue, &later, work_finish, &options);
  stage_advance(&pair.first, 10);
  stage_drain(&stage);
  CHECK_ENDED(&later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_STATUS(inturn_token_finish(slow.token), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_token_finish(pair.earlier.token));
  pair_drain(&pair);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
  pair_destroy(&pair);
}

static void an_end_at_a_deadline_is_an_end(void) {
  for_each_kind(check_held_place);
}

/* The second status is that of a mistaken `after`. */
static void check_refused(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  gate destroyed = GATE_INIT;
  job job = JOB("a");
  inturn_operation live = job_enqueue_kept(stage.queue, &job, work_finish);
  inturn_operation gone;
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, &gone));
  CHECK_OK(inturn_operation_release(gone));
  const struct {
    inturn_operation operation;
    inturn_status status;
  } cases[] = {{{0}, INTURN_E_NULL_HANDLE},
               {gone, INTURN_E_STALE},
               {{stage.queue.bits}, INTURN_E_WRONG_KIND},
               {{stage.executor.bits}, INTURN_E_WRONG_KIND}};
  for (int i = 0; i < 4; i++) {
    for (int place = 0; place < 2; place++) {
      inturn_operation after[2] = {live, live};
      after[place] = cases[i].operation;
      inturn_operation out = {99};
      inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
      options.after = after;
      options.after_count = 2;
      options.on_end = never_end;
      options.end_context = &destroyed;
      options.end_destroy = count_destroy;
      long before = gate_count(&destroyed);
      CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                             &destroyed, count_destroy, &out),
                   cases[i].status);
      CHECK_INT(gate_count(&destroyed), before + 2);
      CHECK_INT(out.bits, 99);
    }
  }
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after_count = 1;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &destroyed, count_destroy, NULL),
               INTURN_E_INVALID_ARGUMENT);
  options.after_count = 0;
  options.after_policy = (inturn_after_policy)2;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &destroyed, count_destroy, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&destroyed), 18);
  CHECK_OK(inturn_operation_release(live));
  stage_destroy(&stage);
}

static void what_is_no_operation_cannot_be_waited_for(void) {
  for_each_kind(check_refused);
}

static void check_released(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, INTURN_AFTER_ENDED, work_finish);
  CHECK_OK(inturn_operation_release(pair.earlier_operation));
  stage_finish(&pair.first, &pair.earlier);
  stage_drain(&pair.second);
  CHECK_ENDED(&pair.later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_operation_release(pair.later_operation));
  stage_destroy(&pair.first);
  stage_destroy(&pair.second);
}

static void the_handle_of_the_earlier_one_may_be_released(void) {
  for_each_kind(check_released);
}

PROGRAM(dependencies, TEST(one_starts_when_that_of_another_queue_has_ended),
        TEST(the_policy_says_whether_the_earlier_one_has_to_finish),
        TEST(those_that_have_ended_already_count_as_well),
        TEST(one_waits_for_the_last_of_several),
        TEST(it_waits_in_its_place_of_a_fifo_or_actor_queue),
        TEST(a_concurrent_or_interaction_queue_goes_on_with_others),
        TEST(what_has_begun_does_not_wait_behind_one_that_has_not),
        TEST(a_further_attempt_does_not_wait_behind_who_waits_for_it),
        TEST(when_the_wait_is_over_it_takes_its_place_among_its_equals),
        TEST(an_attempt_that_fails_is_not_the_end_that_is_waited_for),
        TEST(an_end_at_a_deadline_is_an_end),
        TEST(what_is_no_operation_cannot_be_waited_for),
        TEST(the_handle_of_the_earlier_one_may_be_released))
