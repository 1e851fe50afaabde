// Reads who waits for what: threads inside callbacks, and tasks.
#include "reader.h"

typedef struct inturn_layout_wait wait;

/// The name of the queue with this address. 0 if there is none.
static uint64_t queue_at(struct reader *reader, uint64_t address) {
  struct queue queue = {
      .reader = reader, .address = address, .index = index_of(reader, address)};
  return queue.index && read_lane(&queue) ? queue.id : 0;
}

/// Takes the queue whose callback a thread is in, and the operation.
static void take_place(struct reader *reader, uint64_t frames,
                       struct thing *thing) {
  struct inturn_layout_array array;
  struct inturn_layout_frame frame;
  if (!read_at(reader, frames, &array, sizeof array))
    return;
  for (uint64_t i = 0; i < array.count && i < MOST; i++) {
    if (!read_at(reader, frames + sizeof array + i * sizeof frame, &frame,
                 sizeof frame))
      return;
    if (frame.lane) {
      thing->other = queue_at(reader, frame.lane);
      thing->address = frame.is_notice ? NOT_IN_WORK : frame.operation;
      return;
    }
  }
}

/// The first of the lanes whose operations a task is inside of.
static bool read_first_place(struct reader *reader, uint64_t places,
                             uint64_t *out_address,
                             struct inturn_layout_task_place *place) {
  struct inturn_layout_array array;
  return read_at(reader, places, &array, sizeof array) && array.count > 0 &&
         read_at(reader, places + sizeof array, out_address,
                 sizeof *out_address) &&
         read_at(reader, *out_address, place, sizeof *place);
}

static void take_task(struct reader *reader, const wait *wait,
                      struct thing *thing) {
  struct inturn_layout_task_place place;
  struct inturn_layout_task task;
  uint64_t first;
  if (read_first_place(reader, wait->places, &first, &place))
    thing->other = queue_at(reader, place.lane);
  if (!read_at(reader, wait->target, &task, sizeof task))
    return;
  if (is_of_operation(task.awaited))
    thing->operation = task.awaited;
  else
    thing->queue = task.awaited;
}

static void take_wait(struct reader *reader, const wait *wait,
                      struct thing *thing) {
  struct inturn_layout_trail trail;
  int target = wait->target_kind >> 5;
  thing->id = wait->thread;
  thing->is_main = wait->is_on_main_thread == 1;
  take_site(reader, wait->site, &thing->file, &thing->line);
  if (target == IS_WAIT_OF_TASK) {
    take_task(reader, wait, thing);
    return;
  }
  take_place(reader, wait->frames, thing);
  if (target == WAITS_FOR_OPERATION)
    thing->operation = name_of(reader, wait->target);
  else if (target != WAITS_FOR_OBSERVERS)
    thing->queue = queue_at(reader, wait->target);
  else if (read_at(reader, wait->target, &trail, sizeof trail))
    take_label(reader, trail.label, thing->label, sizeof thing->label);
}

/// Adds the wait at an address, if it is there. What belongs to it is its own
/// for as long as it is.
static bool add_wait(struct reader *reader, uint64_t address) {
  struct picture *picture = reader->picture;
  size_t count = picture->count;
  wait wait, again;
  // As it is now, and not older than what belongs to it.
  forget_pages(reader->memory);
  if (!read_at(reader, address, &wait, sizeof wait) || wait.is_there != 1)
    return false;
  struct thing *thing = add_thing(picture, "wait");
  take_wait(reader, &wait, thing);
  if (read_fresh(reader->memory, address, &again, sizeof again) &&
      again.number == wait.number && again.is_there == 1)
    return true;
  cut(picture, count);
  return false;
}

/// Reads what seems to be a wait.
static bool read_wait(struct reader *reader, uint64_t address, wait *wait) {
  return read_at(reader, address, wait, sizeof *wait) &&
         wait->storage == reader->engine.waits;
}

static void add_waits_of_threads(struct reader *reader) {
  struct inturn_layout_waits waits;
  struct inturn_layout_array array;
  uint64_t address, last = 0;
  wait wait;
  // Each has a greater number than those before it, which may go meanwhile.
  for (uint64_t i = 0; i < MOST; i++) {
    if (!read_at(reader, reader->engine.waits, &waits, sizeof waits) ||
        !read_at(reader, waits.threads, &array, sizeof array) ||
        i >= array.count ||
        !read_at(reader, waits.threads + sizeof array + i * sizeof address,
                 &address, sizeof address))
      return;
    if (read_wait(reader, address, &wait) && wait.number > last &&
        add_wait(reader, address))
      last = wait.number;
  }
}

/// Adds those in a list of places, each by the first place that it has.
static void add_waits_at(struct reader *reader, uint64_t address) {
  struct inturn_layout_task_place place, first;
  uint64_t anchor = 0, first_address;
  wait wait;
  // A list with a cycle meets the anchor.
  for (uint64_t number = 1;
       address != anchor && read_at(reader, address, &place, sizeof place);
       number++, address = place.next) {
    if ((number & (number - 1)) == 0)
      anchor = address;
    if (read_wait(reader, place.wait, &wait) &&
        read_first_place(reader, wait.places, &first_address, &first) &&
        first_address == address)
      add_wait(reader, place.wait);
  }
}

void add_waits(struct reader *reader) {
  struct inturn_layout_waits waits;
  struct inturn_layout_array lines;
  uint64_t first;
  forget_pages(reader->memory);
  add_waits_of_threads(reader);
  if (!read_at(reader, reader->engine.waits, &waits, sizeof waits) ||
      !read_at(reader, waits.tasks, &lines, sizeof lines))
    return;
  for (uint64_t i = 0; i < lines.count && i < 256; i++)
    if (read_at(reader, waits.tasks + sizeof lines + i * sizeof first, &first,
                sizeof first))
      add_waits_at(reader, first);
}
