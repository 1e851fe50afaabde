/*
 * onboarding.c - takes a new user through four interactions, one at a time.
 *
 *     onboarding [--fast] [--service-up]     (no pauses; nothing to notice)
 *
 * The app asks for the location, for the camera and for a password, and tells
 * that its service is down. Each of these is an operation of one interaction
 * queue: none begins before the one before it is over, whichever threads
 * enqueue and finish them.
 *
 *   main thread      runs the main executor, which calls the work: it shows an
 *                    interaction and returns; it never waits for an answer
 *   reader thread    enqueues the first three, reads answers from the standard
 *                    input, and finishes the interaction that is open
 *   service thread   enqueues the notice and asks the service how it is: the
 *                    notice ends there, or goes on to the reader
 */
#define _POSIX_C_SOURCE 200809L

#include <inturn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOCATION, CAMERA, SIGN_IN, NOTICE, STEPS };
enum { PERMISSION_DENIED = 1, TOO_MANY_TRIES = 2 };

typedef struct step {
  const char *label;
  const char *question;
  inturn_work_fn begin; /* called on the main thread */
  /* Called on the reader thread; says whether the interaction is over. */
  bool (*answer)(inturn_token token, const char *line);
  bool granted; /* nothing needs to be asked */
} step;

/* A token on its way to another thread. */
typedef struct letter {
  bool sent;
  step *from;
  inturn_token token;
} letter;

static struct {
  pthread_mutex_t lock; /* protects the fields below */
  pthread_cond_t changed;
  int enqueued;    /* how many steps are in the queue */
  letter question; /* to the reader thread */
  letter check;    /* to the service thread */
  int over;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER};

static inturn_executor executor; /* the main thread's */
static inturn_operation operations[STEPS];
static inturn_queue queue;
static bool fast, service_up;
static char granted_before[] = "already granted", skipped[] = "skipped";

/* Touched on the main thread only. */
static char summary[STEPS][80];
static int ended;

static void check(inturn_status status, const char *call) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s: %s\n", call, inturn_status_name(status));
    exit(EXIT_FAILURE);
  }
}
#define CHECK(call) check((call), #call)

/* Between threads --------------------------------------------------------- */

static void send_letter(letter *to, step *from, inturn_token token) {
  pthread_mutex_lock(&board.lock);
  *to = (letter){true, from, token};
  pthread_cond_broadcast(&board.changed);
  pthread_mutex_unlock(&board.lock);
}

/* Waits for a letter; false when none will come any more. */
static bool receive_letter(letter *from, letter *out_letter) {
  pthread_mutex_lock(&board.lock);
  while (!from->sent && !board.over)
    pthread_cond_wait(&board.changed, &board.lock);
  *out_letter = *from;
  from->sent = false;
  pthread_mutex_unlock(&board.lock);
  return out_letter->sent;
}

static void set(int *field, int value) {
  pthread_mutex_lock(&board.lock);
  *field = value;
  pthread_cond_broadcast(&board.changed);
  pthread_mutex_unlock(&board.lock);
}

static void wait_until_enqueued(int count) {
  pthread_mutex_lock(&board.lock);
  while (board.enqueued < count)
    pthread_cond_wait(&board.changed, &board.lock);
  pthread_mutex_unlock(&board.lock);
}

/* The interactions -------------------------------------------------------- */

/* Ends the open interaction, and after it those that wait. */
static void give_in(void *context, inturn_token token) {
  (void)context;
  CHECK(inturn_token_cancel(token));
  CHECK(inturn_queue_cancel_all(queue));
}

/* Shows the question; the reader thread takes it from there. */
static void ask(step *asking, inturn_token token) {
  printf("[%s] %s ", asking->label, asking->question);
  send_letter(&board.question, asking, token);
}

static void begin_question(void *context, inturn_token token) {
  step *self = context;
  if (self->granted) {
    printf("[%s] You have allowed this before.\n", self->label);
    CHECK(inturn_token_finish_with(token, granted_before, NULL));
    return;
  }
  CHECK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  ask(self, token);
}

static void begin_notice(void *context, inturn_token token) {
  step *self = context;
  printf("[%s] Asking the service how it is ... ", self->label);
  CHECK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  send_letter(&board.check, self, token);
}

static bool answer_permission(inturn_token token, const char *line) {
  if (strcmp(line, "y") == 0 || strcmp(line, "yes") == 0)
    CHECK(inturn_token_finish(token));
  else if (strcmp(line, "n") == 0 || strcmp(line, "no") == 0)
    CHECK(inturn_token_fail(token, PERMISSION_DENIED));
  else
    return false;
  return true;
}

/* One operation holds the queue over all tries. */
static bool answer_sign_in(inturn_token token, const char *line) {
  static int tries_left = 3;
  if (strcmp(line, "inturn") == 0)
    CHECK(inturn_token_finish(token));
  else if (--tries_left == 0)
    CHECK(inturn_token_fail(token, TOO_MANY_TRIES));
  else {
    printf("[sign-in] That is not it; %d left.\n", tries_left);
    return false;
  }
  return true;
}

