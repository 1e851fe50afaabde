// A clock that the scenario advances, and what waits for it.
#include "../checker/checker.hpp"

using namespace model;

namespace {

struct ManualClock {
  inturn_clock handle = {0};
  ManualClock() {
    expect("clock_create", inturn_clock_create_manual(&handle), {INTURN_OK});
    advance(1); // so that what starts at once does not start at 0
  }
  void advance(int64_t by) {
    expect("clock_advance", inturn_clock_advance(handle, by), {INTURN_OK});
  }
  ~ManualClock() {
    model_settle(true);
    expect("clock_destroy", inturn_clock_destroy(handle), {INTURN_OK});
  }
  Queue queue(inturn_queue_kind kind) {
    return Queue(kind, {0}, [this](auto &o) { o.clock = handle; });
  }
};

} // namespace

SCENARIO(advancing_a_clock_meets_finish) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_FIFO);
  Operation &x =
      queue.add("x", keeps, with([](auto &o) { o.max_run_ns = 10; }));
  queue.add("y", finishes);
  together({x.finisher(), [&] {
              clock.advance(10);
              clock.advance(10);
            }});
}

// Whichever thread hands over what falls due, it has been when either returns.
SCENARIO(two_threads_advance_a_clock) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_FIFO);
  queue.suspend();
  auto due = [](int64_t after) {
    With limited = with([=](auto &o) { o.max_wait_ns = after; });
    limited.hasDeadline = true;
    return limited;
  };
  Operation &x = queue.add("x", finishes, due(10));
  Operation &y = queue.add("y", finishes, due(20));
  auto advance = [&] {
    clock.advance(10);
    expect("wait of x", inturn_operation_wait(x.handle, 0, nullptr),
           {INTURN_OK});
  };
  together({advance, advance});
  expect("wait of y", inturn_operation_wait(y.handle, 0, nullptr), {INTURN_OK});
  queue.resume();
}

// What is due is handed to an executor, whose waker is called meanwhile.
SCENARIO(a_clock_is_advanced_by_whom_it_wakes) {
  ManualClock clock;
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.wake = [](void *clock) {
    static_cast<ManualClock *>(clock)->advance(1);
  };
  options.wake_context = &clock;
  inturn_executor executor;
  expect("executor_create", inturn_executor_create(&options, &executor),
         {INTURN_OK});
  {
    Queue queue(INTURN_QUEUE_FIFO, executor,
                [&](auto &o) { o.clock = clock.handle; });
    queue.suspend();
    With limited = with([](auto &o) { o.max_wait_ns = 10; });
    limited.hasDeadline = limited.onEnd = true;
    queue.add("x", finishes, limited);
    together({[&] { clock.advance(10); }, [&] { clock.advance(10); }});
    queue.resume();
    inturn_executor_drain(executor, 0, nullptr);
    queue.destroy();
  }
  inturn_executor_drain(executor, 0, nullptr);
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
}

// A deadline counts from a beginning that nobody sees earlier.
SCENARIO(a_deadline_counts_once_the_work_is_called) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_FIFO);
  Operation &x =
      queue.add("x", keeps, with([](auto &o) { o.max_run_ns = 10; }));
  together({[&] {
    x.awaitCall();
    clock.advance(10);
    x.wait(-1);
  }});
  x.finish(); // releases the place
  queue.drain();
  CHECK(x.end.outcome == INTURN_TIMED_OUT);
}

// When ten nanoseconds have passed.
static With cutOff() {
  With timed = with([](auto &o) { o.max_run_ns = 10; });
  timed.hasDeadline = true;
  return timed;
}

// It was cut off in its call, and others start when its token is finished.
SCENARIO(a_call_that_is_cut_off_keeps_an_actors_place) {
  bool isDone = false;
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_ACTOR);
  queue.add(
      "x",
      [&](Operation &it) {
        clock.advance(10);
        isDone = true;
        it.finish();
      },
      cutOff());
  queue.add("y", [&](Operation &it) {
    CHECK(isDone);
    it.finish();
  });
}

