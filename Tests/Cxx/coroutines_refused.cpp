/*
 * coroutines_refused.cpp - waits of coroutines that could never end are
 * refused; with C++20.
 *
 * SPDX-License-Identifier: MIT
 */
#include "coroutines.hpp"

#include <dlfcn.h>

using namespace inturn;

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
