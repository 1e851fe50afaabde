/*
 * stuck.c - programs in C that are stuck, and what has to be said of each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

#define NOT_FINISHED "its call has returned, its token has not been finished"
#define IN_CALL "its call has not returned"

/* What runs does not end --------------------------------------------------- */

STUCK(token_is_forgotten, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  drain(network);
}

STUCK(token_is_forgotten_and_others_wait, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  ADD(network, "save", finish, NULL);
}

STUCK(operation_is_waited_for, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(CONCURRENT, "network");
  wait_on(KEPT(network, "load", keep, NULL));
}

STUCK(one_behind_is_waited_for, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  wait_on(KEPT(network, "save", finish, NULL));
}

STUCK(plain_token_is_forgotten, "?@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  OK(inturn_queue_enqueue(network, keep, NULL, NULL, NULL));
  drain(network);
}

STUCK(queue_has_no_label, "load@: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, NULL);
  ADD(network, "load", keep, NULL);
  drain(network);
}

STUCK(call_does_not_return, "compute@slow: " IN_CALL) {
  inturn_queue slow = QUEUE(FIFO, "slow");
  ADD(slow, "compute", block, NULL);
  ADD(slow, "later", finish, NULL);
}

static void finish_and_block(void *context, inturn_token token) {
  finish(context, token);
  block(context, token);
}

STUCK(call_goes_on_after_its_end, "compute@slow: it has ended, " IN_CALL) {
  inturn_queue slow = QUEUE(FIFO, "slow");
  ADD(slow, "compute", finish_and_block, NULL);
  drain(slow);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_and_finish(void *context, inturn_token token) {
  pthread_mutex_lock(&mutex);
  finish(context, token);
}

STUCK(mutex_of_who_drains, "count@totals: " IN_CALL) {
  inturn_queue totals = QUEUE(FIFO, "totals");
  pthread_mutex_lock(&mutex);
  ADD(totals, "count", lock_and_finish, NULL);
  drain(totals);
}

static int ends[2];

static void read_end(void *context, inturn_token token) {
  char byte;
  if (read(ends[0], &byte, 1) == 1)
    finish(context, token);
}

STUCK(first_waits_for_second_by_a_pipe, "first@steps: " IN_CALL) {
  inturn_queue steps = QUEUE(FIFO, "steps");
  if (pipe(ends) != 0)
    exit(1);
  ADD(steps, "first", read_end, NULL);
  ADD(steps, "second", finish, NULL);
}

static void block_end(void *context, const inturn_end *end) {
  (void)context, (void)end;
  for (;;)
    pause();
}

STUCK(end_callback_does_not_return,
      "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  ADD(uploads, "first", finish, NULL, .on_end = block_end);
  ADD(uploads, "second", finish, NULL);
}

static void block_destroy(void *context) {
  (void)context;
  for (;;)
    pause();
}

NEW(context_is_destroyed_for_ever,
    "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  static int context;
  OK(inturn_queue_enqueue_with(uploads, WITH("first"), finish, &context,
                               block_destroy, NULL));
  drain(uploads);
}

static inturn_verdict block_condition(void *context) {
  block(context, (inturn_token){0});
  return INTURN_START;
}

NEW(condition_does_not_return, "ask@dialogs: " IN_CALL) {
  inturn_queue dialogs = QUEUE(FIFO, "dialogs");
  ADD(dialogs, "ask", finish, NULL, .condition = block_condition);
  drain(dialogs);
}

static void heed_nothing(void *context, inturn_token token) {
  inturn_token_on_cancel(token, block, context, NULL);
}

NEW(cancel_handler_does_not_return, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_operation load = KEPT(network, "load", heed_nothing, NULL);
  started(network, 1);
  inturn_operation_cancel(load);
  drain(network);
}

NEW(cancelled_and_not_heeded, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_operation load = KEPT(network, "load", keep, NULL);
  started(network, 1);
  inturn_operation_cancel(load);
  wait_on(load);
}

STUCK(place_is_held_after_a_deadline,
      "late@uploads: it was cut off, and has its place until its token is "
      "finished") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  ADD(uploads, "late", keep, NULL, .max_run_ns = 1000);
  ADD(uploads, "next", finish, NULL);
}

