/*
 * features.c - uses each feature with each kind of queue, and says what has
 * come of it: a line of the feature, the kind, and "yes" or "no". Yes: its
 * effect was seen. No: it was refused as inturn.h says.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trial.h"

static inturn_status result(const stage *stage) {
  int seven = 7;
  inturn_operation_options options = with_end();
  OR_NO(PUT(hold, "a", &options));
  stage_drain(stage);
  CHECK_OK(inturn_token_finish_with(held, &seven, NULL));
  stage_drain(stage);
  CHECK(ended.result == &seven);
  return INTURN_OK;
}

/* Enqueues one by itself and one with an option that brings it before that. */
static inturn_status comes_first(const stage *stage,
                                 const inturn_operation_options *options) {
  CHECK_OK(inturn_queue_suspend(stage->queue));
  CHECK_OK(PUT(say, "a", NULL));
  inturn_status status = PUT(say, "b", options);
  stage_resume(stage);
  CHECK_TEXT(called, status == INTURN_OK ? "ba" : "a");
  return status;
}

static inturn_status priority(const stage *stage) {
  inturn_operation_options options = {.priority = 1};
  return comes_first(stage, &options);
}

static inturn_status urgent(const stage *stage) {
  inturn_operation_options options = {.urgent = true};
  return comes_first(stage, &options);
}

static void give_way(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(inturn_token_yield(token));
}

static inturn_status preempt(const stage *stage) {
  inturn_operation_options options = {.urgent = true};
  OR_NO(PUT(hold, "a", NULL));
  stage_drain(stage);
  inturn_status status = inturn_token_on_preempt(held, give_way, NULL, NULL);
  if (status == INTURN_OK) {
    CHECK_OK(PUT(say, "b", &options));
    stage_drain(stage);
    CHECK_TEXT(called, "aba");
  }
  finish_held(stage);
  return status;
}

static inturn_status barrier(const stage *stage) {
  inturn_operation_options options = {.barrier = true};
  OR_NO(PUT(hold, "a", NULL));
  stage_drain(stage);
  inturn_status status = PUT(say, "b", &options);
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  finish_held(stage);
  CHECK_TEXT(called, status == INTURN_OK ? "ab" : "a");
  return status;
}

static inturn_status after(const stage *stage) {
  struct stage other = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation first;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  CHECK_OK(inturn_queue_enqueue(other.queue, say, "a", NULL, &first));
  options.after = &first;
  options.after_count = 1;
  OR_NO(PUT(say, "b", &options));
  stage_drain(stage);
  CHECK_TEXT(called, "");
  stage_drain(&other);
  stage_drain(stage);
  CHECK_TEXT(called, "ab");
  CHECK_OK(inturn_operation_release(first));
  stage_destroy(&other);
  return INTURN_OK;
}

static inturn_status exclusive(const stage *stage) {
  struct stage other = stage_create(INTURN_QUEUE_FIFO);
  const char *name = "the printer";
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.exclusive = &name;
  options.exclusive_count = 1;
  CHECK_OK(
      inturn_queue_enqueue_with(other.queue, &options, hold, "a", NULL, NULL));
  stage_drain(&other);
  OR_NO(PUT(say, "b", &options));
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  finish_held(&other);
  stage_drain(stage);
  CHECK_TEXT(called, "ab");
  stage_destroy(&other);
  return INTURN_OK;
}

static inturn_verdict skip(void *context) {
  (void)context;
  return INTURN_SKIP;
}

static inturn_status condition(const stage *stage) {
  inturn_operation_options options = with_end();
  options.condition = skip;
  OR_NO(PUT(say, "a", &options));
  stage_drain(stage);
  CHECK_TEXT(called, "");
  CHECK_INT(ended.cause, INTURN_CAUSE_SKIPPED);
  return INTURN_OK;
}

static inturn_status retry(const stage *stage) {
  inturn_retry policy = INTURN_RETRY_INIT;
  inturn_operation_options options = with_end();
  policy.max_attempts = 3;
  policy.delay_ns = 5;
  options.retry = &policy;
  OR_NO(PUT(fail, "a", &options));
  stage_drain(stage);
  stage_advance(stage, 5);
  stage_advance(stage, 5);
  CHECK_TEXT(called, "aaa");
  CHECK_INT(ended.attempts, 3);
  return INTURN_OK;
}

