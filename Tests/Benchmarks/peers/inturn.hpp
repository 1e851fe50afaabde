/* Inturn: queues on the library's own pool. Each operation finishes its token,
   and every status is checked. */
#pragma once

#include "../bench.hpp"

#include <inturn.h>

namespace peers::inturn {

inline void check(inturn_status status) {
  if (status != INTURN_OK)
    bench::require(false, inturn_status_name(status));
}

class Queue {
public:
  explicit Queue(const bench::Shape &shape) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.label = shape.label;
    check(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  }
  Queue(const Queue &) = delete;
  ~Queue() { check(inturn_queue_destroy(queue)); }

  template <bench::Work work>
  void enqueue(void *context, inturn_operation *out_operation = nullptr) {
    check(inturn_queue_enqueue(queue, run<work>, context, nullptr,
                               out_operation));
  }
  void suspend() { check(inturn_queue_suspend(queue)); }
  void resume() { check(inturn_queue_resume(queue)); }
  void drain() { check(inturn_queue_drain(queue, -1)); }

  struct Handover {
    Queue &from, &to;
    std::uint64_t started = 0;
  };
  void enqueue_ended_elsewhere(Handover &handover) {
    check(inturn_queue_enqueue(queue, hand_over, &handover, nullptr, nullptr));
  }

private:
  template <bench::Work work>
  static void run(void *context, inturn_token token) {
    work(context);
    check(inturn_token_finish(token));
  }
  /* The token goes to the other queue's work as its context. */
  static void hand_over(void *context, inturn_token token) {
    auto *handover = static_cast<Handover *>(context);
    handover->started += 1;
    handover->to.enqueue<finish>(reinterpret_cast<void *>(token.bits));
  }
  static void finish(void *bits) {
    check(inturn_token_finish({reinterpret_cast<std::uint64_t>(bits)}));
  }

  inturn_queue queue;
};

template <bench::Work work> void run(void *context, inturn_token token) {
  work(context);
  check(inturn_token_finish(token));
}

/* A concurrent queue. */
class Concurrent {
public:
  explicit Concurrent(unsigned limit) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.max_concurrent = limit;
    check(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  }
  Concurrent(const Concurrent &) = delete;
  ~Concurrent() { check(inturn_queue_destroy(queue)); }

  template <bench::Work work> void enqueue(void *context) {
    check(inturn_queue_enqueue(queue, run<work>, context, nullptr, nullptr));
  }
  void drain() { check(inturn_queue_drain(queue, -1)); }

  /* Runs operations as one batch, and waits for its end. */
  void run_batch(const std::vector<inturn_batch_item> &items) {
    inturn_batch batch;
    check(inturn_queue_enqueue_batch(queue, nullptr, items.data(), items.size(),
                                     &batch));
    check(inturn_batch_wait(batch, -1, nullptr));
    check(inturn_batch_release(batch));
  }

protected:
  inturn_queue queue;
};

/* Operations that come after others. A node holds the operation's handle until
   the graph goes. */
class Graph : Concurrent {
public:
  using Node = inturn_operation;

  Graph(unsigned limit, std::size_t operations) : Concurrent(limit) {
    nodes.reserve(operations);
  }
  ~Graph() {
    for (auto node : nodes)
      check(inturn_operation_release(node));
  }

  template <bench::Work work>
  Node add(void *context, const Node *after, std::size_t count) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.after = after;
    options.after_count = count;
    Node node;
    check(inturn_queue_enqueue_with(queue, count > 0 ? &options : nullptr,
                                    run<work>, context, nullptr, &node));
    nodes.push_back(node);
    return node;
  }
  void wait() { drain(); }

private:
  std::vector<Node> nodes;
};

} // namespace peers::inturn
