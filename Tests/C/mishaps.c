/*
 * mishaps.c - what goes wrong around an interaction: late finishes, adding
 * after the close, owners that die. Each has its status, and the queue
 * continues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <signal.h>
#include <unistd.h>

/* Late tokens */

static void finish_late(void *context) {
  gate result = GATE_INIT;
  job *job = context;
  CHECK_STATUS(inturn_token_finish(job->token), INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_finish_with(job->token, &result, count_destroy),
               INTURN_E_ALREADY_FINISHED);
  CHECK_STATUS(inturn_token_yield(job->token), INTURN_E_ALREADY_FINISHED);
  CHECK_INT(gate_count(&result), 1);
}

static void a_second_finish_is_refused_and_the_queue_goes_on(void) {
  job first = JOB("first"), second = JOB("second");
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &first);
  job_enqueue(stage.queue, &second, work_hold);
  CHECK_OK(inturn_token_finish(first.token));
  on_another_thread(finish_late, &first);
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished, work second");
  finish_late(&first); /* does not touch the second one */
  CHECK_INT(statistics_of(stage.queue).running, 1);
  CHECK(!is_cancelled(second.token));
  stage_finish(&stage, &second);
  CHECK_ENDED(&first, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&second, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void after_its_queue_is_gone_a_token_is_refused_on_any_thread(void) {
  job gone = JOB("gone"), here = JOB("here");
  stage first = stage_create_running(INTURN_QUEUE_INTERACTION, &gone);
  stage_destroy(&first);
  on_another_thread(finish_late, &gone);
  /* Nor does it end an operation that has taken its place in memory. */
  stage second = stage_create_running(INTURN_QUEUE_INTERACTION, &here);
  on_another_thread(finish_late, &gone);
  CHECK_INT(statistics_of(second.queue).running, 1);
  stage_finish(&second, &here);
  CHECK_ENDED(&gone, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&here, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&second);
}

/* Its handle keeps it; its queue is gone, and others take the queue's place. */
static void a_token_is_over_whatever_queues_come_after_its_own(void) {
  job gone = JOB("gone");
  inturn_operation kept;
  stage first =
      stage_create_running_kept(INTURN_QUEUE_INTERACTION, &gone, &kept);
  stage_destroy(&first);
  for (inturn_queue_kind kind = INTURN_QUEUE_FIFO;
       kind <= INTURN_QUEUE_CONCURRENT; kind++) {
    job here = JOB("here");
    stage next = stage_create_running(kind, &here);
    finish_late(&gone);
    CHECK_STATUS(inturn_token_on_preempt(gone.token, NULL, NULL, NULL),
                 INTURN_E_ALREADY_FINISHED);
    CHECK_STATUS(inturn_token_resume(gone.token, work_finish, &gone, NULL),
                 INTURN_E_ALREADY_FINISHED);
    CHECK_INT(statistics_of(next.queue).running, 1);
    stage_finish(&next, &here);
    stage_destroy(&next);
  }
  CHECK_OK(inturn_operation_release(kept));
}

static inturn_status finish_status;

static void finish_and_note(void *context) {
  job *job = context;
  finish_status = inturn_token_finish(job->token);
}

static void a_finish_and_the_end_of_the_queue_race_to_one_end(void) {
  for (long round = scaled(1000); round > 0; round--) {
    job job = JOB("a");
    stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &job);
    thread finishing;
    thread_start(&finishing, finish_and_note, &job);
    stage_destroy(&stage);
    thread_join(&finishing);
    if (finish_status == INTURN_OK) {
      CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
    } else {
      CHECK_STATUS(finish_status, INTURN_E_ALREADY_FINISHED);
      CHECK_ENDED(&job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    }
    trace_begin();
  }
}

/* The thread that handles the process's signals. */
static void serve_a_signal(void *context) {
  sigset_t signals;
  int number;
  CHECK_INT(sigemptyset(&signals), 0);
  CHECK_INT(sigaddset(&signals, SIGUSR1), 0);
  CHECK_INT(sigwait(&signals, &number), 0);
  CHECK_INT(number, SIGUSR1);
  finish_and_note(context);
}

static void a_thread_that_serves_signals_finishes_an_interaction(void) {
  sigset_t signals, before;
  thread serving;
  CHECK_INT(sigemptyset(&signals), 0);
  CHECK_INT(sigaddset(&signals, SIGUSR1), 0);
  /* Inherited by the thread, which is the only one that receives it. */
  CHECK_INT(pthread_sigmask(SIG_BLOCK, &signals, &before), 0);
  job first = JOB("first"), second = JOB("second");
  stage stage = stage_create_running(INTURN_QUEUE_INTERACTION, &first);
  job_enqueue(stage.queue, &second, work_finish);
  thread_start(&serving, serve_a_signal, &first);
  CHECK_INT(kill(getpid(), SIGUSR1), 0);
  thread_join(&serving);
  CHECK_INT(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
  CHECK_STATUS(finish_status, INTURN_OK);
  stage_drain(&stage);
  CHECK_TRACE("work first, end first finished, work second, "
              "end second finished");
  stage_destroy(&stage);
}

static void a_finish_after_the_window_is_gone_ends_it(void) {
  job shown = JOB("shown"), next = JOB("next");
  inturn_owner window;
  inturn_operation_options options = job_options(&shown);
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  CHECK_OK(inturn_owner_create(0, &window));
  options.owner = window;
  job_enqueue_as(stage.queue, &shown, work_hold, &options);
  stage_drain(&stage);
  job_enqueue(stage.queue, &next, never_work);
  CHECK_OK(inturn_queue_view_will_disappear(stage.queue));
  CHECK_OK(inturn_owner_destroy(window));
  on_another_thread(finish_and_note, &shown);
  CHECK_STATUS(finish_status, INTURN_OK);
  stage_advance(&stage, INT64_C(1) << 50);
  CHECK_TRACE("work shown, end shown finished");
  stage_destroy(&stage);
}

/* Conditions that block */

static const stage *blocking_stage;

static inturn_verdict block_for_ten(void *context) {
  (void)context;
  CHECK_OK(inturn_clock_advance(blocking_stage->clock, 10));
  return INTURN_START;
}

static void a_condition_that_blocks_is_reported_and_cut_off(void) {
  job blocking = JOB("blocking"), next = JOB("next");
  reports reports;
  inturn_queue_options queue_options = INTURN_QUEUE_OPTIONS_INIT;
  queue_options.settle_ns = INTURN_NO_DELAY;
  queue_options.gap_ns = 3;
  stage stage = stage_create_with(INTURN_QUEUE_INTERACTION, queue_options);
  CHECK_OK(inturn_queue_view_did_appear(stage.queue));
  blocking_stage = &stage;
  inturn_operation_options options = job_options(&blocking);
  options.condition = block_for_ten;
  options.max_run_ns = 10;
  options.stall_ns = 5;
  job_enqueue_as(stage.queue, &blocking, never_work, &options);
  job_enqueue(stage.queue, &next, work_finish);
  reports_begin(&reports);
  stage_drain(&stage);
  reports_end();
  CHECK_INT(gate_count(&reports.told), 1);
  CHECK_INT(reports.kind, INTURN_REPORT_STALL);
  CHECK_TEXT(reports.operation_label, "blocking");
  /* Nothing was shown, so there is no gap. */
  CHECK_TRACE("end blocking timed out, work next, end next finished");
  CHECK_ENDED(&blocking, INTURN_TIMED_OUT, INTURN_CAUSE_MAX_RUN);
  stage_destroy(&stage);
}

/* Adding after close */

static void a_closed_queue_refuses_whatever_the_options_say(void) {
  job running = JOB("running"), pending = JOB("pending");
  gate contexts = GATE_INIT;
  inturn_owner owner;
  uint64_t count;
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  inturn_operation_options options = job_options(&running);
  options.key = "k";
  job_enqueue_as(stage.queue, &running, work_hold, &options);
  job_enqueue(stage.queue, &pending, work_finish);
  stage_drain(&stage);
  CHECK_OK(inturn_queue_close(stage.queue));
  CHECK_STATUS(inturn_queue_close(stage.queue), INTURN_E_CLOSED);

  CHECK_OK(inturn_owner_create(1, &owner));
  for (int i = 0; i < 4; i++) {
    inturn_operation operation = {77};
    options = (inturn_operation_options)INTURN_OPERATION_OPTIONS_INIT;
    options.end_context = &contexts;
    options.end_destroy = count_destroy;
    options.on_end = never_end;
    options.urgent = i == 1;
    options.join = i == 2; /* not even an operation that would join */
    options.key = i == 2 ? "k" : NULL;
    options.owner = i == 3 ? owner : (inturn_owner){0};
    CHECK_STATUS(inturn_queue_enqueue_with(stage.queue, &options, never_work,
                                           &contexts, count_destroy,
                                           &operation),
                 INTURN_E_CLOSED);
    CHECK_INT(gate_count(&contexts), 2 * (i + 1));
    CHECK_INT(operation.bits, 77);
  }
  CHECK_OK(inturn_owner_get_count(owner, &count));
  CHECK_INT(count, 0);
  CHECK_OK(inturn_owner_destroy(owner));

  stage_finish(&stage, &running);
  CHECK_TRACE("work running, end running finished, work pending, "
              "end pending finished");
  stage_destroy(&stage);
}

/* Owners that die while one of their operations is presenting */

static void give_in(void *context, inturn_token token) {
  job_cancel_called(context, token);
  CHECK_OK(inturn_token_cancel(token));
}

/* A stage with a running job, which belongs to the new owner. */
static stage create_owned(job *job, inturn_operation_options options,
                          inturn_owner *out_owner) {
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  CHECK_OK(inturn_owner_create(0, out_owner));
  options.owner = *out_owner;
  job_enqueue_as(stage.queue, job, work_hold, &options);
  stage_drain(&stage);
  CHECK_INT(gate_count(&job->started), 1);
  trace_begin();
  return stage;
}

static void the_handler_of_a_dead_owners_interaction_takes_it_down(void) {
  job shown = JOB("shown"), next = JOB("next");
  inturn_owner owner;
  stage stage = create_owned(&shown, job_options(&shown), &owner);
  job_enqueue(stage.queue, &next, work_finish);
  CHECK_OK(inturn_token_on_cancel(shown.token, give_in, &shown, NULL));
  CHECK_OK(inturn_owner_destroy(owner));
  CHECK_TRACE(""); /* the executor calls it, not whoever destroys */
  stage_drain(&stage);
  CHECK_TRACE("cancel shown, end shown cancelled, work next, "
              "end next finished");
  CHECK_ENDED(&shown, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  stage_destroy(&stage);
}

static void without_a_handler_it_goes_on_until_it_ends_itself(void) {
  job shown = JOB("shown"), next = JOB("next");
  inturn_owner owner;
  stage stage = create_owned(&shown, job_options(&shown), &owner);
  job_enqueue(stage.queue, &next, work_finish);
  CHECK_OK(inturn_owner_destroy(owner));
  stage_advance(&stage, INT64_C(1) << 50);
  CHECK_TRACE("");
  CHECK(is_cancelled(shown.token));
  stage_finish(&stage, &shown);
  CHECK_TRACE("end shown finished, work next, end next finished");
  CHECK_ENDED(&shown, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
}

static void its_grace_time_cuts_off_a_dead_owners_interaction(void) {
  job shown = JOB("shown"), next = JOB("next");
  inturn_owner owner;
  inturn_operation_options options = job_options(&shown);
  options.cancel_grace_ns = 100;
  stage stage = create_owned(&shown, options, &owner);
  job_enqueue(stage.queue, &next, work_finish);
  CHECK_OK(inturn_owner_destroy(owner));
  stage_advance(&stage, 99);
  CHECK_TRACE("");
  stage_advance(&stage, 1);
  CHECK_TRACE("end shown cancelled, work next, end next finished");
  CHECK_ENDED(&shown, INTURN_CANCELLED, INTURN_CAUSE_GRACE);
  finish_late(&shown);
  stage_destroy(&stage);
}

static void a_dead_owners_interaction_that_yields_is_not_presented_again(void) {
  job shown = JOB("shown");
  inturn_owner owner;
  stage stage = create_owned(&shown, job_options(&shown), &owner);
  CHECK_OK(inturn_owner_destroy(owner));
  CHECK_OK(inturn_token_yield(shown.token));
  stage_drain(&stage);
  CHECK_TRACE("end shown cancelled");
  CHECK_ENDED(&shown, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  stage_destroy(&stage);
}

/* The leader has the owner; the first operation that has joined it has none. */
static void check_joined(int64_t grace_ns) {
  job leader = JOB("leader"), joined = JOB("joined"), third = JOB("third"),
      next = JOB("next");
  inturn_owner owner;
  inturn_operation_options options = job_options(&leader);
  options.key = "down";
  options.cancel_grace_ns = grace_ns;
  stage stage = create_owned(&leader, options, &owner);
  job_enqueue(stage.queue, &next, work_finish);
  options = job_options(&joined);
  options.key = "down";
  options.join = true;
  job_enqueue_as(stage.queue, &joined, work_hold, &options);
  options.end_context = &third;
  options.label = third.name;
  job_enqueue_as(stage.queue, &third, never_work, &options);
  CHECK_OK(inturn_owner_destroy(owner));
  if (grace_ns > 0)
    stage_advance(&stage, grace_ns);
  else
    CHECK_OK(inturn_token_cancel(leader.token));
  stage_drain(&stage);
  CHECK_TRACE("end leader cancelled, work joined");
  CHECK_ENDED(&leader, INTURN_CANCELLED,
              grace_ns > 0 ? INTURN_CAUSE_GRACE : INTURN_CAUSE_OWNER);
  CHECK(!is_cancelled(joined.token));
  stage_finish(&stage, &joined);
  CHECK_ENDED(&joined, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_ENDED(&third, INTURN_FINISHED, INTURN_CAUSE_JOINED);
  CHECK_ENDED(&next, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&stage);
  trace_begin();
}

static void who_has_joined_a_dead_owners_interaction_stands_in_for_it(void) {
  check_joined(0);
  check_joined(100);
}

static void who_has_joined_and_whose_owner_dies_ends_alone(void) {
  job leader = JOB("leader"), joined = JOB("joined");
  inturn_owner first, second;
  inturn_operation_options options = job_options(&leader);
  options.key = "down";
  stage stage = create_owned(&leader, options, &first);
  CHECK_OK(inturn_owner_create(0, &second));
  options = job_options(&joined);
  options.key = "down";
  options.join = true;
  options.owner = second;
  job_enqueue_as(stage.queue, &joined, never_work, &options);
  CHECK_OK(inturn_owner_destroy(second));
  stage_drain(&stage);
  CHECK_TRACE("end joined cancelled");
  CHECK_ENDED(&joined, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK(!is_cancelled(leader.token));
  stage_finish(&stage, &leader);
  CHECK_ENDED(&leader, INTURN_FINISHED, INTURN_CAUSE_NONE);
  CHECK_OK(inturn_owner_destroy(first));
  stage_destroy(&stage);
}

static void when_all_are_the_dead_owners_nobody_stands_in(void) {
  job leader = JOB("leader"), joined = JOB("joined");
  inturn_owner owner;
  inturn_operation_options options = job_options(&leader);
  options.key = "down";
  stage stage = create_owned(&leader, options, &owner);
  options = job_options(&joined);
  options.key = "down";
  options.join = true;
  options.owner = owner;
  job_enqueue_as(stage.queue, &joined, never_work, &options);
  CHECK_OK(inturn_owner_destroy(owner));
  CHECK_OK(inturn_token_cancel(leader.token));
  stage_drain(&stage);
  CHECK_ENDED(&leader, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  CHECK_ENDED(&joined, INTURN_CANCELLED, INTURN_CAUSE_OWNER);
  stage_destroy(&stage);
}

PROGRAM(mishaps, TEST(a_second_finish_is_refused_and_the_queue_goes_on),
        TEST(after_its_queue_is_gone_a_token_is_refused_on_any_thread),
        TEST(a_token_is_over_whatever_queues_come_after_its_own),
        TEST(a_finish_and_the_end_of_the_queue_race_to_one_end),
        TEST(a_thread_that_serves_signals_finishes_an_interaction),
        TEST(a_finish_after_the_window_is_gone_ends_it),
        TEST(a_condition_that_blocks_is_reported_and_cut_off),
        TEST(a_closed_queue_refuses_whatever_the_options_say),
        TEST(the_handler_of_a_dead_owners_interaction_takes_it_down),
        TEST(without_a_handler_it_goes_on_until_it_ends_itself),
        TEST(its_grace_time_cuts_off_a_dead_owners_interaction),
        TEST(a_dead_owners_interaction_that_yields_is_not_presented_again),
        TEST(who_has_joined_a_dead_owners_interaction_stands_in_for_it),
        TEST(who_has_joined_and_whose_owner_dies_ends_alone),
        TEST(when_all_are_the_dead_owners_nobody_stands_in))
