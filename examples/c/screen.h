/*
 * screen.h - a part of the terminal's screen that does not scroll.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps the upper lines for screen_draw. False if that is impossible: in a
   pipe, or on a terminal that is dumb or too small. */
bool screen_split(int lines);

/* Call it from time to time, as the window may have been resized. */
void screen_fit(void);

/* Whether the terminal has colours, and characters besides ASCII. */
bool screen_has_colours(void);
bool screen_has_unicode(void);

/* Writes at once, so that it comes between other output. */
void screen_draw(const char *text, size_t length);

/* Removes the lines again. The program's exit does that, too. */
void screen_join(void);

#endif
