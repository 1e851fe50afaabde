/* Ctrl-C or SIGTERM: accepts nothing more, finishes the rest, and exits. */
#include <inturn.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static void handle(void *order, inturn_token token) {
  nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
  printf("order %d is done\n", (int)(intptr_t)order);
  inturn_token_finish(token);
}

int main(void) {
  sigset_t signals;
  inturn_queue queue;
  int number;

  /* Before the first queue, so that no thread of the program handles them. */
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);

  if (inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue) != INTURN_OK)
    return 1;
  for (intptr_t order = 1; order <= 3; order++)
    inturn_queue_enqueue(queue, handle, (void *)order, NULL, NULL);
  puts("working; Ctrl-C ends it");
  fflush(stdout);
  sigwait(&signals, &number);

  inturn_queue_close(queue); /* a new order gets INTURN_E_CLOSED */
  if (inturn_queue_drain(queue, 5000000000) == INTURN_OK)
    puts("all is done");
  inturn_queue_destroy(queue); /* work that hangs is cancelled */
}
