/* Idle queues: the memory of each, and the time to create and to destroy one,
   in a new process with all of them alive at once. The label, if there is one,
   is the same for all, and copied by each peer.

   Arguments: queues, 1 for queues with a label. */
#include "memory.hpp"
#include PEER_HEADER

#include <optional>

using peers::PEER::Queue;

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto count = arguments[0];
  static char label[] = "org.example.upload";
  bench::Shape shape{.label = arguments[1] ? label : nullptr};
  { Queue first(shape); }

  /* Filled first, so that the list itself is in memory before the count. */
  std::vector<std::optional<Queue>> queues(count);
  auto before = bench::Memory::now();
  auto start = bench::now_ns();
  for (auto &queue : queues)
    queue.emplace(shape);
  auto created = bench::now_ns();
  before.print_growth(arguments, count);
  auto resumed = bench::now_ns();
  for (auto &queue : queues)
    queue.reset();
  auto destroyed = bench::now_ns();

  double create = created - start, destroy = destroyed - resumed;
  arguments.print("create_ns", create / count);
  arguments.print("destroy_ns", destroy / count);
  arguments.print("create_and_destroy_ns", (create + destroy) / count);
}
