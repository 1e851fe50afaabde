/*
 * memory.cpp - what an operator new that throws does to calls and callbacks;
 * with C++20.
 *
 * SPDX-License-Identifier: MIT
 */
#include "coroutines.hpp"

#include <new>

using namespace inturn;

/* How many more allocations of this thread succeed; below zero: all. */
static thread_local long allocations = -1;

void *operator new(std::size_t size) {
  if (allocations == 0)
    throw std::bad_alloc();
  if (allocations > 0)
    allocations--;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

/* Calls `body` with memory for so many allocations; false when it throws as
   that is too little. */
template <class Body> static bool succeeds_with(long count, Body body) {
  bool is_enough = true;
  allocations = count;
  try {
    body();
  } catch (const std::bad_alloc &) {
    is_enough = false;
  }
  allocations = -1;
  return is_enough;
}

TEST(why_throws_when_there_is_no_memory_for_the_line) {
  stage stage;
  const operation held = stage.queue.enqueue([] {});
  CHECK(!succeeds_with(0, [&] { (void)held.why(); }));
  CHECK(succeeds_with(1, [&] { (void)held.why(); }));
}

TEST(run_throws_when_there_is_no_memory_for_not_finished) {
  stage stage;
  for (const bool is_enough : {false, true}) {
    auto future = stage.queue.run([] { return 1; });
    stage.queue.cancel_all();
    CHECK(succeeds_with(is_enough, [&] { stage.drain(); }));
    try {
      future.get();
      FAIL("nothing is thrown");
    } catch (const not_finished &) {
      CHECK(is_enough);
    } catch (const std::bad_alloc &) {
      CHECK(!is_enough);
    }
  }
}

static loose take_turn(queue_ref queue, operation_options options,
                       bool &is_enough) {
  try {
    const auto turn = co_await queue.turn(std::move(options));
    is_enough = true;
  } catch (const std::bad_alloc &) {
  }
}

TEST(a_turn_for_which_there_is_no_memory_keeps_nothing) {
  stage stage;
  gate destroyed;
  bool is_enough = false;
  for (long count = 0; !is_enough; count++) {
    operation_options options;
    options.on_end = [counted = counted(destroyed)](const end &) {};
    succeeds_with(
        count, [&] { take_turn(stage.queue, std::move(options), is_enough); });
    options = {};
    stage.drain();
    CHECK_EQUAL(destroyed.count(), count + 1);
  }
  CHECK_EQUAL(stage.queue.statistics().finished, 1u);
}
