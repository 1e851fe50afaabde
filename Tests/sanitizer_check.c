/*
 * Proves that a sanitizer sees what happens in calls of the library: does, on
 * request, what must be reported. Tests/run runs it before it believes a clean
 * run.
 *
 *   sanitizer_check race    two operations change one variable, unordered
 *   sanitizer_check leak    operations lose memory
 *   sanitizer_check clean   neither
 */
#define _POSIX_C_SOURCE 200112L /* barriers */
#include <inturn.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int leaks;
static int races;
static int shared;
static pthread_barrier_t together;

static void check(inturn_status status) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s\n", inturn_status_name(status));
    _Exit(2);
  }
}

static void work(void *context, inturn_token token) {
  /* Both run at once, so that nothing of the library orders what follows. */
  pthread_barrier_wait(&together);
  if (races) {
    shared++;
  }
  if (leaks) {
    /* Many, as a register or a stack may still hold the last one. */
    for (int i = 0; i < 100; i++) {
      void *volatile lost = malloc(1);
      lost = NULL;
      (void)lost;
    }
  }
  free(context);
  check(inturn_token_finish(token));
}

int main(int argc, char **argv) {
  races = argc == 2 && strcmp(argv[1], "race") == 0;
  leaks = argc == 2 && strcmp(argv[1], "leak") == 0;
  pthread_barrier_init(&together, NULL, 2);

  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.max_concurrent = 2;
  inturn_queue queue;
  check(inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue));
  check(inturn_queue_enqueue(queue, work, malloc(1), NULL, NULL));
  check(inturn_queue_enqueue(queue, work, malloc(1), NULL, NULL));
  check(inturn_queue_drain(queue, -1));
  check(inturn_queue_destroy(queue));

  pthread_barrier_destroy(&together);
  return 0;
}
