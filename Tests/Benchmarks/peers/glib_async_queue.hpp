/* GLib's GAsyncQueue, and a thread that pops. The queue has one pointer per
   operation, so its function and context are allocated from GLib's slices, and
   the thread frees them. */
#pragma once

#include "../bench.hpp"

#include <glib.h>
#include <thread>

namespace peers::glib_async_queue {

class Queue {
public:
  explicit Queue(const bench::Shape &) : thread([this] { serve(); }) {}
  ~Queue() {
    put(nullptr, nullptr);
    thread.join();
    g_async_queue_unref(queue);
  }

  template <bench::Work work> void enqueue(void *context) {
    put(work, context);
  }
  void drain() { bench::drain_by_gate(*this); }

private:
  void put(bench::Work work, void *context) {
    auto *job = g_slice_new(bench::Job);
    *job = {work, context};
    g_async_queue_push(queue, job);
  }
  void serve() {
    bench::Work work;
    do {
      auto *job = static_cast<bench::Job *>(g_async_queue_pop(queue));
      work = job->work;
      if (work)
        work(job->context);
      g_slice_free(bench::Job, job);
    } while (work);
  }

  GAsyncQueue *queue = g_async_queue_new();
  std::thread thread;
};

} // namespace peers::glib_async_queue
