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

uint64_t element(struct reader *reader, const struct inturn_layout_slab *slab,
                 uint32_t index, size_t size) {
  uint64_t segment;
  if (index == 0 || index >= MOST ||
      !read_at(reader, slab->directory + index / INTURN_LAYOUT_SEGMENT * 8,
               &segment, sizeof segment) ||
      segment == 0)
    return 0;
  return segment + index % INTURN_LAYOUT_SEGMENT * size;
}

uint32_t next_index(struct reader *reader,
                    const struct inturn_layout_slab *slab, uint32_t index,
                    size_t size, uint64_t *out_address) {
  struct inturn_layout_indices indices;
  if (!read_at(reader, slab->indices, &indices, sizeof indices))
    return 0;
  if (index < indices.begin)
    index = indices.begin - (indices.begin > 0);
  while (++index < indices.unused && index < MOST)
    if ((*out_address = element(reader, slab, index, size)))
      return index;
  return 0;
}

struct thing *add_thing(struct picture *picture, const char *kind) {
  picture->things = with_room(picture->things, picture->count, &picture->room,
                              sizeof *picture->things);
  struct thing *thing = &picture->things[picture->count++];
  *thing = (struct thing){.kind = kind};
  return thing;
}

void cut(struct picture *picture, size_t count) {
  while (picture->count > count) {
    struct thing *last = &picture->things[--picture->count];
    free(last->predicate);
    free(last->thread);
  }
}

void free_picture(struct picture *picture) {
  cut(picture, 0);
  free(picture->things);
  free(picture->parkers);
  free(picture->places);
  *picture = (struct picture){.most = picture->most};
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

bool is_of_operation(uint64_t id) { return id >> 60 == OPERATION; }

static bool read_engine(struct reader *reader, uint64_t mark) {
  forget_pages(reader->memory);
  return read_at(reader, mark, &reader->process, sizeof reader->process) &&
         read_at(reader, reader->process.engine, &reader->engine,
                 sizeof reader->engine);
}

uint64_t read_earlier(struct picture *picture, const struct thing *thing) {
  struct reader reader = {.memory = picture->memory, .picture = picture};
  slot slot;
  return read_engine(&reader, picture->mark) &&
                 name_of(&reader, thing->address) == thing->id &&
                 read_at(&reader, thing->address, &slot, sizeof slot)
             ? earlier_in_batch(&reader, &slot)
             : 0;
}

void read_operation(struct picture *picture, uint64_t id) {
  struct reader reader = {.memory = picture->memory, .picture = picture};
  // Found only if the operation does not come after it.
  struct thing *absent = add_thing(picture, "absent");
  absent->id = id;
  absent->is_hidden = true;
  if (read_engine(&reader, picture->mark))
    add_operation(&reader, id);
  free(picture->places);
  picture->places = NULL;
}

bool read_picture(struct memory *memory, uint64_t mark, struct picture *picture,
                  char fault[256]) {
  struct reader reader = {.memory = memory, .picture = picture};
  picture->memory = memory;
  picture->mark = mark;
  forget_pages(memory);
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
  add_objects(&reader);
  add_waits(&reader);
  add_queues(&reader);
  free(reader.ranges);
  return true;
}
