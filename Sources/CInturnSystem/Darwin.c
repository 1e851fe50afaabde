#ifdef __APPLE__
#include <crt_externs.h>
#include <errno.h>
#include <fcntl.h>
#include <mach/mach.h>
#include <os/os_sync_wait_on_address.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "CInturnSystem.h"
#include "Internal.h"

void inturn_system_wait(const uint32_t *word, uint32_t expected,
                        int64_t timeout_ns) {
  if (timeout_ns < 0)
    os_sync_wait_on_address((void *)word, expected, sizeof *word,
                            OS_SYNC_WAIT_ON_ADDRESS_NONE);
  else if (timeout_ns > 0)
    os_sync_wait_on_address_with_timeout(
        (void *)word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE,
        OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)timeout_ns);
}

void inturn_system_wake_one(const uint32_t *word) {
  os_sync_wake_by_address_any((void *)word, sizeof *word,
                              OS_SYNC_WAKE_BY_ADDRESS_NONE);
}

void inturn_system_wake_all(const uint32_t *word) {
  os_sync_wake_by_address_all((void *)word, sizeof *word,
                              OS_SYNC_WAKE_BY_ADDRESS_NONE);
}

int inturn_system_event_open(int *write_end) {
  int ends[2];
  if (pipe(ends) != 0)
    return -1;
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[i], F_SETFL, O_NONBLOCK);
  }
  *write_end = ends[1];
  return ends[0];
}

void inturn_system_event_signal(int write_end) {
  ssize_t written = write(write_end, "", 1);
  (void)written; // A full pipe is readable already.
}

void inturn_system_event_clear(int read_end) {
  char bytes[64];
  while (read(read_end, bytes, sizeof bytes) > 0) {
  }
}

void inturn_system_event_close(int read_end, int write_end) {
  close(read_end);
  close(write_end);
}

bool inturn_system_is_main_thread(void) { return pthread_main_np() != 0; }

int64_t inturn_system_thread_clock(void) {
  return pthread_mach_thread_np(pthread_self());
}

int64_t inturn_system_thread_time(int64_t thread_clock) {
  thread_basic_info_data_t info;
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  if (thread_info((thread_inspect_t)thread_clock, THREAD_BASIC_INFO,
                  (thread_info_t)&info, &count) != KERN_SUCCESS)
    return -1;
  int64_t seconds = (int64_t)info.user_time.seconds + info.system_time.seconds;
  int64_t microseconds =
      (int64_t)info.user_time.microseconds + info.system_time.microseconds;
  return seconds * 1000000000 + microseconds * 1000;
}

// The system decides this by itself.
void inturn_system_expect_use(void *memory, uintptr_t size) {
  (void)memory, (void)size;
}

int inturn_system_processors(void) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

void inturn_system_name_thread(const char *name) { pthread_setname_np(name); }

uint64_t inturn_system_describe_thread(char *name) {
  uint64_t number = 0;
  char whole[64] = "";
  pthread_threadid_np(NULL, &number);
  pthread_getname_np(pthread_self(), whole, sizeof whole);
  memcpy(name, whole, 15);
  return number;
}

// Only another thread's handle would tell its name.
void inturn_system_find_thread_name(uint64_t number, char *name) {
  (void)number;
  name[0] = '\0';
}

bool inturn_system_is_traced(void) {
  int query[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
  struct kinfo_proc process = {0};
  size_t size = sizeof process;
  return sysctl(query, 4, &process, &size, NULL, 0) == 0 &&
         (process.kp_proc.p_flag & P_TRACED) != 0;
}

const char *inturn_system_program(void) { return getprogname(); }

bool inturn_system_has_argument(const char *argument) {
  char **arguments = *_NSGetArgv();
  for (int i = 0; i < *_NSGetArgc(); i++)
    if (strcmp(arguments[i], argument) == 0)
      return true;
  return false;
}

const char *inturn_system_setting(const char *name) {
  return issetugid() ? NULL : getenv(name);
}

int inturn_system_socket(void) {
  int made = socket(AF_UNIX, SOCK_STREAM, 0);
  if (made >= 0) {
    fcntl(made, F_SETFD, FD_CLOEXEC);
    fcntl(made, F_SETFL, O_NONBLOCK);
  }
  return made;
}

int inturn_system_listen(const struct sockaddr_un *address) {
  int listener = inturn_system_socket();
  // Nobody can connect before it listens, and by then it has its mode.
  if (listener >= 0 &&
      (bind(listener, (const struct sockaddr *)address, sizeof *address) != 0 ||
       chmod(address->sun_path, 0600) != 0 || listen(listener, 16) != 0)) {
    int error = errno;
    close(listener);
    errno = error;
    return -1;
  }
  return listener;
}

int inturn_system_accept(int listener) {
  int client = accept(listener, NULL, NULL);
  if (client >= 0) {
    fcntl(client, F_SETFD, FD_CLOEXEC);
    fcntl(client, F_SETFL, 0); // the non-blocking mode is inherited here
  }
  return client;
}

bool inturn_system_find_file(const char *path,
                             struct inturn_system_file *file) {
  struct stat found;
  if (lstat(path, &found) != 0)
    return false;
  *file = (struct inturn_system_file){(uint64_t)found.st_dev, found.st_ino,
                                      S_ISSOCK(found.st_mode),
                                      S_ISREG(found.st_mode), found.st_uid};
  return true;
}
#endif
