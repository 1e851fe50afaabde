// How the engine lies in the memory of a process, for who reads it from outside
// without running any code in it: bindings/c/program/reader.h. The engine
// itself makes no use of this but for the mark and the number.
//
// Each structure is the Swift type of that name, as far as it is read: what is
// left out has no name, or comes after. LayoutTests compares them. Whoever
// changes one, or what one of them means, takes another number.
#ifndef INTURN_LAYOUT_H
#define INTURN_LAYOUT_H

#include <stdint.h>

#define INTURN_LAYOUT_MARK "Inturn's engine"
#define INTURN_LAYOUT_NUMBER 13

/// An address in that process.
typedef uint64_t inturn_layout_address;

/// `inturn_system_process`, found by its mark: at a multiple of 16.
struct inturn_layout_process {
  char mark[16];
  uint32_t number;
  uint32_t state;               // the lowest four bits are the epoch
  inturn_layout_address engine; // 0: none yet
  inturn_layout_address inherited;
  inturn_layout_address sites; // of 65,536 addresses of lines
};

struct inturn_layout_site {
  inturn_layout_address file, function;
  uint32_t line;
};

/// Of the elements that have been given out, those that are at `begin` and up
/// to `unused`.
struct inturn_layout_indices {
  uint64_t live;
  uint32_t begin, end, unused;
};

struct inturn_layout_slab {
  uint32_t lock;
  inturn_layout_address indices, directory;
};

/// How many elements are in each piece of memory that a slab's directory names.
#define INTURN_LAYOUT_SEGMENT 4096

/// `EngineStorage`
struct inturn_layout_engine {
  struct inturn_layout_slab operations, lanes;
  inturn_layout_address objects, pool, system_clock, waits;
};

/// `WaitGraph.Storage`: the waits of threads, in an array, and those of tasks,
/// in an array of lists.
struct inturn_layout_waits {
  uint64_t unread[2];
  uint32_t lock;
  uint64_t attachments;
  inturn_layout_address threads, tasks;
};

/// `WaitGraph.Wait`; the upper three bits of `target_kind` are the case.
struct inturn_layout_wait {
  uint64_t unread[2];
  uint64_t number;
  inturn_layout_address frames; // an array
  uint64_t thread;
  uint8_t is_on_main_thread, holds_something;
  uint32_t site;
  inturn_layout_address target;
  uint64_t observation;
  uint8_t target_kind;
  inturn_layout_address storage;
  uint8_t is_decided, is_there;
  inturn_layout_address places; // an array
};

/// `CallFrame`
struct inturn_layout_frame {
  inturn_layout_address outer, lane;
  uint64_t unread[2];
  uint8_t is_notice;
  inturn_layout_address operation;
  uint64_t call[4];
};

/// `TaskWait`
struct inturn_layout_task {
  uint64_t unread[6];
  uint32_t site, origin;
  uint64_t awaited;
};

/// `WaitGraph.TaskPlace`
struct inturn_layout_task_place {
  uint64_t unread[2];
  inturn_layout_address lane, wait, next;
};

/// `TrailBase`
struct inturn_layout_trail {
  uint64_t unread[2];
  uint32_t lock;
  uint64_t word;
  inturn_layout_address label; // an array of bytes
};

/// `ObjectSlab`
struct inturn_layout_object_slab {
  uint8_t kind;
  struct inturn_layout_slab slots;
};

/// `EngineObjects`
struct inturn_layout_objects {
  uint64_t unread[2];
  uint32_t lock;
  struct inturn_layout_object_slab executors, clocks, owners, batches;
};

struct inturn_layout_array {
  uint64_t unread[2];
  uint64_t count, capacity;
};

/// `ObjectSlot`
struct inturn_layout_object {
  uint32_t generation, lock;
  inturn_layout_address object;
};

/// `Executor`; a Swift string is two words.
struct inturn_layout_executor {
  inturn_layout_address type;
  uint64_t references, users, handle;
  inturn_layout_address label; // an array of bytes
  uint64_t unread[2];
  inturn_layout_address shared;
};

