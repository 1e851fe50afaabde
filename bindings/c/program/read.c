// Reads what the engine of another process does, whose threads may stand still
// or go on meanwhile. Nothing of what is found there is trusted: each pointer
// is only followed by a read that may fail, each list has an end, and a queue
// that has changed while it was read is read again.
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "Layout.h"
#include "picture.h"
#include "program.h"

// The bits of `LaneMachine.Flags`, `LaneTraits`, `OperationWord.Flags` and
// `OperationSlot.Flags`, and the kinds of handles.
enum {
  CLOSED = 1 << 0,
  SUSPENDED = 1 << 1,
  HELD = 1 << 2,
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
  WAITED_FOR = 1 << 9,
  SEGMENT = 1 << 10,
  OWN_CLOCK = 1 << 12,
  RESTARTING = 1 << 14,
  REATTEMPTED = 1 << 15,
  AWAITED = 1 << 25,

  COUNTED = 1 << 0,

  QUEUE = 1,
  OPERATION = 2,
  TOKEN = 3,
};

/// Set in the generation of a lane whose queue is gone.
static const uint32_t GONE = UINT32_C(1) << 31;

/// As many indices there are.
static const uint32_t MOST = 1 << 26;

typedef struct inturn_layout_lane lane;
typedef struct inturn_layout_extra extra;
typedef struct inturn_layout_slot slot;
typedef struct inturn_layout_jobs jobs;

struct reader {
  struct memory *memory;
  struct picture *picture;
  struct inturn_layout_process process;
  struct inturn_layout_engine engine;
  uint64_t pool_type;
};

/// One queue, and what is known of it so far.
struct queue {
  struct reader *reader;
  uint64_t address, id;
  uint32_t index;
  lane lane;
  extra extra; // all zero where there is none
  struct inturn_layout_order order;
  struct inturn_layout_executor executor;
  slot gate;                       // the first that runs
  uint32_t started;                // by a burst, and not counted yet
  uint64_t waiting;                // how many are pending
  uint64_t listed;                 // how many of these there are entries of
  size_t thing;                    // its own
  bool has_changed;                // while it was read
  uint64_t oldest, oldest_in_call; // of those that run
};

static bool read_at(struct reader *reader, uint64_t address, void *bytes,
                    size_t size) {
  return address && read_memory(reader->memory, address, bytes, size);
}

static struct thing *add_thing(struct picture *picture, const char *kind) {
  if (picture->count == picture->room) {
    picture->room = picture->room ? 2 * picture->room : 256;
    picture->things =
        realloc(picture->things, picture->room * sizeof *picture->things);
    if (!picture->things)
      fail("out of memory");
  }
  struct thing *thing = &picture->things[picture->count++];
  *thing = (struct thing){.kind = kind};
  return thing;
}

/// Lets go of all that came after so many.
static void cut(struct picture *picture, size_t count) {
  while (picture->count > count)
    free(picture->things[--picture->count].predicate);
}

void free_picture(struct picture *picture) {
  cut(picture, 0);
  free(picture->things);
  free(picture->places);
  *picture = (struct picture){0};
}

static __attribute__((format(printf, 1, 2))) char *text(const char *format,
                                                        ...) {
  char *made;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&made, format, arguments) < 0)
    fail("out of memory");
  va_end(arguments);
  return made;
}

static uint64_t handle(const struct reader *reader, int kind, uint32_t index,
                       uint32_t generation) {
  uint64_t epoch = reader->process.state & 15;
  return ((uint64_t)kind << 4 | epoch) << 56 | (uint64_t)index << 30 |
         generation;
}

// Sites

static void take_site(struct reader *reader, uint32_t number,
                      const char **out_file, uint32_t *out_line) {
  // Those that were read so far: what has a number keeps it.
  static const char *files[1 << 16];
  static uint32_t lines[1 << 16];
  number &= 0xffff;
  uint64_t address;
  struct inturn_layout_site site;
  char file[512];
  if (number && !files[number] && reader->process.sites &&
      read_at(reader, reader->process.sites + 8 * number, &address,
              sizeof address) &&
      read_at(reader, address, &site, sizeof site) &&
      read_text(reader->memory, site.file, file, sizeof file)) {
    files[number] = text("%s", file);
    lines[number] = site.line;
  }
  *out_file = files[number];
  *out_line = lines[number];
}

// Executors