NEW(cut_off_call_keeps_the_queue_from_being_quiet,
    "@uploads: a callback of it has not returned") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  ADD(uploads, "late", block, NULL, .max_run_ns = 1000,
      .max_run_policy = INTURN_MAX_RUN_FREE);
  drain(uploads);
}

static void fail_once(void *context, inturn_token token) {
  if (++*(int *)context == 1)
    inturn_token_fail(token, 1);
}

NEW(second_attempt_forgets_its_token, "load@network: " NOT_FINISHED) {
  static int attempts;
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_retry retry = INTURN_RETRY_INIT;
  ADD(network, "load", fail_once, &attempts, .retry = &retry);
  drain(network);
}

STUCK(question_has_no_answer, "question@dialogs: " NOT_FINISHED) {
  inturn_queue dialogs =
      QUEUE(INTERACTION, "dialogs", .executor = library_pool(),
            .settle_ns = INTURN_NO_DELAY);
  OK(inturn_queue_view_did_appear(dialogs));
  ADD(dialogs, "question", keep, NULL);
  drain(dialogs);
}

NEW(urgent_question_is_not_given_way, "question@dialogs: " NOT_FINISHED) {
  inturn_queue dialogs =
      QUEUE(INTERACTION, "dialogs", .executor = library_pool(),
            .settle_ns = INTURN_NO_DELAY);
  OK(inturn_queue_view_did_appear(dialogs));
  ADD(dialogs, "question", keep, NULL);
  started(dialogs, 1);
  wait_on(KEPT(dialogs, "alarm", finish, NULL, .urgent = true));
}

STUCK(actor_waits_for_a_segment_that_never_comes, "talk@room: " NOT_FINISHED) {
  inturn_queue room = QUEUE(ACTOR, "room");
  ADD(room, "talk", keep, NULL);
  drain(room);
}

static void resume_blocked(void *context, inturn_token token) {
  inturn_token_resume(token, block, context, NULL);
}

NEW(segment_does_not_return, "@room: a callback of it has not returned") {
  inturn_queue room = QUEUE(ACTOR, "room");
  ADD(room, "talk", resume_blocked, NULL);
  ADD(room, "listen", finish, NULL);
  moment();
  ADD(room, "leave", finish, NULL);
  drain(room);
}

STUCK(all_places_are_taken, "first@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(CONCURRENT, "network", .max_concurrent = 2);
  ADD(network, "first", keep, NULL);
  ADD(network, "second", keep, NULL);
  ADD(network, "third", finish, NULL);
}

/* What waits for others ---------------------------------------------------- */

STUCK(one_comes_after_a_forgotten_one,
      "save@database > load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_queue database = QUEUE(FIFO, "database");
  inturn_operation load = KEPT(network, "load", keep, NULL);
  ADD(database, "save", finish, NULL, AFTER(load));
}

STUCK(three_queues_in_a_row,
      "show@screen > save@database > load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_queue database = QUEUE(CONCURRENT, "database");
  inturn_queue screen = QUEUE(FIFO, "screen");
  inturn_operation load = KEPT(network, "load", keep, NULL);
  inturn_operation save = KEPT(database, "save", finish, NULL, AFTER(load));
  ADD(screen, "show", finish, NULL, AFTER(save));
  drain(screen);
}

STUCK(one_comes_after_one_of_a_suspended_queue,
      "save@database > load@network > @network: it is suspended") {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_queue database = QUEUE(FIFO, "database");
  OK(inturn_queue_suspend(network));
  inturn_operation load = KEPT(network, "load", finish, NULL);
  ADD(database, "save", finish, NULL, AFTER(load));
  drain(database);
}

NEW(one_comes_after_two_and_one_of_them_ends,
    "save@database > second@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(CONCURRENT, "network", .max_concurrent = 2);
  inturn_queue database = QUEUE(FIFO, "database");
  inturn_operation both[] = {KEPT(network, "first", finish, NULL),
                             KEPT(network, "second", keep, NULL)};
  ADD(database, "save", finish, NULL, .after = both, .after_count = 2);
}