/// `Executor.Shared`
struct inturn_layout_shared {
  uint64_t first;
  inturn_layout_address ring;
  uint32_t capacity, taken, count, lock;
  uint64_t waiting;
  uint16_t unread[3];
  uint16_t threads, coming, parked; // of a pool
};

/// `WorkerPool`, after what each executor has.
struct inturn_layout_pool {
  struct inturn_layout_executor executor;
  uint64_t size;
  inturn_layout_address sleepers, workers; // arrays
};

/// A thread of a pool.
struct inturn_layout_worker {
  inturn_layout_address parker; // where it sleeps when it has nothing to do
  uint64_t unread[3];
};

/// `HostExecutor`, likewise.
struct inturn_layout_host {
  struct inturn_layout_executor executor;
  uint8_t is_main;
  uint32_t places;
  uint64_t attachment[2], thread, waker;
  uint32_t drainers;
};

/// `Clock`
struct inturn_layout_clock {
  uint64_t unread[2];
  uint32_t lock;
  uint64_t also_unread[4];
  uint64_t armed;
  int64_t manual_time;
  uint64_t others_unread[6];
  uint8_t is_manual;
};

/// `Owner`
struct inturn_layout_owner {
  uint64_t unread[2];
  uint32_t lock;
  inturn_layout_address newest, oldest, next;
  uint64_t operations;
};

/// `Batch`, with its `BatchDecision`
struct inturn_layout_batch {
  uint64_t unread[2];
  uint32_t lock;
  uint64_t policy, count, enough, ended, also_unread[4];
  inturn_layout_address states, entries;
  uint64_t entry_count, queue;
  uint32_t site;
  inturn_layout_address label;
  uint64_t others_unread[9];
  inturn_layout_address graph;
};

/// `BatchEntry`: an operation's context is its address.
struct inturn_layout_batch_entry {
  uint64_t unread[3];
  inturn_layout_address batch;
  uint64_t token;
  inturn_layout_address slot, end;
};

/// `BatchGraph`: what comes after a place is in `places`, from where the start
/// of that place says to where that of the next one does.
struct inturn_layout_graph {
  inturn_layout_address starts, places, blockers; // of 32-bit numbers
  uint8_t needs_finished;
  uint32_t held;
  uint8_t is_cancelled;
  uint64_t swept;
  inturn_layout_address batch;
  uint8_t has_slots;
  inturn_layout_address previous, next;
};

/// `JobBuffer`
struct inturn_layout_jobs {
  inturn_layout_address head, tail;
};

/// `Chunk`; its jobs come after it.
struct inturn_layout_chunk {
  inturn_layout_address next;
  uint32_t count, start, size_class, capacity, round, number;
};

/// `Job`: without work, the context is a slot.
struct inturn_layout_job {
  uint64_t work; // the upper 16 bits are the line's number
  inturn_layout_address context, destroy;
};

struct inturn_layout_lane {
  uint32_t generation;
  uint16_t lock, impatient;
  uint16_t flags, scheduled, active, traits;
  uint32_t running, pending;
  struct inturn_layout_jobs buffer;
  uint32_t first_running, burst_generation;
  uint64_t finished;
  int64_t more; // the address of the extra part, or the label's complement
};

