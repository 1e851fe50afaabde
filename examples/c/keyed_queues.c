/*
 * keyed_queues.c - a queue for each of 10,000 users: in order for each user,
 * and no user waits for another.
 *
 *     keyed_queues
 *
 * What to look at: messages arrive mixed, and each goes to its user's queue. A
 * few threads handle them all; messages of one user never overlap, so that what
 * they use needs no lock. One user cannot be reached, and their queue is
 * suspended: their messages wait, and all others are handled. Who is away may
 * be so for days, which is not being stuck: a queue's stall_ns says so.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

enum { USERS = 10000, MESSAGES = 10, AWAY = 42 };

typedef struct user {
  inturn_queue queue;
  int handled, out_of_order; /* only used by the work of its queue */
} user;

typedef struct message {
  user *to;
  int number;
} message;

static user users[USERS];
static message messages[MESSAGES][USERS];

static void handle(void *context, inturn_token token) {
  message *self = context;
  if (self->number != self->to->handled)
    self->to->out_of_order++;
  self->to->handled++;
  CHECK(inturn_token_finish(token));
}

/* Waits for the queues of all users but one, and prints what they have done. */
static void wait_for_all_but(const user *one) {
  int handled = 0, out_of_order = 0;
  for (user *each = users; each < users + USERS; each++) {
    if (each == one)
      continue;
    CHECK(inturn_queue_drain(each->queue, -1));
    handled += each->handled;
    out_of_order += each->out_of_order;
  }
  printf("%d messages handled, %d of them out of order\n", handled,
         out_of_order);
}

int main(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.stall_ns = -1;
  for (user *each = users; each < users + USERS; each++)
    CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &each->queue));
  CHECK(inturn_queue_suspend(users[AWAY].queue));

  for (int number = 0; number < MESSAGES; number++)
    for (int to = 0; to < USERS; to++) {
      message *sent = &messages[number][to];
      *sent = (message){&users[to], number};
      CHECK(inturn_queue_enqueue(users[to].queue, handle, sent, NULL, NULL));
    }
  printf("%d messages to %d users\n", USERS * MESSAGES, USERS);

  wait_for_all_but(&users[AWAY]);
  inturn_queue_statistics counts = {0};
  CHECK(inturn_queue_get_statistics(users[AWAY].queue, &counts));
  printf("user %d is away: %d messages wait\n", AWAY, (int)counts.pending);

  CHECK(inturn_queue_resume(users[AWAY].queue));
  printf("user %d is back\n", AWAY);
  wait_for_all_but(NULL);
  for (user *each = users; each < users + USERS; each++)
    CHECK(inturn_queue_destroy(each->queue));
}
