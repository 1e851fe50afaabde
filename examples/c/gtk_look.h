/*
 * gtk_look.h - the look of the GTK example: its style, its widgets, its list.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GTK_LOOK_H
#define GTK_LOOK_H

#include <gtk/gtk.h>

/* Gives the display's windows the style of this example. */
void load_style(void);

/* A box with this margin around it. */
GtkWidget *make_box(GtkOrientation orientation, int margin);

/* A label that wraps; `style` is a class of the style sheet, or NULL. */
GtkWidget *make_label(const char *text, const char *style);

/* Adds a heading, and a text below it. */
void add_head(GtkWidget *box, const char *heading, const char *text);

/* A button that calls clicked(data). */
GtkWidget *make_button(const char *label, GCallback clicked, gpointer data);

/* A list of interactions, whose rows cannot be selected or focused. */
GtkWidget *make_list(void);

/* Shows how far an interaction is; its first call adds a row. `state` is
   "waiting", "shown", "good" or "bad", `text` the same in words. */
void set_row(GtkWidget *list, const char *label, const char *state,
             const char *text);

#endif
