/* Shows how far a queue has come: a bar on a terminal, a line for each step in
   a pipe. */
#include <inturn.h>

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void show(void *context, const inturn_change *change) {
  int done = (int)change->after.integer, total = (int)change->after.total;
  (void)context;
  if (isatty(STDOUT_FILENO))
    printf("\r[%.*s%.*s]%s", done, "#####", total - done, ".....",
           done < total ? "" : "\n");
  else if (done > 0)
    printf("%d of %d\n", done, total);
  fflush(stdout);
}

static void convert(void *photo, inturn_token token) {
  (void)photo;
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* the work */
  inturn_token_finish(token);
}

int main(void) {
  inturn_queue_options options = {.label = "photos"};
  inturn_queue queue;
  inturn_value progress;
  if (inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue) != INTURN_OK)
    return 1;
  inturn_queue_suspend(queue); /* until all are there, for the total */
  for (int photo = 0; photo < 5; photo++)
    inturn_queue_enqueue(queue, convert, NULL, NULL, NULL);
  inturn_queue_create_value(queue, INTURN_QUEUE_PROGRESS, &progress);
  inturn_value_observe(progress, NULL, show, NULL, NULL, NULL);
  inturn_queue_resume(queue);
  inturn_queue_drain(queue, -1);
  inturn_value_drain(progress, -1);
  inturn_value_destroy(progress);
  inturn_queue_destroy(queue);
}
