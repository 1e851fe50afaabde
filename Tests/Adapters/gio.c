/*
 * gio.c - operations behind GIO's asynchronous calls.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <inturn/gio.h>

/* The thread's context, and what the callbacks received. */
typedef struct caller {
  GMainContext *context;
  GThread *thread;
  inturn_queue queue;
  int called;
  gpointer source, result;
  GError *error; /* of the last one */
} caller;

static caller caller_begin(inturn_queue_kind kind) {
  caller self = {
      g_main_context_new(), g_thread_self(), {0}, 0, NULL, NULL, NULL};
  CHECK_OK(inturn_queue_create(kind, NULL, &self.queue));
  g_main_context_push_thread_default(self.context);
  return self;
}

static void caller_end(caller *self) {
  g_main_context_pop_thread_default(self->context);
  g_main_context_unref(self->context);
  CHECK_OK(inturn_queue_destroy(self->queue));
  g_clear_error(&self->error);
}

static void note(GObject *source, GAsyncResult *result, gpointer data) {
  caller *self = data;
  CHECK(g_thread_self() == self->thread);
  self->called++;
  self->source = source;
  g_clear_error(&self->error);
  CHECK_INT(inturn_gio_enqueue_finish(result, &self->result, &self->error),
            self->error == NULL);
}

static void wait_for_calls(caller *self, int count) {
  while (self->called < count)
    g_main_context_iteration(self->context, TRUE);
  CHECK_INT(self->called, count);
}

static void enqueue(caller *self, job *job, inturn_work_fn work,
                    GCancellable *cancellable) {
  inturn_gio_enqueue_async(self->queue, NULL, work, job, job_destroyed, NULL,
                           cancellable, note, self);
}

static void finish_with_text(void *text, inturn_token token) {
  CHECK_OK(inturn_token_finish_with(token, text, g_free));
}

static void note_text(GObject *source, GAsyncResult *result, gpointer data) {
  note(source, result, data);
  CHECK_TEXT(((caller *)data)->result, "text");
}

static void
the_callback_is_called_in_the_callers_context_with_the_result(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  GObject *source = g_object_new(G_TYPE_OBJECT, NULL);
  inturn_gio_enqueue_async(self.queue, NULL, finish_with_text, g_strdup("text"),
                           NULL, source, NULL, note_text, &self);
  CHECK_INT(self.called, 0);
  wait_for_calls(&self, 1);
  CHECK(self.source == source);
  CHECK(self.error == NULL);
  caller_end(&self);
  g_object_unref(source);
}

static void the_second_begins_when_the_first_has_ended(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  job first = JOB("first"), second = JOB("second");
  enqueue(&self, &first, work_hold, NULL);
  enqueue(&self, &second, work_finish, NULL);
  GATE_WAIT(&first.started, 1);
  CHECK_INT(gate_count(&second.started), 0);
  CHECK_OK(inturn_token_finish(first.token));
  wait_for_calls(&self, 2);
  CHECK_TRACE("work first, work second");
  caller_end(&self);
}

static void a_failure_is_an_error_with_the_tokens_code(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  enqueue(&self, &job, work_fail, NULL);
  wait_for_calls(&self, 1);
  CHECK(g_error_matches(self.error, INTURN_GIO_FAILED, FAIL_CODE));
  CHECK_TEXT(self.error->message, "the operation failed with 7");
  caller_end(&self);
}

static void the_options_hold_and_a_time_out_is_an_error(void) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  options.label = "upload";
  options.max_wait_ns = 1;
  CHECK_OK(inturn_queue_suspend(self.queue));
  inturn_gio_enqueue_async(self.queue, &options, never_work, &job,
                           job_destroyed, NULL, NULL, note, &self);
  wait_for_calls(&self, 1);
  CHECK(g_error_matches(self.error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT));
  CHECK_TEXT(self.error->message, "upload timed out");
  caller_end(&self);
}

static void abandon(void *job, inturn_token token) {
  (void)job;
  CHECK_OK(inturn_token_abandon(token));
}

static void a_lost_token_is_an_error(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  enqueue(&self, &job, abandon, NULL);
  wait_for_calls(&self, 1);
  CHECK(g_error_matches(self.error, G_IO_ERROR, G_IO_ERROR_FAILED));
  caller_end(&self);
}

static void a_refusal_is_told_by_the_callback_too(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  job job = JOB("a");
  CHECK_OK(inturn_queue_close(self.queue));
  enqueue(&self, &job, never_work, NULL);
  CHECK_INT(gate_count(&job.destroyed), 1);
  CHECK_INT(self.called, 0); /* never before it returns */
  wait_for_calls(&self, 1);
  CHECK(g_error_matches(self.error, INTURN_GIO_REFUSED, INTURN_E_CLOSED));
  caller_end(&self);
}

