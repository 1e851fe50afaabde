// Where work is called: pools, hosts, and changing the executor.
#include "../checker/checker.hpp"

using namespace model;

// A pool with its own number of workers.
struct Pool {
  inturn_executor executor = {0};
  explicit Pool(uint32_t workers, uint32_t most = 0) {
    inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
    options.workers = workers;
    options.max_workers = most;
    expect("executor_create", inturn_executor_create(&options, &executor),
           {INTURN_OK});
  }
  ~Pool() {
    expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
  }
};

// Work that blocks needs a second worker, whatever the first one is doing.
SCENARIO(two_submits_while_a_worker_looks_around) {
  Pool pool(1);
  bool hasRun = false;
  Queue warm(INTURN_QUEUE_FIFO, pool.executor);
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor);
  warm.add("warm", finishes).awaitDestroyed();
  a.add("a", [&](Operation &it) {
    await("b", [&] { return hasRun; });
    it.finish();
  });
  b.add("b", [&](Operation &it) {
    hasRun = true;
    it.finish();
  });
}

// What a call enqueues is left to its thread, but not while the call lasts.
SCENARIO(a_call_waits_for_what_it_has_enqueued) {
  Pool pool(2);
  Queue warm(INTURN_QUEUE_FIFO, pool.executor);
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor);
  warm.add("warm", finishes).awaitDestroyed();
  a.add("a", [&](Operation &it) {
    bool hasRun = false;
    b.add("b", [&](Operation &other) {
      hasRun = true;
      other.finish();
    });
    await("b", [&] { return hasRun; });
    it.finish();
  });
}

// Two queues that take turns on one thread do not keep a third from starting.
SCENARIO(queues_that_start_each_other_leave_a_third_its_thread) {
  Pool pool(2);
  bool hasRun = false;
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor), c(INTURN_QUEUE_FIFO, pool.executor);
  Operation &last = a.add("last", keeps);
  together({[&] {
              b.add("b", [&](Operation &it) {
                c.add("c", [&](Operation &other) {
                  hasRun = true;
                  other.finish();
                });
                last.awaitCall();
                last.finish();
                it.finish();
              });
            },
            [&] {
              a.add("a", [&](Operation &it) {
                await("c", [&] { return hasRun; });
                it.finish();
              });
            }});
}

SCENARIO(three_queues_share_two_workers) {
  Pool pool(2);
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor), c(INTURN_QUEUE_FIFO, pool.executor);
  together({[&] { a.add("a", finishes); }, [&] { b.add("b", finishes); },
            [&] {
              c.add("c", finishes);
              a.add("d", finishes);
            }});
}

SCENARIO(workers_come_and_go) {
  Pool pool(1, 3);
  int arrived = 0;
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor);
  auto meet = [&](Operation &it) {
    arrived++;
    await("the other", [&] { return arrived == 2; });
    it.finish();
  };
  together({[&] { a.add("a", meet); }, [&] { b.add("b", meet); }});
  // Superfluous threads end after a while.
  model_settle(true);
  a.add("c", finishes);
}

SCENARIO(a_thread_cannot_be_started) {
  Pool pool(2);
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor);
  model_failing_starts = 1;
  together({[&] { a.add("a", finishes); }, [&] { b.add("b", finishes); }});
}

SCENARIO(the_clocks_thread_is_asked_for_twice) {
  together({[&] { Queue(INTURN_QUEUE_FIFO).add("a", finishes); },
            [&] { Queue(INTURN_QUEUE_FIFO).add("b", finishes); }});
}

SCENARIO(the_clocks_thread_cannot_be_started) {
  model_failing_starts = 1;
  inturn_queue queue;
  expect("queue_create",
         inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &queue),
         {INTURN_E_NO_MEMORY});
}

SCENARIO(a_pool_is_destroyed_after_its_last_queue) {
  Pool pool(2);
  together({[&] {
              Queue a(INTURN_QUEUE_FIFO, pool.executor);
              a.add("a", finishes);
            },
            [&] {
              Queue b(INTURN_QUEUE_CONCURRENT, pool.executor);
              b.add("b", finishes);
              b.add("c", finishes);
            }});
}

SCENARIO(two_threads_drain_a_host) {
  Host host(2);
  Queue a(INTURN_QUEUE_FIFO, host.executor),
      b(INTURN_QUEUE_CONCURRENT, host.executor);
  together({[&] {
              a.add("a", finishes);
              b.add("b", finishes);
            },
            [&] {
              b.add("c", finishes);
              a.add("d", finishes);
            }});
}

// A queue yields to others after each call, so that none starves.
SCENARIO(queues_of_one_executor_take_turns) {
  inturn_executor executor;
  expect("executor_create", inturn_executor_create(nullptr, &executor),
         {INTURN_OK});
  {
    Queue a(INTURN_QUEUE_ACTOR, executor), b(INTURN_QUEUE_ACTOR, executor);
    Operation *z = nullptr;
    a.add("x", finishes, {.handle = true});
    a.add("y",
          [&](Operation &it) {
            CHECK(z->calls == 1);
            it.finish();
          },
          {.handle = true});
    z = &b.add("z", finishes, {.handle = true});
    inturn_executor_drain(executor, 0, nullptr);
  }
  inturn_executor_drain(executor, 0, nullptr);
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
}

