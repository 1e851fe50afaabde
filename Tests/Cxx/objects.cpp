/*
 * objects.cpp - owners and refs, errors, executors, clocks, owners of
 * operations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

using namespace inturn;
using namespace std::chrono_literals;

TEST(an_owner_is_moved_and_not_copied_and_its_ref_is_copied) {
  static_assert(!std::is_copy_constructible_v<queue>);
  static_assert(std::is_nothrow_move_constructible_v<queue>);
  static_assert(std::is_nothrow_move_assignable_v<queue>);
  static_assert(std::is_trivially_copyable_v<queue_ref>);
  static_assert(sizeof(operation) == sizeof(inturn_operation));
  static_assert(sizeof(queue_ref) == sizeof(inturn_queue));
  /* A queue knows how it is to end, too. */
  static_assert(sizeof(queue) == 2 * sizeof(inturn_queue));
  queue first;
  const queue_ref ref = first;
  queue second = std::move(first);
  CHECK(!first);
  CHECK(second == ref);
  CHECK_REFUSED(null_handle, first.close());
  first = std::move(second);
  CHECK(first == ref);
  CHECK(second != ref);
}

TEST(a_ref_of_what_is_gone_is_refused) {
  queue_ref ref;
  {
    queue queue;
    ref = queue;
    ref.enqueue([] {});
  }
  CHECK_REFUSED(stale, ref.enqueue([] {}));
}

namespace {

/* What a function writes to a descriptor. */
template <typename Write> std::string written(Write write) {
  std::FILE *file = std::tmpfile();
  write(fileno(file));
  std::string text(1 << 16, '\0');
  CHECK(std::fseek(file, 0, SEEK_SET) == 0);
  text.resize(std::fread(&text[0], 1, text.size(), file));
  std::fclose(file);
  return text;
}

} // namespace

TEST(what_there_is_is_dumped) {
  queue_options options;
  options.label = "to be dumped";
  queue queue(fifo, std::move(options));
  const auto text = written([](int fd) { dump(fd); });
  CHECK(text.find(" \"to be dumped\" fifo ") != std::string::npos);
  CHECK_REFUSED(invalid_argument, dump(-1));
}

TEST(what_is_recorded_is_written) {
  start_trace(1 << 20);
  {
    queue_options options;
    options.label = "to be recorded";
    queue queue(fifo, std::move(options));
    queue.enqueue([] {});
    queue.drain();
  }
  stop_trace();
  const auto text = written([](int fd) { write_trace(fd); });
  CHECK(text.find("\"enqueue to be recorded\"") != std::string::npos);
  CHECK_REFUSED(invalid_argument, write_trace(-2));
  CHECK_REFUSED(unsupported, write_trace(-1)); /* nothing asks for a file */
  CHECK_REFUSED(invalid_argument, start_trace(std::size_t(-1)));
}

TEST(a_visitor_is_told_what_there_is_until_it_has_enough) {
  queue_options options;
  options.label = "to be visited";
  const queue queue(fifo, std::move(options));
  int found = 0, after = 0;
  snapshot([&](const inturn_entry &entry) {
    after += found;
    found += std::string(entry.label) == "to be visited";
    return found == 0;
  });
  CHECK_EQUAL(found, 1);
  CHECK_EQUAL(after, 0);
  std::string thrown;
  try {
    snapshot([](const inturn_entry &) -> bool {
      throw std::runtime_error("enough");
    });
  } catch (const std::runtime_error &error) {
    thrown = error.what();
  }
  CHECK_EQUAL(thrown, "enough");
}

TEST(assigning_to_an_owner_destroys_what_it_had) {
  queue first;
  const queue_ref old = first;
  first = queue(queue_kind::actor);
  CHECK_REFUSED(stale, old.close());
  CHECK(first.close());
}

TEST(an_object_is_left_to_c_and_taken_over) {
  queue first;
  const inturn_queue raw = first.release();
  CHECK(!first);
  {
    const queue second = queue::adopt(raw);
    second.enqueue([] {});
    CHECK(second.drain_for(limit));
  }
  CHECK(inturn_queue_close(raw) == INTURN_E_STALE);
}

TEST(an_object_that_c_has_destroyed_is_destroyed_in_peace) {
  queue queue;
  CHECK(inturn_queue_destroy(queue.raw()) == INTURN_OK);
}

TEST(destroying_what_is_in_use_ends_the_process) {
  const int status = in_child([] {
    std::set_terminate([] {
      try {
        std::rethrow_exception(std::current_exception());
      } catch (const error &error) {
        std::_Exit(error.status() == errc::busy ? 42 : 1);
      }
    });
    queue queue;
    executor executor;
    queue_options options;
    options.executor = executor;
    queue = inturn::queue(queue_kind::fifo, std::move(options));
    executor.reset();
  });
  CHECK_EQUAL(status, 42);
}

TEST(inherited_objects_are_refused_and_destroyed_in_peace_after_a_fork) {
  queue queue;
  const int status = in_child([&] {
    CHECK_REFUSED(forked, queue.enqueue([] {}));
    queue.reset();
    inturn::queue own;
    auto seven = own.run([] { return 7; });
    std::_Exit(seven.get());
  });
  CHECK_EQUAL(status, 7);
}

