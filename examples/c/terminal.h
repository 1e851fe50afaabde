/*
 * terminal.h - questions to the user, answered on a thread of the terminal's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "steps.h"

/* Starts the terminal's thread, which reads the answers. At the end of the
   input it calls `leave` with the step that is being asked, and ends. */
void terminal_open(void (*leave)(const step *asked));

/* Asks a step's question and returns. The thread gives the answer to the step,
   and asks again when it is none. From any thread, one question at a time. */
void terminal_ask(const step *asking, inturn_token token);

/* Ends the thread; no question may be open. */
void terminal_close(void);

#endif
