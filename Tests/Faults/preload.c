/*
 * preload.c - makes a system call of the library fail.
 *
 * SPDX-License-Identifier: MIT
 *
 * To be preloaded. It counts the library's own calls of each kind, also in a
 * test's forked children, and makes the Nth of one kind fail, or all from the
 * Nth on. The environment says which:
 *
 *   INTURN_FAULT         "KIND N once", "KIND N while" or "KIND N ever", where
 *                        N counts from 1
 *   INTURN_FAULT_COUNTS  a file of `struct counts`, shared by all processes
 *
 *   kind     once                                ever
 *   thread   pthread_create returns EAGAIN       each does
 *   event    eventfd fails with EMFILE           each does
 *   wait     a futex wait returns at once        every other one does
 *   wake     a futex wake comes 3 ms late        every 8th does, 1 ms
 *   same     the clock stands still for a call   it moves in steps of 4 ms
 *   late     a call of the clock takes 3 ms      every 32nd does, 1 ms
 *   memory   malloc and its like return NULL     each does
 *
 * "while" is like "ever", for 30 ms from the first one on. All of these may
 * happen on a system at any time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { THREAD, EVENT, WAIT, WAKE, SAME, LATE, MEMORY, KINDS };

static const char *const names[KINDS] = {"thread", "event", "wait",  "wake",
                                         "same",   "late",  "memory"};

struct counts {
  _Atomic uint64_t calls[KINDS];
  _Atomic uint64_t faults; /* how often the fault was made */
};

static struct counts own_counts, *counts = &own_counts;
static int fault_kind = KINDS;
static uint64_t fault_number;
static bool for_once, for_a_while;

/* The address range of the library's code. */
static uintptr_t library_begin = 1, library_end = 0;

static int (*real_create)(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
static int (*real_eventfd)(unsigned int, int);
static long (*real_syscall)(long, ...);
static int (*real_clock)(clockid_t, struct timespec *);

static int find_library(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  if (strstr(info->dlpi_name, "libinturn.so") == NULL)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
      library_begin = info->dlpi_addr + part->p_vaddr;
      library_end = library_begin + part->p_memsz;
    }
  }
  return 1;
}

/* Has to run before any function here is called: calls that come earlier, from
   other libraries' constructors, resolve the functions themselves. */
static void resolve(void) {
  *(void **)&real_create = dlsym(RTLD_NEXT, "pthread_create");
  *(void **)&real_eventfd = dlsym(RTLD_NEXT, "eventfd");
  *(void **)&real_syscall = dlsym(RTLD_NEXT, "syscall");
  *(void **)&real_clock = dlsym(RTLD_NEXT, "clock_gettime");
}

static void set_fault(const char *fault);

__attribute__((constructor)) static void begin(void) {
  resolve();
  dl_iterate_phdr(find_library, NULL);
  const char *path = getenv("INTURN_FAULT_COUNTS");
  int file = path ? open(path, O_RDWR) : -1;
  if (file >= 0) {
    void *shared =
        mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED)
      counts = shared;
    close(file);
  }
  const char *fault = getenv("INTURN_FAULT");
  if (fault != NULL)
    set_fault(fault);
}

static void set_fault(const char *fault) {
  char name[8], when[8];
  unsigned long long number;
  if (sscanf(fault, "%7s %llu %7s", name, &number, when) == 3)
    for (int i = 0; i < KINDS; i++)
      if (strcmp(names[i], name) == 0)
        fault_kind = i;
  if (fault_kind == KINDS) {
    fprintf(stderr, "INTURN_FAULT: \"%s\" is no fault\n", fault);
    _exit(2);
  }
  fault_number = number;
  for_once = strcmp(when, "once") == 0;
  for_a_while = strcmp(when, "while") == 0;
}

/* For programs that set the fault themselves: it applies from now on, and
   counts from here; NULL for none. Returns the number of faults so far. */
uint64_t inturn_fault_set(const char *fault) {
  uint64_t before = atomic_load(&counts->faults);
  fault_kind = KINDS;
  for (int i = 0; i < KINDS; i++)
    atomic_store(&counts->calls[i], 0);
  if (fault != NULL)
    set_fault(fault);
  return before;
}

