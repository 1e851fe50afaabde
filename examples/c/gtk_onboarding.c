/*
 * gtk_onboarding.c - a first-run screen in GTK 4: dialogs, one at a time.
 *
 *     gtk_onboarding [--fast] [--service-up]   (no pauses; nothing to notice)
 *
 * The same four interactions as in onboarding.c, in real windows. Each is an
 * operation of one interaction queue on the main executor, which is attached to
 * GTK's own loop. Its work opens a modal dialog and returns; the answer
 * finishes the token, and the next dialog opens after that.
 *
 * - While the first-run window is not on screen, nothing is asked: after the
 *   first answer the program shows something else, until the user comes back.
 * - While the user signs in, a thread enqueues an urgent notice: it is the
 * next.
 * - Escape cancels the open dialog. Closing the first-run window, or Control-Q,
 *   cancels all.
 * - What happens is listed in the window, and on the standard output.
 */
#include <gtk/gtk.h>
#include <inturn/glib.h>

#define UNUSED G_GNUC_UNUSED

enum { LOCATION, CAMERA, SIGN_IN, URGENT, NOTICE, STEPS };
enum { PERMISSION_DENIED = 1, TOO_MANY_TRIES = 2 };

typedef struct step {
  const char *label;
  const char *heading;
  const char *text;
  const char *accept;
  const char *decline; /* NULL: there is nothing to decline */
  bool granted;        /* nothing needs to be asked */
} step;

static const step steps[STEPS] = {
    {"location", "Use your location?",
     "The app shows what is near you. Your location stays on this computer.",
     "_Allow", "_Not now", false},
    {"camera", "Use the camera?", "The app scans codes with it.", "_Allow",
     "_Not now", true},
    {"sign-in", "Sign in", "Your password (here it is “inturn”).", "_Sign in",
     "_Cancel", false},
    {"urgent notice", "Battery low",
     "Plug the computer in: five minutes are left.", "_OK", NULL, false},
    {"service notice", "The service is down",
     "Some things will not work today.", "_Continue", NULL, false},
};

/* The dialog on screen; there is at most one. */
static struct {
  GtkWindow *window; /* NULL: there is none */
  const step *step;
  inturn_token token;
  GtkWidget *entry; /* of the sign-in */
  GtkLabel *hint;
  int tries_left;
} dialog;

/* Touched on the main thread only, like the dialog. */
static GtkWindow *screen, *elsewhere;
static GtkWidget *ends, *status, *close_button;
static GMainLoop *loop;
static GThread *service;
static int ended;
static bool leaving;

static inturn_queue queue;
static bool fast, service_up;
static char granted_before[] = "already granted", skipped[] = "skipped";

static void check(inturn_status status_of, const char *call) {
  if (status_of != INTURN_OK)
    g_error("%s: %s", call, inturn_status_name(status_of));
}
#define CHECK(call) check((call), #call)

/* The standard output: one line for each thing that happens. */
static void say(const char *what, const char *label) {
  g_print("%s%s%s\n", what, label ? " " : "", label ? label : "");
}

/* Dialogs ----------------------------------------------------------------- */

static void close_dialog(void) {
  GtkWindow *window = dialog.window;
  dialog.window = NULL;
  say("closed", dialog.step->label);
  gtk_window_destroy(window);
}

static void on_accept(GtkWidget *widget UNUSED, gpointer data UNUSED) {
  GtkEditable *entry = dialog.entry ? GTK_EDITABLE(dialog.entry) : NULL;
  bool right = !entry || strcmp(gtk_editable_get_text(entry), "inturn") == 0;
  if (right) {
    close_dialog();
    CHECK(inturn_token_finish(dialog.token));
  } else if (--dialog.tries_left == 0) {
    close_dialog();
    CHECK(inturn_token_fail(dialog.token, TOO_MANY_TRIES));
  } else {
    char *text = g_strdup_printf("That is not it; %d left.", dialog.tries_left);
    gtk_label_set_text(dialog.hint, text);
    g_free(text);
    gtk_editable_set_text(entry, "");
    gtk_widget_grab_focus(dialog.entry);
    say("refused", dialog.step->label);
  }
}

