// Reads queues: their counts, their operations, and why nothing starts.
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program.h"
#include "reader.h"

static bool is_empty(struct queue *queue, jobs jobs, uint32_t taken) {
  struct inturn_layout_chunk chunk;
  return !read_at(queue->reader, jobs.head, &chunk, sizeof chunk) ||
         (chunk.start + taken >= chunk.count && !chunk.next);
}

/// Whether nothing is pending, running, being called or to be delivered.
static bool is_quiet(const struct queue *queue) {
  const lane *lane = &queue->lane;
  return lane->pending == 0 && lane->running == 0 && lane->active == 0 &&
         !(lane->flags & HAS_DELIVERIES) && queue->extra.outside == 0;
}

static uint32_t limit_of(const struct queue *queue) {
  if (queue->lane.traits & ONE_AT_A_TIME)
    return 1;
  return queue->lane.traits & LIMITED ? queue->extra.limit : UINT32_MAX;
}

/// The operation in a slot, if it is pending and waits for something.
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

/// The slot of a buffer's next job. 0 if it has none.
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
  uint64_t head = blocked_at(queue, first_slot(queue, queue->order.front));
  if (!head && !(queue->lane.traits & SELECTIVE))
    head = blocked_at(queue, first_slot(queue, queue->lane.buffer));
  if (head && queue->lane.flags & HEAD_BLOCKED)
    return head;
  uint64_t found = 0;
  if (queue->order.first_blocked)
    found = blocked_at(queue, slot_at(queue, queue->order.first_blocked));
  if (!found)
    found = blocked_at(queue, queue->order.fence);
  return found ? found : head;
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
  char words[256] = "", label[64], time[64] = "", since[24];
  const char *file;
  uint32_t line, site = queue->extra.suspended_at;
  // There may be more reasons: any one will do.
  if (queue->extra.reason_count > 0 &&
      read_at(queue->reader, queue->extra.first_reason, &reason,
              sizeof reason) &&
      read_text(queue->reader->memory, reason.text, label, sizeof label)) {
    snprintf(words, sizeof words, " for \"%s\"", label);
    site = reason.site;
  }
  take_site(queue->reader, site, &file, &line);
  if (now_of(queue) > queue->extra.suspended_since) {
    write_time(now_of(queue) - queue->extra.suspended_since, since,
               sizeof since);
    snprintf(time, sizeof time, ", and has been for %s", since);
  }
  thing->cause = "suspended";
  thing->predicate =
      file ? text("it is suspended%s (%s:%u)%s", words, file, line, time)
           : text("it is suspended%s%s", words, time);
}

static void set_held(struct queue *queue, struct thing *thing) {
  struct inturn_layout_pace pace;
  int64_t next = next_start(queue);
  if (read_at(queue->reader, queue->extra.pace, &pace, sizeof pace) &&
      !pace.is_visible) {
    thing->cause = "view";
    thing->predicate =
        text(pace.ready_at == INT64_MIN ? "its view has not appeared"
                                        : "its view is hidden");
  } else if (queue->extra.clock) {
    thing->cause = "clock";
    thing->predicate = text("its manual clock has not reached its next start");
  } else {
    thing->cause = "delay";
    thing->predicate =
        next ? text("it starts nothing for another %s", rest_until(queue, next))
             : text("it starts nothing for some time");
  }
}

/// Why nothing pending starts, or what keeps the queue from being quiet,
/// decided as `obstacleLocked` does.
static void set_cause(struct queue *queue, struct thing *thing) {
  const lane *lane = &queue->lane;
  uint64_t blocked;
  bool awaits_executor = lane->scheduled > 0 && lane->active == 0;
  if (is_quiet(queue))
    return;
  if (lane->pending == 0) {
    if (lane->running > 0) {
      bool is_in_segment = lane->active > 0 && lane->traits & SEGMENTS;
      thing->cause = "turn";
      thing->keeper = is_in_segment ? queue->oldest_in_call : queue->oldest;
    } else {
      thing->predicate = awaits_executor
                             ? standing(queue)
                             : text("a callback of it has not returned");
    }
  } else if (lane->flags & SUSPENDED) {
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
    // The cause is the operation's own.
    struct picture *picture = queue->reader->picture;
    thing->keeper = blocked;
    bool is_after_one = false;
    for (size_t i = queue->thing; i < picture->count; i++)
      if (picture->things[i].id == blocked)
        thing->cause = picture->things[i].cause;
      else if (picture->things[i].operation == blocked)
        is_after_one = true;
    // What it comes after has ended, and its executor has that end to tell.
    if (thing->cause && strcmp(thing->cause, "after") == 0 && !is_after_one &&
        awaits_executor)
      thing->predicate = standing(queue);
  } else if (lane->running > 0) {
    thing->cause = "turn";
    thing->keeper = queue->oldest;
  }
  // Someone runs a body in the queue, which has no entry.
  if (thing->cause && strcmp(thing->cause, "turn") == 0 && !thing->keeper)
    thing->predicate =
        lane->active > 0
            ? text("a callback of it has not returned")
            : text("the body that its caller runs has not returned");
  if (queue->waiting == 0)
    thing->cause = NULL;
}

