/*
 * inturn.h - asynchronous work, in turn.
 *
 * SPDX-License-Identifier: MIT
 *
 * Contents of this manual
 *
 *   1. What it is            6. Threads and executors   11. Memory
 *   2. A first program       7. Errors                  12. Fork and exit
 *   3. Handles               8. Cancelling, deadlines   13. Compatibility
 *   4. Ownership             9. Deadlock               14. From outside
 *   5. Callbacks            10. Ordering
 *
 * Where to start
 *
 *   work in turn           inturn_queue_create, inturn_queue_enqueue
 *   its end                inturn_token_finish or _fail, called once
 *   limits, order, retries inturn_queue_enqueue_with and its options
 *   many with one end      inturn_queue_enqueue_batch
 *   waiting                inturn_operation_wait, inturn_queue_drain
 *   stopping               inturn_operation_cancel, inturn_queue_close
 *   your event loop        inturn_executor_create, or include/inturn
 *   states that are told   inturn_value_create, inturn_queue_create_value
 *   what goes on           inturn_queue_list, inturn_snapshot, inturn_why
 *   what is stuck, where   inturn_report_set_handler, inturn_site
 *   the same from outside  the program `inturn`, gdb, INTURN_DUMP
 *
 * 1. What it is
 * -------------
 * A queue accepts operations and decides when each may start. An operation is
 * one unit of asynchronous work. It is not done when its function returns; it
 * is done when it says so, later, from any thread. For that, its function gets
 * a finish token. The next operation starts when the token is finished.
 *
 *   kind          the next operation starts when the previous one has
 *   FIFO          ended
 *   actor         ended, or returned without ending (it is suspended)
 *   interaction   ended, the view is visible, and the delays are over
 *   concurrent    started, while fewer than max_concurrent are running
 *
 * 2. A first program
 * ------------------
 *     static void upload(void *file, inturn_token token) {
 *         start_upload(file, token);     // returns at once; its completion
 *     }                                  // calls inturn_token_finish(token)
 *
 *     inturn_queue uploads;
 *     inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &uploads);
 *     inturn_queue_enqueue(uploads, upload, first, free, NULL);
 *     inturn_queue_enqueue(uploads, upload, second, free, NULL);
 *     inturn_queue_drain(uploads, -1);   // all of first, then all of second
 *     inturn_queue_destroy(uploads);
 *
 * In a program whose main thread shows the dialogs:
 *
 *     inturn_queue dialogs;
 *     inturn_executor main_thread;
 *     inturn_queue_create(INTURN_QUEUE_INTERACTION, NULL, &dialogs);
 *     inturn_queue_enqueue(dialogs, ask_for_location, NULL, NULL, NULL);
 *     inturn_executor_main(&main_thread);
 *     inturn_queue_view_did_appear(dialogs);
 *     inturn_executor_run(main_thread);  // until inturn_executor_stop; or let
 *                                        // your event loop do it: see
 *                                        // inturn_executor_fd
 *
 * 3. Handles
 * ----------
 * Queues, operations, tokens, owners, batches, values, observations, executors
 * and clocks are named by handles: structs of one 64-bit number, passed by
 * value. All bits zero is the null handle. Every call checks its handles. A
 * handle whose object is gone gives INTURN_E_STALE, one of another kind
 * INTURN_E_WRONG_KIND, the null handle INTURN_E_NULL_HANDLE, and one made
 * before a fork INTURN_E_FORKED; below, these four are "the handle statuses". A
 * handle is never reused for another object.
 *
 * 4. Ownership
 * ------------
 * Whoever creates a queue, owner, value, executor or clock destroys it. An
 * observation ends, and its handle becomes stale, when it is cancelled or its
 * value is destroyed. An operation or a batch belongs to its queue; a caller
 * that asks for its handle (out_operation is not NULL) holds it as well, until
 * inturn_operation_release or inturn_batch_release. A token owns nothing and
 * needs no release. Strings passed to the library are copied. Strings that the
 * library returns are valid for as long as the function's comment says.
 *
 * 5. Callbacks
 * ------------
 * A callback is a function, a context, and a function that destroys the
 * context (which may be NULL), in that order. One rule holds everywhere:
 *
 *     If the call that takes a callback fails, the function is never called.
 *     The destroy function is called exactly once in every case: after the
 *     last call that uses the context or, if the call fails, before it
 *     returns. (A struct that this version cannot read, see 13, is left
 *     alone, and so is what it holds. A context in an inturn_taken is the
 *     caller's and is not destroyed.)
 *
 * The library holds no lock while it calls a callback. A callback may call any
 * function of the library; one that would wait for itself is refused (see 9).
 * A callback must return normally: not by longjmp, not by an exception.
 *
 * 6. Threads and executors
 * ------------------------
 * Every function may be called from any thread unless its Threads line says
 * otherwise, and none from a signal handler. An operation's callbacks (work,
 * segments, cancel handler, end callback, destroy functions) run on its
 * queue's executor: on the library's pool of workers, or on a thread of yours
 * that drains a host-driven executor, in its event loop (include/inturn has
 * adapters) or in a call. There are three exceptions. A call that is refused
 * destroys the context on the caller's thread before it returns;
 * inturn_queue_destroy delivers on the caller's thread; and
 * inturn_operation_release may destroy a result there.
 * The callbacks of one FIFO, actor or interaction queue never overlap, with
 * two exceptions: the cancel handler, and work that goes on after its operation
 * was cut off by a deadline or a grace time (see 8).
 * A value's observer runs on the thread that makes the change, or where the
 * observation's options say.
 *
 * The library has one thread for deadlines and delays. It starts with the first
 * queue; if it cannot be started, no queue is made (E_NO_MEMORY). A pool's
 * workers start when there is work for them. If one cannot be started, work
 * that was accepted is kept: the library tries again every few milliseconds and
 * tells the report handler once. Until then the work waits, for ever if need
 * be; waits that have a limit end at their limit.
 * While anything is pending or running, a third thread checks now and then
 * whether something is stuck: see inturn_report_set_stall_limit. Nothing
 * depends on it.
 * The library's threads block signals that come from outside, such as SIGTERM,
 * SIGINT, SIGALRM and SIGUSR1, so that handlers run on your threads and one of
 * them may wait for signals. Those that call your functions never block signals
 * that a thread causes itself (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
 * SIGABRT, SIGSYS, SIGPIPE, SIGXFSZ), nor SIGPROF, so crash reporters and
 * profilers see the work. A program that work starts inherits the mask, and
 * SIGTERM would not end it: work that starts programs resets the mask for them,
 * as with POSIX_SPAWN_SETSIGMASK. If the main thread leaves by pthread_exit
 * after the first queue was made, the process lives on, and a thread with the
 * main thread's signal mask takes its place, so that SIGTERM still ends the
 * process (if the main thread loaded the library).
 *
 * 7. Errors
 * ---------
 * Every function that can fail returns an inturn_status: zero, or negative.
 * There is no errno and no "last error". On failure, out parameters are
 * untouched and nothing has changed, except by the destroy rule of section 5. A
 * required out parameter that is NULL gives INTURN_E_INVALID_ARGUMENT.
 *
 * 8. Cancelling, deadlines
 * ------------------------
 * Cancelling a pending operation ends it; its work is never called. Cancelling
 * a running one asks it to end: inturn_token_is_cancelled says so at once, the
 * handler of inturn_token_on_cancel is called, and the operation keeps its
 * place until it ends or its cancel_grace_ns is over.
 * max_wait_ns ends an operation that has waited too long to start. max_run_ns
 * ends one that runs too long; max_run_policy says whether its place in the
 * queue is held until the token is finished or freed at once. An operation that
 * is cut off during a call has ended for the queue and for those who wait for
 * it, but the call itself goes on; its context is destroyed after the call has
 * returned.
 *
 * 9. Deadlock
 * -----------
 * inturn_operation_wait, inturn_batch_wait, inturn_queue_drain,
 * inturn_queue_drain_or_list, inturn_queue_destroy, inturn_value_wait,
 * inturn_value_drain, inturn_value_destroy and inturn_observation_cancel wait.
 * A wait that cannot end is refused with INTURN_E_DEADLOCK, and the report
 * handler is told the ring, and the line that waits. It cannot end when work
 * of the queue, or an observer of the value, that it waits for is further up
 * the caller's own stack; when only the caller may drain its executor; or when
 * it would close a ring of waits. Work of a concurrent queue may wait for
 * another operation of the queue as long as that one has a place to start in:
 * the last to take a place and wait is refused.
 * A coroutine waits in no call; it takes part by inturn_await_begin.
 * Not detected are:
 *   - waits by other means;
 *   - a token that nobody will finish (give it max_run_ns or stall_ns), such as
 *     that of an operation whose cancel handler waits for what comes after it;
 *   - a datum that nobody will set;
 *   - workers that are all blocked when their pool cannot grow;
 *   - rings through more than 100,000 operations that come after one another,
 *     or through one behind more than 10,000 others with handles or options in
 *     a queue or batch that is waited for.
 *
 * 10. Ordering
 * ------------
 * FIFO and interaction: operations begin and end in the order in which they
 * were enqueued. The end callback and the destroy function of one have returned
 * before the next begins. (One that is cancelled or times out before its start
 * ends at once; one that a deadline or a grace time cuts off no longer holds up
 * others.) Actor: operations begin in that order. Concurrent: they are taken
 * up in that order.
 *
 * Interaction and concurrent queues start higher priorities first and keep the
 * order among equals. In a concurrent queue no priority starves: after 64
 * starts that have passed lower priorities by, one operation of a lower one is
 * started, of the priority that has waited longest since its last turn. An
 * operation that waits for others (after) takes its place among its equals when
 * the wait is over. One that has waited for its names (exclusive) then has them
 * and comes next.
 *
 * Enqueues from one thread keep their order; enqueues from several threads are
 * ordered as they reach the queue. What happens before an enqueue is visible to
 * the work. What happens before a finish is visible to the next operation, to
 * those that come after it, to the end callback, and to whoever waited.
 *
 * Changes of a value are told in the order of their numbers, the same for all
 * observers. What happens before a change is visible to those that read it or
 * are told of it.
 *
 * 11. Memory
 * ----------
 * A pending operation without options or handle takes 24 bytes. One with a
 * handle, or whose work has returned unfinished, takes 128 more. One with
 * options or a cancel handler takes some 410; with an owner, 520; with a key,
 * 520 to 590; with a retry, 560; with names, 680. Options of zeros cost
 * nothing. An idle queue takes some 70 bytes, and 100 with a label; one with
 * other options, a concurrent or an interaction queue takes 420 or more. The
 * memory of queues and operations that are gone is kept for new ones, up to
 * 256 MiB for queues that have emptied.
 *
 * When memory runs out, calls that make, enqueue, set or observe something give
 * INTURN_E_NO_MEMORY and have changed nothing. Whatever was accepted goes on:
 * it runs, ends, is told, cancelled, drained and destroyed. These need no
 * memory: inturn_queue_suspend, _resume, _cancel_all, _close, _drain and
 * _destroy, inturn_operation_cancel, _wait and _release, and the functions that
 * end a token. What little goes on behind them comes from 256 KiB that are part
 * of the library (the first suspend of a queue without options takes 400
 * bytes). If these are used up too, the process ends with a message; so it may
 * when a value is changed that has dozens of observers on queues or executors,
 * or one with 30,000 observers is observed by another.
 *
 * 12. Fork and exit
 * -----------------
 * In a forked child, and in its children, every inherited handle gives
 * INTURN_E_FORKED, nothing that was pending runs, and new objects work. The
 * parent is not affected. When the process exits, no new callback is started
 * once the library's exit handler has run, and nothing is waited for: a wait,
 * also one that has begun, gives INTURN_E_TIMED_OUT at once, whatever its
 * limit, and inturn_executor_run returns. The handler is registered at the
 * library's first use: exit handlers registered later, and destructors of
 * statics made later, run before it. Once loaded, the library stays loaded:
 * dlclose leaves it in place.
 *
 * 13. Compatibility
 * -----------------
 * INTURN_VERSION is the header's version, inturn_version() the library's. A
 * library serves programs that were built with a header of the same major
 * version and the same or a smaller minor version. Structs that begin with
 * their size can grow. The library accepts a shorter one, of an older header,
 * and a longer one, of a newer header, as long as the part that it does not
 * know is zero (else E_INVALID_ARGUMENT). A struct of zeros is the default:
 * `inturn_queue_options options = {0};` works, and so does
 * INTURN_QUEUE_OPTIONS_INIT, which also sets the size that this header knows. A
 * size of 0 means that of 0.1, except in an array, whose stride must be known.
 * The library fills the structs that you pass as far as their size goes, and
 * sets what it does not know to zero; a struct that it passes to a callback has
 * the library's size.
 *
 * 14. From outside
 * ----------------
 * The program `inturn` says what a process's queues do, and what keeps their
 * operations: `inturn top PID`, `inturn why PID`, and see inturn(1). It reads
 * the process's memory and runs nothing in it. So it also works when the
 * process is stopped or all its threads are blocked. In gdb, the commands
 * `inturn queues` and `inturn why` say the same of what is debugged, and of a
 * core file: `gdb -p PID -x inturn-gdb.py`.
 *
 * The environment can have a process answer by itself, where the system forbids
 * reading its memory. A thread that does nothing else does that, also while all
 * others are blocked.
 * INTURN_DUMP, INTURN_SOCKET and INTURN_TRACE are read when the library is
 * loaded and take effect at its first use. A wrong value, or a lack of threads
 * to answer, is reported on standard error then. A program that has other
 * rights than its user (setuid) ignores them.
 *
 * INTURN_DUMP=SIGNAL, such as SIGUSR2, has that signal write what inturn_dump
 * does, as text, to the standard error. INTURN_DUMP=SIGNAL:PATH writes it to a
 * file that it replaces as a whole, in the format of the path's end (.json,
 * .dot, .html; else text), or into the pipe or the device that is there, as
 * long as its reader does not keep it waiting for five seconds; one of another
 * user's is left alone. A link is followed. The signal is SIGUSR1, SIGUSR2,
 * SIGQUIT, SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGVTALRM, SIGCHLD, SIGCONT,
 * SIGTSTP, SIGTTIN, SIGURG, SIGWINCH or SIGIO. One that comes before the first
 * use is answered then. A signal that the program handles when the library is
 * loaded is not taken; a handler that it sets later takes the place of the
 * library's.
 *
 * INTURN_SOCKET=PATH has the process listen at a Unix socket, for its user
 * alone (mode 0600). A client sends one line, `dump FORMAT` (text, json, dot or
 * html) or `why ID`, with an operation's id as dumps have it. It reads the
 * answer, or a line that begins with `error: `, to the end of the connection.
 * One client is answered after the other; who sends or takes nothing for five
 * seconds is left. The program `inturn` is a client where it cannot read. The
 * file is taken away when the process exits. One that a process has left behind
 * is replaced; where anything else is, it stays, and there is no socket.
 *
 * INTURN_TRACE=PATH has the recorder on from the first use of the library, and
 * writes what inturn_trace_write does to that file as the process exits; not
 * when it is killed, ends by a signal, or by _exit: inturn_trace_write(-1) does
 * it at any time. What is there is treated as by INTURN_DUMP.
 *
 * Three more are for all programs: INTURN_STALL says after how long something
 * is reported as stuck, or that nothing is (inturn_report_set_stall_limit);
 * INTURN_SEARCH=off, that memory is not searched for copies of the token that
 * keeps it (see token_copy of inturn_report), which takes a thread of its own
 * up to a second for a gigabyte, and two at the most; and INTURN_WORKERS how
 * many threads the library's pool has (inturn_executor_pool).
 *
 * %p in a path stands for the process's number. A forked child answers once it
 * uses the library itself, and has a socket or a trace only where its path has
 * %p.
 */
