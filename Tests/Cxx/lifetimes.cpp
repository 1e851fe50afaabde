/*
 * lifetimes.cpp - what becomes of the work of a queue that goes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

#include <dlfcn.h>

using namespace inturn;

/* Is passed by each drain, before it waits. */
static gate *draining;

extern "C" inturn_status inturn_queue_drain(inturn_queue queue,
                                            std::int64_t timeout_ns) {
  if (draining != nullptr)
    draining->pass();
  const auto drain = reinterpret_cast<decltype(&inturn_queue_drain)>(
      dlsym(RTLD_NEXT, "inturn_queue_drain"));
  return drain(queue, timeout_ns);
}

TEST(destroying_a_queue_ends_its_operations_as_cancelled) {
  trace trace;
  queue_options options;
  const auto add = [&](queue &queue, const char *name) {
    operation_options options;
    options.on_end = [&trace, name](const end &end) {
      CHECK_EQUAL(end.outcome, outcome::cancelled);
      CHECK_EQUAL(end.cause, cause::destroyed);
      trace.say(name);
    };
    queue.enqueue([](token) { FAIL("it runs"); }, std::move(options));
  };
  {
    stage stage;
    add(stage.queue, "first");
    add(stage.queue, "second");
  }
  CHECK_EQUAL(trace.take(), "first, second");
}

/* Work for `queue` that a thread of its own ends, as soon as `go_on` is passed;
   says so in `trace`. */
static void enqueue_slow(queue_ref queue, gate &go_on, trace &trace,
                         std::vector<std::thread> &threads, const char *name) {
  queue.enqueue([&go_on, &trace, &threads, name](token token) {
    threads.emplace_back(
        [&go_on, &trace, name, token = std::move(token)]() mutable {
          go_on.wait();
          trace.say(name);
          token.finish();
        });
  });
}

static void join(std::vector<std::thread> &threads) {
  for (std::thread &thread : threads)
    thread.join();
}

TEST(a_queue_that_goes_out_of_scope_lets_its_work_end) {
  trace trace;
  gate go_on;
  std::vector<std::thread> threads;
  for (const queue_kind kind : {fifo, concurrent}) {
    queue_options options;
    options.max_concurrent = kind == concurrent ? 1 : 0;
    queue moved(kind, std::move(options));
    queue queue = std::move(moved);
    for (const char *name : {"first", "second", "third"})
      enqueue_slow(queue, go_on, trace, threads, name);
    go_on.pass();
  }
  CHECK_EQUAL(trace.take(), "first, second, third, first, second, third");
  join(threads);
}

TEST(a_queue_that_is_reset_or_moved_to_lets_its_work_end) {
  trace trace;
  queue queue;
  queue.enqueue([&] {
    queue_ref(queue).enqueue([&] { trace.say("added by work"); });
    trace.say("work");
  });
  queue = inturn::queue();
  CHECK_EQUAL(trace.take(), "work, added by work");
  queue.enqueue([&] { trace.say("more"); });
  queue.reset();
  CHECK_EQUAL(trace.take(), "more");
  CHECK(!queue);
  queue.reset();
}

/* What the call `add` of a queue's last operation adds while the queue goes is
   done. */
static void check_last_addition(
    const std::function<void(queue &, std::function<void()> add)> &post) {
  gate ended, drains, done;
  {
    queue queue;
    post(queue, [&, ref = queue_ref(queue)] {
      ended.pass();
      drains.wait();
      ref.post([&] { done.pass(); });
    });
    ended.wait();
    draining = &drains;
  }
  draining = nullptr;
  CHECK_EQUAL(done.count(), 1);
}

TEST(what_the_last_operation_adds_at_its_end_is_done_before_the_queue_goes) {
  check_last_addition([](queue &queue, std::function<void()> add) {
    operation_options options;
    options.on_end = [add = std::move(add)](const end &) { add(); };
    queue.post([] {}, std::move(options));
  });
  check_last_addition([](queue &queue, std::function<void()> add) {
    std::shared_ptr<void> adds(nullptr, [add](void *) { add(); });
    queue.post([adds = std::move(adds)] {});
  });
}

/* How the second of two operations ends when its queue is destroyed, and nobody
   finishes the first. */
static outcome end_of_pending(queue_options options,
                              const std::function<void(queue &)> &last,
                              queue_kind kind = fifo) {
  kept_token kept;
  std::optional<operation> pending;
  try {
    queue queue(kind, std::move(options));
    operation_options held;
    held.label = "held";
    queue.post(kept.keep(), std::move(held));
    pending = queue.enqueue([] {});
    last(queue);
  } catch (const failure &) {
  }
  CHECK(!kept.token || !kept.token.finish());
  return pending->wait_for(limit)->outcome;
}

