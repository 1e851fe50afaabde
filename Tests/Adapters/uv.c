/*
 * uv.c - the suite on a libuv loop, and tests for libuv alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/uv.h>

static _Thread_local uv_loop_t memory, *loop;
static _Thread_local uv_timer_t ticker;
static _Thread_local void (*current_tick)(void);

static void begin(void) {
  loop = &memory;
  CHECK_INT(uv_loop_init(loop), 0);
  CHECK_INT(uv_timer_init(loop, &ticker), 0);
}

/* Once more, so that closing handles are freed; then nothing may be left. */
static void end(void) {
  uv_close((uv_handle_t *)&ticker, NULL);
  CHECK_INT(uv_run(loop, UV_RUN_DEFAULT), 0);
  CHECK_INT(uv_loop_close(loop), 0);
  loop = NULL;
}

static inturn_status attach(inturn_executor executor) {
  return inturn_uv_attach(executor, loop);
}

static void run(void) { uv_run(loop, UV_RUN_DEFAULT); }
static void stop(void) { uv_stop(loop); }

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

static void run_once(void *its_loop) { uv_run(its_loop, UV_RUN_NOWAIT); }

static void a_loop_on_another_thread_calls_nothing_and_says_so(void) {
  begin();
  check_that_another_thread_calls_nothing(loop, run_once);
  end();
}

const named_test own_tests[] = {
    TEST(without_a_loop_it_is_refused),
    TEST(a_loop_on_another_thread_calls_nothing_and_says_so),
    TEST(a_detached_executor_does_not_keep_the_loop_going),
    {NULL, NULL}};
