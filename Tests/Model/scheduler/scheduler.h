/*
 * scheduler.h - threads as fibers, one of which runs at a time.
 *
 * SPDX-License-Identifier: MIT
 *
 * A schedule is the sequence of the scheduler's decisions: which thread
 * continues at each point. A chooser makes them; see chooser.hpp. Time is
 * virtual: it stands still while any thread can run, unless the chooser lets it
 * pass.
 */
#ifndef MODEL_SCHEDULER_H
#define MODEL_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller is about to access a word that others may access. */
void model_point(const void *address);

/* The caller has changed it: spinning threads may see what they wait for. */
void model_wrote(const void *address);

/* Starts a thread. `isEngines`: it may sleep forever. */
bool model_start(const char *name, bool isEngines, void (*body)(void *),
                 void *context);

/* Picks one of the scenario's forms, by number. */
uint32_t model_pick(uint32_t count);

/* Waits until the condition holds. Other threads evaluate it, repeatedly. */
void model_await(const char *what, bool (*condition)(void *), void *context);

/* Waits until no other thread can run; with `lets_time_pass`, not even after
   any time. */
void model_settle(bool lets_time_pass);

/* The virtual time, in nanoseconds. */
int64_t model_now(void);

/// How many blocks of memory are allocated; 0 under sanitizers.
int64_t model_blocks(void);

/* The running thread's number; 0 is the one that the schedule began with. */
int model_self(void);

/* Tells ThreadSanitizer that what comes before a release happens before what
   comes after an acquire of the same address, as with a program's own
   synchronisation. */
void model_release(void *address);
void model_acquire(void *address);

/* Reads and changes a variable without a lock, as a program does. */
void model_touch(int *address);

/* Called in the child of a fork, where the caller is the only thread. */
void model_become_child(void);

/* How many of the next thread starts fail; -1 for all. */
extern int model_failing_starts;

/* Ends the schedule: something guaranteed does not hold. */
__attribute__((noreturn)) void model_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Notes what the running thread does, for a trace. */
void model_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif

#endif
