#include "written.hpp"

#include <utility>

extern "C" {
#include "CInturnSystem.h"
}

static std::string written;

std::string model_take_written() { return std::exchange(written, {}); }

// One thread runs at a time.
bool inturn_system_write(int, const char *bytes, uintptr_t count) {
  written.append(bytes, count);
  return true;
}
