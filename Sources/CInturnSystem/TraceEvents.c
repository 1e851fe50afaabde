// How the writer of traces writes events, and what it remembers of queues,
// operations, executors, threads and their tracks.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "CInturnSystem.h"
#include "TraceItems.h"

// How far a track that becomes free looks for its place among those that are.
enum { LOOKED_AT = 64 };

// --- Text

void inturn_trace_flush(struct writer *w) {
  if (w->error == 0 && !inturn_system_write(w->descriptor, w->output, w->used))
    w->error = errno != 0 ? errno : EIO;
  w->used = 0;
}

void inturn_trace_put_byte(struct writer *w, char byte) {
  if (w->used == OUTPUT)
    inturn_trace_flush(w);
  w->output[w->used++] = byte;
}

void inturn_trace_put(struct writer *w, const char *text) {
  while (*text != 0)
    inturn_trace_put_byte(w, *text++);
}

void inturn_trace_put_digits(struct writer *w, uint64_t value, uint64_t base,
                             int least) {
  char digits[24];
  int count = 0;
  while (value > 0 || count < least) {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  }
  while (count > 0)
    inturn_trace_put_byte(w, digits[--count]);
}

void inturn_trace_put_number(struct writer *w, uint64_t value) {
  inturn_trace_put_digits(w, value, 10, 1);
}

void inturn_trace_put_microseconds(struct writer *w, uint64_t ns) {
  inturn_trace_put_number(w, ns / 1000);
  inturn_trace_put_byte(w, '.');
  inturn_trace_put_digits(w, ns % 1000, 10, 3);
}

// What is between the quotes.
static void put_text(struct writer *w, const char *text) {
  while (*text != 0) {
    int length = inturn_system_character(text);
    if (length == 0) {
      inturn_trace_put(w, "\xef\xbf\xbd"); // U+FFFD
      text++;
    } else if ((unsigned char)*text < 0x20) {
      inturn_trace_put(w, "\\u");
      inturn_trace_put_digits(w, (unsigned char)*text++, 16, 4);
    } else {
      if (*text == '"' || *text == '\\')
        inturn_trace_put_byte(w, '\\');
      for (; length > 0; length--)
        inturn_trace_put_byte(w, *text++);
    }
  }
}

// --- Items

static struct item *at(struct writer *w, id item) {
  return inturn_trace_at(w, item);
}

// Makes room for the items of one record, so that none of them moves while it
// is dealt with.
bool inturn_trace_reserve(struct writer *w) {
  if (w->capacity - w->count >= MOST_NEW)
    return true;
  if (w->capacity > UINT32_MAX / 2)
    return false;
  id capacity = w->capacity * 2 + 256;
  struct item *items = realloc(w->items, capacity * sizeof *items);
  if (!items)
    return false;
  w->items = items;
  w->capacity = capacity;
  return true;
}

static id make(struct writer *w) {
  memset(at(w, w->count), 0, sizeof(struct item));
  return w->count++;
}

id inturn_trace_make_other(struct writer *w) {
  id other = w->unused;
  if (other == 0)
    return make(w);
  w->unused = at(w, other)->chain;
  memset(at(w, other), 0, sizeof(struct item));
  return other;
}

void inturn_trace_give_back(struct writer *w, id other) {
  at(w, other)->chain = w->unused;
  w->unused = other;
}

// Where the number of the latest such item is; at the chain's end, 0.
id *inturn_trace_find(struct writer *w, enum item_kind kind, uint64_t key,
                      id owner, id **head) {
  uint64_t hash = (key ^ (uint64_t)owner << 40 ^ kind) * 0x9e3779b97f4a7c15;
  id *place = &w->heads[hash >> 24 & w->mask];
  if (head)
    *head = place;
  for (; *place != 0; place = &at(w, *place)->chain) {
    struct item *item = at(w, *place);
    if (item->kind == kind && item->key == key && item->owner == owner)
      break;
  }
  return place;
}

id inturn_trace_add(struct writer *w, enum item_kind kind, uint64_t key,
                    id owner) {
  id *head, item = make(w);
  (void)inturn_trace_find(w, kind, key, owner, &head);
  at(w, item)->kind = (uint8_t)kind;
  at(w, item)->key = key;
  at(w, item)->owner = owner;
  at(w, item)->chain = *head;
  *head = item;
  return item;
}

id inturn_trace_find_or_add(struct writer *w, enum item_kind kind, uint64_t key,
                            id owner) {
  id item = *inturn_trace_find(w, kind, key, owner, NULL);
  return item != 0 ? item : inturn_trace_add(w, kind, key, owner);
}

id inturn_trace_operation(struct writer *w, uint64_t handle) {
  return inturn_trace_find_or_add(w, OPERATION, handle & HANDLE, 0);
}

static id named(struct writer *w, uint64_t key,
                bool (*label)(uint64_t, char *, uintptr_t)) {
  id name = make(w);
  char *room = at(w, name)->as.name;
  if (!label(key, room, NAME))
    *room = 0;
  return name;
}

