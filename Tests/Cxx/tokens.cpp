/*
 * tokens.cpp - the token: who holds it ends the operation, and losing it is
 * seen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

using namespace inturn;

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(a_token_is_moved_and_not_copied) {
  static_assert(!std::is_copy_constructible_v<token>);
  static_assert(!std::is_copy_assignable_v<token>);
  static_assert(std::is_nothrow_move_constructible_v<token>);
  static_assert(std::is_nothrow_move_assignable_v<token>);
  stage stage;
  kept_token kept;
  stage.queue.enqueue(kept.keep());
  stage.drain();
  token other = std::move(kept.token);
  CHECK(!kept.token);
  CHECK_REFUSED(null_handle, kept.token.finish());
  CHECK(other.finish());
}

TEST(a_lost_token_ends_its_operation_as_abandoned_and_the_queue_goes_on) {
  reports reports;
  stage stage;
  const operation lost = stage.queue.enqueue([](token) {});
  const operation next = stage.queue.enqueue([] {});
  stage.drain();
  CHECK_EQUAL(lost.wait().outcome, outcome::abandoned);
  CHECK_EQUAL(next.wait().outcome, outcome::finished);
}

TEST(a_lost_token_names_the_line_of_its_work) {
  reports reports;
  stage stage;
  const int line = __LINE__ + 1;
  stage.queue.enqueue([](token) {});
  stage.drain();
  const std::string message = reports.take();
  CHECK(contains(message, "tokens.cpp:" + std::to_string(line)));
}

TEST(a_token_that_is_lost_on_another_thread_names_the_line_of_its_work) {
  reports reports;
  stage stage;
  kept_token kept;
  stage.queue.enqueue(kept.keep());
  stage.drain();
  std::thread([token = std::move(kept.token)] {}).join();
  stage.drain();
  CHECK(contains(reports.take(), "tokens.cpp:"));
  CHECK_EQUAL(stage.queue.statistics().abandoned, 1u);
}

TEST(a_token_that_another_replaces_is_lost) {
  reports reports;
  stage stage(queue_kind::concurrent);
  kept_token kept;
  const operation first = stage.queue.enqueue(kept.keep());
  const operation second = stage.queue.enqueue(kept.keep());
  stage.drain();
  CHECK(kept.token.finish());
  stage.drain();
  CHECK_EQUAL(first.wait().outcome, outcome::abandoned);
  CHECK_EQUAL(second.wait().outcome, outcome::finished);
}

TEST(a_token_that_is_lost_as_an_exception_leaves_the_work_is_not_reported) {
  reports reports;
  stage stage;
  const operation operation = stage.queue.enqueue([](token token) {
    const auto inside = std::move(token);
    throw failure(9);
  });
  stage.drain();
  CHECK_EQUAL(operation.wait().code, 9);
  CHECK_EQUAL(reports.take(), "");
}

TEST(a_token_that_is_lost_to_an_exception_inside_the_work_is_reported) {
  reports reports;
  stage stage;
  const operation operation = stage.queue.enqueue([](token token) {
    try {
      const auto inside = std::move(token);
      throw failure(9);
    } catch (const failure &) {
    }
  });
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::abandoned);
  CHECK(contains(reports.take(), "tokens.cpp:"));
}

TEST(work_that_drains_in_the_middle_of_other_work_keeps_its_own_exceptions) {
  stage inner;
  const operation failing =
      inner.queue.enqueue([](token) { throw failure(5); });
  stage outer;
  const operation draining = outer.queue.enqueue([&](token token) {
    inner.drain();
    token.finish();
  });
  outer.drain();
  CHECK_EQUAL(failing.wait().code, 5);
  CHECK_EQUAL(draining.wait().outcome, outcome::finished);
}

TEST(the_first_end_wins_and_later_ones_say_that_they_did_not) {
  stage stage;
  kept_token kept;
  const operation operation = stage.queue.enqueue(kept.keep());
  stage.drain();
  const token_ref ref = kept.token;
  CHECK(ref.fail(4));
  CHECK(!ref.finish());
  CHECK(!ref.cancel());
  CHECK(!kept.token.fail(5));
  CHECK(!kept.token);
  CHECK_EQUAL(operation.wait().code, 4);
}

TEST(a_token_whose_operation_was_ended_otherwise_is_not_lost) {
  reports reports;
  stage stage;
  {
    kept_token kept;
    stage.queue.enqueue(kept.keep());
    stage.drain();
    token_ref(kept.token).cancel();
  }
  stage.drain();
  CHECK_EQUAL(reports.take(), "");
  CHECK_EQUAL(stage.queue.statistics().cancelled, 1u);
}

TEST(a_token_is_released_to_c_and_taken_back) {
  stage stage;
  kept_token kept;
  stage.queue.enqueue(kept.keep());
  stage.drain();
  const inturn_token raw = kept.token.release();
  CHECK(!kept.token);
  token taken(raw);
  CHECK(taken.finish());
}

TEST(a_result_reaches_who_waits_and_is_destroyed_once) {
  gate destroyed;
  stage stage;
  kept_token kept;
  {
    const operation operation = stage.queue.enqueue(kept.keep());
    stage.drain();
    auto result = std::make_unique<counted>(destroyed);
    const void *address = result.get();
    CHECK(kept.token.finish_with(std::move(result)));
    stage.drain();
    CHECK(operation.wait().result == address);
    CHECK_EQUAL(destroyed.count(), 0);
  }
  stage.drain();
  CHECK_EQUAL(destroyed.count(), 1);
}

TEST(a_result_that_comes_too_late_is_destroyed) {
  gate destroyed;
  stage stage;
  kept_token kept;
  stage.queue.enqueue(kept.keep());
  stage.drain();
  token_ref(kept.token).cancel();
  CHECK(!kept.token.finish_with(std::make_unique<counted>(destroyed)));
  CHECK_EQUAL(destroyed.count(), 1);
}

TEST(a_cancel_handler_is_called_and_may_end_the_operation) {
  gate called, destroyed;
  stage stage;
  kept_token kept;
  const operation operation = stage.queue.enqueue(kept.keep());
  stage.drain();
  CHECK(!kept.token.is_cancelled());
  CHECK(kept.token.on_cancel(
      [&called, counted = counted(destroyed)](token_ref token) {
        called.pass();
        token.cancel();
      }));
  CHECK(operation.cancel());
  CHECK(!operation.cancel());
  CHECK(kept.token.is_cancelled());
  stage.drain();
  CHECK_EQUAL(called.count(), 1);
  CHECK_EQUAL(destroyed.count(), 1);
  CHECK_EQUAL(operation.wait().outcome, outcome::cancelled);
  CHECK_EQUAL(operation.wait().cause, cause::request);
}

TEST(progress_is_told) {
  stage stage;
  kept_token kept;
  const operation operation = stage.queue.enqueue(kept.keep());
  stage.drain();
  CHECK(kept.token.set_progress(3, 10));
  CHECK_EQUAL(operation.progress().completed, 3);
  CHECK_EQUAL(operation.progress().total, 10);
  CHECK_REFUSED(invalid_argument, kept.token.set_progress(11, 10));
  kept.token.finish();
  CHECK_REFUSED(null_handle, kept.token.set_progress(4, 10));
}

TEST(segments_of_an_actor_hand_the_token_on) {
  trace trace;
  stage stage(queue_kind::actor);
  kept_token kept;
  const operation operation = stage.queue.enqueue(kept.keep());
  stage.queue.enqueue([&] { trace.say("second"); });
  stage.drain();
  CHECK(kept.token.resume([&](token token) {
    trace.say("segment");
    CHECK(token.resume([&] { trace.say("last segment"); }));
    CHECK(!token);
  }));
  stage.drain();
  CHECK_EQUAL(trace.take(), "second, segment, last segment");
  CHECK_EQUAL(operation.wait().outcome, outcome::finished);
}

TEST(what_a_segment_throws_fails_its_operation_and_is_reported) {
  reports reports;
  stage stage(queue_kind::actor);
  gate told;
  operation_options options;
  options.on_end = [&](const end &end) {
    CHECK_EQUAL(end.outcome, outcome::failed);
    CHECK(end.exception == nullptr);
    told.pass();
  };
  stage.queue.post(
      [](token token) {
        token.resume([] { throw std::runtime_error("the disk is full"); });
      },
      std::move(options));
  stage.drain();
  CHECK_EQUAL(told.count(), 1);
  CHECK(contains(reports.take(), "nobody is told: the disk is full"));
}

TEST(a_segment_that_is_refused_leaves_the_token) {
  gate destroyed;
  stage stage;
  kept_token kept;
  stage.queue.enqueue(kept.keep());
  stage.drain();
  CHECK_REFUSED(wrong_kind,
                kept.token.resume([counted = counted(destroyed)] {}));
  CHECK_EQUAL(destroyed.count(), 1);
  CHECK(kept.token.finish());
}

TEST(an_interaction_gives_way_to_an_urgent_one_and_is_presented_again) {
  trace trace;
  stage stage(queue_kind::interaction);
  token shown;
  stage.queue.enqueue([&](token token) {
    trace.say("calm");
    token.on_preempt([&](token_ref) { trace.say("asked"); });
    shown = std::move(token);
  });
  stage.drain();
  operation_options urgent;
  urgent.urgent = true;
  stage.queue.enqueue([&] { trace.say("urgent"); }, std::move(urgent));
  stage.drain();
  CHECK(shown.yield());
  CHECK(!shown);
  stage.drain();
  CHECK_EQUAL(trace.take(), "calm, asked, urgent, calm");
  CHECK(shown.finish());
}

TEST(tokens_are_finished_from_any_thread_each_exactly_once) {
  gate finished, destroyed;
  queue queue;
  constexpr int count = 200;
  for (int i = 0; i < count; i++)
    queue.enqueue([&, counted = counted(destroyed)](token token) {
      const token_ref rival = token;
      std::thread first([&finished, token = std::move(token)]() mutable {
        if (token.finish())
          finished.pass();
      });
      std::thread second([&finished, rival] {
        if (rival.finish())
          finished.pass();
      });
      first.join();
      second.join();
    });
  CHECK(queue.drain_for(limit));
  CHECK_EQUAL(finished.count(), count);
  CHECK_EQUAL(destroyed.count(), count);
}

TEST(an_operation_says_why_it_has_not_ended) {
  kept_token kept;
  queue_options options;
  options.label = "uploads";
  queue queue(fifo, std::move(options));
  const auto at = [](int line) {
    return "an operation (" __FILE__ ":" + std::to_string(line) +
           ") of queue \"uploads\"";
  };
  const int line = __LINE__ + 1;
  const operation first = queue.enqueue(kept.keep());
  const operation second = queue.enqueue([] {});
  while (second.why().find("its token has not been finished") ==
         std::string::npos)
    std::this_thread::yield();
  CHECK_EQUAL(second.why().substr(0, second.why().find(": ")),
              at(line + 1) + " waits for " + at(line));
  kept.token.finish();
  CHECK_EQUAL(first.wait().outcome == outcome::finished, true);
  second.wait();
  CHECK_EQUAL(second.why(), "");
}

TEST(a_token_that_is_out_is_reported_as_stuck) {
  reports reports;
  kept_token kept;
  queue_options options;
  options.label = "uploads";
  queue queue(fifo, std::move(options));
  set_stall_limit(std::chrono::milliseconds(20));
  queue.post(kept.keep());
  queue.post([] {});
  std::string said;
  for (const auto end = std::chrono::steady_clock::now() + limit;
       said.empty() && std::chrono::steady_clock::now() < end;
       said = reports.take())
    std::this_thread::yield();
  set_stall_limit({});
  CHECK(said.find("its token has not been finished") != std::string::npos);
  kept.token.finish();
}
