// Stops the threads of another process for a look at their registers.
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "picture.h"
#include "program.h"

#if defined(__x86_64__)
#define STACK_POINTER(registers) ((registers)->rsp)
#elif defined(__aarch64__)
#define STACK_POINTER(registers) ((registers)->sp)
#endif

static bool is_stopped(const struct threads *threads, pid_t id) {
  for (size_t i = 0; i < threads->count; i++)
    if (threads->all[i].id == id)
      return true;
  return false;
}

static bool read_registers(struct thread *thread, int set, void *into,
                           size_t *size) {
  struct iovec room = {into, *size};
  if (ptrace(PTRACE_GETREGSET, thread->id, set, &room) != 0)
    return false;
  *size = room.iov_len;
  return true;
}

/// False if the thread is gone.
static bool stop(pid_t process, struct thread *thread) {
  if (ptrace(PTRACE_SEIZE, thread->id, 0, 0) != 0) {
    if (errno == ESRCH)
      return false;
    fail("the threads of process %d cannot be stopped: %s", (int)process,
         strerror(errno));
  }
  int status;
  if (ptrace(PTRACE_INTERRUPT, thread->id, 0, 0) != 0 ||
      waitpid(thread->id, &status, __WALL) < 0 || !WIFSTOPPED(status))
    return false;
  struct user_regs_struct general;
  size_t size = sizeof general;
  if (!read_registers(thread, NT_PRSTATUS, &general, &size))
    return false;
  memcpy(thread->registers, &general, size);
  thread->register_size = size;
  thread->stack = STACK_POINTER(&general);
#if defined(__aarch64__)
  // Code may keep a number in one of these across a call.
  size_t room = sizeof thread->registers - thread->register_size;
  if (read_registers(thread, NT_PRFPREG,
                     thread->registers + thread->register_size, &room))
    thread->register_size += room;
#endif
  return true;
}

static void name(pid_t process, struct thread *thread) {
  char path[48];
  snprintf(path, sizeof path, "task/%d/comm", (int)thread->id);
  char *text = read_file(process, path, NULL);
  if (text)
    copy_text(strtok(text, "\n"), thread->name, sizeof thread->name);
  free(text);
}

/// Stops the threads that are not stopped yet. Returns how many there were.
static size_t stop_new(pid_t process, struct threads *threads) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/task", (int)process);
  DIR *folder = opendir(path);
  size_t count = 0;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id <= 0 || is_stopped(threads, id))
      continue;
    if (threads->count == threads->room) {
      threads->room = threads->room ? 2 * threads->room : 16;
      threads->all =
          realloc(threads->all, threads->room * sizeof *threads->all);
      if (!threads->all)
        fail("out of memory");
    }
    struct thread *thread = &threads->all[threads->count];
    *thread = (struct thread){.id = id};
    if (stop(process, thread)) {
      name(process, thread);
      threads->count++;
      count++;
    }
  }
  if (folder)
    closedir(folder);
  return count;
}

void stop_threads(pid_t process, struct threads *threads) {
  // A thread may start others until it is stopped itself.
  while (stop_new(process, threads) > 0)
    continue;
  if (threads->count == 0)
    fail("there is no process %d", (int)process);
}

void let_threads_go(struct threads *threads) {
  for (size_t i = 0; i < threads->count; i++)
    ptrace(PTRACE_DETACH, threads->all[i].id, 0, 0);
  free(threads->all);
  *threads = (struct threads){0};
}