/// A Swift string of up to 15 bytes is in its two words, a longer one
/// elsewhere.
static void take_string(struct reader *reader, const uint64_t words[2],
                        char *label, size_t room) {
  uint64_t object = words[1];
  size_t length = object >> 61 == 7 ? object >> 56 & 15
                                    : words[0] & UINT64_C(0xffffffffffff);
  if (length >= room)
    length = room - 1;
  label[0] = '\0';
  if (object == 0)
    return;
  if (object >> 61 == 7)
    memcpy(label, words, length);
  else if (!read_at(reader, (object & UINT64_C(0xfffffffffffffff)) + 32, label,
                    length))
    length = 0;
  label[length] = '\0';
}

static void add_executor(struct reader *reader, uint64_t at) {
  struct inturn_layout_object_entry entry, again;
  struct inturn_layout_executor executor;
  struct inturn_layout_pool pool;
  struct inturn_layout_host host;
  if (!read_at(reader, at, &entry, sizeof entry) ||
      !read_at(reader, entry.object, &executor, sizeof executor))
    return;
  size_t count = reader->picture->count;
  struct thing *thing = add_thing(reader->picture, "executor");
  thing->id = executor.handle;
  thing->count = executor.count;
  take_string(reader, executor.label, thing->label, sizeof thing->label);
  if (executor.type == reader->pool_type) {
    thing->is_pool = true;
    if (read_at(reader, entry.object, &pool, sizeof pool))
      thing->running = pool.threads;
  } else if (read_at(reader, entry.object, &host, sizeof host)) {
    thing->is_main = host.is_main == 1;
    thing->running = host.drainers;
  }
  // What it has is its own as long as it is in the table.
  if (!read_at(reader, at, &again, sizeof again) ||
      again.object != entry.object || again.generation != entry.generation)
    cut(reader->picture, count);
}

static void add_executors(struct reader *reader) {
  struct inturn_layout_objects objects;
  struct inturn_layout_array array;
  struct inturn_layout_executor pool;
  if (read_at(reader, reader->engine.pool, &pool, sizeof pool))
    reader->pool_type = pool.type;
  if (!read_at(reader, reader->engine.objects, &objects, sizeof objects) ||
      !read_at(reader, objects.executors, &array, sizeof array))
    return;
  for (uint64_t i = 0; i < array.count && i < array.capacity && i < MOST; i++)
    add_executor(reader, objects.executors + sizeof array +
                             i * sizeof(struct inturn_layout_object_entry));
}

/// Why an executor calls nothing, as the engine says it.
static char *standing(struct queue *queue) {
  struct reader *reader = queue->reader;
  uint64_t address =
      queue->extra.executor ? queue->extra.executor : reader->engine.pool;
  struct inturn_layout_pool pool;
  struct inturn_layout_host host;
  if (queue->executor.handle == 0)
    return text("its tasks have not come to it");
  if (queue->executor.type == reader->pool_type) {
    if (!read_at(reader, address, &pool, sizeof pool) || pool.threads == 0 ||
        pool.coming || pool.parked)
      return text("no thread of its pool comes to it");
    return pool.threads == 1
               ? text("the only thread of its pool is in a call")
               : text("all %" PRIu64 " threads of its pool are in calls",
                      pool.threads);
  }
  if (!read_at(reader, address, &host, sizeof host))
    return text("its executor does not call it");
  if (host.drainers > 0)
    return text("who drains its executor is in a call that has not returned");
  return text("%s its executor", host.is_main == 1
                                     ? "the main thread does not drain"
                                     : "nobody drains");
}

// Slots

static uint64_t element(struct reader *reader,
                        const struct inturn_layout_slab *slab, uint32_t index,
                        size_t size) {
  uint64_t segment;
  if (index == 0 || index >= MOST ||
      !read_at(reader, slab->directory + index / INTURN_LAYOUT_SEGMENT * 8,
               &segment, sizeof segment) ||
      segment == 0)
    return 0;
  return segment + index % INTURN_LAYOUT_SEGMENT * size;
}

/// Reads a slot that is one of the queue's operations at this moment. False: it
/// is not.
static bool read_slot(struct queue *queue, uint64_t address, slot *slot) {
  struct reader *reader = queue->reader;
  return read_at(reader, address, slot, sizeof *slot) &&
         slot->lane == queue->address &&
         slot->lane_generation == queue->lane.generation &&
         element(reader, &reader->engine.operations, slot->index,
                 sizeof *slot) == address;
}

static uint64_t slot_at(struct queue *queue, uint32_t index) {
  return element(queue->reader, &queue->reader->engine.operations, index,
                 sizeof(slot));
}