#ifndef INTURN_H
#define INTURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nullability for importers; empty for C and C++. */
#ifndef INTURN_NONNULL
#define INTURN_NONNULL
#endif
#ifndef INTURN_NULLABLE
#define INTURN_NULLABLE
#endif

#ifdef __cplusplus
/* No value of an enum, in the initialisers below. */
#define INTURN_ZERO(enum_type) static_cast<enum_type>(0)
#else
/* The same in C. */
#define INTURN_ZERO(enum_type) (enum_type)0
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version ----------------------------------------------------------------- */

/* The parts of the header's version. */
#define INTURN_VERSION_MAJOR 0
#define INTURN_VERSION_MINOR 1
#define INTURN_VERSION_PATCH 0

/* Major * 1,000,000 + minor * 1,000 + patch. */
#define INTURN_VERSION                                                         \
  (INTURN_VERSION_MAJOR * 1000000 + INTURN_VERSION_MINOR * 1000 +              \
   INTURN_VERSION_PATCH)

/* The version of the library that is loaded, in the form of INTURN_VERSION. */
uint32_t inturn_version(void);

/* Status ------------------------------------------------------------------ */

/* The result of a call: INTURN_OK, or why it failed. */
typedef enum inturn_status {
  INTURN_OK = 0,
  /* A NULL where a pointer is needed, a number out of range, an unknown enum
     value, a wrong `size`, a label that is not UTF-8. The report says which
     argument or field it is. */
  INTURN_E_INVALID_ARGUMENT = -1,
  /* The null handle. */
  INTURN_E_NULL_HANDLE = -2,
  /* The object is gone, or the bits were never a handle. */
  INTURN_E_STALE = -3,
  /* A handle of another kind of object, a queue of another kind, or a value of
     another type. */
  INTURN_E_WRONG_KIND = -4,
  /* The operation has ended already, and its end stays what it is. */
  INTURN_E_ALREADY_FINISHED = -5,
  /* The queue accepts no more operations, or the state being waited for will
     not change again. */
  INTURN_E_CLOSED = -6,
  /* As many operations are pending as the queue's capacity allows. */
  INTURN_E_FULL = -7,
  /* A resume without a suspend. */
  INTURN_E_NOT_SUSPENDED = -8,
  /* The time ran out before what was waited for happened. */
  INTURN_E_TIMED_OUT = -9,
  /* It was already cancelled, and has not ended yet. */
  INTURN_E_CANCELLED = -10,
  /* The call would wait for itself; see section 9 of the manual. */
  INTURN_E_DEADLOCK = -11,
  /* The executor is being drained by another thread, or by this one further up
     its stack; or its loop is attached on another thread; or it is the main
     executor and this is not the main thread. */
  INTURN_E_WRONG_THREAD = -12,
  /* The handle was made before a fork, in the parent. */
  INTURN_E_FORKED = -13,
  /* Out of memory, threads or file descriptors. */
  INTURN_E_NO_MEMORY = -14,
  /* Not available for this object or on this system. */
  INTURN_E_UNSUPPORTED = -15,
  /* The object is in use, or what is asked for does not exist yet. */
  INTURN_E_BUSY = -16
} inturn_status;

/* The constant's name, such as "INTURN_E_STALE"; "INTURN_E_UNKNOWN" for a
   number that is none. The string is static. */
const char *INTURN_NONNULL inturn_status_name(inturn_status status);

/* One sentence that says what the status means. The string is static. */
const char *INTURN_NONNULL inturn_status_message(inturn_status status);

/* Handles ----------------------------------------------------------------- */

/* Each is null when its bits are zero; see section 3 of the manual. Bits may be
   stored, and passed to another language and back; they mean nothing in another
   process. */
/* clang-format off */
typedef struct inturn_queue { uint64_t bits; } inturn_queue;
typedef struct inturn_operation { uint64_t bits; } inturn_operation;
typedef struct inturn_token { uint64_t bits; } inturn_token;
typedef struct inturn_batch { uint64_t bits; } inturn_batch;
typedef struct inturn_owner { uint64_t bits; } inturn_owner;
typedef struct inturn_await { uint64_t bits; } inturn_await;
typedef struct inturn_executor { uint64_t bits; } inturn_executor;
typedef struct inturn_clock { uint64_t bits; } inturn_clock;
typedef struct inturn_value { uint64_t bits; } inturn_value;
typedef struct inturn_observation { uint64_t bits; } inturn_observation;
/* clang-format on */

/* How an operation ended. */
typedef enum inturn_outcome {
  INTURN_FINISHED = 1,  /* its token was finished */
  INTURN_FAILED = 2,    /* its token was failed; see code */
  INTURN_CANCELLED = 3, /* before its start, or it gave in; see cause */
  INTURN_TIMED_OUT = 4, /* a deadline passed; see cause */
  INTURN_ABANDONED = 5  /* its token was lost (reported by a binding) */
} inturn_outcome;

/* Why an operation ended otherwise than by its token alone. */
typedef enum inturn_cause {
  INTURN_CAUSE_NONE = 0,      /* it ended by itself */
  INTURN_CAUSE_REQUEST = 1,   /* somebody cancelled it */
  INTURN_CAUSE_GRACE = 2,     /* cancelled while running; the grace is over */
  INTURN_CAUSE_DESTROYED = 3, /* its queue was destroyed */
  INTURN_CAUSE_MAX_WAIT = 4,  /* max_wait_ns passed before its start */
  INTURN_CAUSE_MAX_RUN = 5,   /* max_run_ns passed after its start */
  /* One that it comes after did not finish, and it needs that. */
  INTURN_CAUSE_DEPENDENCY = 6,
  INTURN_CAUSE_SKIPPED = 7,   /* its condition said INTURN_SKIP */
  INTURN_CAUSE_CONDITION = 8, /* its condition said INTURN_GIVE_UP */
  INTURN_CAUSE_RESOLVED = 9,  /* inturn_queue_resolve_key */
  INTURN_CAUSE_JOINED = 10,   /* the operation that it had joined ended so */
  INTURN_CAUSE_OWNER = 11     /* its owner was destroyed */
} inturn_cause;

/* The end of an operation. Times are nanoseconds of the queue's clock. The
   start is 0 for an operation that never started, such as one that joined
   another, and for one that started at 0 of a manual clock. One has started if
   `attempts` is not 0 and the cause is not INTURN_CAUSE_JOINED. All times are 0
   for one of a batch without options of its operations. */
typedef struct inturn_end {
  uint32_t size; /* sizeof(inturn_end) */
  inturn_outcome outcome;
  inturn_cause cause;
  int32_t code;      /* of inturn_token_fail, else 0 */
  uint32_t attempts; /* how many attempts began, also those that the condition
                        then skipped; with INTURN_CAUSE_JOINED, of the one that
                        it had joined */
  void *INTURN_NULLABLE result;      /* of inturn_token_finish_with */
  const char *INTURN_NULLABLE label; /* NULL when it has none */
  int64_t enqueued_ns;
  int64_t started_ns;
  int64_t ended_ns;
} inturn_end;

#define INTURN_END_INIT                                                        \
  {                                                                            \
    sizeof(inturn_end), INTURN_ZERO(inturn_outcome), INTURN_CAUSE_NONE, 0, 0,  \
        NULL, NULL, 0, 0, 0                                                    \
  }

/* Work: starts an operation, or continues one (inturn_token_resume). Called
   once, by the queue's executor. It may finish the token, hand it on, or keep
   it for later and return; the thread is free again when the call returns.
   Never called if the operation is refused, or cancelled before its start. */
typedef void (*inturn_work_fn)(void *INTURN_NULLABLE context,
                               inturn_token token);

/* Destroys a context or a result. Called exactly once, after the last use; see
   sections 5 and 6 of the manual. It may call any function of the library. */
typedef void (*inturn_destroy_fn)(void *INTURN_NULLABLE context);

/* Tells an operation's end. Called exactly once for each accepted operation
   that has one, by the queue's executor or by inturn_queue_destroy, before the
   next operation of a FIFO or interaction queue begins. `end` and what it
   points to are valid during the call. */
typedef void (*inturn_end_fn)(void *INTURN_NULLABLE context,
                              const inturn_end *INTURN_NONNULL end);

/* Tells running work that it is asked to end, or that a deadline has cut it
   off. Called at most once, by the queue's executor; on a pool it may overlap
   the work. Not called when the token has ended the operation before, nor once
   the queue is destroyed. Others may end the token meanwhile, so it is normal
   that inturn_token_cancel gives E_ALREADY_FINISHED here. */
typedef void (*inturn_cancel_fn)(void *INTURN_NULLABLE context,
                                 inturn_token token);

/* Tells a running interaction that an urgent one wants its place. Called at
   most once for each attempt, by the queue's executor. The interaction decides
   what to do: it may take down what it shows and call inturn_token_yield, or
   end, or go on. Others may have ended the token meanwhile. */
typedef void (*inturn_preempt_fn)(void *INTURN_NULLABLE context,
                                  inturn_token token);

/* Tells that a host-driven executor has work and had none before, also when a
   drain has taken all and a queue gives it more. Called from any thread, also
   inside other calls of the library, never under its locks. It must do nothing
   but wake the thread that drains. */
typedef void (*inturn_wake_fn)(void *INTURN_NULLABLE context);

/* Sites ------------------------------------------------------------------- */

/* A site is a line of your program that enqueues operations, suspends queues or
   waits. Reports name it, as in `"save" (app.c:88) of queue "database"`. With
   gcc and clang you need do nothing for that in C: inturn_queue_enqueue and
   others are macros, too, which make a site for each call and pass it to the
   function of that name with _at; those that wait pass it to
   inturn_report_wait_at, which names them. To keep it costs an operation no
   memory, and no time that can be measured. No line is known of what calls the
   function itself: another compiler; an address of the function; the name in
   parentheses, as in `(inturn_queue_suspend)(queue)`, which is the way in C for
   inline functions that are not static; what defines INTURN_NO_SITES before it
   includes this header, such as a file with pointers of the functions' names.
   In C++, inturn.hpp passes sites, and the bindings to other languages do.

   A site of your own begins with a number of 0. It has to live until the call
   returns; as long as it lives on, further calls find its number there, from
   any threads at a time. The library copies what it says when that is new, and
   keeps it: some 60 thousand lines. Those for which there is no room, or no
   memory, are not known. */
typedef struct inturn_site {
  const char *INTURN_NULLABLE file;     /* UTF-8; NULL: the site is not known */
  const char *INTURN_NULLABLE function; /* UTF-8; may be NULL */
  uint32_t line;                        /* of the file, from 1 on */
  uint32_t number; /* the library's, which changes it atomically */
} inturn_site;

/* Executors --------------------------------------------------------------- */

/* An executor is where work is called. The default is the library's pool, and
   for interaction queues the main executor. A host-driven executor has no
   thread of its own: your event loop, or inturn_executor_run, drains it. */

/* Zero in a field means its default. */
typedef struct inturn_executor_options {
  uint32_t size; /* sizeof(inturn_executor_options) */
  /* 0: host-driven. Else a pool of its own with this many threads, at most
     1,024. */
  uint32_t workers;
  /* While its workers are blocked in calls, a pool grows to this many threads;
     later it shrinks again. 0: 64 more than `workers`; else at least `workers`,
     and at most 1,088. */
  uint32_t max_workers;
  /* Host-driven only: how many threads may drain it at the same time, at most
     1,024. 0: 1. With more it is a pool whose threads are the host's. */
  uint32_t host_threads;
  const char *INTURN_NULLABLE label; /* UTF-8; copied; a pool's threads' name */
  /* Host-driven only; may be NULL. */
  inturn_wake_fn INTURN_NULLABLE wake;
  void *INTURN_NULLABLE wake_context;
  inturn_destroy_fn INTURN_NULLABLE wake_destroy;
} inturn_executor_options;

#define INTURN_EXECUTOR_OPTIONS_INIT                                           \
  { sizeof(inturn_executor_options), 0, 0, 0, NULL, NULL, NULL, NULL }

/* Creates an executor: host-driven, or a pool of its own. NULL options:
   host-driven, without a wake callback.
   Statuses: E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the caller destroys it. wake_destroy is called when it is, or,
   where `wake` is NULL, before this returns. */
inturn_status
inturn_executor_create(const inturn_executor_options *INTURN_NULLABLE options,
                       inturn_executor *INTURN_NULLABLE out_executor);

/* The executor of the process's main thread: host-driven, and drained on that
   thread only.
   Statuses: E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the library's; it cannot be destroyed. */
inturn_status
inturn_executor_main(inturn_executor *INTURN_NULLABLE out_executor);

/* The library's own pool. Its size is the environment's INTURN_WORKERS (1 to
   1,024), else the number of processors, at least two.
   Statuses: E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the library's; it cannot be destroyed. */
inturn_status
inturn_executor_pool(inturn_executor *INTURN_NULLABLE out_executor);

/* Replaces the wake callback of a host-driven executor. It is called at once if
   work is already waiting. NULL wake: none. The old context is destroyed when
   no call of the old callback uses it any more: before this call returns,
   unless another thread is in the middle of such a call.
   Statuses: handle statuses, E_UNSUPPORTED (a pool), E_NO_MEMORY. */
inturn_status inturn_executor_set_wake(
    inturn_executor executor, inturn_wake_fn INTURN_NULLABLE wake,
    void *INTURN_NULLABLE context, inturn_destroy_fn INTURN_NULLABLE destroy);

/* A file descriptor that is readable while work waits, for poll and the like.
   It stays the executor's: do not read, write or close it.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_UNSUPPORTED (a pool),
   E_NO_MEMORY. */
inturn_status inturn_executor_fd(inturn_executor executor,
                                 int *INTURN_NULLABLE out_fd);

