/*
 * libevent.h - Inturn on a libevent loop.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn libevent_core)
 *
 * loop.h says what holds for all adapters. Here: the executor is a persistent
 * event on the executor's descriptor. As every added event, it keeps
 * event_base_dispatch going until it is detached.
 */
#ifndef INTURN_LIBEVENT_H
#define INTURN_LIBEVENT_H

#include <inturn/loop.h>

#include <event2/event.h>

/* For the adapter alone. */
typedef struct inturn_libevent_event {
  inturn_loop_attached base;
  struct event *event;
} inturn_libevent_event;

static inline void inturn_libevent_turn(evutil_socket_t fd, short what,
                                        void *data) {
  inturn_libevent_event *self = (inturn_libevent_event *)data;
  (void)fd;
  (void)what;
  switch (inturn_loop_serve(self, "libevent")) {
  case INTURN_LOOP_EMPTY:
  case INTURN_LOOP_MORE: /* which keeps the descriptor readable */
    break;
  case INTURN_LOOP_REFUSED:
    event_del(self->event);
    break;
  case INTURN_LOOP_LEFT:
    free(self);
    break;
  }
}

/* Attaches an executor to a loop.
   Statuses: those of inturn_executor_attach and inturn_executor_fd;
   E_NO_MEMORY, too, when libevent cannot watch the descriptor.
   Threads: the one that runs the loop.
   Ownership: the loop keeps the event until the detach, which comes before
   event_base_free. */
static inline inturn_status inturn_libevent_attach(inturn_executor executor,
                                                   struct event_base *loop) {
  inturn_libevent_event *self;
  inturn_status status;
  int fd = -1;
  if (loop == NULL)
    return INTURN_E_INVALID_ARGUMENT;
  status = inturn_loop_attach(executor, "libevent", sizeof *self, &fd, &self);
  if (status != INTURN_OK)
    return status;
  self->event =
      event_new(loop, fd, EV_READ | EV_PERSIST, inturn_libevent_turn, self);
  if (self->event != NULL && event_add(self->event, NULL) == 0)
    return INTURN_OK;
  inturn_executor_detach(executor, "libevent");
  if (self->event != NULL)
    event_free(self->event);
  free(self);
  return INTURN_E_NO_MEMORY;
}

/* Takes inturn_libevent_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
static inline inturn_status inturn_libevent_detach(inturn_executor executor) {
  inturn_libevent_event *self;
  inturn_status status = inturn_loop_detach(executor, "libevent", &self);
  if (status != INTURN_OK)
    return status;
  event_free(self->event);
  if (!self->base.in_turn)
    free(self);
  return INTURN_OK;
}

#endif /* INTURN_LIBEVENT_H */
