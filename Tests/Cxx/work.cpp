/*
 * work.cpp - what work may be, and what becomes of it and of what it throws.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

using namespace inturn;

TEST(operations_run_and_end_in_order) {
  std::vector<int> order;
  queue queue;
  for (int i = 0; i < 1000; i++)
    queue.enqueue([&order, i] { order.push_back(i); });
  queue.drain();
  CHECK_EQUAL(order.size(), 1000u);
  for (int i = 0; i < 1000; i++)
    CHECK_EQUAL(order[static_cast<std::size_t>(i)], i);
}

TEST(work_that_takes_nothing_has_finished_when_it_returns) {
  stage stage;
  const operation operation = stage.queue.enqueue([] {});
  CHECK_EQUAL(operation.state(), operation_state::pending);
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::finished);
}

TEST(work_that_takes_a_token_lasts_until_the_token_is_finished) {
  stage stage;
  kept_token kept;
  const operation first = stage.queue.enqueue(kept.keep());
  const operation second = stage.queue.enqueue([] {});
  stage.drain();
  CHECK_EQUAL(first.state(), operation_state::running);
  CHECK_EQUAL(second.state(), operation_state::pending);
  CHECK(kept.token.finish());
  stage.drain();
  CHECK_EQUAL(second.state(), operation_state::ended);
}

TEST(work_may_be_any_callable) {
  struct functor {
    void operator()(token token) const { token.finish(); }
  };
  static gate called;
  stage stage;
  stage.queue.enqueue(functor());
  stage.queue.enqueue(+[] { called.pass(); });
  stage.queue.enqueue(std::function<void()>([] { called.pass(); }));
  stage.queue.enqueue([](token &&token) { token.finish(); });
  stage.queue.enqueue([](auto token) { token.finish(); });
  stage.queue.enqueue([] { return 7; });
  stage.drain();
  CHECK_EQUAL(called.count(), 2);
  CHECK_EQUAL(stage.queue.statistics().finished, 6u);
}

TEST(work_for_tokens_of_any_type_owns_the_one_that_it_gets) {
  stage stage;
  const operation by_c = stage.queue.enqueue(
      [](auto token) { inturn_token_finish(token.release()); });
  const operation moved = stage.queue.enqueue([](auto &&given) {
    token own(std::move(given));
    own.fail(3);
  });
  stage.drain();
  CHECK_EQUAL(by_c.wait().outcome, outcome::finished);
  CHECK_EQUAL(moved.wait().code, 3);
}

TEST(a_callback_or_work_may_be_a_member_or_give_what_nobody_wants) {
  stage stage;
  int called = 0;
  operation_options options;
  options.on_end = [&](const end &) { return ++called; };
  stage.queue.post(&token::finish, std::move(options));
  stage.queue.run(&token_ref::is_cancelled);
  stage.queue.post([&] { return ++called; });
  callback<bool(token_ref)> finish(&token_ref::finish);
  stage.queue.post([&](token token) { finish(token); });
  stage.drain();
  CHECK_EQUAL(called, 2);
  CHECK_EQUAL(stage.queue.statistics().finished, 4u);
}

TEST(what_std_bind_has_made_takes_what_it_has_a_place_for) {
  gate called;
  stage stage;
  const operation whole = stage.queue.enqueue(std::bind(&gate::pass, &called));
  const operation begun =
      stage.queue.enqueue(std::bind(&token::fail, std::placeholders::_1, 3));
  auto future = stage.queue.run(std::bind(&gate::count, &called));
  stage.drain();
  CHECK_EQUAL(whole.wait().outcome, outcome::finished);
  CHECK_EQUAL(called.count(), 1);
  CHECK_EQUAL(begun.wait().code, 3);
  CHECK_EQUAL(future.get(), 1);
}

TEST(a_callable_that_is_none_is_no_callback_and_no_work) {
  void (*const null)() = nullptr;
  stage stage;
  CHECK_REFUSED(invalid_argument, stage.queue.enqueue(null));
  CHECK_REFUSED(invalid_argument,
                stage.queue.enqueue(std::function<void(token)>()));
  CHECK_REFUSED(invalid_argument, stage.queue.post(callback<void()>()));
  CHECK_REFUSED(invalid_argument, (void)stage.queue.run(null));
  CHECK(!callback<void()>(null));
  CHECK(!callback<void()>(nullptr));
  CHECK(!callback<void(int)>(callback<void(long)>()));
  work given([] { FAIL("it runs"); });
  const work taken(std::move(given));
  CHECK_REFUSED(invalid_argument, stage.queue.post(std::move(given)));
  operation_options told;
  told.on_end = [](const end &) { FAIL("an end is told"); };
  CHECK_REFUSED(invalid_argument,
                stage.queue.post(std::move(given), std::move(told)));
  std::vector<work> works;
  works.push_back(std::move(given));
  CHECK_REFUSED(invalid_argument,
                (void)stage.queue.enqueue_batch(std::move(works)));
  operation_options options;
  options.on_end = std::function<void(const end &)>();
  options.condition = std::function<verdict()>();
  const operation operation = stage.queue.enqueue([] {}, std::move(options));
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::finished);
}

TEST(work_that_can_only_be_moved_is_destroyed_exactly_once) {
  gate destroyed;
  int number = 0;
  stage stage;
  stage.queue.enqueue([&number, counted = counted(destroyed),
                       seven = std::make_unique<int>(7)] { number = *seven; });
  CHECK_EQUAL(destroyed.count(), 0);
  stage.drain();
  CHECK_EQUAL(number, 7);
  CHECK_EQUAL(destroyed.count(), 1);
}

TEST(refused_work_never_runs_and_is_destroyed_before_the_call_returns) {
  gate destroyed;
  stage stage;
  stage.queue.close();
  CHECK_REFUSED(closed, stage.queue.enqueue([counted = counted(destroyed)] {
    FAIL("it runs");
  }));
  CHECK_EQUAL(destroyed.count(), 1);
  operation_options options;
  options.on_end = [counted = counted(destroyed)](const end &) {
    FAIL("an end is told");
  };
  CHECK(stage.queue.try_post(
            [counted = counted(destroyed)](token) { FAIL("it runs"); },
            std::move(options)) == errc::closed);
  CHECK_EQUAL(destroyed.count(), 3);
  stage.drain();
}

TEST(an_exception_fails_the_operation_with_the_code_1) {
  stage stage;
  const operation operation =
      stage.queue.enqueue([] { throw std::runtime_error("the disk is full"); });
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::failed);
  CHECK_EQUAL(operation.wait().code, 1);
}

TEST(an_exception_that_nobody_gets_is_reported_with_its_place) {
  reports reports;
  stage stage;
  stage.queue.post([] { throw std::runtime_error("the disk is full"); });
  stage.queue.post([] { throw 7; });
  stage.queue.post([] { throw failure(7); });
  stage.drain();
  const int line = __LINE__ - 4;
  CHECK_EQUAL(reports.take(),
              "the work at work.cpp:" + std::to_string(line) +
                  " has thrown, and nobody is told: the disk is full, "
                  "the work at work.cpp:" +
                  std::to_string(line + 1) +
                  " has thrown, and nobody is told: something that is no "
                  "std::exception");
  operation_options told;
  told.on_end = [](const end &end) { CHECK(end.exception != nullptr); };
  stage.queue.post([] { throw 7; }, std::move(told));
  auto future = stage.queue.run([] { throw 7; });
  stage.drain();
  CHECK_EQUAL(reports.take(), "");
}

TEST(a_failure_fails_the_operation_with_its_code) {
  stage stage;
  const operation operation =
      stage.queue.enqueue([](token) { throw failure(-7); });
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::failed);
  CHECK_EQUAL(operation.wait().code, -7);
}

TEST(an_exception_fails_the_operation_though_its_token_is_elsewhere) {
  stage stage;
  token elsewhere;
  const operation operation = stage.queue.enqueue([&](token token) {
    elsewhere = std::move(token);
    throw failure(3);
  });
  stage.drain();
  CHECK_EQUAL(operation.wait().code, 3);
  CHECK(!elsewhere.finish());
}

TEST(an_exception_after_the_finish_changes_nothing) {
  stage stage;
  const operation operation = stage.queue.enqueue([](token token) {
    token.finish();
    throw failure(3);
  });
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::finished);
}

TEST(the_end_callback_gets_the_exception) {
  stage stage;
  std::string told;
  operation_options options;
  options.label = "save";
  options.on_end = [&](const end &end) {
    CHECK_EQUAL(end.outcome, outcome::failed);
    CHECK_EQUAL(end.label, "save");
    try {
      std::rethrow_exception(end.exception);
    } catch (const std::runtime_error &error) {
      told = error.what();
    }
  };
  stage.queue.enqueue([] { throw std::runtime_error("the disk is full"); },
                      std::move(options));
  stage.drain();
  CHECK_EQUAL(told, "the disk is full");
}

TEST(the_end_callback_gets_no_exception_of_an_attempt_before) {
  stage stage;
  gate told;
  operation_options options;
  options.retry = retry();
  options.retry->max_attempts = 2;
  options.on_end = [&](const end &end) {
    CHECK_EQUAL(end.code, 2);
    CHECK(!end.exception);
    told.pass();
  };
  int attempts = 0;
  stage.queue.post(
      [&](token token) {
        if (++attempts == 1)
          throw failure(1);
        token.fail(2);
      },
      std::move(options));
  stage.drain();
  CHECK_EQUAL(told.count(), 1);
}

TEST(the_end_callback_of_a_finished_operation_gets_no_exception) {
  stage stage;
  gate told;
  operation_options options;
  options.retry = retry();
  options.on_end = [&](const end &end) {
    CHECK_EQUAL(end.outcome, outcome::finished);
    CHECK_EQUAL(end.attempts, 2u);
    CHECK(end.exception == nullptr);
    told.pass();
  };
  stage.queue.enqueue(
      [first = true]() mutable {
        if (std::exchange(first, false))
          throw failure(1);
      },
      std::move(options));
  stage.advance(std::chrono::seconds(1));
  CHECK_EQUAL(told.count(), 1);
}

TEST(callbacks_and_work_are_destroyed_once_after_the_end_is_told) {
  gate destroyed, told;
  stage stage;
  operation_options options;
  options.on_end = [&told, &destroyed,
                    counted = counted(destroyed)](const end &) {
    CHECK_EQUAL(destroyed.count(), 0);
    told.pass();
  };
  stage.queue.enqueue([counted = counted(destroyed)] {}, std::move(options));
  stage.drain();
  CHECK_EQUAL(told.count(), 1);
  CHECK_EQUAL(destroyed.count(), 2);
}

TEST(an_exception_in_an_end_callback_ends_the_process) {
  const int status = in_child([] {
    std::set_terminate([] { std::_Exit(42); });
    stage stage;
    operation_options options;
    options.on_end = [](const end &) { throw failure(1); };
    stage.queue.enqueue([] {}, std::move(options));
    stage.drain();
  });
  CHECK_EQUAL(status, 42);
}

TEST(a_condition_that_throws_gives_up) {
  stage stage;
  operation_options options;
  options.condition = []() -> verdict { throw failure(1); };
  const operation operation =
      stage.queue.enqueue([] { FAIL("it runs"); }, std::move(options));
  stage.drain();
  CHECK_EQUAL(operation.wait().outcome, outcome::cancelled);
  CHECK_EQUAL(operation.wait().cause, cause::condition);
}

TEST(run_gives_what_the_function_returns) {
  queue queue;
  std::future<std::unique_ptr<int>> number =
      queue.run([] { return std::make_unique<int>(7); });
  std::future<void> nothing = queue.run([](token_ref) {});
  std::future<inturn::queue &> itself =
      queue.run([&queue]() -> inturn::queue & { return queue; });
  CHECK_EQUAL(*number.get(), 7);
  CHECK(&itself.get() == &queue);
  nothing.get();
}

TEST(run_throws_what_the_function_throws) {
  queue queue;
  auto future = queue.run([]() -> int { throw std::out_of_range("seven"); });
  try {
    future.get();
    FAIL("nothing is thrown");
  } catch (const std::out_of_range &error) {
    CHECK_EQUAL(std::string(error.what()), "seven");
  }
}

TEST(run_throws_what_moving_the_result_throws) {
  struct fragile {
    bool is_kept;
    explicit fragile(bool is_kept) : is_kept(is_kept) {}
    fragile(fragile &&other) : is_kept(true) {
      if (other.is_kept)
        throw std::length_error("moved twice");
    }
  };
  queue queue;
  auto future = queue.run([] { return fragile(false); });
  try {
    future.get();
    FAIL("nothing is thrown");
  } catch (const std::length_error &error) {
    CHECK_EQUAL(std::string(error.what()), "moved twice");
  }
}

TEST(run_says_why_an_operation_did_not_finish) {
  stage stage;
  gate told;
  operation_options options;
  options.max_wait = std::chrono::seconds(1);
  options.on_end = [&](const end &) { told.pass(); };
  kept_token kept;
  stage.queue.enqueue(kept.keep());
  auto late = stage.queue.run([] { return 1; }, std::move(options));
  auto cancelled = stage.queue.run([] { return 1; });
  stage.advance(std::chrono::seconds(2));
  stage.queue.cancel_all();
  kept.token.finish();
  stage.drain();
  CHECK_EQUAL(told.count(), 1);
  try {
    late.get();
    FAIL("nothing is thrown");
  } catch (const not_finished &why) {
    CHECK_EQUAL(why.outcome, outcome::timed_out);
    CHECK_EQUAL(why.cause, cause::max_wait);
  }
  try {
    cancelled.get();
    FAIL("nothing is thrown");
  } catch (const not_finished &why) {
    CHECK_EQUAL(why.outcome, outcome::cancelled);
  }
}

TEST(run_tells_the_function_when_to_stop) {
  queue queue;
  gate begun;
  auto loops = queue.run([&](token_ref token) {
    begun.pass();
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!token.is_cancelled() && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    return token.is_cancelled();
  });
  begun.wait();
  queue.cancel_all();
  CHECK(loops.get());
}
