/*
 * sites.c - the lines that have enqueued operations and suspended queues, as
 * named by reports.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <stdlib.h>

/* A line as reports show it here. */
static const char *text_of(unsigned line) {
  static char text[32];
  snprintf(text, sizeof text, "sites.c:%u", line);
  return text;
}

/* Starts the stage's next operation, keeps its token there and loses it. The
   report must name the line before this one; for a call of two lines, compilers
   name the first or the second. */
#define CHECK_SITE_BEFORE(stage, token)                                        \
  check_site_at(__FILE__, __LINE__, stage, token, __LINE__ - 2, __LINE__ - 1)

/* The same with a line of this file; 0 if no line is named. */
#define CHECK_SITE(stage, token, line)                                         \
  check_site_at(__FILE__, __LINE__, stage, token, line, line)

static void check_site_at(const char *file, int at, stage *stage,
                          inturn_token *token, unsigned first, unsigned last) {
  reports reports;
  unsigned line = 0;
  stage_drain(stage);
  reports_begin(&reports);
  CHECK_OK(inturn_token_abandon(*token));
  reports_end();
  stage_drain(stage);
  bool is_known = sscanf(reports.site, "sites.c:%u", &line) == 1;
  if (is_known != (last > 0) || line < first || line > last)
    fail_at(file, at, "the site is %s", reports.site);
  const char *named = strstr(reports.message, "it was enqueued at ");
  if ((named != NULL) != is_known || (is_known && !strstr(named, reports.site)))
    fail_at(file, at, "the message is %s", reports.message);
}

static void the_site_of_each_way_in_is_known(void) {
  inturn_queue_kind kinds[] = {INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR,
                               INTURN_QUEUE_INTERACTION,
                               INTURN_QUEUE_CONCURRENT};
  for (int i = 0; i < 4; i++) {
    stage stage = stage_create(kinds[i]);
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation operation;
    inturn_batch_item item = {keep_token, NULL, NULL};
    inturn_token token;
    item.context = &token;
    CHECK_OK(inturn_queue_enqueue(stage.queue, keep_token, &token, NULL, NULL));
    CHECK_SITE_BEFORE(&stage, &token);
    CHECK_OK(inturn_queue_enqueue(stage.queue, keep_token, &token, NULL,
                                  &operation));
    CHECK_SITE_BEFORE(&stage, &token);
    CHECK_OK(inturn_operation_release(operation));
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, NULL, keep_token, &token,
                                       NULL, NULL));
    CHECK_SITE_BEFORE(&stage, &token);
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, keep_token,
                                       &token, NULL, NULL));
    CHECK_SITE_BEFORE(&stage, &token);
    options.label = "labelled";
    CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, keep_token,
                                       &token, NULL, NULL));
    CHECK_SITE_BEFORE(&stage, &token);
    CHECK_OK(inturn_queue_enqueue_batch(stage.queue, NULL, &item, 1, NULL));
    CHECK_SITE_BEFORE(&stage, &token);
    inturn_batch_options batch = INTURN_BATCH_OPTIONS_INIT;
    batch.operation = &options;
    CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &batch, &item, 1, NULL));
    CHECK_SITE_BEFORE(&stage, &token);
    stage_destroy(&stage);
  }
}

static void lose_token(void *context, inturn_token token) {
  CHECK(context == NULL);
  CHECK_OK(inturn_token_abandon(token));
}

/* It is not in the operation's own memory before its work has returned. */
static void a_site_is_known_while_the_work_is_called(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  reports reports;
  reports_begin(&reports);
  unsigned line = __LINE__ + 2;
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_enqueue(stage.queue, lose_token, NULL, NULL, NULL));
  stage_drain(&stage);
  CHECK_INT(gate_count(&reports.told), 3);
  CHECK_TEXT(reports.site, text_of(line));
  reports_end();
  stage_destroy(&stage);
}

