/*
 * tokens.c - one process for each place that a token may be kept in, or lost.
 *
 * SPDX-License-Identifier: MIT
 *
 *     tokens SORT [N] such as "heap"; "sorts" lists them. N: one of many of
 *                     the sorts "heap", "stack" and "kept for a moment"
 *     tokens plain    an operation without options, whose token is lost
 *
 * It prints "ready" when the work's call has returned, and runs for ever.
 */
#define _GNU_SOURCE
#include "inturn.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static void check(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "this does not hold: %s\n", what);
  exit(1);
}

/* Overwrites a token that was kept for a moment; the compiler must not leave
   that out. */
static void forget(void *token) { explicit_bzero(token, sizeof(inturn_token)); }

/* Others might read all of these, so that nothing of it is left out. */
struct data {
  char before[40];
  inturn_token token;
} of_program = {{"initialised data"}, {0}};
inturn_token zeroed[1000];
_Thread_local inturn_token of_thread;
uint64_t encoded;
void *somewhere;
static int pipe_ends[2];
static unsigned variant;

static void keep_in_data(inturn_token token) { of_program.token = token; }

static void keep_in_zeroed_data(inturn_token token) { zeroed[777] = token; }

/* A block of one of many sizes, which is filled with something. */
static size_t size_of_block(void) { return (size_t)64 << variant % 11; }

static char *new_block(void) {
  size_t size = size_of_block();
  char *memory = variant % 4 == 0   ? malloc(size)
                 : variant % 4 == 1 ? calloc(1, size)
                 : variant % 4 == 2 ? realloc(malloc(24), size)
                                    : aligned_alloc(64, size);
  check(memory != NULL, "there is memory");
  memset(memory, (int)variant, size);
  return memory;
}

/* Somewhere in it, also at odd addresses. */
static char *place_in(char *memory, size_t size) {
  return memory + 37 * variant % (size - sizeof(inturn_token));
}

static void keep_in_heap(inturn_token token) {
  char *memory = new_block();
  memcpy(place_in(memory, size_of_block()), &token, sizeof token);
  somewhere = memory;
}

static void keep_in_large_block(inturn_token token) {
  inturn_token *memory = malloc(1 << 26);
  memory[5000000] = token;
  somewhere = memory;
}

static void keep_across_steps(inturn_token token) {
  char *memory = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  /* Wherever the mapping begins, one of these is where two reads meet. */
  memcpy(memory + (1 << 20) - 4, &token, sizeof token);
  somewhere = memory;
}

static void keep_in_shared_memory(inturn_token token) {
  inturn_token *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  memory[3] = token;
}

static void keep_behind_a_hole(inturn_token token) {
  char *memory = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + 4096, 4096, PROT_NONE);
  memcpy(memory + 2 * 4096, &token, sizeof token);
}

/* Where a packed struct may have it. */
static void keep_unaligned(inturn_token token) {
  char *memory = malloc(64);
  memcpy(memory + 13, &token, sizeof token);
  somewhere = memory;
}

/* In the lower half of a block whose upper half is going to be a stack. */
enum { BLOCK = 1 << 20 };
static void keep_below_a_stack(inturn_token token) {
  char *memory = malloc(BLOCK);
  memcpy(memory + 4096, &token, sizeof token);
  somewhere = memory;
}

static void keep_as_number_of_python(inturn_token token) {
  uint32_t *digits = malloc(3 * sizeof *digits);
  digits[0] = token.bits & 0x3fffffff;
  digits[1] = token.bits >> 30 & 0x3fffffff;
  digits[2] = (uint32_t)(token.bits >> 60);
  somewhere = digits;
}

/* Threads that keep the token, and wait. */
static pthread_barrier_t has_taken;

static volatile int is_over; /* never */

static void wait_below(void *context, unsigned calls) {
  char room[400];
  if (calls > 0) {
    wait_below(context, calls - 1);
    return;
  }
  memcpy(place_in(room, sizeof room), context, sizeof(inturn_token));
  somewhere = room;
  pthread_barrier_wait(&has_taken);
  while (!is_over)
    pause();
}

static void *wait_with_local(void *context) {
  wait_below(context, variant);
  return NULL;
}

static void *wait_with_thread_local(void *context) {
  of_thread = *(inturn_token *)context;
  pthread_setname_np(pthread_self(), "");
  pthread_barrier_wait(&has_taken);
  for (;;)
    pause();
  return NULL;
}

static volatile int has_register;

