/*
 * names_together.c - names together with attempts, barriers, urgent operations,
 * priorities, and many other names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "names.h"

static void check_retry(inturn_queue_kind kind) {
  stage first = stage_create(kind), second = stage_create(kind);
  job flaky = JOB("flaky"), other = JOB("other");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = 100;
  inturn_operation_options options = named(&flaky, one, 1);
  options.retry = &retry;
  job_enqueue_as(first.queue, &flaky, work_hold, &options);
  stage_drain(&first);
  enqueue_named(second.queue, &other, work_hold, one, 1);
  stage_drain(&second);
  stage_fail(&first, &flaky);
  stage_drain(&second);
  CHECK_INT(gate_count(&other.started), 1);
  stage_advance(&first, 100);
  CHECK_INT(gate_count(&flaky.started), 1);
  stage_finish(&second, &other);
  stage_drain(&first);
  CHECK_INT(gate_count(&flaky.started), 2);
  stage_finish(&first, &flaky);
  CHECK_ENDED(&flaky, INTURN_FINISHED, INTURN_CAUSE_NONE);
  stage_destroy(&first);
  stage_destroy(&second);
  trace_begin();
}

static void between_attempts_the_names_are_free(void) {
  for_each_kind(check_retry);
}

static void a_barrier_may_have_names(void) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT, work_finish);
  stage stage = stage_create(INTURN_QUEUE_CONCURRENT);
  job fence = JOB("fence"), next = JOB("next");
  inturn_operation_options options = named(&fence, one, 1);
  options.barrier = true;
  job_enqueue_as(stage.queue, &fence, work_finish, &options);
  job_enqueue(stage.queue, &next, work_finish);
  stage_drain(&stage);
  CHECK_TRACE("");
  CHECK_OK(inturn_token_finish(pair.holder.token));
  pair_drain(&pair);
  trace_begin();
  stage_drain(&stage);
  CHECK_TRACE("work fence, end fence finished, work next, end next finished");
  stage_destroy(&stage);
  pair_destroy(&pair);
}

static void an_urgent_one_that_has_to_wait_holds_no_other_up(void) {
  stage elsewhere = stage_create(INTURN_QUEUE_FIFO);
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  job holder = JOB("holder"), urgent = JOB("urgent"), plain = JOB("plain");
  enqueue_named(elsewhere.queue, &holder, work_hold, one, 1);
  stage_drain(&elsewhere);
  inturn_operation_options options = named(&urgent, one, 1);
  options.urgent = true;
  job_enqueue_as(stage.queue, &urgent, work_hold, &options);
  job_enqueue(stage.queue, &plain, work_hold);
  stage_drain(&stage);
  CHECK_TRACE("work holder, work plain");
  stage_finish(&elsewhere, &holder);
  trace_begin();
  CHECK_OK(inturn_token_yield(plain.token));
  stage_drain(&stage);
  CHECK_TRACE("work urgent");
  stage_finish(&stage, &urgent);
  CHECK_TRACE("end urgent finished, work plain");
  stage_destroy(&stage);
  stage_destroy(&elsewhere);
}

/* An interaction that got its names while another one ran. */
static void check_stays_first(inturn_status (*give_way)(inturn_token token),
                              int64_t delay_ns) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_QUEUE_INTERACTION, work_hold);
  job shown = JOB("shown");
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.delay_ns = delay_ns;
  inturn_operation_options options = job_options(&shown);
  options.retry = &retry;
  job_enqueue_as(pair.second.queue, &shown, work_hold, &options);
  stage_drain(&pair.second);
  stage_finish(&pair.first, &pair.holder);
  trace_begin();
  CHECK_OK(give_way(shown.token));
  stage_drain(&pair.second);
  stage_advance(&pair.second, delay_ns);
  CHECK_TRACE("work shown");
  stage_finish(&pair.second, &shown);
  CHECK_TRACE("end shown finished, work waiter");
  pair_destroy(&pair);
}

static inturn_status fail_it(inturn_token token) {
  return inturn_token_fail(token, FAIL_CODE);
}

static void one_that_has_its_names_does_not_start_between_attempts(void) {
  check_stays_first(fail_it, 0);
  check_stays_first(fail_it, 100);
}

static void one_that_yields_is_before_one_that_has_its_names(void) {
  check_stays_first(inturn_token_yield, 0);
}