TEST(each_status_is_an_error_code_with_a_message) {
  for (int status = -16; status < 0; status++) {
    const std::error_code code = make_error_code(static_cast<errc>(status));
    CHECK(code.category() == category());
    CHECK_EQUAL(code.message(),
                inturn_status_message(static_cast<inturn_status>(status)));
  }
  CHECK_EQUAL(std::string(category().name()), "inturn");
}

TEST(codes_with_a_counterpart_are_equivalent_to_it) {
  const std::error_code timed_out = errc::timed_out;
  CHECK(timed_out == std::errc::timed_out);
  CHECK(timed_out != std::errc::no_such_process);
  CHECK(make_error_code(errc::deadlock) ==
        std::errc::resource_deadlock_would_occur);
  CHECK(make_error_code(errc::no_memory) == std::errc::not_enough_memory);
  CHECK(make_error_code(errc::invalid_argument) == std::errc::invalid_argument);
  CHECK(make_error_code(errc::cancelled) == std::errc::operation_canceled);
  CHECK(make_error_code(errc::unsupported) == std::errc::not_supported);
  CHECK(make_error_code(errc::busy) == std::errc::device_or_resource_busy);
  CHECK(make_error_code(errc::full) == errc::full);
}

TEST(an_error_says_which_call_was_refused_and_why) {
  try {
    queue_ref().close();
    FAIL("it is not refused");
  } catch (const std::system_error &error) {
    const std::string what = error.what();
    CHECK(what.find("close") != std::string::npos);
    CHECK(what.find(error.code().message()) != std::string::npos);
  }
}

TEST(a_wake_is_called_when_there_is_work) {
  gate woken, destroyed;
  {
    executor_options options;
    options.wake = [&woken, counted = counted(destroyed)] { woken.pass(); };
    executor executor(std::move(options));
    queue_options on_it;
    on_it.executor = executor;
    const queue queue(queue_kind::fifo, std::move(on_it));
    queue.enqueue([] {});
    woken.wait();
    CHECK(executor.wait_for(0s));
    CHECK_EQUAL(executor.drain(1), 1u);
    executor.drain();
    CHECK(!executor.wait_for(0s));
    executor.set_wake({});
    CHECK_EQUAL(destroyed.count(), 1);
    CHECK(executor.fd() >= 0);
  }
  CHECK_EQUAL(destroyed.count(), 1);
}

TEST(run_returns_after_stop) {
  executor executor;
  queue_options options;
  options.executor = executor;
  const queue queue(queue_kind::fifo, std::move(options));
  queue.post([&] { executor.stop(); });
  executor.run();
  CHECK(queue.drain_for(limit));
}

TEST(a_pool_of_ones_own_calls_work_on_its_threads) {
  executor_options options;
  options.workers = 1;
  options.label = "disk";
  executor disk(std::move(options));
  queue_options on_it;
  on_it.executor = disk;
  queue queue(queue_kind::concurrent, std::move(on_it));
  CHECK(queue.run([] { return std::this_thread::get_id(); }).get() !=
        std::this_thread::get_id());
  CHECK_REFUSED(unsupported, disk.drain());
  queue.set_executor(pool());
  CHECK(queue.run([] { return true; }).get());
}

TEST(an_event_loop_is_attached_once) {
  executor executor;
  int data = 0;
  executor.attach("mine", &data);
  CHECK(executor.attached("mine") == &data);
  CHECK_REFUSED(busy, executor.attach("other"));
  executor.detach("mine");
  CHECK_REFUSED(invalid_argument, (void)executor.attached("mine"));
}

TEST(a_manual_clock_stands_still_until_it_is_advanced) {
  const manual_clock clock;
  CHECK(clock.now() == 0ns);
  clock.advance(3s);
  CHECK(clock.now() == 3s);
  CHECK(clock_ref().now() > 0ns);
  CHECK_REFUSED(invalid_argument, clock.advance(-1s));
}

TEST(an_owner_that_goes_takes_its_operations_along) {
  stage stage;
  operation operation;
  {
    owner window(1);
    const auto for_window = [&] {
      operation_options options;
      options.owner = window;
      return options;
    };
    operation = stage.queue.enqueue([] { FAIL("it runs"); }, for_window());
    CHECK_EQUAL(window.count(), 1u);
    CHECK(stage.queue.try_post([] {}, for_window()) == errc::full);
  }
  stage.drain();
  CHECK_EQUAL(operation.wait().cause, cause::owner);
}

TEST(a_callback_is_move_only_and_destroys_what_it_holds_once) {
  gate destroyed;
  {
    callback<int(int)> twice = [counted = counted(destroyed)](int number) {
      return 2 * number;
    };
    callback<int(int)> other = std::move(twice);
    CHECK(!twice);
    CHECK_EQUAL(other(4), 8);
    twice = std::move(other);
    CHECK(!other);
    CHECK_EQUAL(twice(5), 10);
    CHECK_EQUAL(destroyed.count(), 0);
    twice = [counted = counted(destroyed)](int number) { return number; };
    CHECK_EQUAL(destroyed.count(), 1);
  }
  CHECK_EQUAL(destroyed.count(), 2);
}
