/*
 * trace.c - the recorder: what it keeps, and what is written of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace.h"

#include <sys/prctl.h>
#include <unistd.h>

static void nothing_is_recorded_before_the_start(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "database");
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_INT(written_count_of("database"), 0);
  CHECK_OK(inturn_trace_start(0));
  CHECK_INT(written_count_of("database"), 0);
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_OK(inturn_trace_stop());
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_INT(written_count_of("enqueue database"), 1);
  /* Starting again forgets it. */
  CHECK_OK(inturn_trace_start(0));
  CHECK_INT(written_count_of("enqueue database"), 0);
  drain_and_destroy(queue);
}

/* Plain operations, with options, with a handle, with a priority: each kind of
   queue has an arrow from each enqueue to its start, and on to its end. */
static void each_operation_has_its_arrows(void) {
  begin_again();
  const inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR,
                                     INTURN_QUEUE_CONCURRENT};
  enum { ROUNDS = 100 };
  for (int kind = 0; kind < 3; kind++) {
    inturn_queue queue = labelled_queue(kinds[kind], "uploads");
    for (int i = 0; i < ROUNDS; i++) {
      inturn_operation_options options = labelled("photo");
      inturn_operation operation;
      CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
      CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL,
                                         NULL, NULL));
      CHECK_OK(
          inturn_queue_enqueue(queue, just_finish, NULL, NULL, &operation));
      CHECK_OK(inturn_operation_release(operation));
    }
    drain_and_destroy(queue);
  }
  enum { ALL = 3 * 3 * ROUNDS };
  char *text = written();
  CHECK_INT(count_of(text, "\"name\":\"enqueue uploads\""), ALL);
  CHECK_INT(count_of(text, "\"name\":\"finish photo\""), ALL / 3);
  CHECK_INT(count_of(text, "\"outcome\":\"finished\""), ALL);
  CHECK_INT(count_of(text, "\"name\":\"enqueued\""), 2 * ALL);
  CHECK_INT(count_of(text, "\"name\":\"ended\""), 2 * ALL);
  CHECK_INT(count_of(text, "trace.c:"), 2 * ALL);
  free(text);
}

static void an_arrow_leads_to_what_an_end_lets_start(void) {
  begin_again();
  inturn_queue first = labelled_queue(INTURN_QUEUE_FIFO, "first");
  inturn_queue second = labelled_queue(INTURN_QUEUE_FIFO, "second");
  inturn_token token;
  hold(first, "holder", &token);
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue(first, just_finish, NULL, NULL, &operation));
  inturn_operation_options options = labelled("later");
  options.after = &operation;
  options.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(second, &options, just_finish, NULL, NULL,
                                     NULL));
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(first);
  drain_and_destroy(second);
  CHECK_OK(inturn_operation_release(operation));
  char *text = written();
  CHECK_INT(count_of(text, "\"name\":\"next\""), 2);
  CHECK_INT(count_of(text, "\"name\":\"released\""), 2);
  free(text);
}

/* Short-lived queues use the same memory, one after the other. */
static void what_ends_after_its_call_lets_the_next_one_start(void) {
  begin_again();
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_token token;
  CHECK_OK(inturn_queue_enqueue(stage.queue, keep_token, &token, NULL, NULL));
  CHECK_OK(inturn_queue_enqueue(stage.queue, just_finish, NULL, NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_token_finish(token));
  stage_drain(&stage);
  CHECK_OK(inturn_queue_drain(stage.queue, 0));
  stage_destroy(&stage);
}

static void each_queue_has_its_own_name(void) {
  begin_again();
  const char *labels[] = {"first", "second", "third"};
  enum { ROUNDS = 200 };
  for (int i = 0; i < 3 * ROUNDS; i++) {
    inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, labels[i % 3]);
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
    drain_and_destroy(queue);
  }
  char *text = written();
  CHECK_INT(count_of(text, "\"name\":\"enqueue first\""), ROUNDS);
  CHECK_INT(count_of(text, "\"name\":\"enqueue second\""), ROUNDS);
  CHECK_INT(count_of(text, "\"name\":\"enqueue third\""), ROUNDS);
  free(text);
}

