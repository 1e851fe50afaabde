// Says what keeps an operation from ending, in the words of `inturn_why`.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "CInturnSystem.h"
#include "picture.h"
#include "program.h"

// The most links in a sentence, and the most that are followed.
enum { LINKS = 12, STEPS = 1000 };

struct chain {
  const struct thing *links[LINKS];
  const struct thing *waits[LINKS]; // by which a link waits for the next one
  int length;                       // with links that did not fit
  uint64_t queue, named;            // the first one's, and its pending links
  // Operations whose work waits for the next link, of all links.
  const struct thing *passed[STEPS];
  int passed_count;
};

static bool is(const char *one, const char *other) {
  return one && strcmp(one, other) == 0;
}

static void add_link(struct chain *chain, const struct thing *link) {
  int place = chain->length < LINKS ? chain->length : LINKS - 1;
  chain->links[place] = link;
  chain->waits[place] = NULL;
  chain->length++;
  chain->named += link->queue == chain->queue && is(link->state, "pending");
}

/// The place in the hash table: 0 if there is none, else one more than the
/// thing's index.
static size_t *place_of(const struct picture *picture, uint64_t id) {
  // In the uppermost bits of the product, each bit of the id has a part.
  size_t place = id * UINT64_C(0x9e3779b97f4a7c15) >>
                 __builtin_clzll(picture->place_count - 1);
  for (;; place++) {
    size_t *found = &picture->places[place & (picture->place_count - 1)];
    if (*found == 0 || picture->things[*found - 1].id == id)
      return found;
  }
}

static void make_places(struct picture *picture) {
  picture->place_count = 16;
  while (picture->place_count < 2 * picture->count)
    picture->place_count *= 2;
  picture->places = calloc(picture->place_count, sizeof *picture->places);
  if (!picture->places)
    fail("out of memory");
  for (size_t i = 0; i < picture->count; i++) {
    picture->things[i].waiting = 0;
    if (picture->things[i].id)
      *place_of(picture, picture->things[i].id) = i + 1;
  }
  for (size_t i = picture->count; i-- > 0;) {
    struct thing *wait = &picture->things[i];
    size_t queue = is(wait->kind, "wait") ? *place_of(picture, wait->other) : 0;
    if (wait->other && queue > 0) {
      wait->waiting = picture->things[queue - 1].waiting;
      picture->things[queue - 1].waiting = i + 1;
    }
  }
}

const struct thing *find_thing(struct picture *picture, uint64_t id) {
  if (!picture->places)
    make_places(picture);
  size_t place = id ? *place_of(picture, id) : 0;
  if (place == 0) {
    if (!picture->missing)
      picture->missing = id;
    return NULL;
  }
  const struct thing *thing = &picture->things[place - 1];
  return is(thing->kind, "absent") ? NULL : thing;
}

/// Of what a pending operation waits for, the first of a sort. NULL if none of
/// these is there any more.
static const struct thing *first_of(struct picture *picture,
                                    const struct thing *operation,
                                    const char *kind, bool is_leader) {
  const struct thing *end = picture->things + picture->count, *found = NULL;
  for (const struct thing *next = operation + 1;
       !found && next < end && next->operation == operation->id; next++)
    if (is(next->kind, kind) && next->is_leader == is_leader)
      found = find_thing(picture, next->other);
  return found;
}

/// What it has joined, or else whose name it waits for, or what it comes after.
static const struct thing *earlier(struct picture *picture,
                                   const struct thing *operation) {
  const struct thing *found = first_of(picture, operation, "after", true);
  if (!found)
    found = first_of(picture, operation, "name", false);
  return found ? found : first_of(picture, operation, "after", false);
}

