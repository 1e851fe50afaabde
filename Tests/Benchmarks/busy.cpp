/* How much of two processors is left idle by operations that each keep one busy
   for a short while.

   The work counts down; how far is measured in the same process, by one thread
   alone and by two at once, and the slower result is the ideal.

   Arguments: operations, nanoseconds of each. */
#include "bench.hpp"
#include PEER_HEADER

#include <atomic>
#include <thread>

using peers::PEER::Concurrent;

namespace {

std::atomic<std::uint64_t> ran;
std::uint64_t steps;

void spin(std::uint64_t count) {
  for (volatile std::uint64_t left = count; left > 0;)
    left = left - 1;
}

void work(void *) {
  spin(steps);
  ran.fetch_add(1, std::memory_order_relaxed);
}

/* The time for this much work on two threads that do nothing else. */
double ideal_ns(std::size_t operations) {
  auto start = bench::now_ns();
  auto half = [=] {
    for (std::size_t i = 0; i < operations / 2; i++)
      work(nullptr);
  };
  std::thread other(half);
  half();
  other.join();
  return static_cast<double>(bench::now_ns() - start);
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto operations = arguments[0] / 2 * 2, work_ns = arguments[1];
  const std::uint64_t trial = 20'000'000;
  auto start = bench::now_ns();
  spin(trial);
  steps = trial * work_ns / static_cast<std::uint64_t>(bench::now_ns() - start);

  Concurrent queue(2);
  std::vector<double> shares;
  for (int round = 0; round < 5; round++) {
    auto ideal = ideal_ns(operations);
    ran = 0;
    start = bench::now_ns();
    for (std::size_t i = 0; i < operations; i++)
      queue.enqueue<work>(nullptr);
    queue.drain();
    auto elapsed = static_cast<double>(bench::now_ns() - start);
    bench::require(ran == operations, "each operation ran once");
    shares.push_back(1 - ideal / elapsed);
  }
  arguments.print("idle_share", bench::median(shares));
}
