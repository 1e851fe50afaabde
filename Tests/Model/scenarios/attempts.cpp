// Operations that are attempted again, join others, or yield.
#include "../checker/checker.hpp"

using namespace model;

static With retrying(int64_t delay, uint32_t most = 3) {
  auto retry = std::make_shared<inturn_retry>();
  *retry = INTURN_RETRY_INIT;
  retry->max_attempts = most;
  retry->delay_ns = delay;
  return {.handle = true, .onEnd = true, .set = [retry](auto &options) {
            options.retry = retry.get();
          }};
}

static void failsTwice(Operation &it) {
  it.mayRestart = true;
  if (it.calls < 3)
    it.fail(1);
  else
    it.finish();
}

SCENARIO(a_retry_meets_enqueue) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", failsTwice, retrying(1000));
  together({[&] { queue.add("y", finishes); },
            [&] {
              x.awaitDestroyed();
              CHECK(x.calls == 3);
            }});
}

SCENARIO(a_retry_meets_cancel) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", failsTwice, retrying(1000));
  x.mayRestart = true;
  queue.add("y", finishes);
  together({[&] { x.cancel(); },
            [&] {
              queue.suspend();
              queue.resume();
            }});
}

SCENARIO(a_retry_at_once_meets_cancel) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", failsTwice, retrying(0));
  x.mayRestart = true;
  queue.add("y", finishes);
  together({[&] { x.cancel(); }, [&] { queue.add("z", finishes); }});
}

// Its grace time begins while its queue is destroyed.
SCENARIO(a_retry_that_is_cancelled_meets_the_destruction) {
  auto retry = std::make_shared<inturn_retry>();
  *retry = INTURN_RETRY_INIT;
  retry->max_attempts = 3;
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, with([retry](auto &options) {
                             options.retry = retry.get();
                             options.cancel_grace_ns = 1000;
                           }));
  x.mayRestart = true;
  x.awaitCall();
  together({[&] { x.fail(1); }, [&] { x.cancel(); }, [&] { queue.destroy(); }});
  // A timer that was left behind would fire for the next operation.
  Queue next(INTURN_QUEUE_FIFO);
  next.suspend();
  With limited = with([](auto &o) { o.max_wait_ns = 1000000000; });
  limited.hasDeadline = true;
  next.add("late", finishes, limited).wait(-1);
}

SCENARIO(a_retry_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", failsTwice, retrying(1000));
  x.mayRestart = true;
  queue.add("y", finishes);
  together({[&] {
    x.awaitCall(2);
    queue.destroy();
  }});
}

static With joining() {
  return {.handle = true,
          .onEnd = true,
          .set =
              [](auto &options) {
                options.key = "key";
                options.join = true;
              },
          .endsWithOthers = true};
}

SCENARIO(joining_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, joining());
  together({x.finisher(), [&] { queue.add("y", finishes, joining()); },
            [&] { queue.add("z", finishes, joining()); }});
}

SCENARIO(joining_meets_cancel) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, joining());
  Operation &y = queue.add("y", finishes, joining());
  together({[&] { x.cancel(); }, [&] { y.cancel(); }, x.finisher()});
}

// More followers than end with their leader in one hold of the lock: other
// threads come between.
static void many_join(const std::function<void(Queue &, Operation &)> &other) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, joining());
  Operation *last = nullptr;
  for (int i = 0; i < 34; i++)
    last = &queue.add("y", finishes, joining());
  together({x.finisher(), [&] { other(queue, *last); }});
}

SCENARIO(the_end_of_many_meets_joining) {
  many_join([](Queue &queue, Operation &) {
    queue.add("z", finishes, joining());
    queue.add("w", finishes);
  });
}

SCENARIO(the_end_of_many_meets_cancel) {
  many_join([](Queue &, Operation &last) { last.cancel(); });
}

SCENARIO(the_end_of_many_meets_cancel_of_all) {
  many_join([](Queue &queue, Operation &) { queue.cancelAll(); });
}

SCENARIO(the_end_of_many_meets_destruction) {
  many_join([](Queue &queue, Operation &) { queue.destroy(); });
}

// A follower that stands in keeps its own place, so that the next can start.
static void standing_in(inturn_queue_kind kind) {
  Queue queue(kind);
  queue.suspend();
  Operation &x = queue.add("x", finishes, joining());
  Operation &y = queue.add("y", finishes, joining());
  queue.add("z", finishes, after(y));
  together({[&] { x.cancel(); }, [&] { queue.resume(); },
            [&] { queue.add("w", finishes, joining()); }});
}

SCENARIO(standing_in_meets_the_start) { standing_in(INTURN_QUEUE_FIFO); }

SCENARIO(standing_in_meets_the_start_of_an_actor) {
  standing_in(INTURN_QUEUE_ACTOR);
}

SCENARIO(standing_in_meets_its_turn) {
  Queue queue(INTURN_QUEUE_ACTOR);
  Operation &x = queue.add("x", keeps, joining());
  Operation &y = queue.add("y", finishes, joining());
  queue.add("z", finishes, after(y));
  together({[&] {
              x.awaitCall();
              x.cancel();
              x.giveIn();
            },
            [&] { queue.add("w", finishes); }, [&] { y.cancel(); }});
}

SCENARIO(resolving_a_key_meets_the_start) {
  Queue queue(INTURN_QUEUE_FIFO);
  With keyed{.handle = true,
             .onEnd = true,
             .set = [](auto &options) { options.key = "key"; },
             .endsWithOthers = true};
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes, keyed);
  queue.add("z", finishes, keyed);
  together({x.finisher(),
            [&] { inturn_queue_resolve_key(queue.handle, "key", nullptr); }});
}

// More operations of a key than are cancelled in one hold of the lock.
static void cancellingALine(bool isDestroyed) {
  Queue queue(INTURN_QUEUE_FIFO);
  With keyed{.handle = true,
             .onEnd = true,
             .set = [](auto &options) { options.key = "key"; },
             .endsWithOthers = true};
  std::vector<Operation *> line;
  line.push_back(&queue.add("the first", keeps, keyed));
  for (int i = 0; i < 40; i++)
    line.push_back(&queue.add("one of many", finishes, keyed));
  together({[&] { inturn_queue_cancel_key(queue.handle, "key", nullptr); },
            [&] {
              // Where the cancel continues after the first hold of the lock.
              for (int i = 12; i > 4; i--)
                line[i]->cancel();
            },
            [&] {
              if (isDestroyed)
                queue.destroy();
              else
                queue.add("a late one", finishes, keyed);
            },
            [&] {
              line[0]->awaitCall();
              line[0]->finish();
            }});
}

SCENARIO(cancelling_a_line_meets_its_changes) { cancellingALine(false); }

SCENARIO(cancelling_a_line_meets_the_destruction) { cancellingALine(true); }
