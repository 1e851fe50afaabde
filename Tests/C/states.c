/*
 * states.c - the library's own states as values: of queues, operations and
 * batches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static inturn_value queue_value(inturn_queue queue,
                                inturn_queue_aspect aspect) {
  inturn_value value;
  CHECK_OK(inturn_queue_create_value(queue, aspect, &value));
  return value;
}

static inturn_value operation_value(inturn_operation operation,
                                    inturn_operation_aspect aspect) {
  inturn_value value;
  CHECK_OK(inturn_operation_create_value(operation, aspect, &value));
  return value;
}

/* "4", "yes", "2/5". */
static void say(char *text, size_t size, const inturn_datum *datum) {
  if (datum->type == INTURN_DATUM_INTEGER)
    snprintf(text, size, "%lld", (long long)datum->integer);
  else if (datum->type == INTURN_DATUM_BOOLEAN)
    snprintf(text, size, "%s", datum->boolean ? "yes" : "no");
  else if (datum->type == INTURN_DATUM_PROGRESS)
    snprintf(text, size, "%lld/%lld", (long long)datum->integer,
             (long long)datum->total);
  else
    FAIL("a state of type %d", (int)datum->type);
}

/* Traces "<name>1>2". */
static void trace_state(void *name, const inturn_change *change) {
  char before[64], after[64];
  say(before, sizeof before, &change->before);
  say(after, sizeof after, &change->after);
  trace("%s%s>%s", (const char *)name, before, after);
}

static void observe(inturn_value value, const char *name) {
  CHECK_OK(
      inturn_value_observe(value, NULL, trace_state, (void *)name, NULL, NULL));
}

static void check_value(inturn_value value, const char *expected) {
  char text[64];
  inturn_datum datum;
  CHECK_OK(inturn_value_get(value, &datum));
  say(text, sizeof text, &datum);
  CHECK_TEXT(text, expected);
}

/* Queues ------------------------------------------------------------------ */

/* All four states of a queue, each observed with its initial as the name. */
typedef struct queue_values {
  inturn_value values[4];
} queue_values;

static queue_values observe_all(inturn_queue queue) {
  static const char *const names[] = {"p", "r", "s", ""};
  queue_values all;
  for (int i = 0; i < 4; i++) {
    all.values[i] = queue_value(queue, (inturn_queue_aspect)(i + 1));
    observe(all.values[i], names[i]);
  }
  return all;
}

static void destroy_all(const queue_values *all) {
  for (int i = 0; i < 4; i++)
    CHECK_OK(inturn_value_destroy(all->values[i]));
}

static void check_told(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  queue_values all = observe_all(stage.queue);
  job first = JOB("a"), second = JOB("b");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_TRACE("sno>yes");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_enqueue(stage.queue, work_hold, &first, job_destroyed,
                                NULL));
  job_enqueue(stage.queue, &second, work_finish);
  CHECK_TRACE("p0>1, 0/0>0/1, p1>2, 0/1>0/2");
  CHECK_OK(inturn_queue_resume(stage.queue));
  CHECK_OK(inturn_queue_resume(stage.queue));
  CHECK_TRACE("syes>no");
  CHECK_INT(gate_count(&first.started), 0);
  stage_drain(&stage);
  if (kind == INTURN_QUEUE_FIFO || kind == INTURN_QUEUE_INTERACTION) {
    CHECK_TRACE("p2>1, r0>1, work a");
    stage_finish(&stage, &first);
    CHECK_TRACE("r1>0, 0/2>1/2, p1>0, r0>1, work b, r1>0, 1/2>2/2, "
                "end b finished");
  } else {
    CHECK_TRACE("p2>1, r0>1, work a, p1>0, r1>2, work b, r2>1, 0/2>1/2, "
                "end b finished");
    stage_finish(&stage, &first);
    CHECK_TRACE("r1>0, 1/2>2/2");
  }
  check_value(all.values[0], "0");
  check_value(all.values[1], "0");
  check_value(all.values[2], "no");
  check_value(all.values[3], "2/2");
  destroy_all(&all);
  stage_destroy(&stage);
}

