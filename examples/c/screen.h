/*
 * screen.h - a part of the terminal's screen that does not scroll.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps the upper lines for screen_draw. False where that cannot be: in a pipe,
   on a terminal that is dumb or too small. */
bool screen_split(int lines);

/* Call it now and then: the window may have been resized. */
void screen_fit(void);

/* Whether the terminal has colours, and characters besides ASCII. */
bool screen_has_colours(void);
bool screen_has_unicode(void);

/* Writes at once, so that it comes between what others print. */
void screen_draw(const char *text, size_t length);

/* Takes the lines away again. The end of the program does that, too. */
void screen_join(void);

#endif
