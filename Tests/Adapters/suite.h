/*
 * suite.h - shared by the parts of the suite.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SUITE_H
#define SUITE_H

#include "fixture.h"
#include "host.h"

/* An executor, and a FIFO queue on it; the loop is this thread's. */
extern inturn_executor suite_executor;
extern inturn_queue suite_queue;

/* Creates them and the loop; the second function also attaches the executor. */
void suite_begin_unattached(void);
void suite_begin(void);

/* Reverses that, in the opposite order. */
void suite_end_detached(void);
void suite_end(void);

/* Enqueues SUITE_MANY operations, which count suite_next_number up in order on
   the loop's thread, and one that stops the loop. Any thread may call it. */
enum { SUITE_MANY = 1000 };
extern long suite_next_number;
void suite_enqueue_many(void *unused);

/* The tests of refusals.c. */
extern const test refusals[];
extern const size_t refusals_count;

#endif