static bool has(uint64_t word, uint64_t flags) {
  return (word & flags) == flags;
}

static bool is_ended(uint64_t word) {
  return has(word, ENDED) && !has(word, RESTARTING);
}

static bool is_over(uint64_t word) {
  return has(word, ENDED | RETURNED) && !has(word, PLACE_HELD) &&
         is_ended(word);
}

static uint32_t first_generation(uint64_t word,
                                 const struct inturn_layout_plan *plan) {
  return has(word, REATTEMPTED) ? plan->handle_generation
                                : (uint32_t)(word >> 32);
}

static bool read_plan(struct reader *reader, const slot *slot,
                      struct inturn_layout_details *details,
                      struct inturn_layout_plan *plan) {
  memset(plan, 0, sizeof *plan);
  plan->retry_at = INT64_MAX;
  memset(details, 0, sizeof *details);
  return slot->details &&
         read_at(reader, slot->details, details, sizeof *details) &&
         read_at(reader, details->plan, plan, sizeof *plan);
}

/// The name of the operation in a slot of whichever queue. 0: there is none.
static uint64_t name_of(struct reader *reader, uint64_t address) {
  slot slot;
  struct inturn_layout_details details;
  struct inturn_layout_plan plan;
  if (!read_at(reader, address, &slot, sizeof slot) || is_over(slot.word))
    return 0;
  read_plan(reader, &slot, &details, &plan);
  return handle(reader, OPERATION, slot.index,
                first_generation(slot.word, &plan));
}

static void set_running_cause(struct queue *queue, struct thing *thing,
                              uint64_t word) {
  const char *predicate = NULL;
  thing->cause = NULL;
  if (has(word, PLACE_HELD)) {
    thing->cause = "place";
    predicate = "it was cut off, and keeps its place until its token is "
                "finished";
  } else if (has(word, CLAIMED)) {
    if (!has(word, RETURNED)) {
      thing->cause = "call";
      predicate = "it has ended, its call has not returned";
    }
  } else if (queue->executor.handle == 0) {
    thing->cause = "task";
    predicate = "its task has not ended";
  } else if (has(word, RETURNED)) {
    thing->cause = "token";
    predicate = "its call has returned, its token has not been finished";
  } else {
    thing->cause = "call";
    predicate = "its call has not returned";
  }
  thing->is_timed = predicate && !has(word, OWN_CLOCK);
  thing->predicate = text("%s", predicate ? predicate : "nothing keeps it");
}

static int64_t now_of(const struct queue *queue) {
  return queue->reader->picture->now_ns;
}

/// A time until a moment, as a message has it.
static const char *rest_until(const struct queue *queue, int64_t moment) {
  static char rest[24];
  int64_t now = now_of(queue);
  if (now == 0)
    return "some time";
  write_time(moment > now ? moment - now : 0, rest, sizeof rest);
  return rest;
}

static void set_pending_cause(struct queue *queue, struct thing *thing,
                              const struct inturn_layout_plan *plan) {
  bool has_own_clock = queue->extra.clock != 0;
  struct inturn_layout_claims claims;
  if (plan->blockers == 0) {
    thing->cause = "turn";
  } else if (plan->retry_at != INT64_MAX) {
    thing->cause = has_own_clock ? "clock" : "delay";
    thing->predicate =
        has_own_clock
            ? text("its manual clock has not reached its next attempt")
            : text("its next attempt begins in %s",
                   rest_until(queue, plan->retry_at));
  } else {
    bool waits_for_names =
        read_at(queue->reader, plan->names, &claims, sizeof claims) &&
        claims.is_made == 1;
    thing->cause = waits_for_names ? "name" : "after";
  }
}

/// What a pending operation comes after.
static void add_earlier(struct queue *queue, uint64_t id,
                        const struct inturn_layout_plan *plan) {
  struct reader *reader = queue->reader;
  struct inturn_layout_edge edge;
  for (uint64_t i = 0; i < plan->linked && i < MOST; i++) {
    if (!read_at(reader, plan->edges + i * sizeof edge, &edge, sizeof edge))
      return;
    slot earlier;
    if (!edge.earlier ||
        !read_at(reader, edge.earlier, &earlier, sizeof earlier))
      continue;
    struct thing *thing = add_thing(reader->picture, "after");
    thing->queue = queue->id;
    thing->operation = id;
    thing->other =
        handle(reader, OPERATION, earlier.index, edge.earlier_generation);
  }
}

