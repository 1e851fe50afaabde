/*
 * priorities.c - higher priorities start first, equal ones in order, and none
 * waits for ever in a concurrent queue.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <limits.h>

enum { PATIENCE = 64, MOST = 4000 };

/* Operations that are numbers, and the order in which they start. */
static int numbers[MOST];
static int starts[MOST];
static int start_count;

static void note_start(void *context, inturn_token token) {
  starts[start_count++] = *(int *)context;
  just_finish(context, token);
}

static inturn_status enqueue_number(inturn_queue queue, int number,
                                    int32_t priority,
                                    inturn_operation *out_operation) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.priority = priority;
  numbers[number] = number;
  return inturn_queue_enqueue_with(queue, &options, note_start,
                                   &numbers[number], NULL, out_operation);
}

static void enqueue(inturn_queue queue, int number, int32_t priority) {
  CHECK_OK(enqueue_number(queue, number, priority, NULL));
}

/* A suspended queue that runs one at a time. */
static stage create_suspended(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  start_count = 0;
  return stage;
}

static void check_starts(const int *expected, int count) {
  CHECK_INT(start_count, count);
  for (int i = 0; i < count; i++)
    CHECK_INT(starts[i], expected[i]);
}

/* For both kinds that have priorities. */
static void for_each_selective_kind(void (*body)(inturn_queue_kind kind)) {
  body(INTURN_QUEUE_INTERACTION);
  body(INTURN_QUEUE_CONCURRENT);
}

static void check_order(inturn_queue_kind kind) {
  static const int32_t priorities[] = {0, -3,        5,  0,         5,
                                       3, INT32_MAX, -3, INT32_MIN, 5};
  static const int expected[] = {6, 2, 4, 9, 5, 0, 3, 1, 7, 8};
  stage stage = create_suspended(kind);
  for (int i = 0; i < 10; i++)
    enqueue(stage.queue, i, priorities[i]);
  stage_resume(&stage);
  check_starts(expected, 10);
  stage_destroy(&stage);
}

static void higher_priorities_start_first_and_equal_ones_in_order(void) {
  for_each_selective_kind(check_order);
}

static void check_no_options(inturn_queue_kind kind) {
  static const int expected[] = {2, 0, 1, 3, 5, 4};
  stage stage = create_suspended(kind);
  for (int i = 0; i < 6; i++)
    numbers[i] = i;
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, note_start, &numbers[0], NULL, NULL));
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, note_start, &numbers[1], NULL, NULL));
  enqueue(stage.queue, 2, 1);
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, note_start, &numbers[3], NULL, NULL));
  enqueue(stage.queue, 4, -1);
  enqueue(stage.queue, 5, 0);
  stage_resume(&stage);
  check_starts(expected, 6);
  stage_destroy(&stage);
}

static void one_without_options_has_the_priority_zero(void) {
  for_each_selective_kind(check_no_options);
}

static void check_running(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  job low = JOB("low"), high = JOB("high"), middle = JOB("middle");
  job_enqueue(stage.queue, &low, work_hold);
  stage_drain(&stage);
  inturn_operation_options options = job_options(&middle);
  options.priority = 1;
  job_enqueue_as(stage.queue, &middle, work_hold, &options);
  options = job_options(&high);
  options.priority = 2;
  job_enqueue_as(stage.queue, &high, work_hold, &options);
  stage_drain(&stage);
  CHECK_TRACE("work low");
  CHECK(!is_cancelled(low.token));
  stage_finish(&stage, &low);
  CHECK_TRACE("end low finished, work high");
  stage_finish(&stage, &high);
  CHECK_TRACE("end high finished, work middle");
  stage_finish(&stage, &middle);
  CHECK_TRACE("end middle finished");
  stage_destroy(&stage);
}

static void a_higher_priority_comes_next_and_leaves_what_runs_alone(void) {
  for_each_selective_kind(check_running);
}

static void check_unsupported(inturn_queue_kind kind) {
  static const int32_t priorities[] = {1, -1, INT32_MAX, INT32_MIN};
  stage stage = stage_create(kind);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  gate destroyed = GATE_INIT;
  for (int i = 0; i < 4; i++) {
    options.priority = priorities[i];
    options.on_end = never_end;
    options.end_context = &destroyed;
    options.end_destroy = count_destroy;
    CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                           &destroyed, count_destroy, NULL),
                 INTURN_E_UNSUPPORTED);
    CHECK_INT(gate_count(&destroyed), 2 * (i + 1));
  }
  CHECK_INT(statistics_of(stage.queue).pending, 0);
  stage_destroy(&stage);
}

