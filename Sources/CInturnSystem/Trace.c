// Makes a file of what the recorder has kept, in the format of Chrome's trace
// events, which Perfetto and Chrome open.
//
// The records are taken in the order of time, once. An operation's slice is
// written when it ends, as only then its length is known, and with it the
// arrows to its start, as each needs a slice at both ends. No two records get
// the same nanosecond, so that it is clear to which slice an arrow belongs.
//
// A ring loses its oldest records. So each of them may be the first that is
// there of its operation, and no arrow is drawn to what may be another one.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "CInturnSystem.h"
#include "TraceItems.h"

const char *const inturn_trace_outcomes[] = {
    "not recorded", "finished", "failed", "cancelled", "timed out", "abandoned",
};
static const char *const verbs[] = {
    "end ", "finish ", "fail ", "cancel ", "time out ", "abandon ",
};

static struct operation *operation_at(struct writer *w, id operation) {
  return &inturn_trace_at(w, operation)->as.operation;
}
static struct lane *lane_at(struct writer *w, id lane) {
  return &inturn_trace_at(w, lane)->as.lane;
}
static struct thread *thread_at(struct writer *w, id thread) {
  return &inturn_trace_at(w, thread)->as.thread;
}
static struct end *end_at(struct writer *w, id end) {
  return &inturn_trace_at(w, end)->as.end;
}

// --- Operations

// Writes the slice on the queue's track, and the arrows to its start.
static void put_operation(struct writer *w, id id, uint64_t end,
                          const char *outcome) {
  struct operation *operation = operation_at(w, id);
  uint64_t start = operation->start;
  struct point enqueued = operation->enqueued;
  inturn_trace_begin(w, "X", operation->track, start, "", id);
  inturn_trace_put_id(w, id);
  inturn_trace_put_site(w, operation->site, ",");
  if (enqueued.track != 0 && enqueued.ns < start) {
    inturn_trace_put(w, ",\"waited_us\":");
    inturn_trace_put_microseconds(w, start - enqueued.ns);
  }
  inturn_trace_put(w, ",\"thread\":\"");
  inturn_trace_put_name(w, operation->thread);
  inturn_trace_put(w, " ");
  inturn_trace_put_number(w, inturn_trace_at(w, operation->thread)->key);
  inturn_trace_put(w, "\",\"outcome\":\"");
  inturn_trace_put(w, outcome);
  inturn_trace_put(w, "\"");
  inturn_trace_end_slice(w, end - start);

  inturn_trace_arrow(w, "enqueued", enqueued, operation->track, start);
  inturn_trace_arrow(w, "next", operation->freed, operation->track, start);
  while (operation->releases != 0) {
    struct end *release = end_at(w, operation->releases);
    inturn_trace_arrow(w, "released",
                       operation_at(w, release->operation)->finished,
                       operation->track, start);
    uint32_t next = release->next;
    inturn_trace_give_back(w, operation->releases);
    operation->releases = next;
  }
  // Another attempt does not start by these.
  operation->enqueued.track = operation->freed.track = 0;
}

// Ends the slice of an operation that runs.
static void end_operation(struct writer *w, id id, uint64_t ns,
                          const char *outcome) {
  struct operation *operation = operation_at(w, id);
  put_operation(w, id, ns, outcome);
  inturn_trace_free_track(w, operation->lane, operation->track);
  operation->track = 0;
  if (operation->is_counted)
    lane_at(w, operation->lane)->running--;
  operation->is_counted = false;
}

// Takes the first of the ends that no start has followed yet.
static struct point take_end(struct writer *w, struct lane *lane) {
  id first = lane->first_end;
  struct point at = end_at(w, first)->at;
  lane->first_end = end_at(w, first)->next;
  lane->ends--;
  inturn_trace_give_back(w, first);
  return at;
}

// Notes the end by which the operation may start: its lane was full until then,
// and it was waiting for nothing else.
static void find_end(struct writer *w, struct operation *operation) {
  struct lane *lane = lane_at(w, operation->lane);
  if (lane->ends == 0)
    return;
  struct point end = take_end(w, lane);
  if (operation->enqueued.track == 0 || operation->enqueued.ns > end.ns)
    return;
  if (operation->releases != 0 &&
      end_at(w, operation->releases)->at.ns > end.ns)
    return;
  operation->freed = end;
}

// Of a plain operation, where it was enqueued.
static void find_enqueue(struct writer *w, struct operation *operation,
                         uint64_t place) {
  id *found = inturn_trace_find(w, PLAIN, place & PLACE, operation->lane, NULL);
  if ((place & PLACE) == 0 || *found == 0)
    return;
  struct operation *plain = operation_at(w, *found);
  if (plain->enqueued.ns > lane_at(w, operation->lane)->moved) {
    operation->enqueued = plain->enqueued;
    operation->site = plain->site;
  }
  // Each is for one start.
  *found = inturn_trace_at(w, *found)->chain;
}

