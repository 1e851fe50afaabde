/*
 * idle.c - an idle queue wakes no thread, and keeps no memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECOND_MS = 1000 };
#define SECOND_NS INT64_C(1000000000)

static void an_idle_interaction_queue_wakes_nobody_in_a_minute(void) {
  stage stage =
      stage_create_with(INTURN_QUEUE_INTERACTION,
                        (inturn_queue_options)INTURN_QUEUE_OPTIONS_INIT);
  gate wakes = GATE_INIT;
  job jobs[2] = {JOB("a"), JOB("b")};
  CHECK_OK(inturn_executor_set_wake(stage.executor, count_wake, &wakes, NULL));
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  for (int i = 0; i < 2; i++)
    job_enqueue(stage.queue, &jobs[i], work_hold);
  for (int i = 0; i < 2; i++) {
    stage_advance(&stage, SECOND_NS);
    CHECK_OK(inturn_token_finish(jobs[i].token));
    stage_drain(&stage);
  }
  /* The gap after the last one is over, too. */
  stage_advance(&stage, SECOND_NS);
  long before = gate_count(&wakes);
  for (int i = 0; i < 60; i++)
    CHECK_OK(inturn_clock_advance(stage.clock, SECOND_NS));
  CHECK_INT(gate_count(&wakes), before);
  CHECK_INT(stage_drain(&stage), 0);
  stage_destroy(&stage);
}

/* Threads and how often each was woken */

/* The threads of this process: for each, how often it has gone to sleep, which
   is once after each time that it is woken. */
typedef struct census {
  int count;
  struct {
    long id;
    char name[16];
    long sleeps;
  } threads[64];
} census;

/* Adds a thread, unless it ends meanwhile. */
static void count_thread(census *census, const char *id) {
  char path[64], line[256], name[16] = "";
  long sleeps = -1;
  snprintf(path, sizeof path, "/proc/self/task/%.20s/status", id);
  FILE *status = fopen(path, "r");
  if (status == NULL)
    return;
  while (fgets(line, sizeof line, status) != NULL) {
    sscanf(line, "Name: %15s", name);
    sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
  }
  fclose(status);
  if (sleeps < 0)
    return;
  CHECK(census->count < 64);
  census->threads[census->count].id = strtol(id, NULL, 10);
  census->threads[census->count].sleeps = sleeps;
  strcpy(census->threads[census->count++].name, name);
}

static census census_of_threads(void) {
  census census = {.count = 0};
  DIR *threads = opendir("/proc/self/task");
  CHECK(threads != NULL);
  for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.')
      count_thread(&census, entry->d_name);
  closedir(threads);
  return census;
}

/* The place of a thread, or -1. */
static int place_in(const census *census, long id) {
  for (int i = 0; i < census->count; i++)
    if (census->threads[i].id == id)
      return i;
  return -1;
}

/* Waits three seconds for a quiet descriptor, so this thread is not woken. */
static void wait_quietly(int fd) {
  struct pollfd quiet = {.fd = fd, .events = POLLIN};
  CHECK_INT(poll(&quiet, 1, 3 * SECOND_MS), 0);
}

/* Waits quietly, and checks that no other thread is woken, begins or ends.
   Threads that existed before the library had anything to do are a
   sanitizer's. */
static void check_nobody_is_woken(int fd, const census *not_ours) {
  census before = census_of_threads();
  wait_quietly(fd);
  census after = census_of_threads();
  for (int i = 0; i < before.count; i++) {
    int now = place_in(&after, before.threads[i].id);
    if (now < 0)
      FAIL("%s has ended", before.threads[i].name);
    if (place_in(not_ours, before.threads[i].id) >= 0)
      continue;
    long wakeups = after.threads[now].sleeps - before.threads[i].sleeps;
    if (wakeups != 0)
      FAIL("%s was woken %ld times", before.threads[i].name, wakeups);
  }
  for (int i = 0; i < after.count; i++)
    if (place_in(&before, after.threads[i].id) < 0)
      FAIL("%s has begun", after.threads[i].name);
}

