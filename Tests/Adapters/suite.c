/*
 * suite.c - what every adapter to an event loop promises; see inturn/loop.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "suite.h"
#include "fixture.h"

#include <sys/resource.h>
#include <time.h>

int reports_told;

inturn_executor suite_executor;
inturn_queue suite_queue;
static pthread_t loop_thread;

void suite_begin_unattached(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  loop_thread = pthread_self();
  reports_told = 0;
  the_host.begin();
  CHECK_OK(inturn_executor_create(NULL, &suite_executor));
  options.executor = suite_executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &suite_queue));
}

void suite_begin(void) {
  suite_begin_unattached();
  CHECK_OK(the_host.attach(suite_executor));
}

void suite_end_detached(void) {
  CHECK_OK(inturn_queue_destroy(suite_queue));
  CHECK_OK(inturn_executor_destroy(suite_executor));
  the_host.end();
  CHECK_INT(reports_told, 0);
}

void suite_end(void) {
  CHECK_OK(the_host.detach(suite_executor));
  suite_end_detached();
}

static void stop_work(void *context, inturn_token token) {
  (void)context;
  the_host.stop();
  CHECK_OK(inturn_token_finish(token));
}

/* Runs the loop until the queue has reached the end of what is in it now. */
static void run_until_here(inturn_queue until) {
  CHECK_OK(inturn_queue_enqueue(until, stop_work, NULL, NULL, NULL));
  the_host.run();
}

static void run_for(int milliseconds) {
  the_host.set_tick(milliseconds, the_host.stop);
  the_host.run();
  the_host.set_tick(0, NULL);
}

static void check_on_loop_thread(void) {
  CHECK(pthread_equal(pthread_self(), loop_thread));
}

/* Order, and the thread --------------------------------------------------- */

long suite_next_number;

static void numbered_work(void *number, inturn_token token) {
  check_on_loop_thread();
  CHECK_INT((intptr_t)number, suite_next_number++);
  CHECK_OK(inturn_token_finish(token));
}

void suite_enqueue_many(void *unused) {
  (void)unused;
  for (intptr_t i = 0; i < SUITE_MANY; i++)
    CHECK_OK(inturn_queue_enqueue(suite_queue, numbered_work, (void *)i, NULL,
                                  NULL));
  CHECK_OK(inturn_queue_enqueue(suite_queue, stop_work, NULL, NULL, NULL));
}

static void work_of_another_thread_is_called_in_order_on_the_loops(void) {
  suite_begin();
  thread producer;
  suite_next_number = 0;
  thread_start(&producer, suite_enqueue_many, NULL);
  the_host.run();
  thread_join(&producer);
  CHECK_INT(suite_next_number, SUITE_MANY);
  suite_end();
}

static void work_that_waited_before_the_attach_is_called(void) {
  suite_begin_unattached();
  suite_next_number = 0;
  on_another_thread(suite_enqueue_many, NULL);
  CHECK_OK(the_host.attach(suite_executor));
  CHECK_INT(suite_next_number, 0); /* never inside attach */
  the_host.run();
  CHECK_INT(suite_next_number, SUITE_MANY);
  suite_end();
}

/* Work that another thread finishes. */
typedef struct answers {
  gate asked, taken;
  inturn_token token;
  int count;
} answers;

static void ask_another_thread(void *context, inturn_token token) {
  answers *answers = context;
  check_on_loop_thread();
  answers->token = token;
  gate_pass(&answers->asked);
}

static void answer_all(void *context) {
  answers *answers = context;
  for (int i = 1; i <= answers->count; i++) {
    GATE_WAIT(&answers->asked, i);
    CHECK_OK(inturn_token_finish(answers->token));
  }
}

static void finishing_on_another_thread_wakes_the_loop(void) {
  suite_begin();
  answers answers = {GATE_INIT, GATE_INIT, {0}, 200};
  thread answering;
  for (int i = 0; i < answers.count; i++)
    CHECK_OK(inturn_queue_enqueue(suite_queue, ask_another_thread, &answers,
                                  NULL, NULL));
  thread_start(&answering, answer_all, &answers);
  run_until_here(suite_queue);
  thread_join(&answering);
  CHECK_INT(gate_count(&answers.asked), answers.count);
  suite_end();
}

