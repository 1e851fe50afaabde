// Writes a picture in the formats of `inturn_dump`.
#include <inttypes.h>
#include <string.h>

#include "CInturnSystem.h"
#include "picture.h"

static void write_escaped(const char *text, bool is_for_script, FILE *file) {
  while (*text) {
    int length = inturn_system_character(text);
    bool is_control = inturn_system_is_control(text);
    if (length == 0) {
      fputs("\xef\xbf\xbd", file); // U+FFFD
      length = 1;
    } else if (is_control && !is_for_script) {
      putc(' ', file);
    } else if (is_for_script && (is_control || *text == '<')) {
      // The last byte of those that have two is the character's number.
      fprintf(file, "\\u%04x", (unsigned char)text[length - 1]);
    } else {
      if (*text == '"' || *text == '\\')
        putc('\\', file);
      fwrite(text, 1, (size_t)length, file);
    }
    text += length;
  }
}

static void write_quoted(const char *text, bool is_for_script, FILE *file) {
  putc('"', file);
  write_escaped(text, is_for_script, file);
  putc('"', file);
}

/// Calls `write` with each field except the kind, the flags, the label and the
/// line. Only names have a text.
static void each_field(const struct thing *thing,
                       void (*write)(FILE *file, const char *key,
                                     const char *name, bool is_handle,
                                     int64_t number),
                       FILE *file) {
  write(file, "queue_kind", thing->queue_kind, false, 0);
  write(file, "state", thing->state, false, 0);
  write(file, "cause", thing->cause, false, 0);
  write(file, "id", NULL, true, (int64_t)thing->id);
  write(file, "count", NULL, false, (int64_t)thing->count);
  write(file, "pending", NULL, false, (int64_t)thing->pending);
  write(file, "running", NULL, false, (int64_t)thing->running);
  write(file, "ended", NULL, false, (int64_t)thing->ended);
  write(file, "suspends", NULL, false, thing->suspends);
  write(file, "priority", NULL, false, thing->priority);
  write(file, "attempts", NULL, false, thing->attempts);
  write(file, "queue", NULL, true, (int64_t)thing->queue);
  write(file, "operation", NULL, true, (int64_t)thing->operation);
  write(file, "other", NULL, true, (int64_t)thing->other);
  write(file, "batch", NULL, true, (int64_t)thing->batch);
  write(file, "owner", NULL, true, (int64_t)thing->owner);
  write(file, "executor", NULL, true, (int64_t)thing->executor);
  write(file, "clock", NULL, true, (int64_t)thing->clock);
  write(file, "token", NULL, true, (int64_t)thing->token);
  write(file, "enqueued_ns", NULL, false, thing->enqueued_ns);
  write(file, "started_ns", NULL, false, thing->started_ns);
  write(file, "at_ns", NULL, false, thing->at_ns);
}

static void each_flag(const struct thing *thing,
                      void (*write)(FILE *file, const char *name, int number),
                      FILE *file) {
  const struct {
    bool is_set;
    const char *name;
  } flags[] = {
      {thing->is_cancelled, "cancelled"},
      {thing->is_closed, "closed"},
      {thing->is_waited_for, "waited_for"},
      {thing->is_barrier, "barrier"},
      {thing->is_urgent, "urgent"},
      {thing->is_manual, "manual"},
      {thing->is_pool, "pool"},
      {thing->is_main, "main"},
  };
  int number = 0;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (flags[i].is_set)
      write(file, flags[i].name, number++);
  if (number > 0)
    write(file, NULL, number);
}

// Text

static void write_word(FILE *file, const char *name, int number) {
  (void)number;
  if (name)
    fprintf(file, " %s", name);
}

static void write_item(FILE *file, const char *key, const char *name,
                       bool is_handle, int64_t number) {
  if (name)
    fprintf(file, " %s", name);
  else if (number && is_handle)
    fprintf(file, " %s=0x%" PRIx64, key, (uint64_t)number);
  else if (number)
    fprintf(file, " %s=%" PRId64, key, number);
}

static void write_line_of(const struct thing *thing, FILE *file) {
  if (thing->is_hidden)
    return;
  bool is_inside = thing->operation != 0 && strcmp(thing->kind, "wait") != 0;
  fprintf(file, "%s%s",
          is_inside                               ? "    "
          : strcmp(thing->kind, "operation") == 0 ? "  "
                                                  : "",
          thing->kind);
  if (thing->label[0]) {
    putc(' ', file);
    write_quoted(thing->label, false, file);
  }
  each_flag(thing, write_word, file);
  each_field(thing, write_item, file);
  if (thing->file) {
    fputs(" file=", file);
    write_quoted(thing->file, false, file);
    fprintf(file, " line=%u", thing->line);
  }
  putc('\n', file);
}