static void check_has(const census *census, const char *name) {
  for (int i = 0; i < census->count; i++)
    if (strcmp(census->threads[i].name, name) == 0)
      return;
  FAIL("there is no thread %s", name);
}

static void do_nothing(void *context) { (void)context; }

/* Everything that the library may run has been used, and has come to rest. */
static void an_idle_process_is_not_woken(void) {
  /* ThreadSanitizer starts its own thread before the first other one. */
  on_another_thread(do_nothing, NULL);
  census not_ours = census_of_threads();
  inturn_executor_options host_options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor host;
  CHECK_OK(inturn_executor_create(&host_options, &host));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = host;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  inturn_queue dialogs, work;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &dialogs));
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  work = pool_queue_create(INTURN_QUEUE_CONCURRENT, NULL);
  gate done = GATE_INIT;
  inturn_operation_options timed = INTURN_OPERATION_OPTIONS_INIT;
  timed.max_run_ns = 60 * SECOND_NS;
  for (int i = 0; i < 1000; i++)
    CHECK_OK(
        inturn_queue_enqueue_with(work, &timed, count_work, &done, NULL, NULL));
  CHECK_OK(inturn_queue_drain(work, LIMIT_NS));
  CHECK_OK(inturn_queue_enqueue(dialogs, count_work, &done, NULL, NULL));
  CHECK_OK(inturn_executor_drain(host, 0, NULL));
  int fd;
  CHECK_OK(inturn_executor_fd(host, &fd));
  /* Threads that the pool no longer needs end after a second. */
  wait_quietly(fd);
  check_nobody_is_woken(fd, &not_ours);
  census running = census_of_threads();
  check_has(&running, "inturn-worker");
  check_has(&running, "inturn-clock");
  CHECK_OK(inturn_queue_destroy(work));
  CHECK_OK(inturn_queue_destroy(dialogs));
  CHECK_OK(inturn_executor_destroy(host));
}

/* Memory */

#if SANITIZED
size_t __sanitizer_get_current_allocated_bytes(void);

/* What is allocated: a sanitizer's allocator takes other pages each time, so
   that what is resident grows though nothing is kept. */
static long kept_bytes(void) {
  return (long)__sanitizer_get_current_allocated_bytes();
}
#else
/* What is resident. */
static long kept_bytes(void) {
  long all, resident;
  FILE *counts = fopen("/proc/self/statm", "r");
  CHECK(counts != NULL);
  CHECK_INT(fscanf(counts, "%ld %ld", &all, &resident), 2);
  fclose(counts);
  return resident * sysconf(_SC_PAGESIZE);
}
#endif

/* Each queue in turn gets so many operations that it takes the largest piece of
   memory, and stays alive. */
static void idle_queues_keep_nothing(inturn_queue_kind kind) {
  enum { QUEUES = 30, BURST = 3600, LIMIT = 1 << 20 };
  inturn_queue queues[QUEUES];
  long before = 0;
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = pool_queue_create(kind, NULL);
    CHECK_OK(inturn_queue_suspend(queues[i]));
    for (int j = 0; j < BURST; j++)
      CHECK_OK(inturn_queue_enqueue(queues[i], just_finish, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_resume(queues[i]));
    CHECK_OK(inturn_queue_drain(queues[i], -1));
    if (i == 0)
      before = kept_bytes();
  }
  long grown = kept_bytes() - before;
  if (grown > LIMIT)
    FAIL("%d idle queues keep %ld bytes", QUEUES, grown);
  for (int i = 0; i < QUEUES; i++)
    CHECK_OK(inturn_queue_destroy(queues[i]));
}

static void an_idle_queue_keeps_no_memory_of_a_burst(void) {
  for_each_kind(idle_queues_keep_nothing);
}

PROGRAM(idle, TEST(an_idle_queue_keeps_no_memory_of_a_burst),
        TEST(an_idle_interaction_queue_wakes_nobody_in_a_minute),
        TEST(an_idle_process_is_not_woken))
