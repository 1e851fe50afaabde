/*
 * fixture.c - see fixture.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <sched.h>
#include <time.h>

/* Jobs -------------------------------------------------------------------- */

void work_hold(void *context, inturn_token token) {
  job *job = context;
  job->token = token;
  trace("work %s", job->name);
  gate_pass(&job->started);
}

void work_finish(void *context, inturn_token token) {
  work_hold(context, token);
  CHECK_OK(inturn_token_finish(token));
}

void work_block(void *context, inturn_token token) {
  job *job = context;
  work_hold(job, token);
  GATE_WAIT(&job->go, 1);
  CHECK_OK(inturn_token_finish(token));
}

void work_fail(void *context, inturn_token token) {
  work_hold(context, token);
  CHECK_OK(inturn_token_fail(token, FAIL_CODE));
}

void keep_token(void *into, inturn_token token) {
  *(inturn_token *)into = token;
}

void just_finish(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(inturn_token_finish(token));
}

void job_cancel_called(void *context, inturn_token token) {
  job *job = context;
  CHECK_INT(token.bits, job->token.bits);
  trace("cancel %s", job->name);
  gate_pass(&job->cancel_called);
}

void job_ended(void *context, const inturn_end *end) {
  job *job = context;
  job->end = *end;
  job->end.label = NULL;
  trace("end %s %s", job->name, outcome_name(end->outcome));
  gate_pass(&job->ended);
}

void job_end_destroyed(void *context) {
  job *job = context;
  gate_pass(&job->end_destroyed);
}

void job_destroyed(void *context) {
  job *job = context;
  gate_pass(&job->destroyed);
}

inturn_operation_options job_options(job *job) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = job->name;
  options.on_end = job_ended;
  options.end_context = job;
  options.end_destroy = job_end_destroyed;
  return options;
}

void job_enqueue(inturn_queue queue, job *job, inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  job_enqueue_as(queue, job, work, &options);
}

inturn_operation job_enqueue_with(inturn_queue queue, job *job,
                                  inturn_work_fn work,
                                  const inturn_operation_options *options) {
  inturn_operation operation = {0};
  CHECK_OK(inturn_queue_enqueue_with(queue, options, work, job, job_destroyed,
                                     &operation));
  CHECK(operation.bits != 0);
  return operation;
}

void job_enqueue_as(inturn_queue queue, job *job, inturn_work_fn work,
                    const inturn_operation_options *options) {
  CHECK_OK(inturn_queue_enqueue_with(queue, options, work, job, job_destroyed,
                                     NULL));
}

inturn_operation job_enqueue_kept(inturn_queue queue, job *job,
                                  inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  return job_enqueue_with(queue, job, work, &options);
}

void check_ended_at(const char *file, int line, job *job,
                    inturn_outcome outcome, inturn_cause cause) {
  long ended = gate_count(&job->ended);
  long end_destroyed = gate_count(&job->end_destroyed);
  long destroyed = gate_count(&job->destroyed);
  if (ended != 1 || end_destroyed != 1 || destroyed != 1)
    fail_at(file, line,
            "%s: end told %ld times, end context destroyed %ld times, context "
            "destroyed %ld times",
            job->name, ended, end_destroyed, destroyed);
  if (job->end.outcome != outcome || job->end.cause != cause)
    fail_at(file, line, "%s has ended %s, cause %d; not %s, cause %d",
            job->name, outcome_name(job->end.outcome), (int)job->end.cause,
            outcome_name(outcome), (int)cause);
}

const char *outcome_name(inturn_outcome outcome) {
  switch (outcome) {
  case INTURN_FINISHED:
    return "finished";
  case INTURN_FAILED:
    return "failed";
  case INTURN_CANCELLED:
    return "cancelled";
  case INTURN_TIMED_OUT:
    return "timed out";
  case INTURN_ABANDONED:
    return "abandoned";
  }
  return "in no known way";
}

/* Callbacks that count ---------------------------------------------------- */

void count_destroy(void *context) { gate_pass(context); }

