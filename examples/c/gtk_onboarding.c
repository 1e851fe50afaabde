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
 * - When the user has begun to sign in, a thread enqueues an urgent notice. It
 *   does not wait for the open dialog: that gives way, and is presented again
 *   after the notice, as it was.
 * - Escape cancels the open dialog, Control-E hides the first-run window.
 *   Closing that, or Control-Q, cancels all.
 * - The window lists what waits, what is shown and how each has ended. What
 *   happens is on the standard output, too.
 */
#include "gtk_look.h"

#include <inturn/glib.h>

#define UNUSED G_GNUC_UNUSED

enum { LOCATION, CAMERA, SIGN_IN, NOTICE, URGENT };
enum { PERMISSION_DENIED = 1, TOO_MANY_TRIES = 2 };

typedef struct step {
  const char *label;
  const char *heading;
  const char *text;
  const char *accept;
  const char *decline; /* NULL if nothing can be declined */
  bool granted;        /* nothing has to be asked */
} step;

static const step steps[] = {
    {"location", "Use your location?",
     "The app shows what is near you. Your location stays on this computer.",
     "_Allow", "_Not now", false},
    {"camera", "Use the camera?", "The app scans codes with it.", "_Allow",
     "_Not now", true},
    {"sign-in", "Sign in", "Your password (here it is “inturn”).", "_Sign in",
     "_Cancel", false},
    {"service notice", "The service is down",
     "Some things will not work today.", "_Continue", NULL, false},
    {"urgent notice", "Battery low",
     "Plug the computer in: five minutes are left.", "_OK", NULL, false},
};

/* The dialog on screen; there is at most one. */
static struct {
  GtkWindow *window; /* NULL if there is none */
  const step *step;
  inturn_token token;
  GtkWidget *entry; /* of the sign-in */
  GtkLabel *hint;
} dialog;

/* What is left of the sign-in while its dialog gives way. */
static int tries_left = 3;
static char *typed, hint[32];

/* Only used on the main thread, like the dialog. */
static GtkWindow *screen, *elsewhere;
static GtkWidget *list, *bar, *status, *close_button;
static GThread *battery, *service;
static int ended;
static bool leaving;

static inturn_queue queue;
static gint left; /* enqueued, without a reported end; atomic */
static bool fast, service_up;
static char granted_before[] = "already granted", skipped[] = "skipped";

static void check(inturn_status status_of, const char *call) {
  if (status_of != INTURN_OK)
    g_error("%s: %s", call, inturn_status_name(status_of));
}
#define CHECK(call) check((call), #call)

/* The standard output: one line for each event. */
static void say(const char *what, const char *label) {
  g_print("%s%s%s\n", what, label ? " " : "", label ? label : "");
}

/* Windows and what is in them --------------------------------------------- */

/* The user leaves: what is open is asked to end, and the rest never starts. */
static gboolean leave(GtkWidget *widget UNUSED, GVariant *arguments UNUSED,
                      gpointer data UNUSED) {
  leaving = true;
  CHECK(inturn_queue_view_will_disappear(queue));
  CHECK(inturn_queue_cancel_all(queue));
  return TRUE;
}

static gboolean on_leave(GtkWindow *window UNUSED, gpointer data UNUSED) {
  return leave(NULL, NULL, NULL);
}

static gboolean leave_screen(GtkWidget *widget UNUSED, GVariant *none UNUSED,
                             gpointer data UNUSED) {
  gtk_widget_set_visible(GTK_WIDGET(screen), FALSE);
  gtk_window_present(elsewhere);
  say("shown elsewhere", NULL);
  return TRUE;
}

static void come_back(void) {
  gtk_widget_set_visible(GTK_WIDGET(elsewhere), FALSE);
  gtk_window_present(screen);
}

/* A key for the whole window. */
static void add_key(GtkWindow *window, const char *key,
                    GtkShortcutAction *action) {
  GtkEventController *keys = gtk_shortcut_controller_new();
  GtkShortcutTrigger *trigger = gtk_shortcut_trigger_parse_string(key);
  gtk_shortcut_controller_add_shortcut(GTK_SHORTCUT_CONTROLLER(keys),
                                       gtk_shortcut_new(trigger, action));
  gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller(GTK_WIDGET(window), keys);
}

