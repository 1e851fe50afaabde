/*
 * memory.h - what the scenarios of memory.c are written with.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "fixture.h"

/* One that is begun in a process of its own for each allocation that fails. */
typedef struct scenario {
  const char *name;
  void (*run)(void);
} scenario;

/* The last one has no name. */
extern const scenario queue_scenarios[], control_scenarios[], other_scenarios[];

/* From here on, the allocation fails whose turn it is. */
void fail_from_here(void);

/* True for OK; for NO_MEMORY false, if an allocation has failed. */
#define ATTEMPT(call) attempt_at(__FILE__, __LINE__, #call, (call))

bool attempt_at(const char *file, int line, const char *call,
                inturn_status status);

/* What was given to the library and has to come back: contexts, by this. */
void *made(void);
void destroyed(void *context);

/* Work that finishes, and is counted. */
void work(void *context, inturn_token token);

/* How often it was called; how often the library has taken something. */
extern int worked, accepted;

/* Attempts to enqueue such work; takes down whether it was accepted, and that
   a refusal has changed nothing. The handle may be NULL. */
bool enqueue(inturn_queue queue, const inturn_operation_options *options,
             inturn_operation *operation);

/* The same with other work. */
bool enqueue_work(inturn_queue queue, const inturn_operation_options *options,
                  inturn_work_fn function, inturn_operation *operation);

/* Enough for tables and lists to grow. */
enum { SOME = 20 };

/* Of operations that want more than one name. */
extern const char *const names[2];

/* For who is told an end, or an event: each has its kind. */
void told(void *context, const inturn_end *end);
void told_event(void *context, const inturn_event *event);

/* The queue of the scenario, which is drained by hand, with a clock of its own;
   made before anything fails. */
extern stage own;
void begin(inturn_queue_kind kind);

/* Drains it; all that was accepted has been called. */
void run_all(void);

/* Drains it, and waits until it is quiet. */
void run_until_quiet(void);

#endif
