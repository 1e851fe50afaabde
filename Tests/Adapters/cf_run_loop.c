/*
 * cf_run_loop.c - the suite on a run loop of the CoreFoundation that comes with
 * Swift.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/cf_run_loop.h>

static _Thread_local CFRunLoopTimerRef ticker;
static _Thread_local void (*current_tick)(void);
static _Thread_local bool running;

/* Each thread has its own loop. */
static void begin(void) { CHECK(CFRunLoopGetCurrent() != NULL); }
static void end(void) {}

/* A loop without a source or timer returns at once; the suite's waits. */
static void run(void) {
  for (running = true; running;)
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true);
}

static void stop(void) {
  running = false;
  CFRunLoopStop(CFRunLoopGetCurrent());
}

static void call_tick(CFRunLoopTimerRef timer, void *unused) {
  (void)timer, (void)unused;
  current_tick();
}

static CFRunLoopTimerRef start_timer(int milliseconds,
                                     CFRunLoopTimerCallBack call) {
  double time = milliseconds / 1000.0;
  CFRunLoopTimerRef timer = CFRunLoopTimerCreate(
      kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + time, time, 0, 0, call,
      NULL);
  CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
  return timer;
}

static void stop_timer(CFRunLoopTimerRef timer) {
  CFRunLoopTimerInvalidate(timer);
  CFRelease(timer);
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  if (ticker != NULL)
    stop_timer(ticker);
  ticker = NULL;
  current_tick = tick;
  if (tick != NULL)
    ticker = start_timer(milliseconds, call_tick);
}

static void end_nested(CFRunLoopTimerRef timer, void *unused) {
  (void)timer, (void)unused;
  CFRunLoopStop(CFRunLoopGetCurrent());
}

static void nest(int milliseconds) {
  CFRunLoopTimerRef timer = start_timer(milliseconds, end_nested);
  CFRunLoopRun();
  stop_timer(timer);
}

const host the_host = {"cf_run_loop",
                       begin,
                       end,
                       inturn_cf_run_loop_attach,
                       inturn_cf_run_loop_detach,
                       run,
                       stop,
                       set_tick,
                       nest};

const named_test own_tests[] = {
    TEST(a_loop_inside_work_sleeps_and_calls_no_other_work),
    TEST(a_loop_inside_work_may_detach),
    {NULL, NULL}};