/* Hands a host-driven executor over to an event loop: until
   inturn_executor_detach, only the calling thread can drain it, no other loop
   can be attached, and it cannot be destroyed. `loop` names the kind of loop
   (UTF-8; copied); `data`, which may be NULL, is the loop's own. The adapters
   in include/inturn and the bindings' call this; so does a loop of your own.
   Statuses: handle statuses, E_INVALID_ARGUMENT (loop), E_UNSUPPORTED (a pool),
   E_BUSY (a loop is attached), E_WRONG_THREAD, E_NO_MEMORY.
   Threads: the one that will drain; for the main executor the main thread.
   Deadlock: from now on, that thread is refused any wait for work that only
   this executor can call, as the main thread always is with the main
   executor. */
inturn_status inturn_executor_attach(inturn_executor executor,
                                     const char *INTURN_NULLABLE loop,
                                     void *INTURN_NULLABLE data);

/* The `data` of the attached loop.
   Statuses: handle statuses, E_INVALID_ARGUMENT (no loop of that kind is
   attached), E_UNSUPPORTED (a pool). */
inturn_status
inturn_executor_get_attached(inturn_executor executor,
                             const char *INTURN_NULLABLE loop,
                             void *INTURN_NULLABLE *INTURN_NULLABLE out_data);

/* Takes inturn_executor_attach back. What waits goes on waiting for whoever
   drains next.
   Statuses: handle statuses, E_INVALID_ARGUMENT (no loop of that kind is
   attached), E_UNSUPPORTED (a pool), E_WRONG_THREAD (another thread is in the
   middle of draining it). */
inturn_status inturn_executor_detach(inturn_executor executor,
                                     const char *INTURN_NULLABLE loop);

/* Calls what waits, at most max_calls calls (0: until nothing waits), and
   never blocks. A call is a work, a segment, a cancel or pre-empt handler, a
   retry's `decide`, an event, or the delivery of one end, an operation's or a
   batch's. The condition and the event of a start belong to the work's call; a
   context's destruction belongs to the delivery, and is one where an end has no
   callback, or belongs to the work's call. What inturn_queue_destroy has to
   deliver belongs to that. out_calls, which may be NULL, gets their number.
   Statuses: handle statuses, E_UNSUPPORTED (a pool), E_WRONG_THREAD.
   Threads: host_threads at a time; the main executor on the main thread
   only. */
inturn_status inturn_executor_drain(inturn_executor executor,
                                    uint32_t max_calls,
                                    uint32_t *INTURN_NULLABLE out_calls);

/* What inturn_executor_take gives: an operation that has started. */
typedef struct inturn_taken {
  void *INTURN_NULLABLE context; /* the caller's: it is not destroyed */
  inturn_token token;            /* null: nothing was taken */
} inturn_taken;

/* Returns the next operation whose work is `work` instead of calling it: for
   host languages in which being called is expensive and calling is not. The
   operation has started, and its work counts as returned; whoever has the token
   ends it. From then on the context is the caller's, and neither `destroy` nor
   `work` is called. One that is attempted again, after a failure or a yield, is
   returned again. Whatever comes before it (segments, operations of a batch or
   with another work) is called as inturn_executor_drain would, in at most 64
   calls. The token is null when nothing is left, or after that many calls.
   Unless it is null, `finished` is finished first, as by inturn_token_finish,
   but without saying whether that was refused; a handle that is no token is
   ignored, too. So one call leads from one operation to the next, and the fd
   and the wake callback tell only of what is left after it.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_UNSUPPORTED (a pool),
   E_WRONG_THREAD; after a failure nothing is finished and nothing taken.
   Threads: those of inturn_executor_drain. */
inturn_status inturn_executor_take(inturn_executor executor,
                                   inturn_work_fn INTURN_NULLABLE work,
                                   inturn_token finished,
                                   inturn_taken *INTURN_NULLABLE out_taken);

/* Enqueues as inturn_queue_enqueue_at does, and then takes as
   inturn_executor_take does: for a host that would take next anyway. So it
   learns in one call whether its operation has started, and the fd and the wake
   callback tell only of what is left. What is taken may be another operation,
   which came before; where the queue has another executor, it is of another
   queue. It is taken, too, where the queue refuses the new one.
   Statuses: those of inturn_executor_take, after which nothing was enqueued and
   nothing taken; then those of inturn_queue_enqueue, for the queue.
   Threads: those of inturn_executor_drain.
   Ownership: out_operation may be NULL; else the caller releases the handle. It
   is null, and nothing is to be released, where the new operation is what was
   taken. */
inturn_status inturn_executor_enqueue_and_take(
    inturn_site *INTURN_NULLABLE site, inturn_executor executor,
    inturn_queue queue, inturn_work_fn INTURN_NULLABLE work,
    void *INTURN_NULLABLE context, inturn_destroy_fn INTURN_NULLABLE destroy,
    inturn_operation *INTURN_NULLABLE out_operation,
    inturn_taken *INTURN_NULLABLE out_taken);

/* Waits until a host-driven executor has work, and calls nothing: for hosts
   that drain on their own threads and have to give up a lock while they sleep.
   Each piece of work that arrives wakes one waiting thread, or more while
   another one sleeps in inturn_executor_run. This may give INTURN_OK where
   the next drain then has nothing to call: another thread has taken the work,
   or its queue was destroyed. timeout_ns is on the system's clock; negative: no
   limit; 0: just asks. out_waiting, which may be NULL, gets how many other
   threads wait, also after a timeout.
   Statuses: handle statuses, E_UNSUPPORTED (a pool), E_TIMED_OUT,
   E_WRONG_THREAD.
   Threads: any number; the main executor on the main thread only.
   Deadlock: not refused where only the caller could make work. */
inturn_status inturn_executor_wait(inturn_executor executor, int64_t timeout_ns,
                                   uint32_t *INTURN_NULLABLE out_waiting);

/* Drains, and sleeps while there is no work, until inturn_executor_stop.
   Statuses: handle statuses, E_UNSUPPORTED (a pool), E_WRONG_THREAD.
   Threads: host_threads at a time; the main executor on the main thread
   only. */
inturn_status inturn_executor_run(inturn_executor executor);

/* Makes inturn_executor_run return, on every thread that is in it, after the
   callback it is calling. If none is, the next one returns at once, however
   many stops there were. Nothing else is affected: the fd does not become
   readable, drains and waits go on.
   Statuses: handle statuses, E_UNSUPPORTED (a pool). */
inturn_status inturn_executor_stop(inturn_executor executor);

/* Destroys an executor that no queue uses. A pool's threads end on their own.
   The wake callback is not called afterwards, and its context is destroyed
   before this returns, unless another thread is in the middle of such a call.
   Statuses: handle statuses, E_BUSY (a queue uses it, a loop is attached, or it
   is being drained or waited for), E_UNSUPPORTED (the main executor, the
   library's pool). */
inturn_status inturn_executor_destroy(inturn_executor executor);

/* Queues ------------------------------------------------------------------ */

/* When a queue starts the next operation; see section 1 of the manual. */
typedef enum inturn_queue_kind {
  INTURN_QUEUE_FIFO = 1,
  INTURN_QUEUE_ACTOR,
  INTURN_QUEUE_INTERACTION,
  INTURN_QUEUE_CONCURRENT
} inturn_queue_kind;

/* What happened to a queue or to one of its operations. */
typedef enum inturn_event_kind {
  INTURN_EVENT_ENQUEUED = 1,   /* an operation was accepted */
  INTURN_EVENT_JOINED = 2,     /* the same, and has joined one of its key */
  INTURN_EVENT_STARTED = 3,    /* an attempt begins; its work is called next */
  INTURN_EVENT_RESTARTING = 4, /* an attempt is over: retry (code), yield, or
                                  inturn_condition_fn says why */
  INTURN_EVENT_ENDED = 5,      /* an operation has ended; see outcome */
  INTURN_EVENT_SUSPENDED = 6,  /* by the first suspend */
  INTURN_EVENT_RESUMED = 7,    /* by the last resume */
  INTURN_EVENT_CLOSED = 8,
  INTURN_EVENT_IDLE = 9 /* nothing is pending or running any more; the last
                           on_end may be called after it */
} inturn_event_kind;

/* An event of a queue. */
typedef struct inturn_event {
  uint32_t size; /* sizeof(inturn_event) */
  inturn_event_kind kind;
  inturn_outcome outcome; /* ENDED; else 0 */
  inturn_cause cause;     /* ENDED */
  int32_t code;           /* ENDED, RESTARTING */
  uint64_t operation;     /* 1 for the first that was accepted; 0: none's */
  const char *INTURN_NULLABLE label; /* the operation's */
  int64_t at_ns;                     /* of the queue's clock */
} inturn_event;

/* Tells an event of a queue, also of a suspended one. Called by the queue's
   executor, or by inturn_queue_destroy, one event at a time, in the order in
   which they happened. STARTED is told before the work is called, unless
   another thread of a pool is still telling the event before it; an operation
   that ends meanwhile is not called. `event` is valid during the call. */
typedef void (*inturn_event_fn)(void *INTURN_NULLABLE context,
                                const inturn_event *INTURN_NONNULL event);

/* A rate limit: a token bucket that holds `burst` starts and is full at first.
   Every start takes one, also that of another attempt or of an interaction that
   was put back; a segment takes none. Every interval_ns / max_starts of the
   queue's clock one comes back, without drift. So no more than max_starts +
   burst - 1 start within any interval_ns, and a late start is made up for, by
   at most a full bucket. Not guaranteed: that an operation starts as soon as it
   may, if the executor is busy. */
typedef struct inturn_rate {
  uint32_t max_starts; /* 0: as many as there are */
  uint32_t burst;      /* 0: max_starts */
  int64_t interval_ns; /* positive; times the burst less than 2^62 */
} inturn_rate;

/* Of a delay: there is none. (Zero is the default.) */
#define INTURN_NO_DELAY (-1)

/* Zero in a field means its default. */
typedef struct inturn_queue_options {
  uint32_t size; /* sizeof(inturn_queue_options), or 0: that of 0.1 */
  /* Concurrent queues: how many operations may run at a time. 0: as many as the
     library's pool has workers. Other kinds: 0 or 1. */
  uint32_t max_concurrent;
  const char *INTURN_NULLABLE label; /* UTF-8; copied */
  inturn_executor executor;          /* null: the kind's default */
  uint64_t capacity;  /* how many operations may be pending; 0: no limit */
  inturn_clock clock; /* of its delays and deadlines; null: the system's */
  /* Interaction queues, in nanoseconds: the delay from the view's appearance to
     the first start, by default 500 ms, and from one end to the next start, by
     default 250 ms. INTURN_NO_DELAY: none. An interaction that has ended by the
     time its work returns has shown nothing, so no gap follows it. */
  int64_t settle_ns;
  int64_t gap_ns;
  inturn_rate rate; /* see inturn_queue_set_rate */
  /* Receives the queue's events. Each operation then takes as much memory as
     one with options. */
  inturn_event_fn INTURN_NULLABLE on_event;
  void *INTURN_NULLABLE event_context;
  /* Called, also where on_event is NULL, before inturn_queue_destroy returns;
     when that was called from inside a callback of the queue, when that
     callback has returned. */
  inturn_destroy_fn INTURN_NULLABLE event_destroy;
  /* After how long this queue is reported as stuck, and what waits for its work
     with it, in place of the process's limit: see
     inturn_report_set_stall_limit. 0: after that; below 0: never. */
  int64_t stall_ns;
} inturn_queue_options;

#define INTURN_QUEUE_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(inturn_queue_options), 0, NULL, {0}, 0, {0}, 0, 0, {0, 0, 0}, NULL, \
        NULL, NULL, 0                                                          \
  }

/* Creates a queue. An interaction queue starts with its view not visible; the
   others start at once. NULL options: INTURN_QUEUE_OPTIONS_INIT.
   Statuses: handle statuses (executor, clock), E_INVALID_ARGUMENT,
   E_NO_MEMORY.
   Ownership: the caller destroys it. event_context follows the rule of section
   5; it is destroyed after the queue is, and its last event was told. */
inturn_status
inturn_queue_create(inturn_queue_kind kind,
                    const inturn_queue_options *INTURN_NULLABLE options,
                    inturn_queue *INTURN_NULLABLE out_queue);

/* Gives a queue another executor, which calls whatever starts once this has
   returned. The old one brings to an end what it has begun, and may still tell
   ends and destroy contexts. A turn of the queue that waits there comes over as
   soon as the old one comes to it, so drain that until then. The queue counts
   as using both until it is destroyed.
   Statuses: handle statuses (queue, executor), E_NO_MEMORY. */
inturn_status inturn_queue_set_executor(inturn_queue queue,
                                        inturn_executor executor);

/* Enqueues an operation without options. Returns at once; the work is called by
   the executor, never inside this call.
   Statuses: handle statuses, E_INVALID_ARGUMENT (work is NULL), E_CLOSED,
   E_FULL, E_NO_MEMORY.
   Ownership: out_operation may be NULL; else the caller releases the handle. */
inturn_status
inturn_queue_enqueue(inturn_queue queue, inturn_work_fn INTURN_NULLABLE work,
                     void *INTURN_NULLABLE context,
                     inturn_destroy_fn INTURN_NULLABLE destroy,
                     inturn_operation *INTURN_NULLABLE out_operation);

/* inturn_queue_enqueue, called from a site, which may be NULL.
   Statuses: those of that. */
inturn_status
inturn_queue_enqueue_at(inturn_site *INTURN_NULLABLE site, inturn_queue queue,
                        inturn_work_fn INTURN_NULLABLE work,
                        void *INTURN_NULLABLE context,
                        inturn_destroy_fn INTURN_NULLABLE destroy,
                        inturn_operation *INTURN_NULLABLE out_operation);

/* What happens to an operation's place when its max_run_ns has passed. */
typedef enum inturn_max_run_policy {
  /* The end is told at the deadline, unless a retry follows; the place in the
     queue is held until the token is finished, so that work never overlaps. */
  INTURN_MAX_RUN_HOLD = 0,
  /* The place is freed at the deadline, even if the work is still going on. */
  INTURN_MAX_RUN_FREE = 1
} inturn_max_run_policy;

/* What happens to an operation when one that it comes after does not end as
   finished. */
typedef enum inturn_after_policy {
  INTURN_AFTER_ENDED = 0,   /* nothing: it starts when all have ended */
  INTURN_AFTER_FINISHED = 1 /* it ends cancelled, INTURN_CAUSE_DEPENDENCY */
} inturn_after_policy;

/* What a condition decides. */
typedef enum inturn_verdict {
  INTURN_START = 0,
  INTURN_SKIP = 1,   /* it ends finished, INTURN_CAUSE_SKIPPED */
  INTURN_GIVE_UP = 2 /* it ends cancelled, INTURN_CAUSE_CONDITION */
} inturn_verdict;

