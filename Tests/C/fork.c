/*
 * fork.c - section 12 of the manual: a forked child has a working library, and
 * handles that do not work.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "handle_calls.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int registrations;

#if !SANITIZED
/* The C library registers fork handlers with this. */
int __register_atfork(void (*prepare)(void), void (*parent)(void),
                      void (*child)(void), void *library);

int __register_atfork(void (*prepare)(void), void (*parent)(void),
                      void (*child)(void), void *library) {
  int (*next)(void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&next = dlsym(RTLD_NEXT, "__register_atfork");
  registrations += 1;
  return next(prepare, parent, child, library);
}
#endif

static int registrations_before_main;

__attribute__((constructor)) static void note_registrations(void) {
  registrations_before_main = registrations;
}

/* Otherwise, a fork could come between the first use and its handlers. */
static void the_library_is_ready_for_forks_before_its_first_use(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_pool(&executor));
  CHECK_INT(registrations, registrations_before_main);
}

/* A child must not touch its parent's gates or traces: a thread that the child
   does not have may hold their mutexes. */

static void all_inherited_handles_are_refused(void *context) {
  const live_handles *live = context;
  for (int kind = 0; kind < HANDLE_KINDS; kind++)
    check_refusals((handle_kind)kind, live->bits[kind], INTURN_E_FORKED);
}

static void each_inherited_handle_gives_forked(void) {
  live_handles live = live_handles_create();
  IN_CHILD(all_inherited_handles_are_refused, &live);
  CHECK_OK(inturn_token_finish((inturn_token){live.bits[HANDLE_TOKEN]}));
  stage_drain(&live.stage);
  live_handles_destroy(&live);
}

static void executor_is_refused(void *executor) {
  check_refusals(HANDLE_EXECUTOR, *(uint64_t *)executor, INTURN_E_FORKED);
}

static void the_executors_of_the_library_are_new_in_the_child(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_main(&executor));
  IN_CHILD(executor_is_refused, &executor.bits);
  CHECK_OK(inturn_executor_pool(&executor));
  IN_CHILD(executor_is_refused, &executor.bits);
}

/* Uses a queue of each kind on the pool, and a stage. */
static void new_objects_work(void *context) {
  static const inturn_queue_kind kinds[] = {
      INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR, INTURN_QUEUE_INTERACTION,
      INTURN_QUEUE_CONCURRENT};
  CHECK(context == NULL);
  for (int i = 0; i < 4; i++) {
    gate worked = GATE_INIT;
    inturn_queue queue = pool_queue_create(kinds[i], "of the child");
    for (int j = 0; j < 100; j++)
      CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
    drain_and_destroy(queue);
    CHECK_INT(gate_count(&worked), 100);

    stage stage = stage_create(kinds[i]);
    CHECK_OK(
        inturn_queue_enqueue(stage.queue, count_work, &worked, NULL, NULL));
    stage_advance(&stage, 1);
    CHECK_INT(gate_count(&worked), 101);
    stage_destroy(&stage);
  }
}

static void new_objects_work_in_the_child(void) {
  IN_CHILD(new_objects_work, NULL);
}

static void new_objects_work_in_a_child_of_a_process_at_work(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job job = JOB("blocked");
  job_enqueue(queue, &job, work_block);
  GATE_WAIT(&job.started, 1);
  IN_CHILD(new_objects_work, NULL);
  gate_pass(&job.go);
  drain_and_destroy(queue);
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
}

static void fork_again(void *context) {
  new_objects_work(context);
  IN_CHILD(new_objects_work, context);
  new_objects_work(context);
}

static void new_objects_work_in_a_child_of_a_child(void) {
  IN_CHILD(fork_again, NULL);
}

/* One handle of each process before this one. */
enum { GENERATIONS = 40 };
static inturn_queue ancestors[GENERATIONS];