static bool answer_notice(inturn_token token, const char *line) {
  (void)line;
  CHECK(inturn_token_finish(token));
  return true;
}

static step steps[STEPS] = {
    {"location", "May the app use your location? [y/n]", begin_question,
     answer_permission, false},
    {"camera", "May the app use the camera? [y/n]", begin_question,
     answer_permission, true},
    {"sign-in", "Your password (here it is \"inturn\"):", begin_question,
     answer_sign_in, false},
    {"service notice", "Some things will not work today. [Return]",
     begin_notice, answer_notice, false},
};

/* Called on the main thread, before the next interaction begins. */
static void on_end(void *context, const inturn_end *end) {
  static const char *const names[] = {"",          "finished",  "failed",
                                      "cancelled", "timed out", "abandoned"};
  char outcome[48];
  const char *detail = end->result; /* of inturn_token_finish_with, or NULL */
  (void)context;
  if (end->outcome == INTURN_FAILED)
    detail = end->code == PERMISSION_DENIED ? "denied" : "too many tries";
  else if (end->outcome == INTURN_CANCELLED && end->started_ns == 0)
    detail = "never started";
  snprintf(outcome, sizeof outcome, detail ? "%s (%s)" : "%s",
           names[end->outcome], detail);
  printf("[%s] %s\n", end->label, outcome);
  snprintf(summary[ended++], sizeof summary[0], "%-16s%s", end->label, outcome);
  if (ended == STEPS)
    CHECK(inturn_executor_stop(executor));
}

/* The two background threads ---------------------------------------------- */

/* Adds a step when those before it are in the queue. */
static void enqueue(int index) {
  step *self = &steps[index];
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = self->label;
  options.on_end = on_end;
  wait_until_enqueued(index);
  CHECK(inturn_queue_enqueue_with(queue, &options, self->begin, self, NULL,
                                  &operations[index]));
  set(&board.enqueued, index + 1);
}

/* The user has gone: nothing more is shown, the open interaction is asked to
   end, and the others with it. */
static void leave(inturn_operation open) {
  wait_until_enqueued(STEPS);
  CHECK(inturn_queue_view_will_disappear(queue));
  CHECK(inturn_queue_close(queue));
  CHECK(inturn_operation_cancel(open));
  CHECK(inturn_operation_wait(open, -1, NULL));
}

static void *read_answers(void *unused) {
  bool echo = !isatty(STDIN_FILENO); /* a terminal shows what is typed */
  char *line = NULL;
  size_t room = 0;
  letter open;
  for (int index = LOCATION; index <= SIGN_IN; index++)
    enqueue(index);
  while (receive_letter(&board.question, &open)) {
    if (getline(&line, &room, stdin) < 0) {
      printf("(end of input)\n");
      leave(operations[open.from - steps]);
      break;
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (echo)
      printf("%s\n", line);
    if (!open.from->answer(open.token, line))
      ask(open.from, open.token);
  }
  free(line);
  return unused;
}

static void *watch_service(void *unused) {
  struct timespec network = {0, fast ? 0 : 400000000};
  letter open;
  enqueue(NOTICE);
  if (!receive_letter(&board.check, &open))
    return unused;
  nanosleep(&network, NULL);
  printf("it is %s.\n", service_up ? "up" : "down");
  if (service_up)
    CHECK(inturn_token_finish_with(open.token, skipped, NULL));
  else
    ask(open.from, open.token);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t reader, service;
  for (int index = 1; index < argc; index++) {
    if (strcmp(argv[index], "--fast") == 0)
      fast = true;
    else if (strcmp(argv[index], "--service-up") == 0)
      service_up = true;
    else
      return fprintf(stderr, "usage: onboarding [--fast] [--service-up]\n"), 2;
  }
  setvbuf(stdout, NULL, _IONBF, 0); /* questions end without a line end */
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.label = "onboarding";
  if (fast)
    options.settle_ns = options.gap_ns = 0;
  CHECK(inturn_executor_main(&executor));
  CHECK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &queue));

  printf("Welcome. Four interactions, one at a time; Ctrl-D leaves.\n\n");
  if (pthread_create(&reader, NULL, read_answers, NULL) != 0 ||
      pthread_create(&service, NULL, watch_service, NULL) != 0)
    abort();
  CHECK(inturn_queue_view_did_appear(queue));
  CHECK(inturn_executor_run(executor)); /* until the last end has stopped it */

  set(&board.over, true);
  pthread_join(reader, NULL);
  pthread_join(service, NULL);
  printf("\nHow they ended, in order:\n");
  for (int index = 0; index < STEPS; index++) {
    printf("  %s\n", summary[index]);
    CHECK(inturn_operation_release(operations[index]));
  }
  CHECK(inturn_queue_destroy(queue));
  return EXIT_SUCCESS;
}
