/*
 * printer.c - prints one page at a time, and takes a few milliseconds for it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "printer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct job {
  char *page;
  printer_done_fn done;
  void *context;
} job;

static atomic_flag is_busy = ATOMIC_FLAG_INIT;

static void *print(void *argument) {
  job printed = *(job *)argument;
  nanosleep(&(struct timespec){0, 5000000}, NULL);
  int error = strstr(printed.page, "torn") ? PRINTER_JAM : 0;
  free(printed.page);
  free(argument);
  atomic_flag_clear(&is_busy);
  printed.done(printed.context, error);
  return NULL;
}

int printer_print(const char *page, printer_done_fn done, void *context) {
  pthread_t thread;
  if (atomic_flag_test_and_set(&is_busy))
    return PRINTER_BUSY;
  job *started = malloc(sizeof *started);
  char *copy = strdup(page);
  if (!started || !copy)
    abort();
  *started = (job){copy, done, context};
  if (pthread_create(&thread, NULL, print, started) != 0)
    abort();
  pthread_detach(thread);
  return 0;
}