static void interactions_come_one_at_a_time_on_the_main_executor(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor main_executor;
  inturn_queue dialogs;
  answers answers = {GATE_INIT, GATE_INIT, {0}, 20};
  thread answering;
  suite_begin_unattached();
  options.settle_ns = options.gap_ns = 1000000;
  CHECK_OK(inturn_executor_main(&main_executor));
  CHECK_OK(the_host.attach(main_executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &dialogs));
  for (int i = 0; i < answers.count; i++)
    CHECK_OK(inturn_queue_enqueue(dialogs, ask_another_thread, &answers, NULL,
                                  NULL));
  thread_start(&answering, answer_all, &answers);
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  run_until_here(dialogs);
  thread_join(&answering);
  CHECK_OK(inturn_queue_destroy(dialogs));
  CHECK_OK(the_host.detach(main_executor));
  suite_end_detached();
}

static void a_loop_serves_several_executors(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  job first = JOB("first"), second = JOB("second");
  inturn_queue other;
  suite_begin();
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &other));
  CHECK_OK(the_host.attach(options.executor));
  job_enqueue(suite_queue, &first, work_finish);
  run_until_here(suite_queue);
  CHECK_TRACE("work first, end first finished");
  job_enqueue(other, &second, work_finish);
  run_until_here(other);
  CHECK_TRACE("work second, end second finished");
  CHECK_OK(the_host.detach(options.executor));
  CHECK_OK(inturn_queue_destroy(other));
  CHECK_OK(inturn_executor_destroy(options.executor));
  suite_end();
}

/* A busy queue, an idle one ----------------------------------------------- */

