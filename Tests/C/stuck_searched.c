/*
 * stuck_searched.c - where a copy of the token is that keeps what is stuck.
 *
 * SPDX-License-Identifier: MIT
 *
 * Tests/Outside/holders.py has the places that a copy may be in.
 */
#define _GNU_SOURCE
#include "stuck.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether all memory can be searched: not where emulators cannot read it, nor
   with a sanitizer's terabytes. */
static bool is_searched(void) {
  int one = 1, other = 0;
  struct iovec local = {&other, sizeof other}, remote = {&one, sizeof one};
  return !SANITIZED &&
         process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof other;
}

/* Until then, their stacks have what their last calls have left there. */
static void await_sleeping_workers(void) {
  for (int workers = 0, sleeping = -1; sleeping != workers;) {
    workers = sleeping = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
      char path[300], text[256];
      snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
      FILE *file = fopen(path, "r");
      if (file == NULL)
        continue;
      if (fgets(text, sizeof text, file) != NULL) {
        workers += strstr(text, "(inturn-worker) ") != NULL;
        sleeping += strstr(text, "(inturn-worker) S") != NULL;
      }
      fclose(file);
    }
    closedir(threads);
  }
}

static void lose(void *gate_to_pass, inturn_token token) {
  (void)token;
  gate_pass(gate_to_pass);
}

/* The report of an operation whose token was lost, which is finished then. */
static stall report_of_lost(void) {
  stalls_begin(-1);
  gate is_lost = GATE_INIT;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_operation_options options = labelled("load");
  CHECK_OK(
      inturn_queue_enqueue_with(queue, &options, lose, &is_lost, NULL, NULL));
  GATE_WAIT(&is_lost, 1);
  enqueue_one(queue, NULL);
  await_sleeping_workers();
  CHECK_OK(inturn_report_set_stall_limit(STALL_NS));
  stall told = STALL("token load@network");
  CHECK_OK(inturn_token_finish(told.last));
  drain_and_destroy(queue);
  stalls_end();
  return told;
}

static void a_lost_token_is_nowhere(void) {
  stall told = report_of_lost();
  /* A sanitizer may have kept a copy. */
  if (is_searched())
    CHECK_TEXT(told.token_copy, "");
  else
    CHECK(told.token_copy[0] != '\0');
}

static void that_can_be_turned_off(void) {
  if (!is_alone(__func__, "INTURN_SEARCH", "off"))
    return;
  stall told = report_of_lost();
  CHECK_TEXT(told.token_copy, "(unknown)");
}

static void the_place_of_a_copy_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token *token = malloc(sizeof *token);
  hold(queue, "load", token);
  enqueue_one(queue, NULL);
  stall told = STALL("token load@network");
  if (is_searched() && strstr(told.token_copy, ", at 0x") == NULL)
    FAIL("no place: %s", told.token_copy);
  CHECK_OK(inturn_token_finish(*token));
  free(token);
  drain_and_destroy(queue);
  stalls_end();
}

static void what_no_token_keeps_has_no_copy(void) {
  stalls_begin(STALL_NS);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  CHECK_OK(inturn_queue_suspend(queue));
  enqueue_one(queue, NULL);
  stall told = STALL("suspended @network");
  CHECK_TEXT(told.token_copy, "(unknown)");
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
  stalls_end();
}

PROGRAM(stuck_searched, TEST(a_lost_token_is_nowhere),
        TEST(that_can_be_turned_off), TEST(the_place_of_a_copy_is_told),
        TEST(what_no_token_keeps_has_no_copy))
