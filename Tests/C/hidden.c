/*
 * hidden.c - interactions that have begun, and whose view disappears before
 * they are presented: while their condition is asked, or their start is
 * reported.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

/* A job with a condition, and what happens when that is first asked. */
typedef struct guarded {
  job job;
  inturn_verdict verdict;
  void (*meanwhile)(struct guarded *self);
  const stage *stage;
  inturn_operation operation;
} guarded;

static guarded guarded_create(const char *name) {
  return (guarded){JOB(name), INTURN_START, NULL, NULL, {0}};
}

static inturn_verdict ask(void *context) {
  guarded *self = context;
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

static void guarded_enqueue(const stage *stage, guarded *guarded,
                            inturn_work_fn work) {
  inturn_operation_options options = guarded_options(guarded);
  guarded->operation =
      job_enqueue_with(stage->queue, &guarded->job, work, &options);
}

static void guarded_release(const guarded *guarded) {
  CHECK_OK(inturn_operation_release(guarded->operation));
}

/* A queue that settles in 500 ns and leaves a gap of 250 ns, with two guarded
   jobs; the first is asked when the view has settled. */
static stage create_visible(guarded *first, guarded *second) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = 500;
  options.gap_ns = 250;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  guarded_enqueue(&stage, first, work_hold);
  guarded_enqueue(&stage, second, work_finish);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  stage_drain(&stage);
  return stage;
}

static void hide(guarded *self) {
  self->meanwhile = NULL;
  CHECK_OK(inturn_queue_view_will_disappear(self->stage->queue));
}

static void
one_whose_view_disappears_meanwhile_is_asked_again_when_it_has_settled(void) {
  guarded a = guarded_create("a");
  guarded b = guarded_create("b");
  a.meanwhile = hide;
  stage stage = create_visible(&a, &b);
  a.stage = b.stage = &stage;
  stage_advance(&stage, 500);
  CHECK_TRACE("ask a");
  CHECK_INT(state_of(a.operation), INTURN_PENDING);
  CHECK_INT(statistics_of(stage.queue).pending, 2);
  CHECK_INT(statistics_of(stage.queue).running, 0);
  stage_advance(&stage, 100000);
  CHECK_TRACE("");
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  stage_advance(&stage, 499);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("ask a, work a");
  stage_finish(&stage, &a.job);
  stage_advance(&stage, 250);
  CHECK_TRACE("end a finished, ask b, work b, end b finished");
  CHECK_INT(a.job.end.attempts, 1);
  guarded_release(&a);
  guarded_release(&b);
  stage_destroy(&stage);
}

static void hide_and_show(guarded *self) {
  hide(self);
  CHECK_OK(inturn_queue_view_did_appear(self->stage->queue));
}

static void
one_whose_view_appears_again_meanwhile_waits_until_it_settles(void) {
  guarded a = guarded_create("a");
  guarded b = guarded_create("b");
  a.meanwhile = hide_and_show;
  stage stage = create_visible(&a, &b);
  a.stage = b.stage = &stage;
  stage_advance(&stage, 500);
  stage_advance(&stage, 499);
  CHECK_TRACE("ask a");
  a.verdict = INTURN_SKIP;
  stage_advance(&stage, 1);
  /* It was skipped, so there is no gap. */
  CHECK_TRACE("ask a, end a finished, ask b, work b, end b finished");
  guarded_release(&a);
  guarded_release(&b);
  stage_destroy(&stage);
}

static void suspend_for_a_call(guarded *self) {
  self->meanwhile = NULL;
  CHECK_OK(inturn_queue_suspend_for(self->stage->queue, "call"));
}

static void one_whose_queue_is_suspended_meanwhile_costs_no_gap(void) {
  guarded a = guarded_create("a");
  guarded b = guarded_create("b");
  a.meanwhile = suspend_for_a_call;
  stage stage = create_visible(&a, &b);
  a.stage = b.stage = &stage;
  stage_advance(&stage, 500);
  CHECK_TRACE("ask a");
  CHECK_OK(inturn_queue_resume_for(stage.queue, "call"));
  stage_drain(&stage);
  CHECK_TRACE("ask a, work a");
  guarded_release(&a);
  guarded_release(&b);
  stage_destroy(&stage);
}

static void hide_and_cancel(guarded *self) {
  hide(self);
  CHECK_OK(inturn_operation_cancel(self->operation));
}

static void one_that_is_cancelled_too_does_not_come_again(void) {
  guarded a = guarded_create("a");
  guarded b = guarded_create("b");
  a.meanwhile = hide_and_cancel;
  stage stage = create_visible(&a, &b);
  a.stage = b.stage = &stage;
  stage_advance(&stage, 500);
  CHECK_TRACE("ask a, end a cancelled");
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  guarded_release(&a);
  guarded_release(&b);
  stage_destroy(&stage);
}

static void an_urgent_one_that_goes_back_stays_the_first(void) {
  guarded a = guarded_create("a");
  guarded b = guarded_create("b");
  guarded urgent[2] = {guarded_create("x"), guarded_create("y")};
  stage stage = create_visible(&a, &b);
  a.stage = b.stage = &stage;
  urgent[0].meanwhile = hide_and_show;
  for (int i = 0; i < 2; i++) {
    inturn_operation_options options = guarded_options(&urgent[i]);
    options.urgent = true;
    urgent[i].stage = &stage;
    job_enqueue_as(stage.queue, &urgent[i].job, work_finish, &options);
  }
  stage_advance(&stage, 500);
  CHECK_TRACE("ask x");
  stage_advance(&stage, 500);
  CHECK_TRACE("ask x, work x, end x finished, ask y, work y, end y finished, "
              "ask a, work a");
  guarded_release(&a);
  guarded_release(&b);
  stage_destroy(&stage);
}

