/*
 * uv.c - the suite on a libuv loop, and what concerns libuv alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/uv.h>

static _Thread_local uv_loop_t loop;
static _Thread_local uv_timer_t ticker;
static _Thread_local void (*current_tick)(void);

static void begin(void) {
  CHECK_INT(uv_loop_init(&loop), 0);
  CHECK_INT(uv_timer_init(&loop, &ticker), 0);
}

/* Once more, so that what is closing is freed; then nothing may be left. */
static void end(void) {
  uv_close((uv_handle_t *)&ticker, NULL);
  CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0);
  CHECK_INT(uv_loop_close(&loop), 0);
}

static inturn_status attach(inturn_executor executor) {
  return inturn_uv_attach(executor, &loop);
}

static void run(void) { uv_run(&loop, UV_RUN_DEFAULT); }
static void stop(void) { uv_stop(&loop); }

static void call_tick(uv_timer_t *timer) {
  (void)timer;
  current_tick();
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  uint64_t time = (uint64_t)milliseconds;
  current_tick = tick;
  uv_timer_stop(&ticker);
  if (tick != NULL)
    CHECK_INT(uv_timer_start(&ticker, call_tick, time, time), 0);
}

const host the_host = {"uv", begin, end,      attach, inturn_uv_detach,
                       run,  stop,  set_tick, NULL};

/* libuv's own ------------------------------------------------------------- */

static void without_a_loop_it_is_refused(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_STATUS(inturn_uv_attach(executor, NULL), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_destroy(executor));
}

static void run_once(void *its_loop) {
  uv_run(its_loop, UV_RUN_NOWAIT);
  CHECK_INT(reports_told, 1);
  uv_run(its_loop, UV_RUN_NOWAIT);
  CHECK_INT(reports_told, 1); /* it has left it alone */
}

static void a_loop_on_another_thread_calls_nothing_and_says_so(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  reports_told = 0;
  begin();
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(attach(options.executor));
  CHECK_OK(inturn_queue_enqueue(queue, never_work, NULL, NULL, NULL));
  on_another_thread(run_once, &loop);
  CHECK_OK(inturn_uv_detach(options.executor));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(options.executor));
  end();
}

static void it_keeps_the_loop_going_until_it_is_detached(void) {
  inturn_executor executor;
  begin();
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_OK(attach(executor));
  CHECK(uv_loop_alive(&loop));
  CHECK_OK(inturn_uv_detach(executor));
  uv_run(&loop, UV_RUN_NOWAIT);
  CHECK(!uv_loop_alive(&loop));
  CHECK_OK(inturn_executor_destroy(executor));
  end();
}

const named_test own_tests[] = {
    TEST(without_a_loop_it_is_refused),
    TEST(a_loop_on_another_thread_calls_nothing_and_says_so),
    TEST(it_keeps_the_loop_going_until_it_is_detached),
    {NULL, NULL}};
