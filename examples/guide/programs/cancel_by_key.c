/* Thumbnails for two albums; the user closes one of them. */
#include <inturn.h>

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t started, closed;

static void make(void *photo, inturn_token token) {
  const char *name = photo;
  if (name[0] == 'p' && name[6] == '1') {
    sem_post(&started);
    sem_wait(&closed); /* it takes so long that the user loses interest */
  }
  printf("made %s\n", name);
  inturn_token_finish(token);
}

int main(void) {
  const char *const photos[] = {"paris 1", "paris 2", "paris 3",
                                "rome 1",  "rome 2",  "rome 3"};
  inturn_queue_options queue_options = {.label = "thumbnails"};
  inturn_queue queue;
  uint64_t cancelled = 0;
  sem_init(&started, 0, 0);
  sem_init(&closed, 0, 0);
  if (inturn_queue_create(INTURN_QUEUE_FIFO, &queue_options, &queue) != 0)
    return 1;
  for (int i = 0; i < 6; i++) {
    inturn_operation_options options = {.key = i < 3 ? "paris" : "rome"};
    inturn_queue_enqueue_with(queue, &options, make, (void *)photos[i], NULL,
                              NULL);
  }
  sem_wait(&started);
  inturn_queue_cancel_key(queue, "rome", &cancelled);
  printf("cancelled %" PRIu64 " of rome\n", cancelled);
  sem_post(&closed);
  inturn_queue_drain(queue, -1);
  inturn_queue_destroy(queue);
}
