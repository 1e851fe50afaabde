// Parts of the system without points of the scheduler: what a process has,
// descriptors, memory.
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../scheduler/scheduler.h"
#include "CInturnSystem.h"

_Thread_local void *inturn_system_innermost_frame;
_Thread_local uint32_t inturn_system_wait_site;
struct inturn_system_process inturn_system_this_process = {.state = 1};

bool inturn_system_is_watched(void) { return true; }
bool inturn_system_is_test(void) { return false; }
uint64_t inturn_system_thread_number(void) { return 0; }
void inturn_system_find_thread_name(uint64_t number, char *name) {
  (void)number;
  name[0] = '\0';
}
int inturn_system_processors(void) { return 2; }
// Nobody computes here.
int64_t inturn_system_thread_clock(void) { return 0; }
int64_t inturn_system_thread_time(int64_t clock) { return (void)clock, -1; }
void inturn_system_object_barrier(void) {}

// A descriptor that belongs to no file: nothing polls it here.
int inturn_system_event_open(int *write_end) { return *write_end = 1000; }
void inturn_system_event_signal(int descriptor) { (void)descriptor; }
void inturn_system_event_clear(int descriptor) { (void)descriptor; }
void inturn_system_event_close(int descriptor, int write_end) {
  (void)descriptor;
  (void)write_end;
}

// No memory is searched.
void inturn_system_prepare_search(void) {}
void inturn_system_seek_none(void) {}
void inturn_system_seek(uint64_t inverted) { (void)inverted; }
void inturn_system_search(bool (*is_parker)(uintptr_t)) { (void)is_parker; }
const char *inturn_system_found(uint64_t inverted) {
  (void)inverted;
  return NULL;
}

// Nothing asks from outside.
void inturn_system_answers_begin(bool was_forked, inturn_system_dump_fn dump,
                                 inturn_system_why_fn why) {
  (void)was_forked, (void)dump, (void)why;
}
void inturn_system_answers_end(void) {}
bool inturn_system_write_asked_trace(void) { return false; }
bool inturn_system_is_trace_asked(bool was_forked) {
  (void)was_forked;
  return false;
}

// The recorder's. The real ticks go on from one schedule to the next, and
// nothing is decided by them.
_Thread_local void *inturn_system_recording_block;
bool inturn_system_has_steady_ticks = true;
void inturn_system_prepare_ticks(void) {}
void inturn_system_set_own_block(void *block) {
  inturn_system_recording_block = block;
}
uint64_t inturn_system_describe_thread(char *name) {
  name[0] = '\0';
  return (uint64_t)inturn_system_thread_clock();
}

// Memory does not run out here, and has no pages.
void inturn_system_expect_use(void *memory, uintptr_t size) {
  (void)memory, (void)size;
}
uint32_t inturn_system_store_used;
bool inturn_system_finds_memory(void) { return true; }
void inturn_system_end_without_memory(void) { __builtin_trap(); }

// Allocations, including the run time's, are counted, so that a block lost in
// each schedule is noticed. An allocation does not order threads, so it is no
// point of the scheduler. The linker redirects the calls to here (--wrap);
// where a sanitizer replaces the allocator, it finds the leaks, too.

#ifdef SANITIZED

int64_t model_blocks(void) { return 0; }

#else

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *memory);

// Needs no lock, as one thread runs at a time.
static int64_t blocks;

int64_t model_blocks(void) { return blocks; }

static void *counted(void *memory) {
  blocks += memory != NULL;
  return memory;
}

void *__wrap_malloc(size_t size) { return counted(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size) {
  return counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
  void *moved = __real_realloc(memory, size);
  return memory == NULL ? counted(moved) : moved;
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
  int status = __real_posix_memalign(memory, alignment, size);
  blocks += status == 0;
  return status;
}

char *__wrap_strdup(const char *text) { return counted(__real_strdup(text)); }

void __wrap_free(void *memory) {
  blocks -= memory != NULL;
  __real_free(memory);
}

#endif

void *inturn_system_allocate_lines(uintptr_t size) {
  void *memory;
  return posix_memalign(&memory, 64, size) == 0 ? memory : NULL;
}
