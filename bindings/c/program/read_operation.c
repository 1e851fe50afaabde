// Reads operations, running and pending ones, and what each waits for.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "reader.h"

bool read_slot(struct queue *queue, uint64_t address, slot *slot) {
  struct reader *reader = queue->reader;
  // What belongs to it must not be older than it.
  if (queue->never_stands_still)
    forget_pages(reader->memory);
  return read_at(reader, address, slot, sizeof *slot) &&
         slot->lane == queue->address &&
         slot->lane_generation == (queue->lane.generation & ~GONE) &&
         element(reader, &reader->engine.operations, slot->index,
                 sizeof *slot) == address;
}

uint64_t slot_at(struct queue *queue, uint32_t index) {
  return element(queue->reader, &queue->reader->engine.operations, index,
                 sizeof(slot));
}

bool has(uint64_t word, uint64_t flags) { return (word & flags) == flags; }

bool is_ended(uint64_t word) {
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

bool read_plan(struct reader *reader, const slot *slot,
               struct inturn_layout_details *details,
               struct inturn_layout_plan *plan) {
  memset(plan, 0, sizeof *plan);
  plan->retry_at = INT64_MAX;
  memset(details, 0, sizeof *details);
  return slot->details &&
         read_at(reader, slot->details, details, sizeof *details) &&
         read_at(reader, details->plan, plan, sizeof *plan);
}

uint64_t name_of(struct reader *reader, uint64_t address) {
  slot slot;
  struct inturn_layout_details details;
  struct inturn_layout_plan plan;
  if (!read_at(reader, address, &slot, sizeof slot) || is_over(slot.word))
    return 0;
  read_plan(reader, &slot, &details, &plan);
  return handle(reader, OPERATION, slot.index,
                first_generation(slot.word, &plan));
}

/// On which thread an operation is in its call, as a message says it.
static char *place_of_call(struct queue *queue, const slot *slot) {
  char name[32];
  size_t length = 0;
  unsigned long long number = slot->next_delivery;
  if (number == 0)
    return NULL;
  snprintf(name, sizeof name, "task/%llu/comm", number);
  char *known = read_file(queue->reader->memory->process, name, &length);
  if (known)
    known[strcspn(known, "\n")] = '\0';
  char *place = known ? text(" on thread %llu (%s)", number, known)
                      : text(" on thread %llu", number);
  free(known);
  return place;
}

static void set_running_cause(struct queue *queue, struct thing *thing,
                              const slot *slot) {
  const char *predicate = NULL;
  uint64_t word = slot->word;
  thing->cause = NULL;
  if (has(word, PLACE_HELD)) {
    thing->cause = "place";
    predicate = "it was cut off, and keeps its place until its token is "
                "finished";
  } else if (has(word, CLAIMED)) {
    if (!has(word, RETURNED)) {
      thing->cause = "call";
      predicate = "it has ended, its call or the destroy callback of its "
                  "context has not returned";
    }
  } else if (queue->executor.handle == 0 || has(word, IS_TASK)) {
    thing->cause = "task";
    predicate = "its task has not ended";
  } else if (has(word, RETURNED)) {
    thing->cause = "token";
    predicate = "its call has returned, its token has not been finished";
  } else {
    thing->cause = "call";
    predicate = "its call has not returned";
    thing->thread = place_of_call(queue, slot);
  }
  thing->is_timed = predicate && !has(word, OWN_CLOCK);
  thing->predicate = text("%s", predicate ? predicate : "nothing keeps it");
}

int64_t now_of(const struct queue *queue) {
  return queue->reader->picture->now_ns;
}

const char *rest_until(const struct queue *queue, int64_t moment) {
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

/// The operation that it has joined, if any.
static void add_leader(struct queue *queue, uint64_t id,
                       const struct inturn_layout_groups *groups) {
  struct reader *reader = queue->reader;
  struct inturn_layout_party party;
  if (groups->is_following != 1 ||
      !read_at(reader, groups->party, &party, sizeof party))
    return;
  struct thing *thing = add_thing(reader->picture, "after");
  thing->queue = queue->id;
  thing->operation = id;
  thing->other = name_of(reader, party.leader);
  thing->is_leader = true;
}

/// The names that it holds or waits for.
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
      continue; // listed twice
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
  // The drainer keeps the work, whose job is still where it was.
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

/// Adds an operation and what it waits for. 0 if it is over.
static uint64_t add_slot(struct queue *queue, uint64_t address,
                         const slot *slot, bool is_running) {
  struct reader *reader = queue->reader;
  size_t count = reader->picture->count;
  struct inturn_layout_details details;
  struct inturn_layout_groups groups = {0};
  struct inturn_layout_plan plan;
  uint64_t word = slot->word;
  if (is_over(word) || (is_ended(word) && !is_running))
    return 0;
  bool has_plan = read_plan(reader, slot, &details, &plan);
  uint64_t id =
      handle(reader, OPERATION, slot->index, first_generation(word, &plan));
  struct thing *thing = add_thing(reader->picture, "operation");
  thing->id = id;
  thing->address = address;
  thing->queue = queue->id;
  thing->state = is_running ? "running" : "pending";
  thing->is_hidden = is_ended(word);
  thing->count = 1;
  thing->is_cancelled = has(word, CANCEL_REQUESTED);
  thing->is_waited_for = has(word, WAITED_FOR) || has(word, AWAITED);
  // While the work is being called, it may have given up its context.
  if (!has(word, CLAIMED) &&
      ((has(word, OBSERVED) && !is_running) ||
       (has(word, RETURNED) && (has(word, OBSERVED) || !is_ended(word)))))
    thing->batch = id_at(reader, slot->context);
  if (read_at(reader, details.groups, &groups, sizeof groups))
    thing->owner = id_at(reader, groups.owner);
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
    set_running_cause(queue, thing, slot);
  } else {
    set_pending_cause(queue, thing, &plan);
    add_earlier(queue, id, &plan);
  }
  if (!is_ended(word)) {
    add_names(queue, id, &plan);
    add_leader(queue, id, &groups);
  }
  struct thing *things = reader->picture->things;
  for (size_t i = count + 1; i < reader->picture->count; i++) {
    things[i].file = things[count].file;
    things[i].line = things[count].line;
  }
  // Its data belong to it for as long as it is not over, and it is not unless
  // the queue has changed.
  struct inturn_layout_slot again;
  if (queue->never_stands_still &&
      (!read_fresh(reader->memory, address, &again, sizeof again) ||
       is_over(again.word) || is_ended(again.word) != is_ended(word) ||
       again.word >> 32 != word >> 32 || again.details != slot->details)) {
    cut(reader->picture, count);
    queue->has_changed = true;
    return 0;
  }
  return id;
}

bool waits_for_token(struct memory *memory, const struct thing *thing) {
  slot slot;
  return read_fresh(memory, thing->address, &slot, sizeof slot) &&
         slot.word >> 32 == (thing->token & GENERATIONS) &&
         !has(slot.word, CLAIMED);
}

void add_operation(struct reader *reader, uint64_t id) {
  slot slot;
  struct inturn_layout_details details;
  struct inturn_layout_plan plan;
  uint64_t address = element(reader, &reader->engine.operations,
                             id >> 30 & (MOST - 1), sizeof slot);
  if (!read_at(reader, address, &slot, sizeof slot))
    return;
  struct queue queue = {.reader = reader,
                        .address = slot.lane,
                        .index = index_of(reader, slot.lane),
                        .never_stands_still = true};
  if (!read_lane(&queue) || !read_slot(&queue, address, &slot))
    return;
  read_plan(reader, &slot, &details, &plan);
  if (handle(reader, OPERATION, slot.index,
             first_generation(slot.word, &plan)) == id)
    add_slot(&queue, address, &slot, has(slot.word, STARTED));
}

// Lists

void add_running(struct queue *queue) {
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

void add_pending_slot(struct queue *queue, uint64_t address) {
  slot slot;
  if (!read_slot(queue, address, &slot)) {
    queue->has_changed = true;
    return;
  }
  if (has(slot.word, CLAIMED) || has(slot.word, SEGMENT))
    return;
  // Never more than are pending, whatever has changed meanwhile.
  if (queue->listed < queue->waiting && add_slot(queue, address, &slot, false))
    queue->listed++;
}

/// Adjacent jobs that do not differ share one entry.
static void add_plain(struct queue *queue, uint64_t context) {
  struct picture *picture = queue->reader->picture;
  struct thing *last = &picture->things[picture->count - 1];
  uint64_t batch = id_at(queue->reader, context);
  if (queue->listed >= queue->waiting)
    return; // removed meanwhile
  if (picture->count - 1 == queue->thing || last->id || last->batch != batch ||
      strcmp(last->kind, "operation") != 0) {
    last = add_thing(picture, "operation");
    last->queue = queue->id;
    last->state = "pending";
    last->cause = "turn";
    last->batch = batch;
  }
  last->count++;
  queue->listed++;
}

/// Whether so many of a list are enough.
static bool is_enough(const struct queue *queue, uint64_t count) {
  uint64_t most = queue->reader->picture->most;
  return most > 0 && count >= most;
}

void add_jobs(struct queue *queue, jobs jobs, uint32_t taken) {
  struct reader *reader = queue->reader;
  uint64_t next = jobs.head, anchor = 0, read = 0;
  for (uint64_t number = 1; next && !is_enough(queue, read); number++) {
    struct inturn_layout_chunk chunk;
    static struct inturn_layout_job content[4096];
    if (!read_at(reader, next, &chunk, sizeof chunk) || next == anchor ||
        chunk.count > chunk.capacity || chunk.start > chunk.count ||
        chunk.capacity > sizeof content / sizeof *content) {
      queue->has_changed = true;
      return;
    }
    // A list with a cycle meets the anchor.
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
    for (uint32_t i = 0; start + i < count && !is_enough(queue, read); i++) {
      read++;
      if (content[i].work)
        add_plain(queue, content[i].context);
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

void add_levels(struct queue *queue) {
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

void add_blocked(struct queue *queue) {
  uint32_t index = queue->order.first_blocked;
  uint64_t all = queue->order.blocked;
  for (uint64_t i = 0; index && i < all && !is_enough(queue, i); i++) {
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

void add_held(struct queue *queue) {
  struct reader *reader = queue->reader;
  struct inturn_layout_graph graph;
  uint64_t next = queue->extra.graphs;
  for (uint64_t left = queue->extra.held; left > 0; left -= graph.held) {
    if (!read_at(reader, next, &graph, sizeof graph) || graph.held == 0 ||
        graph.held > left) {
      queue->has_changed = true;
      return;
    }
    struct thing *thing = add_thing(reader->picture, "operation");
    thing->queue = queue->id;
    thing->batch = id_at(reader, graph.batch);
    thing->state = "pending";
    thing->cause = "after";
    thing->count = graph.held;
    next = graph.next;
  }
}
