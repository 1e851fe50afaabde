/*
 * batch_graphs.c - batches whose operations come after others of the same
 * list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "batch_graphs.h"

#include <stdlib.h>

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
  /* Nothing reports that these have ended. */
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

/* Ends of dependencies ---------------------------------------------------- */

static inturn_batch known;

static void give_its_name(void *name, inturn_token token) {
  CHECK_OK(inturn_token_finish_with(token, name, NULL));
}

static void read_the_name_before(void *name, inturn_token token) {
  inturn_end end = {0};
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
  inturn_batch_end end = {0};
  CHECK_OK(inturn_batch_wait(known, 0, &end));
  CHECK_INT(end.finished, 2);
  CHECK_OK(inturn_batch_release(known));
  stage_destroy(&stage);
}

static void work_may_read_the_ends_of_what_it_comes_after(void) {
  in_both_ways(read_what_was_given_before);
}

/* Large graphs ------------------------------------------------------------ */

static atomic_long ran;

static void count_ran(void *place, inturn_token token) {
  /* In a chain, each operation's place is the address of its number. */
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
  inturn_batch_end end = {0};
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
        TEST(destroying_the_queue_ends_what_waits),
        TEST(edges_that_are_none_are_refused), TEST(an_edge_may_be_named_twice),
        TEST(work_may_read_the_ends_of_what_it_comes_after),
        TEST(a_long_chain_runs_in_order),
        TEST(a_wide_fan_is_told_of_its_first_and_told_to_its_last))
