/* No-op operations on a concurrent queue that runs one at a time: as one batch,
   including its list, against one by one; alternating.

   Timed: from the first operation to the end of all, by the wall clock.

   Arguments: operations. */
#include "bench.hpp"
#include PEER_HEADER

using peers::PEER::Concurrent;

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 1);
  auto operations = arguments[0];
  Concurrent queue(1);
  std::uint64_t ran = 0;
  auto one_by_one = [&] {
    for (std::size_t i = 0; i < operations; i++)
      queue.enqueue<bench::count>(&ran);
    queue.drain();
  };
  auto as_batch = [&] {
    std::vector<inturn_batch_item> items;
    items.reserve(operations);
    for (std::size_t i = 0; i < operations; i++)
      items.push_back({peers::PEER::run<bench::count>, &ran, nullptr});
    queue.run_batch(items);
  };
  auto timed = [&](auto body) {
    ran = 0;
    auto start = bench::now_ns();
    body();
    auto elapsed = static_cast<double>(bench::now_ns() - start);
    bench::require(ran == operations, "each operation ran once");
    return elapsed / operations;
  };
  std::vector<double> single, batch;
  for (int round = 0; round < 6; round++) {
    single.push_back(timed(one_by_one));
    batch.push_back(timed(as_batch));
  }
  arguments.print("single_ns", bench::median(single));
  arguments.print("batch_ns", bench::median(batch));
  arguments.print("batch_to_single",
                  bench::median(batch) / bench::median(single));
}
