// Options: conditions, results, progress, reasons, reports.
#include "../checker/checker.hpp"

using namespace model;

static inturn_verdict skips(void *) { return INTURN_SKIP; }
static inturn_verdict givesUp(void *) { return INTURN_GIVE_UP; }
static inturn_verdict starts(void *) {
  model_point(nullptr);
  return INTURN_START;
}

SCENARIO(conditions_meet_cancel_and_suspend) {
  Queue queue(INTURN_QUEUE_FIFO);
  auto asking = [](inturn_condition_fn condition) {
    With result = with([condition](auto &o) { o.condition = condition; });
    result.endsWithOthers = true;
    return result;
  };
  Operation &x = queue.add("x", finishes, asking(starts));
  queue.add("y", finishes, asking(skips));
  queue.add("z", finishes, asking(givesUp));
  together({[&] { x.cancel(); },
            [&] {
              queue.suspend();
              queue.resume();
            }});
}

SCENARIO(a_condition_meets_a_view_that_goes) {
  Host host(1);
  Queue queue(INTURN_QUEUE_INTERACTION, host.executor);
  With asking = with([](auto &o) { o.condition = starts; });
  queue.add("x", finishes, asking).mayRestart = true;
  queue.appear();
  together({[&] {
              queue.disappear();
              queue.appear();
            },
            [&] { queue.add("y", finishes); }});
}

SCENARIO(a_condition_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  queue.add("x", finishes, with([](auto &o) { o.condition = starts; }));
  together({[&] { queue.destroy(); },
            [&] {
              queue.add("y", finishes,
                        with([](auto &o) { o.condition = starts; }));
            }});
}

namespace {
void countDown(void *context) { --*static_cast<int *>(context); }
} // namespace

SCENARIO(a_result_meets_release_and_wait) {
  int results = 0;
  {
    Queue queue(INTURN_QUEUE_FIFO);
    Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
    together({[&] {
                x.awaitCall();
                results++;
                x.finishesBegun++;
                inturn_token_finish_with(x.token, &results, countDown);
              },
              [&] { x.wait(-1); },
              [&] {
                x.awaitCall();
                x.isCancelled();
              }});
  }
  CHECK(results == 0);
}

SCENARIO(two_results_for_one_operation) {
  int results = 0;
  {
    Queue queue(INTURN_QUEUE_FIFO);
    Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
    auto end = [&] {
      x.awaitCall();
      results++;
      x.finishesBegun++;
      inturn_token_finish_with(x.token, &results, countDown);
    };
    together({end, end});
  }
  CHECK(results == 0);
}

SCENARIO(progress_meets_its_observer_and_the_end) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  inturn_value value = {0};
  together({[&] {
              x.awaitCall();
              inturn_token_set_progress(x.token, 1, 2);
              inturn_token_set_progress(x.token, 2, 2);
              x.finish();
            },
            [&] {
              expect("create_value",
                     inturn_operation_create_value(
                         x.handle, INTURN_OPERATION_PROGRESS, &value),
                     {INTURN_OK});
            }});
  queue.drain();
  int64_t completed = 0, total = 0;
  expect("get_progress",
         inturn_operation_get_progress(x.handle, &completed, &total),
         {INTURN_OK});
  CHECK(completed == 2 && total == 2);
  expect("value_destroy", inturn_value_destroy(value), {INTURN_OK});
}

SCENARIO(suspends_with_reasons) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("x", finishes);
  auto pause = [&](const char *reason) {
    return [&, reason] {
      expect("suspend_for", inturn_queue_suspend_for(queue.handle, reason),
             {INTURN_OK});
      expect("resume_for", inturn_queue_resume_for(queue.handle, reason),
             {INTURN_OK});
    };
  };
  together({pause("a call"), pause("a door"), pause("a call"),
            [&] { queue.add("y", finishes); }});
}

