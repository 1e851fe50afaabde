/*
 * cf_run_loop.h - Inturn on a run loop of CoreFoundation, and so in a program
 * of AppKit or UIKit.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c -framework CoreFoundation \
 *         $(pkg-config --cflags --libs inturn)
 *
 * loop.h says what holds for all adapters. Here: the executor is a source in
 * the common modes of the run loop, so that its work is called in a modal
 * panel's and a scroll's loop, too. It is tested with the CoreFoundation that
 * comes with Swift on Linux, and not on Apple's systems.
 */
#ifndef INTURN_CF_RUN_LOOP_H
#define INTURN_CF_RUN_LOOP_H

#include <inturn/loop.h>

#include <CoreFoundation/CFRunLoop.h>
#include <string.h>

/* For the adapter alone: the info of the source, which owns it. */
typedef struct inturn_cf_run_loop_info {
  inturn_loop_attached base;
  CFRunLoopRef loop;
  CFRunLoopSourceRef source;
} inturn_cf_run_loop_info;

static inline void inturn_cf_run_loop_free(const void *info) {
  CFRelease(((const inturn_cf_run_loop_info *)info)->loop);
  free((void *)info);
}

static inline void inturn_cf_run_loop_release(void *source) {
  CFRelease((CFRunLoopSourceRef)source);
}

/* The wake callback; from any thread. */
static inline void inturn_cf_run_loop_wake(void *source) {
  CFRunLoopSourceContext context;
  context.version = 0;
  CFRunLoopSourceGetContext((CFRunLoopSourceRef)source, &context);
  CFRunLoopSourceSignal((CFRunLoopSourceRef)source);
  CFRunLoopWakeUp(((inturn_cf_run_loop_info *)context.info)->loop);
}

static inline void inturn_cf_run_loop_turn(void *info) {
  inturn_cf_run_loop_info *self = (inturn_cf_run_loop_info *)info;
  if (self->base.in_turn)
    return; /* a loop inside work; the turn goes on after it */
  if (inturn_loop_serve(self, "CoreFoundation") == INTURN_LOOP_MORE)
    inturn_cf_run_loop_wake(self->source);
}

/* Attaches an executor to the calling thread's run loop. It takes the place of
   the executor's wake callback.
   Statuses: those of inturn_executor_attach; E_NO_MEMORY.
   Threads: the one that runs the loop.
   Ownership: the loop keeps the source until the detach, which comes before
   the thread's end. */
static inline inturn_status
inturn_cf_run_loop_attach(inturn_executor executor) {
  CFRunLoopSourceContext context;
  inturn_cf_run_loop_info *self;
  inturn_status status =
      inturn_loop_attach(executor, "cf-run-loop", sizeof *self, NULL, &self);
  if (status != INTURN_OK)
    return status;
  memset(&context, 0, sizeof context);
  self->loop = (CFRunLoopRef)CFRetain(CFRunLoopGetCurrent());
  context.info = self;
  context.release = inturn_cf_run_loop_free;
  context.perform = inturn_cf_run_loop_turn;
  self->source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
  if (self->source == NULL) {
    inturn_executor_detach(executor, "cf-run-loop");
    inturn_cf_run_loop_free(self);
    return INTURN_E_NO_MEMORY;
  }
  CFRunLoopAddSource(self->loop, self->source, kCFRunLoopCommonModes);
  return inturn_executor_set_wake(executor, inturn_cf_run_loop_wake,
                                  self->source, inturn_cf_run_loop_release);
}

/* Takes inturn_cf_run_loop_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
static inline inturn_status
inturn_cf_run_loop_detach(inturn_executor executor) {
  inturn_cf_run_loop_info *self;
  inturn_status status = inturn_loop_detach(executor, "cf-run-loop", &self);
  if (status != INTURN_OK)
    return status;
  CFRunLoopSourceInvalidate(self->source);
  /* With the wake callback goes the last reference. */
  return inturn_executor_set_wake(executor, NULL, NULL, NULL);
}

#endif /* INTURN_CF_RUN_LOOP_H */