/// The one that it has joined, if it has.
static void add_leader(struct queue *queue, uint64_t id,
                       const struct inturn_layout_details *details) {
  struct reader *reader = queue->reader;
  struct inturn_layout_groups groups;
  struct inturn_layout_party party;
  if (!read_at(reader, details->groups, &groups, sizeof groups) ||
      groups.is_following != 1 ||
      !read_at(reader, groups.party, &party, sizeof party))
    return;
  struct thing *thing = add_thing(reader->picture, "after");
  thing->queue = queue->id;
  thing->operation = id;
  thing->other = name_of(reader, party.leader);
}

/// The names that it has or waits for.
static void add_names(struct queue *queue, uint64_t id,
                      const struct inturn_layout_plan *plan) {
  struct reader *reader = queue->reader;
  struct inturn_layout_claims claims, before;
  struct inturn_layout_name_place place, previous;
  if (!read_at(reader, plan->names, &claims, sizeof claims))
    return;
  for (uint64_t i = 0; i < claims.count && i < MOST; i++) {
    if (!read_at(reader, claims.first + i * sizeof place, &place, sizeof place))
      return;
    if (!place.line && claims.slot)
      continue; // given twice
    struct thing *thing = add_thing(reader->picture, "name");
    thing->queue = queue->id;
    thing->operation = id;
    read_text(reader->memory, place.name, thing->label, sizeof thing->label);
    if (!place.line)
      continue;
    thing->state = place.previous ? "pending" : "running";
    if (read_at(reader, place.previous, &previous, sizeof previous) &&
        read_at(reader, previous.claims, &before, sizeof before))
      thing->other = name_of(reader, before.slot);
  }
}

static uint32_t site_of(struct queue *queue, const slot *slot) {
  struct inturn_layout_chunk chunk;
  struct inturn_layout_job job;
  if (!(queue->lane.flags & BURSTING) ||
      slot->index != queue->lane.first_running)
    return (uint32_t)(slot->work >> 48);
  // Its drainer keeps the work, which is still where it was.
  uint64_t head = queue->lane.buffer.head;
  if (!read_at(queue->reader, head, &chunk, sizeof chunk) ||
      chunk.start + queue->started == 0 || chunk.start > chunk.capacity)
    return 0;
  uint64_t place = chunk.start + queue->started - 1;
  return read_at(queue->reader, head + sizeof chunk + place * sizeof job, &job,
                 sizeof job)
             ? (uint32_t)(job.work >> 48)
             : 0;
}

/// Adds an operation and what it waits for. 0: it is over.
static uint64_t add_slot(struct queue *queue, uint64_t address,
                         const slot *slot, bool is_running) {
  struct reader *reader = queue->reader;
  size_t count = reader->picture->count;
  struct inturn_layout_details details;
  struct inturn_layout_plan plan;
  uint64_t word = slot->word;
  if (is_over(word) || (is_ended(word) && !is_running))
    return 0;
  bool has_plan = read_plan(reader, slot, &details, &plan);
  uint64_t id =
      handle(reader, OPERATION, slot->index, first_generation(word, &plan));
  struct thing *thing = add_thing(reader->picture, "operation");
  thing->id = id;
  thing->queue = queue->id;
  thing->state = is_running ? "running" : "pending";
  thing->is_hidden = is_ended(word);
  thing->count = 1;
  thing->is_cancelled = has(word, CANCEL_REQUESTED);
  thing->is_waited_for = has(word, WAITED_FOR) || has(word, AWAITED);
  thing->enqueued_ns = slot->enqueued_at;
  take_site(reader, site_of(queue, slot), &thing->file, &thing->line);
  if (details.label)
    read_text(reader->memory, details.label, thing->label, sizeof thing->label);
  if (has_plan) {
    thing->priority = plan.priority;
    thing->attempts = plan.attempts;
    thing->is_barrier = plan.is_barrier == 1;
    thing->is_urgent = plan.is_urgent == 1;
  }
  if (is_running) {
    thing->started_ns = slot->started_at;
    thing->token = handle(reader, TOKEN, slot->index, (uint32_t)(word >> 32));
    set_running_cause(queue, thing, word);
  } else {
    set_pending_cause(queue, thing, &plan);
    add_earlier(queue, id, &plan);
  }
  if (!is_ended(word)) {
    add_names(queue, id, &plan);
    add_leader(queue, id, &details);
  }
  // What it has is its own as long as it is not over.
  struct inturn_layout_slot again;
  if (!read_at(reader, address, &again, sizeof again) || is_over(again.word) ||
      is_ended(again.word) != is_ended(word) ||
      again.word >> 32 != word >> 32 || again.details != slot->details) {
    cut(reader->picture, count);
    queue->has_changed = true;
    return 0;
  }
  return id;
}

