// What there is in a process, as it was read from its memory.
#ifndef INTURN_PICTURE_H
#define INTURN_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

// Memory of another process

/// Where memory is read from. `copy` has pages of one that stands still.
struct memory {
  pid_t process;
  int requests, answers; // of a debugger instead, or -1
  struct page *copy;
};

/// Reads from an address. False: it cannot be read.
bool read_memory(struct memory *memory, uint64_t address, void *bytes,
                 size_t size);

/// Reads a text up to its zero, cut at a character's end where it is longer
/// than its room. False, and an empty one: it cannot be read.
bool read_text(struct memory *memory, uint64_t address, char *text,
               size_t room);

/// Where the mark of a process's library is; `errno` says why it is forbidden
/// to look.
enum finding { FOUND, NO_LIBRARY, FORBIDDEN };
enum finding find_mark(struct memory *memory, uint64_t *out_address);

// The picture

/// What `inturn_entry` says of a thing, as far as it is read. Texts are NULL,
/// and numbers zero, where there is none.
struct thing {
  const char *kind, *queue_kind, *state, *cause;
  bool is_cancelled, is_closed, is_waited_for, is_barrier, is_urgent, is_pool,
      is_main;
  int32_t priority;
  uint32_t attempts, suspends;
  uint64_t id, queue, operation, other, executor, token;
  uint64_t count, pending, running, ended;
  int64_t enqueued_ns, started_ns, at_ns;
  const char *file;
  uint32_t line;
  char label[64];
  // For who asks why. What a message says of it; NULL where others say it.
  char *predicate;
  uint64_t keeper; // the operation that keeps a queue
  bool is_timed;   // it says for how long it runs
  bool is_hidden;  // it has ended, and only keeps others
};

struct picture {
  struct thing *things; // an operation's after it, and those after their queue
  size_t count, room;
  int64_t now_ns; // 0: not known
  // By which things are found by their ids; NULL before one is asked for.
  size_t *places;
  size_t place_count;
};

/// Reads the engine whose mark is at an address. False, and a sentence of why
/// in `fault`, where it lies there in another way.
bool read_picture(struct memory *memory, uint64_t mark, struct picture *picture,
                  char fault[256]);

void free_picture(struct picture *picture);

/// Writes it as text, json, dot or html. False: there is no such format.
bool write_picture(const struct picture *picture, const char *format,
                   FILE *file);

/// Writes what keeps the operation of an id. False: there is none.
bool write_reason(struct picture *picture, uint64_t id, FILE *file);

#endif
