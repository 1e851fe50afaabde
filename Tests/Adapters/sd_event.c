/*
 * sd_event.c - the suite on an sd-event loop, and tests for it alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/sd_event.h>

#include <time.h>

static _Thread_local sd_event *loop;
static _Thread_local sd_event_source *ticker;
static _Thread_local void (*current_tick)(void);
static _Thread_local uint64_t tick_us;
static _Thread_local bool running;

static void begin(void) { CHECK(sd_event_new(&loop) >= 0); }
static void end(void) { loop = sd_event_unref(loop); }

static inturn_status attach(inturn_executor executor) {
  return inturn_sd_event_attach(executor, loop);
}

/* sd_event_exit is final, but the suite runs its loop again. */
static void run(void) {
  for (running = true; running;)
    CHECK(sd_event_run(loop, UINT64_MAX) >= 0);
}

static void stop(void) { running = false; }

static int call_tick(sd_event_source *timer, uint64_t now, void *unused) {
  (void)now, (void)unused;
  CHECK(sd_event_source_set_time_relative(timer, tick_us) >= 0);
  current_tick();
  return 0;
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  ticker = sd_event_source_disable_unref(ticker);
  current_tick = tick;
  if (tick == NULL)
    return;
  tick_us = (uint64_t)milliseconds * 1000;
  CHECK(sd_event_add_time_relative(loop, &ticker, CLOCK_MONOTONIC, tick_us, 1,
                                   call_tick, NULL) >= 0);
  CHECK(sd_event_source_set_enabled(ticker, SD_EVENT_ON) >= 0);
  CHECK(sd_event_source_set_priority(ticker, SD_EVENT_PRIORITY_NORMAL) >= 0);
}

const host the_host = {
    "sd_event", begin, end,      attach, inturn_sd_event_detach,
    run,        stop,  set_tick, NULL};

/* sd-event's own ---------------------------------------------------------- */

static void run_once(void *its_loop) { CHECK(sd_event_run(its_loop, 0) >= 0); }

static void a_loop_on_another_thread_calls_nothing_and_says_so(void) {
  begin();
  check_that_another_thread_calls_nothing(loop, run_once);
  end();
}

const named_test own_tests[] = {
    TEST(a_loop_that_ends_gives_the_executor_back),
    TEST(without_a_loop_it_is_refused),
    TEST(a_loop_on_another_thread_calls_nothing_and_says_so),
    {NULL, NULL}};