static void what_goes_back_uses_no_attempt_up(void) {
  guarded a = guarded_create("a");
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_operation_options options = guarded_options(&a);
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  retry.max_attempts = 2;
  options.retry = &retry;
  a.stage = &stage;
  job_enqueue_as(stage.queue, &a.job, work_hold, &options);
  for (int i = 0; i < 5; i++) {
    a.meanwhile = hide;
    stage_drain(&stage);
    CHECK_TRACE("ask a");
    CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  }
  stage_drain(&stage);
  stage_fail(&stage, &a.job);
  CHECK_TRACE("ask a, work a, ask a, work a");
  stage_fail(&stage, &a.job);
  CHECK_TRACE("end a failed");
  CHECK_INT(a.job.end.attempts, 2);
  stage_destroy(&stage);
}

static void destroying_the_queue_ends_one_that_has_gone_back(void) {
  guarded a = guarded_create("a");
  guarded b = guarded_create("b");
  a.meanwhile = hide;
  stage stage = create_visible(&a, &b);
  a.stage = b.stage = &stage;
  stage_advance(&stage, 500);
  stage_destroy(&stage);
  CHECK_TRACE("ask a, end a cancelled, end b cancelled");
  CHECK_ENDED(&a.job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  guarded_release(&a);
  guarded_release(&b);
}

/* Views that disappear while the start is reported */

static void hide_at_first_start(void *context, const inturn_event *event) {
  static const char *const kinds[] = {"?", "enqueued", "joined", "started",
                                      "restarting"};
  inturn_queue *queue = context;
  if (event->kind > INTURN_EVENT_RESTARTING)
    return;
  trace("%s", kinds[event->kind]);
  if (event->kind == INTURN_EVENT_STARTED && queue->bits != 0) {
    CHECK_OK(inturn_queue_view_will_disappear(*queue));
    queue->bits = 0;
  }
}

static void one_whose_view_disappears_when_its_start_is_told_goes_back(void) {
  inturn_queue told = {0};
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = INTURN_NO_DELAY;
  options.on_event = hide_at_first_start;
  options.event_context = &told;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  job job = JOB("a");
  told = stage.queue;
  job_enqueue(stage.queue, &job, work_hold);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("enqueued, started, restarting");
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  stage_drain(&stage);
  CHECK_TRACE("started, work a");
  stage_destroy(&stage);
}

/* Races */

static inturn_queue raced;
static atomic_bool is_over;
static job *raced_jobs;
static long presented;

static inturn_verdict start(void *context) {
  (void)context;
  return INTURN_START;
}

static void check_order(void *context, inturn_token token) {
  CHECK_INT((job *)context - raced_jobs, presented++);
  work_finish(context, token);
}

static void hide_and_show_again(void *context) {
  (void)context;
  while (!atomic_load(&is_over)) {
    CHECK_OK(inturn_queue_view_will_disappear(raced));
    CHECK_OK(inturn_queue_view_did_appear(raced));
  }
}

static void whatever_goes_back_is_presented_once_and_in_order(void) {
  enum { COUNT = 2000 };
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, options);
  thread hiding;
  raced = stage.queue;
  atomic_store(&is_over, false);
  long count = scaled(COUNT);
  job *jobs = calloc((size_t)count, sizeof *jobs);
  raced_jobs = jobs;
  presented = 0;
  for (long i = 0; i < count; i++) {
    jobs[i] = (job)JOB("a");
    inturn_operation_options each = job_options(&jobs[i]);
    each.condition = start;
    job_enqueue_as(stage.queue, &jobs[i], check_order, &each);
  }
  thread_start(&hiding, hide_and_show_again, NULL);
  while (statistics_of(stage.queue).finished < (uint64_t)count) {
    CHECK_OK(inturn_executor_drain(stage.executor, 100, NULL));
    trace_begin();
  }
  atomic_store(&is_over, true);
  thread_join(&hiding);
  stage_drain(&stage);
  for (long i = 0; i < count; i++) {
    CHECK_ENDED(&jobs[i], INTURN_FINISHED, INTURN_CAUSE_NONE);
    CHECK_INT(gate_count(&jobs[i].started), 1);
    CHECK_INT(jobs[i].end.attempts, 1);
  }
  free(jobs);
  stage_destroy(&stage);
}

PROGRAM(
    hidden,
    TEST(
        one_whose_view_disappears_meanwhile_is_asked_again_when_it_has_settled),
    TEST(one_whose_view_appears_again_meanwhile_waits_until_it_settles),
    TEST(one_whose_queue_is_suspended_meanwhile_costs_no_gap),
    TEST(one_that_is_cancelled_too_does_not_come_again),
    TEST(an_urgent_one_that_goes_back_stays_the_first),
    TEST(what_goes_back_uses_no_attempt_up),
    TEST(destroying_the_queue_ends_one_that_has_gone_back),
    TEST(one_whose_view_disappears_when_its_start_is_told_goes_back),
    TEST(whatever_goes_back_is_presented_once_and_in_order))
