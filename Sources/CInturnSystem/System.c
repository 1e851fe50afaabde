// The parts that all systems share.
#define _GNU_SOURCE
#include "CInturnSystem.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "Internal.h"

uintptr_t inturn_system_thread(void) { return (uintptr_t)pthread_self(); }

int64_t inturn_system_now(void) {
  struct timespec now;
  clock_gettime(INTURN_SYSTEM_CLOCK, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// By the clock, as a pause takes ten times longer on some processors; but no
// more often than a clock can be read in that time, as some move in steps of
// milliseconds.
void inturn_system_spin(int64_t nanoseconds) {
  int64_t begin = inturn_system_now();
  int64_t left = nanoseconds / 8;
  do
    inturn_system_pause();
  while (inturn_system_now() - begin < nanoseconds && --left > 0);
}

void inturn_system_object_barrier(void) {}

void inturn_system_stay_loaded(void) {
  // The shared library is: with -z nodelete.
#ifndef INTURN_IS_LINKED_TO_STAY
  static const char anchor; // an address in this library
  Dl_info info;
  if (dladdr((const void *)&anchor, &info) != 0 && info.dli_fname)
    (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

_Thread_local int inturn_system_most_wait_ms;

// Waits until there is room. False if it is not that which a write lacked: one
// that waits by itself has reached a limit of time.
static bool wait_for_room(int descriptor) {
  if ((fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0)
    return false;
  struct pollfd room = {.fd = descriptor, .events = POLLOUT};
  int limit = inturn_system_most_wait_ms ? inturn_system_most_wait_ms : -1;
  int found = poll(&room, 1, limit);
  return found > 0 || (found < 0 && errno == EINTR);
}

bool inturn_system_write(int descriptor, const char *bytes, uintptr_t count) {
  while (count > 0) {
    ssize_t written = write(descriptor, bytes, count);
    if (written < 0 &&
        (errno == EINTR || (errno == EAGAIN && wait_for_room(descriptor))))
      continue;
    if (written <= 0)
      return false;
    bytes += written;
    count -= (uintptr_t)written;
  }
  return true;
}

void inturn_system_write_without_signals(void (*write)(void *), void *context) {
  static const int numbers[] = {SIGPIPE, SIGXFSZ};
  sigset_t raised, mask, before, after;
  int saved = errno;
  sigemptyset(&raised);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    sigaddset(&raised, numbers[i]);
  pthread_sigmask(SIG_BLOCK, &raised, &mask);
  sigpending(&before);
  write(context);
  sigpending(&after);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    int number = numbers[i];
    sigemptyset(&raised);
    sigaddset(&raised, number);
    if (sigismember(&after, number) && !sigismember(&before, number))
      sigwait(&raised, &number);
  }
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  errno = saved;
}

struct line {
  const char *bytes;
  uintptr_t count;
};

static void write_line(void *context) {
  const struct line *line = context;
  (void)inturn_system_write(STDERR_FILENO, line->bytes, line->count);
}

void inturn_system_write_error(const char *bytes, uintptr_t count) {
  struct line line = {bytes, count};
  inturn_system_write_without_signals(write_line, &line);
}
