/*
 * rates.c - a limit on how many operations of a queue start in a time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#define SECOND INT64_C(1000000000)

/* A queue of each kind on a manual clock, drained by the test. */
typedef struct rated {
  inturn_clock clock;
  inturn_executor executor;
  inturn_queue queue;
  int started;
  int64_t last;
} rated;

static void count(void *context, inturn_token token) {
  rated *rated = context;
  rated->started++;
  CHECK_OK(inturn_clock_now(rated->clock, &rated->last));
  CHECK_OK(inturn_token_finish(token));
}

static inturn_rate rate_of(uint32_t max_starts, int64_t interval,
                           uint32_t burst) {
  return (inturn_rate){max_starts, burst, interval};
}

static void begin(rated *rated, inturn_queue_kind kind, inturn_rate rate) {
  *rated = (struct rated){{0}, {0}, {0}, 0, 0};
  CHECK_OK(inturn_clock_create_manual(&rated->clock));
  CHECK_OK(inturn_executor_create(NULL, &rated->executor));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.clock = rated->clock;
  options.executor = rated->executor;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  options.rate = rate;
  CHECK_OK(inturn_queue_create(kind, &options, &rated->queue));
  if (kind == INTURN_QUEUE_INTERACTION)
    CHECK_OK(inturn_queue_view_did_appear(rated->queue));
}

static void end(rated *rated) {
  CHECK_OK(inturn_queue_destroy(rated->queue));
  CHECK_OK(inturn_executor_destroy(rated->executor));
  CHECK_OK(inturn_clock_destroy(rated->clock));
}

static void enqueue(rated *rated, int number) {
  for (int i = 0; i < number; i++)
    CHECK_OK(inturn_queue_enqueue(rated->queue, count, rated, NULL, NULL));
}

static void drain(rated *rated) {
  CHECK_OK(inturn_executor_drain(rated->executor, 1000, NULL));
}

/* How many have started by then. */
static int started_at(rated *rated, int64_t moment) {
  int64_t now;
  CHECK_OK(inturn_clock_now(rated->clock, &now));
  CHECK_OK(inturn_clock_advance(rated->clock, moment - now));
  drain(rated);
  return rated->started;
}

static void
a_burst_starts_at_once_and_the_rest_at_the_rate(inturn_queue_kind kind) {
  rated rated;
  begin(&rated, kind, rate_of(4, SECOND, 2));
  enqueue(&rated, 10);
  drain(&rated);
  CHECK_INT(rated.started, 2);
  CHECK_INT(statistics_of(rated.queue).next_start_ns, SECOND / 4);
  CHECK_INT(started_at(&rated, SECOND / 4 - 1), 2);
  CHECK_INT(started_at(&rated, SECOND / 4), 3);
  CHECK_INT(started_at(&rated, SECOND / 2), 4);
  /* What was missed meanwhile is made up for, up to a full bucket. */
  CHECK_INT(started_at(&rated, 4 * SECOND), 6);
  CHECK_INT(started_at(&rated, 4 * SECOND + SECOND / 4), 7);
  CHECK_INT(started_at(&rated, 10 * SECOND), 9);
  CHECK_INT(started_at(&rated, 20 * SECOND), 10);
  CHECK_INT(statistics_of(rated.queue).next_start_ns, 0);
  end(&rated);
}

static void a_rate_holds_in_each_kind_of_queue(void) {
  for_each_kind(a_burst_starts_at_once_and_the_rest_at_the_rate);
}

/* A third of a second is not a whole number of nanoseconds. */
static void fractions_are_not_lost(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_FIFO, rate_of(3, SECOND, 1));
  enqueue(&rated, 3001);
  drain(&rated);
  for (int64_t step = 1; step <= 3000; step++) {
    int64_t due = (step * SECOND + 2) / 3;
    CHECK_INT(statistics_of(rated.queue).next_start_ns, due);
    CHECK_INT(started_at(&rated, due), step + 1);
  }
  CHECK_INT(rated.last, 1000 * SECOND);
  end(&rated);
}

