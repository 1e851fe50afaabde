// Batches: ending all operations meets ending one.
#include "../checker/checker.hpp"

using namespace model;

// The lane's buffer still has a job of a batch that is gone, and the next batch
// may have its memory.
SCENARIO(a_batch_is_cancelled_where_another_one_was) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &former = queue.addBatch({{"former", [&](Operation &it) {
                                     queue.suspend();
                                     it.finish();
                                   }}});
  queue.add("between", finishes);
  former.wait();
  former.release();
  model_settle(false);
  for (int i = 0; i < 3; i++) {
    Batch &batch = queue.addBatch({{"a", finishes}});
    batch.cancel();
    batch.wait();
  }
}

SCENARIO(batch_cancel_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &batch = queue.addBatch({{"a", keeps}, {"b", finishes}});
  Operation &a = *batch.operations[0];
  together({a.finisher(), [&] { batch.cancel(); }});
}

// An operation outside of the batch takes its place.
SCENARIO(batch_cancel_meets_a_bystander) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &batch = queue.addBatch({{"a", finishes}});
  queue.add("bystander", [](Operation &it) {
    for (int i = 0; i < 3; i++)
      CHECK(!it.isCancelled());
    it.finish();
  });
  together({[&] { batch.cancel(); }});
}

SCENARIO(batch_cancel_meets_a_bystander_in_a_concurrent_queue) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Batch &batch = queue.addBatch({{"a", finishes}, {"b", finishes}});
  queue.add("bystander", [](Operation &it) {
    for (int i = 0; i < 3; i++)
      CHECK(!it.isCancelled());
    it.finish();
  });
  together({[&] { batch.cancel(); }});
}

SCENARIO(batch_cancel_meets_one_that_yields) {
  Host host{1};
  Queue queue{INTURN_QUEUE_INTERACTION, host.executor};
  Batch &batch = queue.addBatch({{"a",
                                  [](Operation &it) {
                                    it.mayRestart = true;
                                    if (it.calls < 3)
                                      it.yield();
                                    else
                                      it.finish();
                                  }},
                                 {"b", finishes}});
  together({[&] { queue.appear(); }, [&] { batch.cancel(); }});
}

SCENARIO(batch_cancel_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &batch = queue.addBatch({{"a", keeps}, {"b", finishes}});
  together({[&] { batch.cancel(); }, [&] { queue.destroy(); }});
}

SCENARIO(batch_wait_meets_the_end) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &batch = queue.addBatch({{"a", keeps}, {"b", finishes}});
  Operation &a = *batch.operations[0];
  together({a.finisher(), [&] { batch.wait(); }, [&] { batch.wait(1000); }});
}

SCENARIO(the_first_error_meets_finish) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Batch &batch =
      queue.addBatch({{"a", keeps}, {"b", keeps}, {"c", finishes}},
                     [](auto &o) { o.policy = INTURN_BATCH_FIRST_ERROR; });
  for (Operation *operation : batch.operations)
    operation->cancelsBegun++; // by the error
  Operation &a = *batch.operations[0], &b = *batch.operations[1];
  together({[&] {
              a.awaitCall();
              a.fail(1);
            },
            b.finisher()});
  batch.wait();
}

// Where one runs at a time, what comes next has the place before the batch is
// told, and yet is not called.
static void
nothingStartsAfterTheFirstError(const inturn_operation_options *each) {
  Host host(2);
  Queue queue(INTURN_QUEUE_CONCURRENT, host.executor,
              [](auto &o) { o.max_concurrent = 1; });
  Batch &batch =
      queue.addBatch({{"a", keeps}, {"b", finishes}}, [each](auto &o) {
        o.policy = INTURN_BATCH_FIRST_ERROR;
        o.operation = each;
      });
  Operation &a = *batch.operations[0], &b = *batch.operations[1];
  b.cancelsBegun++; // by the error
  together({[&] {
    a.awaitCall();
    a.fail(1);
  }});
  batch.wait();
  CHECK(b.calls == 0);
}

SCENARIO(nothing_of_a_batch_starts_after_the_first_error) {
  nothingStartsAfterTheFirstError(nullptr);
}

SCENARIO(nothing_with_options_starts_after_the_first_error_of_its_batch) {
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.label = "each";
  nothingStartsAfterTheFirstError(&each);
}

SCENARIO(enough_meets_cancel) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Batch &batch = queue.addBatch({{"a", keeps}, {"b", keeps}, {"c", finishes}},
                                [](auto &o) {
                                  o.policy = INTURN_BATCH_ENOUGH;
                                  o.enough = 1;
                                });
  for (Operation *operation : batch.operations)
    operation->cancelsBegun++;
  Operation &a = *batch.operations[0], &b = *batch.operations[1];
  together({a.finisher(), b.finisher(), [&] { batch.cancel(); }});
}

static Batch &addGraph(Queue &queue, void (*first)(Operation &),
                       const inturn_operation_options *each = nullptr) {
  static const inturn_batch_edge edges[] = {{1, 0}, {2, 0}, {2, 1}};
  return queue.addBatch({{"a", first}, {"b", finishes}, {"c", finishes}},
                        [each](auto &o) {
                          o.operation = each;
                          o.edges = edges;
                          o.edge_count = 3;
                        });
}

static void finishFirst(Batch &batch) {
  Operation &a = *batch.operations[0];
  a.awaitCall();
  a.finish();
}

SCENARIO(a_graph_meets_finish_and_enqueue) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  together({[&] { addGraph(queue, finishes).wait(); },
            [&] {
              queue.add("x", finishes);
              queue.add("y", finishes);
            }});
}

