/* Whether an operation with a priority costs more when more are pending: from
   its enqueue to its start and end, on a queue that this thread drains, so that
   no other thread takes part.

   Arguments: operations in all, operations pending at once when they are few,
   different priorities. */
#include "bench.hpp"
#include PEER_HEADER

using peers::PEER::check;

namespace {

void work(void *context, inturn_token token) {
  bench::count(context);
  check(inturn_token_finish(token));
}

/* Nanoseconds per operation, with this many pending at once. */
double cost(std::size_t operations, std::size_t pending,
            std::size_t priorities) {
  inturn_executor executor;
  check(inturn_executor_create(nullptr, &executor));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  options.max_concurrent = 1;
  inturn_queue queue;
  check(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));

  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  std::uint64_t ran = 0, random = 1;
  auto start = bench::now_ns();
  for (std::size_t done = 0; done < operations; done += pending) {
    for (std::size_t i = 0; i < pending; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      each.priority =
          1 + static_cast<std::int32_t>((random >> 33) % priorities);
      check(inturn_queue_enqueue_with(queue, &each, work, &ran, nullptr,
                                      nullptr));
    }
    check(inturn_executor_drain(executor, 0, nullptr));
  }
  auto elapsed = static_cast<double>(bench::now_ns() - start);
  bench::require(ran == operations, "each operation ran once");
  check(inturn_queue_destroy(queue));
  check(inturn_executor_destroy(executor));
  return elapsed / operations;
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 3);
  auto operations = arguments[0], few = arguments[1], priorities = arguments[2];
  cost(few * 100, few, priorities);
  auto few_ns = cost(operations, few, priorities);
  auto many_ns = cost(operations, operations, priorities);
  arguments.print("many_ns", many_ns);
  arguments.print("few_ns", few_ns);
  arguments.print("many_to_few", many_ns / few_ns);
}