STUCK(name_is_held_elsewhere, "copy@albums > write@photos: " NOT_FINISHED) {
  inturn_queue photos = QUEUE(FIFO, "photos");
  inturn_queue albums = QUEUE(FIFO, "albums");
  ADD(photos, "write", keep, NULL, NAMED("disk"));
  started(photos, 1);
  ADD(albums, "copy", finish, NULL, NAMED("disk"));
}

NEW(name_is_kept_by_a_suspended_queue,
    "copy@albums > write@photos > @photos: it is suspended") {
  inturn_queue photos = QUEUE(FIFO, "photos");
  inturn_queue albums = QUEUE(FIFO, "albums");
  inturn_queue files = QUEUE(FIFO, "files");
  static inturn_token move;
  ADD(files, "move", keep, &move, NAMED("disk"));
  started(files, 1);
  ADD(photos, "write", finish, NULL, NAMED("disk"));
  moment();
  OK(inturn_queue_suspend(photos));
  ADD(albums, "copy", finish, NULL, NAMED("disk"));
  OK(inturn_token_finish(move));
  drain(albums);
}

NEW(name_is_waited_for_in_a_line,
    "print@paper > copy@albums > write@photos: " NOT_FINISHED) {
  inturn_queue photos = QUEUE(FIFO, "photos");
  inturn_queue albums = QUEUE(FIFO, "albums");
  inturn_queue paper = QUEUE(FIFO, "paper");
  ADD(photos, "write", keep, NULL, NAMED("disk"));
  started(photos, 1);
  ADD(albums, "copy", finish, NULL, NAMED("disk"));
  ADD(paper, "print", finish, NULL, NAMED("disk"));
  drain(paper);
}

STUCK(barrier_waits_for_one_before_it, "read@files: " NOT_FINISHED) {
  inturn_queue files = QUEUE(CONCURRENT, "files");
  ADD(files, "read", keep, NULL);
  ADD(files, "sync", finish, NULL, .barrier = true);
}

NEW(barrier_does_not_end, "sync@files: " NOT_FINISHED) {
  inturn_queue files = QUEUE(CONCURRENT, "files");
  ADD(files, "sync", keep, NULL, .barrier = true);
  ADD(files, "read", finish, NULL);
}

NEW(barrier_comes_after_one_of_another_queue,
    "sync@files > load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_queue files = QUEUE(CONCURRENT, "files");
  inturn_operation load = KEPT(network, "load", keep, NULL);
  ADD(files, "sync", finish, NULL, .barrier = true, AFTER(load));
  ADD(files, "read", finish, NULL);
}

NEW(joined_operation_is_waited_for, "load@network: " NOT_FINISHED) {
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL, .key = "photo", .join = true);
  wait_on(KEPT(network, "again", finish, NULL, .key = "photo", .join = true));
}

static inturn_batch batch_of(inturn_site *site, inturn_queue queue,
                             const char *label, inturn_work_fn first,
                             inturn_batch_edge edge) {
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  inturn_operation_options operation = *WITH(label);
  inturn_batch_item items[2] = {{first, NULL, NULL}, {finish, NULL, NULL}};
  inturn_batch batch;
  options.operation = &operation;
  if (edge.place > edge.after) {
    options.edges = &edge;
    options.edge_count = 1;
  }
  OK(inturn_queue_enqueue_batch_at(site, queue, &options, items, 2, &batch));
  return batch;
}

#define BATCH(...)                                                             \
  __extension__({                                                              \
    static inturn_site site_ = {__FILE__, __func__, __LINE__, 0};              \
    batch_of(&site_, __VA_ARGS__);                                             \
  })

STUCK(batch_of_a_suspended_queue, "@uploads: it is suspended for \"offline\"") {
  inturn_queue uploads = QUEUE(CONCURRENT, "uploads");
  OK(inturn_queue_suspend_for(uploads, "offline"));
  inturn_batch parts = BATCH(uploads, "part", finish, (inturn_batch_edge){0});
  inturn_batch_wait(parts, -1, NULL);
}

NEW(batch_waits_for_one_part, "part@uploads: " NOT_FINISHED) {
  inturn_queue uploads = QUEUE(CONCURRENT, "uploads");
  inturn_batch parts = BATCH(uploads, "part", keep, (inturn_batch_edge){0});
  inturn_batch_wait(parts, -1, NULL);
}

