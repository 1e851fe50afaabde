/*
 * names.c - operations that share a name run one at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "names.h"

static inturn_queue_kind first_kind;

static void check_one_at_a_time(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, first_kind, kind, work_finish);
  CHECK_OK(inturn_token_finish(pair.holder.token));
  stage_drain(&pair.second);
  CHECK_TRACE("work waiter, end waiter finished");
  stage_drain(&pair.first);
  CHECK_ENDED(&pair.holder, INTURN_FINISHED, INTURN_CAUSE_NONE);
  pair_destroy(&pair);
}

static void check_with_each_kind(inturn_queue_kind kind) {
  first_kind = kind;
  for_each_kind(check_one_at_a_time);
}

static void of_two_queues_of_any_kinds_one_runs_at_a_time(void) {
  for_each_kind(check_with_each_kind);
}

static void of_one_queue_one_runs_at_a_time(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job a = JOB("a"), b = JOB("b"), c = JOB("c"), free_one = JOB("free");
  enqueue_named(stage.queue, &a, work_hold, one, 1);
  enqueue_named(stage.queue, &b, work_hold, one, 1);
  enqueue_named(stage.queue, &c, work_hold, two, 1);
  job_enqueue(stage.queue, &free_one, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a, work c, work free");
  stage_finish(&stage, &a);
  CHECK_TRACE("end a finished, work b");
  stage_destroy(&stage);
}

static void names_are_had_all_at_once_in_the_order_of_asking(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job a = JOB("a"), b = JOB("b"), c = JOB("c"), d = JOB("d");
  enqueue_named(stage.queue, &a, work_hold, one, 1);
  enqueue_named(stage.queue, &b, work_hold, both, 2);
  enqueue_named(stage.queue, &c, work_hold, two, 1);
  enqueue_named(stage.queue, &d, work_hold, both_reversed, 2);
  stage_drain(&stage);
  /* The name that c wants is free, but b came first. */
  CHECK_TRACE("work a");
  stage_finish(&stage, &a);
  CHECK_TRACE("end a finished, work b");
  stage_finish(&stage, &b);
  CHECK_TRACE("end b finished, work c");
  stage_finish(&stage, &c);
  CHECK_TRACE("end c finished, work d");
  stage_finish(&stage, &d);
  CHECK_TRACE("end d finished");
  stage_destroy(&stage);
}

static void a_name_may_be_there_twice_be_empty_and_be_copied(void) {
  char changing[] = "changing";
  const char *names[] = {changing, "", "changing", ""};
  static const char *const same[] = {"changing"};
  static const char *const empty[] = {""};
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job a = JOB("a"), b = JOB("b"), c = JOB("c");
  enqueue_named(stage.queue, &a, work_hold, names, 4);
  memset(changing, 'x', sizeof changing - 1);
  enqueue_named(stage.queue, &b, work_hold, same, 1);
  enqueue_named(stage.queue, &c, work_hold, empty, 1);
  stage_drain(&stage);
  CHECK_TRACE("work a");
  stage_finish(&stage, &a);
  CHECK_TRACE("end a finished, work b, work c");
  stage_destroy(&stage);
}

static void names_that_are_none_are_refused(void) {
  static const char *const bad[][2] = {
      {"good", NULL}, {NULL, "good"}, {"good", "\xff"}, {"\xc3", "good"}};
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = never_end;
  options.end_context = &destroyed;
  options.end_destroy = count_destroy;
  for (int i = 0; i < 5; i++) {
    options.exclusive = i < 4 ? bad[i] : NULL;
    options.exclusive_count = 2;
    CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                           &destroyed, count_destroy, NULL),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_INT(gate_count(&destroyed), 2 * (i + 1));
  }
  stage_destroy(&stage);
}

/* What frees a name. */
static void end_failed(pair *pair) {
  CHECK_OK(inturn_token_fail(pair->holder.token, 1));
}

static void end_cancelled(pair *pair) {
  CHECK_OK(inturn_operation_cancel(pair->holder_operation));
  stage_drain(&pair->second);
  CHECK_INT(gate_count(&pair->waiter.started), 0);
  CHECK_OK(inturn_token_cancel(pair->holder.token));
}

