/*
 * names.c - of all operations of all queues that have a name in common, one
 * runs at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static const char *const one[] = {"one"};
static const char *const two[] = {"two"};
static const char *const both[] = {"one", "two"};
static const char *const both_reversed[] = {"two", "one"};

static inturn_operation_options named(job *job, const char *const *names,
                                      size_t count) {
  inturn_operation_options options = job_options(job);
  options.exclusive = names;
  options.exclusive_count = count;
  return options;
}

static void enqueue_named(inturn_queue queue, job *job, inturn_work_fn work,
                          const char *const *names, size_t count) {
  inturn_operation_options options = named(job, names, count);
  job_enqueue_as(queue, job, work, &options);
}

/* Two stages: a job that runs on the first and has the name "one", and one on
   the second that wants it. */
typedef struct pair {
  stage first, second;
  job holder, waiter;
  inturn_operation holder_operation, waiter_operation;
} pair;

static void pair_create(pair *pair, inturn_queue_kind holder_kind,
                        inturn_queue_kind waiter_kind, inturn_work_fn work) {
  pair->holder = (job)JOB("holder");
  pair->waiter = (job)JOB("waiter");
  pair->first = stage_create(holder_kind);
  pair->second = stage_create(waiter_kind);
  inturn_operation_options options = named(&pair->holder, one, 1);
  pair->holder_operation =
      job_enqueue_with(pair->first.queue, &pair->holder, work_hold, &options);
  stage_drain(&pair->first);
  CHECK_INT(gate_count(&pair->holder.started), 1);
  options = named(&pair->waiter, one, 1);
  pair->waiter_operation =
      job_enqueue_with(pair->second.queue, &pair->waiter, work, &options);
  stage_drain(&pair->second);
  CHECK_INT(gate_count(&pair->waiter.started), 0);
  CHECK_INT(state_of(pair->waiter_operation), INTURN_PENDING);
  trace_begin();
}

static void pair_drain(const pair *pair) {
  stage_drain(&pair->first);
  stage_drain(&pair->second);
}

static void pair_destroy(const pair *pair) {
  CHECK_OK(inturn_operation_release(pair->holder_operation));
  CHECK_OK(inturn_operation_release(pair->waiter_operation));
  stage_destroy(&pair->first);
  stage_destroy(&pair->second);
  trace_begin();
}

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
  /* It has not asked yet. */
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

static void check_retry(inturn_queue_kind kind) {
  stage first = stage_create(kind), second = stage_create(kind);
  job flaky = JOB("flaky"), other = JOB("other");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  inturn_operation_options options = named(&flaky, one, 1);
  options.retry = &retry;
  job_enqueue_as(first.queue, &flaky, work_hold, &options);
  stage_drain(&first);
  enqueue_named(second.queue, &other, work_hold, one, 1);
  stage_drain(&second);
  stage_fail(&first, &flaky);
  stage_drain(&second);
  CHECK_INT(gate_count(&other.started), 1);
  stage_advance(&first, 100);
  CHECK_INT(gate_count(&flaky.started), 1);
  stage_finish(&second, &other);
  stage_drain(&first);
  CHECK_INT(gate_count(&flaky.started), 2);
  stage_finish(&first, &flaky);
  CHECK_ENDED(&flaky, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&first);
  stage_destroy(&second);
  trace_begin();
}

static void between_attempts_the_names_are_free(void) {
  for_each_kind(check_retry);
}

static void a_barrier_may_have_names(void) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT, work_finish);
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), next = JOB("next");
  inturn_operation_options options = named(&fence, one, 1);
  options.barrier = true;
  job_enqueue_as(stage.queue, &fence, work_finish, &options);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_token_finish(pair.holder.token));
  pair_drain(&pair);
  trace_begin();
  stage_drain(&stage);
  CHECK_TRACE("work fence, end fence finished, work next, end next finished");
  stage_destroy(&stage);
  pair_destroy(&pair);
}

