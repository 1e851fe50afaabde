/*
 * batch_graphs.c - batches whose operations come after others of the same
 * list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

/* Most of this is tried in each way in which a batch can be enqueued: without
   options of its operations, and with some. */
static const inturn_operation_options *each;

static void in_both_ways(void (*body)(void)) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = "each";
  each = NULL;
  body();
  each = &options;
  body();
  each = NULL;
}

/* Jobs a to e, their batch on a stage, and what becomes of it. `d` comes after
   `b` and `c`, which come after `a`; `e` after nothing. */
enum { JOBS = 5 };

typedef struct set {
  stage stage;
  job jobs[JOBS];
  inturn_batch_item items[JOBS];
  inturn_batch_options options;
  inturn_batch batch;
  inturn_batch_end end;
} set;

static const inturn_batch_edge diamond[] = {{3, 2}, {1, 0}, {3, 1}, {2, 0}};

/* Their places in the order in which they start, one at a time. */
static const int starts[JOBS] = {0, 4, 1, 2, 3};

static void batch_ended(void *into, const inturn_batch_end *end) {
  *(inturn_batch_end *)into = *end;
  trace("batch %s", outcome_name(end->outcome));
}

static void set_prepare(set *set, stage stage, inturn_work_fn work) {
  static const char *const names[JOBS] = {"a", "b", "c", "d", "e"};
  set->stage = stage;
  for (int i = 0; i < JOBS; i++) {
    set->jobs[i] = (job)JOB(names[i]);
    set->items[i] =
        (inturn_batch_item){work, &set->jobs[i], i == 1 ? NULL : job_destroyed};
  }
  set->options = (inturn_batch_options)INTURN_BATCH_OPTIONS_INIT;
  set->options.operation = each;
  set->options.on_end = batch_ended;
  set->options.end_context = &set->end;
  set->options.edges = diamond;
  set->options.edge_count = 4;
  set->end = (inturn_batch_end){0};
}

static void set_enqueue(set *set) {
  CHECK_OK(inturn_queue_enqueue_batch(set->stage.queue, &set->options,
                                      set->items, JOBS, &set->batch));
}

static void set_begin(set *set, inturn_work_fn work) {
  set_prepare(set, stage_create(INTURN_QUEUE_CONCURRENT), work);
  set_enqueue(set);
  stage_drain(&set->stage);
}

/* How the operation at a place has ended. */
static inturn_end end_at(const set *set, size_t place) {
  inturn_end end = {0};
  CHECK_OK(inturn_batch_get_end(set->batch, place, &end));
  return end;
}

#define CHECK_END(set, place, expected, because)                               \
  do {                                                                         \
    CHECK_INT(end_at(set, place).outcome, expected);                           \
    CHECK_INT(end_at(set, place).cause, because);                              \
  } while (0)

/* Checks that all have ended and each context is destroyed once, and gives
   everything back. */
static void set_end(set *set) {
  inturn_batch_end end;
  CHECK_OK(inturn_batch_wait(set->batch, 0, &end));
  CHECK_INT(set->end.batch.bits, set->batch.bits);
  CHECK_INT(set->end.count, JOBS);
  for (int i = 0; i < JOBS; i++)
    CHECK_INT(gate_count(&set->jobs[i].destroyed), i == 1 ? 0 : 1);
  CHECK_OK(inturn_batch_release(set->batch));
  stage_destroy(&set->stage);
  trace_begin();
}

static void start_each_after_those_before_it(void) {
  set set;
  set_begin(&set, work_hold);
  CHECK_TRACE("work a, work e");
  stage_finish(&set.stage, &set.jobs[0]);
  CHECK_TRACE("work b, work c");
  stage_finish(&set.stage, &set.jobs[2]);
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_TRACE("");
  stage_finish(&set.stage, &set.jobs[1]);
  CHECK_TRACE("work d");
  stage_finish(&set.stage, &set.jobs[3]);
  CHECK_TRACE("batch finished");
  set_end(&set);
}

