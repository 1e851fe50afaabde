/* A queue that is stuck, and what the library says about it. */
#include <inturn.h>

#include <semaphore.h>
#include <stdio.h>

static sem_t reported;

static void tell(void *context, const inturn_report *report) {
  (void)context;
  printf("%s\n", report->message);
  sem_post(&reported);
}

static void upload(void *context, inturn_token token) {
  (void)context, (void)token; /* the callback that would finish it is lost */
}

static void add(inturn_queue queue, const char *label) {
  inturn_operation_options options = {.label = label};
  inturn_queue_enqueue_with(queue, &options, upload, NULL, NULL, NULL);
}

int main(void) {
  inturn_queue_options options = {.label = "uploads"};
  inturn_operation_info left[2] = {INTURN_OPERATION_INFO_INIT,
                                   INTURN_OPERATION_INFO_INIT};
  size_t count = 0;
  inturn_queue queue;
  sem_init(&reported, 0, 0);
  inturn_report_set_stall_limit(
      200000000); /* on a terminal, it is 1 s without this */
  inturn_report_set_handler(tell, NULL, NULL);
  if (inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue) != INTURN_OK)
    return 1;
  add(queue, "photo 1");
  add(queue, "photo 2");
  sem_wait(&reported);
  inturn_queue_list(queue, left, 2, &count);
  for (size_t i = 0; i < count; i++)
    printf("%s is %s\n", left[i].label,
           left[i].state == INTURN_RUNNING ? "running" : "pending");
  inturn_queue_destroy(queue);
}
