/*
 * gtk_look.c - the look of the GTK example.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gtk_look.h"

static const char style[] =
    "window { background: #f6f7f9; color: #1f2328; font-size: 11pt; }"
    ".solid-csd { padding: 0; border: 1px solid #c9ced6; box-shadow: none; }"
    "headerbar { background: none; border: none; box-shadow: none; }"
    "headerbar .title { font-weight: 600; }"
    "windowcontrols button { background: none; padding: 0; }"
    ".heading { font-size: 20pt; font-weight: 800; }"
    ".dialog .heading { font-size: 15pt; }"
    ".dim { color: #5f6772; }"
    ".hint { color: #b42318; }"
    "list { background: #ffffff; border: 1px solid #dfe3e8;"
    "  border-radius: 12px; }"
    "row { padding: 11px 16px; border-bottom: 1px solid #eef0f3; }"
    "row:last-child { border-bottom: none; }"
    "row.shown { background: #eaf1fe; }"
    ".waiting .state { color: #5f6772; }"
    ".shown .state { color: #1d4ed8; font-weight: 600; }"
    ".good .state { color: #18794e; }"
    ".bad .state { color: #b42318; }"
    "progress, trough { min-height: 6px; margin: 0; border: none;"
    "  border-radius: 3px; }"
    "trough { background: #dfe3e8; }"
    "progress { background: #2563eb; }"
    "entry, password { background: #ffffff; border: 1px solid #b8bfc8;"
    "  border-radius: 8px; padding: 4px 8px; }"
    "button { background: #e4e8ed; color: #1f2328; font-weight: 600;"
    "  border: none; border-radius: 8px; box-shadow: none; padding: 8px 18px; }"
    "button:hover { background: #d6dbe2; }"
    "button:disabled { background: #eceef1; color: #8a929d; }"
    "button.suggested-action { background: #2563eb; color: #ffffff; }"
    "button.suggested-action:hover { background: #1d4ed8; }";

void load_style(void) {
  GtkCssProvider *provider = gtk_css_provider_new();
  gtk_css_provider_load_from_data(provider, style, -1);
  gtk_style_context_add_provider_for_display(
      gdk_display_get_default(), GTK_STYLE_PROVIDER(provider),
      GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
  g_object_unref(provider);
}

GtkWidget *make_box(GtkOrientation orientation, int margin) {
  return g_object_new(GTK_TYPE_BOX, "orientation", orientation, "spacing", 12,
                      "margin-top", margin, "margin-bottom", margin,
                      "margin-start", margin, "margin-end", margin, NULL);
}

GtkWidget *make_label(const char *text, const char *style_class) {
  GtkWidget *label = g_object_new(GTK_TYPE_LABEL, "label", text, "wrap", TRUE,
                                  "max-width-chars", 42, "xalign", 0.0, NULL);
  if (style_class != NULL)
    gtk_widget_add_css_class(label, style_class);
  return label;
}

void add_head(GtkWidget *box, const char *heading, const char *text) {
  gtk_box_append(GTK_BOX(box), make_label(heading, "heading"));
  gtk_box_append(GTK_BOX(box), make_label(text, NULL));
}

GtkWidget *make_button(const char *label, GCallback clicked, gpointer data) {
  GtkWidget *button = gtk_button_new_with_mnemonic(label);
  g_signal_connect_swapped(button, "clicked", clicked, data);
  return button;
}

GtkWidget *make_list(void) {
  return g_object_new(GTK_TYPE_LIST_BOX, "selection-mode", GTK_SELECTION_NONE,
                      "can-focus", FALSE, "overflow", GTK_OVERFLOW_HIDDEN,
                      "margin-top", 8, "margin-bottom", 8, NULL);
}

/* A row consists of a mark, a name and the state in words. */
static GtkListBoxRow *add_row(GtkListBox *list, const char *label) {
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  char *capital = g_strdup_printf("%c%s", g_ascii_toupper(label[0]), label + 1);
  GtkWidget *mark = make_label("", "state"), *name = make_label(capital, NULL);
  GtkListBoxRow *row = g_object_new(GTK_TYPE_LIST_BOX_ROW, "name", label,
                                    "child", box, "activatable", FALSE, NULL);
  g_free(capital);
  gtk_widget_set_size_request(mark, 20, -1);
  gtk_widget_set_hexpand(name, TRUE);
  gtk_box_append(GTK_BOX(box), mark);
  gtk_box_append(GTK_BOX(box), name);
  gtk_box_append(GTK_BOX(box), make_label("", "state"));
  gtk_list_box_append(list, GTK_WIDGET(row));
  return row;
}

void set_row(GtkWidget *list, const char *label, const char *state,
             const char *text) {
  static const char *const marks[][2] = {
      {"waiting", "○"}, {"shown", "●"}, {"good", "✓"}, {"bad", "✕"}};
  const char *classes[] = {state, NULL};
  GtkListBoxRow *row;
  for (int at = 0;; at++) {
    row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(list), at);
    if (row == NULL)
      row = add_row(GTK_LIST_BOX(list), label);
    if (strcmp(gtk_widget_get_name(GTK_WIDGET(row)), label) == 0)
      break;
  }
  GtkWidget *box = gtk_list_box_row_get_child(row);
  gtk_widget_set_css_classes(GTK_WIDGET(row), classes);
  gtk_label_set_text(GTK_LABEL(gtk_widget_get_last_child(box)), text);
  for (size_t at = 0; at < G_N_ELEMENTS(marks); at++) {
    if (strcmp(marks[at][0], state) == 0)
      gtk_label_set_text(GTK_LABEL(gtk_widget_get_first_child(box)),
                         marks[at][1]);
  }
}
