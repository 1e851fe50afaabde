/*
 * fuzz.c - sequences of calls that a fuzzer makes up; see world.h.
 *
 * SPDX-License-Identifier: MIT
 *
 * The first byte decides between one thread and two, which then share the
 * bytes, and whether everything accepted runs to its end or is destroyed
 * halfway. The rest are calls, and what callbacks do.
 */
#define _POSIX_C_SOURCE 200809L /* barriers */

#include "world.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

void step(input *input) {
  switch (take(input) % 16) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4:
    step_queue(input);
    break;
  case 5:
    step_operation(input);
    break;
  case 6:
  case 7:
    step_token(input);
    break;
  case 8:
    step_batch(input);
    break;
  case 9:
    step_value(input);
    break;
  case 10:
    step_clock(input);
    break;
  case 11:
    step_owner(input);
    break;
  case 12:
    step_diagnosis(input);
    break;
  default:
    step_executor(input);
    break;
  }
}

void step_inside(uint8_t first, uint8_t second) {
  static _Thread_local int depth;
  atomic_fetch_add(&the_world.stepping, 1);
  if (depth < DEPTH && !the_world.is_closing) {
    depth++;
    uint8_t bytes[12];
    unsigned state = first * 256u + second;
    for (size_t i = 0; i < sizeof bytes; i++) {
      state = state * 1103515245u + 12345u;
      bytes[i] = (uint8_t)(state >> 16);
    }
    input input = {bytes, bytes + sizeof bytes};
    step(&input);
    depth--;
  }
  atomic_fetch_sub(&the_world.stepping, 1);
}

/* The world --------------------------------------------------------------- */

static inturn_library_statistics alive;

static inturn_library_statistics count(void) {
  inturn_library_statistics now = INTURN_LIBRARY_STATISTICS_INIT;
  HOLDS(inturn_library_get_statistics(&now) == INTURN_OK);
  return now;
}

static void ignore_report(void *context, const inturn_report *report) {
  HOLDS(context == NULL && report->message != NULL);
}

/* Two executors, a clock and a queue of each kind, so few bytes do much. */
void world_begin(bool has_two_threads, bool has_workers) {
  memset(&the_world, 0, sizeof the_world);
  the_world.has_two_threads = has_two_threads;
  the_world.has_workers = has_workers;
  inturn_executor executor;
  inturn_clock clock;
  for (int i = 0; i < 2; i++) {
    HOLDS(inturn_executor_create(NULL, &executor) == INTURN_OK);
    make_alive(EXECUTOR, i, executor.bits);
  }
  HOLDS(inturn_clock_create_manual(&clock) == INTURN_OK);
  make_alive(CLOCK, 0, clock.bits);
  for (int i = 0; i < SLOTS; i++)
    the_world.queues[i].current = -1;
  for (int i = 0; i < 4; i++) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    inturn_queue queue;
    options.executor.bits = the_world.slots[EXECUTOR][i % 2].bits;
    options.clock = clock;
    if (has_workers && i != 0)
      HOLDS(inturn_executor_pool(&options.executor) == INTURN_OK);
    if (has_workers && i % 2 == 1)
      options.clock.bits = 0; /* the system's */
    options.settle_ns = options.gap_ns = 10;
    options.max_concurrent = i == 3 ? 2 : 1;
    HOLDS(inturn_queue_create(1 + i, &options, &queue) == INTURN_OK);
    the_world.queues[i].kind = 1 + i;
    the_world.queues[i].max_concurrent = 2;
    the_world.queues[i].executors = 1 << i % 2;
    make_alive(QUEUE, i, queue.bits);
  }
}

static void let_go(int index) {
  inturn_queue queue = {the_world.slots[QUEUE][index].bits};
  queue_facts *facts = &the_world.queues[index];
  while (inturn_queue_resume(queue) == INTURN_OK)
    continue;
  while (inturn_queue_resume_for(queue, "a") == INTURN_OK ||
         inturn_queue_resume_for(queue, "b") == INTURN_OK)
    continue;
  facts->suspends = facts->reasons[0] = facts->reasons[1] = 0;
  if (facts->kind == INTURN_QUEUE_INTERACTION) {
    HOLDS(inturn_queue_view_did_appear(queue) == INTURN_OK);
    facts->is_visible = true;
  }
  if (facts->has_long_rate)
    HOLDS(inturn_queue_set_rate(queue, NULL) == INTURN_OK);
  if (facts->kind == INTURN_QUEUE_CONCURRENT)
    HOLDS(inturn_queue_set_max_concurrent(queue, 2) == INTURN_OK);
}

static void pause_briefly(void) {
  struct timespec time = {0, 100000};
  nanosleep(&time, NULL);
}

static void drain_all(void) {
  for (int i = 0; i < SLOTS; i++)
    if (is_alive(EXECUTOR, i)) {
      inturn_executor executor = {the_world.slots[EXECUTOR][i].bits};
      HOLDS(inturn_executor_drain(executor, 0, NULL) == INTURN_OK);
    }
}

