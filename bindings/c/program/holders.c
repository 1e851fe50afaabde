// Finds the copies of finish tokens in a process: only who has a copy of its
// token can finish an operation.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "picture.h"
#include "program.h"

// The most copies that are listed, and how much memory is read at a time.
enum { COPIES = 8, STEP = 1 << 20, PAGE = 4096 };

#ifdef __x86_64__
/// Of the memory below a stack pointer, only this much is in use, and only by
/// code that calls nothing.
static const uint64_t red_zone = 128;
#else
static const uint64_t red_zone = 0;
#endif

/// The functions in which an idle thread of a pool sleeps have less than this
/// on its stack. What they have not written to was left behind, too.
static const uint64_t idle_depth = 512;

/// An operation that waits for its token, and where copies of that are.
struct wanted {
  const struct thing *operation;
  uint64_t token;
  char *copies[COPIES]; // the first of them, as lines
  size_t count;
};

/// Mapped memory that can be written to.
struct region {
  uint64_t begin, end;
  char name[64];      // such as "the heap"
  bool is_main_stack; // of the thread that the process began with
  bool is_guarded;    // memory that nobody may use lies before it
};

struct search {
  struct memory *memory;
  struct picture *picture;
  const struct threads *threads;
  struct wanted *wanted; // by token
  size_t count;
  bool has_unread; // some memory could not be read
};

static void add_copy(struct wanted *wanted, const char *where) {
  if (wanted->count < COPIES &&
      !(wanted->copies[wanted->count] = strdup(where)))
    fail("out of memory");
  wanted->count++;
}

/// Whether a region has nothing but a thread's stack below its stack pointer:
/// one that the system or the C library has made, and no other that the thread
/// is running on, such as a coroutine's.
static bool is_stack_of(const struct region *region,
                        const struct thread *thread) {
  if (thread->stack < region->begin || thread->stack >= region->end)
    return false;
  return region->is_main_stack ||
         (region->is_guarded && thread->locals > thread->stack &&
          thread->locals < region->end);
}

/// Whether it is a thread of a pool that has nothing to do.
static bool is_idle(const struct search *search, const struct thread *thread) {
  const struct picture *picture = search->picture;
  for (size_t i = 0; i < picture->parker_count; i++)
    if (picture->parkers[i] == thread->sleeps_at)
      return true;
  return false;
}

/// Where what a thread has on its stack begins.
static uint64_t begin_of_stack(const struct search *search,
                               const struct thread *thread) {
  if (is_idle(search, thread))
    return thread->stack + idle_depth;
  return thread->stack - (thread->is_in_call ? 0 : red_zone);
}

static void add_copy_at(struct search *search, struct wanted *wanted,
                        const struct region *region, uint64_t address,
                        const char *how) {
  char where[160];
  for (size_t i = 0; i < search->threads->count; i++) {
    const struct thread *thread = &search->threads->all[i];
    if (!is_stack_of(region, thread))
      continue;
    // What is below was left behind by calls that have returned.
    if (address < begin_of_stack(search, thread))
      return;
    snprintf(where, sizeof where,
             "on the stack of thread %d (%s), at 0x%" PRIx64 "%s",
             (int)thread->id, thread->name, address, how);
    add_copy(wanted, where);
    return;
  }
  snprintf(where, sizeof where, "in %s, at 0x%" PRIx64 "%s", region->name,
           address, how);
  add_copy(wanted, where);
}

static int compare(const void *one, const void *other) {
  uint64_t left = ((const struct wanted *)one)->token;
  uint64_t right = ((const struct wanted *)other)->token;
  return (left > right) - (left < right);
}

/// NULL if it is not wanted.
static struct wanted *find(const struct search *search, uint64_t token) {
  struct wanted key = {.token = token};
  return bsearch(&key, search->wanted, search->count, sizeof key, compare);
}

