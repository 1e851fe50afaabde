/*
 * stuck_limits.c - queues with a limit of their own for what is stuck.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

static inturn_queue queue_with_limit(const char *label, int64_t stall_ns) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = label;
  options.stall_ns = stall_ns;
  CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
  return queue;
}

static void end(inturn_queue queue, inturn_token token) {
  CHECK_OK(inturn_token_finish(token));
  drain_and_destroy(queue);
}

/* Both are stuck, and only the network is told. Who looks at the second queue
   has looked at the first one before. */
static void network_alone_is_told(int64_t limit_ns, int64_t first_ns,
                                  int64_t second_ns) {
  stalls_begin(limit_ns);
  inturn_queue files = queue_with_limit("files", first_ns);
  inturn_queue network = queue_with_limit("network", second_ns);
  inturn_token copy, load;
  hold(files, "copy", &copy);
  enqueue_one(files, NULL);
  hold(network, "load", &load);
  enqueue_one(network, NULL);
  stall told = STALL("token load@network");
  CHECK(told.stalled_ns >= 20 * MS);
  CHECK_INT(stalls_of(NULL), 1);
  end(files, copy);
  end(network, load);
  stalls_end();
}

static void a_queue_is_told_though_others_are_not(void) {
  network_alone_is_told(-1, 0, 20 * MS);
}

static void a_queue_is_never_told(void) {
  network_alone_is_told(20 * MS, -1, 0);
}

/* Who waits is no more impatient than who is waited for. */
static void the_limit_of_the_cause_counts(void) {
  stalls_begin(20 * MS);
  inturn_queue people = queue_with_limit("people", -1);
  inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
  inturn_queue network = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token answer, load;
  inturn_operation asked;
  inturn_operation_options options = labelled("answer"),
                           save = labelled("save");
  hold_kept(people, &options, &answer, &asked);
  save.after = &asked;
  save.after_count = 1;
  CHECK_OK(inturn_queue_enqueue_with(database, &save, just_finish, NULL, NULL,
                                     NULL));
  hold(network, "load", &load);
  enqueue_one(network, NULL);
  STALL("token load@network");
  CHECK_INT(stalls_of(NULL), 1);
  CHECK_OK(inturn_operation_release(asked));
  end(people, answer);
  drain_and_destroy(database);
  end(network, load);
  stalls_end();
}

/* Though its own queue has nothing more to do, and theirs are more patient. */
static void what_others_wait_for_has_the_limit_of_its_queue(void) {
  static const char name[] = "name", *const names[] = {name};
  for (int has_name = 0; has_name < 2; has_name++) {
    stalls_begin(-1);
    inturn_queue network = queue_with_limit("network", 20 * MS);
    inturn_queue database = labelled_queue(INTURN_QUEUE_FIFO, "database");
    inturn_operation_options load = labelled("load"), save = labelled("save");
    inturn_operation loading;
    inturn_token token;
    load.exclusive = save.exclusive = names;
    load.exclusive_count = save.exclusive_count = (size_t)has_name;
    hold_kept(network, &load, &token, &loading);
    save.after = &loading;
    save.after_count = !has_name;
    CHECK_OK(inturn_queue_enqueue_with(database, &save, just_finish, NULL, NULL,
                                       NULL));
    stall told = STALL("token load@network");
    CHECK(told.stalled_ns < 10 * 20 * MS);
    CHECK_OK(inturn_operation_release(loading));
    end(network, token);
    drain_and_destroy(database);
    stalls_end();
  }
}

/* Whatever is multiplied with it. Somebody looks because of the first queue. */
static void the_longest_limit_is_none(void) {
  static const int64_t limits[] = {INT64_MAX, INT64_MAX / 10, INT64_MAX / 640};
  drain_and_destroy(queue_with_limit("short", LIMIT_SECONDS * 1000 * MS));
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    stalls_begin(limits[i]);
    inturn_queue network = queue_with_limit("network", limits[i]);
    inturn_queue files = labelled_queue(INTURN_QUEUE_FIFO, "files");
    inturn_token load, copy;
    hold(network, "load", &load);
    hold(files, "copy", &copy);
    enqueue_one(files, NULL);
    await_threads("inturn-watchdog", 1);
    CHECK_OK(inturn_report_set_stall_limit(20 * MS));
    STALL("token copy@files");
    CHECK_INT(stalls_of(NULL), 1);
    end(network, load);
    end(files, copy);
    stalls_end();
  }
}

PROGRAM(stuck_limits, TEST(a_queue_is_told_though_others_are_not),
        TEST(a_queue_is_never_told), TEST(the_limit_of_the_cause_counts),
        TEST(what_others_wait_for_has_the_limit_of_its_queue),
        TEST(the_longest_limit_is_none))
