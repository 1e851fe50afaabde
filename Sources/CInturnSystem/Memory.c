// Memory for when the system has none left.
//
// Swift cannot report a failed allocation: an object or array that finds no
// memory ends the process. So in the C library, Swift's memory comes from here.
// When the system refuses, it comes from a store that is part of the library.
// Before they change anything, calls that can be refused check that the store
// has enough left for them and for those that cannot be refused. Memory that
// grows with what a program does comes from `malloc`, whose failure is
// reported.
//
// Nothing here takes a lock, so a fork cannot leave one locked.
#define _GNU_SOURCE
#include "CInturnSystem.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  CACHE_LINE = 64, // bytes, of most processors
  BLOCK = 128,
  WORDS = 32, // of 64 blocks each
  BLOCKS = WORDS * 64,
  // How many blocks may be in use while refusable calls go on without asking
  // the system.
  SPARE = BLOCKS / 8,
  // How much memory the system must have for a call to go on beyond that.
  PROBE = 1 << 16,
};

// The length of a piece is stored for its first block.
static _Alignas(BLOCK) unsigned char store[BLOCKS][BLOCK];
static uint8_t lengths[BLOCKS];
// One bit for each block in use. Set with acquiring, cleared with releasing
// order, so that a piece's next user writes after its last one.
static uint64_t used[WORDS];
// How many blocks are in use; only to be compared.
uint32_t inturn_system_store_used;

static uint64_t bits(unsigned count) {
  return count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

// Takes `count` adjacent blocks of a word; returns their place in it, or -1.
static int take(uint64_t *word, unsigned count) {
  uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (unsigned place = 0; place + count <= 64; place++) {
    uint64_t wanted = bits(count) << place;
    while ((now & wanted) == 0)
      if (__atomic_compare_exchange_n(word, &now, now | wanted, true,
                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return (int)place;
  }
  return -1;
}

static void *take_from_store(size_t alignment, size_t size) {
  size_t count = size == 0 ? 1 : (size + BLOCK - 1) / BLOCK;
  if (alignment > BLOCK || count > 64)
    return NULL;
  for (unsigned word = 0; word < WORDS; word++) {
    int place = take(&used[word], (unsigned)count);
    if (place < 0)
      continue;
    unsigned first = word * 64 + (unsigned)place;
    lengths[first] = (uint8_t)count;
    __atomic_add_fetch(&inturn_system_store_used, (uint32_t)count,
                       __ATOMIC_RELAXED);
    return store[first];
  }
  return NULL;
}

void *inturn_system_allocate_lines(uintptr_t size) {
  void *memory;
  return posix_memalign(&memory, CACHE_LINE, size) == 0 ? memory : NULL;
}

void *inturn_system_find(uintptr_t alignment, uintptr_t size) {
  void *memory;
  // `malloc` is cheaper, if its alignment is enough.
  if (alignment <= _Alignof(max_align_t))
    memory = malloc(size);
  else if (posix_memalign(&memory, alignment, size) != 0)
    memory = NULL;
  return memory == NULL ? take_from_store(alignment, size) : memory;
}

void inturn_system_end_without_memory(void) {
  static const char line[] =
      "inturn: no memory is left, not even the library's own\n";
  inturn_system_write(STDERR_FILENO, line, sizeof line - 1);
  __builtin_trap();
}

int inturn_system_allocate(void **memory, uintptr_t alignment, uintptr_t size) {
  *memory = inturn_system_find(alignment, size);
  // Swift would end the process without a word.
  if (*memory == NULL)
    inturn_system_end_without_memory();
  return 0;
}

void inturn_system_free(void *memory) {
  uintptr_t offset = (uintptr_t)memory - (uintptr_t)store;
  if (offset >= sizeof store) {
    free(memory);
    return;
  }
  unsigned first = (unsigned)(offset / BLOCK), count = lengths[first];
  __atomic_sub_fetch(&inturn_system_store_used, count, __ATOMIC_RELAXED);
  __atomic_and_fetch(&used[first / 64], ~(bits(count) << first % 64),
                     __ATOMIC_RELEASE);
}

bool inturn_system_finds_memory(void) {
  if (__atomic_load_n(&inturn_system_store_used, __ATOMIC_RELAXED) <= SPARE)
    return true;
  // Volatile: a compiler may take memory that is freed at once for granted.
  void *volatile probe = malloc(PROBE);
  free(probe);
  return probe != NULL;
}
