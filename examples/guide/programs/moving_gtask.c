/* The same saves with GTask, and with a queue. */
#include <inturn/gio.h>

#include <stdio.h>
#include <string.h>

static const char *const texts[] = {"a", "bb", "ccc"};
static char saved[32];
static GMainLoop *loop;

/* Stands for a disk: longer text takes less time. */
static void store(const char *text) {
  g_usleep(20000 / strlen(text));
  g_strlcat(saved, " ", sizeof saved);
  g_strlcat(saved, text, sizeof saved);
}

/* --- before */

static void save_next(GQueue *waiting);

static void on_saved(GObject *source, GAsyncResult *result, gpointer waiting) {
  (void)source;
  g_task_propagate_boolean(G_TASK(result), NULL);
  save_next(waiting);
}

static void save_in_thread(GTask *task, gpointer source, gpointer text,
                           GCancellable *cancellable) {
  (void)source, (void)cancellable;
  store(text);
  g_task_return_boolean(task, TRUE);
}

/* Tasks have no order: each starts when the one before it has been saved. */
static void save_next(GQueue *waiting) {
  gpointer text = g_queue_pop_head(waiting);
  if (text == NULL) {
    g_main_loop_quit(loop);
    return;
  }
  GTask *task = g_task_new(NULL, NULL, on_saved, waiting);
  g_task_set_task_data(task, text, NULL);
  g_task_run_in_thread(task, save_in_thread);
  g_object_unref(task);
}

static void save_all_before(void) {
  GQueue waiting = G_QUEUE_INIT;
  for (int i = 0; i < 3; i++)
    g_queue_push_tail(&waiting, (gpointer)texts[i]);
  save_next(&waiting);
  g_main_loop_run(loop);
}

/* --- now */

static void save(void *text, inturn_token token) { /* on a worker thread */
  store(text);
  inturn_token_finish(token);
}

static void on_end(GObject *source, GAsyncResult *result, gpointer left) {
  (void)source;
  inturn_gio_enqueue_finish(result, NULL, NULL);
  if (--*(int *)left == 0)
    g_main_loop_quit(loop);
}

static void save_all_now(void) {
  inturn_queue queue;
  int left = 3;
  inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue);
  for (int i = 0; i < 3; i++)
    inturn_gio_enqueue_async(queue, NULL, save, (void *)texts[i], NULL, NULL,
                             NULL, on_end, &left);
  g_main_loop_run(loop);
  inturn_queue_destroy(queue);
}

/* --- end */

int main(void) {
  loop = g_main_loop_new(NULL, FALSE);
  save_all_before();
  printf("a GTask:  %s\n", saved);
  saved[0] = '\0';
  save_all_now();
  printf("  a queue:%s\n", saved);
  g_main_loop_unref(loop);
  return 0;
}
