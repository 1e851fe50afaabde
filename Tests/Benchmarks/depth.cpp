/* Whether an operation costs more when more are pending: this many are enqueued
   on a suspended queue, which is then resumed and drained. Few pending: the
   median of many such bursts. Many pending: the second of two bursts, as the
   few's memory is in place, too; the first one is also printed.

   Arguments: few, many. */
#include "bench.hpp"
#include PEER_HEADER

using peers::PEER::Queue;

static double cost_ns(Queue &queue, std::size_t operations) {
  std::uint64_t ran = 0;
  auto start = bench::now_ns();
  queue.suspend();
  for (std::size_t i = 0; i < operations; i++)
    queue.enqueue<bench::count>(&ran);
  queue.resume();
  queue.drain();
  double elapsed = bench::now_ns() - start;
  bench::require(ran == operations, "each operation ran once");
  return elapsed / operations;
}

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto few = arguments[0], many = arguments[1];
  Queue queue({.operations = many});
  std::vector<double> samples;
  for (int i = 0; i < 100; i++)
    samples.push_back(cost_ns(queue, few));
  auto few_ns = bench::median(samples);
  auto first_ns = cost_ns(queue, many);
  auto many_ns = cost_ns(queue, many);
  arguments.print("few_ns", few_ns);
  arguments.print("many_ns", many_ns);
  arguments.print("many_first_burst_ns", first_ns);
  arguments.print("many_to_few", many_ns / few_ns);
  arguments.print("many_first_burst_to_few", first_ns / few_ns);
}
