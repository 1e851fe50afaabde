/*
 * process.h - what the parts of process.c share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "inturn.h"

/* Ends the process unless a call has succeeded. */
void check(inturn_status status);

/* Counts a call of work or of an observer; waits until there were so many. */
void note_call(void);
void await_calls(int count);

/* Work that is counted, and blocks for ever; or keeps its token. */
void block(void *context, inturn_token token);
void keep(void *context, inturn_token token);

inturn_queue make_named(inturn_queue_kind kind, const char *label);
inturn_operation add_named(inturn_queue queue, const char *label,
                           inturn_work_fn work);
void add_plain(inturn_queue queue, inturn_work_fn work, int count);

/* Makes waits inside work, which are there some time after it has returned. */
void wait_in_work(void);
void wait_for_what_comes_later(void);

/* One that has joined another; labels that a dump cuts or changes; many that
   run; and some that come after one another, for ever. */
void join_one_of_two(void);
void make_odd_labels(void);
void run_in_great_number(void);
void follow_each_other(void);

/* See process_stalls.c. */
void wait_for_drainers(void);
void wait_for_edges(void);
void wait_at_ends(void);
void wait_in_destroyed_queue(void);

#endif
