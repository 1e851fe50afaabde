// Writes the trace of made-up records, which are read from the standard input
// as words, to the standard output: see `Recording` in recordings.py. With a
// number N as argument, the Nth request for memory fails. The result is what
// the writer returns.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Trace.h"

enum { MOST = 1 << 20, TEXT = 128 };

struct name {
  uint64_t key;
  char text[TEXT];
};
struct site {
  uint64_t number, line;
  char file[TEXT], function[TEXT];
};

static uint64_t words[MOST];
static uint64_t *next = words;
static struct name *queues, *executors;
static struct site *sites;
static uint64_t queue_count, executor_count, site_count;
static long until_failure = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
static bool fails(void) { return until_failure >= 0 && until_failure-- == 0; }
void *__wrap_malloc(size_t size) {
  return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
  return fails() ? NULL : __real_realloc(memory, size);
}

static bool find_name(const struct name *names, uint64_t count, uint64_t key,
                      char *room, uintptr_t size) {
  for (uint64_t place = 0; place < count; place++) {
    if (names[place].key != key)
      continue;
    snprintf(room, size, "%s", names[place].text);
    return true;
  }
  return false;
}
static bool queue_label(uint64_t key, char *room, uintptr_t size) {
  return find_name(queues, queue_count, key >> 8, room, size);
}
static bool executor_label(uint64_t key, char *room, uintptr_t size) {
  return find_name(executors, executor_count, key, room, size);
}
static bool find_site(uint16_t number, const char **file, const char **function,
                      uint32_t *line) {
  for (uint64_t place = 0; place < site_count; place++) {
    if (sites[place].number != number)
      continue;
    *file = sites[place].file;
    *function = sites[place].function;
    *line = (uint32_t)sites[place].line;
    return true;
  }
  return false;
}

// What takes this many bytes of the input.
static void *take(uint64_t bytes) {
  void *taken = next;
  next += bytes / sizeof *next;
  return taken;
}
static uint64_t take_word(void) { return *next++; }

int main(int argc, char **argv) {
  if (fread(words, sizeof *words, MOST, stdin) == MOST)
    return 255;
  struct inturn_system_trace trace = {.queue_label = queue_label,
                                      .executor_label = executor_label,
                                      .site = find_site};
  trace.first_ticks = take_word();
  trace.last_ticks = take_word();
  trace.first_ns = (int64_t)take_word();
  trace.last_ns = (int64_t)take_word();
  trace.since = take_word();
  trace.complete = take_word();
  trace.lost = take_word();
  queue_count = take_word();
  queues = take(queue_count * sizeof *queues);
  executor_count = take_word();
  executors = take(executor_count * sizeof *executors);
  site_count = take_word();
  sites = take(site_count * sizeof *sites);
  trace.block_count = take_word();
  struct inturn_system_trace_block blocks[trace.block_count + 1];
  for (uint64_t place = 0; place < trace.block_count; place++) {
    struct inturn_system_trace_block *block = &blocks[place];
    block->sequence = take_word();
    block->thread = take_word();
    memcpy(block->name, take(sizeof block->name), sizeof block->name);
    block->count = take_word();
    block->records = take(block->count * sizeof *block->records);
  }
  trace.blocks = blocks;
  if (argc > 1)
    until_failure = atol(argv[1]);
  return inturn_system_trace_write(STDOUT_FILENO, &trace);
}
