// Reads what queues refer to: executors, clocks, owners, batches.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "reader.h"

// Who is at an address

static void add_range(struct reader *reader, uint64_t id, uint64_t begin,
                      uint64_t size) {
  reader->ranges = with_room(reader->ranges, reader->range_count,
                             &reader->range_room, sizeof *reader->ranges);
  reader->ranges[reader->range_count++] = (struct range){begin, size, id};
}

static int by_begin(const void *left, const void *right) {
  const struct range *one = left, *other = right;
  return (one->begin > other->begin) - (one->begin < other->begin);
}

static int compare_address(const void *address, const void *element) {
  const struct range *range = element;
  uint64_t sought = *(const uint64_t *)address;
  return sought < range->begin                  ? -1
         : sought - range->begin >= range->size ? 1
                                                : 0;
}

uint64_t id_at(const struct reader *reader, uint64_t address) {
  const struct range *found =
      address && reader->range_count
          ? bsearch(&address, reader->ranges, reader->range_count,
                    sizeof *reader->ranges, compare_address)
          : NULL;
  return found ? found->id : 0;
}

// Each of these reads an object into its thing. False if it cannot be read.

bool take_label(struct reader *reader, uint64_t address, char *label,
                size_t room) {
  return address &&
         read_text(reader->memory, address + sizeof(struct inturn_layout_array),
                   label, room);
}

static void add_parkers(struct reader *reader, uint64_t workers) {
  struct picture *picture = reader->picture;
  struct inturn_layout_array array;
  struct inturn_layout_worker worker;
  if (!read_at(reader, workers, &array, sizeof array))
    return;
  for (uint64_t i = 0; i < array.count && i < MOST; i++) {
    if (!read_at(reader, workers + sizeof array + i * sizeof worker, &worker,
                 sizeof worker))
      return;
    picture->parkers =
        with_room(picture->parkers, picture->parker_count,
                  &picture->parker_room, sizeof *picture->parkers);
    picture->parkers[picture->parker_count++] = worker.parker;
  }
}

static bool read_executor(struct reader *reader, uint64_t address,
                          struct thing *thing) {
  struct inturn_layout_executor executor;
  struct inturn_layout_shared shared;
  struct inturn_layout_pool pool;
  struct inturn_layout_host host;
  if (!read_at(reader, address, &executor, sizeof executor) ||
      !read_at(reader, executor.shared, &shared, sizeof shared))
    return false;
  thing->count = shared.count;
  take_label(reader, executor.label, thing->label, sizeof thing->label);
  if (executor.type == reader->pool_type) {
    thing->is_pool = true;
    thing->running = shared.threads;
    if (read_at(reader, address, &pool, sizeof pool))
      add_parkers(reader, pool.workers);
  } else if (read_at(reader, address, &host, sizeof host)) {
    thing->is_main = host.is_main == 1;
    thing->running = host.drainers;
  }
  return true;
}

static bool read_clock(struct reader *reader, uint64_t address,
                       struct thing *thing) {
  struct inturn_layout_clock clock;
  if (!read_at(reader, address, &clock, sizeof clock))
    return false;
  thing->is_manual = clock.is_manual == 1;
  thing->count = clock.armed;
  thing->at_ns = thing->is_manual ? clock.manual_time : reader->picture->now_ns;
  return true;
}

static bool read_owner(struct reader *reader, uint64_t address,
                       struct thing *thing) {
  struct inturn_layout_owner owner;
  if (!read_at(reader, address, &owner, sizeof owner))
    return false;
  thing->count = owner.operations;
  return true;
}

static bool read_batch(struct reader *reader, uint64_t address,
                       struct thing *thing) {
  struct inturn_layout_batch batch;
  if (!read_at(reader, address, &batch, sizeof batch))
    return false;
  thing->queue = batch.queue;
  thing->ended = batch.ended;
  thing->count = batch.entry_count;
  if (batch.label)
    read_text(reader->memory, batch.label, thing->label, sizeof thing->label);
  // Its operations have the addresses of its entries.
  if (batch.entry_count < MOST)
    add_range(reader, thing->id, batch.entries,
              batch.entry_count * sizeof(struct inturn_layout_batch_entry));
  return true;
}

uint64_t earlier_in_batch(struct reader *reader, const slot *slot) {
  struct inturn_layout_batch_entry entry;
  struct inturn_layout_batch batch;
  struct inturn_layout_graph graph;
  if (!read_at(reader, slot->context, &entry, sizeof entry) ||
      !read_at(reader, entry.batch, &batch, sizeof batch) ||
      !read_at(reader, batch.graph, &graph, sizeof graph) || graph.is_cancelled)
    return 0;
  uint64_t node = (slot->context - batch.entries) / sizeof entry;
  int64_t left = 10000; // as far as the engine looks
  uint32_t range[2], later;
  for (uint64_t place = 0; place < node && left > 0; place++) {
    if (!read_at(reader, graph.starts + 4 * place, range, sizeof range))
      return 0;
    for (uint64_t i = range[0]; i < range[1]; i++, left--) {
      if (!read_at(reader, graph.places + 4 * i, &later, sizeof later))
        return 0;
      if (later == node &&
          read_at(reader, batch.entries + place * sizeof entry, &entry,
                  sizeof entry) &&
          entry.slot)
        return name_of(reader, entry.slot);
    }
    left--;
  }
  return 0;
}

