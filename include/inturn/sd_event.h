/*
 * sd_event.h - Inturn on an sd-event loop, that of libsystemd.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn libsystemd)
 *
 * loop.h says what holds for all adapters. Here: the executor is an I/O source
 * on the executor's descriptor, at the normal priority.
 */
#ifndef INTURN_SD_EVENT_H
#define INTURN_SD_EVENT_H

#include <inturn/loop.h>

#include <sys/epoll.h>
#include <systemd/sd-event.h>

/* For the adapter alone. The source owns it. */
typedef struct inturn_sd_event_source {
  inturn_loop_attached base;
  sd_event_source *source;
} inturn_sd_event_source;

static inline int inturn_sd_event_turn(sd_event_source *source, int fd,
                                       uint32_t events, void *data) {
  (void)fd;
  (void)events;
  /* What is left keeps the descriptor readable. */
  if (inturn_loop_serve(data, "sd-event") == INTURN_LOOP_REFUSED)
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
  return 0;
}

/* The loop may end with the source in it. */
static inline void inturn_sd_event_free(void *data) {
  inturn_sd_event_source *self = (inturn_sd_event_source *)data;
  if (self->base.attached)
    inturn_executor_detach(self->base.executor, "sd-event");
  free(self);
}

/* Attaches an executor to a loop.
   Statuses: those of inturn_executor_attach and inturn_executor_fd;
   E_NO_MEMORY, too, when sd-event cannot watch the descriptor.
   Threads: the one that runs the loop.
   Ownership: the loop keeps the source until the detach or its own end. */
static inline inturn_status inturn_sd_event_attach(inturn_executor executor,
                                                   sd_event *loop) {
  inturn_sd_event_source *self;
  inturn_status status;
  int fd = -1;
  if (loop == NULL)
    return INTURN_E_INVALID_ARGUMENT;
  status = inturn_loop_attach(executor, "sd-event", sizeof *self, &fd, &self);
  if (status != INTURN_OK)
    return status;
  if (sd_event_add_io(loop, &self->source, fd, EPOLLIN, inturn_sd_event_turn,
                      self) < 0) {
    inturn_executor_detach(executor, "sd-event");
    free(self);
    return INTURN_E_NO_MEMORY;
  }
  sd_event_source_set_destroy_callback(self->source, inturn_sd_event_free);
  sd_event_source_set_description(self->source, "inturn");
  sd_event_source_set_floating(self->source, 1); /* the loop keeps it */
  sd_event_source_unref(self->source);
  return INTURN_OK;
}

/* Takes inturn_sd_event_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
static inline inturn_status inturn_sd_event_detach(inturn_executor executor) {
  inturn_sd_event_source *self;
  inturn_status status = inturn_loop_detach(executor, "sd-event", &self);
  if (status == INTURN_OK)
    sd_event_source_set_floating(self->source, 0); /* its last reference */
  return status;
}

#endif /* INTURN_SD_EVENT_H */