/// Reads the lane while no thread holds its lock, so that its counts agree. A
/// thread that was preempted in the middle of a change gets time to go on; if
/// the process stands still, the lane is read as it is.
static bool read_unlocked(struct queue *queue) {
  struct memory *memory = queue->reader->memory;
  for (int naps = 400;; naps--) {
    forget_pages(memory);
    if (!read_memory(memory, queue->address, &queue->lane, sizeof queue->lane))
      return false;
    if (queue->lane.lock == 0 || naps == 0 || memory->requests >= 0)
      return true;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  }
}

bool read_lane(struct queue *queue) {
  struct reader *reader = queue->reader;
  if (!read_unlocked(queue) || queue->lane.generation == 0)
    return false;
  lane *lane = &queue->lane;
  queue->id = handle(reader, QUEUE, queue->index, lane->generation & ~GONE);
  if (lane->more > 0 &&
      (!read_at(reader, (uint64_t)lane->more, &queue->extra,
                sizeof queue->extra) ||
       (queue->extra.order && !read_at(reader, queue->extra.order,
                                       &queue->order, sizeof queue->order))))
    queue->has_changed = true;
  if (lane->generation & GONE && is_quiet(queue))
    return false;
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
  // The operation that was started last may have ended without the queue's
  // knowledge. What a burst starts counts as finished until it turns out
  // otherwise.
  if (lane->first_running && !(queue->gate.flags & COUNTED)) {
    bool is_of_burst = lane->flags & BURSTING;
    if (is_ended(queue->gate.word)) {
      thing->running -= thing->running > 0;
      finished += !is_of_burst;
    } else if (is_of_burst) {
      finished -= finished > 0;
    }
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
  thing->clock = id_at(reader, queue->extra.clock);
  thing->at_ns = next_start(queue);
  thing->suspends = queue->extra.suspends;
  thing->is_closed = lane->flags & CLOSED;
  thing->is_waited_for = lane->flags & LANE_WAITED_FOR;
  uint64_t label = lane->more < 0 ? (uint64_t)~lane->more : queue->extra.label;
  if (label)
    read_text(reader->memory, label, thing->label, sizeof thing->label);
  add_statistics(queue, thing);
}

/// Reads a queue once. False if it has changed meanwhile, or is gone.
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
  if (!read_fresh(queue->reader->memory, queue->address, &before,
                  sizeof before) ||
      before.generation != queue->lane.generation) {
    cut(queue->reader->picture, queue->thing);
    return false;
  }
  // As the lane was read, before the burst was counted.
  before.pending -= queue->started;
  before.finished += queue->started;
  return !queue->has_changed &&
         memcmp(&before, &queue->lane, sizeof before) == 0;
}

/// A queue that keeps changing is shown as it was read last: its counts are
/// consistent, and its operations nearly so.
static void add_queue(struct reader *reader, uint64_t address, uint32_t index) {
  size_t count = reader->picture->count;
  const int attempts = 5;
  for (int attempt = 1; attempt <= attempts; attempt++) {
    cut(reader->picture, count);
    struct queue queue = {.reader = reader,
                          .address = address,
                          .index = index,
                          .never_stands_still = attempt == attempts};
    if (add_queue_once(&queue))
      return;
    sched_yield();
  }
}

uint32_t index_of(struct reader *reader, uint64_t address) {
  const struct inturn_layout_slab *lanes = &reader->engine.lanes;
  struct inturn_layout_indices indices;
  if (!read_at(reader, lanes->indices, &indices, sizeof indices))
    return 0;
  for (uint32_t first = indices.begin; first < indices.unused && first < MOST;
       first += INTURN_LAYOUT_SEGMENT) {
    // The index 0 is that of none, so that of the next is asked for.
    uint64_t second = element(reader, lanes, first + 1, sizeof(lane));
    uint64_t offset = address - (second - sizeof(lane));
    if (second && offset % sizeof(lane) == 0 &&
        offset / sizeof(lane) < INTURN_LAYOUT_SEGMENT)
      return first + (uint32_t)(offset / sizeof(lane));
  }
  return 0;
}

void add_queues(struct reader *reader) {
  uint64_t address;
  for (uint32_t i = 0; (i = next_index(reader, &reader->engine.lanes, i,
                                       sizeof(lane), &address));)
    add_queue(reader, address, i);
}
