/*
 * gio.h - Inturn behind asynchronous calls of GIO's form.
 *
 * SPDX-License-Identifier: MIT
 *
 *     cc program.c $(pkg-config --cflags --libs inturn gio-2.0)
 *
 * GIO's asynchronous calls are pairs: foo_async takes a GCancellable and
 * begins, foo_finish takes a GAsyncResult and says how it went. With this such
 * a pair has its turn in a queue:
 *
 *     void store_save_async(Store *store, GCancellable *cancellable,
 *                           GAsyncReadyCallback callback, gpointer data) {
 *       inturn_gio_enqueue_async(store->queue, NULL, save, store, NULL, store,
 *                                cancellable, callback, data);
 *     }
 *
 *     gboolean store_save_finish(Store *store, GAsyncResult *result,
 *                                GError **error) {
 *       return inturn_gio_enqueue_finish(result, NULL, error);
 *     }
 *
 * This is about who waits for an operation. Where work is called, on a main
 * loop or not, is the queue's executor's affair: see glib.h.
 */
#ifndef INTURN_GIO_H
#define INTURN_GIO_H

#include <inturn.h>

#include <gio/gio.h>

/* The domains of what a token was failed with, whose code is the token's, and
   of what a queue has refused, whose code is an inturn_status. */
#define INTURN_GIO_FAILED (g_quark_from_static_string("inturn-failed"))
#define INTURN_GIO_REFUSED (g_quark_from_static_string("inturn-refused"))

/* For the glue alone: a task's data. Written while the task cannot end yet, and
   `result` before it does. */
typedef struct inturn_gio_call {
  GCancellable *cancellable; /* NULL: none */
  gulong handler;            /* 0: not connected */
  inturn_operation operation;
  gpointer result;
} inturn_gio_call;

static inline void inturn_gio_free(gpointer data) {
  inturn_gio_call *self = (inturn_gio_call *)data;
  /* g_cancellable_disconnect would wait for a handler that this may be in. */
  if (self->handler != 0)
    g_signal_handler_disconnect(self->cancellable, self->handler);
  g_clear_object(&self->cancellable);
  inturn_operation_release(self->operation);
  g_free(self);
}

static inline void inturn_gio_cancelled(GCancellable *unused, gpointer data) {
  (void)unused;
  inturn_operation_cancel(*(inturn_operation *)data);
}

static inline void inturn_gio_ended(void *context, const inturn_end *end) {
  GTask *task = G_TASK(context);
  const char *label = end->label == NULL ? "the operation" : end->label;
  switch (end->outcome) {
  case INTURN_FINISHED:
    ((inturn_gio_call *)g_task_get_task_data(task))->result = end->result;
    g_task_return_boolean(task, TRUE);
    return;
  case INTURN_FAILED:
    g_task_return_new_error(task, INTURN_GIO_FAILED, end->code,
                            "%s failed with %d", label, (int)end->code);
    return;
  case INTURN_CANCELLED:
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CANCELLED,
                            "%s was cancelled", label);
    return;
  case INTURN_TIMED_OUT:
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                            "%s timed out", label);
    return;
  case INTURN_ABANDONED:
    break;
  }
  g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED,
                          "%s was abandoned", label);
}

/* Enqueues an operation as inturn_queue_enqueue_with does, and calls `callback`
   once, in the thread-default main context of the caller, when it has ended or
   the queue has refused it; never before this returns. The options' on_end,
   end_context and end_destroy are not looked at.

   Cancelling `cancellable`, which may be NULL, cancels the operation; work of
   one that was cancelled before this call is not called. An operation that is
   cancelled otherwise leaves it alone.
   Threads: any.
   Ownership: the call keeps `source` and `cancellable` until the callback has
   returned. The context is destroyed exactly once, as by
   inturn_queue_enqueue_with. */
static inline void inturn_gio_enqueue_async_at(
    inturn_site *site, inturn_queue queue,
    const inturn_operation_options *options, inturn_work_fn work, void *context,
    inturn_destroy_fn destroy, gpointer source, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer data) {
  inturn_operation_options all = INTURN_OPERATION_OPTIONS_INIT;
  GTask *task = g_task_new(source, cancellable, callback, data);
  inturn_gio_call *self = g_new0(inturn_gio_call, 1);
  inturn_operation *named;
  inturn_status status;
  if (options != NULL)
    all = *options;
  if (cancellable != NULL)
    self->cancellable = (GCancellable *)g_object_ref(cancellable);
  g_task_set_task_data(task, self, inturn_gio_free);
  g_task_set_check_cancellable(task, FALSE); /* the operation's end counts */
  if (g_cancellable_is_cancelled(cancellable)) {
    if (destroy != NULL)
      destroy(context);
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CANCELLED,
                            "cancelled before it was enqueued");
    g_object_unref(task);
    return;
  }
  all.on_end = inturn_gio_ended;
  all.end_context = g_object_ref(task);
  all.end_destroy = g_object_unref;
  status = inturn_queue_enqueue_with_at(site, queue, &all, work, context,
                                        destroy, &self->operation);
  if (status != INTURN_OK)
    g_task_return_new_error(task, INTURN_GIO_REFUSED, (int)status,
                            "the queue refused it: %s",
                            inturn_status_message(status));
  else if (cancellable != NULL) {
    named = g_new(inturn_operation, 1);
    *named = self->operation;
    self->handler = g_cancellable_connect(
        cancellable, G_CALLBACK(inturn_gio_cancelled), named, g_free);
  }
  g_object_unref(task);
}

static inline void inturn_gio_enqueue_async(
    inturn_queue queue, const inturn_operation_options *options,
    inturn_work_fn work, void *context, inturn_destroy_fn destroy,
    gpointer source, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer data) {
  inturn_gio_enqueue_async_at(NULL, queue, options, work, context, destroy,
                              source, cancellable, callback, data);
}

/* Whether the operation has finished. If not, `error` gets
   G_IO_ERROR_CANCELLED, G_IO_ERROR_TIMED_OUT or, for a lost token,
   G_IO_ERROR_FAILED; or an error of INTURN_GIO_FAILED or INTURN_GIO_REFUSED. To
   be called once, from the callback or later with a reference to `result`.
   Ownership: out_result, which may be NULL, gets the result of
   inturn_token_finish_with: the operation's, and valid as long as `result`. */
static inline gboolean inturn_gio_enqueue_finish(GAsyncResult *result,
                                                 gpointer *out_result,
                                                 GError **error) {
  GTask *task = G_TASK(result);
  if (out_result != NULL)
    *out_result = ((inturn_gio_call *)g_task_get_task_data(task))->result;
  return g_task_propagate_boolean(task, error);
}

/* As inturn.h does: the site is the line that calls. */
#ifdef INTURN_HERE
#define inturn_gio_enqueue_async(...)                                          \
  inturn_gio_enqueue_async_at(INTURN_HERE, __VA_ARGS__)
#endif

#endif /* INTURN_GIO_H */