SCENARIO(waiting_for_work_meets_submit) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.host_threads = 2;
  inturn_executor executor;
  expect("executor_create", inturn_executor_create(&options, &executor),
         {INTURN_OK});
  {
    int left = 2;
    Queue queue(INTURN_QUEUE_FIFO, executor);
    auto count = [&](Operation &it) {
      left--;
      it.finish();
    };
    auto help = [&] {
      while (left > 0) {
        inturn_status status = inturn_executor_wait(executor, 1000, nullptr);
        expect("executor_wait", status, {INTURN_OK, INTURN_E_TIMED_OUT});
        expect("executor_drain", inturn_executor_drain(executor, 1, nullptr),
               {INTURN_OK});
      }
    };
    together({help, help, [&] {
                queue.add("a", count);
                queue.add("b", count);
              }});
    // The rest is delivered here.
    inturn_executor_drain(executor, 0, nullptr);
    queue.destroy();
  }
  inturn_executor_drain(executor, 0, nullptr);
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
}

SCENARIO(set_executor_meets_enqueue) {
  Pool pool(1);
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes);
            },
            [&] { queue.setExecutor(pool.executor); }});
}

SCENARIO(set_executor_meets_finish) {
  Host host(1);
  Pool pool(1);
  {
    Queue queue(INTURN_QUEUE_CONCURRENT, host.executor);
    Operation &x = queue.add("x", keeps);
    queue.add("y", finishes, {.onEnd = true});
    together({x.finisher(), [&] { queue.setExecutor(pool.executor); },
              [&] { queue.add("z", finishes); }});
  }
}

// The old executor goes on for as long as it likes, and calls none of it.
static void checkThatTheNewOneCalls(inturn_queue_kind kind) {
  Host old(1);
  inturn_executor other;
  expect("executor_create", inturn_executor_create(nullptr, &other),
         {INTURN_OK});
  {
    bool isMoved = false;
    Queue queue(kind, old.executor);
    Operation &x = queue.add("x", [&](Operation &it) {
      await("the move", [&] { return isMoved; });
      it.finish();
    });
    Operation &y = queue.add("y", finishes), &z = queue.add("z", finishes);
    together({[&] {
      x.awaitCall();
      queue.setExecutor(other);
      isMoved = true;
    }});
    CHECK(y.calls == 0 && z.calls == 0);
    while (!z.isOver()) {
      expect("executor_wait", inturn_executor_wait(other, -1, nullptr),
             {INTURN_OK});
      expect("executor_drain", inturn_executor_drain(other, 0, nullptr),
             {INTURN_OK});
    }
  }
  inturn_executor_drain(other, 0, nullptr);
  expect("executor_destroy", inturn_executor_destroy(other), {INTURN_OK});
}

SCENARIO(a_busy_fifo_queue_gets_another_executor) {
  checkThatTheNewOneCalls(INTURN_QUEUE_FIFO);
}

SCENARIO(a_busy_concurrent_queue_gets_another_executor) {
  checkThatTheNewOneCalls(INTURN_QUEUE_CONCURRENT);
}

SCENARIO(set_executor_meets_the_destruction) {
  Pool pool(1);
  {
    Queue queue(INTURN_QUEUE_FIFO);
    queue.add("a", finishes);
    together(
        {[&] { queue.setExecutor(pool.executor); }, [&] { queue.destroy(); }});
  }
}

// Work on a thread of the pool that calls the library.
SCENARIO(work_of_one_queue_ends_anothers) {
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  Operation &x = one.add("x", keeps);
  together({[&] {
              other.add("y", [&](Operation &y) {
                x.awaitCall();
                x.finish();
                y.finish();
              });
            },
            [&] { one.add("z", finishes); }});
}

namespace {
void *takesNothing = nullptr;
void neverCalled(void *, inturn_token) { model_fail("taken, and called"); }

// A concurrent queue on an executor of its own, which two threads may drain.
inturn_queue queueOfTwoThreads(uint32_t places, inturn_executor *executor) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.host_threads = 2;
  expect("executor_create", inturn_executor_create(&options, executor),
         {INTURN_OK});
  inturn_queue_options queueOptions = INTURN_QUEUE_OPTIONS_INIT;
  queueOptions.executor = *executor;
  queueOptions.max_concurrent = places;
  inturn_queue queue;
  expect("queue_create",
         inturn_queue_create(INTURN_QUEUE_CONCURRENT, &queueOptions, &queue),
         {INTURN_OK});
  return queue;
}
} // namespace

