/*
 * answers.h - shared by the tests of answers to the outside.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ANSWERS_H
#define ANSWERS_H

#include "stuck.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* Redirects the standard error and returns the other end. */
static inline int read_standard_error(void) {
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  redirect_standard_error(ends[1]);
  CHECK_INT(close(ends[1]), 0);
  return ends[0];
}

/* Reads until this text has arrived. A missing thread is a refusal. */
static inline void await_text(int end, const char *expected) {
  char text[16384];
  size_t length = 0;
  do {
    struct pollfd readable = {.fd = end, .events = POLLIN};
    if (poll(&readable, 1, LIMIT_SECONDS * 1000) != 1)
      FAIL("waited %d s for \"%s\", and there is \"%.*s\"", LIMIT_SECONDS,
           expected, (int)length, text);
    ssize_t got = read(end, text + length, sizeof text - 1 - length);
    CHECK(got > 0);
    length += (size_t)got;
    text[length] = '\0';
    if (strstr(text, "no thread can be had that answers") != NULL)
      refused_at(__FILE__, __LINE__, "the thread that answers");
  } while (strstr(text, expected) == NULL);
}

/* Like is_alone. The variable's value is `before` and the path of `name` in a
   folder, which must be empty at the end. */
static inline bool is_alone_in_folder(const char *test, const char *variable,
                                      const char *before, const char *name) {
  const char *alone = getenv("INTURN_TEST_ALONE");
  if (alone != NULL)
    return is_alone(test, variable, NULL);
  char folder[64], value[128];
  const char *temporary = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/inturn-XXXXXX",
           temporary != NULL && strlen(temporary) < 40 ? temporary : "/tmp");
  CHECK(mkdtemp(folder) != NULL);
  snprintf(value, sizeof value, "%s%s/%s", before, folder, name);
  CHECK(!is_alone(test, variable, value));
  CHECK_INT(rmdir(folder), 0);
  return false;
}

/* The path in an environment variable, with a process's number for its %p. */
static inline void path_of_answers(const char *variable, pid_t process,
                                   char *path, size_t room) {
  const char *value = strchr(getenv(variable), '/');
  const char *number = strstr(value, "%p");
  if (number == NULL)
    snprintf(path, room, "%s", value);
  else
    snprintf(path, room, "%.*s%d%s", (int)(number - value), value, (int)process,
             number + 2);
}

/* Like PROGRAM, but nothing uses the library before a test does. */
#define PROGRAM_OF_ANSWERS(program_name, ...)                                  \
  int main(int argc, char **argv) {                                            \
    static const test tests[] = {__VA_ARGS__};                                 \
    const program all = {#program_name, tests, sizeof tests / sizeof *tests,   \
                         NULL, NULL};                                          \
    return run_tests(&all, argc, argv);                                        \
  }

#endif
