/*
 * groups.c - operations that belong together: keys, owners.
 *
 * SPDX-License-Identifier: MIT
 */
#include "groups.h"

/* Keys */

static void resolving_a_key_finishes_what_is_pending(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job running = JOB("running"), first = JOB("first"), other = JOB("other"),
      second = JOB("second");
  uint64_t count;
  release(enqueue_of_key(stage.queue, &running, "location", false, work_hold));
  stage_drain(&stage);
  release(enqueue_of_key(stage.queue, &first, "location", false, never_work));
  release(enqueue_of_key(stage.queue, &other, "camera", false, work_finish));
  release(enqueue_of_key(stage.queue, &second, "location", false, never_work));
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "location", &count));
  CHECK_INT(count, 2);
  CHECK_INT(statistics_of(stage.queue).pending, 1);
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_RESOLVED);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_RESOLVED);
  CHECK_INT(gate_count(&running.ended), 0);
  CHECK(!is_cancelled(running.token));
  CHECK_OK(inturn_token_finish(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&other, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "location", &count));
  CHECK_INT(count, 0);
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "nobody's", NULL));
  stage_destroy(&stage);
}

static void cancelling_a_key_cancels_running_ones_too(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, kind == INTURN_QUEUE_CONCURRENT ? 1 : 0);
  job running = JOB("running"), pending = JOB("pending");
  uint64_t count;
  release(enqueue_of_key(stage.queue, &running, "k", false, work_hold));
  stage_drain(&stage);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  release(enqueue_of_key(stage.queue, &pending, "k", false, never_work));
  CHECK_OK(inturn_queue_cancel_key(stage.queue, "k", &count));
  CHECK_INT(count, 2);
  CHECK_OK(inturn_queue_cancel_key(stage.queue, "k", &count));
  CHECK_INT(count, 0);
  stage_drain(&stage);
  CHECK_ENDED(&pending, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  CHECK(is_cancelled(running.token));
  CHECK_OK(inturn_token_cancel(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_REQUEST);
  stage_destroy(&stage);
}

static void cancelling_a_key_cancels_running_ones_of_each_kind(void) {
  for_each_kind(cancelling_a_key_cancels_running_ones_too);
}

/* To Unicode, the two keys are the same text. */
static void keys_with_other_bytes_are_other_keys(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job composed = JOB("composed"), decomposed = JOB("decomposed");
  uint64_t count;
  release(
      enqueue_of_key(stage.queue, &composed, "\xc3\xa9", false, never_work));
  release(enqueue_of_key(stage.queue, &decomposed, "e\xcc\x81", false,
                         work_finish));
  CHECK_OK(inturn_queue_resolve_key(stage.queue, "\xc3\xa9", &count));
  CHECK_INT(count, 1);
  stage_drain(&stage);
  CHECK_ENDED(&composed, INTURN_FINISHED, INTURN_CAUSE_RESOLVED);
  CHECK_ENDED(&decomposed, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void bad_keys_are_refused(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job job = JOB("a");
  inturn_operation_options options = job_options(&job);
  CHECK_STATUS(inturn_queue_resolve_key(stage.queue, NULL, NULL),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_queue_cancel_key(stage.queue, "\xff", NULL),
               INTURN_E_INVALID_ARGUMENT);
  options.join = true;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &job, job_destroyed, NULL),
               INTURN_E_INVALID_ARGUMENT);
  stage_destroy(&stage);
}

/* Owners */

static inturn_operation enqueue_owned(inturn_queue queue, job *job,
                                      inturn_owner owner, inturn_work_fn work) {
  inturn_operation_options options = job_options(job);
  options.owner = owner;
  return job_enqueue_with(queue, job, work, &options);
}

static void destroying_an_owner_cancels_its_operations(inturn_queue_kind kind) {
  stage stage = stage_create_of(kind, kind == INTURN_QUEUE_CONCURRENT ? 1 : 0);
  job running = JOB("running"), other = JOB("other"), first = JOB("first"),
      second = JOB("second");
  inturn_owner window;
  uint64_t count;
  CHECK_OK(inturn_owner_create(0, &window));
  release(enqueue_owned(stage.queue, &running, window, work_hold));
  stage_drain(&stage);
  CHECK_OK(inturn_queue_suspend(stage.queue));
  release(enqueue_owned(stage.queue, &first, window, never_work));
  job_enqueue(stage.queue, &other, work_finish);
  release(enqueue_owned(stage.queue, &second, window, never_work));
  CHECK_OK(inturn_owner_get_count(window, &count));
  CHECK_INT(count, 3);
  CHECK_OK(inturn_owner_destroy(window));
  CHECK_STATUS(inturn_owner_destroy(window), INTURN_E_STALE);
  CHECK_STATUS(inturn_owner_get_count(window, &count), INTURN_E_STALE);
  CHECK_OK(inturn_queue_resume(stage.queue));
  stage_drain(&stage);
  CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK(is_cancelled(running.token));
  CHECK_OK(inturn_token_cancel(running.token));
  stage_drain(&stage);
  CHECK_ENDED(&running, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK_ENDED(&other, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void destroying_an_owner_cancels_in_each_kind_of_queue(void) {
  for_each_kind(destroying_an_owner_cancels_its_operations);
}

static void give_in(void *context, inturn_token token) {
  (void)context;
  CHECK_OK(inturn_token_cancel(token));
}

static void hold_and_give_in(void *context, inturn_token token) {
  CHECK_OK(inturn_token_on_cancel(token, give_in, NULL, NULL));
  gate_pass(context);
}

/* A running one that ends at once makes room, and none of the others is to
   take it. */
static void destroying_an_owner_starts_none_of_its_operations(void) {
  for (long round = scaled(300); round > 0; round--) {
    gate held = GATE_INIT, called = GATE_INIT;
    inturn_queue_options one = INTURN_QUEUE_OPTIONS_INIT;
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_queue queue;
    one.max_concurrent = 1;
    CHECK_OK(inturn_queue_create(round % 2 ? INTURN_QUEUE_FIFO
                                           : INTURN_QUEUE_CONCURRENT,
                                 round % 2 ? NULL : &one, &queue));
    CHECK_OK(inturn_owner_create(0, &options.owner));
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, hold_and_give_in, &held,
                                       NULL, NULL));
    for (int i = 0; i < 20; i++)
      CHECK_OK(inturn_queue_enqueue_with(queue, &options, count_work, &called,
                                         NULL, NULL));
    GATE_WAIT(&held, 1);
    CHECK_OK(inturn_owner_destroy(options.owner));
    drain_and_destroy(queue);
    CHECK_INT(gate_count(&called), 0);
  }
}

static void an_owner_has_at_most_its_capacity(void) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job first = JOB("first"), second = JOB("second"), third = JOB("third");
  inturn_owner site;
  uint64_t count;
  CHECK_OK(inturn_owner_create(2, &site));
  release(enqueue_owned(stage.queue, &first, site, work_hold));
  release(enqueue_owned(stage.queue, &second, site, work_finish));
  inturn_operation_options options = job_options(&third);
  options.owner = site;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &third, job_destroyed, NULL),
               INTURN_E_FULL);
  CHECK_INT(gate_count(&third.destroyed), 1);
  stage_drain(&stage);
  CHECK_OK(inturn_token_finish(first.token));
  stage_drain(&stage);
  CHECK_OK(inturn_owner_get_count(site, &count));
  CHECK_INT(count, 0);
  CHECK_STATUS(inturn_owner_get_count(site, NULL), INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_owner_create(0, NULL), INTURN_E_INVALID_ARGUMENT);
  CHECK_OK(inturn_owner_destroy(site));
  third = (job)JOB("third");
  options = job_options(&third);
  options.owner = site;
  CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                         &third, job_destroyed, NULL),
               INTURN_E_STALE);
  stage_destroy(&stage);
}