static void each_change_of_a_queue_is_told_in_order(void) {
  for_each_kind(check_told);
}

static void check_cancels(inturn_queue_kind kind) {
  job running = JOB("a"), pending = JOB("b");
  stage stage = stage_create_running(kind, &running);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL));
  inturn_operation operation =
      job_enqueue_kept(stage.queue, &pending, never_work);
  trace_begin();
  queue_values all = observe_all(stage.queue);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_TRACE("p4>3, 0/5>1/5");
  CHECK_OK(inturn_queue_cancel_all(stage.queue));
  CHECK_TRACE("p3>0, 1/5>4/5");
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  trace_begin();
  stage_finish(&stage, &running);
  CHECK_TRACE("r1>0, 4/5>5/5, end a finished");
  CHECK_OK(inturn_operation_release(operation));
  destroy_all(&all);
  stage_destroy(&stage);
}

static void cancelled_operations_are_counted_as_ended(void) {
  for_each_kind(check_cancels);
}

static void what_was_there_before_the_first_look_is_counted(void) {
  job first = JOB("a"), second = JOB("b");
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  /* A bare operation that has returned from its work, unfinished. */
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, work_hold, &first, job_destroyed,
                                NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, work_hold, &second, job_destroyed,
                                NULL));
  stage_drain(&stage);
  trace_begin();
  queue_values all = observe_all(stage.queue);
  check_value(all.values[0], "1");
  check_value(all.values[1], "1");
  check_value(all.values[3], "3/5");
  stage_finish(&stage, &first);
  CHECK_TRACE("r1>0, 3/5>4/5, p1>0, r0>1, work b");
  stage_fail(&stage, &second);
  CHECK_TRACE("r1>0, 4/5>5/5");
  destroy_all(&all);
  stage_destroy(&stage);
}

static inturn_queue looked_at;
static inturn_value from_inside[2];

static void look_from_inside(void *context, inturn_token token) {
  (void)context;
  from_inside[0] = queue_value(looked_at, INTURN_QUEUE_RUNNING);
  from_inside[1] = queue_value(looked_at, INTURN_QUEUE_PROGRESS);
  observe(from_inside[0], "r");
  observe(from_inside[1], "");
  check_value(from_inside[0], "1");
  check_value(from_inside[1], "1/4");
  CHECK_OK(inturn_token_finish(token));
}

/* Operations without options run one after another without the lock, until
   somebody looks. */
static void a_look_from_inside_the_work_counts_that_as_running(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  looked_at = stage.queue;
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, look_from_inside, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  stage_drain(&stage);
  CHECK_TRACE("r1>0, 1/4>2/4, r0>1, r1>0, 2/4>3/4, r0>1, r1>0, 3/4>4/4");
  CHECK_OK(inturn_value_destroy(from_inside[0]));
  CHECK_OK(inturn_value_destroy(from_inside[1]));
  stage_destroy(&stage);
}

static void a_further_attempt_is_pending_again(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_retry retry = INTURN_RETRY_INIT;
  job job = JOB("a");
  retry.max_attempts = 2;
  inturn_operation_options options = job_options(&job);
  options.retry = &retry;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &job, work_hold, &options);
  queue_values all = observe_all(stage.queue);
  inturn_value state = operation_value(operation, INTURN_OPERATION_STATE);
  observe(state, "o");
  stage_drain(&stage);
  CHECK_TRACE("o1>2, p1>0, r0>1, work a");
  stage_fail(&stage, &job);
  CHECK_TRACE("o2>1, p0>1, r1>0, o1>2, p1>0, r0>1, work a");
  stage_fail(&stage, &job);
  CHECK_TRACE("o2>3, r1>0, 0/1>1/1, end a failed");
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_value_destroy(state));
  destroy_all(&all);
  stage_destroy(&stage);
}

/* Operations -------------------------------------------------------------- */