/* Control-Q leaves the program, Control-E the first-run window. */
static GtkWindow *make_window(const char *title, GtkWidget *header,
                              GtkWidget *content, GCallback closed) {
  GtkWindow *window = g_object_new(GTK_TYPE_WINDOW, "title", title, "titlebar",
                                   header, "child", content, NULL);
  add_key(window, "<Control>q", gtk_callback_action_new(leave, NULL, NULL));
  add_key(window, "<Control>e",
          gtk_callback_action_new(leave_screen, NULL, NULL));
  g_signal_connect(window, "close-request", closed, NULL);
  return window;
}

/* Dialogs ----------------------------------------------------------------- */

static void close_dialog(void) {
  GtkWindow *window = dialog.window;
  dialog.window = NULL;
  if (dialog.entry != NULL) {
    g_free(typed);
    typed = g_strdup(gtk_editable_get_text(GTK_EDITABLE(dialog.entry)));
  }
  say("closed", dialog.step->label);
  gtk_window_destroy(window);
}

static void take_down(inturn_token token) {
  if (dialog.window != NULL && dialog.token.bits == token.bits)
    close_dialog();
}

/* Asked to end. It may have ended meanwhile; then this comes too late. */
static void give_in(void *context UNUSED, inturn_token token) {
  take_down(token);
  (void)inturn_token_cancel(token);
}

/* Asked to make room for an urgent one: afterwards, the work is called again
   with another token, and opens the dialog again. */
static void give_way(void *context UNUSED, inturn_token token) {
  take_down(token);
  set_row(list, dialog.step->label, "waiting", "has given way");
  (void)inturn_token_yield(token);
}

static void accept_dialog(void) {
  GtkEditable *entry = dialog.entry ? GTK_EDITABLE(dialog.entry) : NULL;
  bool right = !entry || strcmp(gtk_editable_get_text(entry), "inturn") == 0;
  if (right) {
    close_dialog();
    CHECK(inturn_token_finish(dialog.token));
  } else if (--tries_left == 0) {
    close_dialog();
    CHECK(inturn_token_fail(dialog.token, TOO_MANY_TRIES));
  } else {
    g_snprintf(hint, sizeof hint, "That is not it; %d left.", tries_left);
    gtk_label_set_text(dialog.hint, hint);
    gtk_editable_set_text(entry, "");
    gtk_widget_grab_focus(dialog.entry);
    say("refused", dialog.step->label);
  }
}

static void decline_dialog(void) {
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
  return TRUE; /* it has been destroyed already */
}

static void on_typing(GtkEditable *entry, gpointer data);

static void add_entry(GtkBox *box) {
  GtkWidget *entry = gtk_password_entry_new();
  dialog.entry = entry;
  dialog.hint = GTK_LABEL(make_label(hint, "hint"));
  g_object_set(entry, "activates-default", TRUE, "text", typed ? typed : "",
               NULL);
  g_signal_connect(entry, "changed", G_CALLBACK(on_typing), NULL);
  gtk_box_append(box, entry);
  gtk_box_append(box, GTK_WIDGET(dialog.hint));
}

