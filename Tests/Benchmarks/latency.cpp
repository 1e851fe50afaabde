/* One operation on an idle queue: from just before the enqueue to the start of
   its work.

   With a spacing, the producer sleeps for so long after each enqueue: by the
   next one the worker is asleep, however long it spins before. Without, it
   yields until the work has started, and enqueues again. The same for each
   peer: the clock, the producer, and that the work is over once it has noted
   the time.

   Arguments: samples, spacing in microseconds. */
#include "bench.hpp"
#include PEER_HEADER

#include <atomic>
#include <thread>

using peers::PEER::Queue;

static void note_start(void *context) {
  static_cast<std::atomic<std::int64_t> *>(context)->store(
      bench::now_ns(), std::memory_order_release);
}

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto samples = arguments[0];
  std::chrono::microseconds spacing(arguments[1]);
  auto pause = [&] {
    if (spacing.count() > 0)
      std::this_thread::sleep_for(spacing);
    else
      std::this_thread::yield();
  };

  Queue queue({.operations = 1});
  std::vector<double> latencies;
  auto warm_up = samples / 10;
  for (std::size_t i = 0; i < samples + warm_up; i++) {
    std::atomic<std::int64_t> started = 0;
    auto enqueued = bench::now_ns();
    queue.enqueue<note_start>(&started);
    do
      pause();
    while (started.load(std::memory_order_acquire) == 0);
    if (i >= warm_up)
      latencies.push_back(started.load() - enqueued);
  }
  queue.drain();
  arguments.print("median_ns", bench::median(latencies));
  arguments.print("p99_ns", bench::percentile(latencies, 0.99));
}
