/*
 * ordered_uploads.c - files reach a server in order, one at a time.
 *
 *     ordered_uploads ADDRESS    (which Tests/Examples/upload_server.py prints)
 *
 * What to look at: the work starts a transfer and returns; the transfer's
 * completion finishes the token, and only then does the next one start. All of
 * it happens on one thread: libcurl's loop drains the queue's executor.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <curl/curl.h>
#include <string.h>

enum { FILES = 20 };

#define CURL(call) REQUIRE((call) == 0)

typedef struct upload {
  char address[256], contents[64];
  inturn_token token;
} upload;

static CURLM *transfers;
static inturn_queue uploads;
static int ended, stored;

static CURL *request(const char *address) {
  CURL *handle = curl_easy_init();
  REQUIRE(handle != NULL);
  CURL(curl_easy_setopt(handle, CURLOPT_URL, address));
  CURL(curl_easy_setopt(handle, CURLOPT_TIMEOUT, 20L));
  return handle;
}

/* The work: starts a transfer without waiting for its end. */
static void start_upload(void *context, inturn_token token) {
  upload *self = context;
  CURL *handle = request(self->address);
  self->token = token;
  CURL(curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "PUT"));
  CURL(curl_easy_setopt(handle, CURLOPT_POSTFIELDS, self->contents));
  CURL(curl_easy_setopt(handle, CURLOPT_PRIVATE, self));
  CURL(curl_multi_add_handle(transfers, handle));
}

/* A transfer is over, and so is its operation. */
static void end_upload(CURL *handle, CURLcode result) {
  upload *self;
  long status = 0;
  CURL(curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self));
  CURL(curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status));
  if (result == CURLE_OK && status == 201)
    CHECK(inturn_token_finish(self->token));
  else
    CHECK(inturn_token_fail(self->token, result ? (int)result : (int)status));
  CURL(curl_multi_remove_handle(transfers, handle));
  curl_easy_cleanup(handle);
}

static void on_end(void *unused, const inturn_end *end) {
  (void)unused;
  ended++;
  if (end->outcome == INTURN_FINISHED)
    stored++;
  else
    fprintf(stderr, "%s: failed with %d\n", end->label, end->code);
}

/* One loop for libcurl and for Inturn, until all uploads have ended. */
static void run_loop(inturn_executor executor) {
  struct curl_waitfd work = {0, CURL_WAIT_POLLIN, 0};
  CHECK(inturn_executor_fd(executor, &work.fd));
  while (ended < FILES) {
    int left;
    CURL(curl_multi_poll(transfers, &work, 1, 1000, NULL));
    CHECK(inturn_executor_drain(executor, 0, NULL));
    CURL(curl_multi_perform(transfers, &left));
    for (CURLMsg *message; (message = curl_multi_info_read(transfers, &left));)
      end_upload(message->easy_handle, message->data.result);
  }
}

int main(int argc, char **argv) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options labelled = INTURN_OPERATION_OPTIONS_INIT;
  require_(argc == 2, "usage", "ordered_uploads ADDRESS");
  CURL(curl_global_init(CURL_GLOBAL_DEFAULT));
  REQUIRE((transfers = curl_multi_init()) != NULL);
  CHECK(inturn_executor_main(&options.executor));
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &uploads));
  labelled.on_end = on_end;

  for (int number = 1; number <= FILES; number++) {
    upload *file = calloc(1, sizeof *file);
    REQUIRE(file != NULL);
    snprintf(file->address, sizeof file->address, "%s/files/%d", argv[1],
             number);
    snprintf(file->contents, sizeof file->contents, "contents of %d", number);
    labelled.label = strrchr(file->address, '/') + 1;
    CHECK(inturn_queue_enqueue_with(uploads, &labelled, start_upload, file,
                                    free, NULL));
  }
  run_loop(options.executor);
  printf("%d of %d files uploaded; the server says:\n", stored, FILES);
  fflush(stdout);
  char address[256];
  snprintf(address, sizeof address, "%s/files", argv[1]);
  CURL *list = request(address);
  /* Writes the response to the output. */
  require_(curl_easy_perform(list) == CURLE_OK, argv[1], "cannot be reached");
  curl_easy_cleanup(list);
  CHECK(inturn_queue_destroy(uploads));
  CURL(curl_multi_cleanup(transfers));
  curl_global_cleanup();
}
