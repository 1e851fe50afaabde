// Finds the copies of a finish token in a process: only who has one can finish
// the operation.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "program.h"

// The most copies that are listed, and how much memory is read at a time.
enum { COPIES = 8, STEP = 1 << 20, PAGE = 4096 };

/// Of the memory below a stack pointer, only this much is in use.
static const uint64_t red_zone = 128;

/// Mapped memory that can be written to.
struct region {
  uint64_t begin, end;
  char name[64]; // such as "the heap"
};

struct search {
  struct memory *memory;
  const struct threads *threads;
  const struct thing *operation;
  size_t count;
};

static void add_copy(struct search *search, const char *where) {
  if (search->count++ < COPIES)
    printf("    %s\n", where);
}

static void add_copy_at(struct search *search, const struct region *region,
                        uint64_t address, const char *how) {
  char where[160];
  bool is_stack = false;
  for (size_t i = 0; i < search->threads->count; i++) {
    const struct thread *thread = &search->threads->all[i];
    if (thread->stack < region->begin || thread->stack >= region->end)
      continue;
    is_stack = true;
    if (address + red_zone < thread->stack)
      continue;
    snprintf(where, sizeof where,
             "on the stack of thread %d (%s), at 0x%" PRIx64 "%s",
             (int)thread->id, thread->name, address, how);
    add_copy(search, where);
    return;
  }
  // Calls that have returned leave their data below the stack's end.
  if (is_stack)
    return;
  snprintf(where, sizeof where, "in %s, at 0x%" PRIx64 "%s", region->name,
           address, how);
  add_copy(search, where);
}

/// Searches memory for copies that begin in its first `count` bytes.
static void search_bytes(struct search *search, const struct region *region,
                         uint64_t address, const unsigned char *bytes,
                         size_t size, size_t count) {
  uint64_t token = search->operation->token;
  // Python's numbers have 30 bits in each word.
  uint32_t digits[] = {token & 0x3fffffff, token >> 30 & 0x3fffffff,
                       (uint32_t)(token >> 60)};
  for (size_t i = 0; i < count; i += 4) {
    size_t room = size - i;
    if (room >= sizeof token && memcmp(bytes + i, &token, sizeof token) == 0)
      add_copy_at(search, region, address + i, "");
    else if (room >= sizeof digits &&
             memcmp(bytes + i, digits, sizeof digits) == 0)
      add_copy_at(search, region, address + i, ", as a number of Python's");
  }
}

static void search_region(struct search *search, const struct region *region) {
  // A copy may begin in one step and end in the next.
  static unsigned char bytes[STEP + 16];
  for (uint64_t at = region->begin; at < region->end;) {
    uint64_t left = region->end - at;
    size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
    size_t step = left < STEP ? (size_t)left : STEP;
    if (read_memory(search->memory, at, bytes, size))
      search_bytes(search, region, at, bytes, size, step);
    else
      step = PAGE; // one page of many that cannot be read
    at += step;
  }
}

static void search_registers(struct search *search) {
  uint64_t token = search->operation->token;
  for (size_t i = 0; i < search->threads->count; i++) {
    const struct thread *thread = &search->threads->all[i];
    bool has = false;
    for (size_t at = 0; at + sizeof token <= thread->register_size; at += 8)
      has |= memcmp(thread->registers + at, &token, sizeof token) == 0;
    char where[96];
    snprintf(where, sizeof where, "in a register of thread %d (%s)",
             (int)thread->id, thread->name);
    if (has)
      add_copy(search, where);
  }
}

/// Takes the region from a line of a process's maps. False if it cannot be
/// written to.
static bool take_region(const char *line, struct region *region) {
  uint64_t end = region->end;
  char rights[5], path[256] = "";
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s%*[ ]%255[^\n]",
             &region->begin, &region->end, rights, path) < 3)
    return false;
  const char *file = strrchr(path, '/');
  if (rights[3] == 's')
    strcpy(region->name, "shared memory");
  else if (file)
    snprintf(region->name, sizeof region->name, "the data of %.50s", file + 1);
  else if (strcmp(path, "[heap]") == 0)
    strcpy(region->name, "the heap");
  else if (path[0] || region->begin != end) // else a file's zeros follow it
    strcpy(region->name, "memory");
  return strncmp(rights, "rw", 2) == 0;
}

static void search_all(struct search *search, const char *maps) {
  struct region region = {0};
  search_registers(search);
  for (const char *line = maps; line && *line;) {
    if (take_region(line, &region))
      search_region(search, &region);
    line = strchr(line, '\n');
    line += line != NULL;
  }
  if (search->count > COPIES)
    printf("    in %zu more places\n", search->count - COPIES);
  if (search->count == 0)
    puts("    nowhere in the process: nothing in it can finish the operation");
}

static bool is_meant(struct picture *picture, const struct thing *operation,
                     const char *what) {
  if (!what || strcmp(operation->label, what) == 0)
    return true;
  if (is_id(what))
    return operation->id == strtoull(what, NULL, 16);
  const struct thing *queue = find_thing(picture, operation->queue);
  return queue && strcmp(queue->label, what) == 0;
}

int show_holders(pid_t process, const char *what) {
  struct threads threads = {0};
  struct search search = {.threads = &threads};
  stop_threads(process, &threads);
  struct picture *picture = read_process(process, &search.memory);
  char *maps = read_file(process, "maps", NULL);
  bool has_found = false;
  for (size_t i = 0; maps && i < picture->count; i++) {
    search.operation = &picture->things[i];
    search.count = 0;
    if (strcmp(search.operation->kind, "operation") != 0 ||
        search.operation->is_hidden || !search.operation->token ||
        !search.operation->cause ||
        strcmp(search.operation->cause, "token") != 0 ||
        !is_meant(picture, search.operation, what))
      continue;
    has_found = true;
    write_thing(picture, search.operation, stdout);
    printf(": its token 0x%" PRIx64 " is\n", search.operation->token);
    search_all(&search, maps);
  }
  free(maps);
  let_threads_go(&threads);
  if (!has_found)
    puts("no such operation waits for its token");
  return 0;
}