/* Not at once: its name is looked up now and then. */
static void a_thread_that_is_renamed_gets_its_new_name(void) {
  begin_again();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  for (int i = 0; i < 5000; i++) {
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
    if (i == 0)
      CHECK_INT(prctl(PR_SET_NAME, "renamed"), 0);
  }
  drain_and_destroy(queue);
  CHECK(written_count_of("\"renamed") > 0);
}

/* Its last operation has ended before the call of it is seen to have returned.
 */
static void a_queue_is_destroyed_while_its_work_returns(void) {
  begin_again();
  enum { ROUNDS = 200 };
  for (int i = 0; i < ROUNDS; i++) {
    inturn_queue_kind kind =
        i % 2 == 0 ? INTURN_QUEUE_FIFO : INTURN_QUEUE_CONCURRENT;
    inturn_queue queue = labelled_queue(kind, "uploads");
    inturn_operation_options options = labelled("photo");
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                       NULL));
    drain_and_destroy(queue);
  }
  CHECK_INT(written_count_of("\"outcome\":\"finished\""), 2 * ROUNDS);
}

static void what_is_cancelled_or_moved_has_no_false_arrow(void) {
  begin_again();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  inturn_token token;
  hold(queue, "holder", &token);
  for (int i = 0; i < 10; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_cancel_all(queue));
  for (int i = 0; i < 10; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
  /* Of the holder and of the later ten. */
  CHECK_INT(written_count_of("\"name\":\"enqueued\""), 2 * 11);
}

static void a_child_has_a_recorder_of_its_own(void) {
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "parent's");
  begin_again();
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    inturn_queue own = labelled_queue(INTURN_QUEUE_FIFO, "child's");
    CHECK_INT(written_count_of("parent's"), 0);
    begin_again();
    CHECK_OK(inturn_queue_enqueue(own, just_finish, NULL, NULL, NULL));
    CHECK_OK(inturn_queue_drain(own, LIMIT_NS));
    CHECK_INT(written_count_of("enqueue child's"), 1);
    CHECK_INT(written_count_of("parent's"), 0);
    _exit(0);
  }
  CHECK_INT(wait_for_child(child), 0);
  CHECK_INT(written_count_of("enqueue parent's"), 1);
  drain_and_destroy(queue);
}

/* What the last report says of the last steps. */
static char steps[1 << 14];

static void take_steps(void *context, const inturn_report *report) {
  (void)context;
  CHECK(report->size >= sizeof *report);
  snprintf(steps, sizeof steps, "%s", report->steps ? report->steps : "none");
}

static void take_stall(const inturn_report *report) {
  take_steps(NULL, report);
}

/* The steps in a dump, as a string, which the caller frees. */
static char *dumped(inturn_dump_format format) {
  FILE *file = tmpfile();
  CHECK(file != NULL);
  CHECK_OK(inturn_dump(fileno(file), format));
  char *text = all_of(file);
  fclose(file);
  return text;
}

static void a_report_has_the_last_steps(void) {
  inturn_queue other = labelled_queue(INTURN_QUEUE_FIFO, "other");
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads\n");
  inturn_token token;
  begin_again();
  CHECK_OK(inturn_queue_enqueue(other, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(other, LIMIT_NS));
  for (int i = 0; i < 20; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  hold(queue, "photo", &token);
  inturn_operation_options options = labelled("last\xc2\x9b");
  inturn_operation last;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &last));
  CHECK_OK(inturn_why(last, take_steps, NULL));
  CHECK_INT(count_of(steps, "before: enqueued"), 8);
  CHECK_INT(count_of(steps, "before: started"), 8);
  CHECK_INT(count_of(steps, "before: finished ("), 7);
  CHECK_INT(count_of(steps, ", queue \"uploads \", thread "), 23);
  CHECK_INT(count_of(steps, "trace.c:"), 21);
  CHECK_INT(count_of(steps, "\n"), 23);
  CHECK_INT(count_of(steps, "started \"photo\" ("), 1);
  /* The oldest is first. */
  const char *line = steps + strlen(steps) - 2;
  while (line[-1] != '\n')
    line--;
  CHECK(strstr(line, "enqueued \"last  \" (") != NULL);

  /* A dump has those of all queues, a report of something stuck has its own. */
  char *text = dumped(INTURN_DUMP_TEXT), *json = dumped(INTURN_DUMP_JSON);
  CHECK_INT(count_of(text, "\nlast steps:\n"), 1);
  CHECK_INT(count_of(text, "before: enqueued"), 8);
  CHECK_INT(count_of(text, "queue \"other\", thread "), 0);
  CHECK_INT(count_of(json, ",\"steps\":\""), 1);
  CHECK_INT(count_of(json, ", queue \\\"uploads \\\", thread "), 23);
  free(text);
  free(json);
  steps[0] = 0;
  stalls_told = take_stall;
  stalls_begin(STALL_NS);
  STALL("token photo@uploads\n");
  stalls_end();
  stalls_told = NULL;
  CHECK_INT(count_of(steps, "\n"), 23);

  /* What was recorded before the last start is not told. */
  begin_again();
  CHECK_OK(inturn_why(last, take_steps, NULL));
  CHECK_TEXT(steps, "none");
  CHECK_OK(inturn_queue_suspend(queue));
  drain_and_destroy(other);
  CHECK_OK(inturn_why(last, take_steps, NULL));
  CHECK_INT(count_of(steps, "before: suspended, queue \"uploads \""), 1);
  CHECK_INT(count_of(steps, "\n"), 1);
  CHECK_OK(inturn_queue_resume(queue));
  CHECK_OK(inturn_token_finish(token));
  CHECK_OK(inturn_operation_release(last));
  drain_and_destroy(queue);
}

