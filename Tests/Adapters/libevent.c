/*
 * libevent.c - the suite on a libevent loop, and tests for libevent alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/libevent.h>

#include <sys/time.h>

static _Thread_local struct event_base *loop;
static _Thread_local struct event *ticker;
static _Thread_local void (*current_tick)(void);

static void begin(void) { CHECK((loop = event_base_new()) != NULL); }

static void end(void) {
  event_base_free(loop);
  loop = NULL;
}

static inturn_status attach(inturn_executor executor) {
  return inturn_libevent_attach(executor, loop);
}

static void run(void) { CHECK(event_base_dispatch(loop) >= 0); }
static void stop(void) { CHECK_INT(event_base_loopbreak(loop), 0); }

static void call_tick(evutil_socket_t fd, short what, void *unused) {
  (void)fd, (void)what, (void)unused;
  current_tick();
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  struct timeval time = {0, milliseconds * 1000};
  if (ticker != NULL)
    event_free(ticker);
  ticker = NULL;
  current_tick = tick;
  if (tick == NULL)
    return;
  if (milliseconds >= 1000)
    time = (struct timeval){milliseconds / 1000, 0};
  ticker = event_new(loop, -1, EV_PERSIST, call_tick, NULL);
  CHECK_INT(event_add(ticker, &time), 0);
}

const host the_host = {
    "libevent", begin, end,      attach, inturn_libevent_detach,
    run,        stop,  set_tick, NULL};

/* libevent's own ---------------------------------------------------------- */

static void run_once(void *its_loop) {
  CHECK(event_base_loop(its_loop, EVLOOP_NONBLOCK) >= 0);
}

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