// Whichever comes first of its token's end and its call's.
SCENARIO(a_call_that_is_cut_off_gives_an_actors_place_on) {
  bool isDone = false;
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_ACTOR);
  Operation &x = queue.add(
      "x",
      [&](Operation &) {
        clock.advance(10);
        isDone = true;
      },
      cutOff());
  auto looks = [&](Operation &it) {
    CHECK(isDone || x.finishesBegun > 0 || x.calls == 0);
    it.finish();
  };
  queue.add("y", looks);
  together({x.finisher(), [&] { queue.add("z", looks); },
            [&] { queue.cancelAll(); }});
  model_settle(true);
  for (const auto &operation : queue.all())
    CHECK(operation->isOver());
}

// The operation only has to be released, which two threads are about to do; a
// third operation may then get its slot.
SCENARIO(a_deadline_meets_the_return_of_what_asks_for_nothing) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  other.suspend();
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.max_run_ns = 10;
  options.max_run_policy = INTURN_MAX_RUN_FREE;
  bool isCalled = false;
  auto work = [](void *isCalled, inturn_token) {
    *static_cast<bool *>(isCalled) = true;
  };
  together({[&] {
              expect("enqueue",
                     inturn_queue_enqueue_with(queue.handle, &options, work,
                                               &isCalled, nullptr, nullptr),
                     {INTURN_OK});
            },
            [&] {
              await("the call", [&] { return isCalled; });
              clock.advance(10);
              other.add("x", finishes, {.handle = true});
            }});
  queue.drain();
  other.add("y", finishes, {.handle = true});
  other.resume();
  other.drain();
}

SCENARIO(advancing_a_clock_meets_enqueue_and_destruction) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_CONCURRENT);
  With limited = with([](auto &o) {
    o.max_wait_ns = 5;
    o.label = "limited";
  });
  together({[&] { queue.add("x", finishes, limited); },
            [&] { clock.advance(10); }, [&] { queue.destroy(); }});
}

static Operation &armWhileAdvancing(ManualClock &clock, Queue &queue) {
  queue.suspend();
  With limited = with([](auto &o) { o.max_wait_ns = 5; });
  Operation *x = nullptr;
  together({[&] { x = &queue.add("x", finishes, limited); },
            [&] { clock.advance(10); }});
  return *x;
}

// A timer armed while the clock passes its moment needs no other advance.
SCENARIO(arming_meets_the_advance_past_its_moment) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = armWhileAdvancing(clock, queue);
  model_settle(false);
  const bool wasOver = x.isOver();
  clock.advance(0);
  model_settle(false);
  CHECK(x.isOver() == wasOver);
  queue.resume();
}

// Once an advance has returned, everything due has been handed over, even by
// the thread that fires what was armed late.
SCENARIO(an_advance_waits_for_what_is_fired_late) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = armWhileAdvancing(clock, queue);
  auto hasEnded = [&] {
    inturn_operation_state state;
    expect("get_state", inturn_operation_get_state(x.handle, &state),
           {INTURN_OK});
    return state == INTURN_ENDED;
  };
  clock.advance(0);
  const bool wasOver = hasEnded();
  model_settle(false);
  CHECK(hasEnded() == wasOver);
  queue.resume();
}

SCENARIO(a_retry_waits_for_a_clock) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_FIFO);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  retry.delay_ns = 10;
  Operation &x = queue.add(
      "x",
      [](Operation &it) {
        it.mayRestart = true;
        it.calls == 1 ? it.fail(1) : it.finish();
      },
      with([&](auto &o) { o.retry = &retry; }));
  x.mayRestart = true;
  together({[&] {
              x.awaitCall();
              while (x.calls < 2 && !x.isOver()) {
                clock.advance(10);
                model_settle(false);
              }
            },
            [&] { queue.add("y", finishes); }});
}

// An attempt that runs too long, with a cancel handler.
static void meetsTooLong(inturn_max_run_policy policy, bool isInCall,
                         const std::function<void(Queue &, Operation &)> &act) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_FIFO);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  bool hasPassed = false, isHandling = false;
  Operation &x = queue.add(
      "x",
      [&](Operation &it) {
        if (isHandling)
          model_fail("x is called while its cancel handler is");
        inturn_status status = inturn_token_on_cancel(
            it.token,
            [](void *context, inturn_token) {
              *static_cast<bool *>(context) = true;
              model_point(context);
              *static_cast<bool *>(context) = false;
            },
            &isHandling, nullptr);
        expect("on_cancel", status, {INTURN_OK, INTURN_E_ALREADY_FINISHED});
        if (isInCall && it.calls == 1)
          await("the time to pass", [&] { return hasPassed; });
      },
      with([&](auto &o) {
        o.retry = &retry;
        o.max_run_ns = 10;
        o.max_run_policy = policy;
      }));
  x.mayRestart = x.mayBeCutOff = true;
  together({[&] {
              x.awaitCall();
              clock.advance(10);
              hasPassed = true;
            },
            [&] { act(queue, x); }});
  queue.finishAll();
}