/// Searches memory for copies that begin in its first `count` bytes, wherever
/// they begin.
static void search_bytes(struct search *search, const struct region *region,
                         uint64_t address, const unsigned char *bytes,
                         size_t size, size_t count) {
  // Nearly no number is between the first token and the last, and all tokens of
  // a process have the same highest byte, which memchr finds faster than this
  // could.
  uint64_t first = search->wanted[0].token, token;
  uint64_t range = search->wanted[search->count - 1].token - first;
  struct wanted *found;
  const unsigned char *next = bytes + 7, *end = bytes + size;
  if (end - next > (ptrdiff_t)count)
    end = next + count;
  for (; next < end &&
         (next = memchr(next, (int)(first >> 56), (size_t)(end - next)));
       next++) {
    memcpy(&token, next - 7, sizeof token);
    if (token - first <= range && (found = find(search, token)))
      add_copy_at(search, found, region, address + (uint64_t)(next - 7 - bytes),
                  "");
  }
  // A number of Python's has 30 bits in each of its words. wmemchr finds the
  // third, as memchr does a byte.
  uint32_t words[3];
  if (size < sizeof words)
    return;
  const wchar_t *begin = (const wchar_t *)(const void *)(bytes + 8), *word;
  const wchar_t *beyond = begin + (size - sizeof words) / 4 + 1;
  if (beyond - begin > (ptrdiff_t)(count + 3) / 4)
    beyond = begin + (count + 3) / 4;
  for (word = begin;
       word < beyond &&
       (word = wmemchr(word, (wchar_t)(first >> 60), (size_t)(beyond - word)));
       word++) {
    size_t i = (size_t)(word - begin) * 4;
    memcpy(words, bytes + i, sizeof words);
    token = words[0] | (uint64_t)words[1] << 30 | (uint64_t)words[2] << 60;
    if (token - first <= range && (words[0] | words[1]) >> 30 == 0 &&
        (found = find(search, token)))
      add_copy_at(search, found, region, address + i,
                  ", as a number of Python's");
  }
}

/// Reads memory from an address on, and a little more, as a copy may begin in
/// one step and end in the next. Returns the size of the step; `out_size` is 0
/// if that cannot be read.
static size_t read_step(struct search *search, uint64_t at, uint64_t left,
                        unsigned char bytes[STEP + 16], size_t *out_size) {
  // Among pages that can be read there may be others.
  static const size_t steps[] = {STEP, PAGE, PAGE}, more[] = {16, 16, 0};
  size_t step = 0;
  for (int i = 0; i < 3; i++) {
    step = left < steps[i] ? (size_t)left : steps[i];
    *out_size = left < step + more[i] ? (size_t)left : step + more[i];
    if (read_fresh(search->memory, at, bytes, *out_size))
      return step;
  }
  *out_size = 0;
  return step;
}

static void search_region(struct search *search, const struct region *region) {
  static _Alignas(16) unsigned char bytes[STEP + 16];
  for (uint64_t at = region->begin; at < region->end;) {
    size_t size;
    size_t step = read_step(search, at, region->end - at, bytes, &size);
    search_bytes(search, region, at, bytes, size, step);
    search->has_unread |= size == 0;
    at += step;
  }
}

static void search_registers(struct search *search) {
  for (size_t i = 0; i < search->threads->count; i++) {
    const struct thread *thread = &search->threads->all[i];
    if (is_idle(search, thread))
      continue;
    char where[96];
    snprintf(where, sizeof where, "in a register of thread %d (%s)",
             (int)thread->id, thread->name);
    for (size_t at = 0; at + 8 <= thread->register_size; at += 8) {
      uint64_t value;
      memcpy(&value, thread->registers + at, sizeof value);
      struct wanted *found = find(search, value);
      if (found)
        add_copy(found, where);
    }
  }
}

/// Takes the next region from a line of a process's maps. False if it cannot
/// be written to.
static bool take_region(const char *line, struct region *region) {
  uint64_t end = region->end;
  bool was_forbidden = region->name[0] == '\0';
  char before[sizeof region->name];
  strcpy(before, region->name);
  bool was_file = strncmp(before, "the data of ", 12) == 0;
  char rights[5], path[256] = "";
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s%*[ ]%255[^\n]",
             &region->begin, &region->end, rights, path) < 3)
    return false;
  const char *file = strrchr(path, '/');
  region->is_guarded = was_forbidden && region->begin == end;
  region->is_main_stack = strcmp(path, "[stack]") == 0;
  if (strncmp(rights, "---", 3) == 0)
    region->name[0] = '\0';
  else if (rights[3] == 's')
    strcpy(region->name, "shared memory");
  else if (file)
    snprintf(region->name, sizeof region->name, "the data of %.50s", file + 1);
  else if (strcmp(path, "[heap]") == 0)
    strcpy(region->name, "the heap");
  else if (path[0] || region->begin != end || !was_file)
    strcpy(region->name, "memory");
  else // the zeros of its data, and maybe more
    snprintf(region->name, sizeof region->name, "memory after %.46s", before);
  return strncmp(rights, "rw", 2) == 0;
}

