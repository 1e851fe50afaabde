/*
 * snapshot.h - a snapshot's entries, for its tests.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "stuck.h"

#include <stdlib.h>

/* The entries of a snapshot, copied. */
typedef struct seen {
  inturn_entry *entries;
  size_t count, room;
} seen;

static inline bool take_entry(void *into, const inturn_entry *entry) {
  seen *seen = into;
  CHECK_INT(entry->size, sizeof *entry);
  CHECK(entry->kind >= INTURN_ENTRY_EXECUTOR &&
        entry->kind <= INTURN_ENTRY_NAME);
  CHECK(memchr(entry->label, 0, sizeof entry->label) != NULL);
  CHECK((entry->file == NULL) == (entry->line == 0));
  if (seen->count == seen->room) {
    seen->room = 2 * seen->room + 64;
    seen->entries = realloc(seen->entries, seen->room * sizeof *entry);
    CHECK(seen->entries != NULL);
  }
  seen->entries[seen->count++] = *entry;
  return true;
}

static inline seen look(void) {
  seen seen = {NULL, 0, 0};
  CHECK_OK(inturn_snapshot(take_entry, &seen));
  return seen;
}

static inline void forget(seen *seen) { free(seen->entries); }

static inline const inturn_entry *find(const seen *seen, inturn_entry_kind kind,
                                       uint64_t id) {
  const inturn_entry *found = NULL;
  for (size_t i = 0; i < seen->count; i++)
    if (seen->entries[i].kind == kind && seen->entries[i].id == id) {
      CHECK(found == NULL);
      found = &seen->entries[i];
    }
  CHECK(found != NULL);
  return found;
}

static inline const inturn_entry *operation_named(const seen *seen,
                                                  const char *label) {
  const inturn_entry *found = NULL;
  for (size_t i = 0; i < seen->count; i++)
    if (seen->entries[i].kind == INTURN_ENTRY_OPERATION &&
        strcmp(seen->entries[i].label, label) == 0) {
      CHECK(found == NULL);
      found = &seen->entries[i];
    }
  CHECK(found != NULL);
  return found;
}

/* Takes snapshots until an operation has this cause. */
static inline seen look_until(const char *label, inturn_stall_cause cause) {
  seen seen = look();
  while (operation_named(&seen, label)->cause != cause) {
    forget(&seen);
    seen = look();
  }
  return seen;
}

static inline size_t count_of(const seen *seen, inturn_entry_kind kind,
                              uint64_t queue) {
  size_t count = 0;
  for (size_t i = 0; i < seen->count; i++)
    count += seen->entries[i].kind == kind && seen->entries[i].queue == queue;
  return count;
}

static inline inturn_operation enqueue(inturn_queue queue,
                                       inturn_operation_options options) {
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

static inline void release(inturn_operation operation) {
  CHECK_OK(inturn_operation_release(operation));
}

#endif
