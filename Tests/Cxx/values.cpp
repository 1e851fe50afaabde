/*
 * values.cpp - observed values.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

using namespace inturn;
using namespace std::chrono_literals;

namespace {

/* A type of a program's own, that counts its copies alive. */
struct account {
  explicit account(std::string name) : name(std::move(name)) { alive++; }
  account(const account &other) : name(other.name) { alive++; }
  account &operator=(const account &) = default;
  ~account() { alive--; }

  static inline std::atomic<int> alive{0};
  std::string name;
};

} // namespace

TEST(a_value_holds_a_number_a_truth_a_string_or_any_type) {
  const value<std::int64_t> number(3);
  const value<double> real(0.5);
  const value<bool> truth(true);
  const value<std::string> text("a", "a label");
  const value<std::vector<int>> list({1, 2});
  number.set(4);
  real.set(1.5);
  truth.set(false);
  text.set(std::string("b\0c", 3));
  list.set({3});
  CHECK_EQUAL(number.get(), 4);
  CHECK_EQUAL(real.get(), 1.5);
  CHECK(!truth.get());
  CHECK(text.get() == std::string("b\0c", 3));
  CHECK(list.get() == std::vector<int>{3});
  CHECK_REFUSED(invalid_argument, text.set("\xff"));
}

TEST(a_value_changes_in_one_step) {
  const value<std::int64_t> number(3);
  CHECK_EQUAL(number.add(4), 7);
  CHECK_EQUAL(number.exchange(9), 7);
  std::int64_t expected = 8;
  CHECK(!number.compare_exchange(expected, 1));
  CHECK_EQUAL(expected, 9);
  CHECK(number.compare_exchange(expected, 1));
  CHECK_EQUAL(number.get(), 1);
  const value<double> real(1);
  CHECK_EQUAL(real.add(0.5), 1.5);
  const value<std::string> text("a");
  std::string a = "a";
  CHECK(text.compare_exchange(a, "b"));
  CHECK_EQUAL(text.exchange("c"), "b");
}

TEST(an_observer_is_told_each_change_from_the_first_on) {
  trace trace;
  const value<std::int64_t> number(1);
  observe_options options;
  options.initial = true;
  {
    const observation observation = number.observe(
        [&](const change<std::int64_t> &change) {
          trace.say(std::to_string(change.number()) + ": " +
                    (change.has_before() ? std::to_string(change.before())
                                         : "nothing") +
                    " to " + std::to_string(change.after()));
        },
        options);
    number.set(2);
    number.add(3);
  }
  number.set(7);
  CHECK_EQUAL(trace.take(), "0: nothing to 1, 1: 1 to 2, 2: 2 to 5");
}

TEST(an_observer_sees_strings_and_objects_without_a_copy) {
  gate told;
  const value<std::string> text("a");
  const observation of_text =
      text.observe([&](const change<std::string> &change) {
        static_assert(
            std::is_same_v<decltype(change.after()), std::string_view>);
        CHECK_EQUAL(change.before(), "a");
        CHECK_EQUAL(change.after(), "b");
        told.pass();
      });
  text.set("b");
  const value<account> owner(account("Ann"));
  const observation of_owner =
      owner.observe([&](const change<account> &change) {
        static_assert(
            std::is_same_v<decltype(change.after()), const account &>);
        CHECK_EQUAL(change.before().name, "Ann");
        CHECK_EQUAL(change.after().name, "Bob");
        told.pass();
      });
  owner.set(account("Bob"));
  CHECK_EQUAL(told.count(), 2);
}

TEST(objects_in_a_value_are_destroyed_when_nobody_needs_them) {
  {
    const value<account> owner(account("Ann"));
    for (int i = 0; i < 100; i++)
      owner.set(account("Bob"));
    CHECK_EQUAL(owner.exchange(account("Cid")).name, "Bob");
    CHECK_EQUAL(owner.get().name, "Cid");
    CHECK_EQUAL(account::alive.load(), 1);
  }
  CHECK_EQUAL(account::alive.load(), 0);
  const value_ref<account> nothing;
  CHECK_REFUSED(null_handle, nothing.set(account("Dan")));
  CHECK_REFUSED(null_handle, nothing.exchange(account("Dan")));
  CHECK_EQUAL(account::alive.load(), 0);
}

TEST(an_observation_that_is_destroyed_is_over) {
  gate destroyed, told;
  const value<bool> truth(false);
  observation observation =
      truth.observe([&told, counted = counted(destroyed)](
                        const change<bool> &) { told.pass(); });
  truth.set(true);
  observation.reset();
  truth.set(false);
  CHECK_EQUAL(told.count(), 1);
  CHECK_EQUAL(destroyed.count(), 1);
}