SCENARIO(events_tell_each_operation) {
  struct Count {
    int enqueued = 0, started = 0, ended = 0, closed = 0;
    bool isTelling = false;
    static void told(void *context, const inturn_event *event) {
      Count &self = *static_cast<Count *>(context);
      CHECK(!self.isTelling);
      self.isTelling = true;
      model_point(nullptr);
      self.isTelling = false;
      self.enqueued += event->kind == INTURN_EVENT_ENQUEUED;
      self.started += event->kind == INTURN_EVENT_STARTED;
      self.ended += event->kind == INTURN_EVENT_ENDED;
      self.closed += event->kind == INTURN_EVENT_CLOSED;
    }
  } count;
  {
    Queue queue(INTURN_QUEUE_CONCURRENT, {0}, [&](auto &o) {
      o.label = "watched";
      o.on_event = Count::told;
      o.event_context = &count;
    });
    Operation &x = queue.add(
        "x", keeps,
        {.handle = true, .set = [](auto &options) { options.label = "x"; }});
    together({x.finisher(),
              [&] {
                queue.add("y", finishes);
                queue.add("z", finishes);
              },
              [&] {
                queue.cancelAll();
                queue.close();
              }});
    queue.finishAll();
    queue.drain();
    int accepted = 0;
    for (const auto &operation : queue.all())
      accepted += operation->isAccepted;
    queue.destroy();
    CHECK(count.enqueued == accepted && count.ended == accepted);
    CHECK(count.started <= accepted && count.closed == 1);
  }
}

SCENARIO(a_stall_is_reported_while_it_ends) {
  static int reports;
  reports = 0;
  expect(
      "set_report_handler",
      inturn_report_set_handler(
          [](void *, const inturn_report *) { reports++; }, nullptr, nullptr),
      {INTURN_OK});
  {
    Queue queue(INTURN_QUEUE_FIFO);
    Operation &x =
        queue.add("x", keeps, with([](auto &o) { o.stall_ns = 1000; }));
    together({x.finisher(), [&] { x.cancel(); }});
  }
  expect("set_report_handler",
         inturn_report_set_handler(nullptr, nullptr, nullptr), {INTURN_OK});
  CHECK(reports <= 2);
}

SCENARIO(looking_meets_everything) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  auto look = [&] {
    inturn_operation_info infos[4] = {INTURN_OPERATION_INFO_INIT};
    size_t count = 0;
    expect("list", inturn_queue_list(queue.handle, infos, 4, &count),
           {INTURN_OK});
    inturn_operation_state state;
    expect("get_state", inturn_operation_get_state(x.handle, &state),
           {INTURN_OK});
    inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
    expect("statistics", inturn_queue_get_statistics(queue.handle, &statistics),
           {INTURN_OK});
    CHECK(statistics.running <= 2);
  };
  together({x.finisher(),
            [&] {
              queue.add("y", finishes);
              queue.cancelAll();
            },
            look, look});
}

SCENARIO(a_batch_with_options_of_its_operations) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_run_ns = 1000000;
  options.label = "one of three";
  static const inturn_batch_edge edges[] = {{1, 0}, {2, 1}};
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Batch &batch = queue.addBatch(
      {{"a", keeps}, {"b", finishes}, {"c", finishes}}, [&](auto &o) {
        o.operation = &options;
        o.edges = edges;
        o.edge_count = 2;
        o.policy = INTURN_BATCH_FIRST_ERROR;
      });
  queue.mayCutOff();
  Operation &a = *batch.operations[0];
  together({[&] {
              a.awaitCall();
              a.fail(3);
            },
            [&] { batch.cancel(); }, [&] { queue.add("x", finishes); }});
  batch.wait();
}

SCENARIO(a_batch_retries) {
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.retry = &retry;
  Queue queue(INTURN_QUEUE_FIFO);
  auto failsOnce = [](Operation &it) {
    it.mayRestart = true;
    it.calls == 1 ? it.fail(1) : it.finish();
  };
  Batch &batch = queue.addBatch({{"a", failsOnce}, {"b", finishes}},
                                [&](auto &o) { o.operation = &options; });
  batch.operations[0]->mayRestart = true;
  together({[&] { batch.cancel(); }, [&] { batch.wait(); }});
}

SCENARIO(a_batchs_ends_meet_its_release) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &batch = queue.addBatch({{"a", keeps}, {"b", finishes}});
  Operation &a = *batch.operations[0];
  together({a.finisher(), [&] {
              inturn_end end = {};
              expect("get_end", inturn_batch_get_end(batch.handle, 0, &end),
                     {INTURN_OK, INTURN_E_BUSY});
              size_t ended = 0, count = 0;
              expect("get_progress",
                     inturn_batch_get_progress(batch.handle, &ended, &count),
                     {INTURN_OK});
              CHECK(ended <= count && count == 2);
              batch.release();
            }});
}