void count_wake(void *context) { gate_pass(context); }

void count_end(void *context, const inturn_end *end) {
  CHECK(end->outcome >= INTURN_FINISHED && end->outcome <= INTURN_ABANDONED);
  gate_pass(context);
}

void count_work(void *context, inturn_token token) {
  gate_pass(context);
  CHECK_OK(inturn_token_finish(token));
}

void count_call(void *context, inturn_token token) {
  CHECK(token.bits != 0);
  gate_pass(context);
}

void never_work(void *context, inturn_token token) {
  FAIL("work was called (context %p, token %llx)", context,
       (unsigned long long)token.bits);
}

void never_end(void *context, const inturn_end *end) {
  FAIL("an end callback was called (context %p, outcome %d)", context,
       (int)end->outcome);
}

void never_wake(void *context) {
  FAIL("a wake callback was called (context %p)", context);
}

/* Stages ------------------------------------------------------------------ */

stage stage_create_with(inturn_queue_kind kind, inturn_queue_options options) {
  stage stage;
  CHECK_OK(inturn_executor_create(NULL, &stage.executor));
  CHECK_OK(inturn_clock_create_manual(&stage.clock));
  options.executor = stage.executor;
  options.clock = stage.clock;
  CHECK_OK(inturn_queue_create(kind, &options, &stage.queue));
  return stage;
}

stage stage_create_of(inturn_queue_kind kind, uint32_t max_concurrent) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.max_concurrent = max_concurrent;
  options.settle_ns = INTURN_NO_DELAY;
  options.gap_ns = INTURN_NO_DELAY;
  stage stage = stage_create_with(kind, options);
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  return stage;
}

stage stage_create(inturn_queue_kind kind) {
  return stage_create_of(kind, kind == INTURN_QUEUE_CONCURRENT ? 4 : 1);
}

stage stage_create_running_kept(inturn_queue_kind kind, job *job,
                                inturn_operation *out_operation) {
  stage stage = stage_create(kind);
  *out_operation = job_enqueue_kept(stage.queue, job, work_hold);
  stage_drain(&stage);
  CHECK_INT(gate_count(&job->started), 1);
  return stage;
}

stage stage_create_running(inturn_queue_kind kind, job *job) {
  inturn_operation operation;
  stage stage = stage_create_running_kept(kind, job, &operation);
  CHECK_OK(inturn_operation_release(operation));
  return stage;
}

uint32_t stage_drain(const stage *stage) {
  uint32_t calls = UINT32_MAX;
  CHECK_OK(inturn_executor_drain(stage->executor, 0, &calls));
  return calls;
}

void stage_advance(const stage *stage, int64_t by_ns) {
  CHECK_OK(inturn_clock_advance(stage->clock, by_ns));
  stage_drain(stage);
}

void stage_finish(const stage *stage, const job *job) {
  CHECK_OK(inturn_token_finish(job->token));
  stage_drain(stage);
}

void stage_fail(const stage *stage, const job *job) {
  CHECK_OK(inturn_token_fail(job->token, FAIL_CODE));
  stage_drain(stage);
}

void stage_resume(const stage *stage) {
  CHECK_OK(inturn_queue_resume(stage->queue));
  stage_drain(stage);
}

void stage_destroy(const stage *stage) {
  CHECK_OK(inturn_queue_destroy(stage->queue));
  CHECK_OK(inturn_executor_destroy(stage->executor));
  CHECK_OK(inturn_clock_destroy(stage->clock));
}

/* Pools ------------------------------------------------------------------- */

inturn_queue pool_queue_create(inturn_queue_kind kind, const char *label) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = label;
  options.settle_ns = INTURN_NO_DELAY;
  options.gap_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_executor_pool(&options.executor));
  inturn_queue queue = {0};
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(queue));
  return queue;
}

void drain_and_destroy(inturn_queue queue) {
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_OK(inturn_queue_destroy(queue));
}