/* Decides whether an operation is still wanted, once nothing else keeps it from
   starting; any other number counts as INTURN_GIVE_UP. Called with the
   operation's context, by the queue's executor, just before each call of its
   work, in the operation's place and within its max_run_ns: blocking here holds
   up the queue just as work would. An interaction whose view disappears, or
   whose queue is suspended, before the condition returns or while the event of
   its start is told goes back to the front of the queue,
   INTURN_EVENT_RESTARTING; it is asked again when the queue goes on. No attempt
   counts, and there is no gap. */
typedef inturn_verdict (*inturn_condition_fn)(void *INTURN_NULLABLE context);

/* Decides whether to make another attempt after a failure with this code and
   this many attempts. Called with the operation's context, by the queue's
   executor, once for each failure after which max_attempts allows another
   attempt. The code of an attempt that has exceeded max_run_ns is
   INTURN_E_TIMED_OUT. */
typedef bool (*inturn_retry_fn)(void *INTURN_NULLABLE context, int32_t code,
                                uint32_t attempts);

/* How often, and when, an operation that has failed or has exceeded its
   max_run_ns is attempted again. An attempt that has exceeded it is over: its
   token is refused, inturn_token_is_cancelled says so to its work, and its
   cancel handler is called. The delay to the next attempt begins when that
   handler and the work's call have returned and, with INTURN_MAX_RUN_HOLD, the
   token was finished; until then the operation counts as running, and a cancel
   ends it as timed out. With INTURN_MAX_RUN_FREE, an attempt whose call has not
   returned in time is the last: no context is ever in two calls of its work. */
typedef struct inturn_retry {
  uint32_t size;         /* sizeof(inturn_retry) */
  uint32_t max_attempts; /* the first one included; 0: no limit but the 500
                            million that any operation has */
  int64_t delay_ns;      /* before the second attempt; not negative */
  double factor;         /* each further delay is so many times longer; at
                            least 1, which is the default (0) */
  int64_t max_delay_ns;  /* none is longer; 0: no limit */
  double jitter;         /* 0 to 1: at most this part of each is left out */
  bool only_failures;    /* too long a run is the operation's end */
  inturn_retry_fn INTURN_NULLABLE decide; /* NULL: each failure is worth it */
} inturn_retry;

#define INTURN_RETRY_INIT                                                      \
  { sizeof(inturn_retry), 0, 0, 0.0, 0, 0.0, false, NULL }

/* Zero in a field means none. Times are nanoseconds of the queue's clock and
   not negative. What the pointers point to is copied. */
typedef struct inturn_operation_options {
  uint32_t size; /* sizeof(inturn_operation_options) */

  /* Its place. */

  /* Interaction and concurrent queues (others: E_UNSUPPORTED unless 0): higher
     priorities start first, equal ones in order. See section 10 of the
     manual. */
  int32_t priority;
  const char *INTURN_NULLABLE label; /* UTF-8; for reports and lists */
  /* Interaction queues (others: E_UNSUPPORTED unless false): it comes before
     all that are not urgent, and the running one is asked to give way unless it
     is urgent itself: see inturn_token_on_preempt. Urgent ones start in their
     order, whatever their priorities. */
  bool urgent;
  /* Concurrent queues (others: E_UNSUPPORTED unless false): it starts when
     everything enqueued before it has ended, and nothing enqueued after it
     starts until it has ended. */
  bool barrier;

  /* What it waits for, and shares. */

  /* With a key: if the queue has an operation of that key that has not ended,
     this one joins it. Its work is never called; it ends when the other one
     ends and in the same way, with the same result and INTURN_CAUSE_JOINED. But
     if the other one was cancelled by its own caller, owner or grace time, the
     first that joined it takes over, with its own work. A FIFO or actor queue
     starts it in the place in which it was enqueued, or next if its turn has
     passed; others next if the other one had started, else at the end of its
     priority. Barriers go by the order of the enqueues, whoever has joined
     whom. */
  bool join;
  /* Operations, of any queue, that must end before this one starts. It waits in
     its place: in a FIFO or actor queue those behind it wait too (but in an
     actor queue not segments and further attempts of operations that have
     begun); a concurrent or interaction queue goes on with others. */
  inturn_after_policy after_policy;
  const inturn_operation *INTURN_NULLABLE after;
  size_t after_count;
  /* Names of what it needs for itself alone: of all operations, of all queues,
     that share a name, one runs at a time. It gets all of its names at once, or
     waits for them as for `after`, first come, first served; no set of names
     can deadlock. If its queue is suspended before it has used them, it keeps
     them. Names, keys and reasons are equal when their bytes are. */
  const char *INTURN_NULLABLE const *INTURN_NULLABLE exclusive; /* UTF-8 */
  size_t exclusive_count;
  const char *INTURN_NULLABLE key; /* UTF-8; see inturn_queue_resolve_key */
  inturn_owner owner;              /* null: none */

  /* Whether it starts, and how often. */

  inturn_condition_fn INTURN_NULLABLE condition;
  /* A failure is not the end as long as this allows another attempt, which gets
     a token of its own. Between attempts a FIFO or interaction queue waits; the
     others go on, and the operation takes its turn again. */
  const inturn_retry *INTURN_NULLABLE retry;

  /* How long it may take. */

  int64_t max_wait_ns; /* from the enqueue to the first start */
  int64_t max_run_ns;  /* from the start to the end; of each attempt */
  inturn_max_run_policy max_run_policy;
  /* How long a running operation may go on after it was cancelled. */
  int64_t cancel_grace_ns;
  /* The report handler is told when it has been in the queue for so long, and
     again when it has run for so long; nothing else happens. */
  int64_t stall_ns;

  /* Who is told its end. */

  inturn_end_fn INTURN_NULLABLE on_end;
  void *INTURN_NULLABLE end_context;
  inturn_destroy_fn INTURN_NULLABLE end_destroy;
} inturn_operation_options;

#define INTURN_OPERATION_OPTIONS_INIT                                          \
  {                                                                            \
    sizeof(inturn_operation_options), 0, NULL, false, false, false,            \
        INTURN_AFTER_ENDED, NULL, 0, NULL, 0, NULL, {0}, NULL, NULL, 0, 0,     \
        INTURN_MAX_RUN_HOLD, 0, 0, NULL, NULL, NULL                            \
  }

/* Enqueues an operation with options; NULL options: as inturn_queue_enqueue.
   Both contexts follow the rule of section 5: the operation's own, and
   end_context with end_destroy.
   Statuses: handle statuses (also of `after`), E_INVALID_ARGUMENT, E_CLOSED,
   E_FULL, E_UNSUPPORTED, E_NO_MEMORY.
   Ownership: out_operation may be NULL; else the caller releases the handle.
   An accepted operation's callbacks end with on_end, end_destroy, destroy. */
inturn_status inturn_queue_enqueue_with(
    inturn_queue queue, const inturn_operation_options *INTURN_NULLABLE options,
    inturn_work_fn INTURN_NULLABLE work, void *INTURN_NULLABLE context,
    inturn_destroy_fn INTURN_NULLABLE destroy,
    inturn_operation *INTURN_NULLABLE out_operation);

/* inturn_queue_enqueue_with, called from a site, which may be NULL.
   Statuses: those of that. */
inturn_status inturn_queue_enqueue_with_at(
    inturn_site *INTURN_NULLABLE site, inturn_queue queue,
    const inturn_operation_options *INTURN_NULLABLE options,
    inturn_work_fn INTURN_NULLABLE work, void *INTURN_NULLABLE context,
    inturn_destroy_fn INTURN_NULLABLE destroy,
    inturn_operation *INTURN_NULLABLE out_operation);

/* Changes how many operations of a concurrent queue may run at a time; 0: as
   many as the library's pool has workers. If more are running, none is stopped,
   and none starts until there is room.
   Statuses: handle statuses (E_WRONG_KIND: not a concurrent queue). */
inturn_status inturn_queue_set_max_concurrent(inturn_queue queue,
                                              uint32_t max_concurrent);

/* Changes a queue's rate limit; NULL or 0 max_starts: none. If there was one
   before, the new bucket lacks as many starts as the old one did.
   inturn_queue_get_statistics and INTURN_QUEUE_NEXT_START tell when the next
   operation may start.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_NO_MEMORY. */
inturn_status inturn_queue_set_rate(inturn_queue queue,
                                    const inturn_rate *INTURN_NULLABLE rate);

/* Suspends a queue: once the call has returned, no operation and no segment
   starts. What is running goes on, also what another thread is about to call.
   Ends and cancel handlers are still delivered. Suspends are counted.
   Statuses: handle statuses, E_FULL (4,294,967,295 suspends). */
inturn_status inturn_queue_suspend(inturn_queue queue);

/* inturn_queue_suspend, called from a site, which may be NULL.
   Statuses: those of that. */
inturn_status inturn_queue_suspend_at(inturn_site *INTURN_NULLABLE site,
                                      inturn_queue queue);

/* Takes back one suspend; after the last one the queue goes on.
   Statuses: handle statuses, E_NOT_SUSPENDED. */
inturn_status inturn_queue_resume(inturn_queue queue);

/* Suspends for a reason, such as "a call is in progress". Each reason has a
   count of its own; the queue goes on when none is left and every
   inturn_queue_suspend has been taken back as well.
   Statuses: handle statuses, E_INVALID_ARGUMENT (not UTF-8), E_FULL,
   E_NO_MEMORY. */
inturn_status inturn_queue_suspend_for(inturn_queue queue,
                                       const char *INTURN_NULLABLE reason);

/* inturn_queue_suspend_for, called from a site, which may be NULL.
   Statuses: those of that. */
inturn_status inturn_queue_suspend_for_at(inturn_site *INTURN_NULLABLE site,
                                          inturn_queue queue,
                                          const char *INTURN_NULLABLE reason);

/* Takes back one suspend of this reason.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_NOT_SUSPENDED (not for this
   reason). */
inturn_status inturn_queue_resume_for(inturn_queue queue,
                                      const char *INTURN_NULLABLE reason);

/* Says that the view of an interaction queue has appeared: the queue goes on
   after settle_ns, if the view is still visible then. Nothing happens if it was
   visible already.
   Statuses: handle statuses (E_WRONG_KIND: not an interaction queue). */
inturn_status inturn_queue_view_did_appear(inturn_queue queue);

/* Says that the view disappears: once the call has returned, no interaction
   starts until the view has appeared again and settled. A running one, also one
   that another thread is about to call, is not affected, unless its condition
   is being asked or its start told, before its work is called: see
   inturn_condition_fn. Nothing happens if it was not visible.
   Statuses: handle statuses (E_WRONG_KIND: not an interaction queue). */
inturn_status inturn_queue_view_will_disappear(inturn_queue queue);

/* Ends the pending operations of a key as finished, INTURN_CAUSE_RESOLVED,
   without calling their work: their question has been answered. Running ones
   are not affected. out_count, which may be NULL, gets their number. Takes time
   in proportion to it.
   Statuses: handle statuses, E_INVALID_ARGUMENT. */
inturn_status inturn_queue_resolve_key(inturn_queue queue,
                                       const char *INTURN_NULLABLE key,
                                       uint64_t *INTURN_NULLABLE out_count);

/* Cancels the operations of a key, running ones as well, as
   inturn_operation_cancel does. out_count, which may be NULL, gets their
   number.
   Statuses: handle statuses, E_INVALID_ARGUMENT. */
inturn_status inturn_queue_cancel_key(inturn_queue queue,
                                      const char *INTURN_NULLABLE key,
                                      uint64_t *INTURN_NULLABLE out_count);

/* Cancels every operation of the queue, as inturn_operation_cancel does.
   Operations that are enqueued later are not affected. Takes time in proportion
   to the pending ones.
   Statuses: handle statuses. */
inturn_status inturn_queue_cancel_all(inturn_queue queue);

/* The same for pending operations alone, and those between two attempts: what
   runs is not asked to end.
   Statuses: handle statuses. */
inturn_status inturn_queue_cancel_pending(inturn_queue queue);

/* Refuses new operations from now on; accepted ones go on.
   Statuses: handle statuses, E_CLOSED (it was closed already). */
inturn_status inturn_queue_close(inturn_queue queue);

/* Waits until nothing of the queue is pending, running or still to be
   delivered. timeout_ns is on the system's clock; negative: no limit; 0: just
   asks, and is never refused. inturn_queue_drain_or_list says what has not
   ended.
   Statuses: handle statuses (E_STALE, too, when the queue is destroyed
   meanwhile), E_TIMED_OUT, E_DEADLOCK.
   Deadlock: refused inside the queue's own callbacks, and round a ring. */
inturn_status inturn_queue_drain(inturn_queue queue, int64_t timeout_ns);

/* Destroys a queue. The handle is stale from now on. Pending operations end as
   cancelled. Running ones do, too, and their tokens are refused; callbacks that
   are running on other threads are waited for. Once the call has returned, no
   callback of the queue is running or will run. Called from inside a callback
   of the same queue, it does not wait: the rest happens when that callback
   returns.
   Statuses: handle statuses, E_DEADLOCK (round a ring; nothing has changed).
   Threads: any; the ends are delivered on the caller's thread.
   Deadlock: waits for callbacks that are running on other threads. */
inturn_status inturn_queue_destroy(inturn_queue queue);

/* Operations -------------------------------------------------------------- */

/* The state of an operation. */
typedef enum inturn_operation_state {
  INTURN_PENDING = 1, /* accepted, not started */
  INTURN_RUNNING = 2, /* started, not ended */
  INTURN_ENDED = 3    /* see its end */
} inturn_operation_state;

/* Gets the operation's state.
   Statuses: handle statuses, E_INVALID_ARGUMENT. */
inturn_status
inturn_operation_get_state(inturn_operation operation,
                           inturn_operation_state *INTURN_NULLABLE out_state);

/* Cancels an operation; see section 8 of the manual.
   Statuses: handle statuses, E_CANCELLED (asked for already),
   E_ALREADY_FINISHED (it has ended). */
inturn_status inturn_operation_cancel(inturn_operation operation);

/* Waits until the operation has ended. Its end callback may not have been
   called yet. timeout_ns is on the system's clock; negative: no limit; 0: just
   asks, and is never refused. out_end may be NULL; its label and result are
   valid until the release.
   Statuses: handle statuses, E_TIMED_OUT, E_DEADLOCK.
   Deadlock: refused inside the callbacks of a queue that must go on for the
   operation to end, and round a ring. */
inturn_status inturn_operation_wait(inturn_operation operation,
                                    int64_t timeout_ns,
                                    inturn_end *INTURN_NULLABLE out_end);