static void on_decline(GtkWidget *widget UNUSED, gpointer data UNUSED) {
  close_dialog();
  if (dialog.entry != NULL)
    CHECK(inturn_token_cancel(dialog.token));
  else
    CHECK(inturn_token_fail(dialog.token, PERMISSION_DENIED));
}

/* Escape, or the window manager. */
static gboolean on_close(GtkWindow *window UNUSED, gpointer data UNUSED) {
  close_dialog();
  CHECK(inturn_token_cancel(dialog.token));
  return TRUE; /* it is destroyed already */
}

static gboolean on_escape(GtkWidget *window, GVariant *arguments UNUSED,
                          gpointer data UNUSED) {
  gtk_window_close(GTK_WINDOW(window));
  return TRUE;
}

static gboolean on_quit(GtkWidget *widget, GVariant *arguments, gpointer data);

/* Calls `action` when the key is pressed anywhere in the window. */
static void add_key(GtkWindow *window, guint key, GdkModifierType modifiers,
                    GtkShortcutFunc action) {
  GtkEventController *keys = gtk_shortcut_controller_new();
  gtk_shortcut_controller_add_shortcut(
      GTK_SHORTCUT_CONTROLLER(keys),
      gtk_shortcut_new(gtk_keyval_trigger_new(key, modifiers),
                       gtk_callback_action_new(action, NULL, NULL)));
  gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller(GTK_WIDGET(window), keys);
}

static GtkWidget *make_label(const char *text, const char *style) {
  GtkWidget *label = gtk_label_new(text);
  gtk_label_set_wrap(GTK_LABEL(label), TRUE);
  gtk_label_set_max_width_chars(GTK_LABEL(label), 42);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  if (style != NULL)
    gtk_widget_add_css_class(label, style);
  return label;
}

static void set_margins(GtkWidget *widget, int vertical, int horizontal) {
  gtk_widget_set_margin_top(widget, vertical);
  gtk_widget_set_margin_bottom(widget, vertical);
  gtk_widget_set_margin_start(widget, horizontal);
  gtk_widget_set_margin_end(widget, horizontal);
}

static GtkWidget *make_box(int spacing, int margin) {
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, spacing);
  set_margins(box, margin, margin);
  return box;
}

static GtkWidget *make_button(const char *label, GCallback clicked) {
  GtkWidget *button = gtk_button_new_with_mnemonic(label);
  gtk_widget_set_hexpand(button, TRUE);
  g_signal_connect(button, "clicked", clicked, NULL);
  return button;
}

static void open_dialog(const step *step, inturn_token token) {
  GtkWindow *window = GTK_WINDOW(gtk_window_new());
  GtkWidget *box = make_box(12, 24);
  GtkWidget *buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *accept = make_button(step->accept, G_CALLBACK(on_accept));
  GtkWidget *header = gtk_header_bar_new();

  g_assert(dialog.window == NULL); /* the queue sees to that */
  dialog.window = window;
  dialog.step = step;
  dialog.token = token;
  dialog.entry = NULL;
  dialog.tries_left = 3;

  gtk_box_append(GTK_BOX(box), make_label(step->text, NULL));
  if (step == &steps[SIGN_IN]) {
    dialog.entry = gtk_password_entry_new();
    dialog.hint = GTK_LABEL(make_label("", "error"));
    g_object_set(dialog.entry, "activates-default", TRUE, NULL);
    gtk_box_append(GTK_BOX(box), dialog.entry);
    gtk_box_append(GTK_BOX(box), GTK_WIDGET(dialog.hint));
  }
  gtk_box_set_homogeneous(GTK_BOX(buttons), TRUE);
  gtk_widget_set_margin_top(buttons, 12);
  if (step->decline != NULL)
    gtk_box_append(GTK_BOX(buttons),
                   make_button(step->decline, G_CALLBACK(on_decline)));
  gtk_widget_add_css_class(accept, "suggested-action");
  gtk_box_append(GTK_BOX(buttons), accept);
  gtk_box_append(GTK_BOX(box), buttons);

  add_key(window, GDK_KEY_Escape, 0, on_escape);
  add_key(window, GDK_KEY_q, GDK_CONTROL_MASK, on_quit);
  /* Its heading is its title, by which it is moved, too. */
  gtk_header_bar_set_show_title_buttons(GTK_HEADER_BAR(header), FALSE);
  gtk_window_set_titlebar(window, header);
  gtk_window_set_title(window, step->heading);
  gtk_window_set_child(window, box);
  gtk_window_set_default_size(window, 380, -1);
  gtk_window_set_resizable(window, FALSE);
  gtk_window_set_modal(window, TRUE);
  gtk_window_set_transient_for(window, screen);
  gtk_window_set_default_widget(window, accept);
  gtk_window_set_focus(window, dialog.entry ? dialog.entry : accept);
  g_signal_connect(window, "close-request", G_CALLBACK(on_close), NULL);
  gtk_window_present(window);
  say("presented", step->label);
}