static void meetsTooLong(const std::function<void(Queue &, Operation &)> &act) {
  meetsTooLong(INTURN_MAX_RUN_HOLD, false, act);
}

static void finishes_it(Queue &, Operation &x) {
  x.awaitCall();
  x.finish();
}

SCENARIO(an_attempt_that_is_too_long_meets_finish) {
  meetsTooLong(finishes_it);
}

SCENARIO(an_attempt_that_is_too_long_in_its_call_meets_finish) {
  meetsTooLong(INTURN_MAX_RUN_HOLD, true, finishes_it);
}

SCENARIO(an_attempt_whose_place_is_freed_meets_finish) {
  meetsTooLong(INTURN_MAX_RUN_FREE, false, finishes_it);
}

SCENARIO(an_attempt_whose_place_is_freed_in_its_call_meets_enqueue) {
  meetsTooLong(INTURN_MAX_RUN_FREE, true,
               [](Queue &queue, Operation &) { queue.add("y", finishes); });
}

SCENARIO(an_attempt_that_is_too_long_meets_cancel) {
  meetsTooLong([](Queue &, Operation &x) { x.cancel(); });
}

SCENARIO(an_attempt_that_is_too_long_in_its_call_meets_cancel_of_all) {
  meetsTooLong(INTURN_MAX_RUN_HOLD, true,
               [](Queue &queue, Operation &) { queue.cancelAll(); });
}

SCENARIO(an_attempt_that_is_too_long_meets_the_destruction) {
  meetsTooLong([](Queue &queue, Operation &x) {
    x.awaitCall();
    queue.destroy();
  });
}

SCENARIO(an_attempt_whose_place_is_freed_meets_the_destruction) {
  meetsTooLong(INTURN_MAX_RUN_FREE, false, [](Queue &queue, Operation &x) {
    x.awaitCall();
    queue.destroy();
  });
}

// Only the segment has the token: nobody comes again to give the place up.
SCENARIO(a_segment_meets_the_end_of_its_operations_time) {
  ManualClock clock;
  Queue queue = clock.queue(INTURN_QUEUE_ACTOR);
  Operation &x =
      queue.add("x", keeps, with([](auto &o) { o.max_run_ns = 10; }));
  x.mayBeCutOff = true;
  together({[&] {
              x.awaitCall();
              clock.advance(10);
            },
            [&] {
              x.awaitCall();
              inturn_status status = inturn_token_resume(
                  x.token,
                  [](void *context, inturn_token) {
                    static_cast<Operation *>(context)->finish();
                  },
                  &x, nullptr);
              expect("resume", status, {INTURN_OK, INTURN_E_ALREADY_FINISHED});
            },
            [&] { queue.add("y", finishes); }});
  expect("drain", queue.drain(), {INTURN_OK});
}

// A notice that finds nothing to call is also waited for.
SCENARIO(an_attempt_whose_place_is_freed_waits_for_an_idle_notice) {
  ManualClock clock;
  Queue queue(INTURN_QUEUE_INTERACTION, {0}, [&](auto &o) {
    expect("executor_pool", inturn_executor_pool(&o.executor), {INTURN_OK});
    o.clock = clock.handle;
    o.settle_ns = o.gap_ns = INTURN_NO_DELAY;
  });
  queue.appear();
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  int called = 0;
  Operation &x = queue.add("x", keeps, with([&](auto &o) {
                             o.retry = &retry;
                             o.max_run_ns = 10;
                             o.max_run_policy = INTURN_MAX_RUN_FREE;
                           }));
  x.mayRestart = x.mayBeCutOff = true;
  x.awaitCall();
  expect(
      "on_preempt",
      inturn_token_on_preempt(
          x.token,
          [](void *context, inturn_token) { ++*static_cast<int *>(context); },
          &called, nullptr),
      {INTURN_OK});
  together({[&] { clock.advance(10); },
            [&] {
              Operation &y = queue.add("y", finishes,
                                       with([](auto &o) { o.urgent = true; }));
              y.cancel();
            }});
  queue.finishAll();
}
