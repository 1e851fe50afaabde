/*
 * harness.hpp - what every C++ test program needs: tests, checks, gates, a
 * stage.
 *
 * SPDX-License-Identifier: MIT
 *
 * Nothing here sleeps, and nothing here waits without a limit.
 */
#ifndef HARNESS_HPP
#define HARNESS_HPP

#include <inturn.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <thread>

/* How long a test may wait for one thing. */
constexpr std::chrono::seconds limit{30};

/* Checks ------------------------------------------------------------------ */

/* Says where and what, and ends the program with status 1, without the
   destructors that what failed may hang. */
[[noreturn]] void fail_at(const char *file, int line, const std::string &what);

#define FAIL(what) fail_at(__FILE__, __LINE__, what)

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition))                                                          \
      FAIL(#condition " does not hold");                                       \
  } while (0)

#define CHECK_EQUAL(expression, expected)                                      \
  check_equal_at(__FILE__, __LINE__, #expression, expression, expected)

template <class Got, class Want>
void check_equal_at(const char *file, int line, const char *what,
                    const Got &got, const Want &want) {
  if (got == want)
    return;
  std::ostringstream message;
  if constexpr (std::is_enum_v<Got>)
    message << what << " is " << static_cast<int>(got) << ", not "
            << static_cast<int>(want);
  else
    message << what << " is " << got << ", not " << want;
  fail_at(file, line, message.str());
}

/* Checks that the statements throw an inturn::error with this status. */
#define CHECK_REFUSED(expected, ...)                                           \
  do {                                                                         \
    try {                                                                      \
      __VA_ARGS__;                                                             \
      FAIL(#__VA_ARGS__ " is not refused");                                    \
    } catch (const inturn::error &error) {                                     \
      CHECK_EQUAL(error.code().message(),                                      \
                  make_error_code(inturn::errc::expected).message());          \
    }                                                                          \
  } while (0)

/* Gates ------------------------------------------------------------------- */

/* A count that only grows, and that threads can wait for. */
class gate {
public:
  void pass();
  long count();

  /* Waits until the gate was passed so often; fails after the limit. */
  void wait(long count = 1);

private:
  std::mutex mutex;
  std::condition_variable grown;
  long passed = 0;
};

/* Counts the destructions of what it is moved along with. */
class counted {
public:
  explicit counted(gate &destroyed) : destroyed(&destroyed) {}
  counted(counted &&other) noexcept
      : destroyed(std::exchange(other.destroyed, nullptr)) {}
  counted &operator=(counted &&) = delete;
  ~counted() {
    if (destroyed != nullptr)
      destroyed->pass();
  }

private:
  gate *destroyed;
};

/* The trace of a test: words in the order in which they were said. */
class trace {
public:
  void say(const std::string &word);
  std::string take();

private:
  std::mutex mutex;
  std::string words;
};

/* Stages ------------------------------------------------------------------ */

/* A queue whose executor the test drains and whose clock it advances, so that
   each step is the test's own. An interaction queue is visible and has no
   delays. */
struct stage {
  explicit stage(inturn::queue_kind kind = inturn::queue_kind::fifo,
                 inturn::queue_options options = {});

  /* Calls what waits until nothing does. */
  void drain() { executor.drain(); }

  /* Advances the clock, then drains. */
  void advance(inturn::nanoseconds by);

  inturn::manual_clock clock;
  inturn::executor executor;
  inturn::queue queue;
};

/* Work that leaves its token here. */
struct kept_token {
  auto keep() {
    return [this](inturn::token given) {
      token = std::move(given);
      is_kept.pass();
    };
  }

  inturn::token token;
  gate is_kept; /* for who is not the executor's thread */
};

/* Collects the library's reports while it lives. */
class reports {
public:
  reports();
  ~reports();

  /* The messages so far, one a line. */
  std::string take() { return said.take(); }

private:
  trace said;
};

/* Programs ---------------------------------------------------------------- */

/* Defines a test, which is named by the sentence that it proves. */
#define TEST(name)                                                             \
  static void name();                                                          \
  static const bool name##_is_listed = list_test(#name, name);                 \
  static void name()

bool list_test(const char *name, void (*run)());

/* Runs `body` in a forked child with the standard error closed, and gives how
   it has ended: its exit status, or minus the signal. */
int in_child(const std::function<void()> &body);

#endif
