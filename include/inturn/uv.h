/*
 * uv.h - Inturn on a libuv loop.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn libuv)
 *
 * loop.h says what holds for all adapters. Here: the executor is a poll handle
 * on the executor's descriptor. As every active handle, it keeps uv_run going
 * until it is detached.
 */
#ifndef INTURN_UV_H
#define INTURN_UV_H

#include <inturn/loop.h>

#include <uv.h>

/* For the adapter alone. */
typedef struct inturn_uv_handle {
  inturn_loop_attached base;
  uv_poll_t poll; /* its data is this struct */
} inturn_uv_handle;

static inline void inturn_uv_free(uv_handle_t *handle) { free(handle->data); }

static inline void inturn_uv_turn(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  /* What is left keeps the descriptor readable. */
  if (inturn_loop_serve(poll->data, "libuv") == INTURN_LOOP_REFUSED)
    uv_poll_stop(poll);
}

/* Attaches an executor to a loop.
   Statuses: those of inturn_executor_attach and inturn_executor_fd;
   E_NO_MEMORY, too, when libuv cannot watch the descriptor.
   Threads: the one that runs the loop.
   Ownership: the loop keeps the handle until the detach. */
static inline inturn_status inturn_uv_attach(inturn_executor executor,
                                             uv_loop_t *loop) {
  inturn_uv_handle *self;
  inturn_status status;
  int fd = -1;
  if (loop == NULL)
    return INTURN_E_INVALID_ARGUMENT;
  status = inturn_loop_attach(executor, "uv", sizeof *self, &fd, &self);
  if (status != INTURN_OK)
    return status;
  if (uv_poll_init(loop, &self->poll, fd) != 0) {
    inturn_executor_detach(executor, "uv");
    free(self);
    return INTURN_E_NO_MEMORY;
  }
  self->poll.data = self;
  if (uv_poll_start(&self->poll, UV_READABLE, inturn_uv_turn) != 0) {
    inturn_executor_detach(executor, "uv");
    uv_close((uv_handle_t *)&self->poll, inturn_uv_free);
    return INTURN_E_NO_MEMORY;
  }
  return INTURN_OK;
}

/* Takes inturn_uv_attach back. As with every libuv handle, the loop frees the
   memory in its next turn: let it run once more before uv_loop_close.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
static inline inturn_status inturn_uv_detach(inturn_executor executor) {
  inturn_uv_handle *self;
  inturn_status status = inturn_loop_detach(executor, "uv", &self);
  if (status == INTURN_OK)
    uv_close((uv_handle_t *)&self->poll, inturn_uv_free);
  return status;
}

#endif /* INTURN_UV_H */
