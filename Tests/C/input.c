/*
 * input.c - callers' mistakes, other than with handles: each mistake has a
 * status, and each context is destroyed exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Strings that are not UTF-8. */
static const char *const not_utf8[] = {
    "\xff",             /* no such byte */
    "a\x80",            /* a continuation of nothing */
    "\xc0\x80",         /* overlong */
    "\xe2\x82",         /* cut short */
    "\xed\xa0\x80",     /* a surrogate */
    "\xf4\x90\x80\x80", /* past the last character */
    "\xf8\x88\x80\x80\x80",
};
static const size_t not_utf8_count = sizeof not_utf8 / sizeof *not_utf8;

static const uint32_t wrong_sizes[] = {4, 1, 8, 100000, UINT32_MAX};
static const size_t wrong_size_count = sizeof wrong_sizes / sizeof *wrong_sizes;

static const int unknown_numbers[] = {5, 99, -1, INT_MAX, INT_MIN};
static const size_t unknown_count =
    sizeof unknown_numbers / sizeof *unknown_numbers;

static void check_queue_options(inturn_queue_kind kind,
                                inturn_queue_options options,
                                inturn_status expected) {
  inturn_queue queue = {77};
  CHECK_STATUS(inturn_queue_create(kind, &options, &queue), expected);
  if (expected == INTURN_OK)
    CHECK_OK(inturn_queue_destroy(queue));
  else
    CHECK_INT(queue.bits, 77);
}

/* Enqueues with these options, which are refused, and checks that both contexts
   are destroyed before the call returns. */
static void check_refused(inturn_operation_options options,
                          inturn_status expected) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate ends = GATE_INIT, contexts = GATE_INIT;
  inturn_operation operation = {77};
  options.on_end = never_end;
  options.end_context = &ends;
  options.end_destroy = count_destroy;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &contexts, count_destroy, &operation),
               expected);
  CHECK_INT(gate_count(&ends), 1);
  CHECK_INT(gate_count(&contexts), 1);
  CHECK_INT(operation.bits, 77);
  CHECK_INT(statistics_of(stage.queue).pending, 0);
  CHECK_INT(stage_drain(&stage), 0);
  stage_destroy(&stage);
}

/* The same for an executor's options, which have the wake context. */
static void check_refused_executor(inturn_executor_options options) {
  gate contexts = GATE_INIT;
  inturn_executor executor = {77};
  options.wake = never_wake;
  options.wake_context = &contexts;
  options.wake_destroy = count_destroy;
  CHECK_STATUS(inturn_executor_create(&options, &executor),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&contexts), 1);
  CHECK_INT(executor.bits, 77);
}

static void a_struct_of_a_wrong_size_is_refused_and_not_touched(void) {
  for (size_t i = 0; i < wrong_size_count; i++) {
    inturn_executor_options executor = INTURN_EXECUTOR_OPTIONS_INIT;
    inturn_queue_options queue = INTURN_QUEUE_OPTIONS_INIT;
    inturn_operation_options operation = INTURN_OPERATION_OPTIONS_INIT;
    inturn_executor out;
    gate inside = GATE_INIT, context = GATE_INIT;
    stage stage = stage_create(INTURN_QUEUE_FIFO);
    executor.size = queue.size = operation.size = wrong_sizes[i];
    executor.wake_context = operation.end_context = &inside;
    executor.wake_destroy = operation.end_destroy = count_destroy;
    CHECK_STATUS(inturn_executor_create(&executor, &out),
                 INTURN_E_INVALID_ARGUMENT);
    check_queue_options(INTURN_QUEUE_FIFO, queue, INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &operation, never_work,
                                           &context, count_destroy, NULL),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_INT(gate_count(&inside), 0);
    CHECK_INT(gate_count(&context), 1);
    stage_destroy(&stage);
  }
}

static void statistics_of_a_wrong_size_are_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  for (size_t i = 0; i < wrong_size_count; i++) {
    inturn_queue_statistics queue = INTURN_QUEUE_STATISTICS_INIT;
    inturn_library_statistics library = INTURN_LIBRARY_STATISTICS_INIT;
    queue.size = library.size = wrong_sizes[i];
    queue.pending = library.queues = 77;
    CHECK_STATUS(inturn_queue_get_statistics(stage.queue, &queue),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_library_get_statistics(&library),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_INT(queue.pending, 77);
    CHECK_INT(library.queues, 77);
  }
  stage_destroy(&stage);
}

/* Room for one number, followed by a page that cannot be read. */
static uint32_t *number_before_forbidden_page(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int zero = open("/dev/zero", O_RDWR);
  char *pages =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
  CHECK(pages != MAP_FAILED);
  CHECK_INT(mprotect(pages + page, page, PROT_NONE), 0);
  CHECK_INT(close(zero), 0);
  return (uint32_t *)(void *)(pages + page - sizeof(uint32_t));
}

