/* Inturn, with a handle for each operation: it is kept in a ring, and released
   when the ring comes round to it. One producer. */
#pragma once

#include "inturn.hpp"

namespace peers::inturn_with_handle {

class Queue {
public:
  explicit Queue(const bench::Shape &shape)
      : queue(shape), held(shape.operations, inturn_operation{0}) {}
  ~Queue() {
    for (auto operation : held)
      if (operation.bits != 0)
        inturn::check(inturn_operation_release(operation));
  }

  template <bench::Work work> void enqueue(void *context) {
    auto &place = held[next];
    next = next + 1 == held.size() ? 0 : next + 1;
    if (place.bits != 0)
      inturn::check(inturn_operation_release(place));
    queue.enqueue<work>(context, &place);
  }
  void suspend() { queue.suspend(); }
  void resume() { queue.resume(); }
  void drain() { queue.drain(); }

private:
  inturn::Queue queue;
  std::vector<inturn_operation> held;
  std::size_t next = 0;
};

} // namespace peers::inturn_with_handle