/* Gets the operation's progress, as last set by inturn_token_set_progress; both
   are 0 before that. The out parameters may be NULL.
   Statuses: handle statuses. */
inturn_status
inturn_operation_get_progress(inturn_operation operation,
                              int64_t *INTURN_NULLABLE out_completed,
                              int64_t *INTURN_NULLABLE out_total);

/* Releases the handle. The operation itself goes on.
   Statuses: handle statuses. */
inturn_status inturn_operation_release(inturn_operation operation);

/* Tokens ------------------------------------------------------------------ */

/* The first call that ends an operation wins; each later one gets
   E_ALREADY_FINISHED, as does a token whose operation was ended by a deadline,
   a grace time or its queue's destruction. Such a late call still frees the
   place that INTURN_MAX_RUN_HOLD holds. E_STALE is for bits that were never a
   token, or the token of an operation that has not started. */

/* Ends the operation as finished.
   Statuses: handle statuses, E_ALREADY_FINISHED. */
inturn_status inturn_token_finish(inturn_token token);

/* Ends the operation as finished, with a result. The operation owns the result
   and destroys it after the end was delivered and its handle, if there is one,
   was released.
   Statuses: handle statuses, E_ALREADY_FINISHED.
   Ownership: destroy is called exactly once in every case. */
inturn_status
inturn_token_finish_with(inturn_token token, void *INTURN_NULLABLE result,
                         inturn_destroy_fn INTURN_NULLABLE destroy);

/* Ends the operation as failed. The code is the caller's; any number is fine.
   Statuses: handle statuses, E_ALREADY_FINISHED. */
inturn_status inturn_token_fail(inturn_token token, int32_t code);

/* Ends the operation as cancelled: for work that follows a request to cancel.
   Statuses: handle statuses, E_ALREADY_FINISHED. */
inturn_status inturn_token_cancel(inturn_token token);

/* Ends the operation as abandoned, and reports it: for bindings to languages
   that notice when a token is lost.
   Statuses: handle statuses, E_ALREADY_FINISHED. */
inturn_status inturn_token_abandon(inturn_token token);

/* The same; the report's message says where the operation was enqueued, such as
   "program.cpp:12". `place` may be NULL.
   Statuses: handle statuses, E_ALREADY_FINISHED. */
inturn_status inturn_token_abandon_at(inturn_token token,
                                      const char *INTURN_NULLABLE place);

/* Whether the operation was asked to end. Also true if it was cut off by a
   deadline, a grace time or its queue's destruction.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_ALREADY_FINISHED (it was
   ended by its token, or was cut off and its work's call has returned). */
inturn_status inturn_token_is_cancelled(inturn_token token,
                                        bool *INTURN_NULLABLE out_cancelled);

/* Sets the handler that is called when the operation is asked to end; if it was
   asked already, the handler is called soon. A second call replaces it. NULL
   handler: none. It stays for further attempts of the operation.
   Statuses: handle statuses, E_ALREADY_FINISHED, E_NO_MEMORY. */
inturn_status inturn_token_on_cancel(inturn_token token,
                                     inturn_cancel_fn INTURN_NULLABLE handler,
                                     void *INTURN_NULLABLE context,
                                     inturn_destroy_fn INTURN_NULLABLE destroy);

/* Sets the operation's progress: `completed` of `total` units, whose meaning is
   up to you. A total of 0: not known.
   Statuses: handle statuses, E_INVALID_ARGUMENT (a negative number, or
   completed > total > 0), E_ALREADY_FINISHED, E_NO_MEMORY. */
inturn_status inturn_token_set_progress(inturn_token token, int64_t completed,
                                        int64_t total);

/* Sets the handler that is called when an urgent interaction wants the place of
   this one and its queue could start it; if that is so already, it is called
   soon. A second call replaces it. NULL handler: none.
   Statuses: handle statuses, E_WRONG_KIND (not an interaction queue),
   E_ALREADY_FINISHED, E_NO_MEMORY. */
inturn_status inturn_token_on_preempt(
    inturn_token token, inturn_preempt_fn INTURN_NULLABLE handler,
    void *INTURN_NULLABLE context, inturn_destroy_fn INTURN_NULLABLE destroy);

/* Gives way: ends this attempt of an interaction. It is presented again, with a
   new token, before all others but urgent ones; if it is urgent itself, before
   those as well. If it was asked to end, it ends as cancelled instead. Any
   interaction may give way at any time, pre-empted or not.
   Statuses: handle statuses, E_WRONG_KIND (not an interaction queue),
   E_ALREADY_FINISHED. */
inturn_status inturn_token_yield(inturn_token token);

/* Runs another segment of an operation of an actor queue: on the queue, in the
   order of resumes and enqueues, never overlapping another segment. Any number
   may wait. A segment whose operation has ended by its turn is not called, and
   frees the place that INTURN_MAX_RUN_HOLD holds; so does a call that is
   refused with E_ALREADY_FINISHED.
   Statuses: handle statuses, E_WRONG_KIND (not an actor queue),
   E_INVALID_ARGUMENT (work is NULL), E_ALREADY_FINISHED, E_NO_MEMORY. */
inturn_status inturn_token_resume(inturn_token token,
                                  inturn_work_fn INTURN_NULLABLE work,
                                  void *INTURN_NULLABLE context,
                                  inturn_destroy_fn INTURN_NULLABLE destroy);

/* Owners ------------------------------------------------------------------ */

/* An owner stands for whatever operations belong to: a window, a document, a
   connection. When it goes away, so do its operations, in whatever queues they
   are. */

/* Creates an owner that may have `capacity` operations that have not ended (0:
   no limit); one more is refused with E_FULL.
   Statuses: E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the caller destroys it. */
inturn_status inturn_owner_create(uint64_t capacity,
                                  inturn_owner *INTURN_NULLABLE out_owner);

/* Gets how many of its operations have not ended.
   Statuses: handle statuses, E_INVALID_ARGUMENT. */
inturn_status inturn_owner_get_count(inturn_owner owner,
                                     uint64_t *INTURN_NULLABLE out_count);

/* Destroys an owner and cancels its operations as inturn_operation_cancel does,
   with INTURN_CAUSE_OWNER (one that needs another of them to finish may end by
   INTURN_CAUSE_DEPENDENCY before that): first those that have not started, so
   that none starts because another one ends; each in the order in which it got
   them. Takes time in proportion to them. Work that is running goes on until it
   ends itself.
   Statuses: handle statuses. */
inturn_status inturn_owner_destroy(inturn_owner owner);

/* Batches ----------------------------------------------------------------- */

/* A batch is a list of operations of one queue with one completion. The queue
   runs them like any others; the batch looks after the end. Its own end is
   FINISHED, or the end of the operation that decided it. For the batch, an
   operation has ended when its context is destroyed: one that timed out and
   keeps its place (INTURN_MAX_RUN_HOLD), when its token is finished. */

/* When the rest is cancelled, and which operation decides: its end is the
   batch's. */
typedef enum inturn_batch_policy {
  /* Cancels the rest: never. Decides: the first in the list that did not
     finish. */
  INTURN_BATCH_ALL = 0,
  /* Cancels the rest: as soon as one ends otherwise than finished. Decides:
     that one. The work of those that start after that is not called. */
  INTURN_BATCH_FIRST_ERROR = 1,
  /* Cancels the rest: never. Decides: none; after inturn_batch_cancel, the
     first that then ended as cancelled. */
  INTURN_BATCH_COLLECT = 2,
  /* Cancels the rest: as soon as `enough` have finished. Decides: none; if
     fewer finish, the first in the list that did not. */
  INTURN_BATCH_ENOUGH = 3
} inturn_batch_policy;

/* One operation of a batch; as for inturn_queue_enqueue. */
typedef struct inturn_batch_item {
  inturn_work_fn INTURN_NULLABLE work;
  void *INTURN_NULLABLE context;
  inturn_destroy_fn INTURN_NULLABLE destroy;
} inturn_batch_item;

/* The operation at `place` in the list waits for the one at `after`, like the
   `after` of inturn_operation_options, until that one's end can be read by
   inturn_batch_get_end and its context is destroyed. `after` must be the
   smaller of the two, so there is no ring. */
typedef struct inturn_batch_edge {
  size_t place;
  size_t after;
} inturn_batch_edge;

/* The end of a batch. */
typedef struct inturn_batch_end {
  uint32_t size;      /* sizeof(inturn_batch_end) */
  int32_t code;       /* of the operation that decided, else 0 */
  inturn_batch batch; /* for inturn_batch_get_end, during the call */
  inturn_outcome outcome;
  size_t count;      /* operations */
  size_t finished;   /* those that ended as finished */
  size_t decided_by; /* the operation's place in the list; else `count` */
} inturn_batch_end;

#define INTURN_BATCH_END_INIT                                                  \
  { sizeof(inturn_batch_end), 0, {0}, INTURN_ZERO(inturn_outcome), 0, 0, 0 }

/* Tells a batch's end, when each of its operations has ended and its context is
   destroyed. Called exactly once for each accepted batch, by the queue's
   executor or by inturn_queue_destroy. `end` is valid during the call. */
typedef void (*inturn_batch_end_fn)(void *INTURN_NULLABLE context,
                                    const inturn_batch_end *INTURN_NONNULL end);

/* Zero in a field means none. What the pointers point to is copied. */
typedef struct inturn_batch_options {
  uint32_t size; /* sizeof(inturn_batch_options) */
  inturn_batch_policy policy;
  size_t enough; /* INTURN_BATCH_ENOUGH: at least 1, at most the count */
  /* Of each operation; NULL: none. Its on_end and contexts must be NULL, and
     its join false. Its after_policy is for `edges`, too. */
  const inturn_operation_options *INTURN_NULLABLE operation;
  inturn_batch_end_fn INTURN_NULLABLE on_end;
  void *INTURN_NULLABLE end_context;
  inturn_destroy_fn INTURN_NULLABLE end_destroy;
  /* What comes after what, in any order: a graph. It costs less than handles
     and `after`, as all of it is known from the start; least in a concurrent
     queue without `operation`. */
  const inturn_batch_edge *INTURN_NULLABLE edges;
  size_t edge_count;
} inturn_batch_options;

#define INTURN_BATCH_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(inturn_batch_options), INTURN_BATCH_ALL, 0, NULL, NULL, NULL, NULL, \
        NULL, 0                                                                \
  }

/* Enqueues a batch: all of its operations, with no others between them, or, if
   this fails, none. An empty batch ends at once, though not inside this call.
   NULL options: INTURN_BATCH_OPTIONS_INIT.
   Statuses: those of inturn_queue_enqueue_with; E_INVALID_ARGUMENT also when an
   item's work is NULL, or an edge names no two places in order.
   Ownership: all contexts, end_context included, follow the rule of section 5;
   but of more than UINT32_MAX items, which can only be a mistake, none is read.
   out_batch may be NULL; else the caller releases the handle.
   Memory: a pending operation of a batch takes 56 bytes more than without, an
   edge 12, with `operation` up to 200; its end stays in memory until the batch
   has ended and is released. Up to 8 MB of it stay for the next batch. */
inturn_status inturn_queue_enqueue_batch(
    inturn_queue queue, const inturn_batch_options *INTURN_NULLABLE options,
    const inturn_batch_item *INTURN_NULLABLE items, size_t count,
    inturn_batch *INTURN_NULLABLE out_batch);

/* inturn_queue_enqueue_batch, called from a site, which may be NULL. It is that
   of each operation.
   Statuses: those of that. */
inturn_status inturn_queue_enqueue_batch_at(
    inturn_site *INTURN_NULLABLE site, inturn_queue queue,
    const inturn_batch_options *INTURN_NULLABLE options,
    const inturn_batch_item *INTURN_NULLABLE items, size_t count,
    inturn_batch *INTURN_NULLABLE out_batch);

/* Cancels the operations of the batch that have not ended, as
   inturn_operation_cancel does. Takes time in proportion to them.
   Statuses: handle statuses, E_CANCELLED (asked for already),
   E_ALREADY_FINISHED (all have ended). */
inturn_status inturn_batch_cancel(inturn_batch batch);

/* Gets how many of the batch's operations have ended, and how many there are.
   The out parameters may be NULL.
   Statuses: handle statuses. */
inturn_status inturn_batch_get_progress(inturn_batch batch,
                                        size_t *INTURN_NULLABLE out_ended,
                                        size_t *INTURN_NULLABLE out_count);

/* Gets how the operation at a place in the list has ended. Its result is valid
   until the batch is released, or to the end of its on_end.
   Statuses: handle statuses, E_INVALID_ARGUMENT (no such place), E_BUSY (it has
   not ended, or its end is still being delivered). */
inturn_status inturn_batch_get_end(inturn_batch batch, size_t place,
                                   inturn_end *INTURN_NULLABLE out_end);

/* Waits until the batch has ended and its on_end has returned. timeout_ns is on
   the system's clock; negative: no limit; 0: just asks, and is never refused.
   out_end may be NULL.
   Statuses: handle statuses, E_TIMED_OUT, E_DEADLOCK.
   Deadlock: refused inside the callbacks of a queue that must go on for the
   batch to end, such as its on_end, and round a ring. */
inturn_status inturn_batch_wait(inturn_batch batch, int64_t timeout_ns,
                                inturn_batch_end *INTURN_NULLABLE out_end);

/* Releases the handle. The batch itself goes on.
   Statuses: handle statuses. */
inturn_status inturn_batch_release(inturn_batch batch);

/* Values ------------------------------------------------------------------ */

/* A value holds a datum of one type. Any thread may read and change it, and its
   observers are told the changes as a trail: numbered from 1, each beginning
   with what the one before ended with, none left out, none told twice, in the
   same order for all observers. Every set is a change, even to the same datum.

   Observers without an executor or a queue are called by the thread that makes
   the change, inside the call that makes it; or, if another thread is already
   calling them, by that thread afterwards. So a change never waits for an
   observer, and a change made inside an observer is told when everybody has
   been told of the one before. Observers with an executor or a queue may be
   told later; their changes wait for them. */

/* What type a datum is of. */
typedef enum inturn_datum_type {
  INTURN_DATUM_NONE = 0, /* of the datum before an initial value */
  INTURN_DATUM_INTEGER = 1,
  INTURN_DATUM_DOUBLE = 2,
  INTURN_DATUM_BOOLEAN = 3,
  INTURN_DATUM_STRING = 4, /* UTF-8, zero bytes allowed; copied */
  INTURN_DATUM_BYTES = 5,  /* any bytes; copied */
  INTURN_DATUM_POINTER = 6,
  INTURN_DATUM_PROGRESS = 7 /* integer of total; 0: the total is not known */
} inturn_datum_type;

/* What a value holds. Only the fields of its type count; the library sets the
   others to zero. A datum that the library gives to the caller is the caller's
   until inturn_datum_release; one that it gives to a callback is valid during
   the call. */
