// What the writer of traces remembers while it reads the records, and how it
// writes events: shared by Trace.c, TraceOrder.c,
// TraceEvents.c and TraceSteps.c.
#ifndef CINTURN_TRACE_ITEMS_H
#define CINTURN_TRACE_ITEMS_H

#include "Trace.h"

// It is called seldom, and is in each program: small is better than fast.
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)

enum {
  OUTPUT = 1 << 14,
  NAME = 80,     // bytes of a queue's or executor's name
  MOST_NEW = 12, // items that one record may need
};

#define HANDLE UINT64_C(0x00ffffffffffffff)
#define PLACE UINT64_C(0x0000ffffffffffff)
#define QUEUES UINT64_MAX        // the process of the queues
#define THREADS (UINT64_MAX - 1) // that of threads without an executor

enum item_kind { LANE = 1, OPERATION, PLAIN, PROCESS, THREAD, TRACK };

typedef uint32_t id; // of an item; 0 is none

// Where an arrow may begin; track 0 is nowhere.
struct point {
  uint64_t ns;
  id track;
};

struct operation {
  struct point enqueued, freed, finished; // freed: the end by which it starts
  uint64_t start;
  const char *label;
  id lane, track, thread; // track: while it runs
  id releases;            // ends, the latest first
  uint32_t ends;          // records to come that say that it ends
  uint16_t site;
  uint8_t outcome;
  bool is_counted; // among its lane's running ones
};

struct lane {
  uint64_t moved;    // places that were given before are not known any more
  const char *label; // when it was destroyed
  id name;
  id free;                // tracks
  id first_end, last_end; // that no start has followed yet
  uint32_t index, tracks, limit, running, ends;
};

struct process {
  id name;
  uint32_t pid, index;
};

struct thread {
  uint64_t sequence; // of the block that has the label
  char label[16];
  id process, call;
  id turn; // the lane of a turn since the call has begun
  uint32_t tracks;
};

struct track {
  id process;
  id next; // of its lane's free ones
  uint32_t tid;
};

// A call that goes on. The one below it has led to it.
struct call {
  uint64_t start;
  id operation, lane, track, below;
};

struct end {
  struct point at;
  id operation, next;
};

// Something that records tell of. It is found by its kind, key and owner.
struct item {
  uint64_t key;
  id owner;
  id chain; // the next one with the same hash
  uint8_t kind;
  union {
    struct operation operation; // PLAIN, too: one that has not been started
    struct lane lane;
    struct process process;
    struct thread thread;
    struct track track;
    struct call call;
    struct end end;
    char name[NAME];
  } as;
};

struct writer {
  const struct inturn_system_trace *trace;
  struct item *items;
  id *heads; // by hash
  uint64_t mask;
  id count, capacity;
  id unused; // calls and ends
  id queues, threads;
  uint32_t lanes, processes, numbers, arrows;
  int descriptor, error;
  bool has_events;
  uint32_t used;
  char output[OUTPUT];
};

static inline struct item *inturn_trace_at(struct writer *w, id item) {
  return w->items + item;
}

typedef struct inturn_system_trace_record record;

static inline uint8_t kind_of(const record *record) {
  return (uint8_t)(record->lane >> 56);
}
// By which a queue's label is asked for.
static inline uint64_t lane_of(const record *record) {
  return record->lane << 8 | record->operation >> 56;
}
static inline uint16_t site_of(const record *record) {
  return (uint16_t)(record->other >> 48);
}
// The place of its name in inturn_trace_outcomes.
static inline uint8_t outcome_of(const record *record) {
  uint8_t outcome = (uint8_t)(record->operation >> 56);
  return outcome < 6 ? outcome : 0;
}
// The next record is text.
static inline bool has_text(const record *record) {
  return kind_of(record) == INTURN_SYSTEM_TRACE_LABEL ||
         kind_of(record) == INTURN_SYSTEM_TRACE_GONE;
}

extern const char *const inturn_trace_outcomes[6];

// --- Order

// A block that is being read.
struct run {
  const record *next, *end;
  uint64_t sequence;
  id thread;
};

/// Restores the order of a heap of runs below one that may be too far up. The
/// first run is that of the earliest record.
void inturn_trace_sink(struct run *runs, uint64_t count, uint64_t place);

/// When it was, by the clock that counts nanoseconds.
uint64_t inturn_trace_nanoseconds(const struct inturn_system_trace *trace,
                                  uint64_t ticks);

// --- Events

void inturn_trace_flush(struct writer *w);
void inturn_trace_put_byte(struct writer *w, char byte);
void inturn_trace_put(struct writer *w, const char *text);
void inturn_trace_put_digits(struct writer *w, uint64_t value, uint64_t base,
                             int least);
void inturn_trace_put_number(struct writer *w, uint64_t value);
void inturn_trace_put_microseconds(struct writer *w, uint64_t ns);
bool inturn_trace_reserve(struct writer *w);
id inturn_trace_make_other(struct writer *w);
void inturn_trace_give_back(struct writer *w, id other);
id *inturn_trace_find(struct writer *w, enum item_kind kind, uint64_t key,
                      id owner, id **head);
id inturn_trace_add(struct writer *w, enum item_kind kind, uint64_t key,
                    id owner);
id inturn_trace_find_or_add(struct writer *w, enum item_kind kind, uint64_t key,
                            id owner);
id inturn_trace_operation(struct writer *w, uint64_t handle);
id inturn_trace_lane(struct writer *w, const record *record);
void inturn_trace_put_name(struct writer *w, id what);
void inturn_trace_begin(struct writer *w, const char *phase, id track,
                        uint64_t ns, const char *verb, id name);
void inturn_trace_put_id(struct writer *w, id operation);
void inturn_trace_put_site(struct writer *w, uint16_t site, const char *comma);
void inturn_trace_end_slice(struct writer *w, uint64_t ns);
void inturn_trace_arrow(struct writer *w, const char *name, struct point from,
                        id track, uint64_t ns);
id inturn_trace_process(struct writer *w, uint64_t key);
id inturn_trace_lane_track(struct writer *w, id lane, uint32_t place);
id inturn_trace_take_track(struct writer *w, id lane);
void inturn_trace_free_track(struct writer *w, id lane, id track);
id inturn_trace_thread_track(struct writer *w, id thread, id process);
id inturn_trace_current_track(struct writer *w, id thread);

#endif
