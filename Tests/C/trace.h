/*
 * trace.h - what programs need that read what the recorder writes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACE_H
#define TRACE_H

#include "stuck.h"

#include <stdlib.h>
#include <unistd.h>

/* All that was written to a file, as a string, which the caller frees. */
static inline char *all_of(FILE *file) {
  long size = lseek(fileno(file), 0, SEEK_END);
  char *text = calloc(1, (size_t)size + 1);
  CHECK(text != NULL);
  CHECK_INT(pread(fileno(file), text, (size_t)size, 0), size);
  return text;
}

/* What is written now, as a string, which the caller frees. */
static inline char *written(void) {
  FILE *file = tmpfile();
  CHECK(file != NULL);
  CHECK_OK(inturn_trace_write(fileno(file)));
  char *text = all_of(file);
  fclose(file);
  CHECK_INT(strncmp(text, "{\"displayTimeUnit\"", 18), 0);
  CHECK_TEXT(text + strlen(text) - 2, "}\n");
  return text;
}

static inline int count_of(const char *text, const char *part) {
  int count = 0;
  while ((text = strstr(text, part)) != NULL) {
    text += strlen(part);
    count++;
  }
  return count;
}

static inline int written_count_of(const char *part) {
  char *text = written();
  int count = count_of(text, part);
  free(text);
  return count;
}

/* The ring is that of the first start. */
static inline void begin_again(void) {
  CHECK_OK(inturn_trace_stop());
  CHECK_OK(inturn_trace_start(0));
}

#endif
