// The watchdog looks while other threads do anything.
#include "../checker/watched.hpp"
#include "../hosted/hosted.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace model;

namespace {

constexpr int64_t second = 1000000000;

} // namespace

SCENARIO(a_look_meets_enqueue_and_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps);
  together({x.finisher(), [&] { queue.add("y", finishes); }});
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

// A chain is followed while its last link ends and its queue is destroyed.
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

// The same through a wait inside work, which ends meanwhile.
SCENARIO(a_look_meets_a_wait_inside_work) {
  Queue network(INTURN_QUEUE_FIFO), database(INTURN_QUEUE_FIFO);
  Watched watched(1);
  Operation &load = network.add("load", keeps, {.handle = true});
  load.awaitCall();
  database.add("save", [&](Operation &it) {
    expect("wait", inturn_operation_wait(load.handle, -1, nullptr),
           {INTURN_OK});
    it.finish();
  });
  together({[&] { load.finish(); }, [&] { database.add("other", finishes); }});
  database.drain();
  for (const std::string &message : watched.messages)
    CHECK(message.find("waits for others") == std::string::npos);
}

// What is awaited is asked by itself while its queue gets on, and so is what it
// waits for: while that ends and its queue is destroyed.
SCENARIO(a_look_at_what_is_awaited_meets_destruction_and_finish) {
  Queue network(INTURN_QUEUE_CONCURRENT);
  Queue database(INTURN_QUEUE_CONCURRENT);
  Watched watched(1);
  Operation &load = network.add("load", keeps, {.handle = true, .onEnd = true});
  Operation &save = database.add("save", finishes, after(load));
  save.mayBeCutOff = true;
  load.awaitCall();
  for (const Operation *awaited : {&load, &save})
    expect("awaited", inturn_report_set_awaited(awaited->handle.bits),
           {INTURN_OK});
  together({[&] { network.destroy(); }, [&] { load.finish(); },
            [&] {
              database.add("other", finishes);
              database.add("another", finishes);
            }});
}

// A question why follows the same chain, at any time.
SCENARIO(a_question_why_meets_destruction_and_finish) {
  Queue network(INTURN_QUEUE_FIFO);
  Queue database(INTURN_QUEUE_CONCURRENT);
  Operation &load = network.add("load", keeps, {.handle = true, .onEnd = true});
  Operation &save = database.add("save", finishes, after(load));
  save.mayBeCutOff = true;
  load.awaitCall();
  uint32_t told = 0;
  const auto ask = [&](Operation &operation) {
    const auto take = [](void *told, const inturn_report *report) {
      model_note("why: %s", report->message);
      CHECK(report->chain_count > 0);
      ++*static_cast<uint32_t *>(told);
    };
    expect("why", inturn_why(operation.handle, take, &told),
           {INTURN_OK, INTURN_E_ALREADY_FINISHED});
  };
  together({[&] { network.destroy(); }, [&] { load.finish(); },
            [&] {
              ask(save);
              ask(load);
            }});
}

// A snapshot takes all the locks, one after another.
struct Looks {
  uint32_t queues = 0, operations = 0;
  Looks() {
    const auto visit = [](void *context, const inturn_entry *entry) {
      Looks &self = *static_cast<Looks *>(context);
      self.queues += entry->kind == INTURN_ENTRY_QUEUE;
      if (entry->kind == INTURN_ENTRY_OPERATION) {
        model_note("told: %s", entry->label);
        CHECK(entry->count > 0);
        self.operations += uint32_t(entry->count);
      }
      return true;
    };
    expect("snapshot", inturn_snapshot(visit, this), {INTURN_OK});
  }
};

SCENARIO(a_snapshot_meets_enqueue_and_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  together({x.finisher(), [&] { queue.add("y", finishes); },
            [&] {
              Looks looks;
              CHECK(looks.queues == 1 && looks.operations <= 2);
            }});
}

SCENARIO(a_snapshot_meets_a_burst_and_cancel) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("x", finishes);
              queue.add("y", finishes);
            },
            [&] { queue.cancelAll(); },
            [&] {
              Looks looks;
              CHECK(looks.queues == 1 && looks.operations <= 2);
            }});
}

