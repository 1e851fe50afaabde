/*
 * stuck_awaited.c - who waits for what stands still makes it told: wherever in
 * a queue, and whatever else there is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

static inturn_queue rated_queue(const char *label, bool has_started) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = label;
  options.rate = (inturn_rate){1, 1, INT64_C(3600000000000)};
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  if (has_started)
    enqueue_one(queue, NULL);
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  return queue;
}

/* A delay of another queue, which goes on by itself. */
static void a_delay_that_is_behind_what_somebody_waits_for_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue network = rated_queue("network", true);
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_operation ping = enqueue_kept(network, "ping", (inturn_operation){0});
  inturn_operation save = enqueue_kept(database, "save", ping);
  CHECK_OK(inturn_report_set_awaited(save.bits));
  stall told = STALL("after save@database > turn ping@network > "
                     "delay @network");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK(stall_says(&told, "it starts nothing for another "));
  CHECK_OK(inturn_queue_set_rate(network, NULL));
  drain_and_destroy(database);
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(ping));
  CHECK_OK(inturn_operation_release(save));
  stalls_end();
}

static void who_waits_is_seen_behind_many(void) {
  enum { MANY = 3000 };
  stalls_begin(STALL_NS);
  inturn_queue uploads = labelled_queue(INTURN_QUEUE_FIFO, "uploads");
  CHECK_OK(inturn_queue_suspend(uploads));
  for (int i = 0; i < MANY; i++)
    enqueue_one(uploads, NULL);
  inturn_operation last = enqueue_kept(uploads, "last", (inturn_operation){0});
  CHECK_OK(inturn_report_set_awaited(last.bits));
  stall told = STALL("suspended @uploads");
  CHECK(told.stalled_ns < 10 * STALL_NS);
  CHECK_OK(inturn_queue_resume(uploads));
  drain_and_destroy(uploads);
  CHECK_OK(inturn_operation_release(last));
  stalls_end();
}

static void each_cause_in_a_queue_is_told(void) {
  stalls_begin(STALL_NS);
  inturn_queue network = labelled_queue(INTURN_QUEUE_CONCURRENT, "network");
  inturn_operation_options options = labelled("one");
  inturn_token one, other;
  inturn_operation first, second;
  hold_kept(network, &options, &one, &first);
  options.label = "other";
  hold_kept(network, &options, &other, &second);
  CHECK_OK(inturn_report_set_awaited(first.bits));
  CHECK_OK(inturn_report_set_awaited(second.bits));
  STALL("token one@network");
  STALL("token other@network");
  CHECK_OK(inturn_token_finish(one));
  CHECK_OK(inturn_token_finish(other));
  drain_and_destroy(network);
  CHECK_OK(inturn_operation_release(first));
  CHECK_OK(inturn_operation_release(second));
  stalls_end();
}

static void what_the_chain_names_does_not_wait_behind_it_as_well(void) {
  stalls_begin(STALL_NS);
  inturn_queue photos = labelled_queue(INTURN_QUEUE_CONCURRENT, "photos");
  inturn_operation_options options = labelled("load");
  inturn_token token;
  inturn_operation load;
  hold_kept(photos, &options, &token, &load);
  inturn_operation parse = enqueue_kept(photos, "parse", load);
  inturn_operation save = enqueue_kept(photos, "save", parse);
  stall reason = reason_of(save);
  while (strstr(reason.chain, "call load@photos")) /* it returns */
    reason = reason_of(save);
  CHECK_TEXT(reason.chain, "after save@photos > after parse@photos > "
                           "token load@photos");
  CHECK_INT(reason.waiting, 0);
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(photos);
  CHECK_OK(inturn_operation_release(load));
  CHECK_OK(inturn_operation_release(parse));
  CHECK_OK(inturn_operation_release(save));
  stalls_end();
}

/* An actor's operation that is resumed goes on when its turn comes. */
static void what_holds_a_resumed_operation_up_is_asked(void) {
  stalls_begin(STALL_NS);
  inturn_queue room = labelled_queue(INTURN_QUEUE_ACTOR, "room");
  inturn_operation_options options = labelled("talk");
  inturn_token token;
  inturn_operation talk;
  hold_kept(room, &options, &token, &talk);
  stall reason = reason_of(talk);
  while (strcmp(reason.chain, "call talk@room") == 0) /* it returns */
    reason = reason_of(talk);
  CHECK_TEXT(reason.chain, "token talk@room");
  CHECK_OK(inturn_queue_suspend(room));
  CHECK_OK(inturn_token_resume(token, just_finish, NULL, NULL));
  reason = reason_of(talk);
  CHECK_TEXT(reason.chain, "turn talk@room > suspended @room");
  CHECK_OK(inturn_queue_resume(room));
  drain_and_destroy(room);
  CHECK_OK(inturn_operation_release(talk));
  stalls_end();
}

static void see(void *gate, const inturn_change *change) {
  (void)change;
  gate_pass(gate);
}

static void an_observer_that_nobody_calls_is_told_as_such(void) {
  gate seen = GATE_INIT;
  inturn_datum number = INTURN_INTEGER(1);
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  inturn_value value;
  stalls_begin(STALL_NS);
  CHECK_OK(inturn_executor_create(NULL, &options.executor));
  CHECK_OK(inturn_value_create(NULL, &number, &value));
  CHECK_OK(inturn_value_observe(value, &options, see, &seen, NULL, NULL));
  number.integer = 2;
  CHECK_OK(inturn_value_set(value, &number));
  STALL("executor @observer");
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_INT(gate_count(&seen), 1);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_executor_drain(options.executor, 0, NULL));
  CHECK_OK(inturn_executor_destroy(options.executor));
  stalls_end();
}

static void wait_for_answer(void *question, inturn_token token) {
  CHECK_OK(
      inturn_operation_wait(*(inturn_operation *)question, LIMIT_NS, NULL));
  just_finish(NULL, token);
}

/* Others may wait behind who asks: people take their time all the same. */
static void who_waits_for_a_persons_answer_is_told_later(void) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_operation_options asked = labelled("question");
  inturn_queue dialogs, background;
  inturn_operation question;
  inturn_token answer;
  stalls_begin(1000 * STALL_NS);
  options.label = "background";
  options.stall_ns = STALL_NS;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &background));
  options.label = "dialogs";
  options.stall_ns = 0;
  options.settle_ns = options.gap_ns = INTURN_NO_DELAY;
  CHECK_OK(inturn_executor_pool(&options.executor));
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_INTERACTION, &options, &dialogs));
  CHECK_OK(inturn_queue_view_did_appear(dialogs));
  hold_kept(dialogs, &asked, &answer, &question);
  CHECK_OK(
      inturn_queue_enqueue(background, wait_for_answer, &question, NULL, NULL));
  enqueue_one(background, NULL);
  stall told = STALL("wait ?@background > token question@dialogs");
  CHECK(told.stalled_ns >= 10 * STALL_NS);
  CHECK_OK(inturn_token_finish(answer));
  drain_and_destroy(background);
  drain_and_destroy(dialogs);
  CHECK_OK(inturn_operation_release(question));
  stalls_end();
}

PROGRAM(stuck_awaited, TEST(who_waits_for_a_persons_answer_is_told_later),
        TEST(a_delay_that_is_behind_what_somebody_waits_for_is_told),
        TEST(who_waits_is_seen_behind_many),
        TEST(each_cause_in_a_queue_is_told),
        TEST(what_the_chain_names_does_not_wait_behind_it_as_well),
        TEST(what_holds_a_resumed_operation_up_is_asked),
        TEST(an_observer_that_nobody_calls_is_told_as_such))