static void graphIsCancelled(const inturn_operation_options *each) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Batch &batch = addGraph(queue, keeps, each);
  together({[&] { finishFirst(batch); }, [&] { batch.cancel(); },
            [&] { batch.wait(); }});
}

SCENARIO(a_graph_is_cancelled) { graphIsCancelled(nullptr); }

// An operation that is told that it may start has been cancelled meanwhile.
SCENARIO(a_graph_with_options_is_cancelled) {
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.condition = [](void *) { return INTURN_START; };
  graphIsCancelled(&each);
}

// The graph's first operation waits for the barrier, and so needs a slot.
SCENARIO(a_graph_that_is_cancelled_meets_a_barrier) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  queue.add("x", keeps);
  together({[&] { addGraph(queue, finishes).cancel(); },
            [&] {
              queue.add("barrier", finishes,
                        with([](auto &o) { o.barrier = true; }));
            }});
}

// The question follows the edges while the operations that they lead from end.
SCENARIO(a_question_why_meets_a_graph_and_its_cancel) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.label = "each";
  Batch &batch = addGraph(queue, keeps, &each);
  Operation &barrier =
      queue.add("barrier", finishes, with([](auto &o) { o.barrier = true; }));
  const auto take = [](void *, const inturn_report *report) {
    model_note("why: %s", report->message);
    CHECK(report->chain_count > 0);
  };
  together({[&] { finishFirst(batch); }, [&] { batch.cancel(); },
            [&] {
              expect("why", inturn_why(barrier.handle, take, nullptr),
                     {INTURN_OK, INTURN_E_ALREADY_FINISHED});
            }});
}

// What it comes after has ended, and it is not told yet: nothing keeps it, and
// there is no batch that could.
SCENARIO(a_question_meets_the_end_of_what_it_leads_to) {
  Queue network(INTURN_QUEUE_FIFO), database(INTURN_QUEUE_FIFO);
  Operation &load = network.add("load", keeps, {.handle = true});
  Operation &save = database.add("save", finishes, after(load));
  load.awaitCall();
  together({load.finisher(), [&] {
              const auto read = [](void *, const inturn_report *report) {
                model_note("why: %s", report->message);
                CHECK(std::string(report->message).find("batch") ==
                      std::string::npos);
              };
              expect("why", inturn_why(save.handle, read, nullptr),
                     {INTURN_OK, INTURN_E_ALREADY_FINISHED});
            }});
}

SCENARIO(a_graph_is_destroyed) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Batch &batch = addGraph(queue, keeps);
  together({[&] { finishFirst(batch); }, [&] { queue.destroy(); }});
}

// Batches are added while queues are destroyed, wherever their operations are.
static void batchesMeetTheDestruction(inturn_queue_kind kind) {
  Queue queue(kind);
  together({[&] {
              queue.addBatch({{"a", finishes}, {"b", keeps}, {"c", finishes}});
              queue.addBatch({{"d", finishes}});
            },
            [&] {
              queue.addBatch({{"e", finishes}, {"f", finishes}});
            },
            [&] { queue.destroy(); }});
}

SCENARIO(batches_meet_the_destruction_of_a_fifo_queue) {
  batchesMeetTheDestruction(INTURN_QUEUE_FIFO);
}

SCENARIO(batches_meet_the_destruction_of_an_actor_queue) {
  batchesMeetTheDestruction(INTURN_QUEUE_ACTOR);
}

SCENARIO(batches_meet_the_destruction_of_a_concurrent_queue) {
  batchesMeetTheDestruction(INTURN_QUEUE_CONCURRENT);
}

static void batchesMeetEnqueueAndDestruction(inturn_queue_kind kind) {
  Queue queue(kind);
  queue.addBatch({{"a", finishes}, {"b", finishes}, {"c", keeps}});
  together({[&] {
              queue.add("x", finishes, {.handle = true, .onEnd = true});
              queue.addBatch({{"d", finishes}, {"e", finishes}});
            },
            [&] {
              queue.suspend();
              queue.destroy();
            }});
}

SCENARIO(batches_meet_suspend_and_destruction_in_a_fifo_queue) {
  batchesMeetEnqueueAndDestruction(INTURN_QUEUE_FIFO);
}

SCENARIO(batches_meet_suspend_and_destruction_in_an_actor_queue) {
  batchesMeetEnqueueAndDestruction(INTURN_QUEUE_ACTOR);
}

SCENARIO(batches_meet_suspend_and_destruction_in_a_concurrent_queue) {
  batchesMeetEnqueueAndDestruction(INTURN_QUEUE_CONCURRENT);
}

// So many are cancelled that the buffer is compacted while a drainer is in it.
SCENARIO(cancelled_batches_are_squeezed_out) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.suspend();
  queue.add("the first", finishes);
  std::vector<Batch *> batches;
  for (int i = 0; i < 12; i++) {
    batches.push_back(&queue.addBatch({{"a", finishes},
                                       {"b", finishes},
                                       {"c", finishes},
                                       {"d", finishes},
                                       {"e", finishes},
                                       {"f", finishes}}));
    if (i % 4 == 0)
      queue.add("between", finishes);
  }
  together({[&] {
              for (int i = 0; i < 12; i += 2)
                batches[i]->cancel();
            },
            [&] {
              for (int i = 1; i < 12; i += 2)
                batches[i]->cancel();
            },
            [&] { queue.resume(); }});
}