static void a_batch_belongs_to_its_owner_as_a_whole_or_not_at_all(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  inturn_owner owner;
  inturn_batch_item items[3];
  gate contexts = GATE_INIT;
  uint64_t count;
  CHECK_OK(inturn_owner_create(2, &owner));
  for (int i = 0; i < 3; i++)
    items[i] = (inturn_batch_item){never_work, &contexts, count_destroy};
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.owner = owner;
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.operation = &each;
  CHECK_STATUS(
      inturn_queue_enqueue_batch(stage.queue, &options, items, 3, NULL),
      INTURN_E_FULL);
  CHECK_OK(inturn_owner_get_count(owner, &count));
  CHECK_INT(count, 0);
  CHECK_OK(inturn_queue_enqueue_batch(stage.queue, &options, items, 2, NULL));
  CHECK_OK(inturn_owner_destroy(owner));
  stage_drain(&stage);
  CHECK_INT(gate_count(&contexts), 5);
  stage_destroy(&stage);
}

/* Races */

enum { EACH = 16 };
static inturn_queue raced_queue;
static inturn_owner raced_owner;
static atomic_int ended, accepted;

static void count_an_end(void *context, const inturn_end *end) {
  (void)context;
  (void)end;
  atomic_fetch_add(&ended, 1);
}