/// A wait inside a running operation. NULL if there is none, or if it is not
/// known in which operation of the queue a task is.
static const struct thing *wait_inside(struct picture *picture,
                                       const struct thing *operation) {
  const struct thing *queue = find_thing(picture, operation->queue);
  bool is_called = is(operation->cause, "call");
  for (size_t next = queue ? queue->waiting : 0; next > 0;) {
    const struct thing *wait = &picture->things[next - 1];
    next = wait->waiting;
    if (wait->id ? wait->address == operation->address ||
                       (is_called && wait->address == 0)
                 : queue->running == 1)
      return wait;
  }
  return NULL;
}

/// What a wait is for: of a queue, the operation that keeps it, if one does, or
/// runs there longest.
static const struct thing *awaited(struct picture *picture,
                                   const struct thing *wait) {
  if (wait->operation)
    return find_thing(picture, wait->operation);
  const struct thing *queue = find_thing(picture, wait->queue);
  if (!queue || queue->predicate)
    return queue;
  if (queue->keeper)
    return find_thing(picture, queue->keeper);
  const struct thing *end = picture->things + picture->count, *oldest = queue;
  for (const struct thing *next = queue + 1;
       next < end && next->queue == queue->id; next++)
    if (is(next->kind, "operation") && is(next->state, "running") &&
        !next->is_hidden)
      oldest = next;
  return oldest;
}

void write_text(const char *text, FILE *file) {
  while (*text) {
    int length = inturn_system_character(text);
    if (length == 0)
      fputs("\xef\xbf\xbd", file); // U+FFFD
    else if (inturn_system_is_control(text))
      putc(' ', file);
    else
      fwrite(text, 1, (size_t)length, file);
    text += length ? length : 1;
  }
}

static void write_label(const char *label, FILE *file) {
  putc('"', file);
  write_text(label, file);
  putc('"', file);
}

/// The operation's line, unless its label ends with it, as in Swift.
static void write_place(const struct thing *thing, FILE *file) {
  char place[600];
  snprintf(place, sizeof place, "%s:%u", thing->file, thing->line);
  size_t length = strlen(place), room = strlen(thing->label);
  if (room >= length && strcmp(thing->label + room - length, place) == 0)
    return;
  fputs(" (", file);
  write_text(place, file);
  putc(')', file);
}

void write_thing(struct picture *picture, const struct thing *thing,
                 FILE *file) {
  const struct thing *queue = thing;
  if (thing->queue) {
    if (thing->label[0])
      write_label(thing->label, file);
    else
      fputs("an operation", file);
    if (thing->file)
      write_place(thing, file);
    fputs(" of ", file);
    queue = find_thing(picture, thing->queue);
  }
  if (!queue || !queue->label[0]) {
    fputs("an unnamed queue", file);
  } else {
    fputs("queue ", file);
    write_label(queue->label, file);
  }
}

/// Whether the chain has come from what this operation's work waits for.
static bool is_passed(const struct chain *chain, const struct thing *running) {
  for (int i = 0; i < chain->passed_count; i++)
    if (chain->passed[i] == running)
      return true;
  return false;
}

/// The operation that keeps a queue. One whose work waits for what the chain
/// has come from only if no other one runs.
static const struct thing *keeper(struct picture *picture,
                                  const struct chain *chain,
                                  const struct thing *queue) {
  const struct thing *found = find_thing(picture, queue->keeper);
  if (!found || !is_passed(chain, found))
    return found;
  for (size_t i = 0; i < picture->count; i++) {
    const struct thing *other = &picture->things[i];
    if (other->queue == queue->id && is(other->state, "running") &&
        !is_passed(chain, other))
      return other;
  }
  return found;
}

static const char *const ring = "they wait for each other";
static const char *const nothing = "nothing keeps it";

