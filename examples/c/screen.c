/*
 * screen.c - escape sequences that terminals understand, since the VT100.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE

#include "screen.h"

#include "check.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_ROWS = 16, LEAST_COLUMNS = 72 };

static int kept, rows; /* lines above the scrolling part; all lines */

/* Removes the lines; prepared, so that a signal handler need not compose it. */
static char join[64];
static volatile sig_atomic_t is_split;

static void on_signal(int number) {
  screen_join();
  signal(number, SIG_DFL);
  raise(number);
}

/* Makes everything below the kept lines scroll; moves to their first line. */
static void limit_scrolling(void) {
  char text[64];
  snprintf(text, sizeof text, "\033[%d;%dr\033[%d;1H", kept + 1, rows,
           kept + 1);
  screen_draw(text, strlen(text));
}

bool screen_split(int lines) {
  const char *terminal = getenv("TERM");
  struct winsize size;
  if (!isatty(STDOUT_FILENO) || !terminal || strcmp(terminal, "dumb") == 0 ||
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_row < LEAST_ROWS || size.ws_col < LEAST_COLUMNS)
    return false;
  kept = lines;
  rows = size.ws_row;
  for (int line = 0; line < rows; line++)
    screen_draw("\n", 1); /* so that it can be scrolled back to */
  screen_draw("\033[2J", 4);
  limit_scrolling();
  /* All lines scroll; home; delete lines; back to the place; as far up. */
  snprintf(join, sizeof join, "\0337\033[r\033[1;1H\033[%dM\0338\033[%dA",
           lines, lines);
  is_split = true;
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  atexit(screen_join);
  return true;
}

void screen_fit(void) {
  struct winsize size;
  if (!is_split || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_row == rows || size.ws_row <= kept + 1)
    return;
  rows = size.ws_row;
  screen_draw("\0337", 2); /* the cursor stays where it is */
  limit_scrolling();
  screen_draw("\0338", 2);
}

bool screen_has_colours(void) {
  const char *wanted = getenv("NO_COLOR");
  return !wanted || !*wanted;
}

bool screen_has_unicode(void) {
  setlocale(LC_CTYPE, "");
  return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void screen_draw(const char *text, size_t length) {
  while (length > 0) {
    ssize_t written = write(STDOUT_FILENO, text, length);
    if (written <= 0)
      return; /* the terminal is gone */
    text += written;
    length -= (size_t)written;
  }
}

void screen_join(void) {
  if (!is_split)
    return;
  is_split = false;
  screen_draw(join, strlen(join));
}
