/*
 * batches.cpp - lists of operations with one completion.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

using namespace inturn;
using namespace std::chrono_literals;

TEST(a_batch_ends_when_all_of_its_operations_have) {
  stage stage;
  gate told;
  batch_options options;
  options.on_end = [&](batch_ref batch, const batch_end &end) {
    CHECK_EQUAL(end.count, 3u);
    CHECK_EQUAL(batch.end_of(1).code, 6);
    told.pass();
  };
  std::vector<work> works;
  works.emplace_back([] {});
  works.emplace_back([](token token) { token.fail(6); });
  works.emplace_back([] {});
  const batch batch =
      stage.queue.enqueue_batch(std::move(works), std::move(options));
  CHECK_EQUAL(batch.ended(), 0u);
  CHECK(!batch.wait_for(0s));
  stage.drain();
  const batch_end end = batch.wait();
  CHECK_EQUAL(end.outcome, outcome::failed);
  CHECK_EQUAL(end.code, 6);
  CHECK_EQUAL(end.finished, 2u);
  CHECK_EQUAL(end.decided_by, 1u);
  CHECK_EQUAL(told.count(), 1);
  CHECK(!batch.cancel());
}

TEST(a_batch_ends_at_its_first_error_where_that_is_asked_for) {
  stage stage;
  batch_options options;
  options.policy = batch_policy::first_error;
  std::vector<work> works;
  works.emplace_back([] { throw failure(2); });
  works.emplace_back([] { FAIL("it runs"); });
  const batch batch =
      stage.queue.enqueue_batch(std::move(works), std::move(options));
  stage.drain();
  CHECK_EQUAL(batch.wait().code, 2);
  CHECK_EQUAL(batch.end_of(1).outcome, outcome::cancelled);
}

TEST(edges_of_a_batch_say_what_comes_after_what) {
  stage stage(queue_kind::concurrent);
  std::string order;
  kept_token first;
  const auto works = [&] {
    std::vector<work> works;
    works.emplace_back(first.keep());
    works.emplace_back([&] { order += 'b'; });
    works.emplace_back([&] { order += 'c'; });
    return works;
  };
  batch_options options;
  options.edges = {{1, 0}};
  const batch batch = stage.queue.enqueue_batch(works(), std::move(options));
  stage.drain();
  CHECK_EQUAL(order, "c");
  first.token.finish();
  stage.drain();
  CHECK_EQUAL(order, "cb");
  CHECK_EQUAL(batch.wait().finished, 3u);
  batch_options backwards;
  backwards.edges = {{1, 2}};
  CHECK_REFUSED(invalid_argument,
                (void)stage.queue.enqueue_batch(works(), std::move(backwards)));
}

TEST(a_refused_batch_is_destroyed_whole) {
  gate destroyed;
  stage stage;
  const auto two = [&] {
    std::vector<work> works;
    for (int i = 0; i < 2; i++)
      works.emplace_back([counted = counted(destroyed)] { FAIL("it runs"); });
    return works;
  };
  batch_options with_callback;
  with_callback.operation.on_end = [](const end &) {};
  CHECK_REFUSED(invalid_argument, (void)stage.queue.enqueue_batch(
                                      two(), std::move(with_callback)));
  CHECK_EQUAL(destroyed.count(), 2);
  stage.queue.close();
  batch_options options;
  options.on_end = [counted = counted(destroyed)](batch_ref,
                                                  const batch_end &) {};
  CHECK_REFUSED(closed,
                (void)stage.queue.enqueue_batch(two(), std::move(options)));
  CHECK_EQUAL(destroyed.count(), 5);
}
