// fiber.hpp - a stack of its own, and switching between such.
//
// SPDX-License-Identifier: MIT
#ifndef MODEL_FIBER_HPP
#define MODEL_FIBER_HPP

#include <cstddef>

namespace model {

class Fiber {
public:
  // Makes it begin with `entry` at the next switch to it.
  void prepare(void (*entry)());
  // Called on this fiber: goes on with the other one, until somebody comes
  // back.
  void switchTo(Fiber &other);
  // It is gone without having come to its end, as in a fork's child.
  void discard();

  // Said by each fiber when it goes on; of no use to others.
  static void arrived();

private:
  void *stackPointer = nullptr;
  char *stack = nullptr;
  [[maybe_unused]] void *sanitizers = nullptr; // ThreadSanitizer's name of it
  const void *bottom = nullptr;
  size_t size = 0;
};

} // namespace model

#endif
