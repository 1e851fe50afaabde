/* Asks a server that fails once and does not answer once. */
#include <inturn.h>

#include <stdio.h>

#define MS 1000000 /* the library counts in nanoseconds */

static int attempts; /* only used by the queue's work */

static void ask(void *context, inturn_token token) {
  (void)context;
  printf("attempt %d\n", ++attempts);
  if (attempts == 1)
    inturn_token_fail(token, 503); /* the server is restarting */
  else if (attempts == 2)
    return; /* no answer: max_run_ns ends this attempt */
  else
    inturn_token_finish(token);
}

int main(void) {
  inturn_retry retry = {.max_attempts = 3, .delay_ns = 50 * MS, .factor = 2};
  inturn_operation_options options = {
      .label = "a question",
      .max_run_ns = 100 * MS, /* for each attempt */
      /* The next attempt does not wait for the token of the one before. */
      .max_run_policy = INTURN_MAX_RUN_FREE,
      .retry = &retry,
  };
  inturn_queue queue;
  inturn_operation question;
  inturn_end end = INTURN_END_INIT;

  if (inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue) != INTURN_OK ||
      inturn_queue_enqueue_with(queue, &options, ask, NULL, NULL, &question) !=
          INTURN_OK)
    return 1;
  inturn_operation_wait(question, -1, &end);
  puts(end.outcome == INTURN_FINISHED ? "the answer" : "no answer in time");
  inturn_operation_release(question);
  inturn_queue_destroy(queue);
}
