/*
 * printer.h - a printer's driver like other C libraries: it has threads and a
 * completion callback of its own, and does not know Inturn.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PRINTER_H
#define PRINTER_H

enum { PRINTER_BUSY = 1, PRINTER_JAM = 2 };

/* Says that a page is printed, or why not. Called by the printer's thread. */
typedef void (*printer_done_fn)(void *context, int error);

/* Starts to print a page, and returns: `done` is called later. Returns
   PRINTER_BUSY, and calls nothing, while a page is being printed. */
int printer_print(const char *page, printer_done_fn done, void *context);

#endif
