/*
 * batch_graph_storm.c - batches with random edges on the pool, whose operations
 * end in any way, on any thread, while others cancel, suspend and destroy.
 * Nothing starts before its dependencies have ended, each context is destroyed
 * once, and each batch ends once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

enum { MOST = 96, MOST_EDGES = 3 * MOST };

typedef enum fate { FINISH, FINISH_ELSEWHERE, FAIL_IT, FATES } fate;

typedef enum meddling {
  NOTHING,
  CANCEL_BATCH,
  CANCEL_ALL,
  DESTROY,
  SUSPEND,
  BARRIER,
  MEDDLINGS
} meddling;

/* One operation. */
typedef struct node {
  fate fate;
  int blockers[3];
  int blocker_count;
  /* Its token is being ended, or its context destroyed. */
  atomic_bool is_ending;
  atomic_int starts, destroys;
} node;

static struct {
  node nodes[MOST];
  inturn_batch_item items[MOST];
  inturn_batch_edge edges[MOST_EDGES];
  size_t count, edge_count;
  inturn_queue queue, elsewhere;
  inturn_batch batch;
  bool needs_finished;
  meddling meddling;
  atomic_int ends;
} storm;

static void end_token(node *node, inturn_token token) {
  atomic_store(&node->is_ending, true);
  inturn_status status = node->fate == FAIL_IT ? inturn_token_fail(token, 1)
                                               : inturn_token_finish(token);
  /* It may have ended with its queue. */
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

typedef struct handover {
  node *node;
  inturn_token token;
} handover;

static void end_elsewhere(void *context, inturn_token token) {
  handover *handover = context;
  end_token(handover->node, handover->token);
  CHECK_OK(inturn_token_finish(token));
}

static void run_node(void *context, inturn_token token) {
  node *node = context;
  atomic_fetch_add(&node->starts, 1);
  for (int i = 0; i < node->blocker_count; i++) {
    struct node *before = &storm.nodes[node->blockers[i]];
    CHECK(atomic_load(&before->is_ending));
    if (storm.needs_finished)
      CHECK(before->fate != FAIL_IT);
  }
  if (node->fate != FINISH_ELSEWHERE) {
    end_token(node, token);
    return;
  }
  handover *over = malloc(sizeof *over);
  *over = (handover){node, token};
  CHECK_OK(
      inturn_queue_enqueue(storm.elsewhere, end_elsewhere, over, free, NULL));
}

static void node_destroyed(void *context) {
  node *node = context;
  atomic_store(&node->is_ending, true);
  atomic_fetch_add(&node->destroys, 1);
}

static void batch_ended(void *context, const inturn_batch_end *end) {
  (void)context;
  atomic_fetch_add(&storm.ends, 1);
  CHECK_INT(end->count, storm.count);
}

static void prepare(uint64_t *random) {
  storm.count = 2 + next_random(random) % (MOST - 1);
  storm.edge_count = 0;
  bool may_fail = next_random(random) % 2 == 0;
  bool has_contexts = next_random(random) % 2 == 0;
  atomic_store(&storm.ends, 0);
  for (size_t i = 0; i < storm.count; i++) {
    node *node = &storm.nodes[i];
    node->fate = (fate)(next_random(random) % (may_fail ? FATES : FAIL_IT));
    node->blocker_count = 0;
    atomic_store(&node->is_ending, false);
    atomic_store(&node->starts, 0);
    atomic_store(&node->destroys, 0);
    for (size_t k = next_random(random) % 4; i > 0 && k > 0; k--) {
      size_t after = next_random(random) % i;
      node->blockers[node->blocker_count++] = (int)after;
      storm.edges[storm.edge_count++] = (inturn_batch_edge){i, after};
    }
    /* Without a destroy function, only starts are noticed. */
    storm.items[i] = (inturn_batch_item){run_node, node,
                                         has_contexts ? node_destroyed : NULL};
  }
}

static void destroy_queue(void *queue) {
  CHECK_OK(inturn_queue_destroy(*(inturn_queue *)queue));
}

static void meddle(void *context) {
  (void)context;
  inturn_operation_options barrier = INTURN_OPERATION_OPTIONS_INIT;
  barrier.barrier = true;
  inturn_status status = INTURN_OK;
  switch (storm.meddling) {
  case CANCEL_BATCH:
    status = inturn_batch_cancel(storm.batch);
    CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
    break;
  case CANCEL_ALL:
    CHECK_OK(inturn_queue_cancel_all(storm.queue));
    break;
  case DESTROY:
    destroy_queue(&storm.queue);
    break;
  case SUSPEND:
    CHECK_OK(inturn_queue_suspend(storm.queue));
    CHECK_OK(inturn_queue_resume(storm.queue));
    break;
  case BARRIER:
    CHECK_OK(inturn_queue_enqueue_with(storm.queue, &barrier, just_finish, NULL,
                                       NULL, NULL));
    break;
  default:
    break;
  }
}

static void judge(bool has_contexts, bool may_start_all,
                  const inturn_batch_end *end) {
  CHECK_INT(atomic_load(&storm.ends), 1);
  size_t finished = 0;
  for (size_t i = 0; i < storm.count; i++) {
    node *node = &storm.nodes[i];
    CHECK(atomic_load(&node->starts) <= 1);
    CHECK_INT(atomic_load(&node->destroys), has_contexts);
    inturn_end one = {0};
    CHECK_OK(inturn_batch_get_end(storm.batch, i, &one));
    finished += one.outcome == INTURN_FINISHED;
    if (one.outcome == INTURN_FINISHED || one.outcome == INTURN_FAILED)
      CHECK_INT(atomic_load(&node->starts), 1);
    if (may_start_all)
      CHECK_INT(one.outcome,
                node->fate == FAIL_IT ? INTURN_FAILED : INTURN_FINISHED);
  }
  CHECK_INT(end->finished, finished);
}

static void run_round(uint64_t *random) {
  prepare(random);
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.max_concurrent = 1 + (uint32_t)(next_random(random) % 4);
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &queue_options,
                               &storm.queue));
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.edges = storm.edges;
  options.edge_count = storm.edge_count;
  options.on_end = batch_ended;
  if (next_random(random) % 2 == 0)
    options.operation = &each;
  storm.needs_finished = options.operation && next_random(random) % 2 == 0;
  if (storm.needs_finished)
    each.after_policy = INTURN_AFTER_FINISHED;
  options.policy = (inturn_batch_policy)(next_random(random) % 4);
  if (options.policy == INTURN_BATCH_ENOUGH)
    options.enough = 1 + next_random(random) % storm.count;
  storm.meddling = (meddling)(next_random(random) % MEDDLINGS);
  CHECK_OK(inturn_queue_enqueue_batch(storm.queue, &options, storm.items,
                                      storm.count, &storm.batch));
  on_another_thread(meddle, NULL);
  inturn_batch_end end = {0};
  CHECK_OK(inturn_batch_wait(storm.batch, LIMIT_NS, &end));
  bool may_start_all = storm.meddling != CANCEL_BATCH &&
                       storm.meddling != CANCEL_ALL &&
                       storm.meddling != DESTROY && !storm.needs_finished &&
                       (options.policy == INTURN_BATCH_ALL ||
                        options.policy == INTURN_BATCH_COLLECT);
  judge(storm.items[0].destroy != NULL, may_start_all, &end);
  CHECK_OK(inturn_batch_release(storm.batch));
  /* All tokens that were handed over must be back before the next round. */
  CHECK_OK(inturn_queue_drain(storm.elsewhere, LIMIT_NS));
  if (storm.meddling != DESTROY)
    drain_and_destroy(storm.queue);
}

static void whatever_happens_the_order_holds(void) {
  storm.elsewhere = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  uint64_t random = 5;
  for (long round = scaled(6000); round > 0; round--)
    run_round(&random);
  drain_and_destroy(storm.elsewhere);
}

PROGRAM(batch_graph_storm, TEST(whatever_happens_the_order_holds))
