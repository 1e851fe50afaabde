/*
 * The C library as a target of a Swift package uses it: three operations end in
 * turn. CInturn.h is inturn.h with Clang's nullability.
 */
#include <CInturn.h>

#include <stdio.h>
#include <stdlib.h>

static void check(const char *what, inturn_status status) {
  if (status != INTURN_OK) {
    fprintf(stderr, "%s: %s\n", what, inturn_status_message(status));
    exit(1);
  }
}

static void work(void *context, inturn_token token) {
  printf("inturn: %s\n", (const char *)context);
  check("finish", inturn_token_finish(token));
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