static void search_memory(struct search *search, const char *maps) {
  struct region region = {.name = "memory"};
  for (const char *line = maps; line && *line;) {
    if (take_region(line, &region))
      search_region(search, &region);
    line = strchr(line, '\n');
    line += line != NULL;
  }
}

static bool is_meant(struct picture *picture, const struct thing *thing,
                     const char *what) {
  if (!what || strcmp(thing->label, what) == 0)
    return true;
  if (is_id(what))
    return thing->id == strtoull(what, NULL, 16);
  const struct thing *queue = find_thing(picture, thing->queue);
  return queue && strcmp(queue->label, what) == 0;
}

/// Takes the operations that are meant and wait for their tokens. Fails if
/// nothing is meant.
static void take_wanted(struct search *search, const char *what) {
  struct picture *picture = search->picture;
  bool is_there = !what, is_by_id = what && is_id(what);
  search->wanted = calloc(picture->count + 1, sizeof *search->wanted);
  if (!search->wanted)
    fail("out of memory");
  for (size_t i = 0; i < picture->count; i++) {
    const struct thing *thing = &picture->things[i];
    bool is_operation = strcmp(thing->kind, "operation") == 0;
    if ((!is_operation && strcmp(thing->kind, "queue") != 0) ||
        thing->is_hidden || !is_meant(picture, thing, what))
      continue;
    is_there |= is_operation || !is_by_id;
    if (is_operation && thing->token && thing->cause &&
        strcmp(thing->cause, "token") == 0)
      search->wanted[search->count++] =
          (struct wanted){.operation = thing, .token = thing->token};
  }
  if (!is_there && is_by_id)
    fail("there is no such operation");
  if (!is_there)
    fail("no queue and no operation has the label %s", what);
  qsort(search->wanted, search->count, sizeof *search->wanted, compare);
}

static void write_copies(struct search *search, struct picture *picture,
                         struct wanted *wanted) {
  write_thing(picture, wanted->operation, stdout);
  printf(": its token 0x%" PRIx64 " is\n", wanted->token);
  for (size_t i = 0; i < wanted->count && i < COPIES; i++) {
    fputs("    ", stdout);
    write_text(wanted->copies[i], stdout);
    putchar('\n');
    free(wanted->copies[i]);
  }
  if (wanted->count > COPIES)
    printf("    in %zu more places\n", wanted->count - COPIES);
  if (wanted->count == 0 && search->has_unread)
    puts("    nowhere in what can be read of the process");
  else if (wanted->count == 0)
    puts("    nowhere in the process: nothing in it can finish the operation");
}

/// Leaves out the operations that do not wait for their tokens any more.
static void keep_waiting(struct search *search) {
  size_t count = 0;
  for (size_t i = 0; i < search->count; i++)
    if (waits_for_token(search->memory, search->wanted[i].operation))
      search->wanted[count++] = search->wanted[i];
  search->count = count;
}

/// Searches the process, which is stopped meanwhile, so that no copy gets from
/// where it has not been searched to where it has.
static void search_process(struct search *search, pid_t process) {
  struct threads threads = {0};
  search->threads = &threads;
  stop_threads(process, &threads);
  keep_waiting(search);
  if (search->count > 0) {
    char *maps = read_file(search->memory->process, "maps", NULL);
    if (!maps)
      fail("the memory of process %d cannot be read", (int)process);
    search_registers(search);
    search_memory(search, maps);
    free(maps);
  }
  search->has_unread |= threads.has_unread;
  let_threads_go(&threads);
}

int show_holders(pid_t process, const char *what) {
  struct search search = {0};
  // All running operations are read; of the others, only a label needs all.
  if (!what)
    read_first_ones();
  search.picture = read_process(process, &search.memory);
  take_wanted(&search, what);
  if (search.count > 0)
    search_process(&search, process);
  for (size_t i = 0; i < search.count; i++)
    write_copies(&search, search.picture, &search.wanted[i]);
  free(search.wanted);
  if (search.count == 0)
    puts(what ? "no such operation waits for its token"
              : "no operation waits for its token");
  return 0;
}
