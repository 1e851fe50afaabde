/*
 * count.c - counts how often the program reads memory, and how often while it
 * has stopped the process; writes that to the file COUNT_TO as it ends. Before
 * the read whose number is END_AT, or, for 0, when the first thread is about to
 * be stopped, it tells that thread through its standard input to end, and waits
 * until it has: if it is not stopped.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

static int stopped, reads, reads_while_stopped;

static void end_first_thread(pid_t process) {
  char path[48], state = ' ';
  snprintf(path, sizeof path, "/proc/%d/fd/0", (int)process);
  int input = open(path, O_WRONLY);
  if (input < 0 || write(input, "", 1) != 1)
    abort();
  close(input);
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  while (state != 'Z') {
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
      abort();
    fclose(file);
  }
}

static void count_to_end(pid_t process, int number) {
  const char *at = getenv("END_AT");
  if (at != NULL && atoi(at) == number)
    end_first_thread(process);
}

ssize_t process_vm_readv(pid_t process, const struct iovec *local,
                         unsigned long local_count, const struct iovec *remote,
                         unsigned long remote_count, unsigned long flags) {
  ssize_t (*next)(pid_t, const struct iovec *, unsigned long,
                  const struct iovec *, unsigned long, unsigned long);
  *(void **)&next = dlsym(RTLD_NEXT, "process_vm_readv");
  reads++;
  if (stopped == 0)
    count_to_end(process, reads);
  reads_while_stopped += stopped > 0;
  return next(process, local, local_count, remote, remote_count, flags);
}

long ptrace(enum __ptrace_request request, ...) {
  long (*next)(enum __ptrace_request, ...);
  *(void **)&next = dlsym(RTLD_NEXT, "ptrace");
  va_list arguments;
  va_start(arguments, request);
  pid_t thread = va_arg(arguments, pid_t);
  void *address = va_arg(arguments, void *);
  void *data = va_arg(arguments, void *);
  va_end(arguments);
  stopped += (request == PTRACE_SEIZE) - (request == PTRACE_DETACH);
  long result = next(request, thread, address, data);
  /* The first thread is the first one that is stopped. */
  if (request == PTRACE_SEIZE && stopped == 1)
    count_to_end(thread, 0);
  return result;
}

__attribute__((destructor)) static void end(void) {
  FILE *file = fopen(getenv("COUNT_TO"), "w");
  if (file != NULL) {
    fprintf(file, "%d %d\n", reads, reads_while_stopped);
    fclose(file);
  }
}
