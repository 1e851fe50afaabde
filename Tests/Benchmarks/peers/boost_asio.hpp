/* Boost.Asio: a strand on a thread pool of two threads. The handler is a lambda
   that contains the context: the compiler knows its type, which Asio profits
   from and the others, with a function pointer, do not. */
#pragma once

#include "../bench.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

namespace peers::boost_asio {

class Queue {
public:
  explicit Queue(const bench::Shape &) {}
  ~Queue() { pool.join(); }

  template <bench::Work work> void enqueue(void *context) {
    boost::asio::post(strand, [context] { work(context); });
  }
  void drain() { bench::drain_by_gate(*this); }

private:
  using Pool = boost::asio::thread_pool;

  Pool pool{2};
  boost::asio::strand<Pool::executor_type> strand =
      boost::asio::make_strand(pool.get_executor());
};

} // namespace peers::boost_asio
