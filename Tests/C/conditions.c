/*
 * conditions.c - a condition decides just before the start whether an operation
 * is still wanted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

/* A job with a condition: its answer, and how often it was asked. */
typedef struct guarded {
  job job;
  inturn_verdict verdict;
  int asked;
  void (*meanwhile)(struct guarded *self);
  stage *stage;
  inturn_operation operation;
} guarded;

static guarded guarded_create(const char *name, inturn_verdict verdict) {
  return (guarded){JOB(name), verdict, 0, NULL, NULL, {0}};
}

static inturn_verdict ask(void *context) {
  guarded *self = context;
  self->asked++;
  trace("ask %s", self->job.name);
  if (self->meanwhile != NULL)
    self->meanwhile(self);
  return self->verdict;
}

static inturn_operation_options guarded_options(guarded *guarded) {
  inturn_operation_options options = job_options(&guarded->job);
  options.condition = ask;
  return options;
}

static void guarded_enqueue(stage *stage, guarded *guarded,
                            inturn_work_fn work) {
  inturn_operation_options options = guarded_options(guarded);
  guarded->stage = stage;
  guarded->operation =
      job_enqueue_with(stage->queue, &guarded->job, work, &options);
}

static void guarded_release(const guarded *guarded) {
  CHECK_OK(inturn_operation_release(guarded->operation));
}

static void check_start(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  guarded a = guarded_create("a", INTURN_START);
  guarded_enqueue(&stage, &a, work_finish);
  CHECK_INT(a.asked, 0);
  stage_drain(&stage);
  CHECK_TRACE("ask a, work a, end a finished");
  CHECK_ENDED(&a.job, INTURN_FINISHED, INTURN_CAUSE_NONE);
  guarded_release(&a);
  stage_destroy(&stage);
}

static void it_is_asked_once_just_before_the_work(void) {
  for_each_kind(check_start);
}

static void check_verdict(inturn_queue_kind kind, inturn_verdict verdict,
                          inturn_outcome outcome, inturn_cause cause) {
  stage stage = stage_create_of(kind, 1);
  guarded a = guarded_create("a", verdict);
  job next = JOB("next");
  guarded_enqueue(&stage, &a, never_work);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_INT(a.asked, 1);
  CHECK_ENDED(&a.job, outcome, cause);
  CHECK_INT(a.job.end.code, 0);
  CHECK_INT(a.job.end.attempts, 1);
  CHECK(a.job.end.result == NULL);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  inturn_end end = end_of(a.operation);
  CHECK_INT(end.outcome, outcome);
  CHECK_INT(end.cause, cause);
  guarded_release(&a);
  stage_destroy(&stage);
  trace_begin();
}

static void check_verdicts(inturn_queue_kind kind) {
  check_verdict(kind, INTURN_SKIP, INTURN_FINISHED, INTURN_CAUSE_SKIPPED);
  check_verdict(kind, INTURN_GIVE_UP, INTURN_CANCELLED, INTURN_CAUSE_CONDITION);
}

static void a_skip_finishes_it_and_giving_up_cancels_it(void) {
  for_each_kind(check_verdicts);
}

static void any_other_number_counts_as_giving_up(void) {
  static const int numbers[] = {3, 99, -1, 0x7fffffff, 256, 65536};
  for (int i = 0; i < 6; i++)
    check_verdict(INTURN_QUEUE_FIFO, (inturn_verdict)numbers[i],
                  INTURN_CANCELLED, INTURN_CAUSE_CONDITION);
}

static void a_cancelled_one_is_not_asked(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  guarded a = guarded_create("a", INTURN_START);
  guarded_enqueue(&stage, &a, never_work);
  CHECK_OK(inturn_operation_cancel(a.operation));
  stage_drain(&stage);
  CHECK_INT(a.asked, 0);
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  guarded_release(&a);
  stage_destroy(&stage);
}

static void check_others_first(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  job first = JOB("first");
  guarded a = guarded_create("a", INTURN_START);
  inturn_operation earlier = job_enqueue_kept(stage.queue, &first, work_hold);
  inturn_operation_options options = guarded_options(&a);
  options.after = &earlier;
  options.after_count = 1;
  job_enqueue_as(stage.queue, &a.job, work_finish, &options);
  stage_drain(&stage);
  CHECK_INT(a.asked, 0);
  stage_finish(&stage, &first);
  CHECK_INT(a.asked, 1);
  CHECK_INT(gate_count(&a.job.started), 1);
  CHECK_OK(inturn_operation_release(earlier));
  stage_destroy(&stage);
  trace_begin();
}

