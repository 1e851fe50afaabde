/* No-op operations into a concurrent queue that runs one at a time.

   Timed: from the first enqueue until the queue is drained, by the wall clock.

   Arguments: operations. */
#include "bench.hpp"
#include PEER_HEADER

using peers::PEER::Concurrent;

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 1);
  auto operations = arguments[0];
  Concurrent queue(1);
  bench::print_bursts(arguments, operations, [&] {
    std::uint64_t ran = 0;
    auto start = bench::now_ns();
    for (std::size_t i = 0; i < operations; i++)
      queue.enqueue<bench::count>(&ran);
    queue.drain();
    auto elapsed = bench::now_ns() - start;
    bench::require(ran == operations, "each operation ran once");
    return static_cast<double>(elapsed);
  });
}