NEW(part_of_a_batch_comes_after_another,
    "silent: what a batch holds back does not say for which") {
  inturn_queue uploads = QUEUE(CONCURRENT, "uploads");
  BATCH(uploads, "part", keep, ((inturn_batch_edge){1, 0}));
}

/* What may not start ------------------------------------------------------- */

STUCK(nobody_resumes, "@uploads: it is suspended") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  OK(inturn_queue_suspend(uploads));
  ADD(uploads, "send", finish, NULL);
  drain(uploads);
}

STUCK(resumed_once_too_seldom, "@uploads: it is suspended") {
  inturn_queue uploads = QUEUE(CONCURRENT, "uploads");
  OK(inturn_queue_suspend(uploads));
  OK(inturn_queue_suspend(uploads));
  OK(inturn_queue_resume(uploads));
  ADD(uploads, "send", finish, NULL);
  drain(uploads);
}

STUCK(resumed_for_another_reason, "@uploads: it is suspended for \"offline\"") {
  inturn_queue uploads = QUEUE(ACTOR, "uploads");
  OK(inturn_queue_suspend_for(uploads, "busy"));
  OK(inturn_queue_suspend_for(uploads, "offline"));
  OK(inturn_queue_resume_for(uploads, "busy"));
  ADD(uploads, "send", finish, NULL);
  drain(uploads);
}

NEW(closed_while_it_is_suspended, "@uploads: it is suspended") {
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  OK(inturn_queue_suspend(uploads));
  ADD(uploads, "send", finish, NULL);
  OK(inturn_queue_close(uploads));
  drain(uploads);
}

STUCK(view_never_appears, "@dialogs: its view has not appeared") {
  inturn_queue dialogs =
      QUEUE(INTERACTION, "dialogs", .executor = library_pool());
  ADD(dialogs, "question", finish, NULL);
  drain(dialogs);
}

STUCK(view_is_hidden, "@dialogs: its view is hidden") {
  inturn_queue dialogs =
      QUEUE(INTERACTION, "dialogs", .executor = library_pool());
  OK(inturn_queue_view_did_appear(dialogs));
  OK(inturn_queue_view_will_disappear(dialogs));
  wait_on(KEPT(dialogs, "question", finish, NULL));
}

static void give_way(void *context, inturn_token token) {
  inturn_queue_view_will_disappear(*(inturn_queue *)context);
  inturn_token_yield(token);
}

NEW(view_is_hidden_when_it_gives_way, "@dialogs: its view is hidden") {
  static inturn_queue dialogs;
  dialogs = QUEUE(INTERACTION, "dialogs", .executor = library_pool(),
                  .settle_ns = INTURN_NO_DELAY);
  OK(inturn_queue_view_did_appear(dialogs));
  ADD(dialogs, "question", give_way, &dialogs);
  drain(dialogs);
}

NEW(view_settles_for_ever, "@dialogs: it starts nothing for another TIME") {
  inturn_queue dialogs = QUEUE(
      INTERACTION, "dialogs", .executor = library_pool(), .settle_ns = HOUR_NS);
  OK(inturn_queue_view_did_appear(dialogs));
  ADD(dialogs, "question", finish, NULL);
  drain(dialogs);
}

STUCK(
    manual_clock_stands_still,
    "@paced: its clock, which is advanced by hand, is before its next start") {
  inturn_queue paced =
      QUEUE(FIFO, "paced", .clock = manual_clock(), .rate = {1, 0, 1000});
  ADD(paced, "first", finish, NULL);
  ADD(paced, "second", finish, NULL);
  drain(paced);
}

NEW(rate_lets_nothing_start, "@paced: it starts nothing for another TIME") {
  inturn_queue paced = QUEUE(CONCURRENT, "paced", .rate = {1, 0, HOUR_NS});
  ADD(paced, "first", finish, NULL);
  ADD(paced, "second", finish, NULL);
  drain(paced);
}

NEW(next_attempt_is_far_away, "load@network: its next attempt begins in TIME") {
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = HOUR_NS;
  wait_on(KEPT(network, "load", fail, NULL, .retry = &retry));
}

NEW(next_attempt_is_of_a_manual_clock,
    "load@network: its clock, which is advanced by hand, is before its next "
    "attempt") {
  inturn_queue network = QUEUE(FIFO, "network", .clock = manual_clock());
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 1000;
  ADD(network, "load", fail, NULL, .retry = &retry);
  drain(network);
}