static void it_is_asked_when_everything_else_lets_it_start(void) {
  for_each_kind(check_others_first);
}

static void it_is_asked_before_each_attempt(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  guarded a = guarded_create("a", INTURN_START);
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_operation_options options = guarded_options(&a);
  options.retry = &retry;
  job_enqueue_as(stage.queue, &a.job, work_hold, &options);
  stage_drain(&stage);
  stage_fail(&stage, &a.job);
  stage_fail(&stage, &a.job);
  CHECK_TRACE("ask a, work a, ask a, work a, ask a, work a");
  a.verdict = INTURN_GIVE_UP;
  stage_fail(&stage, &a.job);
  CHECK_TRACE("ask a, end a cancelled");
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_CONDITION);
  CHECK_INT(a.job.end.attempts, 4);
  stage_destroy(&stage);
}

static void look_at_the_place(guarded *self) {
  CHECK_INT(statistics_of(self->stage->queue).running, 1);
  CHECK_INT(statistics_of(self->stage->queue).pending, 1);
  CHECK_INT(state_of(self->operation), INTURN_RUNNING);
}

static void check_place(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  guarded a = guarded_create("a", INTURN_START);
  job next = JOB("next");
  a.meanwhile = look_at_the_place;
  guarded_enqueue(&stage, &a, work_finish);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_INT(a.asked, 1);
  guarded_release(&a);
  stage_destroy(&stage);
  trace_begin();
}

static void it_is_asked_in_the_operations_place(void) {
  for_each_kind(check_place);
}

static void let_max_run_pass(guarded *self) {
  CHECK_OK(inturn_clock_advance(self->stage->clock, 100));
  CHECK_INT(state_of(self->operation), INTURN_ENDED);
}