static void finish_all(void) {
  int operations = the_world.operation_count;
  if (operations > OPERATIONS)
    operations = OPERATIONS;
  for (int i = 0; i < operations; i++) {
    operation_facts *operation = &the_world.operations[i];
    int attempt = operation->attempts - 1;
    if (attempt >= 0 && attempt < ATTEMPTS) {
      inturn_token token = {operation->tokens[attempt]};
      bool is_ok = inturn_token_finish(token) == INTURN_OK;
      if (is_ok)
        HOLDS(atomic_fetch_add(&operation->wins[attempt], 1) == 0);
    }
  }
}

/* Everything accepted ends: nothing is stranded. */
static void let_all_end(void) {
  for (int round = 0; round < (the_world.has_workers ? 20000 : 400); round++) {
    bool is_quiet = true;
    for (int i = 0; i < SLOTS; i++)
      if (is_alive(QUEUE, i)) {
        let_go(i);
        inturn_queue queue = {the_world.slots[QUEUE][i].bits};
        is_quiet &= inturn_queue_drain(queue, 0) == INTURN_OK;
      }
    if (is_quiet)
      return;
    if (the_world.has_workers)
      pause_briefly();
    drain_all();
    finish_all();
    for (int i = 0; i < SLOTS; i++)
      if (is_alive(CLOCK, i))
        inturn_clock_advance((inturn_clock){the_world.slots[CLOCK][i].bits},
                             1000);
    drain_all();
  }
  for (int i = 0; i < SLOTS; i++)
    if (is_alive(QUEUE, i) &&
        inturn_queue_drain((inturn_queue){the_world.slots[QUEUE][i].bits}, 0) !=
            INTURN_OK) {
      inturn_queue_statistics now = INTURN_QUEUE_STATISTICS_INIT;
      inturn_queue_get_statistics(
          (inturn_queue){the_world.slots[QUEUE][i].bits}, &now);
      WRONG("queue %d of kind %d does not come to its end: %llu pending, %llu "
            "running",
            i, the_world.queues[i].kind, (unsigned long long)now.pending,
            (unsigned long long)now.running);
    }
}

static void destroy_all(void) {
  for (int i = 0; i < SLOTS; i++) {
    if (the_world.attached[i] && is_alive(EXECUTOR, i))
      HOLDS(inturn_executor_detach(
                (inturn_executor){the_world.slots[EXECUTOR][i].bits}, "loop") ==
            INTURN_OK);
    if (is_alive(QUEUE, i))
      HOLDS(inturn_queue_destroy(
                (inturn_queue){the_world.slots[QUEUE][i].bits}) == INTURN_OK);
    if (is_alive(OPERATION, i))
      HOLDS(inturn_operation_release((inturn_operation){
                the_world.slots[OPERATION][i].bits}) == INTURN_OK);
    if (is_alive(BATCH, i))
      HOLDS(inturn_batch_release(
                (inturn_batch){the_world.slots[BATCH][i].bits}) == INTURN_OK);
    if (is_alive(OWNER, i))
      HOLDS(inturn_owner_destroy(
                (inturn_owner){the_world.slots[OWNER][i].bits}) == INTURN_OK);
    if (is_alive(VALUE, i))
      HOLDS(inturn_value_destroy(
                (inturn_value){the_world.slots[VALUE][i].bits}) == INTURN_OK);
  }
  drain_all();
  for (int i = 0; i < SLOTS; i++) {
    if (is_alive(EXECUTOR, i))
      HOLDS(inturn_executor_destroy((inturn_executor){
                the_world.slots[EXECUTOR][i].bits}) == INTURN_OK);
    if (is_alive(CLOCK, i))
      HOLDS(inturn_clock_destroy(
                (inturn_clock){the_world.slots[CLOCK][i].bits}) == INTURN_OK);
  }
}

#define DEMAND(condition)                                                      \
  do {                                                                         \
    if (!(condition))                                                          \
      return #condition;                                                       \
  } while (0)

/* One end, each context destroyed once, nothing left: returns what of this does
   not hold, or NULL. */