static void start_operation(struct writer *w, id id, const record *record,
                            uint64_t ns, uint32_t lane, uint32_t thread) {
  struct operation *operation = operation_at(w, id);
  bool is_complete = record->time >= w->trace->complete;
  if (operation->track != 0)
    end_operation(w, id, ns, "started again");
  operation->lane = lane;
  operation->thread = thread;
  operation->start = ns;
  find_enqueue(w, operation, record->other);
  if (site_of(record) != 0)
    operation->site = site_of(record);
  find_end(w, operation);
  operation->track = inturn_trace_take_track(w, lane);
  if (operation->ends == 0 && (!is_complete || operation->outcome != 0)) {
    // It is over: the end was recorded before, or is lost.
    end_operation(w, id, ns, inturn_trace_outcomes[operation->outcome]);
    return;
  }
  operation->is_counted = is_complete;
  if (is_complete)
    lane_at(w, lane)->running++;
}

static void finish_operation(struct writer *w, uint32_t id,
                             const record *record, uint64_t ns,
                             uint32_t thread) {
  struct operation *operation = operation_at(w, id);
  struct point started = {operation->start, operation->track};
  struct point finished = {ns, inturn_trace_current_track(w, thread)};
  operation->outcome = outcome_of(record);
  operation->ends--;
  if (started.track != 0) {
    struct lane *lane = lane_at(w, operation->lane);
    bool was_full = operation->is_counted && lane->limit != 0 &&
                    lane->running + lane->ends == lane->limit;
    end_operation(w, id, ns, inturn_trace_outcomes[operation->outcome]);
    if (was_full) {
      uint32_t end = inturn_trace_make_other(w);
      end_at(w, end)->at = finished;
      if (lane->ends++ == 0)
        lane->first_end = end;
      else
        end_at(w, lane->last_end)->next = end;
      lane->last_end = end;
    }
  } else {
    // It has never been started.
    started = operation->enqueued;
    operation->enqueued.track = 0;
  }
  inturn_trace_begin(w, "X", finished.track, ns, verbs[operation->outcome], id);
  inturn_trace_put_id(w, id);
  inturn_trace_end_slice(w, 0);
  inturn_trace_arrow(w, "ended", started, finished.track, ns);
  operation->finished = finished;
}

// --- Calls

// Ends the innermost call of a thread.
static void end_call(struct writer *w, struct thread *thread, uint64_t ns) {
  id innermost = thread->call;
  struct call *call = &inturn_trace_at(w, innermost)->as.call;
  inturn_trace_begin(w, "X", call->track, call->start, "", call->operation);
  inturn_trace_put_id(w, call->operation);
  inturn_trace_put(w, ",\"queue\":\"");
  inturn_trace_put_name(w, call->lane);
  inturn_trace_put(w, "\"");
  inturn_trace_end_slice(w, ns - call->start);
  // It goes on for that executor.
  thread->process = inturn_trace_at(w, call->track)->as.track.process;
  thread->call = call->below;
  thread->turn = 0;
  inturn_trace_give_back(w, innermost);
}

static void begin_call(struct writer *w, uint32_t operation, uint32_t lane,
                       uint32_t thread, uint64_t ns) {
  struct thread *its = thread_at(w, thread);
  // Without a turn in between, the one before has returned.
  if (its->call != 0 && its->turn != lane &&
      inturn_trace_at(w, its->call)->as.call.lane == lane)
    end_call(w, its, ns);
  id new = inturn_trace_make_other(w);
  struct call *call = &inturn_trace_at(w, new)->as.call;
  call->start = ns;
  call->operation = operation;
  call->lane = lane;
  call->track = inturn_trace_thread_track(w, thread, its->process);
  call->below = its->call;
  its->call = new;
  its->turn = 0;
}

// Those within it have returned, too.
static void return_from(struct writer *w, struct thread *thread, id operation,
                        uint64_t ns) {
  id call = thread->call;
  while (call != 0 && inturn_trace_at(w, call)->as.call.operation != operation)
    call = inturn_trace_at(w, call)->as.call.below;
  for (bool is_last = call == 0; !is_last;) {
    is_last = thread->call == call;
    end_call(w, thread, ns);
  }
}

// --- Records

