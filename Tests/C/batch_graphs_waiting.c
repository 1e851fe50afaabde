/*
 * batch_graphs_waiting.c - operations that wait for others of their batch count
 * as pending in their queue, like all others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "batch_graphs.h"

static void look_at_what_waits(void) {
  set set;
  set_begin(&set, work_hold);
  inturn_queue queue = set.stage.queue;
  inturn_queue_statistics statistics = statistics_of(queue);
  CHECK_INT(statistics.pending, 3);
  CHECK_INT(statistics.running, 2);
  inturn_operation_info infos[JOBS + 1] = {INTURN_OPERATION_INFO_INIT};
  size_t count;
  CHECK_OK(inturn_queue_list(queue, infos, JOBS + 1, &count));
  CHECK_INT(count, JOBS);
  for (size_t i = 0; i < JOBS; i++)
    CHECK_INT(infos[i].state, i < 2 ? INTURN_RUNNING : INTURN_PENDING);
  CHECK_OK(inturn_queue_list(queue, infos, 3, &count));
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_STATUS(inturn_queue_drain(queue, 0), INTURN_E_TIMED_OUT);
  /* Suspended or closed, the queue keeps it. */
  CHECK_OK(inturn_queue_suspend(queue));
  stage_finish(&set.stage, &set.jobs[0]);
  CHECK_OK(inturn_queue_close(queue));
  CHECK_TRACE("work a, work e");
  CHECK_INT(statistics_of(queue).pending, 3);
  stage_resume(&set.stage);
  CHECK_TRACE("work b, work c");
  for (int i = 1; i <= 3; i++)
    stage_finish(&set.stage, &set.jobs[i]);
  CHECK_OK(inturn_queue_drain(queue, 0));
  CHECK_TRACE("work d, batch finished");
  set_end(&set);
}

static void what_waits_is_pending(void) { in_both_ways(look_at_what_waits); }

static void fill_the_queue(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.capacity = JOBS;
  options.max_concurrent = 1;
  set set;
  gate work = GATE_INIT;
  set_prepare(&set, stage_create_with(INTURN_QUEUE_CONCURRENT, options),
              work_hold);
  CHECK_OK(
      inturn_queue_enqueue(set.stage.queue, count_work, &work, NULL, NULL));
  CHECK_STATUS(inturn_queue_enqueue_batch(set.stage.queue, &set.options,
                                          set.items, JOBS, NULL),
               INTURN_E_FULL);
  stage_drain(&set.stage);
  for (int i = 0; i < JOBS; i++) {
    CHECK_INT(gate_count(&set.jobs[i].destroyed), i == 1 ? 0 : 1);
    set.jobs[i].destroyed = (gate)GATE_INIT;
  }
  set_enqueue(&set);
  CHECK_STATUS(
      inturn_queue_enqueue(set.stage.queue, count_work, &work, NULL, NULL),
      INTURN_E_FULL);
  stage_drain(&set.stage);
  /* Started, but not ended. */
  CHECK_OK(
      inturn_queue_enqueue(set.stage.queue, count_work, &work, NULL, NULL));
  for (int i = 0; i < JOBS; i++)
    stage_finish(&set.stage, &set.jobs[starts[i]]);
  CHECK_TRACE("work a, work e, work b, work c, work d, batch finished");
  CHECK_INT(gate_count(&work), 2);
  set_end(&set);
}

static void what_waits_takes_capacity(void) { in_both_ways(fill_the_queue); }

static void put_a_barrier_behind(void) {
  set set;
  set_begin(&set, work_hold);
  job fence = JOB("fence"), last = JOB("last");
  inturn_operation_options options = job_options(&fence);
  options.barrier = true;
  job_enqueue_as(set.stage.queue, &fence, work_finish, &options);
  job_enqueue(set.stage.queue, &last, work_finish);
  stage_finish(&set.stage, &set.jobs[4]);
  stage_finish(&set.stage, &set.jobs[0]);
  stage_finish(&set.stage, &set.jobs[1]);
  stage_finish(&set.stage, &set.jobs[2]);
  CHECK_TRACE("work a, work e, work b, work c, work d");
  stage_finish(&set.stage, &set.jobs[3]);
  CHECK_INT(gate_count(&last.destroyed), 1);
  CHECK_INT(set.end.finished, JOBS);
  set_end(&set);
}

