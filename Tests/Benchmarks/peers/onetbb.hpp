/* oneTBB: a serial function_node, which queues what it cannot run yet and takes
   it in order. The thread that drains helps to run. */
#pragma once

#include "../bench.hpp"

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

} // namespace peers::onetbb