// Lists

static void add_running(struct queue *queue) {
  uint32_t index = queue->lane.first_running;
  for (uint64_t left = (uint64_t)queue->lane.running + 1; index && left > 0;
       left--) {
    slot slot;
    uint64_t address = slot_at(queue, index);
    if (!read_slot(queue, address, &slot)) {
      queue->has_changed = true;
      return;
    }
    uint64_t id = add_slot(queue, address, &slot, true);
    if (id) {
      queue->oldest = id;
      if (!has(slot.word, RETURNED))
        queue->oldest_in_call = id;
    }
    index = slot.link;
  }
}

static void add_pending_slot(struct queue *queue, uint64_t address) {
  slot slot;
  if (!read_slot(queue, address, &slot)) {
    queue->has_changed = true;
    return;
  }
  if (has(slot.word, CLAIMED) || has(slot.word, SEGMENT))
    return;
  // Never more than there are, whatever has changed meanwhile.
  if (queue->listed < queue->waiting && add_slot(queue, address, &slot, false))
    queue->listed++;
}

/// Those in a row that differ in nothing are one entry.
static void add_plain(struct queue *queue) {
  struct picture *picture = queue->reader->picture;
  struct thing *last = &picture->things[picture->count - 1];
  if (queue->listed >= queue->waiting)
    return; // taken out, or gone since
  if (picture->count - 1 == queue->thing || last->id ||
      strcmp(last->kind, "operation") != 0) {
    last = add_thing(picture, "operation");
    last->queue = queue->id;
    last->state = "pending";
    last->cause = "turn";
  }
  last->count++;
  queue->listed++;
}

/// The jobs of a buffer, but for so many that a burst has taken of the first
/// chunk.
static void add_jobs(struct queue *queue, jobs jobs, uint32_t taken) {
  struct reader *reader = queue->reader;
  uint64_t next = jobs.head, anchor = 0;
  for (uint64_t number = 1; next; number++) {
    struct inturn_layout_chunk chunk;
    static struct inturn_layout_job content[4096];
    if (!read_at(reader, next, &chunk, sizeof chunk) || next == anchor ||
        chunk.count > chunk.capacity || chunk.start > chunk.count ||
        chunk.capacity > sizeof content / sizeof *content) {
      queue->has_changed = true;
      return;
    }
    // A list that leads back to where it was comes by here.
    if ((number & (number - 1)) == 0)
      anchor = next;
    uint32_t start = chunk.start + taken, count = chunk.count;
    taken = 0;
    if (start < count &&
        !read_at(reader,
                 next + sizeof chunk + (uint64_t)start * sizeof *content,
                 content, (count - start) * sizeof *content)) {
      queue->has_changed = true;
      return;
    }
    for (uint32_t i = 0; start + i < count; i++) {
      if (content[i].work)
        add_plain(queue);
      else
        add_pending_slot(queue, content[i].context);
    }
    next = chunk.next;
  }
}

static int by_priority(const void *left, const void *right) {
  const struct inturn_layout_level *one = left, *other = right;
  return one->priority < other->priority   ? 1
         : one->priority > other->priority ? -1
                                           : 0;
}

static void add_levels(struct queue *queue) {
  struct reader *reader = queue->reader;
  uint64_t count = queue->order.level_count;
  if (count == 0 || count > queue->order.level_capacity || count > MOST)
    return;
  struct inturn_layout_level *levels = calloc(count, sizeof *levels);
  if (!levels)
    fail("out of memory");
  for (uint64_t i = 0; i < count; i++) {
    uint64_t address;
    if (!read_at(reader, queue->order.levels + 8 * i, &address,
                 sizeof address) ||
        !read_at(reader, address, &levels[i], sizeof *levels))
      queue->has_changed = true;
  }
  qsort(levels, count, sizeof *levels, by_priority);
  for (uint64_t i = 0; i < count; i++)
    add_jobs(queue, levels[i].jobs, 0);
  free(levels);
}