id inturn_trace_lane(struct writer *w, const record *record) {
  uint64_t key = lane_of(record);
  id lane = inturn_trace_find_or_add(w, LANE, key, 0);
  if (at(w, lane)->as.lane.index == 0) {
    at(w, lane)->as.lane.index = ++w->lanes;
    at(w, lane)->as.lane.name = named(w, key, w->trace->queue_label);
  }
  return lane;
}

// --- Names

static bool find_site(struct writer *w, uint16_t site, const char **file,
                      const char **function, uint32_t *line) {
  *file = *function = NULL;
  *line = 0;
  return w->trace->site(site, file, function, line) && *file;
}

void inturn_trace_put_name(struct writer *w, id what) {
  struct item *item = at(w, what);
  const char *name = NULL, *file, *function;
  uint32_t index = 0, line;
  switch (item->kind) {
  case LANE:
    name = at(w, item->as.lane.name)->as.name;
    // Of one that is gone, what it was called when it was destroyed.
    if (*name == 0 && item->as.lane.label)
      name = item->as.lane.label;
    index = item->as.lane.index;
    break;
  case PROCESS:
    if (item->key == QUEUES || item->key == THREADS) {
      inturn_trace_put(w, item->key == QUEUES ? "queues" : "threads");
      return;
    }
    name = at(w, item->as.process.name)->as.name;
    index = item->as.process.index;
    break;
  case THREAD:
    name = item->as.thread.label;
    put_text(w, *name != 0 ? name : "thread");
    return;
  case OPERATION:
    name = item->as.operation.label;
    if (name && *name != 0)
      break;
    if (!find_site(w, item->as.operation.site, &file, &function, &line)) {
      inturn_trace_put(w, "operation");
    } else if (function && *function != 0) {
      put_text(w, function);
    } else {
      name = strrchr(file, '/');
      put_text(w, name ? name + 1 : file);
      inturn_trace_put_byte(w, ':');
      inturn_trace_put_number(w, line);
    }
    return;
  }
  if (name && *name != 0) {
    put_text(w, name);
  } else {
    inturn_trace_put(w, item->kind == LANE ? "queue " : "executor ");
    inturn_trace_put_number(w, index);
  }
}

// --- Events

