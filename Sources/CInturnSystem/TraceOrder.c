// In which order the writer of traces takes the records, and when they were
// made.
#include "TraceItems.h"

// a * b / c, where a is at most about c.
static uint64_t scaled(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t quotient = a / c * b, rest = a % c, part = 0, remainder = 0;
  for (int bit = 63; bit >= 0; bit--) {
    part <<= 1;
    remainder <<= 1;
    if ((b >> bit & 1) != 0)
      remainder += rest;
    if (remainder >= c) {
      remainder -= c;
      part++;
    }
    if (remainder >= c) {
      remainder -= c;
      part++;
    }
  }
  return quotient + part;
}

uint64_t inturn_trace_nanoseconds(const struct inturn_system_trace *trace,
                                  uint64_t ticks) {
  uint64_t all = trace->last_ticks - trace->first_ticks;
  if (ticks <= trace->first_ticks || trace->last_ticks <= trace->first_ticks)
    return (uint64_t)trace->first_ns;
  return (uint64_t)trace->first_ns +
         scaled(ticks - trace->first_ticks,
                (uint64_t)(trace->last_ns - trace->first_ns), all);
}

// At the same time, in the order in which an operation's records are made.
static bool is_before(const struct run *one, const struct run *other) {
  if (one->next->time != other->next->time)
    return one->next->time < other->next->time;
  if (one->thread == other->thread)
    return one->sequence < other->sequence;
  return kind_of(one->next) < kind_of(other->next);
}

// Restores the heap's order below a run that may be too far up.
void inturn_trace_sink(struct run *runs, uint64_t count, uint64_t place) {
  for (;;) {
    uint64_t least = place;
    for (uint64_t child = place * 2 + 1;
         child <= place * 2 + 2 && child < count; child++)
      if (is_before(&runs[child], &runs[least]))
        least = child;
    if (least == place)
      return;
    struct run run = runs[place];
    runs[place] = runs[least];
    runs[least] = run;
    place = least;
  }
}

#pragma clang attribute pop