static void add_blocked(struct queue *queue) {
  uint32_t index = queue->order.first_blocked;
  for (uint64_t left = queue->order.blocked; index && left > 0; left--) {
    slot slot;
    uint64_t address = slot_at(queue, index);
    if (!read_slot(queue, address, &slot)) {
      queue->has_changed = true;
      return;
    }
    add_pending_slot(queue, address);
    index = slot.link;
  }
}

/// What batches hold back has no slots.
static void add_held(struct queue *queue) {
  if (queue->extra.held == 0)
    return;
  struct thing *thing = add_thing(queue->reader->picture, "operation");
  thing->queue = queue->id;
  thing->state = "pending";
  thing->cause = "after";
  thing->count = queue->extra.held;
}

// Queues

static bool is_empty(struct queue *queue, jobs jobs, uint32_t taken) {
  struct inturn_layout_chunk chunk;
  return !read_at(queue->reader, jobs.head, &chunk, sizeof chunk) ||
         (chunk.start + taken >= chunk.count && !chunk.next);
}

static uint32_t limit_of(const struct queue *queue) {
  if (queue->lane.traits & ONE_AT_A_TIME)
    return 1;
  return queue->lane.traits & LIMITED ? queue->extra.limit : UINT32_MAX;
}

/// The operation in a slot, if that is pending and waits for something.
static uint64_t blocked_at(struct queue *queue, uint64_t address) {
  slot slot;
  struct inturn_layout_details details;
  struct inturn_layout_plan plan;
  if (!address || !read_slot(queue, address, &slot) ||
      has(slot.word, STARTED) || has(slot.word, CLAIMED))
    return 0;
  read_plan(queue->reader, &slot, &details, &plan);
  return plan.blockers ? name_of(queue->reader, address) : 0;
}

/// The slot of the next job of a buffer. 0: it has none.
static uint64_t first_slot(struct queue *queue, jobs jobs) {
  struct inturn_layout_chunk chunk;
  struct inturn_layout_job job;
  // Only chunks that have just been emptied come before it.
  for (int left = 16; left > 0; left--) {
    if (!read_at(queue->reader, jobs.head, &chunk, sizeof chunk))
      return 0;
    if (chunk.start < chunk.count)
      return read_at(queue->reader,
                     jobs.head + sizeof chunk + chunk.start * sizeof job, &job,
                     sizeof job) &&
                     !job.work
                 ? job.context
                 : 0;
    jobs.head = chunk.next;
  }
  return 0;
}

static uint64_t first_blocked(struct queue *queue) {
  uint64_t found = 0;
  if (queue->order.first_blocked)
    found = blocked_at(queue, slot_at(queue, queue->order.first_blocked));
  if (!found)
    found = blocked_at(queue, queue->order.fence);
  if (!found)
    found = blocked_at(queue, first_slot(queue, queue->order.front));
  if (!found && !(queue->lane.traits & SELECTIVE))
    found = blocked_at(queue, first_slot(queue, queue->lane.buffer));
  return found;
}

static bool has_jobs(struct queue *queue) {
  const struct inturn_layout_order *order = &queue->order;
  if (!is_empty(queue, queue->lane.buffer, queue->started))
    return true;
  if (!queue->extra.order)
    return false;
  if (order->level_count > 0 || !is_empty(queue, order->front, 0))
    return true;
  return order->fence && order->blocked == 0 && !order->is_fence_running &&
         queue->lane.running == 0 && queue->extra.held == 0 &&
         !blocked_at(queue, order->fence);
}

static void set_suspended(struct queue *queue, struct thing *thing) {
  struct inturn_layout_reason reason;
  char words[256] = "", label[64];
  const char *file;
  uint32_t line, site = queue->extra.suspended_at;
  // There may be more than these: any one will do.
  if (queue->extra.reason_count > 0 &&
      read_at(queue->reader, queue->extra.first_reason, &reason,
              sizeof reason) &&
      read_text(queue->reader->memory, reason.text, label, sizeof label)) {
    snprintf(words, sizeof words, " for \"%s\"", label);
    site = reason.site;
  }
  take_site(queue->reader, site, &file, &line);
  thing->cause = "suspended";
  thing->predicate = file ? text("it is suspended%s (%s:%u)", words, file, line)
                          : text("it is suspended%s", words);
}

