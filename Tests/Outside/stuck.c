/*
 * stuck.c - a process that the tests of the program `inturn` ask.
 *
 * SPDX-License-Identifier: MIT
 *
 * Queue "network" has "load" in its call on a thread and "save" behind it;
 * "disk" has "write", whose token is out; "idle" is empty. It prints "ready",
 * and runs for ever.
 */
#include "inturn.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int called;

static void check(inturn_status status) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s\n", inturn_status_name(status));
    exit(1);
  }
}

static void block(void *context, inturn_token token) {
  (void)context, (void)token;
  atomic_fetch_add(&called, 1);
  for (;;)
    pause();
}

static void keep(void *context, inturn_token token) {
  (void)context, (void)token;
  atomic_fetch_add(&called, 1);
}

static inturn_queue make(inturn_queue_kind kind, const char *label) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = label;
  check(inturn_queue_create(kind, &options, &queue));
  return queue;
}

static void add(inturn_queue queue, const char *label, inturn_work_fn work) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = label;
  check(inturn_queue_enqueue_with(queue, &options, work, NULL, NULL, NULL));
}

int main(void) {
  inturn_queue network = make(INTURN_QUEUE_FIFO, "network");
  make(INTURN_QUEUE_FIFO, "idle");
  add(network, "load", block);
  add(network, "save", keep);
  add(make(INTURN_QUEUE_CONCURRENT, "disk"), "write", keep);
  while (atomic_load(&called) < 2) {
  }
  puts("ready");
  fflush(stdout);
  for (;;)
    pause();
}
