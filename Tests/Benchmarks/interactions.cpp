/* Whether adding an interaction, resolving or cancelling it by its key, or
   cancelling it with its owner, costs more when more are pending: on one queue
   with all of them, against as many spread over short queues. The queues' views
   are not visible, so that nothing is presented, and this thread drains them:
   what is measured is its own time, without any other thread. The two
   alternate, so that a machine that gets slower does so for both.

   Arguments: interactions pending in all, in a short queue, how many to add. */
#include "bench.hpp"
#include PEER_HEADER

#include <deque>
#include <string>
#include <time.h>

using peers::PEER::check;

namespace {

void work(void *, inturn_token) {
  bench::require(false, "nothing is presented");
}

/* This thread's processor time. */
std::int64_t thread_ns() {
  timespec time;
  bench::require(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0,
                 "a thread has its time");
  return time.tv_sec * INT64_C(1'000'000'000) + time.tv_nsec;
}

struct Figures {
  double add_ns, resolve_ns, cancel_ns, cancel_owner_ns;
};

class Stage {
public:
  Stage(std::size_t pending, std::size_t of_each, std::size_t extra) {
    check(inturn_executor_create(nullptr, &executor));
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.executor = executor;
    queues.resize(pending / of_each);
    for (auto &queue : queues)
      check(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &queue));
    owners.resize(extra);
    for (std::size_t i = 0; i < pending + extra; i++)
      keys.push_back("interaction " + std::to_string(i));
    for (std::size_t i = 0; i < pending; i++)
      add(i, {0});
  }
  ~Stage() {
    for (auto queue : queues)
      check(inturn_queue_destroy(queue));
    check(inturn_executor_destroy(executor));
  }

  Figures measure() {
    auto first = keys.size() - owners.size();
    Figures figures;
    for (auto &owner : owners)
      check(inturn_owner_create(0, &owner));
    figures.add_ns = each([&](std::size_t i) { add(first + i, owners[i]); });
    figures.resolve_ns = each([&](std::size_t i) {
      std::uint64_t count;
      check(inturn_queue_resolve_key(queue_of(first + i),
                                     keys[first + i].c_str(), &count));
      bench::require(count == 1, "one of them has the key");
    });
    check(inturn_executor_drain(executor, 0, nullptr));
    each([&](std::size_t i) { add(first + i, owners[i]); });
    figures.cancel_ns = each([&](std::size_t i) {
      std::uint64_t count;
      check(inturn_queue_cancel_key(queue_of(first + i),
                                    keys[first + i].c_str(), &count));
      bench::require(count == 1, "one of them has the key");
    });
    check(inturn_executor_drain(executor, 0, nullptr));
    each([&](std::size_t i) { add(first + i, owners[i]); });
    figures.cancel_owner_ns =
        each([&](std::size_t i) { check(inturn_owner_destroy(owners[i])); });
    check(inturn_executor_drain(executor, 0, nullptr));
    return figures;
  }

private:
  inturn_queue queue_of(std::size_t i) { return queues[i % queues.size()]; }

  void add(std::size_t i, inturn_owner owner) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.key = keys[i].c_str();
    options.owner = owner;
    check(inturn_queue_enqueue_with(queue_of(i), &options, work, nullptr,
                                    nullptr, nullptr));
  }
  template <class Body> double each(Body body) {
    auto start = thread_ns();
    for (std::size_t i = 0; i < owners.size(); i++)
      body(i);
    return static_cast<double>(thread_ns() - start) / owners.size();
  }

  inturn_executor executor;
  std::vector<inturn_queue> queues;
  std::vector<inturn_owner> owners;
  std::deque<std::string> keys;
};

/* The medians of several rounds on a stage, after a first round that fetches
   the memory. */
class Costs {
public:
  void add(const Figures &figures) {
    add_ns.push_back(figures.add_ns);
    resolve_ns.push_back(figures.resolve_ns);
    cancel_ns.push_back(figures.cancel_ns);
    cancel_owner_ns.push_back(figures.cancel_owner_ns);
  }
  Figures median() {
    return {bench::median(add_ns), bench::median(resolve_ns),
            bench::median(cancel_ns), bench::median(cancel_owner_ns)};
  }

private:
  std::vector<double> add_ns, resolve_ns, cancel_ns, cancel_owner_ns;
};

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 3);
  auto pending = arguments[0], few = arguments[1], extra = arguments[2];
  Stage short_queues(pending, few, extra), long_queue(pending, pending, extra);
  short_queues.measure();
  long_queue.measure();
  Costs costs_of_few, costs_of_many;
  for (int round = 0; round < 9; round++) {
    costs_of_few.add(short_queues.measure());
    costs_of_many.add(long_queue.measure());
  }
  auto among_few = costs_of_few.median(), among_many = costs_of_many.median();
  arguments.print("add_ns", among_many.add_ns);
  arguments.print("resolve_ns", among_many.resolve_ns);
  arguments.print("cancel_ns", among_many.cancel_ns);
  arguments.print("cancel_owner_ns", among_many.cancel_owner_ns);
  arguments.print("add_many_to_few", among_many.add_ns / among_few.add_ns);
  arguments.print("resolve_many_to_few",
                  among_many.resolve_ns / among_few.resolve_ns);
  arguments.print("cancel_many_to_few",
                  among_many.cancel_ns / among_few.cancel_ns);
  arguments.print("cancel_owner_many_to_few",
                  among_many.cancel_owner_ns / among_few.cancel_owner_ns);
}
