/*
 * handle_calls.c - see handle_calls.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "handle_calls.h"

/* Out parameters, which refused calls do not write. */
typedef struct outputs {
  inturn_operation operation;
  inturn_queue queue;
  inturn_operation_state state;
  inturn_end end;
  inturn_queue_statistics statistics;
  inturn_operation_info info;
  size_t count;
  uint32_t calls;
  inturn_taken taken;
  int64_t now;
  int64_t completed, total;
  inturn_datum datum;
  inturn_observation observation;
  inturn_value value;
  double real;
  int fd;
  void *data;
  unsigned char flag; /* a bool with arbitrary bytes */
} outputs;

static const inturn_token no_token = {0};
static const inturn_queue no_queue = {0};
static outputs out;
static gate destroyed = GATE_INIT;

static const inturn_operation_options with_end = {
    .size = sizeof with_end,
    .on_end = never_end,
    .end_context = &destroyed,
    .end_destroy = count_destroy,
};

static inturn_status create_queue(inturn_queue_options options) {
  return inturn_queue_create(INTURN_QUEUE_FIFO, &options, &out.queue);
}

static inturn_status create_on_executor(inturn_executor executor) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  return create_queue(options);
}

static inturn_status create_with_clock(inturn_clock clock) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.clock = clock;
  return create_queue(options);
}

static inturn_status move_to_pool(inturn_queue queue) {
  inturn_executor pool;
  CHECK_OK(inturn_executor_pool(&pool));
  return inturn_queue_set_executor(queue, pool);
}

static inturn_status is_cancelled_into_flag(inturn_token token) {
  return inturn_token_is_cancelled(token, (bool *)&out.flag);
}

static const inturn_datum five = INTURN_INTEGER(5);

static inturn_status get_boolean_into_flag(inturn_value value) {
  return inturn_value_get_boolean(value, (bool *)&out.flag);
}

static inturn_status compare_exchange_into_flag(inturn_value value) {
  return inturn_value_compare_exchange(value, &five, &five, (bool *)&out.flag,
                                       &out.datum);
}

static void never_change(void *context, const inturn_change *change) {
  (void)context, (void)change;
  FAIL("a refused observer is told of a change");
}

static void never_report(void *context, const inturn_report *report) {
  (void)context, (void)report;
  FAIL("a refused call has told something");
}

static bool never_predicate(void *context, const inturn_datum *datum) {
  (void)context, (void)datum;
  FAIL("a refused predicate is asked");
}

static inturn_status observe(inturn_observe_options options) {
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &five, &value));
  inturn_status status =
      inturn_value_observe(value, &options, never_change, &destroyed,
                           count_destroy, &out.observation);
  CHECK_OK(inturn_value_destroy(value));
  return status;
}

static inturn_status observe_on_queue(inturn_queue queue) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  options.queue = queue;
  return observe(options);
}

static inturn_status observe_on_executor(inturn_executor executor) {
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  options.executor = executor;
  return observe(options);
}

#define TYPE_VALUE inturn_value
#define TYPE_OBSERVATION inturn_observation
#define TYPE_QUEUE inturn_queue
#define TYPE_OPERATION inturn_operation
#define TYPE_TOKEN inturn_token
#define TYPE_EXECUTOR inturn_executor
#define TYPE_CLOCK inturn_clock

/* What calls are given as contexts and destroy functions. */
#define CONTEXT &destroyed, count_destroy
#define WORK never_work, CONTEXT

/* The kind of handle, the function, the number of contexts, whether the null
   handle is allowed, and the arguments. */
