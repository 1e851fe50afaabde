/*
 * reports.c - the report handler: what the library has noticed, and who
 * receives it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <unistd.h>

/* Abandons an operation with this label on a queue with this label. */
static void abandon_one(const char *queue_label, const char *label) {
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  inturn_token token;
  queue_options.label = queue_label;
  options.label = label;
  stage stage = stage_create_with(INTURN_QUEUE_FIFO, queue_options);
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, keep_token, &token,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_OK(inturn_token_abandon(token));
  stage_drain(&stage);
  CHECK_INT(statistics_of(stage.queue).abandoned, 1);
  stage_destroy(&stage);
}

static void a_report_has_the_labels(void) {
  reports reports;
  reports_begin(&reports);
  abandon_one("uploads", "holiday.jpg");
  reports_end();
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK_INT(reports.kind, INTURN_REPORT_LOST_TOKEN);
  CHECK_TEXT(reports.queue_label, "uploads");
  CHECK_TEXT(reports.operation_label, "holiday.jpg");
}

static void a_program_may_report_by_itself(void) {
  reports reports;
  inturn_report report = INTURN_REPORT_INIT;
  reports_begin(&reports);
  report.kind = INTURN_REPORT_EXCEPTION;
  report.message = "something was thrown";
  report.queue_label = "uploads";
  CHECK_OK(inturn_report_send(&report));
  CHECK_INT(reports.kind, INTURN_REPORT_EXCEPTION);
  CHECK_TEXT(reports.message, "something was thrown");
  CHECK_TEXT(reports.queue_label, "uploads");
  CHECK_TEXT(reports.operation_label, "(none)");
  report.operation_label = "\xff";
  CHECK_STATUS(inturn_report_send(&report), INTURN_E_INVALID_ARGUMENT);
  CHECK_TEXT(reports.message, "inturn_report_send refuses "
                              "report->operation_label");
  report.message = NULL;
  CHECK_STATUS(inturn_report_send(&report), INTURN_E_INVALID_ARGUMENT);
  report.kind = (inturn_report_kind)99;
  CHECK_STATUS(inturn_report_send(&report), INTURN_E_INVALID_ARGUMENT);
  CHECK_TEXT(reports.message, "inturn_report_send refuses report->kind");
  report.size = 1;
  CHECK_STATUS(inturn_report_send(&report), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_report_send(NULL), INTURN_E_INVALID_ARGUMENT);
  reports_end();
}

static void what_has_no_label_is_reported_without_one(void) {
  reports reports;
  reports_begin(&reports);
  abandon_one(NULL, NULL);
  reports_end();
  CHECK_TEXT(reports.queue_label, "(none)");
  CHECK_TEXT(reports.operation_label, "(none)");
  CHECK(reports.message[0] != '\0');
}

static void a_message_is_one_line(void) {
  reports reports;
  reports_begin(&reports);
  abandon_one("first line\nsecond line", "one\r\ntwo");
  reports_end();
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK(strpbrk(reports.message, "\r\n") == NULL);
  CHECK_TEXT(reports.queue_label, "first line\nsecond line");
}

static void the_default_writes_one_line_to_the_standard_error(void) {
  char text[1024];
  FILE *file = tmpfile();
  CHECK(file != NULL);
  fflush(stderr);
  int before = dup(STDERR_FILENO);
  CHECK(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  abandon_one("uploads", "holiday.jpg");
  CHECK(dup2(before, STDERR_FILENO) >= 0);
  CHECK_INT(close(before), 0);
  rewind(file);
  size_t length = fread(text, 1, sizeof text - 1, file);
  text[length] = '\0';
  CHECK_INT(fclose(file), 0);
  CHECK(strstr(text, "uploads") != NULL);
  CHECK(strstr(text, "holiday.jpg") != NULL);
  CHECK(strchr(text, '\n') == text + length - 1);
}

static void never_report(void *context, const inturn_report *report) {
  FAIL("reported: %s (context %p)", report->message, context);
}

static void a_handler_that_was_replaced_is_destroyed_once(void) {
  gate first = GATE_INIT, second = GATE_INIT;
  CHECK_OK(inturn_report_set_handler(never_report, &first, count_destroy));
  CHECK_INT(gate_count(&first), 0);
  CHECK_OK(inturn_report_set_handler(never_report, &second, count_destroy));
  CHECK_INT(gate_count(&first), 1);
  CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
  CHECK_INT(gate_count(&first), 1);
  CHECK_INT(gate_count(&second), 1);
}

/* A handler that removes itself, and that uses the library. */
typedef struct taker {
  gate told, destroyed;
} taker;

static void take_away(void *context, const inturn_report *report) {
  taker *taker = context;
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
  CHECK_OK(inturn_library_get_statistics(&statistics));
  CHECK_INT(gate_count(&taker->destroyed), 0);
  CHECK_TEXT(report->operation_label, "holiday.jpg");
  gate_pass(&taker->told);
}

static void taker_destroyed(void *context) {
  taker *taker = context;
  CHECK_INT(gate_count(&taker->told), 1);
  gate_pass(&taker->destroyed);
}

static void a_handler_may_take_itself_away(void) {
  taker taker = {GATE_INIT, GATE_INIT};
  CHECK_OK(inturn_report_set_handler(take_away, &taker, taker_destroyed));
  abandon_one("uploads", "holiday.jpg");
  CHECK_INT(gate_count(&taker.told), 1);
  CHECK_INT(gate_count(&taker.destroyed), 1);
}

/* Handlers that are replaced while several threads report. */
static atomic_int alive, told;

static void count_report(void *context, const inturn_report *report) {
  CHECK(context == &alive && report->kind == INTURN_REPORT_LOST_TOKEN);
  CHECK(atomic_load(&alive) > 0);
  atomic_fetch_add(&told, 1);
}

static void handler_destroyed(void *context) {
  CHECK(context == &alive);
  atomic_fetch_sub(&alive, 1);
}

static void set_count_report(void) {
  atomic_fetch_add(&alive, 1);
  CHECK_OK(inturn_report_set_handler(count_report, &alive, handler_destroyed));
}

static void report_or_replace(int index) {
  for (long i = scaled(2000); i > 0; i--) {
    if (index == 0)
      set_count_report();
    else
      abandon_one("uploads", NULL);
  }
}

static void handlers_may_be_replaced_while_several_threads_report(void) {
  atomic_store(&told, 0);
  set_count_report();
  in_parallel(4, report_or_replace);
  CHECK_INT(told, 3 * scaled(2000));
  CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
  CHECK_INT(alive, 0);
}

PROGRAM(reports, TEST(a_program_may_report_by_itself),
        TEST(a_report_has_the_labels),
        TEST(what_has_no_label_is_reported_without_one),
        TEST(a_message_is_one_line),
        TEST(the_default_writes_one_line_to_the_standard_error),
        TEST(a_handler_that_was_replaced_is_destroyed_once),
        TEST(a_handler_may_take_itself_away),
        TEST(handlers_may_be_replaced_while_several_threads_report))
