// Waits inside work, which may close a ring.
#include "../checker/checker.hpp"

using namespace model;

namespace {

// Waits for an operation, and counts the refusals.
struct Waiter {
  int refused = 0, done = 0;
  void wait(inturn_operation operation) {
    inturn_status status = inturn_operation_wait(operation, -1, nullptr);
    expect("wait", status, {INTURN_OK, INTURN_E_DEADLOCK});
    (status == INTURN_OK ? done : refused)++;
    expect("release", inturn_operation_release(operation), {INTURN_OK});
  }
};

void doNothing(void *, inturn_token token) { inturn_token_finish(token); }

void ignore(void *, const inturn_report *) {}

Operation *decided;

// Called instead of the work, to decide on another attempt.
bool waitForItself(void *, int32_t, uint32_t) {
  expect("wait", inturn_operation_wait(decided->handle, -1, nullptr),
         {INTURN_OK, INTURN_E_DEADLOCK});
  return false;
}

// Deadlock reports are expected here.
void beQuiet() {
  expect("set_report_handler",
         inturn_report_set_handler(ignore, nullptr, nullptr), {INTURN_OK});
}

// Begins a wait of a task that is inside of `inside`; null where there is none.
inturn_await beginAwait(Operation &inside, uint64_t awaited,
                        std::initializer_list<inturn_status> expected) {
  inturn_await wait = {0};
  expect("await_begin", inturn_await_begin(awaited, &inside.token, 1, &wait),
         expected);
  return wait;
}

void endAwait(inturn_await wait) {
  if (wait.bits)
    expect("await_end", inturn_await_end(wait), {INTURN_OK});
}

// Operations of two queues, whose work has returned and whose tasks go on.
struct TwoTasks {
  Queue one{INTURN_QUEUE_FIFO}, other{INTURN_QUEUE_FIFO};
  Operation &x = one.add("x", keeps, {.handle = true});
  Operation &y = other.add("y", keeps, {.handle = true});

  TwoTasks() {
    x.awaitCall();
    y.awaitCall();
  }
};

} // namespace

SCENARIO(all_places_wait_for_new_operations) {
  beQuiet();
  Waiter waiter;
  Host host(3);
  Queue queue(INTURN_QUEUE_CONCURRENT, host.executor);
  auto wait = [&](Operation &it) {
    inturn_operation operation;
    expect("enqueue",
           inturn_queue_enqueue(queue.handle, doNothing, nullptr, nullptr,
                                &operation),
           {INTURN_OK});
    waiter.wait(operation);
    it.finish();
  };
  together({[&] { queue.add("a", wait); }, [&] { queue.add("b", wait); }});
  queue.drain();
  CHECK(waiter.refused <= 1);
  CHECK(waiter.refused + waiter.done == 2);
}

SCENARIO(two_queues_wait_for_each_other) {
  beQuiet();
  Waiter waiter;
  Host host(3);
  Queue one(INTURN_QUEUE_FIFO, host.executor),
      other(INTURN_QUEUE_FIFO, host.executor);
  int arrived = 0;
  auto waitIn = [&](Queue &queue) {
    return [&](Operation &it) {
      arrived++;
      await("both", [&] { return arrived == 2; });
      inturn_operation operation;
      expect("enqueue",
             inturn_queue_enqueue(queue.handle, doNothing, nullptr, nullptr,
                                  &operation),
             {INTURN_OK});
      waiter.wait(operation);
      it.finish();
    };
  };
  together({[&] { one.add("a", waitIn(other)); },
            [&] { other.add("b", waitIn(one)); }});
  one.drain();
  other.drain();
  CHECK(waiter.refused == 1 && waiter.done == 1);
}

SCENARIO(a_wait_from_inside_meets_cancel) {
  beQuiet();
  Host host(2);
  Queue one(INTURN_QUEUE_FIFO, host.executor),
      other(INTURN_QUEUE_FIFO, host.executor);
  Operation &x = other.add("x", keeps, {.handle = true});
  one.add("a", [&](Operation &it) {
    x.wait(-1);
    it.finish();
  });
  together({[&] {
              x.awaitCall();
              x.cancel();
              x.finish();
            },
            [&] { one.drain(); }});
}

SCENARIO(a_wait_for_itself_where_a_retry_is_decided_meets_cancel) {
  beQuiet();
  auto retry = std::make_shared<inturn_retry>();
  *retry = INTURN_RETRY_INIT;
  retry->decide = waitForItself;
  Queue queue(INTURN_QUEUE_FIFO);
  queue.suspend();
  decided = &queue.add("x", [](Operation &it) { it.fail(1); },
                       {.handle = true, .set = [retry](auto &options) {
                          options.retry = retry.get();
                        }});
  together({[&] { queue.resume(); }, [&] { decided->cancel(); },
            [&] { queue.drain(); }});
}

