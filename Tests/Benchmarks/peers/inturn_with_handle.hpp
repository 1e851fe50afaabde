/* Inturn, with a handle for each operation: it is kept in a ring, and released
   when its place is needed again. One producer. */
#pragma once

#include "inturn.hpp"

namespace peers::inturn_with_handle {

class Queue {
public:
  explicit Queue(const bench::Shape &shape)
      : queue(shape), held(shape.operations, inturn_operation{0}) {}
  ~Queue() {
    for (auto operation : held)
      if (operation.bits != 0)
        inturn::check(inturn_operation_release(operation));
  }

  template <bench::Work work> void enqueue(void *context) {
    auto &place = held[next];
    next = next + 1 == held.size() ? 0 : next + 1;
    if (place.bits != 0)
      inturn::check(inturn_operation_release(place));
    queue.enqueue<work>(context, &place);
  }
  void suspend() { queue.suspend(); }
  void resume() { queue.resume(); }
  void drain() { queue.drain(); }

private:
  inturn::Queue queue;
  std::vector<inturn_operation> held;
  std::size_t next = 0;
};

/* Operations with dependencies. A node holds the operation's handle until the
   graph is destroyed. */
class Graph : inturn::Concurrent {
public:
  using Node = inturn_operation;

  Graph(unsigned limit, std::size_t operations) : Concurrent(limit) {
    nodes.reserve(operations);
  }
  ~Graph() {
    for (auto node : nodes)
      inturn::check(inturn_operation_release(node));
  }

  template <bench::Work work>
  Node add(void *context, const Node *after, std::size_t count) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.after = after;
    options.after_count = count;
    Node node;
    inturn::check(
        inturn_queue_enqueue_with(queue, count > 0 ? &options : nullptr,
                                  inturn::run<work>, context, nullptr, &node));
    nodes.push_back(node);
    return node;
  }
  void wait() { drain(); }

private:
  std::vector<Node> nodes;
};

} // namespace peers::inturn_with_handle