SCENARIO(a_snapshot_meets_destruction_and_finish) {
  Queue network(INTURN_QUEUE_FIFO);
  Queue database(INTURN_QUEUE_CONCURRENT);
  Operation &load = network.add("load", keeps, {.handle = true, .onEnd = true});
  Operation &save = database.add("save", finishes, after(load));
  save.mayBeCutOff = true;
  load.awaitCall();
  together({[&] { network.destroy(); }, [&] { load.finish(); },
            [&] {
              Looks looks;
              CHECK(looks.queues <= 2 && looks.operations <= 2);
            }});
}

SCENARIO(a_snapshot_meets_a_batch) {
  Queue queue(INTURN_QUEUE_FIFO);
  Batch &batch = queue.addBatch({{"a", finishes}, {"b", finishes}});
  together({[&] { batch.wait(); }, [] { Looks looks; }});
}

SCENARIO(a_snapshot_meets_a_wait_for_a_name) {
  static const char *const name = "n";
  Queue queue(INTURN_QUEUE_CONCURRENT);
  const auto named = [](inturn_operation_options &options) {
    options.exclusive = &name;
    options.exclusive_count = 1;
  };
  Operation &x = queue.add("x", keeps, with(named));
  Operation &y = queue.add("y", finishes, with(named));
  together({x.finisher(), [&] { y.cancel(); }, [] { Looks looks; }});
}

SCENARIO(a_snapshot_meets_a_wait_inside_a_call) {
  Queue network(INTURN_QUEUE_FIFO), database(INTURN_QUEUE_FIFO);
  Operation &load = network.add("load", keeps, {.handle = true});
  database.add("save", [&](Operation &it) {
    load.wait(-1);
    it.finish();
  });
  together({load.finisher(), [] { Looks looks; }});
}

SCENARIO(a_snapshot_meets_a_drain_inside_a_call) {
  Queue network(INTURN_QUEUE_FIFO), database(INTURN_QUEUE_FIFO);
  Operation &load = network.add("load", keeps);
  database.add("save", [&](Operation &it) {
    network.drain();
    network.destroy();
    it.finish();
  });
  together({load.finisher(), [] { Looks looks; }});
}

// Whoever gives the last idle lane something to do starts the watchdog.
SCENARIO(an_enqueue_meets_the_end_of_the_watchdog) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  queue.add("first", finishes);
  // By now, it has found nothing, or is about to.
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
  // Before the queue is destroyed: the watchdog would make time pass.
  Watched::setLimit(-1);
  model_settle(false);
}

SCENARIO(turning_it_off_and_on_loses_nothing) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  auto turnOffAndOn = [] {
    Watched::setLimit(-1);
    Watched::setLimit(1000000);
  };
  together({turnOffAndOn, turnOffAndOn});
  watched.awaitReport();
  x.finish();
}

// It looks at a queue with a limit of its own, though nobody asks it to look at
// others any more.
SCENARIO(a_queue_with_a_limit_is_made_as_the_watchdog_is_turned_off) {
  static inturn_token token;
  Queue old(INTURN_QUEUE_FIFO);
  Watched watched;
  old.add("first", finishes);
  token = {0};
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.stall_ns = 1000000;
  inturn_queue queue{};
  together({[] { Watched::setLimit(-1); },
            [&] {
              expect("create",
                     inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue),
                     {INTURN_OK});
            }});
  for (int i = 0; i < 2; i++)
    expect("enqueue",
           inturn_queue_enqueue(
               queue,
               [](void *, inturn_token given) {
                 if (token.bits == 0)
                   token = given;
                 else
                   inturn_token_finish(given);
               },
               nullptr, nullptr, nullptr),
           {INTURN_OK});
  watched.awaitSaying("its token has not been finished");
  expect("finish", inturn_token_finish(token), {INTURN_OK});
  expect("drain", inturn_queue_drain(queue, -1), {INTURN_OK});
  expect("destroy", inturn_queue_destroy(queue), {INTURN_OK});
}

// It does not sleep on for the old limit.
SCENARIO(a_new_limit_counts_at_once) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(3600 * second);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  Watched::setLimit(1000000);
  int64_t begin = model_now();
  watched.awaitReport();
  CHECK(model_now() - begin < second);
  x.finish();
}

