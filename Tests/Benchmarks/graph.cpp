/* Operations that come after others, two at a time: a chain, in which each
   comes after the one before it; or a fan, in which all except the first come
   after the first, and the last after all of them.

   Timed: from adding the first operation until all have run, by the wall clock;
   without cleaning up.

   Arguments: operations, 0 for a chain or 1 for a fan. */
#include "bench.hpp"
#include PEER_HEADER

#include <atomic>

using peers::PEER::Graph;

namespace {

std::atomic<std::uint64_t> ran;

void count(void *) { ran.fetch_add(1, std::memory_order_relaxed); }

double build_and_run(std::size_t operations, bool is_fan) {
  ran = 0;
  Graph graph(2, operations);
  std::vector<Graph::Node> middle;
  middle.reserve(operations);
  auto start = bench::now_ns();
  auto last = graph.add<count>(nullptr, nullptr, 0);
  if (is_fan) {
    for (std::size_t i = 2; i < operations; i++)
      middle.push_back(graph.add<count>(nullptr, &last, 1));
    graph.add<count>(nullptr, middle.data(), middle.size());
  } else {
    for (std::size_t i = 1; i < operations; i++)
      last = graph.add<count>(nullptr, &last, 1);
  }
  graph.wait();
  auto elapsed = bench::now_ns() - start;
  bench::require(ran == operations, "each operation ran once");
  return static_cast<double>(elapsed);
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto operations = arguments[0];
  bool is_fan = arguments[1] == 1;
  bench::print_bursts(arguments, operations,
                      [&] { return build_and_run(operations, is_fan); });
}
