/*
 * queues.cpp - queues of each kind, and the options of operations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

#include <limits>

using namespace inturn;
using namespace std::chrono_literals;

TEST(a_queue_is_of_the_kind_that_it_is_made_as) {
  const queue waits{fifo}, overlaps{actor}, dialogs{interaction};
  queue_options options;
  options.max_concurrent = 2;
  const queue downloads{concurrent, std::move(options)};
  CHECK_REFUSED(wrong_kind, waits.set_max_concurrent(1));
  CHECK_REFUSED(wrong_kind, overlaps.set_max_concurrent(1));
  dialogs.view_did_appear();
  downloads.set_max_concurrent(1);
}

TEST(a_full_queue_refuses_as_a_code_and_as_an_exception) {
  queue_options options;
  options.capacity = 1;
  stage stage(queue_kind::fifo, std::move(options));
  CHECK(!stage.queue.try_post([] {}));
  CHECK(stage.queue.try_post([] {}) == errc::full);
  CHECK_REFUSED(full, stage.queue.enqueue([] {}));
  CHECK_REFUSED(full, (void)stage.queue.enqueue([] {}));
  operation operation;
  CHECK(stage.queue.try_enqueue(operation, [] {}) == errc::full);
  CHECK(!operation);
  stage.drain();
  CHECK(!stage.queue.try_enqueue(operation, [] {}));
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::finished);
}

TEST(a_closed_queue_goes_on_with_what_it_has_accepted) {
  stage stage;
  gate called;
  stage.queue.enqueue([&] { called.pass(); });
  CHECK(stage.queue.close());
  CHECK(!stage.queue.close());
  CHECK(stage.queue.try_post([] {}) == errc::closed);
  stage.drain();
  CHECK_EQUAL(called.count(), 1);
}

TEST(waits_give_up_when_their_time_is_over) {
  stage stage;
  const operation operation = stage.queue.enqueue([] {});
  CHECK(!stage.queue.drain_for(0s));
  CHECK(!stage.queue.drain_for(-1h));
  CHECK(!stage.queue.drain_for(1us));
  CHECK(!operation.wait_for(1us));
  stage.drain();
  CHECK(stage.queue.drain_for(std::chrono::hours::max()));
  CHECK(operation.wait_for(0s)->outcome == outcome::finished);
}

TEST(a_time_limit_is_any_duration) {
  CHECK_EQUAL(time_limit(2s).nanoseconds(), 2000000000);
  CHECK_EQUAL(time_limit(-2s).nanoseconds(), 0);
  volatile double none = std::numeric_limits<double>::quiet_NaN();
  CHECK_EQUAL(time_limit(std::chrono::duration<double>(none)).nanoseconds(), 0);
  CHECK_EQUAL(time_limit(std::chrono::duration<double>(0.5)).nanoseconds(),
              500000000);
  CHECK_EQUAL(time_limit(std::chrono::hours::max()).nanoseconds(),
              std::numeric_limits<std::int64_t>::max());
}

TEST(a_wait_for_the_own_queue_is_refused) {
  reports reports;
  queue queue;
  auto refused = queue.run([&] { queue.drain(); });
  CHECK_REFUSED(deadlock, refused.get());
}

TEST(suspends_are_counted_for_each_reason) {
  stage stage;
  gate called;
  stage.queue.suspend();
  stage.queue.suspend_for("a call");
  stage.queue.enqueue([&] { called.pass(); });
  stage.queue.resume();
  stage.drain();
  CHECK_EQUAL(called.count(), 0);
  CHECK_REFUSED(not_suspended, stage.queue.resume());
  stage.queue.resume_for("a call");
  stage.drain();
  CHECK_EQUAL(called.count(), 1);
}

TEST(priorities_barriers_and_dependencies_decide_who_starts) {
  trace trace;
  queue_options one_at_a_time;
  one_at_a_time.max_concurrent = 1;
  stage stage(queue_kind::concurrent, std::move(one_at_a_time));
  const auto say = [&](const char *word) {
    return [&trace, word] { trace.say(word); };
  };
  stage.queue.suspend();
  operation_options high, after, barrier;
  high.priority = 5;
  stage.queue.enqueue(say("low"));
  const operation first = stage.queue.enqueue(say("high"), std::move(high));
  after.after = {first};
  after.after_policy = after_policy::finished;
  after.priority = 9;
  stage.queue.enqueue(say("after"), std::move(after));
  barrier.barrier = true;
  stage.queue.enqueue(say("barrier"), std::move(barrier));
  stage.queue.enqueue(say("behind"));
  stage.queue.resume();
  stage.drain();
  CHECK_EQUAL(trace.take(), "high, after, low, barrier, behind");
}

TEST(a_text_with_a_zero_byte_is_refused) {
  const std::string cut("user\0one", 8);
  gate destroyed;
  stage stage;
  operation_options key, name, label;
  key.key = cut;
  name.exclusive = {"disk", cut};
  label.label = cut;
  for (operation_options *options : {&key, &name, &label}) {
    options->on_end = [counted = counted(destroyed)](const end &) {};
    CHECK_REFUSED(invalid_argument,
                  stage.queue.post([] {}, std::move(*options)));
  }
  queue_options of_queue;
  of_queue.label = cut;
  of_queue.on_event = [counted = counted(destroyed)](const event &) {};
  CHECK_REFUSED(invalid_argument, queue(fifo, std::move(of_queue)));
  executor_options of_executor;
  of_executor.label = cut;
  of_executor.wake = [counted = counted(destroyed)] {};
  CHECK_REFUSED(invalid_argument, executor(std::move(of_executor)));
  CHECK_REFUSED(invalid_argument, value<bool>(false, cut));
  CHECK_EQUAL(destroyed.count(), 5);
}

TEST(names_are_had_by_one_operation_at_a_time) {
  stage stage(queue_kind::concurrent);
  const auto named = [] {
    operation_options options;
    options.exclusive = {"disk", "printer"};
    return options;
  };
  kept_token kept;
  gate second;
  stage.queue.enqueue(kept.keep(), named());
  stage.queue.enqueue([&] { second.pass(); }, named());
  stage.drain();
  CHECK_EQUAL(second.count(), 0);
  kept.token.finish();
  stage.drain();
  CHECK_EQUAL(second.count(), 1);
}

TEST(a_failed_operation_is_tried_again_while_its_retry_decides_so) {
  stage stage;
  operation_options options;
  options.retry = retry();
  options.retry->delay = 1s;
  options.retry->factor = 2;
  options.retry->decide = [](std::int32_t code, std::uint32_t attempts) {
    CHECK_EQUAL(code, 8);
    return attempts < 3;
  };
  gate tried;
  const operation operation = stage.queue.enqueue(
      [&] {
        tried.pass();
        throw failure(8);
      },
      std::move(options));
  stage.drain();
  stage.advance(1s);
  CHECK_EQUAL(tried.count(), 2);
  stage.advance(2s);
  CHECK_EQUAL(tried.count(), 3);
  CHECK_EQUAL(operation.wait().attempts, 3u);
  CHECK_EQUAL(operation.wait().outcome, outcome::failed);
}

TEST(deadlines_end_an_operation) {
  stage stage;
  kept_token kept;
  operation_options options;
  options.max_run = 1s;
  options.max_run_policy = max_run_policy::free;
  const operation operation =
      stage.queue.enqueue(kept.keep(), std::move(options));
  stage.drain();
  stage.advance(2s);
  const end end = operation.wait();
  CHECK_EQUAL(end.outcome, outcome::timed_out);
  CHECK_EQUAL(end.cause, cause::max_run);
  CHECK((end.ended - end.started) == nanoseconds(1s));
  CHECK(!kept.token.finish());
}

TEST(keys_join_resolve_and_cancel) {
  stage stage;
  const auto keyed = [](bool join) {
    operation_options options;
    options.key = "location";
    options.join = join;
    return options;
  };
  stage.queue.suspend();
  const operation first = stage.queue.enqueue([] {}, keyed(false));
  auto joined = stage.queue.run([] { return 1; }, keyed(true));
  CHECK_EQUAL(stage.queue.resolve_key("location"), 2u);
  CHECK_EQUAL(stage.queue.cancel_key("location"), 0u);
  stage.drain();
  CHECK_EQUAL(first.wait().cause, cause::resolved);
  try {
    joined.get();
    FAIL("there is nothing to give");
  } catch (const not_finished &why) {
    CHECK_EQUAL(why.outcome, outcome::finished);
    CHECK_EQUAL(std::string(why.what()),
                "the operation finished without a result");
  }
  stage.queue.resume();
}

TEST(events_lists_and_statistics_tell_what_happens) {
  std::vector<inturn_event_kind> kinds;
  queue_options options;
  options.on_event = [&](const event &event) { kinds.push_back(event.kind); };
  stage stage(queue_kind::fifo, std::move(options));
  kept_token kept;
  operation_options labelled;
  labelled.label = "save";
  stage.queue.enqueue(kept.keep(), std::move(labelled));
  stage.queue.enqueue([] {});
  stage.drain();
  const auto infos = stage.queue.list(8);
  CHECK_EQUAL(infos.size(), 2u);
  CHECK_EQUAL(std::string(infos[0].label), "save");
  CHECK_EQUAL(stage.queue.list(1).size(), 1u);
  CHECK_EQUAL(stage.queue.statistics().running, 1u);
  CHECK_EQUAL(stage.queue.statistics().pending, 1u);
  kept.token.finish();
  stage.drain();
  CHECK(kinds.front() == INTURN_EVENT_ENQUEUED);
  CHECK(kinds.back() == INTURN_EVENT_IDLE);
}

TEST(interactions_wait_for_their_view_and_their_delays) {
  manual_clock clock;
  executor executor;
  queue_options options;
  options.clock = clock;
  options.executor = executor;
  queue dialogs(queue_kind::interaction, std::move(options));
  gate shown;
  dialogs.enqueue([&] { shown.pass(); });
  dialogs.view_did_appear();
  clock.advance(499ms);
  executor.drain();
  CHECK_EQUAL(shown.count(), 0);
  dialogs.view_will_disappear();
  dialogs.view_did_appear();
  clock.advance(500ms);
  executor.drain();
  CHECK_EQUAL(shown.count(), 1);
}

/* How many operations have started after so long. */
static long started_after(stage &stage, gate &started, nanoseconds time) {
  stage.advance(time);
  return started.count();
}

