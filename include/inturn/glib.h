/*
 * glib.h - Inturn on a GLib main loop, and so in a GTK program.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn glib-2.0)
 *
 * loop.h says what holds for all adapters. Here: the executor is a GSource
 * that watches the executor's descriptor at G_PRIORITY_DEFAULT. While more
 * waits than one turn can call, the rest comes at G_PRIORITY_DEFAULT_IDLE, so
 * that input and redrawing go first. For GTask and GCancellable see gio.h.
 */
#ifndef INTURN_GLIB_H
#define INTURN_GLIB_H

#include <inturn/loop.h>

#include <glib-unix.h>
#include <glib.h>

/* For the adapter alone: its source. Touched on the loop's thread, but for the
   finalizer, which nothing overlaps. */
typedef struct inturn_glib_source {
  GSource base;
  inturn_executor executor;
  GThread *thread; /* attached it; only compared */
  bool attached;
} inturn_glib_source;

static inline gboolean inturn_glib_dispatch(GSource *base, GSourceFunc unused,
                                            gpointer unused_data) {
  inturn_glib_source *self = (inturn_glib_source *)base;
  int rest = G_PRIORITY_DEFAULT;
  (void)unused;
  (void)unused_data;
  switch (inturn_loop_turn(self->executor, &self->attached)) {
  case INTURN_LOOP_EMPTY:
    break;
  case INTURN_LOOP_MORE:
    rest = G_PRIORITY_DEFAULT_IDLE;
    break;
  case INTURN_LOOP_REFUSED:
    if (self->thread == g_thread_self())
      break; /* further up the stack it is being drained: it goes on then */
    inturn_loop_report_refusal("GLib");
    return G_SOURCE_REMOVE;
  case INTURN_LOOP_LEFT:
    return G_SOURCE_REMOVE;
  }
  if (g_source_get_priority(base) != rest)
    g_source_set_priority(base, rest);
  return G_SOURCE_CONTINUE;
}

/* The context may go with the source in it. */
static inline void inturn_glib_finalize(GSource *base) {
  inturn_glib_source *self = (inturn_glib_source *)base;
  if (self->attached)
    inturn_executor_detach(self->executor, "glib");
}

/* Attaches an executor to a main context; NULL: the thread's default one, in a
   GTK program's main thread GTK's.
   Statuses: those of inturn_executor_attach and inturn_executor_fd;
   E_WRONG_THREAD, too, when another thread runs the context.
   Threads: the one that runs the context.
   Ownership: the context keeps the source until the detach or its own end. */
static inline inturn_status inturn_glib_attach(inturn_executor executor,
                                               GMainContext *context) {
  static GSourceFuncs functions = {
      NULL, NULL, inturn_glib_dispatch, inturn_glib_finalize, NULL, NULL};
  inturn_glib_source *self;
  inturn_status status;
  GSource *base;
  int fd = -1;
  if (context == NULL)
    context = g_main_context_get_thread_default(); /* NULL: the global one */
  if (!g_main_context_acquire(context))
    return INTURN_E_WRONG_THREAD;
  base = g_source_new(&functions, sizeof(inturn_glib_source));
  self = (inturn_glib_source *)base;
  self->executor = executor;
  self->thread = g_thread_self();
  self->attached = false;
  status = inturn_executor_fd(executor, &fd);
  if (status == INTURN_OK)
    status = inturn_executor_attach(executor, "glib", self);
  if (status == INTURN_OK) {
    self->attached = true;
    g_source_set_name(base, "inturn");
    g_source_add_unix_fd(base, fd, G_IO_IN);
    g_source_attach(base, context);
  }
  g_source_unref(base);
  g_main_context_release(context);
  return status;
}

/* Takes inturn_glib_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
static inline inturn_status inturn_glib_detach(inturn_executor executor) {
  void *data = NULL;
  inturn_glib_source *self;
  inturn_status status = inturn_executor_get_attached(executor, "glib", &data);
  if (status != INTURN_OK)
    return status;
  self = (inturn_glib_source *)data;
  if (self->thread != g_thread_self())
    return INTURN_E_WRONG_THREAD;
  status = inturn_executor_detach(executor, "glib");
  if (status == INTURN_OK) {
    self->attached = false;
    g_source_destroy(&self->base);
  }
  return status;
}

#endif /* INTURN_GLIB_H */
