// Where work is called: pools, hosts, and the change from one to another.
#include "../checker/checker.hpp"

using namespace model;

// A pool of its own with so many workers.
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
  // Those that are too many go after a while.
  model_settle(true);
  a.add("c", finishes);
}

SCENARIO(a_thread_cannot_be_started) {
  Pool pool(2);
  model_failing_starts = 1;
  Queue a(INTURN_QUEUE_FIFO, pool.executor),
      b(INTURN_QUEUE_FIFO, pool.executor);
  together({[&] { a.add("a", finishes); }, [&] { b.add("b", finishes); }});
}

SCENARIO(the_clocks_thread_cannot_be_started) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.suspend();
  model_failing_starts = 1;
  Operation &x = queue.add("x", finishes,
                           {.handle = true, .onEnd = true, .set = [](auto &o) {
                              o.max_wait_ns = 1000;
                            }});
  x.mayBeCutOff = true;
  x.wait(-1);
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
    // What remains is delivered here.
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
    together({[&] {
                x.awaitCall();
                x.finish();
              },
              [&] { queue.setExecutor(pool.executor); },
              [&] { queue.add("z", finishes); }});
  }
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

// Work that calls the library on a thread of the pool.
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
