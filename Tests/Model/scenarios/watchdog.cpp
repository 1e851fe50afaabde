// The watchdog's thread looks while others do anything.
#include "../checker/checker.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace model;

namespace {

// Looks as long as it is in scope. It has to go before the queues: as long as
// something is pending, time goes on.
class Watched {
public:
  uint32_t told = 0;
  std::string last;
  std::function<void()> onReport = [] {};

  explicit Watched(int64_t limit = 1000000) {
    expect("set_report_handler", inturn_report_set_handler(take, this, nullptr),
           {INTURN_OK});
    setLimit(limit);
  }
  ~Watched() {
    setLimit(-1);
    model_settle(false);
    expect("set_report_handler",
           inturn_report_set_handler(nullptr, nullptr, nullptr), {INTURN_OK});
  }
  static void setLimit(int64_t limit) {
    expect("set_stall_limit", inturn_report_set_stall_limit(limit),
           {INTURN_OK});
  }
  void awaitReport(uint32_t count = 1) {
    await("a report", [&, count] { return told >= count; });
  }

private:
  static void take(void *context, const inturn_report *report) {
    if (report->kind != INTURN_REPORT_STALL)
      return;
    Watched &self = *static_cast<Watched *>(context);
    model_note("report: %s", report->message);
    CHECK(report->chain_count > 0 && report->stalled_ns > 0);
    self.last = report->message;
    self.told++;
    self.onReport();
  }
};

} // namespace

SCENARIO(a_look_meets_enqueue_and_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps);
  together({[&] {
              x.awaitCall();
              x.finish();
            },
            [&] { queue.add("y", finishes); }});
}

SCENARIO(a_look_meets_a_burst_and_cancel) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  together({[&] {
              queue.add("x", finishes);
              queue.add("y", finishes);
            },
            [&] { queue.cancelAll(); }});
}

SCENARIO(a_look_meets_destruction) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Watched watched;
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  queue.add("y", finishes, after(x));
  together({[&] { queue.destroy(); }, [&] { x.finish(); }});
}

// A chain is followed while what it leads to ends, and its queue goes.
SCENARIO(a_chain_meets_destruction_and_finish) {
  Queue network(INTURN_QUEUE_FIFO);
  Queue database(INTURN_QUEUE_CONCURRENT);
  Watched watched(1);
  Operation &load = network.add("load", keeps, {.handle = true, .onEnd = true});
  Operation &save = database.add("save", finishes, after(load));
  save.mayBeCutOff = true;
  load.awaitCall();
  together({[&] { network.destroy(); }, [&] { load.finish(); },
            [&] { database.add("other", finishes); }});
}

// Who gives the last idle lane something to do has somebody look.
SCENARIO(an_enqueue_meets_the_end_of_the_watchdog) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  queue.add("first", finishes);
  // By now it has looked in vain, or is about to.
  together({[&] {
    Operation &x = queue.add("x", keeps);
    queue.add("y", finishes);
    x.awaitCall();
    watched.awaitReport();
    x.finish();
  }});
}

SCENARIO(a_suspended_queue_meets_the_end_of_the_watchdog) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Watched watched;
  queue.add("first", finishes);
  queue.suspend();
  Operation &x = queue.add("x", finishes);
  watched.awaitReport();
  CHECK(!x.isOver());
  queue.resume();
}

SCENARIO(a_queue_is_made_as_the_watchdog_ends) {
  Queue old(INTURN_QUEUE_FIFO);
  Watched watched;
  old.add("first", finishes);
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  watched.awaitReport();
  x.finish();
  // Before the queue goes: time would not stand still.
  Watched::setLimit(-1);
  model_settle(false);
}

SCENARIO(turning_it_off_and_on_loses_nothing) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(-1);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  together({[&] { Watched::setLimit(1000000); },
            [&] {
              Watched::setLimit(-1);
              Watched::setLimit(1000000);
            }});
  x.awaitCall();
  watched.awaitReport();
  x.finish();
}

// No thread can be had at first.
SCENARIO(a_watchdog_that_could_not_be_started_is_started_later) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(-1);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  model_failing_starts = 1;
  Watched::setLimit(1000000);
  watched.awaitReport();
  x.finish();
}

// The handler may end what is stuck, and destroy its queue.
SCENARIO(a_handler_ends_what_is_stuck) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps);
  Operation &y = queue.add("y", finishes);
  watched.onReport = [&] {
    if (x.calls > 0)
      x.finish();
  };
  y.awaitDestroyed();
}

// It is told again after ten seconds and after a minute, then every ten.
SCENARIO(what_stays_stuck_is_told_again) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(4000000000);
  std::vector<int64_t> moments;
  watched.onReport = [&] { moments.push_back(model_now()); };
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  watched.awaitReport(5);
  x.finish();
  auto hasGap = [&](size_t from, size_t to, int64_t seconds) {
    int64_t gap = moments[to] - moments[from];
    return gap >= seconds * 1000000000 && gap < (seconds + 1) * 1000000000;
  };
  CHECK(hasGap(0, 1, 10));
  CHECK(hasGap(0, 2, 60));
  CHECK(hasGap(2, 3, 600));
  CHECK(hasGap(3, 4, 600));
}

// A child has a watchdog of its own, and its parent keeps the one it has.
SCENARIO(a_fork_meets_the_watchdog) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    Watched own;
    Queue queue(INTURN_QUEUE_FIFO);
    Operation &z = queue.add("z", keeps);
    queue.add("after", finishes);
    z.awaitCall();
    own.awaitReport();
    z.finish();
    queue.drain();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (status != 0)
    _exit(1);
  watched.awaitReport();
  x.finish();
}
