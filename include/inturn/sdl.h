/*
 * sdl.h - Inturn in the event loop of an SDL 2 program.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn sdl2)
 *
 * loop.h says what holds for all adapters. Here: an SDL program has a loop of
 * its own, which waits for events. Work that waits is announced by a user
 * event, at most one at a time, which the program hands to inturn_sdl_handle:
 *
 *     while (running && SDL_WaitEvent(&event)) {
 *       bool handled = false;
 *       inturn_sdl_handle(executor, &event, &handled);
 *       if (!handled)
 *         ... the program's own events ...
 *     }
 *
 * Between events SDL sleeps in the system where the program has a window;
 * without one, SDL_WaitEvent of SDL 2 itself looks again every millisecond.
 * When more waits than one turn can call, the event goes to the end of SDL's
 * queue again, behind the input that has come meanwhile.
 */
#ifndef INTURN_SDL_H
#define INTURN_SDL_H

#include <inturn/loop.h>

#include <SDL.h>
#include <stdlib.h>

/* For the adapter alone. */
typedef struct inturn_sdl_events {
  /* Who uses it: the attachment, the wake callback, a turn. */
  SDL_atomic_t users;
  inturn_executor executor;
  SDL_threadID thread;
  Uint32 type;
  bool attached;
  /* 1 from when the event is to be posted until it is taken. */
  SDL_atomic_t posted;
  /* 1 when SDL's queue had no room for it: the next event of any type, of which
     there are many then, stands in for it. */
  SDL_atomic_t missing;
} inturn_sdl_events;

static inline void inturn_sdl_release(void *context) {
  if (SDL_AtomicDecRef(&((inturn_sdl_events *)context)->users))
    free(context);
}

/* The wake callback; from any thread. */
static inline void inturn_sdl_post(void *context) {
  inturn_sdl_events *self = (inturn_sdl_events *)context;
  SDL_Event event;
  if (!SDL_AtomicCAS(&self->posted, 0, 1))
    return;
  SDL_zero(event);
  event.type = self->type;
  event.user.data1 = self;
  if (SDL_PushEvent(&event) > 0)
    return;
  /* Again, in case that the last event was just taken before anybody could
     see that this one is missing. */
  SDL_AtomicSet(&self->missing, 1);
  SDL_PushEvent(&event);
}

static inline int SDLCALL inturn_sdl_keep(void *context, SDL_Event *event) {
  inturn_sdl_events *self = (inturn_sdl_events *)context;
  return event->type != self->type || event->user.data1 != context;
}

/* Attaches an executor to the program's event loop. It takes the place of the
   executor's wake callback.
   Statuses: those of inturn_executor_attach; E_UNSUPPORTED, too, before
   SDL_Init(SDL_INIT_EVENTS) or SDL_INIT_VIDEO; E_NO_MEMORY.
   Threads: the one that waits for events: the one that has called SDL_Init. */
static inline inturn_status inturn_sdl_attach(inturn_executor executor) {
  static Uint32 type = 0; /* SDL has 32,768 of them for the whole program */
  inturn_sdl_events *self;
  inturn_status status;
  if (!SDL_WasInit(SDL_INIT_EVENTS))
    return INTURN_E_UNSUPPORTED;
  if (type == 0) {
    Uint32 registered = SDL_RegisterEvents(1);
    if (registered == (Uint32)-1)
      return INTURN_E_NO_MEMORY;
    type = registered;
  }
  self = (inturn_sdl_events *)calloc(1, sizeof *self);
  if (self == NULL)
    return INTURN_E_NO_MEMORY;
  self->executor = executor;
  self->thread = SDL_ThreadID();
  self->type = type;
  self->attached = true;
  SDL_AtomicSet(&self->users, 2);
  status = inturn_executor_attach(executor, "sdl", self);
  if (status != INTURN_OK) {
    free(self);
    return status;
  }
  return inturn_executor_set_wake(executor, inturn_sdl_post, self,
                                  inturn_sdl_release);
}

/* Makes the calls of one turn when the event is the adapter's. out_handled,
   which may be NULL, gets whether it was: then it is nobody else's.
   Statuses: handle statuses, E_INVALID_ARGUMENT (no SDL loop is attached, or
   event is NULL), E_WRONG_THREAD (another thread has attached it, or it is
   being drained further up the stack; the work goes on waiting).
   Threads: the one that attached it. */
static inline inturn_status inturn_sdl_handle(inturn_executor executor,
                                              const SDL_Event *event,
                                              bool *out_handled) {
  void *data = NULL;
  inturn_sdl_events *self;
  inturn_loop_turn_end end;
  bool ours;
  inturn_status status = inturn_executor_get_attached(executor, "sdl", &data);
  if (status != INTURN_OK)
    return status;
  if (event == NULL)
    return INTURN_E_INVALID_ARGUMENT;
  self = (inturn_sdl_events *)data;
  ours = event->type == self->type && event->user.data1 == data;
  if (out_handled != NULL)
    *out_handled = ours;
  if (self->thread != SDL_ThreadID()) {
    if (ours)
      SDL_AtomicSet(&self->missing, 1);
    return INTURN_E_WRONG_THREAD;
  }
  if (!ours && !SDL_AtomicCAS(&self->missing, 1, 0))
    return INTURN_OK;
  SDL_AtomicSet(&self->missing, 0);
  SDL_AtomicSet(&self->posted, 0);
  SDL_AtomicIncRef(&self->users);
  end = inturn_loop_turn(executor, &self->attached);
  if (end == INTURN_LOOP_MORE)
    inturn_sdl_post(self);
  if (end == INTURN_LOOP_REFUSED) {
    /* Further up the stack it is being drained. None is posted now: what that
       leaves, or what comes after it, has an event of its own again. */
    SDL_AtomicSet(&self->missing, 1);
    status = INTURN_E_WRONG_THREAD;
  }
  inturn_sdl_release(self);
  return status;
}

/* Takes inturn_sdl_attach back, and its event out of SDL's queue. One that
   another thread is posting at this moment may still come; nobody handles it.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. Before SDL_Quit. */
static inline inturn_status inturn_sdl_detach(inturn_executor executor) {
  void *data = NULL;
  inturn_sdl_events *self;
  inturn_status status = inturn_executor_get_attached(executor, "sdl", &data);
  if (status != INTURN_OK)
    return status;
  self = (inturn_sdl_events *)data;
  if (self->thread != SDL_ThreadID())
    return INTURN_E_WRONG_THREAD;
  status = inturn_executor_detach(executor, "sdl");
  if (status != INTURN_OK)
    return status;
  self->attached = false;
  status = inturn_executor_set_wake(executor, NULL, NULL, NULL);
  SDL_FilterEvents(inturn_sdl_keep, self);
  inturn_sdl_release(self);
  return status;
}

#endif /* INTURN_SDL_H */