static void an_urgent_one_that_has_its_names_comes_next(void) {
  stage elsewhere = stage_create(INTURN_QUEUE_FIFO);
  job holder = JOB("holder"), plain = JOB("plain");
  job first = JOB("first"), second = JOB("second");
  enqueue_named(elsewhere.queue, &holder, work_hold, one, 1);
  stage_drain(&elsewhere);
  stage stage = stage_create(INTURN_QUEUE_INTERACTION);
  inturn_operation_options options = named(&first, one, 1);
  options.urgent = true;
  job_enqueue_as(stage.queue, &first, work_finish, &options);
  job_enqueue(stage.queue, &plain, work_hold);
  stage_drain(&stage);
  options = job_options(&second);
  options.urgent = true;
  job_enqueue_as(stage.queue, &second, work_finish, &options);
  stage_finish(&elsewhere, &holder);
  trace_begin();
  stage_finish(&stage, &plain);
  CHECK_TRACE("end plain finished, work first, end first finished, "
              "work second, end second finished");
  stage_destroy(&stage);
  stage_destroy(&elsewhere);
}

static void priorities_and_names_go_together(void) {
  pair pair;
  pair_create(&pair, INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT, work_finish);
  stage stage = stage_create_of(INTURN_QUEUE_CONCURRENT, 1);
  job low = JOB("low"), high = JOB("high"), plain = JOB("plain");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  inturn_operation_options options = named(&low, one, 1);
  options.priority = -1;
  job_enqueue_as(stage.queue, &low, work_finish, &options);
  options = named(&high, one, 1);
  options.priority = 1;
  job_enqueue_as(stage.queue, &high, work_finish, &options);
  job_enqueue(stage.queue, &plain, work_finish);
  stage_resume(&stage);
  CHECK_TRACE("work plain, end plain finished");
  stage_finish(&pair.first, &pair.holder);
  pair_drain(&pair);
  trace_begin();
  stage_drain(&stage);
  /* The high one asked first. */
  CHECK_TRACE("work high, end high finished, work low, end low finished");
  stage_destroy(&stage);
  pair_destroy(&pair);
}

/* A thousand philosophers' dinners on queues of all four kinds: no set of names
   can deadlock, and no two operations that share a name overlap. */
enum { NAMES = 6, QUEUES = 4 };

static const char *const all_names[NAMES] = {"a", "b", "c", "d", "e", "f"};
static atomic_int users[NAMES];
static gate all_ended;

typedef struct diner {
  unsigned set;
} diner;

static void dine(void *context, inturn_token token) {
  unsigned set = ((diner *)context)->set;
  for (int i = 0; i < NAMES; i++)
    if (set >> i & 1)
      CHECK_INT(atomic_fetch_add(&users[i], 1), 0);
  for (int i = 0; i < NAMES; i++)
    if (set >> i & 1)
      CHECK_INT(atomic_fetch_sub(&users[i], 1), 1);
  CHECK_OK(inturn_token_finish(token));
}

static void no_set_of_names_can_deadlock(void) {
  enum { MOST = 20000 };
  static diner diners[MOST];
  const int count = (int)scaled(MOST);
  inturn_queue queues[QUEUES];
  uint64_t seed = 11;
  all_ended = (gate)GATE_INIT;
  for (int i = 0; i < QUEUES; i++)
    queues[i] = pool_queue_create((inturn_queue_kind)(i + 1), NULL);
  for (int i = 0; i < count; i++) {
    const char *names[NAMES];
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    diners[i].set = (unsigned)(next_random(&seed) % (1u << NAMES));
    options.exclusive = names;
    /* Each lists them in an order of its own. */
    int begin = (int)(next_random(&seed) % NAMES);
    for (int j = 0; j < NAMES; j++)
      if (diners[i].set >> (begin + j) % NAMES & 1)
        names[options.exclusive_count++] = all_names[(begin + j) % NAMES];
    options.on_end = count_end;
    options.end_context = &all_ended;
    CHECK_OK(inturn_queue_enqueue_with(queues[i % QUEUES], &options, dine,
                                       &diners[i], NULL, NULL));
  }
  for (int i = 0; i < QUEUES; i++)
    drain_and_destroy(queues[i]);
  CHECK_INT(gate_count(&all_ended), count);
}

PROGRAM(names_together, TEST(between_attempts_the_names_are_free),
        TEST(a_barrier_may_have_names),
        TEST(an_urgent_one_that_has_to_wait_holds_no_other_up),
        TEST(one_that_has_its_names_does_not_start_between_attempts),
        TEST(one_that_yields_is_before_one_that_has_its_names),
        TEST(an_urgent_one_that_has_its_names_comes_next),
        TEST(priorities_and_names_go_together),
        TEST(no_set_of_names_can_deadlock))