TEST(a_queue_cancels_its_work_where_nobody_may_be_left_to_do_it) {
  executor executor;
  queue_options host, cancels;
  host.executor = executor;
  cancels.when_destroyed = when_destroyed::cancel;
  const auto nothing = [](queue &) {};
  reports reports;
  CHECK_EQUAL(end_of_pending(std::move(cancels), nothing), outcome::cancelled);
  CHECK_EQUAL(reports.take(), "");
  CHECK_EQUAL(end_of_pending(std::move(host), nothing), outcome::cancelled);
  CHECK_EQUAL(reports.take(), "a queue has gone with 2 operations left, which "
                              "end as cancelled; the first is \"held\"");
  CHECK_EQUAL(end_of_pending({}, nothing, interaction), outcome::cancelled);
  CHECK_EQUAL(end_of_pending({}, [](queue &) { throw failure(1); }),
              outcome::cancelled);
  CHECK_EQUAL(end_of_pending({},
                             [](queue &queue) {
                               const auto adopted =
                                   inturn::queue(queue::adopt(queue.release()));
                             }),
              outcome::cancelled);
}

TEST(a_queue_drains_a_hosts_executor_where_that_is_asked_for) {
  trace trace;
  executor executor;
  std::thread host([&] { executor.run(); });
  {
    queue_options options;
    options.executor = executor;
    options.when_destroyed = when_destroyed::drain;
    queue queue(fifo, std::move(options));
    queue.enqueue([&] { trace.say("first"); });
    queue.enqueue([&] { trace.say("second"); });
  }
  CHECK_EQUAL(trace.take(), "first, second");
  executor.stop();
  host.join();
}

/* Work that waits until its queue drains, and another one, are done. */
static void check_queue_on_pool(queue queue) {
  gate drains, done;
  queue.post([&] { drains.wait(); });
  queue.post([&] { done.pass(); });
  draining = &drains;
  queue.reset();
  draining = nullptr;
  CHECK_EQUAL(done.count(), 1);
}

TEST(a_queue_goes_by_the_executor_that_it_has_in_the_end) {
  reports reports;
  executor executor;
  queue_options on_pool, on_host;
  on_pool.executor = pool();
  check_queue_on_pool(queue(fifo, std::move(on_pool)));
  on_host.executor = executor;
  queue queue(fifo, std::move(on_host));
  queue.set_executor(pool());
  check_queue_on_pool(std::move(queue));
  CHECK_EQUAL(reports.take(), "");

  queue_options elsewhere;
  elsewhere.executor = executor;
  inturn::queue waiting(fifo, std::move(elsewhere));
  const operation there = waiting.enqueue([] {});
  waiting.set_executor(pool());
  waiting.reset();
  CHECK_EQUAL(there.wait().cause, cause::destroyed);

  inturn::queue moved;
  moved.set_executor(executor);
  const operation pending = moved.enqueue([] {});
  moved.reset();
  CHECK_EQUAL(pending.wait().cause, cause::destroyed);
}

TEST(a_queue_may_go_with_its_own_last_work) {
  reports reports;
  gate gone, go_on;
  {
    const auto shared = std::make_shared<queue>();
    shared->enqueue(
        [shared, &go_on, counted = counted(gone)] { go_on.wait(); });
  }
  go_on.pass();
  gone.wait();
  CHECK_EQUAL(reports.take(), "");
}

TEST(a_queue_may_go_in_its_own_last_callback) {
  reports reports;
  gate gone, go_on;
  const auto shared = std::make_shared<queue>();
  operation_options options;
  options.on_end = [shared, &go_on, counted = counted(gone)](const end &) {
    go_on.wait();
    shared->reset();
  };
  shared->post([] {}, std::move(options));
  go_on.pass();
  gone.wait();
  CHECK_EQUAL(reports.take(), "");
}

TEST(a_queue_may_go_in_a_call_that_outlasts_its_last_operation) {
  reports reports;
  gate gone;
  const auto ended_first = std::make_shared<queue>();
  ended_first->post([ended_first, counted = counted(gone)](token token) {
    token.finish();
    ended_first->reset();
  });
  gone.wait();

  const auto observed = std::make_shared<queue>();
  auto running = observed->observed_running();
  const auto seen = running.observe([&](const change<std::int64_t> &change) {
    if (change.after() == 0) {
      observed->reset();
      gone.pass();
    }
  });
  observed->post([] {});
  gone.wait(2);
  CHECK_EQUAL(reports.take(), "");
}

TEST(work_may_use_its_queue_while_that_is_destroyed) {
  gate begun, refused;
  {
    queue_options options;
    options.when_destroyed = when_destroyed::cancel;
    queue queue(fifo, std::move(options));
    queue.enqueue([&] {
      begun.pass();
      const auto until = std::chrono::steady_clock::now() + limit;
      try {
        while (std::chrono::steady_clock::now() < until)
          queue.statistics();
      } catch (const error &error) {
        CHECK(error.code() == errc::stale);
        refused.pass();
      }
    });
    begun.wait();
  }
  CHECK_EQUAL(refused.count(), 1);
}
