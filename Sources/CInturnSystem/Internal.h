#ifndef CINTURN_SYSTEM_INTERNAL_H
#define CINTURN_SYSTEM_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>
#include <time.h>

/// Monotonic; stands still while the machine sleeps.
#ifdef __APPLE__
#define INTURN_SYSTEM_CLOCK CLOCK_UPTIME_RAW
#else
#define INTURN_SYSTEM_CLOCK CLOCK_MONOTONIC
#endif

/// Names the calling thread for debuggers.
void inturn_system_name_thread(const char *name);

/// Calls `write`, which may write to what nobody can read any more, or to a
/// file without room: that ends no process, on whatever thread it is, as the
/// signals that it raises are taken.
void inturn_system_write_without_signals(void (*write)(void *), void *context);

/// How long the calling thread waits for room where a descriptor does not. 0:
/// for as long as it takes.
extern _Thread_local int inturn_system_most_wait_ms
    __attribute__((visibility("hidden")));

/// The beginning of a file, as a string; empty if it cannot be read. Returns
/// its length.
size_t inturn_system_read_file(const char *path, char *text, size_t room);

/// Whether a debugger follows the calling thread.
bool inturn_system_is_traced(void);

/// The program's name, without its folder.
const char *inturn_system_program(void);

/// Whether one of the first arguments of the program is this.
bool inturn_system_has_argument(const char *argument);

/// Keeps the library that contains this code loaded for the rest of the
/// process: its threads and exit handlers refer to it.
void inturn_system_stay_loaded(void);

/// A setting in the environment; NULL if unset, or if the program has
/// privileges that whoever set the environment may not have.
const char *inturn_system_setting(const char *name);

/// A non-blocking Unix socket that exec closes, or -1.
int inturn_system_socket(void);

/// The same, bound to the path and listening, for this user only. -1, with the
/// reason in `errno`, on failure.
int inturn_system_listen(const struct sockaddr_un *address);

/// Accepts the next client of such a socket, or -1. The client's socket is
/// blocking, and exec closes it.
int inturn_system_accept(int listener);

/// Which file is at a path, without following a link. False when there is none.
struct inturn_system_file {
  uint64_t device, number;
  bool is_socket, is_regular;
  unsigned owner; // the user's number
};
bool inturn_system_find_file(const char *path, struct inturn_system_file *file);

/// Called when the library is loaded, and in a forked child, which then closes
/// its copies of its parent's descriptors.
void inturn_system_answers_load(void);
void inturn_system_answers_forked(void);

#endif
