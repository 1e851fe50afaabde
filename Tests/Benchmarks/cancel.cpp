/* Whether cancelling a pending operation costs more when more are pending:
   operations from the middle of one long queue, against the middle ones of many
   short queues, with as many operations in all, so that both find the caches in
   the same state. In random order; half of them untouched (cold), the other
   half after a call for their states (warm).

   Arguments: operations in all, operations in a short queue, how many to
   cancel. */
#include "bench.hpp"
#include PEER_HEADER

#include <atomic>
#include <deque>
#include <random>

using peers::PEER::check;
using peers::PEER::Queue;

namespace {

using Operations = std::vector<inturn_operation>;

struct Figures {
  double cold_ns;
  double warm_ns;
};

/* Atomic, as operations of several queues do overlap. */
std::atomic<std::size_t> ran;

void count(void *) { ran.fetch_add(1, std::memory_order_relaxed); }

double cancel_ns(const Operations &operations) {
  auto start = bench::now_ns();
  for (auto operation : operations)
    check(inturn_operation_cancel(operation));
  return static_cast<double>(bench::now_ns() - start) / operations.size();
}

/* Cancels `picks` operations, from `first` on in steps of `stride`, on
   suspended queues with `pending` operations each. */
Figures cancel_among(std::size_t operations, std::size_t pending,
                     std::size_t first, std::size_t stride, std::size_t picks) {
  std::deque<Queue> queues;
  Operations held;
  for (std::size_t i = 0; i < operations / pending; i++) {
    auto &queue = queues.emplace_back(bench::Shape{.operations = pending});
    queue.suspend();
    for (std::size_t j = 0; j < pending; j++)
      queue.enqueue<count>(nullptr, &held.emplace_back());
  }

  Operations chosen;
  for (std::size_t i = 0; i < picks; i++)
    chosen.push_back(held.at(first + i * stride));
  std::shuffle(chosen.begin(), chosen.end(), std::mt19937(1));
  auto middle = chosen.begin() + picks / 2;
  Operations cold(chosen.begin(), middle), warm(middle, chosen.end());
  Figures figures;
  figures.cold_ns = cancel_ns(cold);
  for (auto operation : warm) {
    inturn_operation_state state;
    check(inturn_operation_get_state(operation, &state));
    bench::require(state == INTURN_PENDING, "the operation is pending");
  }
  figures.warm_ns = cancel_ns(warm);

  ran = 0;
  for (auto operation : held)
    check(inturn_operation_release(operation));
  for (auto &queue : queues)
    queue.resume();
  for (auto &queue : queues)
    queue.drain();
  bench::require(ran + picks == held.size(), "the others ran, and only they");
  return figures;
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 3);
  auto operations = arguments[0], few = arguments[1], picks = arguments[2];
  /* The long queue's middle half; the middle one of each short queue. */
  auto among_many = cancel_among(operations, operations, operations / 4,
                                 operations / 2 / picks, picks);
  auto stride = operations / few / picks * few;
  auto among_few = cancel_among(operations, few, few / 2, stride, picks);
  arguments.print("many_ns", among_many.warm_ns);
  arguments.print("few_ns", among_few.warm_ns);
  arguments.print("many_to_few", among_many.warm_ns / among_few.warm_ns);
  arguments.print("cold_many_ns", among_many.cold_ns);
  arguments.print("cold_few_ns", among_few.cold_ns);
  arguments.print("cold_many_to_few", among_many.cold_ns / among_few.cold_ns);
}