static inturn_status key(const stage *stage) {
  uint64_t count;
  inturn_operation_options options = with_end();
  options.key = "key";
  CHECK_OK(inturn_queue_suspend(stage->queue));
  OR_NO(PUT(say, "a", &options));
  CHECK_OK(inturn_queue_resolve_key(stage->queue, "key", &count));
  CHECK_INT(count, 1);
  stage_resume(stage);
  CHECK_INT(ended.cause, INTURN_CAUSE_RESOLVED);
  return INTURN_OK;
}

static inturn_status join(const stage *stage) {
  inturn_operation_options first = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation_options options = with_end();
  first.key = options.key = "key";
  CHECK_OK(PUT(hold, "a", &first));
  options.join = true;
  OR_NO(PUT(say, "b", &options));
  stage_drain(stage);
  finish_held(stage);
  CHECK_TEXT(called, "a");
  CHECK_INT(ended.cause, INTURN_CAUSE_JOINED);
  return INTURN_OK;
}

static inturn_status owner(const stage *stage) {
  inturn_operation_options options = with_end();
  CHECK_OK(inturn_owner_create(0, &options.owner));
  CHECK_OK(inturn_queue_suspend(stage->queue));
  OR_NO(PUT(say, "a", &options));
  CHECK_OK(inturn_owner_destroy(options.owner));
  stage_resume(stage);
  CHECK_INT(ended.cause, INTURN_CAUSE_OWNER);
  return INTURN_OK;
}

static inturn_status max_wait(const stage *stage) {
  inturn_operation_options options = with_end();
  options.max_wait_ns = 5;
  CHECK_OK(inturn_queue_suspend(stage->queue));
  OR_NO(PUT(say, "a", &options));
  stage_advance(stage, 5);
  CHECK_INT(ended.cause, INTURN_CAUSE_MAX_WAIT);
  return INTURN_OK;
}

static inturn_status max_run(const stage *stage) {
  inturn_operation_options options = with_end();
  options.max_run_ns = 5;
  OR_NO(PUT(hold, "a", &options));
  stage_drain(stage);
  stage_advance(stage, 5);
  CHECK_INT(ended.cause, INTURN_CAUSE_MAX_RUN);
  return INTURN_OK;
}

static inturn_status stall(const stage *stage) {
  reports reports;
  inturn_operation_options options = {.stall_ns = 5};
  OR_NO(PUT(hold, "a", &options));
  stage_drain(stage);
  reports_begin(&reports);
  stage_advance(stage, 5);
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK_INT(reports.kind, INTURN_REPORT_STALL);
  reports_end();
  finish_held(stage);
  return INTURN_OK;
}

static inturn_status cancel_grace(const stage *stage) {
  inturn_operation_options options = with_end();
  options.cancel_grace_ns = 5;
  OR_NO(PUT(hold, "a", &options));
  stage_drain(stage);
  CHECK_OK(inturn_queue_cancel_all(stage->queue));
  stage_advance(stage, 5);
  CHECK_INT(ended.cause, INTURN_CAUSE_GRACE);
  return INTURN_OK;
}

static void count_cancel(void *context, inturn_token token) {
  (void)context;
  strcat(called, "!");
  CHECK_OK(inturn_token_cancel(token));
}

static inturn_status cancel(const stage *stage) {
  inturn_operation_options options = with_end();
  OR_NO(PUT(hold, "a", &options));
  stage_drain(stage);
  CHECK_OK(inturn_token_on_cancel(held, count_cancel, NULL, NULL));
  CHECK_OK(inturn_queue_cancel_all(stage->queue));
  stage_drain(stage);
  CHECK_TEXT(called, "a!");
  CHECK_INT(ended.outcome, INTURN_CANCELLED);
  return INTURN_OK;
}

static inturn_status progress(const stage *stage) {
  inturn_operation operation;
  int64_t completed, total;
  CHECK_OK(inturn_queue_enqueue(stage->queue, hold, "a", NULL, &operation));
  stage_drain(stage);
  OR_NO(inturn_token_set_progress(held, 3, 7));
  CHECK_OK(inturn_operation_get_progress(operation, &completed, &total));
  CHECK_INT(completed * 10 + total, 37);
  finish_held(stage);
  return inturn_operation_release(operation);
}

