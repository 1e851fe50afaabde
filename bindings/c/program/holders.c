// Finds the copies of finish tokens in a process: only who has a copy of its
// token can finish an operation.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "CInturnSystem.h"
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
static bool is_stack_of(const struct inturn_system_region *region,
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
                        const struct inturn_system_region *region,
                        uint64_t address, const char *how) {
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

/// Where copies are looked for.
struct part {
  struct search *search;
  const struct inturn_system_region *region;
  uint64_t address;
};

static void take_copy(void *context, uint64_t number, uintptr_t at,
                      bool is_of_python) {
  const struct part *part = context;
  struct wanted *found = find(part->search, number);
  if (found)
    add_copy_at(part->search, found, part->region, part->address + at,
                is_of_python ? ", as a number of Python's" : "");
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

static void search_region(struct search *search,
                          const struct inturn_system_region *region) {
  static _Alignas(16) unsigned char bytes[STEP + 16];
  for (uint64_t at = region->begin; at < region->end;) {
    size_t size;
    size_t step = read_step(search, at, region->end - at, bytes, &size);
    struct part part = {search, region, at};
    inturn_system_find_copies(bytes, size, step, search->wanted[0].token,
                              search->wanted[search->count - 1].token,
                              take_copy, &part);
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

static void search_memory(struct search *search, const char *maps) {
  struct inturn_system_region region = {.name = "memory"};
  for (const char *line = maps; line && *line;) {
    if (inturn_system_take_region(line, &region))
      search_region(search, &region);
    line = strchr(line, '\n');
    line += line != NULL;
  }
}

static bool is_meant(struct picture *picture, const struct thing *thing,
                     const char *what) {
  if (!what || is_label(what, thing->label))
    return true;
  if (is_id(what) && thing->id == strtoull(what, NULL, 16))
    return true;
  const struct thing *queue = find_thing(picture, thing->queue);
  return queue && is_label(what, queue->label);
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
    is_there = is_there || is_operation || is_label(what, thing->label);
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
    char *maps = read_living(process, "maps", NULL);
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
    read_first_ones(true);
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