static void fork_on(void *context) {
  int *generation = context;
  for (int i = 0; i < *generation; i++)
    CHECK_STATUS(inturn_queue_close(ancestors[i]), INTURN_E_FORKED);
  if (*generation == GENERATIONS)
    return;
  gate worked = GATE_INIT;
  inturn_queue *queue = &ancestors[*generation];
  /* Every third process does not use the library. */
  if (*generation % 3 != 2) {
    *queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    CHECK_OK(inturn_queue_enqueue(*queue, count_work, &worked, NULL, NULL));
    CHECK_OK(inturn_queue_drain(*queue, LIMIT_NS));
    CHECK_INT(gate_count(&worked), 1);
  } else {
    *queue = ancestors[0];
  }
  *generation += 1;
  IN_CHILD(fork_on, generation);
  if (queue->bits != ancestors[0].bits || queue == ancestors)
    CHECK_OK(inturn_queue_destroy(*queue));
}

static void no_handle_comes_alive_again_in_a_later_descendant(void) {
  int generation = 0;
  fork_on(&generation);
}

static void each_handle_is_refused_below(void *context) {
  int *left = ((void **)context)[1];
  all_inherited_handles_are_refused(((void **)context)[0]);
  if (*left == 0)
    return;
  *left -= 1;
  new_objects_work(NULL);
  IN_CHILD(each_handle_is_refused_below, context);
}

static void handles_of_every_kind_are_refused_in_every_descendant(void) {
  live_handles live = live_handles_create();
  int left = 32;
  IN_CHILD(each_handle_is_refused_below, ((void *[]){&live, &left}));
  CHECK_OK(inturn_token_finish((inturn_token){live.bits[HANDLE_TOKEN]}));
  stage_drain(&live.stage);
  live_handles_destroy(&live);
}

static void deadlines_work(void *context) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  CHECK(context == NULL);
  options.max_wait_ns = 1000000;
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, never_work, NULL, NULL,
                                     &operation));
  CHECK_INT(end_of(operation).cause, INTURN_CAUSE_MAX_WAIT);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_queue_destroy(queue));
}

static void deadlines_work_in_the_child(void) {
  deadlines_work(NULL);
  IN_CHILD(deadlines_work, NULL);
  deadlines_work(NULL);
}

static atomic_int inherited_calls;

static void count_inherited(void *context, inturn_token token) {
  atomic_fetch_add(&inherited_calls, 1);
  just_finish(context, token);
}

static void nothing_inherited_runs(void *context) {
  int before = atomic_load(&inherited_calls);
  new_objects_work(context);
  CHECK_INT(atomic_load(&inherited_calls), before);
}

static void nothing_that_was_pending_runs_in_the_child(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_queue busy = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  job first = JOB("first");
  int count = 1000;
  atomic_store(&inherited_calls, 0);
  job_enqueue(queue, &first, work_block);
  for (int i = 0; i < count; i++) {
    CHECK_OK(inturn_queue_enqueue(queue, count_inherited, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_enqueue(busy, count_inherited, NULL, NULL, NULL));
  }
  GATE_WAIT(&first.started, 1);
  IN_CHILD(nothing_inherited_runs, NULL);
  gate_pass(&first.go);
  drain_and_destroy(queue);
  drain_and_destroy(busy);
  CHECK_INT(atomic_load(&inherited_calls), 2 * count);
}

static void fork_in_work(void *context, inturn_token token) {
  IN_CHILD(nothing_inherited_runs, NULL);
  IN_CHILD(fork_again, NULL);
  count_work(context, token);
}

static void work_may_fork(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  gate worked = GATE_INIT;
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_enqueue(queue, fork_in_work, &worked, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&worked), 3);
}

static void fork_and_return(void *context, inturn_token token) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    sigset_t limit;
    CHECK_INT(sigemptyset(&limit), 0);
    CHECK_INT(sigaddset(&limit, SIGALRM), 0);
    CHECK_INT(pthread_sigmask(SIG_UNBLOCK, &limit, NULL), 0);
    alarm(LIMIT_SECONDS);
    return;
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
  count_work(context, token);
}

