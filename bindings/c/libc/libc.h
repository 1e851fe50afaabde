/* What the engine uses of the C library, for builds without the toolchain's own
   modules of it. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