TEST(an_observation_is_cancelled_by_hand_with_a_limit) {
  const value<bool> truth(false);
  const observation observation =
      truth.observe([](const change<bool> &) { FAIL("it is told"); });
  CHECK(observation.cancel_for(limit));
  CHECK_REFUSED(stale, (void)observation.cancel_for(limit));
  truth.set(true);
}

TEST(an_observation_outlives_its_value_in_peace) {
  observation observation;
  {
    const value<bool> truth(false);
    observation = truth.observe([](const change<bool> &) {});
  }
  CHECK_REFUSED(stale, (void)observation.cancel_for(0s));
}

TEST(an_observer_on_a_queue_or_an_executor_is_told_there) {
  gate told;
  stage stage;
  const value<std::int64_t> number(0);
  observe_options on_queue, on_executor;
  on_queue.queue = stage.queue;
  on_executor.executor = stage.executor;
  on_executor.latest = true;
  const auto tell = [&](const change<std::int64_t> &) { told.pass(); };
  const observation first = number.observe(tell, on_queue);
  const observation second = number.observe(tell, on_executor);
  number.set(1);
  CHECK_EQUAL(told.count(), 0);
  CHECK(!number.drain_for(0s));
  stage.drain();
  CHECK(number.drain_for(limit));
  CHECK_EQUAL(told.count(), 2);
}

TEST(a_wait_ends_with_the_change_that_it_waits_for) {
  const value<std::int64_t> number(0);
  std::thread counting([&] {
    for (int i = 0; i < 10; i++)
      number.add(1);
  });
  CHECK_EQUAL(number.wait([](std::int64_t now) { return now >= 10; }), 10);
  counting.join();
  CHECK(!number.wait_for([](std::int64_t now) { return now > 10; }, 1us));
}

TEST(what_a_predicate_throws_arrives_at_its_wait) {
  const value<std::string> text("a");
  try {
    text.wait([](std::string_view) -> bool { throw failure(3); });
    FAIL("nothing is thrown");
  } catch (const failure &failure) {
    CHECK_EQUAL(failure.code(), 3);
  }
}

TEST(the_states_of_queues_operations_and_batches_are_observed_values) {
  trace trace;
  const queue queue;
  queue.suspend();
  const observed<std::int64_t> pending = queue.observed_pending();
  const observed<bool> suspended = queue.observed_suspended();
  const observation observation =
      pending.observe([&](const change<std::int64_t> &change) {
        trace.say(std::to_string(change.before()) + " to " +
                  std::to_string(change.after()));
      });
  const operation operation = queue.enqueue([](token token) {
    token.set_progress(3, 4);
    token.finish();
  });
  const observed<operation_state> state = operation.observed_state();
  const observed<progress> share = operation.observed_progress();
  CHECK(state.get() == operation_state::pending);
  CHECK(suspended.get());
  queue.resume();
  CHECK(state.wait([](operation_state now) {
    return now == operation_state::ended;
  }) == operation_state::ended);
  CHECK((share.get() == progress{3, 4}));
  CHECK_REFUSED(closed, (void)state.wait([](operation_state now) {
    return now == operation_state::pending;
  }));
  queue.drain();
  CHECK_EQUAL(trace.take(), "0 to 1, 1 to 0");
  CHECK(!suspended.get());
  CHECK_EQUAL(queue.observed_running().get(), 0);
  CHECK((queue.observed_progress().get() == progress{1, 1}));

  std::vector<work> works;
  for (int i = 0; i < 3; i++)
    works.push_back([](token token) { token.finish(); });
  const batch batch = queue.enqueue_batch(std::move(works));
  const observed<progress> all = batch.observed_progress();
  CHECK((all.wait([](progress now) { return now.completed == now.total; }) ==
         progress{3, 3}));
  const queue_ref nothing;
  CHECK_REFUSED(null_handle, (void)nothing.observed_pending());
}

TEST(the_next_start_of_a_queue_is_an_observed_moment) {
  queue_options options;
  options.rate = rate{1, 2s};
  stage stage(fifo, std::move(options));
  const observed<nanoseconds> next_start = stage.queue.observed_next_start();
  CHECK(next_start.get() == 0s);
  for (int i = 0; i < 2; i++)
    stage.queue.enqueue([] {});
  stage.drain();
  CHECK(next_start.get() == 2s);
  stage.advance(2s);
  CHECK(next_start.get() == 4s);
}
