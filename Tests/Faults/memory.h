/*
 * memory.h - shared by the scenarios of memory.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "fixture.h"

/* A scenario, run in a process of its own for each allocation that fails. */
typedef struct scenario {
  const char *name;
  void (*run)(void);
} scenario;

/* The last entry has no name. */
extern const scenario queue_scenarios[], control_scenarios[], other_scenarios[];

/* From here on, allocations are counted, and the chosen one fails. */
void fail_from_here(void);

/* True for OK; false for NO_MEMORY, if an allocation has failed. */
#define ATTEMPT(call) attempt_at(__FILE__, __LINE__, #call, (call))

bool attempt_at(const char *file, int line, const char *call,
                inturn_status status);

/* Creates and destroys contexts, each of which the library has to return. */
void *made(void);
void destroyed(void *context);

/* Work that finishes, and is counted. */
void work(void *context, inturn_token token);

/* How often it was called, and how often the library has accepted something. */
extern int worked, accepted;

/* Attempts to enqueue such work; counts it if it is accepted, and checks that a
   refusal has changed nothing. The handle may be NULL. */
bool enqueue(inturn_queue queue, const inturn_operation_options *options,
             inturn_operation *operation);

/* The same with other work. */
bool enqueue_work(inturn_queue queue, const inturn_operation_options *options,
                  inturn_work_fn function, inturn_operation *operation);

/* Enough for tables and lists to grow. */
enum { SOME = 20 };

/* Names for operations that want more than one. */
extern const char *const names[2];

/* Callbacks for ends and events; each checks the kind. */
void told(void *context, const inturn_end *end);
void told_event(void *context, const inturn_event *event);

/* The scenario's queue, drained by hand and with a clock of its own; created
   before anything fails. */
extern stage own;
void begin(inturn_queue_kind kind);

/* Drains it; everything accepted has been called. */
void run_all(void);

/* Drains it, and waits until it is quiet. */
void run_until_quiet(void);

#endif
