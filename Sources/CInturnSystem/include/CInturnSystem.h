// What the engine needs from the operating system and Swift cannot express:
// waiting on an address, a pollable wake-up, a thread-local pointer.
#ifndef CINTURN_SYSTEM_H
#define CINTURN_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "Layout.h"
#include "Trace.h"

/// Tells the processor that the caller is spinning.
static inline void inturn_system_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ __volatile__("yield");
#endif
}

/// Makes the processor fetch an address's cache line for writing, without
/// waiting for it. Does nothing if the address is invalid.
static inline void inturn_system_prefetch(const void *_Nullable address) {
  __builtin_prefetch(address, 1);
}

static inline int inturn_system_compare_keys(const void *_Nonnull one,
                                             const void *_Nonnull other) {
  uint64_t key = *(const uint64_t *)one, other_key = *(const uint64_t *)other;
  return (key > other_key) - (key < other_key);
}

/// Sorts pairs of a key and another word, the smallest key first.
static inline void inturn_system_sort(void *_Nonnull pairs, uintptr_t count) {
  qsort(pairs, count, 2 * sizeof(uint64_t), inturn_system_compare_keys);
}

/// Sleeps while `*word` is `expected`, at most `timeout_ns` (negative: no
/// limit). May return early; the caller checks its condition again.
void inturn_system_wait(const uint32_t *_Nonnull word, uint32_t expected,
                        int64_t timeout_ns);

/// Wakes one of, or all, threads that sleep in `inturn_system_wait(word, ...)`.
void inturn_system_wake_one(const uint32_t *_Nonnull word);
void inturn_system_wake_all(const uint32_t *_Nonnull word);

/// Nanoseconds of the monotonic clock.
int64_t inturn_system_now(void);

/// Spins for about this long.
void inturn_system_spin(int64_t nanoseconds);

/// An id of the calling thread, for `inturn_system_thread_time`.
int64_t inturn_system_thread_clock(void);

/// The processor time, in nanoseconds, that the thread with this id has used;
/// -1 when it is not known, as after the thread has ended.
int64_t inturn_system_thread_time(int64_t thread_clock);

/// A file descriptor that becomes readable by `signal` and unreadable by
/// `clear`. `open` returns the end to poll, or -1; `*write_end` is what
/// `signal` and `close` need too.
int inturn_system_event_open(int *_Nonnull write_end);
void inturn_system_event_signal(int write_end);
void inturn_system_event_clear(int read_end);
void inturn_system_event_close(int read_end, int write_end);

/// Whether the caller is the process's first thread.
bool inturn_system_is_main_thread(void);

/// An id of the calling thread, never 0. A new thread may get that of a thread
/// that has ended.
uintptr_t inturn_system_thread(void);

/// Announces that most of an untouched piece of memory will be used: the system
/// may map it in large pages.
void inturn_system_expect_use(void *_Nonnull memory, uintptr_t size);

/// How many processors this process may use; at least 1.
int inturn_system_processors(void);

/// Starts a detached thread that takes no signals but those that it raises
/// itself. False when that fails.
bool inturn_system_start_thread(const char *_Nonnull name,
                                void (*_Nonnull body)(void *_Nullable),
                                void *_Nullable context);

/// The innermost call of the library on this thread; see `CallFrame`.
extern _Thread_local void *_Nullable inturn_system_innermost_frame
    __attribute__((visibility("hidden")));
static inline void *_Nullable inturn_system_frame(void) {
  return inturn_system_innermost_frame;
}
static inline void inturn_system_set_frame(void *_Nullable frame) {
  inturn_system_innermost_frame = frame;
}

/// From which line the calling thread's next wait is made; see `Site.ofWait`.
extern _Thread_local uint32_t inturn_system_wait_site
    __attribute__((visibility("hidden")));
static inline uint32_t inturn_system_site_of_wait(void) {
  return inturn_system_wait_site;
}
static inline void inturn_system_set_site_of_wait(uint32_t site) {
  inturn_system_wait_site = site;
}

/// The calling thread's block of the recorder; see `Recorder`. As the thread
/// ends, it gives the block up.
extern _Thread_local void *_Nullable inturn_system_recording_block
    __attribute__((visibility("hidden")));
static inline void *_Nullable inturn_system_own_block(void) {
  return inturn_system_recording_block;
}
void inturn_system_set_own_block(void *_Nullable block);

