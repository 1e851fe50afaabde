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
  /* The token is passed to the other queue's work as its context. */
  static void hand_over(void *context, inturn_token token) {
    auto *handover = static_cast<Handover *>(context);
    handover->started += 1;
    handover->to.enqueue<finish>(reinterpret_cast<void *>(token.bits));
  }
  static void finish(void *bits) {
    check(inturn_token_finish({reinterpret_cast<std::uint64_t>(bits)}));
  }

protected:
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

/* Operations with dependencies: a batch, and its edges. */
class Graph : Concurrent {
public:
  using Node = std::size_t;

  Graph(unsigned limit, std::size_t operations) : Concurrent(limit) {
    items.reserve(operations);
    edges.reserve(2 * operations);
  }
  ~Graph() { check(inturn_batch_release(batch)); }

  template <bench::Work work>
  Node add(void *context, const Node *after, std::size_t count) {
    auto place = items.size();
    items.push_back({run<work>, context, nullptr});
    for (std::size_t i = 0; i < count; i++)
      edges.push_back({place, after[i]});
    return place;
  }
  void wait() {
    inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
    options.edges = edges.data();
    options.edge_count = edges.size();
    check(inturn_queue_enqueue_batch(queue, &options, items.data(),
                                     items.size(), &batch));
    check(inturn_batch_wait(batch, -1, nullptr));
  }

private:
  std::vector<inturn_batch_item> items;
  std::vector<inturn_batch_edge> edges;
  inturn_batch batch;
};

} // namespace peers::inturn
