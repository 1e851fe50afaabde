/*
 * world.h - the objects that the fuzzer's calls use, and what is known of them.
 *
 * SPDX-License-Identifier: MIT
 *
 * This is the reference model. It has no queues of its own: it knows whether
 * each object is alive, which callbacks of each operation were called and which
 * calls of its tokens succeeded, and so which statuses a call may return. With
 * one thread, this is exact; with two, it is what holds in any interleaving.
 */
#ifndef WORLD_H
#define WORLD_H

#include "inturn.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum kind {
  QUEUE,
  OPERATION,
  BATCH,
  OWNER,
  EXECUTOR,
  CLOCK,
  VALUE,
  OBSERVATION,
  KINDS
};

enum {
  SLOTS = 8, /* of each kind */
  OPERATIONS = 256,
  ATTEMPTS = 4, /* whose tokens are kept */
  ITEMS = 4,    /* of a batch, at most */
  REASONS = 2,
  DEPTH = 3 /* steps within callbacks */
};

/* Statuses --------------------------------------------------------------- */

/* A set of statuses. */
typedef uint32_t mask;
#define BIT(status) ((mask)1 << -(status))
#define NO_BIT ((mask)0)
#define ANY (~(mask)0)
#define HANDLE_BITS                                                            \
  (BIT(INTURN_E_NULL_HANDLE) | BIT(INTURN_E_STALE) |                           \
   BIT(INTURN_E_WRONG_KIND) | BIT(INTURN_E_FORKED))