/// The calling thread's number; its name goes to a room of 16 bytes.
uint64_t inturn_system_describe_thread(char *_Nonnull name);

/// The calling thread's number, which is remembered.
uint64_t inturn_system_thread_number(void);

/// The name of the thread with this number, in a room of 16 bytes, with
/// question marks for characters that are not plain; empty if it is not known.
void inturn_system_find_thread_name(uint64_t number, char *_Nonnull name);

/// A clock that is faster to read than `inturn_system_now`, and counts in steps
/// of its own. To be prepared once.
void inturn_system_prepare_ticks(void);
extern bool inturn_system_has_steady_ticks
    __attribute__((visibility("hidden")));
__attribute__((always_inline)) static inline uint64_t
inturn_system_ticks(void) {
#if defined(__aarch64__)
  uint64_t ticks;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#elif defined(__x86_64__)
  if (__atomic_load_n(&inturn_system_has_steady_ticks, __ATOMIC_RELAXED))
    return __builtin_ia32_rdtsc();
#endif
  return (uint64_t)inturn_system_now();
}

/// Gives a block of the recorder up; see `Recorder` for its words.
static inline void inturn_system_give_up_block(uint64_t *_Nonnull block) {
  __atomic_store_n(&block[5], inturn_system_ticks(), __ATOMIC_RELAXED);
  // The last bit says that a thread has it. Releasing: after its records.
  __atomic_fetch_and(&block[0], ~UINT64_C(1), __ATOMIC_RELEASE);
}

/// What a fork changes. Initialised before any code runs, so that no fork can
/// come in between. The words are accessed atomically.
struct inturn_system_process {
  char mark[16];       // how it is found from outside, and by which number is
  uint32_t number;     // told what is there: see Layout.h
  uint32_t state;      // see `ProcessState`
  uintptr_t engine;    // of this process; see `Engine`
  uintptr_t inherited; // of the nearest ancestor that had one
  uintptr_t sites;     // see `SiteTable`
  uintptr_t recording; // see `Recorder`; in the cache line of `engine`
  uintptr_t recorder;
};
extern struct inturn_system_process inturn_system_this_process
    __attribute__((visibility("hidden")));

#define INTURN_SYSTEM_EPOCHS UINT32_C(0xf)
#define INTURN_SYSTEM_EXITING UINT32_C(0x80000000)

static inline uint32_t *_Nonnull inturn_system_state(void) {
  return &inturn_system_this_process.state;
}
static inline uintptr_t *_Nonnull inturn_system_engine(void) {
  return &inturn_system_this_process.engine;
}
static inline uintptr_t *_Nonnull inturn_system_inherited_engine(void) {
  return &inturn_system_this_process.inherited;
}
static inline uintptr_t *_Nonnull inturn_system_sites(void) {
  return &inturn_system_this_process.sites;
}
static inline uintptr_t *_Nonnull inturn_system_recording(void) {
  return &inturn_system_this_process.recording;
}
static inline uintptr_t *_Nonnull inturn_system_recorder(void) {
  return &inturn_system_this_process.recorder;
}

/// Memory from the system, or else from the library's own; null if both have
/// none. For `inturn_system_free`.
void *_Nullable inturn_system_find(uintptr_t alignment, uintptr_t size);
/// Ends the process, with a message.
_Noreturn void inturn_system_end_without_memory(void);
/// Allocate and free Swift's own memory in the C library, instead of
/// `posix_memalign` and `free`: see Memory.c. When there is none, the process
/// ends.
int inturn_system_allocate(void *_Nullable *_Nonnull memory,
                           uintptr_t alignment, uintptr_t size);
void inturn_system_free(void *_Nullable memory);

/// Memory that begins a cache line, for `free`; null if there is none.
void *_Nullable inturn_system_allocate_lines(uintptr_t size);

/// How much of the store for lack of memory is in use.
extern uint32_t inturn_system_store_used __attribute__((visibility("hidden")));
bool inturn_system_finds_memory(void);

/// Whether a call that can be refused may go on: Swift will find the memory
/// that it needs in it.
static inline bool inturn_system_has_memory(void) {
  return __atomic_load_n(&inturn_system_store_used, __ATOMIC_RELAXED) == 0 ||
         inturn_system_finds_memory();
}

/// Does nothing. To the compiler, it is a call that might release any object,
/// so whatever was read before is retained before it.
void inturn_system_object_barrier(void);