/* Interactions ------------------------------------------------------------ */

static gpointer enqueue_urgent_ones(gpointer data);

/* Asked to end while it is open: takes its dialog down. */
static void give_in(void *context UNUSED, inturn_token token) {
  if (dialog.window != NULL)
    close_dialog();
  CHECK(inturn_token_cancel(token));
}

static void begin_question(void *context, inturn_token token) {
  const step *self = context;
  if (self->granted) {
    CHECK(inturn_token_finish_with(token, granted_before, NULL));
    return;
  }
  CHECK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  open_dialog(self, token);
  if (self == &steps[SIGN_IN])
    service = g_thread_new("service", enqueue_urgent_ones, NULL);
}

static inturn_token asking; /* the notice's, while the service is asked */

static gboolean open_notice(gpointer data UNUSED) {
  if (!leaving)
    open_dialog(&steps[NOTICE], asking);
  return G_SOURCE_REMOVE;
}

/* On the service thread: the notice ends there, or opens its dialog. */
static gpointer ask_service(gpointer data) {
  g_usleep(fast ? 0 : 400000);
  if (service_up)
    (void)inturn_token_finish_with(asking, skipped, NULL);
  else
    g_idle_add(open_notice, NULL);
  return data;
}

static void begin_notice(void *context UNUSED, inturn_token token) {
  CHECK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  asking = token;
  say("asking the service", NULL);
  g_thread_join(service); /* it has enqueued this, and is over */
  service = g_thread_new("service", ask_service, NULL);
}

/* The list ---------------------------------------------------------------- */

static void add_row(const char *label, const char *outcome, bool good) {
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  char *capital = g_strdup_printf("%c%s", g_ascii_toupper(label[0]), label + 1);
  GtkWidget *name = make_label(capital, NULL);
  GtkWidget *how = make_label(outcome, NULL);
  g_free(capital);
  gtk_widget_set_hexpand(name, TRUE);
  gtk_widget_add_css_class(how, good ? "good" : "bad");
  gtk_box_append(GTK_BOX(row), name);
  gtk_box_append(GTK_BOX(row), how);
  set_margins(row, 10, 12);
  gtk_list_box_append(GTK_LIST_BOX(ends), row);
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(gtk_widget_get_parent(row)),
                                   FALSE);
}

static void leave_screen(void);

/* Called on the main thread, before the next interaction begins. */
static void on_end(void *context UNUSED, const inturn_end *end) {
  static const char *const names[] = {"",          "finished",  "failed",
                                      "cancelled", "timed out", "abandoned"};
  const char *detail = end->result; /* of inturn_token_finish_with, or NULL */
  if (end->outcome == INTURN_FAILED)
    detail = end->code == PERMISSION_DENIED ? "denied" : "too many tries";
  else if (end->outcome == INTURN_CANCELLED && end->started_ns == 0)
    detail = "never started";
  char *outcome =
      g_strdup_printf(detail ? "%s (%s)" : "%s", names[end->outcome], detail);
  g_print("ended %s: %s\n", end->label, outcome);
  add_row(end->label, outcome, end->outcome == INTURN_FINISHED);
  g_free(outcome);
  ended++;
  if (leaving)
    return;
  if (ended == 1)
    leave_screen();
  else if (ended == STEPS) {
    gtk_label_set_text(GTK_LABEL(status), "That was all. Welcome!");
    gtk_widget_set_sensitive(close_button, TRUE);
    gtk_window_set_default_widget(screen, close_button);
    gtk_widget_grab_focus(close_button);
    say("done", NULL);
  }
}