/* clang-format off */
#define HANDLE_CALLS(X)                                                        \
  X(QUEUE, inturn_queue_enqueue, 1, false, (handle, WORK, &out.operation))     \
  X(QUEUE, inturn_queue_enqueue_with, 2, false,                                \
    (handle, &with_end, WORK, &out.operation))                                 \
  X(QUEUE, inturn_queue_set_max_concurrent, 0, false, (handle, 1))             \
  X(QUEUE, move_to_pool, 0, false, (handle))                                   \
  X(QUEUE, observe_on_queue, 1, true, (handle))                                \
  X(QUEUE, inturn_queue_suspend, 0, false, (handle))                           \
  X(QUEUE, inturn_queue_resume, 0, false, (handle))                            \
  X(QUEUE, inturn_queue_view_did_appear, 0, false, (handle))                   \
  X(QUEUE, inturn_queue_view_will_disappear, 0, false, (handle))               \
  X(QUEUE, inturn_queue_cancel_all, 0, false, (handle))                        \
  X(QUEUE, inturn_queue_cancel_pending, 0, false, (handle))                    \
  X(QUEUE, inturn_queue_close, 0, false, (handle))                             \
  X(QUEUE, inturn_queue_drain, 0, false, (handle, -1))                         \
  X(QUEUE, inturn_queue_get_statistics, 0, false, (handle, &out.statistics))   \
  X(QUEUE, inturn_queue_list, 0, false, (handle, &out.info, 1, &out.count))    \
  X(QUEUE, inturn_queue_drain_or_list, 0, false,                               \
    (handle, -1, &out.info, 1, &out.count))                                    \
  X(QUEUE, inturn_queue_create_value, 0, false,                                \
    (handle, INTURN_QUEUE_PENDING, &out.value))                                \
  X(QUEUE, inturn_queue_destroy, 0, false, (handle))                           \
  X(OPERATION, inturn_operation_get_state, 0, false, (handle, &out.state))     \
  X(OPERATION, inturn_operation_cancel, 0, false, (handle))                    \
  X(OPERATION, inturn_why, 0, false, (handle, never_report, NULL))             \
  X(OPERATION, inturn_operation_wait, 0, false, (handle, -1, &out.end))        \
  X(OPERATION, inturn_operation_get_progress, 0, false,                        \
    (handle, &out.completed, &out.total))                                      \
  X(OPERATION, inturn_operation_create_value, 0, false,                        \
    (handle, INTURN_OPERATION_STATE, &out.value))                              \
  X(OPERATION, inturn_operation_release, 0, false, (handle))                   \
  X(TOKEN, inturn_token_finish, 0, false, (handle))                            \
  X(TOKEN, inturn_token_finish_with, 1, false, (handle, CONTEXT))              \
  X(TOKEN, inturn_token_fail, 0, false, (handle, 1))                           \
  X(TOKEN, inturn_token_cancel, 0, false, (handle))                            \
  X(TOKEN, inturn_token_abandon, 0, false, (handle))                           \
  X(TOKEN, inturn_token_abandon_at, 0, false, (handle, NULL))                  \
  X(TOKEN, is_cancelled_into_flag, 0, false, (handle))                         \
  X(TOKEN, inturn_token_on_cancel, 1, false, (handle, WORK))                   \
  X(TOKEN, inturn_token_set_progress, 0, false, (handle, 1, 2))                \
  X(TOKEN, inturn_token_on_preempt, 1, false, (handle, WORK))                  \
  X(TOKEN, inturn_token_yield, 0, false, (handle))                             \
  X(TOKEN, inturn_token_resume, 1, false, (handle, WORK))                      \
  X(EXECUTOR, create_on_executor, 0, true, (handle))                           \
  X(EXECUTOR, observe_on_executor, 1, true, (handle))                          \
  X(EXECUTOR, inturn_executor_set_wake, 1, false,                              \
    (handle, never_wake, CONTEXT))                                             \
  X(EXECUTOR, inturn_executor_fd, 0, false, (handle, &out.fd))                 \
  X(EXECUTOR, inturn_executor_attach, 0, false, (handle, "none", NULL))        \
  X(EXECUTOR, inturn_executor_get_attached, 0, false,                          \
    (handle, "none", &out.data))                                               \
  X(EXECUTOR, inturn_executor_detach, 0, false, (handle, "none"))              \
  X(EXECUTOR, inturn_executor_drain, 0, false, (handle, 0, &out.calls))        \
  X(EXECUTOR, inturn_executor_take, 0, false,                                  \
    (handle, never_work, no_token, &out.taken))                              \
  X(EXECUTOR, inturn_executor_enqueue_and_take, 1, false,                      \
    (NULL, handle, no_queue, WORK, &out.operation, &out.taken))                      \
  X(EXECUTOR, inturn_executor_wait, 0, false, (handle, 0, &out.calls))         \
  X(EXECUTOR, inturn_executor_run, 0, false, (handle))                         \
  X(EXECUTOR, inturn_executor_stop, 0, false, (handle))                        \
  X(EXECUTOR, inturn_executor_destroy, 0, false, (handle))                     \
  X(VALUE, inturn_value_get, 0, false, (handle, &out.datum))                   \
  X(VALUE, inturn_value_get_integer, 0, false, (handle, &out.now))             \
  X(VALUE, inturn_value_get_double, 0, false, (handle, &out.real))             \
  X(VALUE, get_boolean_into_flag, 0, false, (handle))                          \
  X(VALUE, inturn_value_set, 0, false, (handle, &five))                        \
  X(VALUE, inturn_value_set_integer, 0, false, (handle, 5))                    \
  X(VALUE, inturn_value_set_double, 0, false, (handle, 5))                     \
  X(VALUE, inturn_value_set_boolean, 0, false, (handle, true))                 \
  X(VALUE, inturn_value_exchange, 0, false, (handle, &five, &out.datum))       \
  X(VALUE, compare_exchange_into_flag, 0, false, (handle))                     \
  X(VALUE, inturn_value_add, 0, false, (handle, 1, &out.now))                  \
  X(VALUE, inturn_value_add_double, 0, false, (handle, 1, &out.real))          \
  X(VALUE, inturn_value_observe, 1, false,                                     \
    (handle, NULL, never_change, CONTEXT, &out.observation))                   \
  X(VALUE, inturn_value_wait, 0, false,                                        \
    (handle, never_predicate, NULL, -1, &out.datum))                           \
  X(VALUE, inturn_value_drain, 0, false, (handle, -1))                         \
  X(VALUE, inturn_value_destroy, 0, false, (handle))                           \
  X(OBSERVATION, inturn_observation_cancel, 0, false, (handle, -1))            \
  X(CLOCK, create_with_clock, 0, true, (handle))                               \
  X(CLOCK, inturn_clock_now, 0, true, (handle, &out.now))                      \
  X(CLOCK, inturn_clock_advance, 0, false, (handle, 1))                        \
  X(CLOCK, inturn_clock_destroy, 0, false, (handle))

