#include <inturn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void arrival(const char *photo, inturn_token token);
static arrival arrived;

typedef struct {
  const char *photo;
  inturn_token token;
  arrival *then;
} request;

static void *send_photo(void *context) {
  request sent = *(request *)context;
  free(context);
  usleep(sent.photo[6] == '1' ? 300000 : 100000);
  sent.then(sent.photo, sent.token);
  return NULL;
}

static void start_upload(const char *photo, inturn_token token, arrival *then) {
  request *sent = malloc(sizeof *sent);
  if (sent == NULL)
    abort();
  *sent = (request){photo, token, then};
  pthread_t thread;
  if (pthread_create(&thread, NULL, send_photo, sent) != 0)
    abort();
  pthread_detach(thread);
}

// SNIPPET

int main(void) {
  inturn_queue queue;
  if (inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue) != INTURN_OK)
    return 1;
  upload_all(queue, (char *[]){"photo 1", "photo 2", "photo 3"});
  inturn_queue_destroy(queue);
  return 0;
}
