/* Inturn, with a label and a deadline for each operation. */
#pragma once

#include "inturn.hpp"

namespace peers::inturn_with_deadline {

class Queue : public inturn::Queue {
public:
  using inturn::Queue::Queue;

  template <bench::Work work> void enqueue(void *context) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.label = "upload";
    options.max_wait_ns = INT64_C(3600'000'000'000);
    inturn::check(inturn_queue_enqueue_with(queue, &options, inturn::run<work>,
                                            context, nullptr, nullptr));
  }
};

} // namespace peers::inturn_with_deadline
