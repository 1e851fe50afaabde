/*
 * fixture.h - the operations, queues and clocks that the tests use.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "harness.h"

/* Jobs -------------------------------------------------------------------- */

/* One operation under test: its context, and what happened to it. Each gate is
   passed once for each call, and so counts the calls. */
typedef struct job {
  const char *name;
  gate started;       /* its work was called; `token` is set */
  gate cancel_called; /* its cancel handler was called */
  gate ended;         /* its end callback was called; `end` is set */
  gate end_destroyed;
  gate destroyed;
  gate go; /* what work_block waits for */
  inturn_token token;
  inturn_end end; /* without its label */
} job;

#define JOB(name)                                                              \
  {                                                                            \
    name, GATE_INIT, GATE_INIT, GATE_INIT, GATE_INIT, GATE_INIT, GATE_INIT,    \
        {0}, {                                                                 \
      0                                                                        \
    }                                                                          \
  }

/* Work. Each traces "work <name>". */
void work_hold(void *job, inturn_token token);   /* leaves the token */
void work_finish(void *job, inturn_token token); /* finishes it */
void work_block(void *job, inturn_token token);  /* waits for `go`, finishes */
void work_fail(void *job, inturn_token token);   /* fails with FAIL_CODE */

enum { FAIL_CODE = 7 };

/* The other callbacks of a job. */
void job_cancel_called(void *job, inturn_token token); /* "cancel <name>" */
void job_ended(void *job, const inturn_end *end); /* "end <name> <outcome>" */
void job_end_destroyed(void *job);
void job_destroyed(void *job);

/* Work that keeps its token: `into` points to an inturn_token. */
void keep_token(void *into, inturn_token token);

/* Work that finishes and does not use its context. */
void just_finish(void *context, inturn_token token);

/* Options with the job's name as the label and its end callback. */
inturn_operation_options job_options(job *job);

/* Enqueues a job with job_options; keeps no handle. */
void job_enqueue(inturn_queue queue, job *job, inturn_work_fn work);

/* Enqueues a job with these options; the caller releases the handle. */
inturn_operation job_enqueue_with(inturn_queue queue, job *job,
                                  inturn_work_fn work,
                                  const inturn_operation_options *options);

/* The same, but keeps no handle. */
void job_enqueue_as(inturn_queue queue, job *job, inturn_work_fn work,
                    const inturn_operation_options *options);

/* Like job_enqueue_with, with job_options. */
inturn_operation job_enqueue_kept(inturn_queue queue, job *job,
                                  inturn_work_fn work);

/* Checks how the job has ended, and that its end was reported and each of its
   contexts destroyed exactly once. */
#define CHECK_ENDED(job, outcome, cause)                                       \
  check_ended_at(__FILE__, __LINE__, job, outcome, cause)

void check_ended_at(const char *file, int line, job *job,
                    inturn_outcome outcome, inturn_cause cause);

/* "finished", for example. */
const char *outcome_name(inturn_outcome outcome);

/* Callbacks that count ---------------------------------------------------- */

/* The context is a gate: passes it. */
void count_destroy(void *gate);
void count_wake(void *gate);
void count_end(void *gate, const inturn_end *end);
void count_work(void *gate, inturn_token token); /* and finishes */
void count_call(void *gate, inturn_token token); /* as work, segment, handler */

/* Callbacks that must not be called. */
void never_work(void *context, inturn_token token);
void never_end(void *context, const inturn_end *end);
void never_wake(void *context);

/* Stages ------------------------------------------------------------------ */

/* A queue whose executor the test drains and whose clock it advances, so that
   the test controls each step. */
typedef struct stage {
  inturn_executor executor;
  inturn_clock clock;
  inturn_queue queue;
} stage;

/* An interaction queue on a stage is visible and has no delays; a concurrent
   one runs four at once. */
stage stage_create(inturn_queue_kind kind);

/* The same with this maximum; 0 for the default. */
stage stage_create_of(inturn_queue_kind kind, uint32_t max_concurrent);

/* The same, with a running job that holds its token. */
stage stage_create_running(inturn_queue_kind kind, job *job);

/* The same; the caller releases the job's handle. */
stage stage_create_running_kept(inturn_queue_kind kind, job *job,
                                inturn_operation *out_operation);

/* The same with these options, except that executor and clock are the stage's.
   An interaction queue is not visible. */
stage stage_create_with(inturn_queue_kind kind, inturn_queue_options options);

/* Makes calls until nothing is left, and returns their number. */
uint32_t stage_drain(const stage *stage);

/* Advances the clock, then drains. */
void stage_advance(const stage *stage, int64_t by_ns);

/* Ends the job by its token, then drains. */
void stage_finish(const stage *stage, const job *job);
void stage_fail(const stage *stage, const job *job); /* with FAIL_CODE */

/* Resumes the queue, then drains. */
void stage_resume(const stage *stage);

/* Destroys the queue, the executor and the clock. */
void stage_destroy(const stage *stage);

/* Pools ------------------------------------------------------------------- */

/* A queue of this kind on the library's pool, without delays and visible. The
   label may be NULL. */
inturn_queue pool_queue_create(inturn_queue_kind kind, const char *label);

/* Waits until the queue is empty, at most for the limit, and destroys it. */
void drain_and_destroy(inturn_queue queue);

/* Runs `body` for each kind of queue. */
void for_each_kind(void (*body)(inturn_queue_kind kind));

/* Questions --------------------------------------------------------------- */

inturn_operation_state state_of(inturn_operation operation);
bool is_cancelled(inturn_token token);

/* Whether work that asks now is told to stop: its operation was asked to end,
   or was cut off. */
bool must_stop(inturn_token token);

inturn_queue_statistics statistics_of(inturn_queue queue);

/* Waits for an operation's end, at most for the limit, and returns it. */
inturn_end end_of(inturn_operation operation);

/* Reports ----------------------------------------------------------------- */

/* What the report handler received: the number of reports, and the last one. */
typedef struct reports {
  gate told;
  inturn_report_kind kind;
  char message[1024];
  char queue_label[64];
  char operation_label[64];
  char site[256]; /* such as "reports.c:21", without its folder; or "?:0" */
} reports;

/* Collects the library's reports here, until reports_end. */
void reports_begin(reports *reports);
void reports_end(void);

/* Programs ---------------------------------------------------------------- */

/* The main function of a program with these tests, none of which may leave a
   queue, operation, executor, clock, value or observation behind. */
#define PROGRAM(program_name, ...)                                             \
  int main(int argc, char **argv) {                                            \
    static const test tests[] = {__VA_ARGS__};                                 \
    const program all = {#program_name, tests, sizeof tests / sizeof *tests,   \
                         count_what_lives, check_nothing_is_left};             \
    return run_tests(&all, argc, argv);                                        \
  }

void count_what_lives(void);
void check_nothing_is_left(void);

#endif