/* The token is in a register that calls preserve, and nowhere else. */
static void *wait_with_register(void *context) {
#if defined(__x86_64__)
  __asm__ volatile("movq (%0), %%r12\n\t"
                   "movq $0, (%0)\n\t"
                   "movl $1, (%1)\n\t"
                   "1: movl $34, %%eax\n\t" /* pause */
                   "syscall\n\t"
                   "jmp 1b" ::"r"(context),
                   "r"(&has_register)
                   : "rcx", "r11", "rax", "r12", "memory");
#elif defined(__aarch64__)
  __asm__ volatile("ldr x19, [%0]\n\t"
                   "str xzr, [%0]\n\t"
                   "mov w9, #1\n\t"
                   "str w9, [%1]\n\t"
                   "1: mov x0, xzr\n\t"
                   "mov x1, xzr\n\t"
                   "mov x2, xzr\n\t"
                   "mov x3, xzr\n\t"
                   "mov x8, #73\n\t" /* ppoll */
                   "svc #0\n\t"
                   "b 1b" ::"r"(context),
                   "r"(&has_register)
                   : "x0", "x1", "x2", "x3", "x8", "x9", "x19", "memory");
#endif
  return NULL;
}

/* The main thread starts these, so that nothing of theirs is on a stack of the
   library's. The context is where the token is until the thread has it. */
static void *(*body)(void *);
static inturn_token context;

static void keep_in_thread(inturn_token token) { context = token; }

static void start_thread(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)(128 << 10) << variant % 6);
  check(pthread_create(&thread, &attributes, body, &context) == 0,
        "a thread starts");
  if (body == wait_with_register)
    while (!has_register)
      sched_yield(); /* it can say nothing more */
  else
    pthread_barrier_wait(&has_taken);
  forget(&context);
}

/* Lost */

static void drop(inturn_token token) { (void)token; }

static void overwrite(inturn_token token) {
  of_program.token = token;
  forget(&of_program.token);
}

static void free_and_overwrite(inturn_token token) {
  inturn_token *memory = malloc(1 << 20); /* given back to the system */
  memory[1000] = token;
  free(memory);
}

/* In each of four ways. */
static void keep_for_a_moment(inturn_token token) {
  size_t size = 4096u << variant % 6;
  char *memory;
  switch (variant / 5) {
  case 0: /* given back, with nothing in it */
    keep_in_heap(token);
    memory = somewhere;
    explicit_bzero(memory, size_of_block());
    free(memory);
    break;
  case 1: /* overwritten by the next one */
    keep_in_heap(token);
    memory = somewhere;
    forget(place_in(memory, size_of_block()));
    break;
  case 2: /* not mapped any more */
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place_in(memory, size), &token, sizeof token);
    munmap(memory, size);
    break;
  default: /* given to the system, but still mapped */
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place_in(memory, size), &token, sizeof token);
    madvise(memory, size, MADV_DONTNEED);
  }
}

__attribute__((noinline)) static void leave_deep(inturn_token token, int deep) {
  volatile inturn_token local[16];
  local[3].bits = token.bits;
  if (deep > 0)
    leave_deep(token, deep - 1);
  local[4].bits = local[3].bits;
}

static void leave_on_dead_stack(inturn_token token) { leave_deep(token, 20); }

/* In another form, and outside of the memory: this is not found. */

static void encode(inturn_token token) {
  encoded = token.bits ^ UINT64_C(0x5555555555555555);
}

static void send_to_pipe(inturn_token token) {
  check(write(pipe_ends[1], &token, sizeof token) == sizeof token, "it writes");
}

static void write_to_file(inturn_token token) {
  char path[] = "tokenXXXXXX";
  int file = mkstemp(path);
  check(write(file, &token, sizeof token) == sizeof token, "it writes");
}

/* What the main thread does in the end. */

static void be_ready(void) {
  puts("ready");
  fflush(stdout);
}

static void stay(void) {
  be_ready();
  for (;;)
    pause();
}

static void stay_on_other_stack(void) {
  ucontext_t other;
  getcontext(&other);
  other.uc_stack.ss_sp = (char *)somewhere + BLOCK / 2;
  other.uc_stack.ss_size = BLOCK / 2;
  makecontext(&other, stay, 0);
  setcontext(&other);
}

static void end_thread(void) {
  be_ready();
  pthread_exit(NULL);
}

static void end_thread_when_told(void) {
  be_ready();
  char byte;
  check(read(STDIN_FILENO, &byte, 1) >= 0, "it is told");
  pthread_exit(NULL);
}

static void count_signal(int number) {
  (void)number;
  check(write(STDOUT_FILENO, ".", 1) == 1, "it writes");
}

static void stay_for_signals(void) {
  signal(SIGRTMIN, count_signal);
  stay();
}

static pthread_barrier_t has_told;

static void meet_reporter(void *unused, const inturn_report *report) {
  (void)unused;
  if (report->chain_count > 0 && report->chain[0].token.bits != 0)
    pthread_barrier_wait(&has_told);
}

/* The handler's call has returned. */
static void leave_reporter(void *unused) {
  (void)unused;
  be_ready();
}

