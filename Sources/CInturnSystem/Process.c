// The process as a whole: forks, the threads that the library has started, and
// a main thread that exits before them.
#define _GNU_SOURCE
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "CInturnSystem.h"
#include "Internal.h"

_Alignas(16) struct inturn_system_process inturn_system_this_process = {
    .mark = INTURN_LAYOUT_MARK, .number = INTURN_LAYOUT_NUMBER, .state = 1};

_Thread_local void *inturn_system_innermost_frame;
_Thread_local uint32_t inturn_system_wait_site;
_Thread_local void *inturn_system_recording_block;
static _Thread_local uint64_t thread_number; // 0: not known yet

bool inturn_system_has_steady_ticks; // relaxed: it is set before it is used

/// Whether the library has started a thread. Relaxed: it orders nothing.
static bool has_threads;

/// Set on the main thread, for its destructor.
static pthread_key_t main_thread;
static bool has_key;

/// Set on each thread that records. Where there is no key, a thread that ends
/// keeps its block, and the others have one less.
static pthread_key_t recording_thread;
static bool has_recording_key;

static void in_child(void) {
  struct inturn_system_process *process = &inturn_system_this_process;
  uint32_t epochs = INTURN_SYSTEM_EPOCHS;
  uint32_t state = process->state & ~INTURN_SYSTEM_EXITING;
  // The epochs are 1 to 15, so 0 is skipped when they start over.
  state += (state & epochs) == epochs ? 2 : 1;
  process->state = state & ~INTURN_SYSTEM_EXITING;
  if (process->engine)
    process->inherited = process->engine;
  process->engine = 0;
  process->recording = process->recorder = 0;
  inturn_system_recording_block = NULL;
  has_threads = false;
  inturn_system_set_frame(NULL);
  thread_number = 0;
  inturn_system_answers_forked();
  if (has_key)
    pthread_setspecific(main_thread, process);
}

static void *take_signals(void *unused) {
  (void)unused;
  inturn_system_name_thread("inturn-signals");
  for (;;)
    pause();
}

/// The main thread takes the signals of the process, and the library's threads
/// block them: without the main thread, SIGTERM would end nothing. So a thread
/// with its mask replaces it or, if none can be started, it stays. The process
/// lives on, because the clock's thread does not end.
static void main_thread_leaves(void *unused) {
  (void)unused;
  if (!__atomic_load_n(&has_threads, __ATOMIC_RELAXED))
    return;
  pthread_t thread;
  if (pthread_create(&thread, NULL, take_signals, NULL) == 0)
    pthread_detach(thread);
  else
    take_signals(NULL);
}

/// A destructor that comes later may record once more: then this one is called
/// again.
static void recording_thread_leaves(void *block) {
  // In a forked child, the block is the parent's.
  if (inturn_system_recording_block == block)
    inturn_system_give_up_block(block);
  inturn_system_recording_block = NULL;
}

void inturn_system_set_own_block(void *block) {
  inturn_system_recording_block = block;
  if (has_recording_key)
    pthread_setspecific(recording_thread, block);
}

uint64_t inturn_system_thread_number(void) {
  char name[16];
  if (thread_number == 0)
    thread_number = inturn_system_describe_thread(name);
  return thread_number;
}

void inturn_system_prepare_ticks(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  // The counter goes at one speed and never stands still.
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8))
    __atomic_store_n(&inturn_system_has_steady_ticks, true, __ATOMIC_RELAXED);
#endif
}

/// Runs when the library is loaded, so that no fork comes before it.
__attribute__((constructor)) static void begin(void) {
  inturn_system_stay_loaded();
  pthread_atfork(NULL, NULL, in_child);
  has_key = pthread_key_create(&main_thread, main_thread_leaves) == 0;
  if (has_key && inturn_system_is_main_thread())
    pthread_setspecific(main_thread, &inturn_system_this_process);
  has_recording_key =
      pthread_key_create(&recording_thread, recording_thread_leaves) == 0;
  inturn_system_answers_load();
}

struct thread_start {
  char name[16]; // the system's limit
  void (*body)(void *);
  void *context;
};

static void *thread_main(void *argument) {
  struct thread_start start = *(struct thread_start *)argument;
  inturn_system_free(argument);
  inturn_system_name_thread(start.name);
  start.body(start.context);
  return NULL;
}

/// All signals except those that a thread raises itself, which crash reporters
/// and writers to pipes need, and the one that profilers use.
static void fill_with_signals_of_others(sigset_t *set) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGTRAP,
                            SIGABRT, SIGSYS, SIGPIPE, SIGXFSZ, SIGPROF};
  sigfillset(set);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    sigdelset(set, own[i]);
}

bool inturn_system_start_thread(const char *name, void (*body)(void *),
                                void *context) {
  struct thread_start *start =
      inturn_system_find(sizeof(void *), sizeof(struct thread_start));
  if (start == NULL)
    return false;
  *start = (struct thread_start){.body = body, .context = context};
  strncpy(start->name, name, sizeof start->name - 1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // A new thread inherits the mask, so the host's handlers stay on its own
  // threads.
  sigset_t blocked, previous;
  fill_with_signals_of_others(&blocked);
  pthread_sigmask(SIG_SETMASK, &blocked, &previous);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, thread_main, start) == 0;
  pthread_sigmask(SIG_SETMASK, &previous, NULL);
  pthread_attr_destroy(&attributes);
  if (started)
    __atomic_store_n(&has_threads, true, __ATOMIC_RELAXED);
  else
    inturn_system_free(start);
  return started;
}
