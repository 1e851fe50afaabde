/* Fetches twelve pages, at most three at a time. */
#include <inturn.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_int fetched, running, most;

/* Stands for a request: it takes a while, on a thread of its own. */
static void *fetch(void *context) {
  inturn_token *token = context;
  int now = atomic_fetch_add(&running, 1) + 1, before = atomic_load(&most);
  while (before < now && !atomic_compare_exchange_weak(&most, &before, now))
    continue;
  nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
  atomic_fetch_sub(&running, 1);
  atomic_fetch_add(&fetched, 1);
  inturn_token_finish(*token); /* the next page may start */
  free(token);
  return NULL;
}

static void start_fetch(void *page, inturn_token token) {
  pthread_t thread;
  inturn_token *copy = malloc(sizeof *copy);
  (void)page;
  if (copy != NULL)
    *copy = token;
  if (copy != NULL && pthread_create(&thread, NULL, fetch, copy) == 0) {
    pthread_detach(thread);
  } else {
    free(copy);
    inturn_token_fail(token, 1); /* it has ended, and the queue continues */
  }
}

int main(void) {
  inturn_queue_options options = {.label = "fetches", .max_concurrent = 3};
  inturn_queue queue;
  if (inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue) != 0)
    return 1;
  for (int page = 0; page < 12; page++)
    inturn_queue_enqueue(queue, start_fetch, NULL, NULL, NULL);
  inturn_queue_drain(queue, -1);
  inturn_queue_destroy(queue);
  printf("%d pages fetched\n", fetched);
  printf("never more than %d at a time\n", most);
}
