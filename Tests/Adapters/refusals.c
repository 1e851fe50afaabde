/*
 * refusals.c - the part of the suite about what adapters refuse.
 *
 * SPDX-License-Identifier: MIT
 */
#include "suite.h"

static void a_second_attach_is_refused(void) {
  suite_begin();
  CHECK_STATUS(the_host.attach(suite_executor), INTURN_E_BUSY);
  CHECK_STATUS(inturn_executor_attach(suite_executor, "other", NULL),
               INTURN_E_BUSY);
  suite_next_number = 0;
  on_another_thread(suite_enqueue_many, NULL);
  the_host.run();
  CHECK_INT(suite_next_number, SUITE_MANY); /* the first one is unchanged */
  suite_end();
}

static void another_loops_attachment_is_not_taken_for_its_own(void) {
  suite_begin_unattached();
  CHECK_OK(inturn_executor_attach(suite_executor, "other", &suite_queue));
  CHECK_STATUS(the_host.attach(suite_executor), INTURN_E_BUSY);
  CHECK_STATUS(the_host.detach(suite_executor), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_detach(suite_executor, "other"));
  suite_end_detached();
}

static void detach_is_refused(void *context) {
  (void)context;
  CHECK_STATUS(the_host.detach(suite_executor), INTURN_E_WRONG_THREAD);
  CHECK_STATUS(inturn_executor_drain(suite_executor, 0, NULL),
               INTURN_E_WRONG_THREAD);
}

static void another_thread_may_not_detach_or_drain(void) {
  suite_begin();
  on_another_thread(detach_is_refused, NULL);
  suite_end();
}

static void attach_main_elsewhere(void *context) {
  inturn_executor main_executor;
  (void)context;
  the_host.begin();
  CHECK_OK(inturn_executor_main(&main_executor));
  CHECK_STATUS(the_host.attach(main_executor), INTURN_E_WRONG_THREAD);
  the_host.end();
}

static void the_main_executor_is_attached_on_the_main_thread_only(void) {
  the_host.begin();
  on_another_thread(attach_main_elsewhere, NULL);
  the_host.end();
}

static void what_is_no_host_driven_executor_is_refused(void) {
  inturn_executor pool, null = {0};
  suite_begin();
  CHECK_OK(inturn_executor_pool(&pool));
  CHECK_STATUS(the_host.attach(pool), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(the_host.detach(pool), INTURN_E_UNSUPPORTED);
  CHECK_STATUS(the_host.attach(null), INTURN_E_NULL_HANDLE);
  CHECK_STATUS(the_host.detach(null), INTURN_E_NULL_HANDLE);
  CHECK_OK(the_host.detach(suite_executor));
  CHECK_OK(inturn_queue_destroy(suite_queue));
  CHECK_OK(inturn_executor_destroy(suite_executor));
  CHECK_STATUS(the_host.attach(suite_executor), INTURN_E_STALE);
  CHECK_STATUS(the_host.detach(suite_executor), INTURN_E_STALE);
  the_host.end();
}

static void a_second_detach_is_refused(void) {
  suite_begin();
  CHECK_OK(the_host.detach(suite_executor));
  CHECK_STATUS(the_host.detach(suite_executor), INTURN_E_INVALID_ARGUMENT);
  suite_end_detached();
}

static void an_attached_executor_is_not_destroyed(void) {
  suite_begin();
  CHECK_OK(inturn_queue_destroy(suite_queue));
  CHECK_STATUS(inturn_executor_destroy(suite_executor), INTURN_E_BUSY);
  CHECK_OK(the_host.detach(suite_executor));
  CHECK_OK(inturn_executor_destroy(suite_executor));
  the_host.end();
}

void without_a_loop_it_is_refused(void) {
  inturn_executor executor;
  CHECK_OK(inturn_executor_create(NULL, &executor));
  CHECK_STATUS(the_host.attach(executor), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_executor_destroy(executor));
}

void check_that_another_thread_calls_nothing(void *loop,
                                             void (*run_once)(void *loop)) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  reports_told = 0;
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  CHECK_OK(the_host.attach(options.executor));
  CHECK_OK(inturn_queue_enqueue(queue, never_work, NULL, NULL, NULL));
  on_another_thread(run_once, loop);
  CHECK_INT(reports_told, 1);
  on_another_thread(run_once, loop);
  CHECK_INT(reports_told, 1); /* the loop left it alone */
  reports_told = 0;
  /* Some loops have also detached it: then it can be destroyed, as here. */
  inturn_status status = the_host.detach(options.executor);
  CHECK(status == INTURN_OK || status == INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_OK(inturn_executor_destroy(options.executor));
}

const test refusals[] = {
    TEST(a_second_attach_is_refused),
    TEST(another_loops_attachment_is_not_taken_for_its_own),
    TEST(another_thread_may_not_detach_or_drain),
    TEST(the_main_executor_is_attached_on_the_main_thread_only),
    TEST(what_is_no_host_driven_executor_is_refused),
    TEST(a_second_detach_is_refused),
    TEST(an_attached_executor_is_not_destroyed),
};

const size_t refusals_count = sizeof refusals / sizeof *refusals;