static void begin_event(struct writer *w, const char *phase) {
  inturn_trace_put(w, w->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  w->has_events = true;
  inturn_trace_put(w, phase);
  inturn_trace_put(w, "\",\"pid\":");
}

static void put_place(struct writer *w, id track) {
  struct item *item = at(w, track);
  inturn_trace_put_number(w, at(w, item->as.track.process)->as.process.pid);
  inturn_trace_put(w, ",\"tid\":");
  inturn_trace_put_number(w, item->as.track.tid);
}

// Up to the braces of the arguments.
void inturn_trace_begin(struct writer *w, const char *phase, id track,
                        uint64_t ns, const char *verb, id name) {
  begin_event(w, phase);
  put_place(w, track);
  inturn_trace_put(w, ",\"ts\":");
  inturn_trace_put_microseconds(w, ns);
  inturn_trace_put(w, ",\"name\":\"");
  inturn_trace_put(w, verb);
  if (name != 0)
    inturn_trace_put_name(w, name);
  inturn_trace_put(w, "\",\"args\":{");
}

void inturn_trace_put_id(struct writer *w, id operation) {
  inturn_trace_put(w, "\"id\":\"0x");
  inturn_trace_put_digits(w, at(w, operation)->key, 16, 1);
  inturn_trace_put_byte(w, '"');
}

void inturn_trace_put_site(struct writer *w, uint16_t site, const char *comma) {
  const char *file, *function;
  uint32_t line;
  if (!find_site(w, site, &file, &function, &line))
    return;
  inturn_trace_put(w, comma);
  inturn_trace_put(w, "\"at\":\"");
  put_text(w, file);
  inturn_trace_put_byte(w, ':');
  inturn_trace_put_number(w, line);
  inturn_trace_put_byte(w, '"');
}

// Ends a slice of this length.
void inturn_trace_end_slice(struct writer *w, uint64_t ns) {
  inturn_trace_put(w, "},\"dur\":");
  inturn_trace_put_microseconds(w, ns);
  inturn_trace_put_byte(w, '}');
}

void inturn_trace_arrow(struct writer *w, const char *name, struct point from,
                        id track, uint64_t ns) {
  if (from.track == 0 || from.ns >= ns)
    return;
  w->arrows++;
  for (int end = 0; end < 2; end++) {
    begin_event(w, end == 0 ? "s" : "f");
    put_place(w, end == 0 ? from.track : track);
    inturn_trace_put(w, ",\"ts\":");
    inturn_trace_put_microseconds(w, end == 0 ? from.ns : ns);
    inturn_trace_put(w, ",\"id\":");
    inturn_trace_put_number(w, w->arrows);
    inturn_trace_put(w, ",\"cat\":\"inturn\",\"name\":\"");
    inturn_trace_put(w, name);
    inturn_trace_put(w, end == 0 ? "\"}" : "\",\"bp\":\"e\"}");
  }
}

// --- Tracks

// A number of a process or track that is no thread's.
static uint32_t next_number(struct writer *w) {
  do
    w->numbers++;
  while (*inturn_trace_find(w, THREAD, w->numbers, 0, NULL) != 0);
  return w->numbers;
}

// What a process or track is called, or its place among them.
static void put_metadata(struct writer *w, const char *what, uint32_t pid,
                         uint32_t tid, id name, uint64_t index) {
  begin_event(w, "M");
  inturn_trace_put_number(w, pid);
  if (tid != 0) {
    inturn_trace_put(w, ",\"tid\":");
    inturn_trace_put_number(w, tid);
  }
  inturn_trace_put(w, ",\"name\":\"");
  inturn_trace_put(w, what);
  if (name == 0) {
    inturn_trace_put(w, "_sort_index\",\"args\":{\"sort_index\":");
    inturn_trace_put_number(w, index);
    inturn_trace_put(w, "}}");
    return;
  }
  inturn_trace_put(w, "_name\",\"args\":{\"name\":\"");
  inturn_trace_put_name(w, name);
  if (at(w, name)->kind == LANE && index > 1) {
    inturn_trace_put_byte(w, ' ');
    inturn_trace_put_number(w, index);
  }
  inturn_trace_put(w, "\"}}");
}

id inturn_trace_process(struct writer *w, uint64_t key) {
  id process = inturn_trace_find_or_add(w, PROCESS, key, 0);
  if (at(w, process)->as.process.index == 0) {
    if (key < THREADS)
      at(w, process)->as.process.name = named(w, key, w->trace->executor_label);
    at(w, process)->as.process.index = ++w->processes;
  }
  return process;
}

static id make_track(struct writer *w, id process, id owner, uint64_t key,
                     uint32_t tid, uint64_t index) {
  struct item *in = at(w, process);
  if (in->as.process.pid == 0) {
    uint32_t pid = in->as.process.pid = next_number(w);
    put_metadata(w, "process", pid, 0, process, 0);
    // The queues come first, then the executors.
    put_metadata(w, "process", pid, 0, 0,
                 in->key == QUEUES    ? 0
                 : in->key == THREADS ? UINT32_MAX / 2
                                      : in->as.process.index);
  }
  id track = inturn_trace_add(w, TRACK, key, owner);
  at(w, track)->as.track.process = process;
  at(w, track)->as.track.tid = tid != 0 ? tid : next_number(w);
  tid = at(w, track)->as.track.tid;
  put_metadata(w, "thread", in->as.process.pid, tid, owner, key);
  put_metadata(w, "thread", in->as.process.pid, tid, 0, index);
  return track;
}

// The lane's track of this number, from 1.
id inturn_trace_lane_track(struct writer *w, id lane, uint32_t place) {
  struct item *item = at(w, lane);
  id track = *inturn_trace_find(w, TRACK, place, lane, NULL);
  if (track != 0)
    return track;
  item->as.lane.tracks = place;
  return make_track(w, w->queues, lane, place, 0,
                    (uint64_t)item->as.lane.index << 12 | (place & 0xfff));
}

// The first track on which no operation is.
id inturn_trace_take_track(struct writer *w, id lane) {
  struct item *item = at(w, lane);
  id track = item->as.lane.free;
  if (track != 0)
    item->as.lane.free = at(w, track)->as.track.next;
  else
    track = inturn_trace_lane_track(w, lane, item->as.lane.tracks + 1);
  return track;
}

void inturn_trace_free_track(struct writer *w, id lane, id track) {
  id *next = &at(w, lane)->as.lane.free;
  for (int looked = 0; looked < LOOKED_AT && *next != 0 &&
                       at(w, *next)->key < at(w, track)->key;
       looked++)
    next = &at(w, *next)->as.track.next;
  at(w, track)->as.track.next = *next;
  *next = track;
}

// The thread's track in a process.
id inturn_trace_thread_track(struct writer *w, id thread, id process) {
  id track = *inturn_trace_find(w, TRACK, process, thread, NULL);
  if (track != 0)
    return track;
  struct item *item = at(w, thread);
  // Of its several tracks, only one can have its number.
  uint32_t tid = item->as.thread.tracks++ == 0 ? (uint32_t)item->key : 0;
  return make_track(w, process, thread, process, tid, item->key & INT32_MAX);
}

// The one on which it is now.
id inturn_trace_current_track(struct writer *w, id thread) {
  struct item *item = at(w, thread);
  if (item->as.thread.call != 0)
    return at(w, item->as.thread.call)->as.call.track;
  return inturn_trace_thread_track(w, thread, item->as.thread.process);
}

#pragma clang attribute pop