static void check_operation(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  inturn_value state = operation_value(operation, INTURN_OPERATION_STATE);
  inturn_value progress = operation_value(operation, INTURN_OPERATION_PROGRESS);
  observe(state, "o");
  observe(progress, "");
  check_value(state, "1");
  check_value(progress, "0/0");
  CHECK_OK(inturn_operation_release(operation));
  stage_drain(&stage);
  CHECK_TRACE("o1>2, work a");
  CHECK_OK(inturn_token_set_progress(job.token, 1, 4));
  CHECK_OK(inturn_token_set_progress(job.token, 1, 4));
  CHECK_OK(inturn_token_set_progress(job.token, 4, 4));
  CHECK_TRACE("0/0>1/4, 1/4>4/4");
  stage_finish(&stage, &job);
  CHECK_TRACE("o2>3, end a finished");
  check_value(state, "3");
  check_value(progress, "4/4");
  CHECK_OK(inturn_value_destroy(state));
  CHECK_OK(inturn_value_destroy(progress));
  stage_destroy(&stage);
}

static void an_operations_state_and_progress_are_told(void) {
  for_each_kind(check_operation);
}

static void finish_and_trace(void *context, inturn_token token) {
  (void)context;
  trace("begin");
  CHECK_OK(inturn_token_finish(token));
  trace("end");
}

static void an_end_is_told_before_the_call_that_brings_it_about_returns(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue(stage.queue, finish_and_trace, NULL, NULL,
                                &operation));
  inturn_value state = operation_value(operation, INTURN_OPERATION_STATE);
  observe(state, "o");
  stage_drain(&stage);
  CHECK_TRACE("o1>2, begin, o2>3, end");
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_value_destroy(state));
  stage_destroy(&stage);
}

static void a_deadline_and_a_cancel_are_told(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job held = JOB("a"), pending = JOB("b");
  inturn_operation_options options = job_options(&held);
  options.max_run_ns = 10;
  inturn_operation first =
      job_enqueue_with(stage.queue, &held, work_hold, &options);
  inturn_operation second = job_enqueue_kept(stage.queue, &pending, never_work);
  inturn_value states[] = {operation_value(first, INTURN_OPERATION_STATE),
                           operation_value(second, INTURN_OPERATION_STATE)};
  observe(states[0], "a");
  observe(states[1], "b");
  stage_drain(&stage);
  CHECK_OK(inturn_operation_cancel(second));
  CHECK_OK(inturn_clock_advance(stage.clock, 10));
  CHECK_TRACE("a1>2, work a, b1>3, a2>3");
  CHECK_STATUS(inturn_token_finish(held.token), INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_value_destroy(states[i]));
  CHECK_OK(inturn_operation_release(first));
  CHECK_OK(inturn_operation_release(second));
  stage_destroy(&stage);
}

/* Batches ----------------------------------------------------------------- */

static void a_batchs_progress_is_told(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_batch_item items[3] = {{just_finish, NULL, NULL},
                                {just_finish, NULL, NULL},
                                {just_finish, NULL, NULL}};
  inturn_batch batch;
  inturn_value value, late;
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, items, 3, &batch));
  CHECK_STATUS(inturn_batch_create_value(batch, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_batch_create_value(batch, &value));
  observe(value, "");
  stage_drain(&stage);
  CHECK_TRACE("0/3>1/3, 1/3>2/3, 2/3>3/3");
  CHECK_OK(inturn_batch_create_value(batch, &late));
  check_value(late, "3/3");
  CHECK_OK(inturn_batch_release(batch));
  CHECK_STATUS(inturn_batch_create_value(batch, &late), INTURN_E_STALE);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_value_destroy(late));
  stage_destroy(&stage);
}

PROGRAM(states, TEST(each_change_of_a_queue_is_told_in_order),
        TEST(cancelled_operations_are_counted_as_ended),
        TEST(what_was_there_before_the_first_look_is_counted),
        TEST(a_look_from_inside_the_work_counts_that_as_running),
        TEST(a_further_attempt_is_pending_again),
        TEST(an_operations_state_and_progress_are_told),
        TEST(an_end_is_told_before_the_call_that_brings_it_about_returns),
        TEST(a_deadline_and_a_cancel_are_told), TEST(a_batchs_progress_is_told))
