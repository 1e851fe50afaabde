/*
 * dump.c - a snapshot is written in each format.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

#include <stdlib.h>
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
  close(ends[1]);
}

PROGRAM(dump, TEST(text_has_a_line_for_each), TEST(json_has_an_object_for_each),
        TEST(dot_has_an_arrow_for_each_that_waits),
        TEST(a_page_has_all_that_it_shows),
        TEST(where_nothing_can_be_written_it_says_so))
