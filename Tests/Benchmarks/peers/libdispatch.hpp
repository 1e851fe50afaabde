/* libdispatch: a serial queue on its own pool. An operation ends when its
   function returns; there is no token, no handle and no status to check. */
#pragma once

#include "../bench.hpp"

#include <dispatch/dispatch.h>

namespace peers::libdispatch {

class Queue {
public:
  explicit Queue(const bench::Shape &shape)
      : queue(dispatch_queue_create(shape.label, DISPATCH_QUEUE_SERIAL)) {}
  Queue(const Queue &) = delete;
  ~Queue() { dispatch_release(queue); }

  template <bench::Work work> void enqueue(void *context) {
    dispatch_async_f(queue, context, work);
  }
  void suspend() { dispatch_suspend(queue); }
  void resume() { dispatch_resume(queue); }
  void drain() {
    dispatch_sync_f(queue, nullptr, [](void *) {});
  }

  struct Handover {
    Queue &from, &to;
    std::uint64_t started = 0;
  };
  void enqueue_ended_elsewhere(Handover &handover) {
    dispatch_async_f(queue, &handover, hand_over);
  }

private:
  /* Suspended and resumed, the queue stands in for a token. */
  static void hand_over(void *context) {
    auto *handover = static_cast<Handover *>(context);
    handover->started += 1;
    handover->from.suspend();
    handover->to.enqueue<resume_other>(&handover->from);
  }
  static void resume_other(void *other) {
    static_cast<Queue *>(other)->resume();
  }

  dispatch_queue_t queue;
};

} // namespace peers::libdispatch
