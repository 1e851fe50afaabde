// fiber.hpp - a stack of its own, and switches between such stacks.
//
// SPDX-License-Identifier: MIT
#ifndef MODEL_FIBER_HPP
#define MODEL_FIBER_HPP

#include <cstddef>

namespace model {

class Fiber {
public:
  // The fiber begins with `entry` at the next switch to it.
  void prepare(void (*entry)());
  // Called on this fiber: continues with the other one, until something
  // switches back.
  void switchTo(Fiber &other);
  // Discards a fiber that has not ended, as in the child of a fork.
  void discard();

  // Called by each fiber when it continues.
  static void arrived();

private:
  void *stackPointer = nullptr;
  char *stack = nullptr;
  [[maybe_unused]] void *sanitizers = nullptr; // ThreadSanitizer's handle
  const void *bottom = nullptr;
  size_t size = 0;
};

} // namespace model

#endif
