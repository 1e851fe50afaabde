/*
 * picture.h - shows what happens to a queue's operations, live at the top of
 * the terminal. In a pipe, it does nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <inturn.h>

/* Call it before the queue is created. */
void picture_open(inturn_queue_options *options);

/* Leaves the timeline as text, and prints where its picture is. */
void picture_close(void);

#endif
