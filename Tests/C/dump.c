/*
 * dump.c - a snapshot is written in each format.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

/* A dump as a string, which the caller frees. */
static char *dumped(inturn_dump_format format) {
  FILE *file = tmpfile();
  CHECK(file != NULL);
  CHECK_OK(inturn_dump(fileno(file), format));
  long size = lseek(fileno(file), 0, SEEK_END);
  char *text = calloc(1, (size_t)size + 1);
  CHECK(text != NULL);
  CHECK_INT(pread(fileno(file), text, (size_t)size, 0), size);
  CHECK_INT(strlen(text), size);
  fclose(file);
  return text;
}

/* A queue: one operation runs, one comes after it, and three are plain. */
typedef struct scene {
  inturn_queue queue;
  inturn_token token;
  inturn_operation save;
  char id[24]; /* of `save` */
} scene;

static void scene_begin(scene *scene) {
  scene->queue = labelled_queue(INTURN_QUEUE_FIFO, "net \"<work>\\\n\"");
  hold(scene->queue, "login", &scene->token);
  inturn_operation_options options = labelled("s\xc3\xa4ve");
  inturn_operation first;
  CHECK_OK(inturn_queue_enqueue_with(scene->queue, &options, just_finish, NULL,
                                     NULL, &first));
  options.after = &first;
  options.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(scene->queue, &options, just_finish, NULL,
                                     NULL, &scene->save));
  CHECK_OK(inturn_operation_release(first));
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_enqueue(scene->queue, just_finish, NULL, NULL, NULL));
  snprintf(scene->id, sizeof scene->id, "0x%llx",
           (unsigned long long)scene->save.bits);
  stall reason;
  do {
    reason = reason_of(scene->save);
  } while (!stall_says(&reason, "its token has not been finished"));
}

static void scene_end(scene *scene) {
  CHECK_OK(inturn_token_finish(scene->token));
  drain_and_destroy(scene->queue);
  CHECK_OK(inturn_operation_release(scene->save));
}

#define CHECK_HAS(text, part) CHECK(strstr(text, part) != NULL)

static void text_has_a_line_for_each(void) {
  scene scene;
  scene_begin(&scene);
  char *text = dumped(INTURN_DUMP_TEXT), line[256];
  CHECK_HAS(text, " \"net \\\"<work>\\\\ \\\"\" fifo turn id=0x");
  CHECK_HAS(text, " pending=5 running=1 executor=0x");
  CHECK_HAS(text, " \"login\" running token id=0x");
  snprintf(line, sizeof line,
           "  operation \"s\xc3\xa4ve\" pending after id=%s count=1 ",
           scene.id);
  CHECK_HAS(text, line);
  CHECK_HAS(text, "  operation pending turn count=3 queue=0x");
  CHECK_HAS(text, "dump.c\" line=");
  free(text);
  scene_end(&scene);
}

static void json_has_an_object_for_each(void) {
  scene scene;
  scene_begin(&scene);
  char *text = dumped(INTURN_DUMP_JSON), part[256];
  CHECK_INT(strncmp(text, "{\"now_ns\":", 10), 0);
  CHECK_HAS(text, "[\n{\"kind\"");
  CHECK_HAS(text, "},\n{\"kind\"");
  CHECK_HAS(text, ",\"label\":\"net \\\"\\u003cwork>\\\\\\u000a\\\"\"}");
  snprintf(part, sizeof part,
           "{\"kind\":\"operation\",\"state\":\"pending\",\"cause\":\"after\","
           "\"id\":\"%s\",\"count\":1,\"queue\":\"0x",
           scene.id);
  CHECK_HAS(text, part);
  snprintf(part, sizeof part, "{\"kind\":\"after\",\"queue\":\"0x%llx\"",
           (unsigned long long)scene.queue.bits);
  CHECK_HAS(text, part);
  CHECK_HAS(text, "dump.c\",\"line\":");
  CHECK_INT(strcmp(text + strlen(text) - 4, "\n]}\n"), 0);
  free(text);
  scene_end(&scene);
}

