/* No-op operations on one queue from one or several producers.

   Timed: from the first enqueue until the queue is drained, by the wall clock.
   The same for every peer: the number of operations, the work (it counts), the
   producing threads, which wait at a latch before the clock starts, and one
   consumer at a time. Differences are named in the peers' headers.

   Arguments: operations, producers. */
#include "bench.hpp"
#include PEER_HEADER

#include <latch>
#include <thread>

using peers::PEER::Queue;

static double burst(Queue &queue, std::size_t operations, unsigned producers) {
  std::uint64_t ran = 0;
  auto produce = [&] {
    for (std::size_t i = 0; i < operations / producers; i++)
      queue.enqueue<bench::count>(&ran);
  };
  std::int64_t start;
  if (producers == 1) {
    start = bench::now_ns();
    produce();
  } else {
    std::latch ready(producers), go(1);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < producers; i++)
      threads.emplace_back([&] {
        ready.count_down();
        go.wait();
        produce();
      });
    ready.wait();
    start = bench::now_ns();
    go.count_down();
    for (auto &thread : threads)
      thread.join();
  }
  queue.drain();
  auto elapsed = bench::now_ns() - start;
  bench::require(ran == operations, "each operation ran once");
  return elapsed;
}

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto producers = static_cast<unsigned>(arguments[1]);
  auto operations = arguments[0] / producers * producers;
  Queue queue({.operations = operations, .producers = producers});
  bench::print_bursts(arguments, operations,
                      [&] { return burst(queue, operations, producers); });
}
