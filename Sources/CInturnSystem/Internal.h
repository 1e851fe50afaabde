#ifndef CINTURN_SYSTEM_INTERNAL_H
#define CINTURN_SYSTEM_INTERNAL_H

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

#endif
