/*
 * barriers.c - a concurrent queue's barrier starts when everything before it
 * has ended, and nothing after it starts before it has ended.
 *
 * SPDX-License-Identifier: MIT
 */
#include "barriers.h"

static inturn_operation enqueue_barrier_kept(inturn_queue queue, job *job,
                                             inturn_work_fn work) {
  inturn_operation_options options = barrier_options(job);
  return job_enqueue_with(queue, job, work, &options);
}

static void it_starts_when_all_before_it_has_ended(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job a = JOB("a"), b = JOB("b"), fence = JOB("fence");
  job_enqueue(stage.queue, &a, work_hold);
  job_enqueue(stage.queue, &b, work_hold);
  enqueue_barrier(stage.queue, &fence, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work a, work b");
  stage_finish(&stage, &b);
  CHECK_TRACE("end b finished");
  stage_finish(&stage, &a);
  CHECK_TRACE("end a finished, work fence");
  stage_finish(&stage, &fence);
  CHECK_TRACE("end fence finished");
  stage_destroy(&stage);
}

static void nothing_that_is_enqueued_later_starts_before_it_has_ended(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), a = JOB("a"), high = JOB("high"), plain = JOB("b");
  gate worked = GATE_INIT;
  enqueue_barrier(stage.queue, &fence, work_hold);
  job_enqueue(stage.queue, &a, work_finish);
  stage_drain(&stage);
  inturn_operation_options options = job_options(&high);
  options.priority = 9;
  job_enqueue_as(stage.queue, &high, work_finish, &options);
  CHECK_OK(inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
  job_enqueue(stage.queue, &plain, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work fence");
  CHECK_INT(gate_count(&worked), 0);
  stage_finish(&stage, &fence);
  CHECK_INT(gate_count(&worked), 1);
  CHECK_ENDED(&a, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&high, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&plain, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_pending_one_lets_nothing_pass_whatever_its_priority(void) {
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job first = JOB("first"), low = JOB("low"), fence = JOB("fence"),
      high = JOB("high");
  job_enqueue(stage.queue, &first, work_hold);
  stage_drain(&stage);
  inturn_operation_options options = job_options(&low);
  options.priority = -9;
  job_enqueue_as(stage.queue, &low, work_finish, &options);
  enqueue_barrier(stage.queue, &fence, work_finish);
  options = job_options(&high);
  options.priority = 9;
  job_enqueue_as(stage.queue, &high, work_finish, &options);
  stage_finish(&stage, &first);
  CHECK_TRACE("work first, end first finished, work low, end low finished, "
              "work fence, end fence finished, work high, end high finished");
  stage_destroy(&stage);
}

static void barriers_follow_each_other_in_order(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job jobs[6] = {JOB("A"), JOB("B"), JOB("c"), JOB("d"), JOB("E"), JOB("f")};
  for (int i = 0; i < 6; i++) {
    if (i == 0 || i == 1 || i == 4)
      enqueue_barrier(stage.queue, &jobs[i], work_hold);
    else
      job_enqueue(stage.queue, &jobs[i], work_hold);
  }
  stage_drain(&stage);
  CHECK_TRACE("work A");
  stage_finish(&stage, &jobs[0]);
  CHECK_TRACE("end A finished, work B");
  stage_finish(&stage, &jobs[1]);
  CHECK_TRACE("end B finished, work c, work d");
  stage_finish(&stage, &jobs[3]);
  CHECK_TRACE("end d finished");
  stage_finish(&stage, &jobs[2]);
  CHECK_TRACE("end c finished, work E");
  stage_finish(&stage, &jobs[4]);
  CHECK_TRACE("end E finished, work f");
  stage_finish(&stage, &jobs[5]);
  CHECK_TRACE("end f finished");
  stage_destroy(&stage);
}

static void one_that_failed_or_gave_in_is_over_as_well(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fails = JOB("A"), gives_in = JOB("B"), last = JOB("c");
  enqueue_barrier(stage.queue, &fails, work_fail);
  enqueue_barrier(stage.queue, &gives_in, work_hold);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work A, end A failed, work B");
  CHECK_OK(inturn_token_cancel(gives_in.token));
  stage_drain(&stage);
  CHECK_TRACE("end B cancelled, work c, end c finished");
  stage_destroy(&stage);
}

static void a_cancelled_one_holds_nothing_up(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), fence = JOB("fence"), last = JOB("last");
  job_enqueue(stage.queue, &first, work_hold);
  inturn_operation operation =
      enqueue_barrier_kept(stage.queue, &fence, never_work);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work first");
  CHECK_OK(inturn_operation_cancel(operation));
  stage_drain(&stage);
  CHECK_ENDED(&fence, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void one_that_is_cancelled_behind_another_holds_nothing_up(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("A"), second = JOB("B"), third = JOB("C"), last = JOB("d");
  enqueue_barrier(stage.queue, &first, work_hold);
  inturn_operation operation =
      enqueue_barrier_kept(stage.queue, &second, never_work);
  enqueue_barrier(stage.queue, &third, work_finish);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_operation_release(operation));
  stage_finish(&stage, &first);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_ENDED(&third, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_cancelled_one_that_waited_behind_it_holds_nothing_up(void) {
  job other = JOB("other");
  inturn_operation earlier;
  stage elsewhere =
      stage_create_running_kept(INTURN_QUEUE_FIFO, &other, &earlier);
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("A"), waits = JOB("b"), second = JOB("C"), last = JOB("d");
  enqueue_barrier(stage.queue, &first, work_hold);
  inturn_operation_options options = job_options(&waits);
  options.after = &earlier;
  options.after_count = 1;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &waits, never_work, &options);
  enqueue_barrier(stage.queue, &second, work_finish);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_operation_release(operation));
  stage_finish(&stage, &first);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_finish(&elsewhere, &other);
  CHECK_OK(inturn_operation_release(earlier));
  stage_destroy(&elsewhere);
  stage_destroy(&stage);
}

static void one_that_waits_for_another_queue_is_waited_for(void) {
  job other = JOB("other");
  inturn_operation earlier;
  stage elsewhere =
      stage_create_running_kept(INTURN_QUEUE_FIFO, &other, &earlier);
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job waits = JOB("a"), fence = JOB("fence"), last = JOB("last");
  inturn_operation_options options = job_options(&waits);
  options.after = &earlier;
  options.after_count = 1;
  trace_begin();
  job_enqueue_as(stage.queue, &waits, work_finish, &options);
  enqueue_barrier(stage.queue, &fence, work_finish);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_token_finish(other.token));
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished, work fence, end fence finished, "
              "work last, end last finished");
  stage_drain(&elsewhere);
  CHECK_OK(inturn_operation_release(earlier));
  stage_destroy(&elsewhere);
  stage_destroy(&stage);
}

static void it_may_come_after_others_itself(void) {
  job other = JOB("other");
  inturn_operation earlier;
  stage elsewhere =
      stage_create_running_kept(INTURN_QUEUE_FIFO, &other, &earlier);
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job first = JOB("first"), fence = JOB("fence"), last = JOB("last");
  trace_begin();
  job_enqueue(stage.queue, &first, work_finish);
  inturn_operation_options options = barrier_options(&fence);
  options.after = &earlier;
  options.after_count = 1;
  job_enqueue_as(stage.queue, &fence, work_finish, &options);
  job_enqueue(stage.queue, &last, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished");
  CHECK_OK(inturn_token_finish(other.token));
  stage_drain(&stage);
  CHECK_TRACE("work fence, end fence finished, work last, end last finished");
  stage_drain(&elsewhere);
  CHECK_OK(inturn_operation_release(earlier));
  stage_destroy(&elsewhere);
  stage_destroy(&stage);
}

static void check_unsupported(inturn_queue_kind kind) {
  if (kind == INTURN_QUEUE_CONCURRENT)
    return;
  stage stage = stage_create(kind);
  gate destroyed = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.barrier = true;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &destroyed, count_destroy, NULL),
               INTURN_E_UNSUPPORTED);
  CHECK_INT(gate_count(&destroyed), 1);
  stage_destroy(&stage);
}

static void other_kinds_of_queues_have_none(void) {
  for_each_kind(check_unsupported);
}

static void what_is_behind_counts_is_listed_and_has_its_deadline(void) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.capacity = 3;
  stage stage = stage_create_with(INTURN_QUEUE_CONCURRENT, queue_options);
  job running = JOB("running"), fence = JOB("fence"), behind = JOB("b"),
      last = JOB("c");
  static const char *const names[] = {"running", "fence", "b", "c"};
  inturn_operation_info infos[5] = {INTURN_OPERATION_INFO_INIT};
  size_t count = 0;
  job_enqueue(stage.queue, &running, work_hold);
  stage_drain(&stage);
  enqueue_barrier(stage.queue, &fence, work_finish);
  inturn_operation_options options = job_options(&behind);
  options.max_wait_ns = 10;
  job_enqueue_as(stage.queue, &behind, never_work, &options);
  job_enqueue(stage.queue, &last, work_finish);
  CHECK_INT(statistics_of(stage.queue).pending, 3);
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL),
               INTURN_E_FULL);
  CHECK_OK(inturn_queue_list(stage.queue, infos, 5, &count));
  CHECK_INT(count, 4);
  for (int i = 0; i < 4; i++)
    CHECK_TEXT(infos[i].label, names[i]);
  stage_advance(&stage, 10);
  CHECK_ENDED(&behind, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_WAIT);
  CHECK_INT(statistics_of(stage.queue).pending, 2);
  stage_finish(&stage, &running);
  CHECK_ENDED(&last, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  stage_destroy(&stage);
}

