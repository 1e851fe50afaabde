/* The memory of pending operations, in a new process: a suspended queue before
   and after the enqueues. All contexts are one static number, so that the bytes
   are the queue's own. One operation has run before, so that threads and first
   pages are not counted.

   Arguments: operations. */
#include "memory.hpp"
#include PEER_HEADER

using peers::PEER::Queue;

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 1);
  auto operations = arguments[0];
  std::uint64_t ran = 0;
  Queue queue({.operations = operations + 1});
  queue.enqueue<bench::count>(&ran);
  queue.drain();
  queue.suspend();
  auto before = bench::Memory::now();
  for (std::size_t i = 0; i < operations; i++)
    queue.enqueue<bench::count>(&ran);
  before.print_growth(arguments, operations);
  queue.resume();
  queue.drain();
  bench::require(ran == operations + 1, "each operation ran once");
}