SCENARIO(a_drain_from_inside_is_refused) {
  beQuiet();
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", [&](Operation &it) {
                expect("drain", inturn_queue_drain(queue.handle, -1),
                       {INTURN_E_DEADLOCK});
                it.finish();
              });
            },
            [&] { queue.drain(); }});
}

// The rest is listed at the moment of the time-out.
static void
drainOrListMeets(const std::function<void(Queue &, Operation &)> &act) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, with([](auto &o) { o.label = "x"; }));
  queue.add("y", finishes);
  together(
      {[&] {
         inturn_operation_info infos[3] = {INTURN_OPERATION_INFO_INIT};
         size_t count = 99;
         inturn_status status =
             inturn_queue_drain_or_list(queue.handle, 10, infos, 3, &count);
         expect("drain_or_list", status,
                {INTURN_OK, INTURN_E_TIMED_OUT, INTURN_E_STALE});
         if (status == INTURN_E_STALE)
           CHECK(queue.destroysBegun > 0 && count == 99);
         else
           CHECK(count <= 3 && (status == INTURN_E_TIMED_OUT || count == 0));
         // It has not been ended, so it is in the list.
         if (status == INTURN_E_TIMED_OUT && !x.mayBeEnded())
           CHECK(count >= 2 && infos[0].label[0] == 'x');
       },
       [&] { act(queue, x); }});
}

SCENARIO(a_drain_that_lists_meets_finish_and_enqueue) {
  drainOrListMeets([](Queue &queue, Operation &x) {
    queue.add("z", finishes);
    x.awaitCall();
    x.finish();
  });
}

SCENARIO(a_drain_that_lists_meets_cancel_of_all) {
  drainOrListMeets([](Queue &queue, Operation &) { queue.cancelAll(); });
}

SCENARIO(a_drain_that_lists_meets_the_destruction) {
  drainOrListMeets([](Queue &queue, Operation &x) {
    x.awaitCall();
    queue.destroy();
  });
}

SCENARIO(a_batch_is_waited_for_from_another_queue) {
  beQuiet();
  Host host(2);
  Queue one(INTURN_QUEUE_FIFO, host.executor),
      other(INTURN_QUEUE_CONCURRENT, host.executor);
  Batch &batch = other.addBatch({{"a", finishes}, {"b", finishes}});
  one.add("waits", [&](Operation &it) {
    batch.wait();
    it.finish();
  });
  together({[&] { batch.cancel(); }, [&] { one.drain(); }});
}

// A place is free for what it waits for, in the queue that it is in itself.
SCENARIO(a_batch_is_waited_for_inside_its_queue) {
  beQuiet();
  Host host(2);
  Queue queue(INTURN_QUEUE_CONCURRENT, host.executor,
              [](auto &o) { o.max_concurrent = 2; });
  Batch *batch = nullptr;
  queue.suspend();
  queue.add("waits", [&](Operation &it) {
    CHECK(inturn_batch_wait(batch->handle, -1, nullptr) == INTURN_OK);
    it.finish();
  });
  batch = &queue.addBatch({{"a", finishes}, {"b", keeps}});
  Operation &b = *batch->operations[1];
  queue.resume();
  together({b.finisher(), [&] { queue.drain(); }});
}

// Its dependencies are looked at in portions.
SCENARIO(a_wait_from_inside_meets_the_ends_of_many_before) {
  constexpr int many = 36;
  beQuiet();
  Host host(2);
  Queue one(INTURN_QUEUE_FIFO, host.executor),
      other(INTURN_QUEUE_CONCURRENT, host.executor);
  other.suspend();
  Operation *before[many];
  inturn_operation handles[many];
  for (int i = 0; i < many; i++) {
    before[i] = &other.add("before", finishes, {.handle = true});
    handles[i] = before[i]->handle;
  }
  Operation &x = other.add("x", finishes, with([&](auto &options) {
                             options.after = handles;
                             options.after_count = many;
                           }));
  one.add("a", [&](Operation &it) {
    x.wait(-1);
    it.finish();
  });
  together({[&] { before[many - 1]->cancel(); }, [&] { other.resume(); },
            [&] { one.drain(); }});
}

SCENARIO(two_tasks_wait_for_each_other) {
  beQuiet();
  TwoTasks both;
  Operation &x = both.x, &y = both.y;
  inturn_await waits[2];
  auto begin = [&](int place, Operation &inside, Operation &awaited) {
    waits[place] =
        beginAwait(inside, awaited.handle.bits, {INTURN_OK, INTURN_E_DEADLOCK});
  };
  together({[&] { begin(0, x, y); }, [&] { begin(1, y, x); }});
  CHECK((waits[0].bits != 0) + (waits[1].bits != 0) == 1);
  endAwait(waits[0]);
  endAwait(waits[1]);
  x.finish();
  y.finish();
}

