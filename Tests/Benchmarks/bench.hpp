/* Shared by the benchmark programs: time, figures, arguments, output.

   A program is one case compiled with one peer: PEER is its name, and
   PEER_HEADER is the header that defines its class peers::PEER::Queue. */
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <vector>

#define BENCH_STRING(text) #text
#define BENCH_NAME(name) BENCH_STRING(name)
#define PEER_NAME BENCH_NAME(PEER)

namespace bench {

using Work = void (*)(void *);

/* What a queue is created for; each peer takes what it needs from this. */
struct Shape {
  std::size_t operations = 0; /* the most that are ever pending */
  unsigned producers = 1;
  const char *label = nullptr;
};

/* For peers that enqueue a function and its context. */
struct Job {
  Work work;
  void *context;
};

inline std::int64_t now_ns() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

inline void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "%s: this does not hold: %s\n", PEER_NAME, what);
  std::exit(1);
}

inline double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(fraction * (values.size() - 1))];
}

inline double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

/* The case's name, which the output repeats, and `count` numbers. */
class Arguments {
public:
  Arguments(int argc, char **argv, int count) : argv(argv) {
    require(argc == count + 2, "the arguments are a case and its numbers");
  }
  std::size_t operator[](int index) const {
    return std::strtoull(argv[index + 2], nullptr, 10);
  }
  void print(const char *metric, double value) const {
    std::printf("%s,%s,%s,%.4f\n", argv[1], PEER_NAME, metric, value);
  }

private:
  char **argv;
};

/* The work in cases that need none: its count proves that each operation ran.
   It is a plain number, as operations of one queue never overlap. */
inline void count(void *context) {
  *static_cast<std::uint64_t *>(context) += 1;
}

/* Drains a queue that cannot be waited for: a last operation opens a gate. */
inline std::binary_semaphore drained(0);

inline void open_gate(void *) { drained.release(); }

template <class Queue> void drain_by_gate(Queue &queue) {
  queue.template enqueue<open_gate>(nullptr);
  drained.acquire();
}

/* Prints the time per operation, from the burst's first enqueue until the queue
   is drained: for a first burst in a new process, and the median of three more.
   `burst` returns its nanoseconds. */
template <class Burst>
void print_bursts(const Arguments &arguments, std::size_t operations,
                  Burst burst) {
  double first = burst();
  double later = median({burst(), burst(), burst()});
  arguments.print("ns_per_operation", later / operations);
  arguments.print("first_burst_ns_per_operation", first / operations);
}

} // namespace bench
