/*
 * dispatch.h - Swift's main queue in any event loop of C or C++.
 *
 * SPDX-License-Identifier: MIT
 *
 * Swift code that is loaded into a C program expects somebody to drain
 * libdispatch's main queue: on it run DispatchQueue.main, `@MainActor` and, on
 * Linux, OperationQueue.main. On Linux a program with a loop of its own, GTK's
 * or libuv's, does not do that, and such code waits for ever. This is the
 * bridge: a descriptor that is readable while something waits there, and a
 * call that drains it. In a GLib loop:
 *
 *     static gboolean drain(gint fd, GIOCondition condition, gpointer data) {
 *       inturn_dispatch_drain();
 *       return G_SOURCE_CONTINUE;
 *     }
 *     ...
 *     if (inturn_dispatch_fd(&fd) == INTURN_OK)
 *       g_unix_fd_add_full(G_PRIORITY_DEFAULT_IDLE, fd, G_IO_IN, drain, NULL,
 *                          NULL);
 *
 * - The libdispatch is the one that the process has loaded. The including
 *   program need not link it, and libinturn.so neither has it nor needs it.
 *   A program that links it statically exports its symbols (-rdynamic).
 * - One drain calls what waited when it began; what is added meanwhile keeps
 *   the descriptor readable. So other sources of the loop have their turn; in
 *   GLib, where a source that is always ready keeps out those of a lesser
 *   priority, at the priority above: input and drawing go first.
 * - While nothing waits nobody is woken.
 * - On Apple's systems the main thread's run loop drains the queue: nothing is
 *   to be done there, and both functions give E_UNSUPPORTED.
 */
#ifndef INTURN_DISPATCH_H
#define INTURN_DISPATCH_H

#include <inturn.h>

#if defined(__linux__)
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
#endif

/* What libdispatch has for run loops. For the functions below alone. */
typedef struct inturn_dispatch_hooks {
  int (*handle)(void);
  void (*drain)(void *);
} inturn_dispatch_hooks;

static inline inturn_status
inturn_dispatch_find(inturn_dispatch_hooks *out_hooks) {
#if defined(__linux__)
  void *handle, *drain, *library;
  /* The loaded one, even if it was loaded for one library alone. */
  library = dlopen("libdispatch.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL)
    library = dlopen(NULL, RTLD_LAZY);
  if (library == NULL)
    return INTURN_E_UNSUPPORTED;
  handle = dlsym(library, "_dispatch_get_main_queue_handle_4CF");
  drain = dlsym(library, "_dispatch_main_queue_callback_4CF");
  dlclose(library); /* who has loaded it keeps it */
  if (handle == NULL || drain == NULL)
    return INTURN_E_UNSUPPORTED;
  memcpy(&out_hooks->handle, &handle, sizeof handle);
  memcpy(&out_hooks->drain, &drain, sizeof drain);
  return INTURN_OK;
#else
  (void)out_hooks;
  return INTURN_E_UNSUPPORTED;
#endif
}

/* Whether the caller is the thread that the process began with: the only one
   that the main executor lets attach. */
static inline bool inturn_dispatch_on_main_thread(void) {
  inturn_executor executor;
  inturn_status status = inturn_executor_main(&executor);
  if (status == INTURN_OK)
    status = inturn_executor_attach(executor, "dispatch", NULL);
  if (status == INTURN_OK)
    inturn_executor_detach(executor, "dispatch");
  return status == INTURN_OK || status == INTURN_E_BUSY;
}

/* A descriptor that is readable while something waits on the main queue. It
   stays libdispatch's: do not read, write or close it.
   Statuses: E_INVALID_ARGUMENT, E_UNSUPPORTED (not on Linux, or the process
   has loaded no libdispatch yet). */
static inline inturn_status inturn_dispatch_fd(int *out_fd) {
  inturn_dispatch_hooks hooks;
  inturn_status status = inturn_dispatch_find(&hooks);
  if (out_fd == NULL)
    return INTURN_E_INVALID_ARGUMENT;
  if (status == INTURN_OK)
    *out_fd = hooks.handle();
  return status;
}

/* Calls what waits on the main queue, and never blocks. Called from inside a
   call of its own, it does nothing.
   Statuses: E_UNSUPPORTED (see inturn_dispatch_fd), E_WRONG_THREAD.
   Threads: the main thread. */
static inline inturn_status inturn_dispatch_drain(void) {
  inturn_dispatch_hooks hooks;
  inturn_status status = inturn_dispatch_find(&hooks);
  if (status != INTURN_OK)
    return status;
  if (!inturn_dispatch_on_main_thread())
    return INTURN_E_WRONG_THREAD;
#if defined(__linux__)
  {
    /* Cleared first, so that what comes from here on is signalled again. */
    uint64_t count;
    ssize_t taken = read(hooks.handle(), &count, sizeof count);
    (void)taken;
    hooks.drain(NULL);
  }
#endif
  return INTURN_OK;
}

#endif /* INTURN_DISPATCH_H */