TEST(a_rate_says_how_many_operations_start_in_a_time) {
  gate started;
  queue_options options;
  options.rate = rate{4, 1s, 2};
  stage stage(concurrent, std::move(options));
  for (int i = 0; i < 9; i++)
    stage.queue.enqueue([&] { started.pass(); });
  CHECK_EQUAL(started_after(stage, started, 0ns), 2);
  CHECK_EQUAL(started_after(stage, started, 249ms), 2);
  CHECK_EQUAL(started_after(stage, started, 1ms), 3);
  /* One is in the bucket, of a burst of three that lacks two. */
  stage.queue.set_rate(rate{1, 1s, 3});
  CHECK_EQUAL(started_after(stage, started, 0ns), 4);
  CHECK_EQUAL(started_after(stage, started, 999ms), 4);
  CHECK_EQUAL(started_after(stage, started, 1ms), 5);
  stage.queue.set_rate(std::nullopt);
  CHECK_EQUAL(started_after(stage, started, 0ns), 9);
}

TEST(a_rate_that_makes_no_sense_is_refused) {
  const queue queue;
  CHECK_REFUSED(invalid_argument, queue.set_rate(rate{1, 0s}));
  CHECK_REFUSED(invalid_argument, queue.set_rate(rate{1, -1s}));
  CHECK_REFUSED(invalid_argument, queue.set_rate(rate{2, nanoseconds::max()}));
  queue_options options;
  options.rate = rate{1, 0s};
  CHECK_REFUSED(invalid_argument, inturn::queue(fifo, std::move(options)));
}

TEST(a_function_of_another_kind_of_queue_is_refused) {
  queue queue;
  CHECK_REFUSED(wrong_kind, queue.view_did_appear());
  CHECK_REFUSED(wrong_kind, queue.set_max_concurrent(2));
}

TEST(operations_end_in_order_for_several_producers) {
  constexpr int producers = 4, each = 500;
  std::vector<std::vector<int>> seen(producers);
  queue queue;
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; p++)
    threads.emplace_back([&queue, &seen, p] {
      for (int i = 0; i < each; i++)
        queue.enqueue(
            [&mine = seen[static_cast<std::size_t>(p)], i](token token) {
              mine.push_back(i);
              token.finish();
            });
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(queue.drain_for(limit));
  for (const auto &mine : seen) {
    CHECK_EQUAL(mine.size(), static_cast<std::size_t>(each));
    for (int i = 0; i < each; i++)
      CHECK_EQUAL(mine[static_cast<std::size_t>(i)], i);
  }
}
