/*
 * asio.hpp - Inturn on an io_context of Asio; C++17.
 *
 * SPDX-License-Identifier: MIT
 *
 *     c++ -std=c++17 program.cpp $(pkg-config --cflags --libs inturn)
 *
 * loop.h says what holds for all adapters. Here: the executor is a descriptor
 * of the io_context, and always waits to be readable. As everything that waits,
 * it keeps run() going until it is detached. Boost's Asio is taken instead of
 * the one of its own when the program has defined INTURN_ASIO_BOOST.
 */
#ifndef INTURN_ASIO_HPP
#define INTURN_ASIO_HPP

#include <inturn/loop.h>

#include <memory>
#include <utility>
#ifdef INTURN_ASIO_BOOST
#include <boost/asio.hpp>
namespace inturn_asio = boost::asio;
using inturn_asio_error = boost::system::error_code;
#else
#include <asio.hpp>
namespace inturn_asio = asio;
using inturn_asio_error = asio::error_code;
#endif

/* For the adapter alone. What waits owns it, and a turn, which comes of that,
   so that it goes with either. */
struct inturn_asio_watch {
  inturn_loop_attached base;
  inturn_asio::posix::stream_descriptor *descriptor;
};

struct inturn_asio_free {
  void operator()(inturn_asio_watch *self) const {
    if (self->base.attached)
      inturn_executor_detach(self->base.executor, "asio");
    if (self->descriptor != nullptr && self->descriptor->is_open())
      self->descriptor->release(); /* it is the executor's */
    delete self->descriptor;
    free(self);
  }
};

using inturn_asio_owner = std::unique_ptr<inturn_asio_watch, inturn_asio_free>;

inline void inturn_asio_wait(inturn_asio_owner self) {
  auto &descriptor = *self->descriptor;
  descriptor.async_wait(
      descriptor.wait_read,
      [self = std::move(self)](const inturn_asio_error &error) mutable {
        if (error)
          return; /* it was detached */
        const auto end = inturn_loop_serve(self.get(), "Asio");
        if (end == INTURN_LOOP_EMPTY || end == INTURN_LOOP_MORE)
          inturn_asio_wait(std::move(self));
      });
}

/* Attaches an executor to what `loop` is an executor of, such as
   context.get_executor().
   Statuses: those of inturn_executor_attach and inturn_executor_fd;
   E_NO_MEMORY, too, when Asio cannot watch the descriptor.
   Threads: the one that runs the loop, alone.
   Ownership: the io_context keeps the descriptor until the detach or its own
   end. */
inline inturn_status
inturn_asio_attach(inturn_executor executor,
                   const inturn_asio::any_io_executor &loop) {
  int fd = -1;
  inturn_asio_watch *watch = nullptr;
  const auto status =
      inturn_loop_attach(executor, "asio", sizeof *watch, &fd, &watch);
  if (status != INTURN_OK)
    return status;
  inturn_asio_owner self(watch);
  self->descriptor = new inturn_asio::posix::stream_descriptor(loop);
  inturn_asio_error error;
  self->descriptor->assign(fd, error);
  if (error)
    return INTURN_E_NO_MEMORY;
  inturn_asio_wait(std::move(self));
  return INTURN_OK;
}

/* Takes inturn_asio_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
inline inturn_status inturn_asio_detach(inturn_executor executor) {
  inturn_asio_watch *self = nullptr;
  const auto status = inturn_loop_detach(executor, "asio", &self);
  if (status == INTURN_OK)
    self->descriptor->release(); /* which ends the wait */
  return status;
}

#endif /* INTURN_ASIO_HPP */
