/*
 * libev.h - Inturn on a libev loop.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn) -lev
 *
 * loop.h says what holds for all adapters. Here: the executor is an I/O
 * watcher on the executor's descriptor. As every active watcher, it keeps
 * ev_run going until it is detached. While work is called it is stopped, so
 * that an ev_run inside work sleeps.
 */
#ifndef INTURN_LIBEV_H
#define INTURN_LIBEV_H

#include <inturn/loop.h>

#include <ev.h>
#include <stddef.h>

/* For the adapter alone. */
typedef struct inturn_libev_watcher {
  inturn_loop_attached base;
  ev_io io; /* its data is the loop */
} inturn_libev_watcher;

static inline void inturn_libev_turn(struct ev_loop *loop, ev_io *io,
                                     int events) {
  inturn_libev_watcher *self =
      (inturn_libev_watcher *)((char *)io - offsetof(inturn_libev_watcher, io));
  (void)events;
  ev_io_stop(loop, io);
  switch (inturn_loop_serve(self, "libev")) {
  case INTURN_LOOP_EMPTY:
  case INTURN_LOOP_MORE: /* which keeps the descriptor readable */
    ev_io_start(loop, io);
    break;
  case INTURN_LOOP_REFUSED:
    break;
  case INTURN_LOOP_LEFT:
    free(self);
    break;
  }
}

/* Attaches an executor to a loop, such as EV_DEFAULT.
   Statuses: those of inturn_executor_attach and inturn_executor_fd.
   Threads: the one that runs the loop.
   Ownership: the loop keeps the watcher until the detach, which comes before
   ev_loop_destroy. */
static inline inturn_status inturn_libev_attach(inturn_executor executor,
                                                struct ev_loop *loop) {
  inturn_libev_watcher *self;
  inturn_status status;
  int fd = -1;
  if (loop == NULL)
    return INTURN_E_INVALID_ARGUMENT;
  status = inturn_loop_attach(executor, "libev", sizeof *self, &fd, &self);
  if (status != INTURN_OK)
    return status;
  ev_io_init(&self->io, inturn_libev_turn, fd, EV_READ);
  self->io.data = loop;
  ev_io_start(loop, &self->io);
  return INTURN_OK;
}

/* Takes inturn_libev_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
static inline inturn_status inturn_libev_detach(inturn_executor executor) {
  inturn_libev_watcher *self;
  inturn_status status = inturn_loop_detach(executor, "libev", &self);
  if (status != INTURN_OK)
    return status;
  ev_io_stop((struct ev_loop *)self->io.data, &self->io);
  if (!self->base.in_turn)
    free(self);
  return INTURN_OK;
}

#endif /* INTURN_LIBEV_H */
