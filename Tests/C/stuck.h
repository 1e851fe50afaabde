/*
 * stuck.h - reports of stalls, for their tests.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STUCK_H
#define STUCK_H

#include "fixture.h"

#define MS INT64_C(1000000)

/* One report. Its chain is a text: for each link the cause, the operation if it
   is one, and the queue, as in "after save@database > token load@network". Its
   sites are the links' sites, as in "stuck.c:12 > stalls.c:150", without their
   folders; they are left out of the message. */
typedef struct stall {
  char chain[1024];
  char sites[1024];
  char message[2048];
  char queue_label[64];
  char token_copy[160]; /* "(unknown)" for NULL */
  int64_t stalled_ns;
  uint64_t waiting;
  inturn_token first, last; /* the links' tokens */
  uint64_t thread;          /* the last link's */
} stall;

enum { MOST_STALLS = 64 };

/* How long something may be stalled in most tests. */
#define STALL_NS (50 * MS)

/* From here on, stalls of this length are reported here. */
void stalls_begin(int64_t limit_ns);

/* From here on, stalls are reported where and when they are by default. */
void stalls_end(void);

/* The first report with this chain; waits for it, at most for the limit. */
#define STALL(chain) stall_at(__FILE__, __LINE__, chain)

stall stall_at(const char *file, int line, const char *chain);

/* Whether its message contains this text. */
bool stall_says(const stall *stall, const char *text);

/* The answer of inturn_why about an operation. */
stall reason_of(inturn_operation operation);

#define CHECK_REASON(operation, expected)                                      \
  do {                                                                         \
    stall reason_ = reason_of(operation);                                      \
    CHECK_TEXT(reason_.chain, expected);                                       \
  } while (0)

/* The number of reports with this chain, or of all. */
int stalls_of(const char *chain);

/* Called with each report, on the watchdog's thread, unless NULL. */
extern void (*stalls_told)(const inturn_report *report);

/* Creates a queue on the library's pool that runs one operation at a time,
   unless the kind says otherwise. */
inturn_queue labelled_queue(inturn_queue_kind kind, const char *label);

/* Options with this label. */
inturn_operation_options labelled(const char *label);

/* Enqueues a labelled operation that comes after another one, unless that is a
   null handle, and finishes; the caller releases the handle. */
inturn_operation enqueue_kept(inturn_queue queue, const char *label,
                              inturn_operation after);

/* Enqueues work that keeps its token there, and waits until it is called. */
void hold(inturn_queue queue, const char *label, inturn_token *token);
void hold_with(inturn_queue queue, const inturn_operation_options *options,
               inturn_token *token);
void hold_kept(inturn_queue queue, const inturn_operation_options *options,
               inturn_token *token, inturn_operation *operation);

/* Enqueues work that just finishes. */
void enqueue_one(inturn_queue queue, const char *label);

/* Waits until the process has this many threads of this name. */
void await_threads(const char *name, int count);

#endif