static void a_rate_can_be_changed(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_CONCURRENT, rate_of(1, 10 * SECOND, 3));
  enqueue(&rated, 100);
  drain(&rated);
  CHECK_INT(rated.started, 3);
  /* The bucket of three is empty. */
  inturn_rate rate = rate_of(1, SECOND, 3);
  CHECK_OK(inturn_queue_set_rate(rated.queue, &rate));
  CHECK_INT(statistics_of(rated.queue).next_start_ns, SECOND);
  CHECK_INT(started_at(&rated, SECOND), 4);
  /* Three of five are missing in the new bucket. */
  rate = rate_of(1, SECOND, 5);
  CHECK_OK(inturn_queue_set_rate(rated.queue, &rate));
  CHECK_INT(started_at(&rated, SECOND), 6);
  rate.max_starts = 0;
  CHECK_OK(inturn_queue_set_rate(rated.queue, &rate));
  CHECK_INT(started_at(&rated, SECOND), 100);
  /* From no rate to one: the bucket is full. */
  rate = rate_of(1, SECOND, 1);
  CHECK_OK(inturn_queue_set_rate(rated.queue, &rate));
  enqueue(&rated, 3);
  CHECK_INT(started_at(&rated, SECOND), 101);
  CHECK_OK(inturn_queue_set_rate(rated.queue, NULL));
  CHECK_INT(started_at(&rated, SECOND), 103);
  end(&rated);
}

/* Nor does what has come back of the next start get lost. */
static void a_rate_that_is_set_again_changes_nothing(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_FIFO, rate_of(1, 100, 1));
  enqueue(&rated, 5);
  drain(&rated);
  for (int i = 1; i <= 50; i++) {
    CHECK_OK(inturn_clock_advance(rated.clock, 9));
    CHECK_OK(inturn_queue_set_rate(rated.queue, &(inturn_rate){1, 1, 100}));
    drain(&rated);
    CHECK_INT(rated.started, 1 + i / 12); /* at the first look after 100 */
  }
  end(&rated);
}

static void attempts_and_not_segments_are_starts(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_ACTOR, rate_of(1, SECOND, 1));
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.retry = &retry;
  job job = JOB("job");
  options.on_end = job_options(&job).on_end;
  options.end_context = &job;
  CHECK_OK(inturn_queue_enqueue_with(rated.queue, &options, work_hold, &job,
                                     NULL, NULL));
  drain(&rated);
  CHECK_OK(inturn_token_resume(job.token, work_hold, &job, NULL));
  drain(&rated);
  CHECK_INT(gate_count(&job.started), 2);
  CHECK_OK(inturn_token_fail(job.token, 1));
  drain(&rated);
  CHECK_INT(gate_count(&job.started), 2);
  CHECK_INT(started_at(&rated, SECOND), 0);
  CHECK_INT(gate_count(&job.started), 3);
  CHECK_OK(inturn_token_finish(job.token));
  drain(&rated);
  end(&rated);
}

/* It is dropped, rather than waited for. */
static void a_segment_passes_a_cancelled_attempt(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_ACTOR, rate_of(1, SECOND, 2));
  inturn_retry retry = INTURN_RETRY_INIT;
  job job = JOB("job"), flaky = JOB("flaky");
  inturn_operation_options options = job_options(&flaky);
  options.retry = &retry;
  job_enqueue(rated.queue, &job, work_hold);
  inturn_operation operation =
      job_enqueue_with(rated.queue, &flaky, work_hold, &options);
  drain(&rated);
  CHECK_OK(inturn_token_fail(flaky.token, 1));
  drain(&rated);
  CHECK_OK(inturn_operation_cancel(operation));
  CHECK_OK(inturn_token_resume(job.token, work_finish, &job, NULL));
  drain(&rated);
  CHECK_INT(gate_count(&job.ended), 1);
  CHECK_OK(inturn_operation_release(operation));
  end(&rated);
}

