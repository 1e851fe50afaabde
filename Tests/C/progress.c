/*
 * progress.c - an operation's progress.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#define CHECK_PROGRESS(operation, completed, total)                            \
  do {                                                                         \
    int64_t completed_ = -1, total_ = -1;                                      \
    CHECK_OK(inturn_operation_get_progress(operation, &completed_, &total_));  \
    CHECK_INT(completed_, completed);                                          \
    CHECK_INT(total_, total);                                                  \
  } while (0)

static void check_told(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  CHECK_PROGRESS(operation, 0, 0);
  stage_drain(&stage);
  CHECK_PROGRESS(operation, 0, 0);
  CHECK_OK(inturn_token_set_progress(job.token, 3, 10));
  CHECK_PROGRESS(operation, 3, 10);
  CHECK_OK(inturn_token_set_progress(job.token, 1, 10));
  CHECK_PROGRESS(operation, 1, 10);
  CHECK_OK(inturn_token_set_progress(job.token, 10, 10));
  stage_finish(&stage, &job);
  CHECK_PROGRESS(operation, 10, 10);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void it_is_what_the_token_has_said_and_stays_after_the_end(void) {
  for_each_kind(check_told);
}

static void a_total_of_zero_means_not_known(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  stage_drain(&stage);
  CHECK_OK(inturn_token_set_progress(job.token, 500, 0));
  CHECK_PROGRESS(operation, 500, 0);
  CHECK_OK(inturn_token_set_progress(job.token, 0, 0));
  CHECK_PROGRESS(operation, 0, 0);
  CHECK_OK(inturn_token_set_progress(job.token, INT64_MAX, INT64_MAX));
  CHECK_PROGRESS(operation, INT64_MAX, INT64_MAX);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void numbers_that_make_no_sense_are_refused(void) {
  static const int64_t wrong[][2] = {{-1, 0}, {-1, 1},
                                     {0, -1}, {INT64_MIN, INT64_MAX},
                                     {2, 1},  {INT64_MAX, INT64_MAX - 1},
                                     {-2, -1}};
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  stage_drain(&stage);
  CHECK_OK(inturn_token_set_progress(job.token, 4, 5));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_STATUS(inturn_token_set_progress(job.token, wrong[i][0], wrong[i][1]),
                 INTURN_E_INVALID_ARGUMENT);
  CHECK_PROGRESS(operation, 4, 5);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void the_out_parameters_may_be_null(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  int64_t number = -1;
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  stage_drain(&stage);
  CHECK_OK(inturn_token_set_progress(job.token, 4, 5));
  CHECK_OK(inturn_operation_get_progress(operation, NULL, NULL));
  CHECK_OK(inturn_operation_get_progress(operation, &number, NULL));
  CHECK_INT(number, 4);
  CHECK_OK(inturn_operation_get_progress(operation, NULL, &number));
  CHECK_INT(number, 5);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_STATUS(inturn_operation_get_progress(operation, &number, &number),
               INTURN_E_STALE);
  CHECK_INT(number, 5);
  stage_destroy(&stage);
}

static void check_ended(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  stage_drain(&stage);
  CHECK_OK(inturn_token_set_progress(job.token, 1, 2));
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_STATUS(inturn_token_set_progress(job.token, 2, 2),
               INTURN_E_ALREADY_FINISHED);
  stage_drain(&stage);
  CHECK_STATUS(inturn_token_set_progress(job.token, 2, 2),
               INTURN_E_ALREADY_FINISHED);
  CHECK_PROGRESS(operation, 1, 2);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void an_ended_operation_comes_no_further(void) {
  for_each_kind(check_ended);
}

static void check_cut_off(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  options.max_run_ns = 10;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &job, work_hold, &options);
  stage_drain(&stage);
  stage_advance(&stage, 10);
  CHECK_STATUS(inturn_token_set_progress(job.token, 2, 2),
               INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
  CHECK_STATUS(inturn_token_set_progress(job.token, 2, 2),
               INTURN_E_ALREADY_FINISHED);
}

static void one_that_was_cut_off_comes_no_further(void) {
  for_each_kind(check_cut_off);
}

/* Operations without options or handle, whose slots are reused. */
static int64_t tokens_seen;
static inturn_token last_token;

