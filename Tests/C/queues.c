/*
 * queues.c - shared by all kinds of queues: order, suspending, capacity,
 * closing, draining, statistics, the list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static void
the_work_is_never_called_inside_the_enqueue(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  job_enqueue(stage.queue, &job, work_finish);
  CHECK_TRACE("");
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  stage_destroy(&stage);
}

static void work_is_never_called_inside_the_enqueue(void) {
  for_each_kind(the_work_is_never_called_inside_the_enqueue);
}

static void fifo_and_interaction_queues_begin_the_next_after_the_end(void) {
  static const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO,
                                            INTURN_QUEUE_INTERACTION};
  for (int i = 0; i < 2; i++) {
    stage stage = stage_create(kinds[i]);
    job first = JOB("first"), second = JOB("second");
    job_enqueue(stage.queue, &first, work_hold);
    job_enqueue(stage.queue, &second, work_finish);
    stage_drain(&stage);
    CHECK_TRACE("work first");
    CHECK_OK(inturn_token_finish(first.token));
    stage_drain(&stage);
    CHECK_TRACE("end first finished, work second, end second finished");
    stage_destroy(&stage);
  }
}

enum { LINE = 1000 };

typedef struct line {
  int next_work, next_end;
} line;

typedef struct place {
  line *line;
  int index;
} place;

static void work_in_line(void *context, inturn_token token) {
  place *place = context;
  CHECK_INT(place->line->next_work++, place->index);
  CHECK_INT(place->line->next_end, place->index);
  just_finish(context, token);
}

static void end_in_line(void *context, const inturn_end *end) {
  place *place = context;
  CHECK_INT(end->outcome, INTURN_FINISHED);
  CHECK_INT(place->line->next_end++, place->index);
}

static void a_thousand_operations_begin_and_end_in_order(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  line line = {0, 0};
  place places[LINE];
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = end_in_line;
  for (int i = 0; i < LINE; i++) {
    places[i] = (place){&line, i};
    options.end_context = &places[i];
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, work_in_line,
                                       &places[i], NULL, NULL));
  }
  drain_and_destroy(queue);
  CHECK_INT(line.next_end, LINE);
}

static void nothing_starts_while_it_is_suspended(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_INT(statistics_of(stage.queue).suspends, 2);
  job_enqueue(stage.queue, &job, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  CHECK_STATUS(inturn_queue_resume(stage.queue), INTURN_E_NOT_SUSPENDED);
  stage_destroy(&stage);
}

static void suspends_are_counted(void) {
  for_each_kind(nothing_starts_while_it_is_suspended);
}

static void what_was_about_to_start_does_not_after_a_suspend(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  job_enqueue(stage.queue, &job, work_finish);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  stage_destroy(&stage);
}

static void ends_and_cancel_handlers_are_delivered_while_suspended(void) {
  job running = JOB("running"), pending = JOB("pending");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &running);
  job_enqueue(stage.queue, &pending, never_work);
  CHECK_OK(
      inturn_token_on_cancel(running.token, job_cancel_called, &running, NULL));
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  stage_drain(&stage);
  CHECK_INT(gate_count(&running.cancel_called), 1);
  CHECK_ENDED(&pending, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_OK(inturn_token_finish(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&running, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void a_suspended_pool_queue_takes_nothing_up(void) {
  for (int round = 0; round < 100; round++) {
    inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    inturn_queue other = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    gate worked = GATE_INIT, passed = GATE_INIT;
    for (int i = 0; i < 1000; i++)
      CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
    GATE_WAIT(&worked, 1);
    CHECK_OK(inturn_queue_suspend(queue));
    uint64_t pending = statistics_of(queue).pending;
    CHECK_OK(inturn_queue_enqueue(other, count_work, &passed, NULL, NULL));
    drain_and_destroy(other);
    CHECK_INT(statistics_of(queue).pending, pending);
    CHECK_OK(inturn_queue_resume(queue));
    drain_and_destroy(queue);
    CHECK_INT(gate_count(&worked), 1000);
  }
}

static void a_queue_refuses_more_than_its_capacity(inturn_queue_kind kind) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.capacity = 2;
  stage stage = stage_create_with(kind, options);
  gate destroyed = GATE_INIT;
  inturn_operation operation = {77};
  CHECK_OK(inturn_queue_suspend(stage.queue));
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, &destroyed,
                                    count_destroy, &operation),
               INTURN_E_FULL);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_INT(operation.bits, 77);
  CHECK_INT(statistics_of(stage.queue).pending, 2);
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  stage_destroy(&stage);
}

static void a_full_queue_refuses(void) {
  for_each_kind(a_queue_refuses_more_than_its_capacity);
}

static void what_runs_does_not_count_against_the_capacity(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.capacity = 1;
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, options);
  job first = JOB("first"), second = JOB("second");
  job_enqueue(stage.queue, &first, work_hold);
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL),
               INTURN_E_FULL);
  stage_drain(&stage);
  job_enqueue(stage.queue, &second, work_hold);
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished, work second");
  stage_destroy(&stage);
}

static void what_was_accepted_goes_on_after_the_close(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  gate destroyed = GATE_INIT;
  job_enqueue(stage.queue, &job, work_finish);
  CHECK_OK(inturn_queue_close(stage.queue));
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, &destroyed,
                                    count_destroy, NULL),
               INTURN_E_CLOSED);
  CHECK_INT(gate_count(&destroyed), 1);
  CHECK_STATUS(inturn_queue_close(stage.queue), INTURN_E_CLOSED);
  stage_drain(&stage);
  CHECK_TRACE("work a, end a finished");
  stage_destroy(&stage);
}

static void a_closed_queue_refuses_and_goes_on(void) {
  for_each_kind(what_was_accepted_goes_on_after_the_close);
}

static void an_empty_queue_is_drained_at_once(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_drain(stage.queue, -1));
  stage_destroy(&stage);
}

static void an_empty_queue_has_nothing_to_drain(void) {
  for_each_kind(an_empty_queue_is_drained_at_once);
}

static void a_drain_of_zero_just_asks(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  job_enqueue(stage.queue, &job, work_hold);
  CHECK_STATUS(inturn_queue_drain(stage.queue, 0), INTURN_E_TIMED_OUT);
  stage_drain(&stage);
  CHECK_STATUS(inturn_queue_drain(stage.queue, 1000), INTURN_E_TIMED_OUT);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_STATUS(inturn_queue_drain(stage.queue, 0), INTURN_E_TIMED_OUT);
  stage_drain(&stage);
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  stage_destroy(&stage);
}

static void drain_queue(void *queue) {
  CHECK_OK(inturn_queue_drain(*(inturn_queue *)queue, LIMIT_NS));
}

static void a_drain_waits_for_another_thread_to_do_the_work(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job first = JOB("first"), second = JOB("second");
  job_enqueue(stage.queue, &first, work_hold);
  job_enqueue(stage.queue, &second, work_finish);
  thread waiting;
  thread_start(&waiting, drain_queue, &stage.queue);
  stage_drain(&stage);
  CHECK_INT(gate_count(&waiting.over), 0);
  CHECK_OK(inturn_token_finish(first.token));
  CHECK_INT(gate_count(&waiting.over), 0);
  stage_drain(&stage);
  thread_join(&waiting);
  stage_destroy(&stage);
}

static void statistics_count_each_outcome(void) {
  enum { JOBS = 7 };
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  inturn_queue_statistics statistics;
  job jobs[JOBS], late = JOB("late");
  reports reports;
  inturn_operation_options options = job_options(&late);
  options.max_wait_ns = 1;
  reports_begin(&reports);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_operation_release(
      job_enqueue_with(stage.queue, &late, never_work, &options)));
  stage_advance(&stage, 1);
  for (int i = 0; i < JOBS; i++) {
    jobs[i] = (job)JOB("a");
    job_enqueue(stage.queue, &jobs[i], work_hold);
  }
  statistics = statistics_of(stage.queue);
  CHECK_INT(statistics.pending, JOBS);
  CHECK_INT(statistics.running, 0);
  CHECK_INT(statistics.timed_out, 1);
  CHECK_OK(inturn_queue_resume(stage.queue));
  for (int i = 0; i < JOBS; i++) {
    stage_drain(&stage);
    CHECK_INT(gate_count(&jobs[i].started), 1);
    statistics = statistics_of(stage.queue);
    CHECK_INT(statistics.running + statistics.pending, JOBS - i);
    inturn_token token = jobs[i].token;
    CHECK_OK(i < 1   ? inturn_token_finish(token)
             : i < 3 ? inturn_token_fail(token, i)
             : i < 6 ? inturn_token_cancel(token)
                     : inturn_token_abandon(token));
  }
  statistics = statistics_of(stage.queue);
  CHECK_INT(statistics.size, sizeof statistics);
  CHECK_INT(statistics.suspends, 0);
  CHECK_INT(statistics.pending, 0);
  CHECK_INT(statistics.running, 0);
  CHECK_INT(statistics.finished, 1);
  CHECK_INT(statistics.failed, 2);
  CHECK_INT(statistics.cancelled, 3);
  CHECK_INT(statistics.abandoned, 1);
  stage_drain(&stage);
  reports_end();
  stage_destroy(&stage);
}

typedef struct ender {
  inturn_queue queue;
  inturn_outcome outcome;
  bool is_plain;
} ender;

/* The end is counted from the token's call on, before the work returns; that of
   plain work perhaps as finished until then. */
