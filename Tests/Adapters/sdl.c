/*
 * sdl.c - the suite in an SDL event loop, and tests for SDL alone.
 *
 * SPDX-License-Identifier: MIT
 *
 * It needs a display: SDL only sleeps in the system if it has a window.
 */
#include "fixture.h"
#include "host.h"

#include <inturn/sdl.h>

enum { ROOM = 8 };

static SDL_Window *window;
static SDL_threadID main_thread;
static inturn_executor attached[ROOM]; /* null: a free place */
static bool is_running;
static SDL_TimerID ticker;
static Uint32 tick_type;
static void (*current_tick)(void);

static void begin(void) {
  if (main_thread == 0)
    main_thread = SDL_ThreadID();
  if (main_thread != SDL_ThreadID()) { /* a second loop, for events alone */
    CHECK_INT(SDL_Init(SDL_INIT_EVENTS), 0);
    return;
  }
  CHECK_INT(SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER), 0);
  window = SDL_CreateWindow("Inturn", 0, 0, 100, 100, 0);
  CHECK(window != NULL);
  if (tick_type == 0)
    tick_type = SDL_RegisterEvents(1);
  memset(attached, 0, sizeof attached);
}

static void end(void) {
  if (main_thread != SDL_ThreadID()) {
    SDL_QuitSubSystem(SDL_INIT_EVENTS);
    return;
  }
  SDL_DestroyWindow(window);
  SDL_Quit();
}

static inturn_executor *place_of(inturn_executor executor) {
  for (int i = 0; i < ROOM; i++)
    if (attached[i].bits == executor.bits)
      return &attached[i];
  FAIL("there is no place for executor %llx",
       (unsigned long long)executor.bits);
}

static inturn_status attach(inturn_executor executor) {
  const inturn_executor none = {0};
  inturn_status status = inturn_sdl_attach(executor);
  if (status == INTURN_OK)
    *place_of(none) = executor;
  return status;
}

static inturn_status detach(inturn_executor executor) {
  inturn_status status = inturn_sdl_detach(executor);
  if (status == INTURN_OK)
    place_of(executor)->bits = 0;
  return status;
}

static bool offer(const SDL_Event *event) {
  bool handled = false;
  for (int i = 0; i < ROOM && !handled; i++)
    if (attached[i].bits != 0)
      inturn_sdl_handle(attached[i], event, &handled);
  return handled;
}

static void take(const SDL_Event *event) {
  if (!offer(event) && event->type == tick_type && current_tick != NULL)
    current_tick();
}

static void run(void) {
  SDL_Event event;
  is_running = true;
  while (is_running) {
    CHECK(SDL_WaitEvent(&event));
    take(&event);
  }
}

static void stop(void) { is_running = false; }

static Uint32 SDLCALL post_tick(Uint32 interval, void *unused) {
  SDL_Event event;
  (void)unused;
  SDL_zero(event);
  event.type = tick_type;
  if (!SDL_HasEvent(tick_type)) /* late ticks do not add up */
    SDL_PushEvent(&event);
  return interval;
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  if (ticker != 0)
    SDL_RemoveTimer(ticker);
  ticker = 0;
  current_tick = tick;
  if (tick != NULL)
    ticker = SDL_AddTimer((Uint32)milliseconds, post_tick, NULL);
}

/* Like a modal dialog of the program's. */
static void nest(int milliseconds) {
  Uint64 limit = SDL_GetTicks64() + (Uint64)milliseconds;
  Uint64 now;
  SDL_Event event;
  while ((now = SDL_GetTicks64()) < limit)
    if (SDL_WaitEventTimeout(&event, (int)(limit - now)))
      take(&event);
}

const host the_host = {"sdl", begin, end,      attach, detach,
                       run,   stop,  set_tick, nest};

/* SDL's own --------------------------------------------------------------- */

static void before_sdl_begins_it_is_unsupported(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_STATUS(inturn_sdl_attach(executor), INTURN_E_UNSUPPORTED);
  CHECK_OK(inturn_executor_destroy(executor));
}

