/* How much of a processor the watchdog takes where it looks most often: as on a
   terminal, beside queues that are busy and others that are idle.

   Arguments: idle queues, busy queues, seconds. */
#include "bench.hpp"
#include PEER_HEADER

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using peers::PEER::check;

namespace {

std::atomic<bool> is_over = false;

inturn_queue make_queue() {
  inturn_queue queue{};
  check(inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &queue));
  return queue;
}

/* An operation that enqueues the next one, until it is over. */
void go_on(void *context, inturn_token token) {
  auto &queue = *static_cast<inturn_queue *>(context);
  if (!is_over)
    check(inturn_queue_enqueue(queue, go_on, &queue, nullptr, nullptr));
  check(inturn_token_finish(token));
}

/* The processor time of the process's thread with this name; below zero where
   there is none yet. */
double time_of(const std::string &name) {
  for (const auto &thread :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string said;
    std::getline(std::ifstream(thread.path() / "comm"), said);
    if (said != name)
      continue;
    /* A thread's clock, as the system numbers it. */
    const int number = std::stoi(thread.path().filename());
    timespec time{};
    bench::require(
        clock_gettime(static_cast<clockid_t>(~number * 8 + 6), &time) == 0,
        "a thread has a clock");
    return static_cast<double>(time.tv_sec) * 1e9 +
           static_cast<double>(time.tv_nsec);
  }
  return -1;
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 3);
  check(inturn_report_set_stall_limit(1'000'000'000));
  std::vector<inturn_queue> idle(arguments[0]), busy(arguments[1]);
  for (auto &queue : idle)
    queue = make_queue();
  for (auto &queue : busy)
    queue = make_queue();
  for (auto &queue : busy)
    check(inturn_queue_enqueue(queue, go_on, &queue, nullptr, nullptr));
  const std::chrono::seconds duration(arguments[2]);
  double before = -1;
  while (before < 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    before = time_of("inturn-watchdog");
  }
  std::this_thread::sleep_for(duration);
  const double taken = time_of("inturn-watchdog") - before;
  bench::require(taken > 0, "the watchdog looks");
  is_over = true;
  for (auto queue : busy)
    check(inturn_queue_drain(queue, -1));
  arguments.print("parts_per_million",
                  taken / std::chrono::nanoseconds(duration).count() * 1e6);
  for (const auto &queues : {idle, busy})
    for (auto queue : queues)
      check(inturn_queue_destroy(queue));
}