static void end_and_count(void *context, inturn_token token) {
  const ender *ender = context;
  if (ender->outcome == INTURN_FINISHED)
    CHECK_OK(inturn_token_finish(token));
  else if (ender->outcome == INTURN_FAILED)
    CHECK_OK(inturn_token_fail(token, 1));
  else
    CHECK_OK(inturn_token_cancel(token));
  inturn_queue_statistics counts = statistics_of(ender->queue);
  CHECK_INT(counts.running + counts.pending, 0);
  CHECK_INT(counts.finished + counts.failed + counts.cancelled, 1);
  if (ender->is_plain)
    return;
  CHECK_INT(counts.finished, ender->outcome == INTURN_FINISHED);
  CHECK_INT(counts.failed, ender->outcome == INTURN_FAILED);
  CHECK_INT(counts.cancelled, ender->outcome == INTURN_CANCELLED);
}

static void an_end_is_counted_at_once(inturn_queue_kind kind) {
  for (int outcome = INTURN_FINISHED; outcome <= INTURN_CANCELLED; outcome++)
    for (int is_plain = 0; is_plain < 2; is_plain++) {
      ender ender = {pool_queue_create(kind, NULL), (inturn_outcome)outcome,
                     is_plain};
      inturn_operation operation;
      CHECK_OK(inturn_queue_enqueue(ender.queue, end_and_count, &ender, NULL,
                                    is_plain ? NULL : &operation));
      if (!is_plain)
        CHECK_OK(inturn_operation_release(operation));
      CHECK_OK(inturn_queue_drain(ender.queue, LIMIT_NS));
      inturn_queue_statistics counts = statistics_of(ender.queue);
      CHECK_INT(counts.finished, outcome == INTURN_FINISHED);
      CHECK_INT(counts.failed, outcome == INTURN_FAILED);
      CHECK_INT(counts.cancelled, outcome == INTURN_CANCELLED);
      CHECK_OK(inturn_queue_destroy(ender.queue));
    }
}

static void each_end_is_counted_at_once(void) {
  for_each_kind(an_end_is_counted_at_once);
}

PROGRAM(queues, TEST(work_is_never_called_inside_the_enqueue),
        TEST(fifo_and_interaction_queues_begin_the_next_after_the_end),
        TEST(a_thousand_operations_begin_and_end_in_order),
        TEST(suspends_are_counted),
        TEST(what_was_about_to_start_does_not_after_a_suspend),
        TEST(ends_and_cancel_handlers_are_delivered_while_suspended),
        TEST(a_suspended_pool_queue_takes_nothing_up),
        TEST(a_full_queue_refuses),
        TEST(what_runs_does_not_count_against_the_capacity),
        TEST(a_closed_queue_refuses_and_goes_on),
        TEST(an_empty_queue_has_nothing_to_drain),
        TEST(a_drain_of_zero_just_asks),
        TEST(a_drain_waits_for_another_thread_to_do_the_work),
        TEST(statistics_count_each_outcome), TEST(each_end_is_counted_at_once))