/* Runs this program anew with the setting, where it is traced. What it says on
   the standard error goes to a room. */
static pid_t run_traced(const char *setting, char *said, size_t size) {
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  CHECK_INT(setenv("INTURN_TRACE", setting, 1), 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/proc/self/exe", "trace", (char *)NULL);
    _exit(1);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(ends[0], said + length, size - 1 - length)) > 0)
    length += (size_t)got;
  said[length] = '\0';
  close(ends[0]);
  if (strstr(said, "no thread can be started") != NULL)
    refused_at(__FILE__, __LINE__, "a thread of the child");
  CHECK_INT(wait_for_child(child), 0);
  return child;
}

static void the_environment_asks_for_a_file(void) {
  char folder[] = "/tmp/inturn-trace-XXXXXX", path[64], said[256];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/%%p.json", folder);
  pid_t child = run_traced(path, said, sizeof said);
  CHECK_TEXT(said, "");
  snprintf(path, sizeof path, "%s/%d.json", folder, (int)child);
  FILE *made = fopen(path, "r");
  CHECK(made != NULL);
  char text[1 << 14] = "";
  CHECK(fread(text, 1, sizeof text - 1, made) > 0);
  fclose(made);
  CHECK_INT(count_of(text, "\"name\":\"enqueue of the environment\""), 1);
  CHECK_INT(remove(path), 0);
  CHECK_INT(remove(folder), 0);
  /* Now the folder is gone. */
  run_traced(path, said, sizeof said);
  CHECK(strstr(said, "inturn: INTURN_TRACE: cannot write /tmp/") == said);
}

__attribute__((constructor)) static void be_traced(void) {
  const char *path = getenv("INTURN_TRACE");
  if (path == NULL || strstr(path, "inturn-trace-") == NULL)
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "of the environment");
  CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  drain_and_destroy(queue);
  exit(0);
}

static void what_cannot_be_is_refused(void) {
  CHECK_STATUS(inturn_trace_start(((size_t)1 << 40) + 1),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_trace_start((size_t)-1), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_trace_stop());
  CHECK_STATUS(inturn_trace_write(-2), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_trace_write(-1), INTURN_E_UNSUPPORTED);
  begin_again();
  begin_again();
  CHECK_STATUS(inturn_trace_write(-2), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_trace_stop());
  CHECK_OK(inturn_trace_stop());
}

PROGRAM(trace, TEST(nothing_is_recorded_before_the_start),
        TEST(each_operation_has_its_arrows),
        TEST(an_arrow_leads_to_what_an_end_lets_start),
        TEST(what_ends_after_its_call_lets_the_next_one_start),
        TEST(each_queue_has_its_own_name),
        TEST(a_thread_that_is_renamed_gets_its_new_name),
        TEST(a_queue_is_destroyed_while_its_work_returns),
        TEST(what_is_cancelled_or_moved_has_no_false_arrow),

        TEST(a_report_has_the_last_steps),
        TEST(a_child_has_a_recorder_of_its_own),
        TEST(the_environment_asks_for_a_file), TEST(what_cannot_be_is_refused))
