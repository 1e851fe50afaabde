/*
 * A program as a user writes it: it knows inturn.h and nothing else of the
 * repository. Three operations end in turn, each finished by another thread.
 */
#include <inturn.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static inturn_token open_token;

static void check(const char *what, inturn_status status) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s: %s\n", what, inturn_status_message(status));
    exit(1);
  }
}

static void *finish(void *unused) {
  (void)unused;
  check("finish", inturn_token_finish(open_token));
  return NULL;
}

static void work(void *context, inturn_token token) {
  pthread_t thread;
  printf("%s\n", (const char *)context);
  open_token = token;
  if (pthread_create(&thread, NULL, finish, NULL) != 0 ||
      pthread_detach(thread) != 0) {
    exit(1);
  }
}

int main(void) {
  static char names[][8] = {"first", "second", "third"};
  inturn_queue queue;

  if (inturn_version() != INTURN_VERSION) {
    fprintf(stderr, "the library has another version than the header\n");
    return 1;
  }
  check("create", inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue));
  for (int i = 0; i < 3; i++) {
    check("enqueue", inturn_queue_enqueue(queue, work, names[i], NULL, NULL));
  }
  check("drain", inturn_queue_drain(queue, -1));
  check("destroy", inturn_queue_destroy(queue));
  return 0;
}