static void end_destroyed(pair *pair) {
  CHECK_OK(inturn_queue_destroy(pair->first.queue));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = pair->first.executor;
  options.clock = pair->first.clock;
  CHECK_OK(
      inturn_queue_create(INTURN_QUEUE_FIFO, &options, &pair->first.queue));
}

static void check_ends(inturn_queue_kind kind) {
  static void (*const ends[])(pair *) = {end_failed, end_cancelled,
                                         end_destroyed};
  for (int i = 0; i < 3; i++) {
    pair pair;
    pair_create(&pair, kind, kind, work_finish);
    ends[i](&pair);
    stage_drain(&pair.second);
    CHECK_ENDED(&pair.waiter, INTURN_FINISHED, INTURN_CAUSE_NONE);
    stage_drain(&pair.first);
    pair_destroy(&pair);
  }
}

static void any_end_gives_the_names_back(void) { for_each_kind(check_ends); }

static void check_max_run(inturn_queue_kind kind) {
  for (int policy = 0; policy < 2; policy++) {
    stage first = stage_create(kind), second = stage_create(kind);
    job holder = JOB("holder"), waiter = JOB("waiter");
    inturn_operation_options options = named(&holder, one, 1);
    options.max_run_ns = 10;
    options.max_run_policy = (inturn_max_run_policy)policy;
    job_enqueue_as(first.queue, &holder, work_hold, &options);
    stage_drain(&first);
    enqueue_named(second.queue, &waiter, work_finish, one, 1);
    stage_advance(&first, 10);
    stage_drain(&second);
    CHECK_INT(gate_count(&waiter.started), policy == INTURN_MAX_RUN_FREE);
    CHECK_STATUS(inturn_token_finish(holder.token), INTURN_E_ALREADY_FINISHED);
    stage_drain(&second);
    CHECK_INT(gate_count(&waiter.started), 1);
    stage_drain(&first);
    stage_destroy(&first);
    stage_destroy(&second);
    trace_begin();
  }
}

static void a_place_that_max_run_holds_keeps_its_names(void) {
  for_each_kind(check_max_run);
}

static void check_waiter_leaves(inturn_queue_kind kind) {
  for (int way = 0; way < 3; way++) {
    pair pair;
    pair_create(&pair, kind, kind, never_work);
    stage third = stage_create(kind);
    job last = JOB("last");
    enqueue_named(third.queue, &last, work_finish, one, 1);
    stage_drain(&third);
    if (way == 0)
      CHECK_OK(inturn_operation_cancel(pair.waiter_operation));
    else if (way == 1)
      CHECK_OK(inturn_queue_cancel_all(pair.second.queue));
    else
      stage_destroy(&pair.second);
    if (way == 2)
      pair.second = stage_create(kind);
    stage_drain(&pair.second);
    CHECK_ENDED(&pair.waiter, INTURN_CANCELLED,
                way == 2 ? INTURN_CAUSE_DESTROYED : INTURN_CAUSE_REQUEST);
    stage_drain(&third);
    CHECK_INT(gate_count(&last.started), 0);
    stage_finish(&pair.first, &pair.holder);
    stage_drain(&third);
    CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
    stage_destroy(&third);
    pair_destroy(&pair);
  }
}

static void one_that_waits_may_leave_the_line(void) {
  for_each_kind(check_waiter_leaves);
}

static void check_cancelled_with_names(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, kind, never_work);
  CHECK_OK(inturn_queue_suspend(pair.second.queue));
  stage third = stage_create(kind);
  job last = JOB("last");
  enqueue_named(third.queue, &last, work_finish, one, 1);
  stage_drain(&third);
  stage_finish(&pair.first, &pair.holder);
  pair_drain(&pair);
  stage_drain(&third);
  /* It has its names now, and keeps them while its queue is suspended. */
  CHECK_INT(gate_count(&last.started), 0);
  CHECK_INT(state_of(pair.waiter_operation), INTURN_PENDING);
  CHECK_OK(inturn_operation_cancel(pair.waiter_operation));
  stage_drain(&third);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_resume(&pair.second);
  stage_destroy(&third);
  pair_destroy(&pair);
}