#define DEFINE_CALL(kind, function, contexts, null_allowed, arguments)         \
  static inturn_status call_##function(uint64_t bits) {                        \
    TYPE_##kind handle = {bits};                                               \
    return function arguments;                                                 \
  }
HANDLE_CALLS(DEFINE_CALL)

#define LIST_CALL(kind, function, contexts, null_allowed, arguments)           \
  {#function, HANDLE_##kind, contexts, null_allowed, call_##function},
const handle_call handle_calls[] = {HANDLE_CALLS(LIST_CALL)};
/* clang-format on */

const size_t handle_call_count = sizeof handle_calls / sizeof *handle_calls;

live_handles live_handles_create(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.stall_ns = -1; /* its operation stays for as long as a test */
  live_handles live = {{0}, stage_create_with(INTURN_QUEUE_FIFO, options)};
  inturn_observation observation;
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &five, &value));
  CHECK_OK(inturn_value_observe(value, NULL, never_change, NULL, NULL,
                                &observation));
  inturn_operation operation;
  inturn_token token;
  CHECK_OK(inturn_queue_enqueue(live.stage.queue, keep_token, &token, NULL,
                                &operation));
  stage_drain(&live.stage);
  live.bits[HANDLE_QUEUE] = live.stage.queue.bits;
  live.bits[HANDLE_OPERATION] = operation.bits;
  live.bits[HANDLE_TOKEN] = token.bits;
  live.bits[HANDLE_EXECUTOR] = live.stage.executor.bits;
  live.bits[HANDLE_CLOCK] = live.stage.clock.bits;
  live.bits[HANDLE_VALUE] = value.bits;
  live.bits[HANDLE_OBSERVATION] = observation.bits;
  return live;
}

void live_handles_destroy(const live_handles *live) {
  inturn_operation operation = {live->bits[HANDLE_OPERATION]};
  inturn_value value = {live->bits[HANDLE_VALUE]};
  CHECK_OK(inturn_value_destroy(value));
  stage_destroy(&live->stage);
  CHECK_OK(inturn_operation_release(operation));
}

inturn_status refused_call(const handle_call *call, uint64_t bits) {
  outputs before;
  memset(&out, 0x5a, sizeof out);
  out.statistics.size = sizeof out.statistics;
  out.end.size = sizeof out.end;
  memcpy(&before, &out, sizeof out);
  long destroyed_before = gate_count(&destroyed);
  inturn_status status = call->call(bits);
  if (status == INTURN_OK)
    FAIL("%s has accepted %llx", call->name, (unsigned long long)bits);
  if (memcmp(&before, &out, sizeof out) != 0)
    FAIL("%s has written to an out parameter, though it gave %s", call->name,
         inturn_status_name(status));
  if (gate_count(&destroyed) - destroyed_before != call->contexts)
    FAIL("%s has destroyed %ld contexts, not %d, giving %s", call->name,
         gate_count(&destroyed) - destroyed_before, call->contexts,
         inturn_status_name(status));
  return status;
}

void check_refusals(handle_kind kind, uint64_t bits, inturn_status expected) {
  for (size_t i = 0; i < handle_call_count; i++) {
    const handle_call *call = &handle_calls[i];
    if (call->kind != kind || (bits == 0 && call->null_allowed))
      continue;
    inturn_status status = refused_call(call, bits);
    CHECK_NOT_REFUSED(status);
    if (status != expected)
      FAIL("%s gives %s, not %s", call->name, inturn_status_name(status),
           inturn_status_name(expected));
  }
}