/* When the first call failed; 0 before that. */
static _Atomic int64_t began;

static bool is_over(void) {
  struct timespec time;
  real_clock(CLOCK_MONOTONIC, &time);
  int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec, first = 0;
  atomic_compare_exchange_strong(&began, &first, now);
  return first != 0 && now > first + 30000000;
}

/* Counts a call, and returns whether it fails; if not once, each `rhythm`th. */
static bool fails(enum kind kind, const void *caller, uint64_t rhythm) {
  if ((uintptr_t)caller < library_begin || (uintptr_t)caller >= library_end)
    return false;
  uint64_t number = atomic_fetch_add(&counts->calls[kind], 1) + 1;
  if (fault_kind != (int)kind || number < fault_number)
    return false;
  uint64_t further = number - fault_number;
  if (for_once ? further != 0 : further % rhythm != 0)
    return false;
  if (for_a_while && is_over())
    return false;
  atomic_fetch_add(&counts->faults, 1);
  return true;
}

/* In all at most for some seconds, whatever a test calls how often. */
static void take_ms(long milliseconds) {
  static atomic_long taken;
  if (atomic_fetch_add(&taken, milliseconds) > 5000)
    return;
  struct timespec time = {0, milliseconds * 1000000};
  int error = errno;
  nanosleep(&time, NULL);
  errno = error;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*body)(void *), void *context) {
  if (real_create == NULL)
    resolve();
  if (fails(THREAD, __builtin_return_address(0), 1))
    return EAGAIN;
  return real_create(thread, attributes, body, context);
}

int eventfd(unsigned int value, int flags) {
  if (real_eventfd == NULL)
    resolve();
  if (fails(EVENT, __builtin_return_address(0), 1)) {
    errno = EMFILE;
    return -1;
  }
  return real_eventfd(value, flags);
}

long syscall(long number, ...) {
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg(arguments, long);
  va_end(arguments);
  if (real_syscall == NULL)
    resolve();
  if (number == SYS_futex) {
    const void *caller = __builtin_return_address(0);
    int what = (int)a[1] & FUTEX_CMD_MASK;
    if (what == FUTEX_WAIT && fails(WAIT, caller, 2)) {
      /* Alternately: a signal, and a spurious wake-up. */
      if (atomic_load(&counts->faults) % 2 == 0)
        return 0;
      errno = EINTR;
      return -1;
    }
    if (what == FUTEX_WAKE && fails(WAKE, caller, 8))
      take_ms(for_once ? 3 : 1);
  }
  return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The last time that was returned; it may be returned again. */
static _Atomic int64_t last_told;

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (real_clock == NULL)
    resolve();
  const void *caller = __builtin_return_address(0);
  if (fails(LATE, caller, 32))
    take_ms(for_once ? 3 : 1);
  /* A thread's processor time belongs to another clock. */
  if (clock != CLOCK_MONOTONIC)
    return real_clock(clock, time);
  bool is_same = fails(SAME, caller, 1);
  int result = real_clock(clock, time);
  if (fault_kind != SAME || (uintptr_t)caller < library_begin ||
      (uintptr_t)caller >= library_end)
    return result;
  int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
  int64_t told = atomic_load(&last_told);
  if (is_same && !for_once)
    now -= now % 4000000;
  if (now < told || (is_same && for_once && told != 0))
    now = told;
  while (told < now && !atomic_compare_exchange_weak(&last_told, &told, now))
    continue;
  time->tv_sec = now / 1000000000;
  time->tv_nsec = now % 1000000000;
  return result;
}

/* Memory. The C library's own functions by their other names, as looking them
   up would need memory. */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  if (fails(MEMORY, __builtin_return_address(0), 1))
    return NULL;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  if (fails(MEMORY, __builtin_return_address(0), 1))
    return NULL;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  if (fails(MEMORY, __builtin_return_address(0), 1))
    return NULL;
  return __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (fails(MEMORY, __builtin_return_address(0), 1))
    return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}