static void say_and_finish(void *context, inturn_token token) {
  CHECK(context == &tokens_seen);
  CHECK_OK(inturn_token_set_progress(token, ++tokens_seen, 0));
  if (last_token.bits != 0)
    CHECK_STATUS(inturn_token_set_progress(last_token, 1, 0),
                 INTURN_E_ALREADY_FINISHED);
  last_token = token;
  CHECK_OK(inturn_token_finish(token));
}

static void check_plain(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  tokens_seen = 0;
  last_token.bits = 0;
  for (int i = 0; i < 100; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, say_and_finish, &tokens_seen,
                                  NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(tokens_seen, 100);
  CHECK_INT(statistics_of(stage.queue).finished, 100);
  stage_destroy(&stage);
}

static void one_without_a_handle_may_say_it_too(void) {
  for_each_kind(check_plain);
}

static void check_next_has_none(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, 1);
  job first = JOB("a"), second = JOB("b");
  job_enqueue(stage.queue, &first, work_hold);
  stage_drain(&stage);
  CHECK_OK(inturn_token_set_progress(first.token, 9, 9));
  stage_finish(&stage, &first);
  inturn_operation operation =
      job_enqueue_kept(stage.queue, &second, work_hold);
  stage_drain(&stage);
  CHECK_PROGRESS(operation, 0, 0);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void the_next_operation_begins_at_zero(void) {
  for_each_kind(check_next_has_none);
}

static void a_further_attempt_says_it_with_its_own_token(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_retry retry = INTURN_RETRY_INIT;
  inturn_operation_options options = job_options(&job);
  options.retry = &retry;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &job, work_hold, &options);
  stage_drain(&stage);
  inturn_token first = job.token;
  CHECK_OK(inturn_token_set_progress(first, 7, 10));
  stage_fail(&stage, &job);
  CHECK_STATUS(inturn_token_set_progress(first, 8, 10),
               INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_token_set_progress(job.token, 1, 10));
  CHECK_PROGRESS(operation, 1, 10);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

/* One thread sets the progress, another asks: each answer was set once. */
static inturn_operation watched;
static atomic_bool is_over;

static void tell(void *context, inturn_token token) {
  (void)context;
  for (int64_t i = 1; i <= scaled(200000); i++)
    CHECK_OK(inturn_token_set_progress(token, i, 2 * i));
  just_finish(NULL, token);
  atomic_store(&is_over, true);
}

static void a_pair_is_read_as_it_was_said(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  int64_t completed = 0, total = 0, before = 0;
  atomic_store(&is_over, false);
  CHECK_OK(inturn_queue_enqueue(queue, tell, NULL, NULL, &watched));
  while (!atomic_load(&is_over)) {
    CHECK_OK(inturn_operation_get_progress(watched, &completed, &total));
    CHECK_INT(total, 2 * completed);
    CHECK(completed >= before);
    before = completed;
  }
  CHECK_PROGRESS(watched, scaled(200000), 2 * scaled(200000));
  CHECK_OK(inturn_operation_release(watched));
  drain_and_destroy(queue);
}

PROGRAM(progress, TEST(it_is_what_the_token_has_said_and_stays_after_the_end),
        TEST(a_total_of_zero_means_not_known),
        TEST(numbers_that_make_no_sense_are_refused),
        TEST(the_out_parameters_may_be_null),
        TEST(an_ended_operation_comes_no_further),
        TEST(one_that_was_cut_off_comes_no_further),
        TEST(one_without_a_handle_may_say_it_too),
        TEST(the_next_operation_begins_at_zero),
        TEST(a_further_attempt_says_it_with_its_own_token),
        TEST(a_pair_is_read_as_it_was_said))
