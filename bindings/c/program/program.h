// Shared by the parts of the program `inturn`. It asks other processes what
// their queues do, and contains nothing of the library.
#ifndef INTURN_PROGRAM_H
#define INTURN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/// Ends the program with one line that says why.
_Noreturn void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/// An array with room for one element more, which is `size` bytes: the same, or
/// a copy with twice the room. Fails if there is no memory.
void *with_room(void *array, size_t count, size_t *room, size_t size);

/// If set, called before that line, to restore the terminal.
extern void (*before_failure)(void);

/// Lists the processes that have the library. Returns the exit status.
int list_processes(void);

/// Reads a whole file of /proc, and adds a zero; the caller frees it. NULL if
/// it cannot be read: `errno` says why.
char *read_file(pid_t process, const char *name, size_t *out_length);

/// The thread that stands for a process whose memory, maps or environment are
/// asked for. Those of the one that it began with are gone once that has ended,
/// though the process goes on.
pid_t living_thread(pid_t process);

/// As `read_file`, by a thread that is alive: for files that are empty, or
/// cannot be read, by one that has ended.
char *read_living(pid_t process, const char *name, size_t *out_length);

/// Reads memory by way of a debugger from now on, as inturn-gdb.py asks.
/// Returns the number that stands for its process.
pid_t use_debugger(const char *how);

/// From now on, the process's copy of the library that has this number is read.
void read_copy(unsigned number);

/// From now on, only the first ones are read of each list of pending
/// operations, and of the others those that an answer is about; or again all.
void read_first_ones(bool only_these);

/// Fails if the process is gone, or has not loaded the library.
void fail_without_library(pid_t process);

/// What the process itself answers. NULL if it refuses: `why` is what it has
/// said. Fails if it does not answer; `fault` is why it cannot be read either.
char *answer_by_socket(pid_t process, const char *request, const char *fault,
                       char why[256]);

/// The whole answer to a request, such as "dump text", for the caller to free:
/// from the process's memory, or by its socket if the memory cannot be read.
/// NULL if there is none: `why` says why.
char *answer_to(pid_t process, const char *request, char why[256]);

/// The name of a process's program.
void name_process(pid_t process, char *name, size_t room);

/// A line of a dump as text.
struct entry {
  char kind[12]; // such as "queue"
  char label[128];
  char words[128]; // the other words, such as "running token"
  char id[24];
  char site[96]; // such as "app.c:88", or empty
  uint64_t count, pending, running, ended;
  int64_t enqueued_ns, started_ns; // 0 if unknown
};

/// Takes the next line of a dump. False at its end.
bool next_entry(const char **dump, struct entry *entry);

/// Takes the entry as what to ask about when asking why its queue stands still,
/// if it says more than what was taken before. True if none after it can say
/// more.
bool ask_about(const struct entry *entry, char id[24]);

/// Whether the entry has this word.
bool has_word(const struct entry *entry, const char *word);

/// Copies a text, cut to the room.
void copy_text(const char *text, char *copy, size_t room);

/// The present time by the clock of the dumps' times. 0 if it is not known when
/// the picture was taken.
int64_t now_ns(void);
extern bool has_no_now;

/// A time such as "12 ms" or "3.5 s".
void write_time(int64_t nanoseconds, char *text, size_t room);

/// Whether a text is this label: as it was given, or as it is shown, which is
/// cut and has spaces for control characters.
bool is_label(const char *text, const char *label);

/// Writes a text without control characters.
void write_text(const char *text, FILE *file);

/// How many bytes of a text fit into so many columns of a terminal, which are
/// then those that are left.
size_t fitting(const char *text, size_t *columns);

/// Writes one line, cut to `width` columns; 0 means uncut. Returns how many
/// bytes of it are written.
size_t write_line(const char *line, size_t width);

/// Writes what is in the queue with this name, and what blocks its first
/// pending operation.
void write_queue(pid_t process, const char *queue, size_t width, size_t height);

/// Whether a text is an operation's id, as a dump has it.
bool is_id(const char *text);

/// A stopped thread, and the contents of its registers.
struct thread {
  pid_t id;
  char name[16];
  uint64_t stack;     // the stack pointer
  uint64_t locals;    // where its thread-local data are, on its own stack
  uint64_t sleeps_at; // the word, if it is in such a call of the system
  bool is_in_call;    // of the system
  int signal;         // that it gets once it is let go of; 0 if none
  size_t register_size;
  unsigned char registers[1024];
};

struct threads {
  struct thread *all;
  size_t count, room;
  bool has_unread; // some registers could not be read
};

/// Stops all threads of a process, or fails. They continue when they are let go
/// of, or when this program ends. No signal is lost, but a few calls of the
/// system, such as epoll_wait, end with EINTR, as after SIGCONT.
void stop_threads(pid_t process, struct threads *threads);
void let_threads_go(struct threads *threads);

/// Shows where copies are of the tokens that operations wait for: of the one
/// with this id, of those with this label, or of all. The process is stopped
/// while its memory is searched. Returns the exit status.
int show_holders(pid_t process, const char *what);

/// Shows a table of a process's queues: on a terminal, again and again until
/// the user quits; else once. Returns the exit status.
int show_top(pid_t process, double interval);

#endif