static void check_max_run(inturn_queue_kind kind) {
  for (int policy = 0; policy < 2; policy++) {
    stage stage = stage_create_of(kind, 1);
    guarded a = guarded_create("a", INTURN_START);
    job next = JOB("next");
    a.meanwhile = let_max_run_pass;
    a.stage = &stage;
    inturn_operation_options options = guarded_options(&a);
    options.max_run_ns = 100;
    options.max_run_policy = (inturn_max_run_policy)policy;
    a.operation = job_enqueue_with(stage.queue, &a.job, never_work, &options);
    job_enqueue(stage.queue, &next, work_finish);
    stage_drain(&stage);
    CHECK_INT(gate_count(&a.job.ended), 1);
    CHECK_INT(a.job.end.outcome, INTURN_TIMED_OUT);
    CHECK_INT(a.job.end.cause, INTURN_CAUSE_MAX_RUN);
    /* Its work is not called, so nobody could release a held place. */
    CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
    CHECK_ENDED(&a.job, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
    guarded_release(&a);
    stage_destroy(&stage);
    trace_begin();
  }
}

static void the_work_of_one_that_max_run_has_cut_off_is_not_called(void) {
  for_each_kind(check_max_run);
}

static void cancel_itself(guarded *self) {
  CHECK_OK(inturn_operation_cancel(self->operation));
}

static void give_in(void *context, inturn_token token) {
  job *job = context;
  work_hold(job, token);
  CHECK(is_cancelled(token));
  CHECK_OK(inturn_token_cancel(token));
}

static void check_cancel(inturn_queue_kind kind) {
  static const inturn_cause causes[] = {
      INTURN_CAUSE_REQUEST, INTURN_CAUSE_SKIPPED, INTURN_CAUSE_REQUEST};
  for (int verdict = 0; verdict < 3; verdict++) {
    stage stage = stage_create(kind);
    guarded a = guarded_create("a", (inturn_verdict)verdict);
    a.meanwhile = cancel_itself;
    guarded_enqueue(&stage, &a, verdict == INTURN_START ? give_in : never_work);
    stage_drain(&stage);
    CHECK_ENDED(&a.job,
                verdict == INTURN_SKIP ? INTURN_FINISHED : INTURN_CANCELLED,
                causes[verdict]);
    guarded_release(&a);
    stage_destroy(&stage);
    trace_begin();
  }
}

static void one_that_is_cancelled_meanwhile_is_running_and_is_asked(void) {
  for_each_kind(check_cancel);
}

static void destroy_its_queue(guarded *self) {
  CHECK_OK(inturn_queue_destroy(self->stage->queue));
}

static void check_destroy(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  guarded a = guarded_create("a", INTURN_START);
  job next = JOB("next");
  a.meanwhile = destroy_its_queue;
  guarded_enqueue(&stage, &a, never_work);
  job_enqueue(stage.queue, &next, never_work);
  if (kind == INTURN_QUEUE_CONCURRENT)
    CHECK_OK(inturn_queue_set_max_concurrent(stage.queue, 1));
  stage_drain(&stage);
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&next, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  guarded_release(&a);
  CHECK_OK(inturn_executor_destroy(stage.executor));
  CHECK_OK(inturn_clock_destroy(stage.clock));
}

static void it_may_destroy_its_queue(void) { for_each_kind(check_destroy); }

static void give_up_at_once(guarded *self) { self->verdict = INTURN_GIVE_UP; }

static void later_ones_see_what_it_has_decided(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  guarded a = guarded_create("a", INTURN_START);
  job finished = JOB("b"), ended = JOB("c");
  a.meanwhile = give_up_at_once;
  guarded_enqueue(&stage, &a, never_work);
  inturn_operation_options options = job_options(&finished);
  options.after = &a.operation;
  options.after_count = 1;
  options.after_policy = INTURN_AFTER_FINISHED;
  job_enqueue_as(stage.queue, &finished, never_work, &options);
  options = job_options(&ended);
  options.after = &a.operation;
  options.after_count = 1;
  job_enqueue_as(stage.queue, &ended, work_finish, &options);
  stage_drain(&stage);
  CHECK_ENDED(&finished, INTURN_CANCELLED, INTURN_CAUSE_DEPENDENCY);
  CHECK_ENDED(&ended, INTURN_FINISHED, INTURN_CAUSE_NONE);
  guarded_release(&a);
  stage_destroy(&stage);
}

static void one_that_was_skipped_has_finished_for_later_ones(void) {
  stage stage = stage_create(INTURN_QUEUE_ACTOR);
  guarded a = guarded_create("a", INTURN_SKIP);
  job later = JOB("b");
  guarded_enqueue(&stage, &a, never_work);
  inturn_operation_options options = job_options(&later);
  options.after = &a.operation;
  options.after_count = 1;
  options.after_policy = INTURN_AFTER_FINISHED;
  job_enqueue_as(stage.queue, &later, work_finish, &options);
  stage_drain(&stage);
  CHECK_ENDED(&later, INTURN_FINISHED, INTURN_CAUSE_NONE);
  guarded_release(&a);
  stage_destroy(&stage);
}

static void a_verdict_is_no_failure_to_retry(void) {
  for (int verdict = INTURN_SKIP; verdict <= INTURN_GIVE_UP; verdict++) {
    stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
    guarded a = guarded_create("a", (inturn_verdict)verdict);
    inturn_retry retry = INTURN_RETRY_INIT;
    inturn_operation_options options = guarded_options(&a);
    options.retry = &retry;
    job_enqueue_as(stage.queue, &a.job, never_work, &options);
    stage_drain(&stage);
    CHECK_INT(a.asked, 1);
    CHECK_INT(gate_count(&a.job.ended), 1);
    stage_destroy(&stage);
  }
}

static void a_skipped_interaction_leaves_no_gap(void) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.settle_ns = INTURN_NO_DELAY;
  queue_options.gap_ns = 1000;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, queue_options);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  guarded a = guarded_create("a", INTURN_SKIP);
  job next = JOB("next");
  guarded_enqueue(&stage, &a, never_work);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("ask a, end a finished, work next, end next finished");
  guarded_release(&a);
  stage_destroy(&stage);
}

PROGRAM(conditions, TEST(it_is_asked_once_just_before_the_work),
        TEST(a_skip_finishes_it_and_giving_up_cancels_it),
        TEST(any_other_number_counts_as_giving_up),
        TEST(a_cancelled_one_is_not_asked),
        TEST(it_is_asked_when_everything_else_lets_it_start),
        TEST(it_is_asked_before_each_attempt),
        TEST(it_is_asked_in_the_operations_place),
        TEST(the_work_of_one_that_max_run_has_cut_off_is_not_called),
        TEST(one_that_is_cancelled_meanwhile_is_running_and_is_asked),
        TEST(it_may_destroy_its_queue),
        TEST(later_ones_see_what_it_has_decided),
        TEST(one_that_was_skipped_has_finished_for_later_ones),
        TEST(a_verdict_is_no_failure_to_retry),
        TEST(a_skipped_interaction_leaves_no_gap))