static void set_held(struct queue *queue, struct thing *thing) {
  struct inturn_layout_pace pace;
  bool is_read = read_at(queue->reader, queue->extra.pace, &pace, sizeof pace);
  if (is_read && !pace.is_visible) {
    thing->cause = "view";
    thing->predicate =
        text(pace.ready_at == INT64_MIN ? "its view has not appeared"
                                        : "its view is hidden");
  } else if (queue->extra.clock) {
    thing->cause = "clock";
    thing->predicate = text("its manual clock has not reached its next start");
  } else {
    thing->cause = "delay";
    thing->predicate = is_read && pace.ready_at > now_of(queue)
                           ? text("it starts nothing for another %s",
                                  rest_until(queue, pace.ready_at))
                           : text("it starts nothing for some time");
  }
}

/// Why nothing starts that is pending, as `obstacleLocked` finds it.
static void set_cause(struct queue *queue, struct thing *thing) {
  const lane *lane = &queue->lane;
  uint64_t blocked;
  bool awaits_executor = lane->scheduled > 0 && lane->active == 0;
  if (queue->waiting == 0)
    return;
  if (lane->flags & SUSPENDED) {
    set_suspended(queue, thing);
  } else if (lane->flags & HELD) {
    set_held(queue, thing);
  } else if (lane->running >= limit_of(queue)) {
    thing->cause = "turn";
    thing->keeper = queue->oldest;
  } else if (has_jobs(queue) && !(lane->flags & HEAD_BLOCKED)) {
    if (awaits_executor) {
      thing->cause = queue->executor.type == queue->reader->pool_type
                         ? "pool"
                         : "executor";
      thing->predicate = standing(queue);
    } else if (lane->flags & OFFERED) {
      thing->cause = "task";
      thing->predicate = text("the task of what comes next does not begin");
    } else if (lane->running > 0) {
      thing->cause = "turn";
      thing->keeper = queue->oldest_in_call;
    } else {
      thing->cause = "callback";
      thing->predicate = text("a callback of it has not returned");
    }
  } else if ((blocked = first_blocked(queue))) {
    // As of the operation itself.
    struct picture *picture = queue->reader->picture;
    thing->keeper = blocked;
    for (size_t i = queue->thing; i < picture->count; i++)
      if (picture->things[i].id == blocked)
        thing->cause = picture->things[i].cause;
  } else if (lane->running > 0) {
    thing->cause = "turn";
    thing->keeper = queue->oldest;
  }
  // A visit, which has no entry.
  if (thing->cause && strcmp(thing->cause, "turn") == 0 && !thing->keeper)
    thing->predicate =
        lane->active > 0
            ? text("a callback of it has not returned")
            : text("the body that its caller runs has not returned");
}

/// Reads the queue's own memory, and with that how far a burst has come.
static bool read_lane(struct queue *queue) {
  struct reader *reader = queue->reader;
  if (!read_at(reader, queue->address, &queue->lane, sizeof queue->lane) ||
      queue->lane.generation == 0 || queue->lane.generation & GONE)
    return false;
  lane *lane = &queue->lane;
  queue->id = handle(reader, QUEUE, queue->index, lane->generation);
  if (lane->more > 0 &&
      (!read_at(reader, (uint64_t)lane->more, &queue->extra,
                sizeof queue->extra) ||
       (queue->extra.order && !read_at(reader, queue->extra.order,
                                       &queue->order, sizeof queue->order))))
    queue->has_changed = true;
  if (lane->first_running &&
      !read_slot(queue, slot_at(queue, lane->first_running), &queue->gate))
    queue->has_changed = true;
  if (lane->flags & BURSTING) {
    queue->started =
        (uint32_t)(queue->gate.word >> 32) - lane->burst_generation;
    if (queue->started > lane->pending) {
      queue->has_changed = true;
      queue->started = 0;
    }
  }
  lane->pending -= queue->started;
  lane->finished += queue->started;
  queue->waiting = lane->pending > queue->extra.segments
                       ? lane->pending - queue->extra.segments
                       : 0;
  uint64_t executor =
      queue->extra.executor ? queue->extra.executor : reader->engine.pool;
  if (!read_at(reader, executor, &queue->executor, sizeof queue->executor))
    queue->has_changed = true;
  return true;
}

static void add_statistics(struct queue *queue, struct thing *thing) {
  const lane *lane = &queue->lane;
  const extra *extra = &queue->extra;
  uint64_t finished = lane->finished;
  thing->pending = queue->waiting;
  thing->running = lane->running > extra->keeping_places
                       ? lane->running - extra->keeping_places
                       : 0;
  // The one that was started last may have ended without its queue having heard
  // of that. What a burst starts counts as finished until it turns out
  // otherwise.
  if (lane->first_running && !(queue->gate.flags & COUNTED)) {
    if (is_ended(queue->gate.word))
      thing->running -= thing->running > 0;
    else if (lane->flags & BURSTING)
      finished -= finished > 0;
  }
  thing->ended = finished + extra->failed + extra->cancelled +
                 extra->timed_out + extra->abandoned;
}