static void finish_or_not(void *context, inturn_token token) {
  (void)context;
  inturn_status status = inturn_token_finish(token);
  CHECK(status == INTURN_OK || status == INTURN_E_ALREADY_FINISHED);
}

static void join_and_cancel(int index) {
  static const char *const keys[] = {"x", "y"};
  for (int i = 0; i < EACH; i++) {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    inturn_operation operation;
    options.key = keys[(index + i) % 2];
    options.join = i % 3 != 0;
    options.owner = index == 0 ? raced_owner : (inturn_owner){0};
    options.on_end = count_an_end;
    inturn_status status = inturn_queue_enqueue_with(
        raced_queue, &options, finish_or_not, NULL, NULL, &operation);
    if (status != INTURN_OK) {
      CHECK_STATUS(status, INTURN_E_STALE);
      continue;
    }
    atomic_fetch_add(&accepted, 1);
    if (i % 4 == 1)
      (void)inturn_operation_cancel(operation);
    if (i % 8 == 5)
      CHECK_OK(inturn_queue_resolve_key(raced_queue, "x", NULL));
    if (i % 8 == 6)
      CHECK_OK(inturn_queue_cancel_key(raced_queue, "y", NULL));
    CHECK_OK(inturn_operation_release(operation));
    if (index == 1 && i == EACH / 2)
      CHECK_OK(inturn_owner_destroy(raced_owner));
  }
}

static void keys_joins_and_owners_race_to_one_end_each(void) {
  for (long round = scaled(3000); round > 0; round--) {
    atomic_store(&ended, 0);
    atomic_store(&accepted, 0);
    raced_queue = pool_queue_create(
        round % 2 ? INTURN_QUEUE_CONCURRENT : INTURN_QUEUE_FIFO, NULL);
    CHECK_OK(inturn_owner_create(0, &raced_owner));
    in_parallel(3, join_and_cancel);
    if (round % 3 == 0)
      CHECK_OK(inturn_queue_destroy(raced_queue));
    else
      drain_and_destroy(raced_queue);
    CHECK_INT(atomic_load(&ended), atomic_load(&accepted));
  }
}

PROGRAM(groups, TEST(resolving_a_key_finishes_what_is_pending),
        TEST(cancelling_a_key_cancels_running_ones_of_each_kind),
        TEST(keys_with_other_bytes_are_other_keys), TEST(bad_keys_are_refused),
        TEST(destroying_an_owner_cancels_in_each_kind_of_queue),
        TEST(destroying_an_owner_starts_none_of_its_operations),
        TEST(an_owner_has_at_most_its_capacity),
        TEST(a_batch_belongs_to_its_owner_as_a_whole_or_not_at_all),
        TEST(keys_joins_and_owners_race_to_one_end_each))