typedef struct inturn_datum {
  inturn_datum_type type;
  bool boolean;
  int64_t integer;
  double real;
  const void *INTURN_NULLABLE bytes; /* in the library's, a zero behind them */
  size_t length;
  void *INTURN_NULLABLE pointer;
  void *INTURN_NULLABLE owner; /* the library's */
  int64_t total;
} inturn_datum;

/* Initialisers of a datum of each type. */
#define INTURN_INTEGER(number)                                                 \
  { INTURN_DATUM_INTEGER, false, (number), 0, NULL, 0, NULL, NULL, 0 }
#define INTURN_DOUBLE(number)                                                  \
  { INTURN_DATUM_DOUBLE, false, 0, (number), NULL, 0, NULL, NULL, 0 }
#define INTURN_BOOLEAN(truth)                                                  \
  { INTURN_DATUM_BOOLEAN, (truth), 0, 0, NULL, 0, NULL, NULL, 0 }
#define INTURN_STRING(bytes, length)                                           \
  { INTURN_DATUM_STRING, false, 0, 0, (bytes), (length), NULL, NULL, 0 }
#define INTURN_BYTES(bytes, length)                                            \
  { INTURN_DATUM_BYTES, false, 0, 0, (bytes), (length), NULL, NULL, 0 }
#define INTURN_POINTER(pointer)                                                \
  { INTURN_DATUM_POINTER, false, 0, 0, NULL, 0, (pointer), NULL, 0 }
#define INTURN_PROGRESS(completed, total)                                      \
  { INTURN_DATUM_PROGRESS, false, (completed), 0, NULL, 0, NULL, NULL, (total) }

/* How a value is created; zero in a field means none. */
typedef struct inturn_value_options {
  uint32_t size;                     /* sizeof(inturn_value_options) */
  uint32_t reserved;                 /* 0 */
  const char *INTURN_NULLABLE label; /* UTF-8; copied; for reports */
  /* Of a value that holds pointers. With `retain`, the value calls it for each
     pointer that it is given. Without, it takes over the caller's reference
     when the call succeeds; when it fails, or exchanges nothing, that stays the
     caller's. `release` is called once for each that it has retained or taken
     over, when the value, its observers and all data that the library gave have
     no use for it any more. NULL: not called. Neither is called under a lock;
     both from any thread. */
  inturn_destroy_fn INTURN_NULLABLE retain;
  inturn_destroy_fn INTURN_NULLABLE release;
} inturn_value_options;

#define INTURN_VALUE_OPTIONS_INIT                                              \
  { sizeof(inturn_value_options), 0, NULL, NULL, NULL }

/* Creates a value that holds data of the type of `initial`.
   Statuses: E_INVALID_ARGUMENT (a string that is not UTF-8, too, and a progress
   with a negative number, or with more than its total), E_NO_MEMORY.
   Ownership: the caller destroys it. */
inturn_status
inturn_value_create(const inturn_value_options *INTURN_NULLABLE options,
                    const inturn_datum *INTURN_NULLABLE initial,
                    inturn_value *INTURN_NULLABLE out_value);

/* What the value holds. Strings and bytes are not copied.
   Statuses: handle statuses, E_INVALID_ARGUMENT.
   Ownership: the caller releases the datum. */
inturn_status inturn_value_get(inturn_value value,
                               inturn_datum *INTURN_NULLABLE out_datum);

/* The same for one type, with nothing to release.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_INVALID_ARGUMENT. */
inturn_status inturn_value_get_integer(inturn_value value,
                                       int64_t *INTURN_NULLABLE out_number);

/* As inturn_value_get_integer.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_INVALID_ARGUMENT. */
inturn_status inturn_value_get_double(inturn_value value,
                                      double *INTURN_NULLABLE out_number);

/* As inturn_value_get_integer.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_INVALID_ARGUMENT. */
inturn_status inturn_value_get_boolean(inturn_value value,
                                       bool *INTURN_NULLABLE out_truth);

/* Releases what a datum that the library returned holds, and sets its type to
   none. Does nothing to any other datum.
   Statuses: E_INVALID_ARGUMENT. */
inturn_status inturn_datum_release(inturn_datum *INTURN_NULLABLE datum);

/* Changes the value.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_UNSUPPORTED (it tells a state of the library's; see States),
   E_INVALID_ARGUMENT (as inturn_value_create), E_NO_MEMORY. */
inturn_status inturn_value_set(inturn_value value,
                               const inturn_datum *INTURN_NULLABLE datum);

/* Changes the value.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_UNSUPPORTED (as inturn_value_set), E_NO_MEMORY. */
inturn_status inturn_value_set_integer(inturn_value value, int64_t number);

/* Changes the value.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_UNSUPPORTED (as inturn_value_set), E_NO_MEMORY. */
inturn_status inturn_value_set_double(inturn_value value, double number);

/* Changes the value.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_UNSUPPORTED (as inturn_value_set), E_NO_MEMORY. */
inturn_status inturn_value_set_boolean(inturn_value value, bool truth);

/* Changes the value and returns what it held, in one atomic step.
   Statuses: as inturn_value_set; out_before is required.
   Ownership: the caller releases out_before. */
inturn_status inturn_value_exchange(inturn_value value,
                                    const inturn_datum *INTURN_NULLABLE datum,
                                    inturn_datum *INTURN_NULLABLE out_before);

/* Changes the value if it holds what is expected, in one atomic step: a number
   with the same bits, the same bytes, the same address. out_exchanged tells
   whether it did; out_before, which may be NULL, gets what it held.
   Statuses: as inturn_value_set.
   Ownership: the caller releases out_before. */
inturn_status
inturn_value_compare_exchange(inturn_value value,
                              const inturn_datum *INTURN_NULLABLE expected,
                              const inturn_datum *INTURN_NULLABLE desired,
                              bool *INTURN_NULLABLE out_exchanged,
                              inturn_datum *INTURN_NULLABLE out_before);

/* Adds to an integer in one atomic step. out_sum may be NULL.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_UNSUPPORTED (as inturn_value_set), E_INVALID_ARGUMENT (the sum is out of
   range), E_NO_MEMORY. */
inturn_status inturn_value_add(inturn_value value, int64_t difference,
                               int64_t *INTURN_NULLABLE out_sum);

/* Adds to a double in one atomic step. out_sum may be NULL.
   Statuses: handle statuses (E_WRONG_KIND: it holds another type),
   E_UNSUPPORTED (as inturn_value_set), E_NO_MEMORY. */
inturn_status inturn_value_add_double(inturn_value value, double difference,
                                      double *INTURN_NULLABLE out_sum);

/* What an observer is told. */
typedef enum inturn_change_kind {
  INTURN_CHANGE_SET = 1,     /* the value was changed */
  INTURN_CHANGE_INITIAL = 2, /* what it holds when the observation begins; with
                                `latest`, or what it holds by then */
  INTURN_CHANGE_PRIOR = 3    /* a change that is told with SET afterwards */
} inturn_change_kind;

/* A change of a value. */
typedef struct inturn_change {
  uint32_t size; /* sizeof(inturn_change) */
  inturn_change_kind kind;
  /* From 1; of an initial value, that of the change that made it, or 0; of
     changes that were joined, that of the last. */
  uint64_t number;
  inturn_datum before; /* of no type with an initial value */
  inturn_datum after;
} inturn_change;

/* Tells a change. Not called by two threads at once for one observation, and
   never under a lock of the library: it may change the value, observe it, and
   cancel observations, its own included. `change` is valid during the call. */
typedef void (*inturn_change_fn)(void *INTURN_NULLABLE context,
                                 const inturn_change *INTURN_NONNULL change);

/* How a value is observed. */
typedef struct inturn_observe_options {
  uint32_t size; /* sizeof(inturn_observe_options) */
  bool initial;  /* first of all, is told what the value holds */
  /* Is told of each change twice: before any observer is told of it with SET,
     and with the others. On an executor or queue that is when it is called
     there, which may be after others were. The value may hold what comes after
     both times. Not with `latest`. */
  bool prior;
  /* When several changes are due, is told of them as of one. */
  bool latest;
  /* Where it is called, if not by who changes the value (or is telling of a
     change before). At most one of them; the queue must not be destroyed before
     the observation is over: if it refuses an operation, that ends the
     observation, which is reported. */
  inturn_executor executor;
  inturn_queue queue;
} inturn_observe_options;

#define INTURN_OBSERVE_OPTIONS_INIT                                            \
  {                                                                            \
    sizeof(inturn_observe_options), false, false, false, {0}, { 0 }            \
  }

/* Begins to observe a value: all its changes from now on. NULL options:
   INTURN_OBSERVE_OPTIONS_INIT. Without a handle, the observation lasts as long
   as the value.
   Statuses: handle statuses (executor and queue, too), E_INVALID_ARGUMENT (no
   observer; an executor and a queue), E_NO_MEMORY.
   Ownership: out_observation may be NULL. destroy is called when the
   observation is over and no call is under way. */
inturn_status inturn_value_observe(
    inturn_value value, const inturn_observe_options *INTURN_NULLABLE options,
    inturn_change_fn INTURN_NULLABLE observer, void *INTURN_NULLABLE context,
    inturn_destroy_fn INTURN_NULLABLE destroy,
    inturn_observation *INTURN_NULLABLE out_observation);

/* Ends an observation: its observer is never called again. When this gives
   INTURN_OK it is not being called either, unless the caller is inside it, and
   its context is destroyed: before this returns, or, inside it, when it has
   returned. timeout_ns says how long to wait, on the system's clock, for a call
   that is running on another thread; negative: no limit; 0: does not wait.
   Statuses: handle statuses (E_STALE: it is over), E_TIMED_OUT, E_DEADLOCK.
   With these two, the observation is cancelled as well, but its observer has
   not returned yet; the handle is good for another try until it has, inside it,
   too.
   Deadlock: refused round a ring, such as of two observers that cancel each
   other. */
inturn_status inturn_observation_cancel(inturn_observation observation,
                                        int64_t timeout_ns);

/* Decides whether a datum is what the caller waits for. `datum` is valid during
   the call. Called by the thread that waits; it may call any function of the
   library. */
typedef bool (*inturn_predicate_fn)(void *INTURN_NULLABLE context,
                                    const inturn_datum *INTURN_NONNULL datum);

/* Waits until the value holds what the predicate accepts: it is asked about
   what the value holds now and about every change from now on. timeout_ns is on
   the system's clock; negative: no limit; 0: just asks about now, and is never
   refused. out_datum may be NULL.
   Statuses: handle statuses (E_STALE, too, when the value is destroyed
   meanwhile), E_INVALID_ARGUMENT, E_TIMED_OUT, E_DEADLOCK, E_CLOSED (it tells a
   state that will not change any more; see States), E_NO_MEMORY.
   Deadlock: refused inside an observer that is called by who changes the value,
   which would have to return first, and round a ring.
   Ownership: the context is the caller's. The caller releases out_datum. */
inturn_status inturn_value_wait(inturn_value value,
                                inturn_predicate_fn INTURN_NULLABLE predicate,
                                void *INTURN_NULLABLE context,
                                int64_t timeout_ns,
                                inturn_datum *INTURN_NULLABLE out_datum);

/* Waits until every change made so far has been told to every observer.
   timeout_ns is on the system's clock; negative: no limit; 0: just asks, and is
   never refused.
   Statuses: handle statuses, E_TIMED_OUT, E_DEADLOCK.
   Deadlock: refused inside the value's own observers, and round a ring. */
inturn_status inturn_value_drain(inturn_value value, int64_t timeout_ns);

/* Destroys a value, and ends its observations. The handle is stale from now
   on, who waits gets E_STALE, and changes that have not been told yet are not
   told. When the call has returned, no observer of the value is being called
   or will be. Called from inside one of them, it does not wait for any.
   Statuses: handle statuses, E_DEADLOCK (round a ring; nothing has changed).
   Deadlock: waits for the calls that are under way on other threads. */
inturn_status inturn_value_destroy(inturn_value value);

/* States ------------------------------------------------------------------ */

/* The library's own states, as values: got, observed, waited for, drained and
   destroyed like any other, and changed by the library alone: a set, exchange
   or add gives E_UNSUPPORTED.

   The trail of such a value is the order of the changes themselves, from the
   call that made the value on; a set to the same is none. Who makes a change is
   whoever causes it: the thread that enqueues, suspends, cancels or finishes,
   or the one that starts an operation, just before it calls its work. That
   thread calls the observers, under no lock, before its call goes on; what an
   observer does there takes the time of that thread. Another thread that is
   telling of a change of the same value, or has made the next one, may tell of
   this one, too, and nobody waits for it: the call may then go on, and the next
   operation run, before its change is told. What changes at one moment is told
   of one value after the other, and gets into the values at one moment.

   Each call makes a value of its own. It may outlive what it tells of: it then
   keeps the last state, its observations end when they have been told that, who
   waits for another one gets E_CLOSED, and it must still be destroyed. (An
   observation that begins then is told the initial state, if it asks for that,
   and ends.) Destroying it, at any time, does nothing to what it tells of.
   While nobody has a value of a queue, its operations cost a few tests of a
   flag more, and those of a FIFO queue without options nothing more; while
   somebody has one, each operation is started under the queue's lock. */

/* What a value tells of a queue. */
typedef enum inturn_queue_aspect {
  INTURN_QUEUE_PENDING = 1,   /* integer: accepted, not started, not ended */
  INTURN_QUEUE_RUNNING = 2,   /* integer: started, and see below */
  INTURN_QUEUE_SUSPENDED = 3, /* boolean: at least one suspend is in force */
  /* progress: how many have ended, of all that were ever accepted; these are
     the ended, the running and the pending ones. */
  INTURN_QUEUE_PROGRESS = 4,
  /* integer: as next_start_ns of inturn_queue_statistics. */
  INTURN_QUEUE_NEXT_START = 5
} inturn_queue_aspect;

/* Creates a value that tells a state of a queue. For the queue, an operation
   runs until its token is finished and its work's call has returned, or until
   it is cut off. When the queue is destroyed, nothing is pending or running.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the caller destroys it. */
inturn_status
inturn_queue_create_value(inturn_queue queue, inturn_queue_aspect aspect,
                          inturn_value *INTURN_NULLABLE out_value);

/* What a value tells of an operation. */
typedef enum inturn_operation_aspect {
  /* integer, an inturn_operation_state. Only INTURN_ENDED is for good: one
     that is tried again, or has given way, is pending again. */
  INTURN_OPERATION_STATE = 1,
  INTURN_OPERATION_PROGRESS = 2 /* progress: see inturn_token_set_progress */
} inturn_operation_aspect;

/* Creates a value that tells a state of an operation. Of one that has ended, it
   tells the last.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the caller destroys it. The operation's handle may be released. */
