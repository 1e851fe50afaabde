/*
 * destroy.c - inturn_queue_destroy: nothing is left when it returns.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "fixture.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t thread_of_end;

static void note_thread_of_end(void *context, const inturn_end *end) {
  thread_of_end = pthread_self();
  count_end(context, end);
}

static void pending_ones_end_cancelled(inturn_queue_kind kind) {
  stage stage = stage_create(kind);
  job first = JOB("first"), second = JOB("second");
  CHECK_OK(inturn_queue_suspend(stage.queue));
  job_enqueue(stage.queue, &first, never_work);
  job_enqueue(stage.queue, &second, never_work);
  CHECK_OK(inturn_queue_destroy(stage.queue));
  CHECK_TRACE("end first cancelled, end second cancelled");
  CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_STATUS(inturn_queue_destroy(stage.queue), INTURN_E_STALE);
  CHECK_STATUS(inturn_queue_enqueue(stage.queue, never_work, NULL, NULL, NULL),
               INTURN_E_STALE);
  CHECK_INT(stage_drain(&stage), 0);
  CHECK_OK(inturn_executor_destroy(stage.executor));
  CHECK_OK(inturn_clock_destroy(stage.clock));
}

static void pending_operations_end_cancelled_before_the_return(void) {
  for_each_kind(pending_ones_end_cancelled);
}

static void running_ones_end_cancelled(inturn_queue_kind kind) {
  job job = JOB("a");
  inturn_operation operation;
  stage stage = stage_create_running_kept(kind, &job, &operation);
  stage_destroy(&stage);
  CHECK_ENDED(&job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_STATUS(inturn_token_finish(job.token), INTURN_E_ALREADY_FINISHED);
  CHECK_OK(inturn_operation_release(operation));
}

static void running_operations_end_cancelled_and_their_tokens_refused(void) {
  for_each_kind(running_ones_end_cancelled);
}

static void the_ends_are_delivered_on_the_thread_of_the_caller(void) {
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  gate ended = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = note_thread_of_end;
  options.end_context = &ended;
  CHECK_OK(inturn_queue_suspend(queue));
  CHECK_OK(
      inturn_queue_enqueue_with(queue, &options, never_work, NULL, NULL, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_INT(gate_count(&ended), 1);
  CHECK(pthread_equal(thread_of_end, pthread_self()));
}

static void ends_that_were_not_delivered_yet_are_delivered(void) {
  job job = JOB("a");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  CHECK_OK(inturn_token_finish(job.token));
  CHECK_TRACE("work a");
  stage_destroy(&stage);
  CHECK_TRACE("end a finished");
  CHECK_ENDED(&job, INTURN_FINISHED, INTURN_CAUSE_NONE);
}

static void a_cancel_handler_is_not_called_once_the_queue_is_destroyed(void) {
  job job = JOB("a"), handler = JOB("handler");
  stage stage = stage_create_running(INTURN_QUEUE_FIFO, &job);
  handler.token = job.token;
  CHECK_OK(inturn_token_on_cancel(job.token, job_cancel_called, &handler,
                                  job_destroyed));
  stage_destroy(&stage);
  CHECK_INT(gate_count(&handler.cancel_called), 0);
  CHECK_INT(gate_count(&handler.destroyed), 1);
}

typedef struct leaver {
  job job;
  atomic_bool returned;
} leaver;

static void stay_until_go(void *context, inturn_token token) {
  leaver *leaver = context;
  work_hold(&leaver->job, token);
  GATE_WAIT(&leaver->job.go, 1);
  atomic_store(&leaver->returned, true);
}

typedef struct destroyer {
  inturn_queue queue;
  atomic_int thread; /* its number in the system */
} destroyer;

static void destroy_queue(void *context) {
  destroyer *destroyer = context;
  atomic_store(&destroyer->thread, (int)syscall(SYS_gettid));
  CHECK_OK(inturn_queue_destroy(destroyer->queue));
}

static bool is_asleep(int thread) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  CHECK_INT(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
  fclose(file);
  return state == 'S';
}

/* Destroys the queue, whose work is in its call, and checks that the
   destruction waits for the call. In some rounds, it is asleep by then. */
static void check_call_is_waited_for(inturn_queue queue, leaver *leaver,
                                     int round) {
  destroyer destroyer = {queue, 0};
  thread destroying;
  thread_start(&destroying, destroy_queue, &destroyer);
  while (inturn_queue_suspend(queue) == INTURN_OK)
    sched_yield();
  while (round % 20 == 0 && !is_asleep(atomic_load(&destroyer.thread)))
    sched_yield();
  CHECK_INT(gate_count(&destroying.over), 0);
  gate_pass(&leaver->job.go);
  thread_join(&destroying);
  CHECK(atomic_load(&leaver->returned));
}

