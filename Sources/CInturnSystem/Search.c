// Searches the process's own memory for copies of tokens.
#define _GNU_SOURCE
#include "CInturnSystem.h"

#ifdef __linux__
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "Internal.h"

enum { STEP = 1 << 16 };

/// A larger region is not searched: a sanitizer's, which is nearly empty.
static const uint64_t most = UINT64_C(1) << 36;

/// How much of a processor's time a search may take.
static const int64_t limit_ns = 2000000000;

/// The functions in which an idle thread of a pool sleeps have less than this
/// on its stack. What they have not written to was left behind by its calls.
static const uint64_t idle_depth = 512;

/// What was read, and a copy that a search has to find: who does not find it
/// cannot say of others that they are not there, as in an emulator. Only the
/// watchdog searches.
static _Alignas(16) unsigned char bytes[STEP + 16];
static volatile uint64_t planted;

/// A token that is sought, and where the first copy of it is.
static struct sought {
  uint64_t inverted;
  char place[136];
} sought[16];
static size_t sought_count;
static bool is_known; // that what has no place is nowhere
static bool is_off;   // written before there is a watchdog

struct search {
  bool (*is_parker)(uintptr_t);
  struct inturn_system_region region;
  uint64_t first, last; // of the tokens
  int64_t end_ns;       // of this thread's processor time
  uint64_t step;        // the address of `bytes`' contents
  bool has_planted;
};

/// A thread that sleeps, as the system describes it.
struct sleeper {
  char name[16];
  uint64_t stack;  // its stack pointer
  uint64_t parker; // at which it waits to be woken, or 0
};

static bool contains(const struct inturn_system_region *region,
                     uint64_t address) {
  return address >= region->begin && address < region->end;
}

/// False if it is running, or nothing can be known of it.
static bool describe(long thread, struct sleeper *sleeper) {
  char path[64], text[256], *next;
  snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", thread);
  inturn_system_read_file(path, text, sizeof text);
  // The call, its arguments, the stack pointer, the instruction's address; or,
  // between calls, -1 and the last two.
  uint64_t numbers[9];
  int count = 0;
  for (char *at = text; count < 9; at = next) {
    numbers[count] = strtoull(at, &next, 0);
    if (next == at)
      break;
    count++;
  }
  if (count < 3)
    return false;
  sleeper->stack = numbers[count - 2];
  sleeper->parker = count == 9 && numbers[0] == SYS_futex ? numbers[1] : 0;
  inturn_system_find_thread_name((uint64_t)thread, sleeper->name);
  return true;
}

/// Whether an address is in what a thread's calls have left behind when they
/// returned. If it is on the thread's stack, `place` says so then.
static bool is_left_by(const struct search *search, long thread,
                       uint64_t address, char *place, size_t room) {
  const struct inturn_system_region *region = &search->region;
  struct sleeper sleeper;
  if (!describe(thread, &sleeper) || !contains(region, sleeper.stack))
    return false;
  bool is_idle =
      region->is_guarded && sleeper.parker && search->is_parker(sleeper.parker);
  if (address < sleeper.stack + (is_idle ? idle_depth : 0))
    return is_idle || region->is_main_stack;
  snprintf(place, room, "on the stack of thread %ld (%s)", thread,
           sleeper.name);
  return false;
}