/* Cancelling -------------------------------------------------------------- */

static void cancelling_cancels_what_has_not_begun(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  GCancellable *cancellable = g_cancellable_new();
  job job = JOB("a");
  CHECK_OK(inturn_queue_suspend(self.queue));
  enqueue(&self, &job, never_work, cancellable);
  g_cancellable_cancel(cancellable);
  wait_for_calls(&self, 1);
  CHECK(g_error_matches(self.error, G_IO_ERROR, G_IO_ERROR_CANCELLED));
  caller_end(&self);
  CHECK_INT(G_OBJECT(cancellable)->ref_count, 1);
  g_object_unref(cancellable);
}

static void hold_until_cancelled(void *context, inturn_token token) {
  job *job = context;
  CHECK_OK(inturn_token_on_cancel(token, job_cancel_called, job, NULL));
  work_hold(job, token);
}

static void cancelling_asks_what_runs_and_its_end_counts(void) {
  for (int gives_in = 0; gives_in < 2; gives_in++) {
    caller self = caller_begin(INTURN_QUEUE_FIFO);
    GCancellable *cancellable = g_cancellable_new();
    job job = JOB("a");
    enqueue(&self, &job, hold_until_cancelled, cancellable);
    GATE_WAIT(&job.started, 1);
    g_cancellable_cancel(cancellable);
    GATE_WAIT(&job.cancel_called, 1);
    CHECK_INT(self.called, 0);
    CHECK_OK(gives_in ? inturn_token_cancel(job.token)
                      : inturn_token_finish(job.token));
    wait_for_calls(&self, 1);
    CHECK_INT(g_error_matches(self.error, G_IO_ERROR, G_IO_ERROR_CANCELLED),
              gives_in);
    CHECK_INT(self.error == NULL, !gives_in);
    caller_end(&self);
    g_object_unref(cancellable);
    CHECK_TRACE("work a, cancel a");
  }
}

static void one_that_is_cancelled_already_begins_nothing(void) {
  caller self = caller_begin(INTURN_QUEUE_FIFO);
  GCancellable *cancellable = g_cancellable_new();
  job job = JOB("a");
  g_cancellable_cancel(cancellable);
  enqueue(&self, &job, never_work, cancellable);
  CHECK_INT(gate_count(&job.destroyed), 1);
  wait_for_calls(&self, 1);
  CHECK(g_error_matches(self.error, G_IO_ERROR, G_IO_ERROR_CANCELLED));
  caller_end(&self);
  g_object_unref(cancellable);
}

/* Each call ends once, whatever comes first; nothing is left of any call. */
enum { RACES = 2000 };

static void cancel_each(void *cancellables) {
  for (int i = 0; i < RACES; i++)
    g_cancellable_cancel(((GCancellable **)cancellables)[i]);
}

static void a_cancel_and_an_end_on_other_threads_give_one_callback(void) {
  static GCancellable *cancellables[RACES];
  caller self = caller_begin(INTURN_QUEUE_CONCURRENT);
  thread cancelling;
  for (int i = 0; i < RACES; i++)
    cancellables[i] = g_cancellable_new();
  thread_start(&cancelling, cancel_each, cancellables);
  for (int i = 0; i < RACES; i++)
    inturn_gio_enqueue_async(self.queue, NULL, just_finish, NULL, NULL, NULL,
                             cancellables[i], note, &self);
  thread_join(&cancelling);
  wait_for_calls(&self, RACES);
  caller_end(&self);
  for (int i = 0; i < RACES; i++) {
    CHECK_INT(G_OBJECT(cancellables[i])->ref_count, 1);
    g_object_unref(cancellables[i]);
  }
}

PROGRAM(gio,
        TEST(the_callback_is_called_in_the_callers_context_with_the_result),
        TEST(the_second_begins_when_the_first_has_ended),
        TEST(a_failure_is_an_error_with_the_tokens_code),
        TEST(the_options_hold_and_a_time_out_is_an_error),
        TEST(a_lost_token_is_an_error),
        TEST(a_refusal_is_told_by_the_callback_too),
        TEST(cancelling_cancels_what_has_not_begun),
        TEST(cancelling_asks_what_runs_and_its_end_counts),
        TEST(one_that_is_cancelled_already_begins_nothing),
        TEST(a_cancel_and_an_end_on_other_threads_give_one_callback))