static void a_call_that_another_thread_is_in_is_waited_for(void) {
  for (int round = 0; round < 100; round++) {
    inturn_queue queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    leaver leaver = {JOB("a"), false};
    CHECK_OK(inturn_queue_enqueue(queue, stay_until_go, &leaver, NULL, NULL));
    GATE_WAIT(&leaver.job.started, 1);
    check_call_is_waited_for(queue, &leaver, round);
  }
}

/* The same for a call that a deadline has cut off, and that its queue no longer
   waits for. */
static void a_call_that_was_cut_off_is_waited_for_too(void) {
  for (int round = 0; round < 100; round++) {
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    inturn_operation_options timed = INTURN_OPERATION_OPTIONS_INIT;
    inturn_queue queue;
    leaver leaver = {JOB("a"), false};
    job behind = JOB("b");
    CHECK_OK(inturn_clock_create_manual(&options.clock));
    CHECK_OK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
    timed.max_run_ns = 1;
    timed.max_run_policy = INTURN_MAX_RUN_FREE;
    CHECK_OK(inturn_queue_enqueue_with(queue, &timed, stay_until_go, &leaver,
                                       NULL, NULL));
    job_enqueue(queue, &behind, work_finish);
    GATE_WAIT(&leaver.job.started, 1);
    CHECK_OK(inturn_clock_advance(options.clock, 1));
    GATE_WAIT(&behind.ended, 1);
    check_call_is_waited_for(queue, &leaver, round);
    CHECK_OK(inturn_clock_destroy(options.clock));
  }
}

/* A queue that is destroyed inside one of its own callbacks, and the job whose
   callback this is. */
static stage inside;
static job inside_job;

static void destroy_inside(void *context) {
  CHECK(context == NULL);
  CHECK_OK(inturn_queue_destroy(inside.queue));
  CHECK_STATUS(inturn_queue_close(inside.queue), INTURN_E_STALE);
}