// Nor does one that has just left an idle queue, or is about to.
SCENARIO(a_new_limit_meets_the_first_work) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(3600 * second);
  await("the end of the watchdog", [] { return model_now() >= 450 * second; });
  int64_t begin = 0;
  together({[&] {
              queue.add("x", keeps);
              queue.add("y", finishes);
              begin = model_now();
            },
            [&] {
              Watched::setLimit(1000000);
              begin = model_now();
            }});
  watched.awaitReport();
  CHECK(model_now() - begin < second);
  queue.cancelAll();
}

// Whoever comes during its last look does not start a second one.
SCENARIO(two_watchdogs_do_not_tell_the_same) {
  Queue before(INTURN_QUEUE_FIFO), queue(INTURN_QUEUE_FIFO),
      behind(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps, {.onEnd = true});
  queue.add("y", finishes);
  x.awaitCall();
  // It continues, but may have left these lanes unattended.
  before.add("first", finishes);
  behind.add("first", finishes);
  int64_t end = model_now() + 20000000;
  await("a second report", [&] { return model_now() >= end; });
  CHECK(watched.saying("token has not been finished") <= 1);
  x.finish();
}

// The drainer may be delayed between the return of the call and leaving the
// lane to whoever finishes.
SCENARIO(a_burst_that_is_left_to_its_token_is_told_once) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(1);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  watched.awaitSaying("running for");
  int64_t end = model_now() + 20000000;
  await("a second report", [&] { return model_now() >= end; });
  CHECK(watched.saying("running for") == 1);
  x.finish();
}

// It has the place of one that was reported, and was only slow.
SCENARIO(a_queue_after_a_slow_one_is_not_given_longer) {
  Queue busy(INTURN_QUEUE_FIFO);
  Watched watched(4 * second);
  // So that the watchdog keeps running.
  Operation &x = busy.add("x", keeps);
  for (uint32_t count = 1; count <= 2; count++) {
    BareQueue queue(INTURN_QUEUE_FIFO);
    queue.add();
    queue.add();
    queue.awaitCall();
    int64_t begin = model_now();
    watched.awaitReport(count);
    CHECK(model_now() - begin < 6 * second);
    queue.destroy();
  }
  x.finish();
}

SCENARIO(a_pool_that_has_no_thread_does_not_call_it_busy) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor pool;
  options.workers = 1;
  expect("executor_create", inturn_executor_create(&options, &pool),
         {INTURN_OK});
  {
    Queue other(INTURN_QUEUE_FIFO), queue(INTURN_QUEUE_FIFO, pool);
    Watched watched;
    // The watchdog's own thread has been started.
    Operation &x = other.add("x", keeps);
    x.awaitCall();
    model_failing_starts = -1;
    queue.add("y", finishes);
    watched.awaitSaying("no thread of its pool");
    model_failing_starts = 0;
    x.finish();
  }
  expect("executor_destroy", inturn_executor_destroy(pool), {INTURN_OK});
}

// Its task does not get the actor, which somebody holds.
SCENARIO(a_task_that_does_not_begin_is_told) {
  HostedQueue queue(INTURN_QUEUE_ACTOR);
  Watched watched;
  queue.takeActor();
  queue.add("x", HostedQueue::Form::turn);
  watched.awaitSaying("does not begin");
  queue.leaveActor();
}

// At first, no thread can be started.
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

// The handler may end the stalled operation, and destroy its queue.
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

// Reported again after ten seconds and after a minute, then every ten minutes.
SCENARIO(what_stays_stuck_is_told_again) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(4 * second);
  std::vector<int64_t> moments;
  watched.onReport = [&] { moments.push_back(model_now()); };
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  x.awaitCall();
  watched.awaitReport(5);
  x.finish();
  auto hasGap = [&](size_t from, size_t to, int64_t seconds) {
    int64_t gap = moments[to] - moments[from];
    return gap >= seconds * second && gap < (seconds + 1) * second;
  };
  CHECK(hasGap(0, 1, 10));
  CHECK(hasGap(0, 2, 60));
  CHECK(hasGap(2, 3, 600));
  CHECK(hasGap(3, 4, 600));
}

// A child has a watchdog of its own, and its parent keeps the one that it has.
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