static void enqueue(struct writer *w, const record *record, uint64_t ns,
                    id lane, id thread) {
  uint64_t handle = record->operation & HANDLE;
  id track = inturn_trace_current_track(w, thread);
  uint64_t place = record->other & PLACE;
  inturn_trace_begin(w, "X", track, ns, "enqueue ", lane);
  id what = 0;
  if (handle != 0) {
    what = inturn_trace_operation(w, handle);
    inturn_trace_put_id(w, what);
  } else if (place != 0 && record->time >= w->trace->complete) {
    what = inturn_trace_add(w, PLAIN, place, lane);
  }
  inturn_trace_put_site(w, site_of(record), handle != 0 ? "," : "");
  inturn_trace_end_slice(w, 0);
  if (what == 0)
    return;
  struct operation *operation = operation_at(w, what);
  operation->enqueued = (struct point){ns, track};
  operation->site = site_of(record);
}

static void release(struct writer *w, const record *record, uint64_t ns) {
  struct operation *later =
      operation_at(w, inturn_trace_operation(w, record->operation));
  id release = inturn_trace_make_other(w);
  struct end *end = end_at(w, release);
  end->operation = inturn_trace_operation(w, record->other);
  end->at.ns = ns;
  end->next = later->releases;
  later->releases = release;
}

// The lane is suspended, or no longer.
static void put_suspension(struct writer *w, const record *record, uint64_t ns,
                           id lane) {
  bool is_over = kind_of(record) == INTURN_SYSTEM_TRACE_RESUMED;
  if (lane_at(w, lane)->tracks == 0)
    inturn_trace_free_track(w, lane, inturn_trace_lane_track(w, lane, 1));
  inturn_trace_begin(w, "i", inturn_trace_lane_track(w, lane, 1), ns,
                     is_over ? "resumed" : "suspended", 0);
  inturn_trace_put_site(w, site_of(record), "");
  inturn_trace_put(w, "},\"s\":\"t\"}");
  // What starts now starts by this.
  while (lane_at(w, lane)->ends > 0)
    (void)take_end(w, lane_at(w, lane));
}

static id executor_of(struct writer *w, const record *turn) {
  return turn->other == 0 ? w->threads : inturn_trace_process(w, turn->other);
}

static void take(struct writer *w, const record *record, uint64_t ns,
                 id thread) {
  uint64_t handle = record->operation & HANDLE;
  id lane = 0, operation;
  if ((record->lane & HANDLE) != 0)
    lane = inturn_trace_lane(w, record);
  switch (kind_of(record)) {
  case INTURN_SYSTEM_TRACE_ENQUEUED:
    enqueue(w, record, ns, lane, thread);
    break;
  case INTURN_SYSTEM_TRACE_STARTED:
    operation = inturn_trace_operation(w, handle);
    start_operation(w, operation, record, ns, lane, thread);
    begin_call(w, operation, lane, thread, ns);
    break;
  case INTURN_SYSTEM_TRACE_RETURNED:
    operation = inturn_trace_operation(w, handle);
    return_from(w, thread_at(w, thread), operation, ns);
    break;
  case INTURN_SYSTEM_TRACE_ENDED:
    operation = inturn_trace_operation(w, handle);
    finish_operation(w, operation, record, ns, thread);
    break;
  case INTURN_SYSTEM_TRACE_RELEASED:
    release(w, record, ns);
    break;
  case INTURN_SYSTEM_TRACE_TURN:
    thread_at(w, thread)->turn = lane;
    thread_at(w, thread)->process = executor_of(w, record);
    lane_at(w, lane)->limit = (uint32_t)handle;
    break;
  case INTURN_SYSTEM_TRACE_MOVED:
    lane_at(w, lane)->moved = ns;
    break;
  case INTURN_SYSTEM_TRACE_SUSPENDED:
  case INTURN_SYSTEM_TRACE_RESUMED:
    put_suspension(w, record, ns, lane);
    break;
  }
}

// Takes what is to be known before the first event: labels, which operations
// end, and for whom threads work.
static void look_at(struct writer *w, const struct run *run) {
  const record *record = run->next;
  uint64_t handle = record->operation & HANDLE;
  struct thread *thread = thread_at(w, run->thread);
  const char *text = record + 1 < run->end ? (const char *)(record + 1) : NULL;
  id process;
  switch (kind_of(record)) {
  case INTURN_SYSTEM_TRACE_LABEL:
    operation_at(w, inturn_trace_operation(w, handle))->label = text;
    break;
  case INTURN_SYSTEM_TRACE_GONE:
    lane_at(w, inturn_trace_lane(w, record))->label = text;
    break;
  case INTURN_SYSTEM_TRACE_ENDED:
    operation_at(w, inturn_trace_operation(w, handle))->ends++;
    break;
  case INTURN_SYSTEM_TRACE_TURN:
    // A thread that works for one executor is that one's from the beginning.
    process = executor_of(w, record);
    if (thread->process == 0)
      thread->process = process;
    else if (thread->process != process)
      thread->process = w->threads;
    break;
  }
}