/// Whether no thread but this one has left that behind.
static bool is_in_use(const struct search *search, uint64_t address,
                      char *place, size_t room) {
  struct entry {
    uint64_t number;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
  };
  _Alignas(8) char entries[1024];
  int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long own = syscall(SYS_gettid), count;
  bool is_left = false;
  while ((count = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (char *at = entries; at < entries + count;) {
      const struct entry *entry = (const struct entry *)(void *)at;
      long thread = strtol(entry->name, NULL, 10);
      if (thread > 0 && thread != own)
        is_left |= is_left_by(search, thread, address, place, room);
      at += entry->size;
    }
  close(folder);
  return !is_left;
}

/// Whether an address is in what the search itself needs.
static bool is_own(const struct search *search, uint64_t address) {
  uint64_t read = (uintptr_t)bytes;
  uint64_t frame = (uintptr_t)__builtin_frame_address(0);
  return (address + 16 > read && address < read + sizeof bytes) ||
         (contains(&search->region, frame) && address < inturn_system_thread());
}

static void take_copy(void *context, uint64_t number, uintptr_t at,
                      bool is_of_python) {
  struct search *search = context;
  uint64_t address = search->step + at;
  if (address == (uintptr_t)&planted) {
    search->has_planted = true;
    return;
  }
  struct sought *found = sought;
  while (~found->inverted != number || found->place[0])
    if (++found == sought + sought_count)
      return;
  char place[72];
  snprintf(place, sizeof place, "in %s", search->region.name);
  if (is_own(search, address) ||
      !is_in_use(search, address, place, sizeof place))
    return;
  snprintf(found->place, sizeof found->place, "%s, at 0x%" PRIx64 "%s", place,
           address, is_of_python ? ", as a number of Python's" : "");
  // The names of files may have any characters.
  for (char *at = found->place; *at; at++)
    if (*at < ' ' || *at > '~')
      *at = '?';
}

/// Whether some of the next pages have ever been used.
static bool is_used(int pagemap, uint64_t address, uint64_t size) {
  // A number for each page; the first two bits: it is in memory, or swapped.
  uint64_t pages[STEP / 4096 + 1], page = (uint64_t)sysconf(_SC_PAGESIZE);
  size_t count = (size_t)((size + page - 1) / page) * sizeof *pages;
  off_t offset = (off_t)(address / page * sizeof *pages);
  if (pread(pagemap, pages, count, offset) != (ssize_t)count)
    return true;
  uint64_t all = 0;
  for (size_t i = 0; i < count / sizeof *pages; i++)
    all |= pages[i];
  return all >> 62 != 0;
}

/// False if not all of it can be read, in the time that there is.
static bool search_region(struct search *search, int pagemap, pid_t thread) {
  int64_t clock = inturn_system_thread_clock();
  if (search->region.end - search->region.begin > most)
    return false;
  for (uint64_t at = search->region.begin; at < search->region.end;
       at += STEP) {
    uint64_t left = search->region.end - at;
    if (inturn_system_thread_time(clock) > search->end_ns)
      return false;
    if (!is_used(pagemap, at, left < STEP ? left : STEP))
      continue;
    // A little more, as a copy may begin in one step and end in the next.
    size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
    struct iovec local = {bytes, size}, remote = {(void *)at, size};
    if (process_vm_readv(thread, &local, 1, &remote, 1, 0) != (ssize_t)size)
      return false;
    search->step = at;
    inturn_system_find_copies(bytes, size, STEP, search->first, search->last,
                              take_copy, search);
  }
  return true;
}

/// Searches what the lines of a file list, one after the other.
static bool search_all(struct search *search) {
  char lines[PATH_MAX + 256];
  size_t count = 0;
  pid_t thread = (pid_t)syscall(SYS_gettid);
  int maps = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  int pagemap = open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
  bool is_whole = maps >= 0;
  for (ssize_t more;
       (more = read(maps, lines + count, sizeof lines - 1 - count)) > 0;) {
    count += (size_t)more;
    char *line = lines, *end;
    for (; (end = memchr(line, '\n', count - (size_t)(line - lines))) != NULL;
         line = end + 1) {
      *end = '\0';
      if (inturn_system_take_region(line, &search->region))
        is_whole &= search_region(search, pagemap, thread);
    }
    count -= (size_t)(line - lines);
    memmove(lines, line, count);
  }
  close(maps);
  close(pagemap);
  return is_whole;
}

void inturn_system_seek_none(void) {
  sought_count = 0;
  is_known = false;
}

void inturn_system_seek(uint64_t inverted) {
  if (sought_count < sizeof sought / sizeof *sought)
    sought[sought_count++] = (struct sought){.inverted = inverted};
}

const char *inturn_system_found(uint64_t inverted) {
  for (size_t i = 0; i < sought_count; i++)
    if (sought[i].inverted == inverted && (is_known || sought[i].place[0]))
      return sought[i].place;
  return NULL;
}

void inturn_system_prepare_search(void) {
  static const char complaint[] =
      "inturn: INTURN_SEARCH: the only value is off\n";
  const char *setting = inturn_system_setting("INTURN_SEARCH");
  is_off = setting && strcmp(setting, "off") == 0;
  if (setting && setting[0] && !is_off)
    inturn_system_write_error(complaint, sizeof complaint - 1);
}

__attribute__((noinline)) static bool
search_for_tokens(bool (*is_parker)(uintptr_t)) {
  int64_t begin = inturn_system_thread_time(inturn_system_thread_clock());
  struct search search = {.is_parker = is_parker,
                          .region = {.name = "memory"},
                          .first = UINT64_MAX,
                          .end_ns = begin + limit_ns};
  for (size_t i = 0; i < sought_count; i++) {
    uint64_t token = ~sought[i].inverted;
    search.first = token < search.first ? token : search.first;
    search.last = token > search.last ? token : search.last;
  }
  planted = search.first;
  bool is_whole = search_all(&search);
  planted = 0;
  return is_whole && search.has_planted;
}

/// Leaves no copies behind, in what was read and where calls have returned: the
/// next look would find them.
__attribute__((noinline)) static void forget(void) {
  char dead[16 * 1024];
  memset(dead, 0, sizeof dead);
  __asm__ volatile("" ::"r"(dead) : "memory");
  memset(bytes, 0, sizeof bytes);
}

void inturn_system_search(bool (*is_parker)(uintptr_t)) {
  if (sought_count == 0 || is_off)
    return;
  is_known = search_for_tokens(is_parker);
  forget();
}
#else
void inturn_system_prepare_search(void) {}
void inturn_system_seek_none(void) {}
void inturn_system_seek(uint64_t inverted) { (void)inverted; }
void inturn_system_search(bool (*is_parker)(uintptr_t)) { (void)is_parker; }
const char *inturn_system_found(uint64_t inverted) {
  return (void)inverted, NULL;
}
#endif