static void a_struct_is_read_no_further_than_its_size(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_executor executor;
  inturn_queue queue;
  uint32_t *size = number_before_forbidden_page();
  void *options = size;
  for (*size = 1; *size <= 4; ++*size) {
    CHECK_STATUS(inturn_executor_create(options, &executor),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_queue_create(INTURN_QUEUE_FIFO, options, &queue),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, options, never_work,
                                           NULL, NULL, NULL),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_queue_get_statistics(stage.queue, options),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_library_get_statistics(options),
                 INTURN_E_INVALID_ARGUMENT);
  }
  stage_destroy(&stage);
}

static void null_options_are_the_defaults(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_executor executor;
  inturn_queue queue;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_OK(inturn_executor_drain(executor, 0, NULL));
  CHECK_OK(inturn_executor_destroy(executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_CONCURRENT, NULL, &queue));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, NULL, just_finish, NULL, NULL,
                                     NULL));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).finished, 1);
  stage_destroy(&stage);
}

static void a_kind_of_queue_that_there_is_not_is_refused(void) {
  const inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  check_queue_options((inturn_queue_kind)0, options, INTURN_E_INVALID_ARGUMENT);
  for (size_t i = 0; i < unknown_count; i++)
    check_queue_options((inturn_queue_kind)unknown_numbers[i], options,
                        INTURN_E_INVALID_ARGUMENT);
}

