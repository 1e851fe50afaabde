// The objects in a process, as read from its memory.
#ifndef INTURN_PICTURE_H
#define INTURN_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

// Memory of another process

/// Where memory is read from. `copy` has pages that have been read.
struct memory {
  pid_t process, thread; // the one by which it is read, while that lives
  int requests, answers; // to and from a debugger, if not -1
  struct page *copy;
  uint32_t moment; // Pages that were read at another one are read again.
};

/// Reads from an address, by pages, each once until they are forgotten: what
/// comes of two of them may not be of the same moment. False if it cannot be
/// read.
bool read_memory(struct memory *memory, uint64_t address, void *bytes,
                 size_t size);

/// Has pages read again from now on.
void forget_pages(struct memory *memory);

/// Reads what is there now.
bool read_fresh(struct memory *memory, uint64_t address, void *bytes,
                size_t size);

/// Reads a text up to its zero, cut at the end of a character if it is too
/// long. False, and the text is empty, if it cannot be read.
bool read_text(struct memory *memory, uint64_t address, char *text,
               size_t room);

/// Finds the mark of a process's library, or of a further copy that it uses,
/// and counts these; if forbidden, `errno` says why.
enum finding { FOUND, NO_LIBRARY, FORBIDDEN };
enum finding find_mark(struct memory *memory, unsigned copy,
                       uint64_t *out_address, unsigned *out_copies);

// The picture

/// The fields of an `inturn_entry`, as far as they are read. Missing texts are
/// NULL, and missing numbers zero.
struct thing {
  const char *kind, *queue_kind, *state, *cause;
  bool is_cancelled, is_closed, is_waited_for, is_barrier, is_urgent, is_manual,
      is_pool, is_main;
  int32_t priority;
  uint32_t attempts, suspends;
  uint64_t id, queue, operation, other, batch, owner, executor, clock, token;
  uint64_t count, pending, running, ended;
  int64_t enqueued_ns, started_ns, at_ns;
  // Of an operation that has a slot; of a wait: of the operation whose work
  // waits, 0 for the one that is called just now, or NOT_IN_WORK.
  uint64_t address;
  const char *file;
  uint32_t line;
  char label[64];
  // For `inturn why`: what a message says about it; NULL if other things
  // explain it.
  char *predicate;
  uint64_t keeper; // the operation that blocks a queue
  size_t waiting;  // of a queue or a wait: one more than the index of the next
                   // wait inside work of that queue, or 0
  bool is_timed;   // the message says for how long it has been running
  char *thread;    // on which thread it is in its call; NULL if on none
  bool is_hidden;  // it has ended, and only blocks others
  bool is_leader;  // what an operation comes after is what it has joined
};

enum { NOT_IN_WORK = 1 };

struct picture {
  struct memory *memory; // that it was read from, with the mark there
  uint64_t mark;
  struct thing *things; // what follows belongs to it, as in a dump
  size_t count, room;
  int64_t now_ns; // 0 if unknown
  // How many are read of each list of pending operations; others are missing.
  uint64_t most;
  uint64_t missing; // the first operation that was looked for and is not there
  // Where threads of pools sleep when they have nothing to do.
  uint64_t *parkers;
  size_t parker_count, parker_room;
  // A hash table of the things by id; NULL until it is first needed.
  size_t *places;
  size_t place_count;
};

/// Reads the engine whose mark is at an address. False if its layout is a
/// different one: `fault` says why, in a sentence.
bool read_picture(struct memory *memory, uint64_t mark, struct picture *picture,
                  char fault[256]);

/// The operation of the same batch that a pending one comes after, as it is
/// now. 0 if none is found.
uint64_t read_earlier(struct picture *picture, const struct thing *thing);

/// Whether a handle is an operation's.
bool is_of_operation(uint64_t id);

/// Adds the operation with this id, or that it is not there any more.
void read_operation(struct picture *picture, uint64_t id);

void free_picture(struct picture *picture);

/// Reads a process's engine. The picture and the memory stay the program's.
/// Fails if it cannot be read.
struct picture *read_process(pid_t process, struct memory **out_memory);

/// The thing with this id. NULL if there is none.
const struct thing *find_thing(struct picture *picture, uint64_t id);

/// Whether a running operation still waits for its token.
bool waits_for_token(struct memory *memory, const struct thing *thing);

/// Writes the name of an operation or a queue, as in a message.
void write_thing(struct picture *picture, const struct thing *thing,
                 FILE *file);

/// Writes the picture as text, json, dot or html. False for any other format.
bool write_picture(const struct picture *picture, const char *format,
                   FILE *file);

/// Writes what blocks the operation with this id. False if there is none.
bool write_reason(struct picture *picture, uint64_t id, FILE *file);

#endif
