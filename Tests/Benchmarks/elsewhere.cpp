/* Operations that end elsewhere: the work of the first queue's operation
   enqueues, on a second queue, work that ends it; only then does the first
   queue's next operation start.

   Timed: from the first enqueue until the first queue is drained. The same for
   each peer: the burst, the order, and that nothing blocks a thread. Different:
   libdispatch has no finish token. Its queue is suspended by the work and
   resumed elsewhere, which any thread can do to it at any time.

   Arguments: operations. */
#include "bench.hpp"
#include PEER_HEADER

using peers::PEER::Queue;

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 1);
  auto operations = arguments[0];
  Queue first({.operations = operations}), second({.operations = 1});
  bench::print_bursts(arguments, operations, [&] {
    Queue::Handover handover{first, second};
    auto start = bench::now_ns();
    for (std::size_t i = 0; i < operations; i++)
      first.enqueue_ended_elsewhere(handover);
    first.drain();
    double elapsed = bench::now_ns() - start;
    bench::require(handover.started == operations, "each operation ran once");
    second.drain();
    return elapsed;
  });
}
