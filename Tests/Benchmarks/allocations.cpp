/* Heap allocations per operation once everything is warm, counted: this
   program's malloc and mmap replace the system's in every library it loads,
   count their calls on all threads, and pass them on.

   Counted: a run of operations, with at most `window` of them not yet run,
   after a run of the same shape. A window as large as the run is a burst: the
   queue is suspended until all of them are there.

   Arguments: operations, window. */
#include "bench.hpp"
#include PEER_HEADER

#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using peers::PEER::Queue;

static std::atomic<std::uint64_t> heap_calls, mmap_calls;

static void tally(std::atomic<std::uint64_t> &calls) {
  calls.fetch_add(1, std::memory_order_relaxed);
}

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);

void *malloc(std::size_t size) noexcept {
  tally(heap_calls);
  return __libc_malloc(size);
}
void *calloc(std::size_t count, std::size_t size) noexcept {
  tally(heap_calls);
  return __libc_calloc(count, size);
}
void *realloc(void *block, std::size_t size) noexcept {
  tally(heap_calls);
  return __libc_realloc(block, size);
}
void *memalign(std::size_t alignment, std::size_t size) noexcept {
  tally(heap_calls);
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}
int posix_memalign(void **out, std::size_t alignment,
                   std::size_t size) noexcept {
  void *block = memalign(alignment, size);
  if (block)
    *out = block;
  return block ? 0 : ENOMEM;
}
void *mmap64(void *address, std::size_t length, int protection, int flags,
             int file, off_t offset) noexcept {
  tally(mmap_calls);
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, length, protection, flags, file, offset));
}
void *mmap(void *address, std::size_t length, int protection, int flags,
           int file, off_t offset) noexcept {
  return mmap64(address, length, protection, flags, file, offset);
}
} // extern "C"

static std::atomic<std::uint64_t> ran;

static void count(void *) {
  ran.store(ran.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

static void run(Queue &queue, std::size_t operations, std::size_t window) {
  bool is_burst = window >= operations;
  ran = 0;
  if (is_burst)
    queue.suspend();
  for (std::size_t i = 0; i < operations; i++) {
    while (i - ran.load(std::memory_order_acquire) >= window)
      std::this_thread::yield();
    queue.enqueue<count>(nullptr);
  }
  if (is_burst)
    queue.resume();
  queue.drain();
  bench::require(ran == operations, "each operation ran once");
}

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  auto operations = arguments[0], window = arguments[1];
  Queue queue({.operations = window});
  auto start = heap_calls.load();
  ::operator delete(::operator new(1));
  bench::require(heap_calls > start, "allocations are counted");

  run(queue, operations, window);
  auto heap_before = heap_calls.load(), mmap_before = mmap_calls.load();
  run(queue, operations, window);
  double heap = heap_calls - heap_before, mapped = mmap_calls - mmap_before;
  arguments.print("allocations_per_operation", (heap + mapped) / operations);
  arguments.print("heap_allocations", heap);
  arguments.print("mmap_calls", mapped);
}
