/* oneTBB: a serial function_node, which queues what it cannot run yet and takes
   it in order. The draining thread helps to run. */
#pragma once

#include "../bench.hpp"

#include <deque>
#include <oneapi/tbb/flow_graph.h>

namespace peers::onetbb {

namespace flow = oneapi::tbb::flow;

class Queue {
public:
  explicit Queue(const bench::Shape &) {}
  ~Queue() { drain(); }

  template <bench::Work work> void enqueue(void *context) {
    bench::require(node.try_put({work, context}), "the node takes it");
  }
  void drain() { graph.wait_for_all(); }

private:
  flow::graph graph;
  flow::function_node<bench::Job, flow::continue_msg, flow::queueing> node{
      graph, flow::serial, [](const bench::Job &job) {
        job.work(job.context);
        return flow::continue_msg();
      }};
};

/* A flow graph of continue_nodes. The edges exist before anything starts, as a
   node counts its edges. */
class Graph {
public:
  using Node = flow::continue_node<flow::continue_msg> *;

  Graph(unsigned limit, std::size_t) : arena(static_cast<int>(limit)) {
    arena.execute([this] { graph = std::make_unique<flow::graph>(); });
  }
  ~Graph() { nodes.clear(); }

  template <bench::Work work>
  Node add(void *context, const Node *after, std::size_t count) {
    auto &node = nodes.emplace_back(
        *graph, [context](const flow::continue_msg &) { work(context); });
    for (std::size_t i = 0; i < count; i++)
      flow::make_edge(*after[i], node);
    if (count == 0)
      first.push_back(&node);
    return &node;
  }
  void wait() {
    arena.execute([this] {
      for (auto node : first)
        node->try_put(flow::continue_msg());
      graph->wait_for_all();
    });
  }

private:
  oneapi::tbb::task_arena arena;
  std::unique_ptr<flow::graph> graph;
  std::deque<flow::continue_node<flow::continue_msg>> nodes;
  std::vector<Node> first;
};

} // namespace peers::onetbb
