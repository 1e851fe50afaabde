// Whether somebody looks at what the process does.
#include "CInturnSystem.h"

#include <string.h>
#include <unistd.h>

#include "Internal.h"

// A debugger is there longer than what only takes a look, such as `inturn
// holders`, so it is seen twice.
bool inturn_system_is_watched(void) {
  static bool was_traced;
  static enum { UNKNOWN, NO, YES } is_unittest; // of python3 -m
  if (is_unittest == UNKNOWN)
    is_unittest = inturn_system_has_argument("unittest") ? YES : NO;
  if (is_unittest == YES || isatty(STDERR_FILENO))
    return true;
  bool is_traced = inturn_system_is_traced();
  bool is_debugged = is_traced && was_traced;
  was_traced = is_traced;
  return is_debugged;
}

bool inturn_system_is_test(void) {
  static const char *const settings[] = {"DASHBOARD_TEST_FROM_CTEST",
                                         "CTEST_INTERACTIVE_DEBUG_MODE",
                                         "MESON_TEST_ITERATION",
                                         "TEST_SRCDIR", // Bazel
                                         "PYTEST_VERSION",
                                         "PYTEST_CURRENT_TEST",
                                         "XCTestConfigurationFilePath"};
  static const char bundle[] = ".xctest";
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (inturn_system_setting(settings[i]))
      return true;
  const char *program = inturn_system_program();
  size_t length = strlen(program), end = sizeof bundle - 1;
  return (length > end && strcmp(program + length - end, bundle) == 0) ||
         strcmp(program, "swiftpm-testing-helper") == 0;
}
