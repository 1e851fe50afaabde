// Parses the lines of a dump.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "CInturnSystem.h"
#include "program.h"

/// How many bytes a dump has of a label.
enum { MOST_OF_LABEL = 63 };

static void copy_part(const char *text, size_t length, char *copy,
                      size_t room) {
  if (length >= room)
    length = room - 1;
  memcpy(copy, text, length);
  copy[length] = '\0';
}

/// Takes a quoted text from a line, cut to the room.
static void take_quoted(const char **line, char *text, size_t room) {
  size_t used = 0;
  const char *next = *line + 1;
  for (; *next && *next != '\n' && *next != '"'; next++) {
    if (*next == '\\' && next[1])
      next++;
    if (used + 1 < room)
      text[used++] = *next;
  }
  text[used] = '\0';
  *line = *next == '"' ? next + 1 : next;
}

static void take_value(struct entry *entry, const char *key,
                       const char *value) {
  static const struct {
    const char *key;
    size_t place;
  } numbers[] = {
      {"count", offsetof(struct entry, count)},
      {"pending", offsetof(struct entry, pending)},
      {"running", offsetof(struct entry, running)},
      {"ended", offsetof(struct entry, ended)},
      {"enqueued_ns", offsetof(struct entry, enqueued_ns)},
      {"started_ns", offsetof(struct entry, started_ns)},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(key, numbers[i].key) == 0) {
      int64_t number = strtoll(value, NULL, 10);
      memcpy((char *)entry + numbers[i].place, &number, sizeof number);
    }
  if (strcmp(key, "id") == 0)
    copy_text(value, entry->id, sizeof entry->id);
  if (strcmp(key, "line") == 0 && entry->site[0]) {
    size_t length = strlen(entry->site);
    snprintf(entry->site + length, sizeof entry->site - length, ":%s", value);
  }
}

static void take_file(struct entry *entry, const char *path) {
  const char *name = strrchr(path, '/');
  copy_text(name ? name + 1 : path, entry->site, sizeof entry->site - 12);
}

bool next_entry(const char **dump, struct entry *entry) {
  memset(entry, 0, sizeof *entry);
  const char *next = *dump + strspn(*dump, " \n");
  if (!*next)
    return false;
  for (bool is_first = true; *next && *next != '\n'; is_first = false) {
    char word[64], text[4096];
    size_t length = strcspn(next, " \n\"=");
    copy_part(next, length, word, sizeof word);
    next += length;
    if (*next == '=' && next[1] == '"') {
      next++;
      take_quoted(&next, text, sizeof text);
      take_file(entry, text);
    } else if (*next == '=') {
      length = strcspn(++next, " \n");
      copy_part(next, length, text, sizeof text);
      next += length;
      take_value(entry, word, text);
    } else if (*next == '"') {
      take_quoted(&next, entry->label, sizeof entry->label);
    } else if (is_first) {
      copy_text(word, entry->kind, sizeof entry->kind);
    } else {
      size_t used = strlen(entry->words);
      snprintf(entry->words + used, sizeof entry->words - used, "%s%s",
               used ? " " : "", word);
    }
    next += strspn(next, " ");
  }
  *dump = next;
  return true;
}

bool has_word(const struct entry *entry, const char *word) {
  size_t length = strlen(word);
  for (const char *next = entry->words; *next;
       next += strcspn(next, " "), next += strspn(next, " "))
    if (strcspn(next, " ") == length && strncmp(next, word, length) == 0)
      return true;
  return false;
}

static bool is_blank(const char *text) {
  return *text == ' ' || inturn_system_is_control(text);
}

static size_t length_of(const char *text) {
  int length = inturn_system_character(text);
  return length ? (size_t)length : 1;
}

bool is_label(const char *text, const char *label) {
  size_t used = 0;
  while (*text && *label) {
    size_t length = length_of(text), other = length_of(label);
    if (is_blank(text) != is_blank(label) ||
        (!is_blank(text) && strncmp(text, label, length) != 0))
      return false;
    used += length;
    text += length;
    label += other;
  }
  // No more of it has room in a dump.
  return !*label && (!*text || used + length_of(text) > MOST_OF_LABEL);
}

void copy_text(const char *text, char *copy, size_t room) {
  copy_part(text, strnlen(text, room), copy, room);
}

bool has_no_now;

int64_t now_ns(void) {
  if (has_no_now)
    return 0;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void write_time(int64_t nanoseconds, char *text, size_t room) {
  double seconds = (double)nanoseconds / 1e9;
  if (nanoseconds < 1000000000)
    snprintf(text, room, "%d ms", (int)(nanoseconds / 1000000));
  else if (seconds < 60)
    snprintf(text, room, "%.1f s", seconds);
  else if (seconds < 3600)
    snprintf(text, room, "%d min", (int)(seconds / 60));
  else
    snprintf(text, room, "%.1f h", seconds / 3600);
}

bool ask_about(const struct entry *entry, char id[24]) {
  bool is_queue = strcmp(entry->kind, "queue") == 0;
  bool is_pending = !is_queue && has_word(entry, "pending");
  // Plain operations that are pending have no ids; their queue answers for
  // them. So it does where none is there, as a callback may not have returned.
  bool has_others =
      is_queue ? entry->pending > 0 || entry->running == 0 : !id[0];
  if (entry->id[0] && (is_pending || has_others))
    copy_text(entry->id, id, 24);
  return is_pending;
}
