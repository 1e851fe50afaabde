/* A web API that allows 20 requests a second. */
#include <inturn.h>

#include <stdio.h>

static void request(void *page, inturn_token token) { /* stands for a request */
  printf("%s%d", *(int *)page == 0 ? "pages [" : ", ", *(int *)page);
  inturn_token_finish(token);
}

int main(void) {
  inturn_queue_options options = {
      .label = "api",
      .rate = {.max_starts = 20, .burst = 1, .interval_ns = 1000000000}};
  inturn_queue api;
  int pages[] = {0, 1, 2, 3, 4, 5, 6};
  int64_t begin, end;
  if (inturn_queue_create(INTURN_QUEUE_FIFO, &options, &api) != INTURN_OK)
    return 1;
  inturn_clock_now((inturn_clock){0}, &begin);
  for (int i = 0; i < 7; i++)
    inturn_queue_enqueue(api, request, &pages[i], NULL, NULL);
  inturn_queue_drain(api, -1);
  inturn_clock_now((inturn_clock){0}, &end);
  inturn_queue_destroy(api);
  /* The first starts at once, and each other one 50 ms after the one before. */
  printf("]\nnot faster than the limit: %s\n",
         end - begin >= 300000000 ? "yes" : "no");
}
