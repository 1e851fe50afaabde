/*
 * stuck.h - what is reported of what stands still, for the tests of that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STUCK_H
#define STUCK_H

#include "fixture.h"

#define MS INT64_C(1000000)

/* One report. Its chain is a text: of each link the cause, the operation if it
   is one, and the queue, as in "after save@database > token load@network". Its
   sites are those of the links, as in "stuck.c:12 > stalls.c:150", without
   their folders; the message is without them. */
typedef struct stall {
  char chain[1024];
  char sites[1024];
  char message[2048];
  char queue_label[64];
  int64_t stalled_ns;
  uint64_t waiting;
} stall;

enum { MOST_STALLS = 64 };

/* How long something may stand still in most tests. */
#define STALL_NS (50 * MS)

/* From here on, what stands still for so long is reported here. */
void stalls_begin(int64_t limit_ns);

/* What is stuck is reported as by default, where it is. */
void stalls_end(void);

/* The first report with this chain; waits for it, with the limit. */
#define STALL(chain) stall_at(__FILE__, __LINE__, chain)

stall stall_at(const char *file, int line, const char *chain);

/* Whether its message has this text. */
bool stall_says(const stall *stall, const char *text);

/* What inturn_why says of an operation. */
stall reason_of(inturn_operation operation);

#define CHECK_REASON(operation, expected)                                      \
  do {                                                                         \
    stall reason_ = reason_of(operation);                                      \
    CHECK_TEXT(reason_.chain, expected);                                       \
  } while (0)

/* How many reports with this chain there have been. */
int stalls_of(const char *chain);

/* Called with each report, on the watchdog's thread; NULL: nothing. */
extern void (*stalls_told)(const inturn_report *report);

/* Creates a queue on the library's pool whose work goes on one by one, unless
   the kind says otherwise. */
inturn_queue labelled_queue(inturn_queue_kind kind, const char *label);

/* Options with this label. */
inturn_operation_options labelled(const char *label);

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