// The token of an operation that is over says so, and does nothing to the
// operation that has its gate now.
SCENARIO(an_old_token_meets_suspend) {
  Host host(1);
  Queue one(INTURN_QUEUE_FIFO, host.executor),
      other(INTURN_QUEUE_FIFO, host.executor);
  Operation &x = one.add("x", finishes);
  for (const char *name : {"a", "b", "c"})
    other.add(name, finishes);
  together(
      {[&] {
         x.awaitCall();
         inturn_status status = inturn_token_on_cancel(
             x.token, [](void *, inturn_token) {}, nullptr, nullptr);
         expect("on_cancel", status, {INTURN_OK, INTURN_E_ALREADY_FINISHED});
       },
       [&] {
         other.suspend();
         inturn_queue_statistics before = INTURN_QUEUE_STATISTICS_INIT;
         inturn_queue_get_statistics(other.handle, &before);
         model_settle(false);
         inturn_queue_statistics after = INTURN_QUEUE_STATISTICS_INIT;
         inturn_queue_get_statistics(other.handle, &after);
         CHECK(before.pending == after.pending);
         other.resume();
       }});
}

// A rate of starts: what starts, what changes the rate, and its moment.
static inturn_rate rate(uint32_t starts, int64_t interval, uint32_t burst) {
  return {starts, burst, interval};
}

static Queue rated(inturn_queue_kind kind) {
  return Queue(kind, {0}, [](auto &o) { o.rate = rate(1, 1000, 1); });
}

static void aRateMeetsEnqueue(inturn_queue_kind kind) {
  Queue queue = rated(kind);
  queue.add("x", finishes);
  together({[&] { queue.add("y", finishes); },
            [&] { queue.add("z", finishes, {.handle = true}); }});
}

SCENARIO(a_rate_meets_enqueue) { aRateMeetsEnqueue(INTURN_QUEUE_FIFO); }

SCENARIO(a_rate_meets_enqueue_in_an_actor) {
  aRateMeetsEnqueue(INTURN_QUEUE_ACTOR);
}

SCENARIO(a_rate_is_changed_as_its_moment_comes) {
  Queue queue(INTURN_QUEUE_CONCURRENT, {0}, [](auto &o) {
    o.max_concurrent = 2;
    o.rate = rate(1, 1000, 1);
  });
  queue.limit = 2;
  queue.add("x", finishes);
  queue.add("y", finishes);
  together({[&] {
              inturn_rate faster = rate(2, 1000, 1);
              expect("set_rate", inturn_queue_set_rate(queue.handle, &faster),
                     {INTURN_OK});
            },
            [&] {
              expect("set_rate", inturn_queue_set_rate(queue.handle, nullptr),
                     {INTURN_OK});
            },
            [&] { queue.add("z", finishes); }});
}

SCENARIO(a_rate_comes_to_a_queue_that_runs) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("x", finishes);
  queue.add("y", finishes);
  together({[&] {
              inturn_rate slow = rate(1, 1000, 1);
              expect("set_rate", inturn_queue_set_rate(queue.handle, &slow),
                     {INTURN_OK});
            },
            [&] { queue.add("z", finishes); }});
}

SCENARIO(the_moment_of_a_rate_meets_the_destruction) {
  Queue queue = rated(INTURN_QUEUE_FIFO);
  queue.add("x", finishes);
  queue.add("y", finishes);
  together({[&] { queue.destroy(); }});
}

SCENARIO(a_segment_passes_what_a_rate_holds) {
  Queue queue = rated(INTURN_QUEUE_ACTOR);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  together({[&] { queue.add("z", finishes); },
            [&] {
              auto finish = [](void *, inturn_token token) {
                expect("finish", inturn_token_finish(token), {INTURN_OK});
              };
              x.finishesBegun++;
              expect("resume",
                     inturn_token_resume(x.token, finish, nullptr, nullptr),
                     {INTURN_OK});
            }});
}
