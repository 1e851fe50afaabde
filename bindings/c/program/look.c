// Shows one queue: what is in it, and what blocks the first pending operation.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "program.h"

/// Takes a character. Returns how many columns it has on a terminal: none if it
/// combines with the one before, two if it is a wide one.
static size_t take_character(const char **text) {
  wchar_t character;
  int length = mbtowc(&character, *text, MB_CUR_MAX);
  int columns = length > 0 ? wcwidth(character) : -1;
  *text += length > 0 ? length : 1;
  while (length <= 0 && (**text & 0xc0) == 0x80)
    ++*text;
  return columns < 0 ? 1 : (size_t)columns;
}

size_t fitting(const char *text, size_t *columns) {
  const char *end = text;
  size_t taken = 0;
  for (const char *next = text; *next && *next != '\n'; end = next) {
    size_t more = take_character(&next);
    if (taken + more > *columns)
      break;
    taken += more;
  }
  *columns -= taken;
  return (size_t)(end - text);
}

size_t write_line(const char *line, size_t width) {
  size_t columns = width ? width : SIZE_MAX;
  size_t length = fitting(line, &columns);
  fwrite(line, 1, length, stdout);
  putchar('\n');
  return length;
}

/// Writes a text in as many lines as it needs, but at most `most`.
static void write_lines(const char *text, size_t width, size_t most) {
  for (; *text && *text != '\n' && most > 0; most--)
    text += write_line(text, width);
}

static void write_operation(const struct entry *entry, size_t width) {
  char line[512], since[24] = "", count[32] = "";
  int64_t from = entry->started_ns ? entry->started_ns : entry->enqueued_ns;
  if (from)
    write_time(now_ns() - from, since, sizeof since);
  if (entry->count > 1)
    snprintf(count, sizeof count, "%llu alike",
             (unsigned long long)entry->count);
  snprintf(line, sizeof line, "  %-20s %-20s %8s  %s%s", entry->words,
           entry->label[0] ? entry->label : "-", since, entry->site, count);
  write_line(line, width);
}

void write_queue(pid_t process, const char *queue, size_t width,
                 size_t height) {
  // Without the first line, and the last, where the cursor is. The last of
  // these are for why, after an empty one.
  const size_t lines = height > 2 ? height - 2 : 0;
  const size_t lines_of_why = height / 3 < lines ? height / 3 : lines;
  const size_t rows = lines - lines_of_why;
  char fault[256], line[512], id[24] = "";
  char *dump = answer_to(process, "dump text", fault);
  if (!dump)
    fail("%s", fault);
  struct entry entry;
  const char *rest = dump;
  bool is_there, is_decided = false;
  do
    is_there = next_entry(&rest, &entry);
  while (is_there &&
         !(strcmp(entry.kind, "queue") == 0 && strcmp(entry.id, queue) == 0));
  snprintf(line, sizeof line,
           is_there ? "%s: %s, %llu pending, %llu running, %llu ended   back: "
                      "any key   quit: q"
                    : "The queue is gone.   back: any key   quit: q",
           entry.label[0] ? entry.label : entry.id, entry.words,
           (unsigned long long)entry.pending, (unsigned long long)entry.running,
           (unsigned long long)entry.ended);
  if (height > 1)
    write_line(line, width);
  if (is_there)
    is_decided = ask_about(&entry, id);
  for (size_t written = 0; is_there && next_entry(&rest, &entry) &&
                           strcmp(entry.kind, "queue") != 0;) {
    if (strcmp(entry.kind, "operation") != 0)
      continue;
    if (++written < rows)
      write_operation(&entry, width);
    if (!is_decided)
      is_decided = ask_about(&entry, id);
  }
  free(dump);
  if (!id[0])
    return;
  snprintf(line, sizeof line, "why %s", id);
  char *why = answer_to(process, line, fault);
  if (why && rows > 0)
    putchar('\n');
  if (why)
    write_lines(why, width, lines_of_why);
  free(why);
}
