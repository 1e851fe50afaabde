/*
 * coroutines.cpp - turns, ends and work as coroutines; with C++20.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

#include <dlfcn.h>

using namespace inturn;

/* A coroutine that nobody awaits. */
struct loose {
  struct promise_type {
    loose get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/* What a coroutine waits for until the test lets it go on. */
struct stop {
  std::coroutine_handle<> waiting;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { waiting = coroutine; }
  void await_resume() const noexcept {}
};

static loose take_turn(queue_ref queue, stop &stop, trace &trace, char name) {
  const auto turn = co_await queue.turn();
  trace.say(std::string("begins ") + name);
  co_await stop;
  trace.say(std::string("ends ") + name);
}

TEST(a_turn_holds_the_queue_until_it_is_gone) {
  stage stage;
  trace trace;
  stop first, second;
  take_turn(stage.queue, first, trace, 'a');
  take_turn(stage.queue, second, trace, 'b');
  CHECK_EQUAL(trace.take(), "");
  stage.drain();
  CHECK_EQUAL(trace.take(), "begins a");
  first.waiting.resume();
  stage.drain();
  CHECK_EQUAL(trace.take(), "ends a, begins b");
  second.waiting.resume();
  stage.drain();
  CHECK_EQUAL(stage.queue.statistics().finished, 2u);
}

static loose expect_none(queue_ref queue, outcome expected, gate &passed) {
  try {
    const auto turn = co_await queue.turn();
    FAIL("there is a turn");
  } catch (const not_finished &none) {
    CHECK_EQUAL(none.outcome, expected);
    passed.pass();
  }
}

TEST(a_turn_that_is_cancelled_before_it_comes_throws) {
  stage stage;
  gate passed;
  stage.queue.suspend();
  expect_none(stage.queue, outcome::cancelled, passed);
  stage.queue.cancel_all();
  stage.drain();
  CHECK_EQUAL(passed.count(), 1);
  expect_none(stage.queue, outcome::cancelled, passed);
  stage.queue.reset();
  CHECK_EQUAL(passed.count(), 2);
}

static loose expect_refused(queue_ref queue, gate &passed) {
  CHECK_REFUSED(closed, const auto turn = co_await queue.turn());
  operation_options retried;
  retried.retry = retry();
  CHECK_REFUSED(invalid_argument,
                const auto turn = co_await queue.turn(std::move(retried)));
  passed.pass();
}

TEST(a_turn_of_a_closed_queue_is_refused_and_one_has_no_retry) {
  stage stage;
  gate passed;
  stage.queue.close();
  expect_refused(stage.queue, passed);
  CHECK_EQUAL(passed.count(), 1);
}

static loose finish_early(queue_ref queue, gate &passed) {
  auto turn = co_await queue.turn();
  CHECK(!turn.is_cancelled());
  CHECK(turn.finish());
  CHECK(!turn.finish());
  CHECK(turn.is_cancelled());
  auto other = co_await queue.turn();
  turn = std::move(other);
  auto &same = turn;
  turn = std::move(same);
  CHECK(turn.fail(7));
  passed.pass();
}

TEST(a_turn_may_be_ended_before_it_is_gone) {
  stage stage;
  gate passed;
  finish_early(stage.queue, passed);
  stage.drain();
  CHECK_EQUAL(passed.count(), 1);
  CHECK_EQUAL(stage.queue.statistics().finished, 1u);
  CHECK_EQUAL(stage.queue.statistics().failed, 1u);
}

static loose leave_in_child(queue_ref queue, gate &passed) {
  auto turn = std::make_unique<inturn::turn>(co_await queue.turn());
  CHECK_EQUAL(in_child([&] { turn.reset(); }), 0);
  passed.pass();
}

TEST(an_inherited_turn_is_destroyed_in_peace_after_a_fork) {
  stage stage;
  gate passed;
  leave_in_child(stage.queue, passed);
  stage.drain();
  CHECK_EQUAL(passed.count(), 1);
  CHECK_EQUAL(stage.queue.statistics().finished, 1u);
}

static loose await_end(operation_ref operation, outcome expected,
                       gate &passed) {
  const end end = co_await operation;
  CHECK_EQUAL(end.outcome, expected);
  passed.pass();
}

/* How many operations somebody waits for, as far as the library knows. */
static int waited_for() {
  int count = 0;
  const auto visit = +[](void *count, const inturn_entry *entry) noexcept {
    *static_cast<int *>(count) += entry->kind == INTURN_ENTRY_OPERATION &&
                                  (entry->flags & INTURN_ENTRY_WAITED_FOR) != 0;
    return true;
  };
  CHECK_EQUAL(inturn_snapshot(visit, &count), INTURN_OK);
  return count;
}

TEST(the_end_of_an_operation_can_be_awaited) {
  stage stage;
  gate passed;
  kept_token kept;
  const operation held = stage.queue.enqueue(kept.keep());
  CHECK_EQUAL(waited_for(), 0);
  await_end(held, outcome::failed, passed);
  CHECK_EQUAL(waited_for(), 1);
  stage.drain();
  CHECK_EQUAL(passed.count(), 0);
  kept.token.fail(3);
  passed.wait(1);
  await_end(held, outcome::failed, passed);
  CHECK_EQUAL(passed.count(), 2);
  const operation cancelled = stage.queue.enqueue([] {});
  await_end(cancelled, outcome::cancelled, passed);
  cancelled.cancel();
  passed.wait(3);
}

static task<> let_go(stop &stop) { co_await stop; }

static task<int> seven(stop &stop) {
  co_await let_go(stop);
  co_return 7;
}

TEST(work_that_is_a_coroutine_lasts_until_that_is_over) {
  stage stage;
  stop stop;
  int got = 0;
  const operation work =
      stage.queue.enqueue([&]() -> task<> { got = co_await seven(stop); });
  stage.drain();
  CHECK_EQUAL(work.state(), operation_state::running);
  stop.waiting.resume();
  stage.drain();
  CHECK_EQUAL(work.wait().outcome, outcome::finished);
  CHECK_EQUAL(got, 7);
}

#if defined(__clang__) /* GCC without optimization takes stack for each */
static task<int> one() { co_return 1; }

TEST(a_million_tasks_in_a_loop_take_no_more_stack_than_one) {
  queue queue;
  std::future<int> sum = queue.run([]() -> task<int> {
    int sum = 0;
    for (int i = 0; i < 1000000; i++)
      sum += co_await one();
    co_return sum;
  });
  CHECK_EQUAL(sum.get(), 1000000);
}
#endif

TEST(a_coroutine_is_asked_to_end_by_its_token) {
  stage stage;
  stop stop;
  bool was_asked = false;
  gate destroyed;
  const operation work = stage.queue.enqueue(
      [&, counted = counted(destroyed)](token_ref token) -> task<> {
        co_await let_go(stop);
        was_asked = token.is_cancelled();
      });
  stage.drain();
  CHECK(work.cancel());
  CHECK_EQUAL(destroyed.count(), 0);
  stop.waiting.resume();
  stage.drain();
  CHECK(was_asked);
  CHECK_EQUAL(destroyed.count(), 1);
}

static task<int> throw_late(stop &stop) {
  co_await stop;
  throw std::runtime_error("the disk is full");
}

TEST(what_a_coroutine_throws_fails_its_operation_and_is_reported) {
  stage stage;
  stop stop;
  reports reports;
  const operation work = stage.queue.enqueue([&] { return throw_late(stop); });
  stage.drain();
  stop.waiting.resume();
  stage.drain();
  CHECK_EQUAL(work.wait().outcome, outcome::failed);
  CHECK_EQUAL(reports.take(),
              "the work at coroutines.cpp:" + std::to_string(__LINE__ - 6) +
                  " has thrown, and nobody is told: the disk is full");
}

TEST(run_gives_what_a_coroutine_gives_or_throws) {
  stage stage;
  stop first, second;
  auto result = stage.queue.run([&] { return seven(first); });
  auto thrown = stage.queue.run([&] { return throw_late(second); });
  auto nothing = stage.queue.run([]() -> task<> { co_return; });
  stage.drain();
  first.waiting.resume();
  stage.drain();
  CHECK_EQUAL(result.get(), 7);
  second.waiting.resume();
  stage.drain();
  try {
    thrown.get();
    FAIL("nothing is thrown");
  } catch (const std::runtime_error &error) {
    CHECK_EQUAL(std::string(error.what()), "the disk is full");
  }
  nothing.get();
}

/* Its queue goes while it waits, and then it throws. */
static void check_coroutine_that_outlasts_its_queue(bool has_callbacks) {
  reports reports;
  std::weak_ptr<int> captured;
  std::future<int> result;
  stop stop;
  {
    stage stage;
    auto seven = std::make_shared<int>(7);
    captured = seven;
    auto work = [seven = std::move(seven), &stop]() -> task<int> {
      auto &until =
          stop; /* GCC 12 would wait with a copy of what is captured */
      co_await until;
      CHECK_EQUAL(*seven, 7);
      throw std::runtime_error("too late");
    };
    if (has_callbacks)
      result = stage.queue.run(std::move(work));
    else
      stage.queue.post(std::move(work));
    stage.drain();
  }
  CHECK(!captured.expired());
  stop.waiting.resume();
  CHECK(captured.expired());
  if (!has_callbacks)
    return;
  try {
    result.get();
    FAIL("the operation has finished");
  } catch (const not_finished &end) {
    CHECK_EQUAL(end.cause, cause::destroyed);
  }
}

TEST(what_a_coroutine_has_captured_is_there_until_it_is_over) {
  check_coroutine_that_outlasts_its_queue(false);
  check_coroutine_that_outlasts_its_queue(true);
}

TEST(what_a_coroutine_has_captured_is_gone_before_the_next_operation_begins) {
  gate destroyed, stopped, woken, drained, begun;
  stop stop;
  executor executor;
  queue_options options;
  options.executor = executor;
  queue queue(fifo, std::move(options));
  operation_options told;
  told.on_end = [counted = counted(destroyed)](const end &) {};
  queue.post(
      [counted = counted(destroyed), &stop]() -> task<> {
        auto &until = stop; /* see above */
        co_await until;
      },
      std::move(told));
  queue.post([&] {
    CHECK_EQUAL(destroyed.count(), 2);
    begun.pass();
  });
  std::thread host([&] {
    executor.drain();
    stopped.pass();
    woken.wait();
    executor.drain();
    drained.pass();
  });
  stopped.wait();
  /* Holds this thread in the call that finishes the token. */
  executor.set_wake([&, here = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != here)
      return;
    woken.pass();
    drained.wait();
  });
  stop.waiting.resume();
  CHECK_EQUAL(begun.count(), 1);
  executor.set_wake({});
  host.join();
}

static task<> count_up(queue_ref queue, int &count) {
  for (int i = 0; i < 100; i++) {
    const auto turn = co_await queue.turn();
    count++;
  }
}

TEST(turns_of_many_coroutines_on_a_pool_never_overlap) {
  queue queue, others(concurrent);
  int count = 0;
  for (int i = 0; i < 10; i++)
    others.post([&] { return count_up(queue, count); });
  others.drain();
  queue.drain();
  CHECK_EQUAL(count, 1000);
}

static task<> wait_for_own_queue(queue_ref own) {
  CHECK_REFUSED(deadlock, const auto turn = co_await own.turn());
  const operation behind = own.enqueue([] {});
  CHECK_REFUSED(deadlock, co_await behind);
}

TEST(a_wait_inside_a_task_that_could_never_end_throws) {
  stage stage;
  reports reports;
  bool is_over = false;
  const operation work = stage.queue.enqueue([&]() -> task<> {
    co_await wait_for_own_queue(stage.queue);
    is_over = true;
  });
  stage.drain();
  CHECK(is_over);
  CHECK_EQUAL(work.wait().outcome, outcome::finished);
  const auto counts = stage.queue.statistics();
  CHECK_EQUAL(counts.finished, 2u); /* it, and what it did not wait for */
  CHECK_EQUAL(counts.cancelled, 1u);
  CHECK(reports.take().find("never end") != std::string::npos);
}

static task<> wait_for(operation_ref operation, bool &is_refused) {
  try {
    co_await operation;
  } catch (const error &refusal) {
    is_refused = refusal.code() == errc::deadlock;
  }
}

/* Is called once, before the next operation is cancelled. */
static std::function<void()> before_cancel;

extern "C" inturn_status inturn_operation_cancel(inturn_operation operation) {
  if (const auto call = std::exchange(before_cancel, nullptr))
    call();
  const auto cancel = reinterpret_cast<decltype(&inturn_operation_cancel)>(
      dlsym(RTLD_NEXT, "inturn_operation_cancel"));
  return cancel(operation);
}

static task<> expect_refusal(queue_ref queue, stop &stop, gate &refused) {
  co_await stop;
  try {
    const auto turn = co_await queue.turn();
    FAIL("the turn is not refused");
  } catch (const error &error) {
    CHECK_EQUAL(error.status(), errc::deadlock);
    refused.pass();
  }
}

TEST(a_refused_turn_that_comes_before_it_is_cancelled_holds_up_nobody) {
  reports reports;
  gate refused;
  stop stop;
  stage stage;
  token_ref waiting;
  stage.queue.enqueue([&](token_ref token) {
    waiting = token;
    return expect_refusal(stage.queue, stop, refused);
  });
  stage.drain();
  before_cancel = [&] {
    waiting.finish();
    stage.drain();
  };
  stop.waiting.resume();
  CHECK_EQUAL(refused.count(), 1);
  stage.drain();
  CHECK(stage.queue.drain_for(nanoseconds(0)));
  CHECK_EQUAL(stage.queue.statistics().cancelled, 1u);
}

TEST(a_ring_of_tasks_is_refused_to_the_last) {
  stage one, other;
  reports reports;
  stop stop;
  bool first = false, second = false;
  operation later;
  const operation a = one.queue.enqueue([&]() -> task<> {
    co_await let_go(stop);
    co_await wait_for(later, first);
  });
  one.drain();
  later = other.queue.enqueue([&]() -> task<> { return wait_for(a, second); });
  other.drain();
  stop.waiting.resume();
  one.drain();
  CHECK(first && !second);
  CHECK_EQUAL(later.wait().outcome, outcome::finished);
  CHECK_EQUAL(a.wait().outcome, outcome::finished);
}

/* A thread that waits inside of work closes the ring, or the task does. */
TEST(a_ring_of_a_thread_and_a_task_is_refused) {
  for (const bool is_thread_last : {false, true}) {
    queue threads;
    stage tasks;
    reports reports;
    stop stop;
    gate refused;
    bool is_task_refused = false;
    operation task_work, thread_work;
    task_work = tasks.queue.enqueue([&]() -> task<> {
      co_await let_go(stop);
      co_await wait_for(thread_work, is_task_refused);
    });
    tasks.drain();
    threads.suspend();
    thread_work = threads.enqueue([&] {
      try {
        task_work.wait();
      } catch (const error &refusal) {
        CHECK(refusal.code() == errc::deadlock);
        refused.pass();
      }
    });
    if (is_thread_last)
      stop.waiting.resume();
    threads.resume();
    if (is_thread_last) {
      refused.wait(1);
    } else {
      for (int waits = 0; waits == 0;)
        snapshot([&](const inturn_entry &entry) {
          waits += entry.kind == INTURN_ENTRY_WAIT;
          return true;
        });
      stop.waiting.resume();
    }
    threads.drain();
    CHECK_EQUAL(task_work.wait().outcome, outcome::finished);
    CHECK_EQUAL(is_task_refused, !is_thread_last);
  }
}

/* What a coroutine of another kind says of its wait. */
TEST(a_wait_of_ones_own_is_begun_and_ended) {
  stage one, other;
  reports reports;
  kept_token a, b;
  const operation first = one.queue.enqueue(a.keep());
  const operation second = other.queue.enqueue(b.keep());
  one.drain();
  other.drain();
  {
    const await wait = begin_await(second, a.token);
    CHECK(wait);
    CHECK_REFUSED(deadlock, const await none = begin_await(first, b.token));
    CHECK_REFUSED(deadlock, const await none = begin_await(one.queue, b.token));
  }
  await wait = begin_await(first, b.token);
  wait.reset();
  b.token.finish();
  CHECK_REFUSED(already_finished,
                const await none = begin_await(second, a.token));
  const token_ref over = a.token;
  a.token.finish();
  CHECK(!begin_await(other.queue, over));
}
