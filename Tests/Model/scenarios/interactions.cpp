// Interactions: views, delays, and urgent operations.
#include "../checker/checker.hpp"

using namespace model;

// The executor is a host's, as the main thread waits in the scenarios.
struct Stage {
  Host host{1};
  Queue queue{INTURN_QUEUE_INTERACTION, host.executor};
};

SCENARIO(a_view_comes_and_goes) {
  Stage stage;
  Queue &queue = stage.queue;
  queue.add("x", finishes);
  together({[&] {
              queue.appear();
              queue.disappear();
              queue.appear();
            },
            [&] { queue.add("y", finishes); }});
}

SCENARIO(a_view_goes_while_one_is_shown) {
  Stage stage;
  Queue &queue = stage.queue;
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  queue.appear();
  together({x.finisher(), [&] {
              queue.disappear();
              queue.appear();
            }});
}

SCENARIO(an_interaction_queue_is_destroyed_while_one_is_shown) {
  Stage stage;
  Queue &queue = stage.queue;
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  queue.appear();
  together({x.finisher(), [&] { queue.destroy(); }});
  // A timer that was left behind would fire for the next queue's deadline.
  Queue next(INTURN_QUEUE_FIFO);
  next.suspend();
  With limited = with([](auto &o) { o.max_wait_ns = 1000000000; });
  limited.hasDeadline = true;
  next.add("late", finishes, limited).wait(-1);
}

// When the operation has ended, its lane may belong to a queue of another kind.
SCENARIO(yield_meets_its_queues_destruction_and_another_queue) {
  Stage stage;
  Operation &x = stage.queue.add("x", keeps, {.handle = true});
  stage.queue.appear();
  together({[&] {
              x.awaitCall();
              x.yield();
            },
            [&] {
              x.awaitCall();
              stage.queue.destroy();
              BareQueue other(INTURN_QUEUE_FIFO);
              other.add();
              other.awaitCall();
              expect("finish", inturn_token_finish(other.token), {INTURN_OK});
              other.destroy();
            }});
}

static With urgent() {
  return {.handle = true, .onEnd = true, .set = [](auto &options) {
            options.urgent = true;
          }};
}

static void giveWay(void *context, inturn_token) {
  static_cast<Operation *>(context)->yield();
}

static void mayGiveWay(Operation &it) {
  it.mayRestart = true;
  if (it.calls == 1)
    inturn_token_on_preempt(it.token, giveWay, &it, nullptr);
  else
    it.finish();
}

SCENARIO(an_urgent_one_meets_finish) {
  Stage stage;
  Queue &queue = stage.queue;
  Operation &x = queue.add("x", mayGiveWay);
  queue.appear();
  together({x.finisher(), [&] {
              x.awaitCall();
              queue.add("urgent", finishes, urgent());
            }});
}

SCENARIO(an_urgent_one_meets_cancel) {
  Stage stage;
  Queue &queue = stage.queue;
  Operation &x = queue.add("x", mayGiveWay, {.handle = true, .onEnd = true});
  queue.appear();
  together({[&] {
              x.awaitCall();
              x.cancel();
            },
            [&] {
              x.awaitCall();
              queue.add("urgent", finishes, urgent());
            }});
}

// What was cancelled is dropped by whoever asks for the next urgent one.
SCENARIO(a_cancelled_urgent_one_meets_the_next) {
  Stage stage;
  Queue &queue = stage.queue;
  queue.add("x", mayGiveWay);
  With with = urgent();
  with.handle = true;
  Operation &first = queue.add("first", finishes, with);
  queue.appear();
  together({[&] { first.cancel(); },
            [&] { queue.add("next", finishes, urgent()); }});
}

SCENARIO(an_urgent_one_meets_the_destruction) {
  Stage stage;
  Queue &queue = stage.queue;
  Operation &x = queue.add("x", mayGiveWay);
  queue.appear();
  together({[&] {
              x.awaitCall();
              queue.add("urgent", finishes, urgent());
            },
            [&] {
              x.awaitCall();
              queue.destroy();
            }});
}