/* On the pool: how many of each sort are in their calls. */
static atomic_int plain_inside, barriers_inside, calls;

static void plain_work(void *context, inturn_token token) {
  atomic_fetch_add(&plain_inside, 1);
  CHECK_INT(barriers_inside, 0);
  atomic_fetch_add(&calls, 1);
  atomic_fetch_sub(&plain_inside, 1);
  just_finish(context, token);
}

static void barrier_work(void *context, inturn_token token) {
  CHECK_INT(atomic_fetch_add(&barriers_inside, 1), 0);
  CHECK_INT(plain_inside, 0);
  /* A barrier's context is the number of operations enqueued before it. */
  CHECK_INT(atomic_fetch_add(&calls, 1), *(int *)context);
  atomic_fetch_sub(&barriers_inside, 1);
  just_finish(context, token);
}

static void on_a_pool_nothing_overlaps_one_or_passes_it(void) {
  enum { COUNT = 20000 };
  static int before[COUNT];
  const int count = (int)scaled(COUNT);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  uint64_t seed = 5;
  options.max_concurrent = 4;
  atomic_store(&calls, 0);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  for (int i = 0; i < count; i++) {
    inturn_operation_options barrier = INTURN_OPERATION_OPTIONS_INIT;
    barrier.barrier = next_random(&seed) % 5 == 0;
    before[i] = i;
    CHECK_OK(inturn_queue_enqueue_with(
        queue, &barrier, barrier.barrier ? barrier_work : plain_work,
        &before[i], NULL, NULL));
  }
  drain_and_destroy(queue);
  CHECK_INT(calls, count);
}

PROGRAM(barriers, TEST(it_starts_when_all_before_it_has_ended),
        TEST(nothing_that_is_enqueued_later_starts_before_it_has_ended),
        TEST(a_pending_one_lets_nothing_pass_whatever_its_priority),
        TEST(barriers_follow_each_other_in_order),
        TEST(one_that_failed_or_gave_in_is_over_as_well),
        TEST(a_cancelled_one_holds_nothing_up),
        TEST(one_that_is_cancelled_behind_another_holds_nothing_up),
        TEST(a_cancelled_one_that_waited_behind_it_holds_nothing_up),
        TEST(one_that_waits_for_another_queue_is_waited_for),
        TEST(it_may_come_after_others_itself),
        TEST(other_kinds_of_queues_have_none),
        TEST(what_is_behind_counts_is_listed_and_has_its_deadline),
        TEST(on_a_pool_nothing_overlaps_one_or_passes_it))