static inturn_status segment(const stage *stage) {
  OR_NO(PUT(hold, "a", NULL));
  stage_drain(stage);
  inturn_status status = inturn_token_resume(held, say, "b", NULL);
  stage_drain(stage);
  CHECK_TEXT(called, status == INTURN_OK ? "ab" : "a");
  if (status != INTURN_OK)
    finish_held(stage);
  return status;
}

static void keep_batch_end(void *context, const inturn_batch_end *end) {
  *(inturn_batch_end *)context = *end;
}

static inturn_status put_batch(const stage *stage,
                               const inturn_batch_edge *edge) {
  inturn_batch_item items[] = {{hold, "a", NULL}, {say, "b", NULL}};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_batch_end end = {0};
  options.on_end = keep_batch_end;
  options.end_context = &end;
  options.edges = edge;
  options.edge_count = edge != NULL;
  OR_NO(inturn_queue_enqueue_batch(stage->queue, &options, items, 2, NULL));
  stage_drain(stage);
  if (edge != NULL)
    CHECK_TEXT(called, "a");
  finish_held(stage);
  CHECK_INT(end.finished, 2);
  return INTURN_OK;
}

static inturn_status batch(const stage *stage) {
  return put_batch(stage, NULL);
}

static inturn_status edges(const stage *stage) {
  inturn_batch_edge edge = {1, 0};
  return put_batch(stage, &edge);
}

static inturn_status suspend(const stage *stage) {
  OR_NO(inturn_queue_suspend(stage->queue));
  CHECK_OK(PUT(say, "a", NULL));
  stage_drain(stage);
  CHECK_TEXT(called, "");
  stage_resume(stage);
  CHECK_TEXT(called, "a");
  return INTURN_OK;
}

static inturn_status reason(const stage *stage) {
  OR_NO(inturn_queue_suspend_for(stage->queue, "no network"));
  CHECK_OK(PUT(say, "a", NULL));
  stage_drain(stage);
  CHECK_TEXT(called, "");
  CHECK_OK(inturn_queue_resume_for(stage->queue, "no network"));
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  return INTURN_OK;
}

static inturn_status rate(const stage *stage) {
  inturn_rate one = {1, 1, 10};
  OR_NO(inturn_queue_set_rate(stage->queue, &one));
  CHECK_OK(PUT(say, "a", NULL));
  CHECK_OK(PUT(say, "b", NULL));
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  stage_advance(stage, 10);
  CHECK_TEXT(called, "ab");
  return INTURN_OK;
}

static inturn_status max_concurrent(const stage *stage) {
  OR_NO(inturn_queue_set_max_concurrent(stage->queue, 1));
  CHECK_OK(PUT(hold, "a", NULL));
  CHECK_OK(PUT(say, "b", NULL));
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  finish_held(stage);
  CHECK_TEXT(called, "ab");
  return INTURN_OK;
}

static inturn_status view(const stage *stage) {
  OR_NO(inturn_queue_view_will_disappear(stage->queue));
  CHECK_OK(PUT(say, "a", NULL));
  stage_drain(stage);
  CHECK_TEXT(called, "");
  CHECK_OK(inturn_queue_view_did_appear(stage->queue));
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  return INTURN_OK;
}

static inturn_status states(const stage *stage) {
  inturn_value pending;
  int64_t number;
  OR_NO(
      inturn_queue_create_value(stage->queue, INTURN_QUEUE_PENDING, &pending));
  CHECK_OK(PUT(say, "a", NULL));
  CHECK_OK(inturn_value_get_integer(pending, &number));
  CHECK_INT(number, 1);
  stage_drain(stage);
  CHECK_OK(inturn_value_get_integer(pending, &number));
  CHECK_INT(number, 0);
  return inturn_value_destroy(pending);
}

static inturn_status list(const stage *stage) {
  inturn_operation_info info = INTURN_OPERATION_INFO_INIT;
  size_t count;
  inturn_operation_options options = {.label = "a label"};
  CHECK_OK(PUT(say, "a", &options));
  OR_NO(inturn_queue_list(stage->queue, &info, 1, &count));
  CHECK_INT(count, 1);
  CHECK_TEXT(info.label, "a label");
  stage_drain(stage);
  return INTURN_OK;
}