static const char *what_is_wrong(void) {
  int operations = the_world.operation_count;
  if (operations > OPERATIONS)
    operations = OPERATIONS;
  for (int i = 0; i < operations; i++) {
    operation_facts *operation = &the_world.operations[i];
    if (!operation->accepted)
      continue;
    DEMAND(operation->destroyed == !operation->is_taken);
    DEMAND(operation->ended == operation->has_end);
    DEMAND(operation->end_destroyed == operation->has_end);
    DEMAND(operation->results_destroyed == operation->results);
    DEMAND(operation->handlers_destroyed == operation->handlers);
    DEMAND(operation->segments_destroyed == operation->segments);
  }
  for (int i = 0; i < SLOTS; i++) {
    queue_facts *queue = &the_world.queues[i];
    DEMAND(queue->event_destroyed == queue->has_events);
    if (the_world.batches[i].accepted)
      DEMAND(the_world.batches[i].told == 1 && the_world.batches[i].ended == 1);
    if (the_world.slots[OBSERVATION][i].bits != 0)
      DEMAND(the_world.observations[i].destroyed == 1);
  }
  DEMAND(the_world.wakes_destroyed == the_world.wakes_given);
  inturn_library_statistics now = count();
  DEMAND(now.queues == alive.queues);
  DEMAND(now.operations == alive.operations);
  DEMAND(now.executors == alive.executors);
  DEMAND(now.clocks == alive.clocks);
  DEMAND(now.values == alive.values);
  DEMAND(now.observations == alive.observations);
  return NULL;
}

/* A worker may be a moment behind if one has destroyed a queue, even a queue of
   the previous world. */
static void judge(void) {
  const char *wrong = what_is_wrong();
  for (int i = 0; i < 20000 && wrong != NULL; i++) {
    pause_briefly();
    wrong = what_is_wrong();
  }
  inturn_library_statistics now = count();
  if (wrong != NULL)
    WRONG("%s does not hold (%llu operations, %llu queues)", wrong,
          (unsigned long long)now.operations, (unsigned long long)now.queues);
}

static void count_work(void *count, inturn_token token) {
  ++*(int *)count;
  HOLDS(inturn_token_finish(token) == INTURN_OK);
}

/* Nothing holds a name any more: names are process-wide. */
static void check_names(void) {
  static const char *const names[] = {"x", "y"};
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_queue queue;
  int calls = 0;
  options.exclusive = names;
  options.exclusive_count = 2;
  HOLDS(inturn_executor_create(NULL, &queue_options.executor) == INTURN_OK);
  HOLDS(inturn_queue_create(INTURN_QUEUE_FIFO, &queue_options, &queue) ==
        INTURN_OK);
  HOLDS(inturn_queue_enqueue_with(queue, &options, count_work, &calls, NULL,
                                  NULL) == INTURN_OK);
  HOLDS(inturn_executor_drain(queue_options.executor, 0, NULL) == INTURN_OK);
  if (calls != 1)
    WRONG("a name is still held");
  HOLDS(inturn_queue_destroy(queue) == INTURN_OK);
  HOLDS(inturn_executor_destroy(queue_options.executor) == INTURN_OK);
}

void world_end(bool lets_all_end) {
  the_world.is_closing = true;
  /* What a worker is creating has to be visible below. */
  while (the_world.stepping > 0)
    pause_briefly();
  if (lets_all_end) {
    for (int i = 0; i < SLOTS; i++)
      if (the_world.attached[i] && is_alive(EXECUTOR, i))
        the_world.attached[i] =
            inturn_executor_detach(
                (inturn_executor){the_world.slots[EXECUTOR][i].bits}, "loop") !=
            INTURN_OK;
    let_all_end();
  }
  destroy_all();
  judge();
  if (the_world.uses_names)
    check_names();
}

/* The second thread ------------------------------------------------------- */

static pthread_barrier_t begins, ends;
static input second_input;

static void run(input *input) {
  while (input->next < input->end)
    step(input);
}

static void *second_thread(void *unused) {
  for (;;) {
    pthread_barrier_wait(&begins);
    run(&second_input);
    pthread_barrier_wait(&ends);
  }
  return unused;
}

static void run_in_two(input first, input second) {
  static bool has_begun;
  second_input = second;
  if (!has_begun) {
    pthread_t thread;
    pthread_barrier_init(&begins, NULL, 2);
    pthread_barrier_init(&ends, NULL, 2);
    HOLDS(pthread_create(&thread, NULL, second_thread, NULL) == 0);
    has_begun = true;
  }
  pthread_barrier_wait(&begins);
  run(&first);
  pthread_barrier_wait(&ends);
}

/* The fuzzer's ------------------------------------------------------------ */

static void say_calls(void) {
  fprintf(stderr, "%llu calls of the library were checked\n", calls_made);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  inturn_executor executor;
  HOLDS(inturn_report_set_handler(ignore_report, NULL, NULL) == INTURN_OK);
  HOLDS(inturn_executor_main(&executor) == INTURN_OK);
  HOLDS(inturn_executor_pool(&executor) == INTURN_OK);
  alive = count();
  says_calls = getenv("INTURN_FUZZ_SAYS") != NULL;
  atexit(say_calls);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return -1;
  uint8_t how = data[0];
  bool has_two_threads = (how & 3) == 3;
  input all = {data + 1, data + size};
  world_begin(has_two_threads, has_two_threads && (how & 8));
  if (has_two_threads) {
    const uint8_t *middle = all.next + (all.end - all.next) / 2;
    run_in_two((input){all.next, middle}, (input){middle, all.end});
  } else {
    run(&all);
  }
  world_end(how & 4);
  return 0;
}
