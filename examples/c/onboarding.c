/*
 * onboarding.c - takes a new user through four interactions, one at a time.
 *
 *     onboarding [--fast] [--service-up]     (no pauses; nothing to notice)
 *
 * What to look at: each is an operation of one interaction queue. The work
 * shows it, on the main thread, and returns; its token is finished elsewhere:
 * by the terminal (terminal.c, steps.c) or by a worker that asks a service.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "picture.h"
#include "terminal.h"

#include <string.h>
#include <time.h>

static inturn_executor main_thread;
static inturn_queue interactions, background;
static inturn_token notice; /* of the service's notice, once that has begun */
static char granted_before[] = "already granted", skipped[] = "skipped";
static bool fast, service_up;

/* Called by a worker: the main thread does not wait for a network. */
static void ask_service(void *context, inturn_token token) {
  nanosleep(&(struct timespec){0, fast ? 0 : 400000000}, NULL);
  printf("it is %s.\n", service_up ? "up" : "down");
  if (service_up)
    CHECK(inturn_token_finish_with(notice, skipped, NULL));
  else
    terminal_ask(context, notice);
  CHECK(inturn_token_finish(token));
}

/* Asked to end: the interaction does, and those that wait end with it. */
static void give_in(void *unused, inturn_token token) {
  (void)unused;
  CHECK(inturn_token_cancel(token));
  CHECK(inturn_queue_cancel_all(interactions));
}

/* The work of each interaction, called on the main thread. */
static void begin(void *context, inturn_token token) {
  step *self = context;
  CHECK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  if (self->was_granted) {
    printf("[%s] You have allowed this before.\n", self->label);
    CHECK(inturn_token_finish_with(token, granted_before, NULL));
  } else if (self->asks_service) {
    printf("[%s] Asking the service how it is ... ", self->label);
    notice = token;
    CHECK(inturn_queue_enqueue(background, ask_service, self, NULL, NULL));
  } else {
    terminal_ask(self, token);
  }
}

/* Called on the main thread, before the next interaction begins. */
static void on_end(void *unused, const inturn_end *end) {
  (void)unused;
  if (tell_end(end) == STEPS)
    CHECK(inturn_executor_stop(main_thread));
}

/* Called by a worker: any thread may enqueue. */
static void enqueue_step(void *context, inturn_token token) {
  step *self = context;
  inturn_operation_options options = {
      .label = self->label, .key = self->label, .on_end = on_end};
  CHECK(inturn_queue_enqueue_with(interactions, &options, begin, self, NULL,
                                  NULL));
  CHECK(inturn_token_finish(token));
}

/* The user has left: nothing more is shown, and what is open must end. */
static void leave(const step *open) {
  CHECK(inturn_queue_drain(background, -1)); /* all are enqueued */
  CHECK(inturn_queue_view_will_disappear(interactions));
  CHECK(inturn_queue_close(interactions));
  CHECK(inturn_queue_cancel_key(interactions, open->label, NULL));
}

int main(int argc, char **argv) {
  inturn_queue_options options = {.label = "interactions",
                                  .stall_ns = -1 /* people take their time */};
  for (int index = 1; index < argc; index++) {
    bool is_fast = strcmp(argv[index], "--fast") == 0;
    bool is_up = strcmp(argv[index], "--service-up") == 0;
    require_(is_fast || is_up, "usage", "onboarding [--fast] [--service-up]");
    fast |= is_fast;
    service_up |= is_up;
  }
  if (fast)
    options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  picture_open(&options);
  CHECK(inturn_executor_main(&main_thread));
  CHECK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &interactions));
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &background));
  terminal_open(leave);
  printf("Welcome. Four interactions, one at a time; Ctrl-D leaves.\n\n");
  for (step *each = steps; each < steps + STEPS; each++)
    CHECK(inturn_queue_enqueue(background, enqueue_step, each, NULL, NULL));
  CHECK(inturn_queue_view_did_appear(interactions));
  CHECK(inturn_executor_run(main_thread)); /* until the last one has ended */
  terminal_close();
  tell_summary();
  picture_close();
  CHECK(inturn_queue_drain(background, -1));
  CHECK(inturn_queue_destroy(background));
  CHECK(inturn_queue_destroy(interactions));
}