static void put_a_barrier_before(void) {
  set set;
  job first = JOB("first"), fence = JOB("fence");
  set_prepare(&set, stage_create_running(INTURN_QUEUE_CONCURRENT, &first),
              work_finish);
  inturn_operation_options options = job_options(&fence);
  options.barrier = true;
  job_enqueue_as(set.stage.queue, &fence, work_hold, &options);
  set_enqueue(&set);
  stage_drain(&set.stage);
  stage_finish(&set.stage, &first);
  CHECK_TRACE("work first, end first finished, work fence");
  stage_finish(&set.stage, &fence);
  CHECK_TRACE("end fence finished, work a, work e, work b, work c, work d, "
              "batch finished");
  set_end(&set);
}

static void cancel_before_a_barrier(void) {
  set set;
  set_begin(&set, work_hold);
  job fence = JOB("fence");
  inturn_operation_options options = job_options(&fence);
  options.barrier = true;
  job_enqueue_as(set.stage.queue, &fence, work_finish, &options);
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_OK(inturn_batch_cancel(set.batch));
  stage_finish(&set.stage, &set.jobs[0]);
  CHECK_INT(gate_count(&fence.started), 1);
  set_end(&set);
}

static void a_barrier_waits_for_what_waits_before_it(void) {
  in_both_ways(put_a_barrier_behind);
  in_both_ways(cancel_before_a_barrier);
}

static void what_is_behind_a_barrier_waits_for_it(void) {
  in_both_ways(put_a_barrier_before);
}

static void priorities_go_before_what_has_waited(void) {
  set set;
  set_prepare(&set, stage_create_of(INTURN_QUEUE_CONCURRENT, 1), work_hold);
  job low = JOB("low"), high = JOB("high");
  set_enqueue(&set);
  stage_drain(&set.stage);
  inturn_operation_options options = job_options(&low);
  options.priority = -1;
  job_enqueue_as(set.stage.queue, &low, work_finish, &options);
  options = job_options(&high);
  options.priority = 1;
  job_enqueue_as(set.stage.queue, &high, work_finish, &options);
  stage_finish(&set.stage, &set.jobs[0]);
  CHECK_TRACE("work a, work high, end high finished, work e");
  for (int i = 1; i < JOBS; i++)
    stage_finish(&set.stage, &set.jobs[starts[i]]);
  CHECK_TRACE("work b, work c, work d, batch finished, work low, "
              "end low finished");
  set_end(&set);
}

static void ignore_event(void *context, const inturn_event *event) {
  (void)event;
  gate_pass(context);
}

static void a_queue_with_events_tells_those_of_each(void) {
  gate events = GATE_INIT;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.on_event = ignore_event;
  options.event_context = &events;
  options.max_concurrent = 4;
  set set;
  set_prepare(&set, stage_create_with(INTURN_QUEUE_CONCURRENT, options),
              work_finish);
  set_enqueue(&set);
  stage_drain(&set.stage);
  CHECK_TRACE("work a, work e, work b, work c, work d, batch finished");
  /* Enqueued, started, ended; idle. */
  CHECK_INT(gate_count(&events), 3 * JOBS + 1);
  set_end(&set);
}

/* How many have ended, from a value for the progress of JOBS operations. */
static int64_t completed(inturn_value value) {
  inturn_datum datum;
  CHECK_OK(inturn_value_get(value, &datum));
  CHECK_INT(datum.total, JOBS);
  return datum.integer;
}

static void progress_counts_what_was_cancelled_while_it_waited(void) {
  set set;
  set_begin(&set, work_hold);
  inturn_value of_queue, of_batch;
  CHECK_OK(inturn_queue_create_value(set.stage.queue, INTURN_QUEUE_PROGRESS,
                                     &of_queue));
  CHECK_OK(inturn_batch_create_value(set.batch, &of_batch));
  CHECK_INT(completed(of_queue), 0);
  stage_finish(&set.stage, &set.jobs[0]);
  CHECK_INT(completed(of_queue), 1);
  CHECK_OK(inturn_batch_cancel(set.batch));
  CHECK_INT(completed(of_queue), 2);
  stage_drain(&set.stage);
  CHECK_INT(completed(of_batch), 2);
  stage_finish(&set.stage, &set.jobs[1]);
  stage_finish(&set.stage, &set.jobs[2]);
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_INT(completed(of_queue), JOBS);
  CHECK_INT(completed(of_batch), JOBS);
  CHECK_OK(inturn_value_destroy(of_queue));
  CHECK_OK(inturn_value_destroy(of_batch));
  set_end(&set);
}

PROGRAM(batch_graphs_waiting, TEST(what_waits_is_pending),
        TEST(what_waits_takes_capacity),
        TEST(a_barrier_waits_for_what_waits_before_it),
        TEST(what_is_behind_a_barrier_waits_for_it),
        TEST(priorities_go_before_what_has_waited),
        TEST(a_queue_with_events_tells_those_of_each),
        TEST(progress_counts_what_was_cancelled_while_it_waited))
