/* Inturn, with a different key of nine bytes for each operation. */
#pragma once

#include "inturn.hpp"

namespace peers::inturn_with_key {

class Queue : public inturn::Queue {
public:
  using inturn::Queue::Queue;

  template <bench::Work work> void enqueue(void *context) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    char key[16];
    std::snprintf(key, sizeof key, "%09zu", number++);
    options.key = key;
    inturn::check(inturn_queue_enqueue_with(queue, &options, inturn::run<work>,
                                            context, nullptr, nullptr));
  }

private:
  std::size_t number = 0;
};

} // namespace peers::inturn_with_key