/* A segment has the queue look at what is next. */
static void what_a_rate_holds_back_has_no_names(void) {
  static const char *const name[] = {"one"};
  rated rated;
  begin(&rated, INTURN_QUEUE_ACTOR, rate_of(1, SECOND, 1));
  stage other = stage_create(INTURN_QUEUE_FIFO);
  job running = JOB("running"), held = JOB("held"), free = JOB("free");
  job_enqueue(rated.queue, &running, work_hold);
  inturn_operation_options options = job_options(&held);
  options.exclusive = name;
  options.exclusive_count = 1;
  job_enqueue_as(rated.queue, &held, work_finish, &options);
  drain(&rated);
  CHECK_OK(inturn_token_resume(running.token, work_hold, &running, NULL));
  drain(&rated);
  CHECK_INT(gate_count(&running.started), 2);
  options.end_context = &free;
  job_enqueue_as(other.queue, &free, work_finish, &options);
  stage_drain(&other);
  CHECK_INT(gate_count(&free.ended), 1);
  CHECK_INT(gate_count(&held.started), 0);
  stage_destroy(&other);
  end(&rated);
}

static void what_is_cancelled_takes_nothing_from_the_bucket(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_FIFO, rate_of(1, SECOND, 1));
  enqueue(&rated, 5);
  CHECK_OK(inturn_queue_cancel_all(rated.queue));
  enqueue(&rated, 1);
  drain(&rated);
  CHECK_INT(rated.started, 1);
  end(&rated);
}

static void a_rate_makes_sense(void) {
  static const inturn_rate wrong[] = {
      {1, 1, 0}, {1, 1, -1}, {1, 2, INT64_MAX}, {2, 0, INT64_MAX}};
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    options.rate = wrong[i];
    CHECK_STATUS(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue),
                 INTURN_E_INVALID_ARGUMENT);
  }
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_STATUS(inturn_queue_set_rate(queue, &wrong[i]),
                 INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_STATUS(inturn_queue_set_rate(queue, NULL), INTURN_E_STALE);
}

/* With the library's own clock and pool. */
static void a_rate_needs_nobody_to_look_at_the_clock(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  inturn_rate rate = rate_of(1000, SECOND, 1);
  CHECK_OK(inturn_queue_set_rate(queue, &rate));
  int64_t before, after;
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &before));
  for (int i = 0; i < 21; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, -1));
  CHECK_OK(inturn_clock_now((inturn_clock){0}, &after));
  CHECK(after - before >= 20 * SECOND / 1000);
  CHECK_OK(inturn_queue_destroy(queue));
}

/* First the view, and then the rate. */
static void a_hidden_view_starts_nothing(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_INTERACTION, rate_of(1, SECOND, 1));
  enqueue(&rated, 2);
  drain(&rated);
  CHECK_OK(inturn_queue_view_will_disappear(rated.queue));
  CHECK_INT(started_at(&rated, 2 * SECOND), 1);
  CHECK_INT(statistics_of(rated.queue).next_start_ns, 0);
  CHECK_OK(inturn_queue_view_did_appear(rated.queue));
  CHECK_INT(started_at(&rated, 2 * SECOND), 2);
  end(&rated);
}

static inturn_verdict wants(void *context) {
  (void)context;
  return INTURN_START;
}

/* The start itself empties the bucket. */
static void one_with_a_condition_starts_once(void) {
  rated rated;
  begin(&rated, INTURN_QUEUE_INTERACTION, rate_of(1, SECOND, 1));
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.condition = wants;
  for (int i = 0; i < 2; i++)
    CHECK_OK(inturn_queue_enqueue_with(rated.queue, &options, count, &rated,
                                       NULL, NULL));
  drain(&rated);
  CHECK_INT(rated.started, 1);
  CHECK_INT(started_at(&rated, SECOND), 2);
  end(&rated);
}

PROGRAM(rates, TEST(one_with_a_condition_starts_once),
        TEST(a_rate_holds_in_each_kind_of_queue), TEST(fractions_are_not_lost),
        TEST(a_rate_can_be_changed),
        TEST(a_rate_that_is_set_again_changes_nothing),
        TEST(attempts_and_not_segments_are_starts),
        TEST(a_segment_passes_a_cancelled_attempt),
        TEST(what_a_rate_holds_back_has_no_names),
        TEST(what_is_cancelled_takes_nothing_from_the_bucket),
        TEST(a_rate_makes_sense),
        TEST(a_rate_needs_nobody_to_look_at_the_clock),
        TEST(a_hidden_view_starts_nothing))