static void fifo_and_actor_queues_have_no_priorities(void) {
  check_unsupported(INTURN_QUEUE_FIFO);
  check_unsupported(INTURN_QUEUE_ACTOR);
}

static void an_interaction_queue_keeps_the_low_ones_waiting(void) {
  stage stage = create_suspended(INTURN_QUEUE_INTERACTION);
  enqueue(stage.queue, 0, -1);
  for (int i = 1; i < 1000; i++)
    enqueue(stage.queue, i, 0);
  stage_resume(&stage);
  CHECK_INT(start_count, 1000);
  for (int i = 0; i < 999; i++)
    CHECK_INT(starts[i], i + 1);
  CHECK_INT(starts[999], 0);
  stage_destroy(&stage);
}

static void after_64_starts_a_lower_priority_has_its_turn(void) {
  stage stage = create_suspended(INTURN_QUEUE_CONCURRENT);
  enqueue(stage.queue, 0, -1);
  enqueue(stage.queue, 1, -1);
  for (int i = 2; i < 300; i++)
    enqueue(stage.queue, i, 7);
  stage_resume(&stage);
  CHECK_INT(start_count, 300);
  for (int i = 0; i < PATIENCE; i++)
    CHECK_INT(starts[i], i + 2);
  CHECK_INT(starts[PATIENCE], 0);
  CHECK_INT(starts[PATIENCE + 1], PATIENCE + 2);
  CHECK_INT(starts[2 * PATIENCE + 1], 1);
  stage_destroy(&stage);
}

static void that_priority_has_it_which_has_waited_longest(void) {
  stage stage = create_suspended(INTURN_QUEUE_CONCURRENT);
  int number = 0;
  for (; number < 2; number++)
    enqueue(stage.queue, number, 3);
  for (; number < 4; number++)
    enqueue(stage.queue, number, -5);
  for (; number < 1000; number++)
    enqueue(stage.queue, number, 9);
  stage_resume(&stage);
  static const int expected[] = {0, 2, 1, 3};
  for (int i = 0; i < 4; i++)
    CHECK_INT(starts[i + (i + 1) * PATIENCE], expected[i]);
  stage_destroy(&stage);
}

static void a_turn_that_nobody_waits_for_does_not_count(void) {
  static const int expected[] = {1, 2, 0};
  stage stage = create_suspended(INTURN_QUEUE_CONCURRENT);
  enqueue(stage.queue, 0, -1);
  for (int i = 1; i <= PATIENCE; i++)
    enqueue(stage.queue, i, 1);
  stage_resume(&stage);
  CHECK_INT(starts[PATIENCE], 0);
  /* The low one has been started since, so the count begins again. */
  CHECK_OK(inturn_queue_suspend(stage.queue));
  start_count = 0;
  enqueue(stage.queue, 0, -1);
  enqueue(stage.queue, 1, 1);
  enqueue(stage.queue, 2, 1);
  stage_resume(&stage);
  check_starts(expected, 3);
  stage_destroy(&stage);
}

static void cancelled_ones_are_no_starts_and_take_no_turn(void) {
  stage stage = create_suspended(INTURN_QUEUE_CONCURRENT);
  inturn_operation low[10], high[10];
  for (int i = 0; i < 10; i++) {
    CHECK_OK(enqueue_number(stage.queue, i, -1, &low[i]));
    CHECK_OK(enqueue_number(stage.queue, 10 + i, 1, &high[i]));
  }
  enqueue(stage.queue, 20, -1);
  for (int i = 30; i < 200; i++)
    enqueue(stage.queue, i, 1);
  for (int i = 0; i < 10; i++) {
    CHECK_OK(inturn_operation_cancel(low[i]));
    CHECK_OK(inturn_operation_cancel(high[i]));
    CHECK_OK(inturn_operation_release(low[i]));
    CHECK_OK(inturn_operation_release(high[i]));
  }
  stage_resume(&stage);
  CHECK_INT(start_count, 171);
  CHECK_INT(starts[PATIENCE - 1], 30 + PATIENCE - 1);
  CHECK_INT(starts[PATIENCE], 20);
  stage_destroy(&stage);
}

