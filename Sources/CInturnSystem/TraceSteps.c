// What the recorder has of some queues' last steps, as text for people.
#include <stdio.h>
#include <string.h>

#include "CInturnSystem.h"
#include "TraceItems.h"

enum {
  EACH = 8,   // enqueues; starts and suspensions; ends of these starts
  LINE = 640, // bytes, with a path that is as long
};

struct step {
  const record *record;
  const struct inturn_system_trace_block *block;
  const record *label;
};

// By their time.
struct steps {
  struct step of[EACH];
  int count;
};

static uint64_t operation_of(const record *record) {
  return record->operation & HANDLE;
}

// Keeps the latest.
static void keep(struct steps *steps, struct step step) {
  int place = steps->count;
  if (place < EACH)
    steps->count++;
  else if (step.record->time <= steps->of[0].record->time)
    return;
  else
    memmove(steps->of, steps->of + 1, (size_t)--place * sizeof step);
  for (; place > 0 && steps->of[place - 1].record->time > step.record->time;
       place--)
    steps->of[place] = steps->of[place - 1];
  steps->of[place] = step;
}

static bool is_among(uint64_t lane, const uint64_t *lanes, uint64_t count) {
  for (uint64_t place = 0; place < count; place++)
    if (lanes[place] == lane)
      return true;
  return false;
}

static struct step *step_of(struct steps *steps, uint64_t operation) {
  for (int place = 0; place < steps->count; place++)
    if (operation_of(steps->of[place].record) == operation)
      return &steps->of[place];
  return NULL;
}

struct search {
  const uint64_t *lanes; // NULL for all
  uint64_t count;
  struct steps enqueues, starts, ends;
};

// Calls `see` with each record that is told.
static void for_each(const struct inturn_system_trace *trace,
                     void (*see)(struct search *search, struct step step),
                     struct search *search) {
  for (uint64_t place = 0; place < trace->block_count; place++) {
    const struct inturn_system_trace_block *block = &trace->blocks[place];
    const record *end = block->records + block->count;
    for (const record *next = block->records; next < end;
         next += has_text(next) ? 2 : 1)
      if (next->time >= trace->since)
        see(search, (struct step){next, block, NULL});
  }
}

static void see_first(struct search *search, struct step step) {
  if (search->lanes != NULL &&
      !is_among(lane_of(step.record), search->lanes, search->count))
    return;
  switch (kind_of(step.record)) {
  case INTURN_SYSTEM_TRACE_ENQUEUED:
    keep(&search->enqueues, step);
    break;
  case INTURN_SYSTEM_TRACE_STARTED:
  case INTURN_SYSTEM_TRACE_SUSPENDED:
  case INTURN_SYSTEM_TRACE_RESUMED:
    keep(&search->starts, step);
  }
}

static void see_again(struct search *search, struct step step) {
  uint64_t operation = operation_of(step.record);
  if (operation == 0)
    return;
  struct step *start = step_of(&search->starts, operation);
  if (kind_of(step.record) == INTURN_SYSTEM_TRACE_ENDED && start != NULL)
    keep(&search->ends, step);
  if (kind_of(step.record) != INTURN_SYSTEM_TRACE_LABEL)
    return;
  struct step *enqueue = step_of(&search->enqueues, operation);
  if (start != NULL)
    start->label = step.record + 1;
  if (enqueue != NULL)
    enqueue->label = step.record + 1;
}

// --- Text

// What has no room is left out, and no part of a character stays.
static size_t put(char *line, size_t used, const char *text) {
  used += (size_t)snprintf(line + used, LINE - used, "%s", text);
  if (used < LINE)
    return used;
  used = LINE - 1;
  while (used > 0 && (line[used - 1] & 0x80) != 0)
    used--;
  return used;
}

// A label, within one line.
static size_t put_quoted(char *line, size_t used, const char *label) {
  char text[NAME];
  snprintf(text, sizeof text, "%s", label);
  for (char *next = text; *next != 0;) {
    int length = inturn_system_character(next);
    length += length == 0;
    if (inturn_system_is_control(next))
      memset(next, ' ', (size_t)length);
    next += length;
  }
  used = put(line, used, " \"");
  used = put(line, used, text);
  return put(line, used, "\"");
}

static const char *verb_of(const record *record) {
  switch (kind_of(record)) {
  case INTURN_SYSTEM_TRACE_ENQUEUED:
    return "enqueued";
  case INTURN_SYSTEM_TRACE_STARTED:
    return "started";
  case INTURN_SYSTEM_TRACE_SUSPENDED:
    return "suspended";
  case INTURN_SYSTEM_TRACE_RESUMED:
    return "resumed";
  default:
    return inturn_trace_outcomes[outcome_of(record)];
  }
}

// Writes the line about a step; `start` is that of what has ended.
static void put_line(char *line, const struct inturn_system_trace *trace,
                     const struct step *step, const struct step *start) {
  uint64_t now = inturn_trace_nanoseconds(trace, trace->last_ticks);
  uint64_t then = inturn_trace_nanoseconds(trace, step->record->time);
  uint64_t us = (now > then ? now - then : 0) / 1000;
  size_t used = (size_t)snprintf(
      line, LINE, "%llu.%06llu s before: %s", (unsigned long long)us / 1000000,
      (unsigned long long)us % 1000000, verb_of(step->record));
  if (start->label != NULL)
    used = put_quoted(line, used, (const char *)start->label);
  const char *file = NULL, *function = NULL;
  uint32_t number = 0;
  if (trace->site(site_of(start->record), &file, &function, &number) && file) {
    char place[LINE];
    snprintf(place, sizeof place, " (%s:%u)", file, number);
    used = put(line, used, place);
  }
  char queue[NAME] = "";
  used = put(line, used, ", queue");
  if (!trace->queue_label(lane_of(start->record), queue, sizeof queue))
    used = put(line, used, " is gone");
  else if (queue[0] != 0)
    used = put_quoted(line, used, queue);
  else
    used = put(line, used, " without a name");
  char thread[48];
  snprintf(thread, sizeof thread, ", thread %llu %.15s",
           (unsigned long long)step->block->thread, step->block->name);
  used = put(line, used, thread);
  line[used] = '\n';
  line[used + 1] = 0;
}

uint64_t inturn_system_trace_steps(const struct inturn_system_trace *trace,
                                   const uint64_t *lanes, uint64_t count,
                                   char *room, uint64_t size) {
  struct search search = {.lanes = lanes, .count = count};
  for_each(trace, see_first, &search);
  for_each(trace, see_again, &search);
  struct steps *all[] = {&search.enqueues, &search.starts, &search.ends};
  int next[3] = {0, 0, 0};
  uint64_t used = 0;
  for (;;) {
    int first = -1;
    for (int sort = 0; sort < 3; sort++)
      if (next[sort] < all[sort]->count &&
          (first < 0 || all[sort]->of[next[sort]].record->time <
                            all[first]->of[next[first]].record->time))
        first = sort;
    if (first < 0)
      return used;
    const struct step *step = &all[first]->of[next[first]++], *start = step;
    if (first == 2)
      start = step_of(&search.starts, operation_of(step->record));
    char line[LINE + 2];
    put_line(line, trace, step, start);
    uint64_t length = strlen(line);
    if (used + length >= size)
      return used;
    memcpy(room + used, line, length + 1);
    used += length;
  }
}

#pragma clang attribute pop