static void open_dialog(const step *step, inturn_token token) {
  GtkWidget *box = make_box(GTK_ORIENTATION_VERTICAL, 24);
  GtkWidget *buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *button =
      make_button(step->accept, G_CALLBACK(accept_dialog), NULL);
  /* It has no title bar: the heading is inside, and any place moves it. */
  GtkWidget *handle = gtk_window_handle_new();
  GtkWidget *no_header = g_object_new(GTK_TYPE_BOX, "visible", FALSE, NULL);
  GtkWindow *window =
      make_window(step->heading, no_header, handle, G_CALLBACK(on_close));

  g_assert(dialog.window == NULL); /* the queue ensures this */
  dialog.window = window;
  dialog.step = step;
  dialog.token = token;
  dialog.entry = NULL;

  gtk_widget_add_css_class(GTK_WIDGET(window), "dialog");
  gtk_window_handle_set_child(GTK_WINDOW_HANDLE(handle), box);
  add_head(box, step->heading, step->text);
  if (step == &steps[SIGN_IN])
    add_entry(GTK_BOX(box));
  g_object_set(buttons, "homogeneous", TRUE, "margin-top", 12, NULL);
  if (step->decline != NULL)
    gtk_box_append(
        GTK_BOX(buttons),
        make_button(step->decline, G_CALLBACK(decline_dialog), NULL));
  gtk_widget_add_css_class(button, "suggested-action");
  gtk_box_append(GTK_BOX(buttons), button);
  gtk_box_append(GTK_BOX(box), buttons);

  add_key(window, "Escape", gtk_named_action_new("window.close"));
  g_object_set(window, "default-width", 380, "resizable", FALSE, "modal", TRUE,
               "transient-for", screen, "default-widget", button,
               "focus-widget", dialog.entry ? dialog.entry : button, NULL);
  gtk_window_present(window);
  if (dialog.entry != NULL) /* the user continues after the existing text */
    gtk_editable_set_position(GTK_EDITABLE(dialog.entry), -1);
  set_row(list, step->label, "shown", "on screen");
  say("presented", step->label);
  CHECK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  CHECK(inturn_token_on_preempt(token, give_way, NULL, NULL));
}

/* Interactions ------------------------------------------------------------ */

static void begin_question(void *context, inturn_token token) {
  const step *self = context;
  if (self->granted) {
    CHECK(inturn_token_finish_with(token, granted_before, NULL));
    return;
  }
  open_dialog(self, token);
}

static inturn_token asking; /* the notice's, while the service is asked */

static gboolean open_notice(gpointer data UNUSED) {
  if (!leaving)
    open_dialog(&steps[NOTICE], asking);
  return G_SOURCE_REMOVE;
}

/* Runs on the service thread: the notice ends here, or opens its dialog. */
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
  if (service != NULL)
    g_thread_join(service); /* the one from before it gave way; it is over */
  service = g_thread_new("service", ask_service, NULL);
}

/* Their ends -------------------------------------------------------------- */

static void show_progress(int done, int all) {
  char text[32];
  g_snprintf(text, sizeof text, "%d of %d done", done, all);
  gtk_label_set_text(GTK_LABEL(status), text);
  gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(bar), (double)done / all);
}

/* Called on the main thread, before the next interaction begins. */
static void on_end(void *context UNUSED, const inturn_end *end) {
  static const char *const names[] = {"",          "finished",  "failed",
                                      "cancelled", "timed out", "abandoned"};
  const char *detail = end->result; /* of inturn_token_finish_with, or NULL */
  if (end->outcome == INTURN_FAILED)
    detail = end->code == PERMISSION_DENIED ? "denied" : "too many tries";
  else if (end->outcome == INTURN_CANCELLED && end->started_ns == 0)
    detail = "never started";
  GString *outcome = g_string_new(names[end->outcome]);
  if (detail != NULL)
    g_string_append_printf(outcome, " (%s)", detail);
  if (end->attempts > 1)
    g_string_append_printf(outcome, ", presented %u times", end->attempts);
  g_print("ended %s: %s\n", end->label, outcome->str);
  set_row(list, end->label, end->outcome == INTURN_FINISHED ? "good" : "bad",
          outcome->str);
  g_string_free(outcome, TRUE);
  bool was_last = g_atomic_int_dec_and_test(&left);
  ended++;
  show_progress(ended, ended + g_atomic_int_get(&left));
  if (ended == 1 && !leaving)
    leave_screen(NULL, NULL, NULL);
  else if (was_last && !leaving) {
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
  options.urgent = index == URGENT;
  g_atomic_int_inc(&left);
  CHECK(inturn_queue_enqueue_with(
      queue, &options, index == NOTICE ? begin_notice : begin_question,
      (void *)&steps[index], NULL, NULL));
}

/* Runs on a thread of its own. The open dialog gives way; if there is none, the
   notice is the next. */
static gpointer watch_battery(gpointer data) {
  g_usleep(fast ? 0 : 400000);
  say("battery low", NULL);
  enqueue(URGENT);
  return data;
}

/* The battery gets low at the worst moment. */
static void on_typing(GtkEditable *entry UNUSED, gpointer data UNUSED) {
  if (battery == NULL)
    battery = g_thread_new("battery", watch_battery, NULL);
}

/* The two windows --------------------------------------------------------- */

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
  CHECK(is_visible ? inturn_queue_view_did_appear(queue)
                   : inturn_queue_view_will_disappear(queue));
  say(is_visible ? "view appeared" : "view disappeared", NULL);
}

