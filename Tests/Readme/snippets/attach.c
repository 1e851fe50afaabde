// Packages: inturn glib-2.0
// INCLUDES
#include <stdio.h>
#include <stdlib.h>

static GMainLoop *loop;

static void check(inturn_status status) {
  if (status != INTURN_OK) {
    printf("%s\n", inturn_status_name(status));
    exit(1);
  }
}

static void work(void *context, inturn_token token) {
  (void)context;
  printf("called by the loop\n");
  check(inturn_token_finish(token));
  g_main_loop_quit(loop);
}

static gboolean give_up(gpointer unused) {
  (void)unused;
  printf("not called in time\n");
  exit(1);
}

int main(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor executor;
  inturn_queue queue;
  loop = g_main_loop_new(NULL, FALSE);
  // SNIPPET
  options.executor = executor;
  check(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  check(inturn_queue_enqueue(queue, work, NULL, NULL, NULL));
  g_timeout_add_seconds(30, give_up, NULL);
  g_main_loop_run(loop);
  check(inturn_glib_detach(executor));
  check(inturn_queue_destroy(queue));
  g_main_loop_unref(loop);
  return 0;
}
