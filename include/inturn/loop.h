/*
 * loop.h - what the adapters to event loops share. Programs include the
 * adapters: glib.h, uv.h, libevent.h, libev.h, sd_event.h, cf_run_loop.h,
 * qt.hpp, asio.hpp, sdl.h.
 *
 * SPDX-License-Identifier: MIT
 *
 * An adapter attaches a host-driven executor, or the main one, to an event
 * loop: from then on the loop calls the executor's work, on its own thread.
 *
 *     inturn_executor_main(&executor);
 *     inturn_glib_attach(executor, NULL);
 *     ... the program runs its loop, as ever ...
 *     inturn_glib_detach(executor);
 *
 * What holds for all of them:
 *
 * - Work is called in the executor's order, on the loop's thread, from the
 *   loop itself: never inside attach or detach. No loop is run inside another.
 * - A turn of the loop makes calls for at most INTURN_LOOP_TURN_NS, plus the
 *   call that it is in; then the loop sees to its other sources. What is left
 *   is called in the turns that follow.
 * - An idle executor wakes nobody: there are no timers and no polls.
 * - At a time, an executor is attached to one loop. Attaching it again, by
 *   any adapter or binding, gives E_BUSY, as does destroying it.
 * - Attach and detach on the thread that runs the loop. When detach has
 *   returned, the loop makes no further call: detaching from inside work ends
 *   the turn after that work. What waits stays, for the next that drains.
 * - When the loop of an attached executor runs on another thread after all,
 *   nothing is called there: INTURN_LOOP_REPORT is told, and the loop leaves
 *   the executor alone from then on.
 * - Work may run a loop of its own, such as a modal dialog's: meanwhile no
 *   other work of the executor is called.
 * - The functions are the including program's own code: the library needs none
 *   of the loops, and a program only those whose adapter it includes.
 */
#ifndef INTURN_LOOP_H
#define INTURN_LOOP_H

#include <inturn.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* For how long one turn of a loop may make calls, in nanoseconds. A program
   that defines it, defines it alike in all of its files. */
#ifndef INTURN_LOOP_TURN_NS
#define INTURN_LOOP_TURN_NS 2000000
#endif

/* What an adapter does with the one line that says why it has stopped. */
#ifndef INTURN_LOOP_REPORT
#define INTURN_LOOP_REPORT(message) fprintf(stderr, "inturn: %s\n", message)
#endif

/* In C++ one function for the whole program, so that inline functions may call
   it. */
#ifdef __cplusplus
#define INTURN_LOOP_INLINE inline
#else
#define INTURN_LOOP_INLINE static inline
#endif

/* How a turn has ended. */
typedef enum inturn_loop_turn_end {
  INTURN_LOOP_EMPTY = 0,   /* nothing waits any more */
  INTURN_LOOP_MORE = 1,    /* its time is over, and more may wait */
  INTURN_LOOP_REFUSED = 2, /* no drain was possible */
  INTURN_LOOP_LEFT = 3     /* it was detached by the work that it called */
} inturn_loop_turn_end;

/* Makes the calls of one turn: one at a time, until nothing waits, the time is
   over, or *attached is false. For the adapters, on the loop's thread. */
INTURN_LOOP_INLINE inturn_loop_turn_end
inturn_loop_turn(inturn_executor executor, const bool *attached) {
  const inturn_clock system = {0};
  int64_t start = 0, now = 0;
  inturn_clock_now(system, &start);
  do {
    uint32_t calls = 0;
    /* A loop may have chosen to call this before it was detached. */
    inturn_status status =
        *attached ? inturn_executor_drain(executor, 1, &calls) : INTURN_OK;
    if (!*attached)
      return INTURN_LOOP_LEFT;
    if (status != INTURN_OK)
      return INTURN_LOOP_REFUSED;
    if (calls == 0)
      return INTURN_LOOP_EMPTY;
    inturn_clock_now(system, &now);
  } while (now - start < INTURN_LOOP_TURN_NS);
  return INTURN_LOOP_MORE;
}

/* Says, in one line, why the loop calls nothing any more. */
static inline void inturn_loop_report_refusal(const char *loop) {
  char message[160];
  snprintf(message, sizeof message,
           "the %s loop runs on another thread than the one that attached it; "
           "it calls nothing: attach on the loop's thread",
           loop);
  INTURN_LOOP_REPORT(message);
}

/* What an adapter knows of an executor that it has attached: it is the first
   member of the adapter's own struct. Touched on the loop's thread. */
typedef struct inturn_loop_attached {
  inturn_executor executor;
  pthread_t thread; /* attached it */
  bool attached;
  bool in_turn; /* inturn_loop_serve will touch it again */
} inturn_loop_attached;

/* Attaches an executor with `size` bytes of the adapter's, zeroed, from malloc.
   out_fd, which may be NULL, gets the descriptor that the loop is to watch. */
static inline inturn_status inturn_loop_attach(inturn_executor executor,
                                               const char *loop, size_t size,
                                               int *out_fd, void *out_self) {
  inturn_loop_attached *self = (inturn_loop_attached *)calloc(1, size);
  inturn_status status = INTURN_OK;
  if (self == NULL)
    return INTURN_E_NO_MEMORY;
  self->executor = executor;
  self->thread = pthread_self();
  self->attached = true;
  if (out_fd != NULL)
    status = inturn_executor_fd(executor, out_fd);
  if (status == INTURN_OK)
    status = inturn_executor_attach(executor, loop, self);
  if (status != INTURN_OK)
    free(self);
  else
    *(void **)out_self = self;
  return status;
}

/* Takes that back. What the adapter has is the adapter's to free. */
static inline inturn_status
inturn_loop_detach(inturn_executor executor, const char *loop, void *out_self) {
  void *data = NULL;
  inturn_loop_attached *self;
  inturn_status status = inturn_executor_get_attached(executor, loop, &data);
  if (status != INTURN_OK)
    return status;
  self = (inturn_loop_attached *)data;
  if (!pthread_equal(self->thread, pthread_self()))
    return INTURN_E_WRONG_THREAD;
  status = inturn_executor_detach(executor, loop);
  if (status == INTURN_OK) {
    self->attached = false;
    *(void **)out_self = self;
  }
  return status;
}

/* inturn_loop_turn for such an executor. INTURN_LOOP_REFUSED: the loop runs on
   another thread, which has been reported, and is to leave it alone from now
   on. */
static inline inturn_loop_turn_end inturn_loop_serve(void *attached,
                                                     const char *loop_name) {
  inturn_loop_attached *self = (inturn_loop_attached *)attached;
  inturn_loop_turn_end end;
  if (!pthread_equal(self->thread, pthread_self())) {
    inturn_loop_report_refusal(loop_name);
    return INTURN_LOOP_REFUSED;
  }
  self->in_turn = true;
  end = inturn_loop_turn(self->executor, &self->attached);
  self->in_turn = false;
  /* Refused here: further up the stack it is being drained, which goes on. */
  return end == INTURN_LOOP_REFUSED ? INTURN_LOOP_MORE : end;
}

#endif /* INTURN_LOOP_H */