static const char *kind_of(uint16_t traits) {
  return traits & VIEW       ? "interaction"
         : traits & SEGMENTS ? "actor"
         : traits & LIMITED  ? "concurrent"
                             : "fifo";
}

static void add_queue_thing(struct queue *queue) {
  struct reader *reader = queue->reader;
  const lane *lane = &queue->lane;
  queue->thing = reader->picture->count;
  struct thing *thing = add_thing(reader->picture, "queue");
  thing->id = queue->id;
  thing->queue_kind = kind_of(lane->traits);
  thing->executor = queue->executor.handle;
  thing->suspends = queue->extra.suspends;
  thing->is_closed = lane->flags & CLOSED;
  thing->is_waited_for = lane->flags & LANE_WAITED_FOR;
  uint64_t label = lane->more < 0 ? (uint64_t)~lane->more : queue->extra.label;
  if (label)
    read_text(reader->memory, label, thing->label, sizeof thing->label);
  add_statistics(queue, thing);
}

/// Reads a queue once. False: it has changed meanwhile, or there is none.
static bool add_queue_once(struct queue *queue) {
  lane before;
  if (!read_lane(queue))
    return true;
  add_queue_thing(queue);
  add_running(queue);
  if (queue->extra.order) {
    add_jobs(queue, queue->order.front, 0);
    add_levels(queue);
    add_blocked(queue);
    if (queue->order.fence && !queue->order.is_fence_running)
      add_pending_slot(queue, queue->order.fence);
    add_jobs(queue, queue->order.behind, 0);
  }
  add_jobs(queue, queue->lane.buffer, queue->started);
  add_held(queue);
  struct thing cause = {0};
  set_cause(queue, &cause);
  struct thing *thing = &queue->reader->picture->things[queue->thing];
  thing->cause = cause.cause;
  thing->predicate = cause.predicate;
  thing->keeper = cause.keeper;
  if (!read_at(queue->reader, queue->address, &before, sizeof before) ||
      before.generation != queue->lane.generation) {
    cut(queue->reader->picture, queue->thing);
    return false;
  }
  // As it was read.
  before.pending -= queue->started;
  before.finished += queue->started;
  return !queue->has_changed &&
         memcmp(&before, &queue->lane, sizeof before) == 0;
}

/// A queue that never stands still is told as it was read last: its numbers are
/// of one moment, its operations of about that.
static void add_queue(struct reader *reader, uint64_t address, uint32_t index) {
  size_t count = reader->picture->count;
  for (int attempt = 0; attempt < 5; attempt++) {
    cut(reader->picture, count);
    struct queue queue = {.reader = reader, .address = address, .index = index};
    if (add_queue_once(&queue))
      return;
    sched_yield();
  }
}

static void add_queues(struct reader *reader) {
  const struct inturn_layout_slab *lanes = &reader->engine.lanes;
  struct inturn_layout_indices indices;
  if (!read_at(reader, lanes->indices, &indices, sizeof indices))
    return;
  for (uint32_t i = indices.begin; i < indices.unused && i < MOST; i++) {
    uint64_t address = element(reader, lanes, i, sizeof(lane));
    if (address)
      add_queue(reader, address, i);
  }
}

bool read_picture(struct memory *memory, uint64_t mark, struct picture *picture,
                  char fault[256]) {
  struct reader reader = {.memory = memory, .picture = picture};
  if (!read_at(&reader, mark, &reader.process, sizeof reader.process)) {
    snprintf(fault, 256, "its memory cannot be read");
    return false;
  }
  if (reader.process.number != INTURN_LAYOUT_NUMBER) {
    snprintf(fault, 256,
             "its library lays its memory out in another way (%u) than this "
             "program knows (%d): use the program `inturn` that came with it",
             reader.process.number, INTURN_LAYOUT_NUMBER);
    return false;
  }
  // None yet: a forked child's is its own.
  if (!reader.process.engine)
    return true;
  if (!read_at(&reader, reader.process.engine, &reader.engine,
               sizeof reader.engine)) {
    snprintf(fault, 256, "its memory cannot be read");
    return false;
  }
  add_executors(&reader);
  add_queues(&reader);
  return true;
}
