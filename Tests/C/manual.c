/*
 * manual.c - the programs in section 2 of the manual, word for word.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

/* A file to upload, and the thread that uploads it. */
typedef struct file {
  const char *name;
  thread uploader;
  inturn_token token;
} file;

static void complete_upload(void *context) {
  file *file = context;
  trace("uploaded %s", file->name);
  CHECK_OK(inturn_token_finish(file->token));
}

static void start_upload(file *file, inturn_token token) {
  trace("started %s", file->name);
  file->token = token;
  thread_start(&file->uploader, complete_upload, file);
}

static void upload(void *file, inturn_token token) {
  start_upload(file, token);
}

static void free_file(void *context) {
  file *file = context;
  thread_join(&file->uploader);
  trace("freed %s", file->name);
  free(file);
}

static file *new_file(const char *name) {
  file *file = calloc(1, sizeof *file);
  CHECK(file != NULL);
  file->name = name;
  return file;
}

static void uploads_are_done_in_turn(void) {
  file *first = new_file("first"), *second = new_file("second");
  inturn_queue uploads;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &uploads));
  CHECK_OK(inturn_queue_enqueue(uploads, upload, first, free_file, NULL));
  CHECK_OK(inturn_queue_enqueue(uploads, upload, second, free_file, NULL));
  CHECK_OK(inturn_queue_drain(uploads, -1));
  CHECK_OK(inturn_queue_destroy(uploads));
  CHECK_TRACE("started first, uploaded first, freed first, "
              "started second, uploaded second, freed second");
}

static inturn_executor main_thread;
static pthread_t presenting_thread;

static void ask_for_location(void *context, inturn_token token) {
  presenting_thread = pthread_self();
  just_finish(context, token);
  CHECK_OK(inturn_executor_stop(main_thread));
}

static void interactions_are_presented_on_the_main_thread(void) {
  inturn_queue dialogs;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, NULL, &dialogs));
  CHECK_OK(inturn_queue_enqueue(dialogs, ask_for_location, NULL, NULL, NULL));
  CHECK_OK(inturn_executor_main(&main_thread));
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  CHECK_OK(inturn_executor_run(main_thread));
  CHECK(pthread_equal(presenting_thread, pthread_self()));
  CHECK_OK(inturn_queue_destroy(dialogs));
}

PROGRAM(manual, TEST(uploads_are_done_in_turn),
        TEST(interactions_are_presented_on_the_main_thread))
