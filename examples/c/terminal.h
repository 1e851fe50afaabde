/*
 * terminal.h - questions to the user, answered on the terminal's thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "steps.h"

/* Starts the terminal's thread, which reads the answers. At the end of the
   input, it calls `leave` with the step that is being asked, and ends. */
void terminal_open(void (*leave)(const step *asked));

/* Asks a step's question and returns. The thread passes the answer to the step,
   and asks again if it is none. From any thread, but one question at a time. */
void terminal_ask(const step *asking, inturn_token token);

/* Ends the thread; no question may be open. */
void terminal_close(void);

#endif
