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

/* The strand has the wait's end behind what detaches, when that is called. */
void a_strand_calls_nothing_once_it_is_detached() {
  begin();
  const auto strand = inturn_asio::make_strand(*context);
  inturn_executor executor;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  int calls = 0;
  inturn_executor_create(nullptr, &executor);
  options.executor = executor;
  inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue);
  inturn_queue_enqueue(
      queue,
      [](void *calls, inturn_token token) {
        ++*static_cast<int *>(calls);
        inturn_token_finish(token);
      },
      &calls, nullptr, nullptr);
  bool is_refused = inturn_asio_attach(executor, strand) != INTURN_OK;
  inturn_asio::post(*context, [&] {
    inturn_asio::post(strand, [&] {
      is_refused |= inturn_asio_detach(executor) != INTURN_OK;
    });
  });
  run();
  if (is_refused || calls > 0) {
    std::fprintf(stderr, "refused: %d, calls: %d\n", is_refused, calls);
    std::abort();
  }
  inturn_queue_destroy(queue);
  inturn_executor_destroy(executor);
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
    {"a_strand_calls_nothing_once_it_is_detached",
     a_strand_calls_nothing_once_it_is_detached},
    {"a_detached_executor_does_not_keep_the_loop_going",
     a_detached_executor_does_not_keep_the_loop_going},
    {nullptr, nullptr}};
