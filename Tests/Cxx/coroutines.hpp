/*
 * coroutines.hpp - coroutines of tests, and what they wait for; with C++20.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COROUTINES_HPP
#define COROUTINES_HPP

#include "harness.hpp"

/* A coroutine that nobody awaits. */
struct loose {
  struct promise_type {
    loose get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/* What a coroutine waits for until the test lets it go on. */
struct stop {
  std::coroutine_handle<> waiting;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { waiting = coroutine; }
  void await_resume() const noexcept {}
};

inline inturn::task<> let_go(stop &stop) { co_await stop; }

#endif
