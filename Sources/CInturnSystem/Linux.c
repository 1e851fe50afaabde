#ifdef __linux__
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "CInturnSystem.h"
#include "Internal.h"

void inturn_system_wait(const uint32_t *word, uint32_t expected,
                        int64_t timeout_ns) {
  struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
          timeout_ns < 0 ? NULL : &timeout, NULL, 0);
}

void inturn_system_wake_one(const uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void inturn_system_wake_all(const uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int inturn_system_event_open(int *write_end) {
  return *write_end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void inturn_system_event_signal(int write_end) {
  uint64_t one = 1;
  ssize_t written = write(write_end, &one, sizeof one);
  (void)written; // A full counter is readable already.
}

void inturn_system_event_clear(int read_end) {
  uint64_t count;
  ssize_t taken = read(read_end, &count, sizeof count);
  (void)taken; // Nothing to read: clear already.
}

void inturn_system_event_close(int read_end, int write_end) {
  (void)write_end; // One descriptor serves as both ends.
  close(read_end);
}

bool inturn_system_is_main_thread(void) {
  return syscall(SYS_gettid) == getpid();
}

// As pthread_getcpuclockid computes it; that function has not the same version
// in every C library.
int64_t inturn_system_thread_clock(void) {
  return ~(int64_t)syscall(SYS_gettid) * 8 + 6;
}

int64_t inturn_system_thread_time(int64_t thread_clock) {
  struct timespec time;
  if (clock_gettime((clockid_t)thread_clock, &time) != 0)
    return -1;
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// If the system refuses, only time is lost.
void inturn_system_expect_use(void *memory, uintptr_t size) {
  int error = errno;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t first = ((uintptr_t)memory + page - 1) & ~(page - 1);
  uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
  (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
  errno = error;
}

int inturn_system_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

void inturn_system_name_thread(const char *name) {
  pthread_setname_np(pthread_self(), name);
}

uint64_t inturn_system_describe_thread(char *name) {
  syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
  return (uint64_t)syscall(SYS_gettid);
}

size_t inturn_system_read_file(const char *path, char *text, size_t room) {
  int error = errno;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? -1 : read(file, text, room - 1);
  count = count < 0 ? 0 : count;
  text[count] = '\0';
  if (file >= 0)
    close(file);
  errno = error;
  return (size_t)count;
}

void inturn_system_find_thread_name(uint64_t number, char *name) {
  char path[48];
  snprintf(path, sizeof path, "/proc/self/task/%llu/comm",
           (unsigned long long)number);
  inturn_system_read_file(path, name, 16);
  name[strcspn(name, "\n")] = '\0';
  for (char *at = name; *at; at++)
    if (*at < ' ' || *at > '~')
      *at = '?';
}

bool inturn_system_is_traced(void) {
  static const char field[] = "\nTracerPid:\t";
  char text[1024];
  inturn_system_read_file("/proc/thread-self/status", text, sizeof text);
  const char *found = strstr(text, field);
  return found && found[sizeof field - 1] != '0';
}

const char *inturn_system_program(void) {
  return program_invocation_short_name;
}

bool inturn_system_has_argument(const char *argument) {
  char text[1024];
  size_t length =
      inturn_system_read_file("/proc/self/cmdline", text, sizeof text);
  for (char *at = text; at < text + length; at += strlen(at) + 1)
    if (strcmp(at, argument) == 0)
      return true;
  return false;
}

const char *inturn_system_setting(const char *name) {
  return secure_getenv(name);
}

int inturn_system_socket(void) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int inturn_system_listen(const struct sockaddr_un *address) {
  int listener = inturn_system_socket();
  // The file gets the mode of the socket, so it never has another one.
  if (listener >= 0 &&
      (fchmod(listener, 0600) != 0 ||
       bind(listener, (const struct sockaddr *)address, sizeof *address) != 0 ||
       listen(listener, 16) != 0)) {
    int error = errno;
    close(listener);
    errno = error;
    return -1;
  }
  return listener;
}

int inturn_system_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

// Not with `lstat`, which older C libraries have under another name.
bool inturn_system_find_file(const char *path,
                             struct inturn_system_file *file) {
  struct stat found;
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  *file = (struct inturn_system_file){found.st_dev, found.st_ino,
                                      S_ISSOCK(found.st_mode),
                                      S_ISREG(found.st_mode), found.st_uid};
  return true;
}
#endif