// Operations that are given to the host instead of being called.
SCENARIO(two_threads_take) {
  inturn_executor executor;
  inturn_queue queue = queueOfTwoThreads(2, &executor);
  int taken = 0;
  auto take = [&] {
    inturn_token last = {0};
    while (taken < 4 || last.bits != 0) {
      inturn_taken got = {takesNothing, {0}};
      inturn_status status =
          inturn_executor_take(executor, neverCalled, last, &got);
      expect("take", status, {INTURN_OK});
      last = got.token;
      if (got.token.bits != 0)
        taken++;
      else if (taken < 4)
        inturn_executor_wait(executor, 1000, nullptr);
    }
  };
  together({take, take, [&] {
              for (int i = 0; i < 4; i++)
                expect("enqueue",
                       inturn_queue_enqueue(queue, neverCalled, nullptr,
                                            nullptr, nullptr),
                       {INTURN_OK});
            }});
  CHECK(taken == 4);
  inturn_executor_drain(executor, 0, nullptr);
  expect("drain", inturn_queue_drain(queue, 0), {INTURN_OK});
  expect("queue_destroy", inturn_queue_destroy(queue), {INTURN_OK});
  inturn_executor_drain(executor, 0, nullptr);
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
}

namespace {
// What one thread has enqueued, and what became of it.
struct Given {
  int taken = 0, destroys = 0;
  bool isAccepted = false;
  static void destroyed(void *context) {
    static_cast<Given *>(context)->destroys++;
  }
};
} // namespace

// Each thread takes what it or the other one has enqueued, exactly once, or
// else the queue destroys it, even if the queue is destroyed meanwhile.
SCENARIO(two_threads_enqueue_and_take_and_their_queue_ends) {
  const uint32_t places = 1 + model_pick(2);
  inturn_executor executor;
  inturn_queue queue = queueOfTwoThreads(places, &executor);
  Given given[4];
  uint32_t running = 0;
  auto note = [&](const inturn_taken &got) {
    if (got.token.bits == 0)
      return;
    static_cast<Given *>(got.context)->taken++;
    CHECK(++running <= places);
  };
  auto finish = [&](inturn_token token) {
    if (token.bits != 0)
      running--;
    return token;
  };
  auto host = [&](int first) {
    inturn_taken got = {nullptr, {0}};
    for (int i = first; i < first + 2; i++) {
      inturn_token last = finish(got.token);
      if (last.bits != 0)
        inturn_token_finish(last);
      inturn_operation operation = {99};
      inturn_status status = inturn_executor_enqueue_and_take(
          nullptr, executor, queue, neverCalled, &given[i], Given::destroyed,
          &operation, &got);
      expect("enqueue_and_take", status,
             {INTURN_OK, INTURN_E_CLOSED, INTURN_E_STALE});
      note(got);
      given[i].isAccepted = status == INTURN_OK;
      if (!given[i].isAccepted)
        CHECK(given[i].destroys == 1);
      else if (operation.bits == 0)
        CHECK(got.context == &given[i]);
      else
        inturn_operation_release(operation);
    }
    while (got.token.bits != 0) {
      inturn_token last = finish(got.token);
      got.token = {0};
      expect("take", inturn_executor_take(executor, neverCalled, last, &got),
             {INTURN_OK});
      note(got);
    }
  };
  together({[&] { host(0); }, [&] { host(2); },
            [&] {
              switch (model_pick(3)) {
              case 0:
                inturn_queue_close(queue);
                break;
              case 1:
                inturn_queue_cancel_all(queue);
                break;
              default:
                inturn_queue_destroy(queue);
              }
            }});
  for (inturn_taken got = {nullptr, {1}}; got.token.bits != 0;) {
    inturn_token last = {0};
    if (got.context != nullptr)
      last = finish(got.token);
    got = {nullptr, {0}};
    expect("take", inturn_executor_take(executor, neverCalled, last, &got),
           {INTURN_OK});
    note(got);
  }
  inturn_queue_destroy(queue);
  inturn_executor_drain(executor, 0, nullptr);
  for (const Given &each : given)
    CHECK(each.taken + each.destroys == 1 && (each.isAccepted || !each.taken));
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
}

SCENARIO(a_wake_callback_is_replaced) {
  struct Wake {
    static void wake(void *context) { ++*static_cast<int *>(context); }
    static void destroyed(void *context) { static_cast<int *>(context)[1]++; }
  };
  int first[2] = {0, 0}, second[2] = {0, 0};
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.wake = Wake::wake;
  options.wake_context = first;
  options.wake_destroy = Wake::destroyed;
  inturn_executor executor;
  expect("executor_create", inturn_executor_create(&options, &executor),
         {INTURN_OK});
  {
    Queue queue(INTURN_QUEUE_FIFO, executor);
    together({[&] { queue.add("a", finishes); },
              [&] {
                expect("set_wake",
                       inturn_executor_set_wake(executor, Wake::wake, second,
                                                Wake::destroyed),
                       {INTURN_OK});
              }});
    CHECK(first[0] + second[0] >= 1);
    inturn_executor_drain(executor, 0, nullptr);
    queue.destroy();
  }
  inturn_executor_drain(executor, 0, nullptr);
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
  CHECK(first[1] == 1 && second[1] == 1);
}

SCENARIO(no_thread_can_be_started_for_a_while) {
  Pool pool(1);
  Queue a(INTURN_QUEUE_FIFO, pool.executor);
  model_failing_starts = 3;
  together({[&] {
              a.add("a", finishes);
              a.drain();
            },
            [&] { a.add("b", finishes, {.onEnd = true}); }});
}
