/*
 * asio.cpp - the suite on an io_context of Asio, its own or Boost's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <inturn/asio.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

using context_of = inturn_asio::io_context;
using timer_of = inturn_asio::steady_timer;

thread_local std::unique_ptr<context_of> context;
thread_local std::unique_ptr<timer_of> ticker;

void begin() { context = std::make_unique<context_of>(); }
void end() { context.reset(); }

inturn_status attach(inturn_executor executor) {
  return inturn_asio_attach(executor, context->get_executor());
}

void run() {
  context->restart();
  context->run();
}

void stop() { context->stop(); }

void wait_for_tick(std::chrono::milliseconds time, void (*tick)()) {
  ticker->expires_after(time);
  ticker->async_wait([time, tick](const inturn_asio_error &error) {
    if (error)
      return;
    wait_for_tick(time, tick);
    tick();
  });
}

void set_tick(int milliseconds, void (*tick)()) {
  ticker.reset();
  if (tick == nullptr)
    return;
  ticker = std::make_unique<timer_of>(*context);
  wait_for_tick(std::chrono::milliseconds(milliseconds), tick);
}

/* Like a handler that runs its own context until something has arrived. */
void nest(int milliseconds) {
  context->run_for(std::chrono::milliseconds(milliseconds));
}

void run_once(void *its_context) {
  auto *other = static_cast<context_of *>(its_context);
  other->restart();
  other->poll();
}

void a_loop_on_another_thread_calls_nothing_and_says_so() {
  begin();
  check_that_another_thread_calls_nothing(context.get(), run_once);
  end();
}

} // namespace

const host the_host = {"asio", begin, end,      attach, inturn_asio_detach,
                       run,    stop,  set_tick, nest};

const named_test own_tests[] = {
    {"a_loop_inside_work_sleeps_and_calls_no_other_work",
     a_loop_inside_work_sleeps_and_calls_no_other_work},
    {"a_loop_inside_work_may_detach", a_loop_inside_work_may_detach},
    {"a_loop_that_ends_gives_the_executor_back",
     a_loop_that_ends_gives_the_executor_back},
    {"a_loop_on_another_thread_calls_nothing_and_says_so",
     a_loop_on_another_thread_calls_nothing_and_says_so},
    {"a_detached_executor_does_not_keep_the_loop_going",
     a_detached_executor_does_not_keep_the_loop_going},
    {nullptr, nullptr}};