static void an_urgent_one_that_has_to_wait_holds_no_other_up(void) {
  stage elsewhere = stage_create(INTURN_QUEUE_FIFO);
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job holder = JOB("holder"), urgent = JOB("urgent"), plain = JOB("plain");
  enqueue_named(elsewhere.queue, &holder, work_hold, one, 1);
  stage_drain(&elsewhere);
  inturn_operation_options options = named(&urgent, one, 1);
  options.urgent = true;
  job_enqueue_as(stage.queue, &urgent, work_hold, &options);
  job_enqueue(stage.queue, &plain, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work holder, work plain");
  stage_finish(&elsewhere, &holder);
  trace_begin();
  CHECK_OK(inturn_token_yield(plain.token));
  stage_drain(&stage);
  CHECK_TRACE("work urgent");
  stage_finish(&stage, &urgent);
  CHECK_TRACE("end urgent finished, work plain");
  stage_destroy(&stage);
  stage_destroy(&elsewhere);
}

static void priorities_and_names_go_together(void) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT, work_finish);
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job low = JOB("low"), high = JOB("high"), plain = JOB("plain");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  inturn_operation_options options = named(&low, one, 1);
  options.priority = -1;
  job_enqueue_as(stage.queue, &low, work_finish, &options);
  options = named(&high, one, 1);
  options.priority = 1;
  job_enqueue_as(stage.queue, &high, work_finish, &options);
  job_enqueue(stage.queue, &plain, work_finish);
  stage_resume(&stage);
  CHECK_TRACE("work plain, end plain finished");
  stage_finish(&pair.first, &pair.holder);
  pair_drain(&pair);
  trace_begin();
  stage_drain(&stage);
  /* The high one came to ask first. */
  CHECK_TRACE("work high, end high finished, work low, end low finished");
  stage_destroy(&stage);
  pair_destroy(&pair);
}

/* A thousand philosophers' dinners on four queues of all kinds: no set of names
   can deadlock, and no two that share one overlap. */
enum { NAMES = 6, QUEUES = 4 };

static const char *const all_names[NAMES] = {"a", "b", "c", "d", "e", "f"};
static atomic_int users[NAMES];
static gate all_ended;

typedef struct diner {
  unsigned set;
} diner;

static void dine(void *context, inturn_token token) {
  unsigned set = ((diner *)context)->set;
  for (int i = 0; i < NAMES; i++)
    if (set >> i & 1)
      CHECK_INT(atomic_fetch_add(&users[i], 1), 0);
  for (int i = 0; i < NAMES; i++)
    if (set >> i & 1)
      CHECK_INT(atomic_fetch_sub(&users[i], 1), 1);
  CHECK_OK(inturn_token_finish(token));
}

static void no_set_of_names_can_deadlock(void) {
  enum { MOST = 20000 };
  static diner diners[MOST];
  const int count = (int)scaled(MOST);
  inturn_queue queues[QUEUES];
  uint64_t seed = 11;
  all_ended = (gate)GATE_INIT;
  for (int i = 0; i < QUEUES; i++)
    queues[i] = pool_queue_create((inturn_queue_kind)(i + 1), NULL);
  for (int i = 0; i < count; i++) {
    const char *names[NAMES];
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    diners[i].set = (unsigned)(next_random(&seed) % (1u << NAMES));
    options.exclusive = names;
    /* Each in an order of its own. */
    int begin = (int)(next_random(&seed) % NAMES);
    for (int j = 0; j < NAMES; j++)
      if (diners[i].set >> (begin + j) % NAMES & 1)
        names[options.exclusive_count++] = all_names[(begin + j) % NAMES];
    options.on_end = count_end;
    options.end_context = &all_ended;
    CHECK_OK(inturn_queue_enqueue_with(queues[i % QUEUES], &options, dine,
                                       &diners[i], NULL, NULL));
  }
  for (int i = 0; i < QUEUES; i++)
    drain_and_destroy(queues[i]);
  CHECK_INT(gate_count(&all_ended), count);
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
        TEST(one_that_waits_has_its_deadline),
        TEST(between_attempts_the_names_are_free),
        TEST(a_barrier_may_have_names),
        TEST(an_urgent_one_that_has_to_wait_holds_no_other_up),
        TEST(priorities_and_names_go_together),
        TEST(no_set_of_names_can_deadlock))