/* What may start is not called --------------------------------------------- */

STUCK(nobody_drains_the_executor, "@frames: nobody drains its executor") {
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = executor_of(0));
  ADD(frames, "draw", finish, NULL);
  drain(frames);
}

STUCK(one_waits_for_an_executor_that_nobody_drains,
      "@frames: nobody drains its executor") {
  inturn_queue frames = QUEUE(CONCURRENT, "frames", .executor = executor_of(0));
  wait_on(KEPT(frames, "draw", finish, NULL));
}

NEW(queue_is_moved_to_an_executor_that_nobody_drains,
    "@frames: nobody drains its executor") {
  inturn_queue frames = QUEUE(FIFO, "frames");
  OK(inturn_queue_set_executor(frames, executor_of(0)));
  ADD(frames, "draw", finish, NULL);
  drain(frames);
}

STUCK(executors_thread_is_in_a_call,
      "@other: who drains its executor is in a call that has not returned") {
  static inturn_executor loop;
  loop = executor_of(0);
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = loop);
  inturn_queue other = QUEUE(FIFO, "other", .executor = loop);
  thread(run_executor, &loop);
  ADD(frames, "draw", block, NULL);
  started(frames, 1);
  ADD(other, "play", finish, NULL);
}

STUCK(main_thread_does_not_drain_its_executor,
      "@windows: the main thread does not drain its executor") {
  inturn_executor executor;
  OK(inturn_executor_main(&executor));
  inturn_queue windows = QUEUE(FIFO, "windows", .executor = executor);
  ADD(windows, "show", finish, NULL);
}

STUCK(main_thread_waits_for_its_own_executor,
      "refused: a wait was refused, it could never end") {
  inturn_executor executor;
  OK(inturn_executor_main(&executor));
  inturn_queue windows = QUEUE(FIFO, "windows", .executor = executor);
  ADD(windows, "show", finish, NULL);
  drain(windows);
}

NEW(stopped_executor_is_not_run_again, "@frames: nobody drains its executor") {
  static inturn_executor loop;
  loop = executor_of(0);
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = loop);
  thread(run_executor, &loop);
  moment();
  OK(inturn_executor_stop(loop));
  moment();
  ADD(frames, "draw", finish, NULL);
  drain(frames);
}

STUCK(all_threads_of_a_pool_are_in_calls,
      "@other: the only thread of its pool is in a call") {
  inturn_executor pool = executor_of(1);
  inturn_queue slow = QUEUE(FIFO, "slow", .executor = pool);
  inturn_queue other = QUEUE(FIFO, "other", .executor = pool);
  ADD(slow, "compute", block, NULL);
  started(slow, 1);
  ADD(other, "play", finish, NULL);
}

NEW(pool_of_two_is_in_calls, "@other: all 2 threads of its pool are in calls") {
  inturn_executor pool = executor_of(2);
  inturn_queue slow =
      QUEUE(CONCURRENT, "slow", .max_concurrent = 2, .executor = pool);
  inturn_queue other = QUEUE(FIFO, "other", .executor = pool);
  ADD(slow, "one", block, NULL);
  ADD(slow, "two", block, NULL);
  started(slow, 2);
  ADD(other, "play", finish, NULL);
}

/* Waits -------------------------------------------------------------------- */

STUCK(queue_is_drained_in_its_own_call,
      "refused: a wait was refused, it could never end") {
  static inturn_queue steps;
  steps = QUEUE(FIFO, "steps");
  ADD(steps, "first", drain_it, &steps);
}

STUCK(one_waits_for_one_behind_it,
      "refused: a wait was refused, it could never end") {
  static inturn_operation second;
  inturn_queue steps = QUEUE(FIFO, "steps");
  OK(inturn_queue_suspend(steps));
  ADD(steps, "first", wait_for, &second);
  second = KEPT(steps, "second", finish, NULL);
  OK(inturn_queue_resume(steps));
}