static void check_cancel_all(inturn_queue_kind kind) {
  stage stage = create_suspended(kind);
  job jobs[6];
  for (int i = 0; i < 6; i++) {
    jobs[i] = (job)JOB("a");
    inturn_operation_options options = job_options(&jobs[i]);
    options.priority = i % 3;
    job_enqueue_as(stage.queue, &jobs[i], never_work, &options);
  }
  CHECK_INT(statistics_of(stage.queue).pending, 6);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  CHECK_INT(statistics_of(stage.queue).pending, 0);
  CHECK_INT(statistics_of(stage.queue).cancelled, 6);
  stage_resume(&stage);
  for (int i = 0; i < 6; i++)
    CHECK_ENDED(&jobs[i], INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  enqueue(stage.queue, 0, 1);
  stage_drain(&stage);
  CHECK_INT(start_count, 1);
  stage_destroy(&stage);
}

static void cancelling_all_takes_every_priority(void) {
  for_each_selective_kind(check_cancel_all);
}

static void check_destroy(inturn_queue_kind kind) {
  stage stage = create_suspended(kind);
  job jobs[6];
  for (int i = 0; i < 6; i++) {
    jobs[i] = (job)JOB("a");
    inturn_operation_options options = job_options(&jobs[i]);
    options.priority = i % 3;
    job_enqueue_as(stage.queue, &jobs[i], never_work, &options);
  }
  stage_destroy(&stage);
  for (int i = 0; i < 6; i++)
    CHECK_ENDED(&jobs[i], INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
}

static void destroying_the_queue_ends_every_priority(void) {
  for_each_selective_kind(check_destroy);
}

static void check_list(inturn_queue_kind kind) {
  static const char *const expected[] = {"d", "b", "a", "c"};
  stage stage = create_suspended(kind);
  inturn_operation_info infos[5] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 0;
  job jobs[4] = {JOB("a"), JOB("b"), JOB("c"), JOB("d")};
  static const int32_t priorities[] = {0, 1, 0, 2};
  for (int i = 0; i < 4; i++) {
    inturn_operation_options options = job_options(&jobs[i]);
    options.priority = priorities[i];
    job_enqueue_as(stage.queue, &jobs[i], never_work, &options);
  }
  CHECK_OK(inturn_queue_list(stage.queue, infos, 5, &count));
  CHECK_INT(count, 4);
  for (int i = 0; i < 4; i++)
    CHECK_TEXT(infos[i].label, expected[i]);
  CHECK_OK(inturn_queue_list(stage.queue, infos, 2, &count));
  CHECK_INT(count, 2);
  stage_destroy(&stage);
}

static void the_list_has_higher_priorities_first(void) {
  for_each_selective_kind(check_list);
}

static void all_priorities_count_for_the_capacity(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.capacity = 3;
  options.max_concurrent = 1;
  stage stage = stage_create_with(INTURN_QUEUE_CONCURRENT, options);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  start_count = 0;
  for (int i = 0; i < 3; i++)
    enqueue(stage.queue, i, i);
  CHECK_STATUS(enqueue_number(stage.queue, 3, 9, NULL), INTURN_E_FULL);
  stage_resume(&stage);
  static const int expected[] = {2, 1, 0};
  check_starts(expected, 3);
  enqueue(stage.queue, 3, 9);
  stage_destroy(&stage);
}

/* Random starts, compared with each one's place in a sorted list. */
static void check_random(inturn_queue_kind kind, uint64_t seed) {
  enum { COUNT = 60 }; /* too few for ageing */
  stage stage = create_suspended(kind);
  int32_t priorities[COUNT];
  for (int i = 0; i < COUNT; i++) {
    priorities[i] = (int32_t)(next_random(&seed) % 9) - 4;
    enqueue(stage.queue, i, priorities[i]);
  }
  stage_resume(&stage);
  CHECK_INT(start_count, COUNT);
  for (int i = 1; i < COUNT; i++) {
    int before = starts[i - 1], after = starts[i];
    CHECK(priorities[before] > priorities[after] ||
          (priorities[before] == priorities[after] && before < after));
  }
  stage_destroy(&stage);
}

static void random_priorities_start_as_a_sorted_list(void) {
  for (uint64_t seed = 1; seed <= 100; seed++) {
    check_random(INTURN_QUEUE_INTERACTION, seed);
    check_random(INTURN_QUEUE_CONCURRENT, seed);
  }
}

PROGRAM(priorities, TEST(higher_priorities_start_first_and_equal_ones_in_order),
        TEST(one_without_options_has_the_priority_zero),
        TEST(a_higher_priority_comes_next_and_leaves_what_runs_alone),
        TEST(fifo_and_actor_queues_have_no_priorities),
        TEST(an_interaction_queue_keeps_the_low_ones_waiting),
        TEST(after_64_starts_a_lower_priority_has_its_turn),
        TEST(that_priority_has_it_which_has_waited_longest),
        TEST(a_turn_that_nobody_waits_for_does_not_count),
        TEST(cancelled_ones_are_no_starts_and_take_no_turn),
        TEST(cancelling_all_takes_every_priority),
        TEST(destroying_the_queue_ends_every_priority),
        TEST(the_list_has_higher_priorities_first),
        TEST(all_priorities_count_for_the_capacity),
        TEST(random_priorities_start_as_a_sorted_list))
