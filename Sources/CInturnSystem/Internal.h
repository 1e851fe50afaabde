#ifndef CINTURN_SYSTEM_INTERNAL_H
#define CINTURN_SYSTEM_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>
#include <time.h>

/// Monotonic, standing still while the machine sleeps.
#ifdef __APPLE__
#define INTURN_SYSTEM_CLOCK CLOCK_UPTIME_RAW
#else
#define INTURN_SYSTEM_CLOCK CLOCK_MONOTONIC
#endif

/// Names the calling thread for debuggers.
void inturn_system_name_thread(const char *name);

/// Keeps the library that holds this code loaded for the rest of the process:
/// its threads and what it has registered at exit refer to it.
void inturn_system_stay_loaded(void);

/// What the environment says under a name; NULL where the program has rights
/// that whoever has set that does not have.
const char *inturn_system_setting(const char *name);

/// A Unix socket that never waits and is closed by exec, or -1.
int inturn_system_socket(void);

/// The same, which is bound to the path and listens, for this user alone. -1,
/// and why in `errno`, where there is none.
int inturn_system_listen(const struct sockaddr_un *address);

/// The next client of such a socket, closed by exec, or -1; it waits for what
/// the client is to send or take.
int inturn_system_accept(int listener);

/// Which file is at a path, not following a link. False: none.
struct inturn_system_file {
  uint64_t device, number;
  bool is_socket;
};
bool inturn_system_find_file(const char *path, struct inturn_system_file *file);

/// When the library is loaded; in a forked child, which has none of its
/// parent's descriptors then.
void inturn_system_answers_load(void);
void inturn_system_answers_forked(void);

#endif
