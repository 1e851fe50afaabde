/*
 * pending.c - programs that are stuck because pending work does not start.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

/* Dependencies ------------------------------------------------------------- */

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
    "part@uploads > part@uploads: " NOT_FINISHED) {
  inturn_queue uploads = QUEUE(CONCURRENT, "uploads");
  BATCH(uploads, "part", keep, ((inturn_batch_edge){1, 0}));
}

/* Pending work may not start ----------------------------------------------- */

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
  dialogs = visible_dialogs();
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

STUCK(manual_clock_stands_still,
      "@paced: its manual clock has not reached its next start") {
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
    "load@network: its manual clock has not reached its next "
    "attempt") {
  inturn_queue network = QUEUE(FIFO, "network", .clock = manual_clock());
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 1000;
  ADD(network, "load", fail, NULL, .retry = &retry);
  drain(network);
}

/* Work that may start is not called ---------------------------------------- */

STUCK(nobody_drains_the_executor, "@frames: nobody is draining its executor") {
  inturn_queue frames = QUEUE(FIFO, "frames", .executor = executor_of(0));
  ADD(frames, "draw", finish, NULL);
  drain(frames);
}

STUCK(one_waits_for_an_executor_that_nobody_drains,
      "@frames: nobody is draining its executor") {
  inturn_queue frames = QUEUE(CONCURRENT, "frames", .executor = executor_of(0));
  wait_on(KEPT(frames, "draw", finish, NULL));
}

NEW(queue_is_moved_to_an_executor_that_nobody_drains,
    "@frames: nobody is draining its executor") {
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
      "@windows: the main thread is not draining its executor") {
  inturn_executor executor;
  OK(inturn_executor_main(&executor));
  inturn_queue windows = QUEUE(FIFO, "windows", .executor = executor);
  ADD(windows, "show", finish, NULL);
}

STUCK(main_thread_waits_for_its_own_executor, REFUSED) {
  inturn_executor executor;
  OK(inturn_executor_main(&executor));
  inturn_queue windows = QUEUE(FIFO, "windows", .executor = executor);
  ADD(windows, "show", finish, NULL);
  drain(windows);
}

NEW(stopped_executor_is_not_run_again,
    "@frames: nobody is draining its executor") {
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
