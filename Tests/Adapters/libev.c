/*
 * libev.c - the suite on a libev loop, and tests for libev alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/libev.h>

static _Thread_local struct ev_loop *loop;
static _Thread_local ev_timer ticker;
static _Thread_local void (*current_tick)(void);

static void begin(void) { CHECK((loop = ev_loop_new(EVFLAG_AUTO)) != NULL); }

static void end(void) {
  ev_loop_destroy(loop);
  loop = NULL;
}

static inturn_status attach(inturn_executor executor) {
  return inturn_libev_attach(executor, loop);
}

static void run(void) { ev_run(loop, 0); }
static void stop(void) { ev_break(loop, EVBREAK_ONE); }

static void call_tick(struct ev_loop *its_loop, ev_timer *timer, int events) {
  (void)its_loop, (void)timer, (void)events;
  current_tick();
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  double time = milliseconds / 1000.0;
  if (current_tick != NULL)
    ev_timer_stop(loop, &ticker);
  current_tick = tick;
  if (tick == NULL)
    return;
  ev_now_update(loop);
  ev_timer_init(&ticker, call_tick, time, time);
  ev_timer_start(loop, &ticker);
}

static void end_nested(struct ev_loop *its_loop, ev_timer *timer, int events) {
  (void)timer, (void)events;
  ev_break(its_loop, EVBREAK_ONE);
}

static void nest(int milliseconds) {
  ev_timer timer;
  ev_now_update(loop);
  ev_timer_init(&timer, end_nested, milliseconds / 1000.0, 0);
  ev_timer_start(loop, &timer);
  ev_run(loop, 0);
}

const host the_host = {"libev", begin, end,      attach, inturn_libev_detach,
                       run,     stop,  set_tick, nest};

/* libev's own ------------------------------------------------------------- */

static void run_once(void *its_loop) { ev_run(its_loop, EVRUN_NOWAIT); }

static void a_loop_on_another_thread_calls_nothing_and_says_so(void) {
  begin();
  check_that_another_thread_calls_nothing(loop, run_once);
  end();
}

const named_test own_tests[] = {
    TEST(a_loop_inside_work_sleeps_and_calls_no_other_work),
    TEST(a_loop_inside_work_may_detach),
    TEST(without_a_loop_it_is_refused),
    TEST(a_loop_on_another_thread_calls_nothing_and_says_so),
    TEST(a_detached_executor_does_not_keep_the_loop_going),
    {NULL, NULL}};
