// Threads that run an executor of their own until it is stopped.
#include "../checker/checker.hpp"

using namespace model;

namespace {

struct Own {
  inturn_executor executor;

  explicit Own(uint32_t threads = 1) {
    inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
    options.host_threads = threads;
    expect("executor_create", inturn_executor_create(&options, &executor),
           {INTURN_OK});
  }
  ~Own() {
    expect("executor_drain", inturn_executor_drain(executor, 0, nullptr),
           {INTURN_OK});
    expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
  }
  void run() { expect("run", inturn_executor_run(executor), {INTURN_OK}); }
  void stop() { expect("stop", inturn_executor_stop(executor), {INTURN_OK}); }
};

} // namespace

SCENARIO(run_meets_stop) {
  Own own;
  together({[&] { own.run(); }, [&] { own.stop(); }});
}

// The wake-up may come to a thread that calls nothing.
SCENARIO(a_run_meets_a_wait_for_the_same_work) {
  Own own(2);
  Queue queue(INTURN_QUEUE_FIFO, own.executor);
  together({[&] { own.run(); },
            [&] {
              expect("executor_wait",
                     inturn_executor_wait(own.executor, 1000, nullptr),
                     {INTURN_OK, INTURN_E_TIMED_OUT});
            },
            [&] {
              queue.add("a", finishes);
              queue.drain();
              own.stop();
            }});
}
