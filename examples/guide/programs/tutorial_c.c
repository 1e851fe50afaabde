/* The tutorial's uploader, step by step. */
#include <inturn.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Stands for a library: it uploads in the background, and calls back on a
   thread of its own. */
typedef void (*upload_done)(const char *photo, bool arrived, uint64_t context);

typedef struct request {
  const char *photo;
  upload_done done;
  uint64_t context;
} request;

static void *upload_in_background(void *argument) {
  request *self = argument;
  const long ms = strcmp(self->photo, "beach.jpg") == 0 ? 30 : 10;
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
  self->done(self->photo, strcmp(self->photo, "broken.jpg") != 0,
             self->context);
  free(self);
  return NULL;
}

static void start_upload(const char *photo, upload_done done,
                         uint64_t context) {
  pthread_t thread;
  request *self = malloc(sizeof *self);
  if (self == NULL)
    abort();
  *self = (request){photo, done, context};
  if (pthread_create(&thread, NULL, upload_in_background, self) != 0)
    abort();
  pthread_detach(thread);
}

/* --- the work */

static void done(const char *photo, bool arrived, uint64_t context) {
  inturn_token token = {context};
  if (!arrived) {
    inturn_token_fail(token, 1);
    return;
  }
  printf("arrived: %s\n", photo);
  inturn_token_finish(token);
}

static void upload(void *photo, inturn_token token) {
  printf("starting: %s\n", (const char *)photo);
  start_upload(photo, done, token.bits);
}

/* --- in order */

static inturn_queue new_queue(void) {
  inturn_queue queue;
  if (inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue) != INTURN_OK)
    abort();
  return queue;
}

static void in_order(void) {
  inturn_queue queue = new_queue();
  inturn_queue_enqueue(queue, upload, "beach.jpg", NULL, NULL);
  inturn_queue_enqueue(queue, upload, "city.jpg", NULL, NULL);
  inturn_queue_drain(queue, -1);
  inturn_queue_destroy(queue);
}

/* --- told of the end */

static void on_end(void *context, const inturn_end *end) {
  (void)context;
  printf("ended: %s %s\n", end->label,
         end->outcome == INTURN_FINISHED ? "finished" : "failed");
}

static void told_of_the_end(void) {
  char *photos[] = {"broken.jpg", "city.jpg"};
  inturn_queue queue = new_queue();
  for (int i = 0; i < 2; i++) {
    inturn_operation_options options = {.label = photos[i], .on_end = on_end};
    inturn_queue_enqueue_with(queue, &options, upload, photos[i], NULL, NULL);
  }
  inturn_queue_drain(queue, -1);
  inturn_queue_destroy(queue);
}

/* --- cancelled */

static const char *how(inturn_operation operation) {
  inturn_end end = INTURN_END_INIT;
  inturn_operation_wait(operation, -1, &end);
  inturn_operation_release(operation);
  return end.outcome == INTURN_FINISHED ? "finished" : "cancelled";
}

static void cancelled(void) {
  inturn_queue queue = new_queue();
  inturn_operation first, second;
  inturn_queue_suspend(queue); /* so that nothing starts yet */
  inturn_queue_enqueue(queue, upload, "beach.jpg", NULL, &first);
  inturn_queue_enqueue(queue, upload, "city.jpg", NULL, &second);
  inturn_operation_cancel(first);
  inturn_queue_resume(queue);
  inturn_queue_close(queue);
  inturn_queue_drain(queue, 10000000000); /* for at most 10 seconds */
  printf("beach.jpg: %s\n", how(first));
  printf("city.jpg: %s\n", how(second));
  inturn_queue_destroy(queue);
}

/* --- all of it */

int main(void) {
  in_order();
  told_of_the_end();
  cancelled();
}
