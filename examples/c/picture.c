/*
 * picture.c - the events of a queue, drawn as they come.
 *
 * The upper lines of the terminal are the picture's; the others scroll, so that
 * the program's output is the same as in a pipe.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "picture.h"

#include "../timeline/timeline.h"
#include "check.h"
#include "screen.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { LINES = 7, INTERVAL_NS = 50000000 };

static const char *const ascii[] = {" ", ".", "#"};
static const char *const blocks[] = {" ", "·", "█"};
static const char *const plain[] = {"", "", "", "", ""};
static const char *const colours[] = {"\033[2m", "\033[1;36m", "\033[32m",
                                      "\033[33m", "\033[0m"};
static const char *const *marks = ascii, *const *paint = plain;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects these */
static timeline seen;
static bool is_open;
static pthread_t drawer;

/* The lock is held. Writes once, so that it comes between other output. */
static void draw(void) {
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  REQUIRE(file != NULL);
  CHECK(inturn_clock_now((inturn_clock){0}, &seen.now_ns));
  fprintf(file, "\0337\033[1;1H\033[K  %sThe queue%s\033[2;1H\033[K", paint[1],
          paint[4]);
  for (int index = 0; index < seen.count; index++) {
    fprintf(file, "\033[%d;1H\033[K", 3 + index);
    timeline_text(file, &seen, index, marks, paint);
  }
  fputs("\0338", file);
  fclose(file);
  screen_fit();
  screen_draw(text, length);
  free(text);
}

static void *draw_all(void *unused) {
  bool goes_on = true;
  while (goes_on) {
    pthread_mutex_lock(&lock);
    draw();
    goes_on = is_open;
    pthread_mutex_unlock(&lock);
    nanosleep(&(struct timespec){0, INTERVAL_NS}, NULL);
  }
  return unused;
}

static void on_event(void *unused, const inturn_event *event) {
  (void)unused;
  if (event->operation == 0 || event->operation > TIMELINE_ROWS)
    return; /* about the queue itself */
  pthread_mutex_lock(&lock);
  timeline_row *row = &seen.rows[event->operation - 1];
  if (event->kind == INTURN_EVENT_ENQUEUED) {
    seen.count++;
    row->asked_ns = event->at_ns;
    snprintf(row->label, sizeof row->label, "%s", event->label);
  } else if (event->kind == INTURN_EVENT_STARTED) {
    row->begun_ns = event->at_ns;
  } else if (event->kind == INTURN_EVENT_ENDED) {
    row->ended_ns = event->at_ns;
    row->outcome = event->outcome;
  }
  pthread_mutex_unlock(&lock);
}

void picture_open(inturn_queue_options *options) {
  if (!screen_split(LINES))
    return;
  if (screen_has_unicode())
    marks = blocks;
  if (screen_has_colours())
    paint = colours;
  options->on_event = on_event;
  is_open = true;
  REQUIRE(pthread_create(&drawer, NULL, draw_all, NULL) == 0);
}

void picture_close(void) {
  char path[4096];
  if (!is_open)
    return;
  pthread_mutex_lock(&lock);
  is_open = false;
  pthread_mutex_unlock(&lock);
  REQUIRE(pthread_join(drawer, NULL) == 0);
  screen_join();
  printf("\nWhen they waited, and were shown:\n");
  for (int index = 0; index < seen.count; index++) {
    timeline_text(stdout, &seen, index, marks, paint);
    printf("\n");
  }
  REQUIRE(timeline_save(&seen, "Four interactions, one at a time", path,
                        sizeof path));
  printf("\nAs a picture: %s\n", path);
}