static void stay_after_report(void) {
  pthread_barrier_init(&has_told, NULL, 2);
  check(inturn_report_set_handler(meet_reporter, NULL, leave_reporter) ==
            INTURN_OK,
        "there is a handler");
  check(inturn_report_set_stall_limit(10000000) == INTURN_OK, "it is told");
  pthread_barrier_wait(&has_told);
  check(inturn_report_set_handler(NULL, NULL, NULL) == INTURN_OK, "it is gone");
  check(inturn_report_set_stall_limit(-1) == INTURN_OK, "nothing is told");
  for (;;)
    pause();
}

static const struct sort {
  const char *name;
  void (*keep)(inturn_token token);
  void *(*thread)(void *context);
  void (*end)(void);
} sorts[] = {
    {"data", keep_in_data, NULL, NULL},
    {"zeroed data", keep_in_zeroed_data, NULL, NULL},
    {"heap", keep_in_heap, NULL, NULL},
    {"large block", keep_in_large_block, NULL, NULL},
    {"across steps", keep_across_steps, NULL, NULL},
    {"shared memory", keep_in_shared_memory, NULL, NULL},
    {"behind a hole", keep_behind_a_hole, NULL, NULL},
    {"unaligned", keep_unaligned, NULL, NULL},
    {"number of Python", keep_as_number_of_python, NULL, NULL},
    {"below other stack", keep_below_a_stack, NULL, stay_on_other_stack},
    {"first thread ended", keep_in_data, NULL, end_thread},
    {"first thread ends", keep_in_data, NULL, end_thread_when_told},
    {"signals", keep_in_data, NULL, stay_for_signals},
    {"stack", keep_in_thread, wait_with_local, NULL},
    {"thread local", keep_in_thread, wait_with_thread_local, NULL},
    {"register", keep_in_thread, wait_with_register, NULL},
    {"dropped", drop, NULL, NULL},
    {"overwritten", overwrite, NULL, NULL},
    {"kept for a moment", keep_for_a_moment, NULL, NULL},
    {"freed", free_and_overwrite, NULL, NULL},
    {"dead stack", leave_on_dead_stack, NULL, NULL},
    {"reported", drop, NULL, stay_after_report},
    {"encoded", encode, NULL, NULL},
    {"pipe", send_to_pipe, NULL, NULL},
    {"file", write_to_file, NULL, NULL},
};

static pthread_barrier_t has_returned;

/* What calls have left on the stack of the caller. */
static void clear_dead_stack(void) {
  char dead[8192];
  explicit_bzero(dead, sizeof dead);
}

static void work(void *sort, inturn_token token) {
  ((const struct sort *)sort)->keep(token);
  if (((const struct sort *)sort)->keep != leave_on_dead_stack)
    clear_dead_stack();
}

/* On the queue's thread, after the first one's call. */
static void meet(void *unused, inturn_token token) {
  (void)unused;
  inturn_token_finish(token);
  pthread_barrier_wait(&has_returned);
}

static void lose(void *unused, inturn_token token) {
  (void)unused;
  volatile inturn_token local = token;
  (void)local;
}

static void lose_plainly(void) {
  inturn_queue queue;
  check(inturn_queue_create(INTURN_QUEUE_ACTOR, NULL, &queue) == INTURN_OK,
        "there is a queue");
  check(inturn_queue_enqueue(queue, lose, NULL, NULL, NULL) == INTURN_OK,
        "it is enqueued");
  stay();
}

int main(int count, char **arguments) {
  const char *name = count > 1 ? arguments[1] : "sorts";
  const struct sort *sort = NULL;
  variant = count > 2 ? (unsigned)atoi(arguments[2]) : 0;
  for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
    if (strcmp(name, "sorts") == 0)
      puts(sorts[i].name);
    if (strcmp(name, sorts[i].name) == 0)
      sort = &sorts[i];
  }
  if (strcmp(name, "plain") == 0)
    lose_plainly();
  if (sort == NULL)
    return strcmp(name, "sorts") != 0;
  check(pipe(pipe_ends) == 0, "there is a pipe");
  pthread_barrier_init(&has_taken, NULL, 2);
  pthread_barrier_init(&has_returned, NULL, 2);
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "network";
  inturn_queue queue;
  check(inturn_queue_create(INTURN_QUEUE_ACTOR, &options, &queue) == INTURN_OK,
        "there is a queue");
  inturn_operation_options first = INTURN_OPERATION_OPTIONS_INIT;
  first.label = "load";
  check(inturn_queue_enqueue_with(queue, &first, work, (void *)sort, NULL,
                                  NULL) == INTURN_OK,
        "it is enqueued");
  check(inturn_queue_enqueue(queue, meet, NULL, NULL, NULL) == INTURN_OK,
        "it is enqueued");
  pthread_barrier_wait(&has_returned);
  body = sort->thread;
  if (body != NULL)
    start_thread();
  (sort->end != NULL ? sort->end : stay)();
  return 0;
}
