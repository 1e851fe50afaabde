/*
 * gtk.c - the suite in a GTK 4 program's main loop, and a test that GTK draws.
 *
 * SPDX-License-Identifier: MIT
 *
 * It needs a display.
 */
#include "fixture.h"
#include "host.h"

#include <gtk/gtk.h>
#include <inturn/glib.h>

static GMainLoop *loop;
static guint ticker;
static void (*current_tick)(void);

static void begin(void) {
  if (loop == NULL) {
    gtk_init();
    loop = g_main_loop_new(NULL, FALSE);
  }
}

static void end(void) {} /* GTK's loop belongs to the process */

static inturn_status attach(inturn_executor executor) {
  return inturn_glib_attach(executor, NULL);
}

static void run(void) { g_main_loop_run(loop); }
static void stop(void) { g_main_loop_quit(loop); }

static gboolean call_tick(gpointer unused) {
  (void)unused;
  current_tick();
  return G_SOURCE_CONTINUE;
}

static void set_tick(int milliseconds, void (*tick)(void)) {
  if (ticker != 0)
    g_source_remove(ticker);
  ticker = 0;
  current_tick = tick;
  if (tick != NULL)
    ticker = g_timeout_add_full(GDK_PRIORITY_REDRAW, (guint)milliseconds,
                                call_tick, NULL, NULL);
}

const host the_host = {"gtk", begin, end,      attach, inturn_glib_detach,
                       run,   stop,  set_tick, NULL};

/* GTK's own --------------------------------------------------------------- */

enum { FRAMES = 20 };

static inturn_queue queue;
static int frames;
static long calls;

static void endless_work(void *context, inturn_token token) {
  gint64 start = g_get_monotonic_time();
  calls++;
  while (g_get_monotonic_time() - start < 100) {
  }
  if (frames < FRAMES)
    CHECK_OK(inturn_queue_enqueue(queue, endless_work, context, NULL, NULL));
  CHECK_OK(inturn_token_finish(token));
}

static void draw(GtkDrawingArea *area, cairo_t *cairo, int width, int height,
                 gpointer unused) {
  (void)area;
  (void)unused;
  cairo_rectangle(cairo, 0, 0, width, (double)height * frames / FRAMES);
  cairo_fill(cairo);
  if (++frames == FRAMES)
    stop();
}

static gboolean ask_for_next_frame(GtkWidget *area, GdkFrameClock *clock,
                                   gpointer unused) {
  (void)clock;
  (void)unused;
  gtk_widget_queue_draw(area);
  return G_SOURCE_CONTINUE;
}

static void gtk_draws_while_a_queue_is_busy(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  begin();
  GtkWidget *window = gtk_window_new(), *area = gtk_drawing_area_new();
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, NULL, NULL);
  gtk_widget_add_tick_callback(area, ask_for_next_frame, NULL, NULL);
  gtk_window_set_child(GTK_WINDOW(window), area);
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(attach(options.executor));
  frames = 0;
  calls = 0;
  for (int i = 0; i < 100; i++)
    CHECK_OK(inturn_queue_enqueue(queue, endless_work, NULL, NULL, NULL));
  gtk_window_present(GTK_WINDOW(window));
  gint64 start = g_get_monotonic_time();
  run();
  CHECK(g_get_monotonic_time() - start < 5000000);
  CHECK_INT(frames, FRAMES);
  CHECK(calls > FRAMES);
  gtk_window_destroy(GTK_WINDOW(window));
  CHECK_OK(inturn_glib_detach(options.executor));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(options.executor));
}

const named_test own_tests[] = {TEST(gtk_draws_while_a_queue_is_busy),
                                {NULL, NULL}};