// Slabs

static void
add_slab(struct reader *reader, const struct inturn_layout_object_slab *slab,
         const char *name, int kind,
         bool (*read)(struct reader *, uint64_t address, struct thing *)) {
  struct picture *picture = reader->picture;
  struct inturn_layout_object slot, again;
  uint64_t at;
  for (uint32_t i = 0;
       (i = next_index(reader, &slab->slots, i, sizeof slot, &at));) {
    forget_pages(reader->memory);
    if (!read_at(reader, at, &slot, sizeof slot) || !slot.object)
      continue;
    size_t count = picture->count, ranges = reader->range_count;
    struct thing *thing = add_thing(picture, name);
    thing->id = handle(reader, kind, i, slot.generation);
    add_range(reader, thing->id, slot.object, 1);
    // Its data belong to it for as long as it is in the slab.
    if (!read(reader, slot.object, thing) ||
        !read_fresh(reader->memory, at, &again, sizeof again) ||
        again.object != slot.object || again.generation != slot.generation) {
      cut(picture, count);
      reader->range_count = ranges;
    }
  }
}

void add_objects(struct reader *reader) {
  struct inturn_layout_objects objects;
  struct inturn_layout_executor pool;
  size_t count = reader->picture->count;
  if (!read_clock(reader, reader->engine.system_clock,
                  add_thing(reader->picture, "clock")))
    cut(reader->picture, count);
  if (read_at(reader, reader->engine.pool, &pool, sizeof pool))
    reader->pool_type = pool.type;
  if (!read_at(reader, reader->engine.objects, &objects, sizeof objects))
    return;
  add_slab(reader, &objects.executors, "executor", EXECUTOR, read_executor);
  add_slab(reader, &objects.clocks, "clock", CLOCK, read_clock);
  add_slab(reader, &objects.owners, "owner", OWNER, read_owner);
  add_slab(reader, &objects.batches, "batch", BATCH, read_batch);
  if (reader->range_count)
    qsort(reader->ranges, reader->range_count, sizeof *reader->ranges,
          by_begin);
}

// What a queue has of them

char *standing(struct queue *queue) {
  struct reader *reader = queue->reader;
  uint64_t address =
      queue->extra.executor ? queue->extra.executor : reader->engine.pool;
  struct inturn_layout_shared shared;
  struct inturn_layout_host host;
  if (queue->executor.handle == 0)
    return text("its tasks have not come to it");
  if (queue->executor.type == reader->pool_type) {
    if (!read_at(reader, queue->executor.shared, &shared, sizeof shared) ||
        shared.threads == 0 || shared.coming || shared.parked)
      return text("no thread of its pool comes to it");
    return shared.threads == 1
               ? text("the only thread of its pool is in a call")
               : text("all %u threads of its pool are in calls",
                      shared.threads);
  }
  if (!read_at(reader, address, &host, sizeof host))
    return text("its executor does not call it");
  char label[64], name[68] = "";
  if (take_label(reader, queue->executor.label, label, sizeof label))
    snprintf(name, sizeof name, " \"%s\"", label);
  if (host.drainers > 0)
    return text("who drains its executor%s is in a call that has not returned",
                name);
  return text("%s its executor%s",
              host.is_main == 1 ? "the main thread is not draining"
                                : "nobody is draining",
              name);
}

int64_t next_start(const struct queue *queue) {
  struct inturn_layout_pace pace;
  struct inturn_layout_clock clock;
  int64_t now = now_of(queue);
  if (!read_at(queue->reader, queue->extra.pace, &pace, sizeof pace) ||
      !pace.is_visible)
    return 0;
  if (queue->extra.clock) {
    if (!read_at(queue->reader, queue->extra.clock, &clock, sizeof clock))
      return 0;
    now = clock.manual_time;
  }
  int64_t next = pace.ready_at;
  if (!pace.has_no_rate && pace.full != INT64_MIN && pace.starts) {
    // When the bucket is full, less the time that all but one start take.
    // Unsigned, as what was read may be anything.
    uint64_t before = (uint64_t)pace.interval * (pace.burst - 1);
    bool is_cut = (uint64_t)pace.part > before % pace.starts;
    int64_t begin =
        (int64_t)((uint64_t)pace.full - before / pace.starts + is_cut);
    if (begin > next)
      next = begin;
  }
  return next > now ? next : 0;
}