static void a_full_event_queue_loses_no_work(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  job job = JOB("a");
  inturn_queue queue;
  SDL_Event event;
  long others = 0;
  begin();
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(attach(options.executor));
  SDL_zero(event);
  event.type = tick_type;
  while (SDL_PushEvent(&event) == 1)
    others++;
  CHECK(others > 1000);
  job_enqueue(queue, &job, work_finish);
  CHECK_TRACE("");
  CHECK(SDL_WaitEvent(&event));
  bool handled = true;
  CHECK_OK(inturn_sdl_handle(options.executor, &event, &handled));
  CHECK(!handled || event.type != tick_type); /* that is still the program's */
  CHECK_TRACE("work a, end a finished");
  /* From now on, it gets its own events again. */
  SDL_FlushEvent(tick_type);
  job_enqueue(queue, &job, work_hold);
  do
    CHECK(SDL_WaitEventTimeout(&event, LIMIT_SECONDS * 1000));
  while (!offer(&event));
  CHECK_TRACE("work a");
  CHECK_OK(detach(options.executor));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(options.executor));
  end();
}

static inturn_queue behind;

/* The event of what it enqueues is taken by the loop inside. */
static void nest_before_other_work(void *other, inturn_token token) {
  job_enqueue(behind, (job *)other, work_finish);
  nest(20); /* longer than a turn */
  trace("nested");
  CHECK_OK(inturn_token_finish(token));
}

/* Until the job has ended, by the events of the executor alone. */
static void wait_for_own_events(const char *expected) {
  SDL_Event event;
  while (inturn_queue_drain(behind, 0) != INTURN_OK) {
    CHECK(SDL_WaitEventTimeout(&event, LIMIT_SECONDS * 1000));
    take(&event);
  }
  CHECK_TRACE(expected);
}

static void after_a_loop_inside_work_its_events_come_as_before(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  job first = JOB("first"), next = JOB("next");
  inturn_queue queue;
  begin();
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &behind));
  CHECK_OK(attach(options.executor));
  CHECK_OK(
      inturn_queue_enqueue(queue, nest_before_other_work, &first, NULL, NULL));
  SDL_Event event;
  do
    CHECK(SDL_WaitEventTimeout(&event, LIMIT_SECONDS * 1000));
  while (!offer(&event));
  wait_for_own_events("nested, work first, end first finished");
  SDL_FlushEvents(SDL_FIRSTEVENT, SDL_USEREVENT - 1);
  job_enqueue(behind, &next, work_finish);
  wait_for_own_events("work next, end next finished");
  CHECK_OK(detach(options.executor));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_queue_destroy(behind));
  CHECK_OK(inturn_executor_destroy(options.executor));
  end();
}

static void handle_is_refused(void *executor) {
  SDL_Event event;
  SDL_zero(event);
  event.type = tick_type;
  CHECK_STATUS(inturn_sdl_handle(*(inturn_executor *)executor, &event, NULL),
               INTURN_E_WRONG_THREAD);
}

static void events_are_handled_on_the_thread_that_attached(void) {
  inturn_executor executor;
  SDL_Event event;
  begin();
  CHECK_OK(inturn_executor_create(NULL, &executor));
  SDL_zero(event);
  CHECK_STATUS(inturn_sdl_handle(executor, &event, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(attach(executor));
  on_another_thread(handle_is_refused, &executor);
  CHECK_STATUS(inturn_sdl_handle(executor, NULL, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(detach(executor));
  CHECK_OK(inturn_executor_destroy(executor));
  end();
}

static void a_detach_leaves_no_event_behind(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  job job = JOB("a");
  inturn_queue queue;
  SDL_Event event;
  begin();
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  SDL_FlushEvents(SDL_USEREVENT, SDL_LASTEVENT);
  CHECK_OK(attach(options.executor));
  job_enqueue(queue, &job, work_finish);
  CHECK_INT(
      SDL_PeepEvents(&event, 1, SDL_PEEKEVENT, SDL_USEREVENT, SDL_LASTEVENT),
      1);
  CHECK_OK(detach(options.executor));
  CHECK_INT(
      SDL_PeepEvents(&event, 1, SDL_PEEKEVENT, SDL_USEREVENT, SDL_LASTEVENT),
      0);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(options.executor));
  end();
}

const named_test own_tests[] = {
    TEST(a_loop_inside_work_sleeps_and_calls_no_other_work),
    TEST(a_loop_inside_work_may_detach),
    TEST(before_sdl_begins_it_is_unsupported),
    TEST(a_full_event_queue_loses_no_work),
    TEST(after_a_loop_inside_work_its_events_come_as_before),
    TEST(events_are_handled_on_the_thread_that_attached),
    TEST(a_detach_leaves_no_event_behind),
    {NULL, NULL}};
