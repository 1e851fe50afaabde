/* The longest single enqueue by several producers on one queue.

   Each producer reads the clock before and after each enqueue. With more
   threads than processors, the system takes the processor away during some of
   them, whatever the queue: `floor`, which has no lock, shows for how long.

   Arguments: operations, producers. */
#include "bench.hpp"
#include PEER_HEADER

#include <latch>
#include <thread>

using peers::PEER::Queue;

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto producers = static_cast<unsigned>(arguments[1]);
  auto each = arguments[0] / producers;
  std::uint64_t ran = 0;
  std::vector<double> taken(each * producers);
  {
    Queue queue({.operations = each * producers, .producers = producers});
    std::latch ready(producers);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < producers; i++)
      threads.emplace_back([&, own = taken.data() + i * each] {
        ready.arrive_and_wait();
        for (std::size_t k = 0; k < each; k++) {
          auto before = bench::now_ns();
          queue.enqueue<bench::count>(&ran);
          own[k] = static_cast<double>(bench::now_ns() - before);
        }
      });
    for (auto &thread : threads)
      thread.join();
    queue.drain();
  }
  bench::require(ran == each * producers, "each operation ran once");
  arguments.print("p9999_ns", bench::percentile(taken, 0.9999));
  arguments.print("worst_ns", bench::percentile(std::move(taken), 1));
}
