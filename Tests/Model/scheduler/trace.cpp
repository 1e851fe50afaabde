#include "trace.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <execinfo.h>

namespace model {

// The running thread's call stack, innermost frame first.
static void printPlaces() {
  void *frames[40];
  int count = backtrace(frames, 40);
  for (int i = 2; i < count; i++) {
    Dl_info info;
    if (dladdr(frames[i], &info) && info.dli_fbase)
      printf(" @%lx",
             static_cast<unsigned long>(static_cast<char *>(frames[i]) -
                                        static_cast<char *>(info.dli_fbase)) -
                 1);
  }
  printf("\n");
  fflush(stdout);
}

void traceSwitch(const char *from, const char *to) {
  printf("%-16s stops for %s at", from, to);
  printPlaces();
}

void traceTime(int64_t now) {
  printf("%-16s passes: %.9f s\n", "time", double(now) / 1e9);
}

void traceNote(const char *thread, const char *text) {
  printf("%-16s %s\n", thread, text);
}

void traceFailure(const char *thread) {
  printf("%-16s notices at", thread);
  printPlaces();
}

} // namespace model