static int64_t nanoseconds_of(clockid_t clock) {
  struct timespec now;
  CHECK_INT(clock_gettime(clock, &now), 0);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

enum { TICKS = 20 };

static long ticks, calls, calls_at_last_tick, ticks_with_calls;
static bool busy;

static void count_tick(void) {
  if (calls > calls_at_last_tick)
    ticks_with_calls++;
  calls_at_last_tick = calls;
  if (++ticks == TICKS)
    the_host.stop();
}

/* Takes a tenth of a millisecond, and there is always more. */
static void endless_work(void *context, inturn_token token) {
  int64_t start = nanoseconds_of(CLOCK_MONOTONIC);
  calls++;
  while (nanoseconds_of(CLOCK_MONOTONIC) - start < 100000) {
  }
  if (busy)
    CHECK_OK(
        inturn_queue_enqueue(suite_queue, endless_work, context, NULL, NULL));
  CHECK_OK(inturn_token_finish(token));
}

static void a_busy_queue_and_the_loop_let_each_other_live(void) {
  suite_begin();
  ticks = calls = calls_at_last_tick = ticks_with_calls = 0;
  busy = true;
  for (int i = 0; i < 100; i++)
    CHECK_OK(inturn_queue_enqueue(suite_queue, endless_work, NULL, NULL, NULL));
  the_host.set_tick(5, count_tick);
  int64_t start = nanoseconds_of(CLOCK_MONOTONIC);
  the_host.run();
  int64_t took = nanoseconds_of(CLOCK_MONOTONIC) - start;
  the_host.set_tick(0, NULL);
  busy = false;
  /* Twenty times 5 ms, and a turn of 2 ms each. The machine may be busy. */
  CHECK(took < INT64_C(5000000000));
  CHECK(ticks_with_calls >= TICKS / 2);
  CHECK(calls > TICKS);
  suite_end();
}

/* ThreadSanitizer has a thread of its own that is never idle. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OTHERS_ARE_IDLE false
#endif
#endif
#ifndef OTHERS_ARE_IDLE
#define OTHERS_ARE_IDLE true
#endif

/* How often all threads of the process, or only this one, have slept. */
static long sleeps_of(int who) {
  struct rusage usage;
  CHECK_INT(getrusage(who, &usage), 0);
  return usage.ru_nvcsw;
}

static void an_idle_executor_wakes_nobody(void) {
  enum { SECONDS = 3 };
  suite_begin();
  run_until_here(suite_queue);
  run_for(500); /* a loop's first events, such as a new window's */
  long own = sleeps_of(RUSAGE_THREAD), all = sleeps_of(RUSAGE_SELF);
  run_for(SECONDS * 1000);
  own = sleeps_of(RUSAGE_THREAD) - own;
  all = sleeps_of(RUSAGE_SELF) - all;
  printf("# %ld sleeps in %d idle seconds, %ld in all\n", own, SECONDS, all);
  CHECK(own <= 10);
  CHECK(all <= 10 || !OTHERS_ARE_IDLE);
  suite_end();
}

/* The end ----------------------------------------------------------------- */

static void after_a_detach_nothing_more_is_called(void) {
  job first = JOB("a"), second = JOB("b");
  suite_begin();
  job_enqueue(suite_queue, &first, work_finish);
  CHECK_OK(the_host.detach(suite_executor));
  run_for(50);
  CHECK_TRACE("");
  /* What was waiting is there for the next one. */
  CHECK_OK(inturn_executor_drain(suite_executor, 1, NULL));
  CHECK_TRACE("work a");
  job_enqueue(suite_queue, &second, work_finish);
  CHECK_OK(the_host.attach(suite_executor));
  run_until_here(suite_queue);
  CHECK_TRACE("end a finished, work b, end b finished");
  suite_end();
}

static void detach_inside(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(the_host.detach(suite_executor));
  trace("detached");
  CHECK_OK(inturn_token_finish(token));
}

static void work_may_detach_and_is_the_last_to_be_called(void) {
  job after = JOB("after");
  suite_begin();
  for (int i = 0; i < 2; i++) {
    CHECK_OK(
        inturn_queue_enqueue(suite_queue, detach_inside, NULL, NULL, NULL));
    job_enqueue(suite_queue, &after, work_finish);
    run_for(50);
    CHECK_TRACE("detached");
    CHECK_OK(the_host.attach(suite_executor));
    run_until_here(suite_queue);
    CHECK_TRACE("work after, end after finished");
  }
  suite_end();
}

static void detach_and_attach_inside(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(the_host.detach(suite_executor));
  CHECK_OK(the_host.attach(suite_executor));
  CHECK_OK(inturn_token_finish(token));
}

static void work_may_detach_and_attach_again(void) {
  job after = JOB("after");
  suite_begin();
  for (int i = 0; i < 100; i++)
    CHECK_OK(inturn_queue_enqueue(suite_queue, detach_and_attach_inside, NULL,
                                  NULL, NULL));
  job_enqueue(suite_queue, &after, work_finish);
  run_until_here(suite_queue);
  CHECK_TRACE("work after, end after finished");
  suite_end();
}

static void destroy_queue_inside(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(inturn_queue_destroy(suite_queue));
  CHECK_STATUS(inturn_executor_destroy(suite_executor), INTURN_E_BUSY);
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
  the_host.stop();
}

static void a_queue_is_destroyed_inside_its_work(void) {
  suite_begin();
  CHECK_OK(inturn_queue_enqueue(suite_queue, destroy_queue_inside, NULL, NULL,
                                NULL));
  CHECK_OK(inturn_queue_enqueue(suite_queue, never_work, NULL, NULL, NULL));
  the_host.run();
  CHECK_OK(the_host.detach(suite_executor));
  CHECK_OK(inturn_executor_destroy(suite_executor));
  the_host.end();
}

void a_loop_that_ends_gives_the_executor_back(void) {
  job job = JOB("a");
  suite_begin();
  job_enqueue(suite_queue, &job, work_finish);
  the_host.end();
  CHECK_TRACE("");
  CHECK_STATUS(the_host.detach(suite_executor), INTURN_E_INVALID_ARGUMENT);
  the_host.begin();
  CHECK_OK(the_host.attach(suite_executor));
  run_until_here(suite_queue);
  CHECK_TRACE("work a, end a finished");
  suite_end();
}

void a_detached_executor_does_not_keep_the_loop_going(void) {
  suite_begin();
  run_until_here(suite_queue);
  CHECK_OK(the_host.detach(suite_executor));
  the_host.run(); /* nobody stops it */
  suite_end_detached();
}

/* Loops inside work ------------------------------------------------------- */

static void nest_inside(void *context, inturn_token token) {
  job *other = context;
  int64_t start = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
  the_host.nest(150);
  int64_t took = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
  printf("# %lld us of processor time in 150 ms\n", (long long)took / 1000);
  CHECK(took < 75000000);
  CHECK_INT(gate_count(&other->started), 0);
  trace("nested");
  CHECK_OK(inturn_token_finish(token));
}

void a_loop_inside_work_sleeps_and_calls_no_other_work(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  job other = JOB("other");
  inturn_queue second;
  suite_begin();
  options.executor = suite_executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &second));
  CHECK_OK(inturn_queue_enqueue(suite_queue, nest_inside, &other, NULL, NULL));
  job_enqueue(second, &other, work_finish);
  run_until_here(second);
  CHECK_TRACE("nested, work other, end other finished");
  CHECK_OK(inturn_queue_destroy(second));
  suite_end();
}