static void enqueue(int index) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = steps[index].label;
  options.on_end = on_end;
  CHECK(inturn_queue_enqueue_with(
      queue, &options, index == NOTICE ? begin_notice : begin_question,
      (void *)&steps[index], NULL, NULL));
}

/* On the service thread. The urgent notice is enqueued before the other one,
   and so is the next to be presented. */
static gpointer enqueue_urgent_ones(gpointer data) {
  g_usleep(fast ? 0 : 400000);
  enqueue(URGENT);
  say("enqueued", steps[URGENT].label);
  enqueue(NOTICE);
  return data;
}

/* The windows ------------------------------------------------------------- */

/* Whether the first-run window is on screen: neither hidden nor minimised. */
static void look_at_screen(void) {
  static bool was_visible;
  GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(screen));
  bool is_visible = gtk_widget_get_mapped(GTK_WIDGET(screen)) &&
                    !(gdk_toplevel_get_state(GDK_TOPLEVEL(surface)) &
                      GDK_TOPLEVEL_STATE_MINIMIZED);
  if (is_visible == was_visible)
    return;
  was_visible = is_visible;
  if (is_visible)
    CHECK(inturn_queue_view_did_appear(queue));
  else
    CHECK(inturn_queue_view_will_disappear(queue));
  say(is_visible ? "view appeared" : "view disappeared", NULL);
}

static void on_realize(GtkWidget *window, gpointer data UNUSED) {
  g_signal_connect(gtk_native_get_surface(GTK_NATIVE(window)), "notify::state",
                   G_CALLBACK(look_at_screen), NULL);
}

static void leave_screen(void) {
  gtk_widget_set_visible(GTK_WIDGET(screen), FALSE);
  gtk_window_present(elsewhere);
  say("shown elsewhere", NULL);
}

static void on_back(GtkWidget *widget UNUSED, gpointer data UNUSED) {
  gtk_widget_set_visible(GTK_WIDGET(elsewhere), FALSE);
  gtk_window_present(screen);
}

/* The user has gone: what is open is asked to end, the rest never starts. */
static gboolean on_leave(GtkWindow *window UNUSED, gpointer data UNUSED) {
  leaving = true;
  CHECK(inturn_queue_view_will_disappear(queue));
  CHECK(inturn_queue_cancel_all(queue));
  g_main_loop_quit(loop);
  return TRUE;
}

static gboolean on_quit(GtkWidget *widget UNUSED, GVariant *arguments UNUSED,
                        gpointer data) {
  return on_leave(NULL, data);
}

static void on_close_clicked(GtkWidget *widget UNUSED, gpointer data UNUSED) {
  gtk_window_close(screen);
}

static GtkWindow *make_window(const char *title, GtkWidget *content,
                              GCallback closed) {
  GtkWindow *window = GTK_WINDOW(gtk_window_new());
  gtk_window_set_titlebar(window, gtk_header_bar_new());
  gtk_window_set_title(window, title);
  gtk_window_set_child(window, content);
  add_key(window, GDK_KEY_q, GDK_CONTROL_MASK, on_quit);
  g_signal_connect(window, "close-request", closed, NULL);
  return window;
}

