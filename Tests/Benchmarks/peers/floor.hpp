/* The floor: a preallocated hand-over from the producers to one thread that
   spins, yields, and never sleeps. A ring with room for every operation,
   touched beforehand; no growth, no wake-up, no token. It is what the machine's
   caches allow, not a usable queue.

   One producer publishes an index; several reserve a place each and publish it
   with its function. */
#pragma once

#include "../bench.hpp"

#include <atomic>
#include <bit>
#include <thread>

namespace peers::floor {

class Queue {
public:
  explicit Queue(const bench::Shape &shape)
      : several(shape.producers > 1),
        /* The gate's operation needs a place, too. */
        places(std::bit_ceil(shape.operations + 1)), mask(places.size() - 1),
        consumer([this](std::stop_token stop) {
          several ? serve_several(stop) : serve_one(stop);
        }) {}

  template <bench::Work work> void enqueue(void *context) {
    if (several) {
      auto index = reserved.fetch_add(1, std::memory_order_relaxed);
      auto &place = places[index & mask];
      place.context = context;
      place.work.store(work, std::memory_order_release);
    } else {
      auto index = published.load(std::memory_order_relaxed);
      auto &place = places[index & mask];
      place.context = context;
      place.work.store(work, std::memory_order_relaxed);
      published.store(index + 1, std::memory_order_release);
    }
  }
  void drain() { bench::drain_by_gate(*this); }

private:
  struct Place {
    std::atomic<bench::Work> work = nullptr;
    void *context = nullptr;
  };

  void serve_one(const std::stop_token &stop) {
    std::size_t next = 0, end = 0;
    while (wait(stop, [&] {
      end = published.load(std::memory_order_acquire);
      return next != end;
    }))
      for (; next != end; next++) {
        auto &place = places[next & mask];
        place.work.load(std::memory_order_relaxed)(place.context);
      }
  }
  void serve_several(const std::stop_token &stop) {
    std::size_t next = 0;
    bench::Work work;
    while (wait(stop, [&] {
      work = places[next & mask].work.load(std::memory_order_acquire);
      return work != nullptr;
    })) {
      auto &place = places[next++ & mask];
      auto *context = place.context;
      place.work.store(nullptr, std::memory_order_relaxed);
      work(context);
    }
  }
  /* False if the queue ends before `ready` holds. */
  template <class Ready>
  static bool wait(const std::stop_token &stop, Ready ready) {
    for (unsigned spins = 0; !ready(); spins++) {
      if (spins < 100)
        relax();
      else if (stop.stop_requested())
        return false;
      else
        std::this_thread::yield();
    }
    return true;
  }

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  const bool several;
  std::vector<Place> places;
  const std::size_t mask;
  alignas(64) std::atomic<std::size_t> published = 0;
  alignas(64) std::atomic<std::size_t> reserved = 0;
  /* Last, so that it starts when the rest exists, and ends first. */
  alignas(64) std::jthread consumer;
};

} // namespace peers::floor