// JSON

static void write_flag(FILE *file, const char *name, int number) {
  if (name)
    fprintf(file, "%s\"%s\"", number == 0 ? ",\"flags\":[" : ",", name);
  else
    putc(']', file);
}

static void write_member(FILE *file, const char *key, const char *name,
                         bool is_handle, int64_t number) {
  if (name)
    fprintf(file, ",\"%s\":\"%s\"", key, name);
  else if (number && is_handle)
    fprintf(file, ",\"%s\":\"0x%" PRIx64 "\"", key, (uint64_t)number);
  else if (number)
    fprintf(file, ",\"%s\":%" PRId64, key, number);
}

static void write_json(const struct picture *picture, FILE *file) {
  fprintf(file, "{\"now_ns\":%" PRId64 ",\"entries\":[", picture->now_ns);
  for (size_t i = 0; i < picture->count; i++) {
    const struct thing *thing = &picture->things[i];
    if (thing->is_hidden)
      continue;
    // The first thing is a clock, which is never hidden.
    fprintf(file, "%s\n{\"kind\":\"%s\"", i > 0 ? "," : "", thing->kind);
    each_field(thing, write_member, file);
    each_flag(thing, write_flag, file);
    if (thing->label[0]) {
      fputs(",\"label\":", file);
      write_quoted(thing->label, true, file);
    }
    if (thing->file) {
      fputs(",\"file\":", file);
      write_quoted(thing->file, true, file);
      fprintf(file, ",\"line\":%u", thing->line);
    }
    putc('}', file);
  }
  fputs("\n]}\n", file);
}

// DOT

static void write_node(const struct thing *thing, const char *style,
                       FILE *file) {
  fprintf(file, "\"0x%" PRIx64 "\" [style=%s, label=\"", thing->id, style);
  if (thing->label[0]) {
    write_escaped(thing->label, false, file);
  } else if (strcmp(thing->kind, "operation") == 0 && thing->file) {
    write_escaped(thing->file, false, file);
    fprintf(file, ":%u", thing->line);
  } else {
    fprintf(file, "0x%" PRIx64, thing->id);
  }
  fprintf(file, "\", xlabel=\"%s\"];\n", thing->cause ? thing->cause : "");
}

/// Points from what waits to what it waits for.
static void write_arrow(uint64_t from, uint64_t to, const char *label,
                        FILE *file) {
  fprintf(file, "\"0x%" PRIx64 "\" -> \"0x%" PRIx64 "\"", from, to);
  if (label) {
    fputs(" [label=", file);
    write_quoted(label, false, file);
    putc(']', file);
  }
  fputs(";\n", file);
}

static void write_dot(const struct picture *picture, FILE *file) {
  fputs("digraph inturn {\n"
        "rankdir=LR; node [shape=box, fontname=\"sans-serif\"];\n",
        file);
  for (size_t i = 0; i < picture->count; i++) {
    const struct thing *thing = &picture->things[i];
    if (thing->is_hidden)
      continue;
    if (strcmp(thing->kind, "queue") == 0) {
      write_node(thing, "bold", file);
    } else if (strcmp(thing->kind, "operation") == 0 && thing->id == 0) {
      fprintf(file,
              "plain%zu [style=dashed, label=\"%" PRIu64
              " pending\"];\nplain%zu -> \"0x%" PRIx64 "\";\n",
              i, thing->count, i, thing->queue);
    } else if (strcmp(thing->kind, "operation") == 0) {
      write_node(thing, "rounded", file);
      if (strcmp(thing->state, "running") == 0)
        write_arrow(thing->queue, thing->id, NULL, file);
      else if (thing->cause && strcmp(thing->cause, "turn") == 0)
        write_arrow(thing->id, thing->queue, NULL, file);
    } else if (strcmp(thing->kind, "wait") == 0) {
      uint64_t target = thing->operation ? thing->operation : thing->queue;
      if (thing->other && target)
        write_arrow(thing->other, target, NULL, file);
    } else if (thing->other) {
      write_arrow(thing->operation, thing->other,
                  thing->label[0] ? thing->label : NULL, file);
    }
  }
  fputs("}\n", file);
}

bool write_picture(const struct picture *picture, const char *format,
                   FILE *file) {
  if (strcmp(format, "text") == 0) {
    for (size_t i = 0; i < picture->count; i++)
      write_line_of(&picture->things[i], file);
  } else if (strcmp(format, "json") == 0) {
    write_json(picture, file);
  } else if (strcmp(format, "dot") == 0) {
    write_dot(picture, file);
  } else if (strcmp(format, "html") == 0) {
    fputs(inturn_system_page_before(), file);
    write_json(picture, file);
    fputs(inturn_system_page_after(), file);
  } else {
    return false;
  }
  return true;
}