static void dot_has_an_arrow_for_each_that_waits(void) {
  scene scene;
  scene_begin(&scene);
  char *text = dumped(INTURN_DUMP_DOT), part[256];
  CHECK_INT(strncmp(text, "digraph inturn {\n", 17), 0);
  CHECK_HAS(text, "label=\"net \\\"<work>\\\\ \\\"\"");
  snprintf(part, sizeof part, "\"%s\" -> \"0x", scene.id);
  CHECK_HAS(text, part);
  snprintf(part, sizeof part, "plain1 -> \"0x%llx\";\n",
           (unsigned long long)scene.queue.bits);
  CHECK_HAS(text, part);
  CHECK_INT(strcmp(text + strlen(text) - 3, "\n}\n"), 0);
  free(text);
  scene_end(&scene);
}

static void a_page_has_all_that_it_shows(void) {
  scene scene;
  scene_begin(&scene);
  char *text = dumped(INTURN_DUMP_HTML);
  CHECK_INT(strncmp(text, "<!DOCTYPE html>", 15), 0);
  CHECK_HAS(text, "\"label\":\"net \\\"\\u003cwork>\\\\\\u000a\\\"\"}");
  /* The page fetches nothing. */
  CHECK(strstr(text, "src=") == NULL && strstr(text, "<link") == NULL);
  CHECK_INT(strcmp(text + strlen(text) - 8, "</html>\n"), 0);
  free(text);
  scene_end(&scene);
}

static volatile sig_atomic_t broken_pipes;

static void count_broken_pipe(int signal) {
  (void)signal;
  broken_pipes++;
}

static void where_nothing_can_be_written_it_says_so(void) {
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  CHECK_STATUS(inturn_dump(ends[0], INTURN_DUMP_TEXT),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_dump(-1, INTURN_DUMP_TEXT), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_dump(ends[1], (inturn_dump_format)0),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_dump(ends[1], (inturn_dump_format)5),
               INTURN_E_INVALID_ARGUMENT);
  close(ends[0]);
  signal(SIGPIPE, count_broken_pipe);
  CHECK_STATUS(inturn_dump(ends[1], INTURN_DUMP_TEXT),
               INTURN_E_INVALID_ARGUMENT);
  signal(SIGPIPE, SIG_DFL);
  CHECK_INT(broken_pipes, 1);
  close(ends[1]);
}

static int slow_pipe[2];

/* Makes room in the pipe, for as much as it holds at most. */
static void read_some(int signal) {
  static char some[65536];
  const int error = errno;
  (void)signal;
  CHECK(read(slow_pipe[0], some, sizeof some) != 0);
  errno = error;
}

static void one_that_does_not_block_is_waited_for(void) {
  enum { COUNT = 2000 }; /* several times what the pipe holds */
  const struct itimerval often = {{0, 1000}, {0, 1000}},
                         never = {{0, 0}, {0, 0}};
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < COUNT; i++) {
    inturn_operation_options options = labelled("photo");
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                       NULL));
  }
  CHECK_INT(pipe(slow_pipe), 0);
  for (int i = 0; i < 2; i++)
    CHECK_INT(fcntl(slow_pipe[i], F_SETFL, O_NONBLOCK), 0);
  const struct sigaction reading = {.sa_handler = read_some};
  CHECK_INT(sigaction(SIGALRM, &reading, NULL), 0);
  CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
  CHECK_OK(inturn_dump(slow_pipe[1], INTURN_DUMP_TEXT));
  CHECK_INT(setitimer(ITIMER_REAL, &never, NULL), 0);
  signal(SIGALRM, SIG_IGN);
  close(slow_pipe[0]);
  close(slow_pipe[1]);
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
}

PROGRAM(dump, TEST(text_has_a_line_for_each), TEST(json_has_an_object_for_each),
        TEST(dot_has_an_arrow_for_each_that_waits),
        TEST(a_page_has_all_that_it_shows),
        TEST(where_nothing_can_be_written_it_says_so),
        TEST(one_that_does_not_block_is_waited_for))