/// Calls `body` with room on the stack, and the size of the room.
static inline void inturn_system_with_room(
    void (*_Nonnull body)(void *_Nonnull context, void *_Nonnull room,
                          uintptr_t size),
    void *_Nonnull context) {
  _Alignas(16) char room[32 * 1024];
  body(context, room, sizeof room);
}

/// Whether somebody looks at what the process does: its standard error is a
/// terminal, its arguments name Python's tests, or a debugger follows the
/// calling thread. To be asked again and again, by one thread.
bool inturn_system_is_watched(void);

/// Whether the process is a test, as far as its name or its environment tell.
bool inturn_system_is_test(void);

/// Writes all bytes, and waits for room where a descriptor does not. False when
/// that fails.
bool inturn_system_write(int descriptor, const char *_Nonnull bytes,
                         uintptr_t count);

/// How many bytes the character takes that begins here; 0 if it is not UTF-8,
/// as at the end of a label that was cut.
int inturn_system_character(const char *_Nonnull text);

/// Whether a control character begins here, which a terminal may obey.
bool inturn_system_is_control(const char *_Nonnull text);

/// Calls `take` with each number from `first` to `last` that begins in the
/// first `count` of `size` bytes, at any address, also with one in the form
/// that Python has for numbers. The bytes are aligned to 16.
typedef void (*inturn_system_copy_fn)(void *_Nonnull context, uint64_t number,
                                      uintptr_t at, bool is_of_python);
void inturn_system_find_copies(const unsigned char *_Nonnull bytes,
                               uintptr_t size, uintptr_t count, uint64_t first,
                               uint64_t last,
                               inturn_system_copy_fn _Nonnull take,
                               void *_Nonnull context);

/// Mapped memory.
struct inturn_system_region {
  uint64_t begin, end;
  char name[64];      // such as "the heap"
  bool is_main_stack; // of the thread that the process began with
  bool is_guarded;    // memory that nobody may use lies before it
};

/// Takes the next region from a line of a process's maps. The one before is in
/// `region`; the first is to have the name "memory". False if it cannot be
/// written to.
bool inturn_system_take_region(const char *_Nonnull line,
                               struct inturn_system_region *_Nonnull region);

/// Reads the environment (INTURN_SEARCH). Called as the engine is made: later,
/// the program may be changing its environment.
void inturn_system_prepare_search(void);

/// Has a token looked for in the process's memory: only who has a copy of it
/// can finish its operation. It is given with its bits inverted, which is no
/// copy. These functions are for the watchdog alone.
void inturn_system_seek_none(void);
void inturn_system_seek(uint64_t inverted);

/// Searches all memory that the process can write to, but not registers. Copies
/// that calls have left behind when they returned do not count, where that is
/// known: on the stacks of the main thread and of threads that sleep at a
/// parker. It takes a second for a gigabyte at most, and gives up after two.
void inturn_system_search(bool (*_Nonnull is_parker)(uintptr_t));

/// Where a copy of the token was then, such as "in the heap, at 0x10"; empty:
/// none is there; NULL: that is not known.
const char *_Nullable inturn_system_found(uint64_t inverted);

/// The parts of the HTML page before and after a dump in JSON.
const char *_Nonnull inturn_system_page_before(void);
const char *_Nonnull inturn_system_page_after(void);

/// Begins to answer questions from outside, if the environment says so; called
/// once in each process. `dump` writes a dump in the format with this number.
/// `why` writes what keeps the operation with this id, or returns what is wrong
/// with the id.
typedef bool (*inturn_system_dump_fn)(int descriptor, int format);
typedef const char *_Nullable (*inturn_system_why_fn)(int descriptor,
                                                      uint64_t operation);
void inturn_system_answers_begin(bool was_forked,
                                 inturn_system_dump_fn _Nonnull dump,
                                 inturn_system_why_fn _Nonnull why);
/// Whether the environment asks for a trace (INTURN_TRACE); called once in each
/// process.
bool inturn_system_is_trace_asked(bool was_forked);
/// Writes the trace that is asked for by `dump`, with 0 for the format. False
/// if none is.
bool inturn_system_write_asked_trace(void);
/// When the process exits: does that, and removes the socket's file.
void inturn_system_answers_end(void);

/// Writes all bytes to the standard error, and raises no signal where that
/// fails.
void inturn_system_write_error(const char *_Nonnull bytes, uintptr_t count);

#endif
