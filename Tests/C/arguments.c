/*
 * arguments.c - a call that refuses an argument reports which one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

static reports seen;

/* Checks that a call is refused, and that this is reported once. */
#define CHECK_REFUSED(call, text)                                              \
  do {                                                                         \
    reports_begin(&seen);                                                      \
    inturn_status status = (call);                                             \
    reports_end();                                                             \
    CHECK_STATUS(status, INTURN_E_INVALID_ARGUMENT);                           \
    CHECK_INT(gate_count(&seen.told), 1);                                      \
    CHECK_INT(seen.kind, INTURN_REPORT_INVALID_ARGUMENT);                      \
    CHECK_TEXT(seen.message, text);                                            \
  } while (0)

static void options_of_a_queue_are_named(void) {
  inturn_queue queue = {0};
#define CHECK_FIELD(field, wrong, text)                                        \
  do {                                                                         \
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;                  \
    options.field = wrong;                                                     \
    CHECK_REFUSED(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue),    \
                  "inturn_queue_create refuses options->" text);               \
  } while (0)
  CHECK_FIELD(size, 3, "size");
  CHECK_FIELD(label, "\xff", "label");
  CHECK_FIELD(max_concurrent, 2, "max_concurrent");
  CHECK_FIELD(settle_ns, -2, "settle_ns");
  CHECK_FIELD(gap_ns, INT64_MIN, "gap_ns");
  CHECK_FIELD(rate.max_starts, 1, "rate");
#undef CHECK_FIELD
  CHECK_REFUSED(inturn_queue_create((inturn_queue_kind)9, NULL, &queue),
                "inturn_queue_create refuses kind");
  CHECK_REFUSED(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, NULL),
                "inturn_queue_create refuses out_queue");
  CHECK(queue.bits == 0);
}

static void options_of_an_operation_are_named(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  gate destroyed = GATE_INIT;
#define CHECK_FIELD(field, wrong, text)                                        \
  do {                                                                         \
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;          \
    options.field = wrong;                                                     \
    CHECK_REFUSED(inturn_queue_enqueue_with(stage.queue, &options, never_work, \
                                            &destroyed, count_destroy, NULL),  \
                  "inturn_queue_enqueue_with refuses options->" text);         \
  } while (0)
  inturn_retry retry = INTURN_RETRY_INIT;
  CHECK_FIELD(size, 1, "size");
  CHECK_FIELD(label, "\xff", "label");
  CHECK_FIELD(max_wait_ns, -1, "max_wait_ns");
  CHECK_FIELD(max_run_ns, -1, "max_run_ns");
  CHECK_FIELD(stall_ns, -1, "stall_ns");
  CHECK_FIELD(cancel_grace_ns, -1, "cancel_grace_ns");
  CHECK_FIELD(max_run_policy, (inturn_max_run_policy)7, "max_run_policy");
  CHECK_FIELD(after_policy, (inturn_after_policy)7, "after_policy");
  CHECK_FIELD(after_count, 1, "after_count");
  CHECK_FIELD(key, "\xff", "key");
  CHECK_FIELD(join, true, "join, without a key");
  CHECK_FIELD(exclusive_count, SIZE_MAX, "exclusive");
  retry.factor = 0.5;
  CHECK_FIELD(retry, &retry, "retry->factor");
  retry.jitter = 2;
  CHECK_FIELD(retry, &retry, "retry->jitter");
  retry.delay_ns = -1;
  CHECK_FIELD(retry, &retry, "retry->delay_ns");
  retry.size = 2;
  CHECK_FIELD(retry, &retry, "retry->size");
#undef CHECK_FIELD
  CHECK_INT(gate_count(&destroyed), 16);
  CHECK_REFUSED(inturn_queue_enqueue(stage.queue, NULL, NULL, NULL, NULL),
                "inturn_queue_enqueue refuses work");
  CHECK_REFUSED(inturn_queue_suspend_for(stage.queue, NULL),
                "inturn_queue_suspend_for refuses reason");
  stage_destroy(&stage);
}

static void a_batchs_options_are_named(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_batch_item item = {never_work, NULL, NULL};
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  options.enough = 1;
  CHECK_REFUSED(
      inturn_queue_enqueue_batch(stage.queue, &options, &item, 1, NULL),
      "inturn_queue_enqueue_batch refuses options->enough");
  options.enough = 0;
  each.max_wait_ns = -1;
  options.operation = &each;
  CHECK_REFUSED(
      inturn_queue_enqueue_batch(stage.queue, &options, &item, 1, NULL),
      "inturn_queue_enqueue_batch refuses options->operation->max_wait_ns");
  item.work = NULL;
  CHECK_REFUSED(inturn_queue_enqueue_batch(stage.queue, NULL, &item, 1, NULL),
                "inturn_queue_enqueue_batch refuses items[].work");
  stage_destroy(&stage);
}

static void other_arguments_are_named(void) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  inturn_executor executor;
  options.workers = 2;
  options.max_workers = 1;
  CHECK_REFUSED(inturn_executor_create(&options, &executor),
                "inturn_executor_create refuses options->max_workers");
  inturn_datum datum = {0};
  inturn_value value;
  CHECK_REFUSED(inturn_value_create(NULL, &datum, &value),
                "inturn_value_create refuses initial->type");
  datum.type = INTURN_DATUM_INTEGER;
  CHECK_OK(inturn_value_create(NULL, &datum, &value));
  CHECK_REFUSED(inturn_value_observe(value, NULL, NULL, NULL, NULL, NULL),
                "inturn_value_observe refuses observer");
  CHECK_REFUSED(inturn_value_exchange(value, &datum, NULL),
                "inturn_value_exchange refuses out_before");
  CHECK_REFUSED(inturn_value_exchange(value, NULL, &datum),
                "inturn_value_exchange refuses datum");
  CHECK_OK(inturn_value_destroy(value));
  CHECK_REFUSED(inturn_clock_create_manual(NULL),
                "inturn_clock_create_manual refuses out_clock");
  CHECK_REFUSED(inturn_trace_start((size_t)-1),
                "inturn_trace_start refuses bytes");
}

PROGRAM(arguments, TEST(options_of_a_queue_are_named),
        TEST(options_of_an_operation_are_named),
        TEST(a_batchs_options_are_named), TEST(other_arguments_are_named))