static void each_starts_when_all_that_it_comes_after_have_ended(void) {
  in_both_ways(start_each_after_those_before_it);
}

static void run_each_that_finishes_at_once(void) {
  set set;
  set_begin(&set, work_finish);
  CHECK_TRACE("work a, work e, work b, work c, work d, batch finished");
  CHECK_INT(set.end.finished, JOBS);
  set_end(&set);
}

static void those_that_finish_at_once_go_on_in_order(void) {
  in_both_ways(run_each_that_finishes_at_once);
}

static void keep_order(inturn_queue_kind kind) {
  set set;
  set_prepare(&set, stage_create(kind), work_finish);
  set_enqueue(&set);
  stage_drain(&set.stage);
  if (kind == INTURN_QUEUE_FIFO || kind == INTURN_QUEUE_ACTOR)
    CHECK_TRACE("work a, work b, work c, work d, work e, batch finished");
  CHECK_INT(set.end.finished, JOBS);
  set_end(&set);
}

static void keep_order_on_each_kind(void) { for_each_kind(keep_order); }

static void every_kind_of_queue_takes_edges(void) {
  in_both_ways(keep_order_on_each_kind);
}

static void run_after_a_failure(void) {
  set set;
  set_begin(&set, work_hold);
  stage_fail(&set.stage, &set.jobs[0]);
  stage_finish(&set.stage, &set.jobs[1]);
  stage_finish(&set.stage, &set.jobs[2]);
  CHECK_TRACE("work a, work e, work b, work c, work d");
  stage_finish(&set.stage, &set.jobs[3]);
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_INT(set.end.outcome, INTURN_FAILED);
  CHECK_INT(set.end.code, FAIL_CODE);
  CHECK_INT(set.end.finished, 4);
  set_end(&set);
}

static void one_that_has_failed_has_ended(void) {
  in_both_ways(run_after_a_failure);
}

static void what_needs_a_finish_is_cancelled_with_that_cause(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after_policy = INTURN_AFTER_FINISHED;
  each = &options;
  set set;
  set_begin(&set, work_hold);
  stage_finish(&set.stage, &set.jobs[0]);
  stage_fail(&set.stage, &set.jobs[1]);
  CHECK_END(&set, 3, INTURN_CANCELLED, INTURN_CAUSE_DEPENDENCY);
  stage_finish(&set.stage, &set.jobs[2]);
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_TRACE("work a, work e, work b, work c, batch failed");
  CHECK_INT(set.end.finished, 3);
  set_end(&set);
  each = NULL;
}