static void on_realize(GtkWidget *window, gpointer data UNUSED) {
  g_signal_connect(gtk_native_get_surface(GTK_NATIVE(window)), "notify::state",
                   G_CALLBACK(look_at_screen), NULL);
}

static void make_screen(void) {
  GtkWidget *box = make_box(GTK_ORIENTATION_VERTICAL, 32);
  GtkWidget *foot = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  list = make_list();
  bar = gtk_progress_bar_new();
  status = make_label("", "dim");
  screen =
      make_window("First run", gtk_header_bar_new(), box, G_CALLBACK(on_leave));
  close_button = make_button("_Close", G_CALLBACK(gtk_window_close), screen);
  g_object_set(box, "margin-top", 8, NULL);
  g_object_set(status, "hexpand", TRUE, NULL);
  g_object_set(close_button, "sensitive", FALSE, NULL);
  add_head(box, "Welcome", "A few questions first, one at a time.");
  gtk_box_append(GTK_BOX(box), list);
  gtk_box_append(GTK_BOX(box), bar);
  gtk_box_append(GTK_BOX(box), foot);
  gtk_box_append(GTK_BOX(foot), status);
  gtk_box_append(GTK_BOX(foot), close_button);
  gtk_window_set_default_size(screen, 540, -1);
  g_signal_connect(screen, "realize", G_CALLBACK(on_realize), NULL);
  g_signal_connect(screen, "map", G_CALLBACK(look_at_screen), NULL);
  g_signal_connect(screen, "unmap", G_CALLBACK(look_at_screen), NULL);
  for (int index = LOCATION; index <= NOTICE; index++)
    set_row(list, steps[index].label, "waiting", "waiting");
  show_progress(0, NOTICE + 1);
}

static void make_elsewhere(void) {
  GtkWidget *box = make_box(GTK_ORIENTATION_VERTICAL, 32);
  GtkWidget *back = make_button("_Back", G_CALLBACK(come_back), NULL);
  gtk_widget_add_css_class(back, "suggested-action");
  gtk_widget_set_halign(back, GTK_ALIGN_END);
  add_head(box, "Elsewhere", "Nothing is asked until you go back.");
  gtk_box_append(GTK_BOX(box), back);
  elsewhere =
      make_window("Elsewhere", gtk_header_bar_new(), box, G_CALLBACK(on_leave));
  g_object_set(elsewhere, "default-width", 420, "default-widget", back,
               "focus-widget", back, NULL);
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
  options.label = "onboarding";
  options.stall_ns = -1; /* people take their time */
  if (fast)
    options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  CHECK(inturn_executor_main(&executor));
  CHECK(inturn_glib_attach(executor, NULL));
  CHECK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &queue));
  for (int index = LOCATION; index <= NOTICE; index++)
    enqueue(index);

  load_style();
  make_screen();
  make_elsewhere();
  gtk_window_present(screen);
  while (!leaving)
    g_main_context_iteration(NULL, TRUE);

  if (battery != NULL)
    g_thread_join(battery);
  if (service != NULL)
    g_thread_join(service);
  gtk_widget_set_visible(GTK_WIDGET(screen), FALSE);
  CHECK(inturn_executor_drain(executor, 0, NULL)); /* the last ends */
  CHECK(inturn_queue_destroy(queue));
  CHECK(inturn_glib_detach(executor));
  gtk_window_destroy(elsewhere);
  gtk_window_destroy(screen);
  g_free(typed);
  return EXIT_SUCCESS;
}
