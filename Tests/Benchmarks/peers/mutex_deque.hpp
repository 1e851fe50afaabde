/* A mutex, a std::deque and a condition variable: one thread takes one job at
   a time and calls it without the lock. */
#pragma once

#include "../bench.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace peers::mutex_deque {

class Queue {
public:
  explicit Queue(const bench::Shape &) : worker([this] { serve(); }) {}
  ~Queue() {
    set(closed, true);
    worker.join();
  }

  template <bench::Work work> void enqueue(void *context) {
    {
      std::lock_guard lock(mutex);
      jobs.push_back({work, context});
    }
    changed.notify_one();
  }
  void suspend() { set(suspended, true); }
  void resume() { set(suspended, false); }
  void drain() { bench::drain_by_gate(*this); }

private:
  void set(bool &flag, bool value) {
    {
      std::lock_guard lock(mutex);
      flag = value;
    }
    changed.notify_one();
  }
  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock,
                   [&] { return closed || (!suspended && !jobs.empty()); });
      if (closed)
        return;
      auto job = jobs.front();
      jobs.pop_front();
      lock.unlock();
      job.work(job.context);
      lock.lock();
    }
  }

  /* Protects the next three. */
  std::mutex mutex;
  std::deque<bench::Job> jobs;
  bool suspended = false;
  bool closed = false;
  std::condition_variable changed;
  /* Last, so that it starts when the rest exists. */
  std::thread worker;
};

} // namespace peers::mutex_deque
