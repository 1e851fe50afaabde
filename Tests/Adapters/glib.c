/*
 * glib.c - the suite on a GLib main context, and tests for GLib alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"
#include "host.h"

#include <inturn/glib.h>

static _Thread_local GMainContext *context;
static _Thread_local GMainLoop *loop;
static _Thread_local GSource *ticker;

static void begin(void) {
  context = g_main_context_new();
  loop = g_main_loop_new(context, FALSE);
}

static void end(void) {
  g_main_loop_unref(loop);
  g_main_context_unref(context);
}

static inturn_status attach(inturn_executor executor) {
  return inturn_glib_attach(executor, context);
}

static void run(void) { g_main_loop_run(loop); }
static void stop(void) { g_main_loop_quit(loop); }

static gboolean call_tick(gpointer tick) {
  void (*function)(void) = *(void (**)(void))tick;
  function();
  return G_SOURCE_CONTINUE;
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  static void (*current)(void);
  if (ticker != NULL) {
    g_source_destroy(ticker);
    g_source_unref(ticker);
    ticker = NULL;
  }
  current = tick;
  if (tick == NULL)
    return;
  ticker = g_timeout_source_new((guint)milliseconds);
  /* Like GTK's redraws: after input, before idle work. */
  g_source_set_priority(ticker, G_PRIORITY_HIGH_IDLE + 20);
  g_source_set_callback(ticker, call_tick, &current, NULL);
  g_source_attach(ticker, context);
}

static gboolean quit_nested(gpointer nested) {
  g_main_loop_quit(nested);
  return G_SOURCE_REMOVE;
}

static void nest(int milliseconds) {
  GMainLoop *nested = g_main_loop_new(context, FALSE);
  GSource *timer = g_timeout_source_new((guint)milliseconds);
  g_source_set_callback(timer, quit_nested, nested, NULL);
  g_source_attach(timer, context);
  g_source_unref(timer);
  g_main_loop_run(nested);
  g_main_loop_unref(nested);
}

const host the_host = {"glib", begin, end,      attach, inturn_glib_detach,
                       run,    stop,  set_tick, nest};

/* GLib's own -------------------------------------------------------------- */

static void attach_to_default(void *executor) {
  GMainContext *own = g_main_context_new();
  job job = JOB("a");
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.executor = *(inturn_executor *)executor;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  g_main_context_push_thread_default(own);
  CHECK_OK(inturn_glib_attach(options.executor, NULL));
  job_enqueue(queue, &job, work_finish);
  while (gate_count(&job.destroyed) == 0)
    g_main_context_iteration(own, TRUE);
  CHECK_TRACE("work a, end a finished");
  CHECK_OK(inturn_glib_detach(options.executor));
  CHECK_OK(inturn_queue_destroy(queue));
  g_main_context_pop_thread_default(own);
  g_main_context_unref(own);
}

static void without_a_context_it_is_the_threads_default(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  on_another_thread(attach_to_default, &executor);
  CHECK_OK(inturn_executor_destroy(executor));
}

static void attach_is_refused(void *other) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_STATUS(inturn_glib_attach(executor, other), INTURN_E_WRONG_THREAD);
  CHECK_OK(inturn_executor_destroy(executor));
}

static void a_context_that_another_thread_runs_is_refused(void) {
  GMainContext *other = g_main_context_new();
  CHECK(g_main_context_acquire(other));
  on_another_thread(attach_is_refused, other);
  g_main_context_release(other);
  g_main_context_unref(other);
}

static void iterate(void *other) {
  CHECK(g_main_context_iteration(other, FALSE));
  CHECK_INT(reports_told, 1);
  CHECK(!g_main_context_iteration(other, FALSE)); /* it has left */
}

static void unref_context(void *other) { g_main_context_unref(other); }

static void a_loop_on_another_thread_calls_nothing_and_says_so(void) {
  GMainContext *other = g_main_context_new();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  reports_told = 0;
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(inturn_glib_attach(options.executor, other));
  CHECK_OK(inturn_queue_enqueue(queue, never_work, NULL, NULL, NULL));
  on_another_thread(iterate, other);
  CHECK_INT(reports_told, 1);
  CHECK_OK(inturn_queue_destroy(queue));
  /* The source is gone, and the executor is free. */
  CHECK_STATUS(inturn_glib_detach(options.executor), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_destroy(options.executor));
  g_main_context_unref(other);
}

static void a_context_may_end_on_another_thread(void) {
  GMainContext *other = g_main_context_new();
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_OK(inturn_glib_attach(executor, other));
  CHECK_STATUS(inturn_executor_destroy(executor), INTURN_E_BUSY);
  on_another_thread(unref_context, other);
  CHECK_OK(inturn_executor_destroy(executor));
}

const named_test own_tests[] = {
    TEST(a_loop_inside_work_sleeps_and_calls_no_other_work),
    TEST(a_loop_inside_work_may_detach),
    TEST(a_loop_that_ends_gives_the_executor_back),
    TEST(without_a_context_it_is_the_threads_default),
    TEST(a_context_that_another_thread_runs_is_refused),
    TEST(a_loop_on_another_thread_calls_nothing_and_says_so),
    TEST(a_context_may_end_on_another_thread),
    {NULL, NULL}};
