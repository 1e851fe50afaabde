/* Work on an event loop of your own: here it is poll(). */
#include <inturn.h>

#include <poll.h>
#include <pthread.h>
#include <stdio.h>

static pthread_t loop_thread;
static int to_come = 3;

static void work(void *name, inturn_token token) {
  printf("%s, on the loop's thread: %s\n", (const char *)name,
         pthread_equal(pthread_self(), loop_thread) ? "yes" : "no");
  to_come--;
  inturn_token_finish(token);
}

/* Any thread may enqueue; the loop wakes up. */
static void *produce(void *queue) {
  const char *names[] = {"first", "second", "third"};
  for (int i = 0; i < 3; i++)
    inturn_queue_enqueue(*(inturn_queue *)queue, work, (void *)names[i], NULL,
                         NULL);
  return NULL;
}

int main(void) {
  inturn_executor executor;
  inturn_queue_options options = {.label = "work"};
  inturn_queue queue;
  struct pollfd watched = {.events = POLLIN};
  pthread_t producer;

  if (inturn_executor_create(NULL, &executor) != INTURN_OK ||
      inturn_executor_fd(executor, &watched.fd) != INTURN_OK)
    return 1;
  options.executor = executor;
  if (inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue) != INTURN_OK)
    return 1;
  loop_thread = pthread_self();
  pthread_create(&producer, NULL, produce, &queue);

  while (to_come > 0) {
    poll(&watched, 1, -1); /* with everything else that the loop watches */
    if (watched.revents & POLLIN)
      inturn_executor_drain(executor, 16, NULL); /* at most 16 calls a turn */
  }

  pthread_join(producer, NULL);
  inturn_queue_destroy(queue);
  inturn_executor_destroy(executor);
}
