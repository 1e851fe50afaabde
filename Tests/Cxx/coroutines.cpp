/*
 * coroutines.cpp - turns, ends and work as coroutines; with C++20.
 *
 * SPDX-License-Identifier: MIT
 */
#include "coroutines.hpp"

using namespace inturn;

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

static loose expect_none(queue_ref queue, outcome expected, gate &passed,
                         operation_options options = {}) {
  try {
    const auto turn = co_await queue.turn(std::move(options));
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

TEST(a_turn_that_is_skipped_throws) {
  stage stage;
  gate passed;
  operation_options options;
  options.condition = [] { return verdict::skip; };
  expect_none(stage.queue, outcome::finished, passed, std::move(options));
  stage.drain();
  CHECK_EQUAL(passed.count(), 1);
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

TEST(what_is_awaited_in_work_has_the_line) {
  for (const bool is_turn : {true, false}) {
    stage other, stage;
    kept_token kept;
    const operation held = other.queue.enqueue(kept.keep());
    other.drain();
    int line = 0, told = 0;
    const operation work = stage.queue.enqueue([&]() -> task<> {
      line = __LINE__ + (is_turn ? 2 : 4);
      if (is_turn)
        const auto turn = co_await other.queue.turn();
      else
        co_await held;
    });
    stage.drain();
    snapshot([&](const inturn_entry &entry) {
      if (entry.kind == INTURN_ENTRY_WAIT)
        told = int(entry.line);
      return told == 0;
    });
    CHECK_EQUAL(told, line);
    kept.token.finish();
    other.drain();
    CHECK_EQUAL(work.wait().outcome, outcome::finished);
  }
}

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

TEST(what_an_attempt_that_was_cut_off_throws_is_not_the_next_ones) {
  stage stage(queue_kind::concurrent);
  stop first, second;
  reports reports;
  gate told;
  int attempts = 0;
  operation_options options;
  options.max_run = std::chrono::seconds(1);
  options.max_run_policy = max_run_policy::free;
  options.retry = retry();
  options.retry->max_attempts = 2;
  options.on_end = [&](const end &end) {
    CHECK_EQUAL(end.code, 9);
    CHECK(end.exception == nullptr);
    told.pass();
  };
  stage.queue.post(
      [&](token_ref token) -> task<> {
        if (++attempts == 1)
          co_await throw_late(first);
        co_await let_go(second);
        token.fail(9);
      },
      std::move(options));
  stage.drain();
  stage.advance(std::chrono::seconds(1));
  CHECK_EQUAL(attempts, 2);
  first.waiting.resume();
  second.waiting.resume();
  stage.drain();
  CHECK_EQUAL(told.count(), 1);
  CHECK(reports.take().find("told: the disk is full") != std::string::npos);
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

static task<const std::string &> name_of(const std::string &kept, stop &stop) {
  co_await stop;
  co_return kept;
}

TEST(a_task_gives_a_reference_to_what_is_elsewhere) {
  stage stage;
  stop stop;
  const std::string kept = "kept";
  std::future<const std::string &> name =
      stage.queue.run([&]() -> task<const std::string &> {
        const std::string &name = co_await name_of(kept, stop);
        co_return name;
      });
  stage.drain();
  stop.waiting.resume();
  stage.drain();
  CHECK_EQUAL(&name.get(), &kept);
}

static task<std::pair<int, std::string>> pair() { co_return {7, "seven"}; }

TEST(a_task_gives_what_is_made_in_braces) {
  queue queue;
  CHECK_EQUAL(queue.run(pair).get().second, "seven");
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
