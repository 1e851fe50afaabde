/* libuv: a loop on a thread of its own. Other threads may only call
   uv_async_send, which carries no data and may merge several sends into one
   call: so the jobs are in a list guarded by a mutex, as its manual says, which
   the callback swaps out and runs without the lock. */
#pragma once

#include "../bench.hpp"

#include <mutex>
#include <thread>
#include <uv.h>

namespace peers::libuv {

class Queue {
public:
  explicit Queue(const bench::Shape &) {
    check(uv_loop_init(&loop));
    check(uv_async_init(&loop, &wake, serve));
    wake.data = this;
    thread = std::thread([this] { uv_run(&loop, UV_RUN_DEFAULT); });
  }
  ~Queue() {
    put({nullptr, nullptr});
    thread.join();
    check(uv_loop_close(&loop));
  }

  template <bench::Work work> void enqueue(void *context) {
    put({work, context});
  }
  void drain() { bench::drain_by_gate(*this); }

private:
  static void check(int status) {
    bench::require(status == 0, "libuv gives no error");
  }
  void put(bench::Job job) {
    {
      std::lock_guard lock(mutex);
      jobs.push_back(job);
    }
    check(uv_async_send(&wake));
  }
  static void serve(uv_async_t *wake) {
    auto &queue = *static_cast<Queue *>(wake->data);
    {
      std::lock_guard lock(queue.mutex);
      queue.jobs.swap(queue.running);
    }
    for (auto &job : queue.running)
      if (job.work)
        job.work(job.context);
      else
        uv_close(reinterpret_cast<uv_handle_t *>(wake), nullptr);
    queue.running.clear();
  }

  uv_loop_t loop;
  uv_async_t wake;
  std::mutex mutex;
  std::vector<bench::Job> jobs; /* guarded by the mutex */
  std::vector<bench::Job> running;
  std::thread thread;
};

} // namespace peers::libuv