static inturn_status drain(const stage *stage) {
  CHECK_OK(PUT(say, "a", NULL));
  CHECK_STATUS(inturn_queue_drain(stage->queue, 0), INTURN_E_TIMED_OUT);
  stage_drain(stage);
  return inturn_queue_drain(stage->queue, 0);
}

static inturn_status close_it(const stage *stage) {
  CHECK_OK(PUT(say, "a", NULL));
  OR_NO(inturn_queue_close(stage->queue));
  CHECK_STATUS(PUT(say, "b", NULL), INTURN_E_CLOSED);
  stage_drain(stage);
  CHECK_TEXT(called, "a");
  return INTURN_OK;
}

static void drain_oneself(void *queue, inturn_token token) {
  CHECK_STATUS(inturn_queue_drain(*(inturn_queue *)queue, -1),
               INTURN_E_DEADLOCK);
  say("refused", token);
}

static inturn_status deadlock(const stage *stage) {
  inturn_queue queue = stage->queue;
  reports reports;
  reports_begin(&reports);
  OR_NO(PUT(drain_oneself, &queue, NULL));
  stage_drain(stage);
  reports_end();
  CHECK_TEXT(called, "refused");
  return INTURN_OK;
}

/* What is asked for when the queue is made. */

static int told;

static void count_event(void *context, const inturn_event *event) {
  (void)context;
  (void)event;
  told++;
}

static void set_up(const char *feature, inturn_queue_options *options) {
  if (strcmp(feature, "capacity") == 0)
    options->capacity = 1;
  if (strcmp(feature, "events") == 0)
    options->on_event = count_event;
}

static inturn_status capacity(const stage *stage) {
  OR_NO(PUT(say, "a", NULL));
  CHECK_STATUS(PUT(say, "b", NULL), INTURN_E_FULL);
  stage_drain(stage);
  return INTURN_OK;
}

static inturn_status events(const stage *stage) {
  OR_NO(PUT(say, "a", NULL));
  stage_drain(stage);
  CHECK(told >= 3); /* enqueued, started, ended */
  return INTURN_OK;
}

#define FEATURE(name)                                                          \
  { #name, name }
static const struct {
  const char *name;
  inturn_status (*use)(const stage *stage);
} features[] = {
    FEATURE(result),       FEATURE(priority),       FEATURE(urgent),
    FEATURE(preempt),      FEATURE(barrier),        FEATURE(after),
    FEATURE(exclusive),    FEATURE(condition),      FEATURE(retry),
    FEATURE(key),          FEATURE(join),           FEATURE(owner),
    FEATURE(max_wait),     FEATURE(max_run),        FEATURE(stall),
    FEATURE(cancel_grace), FEATURE(cancel),         FEATURE(progress),
    FEATURE(segment),      FEATURE(batch),          FEATURE(edges),
    FEATURE(suspend),      FEATURE(reason),         FEATURE(capacity),
    FEATURE(rate),         FEATURE(max_concurrent), FEATURE(view),
    FEATURE(events),       FEATURE(states),         FEATURE(list),
    FEATURE(drain),        {"close", close_it},     {"clock", max_wait},
    FEATURE(deadlock)};
#undef FEATURE

int main(void) {
  static const char *kinds[] = {"fifo", "actor", "interaction", "concurrent"};
  for (size_t i = 0; i < sizeof features / sizeof *features; i++)
    for (int kind = 0; kind < 4; kind++) {
      inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
      options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
      options.max_concurrent = kind == 3 ? 2 : 0;
      set_up(features[i].name, &options);
      stage stage = stage_create_with((inturn_queue_kind)(kind + 1), options);
      if (kind == 2)
        CHECK_OK(inturn_queue_view_did_appear(stage.queue));
      called[0] = '\0';
      told = 0;
      inturn_status status = features[i].use(&stage);
      if (status != INTURN_OK && status != INTURN_E_UNSUPPORTED &&
          status != INTURN_E_WRONG_KIND)
        FAIL("%s gives %s", features[i].name, inturn_status_name(status));
      stage_destroy(&stage);
      printf("%s\t%s\t%s\n", features[i].name, kinds[kind],
             status == INTURN_OK ? "yes" : "no");
    }
  return 0;
}