static void a_suspended_queue_keeps_names_until_they_are_given_back(void) {
  for_each_kind(check_cancelled_with_names);
}

static void check_suspended(inturn_queue_kind kind) {
  stage first = stage_create(kind), second = stage_create(kind);
  job a = JOB("a"), b = JOB("b");
  CHECK_OK(inturn_queue_suspend(first.queue));
  enqueue_named(first.queue, &a, work_finish, one, 1);
  stage_drain(&first);
  /* It has not asked for its names yet. */
  enqueue_named(second.queue, &b, work_finish, one, 1);
  stage_drain(&second);
  CHECK_INT(gate_count(&b.started), 1);
  stage_resume(&first);
  CHECK_INT(gate_count(&a.started), 1);
  stage_destroy(&first);
  stage_destroy(&second);
  trace_begin();
}

static void one_asks_for_its_names_when_it_could_start_otherwise(void) {
  for_each_kind(check_suspended);
}

static void check_behind(inturn_queue_kind kind, const char *held) {
  pair pair;
  pair_create(&pair, kind, kind, work_finish);
  job next = JOB("next");
  job_enqueue(pair.second.queue, &next, work_finish);
  stage_drain(&pair.second);
  CHECK_TRACE(held);
  stage_finish(&pair.first, &pair.holder);
  stage_drain(&pair.second);
  CHECK_ENDED(&pair.waiter, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  pair_destroy(&pair);
}

static void what_is_behind_one_waits_in_a_fifo_or_actor_queue(void) {
  check_behind(INTURN_QUEUE_FIFO, "");
  check_behind(INTURN_QUEUE_ACTOR, "");
}

static void a_concurrent_or_interaction_queue_goes_on_with_others(void) {
  check_behind(INTURN_QUEUE_CONCURRENT, "work next, end next finished");
  check_behind(INTURN_QUEUE_INTERACTION, "work next, end next finished");
}

static void check_no_place(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, kind, never_work);
  job next = JOB("next");
  CHECK_INT(statistics_of(pair.second.queue).running, 0);
  CHECK_INT(statistics_of(pair.second.queue).pending, 1);
  CHECK_OK(inturn_queue_cancel_all(pair.second.queue));
  job_enqueue(pair.second.queue, &next, work_finish);
  stage_drain(&pair.second);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_finish(&pair.first, &pair.holder);
  pair_destroy(&pair);
}

static void one_that_waits_takes_no_place_and_is_pending(void) {
  for_each_kind(check_no_place);
}

static void check_max_wait(inturn_queue_kind kind) {
  pair pair;
  pair_create(&pair, kind, kind, never_work);
  CHECK_OK(inturn_operation_cancel(pair.waiter_operation));
  job late = JOB("late"), next = JOB("next");
  inturn_operation_options options = named(&late, one, 1);
  options.max_wait_ns = 10;
  job_enqueue_as(pair.second.queue, &late, never_work, &options);
  job_enqueue(pair.second.queue, &next, work_finish);
  stage_drain(&pair.second);
  stage_advance(&pair.second, 10);
  CHECK_ENDED(&late, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_WAIT);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_finish(&pair.first, &pair.holder);
  pair_destroy(&pair);
}

static void one_that_waits_has_its_deadline(void) {
  for_each_kind(check_max_wait);
}

PROGRAM(names, TEST(of_two_queues_of_any_kinds_one_runs_at_a_time),
        TEST(of_one_queue_one_runs_at_a_time),
        TEST(names_are_had_all_at_once_in_the_order_of_asking),
        TEST(a_name_may_be_there_twice_be_empty_and_be_copied),
        TEST(names_that_are_none_are_refused),
        TEST(any_end_gives_the_names_back),
        TEST(a_place_that_max_run_holds_keeps_its_names),
        TEST(one_that_waits_may_leave_the_line),
        TEST(a_suspended_queue_keeps_names_until_they_are_given_back),
        TEST(one_asks_for_its_names_when_it_could_start_otherwise),
        TEST(what_is_behind_one_waits_in_a_fifo_or_actor_queue),
        TEST(a_concurrent_or_interaction_queue_goes_on_with_others),
        TEST(one_that_waits_takes_no_place_and_is_pending),
        TEST(one_that_waits_has_its_deadline))