// --- All of them

// Goes to the next record that is told. False at the run's end.
static bool settle(const struct writer *w, struct run *run) {
  while (run->next < run->end && run->next->time < w->trace->since)
    run->next += has_text(run->next) ? 2 : 1;
  return run->next < run->end;
}

static void advance(struct run *run) {
  run->next += has_text(run->next) && run->next + 1 < run->end ? 2 : 1;
}

// Finds the runs and what they begin with; their number, or -1.
static int64_t prepare(struct writer *w, struct run *runs) {
  int64_t count = 0;
  for (uint64_t place = 0; place < w->trace->block_count; place++) {
    const struct inturn_system_trace_block *block = &w->trace->blocks[place];
    if (!inturn_trace_reserve(w))
      return -1;
    struct run run = {block->records, block->records + block->count,
                      block->sequence, 0};
    run.thread = inturn_trace_find_or_add(w, THREAD, block->thread, 0);
    struct thread *thread = thread_at(w, run.thread);
    if (block->sequence >= thread->sequence) {
      thread->sequence = block->sequence;
      memcpy(thread->label, block->name, sizeof thread->label - 1);
    }
    if (!settle(w, &run))
      continue;
    runs[count++] = run;
    for (; run.next < run.end; advance(&run)) {
      if (!inturn_trace_reserve(w))
        return -1;
      look_at(w, &run);
    }
  }
  return count;
}

// What still goes on.
static void put_unfinished(struct writer *w, uint64_t ns) {
  for (id item = 1; item < w->count; item++) {
    uint8_t kind = inturn_trace_at(w, item)->kind;
    if (kind == OPERATION && operation_at(w, item)->track != 0)
      end_operation(w, item, ns, "unfinished");
    while (kind == THREAD && thread_at(w, item)->call != 0)
      end_call(w, thread_at(w, item), ns);
  }
}

static int write_all(struct writer *w, struct run *runs) {
  // Nothing is at 0.
  if (!inturn_trace_reserve(w))
    return ENOMEM;
  (void)inturn_trace_add(w, 0, 0, 0);
  w->queues = inturn_trace_process(w, QUEUES);
  w->threads = inturn_trace_process(w, THREADS);
  int64_t prepared = prepare(w, runs);
  if (prepared < 0)
    return ENOMEM;
  for (id item = 1; item < w->count; item++)
    if (inturn_trace_at(w, item)->kind == THREAD &&
        thread_at(w, item)->process == 0)
      thread_at(w, item)->process = w->threads;
  uint64_t count = (uint64_t)prepared, now = 0;
  for (uint64_t place = count; place-- > 0;)
    inturn_trace_sink(runs, count, place);
  inturn_trace_put(w, "{\"displayTimeUnit\":\"ns\",\"otherData\":{"
                      "\"producer\":\"Inturn\",\"lost\":");
  inturn_trace_put_number(w, w->trace->lost);
  if (w->trace->complete != 0) {
    inturn_trace_put(w, ",\"complete_from_us\":");
    inturn_trace_put_microseconds(
        w, inturn_trace_nanoseconds(w->trace, w->trace->complete));
  }
  inturn_trace_put(w, "},\"traceEvents\":[");
  while (count > 0 && w->error == 0) {
    if (!inturn_trace_reserve(w))
      return ENOMEM;
    uint64_t ns = inturn_trace_nanoseconds(w->trace, runs->next->time);
    now = ns > now ? ns : now + 1;
    take(w, runs->next, now, runs->thread);
    advance(runs);
    if (runs->next == runs->end)
      *runs = runs[--count];
    inturn_trace_sink(runs, count, 0);
  }
  uint64_t end = inturn_trace_nanoseconds(w->trace, w->trace->last_ticks);
  put_unfinished(w, end > now ? end : now + 1);
  inturn_trace_put(w, "\n]}\n");
  inturn_trace_flush(w);
  return w->error;
}

int inturn_system_trace_write(int descriptor,
                              const struct inturn_system_trace *trace) {
  uint64_t records = 64, heads = 64;
  for (uint64_t place = 0; place < trace->block_count; place++)
    records += trace->blocks[place].count;
  while (heads < records)
    heads *= 2;
  struct writer *w = calloc(1, sizeof *w);
  struct run *runs = calloc(trace->block_count + 1, sizeof *runs);
  id *table = calloc(heads, sizeof *table);
  int error = ENOMEM;
  if (w && runs && table) {
    w->trace = trace;
    w->descriptor = descriptor;
    w->heads = table;
    w->mask = heads - 1;
    error = write_all(w, runs);
    free(w->items);
  }
  free(table);
  free(runs);
  free(w);
  return error;
}

#pragma clang attribute pop
