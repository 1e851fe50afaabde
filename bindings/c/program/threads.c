// Stops the threads of another process for a look at their registers.
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "picture.h"
#include "program.h"

/// NULL if there is no such process.
static DIR *open_threads(pid_t process) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/task", (int)process);
  return opendir(path);
}

/// 0 if there is no further one.
static pid_t next_thread(DIR *folder) {
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id > 0)
      return id;
  }
  return 0;
}

static void close_threads(DIR *folder) {
  if (folder)
    closedir(folder);
}

static bool is_stopped(const struct threads *threads, pid_t id) {
  for (size_t i = 0; i < threads->count; i++)
    if (threads->all[i].id == id)
      return true;
  return false;
}

/// The number of bytes read. 0 if they cannot be read.
static size_t read_registers(pid_t id, int set, void *into, size_t size) {
  struct iovec room = {into, size};
  return ptrace(PTRACE_GETREGSET, id, set, &room) == 0 ? room.iov_len : 0;
}

static bool take_registers(struct thread *thread) {
  struct user_regs_struct general;
  size_t size = sizeof general;
  if (read_registers(thread->id, NT_PRSTATUS, &general, size) != size)
    return false;
  memcpy(thread->registers, &general, size);
  thread->register_size = size;
#if defined(__x86_64__)
  thread->stack = general.rsp;
  thread->locals = general.fs_base;
  thread->is_in_call = (int64_t)general.orig_rax >= 0;
  thread->sleeps_at =
      (general.rsi & FUTEX_CMD_MASK) == FUTEX_WAIT ? general.rdi : 0;
  return true;
#elif defined(__aarch64__)
  thread->stack = general.sp;
  thread->sleeps_at =
      (general.regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT ? general.regs[0] : 0;
  // Code may keep a number in a register for fractions across a call.
  size_t more = read_registers(thread->id, NT_PRFPREG, thread->registers + size,
                               sizeof thread->registers - size);
  thread->register_size += more;
  return more > 0 && read_registers(thread->id, NT_ARM_TLS, &thread->locals,
                                    sizeof thread->locals) > 0;
#endif
}

/// Whether a thread has ended, or is about to and has no memory any more: the
/// one that a process began with stays until the others have ended, too.
static bool has_ended(pid_t process, pid_t id) {
  enum { EXITING = 4 }; // of its flags: the kernel's PF_EXITING
  char path[48];
  snprintf(path, sizeof path, "task/%d/stat", (int)id);
  char *text = read_file(process, path, NULL);
  const char *state = text ? strrchr(text, ')') : NULL;
  unsigned flags = EXITING;
  if (state)
    sscanf(state, ") %*c %*d %*d %*d %*d %*d %u", &flags);
  free(text);
  return (flags & EXITING) != 0;
}

pid_t living_thread(pid_t process) {
  if (!has_ended(process, process))
    return process;
  DIR *folder = open_threads(process);
  pid_t id;
  while ((id = next_thread(folder)) > 0 && has_ended(process, id))
    continue;
  close_threads(folder);
  return id > 0 ? id : process;
}

char *read_living(pid_t process, const char *name, size_t *out_length) {
  size_t length = 0;
  char *bytes = NULL;
  pid_t thread, next = process;
  do {
    free(bytes);
    thread = next;
    bytes = read_file(thread, name, &length);
    int error = errno;
    if (length == 0) // as when the thread has ended meanwhile
      next = living_thread(process);
    errno = error;
  } while (next != thread);
  if (out_length)
    *out_length = length;
  return bytes;
}

/// False if the thread has ended.
static bool stop(pid_t process, struct thread *thread) {
  if (ptrace(PTRACE_SEIZE, thread->id, 0, 0) != 0) {
    int error = errno;
    if (error == ESRCH || has_ended(process, thread->id))
      return false;
    errno = error;
    fail("the threads of process %d cannot be stopped: %s", (int)process,
         strerror(errno));
  }
  int status;
  pid_t stopped;
  if (ptrace(PTRACE_INTERRUPT, thread->id, 0, 0) != 0)
    return false;
  // The end of the first thread is not told before that of the others.
  while ((stopped = waitpid(thread->id, &status, __WALL | WNOHANG)) == 0 &&
         !has_ended(process, thread->id))
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  if (stopped <= 0 || !WIFSTOPPED(status))
    return false;
  // It may have stopped for a signal that it was just about to get.
  thread->signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
  return true;
}

static void name(pid_t process, struct thread *thread) {
  char path[48];
  snprintf(path, sizeof path, "task/%d/comm", (int)thread->id);
  char *text = read_file(process, path, NULL);
  if (text) {
    text[strcspn(text, "\n")] = '\0';
    copy_text(text, thread->name, sizeof thread->name);
  }
  free(text);
}

/// Stops the threads that are not stopped yet. Returns how many there were.
static size_t stop_new(pid_t process, struct threads *threads) {
  DIR *folder = open_threads(process);
  size_t count = 0;
  for (pid_t id; (id = next_thread(folder)) > 0;) {
    if (is_stopped(threads, id))
      continue;
    threads->all = with_room(threads->all, threads->count, &threads->room,
                             sizeof *threads->all);
    struct thread *thread = &threads->all[threads->count];
    *thread = (struct thread){.id = id};
    if (stop(process, thread)) {
      threads->has_unread |= !take_registers(thread);
      name(process, thread);
      threads->count++;
      count++;
    }
  }
  close_threads(folder);
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
    ptrace(PTRACE_DETACH, threads->all[i].id, 0, threads->all[i].signal);
  free(threads->all);
  *threads = (struct threads){0};
}
