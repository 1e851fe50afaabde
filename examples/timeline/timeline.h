/*
 * timeline.h - draws what happened to operations, as text and as a picture.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "look.h"

#include <inturn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMELINE_ROWS = 8 };

/* An operation; times are nanoseconds, 0 for not yet. */
typedef struct timeline_row {
  char label[24];
  int64_t asked_ns, begun_ns, ended_ns;
  inturn_outcome outcome;
} timeline_row;

typedef struct timeline {
  timeline_row rows[TIMELINE_ROWS];
  int count;
  int64_t now_ns; /* the right end */
} timeline;

enum { TIMELINE_COLUMNS = 36, TIMELINE_LEFT = 140, TIMELINE_WIDTH = 860 };

static inline const char *timeline_state(const timeline_row *row) {
  static const char *const outcomes[] = {"",          "finished",  "failed",
                                         "cancelled", "timed out", "abandoned"};
  return row->ended_ns   ? outcomes[row->outcome]
         : row->begun_ns ? "shown"
                         : "waiting";
}

/* The place of a time, in `units` from left to right. */
static inline double timeline_place(const timeline *self, int64_t time,
                                    double units) {
  int64_t start = self->rows[0].asked_ns, length = self->now_ns - start;
  return length <= 0 ? 0 : (double)(time - start) * units / (double)length;
}

/* Writes a line without its end: the label, a bar of waiting and shown, the
   state. Bars are drawn with `marks`: nothing, waiting, shown; coloured, if at
   all, with `paint`: waiting, shown, finished, not finished, none. */
static inline void timeline_text(FILE *file, const timeline *self, int index,
                                 const char *const marks[3],
                                 const char *const paint[5]) {
  const timeline_row *row = &self->rows[index];
  int64_t end = row->ended_ns ? row->ended_ns : self->now_ns;
  int64_t begun = row->begun_ns ? row->begun_ns : end;
  int from = (int)timeline_place(self, row->asked_ns, TIMELINE_COLUMNS);
  int shown = (int)timeline_place(self, begun, TIMELINE_COLUMNS);
  int until = (int)timeline_place(self, end, TIMELINE_COLUMNS);
  const char *last = !row->ended_ns ? paint[row->begun_ns ? 1 : 0]
                     : row->outcome == INTURN_FINISHED ? paint[2]
                                                       : paint[3];
  if (row->begun_ns && shown >= TIMELINE_COLUMNS)
    shown = TIMELINE_COLUMNS - 1;
  if (row->begun_ns && until <= shown)
    until = shown + 1; /* even the shortest is visible */
  fprintf(file, "  %-16s", row->label);
  for (int column = 0; column < TIMELINE_COLUMNS; column++) {
    int part = column < from || column >= until ? 0 : column < shown ? 1 : 2;
    fprintf(file, "%s%s%s",
            part == 0   ? ""
            : part == 1 ? paint[0]
                        : last,
            marks[part], part == 0 ? "" : paint[4]);
  }
  fprintf(file, "  %s%s%s", last, timeline_state(row), paint[4]);
}

static inline void timeline_svg_bar(FILE *file, const timeline *self,
                                    const char *look, int64_t begin,
                                    int64_t end, int y) {
  enum { ROOM = TIMELINE_WIDTH - TIMELINE_LEFT - 150 };
  double x = timeline_place(self, begin, ROOM);
  double width = timeline_place(self, end, ROOM) - x;
  fprintf(file,
          "<rect %s x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"20\" "
          "rx=\"3\"/>\n",
          look, TIMELINE_LEFT + x, y, width < 2 ? 2 : width);
}

/* The labels are our own: they contain nothing that SVG would interpret. */
static inline void timeline_svg(FILE *file, const timeline *self,
                                const char *title) {
  int height = 46 + self->count * 34 + 34;
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
          "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" " LOOK_FONT ">\n"
          "<title>%s</title>\n<style>" LOOK_STYLE "</style>\n"
          "<rect " LOOK_paper " x=\"0.5\" y=\"0.5\" rx=\"6\" width=\"%d\" "
          "height=\"%d\"/>\n<text " LOOK_title " x=\"20\" y=\"28\">%s</text>\n",
          TIMELINE_WIDTH, height, TIMELINE_WIDTH, height, title,
          TIMELINE_WIDTH - 1, height - 1, title);
  for (int index = 0; index < self->count; index++) {
    const timeline_row *row = &self->rows[index];
    int64_t end = row->ended_ns ? row->ended_ns : self->now_ns;
    int64_t begun = row->begun_ns ? row->begun_ns : end;
    int y = 46 + index * 34;
    fprintf(file, "<text " LOOK_plain " x=\"20\" y=\"%d\">%s</text>\n", y + 15,
            row->label);
    if (begun > row->asked_ns)
      timeline_svg_bar(file, self, LOOK_waits, row->asked_ns, begun, y);
    if (row->begun_ns)
      timeline_svg_bar(file, self,
                       row->outcome == INTURN_FINISHED ? LOOK_photo3
                                                       : LOOK_photo2,
                       begun, end, y);
    fprintf(file, "<text " LOOK_plain " x=\"%d\" y=\"%d\">%s</text>\n",
            TIMELINE_WIDTH - 140, y + 15, timeline_state(row));
  }
  fprintf(file,
          "<text " LOOK_quiet " x=\"%d\" y=\"%d\">0 s</text>\n<text " LOOK_quiet
          " x=\"%d\" y=\"%d\" text-anchor=\"end\">%.1f s</text>\n</svg>\n",
          TIMELINE_LEFT, height - 14, TIMELINE_WIDTH - 150, height - 14,
          (double)(self->now_ns - self->rows[0].asked_ns) / 1e9);
}

/* Saves the picture in a new folder, and returns its path. */
static inline bool timeline_save(const timeline *self, const char *title,
                                 char *path, size_t room) {
  const char *folder = getenv("TMPDIR");
  FILE *file;
  snprintf(path, room, "%s/inturn-XXXXXX", folder && *folder ? folder : "/tmp");
  if (mkdtemp(path) == NULL)
    return false;
  strncat(path, "/timeline.svg", room - strlen(path) - 1);
  file = fopen(path, "w");
  if (file == NULL)
    return false;
  timeline_svg(file, self, title);
  return fclose(file) == 0;
}

#endif
