// How a picture is read from a process's memory: read.c begins, read_objects.c
// reads what queues refer to, read_waits.c who waits, read_queue.c and
// read_operation.c the queues.
#ifndef INTURN_READER_H
#define INTURN_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "Layout.h"
#include "picture.h"

// The bits of `LaneMachine.Flags`, `LaneTraits`, `OperationWord.Flags` and
// `OperationSlot.Flags`, and the kinds of handles.
enum {
  CLOSED = 1 << 0,
  SUSPENDED = 1 << 1,
  HELD = 1 << 2,
  HAS_DELIVERIES = 1 << 4,
  BURSTING = 1 << 5,
  LANE_WAITED_FOR = 1 << 6,
  HEAD_BLOCKED = 1 << 8,
  OFFERED = 1 << 11,

  ONE_AT_A_TIME = 1 << 0,
  LIMITED = 1 << 1,
  SELECTIVE = 1 << 4,
  SEGMENTS = 1 << 8,
  VIEW = 1 << 10,

  STARTED = 1 << 0,
  RETURNED = 1 << 1,
  CLAIMED = 1 << 2,
  ENDED = 1 << 3,
  CANCEL_REQUESTED = 1 << 4,
  PLACE_HELD = 1 << 7,
  OBSERVED = 1 << 8,
  WAITED_FOR = 1 << 9,
  SEGMENT = 1 << 10,
  OWN_CLOCK = 1 << 12,
  RESTARTING = 1 << 14,
  REATTEMPTED = 1 << 15,
  AWAITED = 1 << 25,
  IS_TASK = 1 << 26,

  COUNTED = 1 << 0,

  QUEUE = 1,
  OPERATION = 2,
  TOKEN = 3,
  EXECUTOR = 4,
  CLOCK = 5,
  BATCH = 9,
  OWNER = 10,

  // Cases of `WaitGraph.Target`; those before are for queues.
  WAITS_FOR_OPERATION = 2,
  WAITS_FOR_OBSERVERS = 3,
  IS_WAIT_OF_TASK = 4,
};

/// Set in the generation of a lane whose queue is gone. Calls of it may go on.
static const uint32_t GONE = UINT32_C(1) << 31;

/// The bits of a handle that are the generation.
static const uint32_t GENERATIONS = (1 << 30) - 1;

/// The number of possible indices.
static const uint32_t MOST = 1 << 26;

typedef struct inturn_layout_lane lane;
typedef struct inturn_layout_extra extra;
typedef struct inturn_layout_slot slot;
typedef struct inturn_layout_jobs jobs;

/// Memory of an object that has a handle.
struct range {
  uint64_t begin, size, id;
};

/// The process being read, and the picture made from it.
struct reader {
  struct memory *memory;
  struct picture *picture;
  struct inturn_layout_process process;
  struct inturn_layout_engine engine;
  uint64_t pool_type;
  struct range *ranges; // in the order of memory
  size_t range_count, range_room;
};

/// One queue, and what is known of it so far.
struct queue {
  struct reader *reader;
  uint64_t address, id;
  uint32_t index;
  lane lane;
  extra extra; // all zero if there is none
  struct inturn_layout_order order;
  struct inturn_layout_executor executor;
  slot gate;                       // the first running operation
  uint32_t started;                // by a burst, and not counted yet
  uint64_t waiting;                // the number of pending operations
  uint64_t listed;                 // how many of these have been listed
  size_t thing;                    // its index in the picture
  bool has_changed;                // while it was read
  bool never_stands_still;         // so that each operation is checked
  uint64_t oldest, oldest_in_call; // of running operations
};

// read.c

/// Reads from an address. False if it is null or cannot be read.
bool read_at(struct reader *reader, uint64_t address, void *bytes, size_t size);

/// Adds a thing, zero except for its kind. Adding another one may move it.
struct thing *add_thing(struct picture *picture, const char *kind);

/// Removes all things except the first `count`.
void cut(struct picture *picture, size_t count);