static void load_style(void) {
  GtkCssProvider *provider = gtk_css_provider_new();
  gtk_css_provider_load_from_data(
      provider,
      "window { font-size: 11pt; } headerbar .title { font-size: 12pt; }"
      "label.good { color: #1b7f4b; } label.bad { color: #b3470b; }",
      -1);
  gtk_style_context_add_provider_for_display(
      gdk_display_get_default(), GTK_STYLE_PROVIDER(provider),
      GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
  g_object_unref(provider);
}

static void make_screen(void) {
  GtkWidget *box = make_box(12, 32), *frame = gtk_frame_new(NULL);
  ends = gtk_list_box_new();
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(ends), GTK_SELECTION_NONE);
  gtk_widget_set_can_focus(ends, FALSE);
  gtk_frame_set_child(GTK_FRAME(frame), ends);
  gtk_widget_set_vexpand(frame, TRUE);
  status = make_label("What has been asked appears here.", "dim-label");
  close_button = make_button("_Close", G_CALLBACK(on_close_clicked));
  gtk_widget_set_sensitive(close_button, FALSE);
  gtk_widget_set_hexpand(close_button, FALSE);
  gtk_widget_set_halign(close_button, GTK_ALIGN_END);
  gtk_box_append(GTK_BOX(box), make_label("Welcome", "title-1"));
  gtk_box_append(GTK_BOX(box),
                 make_label("A few questions first, one at a time.", NULL));
  gtk_box_append(GTK_BOX(box), frame);
  gtk_box_append(GTK_BOX(box), status);
  gtk_box_append(GTK_BOX(box), close_button);
  screen = make_window("First run", box, G_CALLBACK(on_leave));
  gtk_window_set_default_size(screen, 520, 480);
  g_signal_connect(screen, "realize", G_CALLBACK(on_realize), NULL);
  g_signal_connect(screen, "map", G_CALLBACK(look_at_screen), NULL);
  g_signal_connect(screen, "unmap", G_CALLBACK(look_at_screen), NULL);
}

static void make_elsewhere(void) {
  GtkWidget *box = make_box(12, 32);
  GtkWidget *back = make_button("_Back", G_CALLBACK(on_back));
  gtk_widget_add_css_class(back, "suggested-action");
  gtk_widget_set_halign(back, GTK_ALIGN_END);
  gtk_box_append(GTK_BOX(box), make_label("Elsewhere", "title-1"));
  gtk_box_append(GTK_BOX(box),
                 make_label("The first-run screen is hidden. Nothing is "
                            "asked until you go back to it.",
                            NULL));
  gtk_box_append(GTK_BOX(box), back);
  elsewhere = make_window("Elsewhere", box, G_CALLBACK(on_leave));
  gtk_window_set_default_size(elsewhere, 420, -1);
  gtk_window_set_default_widget(elsewhere, back);
  gtk_window_set_focus(elsewhere, back);
}

int main(int argc, char **argv) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_executor executor;
  for (int index = 1; index < argc; index++) {
    if (strcmp(argv[index], "--fast") == 0)
      fast = true;
    else if (strcmp(argv[index], "--service-up") == 0)
      service_up = true;
    else
      return g_printerr("usage: gtk_onboarding [--fast] [--service-up]\n"), 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!gtk_init_check())
    return g_printerr("gtk_onboarding: there is no display\n"), 1;
  loop = g_main_loop_new(NULL, FALSE);
  options.label = "onboarding";
  if (fast)
    options.settle_ns = options.gap_ns = 0;
  CHECK(inturn_executor_main(&executor));
  CHECK(inturn_glib_attach(executor, NULL));
  CHECK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &queue));
  for (int index = LOCATION; index <= SIGN_IN; index++)
    enqueue(index);

  load_style();
  make_screen();
  make_elsewhere();
  gtk_window_present(screen);
  g_main_loop_run(loop); /* until the window is closed */

  if (service != NULL)
    g_thread_join(service);
  gtk_widget_set_visible(GTK_WIDGET(screen), FALSE);
  CHECK(inturn_executor_drain(executor, 0, NULL)); /* the last ends */
  CHECK(inturn_queue_destroy(queue));
  CHECK(inturn_glib_detach(executor));
  gtk_window_destroy(elsewhere);
  gtk_window_destroy(screen);
  g_main_loop_unref(loop);
  return EXIT_SUCCESS;
}
