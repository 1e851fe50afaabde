/* Whether adding an interaction, resolving it by its key, or cancelling it with
   its owner costs more when more are pending: on one queue with all of them,
   against as many spread over short queues. The queues' views are not visible,
   so that nothing is presented, and this thread drains them.

   Arguments: interactions pending in all, of a short queue, how many to add. */
#include "bench.hpp"
#include PEER_HEADER

#include <deque>
#include <string>

using peers::PEER::check;

namespace {

void work(void *, inturn_token) {
  bench::require(false, "nothing is presented");
}

struct Figures {
  double add_ns, resolve_ns, cancel_ns;
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
    figures.cancel_ns =
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
    auto start = bench::now_ns();
    for (std::size_t i = 0; i < owners.size(); i++)
      body(i);
    return static_cast<double>(bench::now_ns() - start) / owners.size();
  }

  inturn_executor executor;
  std::vector<inturn_queue> queues;
  std::vector<inturn_owner> owners;
  std::deque<std::string> keys;
};

/* The median of several, after a first that fetches the memory. */
Figures cost(std::size_t pending, std::size_t of_each, std::size_t extra) {
  Stage stage(pending, of_each, extra);
  stage.measure();
  std::vector<double> add, resolve, cancel;
  for (int round = 0; round < 5; round++) {
    auto figures = stage.measure();
    add.push_back(figures.add_ns);
    resolve.push_back(figures.resolve_ns);
    cancel.push_back(figures.cancel_ns);
  }
  return {bench::median(add), bench::median(resolve), bench::median(cancel)};
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 3);
  auto pending = arguments[0], few = arguments[1], extra = arguments[2];
  auto among_few = cost(pending, few, extra);
  auto among_many = cost(pending, pending, extra);
  arguments.print("add_ns", among_many.add_ns);
  arguments.print("resolve_ns", among_many.resolve_ns);
  arguments.print("cancel_ns", among_many.cancel_ns);
  arguments.print("add_many_to_few", among_many.add_ns / among_few.add_ns);
  arguments.print("resolve_many_to_few",
                  among_many.resolve_ns / among_few.resolve_ns);
  arguments.print("cancel_many_to_few",
                  among_many.cancel_ns / among_few.cancel_ns);
}