/// `LaneExtra`
struct inturn_layout_extra {
  inturn_layout_address label, clock;
  uint64_t limit_of_pending;
  int64_t stall; // see `StallLimit`
  uint32_t limit, index;
  inturn_layout_address executor, former, away;
  // The backlog.
  inturn_layout_address order;
  uint32_t segments;
  uint64_t segments_run;
  uint8_t may_have_begun, has_obstinate;
  uint32_t tombstones, round;
  int64_t squeeze_budget;
  struct inturn_layout_jobs graveyard;
  // The suspensions; the reasons are in one list while they are few.
  uint32_t suspends, reasons, suspended_at;
  int64_t suspended_since;
  uint64_t buckets[5];
  inturn_layout_address first_reason;
  uint64_t reason_count;
  inturn_layout_address pace;
  // How operations have ended.
  uint64_t failed, cancelled, timed_out, abandoned;
  uint32_t keeping_places;
  inturn_layout_address first_delivery, last_delivery;
  // What keeps it from being quiet.
  uint32_t outside, waiters;
  uint8_t is_being_destroyed;
  uint32_t wakeups;
  inturn_layout_address calls;
  // What batches hold.
  inturn_layout_address graphs, cancelled_graphs;
  uint32_t held;
};

/// Of `Suspensions`.
struct inturn_layout_reason {
  inturn_layout_address text;
  uint64_t hash;
  uint32_t count, site;
  inturn_layout_address next;
};

/// `Pace`, with its `StartRate`
struct inturn_layout_pace {
  int64_t settle, gap;
  uint8_t is_visible;
  int64_t ready_at; // INT64_MIN: it has never been set
  inturn_layout_address timer;
  uint32_t starts;
  int64_t interval;
  uint32_t burst;
  int64_t full, part; // INT64_MIN: it has always been full
  uint8_t has_no_rate;
};

/// `LaneOrder`
struct inturn_layout_order {
  struct inturn_layout_jobs front, behind;
  inturn_layout_address fence;
  uint8_t is_fence_running;
  uint32_t first_blocked, last_blocked, blocked;
  inturn_layout_address levels;
  uint64_t level_capacity, level_count;
};

/// Of `LaneOrder`.
struct inturn_layout_level {
  int64_t priority;
  inturn_layout_address next;
  struct inturn_layout_jobs jobs;
};

/// `OperationSlot`
struct inturn_layout_slot {
  uint32_t link, previous;
  uint64_t word;
  inturn_layout_address lane;
  uint64_t work;
  inturn_layout_address context, destroy;
  uint32_t references, wakeups;
  inturn_layout_address next_delivery; // or, while it is called, the thread
  int32_t code;
  uint32_t index;
  inturn_layout_address result, result_destroy;
  int64_t enqueued_at, started_at, ended_at;
  inturn_layout_address details;
  uint8_t cause;
  uint16_t flags;
  uint32_t lane_generation;
};

/// `OperationDetails`
struct inturn_layout_details {
  inturn_layout_address label;
  uint64_t unread[20];
  inturn_layout_address groups;
  uint64_t also_unread[5];
  inturn_layout_address plan;
};

/// `OperationGroups`
struct inturn_layout_groups {
  inturn_layout_address key;
  uint64_t unread[2];
  inturn_layout_address owner;
  uint64_t also_unread[2];
  uint8_t joins;
  inturn_layout_address party;
  uint8_t is_following;
};

/// `Party`
struct inturn_layout_party {
  uint64_t unread[2];
  inturn_layout_address leader;
};

/// `OperationPlan`
struct inturn_layout_plan {
  uint32_t blockers;
  int32_t priority;
  uint8_t is_barrier, is_urgent, needs_finished, is_in_details, owns_edges;
  uint32_t attempts;
  inturn_layout_address edges;
  uint64_t linked;
  inturn_layout_address condition, names;
  uint64_t retry[7];
  uint8_t comes_next;
  uint32_t handle_generation;
  uint8_t goes_back;
  int64_t retry_at; // INT64_MAX: it is not
};

struct inturn_layout_edge {
  inturn_layout_address next, later, earlier;
  uint32_t earlier_generation;
  uint32_t unread;
};

/// `NameClaims`
struct inturn_layout_claims {
  uint64_t count, waiting_for;
  inturn_layout_address slot;
  uint64_t turn;
  uint8_t is_made;
  inturn_layout_address edge, first;
};

struct inturn_layout_name_place {
  inturn_layout_address name, claims, line, previous, next;
};

#endif
