/* A build: two files are compiled side by side, then linked, then tested. */
#include <inturn.h>

#include <stdio.h>

static void compile(void *file, inturn_token token) {
  (void)file; /* start a compiler here, and finish the token at its end */
  inturn_token_finish(token);
}

static void say(void *name, inturn_token token) {
  puts(name);
  inturn_token_finish(token);
}

int main(void) {
  inturn_batch_item items[] = {
      {.work = compile, .context = "a.c"},
      {.work = compile, .context = "b.c"},
      {.work = say, .context = "link"},
      {.work = say, .context = "test"},
  };
  /* Link comes after both, test after link. */
  inturn_batch_edge edges[] = {{2, 0}, {2, 1}, {3, 2}};
  inturn_operation_options operation = {.after_policy = INTURN_AFTER_FINISHED};
  inturn_batch_options options = {.policy = INTURN_BATCH_FIRST_ERROR,
                                  .operation = &operation,
                                  .edges = edges,
                                  .edge_count = 3};
  inturn_queue_options build_options = {.max_concurrent = 4};
  inturn_queue build;
  inturn_batch batch;
  inturn_batch_end end = INTURN_BATCH_END_INIT;

  if (inturn_queue_create(INTURN_QUEUE_CONCURRENT, &build_options, &build) !=
          INTURN_OK ||
      inturn_queue_enqueue_batch(build, &options, items, 4, &batch) !=
          INTURN_OK)
    return 1;
  inturn_batch_wait(batch, -1, &end);
  printf("%s, %zu of %zu\n",
         end.outcome == INTURN_FINISHED ? "finished" : "failed", end.finished,
         end.count);
  inturn_batch_release(batch);
  inturn_queue_destroy(build);
}
