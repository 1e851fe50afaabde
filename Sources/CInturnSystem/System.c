// The parts that all systems share.
#define _GNU_SOURCE
#include "CInturnSystem.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "Internal.h"

_Thread_local void *inturn_system_innermost_frame;

uintptr_t inturn_system_thread(void) { return (uintptr_t)pthread_self(); }

int64_t inturn_system_now(void) {
  struct timespec now;
  clock_gettime(INTURN_SYSTEM_CLOCK, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void inturn_system_object_barrier(void) {}

void inturn_system_stay_loaded(void) {
  static const char anchor; // an address in this library
  Dl_info info;
  if (dladdr((const void *)&anchor, &info) != 0 && info.dli_fname)
    (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void inturn_system_write_error(const char *bytes, uintptr_t count) {
  while (count > 0) {
    ssize_t written = write(STDERR_FILENO, bytes, count);
    if (written <= 0)
      return;
    bytes += written;
    count -= (uintptr_t)written;
  }
}

struct thread_start {
  char name[16]; // what the system allows
  void (*body)(void *);
  void *context;
};

static void *thread_main(void *argument) {
  struct thread_start start = *(struct thread_start *)argument;
  free(argument);
  inturn_system_name_thread(start.name);
  start.body(start.context);
  return NULL;
}

bool inturn_system_start_thread(const char *name, void (*body)(void *),
                                void *context) {
  struct thread_start *start = malloc(sizeof *start);
  if (!start)
    return false;
  *start = (struct thread_start){.body = body, .context = context};
  strncpy(start->name, name, sizeof start->name - 1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // A new thread inherits the mask: the host's handlers stay on its threads.
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, thread_main, start) == 0;
  pthread_sigmask(SIG_SETMASK, &previous, NULL);
  pthread_attr_destroy(&attributes);
  if (!started)
    free(start);
  return started;
}