/* Prints what is wrong, and aborts. */
#define WRONG(...) wrong_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void wrong_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define HOLDS(condition)                                                       \
  do {                                                                         \
    if (!(condition))                                                          \
      WRONG("%s does not hold", #condition);                                   \
  } while (0)

/* What a call may return: one of `must`, or INTURN_OK if there is no reason for
   a refusal; also one of `may`. With two threads, the model may be a moment
   late: then also what a handle's end explains, and one of `late`. */
typedef struct allowed {
  mask must, may, late;
} allowed;

/* Checks a status, counts the call, and returns whether it was INTURN_OK. */
#define EXPECT(call, allowed) expect_at(__LINE__, #call, call, allowed)
bool expect_at(int line, const char *call, inturn_status status,
               allowed allowed);

/* The input -------------------------------------------------------------- */

typedef struct input {
  const uint8_t *next, *end;
} input;

uint8_t take(input *input); /* returns 0 at its end */
uint64_t take_long(input *input);

/* Objects ---------------------------------------------------------------- */

enum life { NEVER, IN_MAKING, ALIVE, DYING, GONE };

typedef struct slot {
  _Atomic uint64_t bits;
  atomic_int life;
} slot;

typedef struct queue_facts {
  inturn_queue_kind kind;
  atomic_int executors; /* a bit for each that it has had */
  int clock;            /* a slot, or -1 */
  uint64_t capacity;
  uint32_t max_concurrent;
  atomic_int suspends, reasons[REASONS];
  /* Starts that may have been decided before the last suspend: this many
     observers and conditions were being called, each of which may precede a
     start. */
  atomic_int decided;
  atomic_bool is_closed, is_visible, is_out_of_order;
  atomic_bool has_long_rate; /* drains do not wait for it */
  bool has_events;
  atomic_uint generation;
  atomic_int accepted;
  atomic_int last_begun; /* the highest place that has begun */
  atomic_int current;    /* the operation that began last, or -1 */
  atomic_int event_destroyed;
} queue_facts;

typedef struct value_facts {
  inturn_datum_type type;
  bool is_state;
  int64_t number; /* its content, with one thread */
} value_facts;

typedef struct observation_facts {
  bool is_latest, is_elsewhere, is_integer;
  uint8_t acts[2];
  atomic_bool is_over;
  _Atomic uint64_t told; /* the last change */
  _Atomic int64_t after;
  atomic_int in_call, destroyed;
} observation_facts;

typedef struct batch_facts {
  atomic_int told, destroyed, count, ended;
  atomic_bool accepted;
} batch_facts;

typedef struct operation_facts {
  int queue;
  unsigned queue_generation;
  int place; /* in its queue */
  int batch; /* a slot, or -1 */
  uint8_t acts[ATTEMPTS];
  bool has_end, is_plain, has_retry, has_condition, may_be_cut;
  atomic_bool accepted, refused, is_taken, is_over;
  atomic_int attempts; /* attempts whose work was called, or that were taken */
  atomic_int in_call;
  atomic_int
      ending; /* calls that are to end an attempt and have not returned */
  _Atomic uint64_t tokens[ATTEMPTS];
  atomic_int wins[ATTEMPTS]; /* calls that have ended the attempt */
  atomic_int ended, end_destroyed, destroyed, results, results_destroyed;
  atomic_int handlers, handlers_destroyed, segments, segments_destroyed;
} operation_facts;

typedef struct world {
  slot slots[KINDS][SLOTS];
  queue_facts queues[SLOTS];
  value_facts values[SLOTS];
  observation_facts observations[SLOTS];
  batch_facts batches[SLOTS];
  atomic_int operation_of[SLOTS]; /* of an operation's handle */
  operation_facts operations[OPERATIONS];
  atomic_int operation_count;
  int64_t clock_time[SLOTS];
  atomic_int wakes_given, wakes_destroyed;
  atomic_int draining; /* calls of drain, take or run that are under way */
  atomic_bool attached[SLOTS];
  bool has_two_threads, has_workers;
  atomic_bool is_closing, uses_names;
  atomic_int stepping; /* callbacks that make steps */
  atomic_int deciding; /* observers and conditions that are being called */
} world;

extern world the_world;
extern atomic_ullong calls_made;
extern bool says_calls; /* prints each call when it returns */

/* A handle for a call, its slot (-1: none), and what the call may return. */
typedef struct pick {
  uint64_t bits;
  int index;
  allowed allowed;
} pick;

pick pick_handle(input *input, enum kind kind);

/* A token for a call, and its attempt. */
typedef struct token_pick {
  inturn_token token;
  operation_facts *operation; /* NULL: none */
  int attempt;
  allowed allowed;
} token_pick;

token_pick pick_token(input *input);

/* Claims a slot that is not alive; -1 if it is. */
int claim(input *input, enum kind kind);
void make_alive(enum kind kind, int index, uint64_t bits);
void unclaim(enum kind kind, int index);
/* EXPECT for a call that ends an object. */
#define EXPECT_END(call, pick, kind)                                           \
  do {                                                                         \
    bool is_first_ = begin_end(pick, kind);                                    \
    inturn_status status_ = (call);                                            \
    expect_at(__LINE__, #call, status_, (pick).allowed);                       \
    end_end(pick, kind, is_first_, status_);                                   \
  } while (0)
bool begin_end(pick pick, enum kind kind); /* false if another one has begun */
void end_end(pick pick, enum kind kind, bool was_first, inturn_status status);

bool is_alive(enum kind kind, int index);

/* Operations: callbacks with an operation_facts as their context. */
operation_facts *new_operation(input *input, int queue);
void on_work(void *context, inturn_token token);
void on_segment(void *context, inturn_token token);
void on_cancel(void *context, inturn_token token);
void on_end(void *context, const inturn_end *end);
void on_destroyed(void *context);
void on_end_destroyed(void *context);
void on_result_destroyed(void *context);
void on_handler_destroyed(void *context);
void on_segment_destroyed(void *context);
inturn_verdict on_condition(void *context);
bool on_retry(void *context, int32_t code, uint32_t attempts);

/* Before and after a call that accepts or refuses operations. */
void judge_enqueue(operation_facts *operation, bool is_accepted);

/* What may refuse an enqueue of `count` operations, besides the handle. */
void refusals_of_enqueue(pick queue, uint64_t count, allowed *allowed);
int next_place(pick queue);

/* For calls that wait; in callbacks they may be refused. */
allowed waiting(allowed allowed, int64_t timeout);

/* Steps: one call of the library each. */
void step(input *input);
void step_queue(input *input);
void step_operation(input *input);
void step_token(input *input);
void step_batch(input *input);
void step_value(input *input);
void step_executor(input *input);
void step_diagnosis(input *input);
void step_clock(input *input);
void step_owner(input *input);

/* Ends a token, as the work of an operation does. */
void act(operation_facts *operation, int attempt, inturn_token token);

/* A step in a callback; the operation was given its bytes. */
void step_inside(uint8_t first, uint8_t second);

/* The whole world. */
void world_begin(bool has_two_threads, bool has_workers);
void world_end(bool lets_all_end);

#endif