/* Called by address or in parentheses, they are functions. */
static void what_is_not_called_by_a_macro_has_no_site(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_token token;
  CHECK_OK((inturn_queue_enqueue)(stage.queue, keep_token, &token, NULL, NULL));
  CHECK_SITE(&stage, &token, 0);
  CHECK_OK((inturn_queue_enqueue_with)(stage.queue, NULL, keep_token, &token,
                                       NULL, NULL));
  CHECK_SITE(&stage, &token, 0);
  inturn_batch_item item = {keep_token, &token, NULL};
  CHECK_OK((inturn_queue_enqueue_batch)(stage.queue, NULL, &item, 1, NULL));
  CHECK_SITE(&stage, &token, 0);
  CHECK_OK((inturn_queue_suspend)(stage.queue));
  CHECK_OK(inturn_queue_resume(stage.queue));
  CHECK_OK((inturn_queue_suspend_for)(stage.queue, "reason"));
  CHECK_OK(inturn_queue_resume_for(stage.queue, "reason"));
  stage_destroy(&stage);
}

static void a_site_may_be_none(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_site unknown = {NULL, NULL, 12, 0};
  inturn_site *sites[] = {NULL, &unknown};
  for (int i = 0; i < 2; i++) {
    inturn_token token;
    inturn_batch_item item = {keep_token, &token, NULL};
    CHECK_OK(inturn_queue_enqueue_at(sites[i], stage.queue, keep_token, &token,
                                     NULL, NULL));
    CHECK_SITE(&stage, &token, 0);
    CHECK_OK(inturn_queue_enqueue_with_at(sites[i], stage.queue, NULL,
                                          keep_token, &token, NULL, NULL));
    CHECK_SITE(&stage, &token, 0);
    CHECK_OK(inturn_queue_enqueue_batch_at(sites[i], stage.queue, NULL, &item,
                                           1, NULL));
    CHECK_SITE(&stage, &token, 0);
    CHECK_OK(inturn_queue_suspend_at(sites[i], stage.queue));
    CHECK_OK(inturn_queue_resume(stage.queue));
    CHECK_OK(inturn_queue_suspend_for_at(sites[i], stage.queue, "reason"));
    CHECK_OK(inturn_queue_resume_for(stage.queue, "reason"));
    CHECK_INT(unknown.number, 0);
  }
  stage_destroy(&stage);
}

/* As in a call from a function without options. */
static void what_is_refused_is_refused_at_a_site_too(void) {
  inturn_site site = {"sites.c", __func__, 1, 0};
  inturn_queue none = {0};
  gate destroyed = GATE_INIT;
  inturn_batch_item item = {just_finish, &destroyed, count_destroy};
  CHECK_STATUS(inturn_queue_enqueue_at(&site, none, just_finish, &destroyed,
                                       count_destroy, NULL),
               INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_queue_enqueue_with_at(&site, none, NULL, just_finish,
                                            &destroyed, count_destroy, NULL),
               INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_queue_enqueue_batch_at(&site, none, NULL, &item, 1, NULL),
               INTURN_E_NULL_HANDLE);
  CHECK_INT(gate_count(&destroyed), 3);
  CHECK_STATUS(inturn_queue_suspend_at(&site, none), INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_queue_suspend_for_at(&site, none, "reason"),
               INTURN_E_NULL_HANDLE);
  CHECK_STATUS(inturn_queue_suspend_for_at(&site, none, NULL),
               INTURN_E_INVALID_ARGUMENT);
}

/* The site's module may be unloaded. */
static void a_site_need_not_outlive_its_call(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_token token;
  inturn_site *site = malloc(sizeof *site);
  char *file = malloc(16);
  CHECK(site != NULL && file != NULL);
  strcpy(file, "sites.c");
  *site = (inturn_site){file, NULL, 77, 0};
  CHECK_OK(inturn_queue_enqueue_at(site, stage.queue, keep_token, &token, NULL,
                                   NULL));
  memset(file, 'x', 15);
  free(file);
  free(site);
  CHECK_SITE(&stage, &token, 77);
  stage_destroy(&stage);
}

