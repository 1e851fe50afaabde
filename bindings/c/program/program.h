// What the parts of the program `inturn` share. It asks other processes what
// their queues do, and has nothing of the library in it.
#ifndef INTURN_PROGRAM_H
#define INTURN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Ends the program with one line that says why.
_Noreturn void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/// Called before that line, where the terminal is not as it was.
extern void (*before_failure)(void);

/// Lists the processes that have the library. The exit status.
int list_processes(void);

/// Reads a whole file of /proc for the caller to free, with a zero after it.
/// NULL, and why in `errno`, where it cannot be read.
char *read_file(pid_t process, const char *name, size_t *out_length);

/// Has memory be read by way of a debugger, as inturn-gdb.py has called this.
/// The number that stands for its process.
pid_t use_debugger(const char *how);

/// The whole answer to a request, such as "dump text", for the caller to free:
/// from the process's memory, or by its socket where that cannot be read. NULL:
/// there is none, and why is in `why`.
char *answer_to(pid_t process, const char *request, char why[256]);

/// The name of a process's program.
void name_process(pid_t process, char *name, size_t room);

/// A line of a dump as text.
struct entry {
  char kind[12]; // such as "queue"
  char label[128];
  char words[128]; // what it is besides, such as "running token"
  char id[24];
  char site[96]; // such as "app.c:88", or empty
  uint64_t count, pending, running, ended;
  int64_t enqueued_ns, started_ns; // 0: not known
};

/// Takes the next line from a dump. False at its end.
bool next_entry(const char **dump, struct entry *entry);

/// Whether one of the entry's words is this.
bool has_word(const struct entry *entry, const char *word);

/// Copies a text, cut where it is longer than its room.
void copy_text(const char *text, char *copy, size_t room);

/// Now, of the clock that dumps tell times of. 0: nobody knows when that was.
int64_t now_ns(void);
extern bool has_no_now;

/// A time such as "12 ms" or "3.5 s".
void write_time(int64_t nanoseconds, char *text, size_t room);

/// Writes one line, cut to so many characters; 0: whole.
void write_line(const char *line, size_t width);

/// Writes what is in the queue of this name, and what keeps the first operation
/// that waits.
void write_queue(pid_t process, const char *queue, size_t width, size_t height);

/// Shows a table of a process's queues: again and again on a terminal, until it
/// is quit; else once. The exit status.
int show_top(pid_t process, double interval);

#endif