STUCK(two_queues_drain_each_other,
      "refused: a wait was refused, it could never end") {
  static inturn_queue left, right;
  left = QUEUE(FIFO, "left");
  right = QUEUE(FIFO, "right");
  ADD(left, "there", drain_it, &right);
  ADD(right, "back", drain_it, &left);
  ADD(left, "there", drain_it, &right);
  ADD(right, "back", drain_it, &left);
}

STUCK(call_waits_for_a_forgotten_one, "load@network: " NOT_FINISHED) {
  static inturn_operation load;
  inturn_queue network = QUEUE(FIFO, "network");
  inturn_queue database = QUEUE(FIFO, "database");
  load = KEPT(network, "load", keep, NULL);
  ADD(database, "save", wait_for, &load);
  ADD(database, "next", finish, NULL);
}

static void wait_a_moment_for(void *operation, inturn_token token) {
  moment();
  wait_for(operation, token);
}

NEW(ring_of_a_name_and_a_wait,
    "refused: a wait was refused, it could never end") {
  static inturn_operation copy;
  inturn_queue photos = QUEUE(FIFO, "photos");
  inturn_queue albums = QUEUE(FIFO, "albums");
  ADD(photos, "write", wait_a_moment_for, &copy, NAMED("disk"));
  copy = KEPT(albums, "copy", finish, NULL, NAMED("disk"));
}

static void wait_for_batch(void *context, inturn_token token) {
  inturn_batch_wait(*(inturn_batch *)context, -1, NULL);
  inturn_token_finish(token);
}

NEW(batch_is_waited_for_by_one_before_it,
    "refused: a wait was refused, it could never end") {
  static inturn_batch parts;
  inturn_queue uploads = QUEUE(FIFO, "uploads");
  OK(inturn_queue_suspend(uploads));
  ADD(uploads, "send", wait_for_batch, &parts);
  parts = BATCH(uploads, "part", finish, (inturn_batch_edge){0});
  OK(inturn_queue_resume(uploads));
}

STUCK(destroy_waits_for_a_call, "compute@slow: it has ended, " IN_CALL) {
  inturn_queue slow = QUEUE(FIFO, "slow");
  ADD(slow, "compute", block, NULL);
  started(slow, 1);
  inturn_queue_destroy(slow);
}

NEW(drained_by_a_thread_beside, "load@network: " NOT_FINISHED) {
  static inturn_queue network;
  network = QUEUE(CONCURRENT, "network");
  ADD(network, "load", keep, NULL);
  thread(drain_in_thread, &network);
}

NEW(executors_only_thread_waits_for_another_queue,
    "load@network: " NOT_FINISHED) {
  static inturn_executor loop;
  static inturn_queue network;
  loop = executor_of(0);
  network = QUEUE(FIFO, "network");
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = loop);
  inturn_queue sounds = QUEUE(FIFO, "sounds", .executor = loop);
  ADD(network, "load", keep, NULL);
  ADD(sounds, "play", drain_it, &network);
  thread(run_executor, &loop);
  started(sounds, 1);
  ADD(frames, "draw", finish, NULL);
}

static bool is_true(void *context, const inturn_datum *datum) {
  (void)context;
  return datum->boolean;
}

STUCK(value_that_nobody_sets,
      "silent: nothing is pending or running in a queue") {
  inturn_datum datum = INTURN_BOOLEAN(false);
  inturn_value ready;
  OK(inturn_value_create(NULL, &datum, &ready));
  inturn_value_wait(ready, is_true, NULL, -1, NULL);
}

static inturn_value never;

static void wait_for_value(void *context, inturn_token token) {
  (void)context;
  inturn_value_wait(never, is_true, NULL, -1, NULL);
  inturn_token_finish(token);
}

NEW(call_waits_for_a_value_that_nobody_sets, "ask@network: " IN_CALL) {
  inturn_datum datum = INTURN_BOOLEAN(false);
  OK(inturn_value_create(NULL, &datum, &never));
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "ask", wait_for_value, NULL);
  drain(network);
}

NEW(child_waits_for_what_it_has_forgotten, "load@network: " NOT_FINISHED) {
  inturn_queue parents = QUEUE(FIFO, "parents");
  ADD(parents, "first", finish, NULL);
  drain(parents);
  if (fork() != 0)
    return;
  inturn_queue network = QUEUE(FIFO, "network");
  ADD(network, "load", keep, NULL);
  drain(network);
}