static void a_policy_that_there_is_not_is_refused(void) {
  for (size_t i = 0; i < unknown_count; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.max_run_policy = (inturn_max_run_policy)unknown_numbers[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
  }
}

static void negative_times_are_refused(void) {
  static const int64_t negative[] = {-1, -2, INT64_MIN};
  for (int i = 0; i < 3; i++) {
    inturn_queue_options queue = INTURN_QUEUE_OPTIONS_INIT;
    const inturn_status expected =
        negative[i] == INTURN_NO_DELAY ? INTURN_OK : INTURN_E_INVALID_ARGUMENT;
    queue.settle_ns = negative[i];
    check_queue_options(INTURN_QUEUE_INTERACTION, queue, expected);
    queue.settle_ns = 0;
    queue.gap_ns = negative[i];
    check_queue_options(INTURN_QUEUE_INTERACTION, queue, expected);
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.max_wait_ns = negative[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
    options.max_wait_ns = 0;
    options.max_run_ns = negative[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
    options.max_run_ns = 0;
    options.stall_ns = negative[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
    options.stall_ns = 0;
    options.cancel_grace_ns = negative[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
  }
}

static void numbers_out_of_range_are_refused(void) {
  inturn_executor_options executor = INTURN_EXECUTOR_OPTIONS_INIT;
  executor.workers = 1025;
  check_refused_executor(executor);
  executor.workers = UINT32_MAX;
  check_refused_executor(executor);
  executor.workers = 0;
  executor.host_threads = 1025;
  check_refused_executor(executor);
  executor.workers = executor.host_threads = 1;
  check_refused_executor(executor);
  inturn_queue_options queue = INTURN_QUEUE_OPTIONS_INIT;
  queue.max_concurrent = 2;
  check_queue_options(INTURN_QUEUE_FIFO, queue, INTURN_E_INVALID_ARGUMENT);
  check_queue_options(INTURN_QUEUE_ACTOR, queue, INTURN_E_INVALID_ARGUMENT);
  check_queue_options(INTURN_QUEUE_INTERACTION, queue,
                      INTURN_E_INVALID_ARGUMENT);
}

static void the_largest_numbers_are_fine(void) {
  inturn_queue_options queue = INTURN_QUEUE_OPTIONS_INIT;
  queue.max_concurrent = 1;
  queue.capacity = UINT64_MAX;
  queue.settle_ns = INT64_MAX;
  queue.gap_ns = INT64_MAX;
  check_queue_options(INTURN_QUEUE_FIFO, queue, INTURN_OK);
  check_queue_options(INTURN_QUEUE_ACTOR, queue, INTURN_OK);
  check_queue_options(INTURN_QUEUE_INTERACTION, queue, INTURN_OK);
  queue.max_concurrent = UINT32_MAX;
  check_queue_options(INTURN_QUEUE_CONCURRENT, queue, INTURN_OK);
}

/* Counts that no caller's array can have. */
static const size_t absurd_counts[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 2,
                                       SIZE_MAX / 8};

static void counts_that_nobody_can_mean_are_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  const char *const name = "a";
  inturn_batch_item items[2] = {{just_finish, NULL, NULL},
                                {just_finish, NULL, NULL}};
  const inturn_batch_edge edge = {1, 0};
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  for (size_t i = 0; i < sizeof absurd_counts / sizeof *absurd_counts; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    options.after = &operation;
    options.after_count = absurd_counts[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
    options.label = "not the short way";
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
    inturn_batch_options batch = INTURN_BATCH_OPTIONS_INIT;
    batch.operation = &options;
    CHECK_STATUS(
        inturn_queue_enqueue_batch(stage.queue, &batch, items, 2, NULL),
        INTURN_E_INVALID_ARGUMENT);
    options = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
    options.exclusive = &name;
    options.exclusive_count = absurd_counts[i];
    check_refused(options, INTURN_E_INVALID_ARGUMENT);
    batch.operation = NULL;
    batch.edges = &edge;
    batch.edge_count = absurd_counts[i];
    CHECK_STATUS(
        inturn_queue_enqueue_batch(stage.queue, &batch, items, 2, NULL),
        INTURN_E_INVALID_ARGUMENT);
    batch.edge_count = 1;
    batch.policy = INTURN_BATCH_ENOUGH;
    batch.enough = absurd_counts[i];
    CHECK_STATUS(
        inturn_queue_enqueue_batch(stage.queue, &batch, items, 2, NULL),
        INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_queue_enqueue_batch(stage.queue, NULL, items,
                                            absurd_counts[i], NULL),
                 INTURN_E_INVALID_ARGUMENT);
  }
  stage_drain(&stage);
  stage_finish(&stage, &job);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_INT(statistics_of(stage.queue).finished, 1);
  stage_destroy(&stage);
}

static void a_list_may_have_any_room(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation_info infos[2] = {INTURN_OPERATION_INFO_INIT};
  CHECK_OK(inturn_queue_suspend(stage.queue));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  for (size_t i = 0; i < sizeof absurd_counts / sizeof *absurd_counts; i++) {
    size_t count = 77;
    CHECK_OK(inturn_queue_list(stage.queue, infos, absurd_counts[i], &count));
    CHECK_INT(count, 1);
  }
  stage_resume(&stage);
  stage_destroy(&stage);
}

/* Data, progress and times at the ends of their ranges. */
static void numbers_at_the_ends_of_their_ranges_are_checked(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  inturn_value value;
  int64_t sum, now;
  inturn_datum datum = INTURN_INTEGER(INT64_MAX);
  CHECK_OK(inturn_value_create(NULL, &datum, &value));
  CHECK_STATUS(inturn_value_add(value, 1, &sum), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_value_add(value, INT64_MIN, &sum));
  CHECK_INT(sum, -1);
  CHECK_STATUS(inturn_value_add(value, INT64_MIN, &sum),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_value_destroy(value));
  for (size_t i = 0; i < 2; i++) {
    inturn_datum bytes = INTURN_BYTES("a", absurd_counts[i]);
    CHECK_STATUS(inturn_value_create(NULL, &bytes, &value),
                 INTURN_E_INVALID_ARGUMENT);
    bytes.type = INTURN_DATUM_STRING;
    CHECK_STATUS(inturn_value_create(NULL, &bytes, &value),
                 INTURN_E_INVALID_ARGUMENT);
  }
  /* The longest possible times: nothing happens. */
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = retry.max_delay_ns = INT64_MAX;
  retry.factor = 1e300;
  options.retry = &retry;
  options.priority = INT32_MIN;
  options.max_wait_ns = options.max_run_ns = INT64_MAX;
  options.stall_ns = options.cancel_grace_ns = INT64_MAX;
  inturn_operation operation =
      job_enqueue_with(stage.queue, &job, work_fail, &options);
  CHECK_OK(inturn_clock_advance(stage.clock, 1));
  stage_drain(&stage);
  CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_clock_advance(stage.clock, INT64_MAX),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_clock_advance(stage.clock, -1),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_clock_advance(stage.clock, INT64_MIN),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_clock_now(stage.clock, &now));
  CHECK_INT(now, 1);
  CHECK_INT(gate_count(&job.started), 1);
  CHECK_OK(inturn_operation_cancel(operation));
  stage_drain(&stage);
  CHECK_OK(inturn_operation_wait(operation, INT64_MIN, NULL));
  CHECK_OK(inturn_queue_drain(stage.queue, INT64_MAX));
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_pool_has_no_wake_callback(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.workers = 1;
  check_refused_executor(options);
}

static void what_a_kind_of_queue_cannot_do_is_unsupported(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.priority = 1;
  check_refused(options, INTURN_E_UNSUPPORTED);
  options.priority = INT32_MIN;
  check_refused(options, INTURN_E_UNSUPPORTED);
  options.priority = 0;
  options.barrier = true;
  check_refused(options, INTURN_E_UNSUPPORTED);
  options.barrier = false;
  options.urgent = true;
  check_refused(options, INTURN_E_UNSUPPORTED);
}

static void labels_that_are_not_utf8_are_refused(void) {
  for (size_t i = 0; i < not_utf8_count; i++) {
    inturn_executor_options executor = INTURN_EXECUTOR_OPTIONS_INIT;
    executor.label = not_utf8[i];
    check_refused_executor(executor);
    inturn_queue_options queue = INTURN_QUEUE_OPTIONS_INIT;
    queue.label = not_utf8[i];
    check_queue_options(INTURN_QUEUE_FIFO, queue, INTURN_E_INVALID_ARGUMENT);
    inturn_operation_options operation = INTURN_OPERATION_OPTIONS_INIT;
    operation.label = not_utf8[i];
    check_refused(operation, INTURN_E_INVALID_ARGUMENT);
  }
}

static void a_label_may_be_a_million_bytes_long(void) {
  enum { LENGTH = 1000000 };
  char *label = malloc(LENGTH + 1);
  CHECK(label != NULL);
  memset(label, 'x', LENGTH);
  label[LENGTH] = '\0';
  inturn_queue_options queue = INTURN_QUEUE_OPTIONS_INIT;
  queue.label = label;
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, queue);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_operation operation;
  options.label = label;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, just_finish, NULL,
                                     NULL, &operation));
  stage_drain(&stage);
  CHECK(strcmp(end_of(operation).label, label) == 0);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
  inturn_executor_options executor = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor out;
  executor.label = label;
  CHECK_OK(inturn_executor_create(&executor, &out));
  CHECK_OK(inturn_executor_destroy(out));
  free(label);
}

static void work_that_is_null_is_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate context = GATE_INIT;
  CHECK_STATUS(
      inturn_queue_enqueue(stage.queue, NULL, &context, count_destroy, NULL),
      INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&context), 1);
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, NULL, NULL, &context,
                                         count_destroy, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&context), 2);
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, NULL, NULL, NULL, NULL),
               INTURN_E_INVALID_ARGUMENT);
  stage_destroy(&stage);
}