static void destroy_inside_work(void *context, inturn_token token) {
  CHECK_INT(gate_count(&inside_job.destroyed), 0);
  work_hold(&inside_job, token);
  destroy_inside(context);
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void destroy_inside_end(void *context, const inturn_end *end) {
  CHECK_INT(end->outcome, INTURN_FINISHED);
  destroy_inside(context);
}

/* Runs an operation whose callback destroys the queue, and checks that the one
   behind it gets its end. */
static void check_destroy_inside(inturn_work_fn work, inturn_end_fn on_end,
                                 inturn_destroy_fn end_destroy,
                                 inturn_destroy_fn destroy) {
  job behind = JOB("behind");
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = on_end;
  options.end_destroy = end_destroy;
  inside = stage_create(INTURN_QUEUE_FIFO);
  inside_job = (job)JOB("a");
  CHECK_OK(inturn_queue_enqueue_with(inside.queue, &options, work, NULL,
                                     destroy, NULL));
  job_enqueue(inside.queue, &behind, never_work);
  stage_drain(&inside);
  CHECK_ENDED(&behind, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_STATUS(inturn_queue_close(inside.queue), INTURN_E_STALE);
  CHECK_OK(inturn_executor_destroy(inside.executor));
  CHECK_OK(inturn_clock_destroy(inside.clock));
}

static void a_queue_may_be_destroyed_inside_its_work(void) {
  check_destroy_inside(destroy_inside_work, NULL, NULL, NULL);
}

static void a_queue_may_be_destroyed_inside_its_end_callback(void) {
  check_destroy_inside(just_finish, destroy_inside_end, NULL, NULL);
}

static void a_queue_may_be_destroyed_inside_an_end_destroy_function(void) {
  check_destroy_inside(just_finish, NULL, destroy_inside, NULL);
}

static void a_queue_may_be_destroyed_inside_a_destroy_function(void) {
  check_destroy_inside(just_finish, NULL, NULL, destroy_inside);
}

static void destroy_inside_handler(void *context, inturn_token token) {
  destroy_inside(context);
  CHECK_STATUS(inturn_token_finish(token), INTURN_E_ALREADY_FINISHED);
}

static void set_destroying_handler(void *context, inturn_token token) {
  CHECK_OK(
      inturn_token_on_cancel(token, destroy_inside_handler, context, NULL));
}

static void a_queue_may_be_destroyed_inside_a_cancel_handler(void) {
  job job = JOB("a");
  inside = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation operation;
  CHECK_OK(inturn_queue_enqueue(inside.queue, set_destroying_handler, NULL,
                                NULL, &operation));
  job_enqueue(inside.queue, &job, never_work);
  stage_drain(&inside);
  CHECK_OK(inturn_operation_cancel(operation));
  stage_drain(&inside);
  CHECK_INT(end_of(operation).cause, INTURN_CAUSE_DESTROYED);
  CHECK_ENDED(&job, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  CHECK_OK(inturn_operation_release(operation));
  CHECK_OK(inturn_executor_destroy(inside.executor));
  CHECK_OK(inturn_clock_destroy(inside.clock));
}

static void destroy_own_queue(void *context, inturn_token token) {
  job *job = context;
  work_hold(job, token);
  GATE_WAIT(&job->go, 1);
  CHECK_OK(inturn_queue_destroy(inside.queue));
}

static void inside_work_on_the_pool_the_rest_is_done_at_its_return(void) {
  for (int round = 0; round < 100; round++) {
    job first = JOB("first"), second = JOB("second");
    inside.queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
    job_enqueue(inside.queue, &first, destroy_own_queue);
    job_enqueue(inside.queue, &second, never_work);
    gate_pass(&first.go);
    GATE_WAIT(&first.destroyed, 1);
    GATE_WAIT(&second.destroyed, 1);
    CHECK_ENDED(&first, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
    CHECK_ENDED(&second, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  }
}

static void a_queue_may_be_destroyed_inside_a_callback_of_another(void) {
  stage stage = stage_create(INTURN_QUEUE_FIFO);
  job pending = JOB("pending");
  inside.queue = pool_queue_create(INTURN_QUEUE_FIFO, NULL);
  CHECK_OK(inturn_queue_suspend(inside.queue));
  job_enqueue(inside.queue, &pending, never_work);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = destroy_inside_end;
  CHECK_OK(inturn_queue_enqueue_with(stage.queue, &options, just_finish, NULL,
                                     NULL, NULL));
  stage_drain(&stage);
  CHECK_ENDED(&pending, INTURN_CANCELLED, INTURN_CAUSE_DESTROYED);
  stage_destroy(&stage);
}

static void enqueue_once_more(void *context, const inturn_end *end) {
  gate *destroyed = context;
  CHECK_INT(end->cause, INTURN_CAUSE_DESTROYED);
  CHECK_STATUS(inturn_queue_enqueue(inside.queue, never_work, destroyed,
                                    count_destroy, NULL),
               INTURN_E_STALE);
}

static void a_queue_that_is_being_destroyed_accepts_nothing(void) {
  gate destroyed = GATE_INIT;
  inside = stage_create(INTURN_QUEUE_FIFO);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = enqueue_once_more;
  options.end_context = &destroyed;
  CHECK_OK(inturn_queue_enqueue_with(inside.queue, &options, never_work, NULL,
                                     NULL, NULL));
  stage_destroy(&inside);
  CHECK_INT(gate_count(&destroyed), 1);
}

static void ten_thousand_pending_operations_all_get_their_end(void) {
  enum { COUNT = 10000 };
  inturn_queue queue = pool_queue_create(INTURN_QUEUE_ACTOR, NULL);
  gate ended = GATE_INIT, destroyed = GATE_INIT;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = count_end;
  options.end_context = &ended;
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < COUNT; i++)
    CHECK_OK(inturn_queue_enqueue_with(queue, &options, never_work, &destroyed,
                                       count_destroy, NULL));
  CHECK_OK(inturn_queue_destroy(queue));
  CHECK_INT(gate_count(&ended), COUNT);
  CHECK_INT(gate_count(&destroyed), COUNT);
}

PROGRAM(destroy, TEST(pending_operations_end_cancelled_before_the_return),
        TEST(running_operations_end_cancelled_and_their_tokens_refused),
        TEST(the_ends_are_delivered_on_the_thread_of_the_caller),
        TEST(ends_that_were_not_delivered_yet_are_delivered),
        TEST(a_cancel_handler_is_not_called_once_the_queue_is_destroyed),
        TEST(a_call_that_another_thread_is_in_is_waited_for),
        TEST(a_call_that_was_cut_off_is_waited_for_too),
        TEST(a_queue_may_be_destroyed_inside_its_work),
        TEST(a_queue_may_be_destroyed_inside_its_end_callback),
        TEST(a_queue_may_be_destroyed_inside_an_end_destroy_function),
        TEST(a_queue_may_be_destroyed_inside_a_destroy_function),
        TEST(a_queue_may_be_destroyed_inside_a_cancel_handler),
        TEST(inside_work_on_the_pool_the_rest_is_done_at_its_return),
        TEST(a_queue_may_be_destroyed_inside_a_callback_of_another),
        TEST(a_queue_that_is_being_destroyed_accepts_nothing),
        TEST(ten_thousand_pending_operations_all_get_their_end))