/* Two threads use the same line, which has no number yet. */
enum { PLAYERS = 4 };
static inturn_site shared;
static inturn_queue shared_queue;

static void enqueue_shared(void *start) {
  gate_pass(start);
  GATE_WAIT((gate *)start, PLAYERS);
  CHECK_OK(inturn_queue_enqueue_at(&shared, shared_queue, just_finish, NULL,
                                   NULL, NULL));
}

static void a_line_has_one_number_whoever_says_it_first(void) {
  shared_queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  for (uint32_t round = 1; round <= 100; round++) {
    thread threads[PLAYERS];
    gate start = GATE_INIT;
    shared = (inturn_site){"sites.c", "shared", 1000 + round, 0};
    for (int i = 0; i < PLAYERS; i++)
      thread_start(&threads[i], enqueue_shared, &start);
    for (int i = 0; i < PLAYERS; i++)
      thread_join(&threads[i]);
    inturn_site again = {"sites.c", "shared", 1000 + round, 0};
    CHECK_OK(inturn_queue_enqueue_at(&again, shared_queue, just_finish, NULL,
                                     NULL, NULL));
    CHECK(again.number != 0);
    CHECK_INT(again.number, shared.number);
    inturn_site other = {"sites.c", "other", 1000 + round, 0};
    CHECK_OK(inturn_queue_suspend_at(&other, shared_queue));
    CHECK_OK(inturn_queue_resume(shared_queue));
    CHECK(other.number != shared.number);
  }
  drain_and_destroy(shared_queue);
}

static void the_site_is_known(void *site) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_token token;
  CHECK_OK(inturn_queue_enqueue_at(site, stage.queue, keep_token, &token, NULL,
                                   NULL));
  CHECK_SITE(&stage, &token, 99);
  stage_destroy(&stage);
}

static void a_child_knows_the_sites_of_its_parent(void) {
  inturn_site site = {"sites.c", NULL, 99, 0};
  the_site_is_known(&site);
  CHECK(site.number != 0);
  IN_CHILD(the_site_is_known, &site);
  site.number = 0;
  IN_CHILD(the_site_is_known, &site);
}

/* There is room for some 60,000, and none of the first 20,000 is left out. */
static void more_lines_than_there_is_room_for_are_not_known(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  int known = 0;
  for (uint32_t line = 1; line <= 100000; line++) {
    inturn_site site = {"many.c", NULL, line, 0};
    CHECK_OK(inturn_queue_suspend_at(&site, stage.queue));
    CHECK_OK(inturn_queue_resume(stage.queue));
    CHECK(site.number != 0);
    known += site.number < 65536;
    CHECK(line > 20000 || known == (int)line);
  }
  CHECK(known >= 50000 && known < 65536);
  inturn_site late = {"late.c", NULL, 1, 0};
  inturn_token token;
  do {
    late.line++;
    late.number = 0;
    CHECK_OK(inturn_queue_suspend_at(&late, stage.queue));
    CHECK_OK(inturn_queue_resume(stage.queue));
  } while (late.number < 65536);
  CHECK_OK(inturn_queue_enqueue_at(&late, stage.queue, keep_token, &token, NULL,
                                   NULL));
  CHECK_SITE(&stage, &token, 0);
  stage_destroy(&stage);
}

PROGRAM(sites, TEST(the_site_of_each_way_in_is_known),
        TEST(a_site_is_known_while_the_work_is_called),
        TEST(what_is_not_called_by_a_macro_has_no_site),
        TEST(a_site_may_be_none),
        TEST(what_is_refused_is_refused_at_a_site_too),
        TEST(a_site_need_not_outlive_its_call),
        TEST(a_line_has_one_number_whoever_says_it_first),
        TEST(a_child_knows_the_sites_of_its_parent),
        TEST(more_lines_than_there_is_room_for_are_not_known))
