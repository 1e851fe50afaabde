// Reads the engine of another process, whose threads may be stopped or running.
// Nothing found there is trusted: each pointer is only followed by a read that
// may fail, each list is bounded, and a queue that changes while it is read is
// read again.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "reader.h"

bool read_at(struct reader *reader, uint64_t address, void *bytes,
             size_t size) {
  return address && read_memory(reader->memory, address, bytes, size);
}

struct thing *add_thing(struct picture *picture, const char *kind) {
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

void cut(struct picture *picture, size_t count) {
  while (picture->count > count)
    free(picture->things[--picture->count].predicate);
}

void free_picture(struct picture *picture) {
  cut(picture, 0);
  free(picture->things);
  free(picture->places);
  *picture = (struct picture){0};
}

char *text(const char *format, ...) {
  char *made;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&made, format, arguments) < 0)
    fail("out of memory");
  va_end(arguments);
  return made;
}

uint64_t handle(const struct reader *reader, int kind, uint32_t index,
                uint32_t generation) {
  uint64_t epoch = reader->process.state & 15;
  return ((uint64_t)kind << 4 | epoch) << 56 | (uint64_t)index << 30 |
         generation;
}

// Sites

void take_site(struct reader *reader, uint32_t number, const char **out_file,
               uint32_t *out_line) {
  // The sites read so far: a site's number never changes.
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

/// A Swift string of up to 15 bytes is stored in its two words, a longer one
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
  // Its data belong to it for as long as it is in the table.
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

char *standing(struct queue *queue) {
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
  char label[64], name[68] = "";
  take_string(reader, queue->executor.label, label, sizeof label);
  if (queue->executor.label[1])
    snprintf(name, sizeof name, " \"%s\"", label);
  if (host.drainers > 0)
    return text("who drains its executor%s is in a call that has not returned",
                name);
  return text("%s its executor%s",
              host.is_main == 1 ? "the main thread does not drain"
                                : "nobody drains",
              name);
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
  // No engine yet: a forked child does not have its parent's.
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
