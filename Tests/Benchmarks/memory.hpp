/* How much memory this process has, by two counts that see different things:
   the kernel's private dirty pages include everything, in whole pages; malloc's
   bytes in use are exact, but exclude memory from mmap. */
#pragma once

#include "bench.hpp"

#include <malloc.h>

namespace bench {

struct Memory {
  double resident;
  double allocated;

  static Memory now() {
    auto *file = std::fopen("/proc/self/smaps_rollup", "r");
    require(file != nullptr, "the kernel has /proc/self/smaps_rollup");
    char line[256];
    long kilobytes = -1;
    while (kilobytes < 0 && std::fgets(line, sizeof line, file))
      std::sscanf(line, "Private_Dirty: %ld", &kilobytes);
    std::fclose(file);
    require(kilobytes >= 0, "smaps_rollup has a line Private_Dirty");
    auto info = mallinfo2();
    return {kilobytes * 1024.0,
            static_cast<double>(info.uordblks + info.hblkhd)};
  }

  /* Prints what has been added since, per object for `count` objects. */
  void print_growth(const Arguments &arguments, std::size_t count) const {
    auto after = now();
    arguments.print("resident_bytes", (after.resident - resident) / count);
    arguments.print("malloc_bytes", (after.allocated - allocated) / count);
  }
};

} // namespace bench