static void an_out_parameter_that_is_needed_is_not_null(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  inturn_operation operation = job_enqueue_kept(stage.queue, &job, work_hold);
  stage_drain(&stage);
  const inturn_status statuses[] = {
      inturn_executor_create(NULL, NULL),
      inturn_executor_main(NULL),
      inturn_executor_pool(NULL),
      inturn_executor_fd(stage.executor, NULL),
      inturn_queue_create(INTURN_QUEUE_FIFO, NULL, NULL),
      inturn_operation_get_state(operation, NULL),
      inturn_token_is_cancelled(job.token, NULL),
      inturn_clock_create_manual(NULL),
      inturn_clock_now(stage.clock, NULL),
      inturn_queue_get_statistics(stage.queue, NULL),
      inturn_library_get_statistics(NULL),
  };
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
    CHECK_STATUS(statuses[i], INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_operation_release(operation));
  stage_destroy(&stage);
}

static void a_context_is_destroyed_once_by_each_refusal(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate context = GATE_INIT;
  inturn_executor_options wake = INTURN_EXECUTOR_OPTIONS_INIT;
  wake.wake = never_wake;
  wake.wake_context = &context;
  wake.wake_destroy = count_destroy;
  CHECK_STATUS(inturn_executor_create(&wake, NULL), INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(gate_count(&context), 1);
  CHECK_OK(inturn_queue_close(stage.queue));
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.end_context = &context;
  options.end_destroy = count_destroy;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &context, count_destroy, NULL),
               INTURN_E_CLOSED);
  CHECK_INT(gate_count(&context), 3);
  stage_destroy(&stage);
}

PROGRAM(input, TEST(a_struct_of_a_wrong_size_is_refused_and_not_touched),
        TEST(statistics_of_a_wrong_size_are_refused),
        TEST(a_struct_is_read_no_further_than_its_size),
        TEST(null_options_are_the_defaults),
        TEST(a_kind_of_queue_that_there_is_not_is_refused),
        TEST(a_policy_that_there_is_not_is_refused),
        TEST(negative_times_are_refused),
        TEST(numbers_out_of_range_are_refused),
        TEST(the_largest_numbers_are_fine),
        TEST(counts_that_nobody_can_mean_are_refused),
        TEST(a_list_may_have_any_room),
        TEST(numbers_at_the_ends_of_their_ranges_are_checked),
        TEST(a_pool_has_no_wake_callback),
        TEST(what_a_kind_of_queue_cannot_do_is_unsupported),
        TEST(labels_that_are_not_utf8_are_refused),
        TEST(a_label_may_be_a_million_bytes_long),
        TEST(work_that_is_null_is_refused),
        TEST(an_out_parameter_that_is_needed_is_not_null),
        TEST(a_context_is_destroyed_once_by_each_refusal))
