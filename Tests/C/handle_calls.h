/*
 * handle_calls.h - a table of all functions that take a handle, so that a test
 * can pass each of them a handle that it must refuse.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HANDLE_CALLS_H
#define HANDLE_CALLS_H

#include "fixture.h"

typedef enum handle_kind {
  HANDLE_QUEUE,
  HANDLE_OPERATION,
  HANDLE_TOKEN,
  HANDLE_EXECUTOR,
  HANDLE_CLOCK,
  HANDLE_VALUE,
  HANDLE_OBSERVATION,
  HANDLE_KINDS /* the number of kinds */
} handle_kind;

typedef struct handle_call {
  const char *name;
  handle_kind kind;
  int contexts;      /* the number of contexts, each with a destroy function */
  bool null_allowed; /* the null handle has a meaning */
  inturn_status (*call)(uint64_t bits);
} handle_call;

extern const handle_call handle_calls[];
extern const size_t handle_call_count;

/* One live handle of each kind, and what keeps them alive. */
typedef struct live_handles {
  uint64_t bits[HANDLE_KINDS];
  stage stage;
} live_handles;

live_handles live_handles_create(void);

/* Destroys them. The operation and the token stay, as stale ones. */
void live_handles_destroy(const live_handles *live);

/* Calls the function with this handle, which it must refuse, and returns the
   status. Checks what holds for every refusal: no out parameter is written, no
   callback is called, each context is destroyed once. */
inturn_status refused_call(const handle_call *call, uint64_t bits);

/* Calls every function that takes a handle of `kind` with these bits, and
   checks that each refuses with `expected`. */
void check_refusals(handle_kind kind, uint64_t bits, inturn_status expected);

#endif
