/*
 * growth.hpp - how growth.cpp measures: the processor time of a thread, how
 * long it keeps others out of a queue or a value, and how a cost grows.
 *
 * SPDX-License-Identifier: MIT
 */
#pragma once

#include "bench.hpp"

#include <inturn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>
#include <time.h>
#include <vector>

namespace bench {

inline std::int64_t clock_ns(clockid_t clock) {
  timespec time;
  require(clock_gettime(clock, &time) == 0, "a thread has its time");
  return time.tv_sec * INT64_C(1'000'000'000) + time.tv_nsec;
}

inline std::int64_t thread_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/* A thread that waits for a lock spins, or takes naps of about this long,
   including the wake-up. */
constexpr std::int64_t nap_ns = 120'000;

inline std::int64_t voluntary_switches() {
  rusage usage;
  require(getrusage(RUSAGE_THREAD, &usage) == 0, "a thread has its numbers");
  return usage.ru_nvcsw;
}

/* Measures, on a thread of its own, for how long the calling thread keeps
   others from calling `touch`, which takes a lock and is refused. */
class Watch {
public:
  template <class Touch> explicit Watch(Touch touch) {
    clockid_t clock;
    require(pthread_getcpuclockid(pthread_self(), &clock) == 0,
            "a thread has its time");
    thread = std::thread([this, touch, clock] {
      while (!is_over) {
        auto begin = now_ns(), begin_of_other = clock_ns(clock);
        auto begin_here = thread_ns();
        auto naps = -voluntary_switches();
        touch();
        naps += voluntary_switches();
        auto wait =
            std::min({now_ns() - begin, clock_ns(clock) - begin_of_other,
                      thread_ns() - begin_here + naps * nap_ns});
        longest = std::max(longest, wait);
        is_there = true;
      }
    });
    while (!is_there)
      std::this_thread::yield();
  }
  std::int64_t end() {
    is_over = true;
    thread.join();
    return longest;
  }

private:
  std::atomic<bool> is_there = false, is_over = false;
  std::int64_t longest = 0;
  std::thread thread;
};

/* One measurement: the time of its subject, and the longest wait if wanted. */
struct Meter {
  bool watches;
  std::int64_t time_ns = 0, wait_ns = 0;

  template <class Body> void measure(inturn_queue queue, Body body) {
    measure_beside(body, [queue] {
      require(inturn_queue_view_did_appear(queue) == INTURN_E_WRONG_KIND,
              "it has no view");
    });
  }

  template <class Body> void measure(inturn_value value, Body body) {
    measure_beside(body, [value] {
      inturn_datum expected = INTURN_INTEGER(-1);
      bool is_exchanged = true;
      require(inturn_value_compare_exchange(value, &expected, &expected,
                                            &is_exchanged,
                                            nullptr) == INTURN_OK &&
                  !is_exchanged,
              "it is never -1");
    });
  }

private:
  template <class Body, class Touch>
  void measure_beside(Body body, Touch touch) {
    auto watch = watches ? std::make_unique<Watch>(touch) : nullptr;
    auto begin = thread_ns();
    body();
    time_ns += thread_ns() - begin;
    if (watch)
      wait_ns = std::max(wait_ns, watch->end());
  }
};

/* The slope of the line with the least error, through logarithms. */
inline double slope(const std::vector<std::size_t> &sizes,
                    const std::vector<double> &times) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < sizes.size(); i++) {
    x += std::log(sizes[i]) / sizes.size();
    y += std::log(times[i]) / sizes.size();
  }
  for (std::size_t i = 0; i < sizes.size(); i++) {
    xx += (std::log(sizes[i]) - x) * (std::log(sizes[i]) - x);
    xy += (std::log(sizes[i]) - x) * (std::log(times[i]) - y);
  }
  return xx > 0 ? xy / xx : 0;
}

} // namespace bench