static void a_child_whose_only_thread_returns_from_work_ends(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  gate worked = GATE_INIT;
  inturn_work_fn work = fork_and_return;
  if (SANITIZED) /* a sanitizer does not expect that thread to end */
    work = count_work;
  CHECK_OK(inturn_queue_enqueue(queue, work, &worked, NULL, NULL));
  drain_and_destroy(queue);
  CHECK_INT(gate_count(&worked), 1);
}

static void work_of_a_stage_may_fork(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate worked = GATE_INIT;
  CHECK_OK(
      inturn_queue_enqueue(stage.queue, fork_in_work, &worked, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&worked), 1);
  stage_destroy(&stage);
}

static void drain_the_main_executor(void *context) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  gate worked = GATE_INIT;
  CHECK(context == NULL);
  options.settle_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &queue));
  CHECK_OK(inturn_queue_view_did_appear(queue));
  CHECK_OK(inturn_queue_enqueue(queue, count_work, &worked, NULL, NULL));
  CHECK_OK(inturn_executor_main(&options.executor));
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_INT(gate_count(&worked), 1);
  CHECK_OK(inturn_queue_destroy(queue));
}

static void fork_and_drain_the_main_executor(void *context) {
  IN_CHILD(drain_the_main_executor, context);
}

static void the_thread_that_forks_is_the_main_thread_of_the_child(void) {
  drain_the_main_executor(NULL);
  IN_CHILD(drain_the_main_executor, NULL);
  on_another_thread(fork_and_drain_the_main_executor, NULL);
  drain_the_main_executor(NULL);
}

/* Threads that keep the library's locks and memory busy while others fork. */
static atomic_bool busy;

static void keep_busy(void *context) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  CHECK(context == NULL);
  while (atomic_load(&busy)) {
    for (int i = 0; i < 100; i++) {
      inturn_operation operation;
      CHECK_OK(inturn_queue_enqueue(queue, count_inherited, NULL, NULL, NULL));
      CHECK_OK(inturn_queue_enqueue(stage.queue, count_inherited, NULL, NULL,
                                    &operation));
      CHECK_OK(inturn_operation_release(operation));
    }
    stage_advance(&stage, 1);
    CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  }
  CHECK_OK(inturn_queue_destroy(queue));
  stage_destroy(&stage);
}

static void a_child_of_a_busy_process_works_and_the_parent_goes_on(void) {
  thread threads[3];
  atomic_store(&busy, true);
  for (int i = 0; i < 3; i++)
    thread_start(&threads[i], keep_busy, NULL);
  for (long round = scaled(50); round > 0; round--)
    IN_CHILD(nothing_inherited_runs, NULL);
  atomic_store(&busy, false);
  for (int i = 0; i < 3; i++)
    thread_join(&threads[i]);
}

PROGRAM(fork, TEST(the_library_is_ready_for_forks_before_its_first_use),
        TEST(each_inherited_handle_gives_forked),
        TEST(no_handle_comes_alive_again_in_a_later_descendant),
        TEST(handles_of_every_kind_are_refused_in_every_descendant),
        TEST(the_executors_of_the_library_are_new_in_the_child),
        TEST(new_objects_work_in_the_child),
        TEST(new_objects_work_in_a_child_of_a_process_at_work),
        TEST(new_objects_work_in_a_child_of_a_child),
        TEST(deadlines_work_in_the_child),
        TEST(nothing_that_was_pending_runs_in_the_child), TEST(work_may_fork),
        TEST(a_child_whose_only_thread_returns_from_work_ends),
        TEST(work_of_a_stage_may_fork),
        TEST(the_thread_that_forks_is_the_main_thread_of_the_child),
        TEST(a_child_of_a_busy_process_works_and_the_parent_goes_on))