inturn_status
inturn_operation_create_value(inturn_operation operation,
                              inturn_operation_aspect aspect,
                              inturn_value *INTURN_NULLABLE out_value);

/* Creates a value that tells the progress of a batch: how many of its
   operations have ended, of all of them.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the caller destroys it. The batch's handle may be released. */
inturn_status
inturn_batch_create_value(inturn_batch batch,
                          inturn_value *INTURN_NULLABLE out_value);

/* Clocks ------------------------------------------------------------------ */

/* A clock is the source of a queue's delays and deadlines. The system's is
   monotonic and does not count while the machine sleeps. A manual one stands
   still until it is advanced, so that time can be tested without waiting. */

/* Creates a manual clock that stands at zero.
   Statuses: E_INVALID_ARGUMENT, E_NO_MEMORY.
   Ownership: the caller destroys it. */
inturn_status
inturn_clock_create_manual(inturn_clock *INTURN_NULLABLE out_clock);

/* The clock's time in nanoseconds; the null handle asks the system's clock.
   Statuses: E_STALE, E_WRONG_KIND, E_FORKED, E_INVALID_ARGUMENT. */
inturn_status inturn_clock_now(inturn_clock clock,
                               int64_t *INTURN_NULLABLE out_now_ns);

/* Advances a manual clock. What falls due on the way falls due in its order;
   when the call has returned, all of it has been handed to its executors.
   Statuses: handle statuses, E_INVALID_ARGUMENT (negative, or past the end of
   time). */
inturn_status inturn_clock_advance(inturn_clock clock, int64_t by_ns);

/* Destroys a manual clock that no queue uses.
   Statuses: handle statuses, E_BUSY. */
inturn_status inturn_clock_destroy(inturn_clock clock);

/* Diagnosis --------------------------------------------------------------- */

/* Counts of one queue: a snapshot, exact if nothing changes meanwhile. An
   operation that has ended during its work's call may count as running until
   that call returns. One that has neither options nor a handle counts as
   finished at first, however it ends, for as long as the queue starts one after
   the other without a pause. */
typedef struct inturn_queue_statistics {
  uint32_t size;     /* sizeof(inturn_queue_statistics), set by the caller */
  uint32_t suspends; /* how many are in force */
  uint64_t pending;  /* accepted, not started, not ended */
  uint64_t running;  /* started, not ended */
  uint64_t finished; /* and so on: ended operations by outcome */
  uint64_t failed;
  uint64_t cancelled;
  uint64_t timed_out;
  uint64_t abandoned;
  /* The moment of the queue's clock before which its rate, or the delay of an
     interaction queue, lets nothing start; 0: none. */
  int64_t next_start_ns;
} inturn_queue_statistics;