static void cancel_what_waits_at_the_first_error(void) {
  set set;
  set_prepare(&set, stage_create(INTURN_QUEUE_CONCURRENT), work_hold);
  set.options.policy = INTURN_BATCH_FIRST_ERROR;
  set_enqueue(&set);
  stage_drain(&set.stage);
  stage_fail(&set.stage, &set.jobs[4]);
  CHECK(is_cancelled(set.jobs[0].token));
  for (size_t place = 1; place <= 3; place++)
    CHECK_END(&set, place, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  stage_finish(&set.stage, &set.jobs[0]);
  CHECK_TRACE("work a, work e, batch failed");
  CHECK_INT(set.end.decided_by, 4);
  set_end(&set);
}

static void the_first_error_cancels_what_waits(void) {
  in_both_ways(cancel_what_waits_at_the_first_error);
}

static void fail_what_others_come_after(void) {
  set set;
  set_prepare(&set, stage_create(INTURN_QUEUE_CONCURRENT), work_fail);
  set.options.policy = INTURN_BATCH_FIRST_ERROR;
  set_enqueue(&set);
  stage_drain(&set.stage);
  for (size_t place = 1; place < JOBS; place++)
    CHECK_END(&set, place, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK_TRACE("work a, batch failed");
  CHECK_INT(set.end.decided_by, 0);
  set_end(&set);
}

static void the_first_error_lets_nothing_start_that_comes_after_it(void) {
  in_both_ways(fail_what_others_come_after);
}

static void have_enough(void) {
  set set;
  set_prepare(&set, stage_create(INTURN_QUEUE_CONCURRENT), work_hold);
  set.options.policy = INTURN_BATCH_ENOUGH;
  set.options.enough = 3;
  set_enqueue(&set);
  stage_drain(&set.stage);
  stage_finish(&set.stage, &set.jobs[4]);
  stage_finish(&set.stage, &set.jobs[0]);
  stage_finish(&set.stage, &set.jobs[1]);
  CHECK_END(&set, 3, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  stage_finish(&set.stage, &set.jobs[2]);
  CHECK_INT(set.end.outcome, INTURN_FINISHED);
  CHECK_INT(set.end.finished, 4);
  set_end(&set);
}

static void enough_that_have_finished_cancel_what_waits(void) {
  in_both_ways(have_enough);
}

/* Cancels ----------------------------------------------------------------- */

static void cancel_by_batch(set *set) {
  CHECK_OK(inturn_batch_cancel(set->batch));
  CHECK_STATUS(inturn_batch_cancel(set->batch), INTURN_E_CANCELLED);
}

static void cancel_all(set *set) {
  CHECK_OK(inturn_queue_cancel_all(set->stage.queue));
}

static void cancel_twice(set *set) {
  cancel_all(set);
  CHECK_OK(inturn_batch_cancel(set->batch));
}

static void cancel_everything(void (*cancel)(set *)) {
  set set;
  set_begin(&set, work_hold);
  stage_finish(&set.stage, &set.jobs[0]);
  cancel(&set);
  CHECK(is_cancelled(set.jobs[1].token));
  CHECK(is_cancelled(set.jobs[4].token));
  CHECK_INT(statistics_of(set.stage.queue).pending, 0);
  stage_drain(&set.stage);
  CHECK_END(&set, 3, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  /* Nobody is told that these have ended. */
  stage_finish(&set.stage, &set.jobs[1]);
  stage_finish(&set.stage, &set.jobs[2]);
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_TRACE("work a, work e, work b, work c, batch cancelled");
  CHECK_INT(set.end.finished, 4);
  inturn_queue_statistics statistics = statistics_of(set.stage.queue);
  CHECK_INT(statistics.finished, 4);
  CHECK_INT(statistics.cancelled, 1);
  set_end(&set);
}

static void cancel_in_each_way(void) {
  cancel_everything(cancel_by_batch);
  cancel_everything(cancel_all);
  cancel_everything(cancel_twice);
}

static void a_cancel_ends_what_waits(void) { in_both_ways(cancel_in_each_way); }

static void destroy_the_queue(void) {
  set set;
  set_begin(&set, work_hold);
  CHECK_OK(inturn_queue_destroy(set.stage.queue));
  CHECK_TRACE("work a, work e, batch cancelled");
  for (size_t place = 0; place < JOBS; place++)
    CHECK_END(&set, place, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_STATUS(inturn_token_finish(set.jobs[0].token),
               INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &set.stage.queue));
  set_end(&set);
}

static void destroying_the_queue_ends_what_waits(void) {
  in_both_ways(destroy_the_queue);
}

/* What waits in a batch is the queue's ------------------------------------ */

static void look_at_what_waits(void) {
  set set;
  set_begin(&set, work_hold);
  inturn_queue queue = set.stage.queue;
  inturn_queue_statistics statistics = statistics_of(queue);
  CHECK_INT(statistics.pending, 3);
  CHECK_INT(statistics.running, 2);
  inturn_operation_info infos[JOBS + 1];
  size_t count;
  CHECK_OK(inturn_queue_list(queue, infos, JOBS + 1, &count));
  CHECK_INT(count, JOBS);
  for (size_t i = 0; i < JOBS; i++)
    CHECK_INT(infos[i].state, i < 2 ? INTURN_RUNNING : INTURN_PENDING);
  CHECK_OK(inturn_queue_list(queue, infos, 3, &count));
  stage_finish(&set.stage, &set.jobs[4]);
  CHECK_STATUS(inturn_queue_drain(queue, 0), INTURN_E_TIMED_OUT);
  /* Suspended or closed, it is what it was. */
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
  /* Started, though not ended. */
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

/* How many have ended, by a value that tells the progress of JOBS of them. */
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

/* Bad input --------------------------------------------------------------- */

static void refuse(set *set, const inturn_batch_edge *edges, size_t count) {
  set->options.edges = edges;
  set->options.edge_count = count;
  CHECK_STATUS(inturn_queue_enqueue_batch(set->stage.queue, &set->options,
                                          set->items, JOBS, &set->batch),
               INTURN_E_INVALID_ARGUMENT);
}

static void edges_that_are_none_are_refused(void) {
  set set;
  set_prepare(&set, stage_create(INTURN_QUEUE_CONCURRENT), never_work);
  refuse(&set, (inturn_batch_edge[]){{0, 0}}, 1);
  refuse(&set, (inturn_batch_edge[]){{1, 0}, {1, 2}}, 2);
  refuse(&set, (inturn_batch_edge[]){{1, 0}, {JOBS, 0}}, 2);
  refuse(&set, (inturn_batch_edge[]){{SIZE_MAX, 0}}, 1);
  refuse(&set, (inturn_batch_edge[]){{1, SIZE_MAX}}, 1);
  refuse(&set, NULL, 1);
  refuse(&set, diamond, SIZE_MAX);
  set.options.edges = diamond;
  set.options.edge_count = 1;
  CHECK_STATUS(inturn_queue_enqueue_batch(set.stage.queue, &set.options, NULL,
                                          0, &set.batch),
               INTURN_E_INVALID_ARGUMENT);
  set.options.size -= 16;
  refuse(&set, diamond, 0);
  for (int i = 0; i < JOBS; i++)
    CHECK_INT(gate_count(&set.jobs[i].destroyed), i == 1 ? 0 : 8);
  CHECK_INT(stage_drain(&set.stage), 0);
  stage_destroy(&set.stage);
}

static void name_edges_twice(void) {
  static const inturn_batch_edge twice[] = {{1, 0}, {1, 0}, {4, 1}, {4, 1}};
  set set;
  set_prepare(&set, stage_create_of(INTURN_QUEUE_CONCURRENT, 1), work_finish);
  set.options.edges = twice;
  set_enqueue(&set);
  stage_drain(&set.stage);
  CHECK_TRACE("work a, work c, work d, work b, work e, batch finished");
  set_end(&set);
}

static void an_edge_may_be_named_twice(void) { in_both_ways(name_edges_twice); }

/* Ends of those before ---------------------------------------------------- */

static inturn_batch known;

static void give_its_name(void *name, inturn_token token) {
  CHECK_OK(inturn_token_finish_with(token, name, NULL));
}

static void read_the_name_before(void *name, inturn_token token) {
  inturn_end end;
  CHECK_OK(inturn_batch_get_end(known, 0, &end));
  CHECK_TEXT(end.result, name);
  CHECK_OK(inturn_token_finish(token));
}

static void read_what_was_given_before(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  char name[] = "a";
  inturn_batch_item items[] = {{give_its_name, name, NULL},
                               {read_the_name_before, name, NULL}};
  inturn_batch_edge edge = {1, 0};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = each;
  options.edges = &edge;
  options.edge_count = 1;
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, 2, &known));
  stage_drain(&stage);
  inturn_batch_end end;
  CHECK_OK(inturn_batch_wait(known, 0, &end));
  CHECK_INT(end.finished, 2);
  CHECK_OK(inturn_batch_release(known));
  stage_destroy(&stage);
}

static void work_may_read_the_ends_of_what_it_comes_after(void) {
  in_both_ways(read_what_was_given_before);
}

/* Large ones -------------------------------------------------------------- */

static atomic_long ran;

static void count_ran(void *place, inturn_token token) {
  /* A chain's places, each one's address its number. */
  long before = atomic_fetch_add(&ran, 1);
  if (place != NULL)
    CHECK_INT((uintptr_t)place, before);
  CHECK_OK(inturn_token_finish(token));
}

static void run_large(const inturn_batch_item *items, size_t count,
                      const inturn_batch_edge *edges, size_t edge_count) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = each;
  options.edges = edges;
  options.edge_count = edge_count;
  inturn_batch batch;
  inturn_batch_end end;
  atomic_store(&ran, 0);
  CHECK_OK(inturn_queue_enqueue_batch(queue, &options, items, count, &batch));
  CHECK_OK(inturn_batch_wait(batch, LIMIT_NS, &end));
  CHECK_INT(end.finished, count);
  CHECK_INT(atomic_load(&ran), count);
  CHECK_OK(inturn_batch_release(batch));
  drain_and_destroy(queue);
}

static void run_a_chain(void) {
  size_t count = (size_t)scaled(100000);
  inturn_batch_item *items = calloc(count, sizeof *items);
  inturn_batch_edge *edges = calloc(count, sizeof *edges);
  for (size_t i = 0; i < count; i++) {
    items[i] = (inturn_batch_item){count_ran, (void *)i, NULL};
    edges[i] = (inturn_batch_edge){i + 1, i};
  }
  run_large(items, count, edges, count - 1);
  free(items);
  free(edges);
}

static void a_long_chain_runs_in_order(void) { in_both_ways(run_a_chain); }

static void run_a_fan(void) {
  size_t count = (size_t)scaled(100000) + 200;
  inturn_batch_item *items = calloc(count, sizeof *items);
  inturn_batch_edge *edges = calloc(2 * count, sizeof *edges);
  for (size_t i = 0; i < count; i++)
    items[i] = (inturn_batch_item){count_ran, NULL, NULL};
  items[count - 1].context = (void *)(count - 1);
  for (size_t i = 1; i < count - 1; i++) {
    edges[2 * i] = (inturn_batch_edge){i, 0};
    edges[2 * i + 1] = (inturn_batch_edge){count - 1, i};
  }
  run_large(items, count, edges + 2, 2 * (count - 2));
  free(items);
  free(edges);
}

static void a_wide_fan_is_told_of_its_first_and_told_to_its_last(void) {
  in_both_ways(run_a_fan);
}

PROGRAM(batch_graphs, TEST(each_starts_when_all_that_it_comes_after_have_ended),
        TEST(those_that_finish_at_once_go_on_in_order),
        TEST(every_kind_of_queue_takes_edges),
        TEST(one_that_has_failed_has_ended),
        TEST(what_needs_a_finish_is_cancelled_with_that_cause),
        TEST(the_first_error_cancels_what_waits),
        TEST(the_first_error_lets_nothing_start_that_comes_after_it),
        TEST(enough_that_have_finished_cancel_what_waits),
        TEST(a_cancel_ends_what_waits),
        TEST(destroying_the_queue_ends_what_waits), TEST(what_waits_is_pending),
        TEST(what_waits_takes_capacity),
        TEST(a_barrier_waits_for_what_waits_before_it),
        TEST(what_is_behind_a_barrier_waits_for_it),
        TEST(priorities_go_before_what_has_waited),
        TEST(a_queue_with_events_tells_those_of_each),
        TEST(progress_counts_what_was_cancelled_while_it_waited),
        TEST(edges_that_are_none_are_refused), TEST(an_edge_may_be_named_twice),
        TEST(work_may_read_the_ends_of_what_it_comes_after),
        TEST(a_long_chain_runs_in_order),
        TEST(a_wide_fan_is_told_of_its_first_and_told_to_its_last))