void for_each_kind(void (*body)(inturn_queue_kind kind)) {
  body(INTURN_QUEUE_FIFO);
  body(INTURN_QUEUE_ACTOR);
  body(INTURN_QUEUE_INTERACTION);
  body(INTURN_QUEUE_CONCURRENT);
}

/* Questions --------------------------------------------------------------- */

inturn_operation_state state_of(inturn_operation operation) {
  inturn_operation_state state = 0;
  CHECK_OK(inturn_operation_get_state(operation, &state));
  return state;
}

bool is_cancelled(inturn_token token) {
  bool cancelled = false;
  CHECK_OK(inturn_token_is_cancelled(token, &cancelled));
  return cancelled;
}

bool must_stop(inturn_token token) {
  bool cancelled = false;
  inturn_status status = inturn_token_is_cancelled(token, &cancelled);
  return status == INTURN_E_ALREADY_FINISHED ||
         (status == INTURN_OK && cancelled);
}

inturn_queue_statistics statistics_of(inturn_queue queue) {
  inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
  CHECK_OK(inturn_queue_get_statistics(queue, &statistics));
  return statistics;
}

inturn_end end_of(inturn_operation operation) {
  inturn_end end = {0};
  CHECK_OK(inturn_operation_wait(operation, LIMIT_NS, &end));
  return end;
}

/* Reports ----------------------------------------------------------------- */

/* Several threads may report at once. */
static pthread_mutex_t reports_mutex = PTHREAD_MUTEX_INITIALIZER;

static void take_report(void *context, const inturn_report *report) {
  /* A thread that could not be started does not matter to these tests. */
  if (report->kind == INTURN_REPORT_NO_THREAD)
    return;
  reports *reports = context;
  const char *queue = report->queue_label;
  const char *operation = report->operation_label;
  pthread_mutex_lock(&reports_mutex);
  reports->kind = report->kind;
  snprintf(reports->message, sizeof reports->message, "%s", report->message);
  snprintf(reports->queue_label, sizeof reports->queue_label, "%s",
           queue ? queue : "(none)");
  snprintf(reports->operation_label, sizeof reports->operation_label, "%s",
           operation ? operation : "(none)");
  const char *file = report->file ? report->file : "?";
  const char *slash = strrchr(file, '/');
  snprintf(reports->site, sizeof reports->site, "%s:%u",
           slash ? slash + 1 : file, report->line);
  pthread_mutex_unlock(&reports_mutex);
  gate_pass(&reports->told);
}

void reports_begin(reports *into) {
  *into = (reports){GATE_INIT, 0, "", "", "", ""};
  CHECK_OK(inturn_report_set_handler(take_report, into, NULL));
}

void reports_end(void) {
  CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
}

/* Programs ---------------------------------------------------------------- */

static inturn_library_statistics alive;

static inturn_library_statistics library_statistics(void) {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_library_get_statistics(&statistics));
  return statistics;
}

void count_what_lives(void) {
  /* The library's own executors exist from now on. */
  inturn_executor executor;
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_OK(inturn_executor_pool(&executor));
  alive = library_statistics();
}

/* A worker may be a moment behind the ends that the test has seen, so this asks
   until it has caught up. For the same reason, there may be less left than when
   the test began. */
void check_nothing_is_left(void) {
  time_t limit = time(NULL) + LIMIT_SECONDS;
  inturn_library_statistics now = library_statistics();
  while (now.queues > alive.queues || now.operations > alive.operations ||
         now.executors > alive.executors || now.clocks > alive.clocks ||
         now.values > alive.values || now.observations > alive.observations) {
    if (time(NULL) > limit)
      FAIL("left behind: %lld queues, %lld operations, %lld executors, %lld "
           "clocks, %lld values, %lld observations",
           (long long)(now.queues - alive.queues),
           (long long)(now.operations - alive.operations),
           (long long)(now.executors - alive.executors),
           (long long)(now.clocks - alive.clocks),
           (long long)(now.values - alive.values),
           (long long)(now.observations - alive.observations));
    sched_yield();
    now = library_statistics();
  }
}