/// Formats a text, which the caller frees.
__attribute__((format(printf, 1, 2))) char *text(const char *format, ...);

/// The bits of a handle, as the library composes them.
uint64_t handle(const struct reader *reader, int kind, uint32_t index,
                uint32_t generation);

/// The line of a site's number; no file if it is not known.
void take_site(struct reader *reader, uint32_t number, const char **out_file,
               uint32_t *out_line);

// read_objects.c

/// Adds all executors, clocks, owners and batches.
void add_objects(struct reader *reader);

/// The handle of the object that has this address, or of the batch that has an
/// entry there. 0 if there is none.
uint64_t id_at(const struct reader *reader, uint64_t address);

/// The operation of the same batch that a pending one with a slot comes after,
/// as far as a short search finds one. 0 if there is none.
uint64_t earlier_in_batch(struct reader *reader, const slot *slot);

/// Takes a label of the engine's, cut to the room. False if there is none.
bool take_label(struct reader *reader, uint64_t address, char *label,
                size_t room);

/// Why an executor calls nothing, in the engine's words.
char *standing(struct queue *queue);

/// The moment before which a queue whose view is there starts nothing. 0 if it
/// may start something.
int64_t next_start(const struct queue *queue);

// read_waits.c

/// Adds the waits that the engine knows: those of threads in callbacks, and of
/// tasks.
void add_waits(struct reader *reader);

// read_operation.c

/// The address of a slab's element of `size` bytes. 0 if there is none.
uint64_t element(struct reader *reader, const struct inturn_layout_slab *slab,
                 uint32_t index, size_t size);
/// The next index after one, and its address. 0 if there is none.
uint32_t next_index(struct reader *reader,
                    const struct inturn_layout_slab *slab, uint32_t index,
                    size_t size, uint64_t *out_address);

/// Reads a slot. False if it has none of the queue's operations at this moment.
bool read_slot(struct queue *queue, uint64_t address, slot *slot);

/// The address of the slot with this index. 0 if there is none.
uint64_t slot_at(struct queue *queue, uint32_t index);

/// Whether a word has all of these flags.
bool has(uint64_t word, uint64_t flags);

/// Whether an operation has ended, and not only an attempt.
bool is_ended(uint64_t word);

/// Reads a slot's details and plan; either is zero if there is none. False if
/// there is no plan.
bool read_plan(struct reader *reader, const slot *slot,
               struct inturn_layout_details *details,
               struct inturn_layout_plan *plan);

/// The handle of the operation in a slot of any queue. 0 if there is none.
uint64_t name_of(struct reader *reader, uint64_t address);

/// The moment of the picture. 0 if unknown.
int64_t now_of(const struct queue *queue);

/// The time until a moment, as a message shows it.
const char *rest_until(const struct queue *queue, int64_t moment);

// Each of these adds a thing for each operation, and for what it waits for.

/// Running operations.
void add_running(struct queue *queue);

/// The pending operation in a slot.
void add_pending_slot(struct queue *queue, uint64_t address);

/// The jobs of a buffer, without the first `taken`, which a burst has started.
void add_jobs(struct queue *queue, jobs jobs, uint32_t taken);

/// Operations of a selective queue that may start, by priority.
void add_levels(struct queue *queue);

/// Operations that wait for others, for names or for another attempt.
void add_blocked(struct queue *queue);

/// The operation with this id, if it is there.
void add_operation(struct reader *reader, uint64_t id);

/// Operations that batches hold back, which have no slots, as one thing for
/// each batch.
void add_held(struct queue *queue);

// read_queue.c

/// Reads the queue's own memory, and how far a burst has come. False if it is
/// gone, and nothing goes on in it.
bool read_lane(struct queue *queue);

/// The index of the queue with this address. 0 if there is none.
uint32_t index_of(struct reader *reader, uint64_t address);

/// Adds all queues, each with its operations.
void add_queues(struct reader *reader);

#endif