#define INTURN_QUEUE_STATISTICS_INIT                                           \
  { sizeof(inturn_queue_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Says what a queue has done and has to do.
   Statuses: handle statuses, E_INVALID_ARGUMENT. */
inturn_status inturn_queue_get_statistics(
    inturn_queue queue,
    inturn_queue_statistics *INTURN_NULLABLE out_statistics);

/* One operation that has not ended. */
typedef struct inturn_operation_info {
  uint32_t size; /* sizeof(inturn_operation_info) */
  inturn_operation_state state;
  bool cancelled;      /* it was asked to end */
  char label[55];      /* cut at a character's end; empty when it has none */
  int64_t enqueued_ns; /* 0 for one without options or handle */
  int64_t started_ns;
} inturn_operation_info;

#define INTURN_OPERATION_INFO_INIT                                             \
  {                                                                            \
    sizeof(inturn_operation_info), INTURN_ZERO(inturn_operation_state), false, \
        {0}, 0, 0                                                              \
  }

/* Lists operations that have not ended: running ones first, then pending ones
   in order, at most `room` of them. The size that the first of infos says is
   that of each, and never zero: INTURN_OPERATION_INFO_INIT has it. out_count
   gets how many were written; a room of 0 with infos NULL is allowed.
   Statuses: handle statuses, E_INVALID_ARGUMENT. */
inturn_status inturn_queue_list(inturn_queue queue,
                                inturn_operation_info *INTURN_NULLABLE infos,
                                size_t room, size_t *INTURN_NULLABLE out_count);

/* Drains a queue as inturn_queue_drain does, or lists what is left when the
   time is over (E_TIMED_OUT) as inturn_queue_list does, at the very moment of
   that. out_count gets how many were listed: none after INTURN_OK, nor where
   only callbacks are still to return.
   Statuses: those of the two.
   Deadlock: as inturn_queue_drain. */
inturn_status
inturn_queue_drain_or_list(inturn_queue queue, int64_t timeout_ns,
                           inturn_operation_info *INTURN_NULLABLE infos,
                           size_t room, size_t *INTURN_NULLABLE out_count);

/* Counts of the whole library. */
typedef struct inturn_library_statistics {
  uint32_t size;    /* sizeof(inturn_library_statistics), set by the caller */
  uint32_t workers; /* threads of the library's pool now */
  uint64_t queues;  /* alive */
  uint64_t operations;   /* alive, of those that need 128 bytes: section 11 */
  uint64_t executors;    /* alive, the library's own included */
  uint64_t clocks;       /* alive */
  uint64_t values;       /* alive */
  uint64_t observations; /* alive, of those that have a handle */
} inturn_library_statistics;

#define INTURN_LIBRARY_STATISTICS_INIT                                         \
  { sizeof(inturn_library_statistics), 0, 0, 0, 0, 0, 0, 0 }

/* Says what the whole library has and has done.
   Statuses: E_INVALID_ARGUMENT, E_NO_MEMORY (of the first call of all). */
inturn_status inturn_library_get_statistics(
    inturn_library_statistics *INTURN_NULLABLE out_statistics);

/* What the library noticed. */
typedef enum inturn_report_kind {
  /* An operation's stall_ns has passed, or something is stuck: see
     inturn_report_set_stall_limit. */
  INTURN_REPORT_STALL = 1,
  INTURN_REPORT_DEADLOCK = 2, /* a wait was refused; the message has the ring */
  INTURN_REPORT_LOST_TOKEN = 3, /* an operation was abandoned */
  /* A value's observers have changed it 1,000 times in a row, each in answer
     to the change before. */
  INTURN_REPORT_RUNAWAY = 4,
  /* An observation has ended, as the queue that is to call its observer
     accepts no operation. */
  INTURN_REPORT_LOST_OBSERVER = 5,
  /* A pool cannot start a thread that it needs; see section 6 of the manual. */
  INTURN_REPORT_NO_THREAD = 6,
  /* A call gives E_INVALID_ARGUMENT; the message says which function, and which
     argument or field, such as "options->max_run_ns". */
  INTURN_REPORT_INVALID_ARGUMENT = 7,
  /* Work has thrown an exception that nobody gets. */
  INTURN_REPORT_EXCEPTION = 8,
  /* A queue has gone before its work had ended, and nobody had said that this
     is meant. */
  INTURN_REPORT_DROPPED = 9,
  /* A queue has not accepted an operation, and its caller cannot be told. */
  INTURN_REPORT_REFUSED = 10
} inturn_report_kind;

/* Why an operation or a queue is stuck. */
typedef enum inturn_stall_cause {
  INTURN_STALL_NONE = 0, /* it is not: nothing keeps it. Only inturn_why and
                            inturn_snapshot tell this */
  /* These lead to the next link of the chain. */
  INTURN_STALL_AFTER = 1, /* it starts when that has ended */
  INTURN_STALL_NAME = 2,  /* the same, as that has a name that it needs */
  INTURN_STALL_TURN = 3,  /* its turn has not come */
  /* What runs does not end. */
  INTURN_STALL_TOKEN = 4,    /* its call has returned, its token is out */
  INTURN_STALL_CALL = 5,     /* its call has not returned, or, once it has
                                ended, its context's destroy callback */
  INTURN_STALL_TASK = 6,     /* its Swift task has not ended it, or not begun */
  INTURN_STALL_PLACE = 7,    /* it was cut off, and keeps its place: see 8 */
  INTURN_STALL_CALLBACK = 8, /* another callback has not returned */
  /* What is pending may not start. */
  INTURN_STALL_SUSPENDED = 9,
  INTURN_STALL_VIEW = 10,  /* the view has not appeared, or is hidden */
  INTURN_STALL_CLOCK = 11, /* its manual clock is before the next start */
  INTURN_STALL_DELAY = 12, /* its rate or a delay lets nothing start yet */
  /* What may start is not called. */
  INTURN_STALL_EXECUTOR = 13, /* nobody drains it, or who does is in a call */
  INTURN_STALL_POOL = 14,     /* all threads of the pool are in calls */
  /* What runs waits for the next link: in its call, or by inturn_await_begin.
     As the last link: for itself, round a ring that arose after the wait began.
   */
  INTURN_STALL_WAIT = 15,
  /* The link is a value, by the label that it has for reports: a call of one of
     its observers has not returned, and a thread waits for that. Only reports
     tell this. */
  INTURN_STALL_OBSERVER = 16
} inturn_stall_cause;

/* One link of the chain from what is stuck to its cause: an operation, or a
   queue as a whole, or, with INTURN_STALL_OBSERVER, a value. A chain has at
   most 12: the first 11 and the last, where there are more. */
typedef struct inturn_stall_link {
  uint32_t size; /* sizeof(inturn_stall_link), and how far the next one is */
  inturn_stall_cause cause;
  const char *INTURN_NULLABLE queue_label;     /* NULL when it has none; of a
                                                  value its own */
  const char *INTURN_NULLABLE operation_label; /* NULL when it has none */
  bool is_operation;                           /* else it is the queue */
  /* The line that has enqueued the operation, or that has suspended the queue,
     or that waits for the value's observer outside of operations; NULL and
     0 when it is not known: see inturn_site. Valid as long as the process
     lives. */
  const char *INTURN_NULLABLE file;
  const char *INTURN_NULLABLE function;
  uint32_t line;
  /* The token that the operation's work was called with, to compare with those
     that the program has: it is not the handler's to finish. {0} for a queue,
     and before the work is called. */
  inturn_token token;
  /* The thread that is in the operation's call, by the number that the system
     gives it, as a debugger shows it. 0 when the call has returned, and where
     there is none. */
  uint64_t thread;
} inturn_stall_link;

/* A report to the handler of inturn_report_set_handler. */
typedef struct inturn_report {
  uint32_t size; /* sizeof(inturn_report) */
  inturn_report_kind kind;
  const char *INTURN_NULLABLE message;         /* never NULL: one line */
  const char *INTURN_NULLABLE queue_label;     /* NULL when it has none */
  const char *INTURN_NULLABLE operation_label; /* NULL when it has none */
  /* Of what is stuck; else 0 and NULL. The labels above are the last link's. */
  int64_t stalled_ns; /* how long it has stood still, at least */
  uint64_t waiting;   /* how many operations of the first link's queue wait
                         besides the links */
  const inturn_stall_link *INTURN_NULLABLE chain;
  size_t chain_count;
  /* The line that it is about, as in inturn_stall_link: of what is stuck, that
     of the last link; of a lost token, the operation's; of a wait that is
     refused, that of the work that waits. */
  const char *INTURN_NULLABLE file;
  const char *INTURN_NULLABLE function;
  uint32_t line;
  /* Of what is stuck, when the recorder has it: the last steps of the chain's
     queues, a line each, the oldest first: up to eight enqueues, starts and
     suspensions, and the ends of these. For people: the form may change. Else
     NULL. */
  const char *INTURN_NULLABLE steps;
  /* Of what a token keeps, when that is reported first: where a copy of the
     token is, such as "on the stack of thread 71 (net), at 0x7fa90c8f1ec8".
     Empty: none is in the memory of the process, so the token was lost, unless
     it is only in a register, or in another form or place than memory: see
     inturn(1), `holders`. Else, and where not all memory was searched, NULL. */
  const char *INTURN_NULLABLE token_copy;
} inturn_report;

#define INTURN_REPORT_INIT                                                     \
  {                                                                            \
    sizeof(inturn_report), INTURN_ZERO(inturn_report_kind), "", NULL, NULL, 0, \
        0, NULL, 0, NULL, NULL, 0, NULL, NULL                                  \
  }

/* Reports something: for bindings to other languages, where there is more to
   notice. Nothing is copied but for the time of the call. What only stuck
   things have is not looked at.
   Statuses: E_INVALID_ARGUMENT (an unknown kind; no message; not UTF-8),
   E_NO_MEMORY. */
inturn_status inturn_report_send(const inturn_report *INTURN_NULLABLE report);

/* Is told what the library noticed. Called on the thread that noticed it, also
   on the library's own, by several at once; it must not block, but for reports
   of what is stuck: these have a thread for themselves. `report` is valid
   during the call. */
typedef void (*inturn_report_fn)(void *INTURN_NULLABLE context,
                                 const inturn_report *INTURN_NONNULL report);

/* Sets the process's report handler, in place of the one it had. NULL: the
   default, which writes the message as one line to the standard error, and
   where it ends at a token that is out, a second line: where a copy of it is
   (token_copy), and the command that finds all. The old context is destroyed
   when no call uses it any more.
   Statuses: E_NO_MEMORY. */
inturn_status
inturn_report_set_handler(inturn_report_fn INTURN_NULLABLE handler,
                          void *INTURN_NULLABLE context,
                          inturn_destroy_fn INTURN_NULLABLE destroy);

/* Sets after how long something is reported as stuck: it is pending or running,
   and neither it nor anything that it waits for has started or ended since. 0:
   the default, which is one second where somebody looks, and else ten: the
   standard error is a terminal, a debugger follows the process (its thread
   inturn-watchdog), or the environment, the program's name or its arguments are
   those of a test: under CTest, Meson, Bazel, pytest, Python's unittest, XCTest
   or Swift Testing. Below 0: never. What the
   environment's INTURN_STALL says (such as 500ms, 2s or off) comes before the
   default, this call before both, and for a queue its stall_ns before all. A
   report has the chain from what is stuck to its cause. There is one for each
   cause, then again after 10 seconds, after a minute, and every 10 minutes; at
   most 10 a minute: if there are more, the message of the tenth says so, or,
   without a handler, a line on the standard error. What was stopped on purpose
   (a suspend, a hidden view, a manual clock) and what is running with nothing
   behind it is reported after ten times as long, unless somebody waits for it:
   a thread in the library, or who is named by inturn_report_set_awaited. So is
   what an interaction queue shows, and what waits for that, as people take
   their time, unless somebody waits for the whole queue, as inturn_queue_drain
   does. What waits for a moment of the system's clock is reported only if
   somebody waits for it and the moment is ten times as far away. What somebody
   waits for in a queue that gets on with other operations is reported after ten
   times as long, too: it may only take longer than they; and so is work that
   waits, in its call or as a task, for what gets on. What was reported and then
   went on after all is given twice as long from then on.
   Statuses: E_NO_MEMORY (of the first call of all). */
inturn_status inturn_report_set_stall_limit(int64_t limit_ns);

/* Says that somebody waits who is in no call of the library, such as a
   coroutine, so that reports come as soon as for a thread. `id` has the bits of
   what is waited for: of an operation or a token, and then it is so until the
   operation's end; of a queue, until nothing of that is left; or of a batch.
   Statuses: handle statuses (E_WRONG_KIND: of another object),
   E_ALREADY_FINISHED, E_NO_MEMORY. */
inturn_status inturn_report_set_awaited(uint64_t id);

/* Says from which line the calling thread waits next, for reports and
   snapshots. It is so until the next call of inturn_operation_wait,
   inturn_batch_wait, inturn_queue_drain, inturn_queue_drain_or_list,
   inturn_queue_destroy, inturn_value_wait, inturn_value_drain,
   inturn_value_destroy, inturn_observation_cancel or inturn_await_begin
   returns, whether it has to wait or not. NULL: the line is not known. The
   macros of those functions say it, in C with gcc and clang: see inturn_site.
   When memory runs out, the line is not known.
   Statuses: none. */
inturn_status inturn_report_wait_at(inturn_site *INTURN_NULLABLE site);

/* Begins a wait of a task: of whatever waits in no call of the library, such as
   a coroutine, inside the work of operations that end only when it goes on. So
   a ring of waits is refused whether threads or tasks make them, by the last
   one: see section 9. `awaited` is what it waits for, which counts as awaited
   too, as by inturn_report_set_awaited: the bits of an operation, a token, a
   queue (everything in it) or a batch. `inside` has the tokens of the
   operations, the innermost first; one that has ended already holds nothing,
   unless it was cut off and keeps its place.
   out_await gets a handle, which is the caller's until inturn_await_end; a null
   one, which is not to be ended, if all of the operations have ended. A
   thousand operations that have to end before are looked at, and a wait that
   depends on anything beyond is not refused. Nor is it known what the task
   waits for besides, or that it will give up.
   Statuses: handle statuses (E_WRONG_KIND: of another object),
   E_ALREADY_FINISHED (what it would wait for), E_DEADLOCK (it could never end,
   which is reported; nothing has begun), E_INVALID_ARGUMENT, E_NO_MEMORY. */
inturn_status inturn_await_begin(uint64_t awaited,
                                 const inturn_token *INTURN_NULLABLE inside,
                                 size_t count,
                                 inturn_await *INTURN_NULLABLE out_await);

/* The task waits no more: what it waited for has ended, or it has given up.
   Statuses: handle statuses. */
inturn_status inturn_await_end(inturn_await await);

/* What an entry of a snapshot is about. */
typedef enum inturn_entry_kind {
  INTURN_ENTRY_EXECUTOR = 1,
  INTURN_ENTRY_CLOCK = 2,
  INTURN_ENTRY_OWNER = 3,
  INTURN_ENTRY_BATCH = 4,
  INTURN_ENTRY_WAIT = 5, /* a thread that waits in a call that section 9 names,
                            or a task, by inturn_await_begin */
  INTURN_ENTRY_QUEUE = 6,
  /* These follow their queue: running ones, the last to start first, then
     pending ones, about in the order in which they will start. */
  INTURN_ENTRY_OPERATION = 7,
  /* These follow their operation. */
  INTURN_ENTRY_AFTER = 8, /* it comes after another one that has not ended, or
                             has joined it */
  INTURN_ENTRY_NAME = 9   /* it needs a name for itself alone */
} inturn_entry_kind;

/* What an entry is besides; the bits of its flags. */
typedef enum inturn_entry_flag {
  INTURN_ENTRY_CANCELLED = 1,  /* an operation: it was asked to end */
  INTURN_ENTRY_CLOSED = 2,     /* a queue: it accepts nothing */
  INTURN_ENTRY_WAITED_FOR = 4, /* a queue or operation: somebody waits */
  INTURN_ENTRY_BARRIER = 8,
  INTURN_ENTRY_URGENT = 16,
  INTURN_ENTRY_MANUAL = 32, /* a clock: it is advanced by hand */
  INTURN_ENTRY_POOL = 64,   /* an executor: it has threads of its own */
  INTURN_ENTRY_MAIN = 128   /* an executor or a wait: the main thread's */
} inturn_entry_flag;

/* One thing that there is. What a kind does not have is zero. The names of
   objects are the bits of their handles, also where nobody holds one: good for
   telling and comparing. 0: there is none; of a clock, it is the system's. */
typedef struct inturn_entry {
  uint32_t size; /* sizeof(inturn_entry) */
  inturn_entry_kind kind;
  uint32_t flags;               /* of inturn_entry_flag */
  inturn_operation_state state; /* OPERATION. NAME: running has it, pending
                                   waits for it, 0 has not asked for it yet */
  /* OPERATION: why it does not start or end. QUEUE: why nothing that is pending
     starts, INTURN_STALL_TURN while what runs takes all places. */
  inturn_stall_cause cause;
  inturn_queue_kind queue_kind;     /* QUEUE */
  int32_t priority;                 /* OPERATION */
  uint32_t attempts;                /* OPERATION with options: begun so far */
  uint32_t suspends;                /* QUEUE */
  uint32_t line;                    /* where it was made, if that is known */
  const char *INTURN_NULLABLE file; /* the same; else NULL and 0 */
  uint64_t id;        /* its own. A plain operation has none; WAIT: the thread,
                         as by pthread_self, or none */
  uint64_t queue;     /* BATCH and from OPERATION on: whose. WAIT: for what */
  uint64_t operation; /* AFTER, NAME: whose. WAIT: for what */
  uint64_t other;     /* AFTER: what has to end before. NAME: who is just before
                         it in the line. WAIT: the queue whose callback or task
                         waits */
  uint64_t batch;    /* OPERATION; 0, too, while the call of one without options
                        has not returned */
  uint64_t owner;    /* OPERATION */
  uint64_t executor; /* QUEUE; 0: its Swift tasks */
  uint64_t clock;    /* QUEUE */
  uint64_t token;    /* OPERATION: the last one's that was given out */
  /* OPERATION: so many in a row that are alike: pending, and nothing is known
     of them; else 1. EXECUTOR: how much waits to be called. CLOCK: how many
     timers run. OWNER: operations that have not ended. BATCH: operations. */
  uint64_t count;
  uint64_t pending; /* QUEUE */
  uint64_t running; /* QUEUE. EXECUTOR: threads of a pool, or that drain it */
  uint64_t ended;   /* QUEUE, BATCH */
  int64_t enqueued_ns; /* OPERATION, as inturn_operation_info */
  int64_t started_ns;
  int64_t at_ns;  /* CLOCK: its time. QUEUE: next_start_ns of statistics */
  char label[64]; /* NAME: the name; cut at a character's end */
} inturn_entry;

/* Is told an entry, which is valid during the call. False: that is enough.
   Called by inturn_snapshot, on the caller's thread, under no lock. */
typedef bool (*inturn_visit_fn)(void *INTURN_NULLABLE context,
                                const inturn_entry *INTURN_NONNULL entry);

/* Tells everything that there is: executors, clocks, owners, batches, waits;
   then each queue with its operations. Nothing stops for it: no lock is held
   for longer than a millisecond. It takes no memory but 40 KB of the stack.
   A queue is told as it is at one moment, with its running operations and what
   comes next, up to 100 entries. The rest of a longer one is read in pieces,
   each as it is at a moment of its own. An operation that keeps its place in
   the queue is told once. One that starts, ends, comes or is moved between two
   pieces may be left out or told twice, and so may its neighbours when others
   are cancelled. What is made during the call may be left out.
   Values are not told.
   Statuses: E_INVALID_ARGUMENT (visit is NULL), E_NO_MEMORY (of the first call
   of all). */
inturn_status inturn_snapshot(inturn_visit_fn INTURN_NULLABLE visit,
                              void *INTURN_NULLABLE context);

/* In which form a snapshot is written. */
typedef enum inturn_dump_format {
  INTURN_DUMP_TEXT = 1, /* a line for each entry */
  INTURN_DUMP_JSON = 2, /* {"now_ns": the system clock's time, "entries": [...]}
                           with the fields of inturn_entry that are not zero;
                           names of objects are strings of hexadecimal digits,
                           enums and flags their names in small letters, such
                           as "operation" and "waited_for" */
  INTURN_DUMP_DOT = 3,  /* for Graphviz: an arrow from each queue or operation
                           to what it waits for */
  INTURN_DUMP_HTML = 4  /* a page for a browser, which needs nothing else */
} inturn_dump_format;

/* Writes a snapshot to a file descriptor, in UTF-8. It has what inturn_snapshot
   tells, and takes no memory but 40 KB of the stack. When the recorder has been
   started, a copy of what it has is taken, too; the last steps of all queues
   follow, as in inturn_report, but in DOT.
   A descriptor that does not block is waited for as one that does. A pipe that
   nobody reads any more raises SIGPIPE, as for write.
   Statuses: E_INVALID_ARGUMENT (fd cannot be written to; an unknown format),
   E_NO_MEMORY (of the first call of all).
   Threads: any, but not in a signal handler: it takes locks. See section 14. */
inturn_status inturn_dump(int fd, inturn_dump_format format);

/* Says what keeps an operation from ending, now, however long that has been so:
   calls `tell` once, before it returns, with what the report of something stuck
   would be. The chain begins with the operation. It ends with INTURN_STALL_NONE
   where nothing keeps what it has come to: that is about to go on. stalled_ns
   is 0. Nothing changes, and the report handler is not called. Others go on
   meanwhile: each link was true at a moment of the call. When the recorder has
   been started, all that it has is read for the last steps: some milliseconds.
   Statuses: handle statuses, E_INVALID_ARGUMENT, E_ALREADY_FINISHED (it has
   ended), E_NO_MEMORY.
   Threads: any; `tell` is called on the caller's. */
inturn_status inturn_why(inturn_operation operation,
                         inturn_report_fn INTURN_NULLABLE tell,
                         void *INTURN_NULLABLE context);

/* Starts the recorder: from now on, each thread keeps what it does with the
   library's queues, in a ring of its last records. Nothing is recorded before;
   while it is off, an operation only finds out that it is. A record takes about
   10 ns, and a plain operation has three. Takes a time that grows with the
   number of queues.
   `bytes` is how much memory all threads have together; 0 stands for 16 MiB,
   which hold about 500,000 records. It is taken by the first call and never
   given back; later ones go on with it. Starting again forgets what was
   recorded before it was stopped. Does nothing when the recorder is on.
   Reports of what is stuck, inturn_why and dumps have its last steps.
   The environment's INTURN_TRACE=PATH starts it as the library is first used,
   and writes the file at the process's exit: see section 14.
   Statuses: E_INVALID_ARGUMENT (more than a terabyte), E_NO_MEMORY. */
inturn_status inturn_trace_start(size_t bytes);

/* Stops the recorder. What it has can still be written. Does nothing when it is
   off.
   Statuses: none. */
inturn_status inturn_trace_stop(void);

/* Writes what was recorded since the last start to a file descriptor, also
   while threads go on recording. It is JSON that Perfetto (ui.perfetto.dev) and
   Chrome (chrome://tracing) open; before the first start, it has no events.
   There is a track for each queue, whose slices last from an operation's start
   to its end, and one for each thread, by executor, whose slices are calls.
   Arrows lead from an enqueue to the start, from there to the end, and from an
   end to what it let start.
   The ring loses its oldest records; nothing is drawn that those that are left
   do not say. Then otherData has from when on it is complete, and else nothing;
   `lost` counts records that found no room at all. The operations of a batch
   have no arrow from their enqueue, and segments and handlers have no slices.
   An operation that a host takes (inturn_executor_take) is called after its
   slice on the thread. Labels of operations are cut to 31 bytes.
   Meanwhile, it takes up to five times as much memory as the records. The
   descriptor is written to as by inturn_dump. -1: writes the file of
   INTURN_TRACE, and says what is wrong with it on the standard error.
   Statuses: E_INVALID_ARGUMENT (fd cannot be written to), E_UNSUPPORTED (-1,
   and this process is to write no such file), E_NO_MEMORY.
   Threads: any, but not in a signal handler. */
inturn_status inturn_trace_write(int fd);

/* The macros of functions that are called from a site: see inturn_site. */
#if defined(__GNUC__) && !defined(__cplusplus) && !defined(INTURN_NO_SITES)
/* The site of the line on which it stands. */
#define INTURN_HERE                                                            \
  __extension__({                                                              \
    static inturn_site inturn_here = {__FILE__, __func__, __LINE__, 0};        \
    &inturn_here;                                                              \
  })
#define inturn_queue_enqueue(...)                                              \
  inturn_queue_enqueue_at(INTURN_HERE, __VA_ARGS__)
#define inturn_queue_enqueue_with(...)                                         \
  inturn_queue_enqueue_with_at(INTURN_HERE, __VA_ARGS__)
#define inturn_queue_enqueue_batch(...)                                        \
  inturn_queue_enqueue_batch_at(INTURN_HERE, __VA_ARGS__)
#define inturn_queue_suspend(...)                                              \
  inturn_queue_suspend_at(INTURN_HERE, __VA_ARGS__)
#define inturn_queue_suspend_for(...)                                          \
  inturn_queue_suspend_for_at(INTURN_HERE, __VA_ARGS__)
#define INTURN_WAIT(name, ...)                                                 \
  ((void)inturn_report_wait_at(INTURN_HERE), name(__VA_ARGS__))
#define inturn_operation_wait(...)                                             \
  INTURN_WAIT(inturn_operation_wait, __VA_ARGS__)
#define inturn_batch_wait(...) INTURN_WAIT(inturn_batch_wait, __VA_ARGS__)
#define inturn_queue_drain(...) INTURN_WAIT(inturn_queue_drain, __VA_ARGS__)
#define inturn_queue_drain_or_list(...)                                        \
  INTURN_WAIT(inturn_queue_drain_or_list, __VA_ARGS__)
#define inturn_queue_destroy(...) INTURN_WAIT(inturn_queue_destroy, __VA_ARGS__)
#define inturn_value_wait(...) INTURN_WAIT(inturn_value_wait, __VA_ARGS__)
#define inturn_value_drain(...) INTURN_WAIT(inturn_value_drain, __VA_ARGS__)
#define inturn_value_destroy(...) INTURN_WAIT(inturn_value_destroy, __VA_ARGS__)
#define inturn_observation_cancel(...)                                         \
  INTURN_WAIT(inturn_observation_cancel, __VA_ARGS__)
#define inturn_await_begin(...) INTURN_WAIT(inturn_await_begin, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif /* INTURN_H */
