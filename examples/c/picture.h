/*
 * picture.h - shows what becomes of a queue's operations, at the top of the
 * terminal, while it happens. In a pipe it does nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <inturn.h>

/* Before the queue is created. */
void picture_open(inturn_queue_options *options);

/* Leaves the timeline as text, and says where it is as a picture. */
void picture_close(void);

#endif
