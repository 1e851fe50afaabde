/* recorded.c - queues at work, recorded, for Perfetto to read. */
#include "inturn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(inturn_status status) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s\n", inturn_status_name(status));
    abort();
  }
}

static inturn_queue network;

static void send(void *context, inturn_token token) {
  inturn_token *other = context;
  check(inturn_token_finish(*other));
  free(other);
  check(inturn_token_finish(token));
}

/* Is finished by an operation of another queue. */
static void save(void *context, inturn_token token) {
  (void)context;
  inturn_token *copy = malloc(sizeof token);
  *copy = token;
  check(inturn_queue_enqueue(network, send, copy, NULL, NULL));
}

static void work(void *context, inturn_token token) {
  (void)context;
  check(inturn_token_finish(token));
}

int main(int argc, char **argv) {
  (void)argc;
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue database, uploads;
  options.label = "network";
  check(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &network));
  options.label = "database";
  check(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &database));
  options.label = "uploads";
  options.max_concurrent = 2;
  check(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &uploads));
  check(inturn_trace_start(0));
  for (int i = 0; i < 100; i++)
    check(inturn_queue_enqueue(database, save, NULL, NULL, NULL));
  for (int i = 0; i < 50; i++) {
    inturn_operation_options photo = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation operation;
    photo.label = "photo";
    check(inturn_queue_enqueue_with(uploads, &photo, work, NULL, NULL,
                                    &operation));
    photo.label = "thumbnail";
    photo.after = &operation;
    photo.after_count = 1;
    check(inturn_queue_enqueue_with(uploads, &photo, work, NULL, NULL, NULL));
    check(inturn_operation_release(operation));
  }
  check(inturn_queue_drain(database, -1));
  check(inturn_queue_drain(uploads, -1));
  check(inturn_queue_drain(network, -1));
  check(inturn_trace_stop());
  check(inturn_queue_destroy(network));
  int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(inturn_trace_write(file));
  return close(file);
}