SCENARIO(a_thread_and_a_task_wait_for_each_other) {
  beQuiet();
  Host host(1);
  Queue threads(INTURN_QUEUE_FIFO, host.executor), tasks(INTURN_QUEUE_FIFO);
  Operation &y = tasks.add("y", keeps, {.handle = true});
  y.awaitCall();
  threads.suspend();
  inturn_status thread = INTURN_E_BUSY;
  Operation &x =
      threads.add("x",
                  [&](Operation &it) {
                    thread = inturn_operation_wait(y.handle, -1, nullptr);
                    expect("wait", thread, {INTURN_OK, INTURN_E_DEADLOCK});
                    it.finish();
                  },
                  {.handle = true});
  bool isTaskRefused = false;
  together({[&] { threads.resume(); },
            [&] {
              inturn_await wait = beginAwait(
                  y, x.handle.bits,
                  {INTURN_OK, INTURN_E_DEADLOCK, INTURN_E_ALREADY_FINISHED});
              isTaskRefused = wait.bits == 0;
              if (!isTaskRefused)
                expect("wait", inturn_operation_wait(x.handle, -1, nullptr),
                       {INTURN_OK});
              endAwait(wait);
              y.finish();
            }});
  threads.drain();
  CHECK(isTaskRefused == (thread == INTURN_OK));
}

// What a search reads may end meanwhile.
SCENARIO(an_await_meets_the_end_of_what_it_is_inside_of) {
  beQuiet();
  TwoTasks both;
  Operation &x = both.x, &y = both.y;
  const inturn_await first = beginAwait(x, y.handle.bits, {INTURN_OK});
  together({[&] { x.finish(); },
            [&] {
              endAwait(beginAwait(
                  y, x.handle.bits,
                  {INTURN_OK, INTURN_E_DEADLOCK, INTURN_E_ALREADY_FINISHED}));
            },
            [&] { endAwait(first); }});
  y.finish();
}

SCENARIO(a_snapshot_meets_a_tasks_wait) {
  TwoTasks both;
  Operation &x = both.x, &y = both.y;
  const inturn_await first = beginAwait(x, y.handle.bits, {INTURN_OK});
  auto visit = [](void *context, const inturn_entry *entry) {
    const Operation &y = *static_cast<Operation *>(context);
    if (entry->kind == INTURN_ENTRY_WAIT)
      CHECK(entry->id == 0 &&
            (entry->operation == 0 || entry->operation == y.handle.bits));
    return true;
  };
  together(
      {[&] { endAwait(first); },
       [&] { endAwait(beginAwait(x, both.other.handle.bits, {INTURN_OK})); },
       [&] { expect("snapshot", inturn_snapshot(visit, &y), {INTURN_OK}); }});
  x.finish();
  y.finish();
}

// The chain is followed through a wait that may be over at any moment, as may
// what it is for.
SCENARIO(a_question_why_meets_a_wait_inside_work) {
  Queue network(INTURN_QUEUE_FIFO), database(INTURN_QUEUE_FIFO);
  Operation &load = network.add("load", keeps, {.handle = true});
  load.awaitCall();
  Operation &save = database.add(
      "save",
      [&](Operation &it) {
        expect("wait", inturn_operation_wait(load.handle, -1, nullptr),
               {INTURN_OK});
        it.finish();
      },
      {.handle = true});
  const auto take = [](void *, const inturn_report *report) {
    model_note("why: %s", report->message);
    CHECK(report->chain[report->chain_count - 1].cause != INTURN_STALL_WAIT);
  };
  together({[&] { load.finish(); },
            [&] {
              expect("why", inturn_why(save.handle, take, nullptr),
                     {INTURN_OK, INTURN_E_ALREADY_FINISHED});
            },
            [&] { network.drain(); }});
}

SCENARIO(a_snapshot_meets_a_wait_outside_of_work) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, {.handle = true});
  x.awaitCall();
  auto visit = [](void *context, const inturn_entry *entry) {
    const Operation &x = *static_cast<Operation *>(context);
    if (entry->kind == INTURN_ENTRY_WAIT)
      CHECK(entry->operation == x.handle.bits && entry->other == 0);
    return true;
  };
  together(
      {[&] {
         expect("wait", inturn_operation_wait(x.handle, -1, nullptr),
                {INTURN_OK});
       },
       [&] { x.finish(); },
       [&] { expect("snapshot", inturn_snapshot(visit, &x), {INTURN_OK}); }});
}

// The queue waits for nothing of its new executor, whose only thread waits for
// it.
SCENARIO(a_wait_for_quiet_meets_the_last_return) {
  beQuiet();
  Host former(1), host(1);
  Queue moved(INTURN_QUEUE_FIFO, former.executor),
      outer(INTURN_QUEUE_FIFO, host.executor);
  bool goes = false;
  Operation &x = moved.add("x", [&](Operation &it) {
    await("it goes on", [&] { return goes; });
    it.finish();
  });
  x.awaitCall();
  moved.setExecutor(host.executor);
  together({[&] { goes = true; },
            [&] {
              outer.add("waits", [&](Operation &it) {
                expect("drain", inturn_queue_drain(moved.handle, -1),
                       {INTURN_OK});
                it.finish();
              });
            }});
  outer.drain();
}