/// Follows the chain. Returns the last link's predicate; NULL if it only waits
/// for others.
static const char *follow(struct picture *picture, struct chain *chain,
                          const struct thing *first) {
  const struct thing *next = first;
  const char *predicate = NULL;
  for (int step = 0; next && !predicate && step < STEPS; step++) {
    add_link(chain, next);
    predicate = next->predicate;
    const struct thing *link = next;
    next = NULL;
    const struct thing *wait =
        is(link->state, "running") ? wait_inside(picture, link) : NULL;
    if (is_passed(chain, link)) {
      predicate = ring;
    } else if (wait && (next = awaited(picture, wait))) {
      chain->waits[(chain->length < LINKS ? chain->length : LINKS) - 1] = wait;
      chain->passed[chain->passed_count++] = link;
      predicate = NULL;
    } else if (predicate) {
    } else if (!link->queue) {
      next = find_thing(picture, link->keeper);
      predicate = next ? NULL : nothing;
    } else if (is(link->cause, "turn")) {
      const struct thing *queue = find_thing(picture, link->queue);
      if (queue && queue->keeper == link->id)
        predicate = nothing;
      else if (queue && queue->predicate)
        next = queue;
      else
        next = queue ? keeper(picture, chain, queue) : NULL;
      if (!next)
        predicate = nothing;
    } else {
      next = earlier(picture, link);
      if (!next && is(link->cause, "after") && link->batch)
        next = find_thing(picture, read_earlier(picture, link));
      const struct thing *queue = find_thing(picture, link->queue);
      if (!next && is(link->cause, "after") && link->batch) {
        if (queue && queue->predicate)
          next = queue;
        else
          predicate = "it waits for others of its batch";
      }
    }
  }
  return predicate;
}

static void write_predicate(struct picture *picture, const struct thing *last,
                            const char *predicate, FILE *file) {
  char time[24];
  bool is_running = predicate && predicate != ring;
  const char *thread = is_running && last->thread ? last->thread : "";
  bool is_timed = is_running && last->is_timed && last->started_ns > 0;
  if (is_timed || *thread)
    fputs("running", file);
  if (is_timed && picture->now_ns > last->started_ns) {
    write_time(picture->now_ns - last->started_ns, time, sizeof time);
    fprintf(file, " for %s", time);
  }
  write_text(thread, file);
  if (is_timed || *thread)
    fputs(", ", file);
  write_text(predicate ? predicate : nothing, file);
  putc('.', file);
}

bool write_reason(struct picture *picture, uint64_t id, FILE *file) {
  const struct thing *first = find_thing(picture, id);
  bool is_queue = first && is(first->kind, "queue") &&
                  (first->pending > 0 || first->predicate || first->keeper);
  if (!is_queue &&
      (!first || first->is_hidden || !is(first->kind, "operation")))
    return false;
  // It is told of a queue by what keeps it, if that is an operation.
  if (is_queue && !first->predicate && first->keeper) {
    first = find_thing(picture, first->keeper);
    is_queue = false;
    if (!first)
      return false;
  }
  struct chain chain = {.queue = is_queue ? first->id : first->queue};
  const char *predicate = follow(picture, &chain, first);
  int count = chain.length < LINKS ? chain.length : LINKS;
  for (int i = 0; i < count; i++) {
    if (i > 0)
      fputs(" waits", file);
    if (i > 0 && chain.waits[i - 1] && chain.waits[i - 1]->file)
      write_place(chain.waits[i - 1], file);
    if (i > 0 && i == count - 1 && chain.length > LINKS)
      fprintf(file, ", by way of %d more,", chain.length - LINKS);
    if (i > 0)
      fputs(" for ", file);
    write_thing(picture, chain.links[i], file);
  }
  fputs(": ", file);
  write_predicate(picture, chain.links[count - 1], predicate, file);
  const struct thing *queue =
      is_queue ? first : find_thing(picture, first->queue);
  uint64_t waiting = queue ? queue->pending : 0;
  // Without those that the chain names.
  waiting -= waiting < chain.named ? waiting : chain.named;
  if (waiting > 0)
    fprintf(file, " %" PRIu64 "%s %s in %s.", waiting, count > 1 ? " more" : "",
            waiting == 1 ? "waits" : "wait", is_queue ? "it" : "its queue");
  putc('\n', file);
  return true;
}
