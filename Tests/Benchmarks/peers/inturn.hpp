/* Inturn: a FIFO queue on the library's own pool. Each operation finishes its
   token, and every status is checked. */
#pragma once

#include "../bench.hpp"

#include <inturn.h>

namespace peers::inturn {

inline void check(inturn_status status) {
  if (status != INTURN_OK)
    bench::require(false, inturn_status_name(status));
}

class Queue {
public:
  explicit Queue(const bench::Shape &shape) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.label = shape.label;
    check(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  }
  Queue(const Queue &) = delete;
  ~Queue() { check(inturn_queue_destroy(queue)); }

  template <bench::Work work>
  void enqueue(void *context, inturn_operation *out_operation = nullptr) {
    check(inturn_queue_enqueue(queue, run<work>, context, nullptr,
                               out_operation));
  }
  void suspend() { check(inturn_queue_suspend(queue)); }
  void resume() { check(inturn_queue_resume(queue)); }
  void drain() { check(inturn_queue_drain(queue, -1)); }

  struct Handover {
    Queue &from, &to;
    std::uint64_t started = 0;
  };
  void enqueue_ended_elsewhere(Handover &handover) {
    check(inturn_queue_enqueue(queue, hand_over, &handover, nullptr, nullptr));
  }

private:
  template <bench::Work work>
  static void run(void *context, inturn_token token) {
    work(context);
    check(inturn_token_finish(token));
  }
  /* The token goes to the other queue's work as its context. */
  static void hand_over(void *context, inturn_token token) {
    auto *handover = static_cast<Handover *>(context);
    handover->started += 1;
    handover->to.enqueue<finish>(reinterpret_cast<void *>(token.bits));
  }
  static void finish(void *bits) {
    check(inturn_token_finish({reinterpret_cast<std::uint64_t>(bits)}));
  }

  inturn_queue queue;
};

} // namespace peers::inturn