static bool detached_in_tick;

static void detach_once(void) {
  if (!detached_in_tick)
    CHECK_OK(the_host.detach(suite_executor));
  detached_in_tick = true;
}

static void detach_in_nested_loop(void *context, inturn_token token) {
  (void)context;
  the_host.set_tick(10, detach_once);
  the_host.nest(100);
  the_host.set_tick(50, the_host.stop); /* nothing else stops the loop now */
  CHECK(detached_in_tick);
  trace("nested");
  CHECK_OK(inturn_token_finish(token));
}

void a_loop_inside_work_may_detach(void) {
  job after = JOB("after");
  suite_begin();
  detached_in_tick = false;
  CHECK_OK(inturn_queue_enqueue(suite_queue, detach_in_nested_loop, NULL, NULL,
                                NULL));
  job_enqueue(suite_queue, &after, work_finish);
  the_host.run();
  the_host.set_tick(0, NULL);
  CHECK_TRACE("nested");
  CHECK_OK(the_host.attach(suite_executor));
  run_until_here(suite_queue);
  CHECK_TRACE("work after, end after finished");
  suite_end();
}

static const test suite[] = {
    TEST(work_of_another_thread_is_called_in_order_on_the_loops),
    TEST(work_that_waited_before_the_attach_is_called),
    TEST(finishing_on_another_thread_wakes_the_loop),
    TEST(interactions_come_one_at_a_time_on_the_main_executor),
    TEST(a_loop_serves_several_executors),
    TEST(a_busy_queue_and_the_loop_let_each_other_live),
    TEST(an_idle_executor_wakes_nobody),
    TEST(after_a_detach_nothing_more_is_called),
    TEST(work_may_detach_and_is_the_last_to_be_called),
    TEST(work_may_detach_and_attach_again),
    TEST(a_queue_is_destroyed_inside_its_work),
};

int main(int argc, char **argv) {
  enum { SUITE = sizeof suite / sizeof *suite, ROOM = 64 };
  static test tests[ROOM];
  size_t count = 0;
  while (count < SUITE) {
    tests[count] = suite[count];
    count++;
  }
  for (size_t i = 0; i < refusals_count; i++)
    tests[count++] = refusals[i];
  for (const named_test *own = own_tests; own->name != NULL; own++) {
    CHECK(count < ROOM);
    tests[count++] = (test){own->name, own->run};
  }
  const program all = {the_host.name, tests, count, count_what_lives,
                       check_nothing_is_left};
  return run_tests(&all, argc, argv);
}
