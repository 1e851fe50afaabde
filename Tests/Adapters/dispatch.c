/*
 * dispatch.c - `@MainActor` Swift code in a C program with a loop of its own.
 *
 * SPDX-License-Identifier: MIT
 *
 * The program neither links libdispatch nor is a Swift program: it loads a
 * Swift library, whose path is MAINACTOR_LIBRARY in the environment.
 */
#include "fixture.h"

#include <inturn/dispatch.h>
#include <inturn/glib.h>

#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

typedef void (*done_fn)(uintptr_t context, int32_t count);

static void (*mainactor_add)(int32_t times, uintptr_t context, done_fn done);
static void (*mainactor_async)(uintptr_t context, done_fn done);
static void (*mainactor_storm)(bool begins);
static pthread_t main_thread;
static GMainLoop *loop;
static guint source;

static void without_libdispatch_it_is_unsupported(void) {
  int fd = -1;
  CHECK_STATUS(inturn_dispatch_fd(&fd), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(inturn_dispatch_drain(), INTURN_E_UNSUPPORTED);
  CHECK_INT(fd, -1);
}

/* Loaded like a plugin: its symbols are its own. */
static void a_swift_library_is_loaded_later(void) {
  const char *path = getenv("MAINACTOR_LIBRARY");
  CHECK(path != NULL);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    FAIL("%s", dlerror());
  *(void **)&mainactor_add = dlsym(library, "mainactor_add");
  *(void **)&mainactor_async = dlsym(library, "mainactor_async");
  *(void **)&mainactor_storm = dlsym(library, "mainactor_storm");
  CHECK(mainactor_add && mainactor_async && mainactor_storm);
  int fd = -1;
  CHECK_OK(inturn_dispatch_fd(&fd));
  CHECK(fd >= 0);
  CHECK_STATUS(inturn_dispatch_fd(NULL), INTURN_E_INVALID_ARGUMENT);
}

static gboolean drain(gint fd, GIOCondition condition, gpointer unused) {
  (void)fd;
  (void)condition;
  (void)unused;
  CHECK_OK(inturn_dispatch_drain());
  return G_SOURCE_CONTINUE;
}

static void begin(void) {
  int fd = -1;
  main_thread = pthread_self();
  loop = g_main_loop_new(NULL, FALSE);
  CHECK_OK(inturn_dispatch_fd(&fd));
  source = g_unix_fd_add_full(G_PRIORITY_DEFAULT_IDLE, fd, G_IO_IN, drain, NULL,
                              NULL);
}

static void end(void) {
  g_source_remove(source);
  g_main_loop_unref(loop);
}

static void note_and_quit(uintptr_t context, int32_t count) {
  CHECK(pthread_equal(pthread_self(), main_thread));
  *(int32_t *)context = count;
  g_main_loop_quit(loop);
}

static void main_actor_code_runs_in_a_glib_loop(void) {
  int32_t count = 0;
  begin();
  mainactor_add(1000, (uintptr_t)&count, note_and_quit);
  g_main_loop_run(loop);
  CHECK_INT(count, 1000);
  end();
}

static void the_main_queue_runs_in_a_glib_loop(void) {
  int32_t count = 0;
  begin();
  for (int i = 0; i < 100; i++, count = 0) {
    mainactor_async((uintptr_t)&count, note_and_quit);
    g_main_loop_run(loop);
    CHECK_INT(count, -1);
  }
  end();
}

static void note(uintptr_t context, int32_t count) {
  *(int32_t *)context = count;
}

static void any_loop_can_poll_the_descriptor(void) {
  int32_t count = 0;
  struct pollfd waiting = {-1, POLLIN, 0};
  CHECK_OK(inturn_dispatch_fd(&waiting.fd));
  CHECK_OK(inturn_dispatch_drain());
  CHECK_INT(poll(&waiting, 1, 0), 0);
  mainactor_async((uintptr_t)&count, note);
  while (count == 0) {
    CHECK_INT(poll(&waiting, 1, LIMIT_SECONDS * 1000), 1);
    CHECK_OK(inturn_dispatch_drain());
  }
  CHECK_INT(poll(&waiting, 1, 0), 0);
}

static void a_drain_of_a_busy_main_queue_ends(void) {
  struct pollfd waiting = {-1, POLLIN, 0};
  CHECK_OK(inturn_dispatch_fd(&waiting.fd));
  mainactor_storm(true);
  for (int i = 0; i < 10; i++) {
    CHECK_INT(poll(&waiting, 1, 0), 1);
    CHECK_OK(inturn_dispatch_drain());
  }
  mainactor_storm(false);
  CHECK_OK(inturn_dispatch_drain());
  CHECK_INT(poll(&waiting, 1, 0), 0);
}

static gboolean count_and_quit(gpointer ticks) {
  if (++*(int *)ticks == 20)
    g_main_loop_quit(loop);
  return G_SOURCE_CONTINUE;
}

static void a_busy_main_queue_lets_the_loop_draw(void) {
  int ticks = 0;
  begin();
  mainactor_storm(true);
  guint ticker = g_timeout_add_full(G_PRIORITY_HIGH_IDLE + 20, 5,
                                    count_and_quit, &ticks, NULL);
  g_main_loop_run(loop);
  CHECK_INT(ticks, 20);
  g_source_remove(ticker);
  mainactor_storm(false);
  CHECK_OK(inturn_dispatch_drain());
  end();
}

static void drain_is_refused(void *unused) {
  (void)unused;
  CHECK_STATUS(inturn_dispatch_drain(), INTURN_E_WRONG_THREAD);
}

static void another_thread_may_not_drain(void) {
  inturn_executor executor;
  on_another_thread(drain_is_refused, NULL);
  /* Also while the main executor has a loop. */
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_OK(inturn_glib_attach(executor, NULL));
  on_another_thread(drain_is_refused, NULL);
  CHECK_OK(inturn_dispatch_drain());
  CHECK_OK(inturn_glib_detach(executor));
}

/* An interaction that Swift code answers on the main actor. */
static void answer(uintptr_t bits, int32_t count) {
  CHECK(pthread_equal(pthread_self(), main_thread));
  trace("answered %s", count < 0 ? "on the main queue" : "by the main actor");
  CHECK_OK(inturn_token_finish((inturn_token){bits}));
}

static void ask_main_actor(void *context, inturn_token token) {
  (void)context;
  trace("asked");
  mainactor_add(1, (uintptr_t)token.bits, answer);
}

static void ask_main_queue(void *context, inturn_token token) {
  (void)context;
  trace("asked");
  mainactor_async((uintptr_t)token.bits, answer);
}

static void stop(void *context, inturn_token token) {
  (void)context;
  g_main_loop_quit(loop);
  CHECK_OK(inturn_token_finish(token));
}

static void interactions_and_the_main_actor_share_a_loop(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor executor;
  inturn_queue queue;
  begin();
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_executor_main(&executor));
  CHECK_OK(inturn_glib_attach(executor, NULL));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &queue));
  CHECK_OK(inturn_queue_enqueue(queue, ask_main_actor, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(queue, ask_main_queue, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(queue, stop, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_view_did_appear(queue));
  g_main_loop_run(loop);
  CHECK_TRACE("asked, answered by the main actor, "
              "asked, answered on the main queue");
  CHECK_OK(inturn_glib_detach(executor));
  CHECK_OK(inturn_queue_destroy(queue));
  end();
}

static gboolean quit(gpointer unused) {
  (void)unused;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

static void an_idle_main_queue_wakes_nobody(void) {
  enum { SECONDS = 3 };
  struct rusage before, after;
  begin();
  int32_t count = 0;
  mainactor_async((uintptr_t)&count, note_and_quit);
  g_main_loop_run(loop);
  CHECK_INT(getrusage(RUSAGE_SELF, &before), 0);
  g_timeout_add(SECONDS * 1000, quit, NULL);
  g_main_loop_run(loop);
  CHECK_INT(getrusage(RUSAGE_SELF, &after), 0);
  CHECK(after.ru_nvcsw - before.ru_nvcsw <= 10);
  end();
}

PROGRAM(dispatch, TEST(without_libdispatch_it_is_unsupported),
        TEST(a_swift_library_is_loaded_later),
        TEST(main_actor_code_runs_in_a_glib_loop),
        TEST(the_main_queue_runs_in_a_glib_loop),
        TEST(any_loop_can_poll_the_descriptor),
        TEST(a_drain_of_a_busy_main_queue_ends),
        TEST(a_busy_main_queue_lets_the_loop_draw),
        TEST(another_thread_may_not_drain),
        TEST(interactions_and_the_main_actor_share_a_loop),
        TEST(an_idle_main_queue_wakes_nobody))
