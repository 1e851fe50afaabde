// Two threads end an operation, or one ends it while another looks.
#include "../checker/checker.hpp"

using namespace model;

static const With handled{.handle = true};
static const With observed{.handle = true, .onEnd = true};

SCENARIO(two_finishes) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  together({[&] { x.finish(); }, [&] { x.finish(); }});
}

SCENARIO(finish_meets_fail) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, observed);
  queue.add("y", finishes);
  x.awaitCall();
  together({[&] { x.finish(); }, [&] { x.fail(7); }, [&] { x.giveIn(); }});
}

// The work's return and its token's finish: whichever comes second continues.
SCENARIO(finish_meets_the_return_of_the_work) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  Operation &y = queue.add("y", keeps, handled);
  together({x.finisher(), y.finisher(), [&] { queue.add("z", finishes); }});
}

SCENARIO(cancel_meets_the_start) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              Operation &x = queue.add("x", finishes, handled);
              x.cancel();
            },
            [&] { queue.add("y", finishes); }});
}

SCENARIO(finish_meets_cancel) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, observed);
  queue.add("y", finishes);
  together({x.finisher(), [&] { x.cancel(); }});
}

SCENARIO(two_cancels) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, observed);
  Operation &y = queue.add("y", finishes, handled);
  together({[&] {
              x.cancel();
              y.cancel();
            },
            [&] {
              y.cancel();
              x.cancel();
            }});
}

SCENARIO(finish_meets_a_deadline) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, with([](auto &o) {
                             o.max_run_ns = 1000;
                             o.max_run_policy = INTURN_MAX_RUN_FREE;
                           }));
  x.mayBeCutOff = true;
  queue.add("y", finishes);
  together({x.finisher(), [&] { queue.add("z", finishes); }});
}

SCENARIO(finish_meets_a_deadline_that_holds_the_place) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x =
      queue.add("x", keeps, with([](auto &o) { o.max_run_ns = 1000; }));
  queue.add("y", finishes);
  together({x.finisher(), [&] {
              x.awaitCall();
              x.cancel();
            }});
}

SCENARIO(the_start_meets_a_deadline) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &first = queue.add("first", keeps);
  Operation &x =
      queue.add("x", finishes, with([](auto &o) { o.max_wait_ns = 1000; }));
  together({first.finisher(), [&] { x.cancel(); }});
}

SCENARIO(finish_meets_the_grace_time) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x =
      queue.add("x", keeps, with([](auto &o) { o.cancel_grace_ns = 1000; }));
  queue.add("y", finishes);
  together({x.finisher(), [&] {
              x.mayBeCutOff = true;
              x.cancel();
            }});
}

SCENARIO(a_deadline_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x =
      queue.add("x", keeps, with([](auto &o) { o.max_run_ns = 1000; }));
  queue.add("y", finishes, with([](auto &o) { o.max_wait_ns = 2000; }));
  together({x.finisher(), [&] { queue.destroy(); }});
}

SCENARIO(finish_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, observed);
  queue.add("y", keeps);
  together({x.finisher(), [&] { queue.destroy(); }});
}

SCENARIO(cancel_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, observed);
  Operation &y = queue.add("y", finishes, handled);
  together({[&] {
              x.cancel();
              y.cancel();
            },
            [&] { queue.destroy(); }});
}

SCENARIO(wait_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, handled);
  together({x.finisher(), [&] { x.wait(-1); }, [&] { x.wait(1000); }});
}

SCENARIO(wait_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, handled);
  Operation &y = queue.add("y", keeps, observed);
  together(
      {[&] { y.wait(-1); }, [&] { x.wait(-1); }, [&] { queue.destroy(); }});
}

SCENARIO(release_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, observed);
  Operation &y = queue.add("y", finishes, handled);
  together({x.finisher(), [&] {
              y.release();
              x.release();
            }});
}

// A slot that is free serves another operation: the old handle and the old
// token must not reach it.
SCENARIO(an_old_token_meets_the_next_use_of_its_slot) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  x.awaitCall();
  together({[&] {
              x.finish();
              x.finish();
              x.isCancelled();
            },
            [&] {
              Operation &y = queue.add("y", keeps);
              y.awaitCall();
              CHECK(!y.isCancelled());
              y.finish();
            }});
}

SCENARIO(a_cancel_handler_is_set_while_it_is_cancelled) {
  struct Handler {
    static void cancelled(void *context, inturn_token) {
      ++*static_cast<int *>(context);
    }
    static void destroyed(void *context) { static_cast<int *>(context)[1]++; }
  };
  int counts[2] = {0, 0};
  {
    Queue queue(INTURN_QUEUE_FIFO);
    Operation &x = queue.add("x", keeps, observed);
    together({[&] {
                x.awaitCall();
                if (!x.calls)
                  counts[1]++;
                else
                  expect("on_cancel",
                         inturn_token_on_cancel(x.token, Handler::cancelled,
                                                counts, Handler::destroyed),
                         {INTURN_OK});
                await("the handler", [&] { return counts[0] || x.isOver(); });
                x.finish();
              },
              [&] {
                x.awaitCall();
                x.cancel();
              }});
  }
  CHECK(counts[0] <= 1 && counts[1] == 1);
}
