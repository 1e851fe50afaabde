/*
 * queue.hpp - queues and batches of inturn.hpp; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_QUEUE_HPP
#define INTURN_CXX_QUEUE_HPP

#include <inturn/cxx/executor.hpp>
#include <inturn/cxx/operation.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <future>

namespace inturn {

enum class queue_kind {
  fifo = INTURN_QUEUE_FIFO,
  actor = INTURN_QUEUE_ACTOR,
  interaction = INTURN_QUEUE_INTERACTION,
  concurrent = INTURN_QUEUE_CONCURRENT
};

/* The kinds by themselves: `inturn::queue dialogs(inturn::interaction);` */
inline constexpr queue_kind fifo = queue_kind::fifo;
inline constexpr queue_kind actor = queue_kind::actor;
inline constexpr queue_kind interaction = queue_kind::interaction;
inline constexpr queue_kind concurrent = queue_kind::concurrent;

enum class batch_policy {
  all = INTURN_BATCH_ALL,
  first_error = INTURN_BATCH_FIRST_ERROR,
  collect = INTURN_BATCH_COLLECT,
  enough = INTURN_BATCH_ENOUGH
};

/* What a future of queue_ref::run throws when there is no result and the work
   threw nothing: the operation did not finish (cancelled, timed out), or it did
   without the work (skipped, resolved, joined). */
class INTURN_CXX_SHARED not_finished : public std::runtime_error {
public:
  explicit not_finished(const end &end)
      : std::runtime_error(end.outcome == outcome::finished
                               ? "the operation finished without a result"
                               : "the operation did not finish"),
        outcome(end.outcome), cause(end.cause), code(end.code) {}

  inturn::outcome outcome;
  inturn::cause cause;
  std::int32_t code;
};

/* The end of a batch; as inturn_batch_end. */
struct batch_end {
  inturn::outcome outcome{};
  std::int32_t code = 0;      /* of the operation that decided */
  std::size_t count = 0;      /* operations */
  std::size_t finished = 0;   /* those that ended as finished */
  std::size_t decided_by = 0; /* the operation's place; else `count` */

  batch_end() noexcept = default;
  explicit batch_end(const inturn_batch_end &from) noexcept
      : outcome(static_cast<inturn::outcome>(from.outcome)), code(from.code),
        count(from.count), finished(from.finished),
        decided_by(from.decided_by) {}
};

/* Names a batch: a list of operations of one queue with one completion. */
class batch_ref : public basic_ref<inturn_batch> {
public:
  using basic_ref::basic_ref;

  /* Cancels what has not ended; false when it was asked before, or all has. */
  bool cancel() const {
    const inturn_status status = inturn_batch_cancel(raw_);
    return status != INTURN_E_CANCELLED &&
           detail::succeeded(status, INTURN_E_ALREADY_FINISHED, "cancel");
  }

  /* How many of its operations have ended. */
  std::size_t ended() const {
    std::size_t ended = 0;
    detail::check(inturn_batch_get_progress(raw_, &ended, nullptr), "ended");
    return ended;
  }

  /* How many have ended, of all of them, as an observed value. */
  [[nodiscard]] observed<progress> observed_progress() const;

  /* How the operation at a place of the list has ended.
     Throws error(busy), too: it has not. */
  end end_of(std::size_t place) const {
    inturn_end end{};
    detail::check(inturn_batch_get_end(raw_, place, &end), "end_of");
    return inturn::end(end);
  }

  /* Waits until it has ended and its on_end has returned. */
  batch_end wait(detail::caller from = {}) const {
    inturn_batch_end end{};
    detail::check(inturn_batch_wait(raw_, from.waits(-1), &end), "wait");
    return batch_end(end);
  }

  /* The same, for so long at most: nothing when the time is over. */
  std::optional<batch_end> wait_for(time_limit limit,
                                    detail::caller from = {}) const {
    inturn_batch_end end{};
    if (!detail::succeeded(
            inturn_batch_wait(raw_, from.waits(limit.nanoseconds()), &end),
            INTURN_E_TIMED_OUT, "wait_for"))
      return std::nullopt;
    return batch_end(end);
  }
};

/* Owns the handle, not the batch: that goes on when this is destroyed. */
using batch = owned<batch_ref, inturn_batch_release>;

/* The operation at `place` of the list starts when the one at the smaller place
   `after` has ended. */
using batch_edge = inturn_batch_edge;

/* As inturn_batch_options. */
struct batch_options {
  batch_policy policy = batch_policy::all;
  std::size_t enough = 0;
  /* Of each operation; without callbacks: else error(invalid_argument). */
  operation_options operation{};
  /* Told the end, exactly once when the batch was accepted. It throws
     nothing. */
  callback<void(batch_ref, const batch_end &)> on_end{};
  /* What comes after what, in any order. operation.after_policy is for these,
     too. */
  std::vector<batch_edge> edges{};
};

/* An event of a queue, which is valid during the callback that gets it. */
using event = inturn_event;

/* What a queue's destructor does with operations that have not ended: lets them
   end, and waits for that; or ends them as cancelled. `automatic` cancels the
   queues of which nobody may be left to go on with the work: interaction queues
   and those with an executor of one's own. The others it lets end, as the
   library's own pool does the work. */
enum class when_destroyed { automatic, drain, cancel };

/* So many starts in each interval, and at most `burst` of them at once (0:
   max_starts); as inturn_rate. */
struct rate {
  std::uint32_t max_starts = 0;
  nanoseconds interval{};
  std::uint32_t burst = 0;
};

namespace detail {

inline inturn_rate c_rate(const rate &rate) noexcept {
  return {rate.max_starts, rate.burst, rate.interval.count()};
}

} // namespace detail

/* As inturn_queue_options. */
struct queue_options {
  std::string label{};
  executor_ref executor{}; /* null: the kind's default */
  clock_ref clock{};       /* null: the system's */
  std::uint64_t capacity = 0;
  std::uint32_t max_concurrent = 0;
  nanoseconds settle = std::chrono::milliseconds(500);
  nanoseconds gap = std::chrono::milliseconds(250);
  std::optional<inturn::rate> rate{}; /* empty: as many starts as there are */
  /* Is told the queue's events, one at a time, in order. It throws nothing. */
  callback<void(const event &)> on_event{};
  inturn::when_destroyed when_destroyed = inturn::when_destroyed::automatic;
  /* As stall_ns: after how long it is reported as stuck. */
  nanoseconds stall{};
};

namespace detail {

struct turn_awaitable;

} // namespace detail

/* Names a queue. Where nothing else is said, each function throws the statuses
   that the function of the same name in inturn.h gives. `file`, `line` and
   `caller` say where a function is called, for reports; leave them alone. */
class queue_ref : public basic_ref<inturn_queue> {
public:
  using basic_ref::basic_ref;

  /* Enqueues an operation, which may be ignored. The work is never called
     inside this call. Throws error(closed) and error(full), too. */
  operation enqueue(work work) const {
    inturn_operation raw{};
    detail::check(put(std::move(work), &raw), "enqueue");
    return operation::adopt(raw);
  }
  operation enqueue(work work, operation_options options) const {
    inturn_operation raw{};
    detail::check(put(std::move(work), options, &raw), "enqueue");
    return operation::adopt(raw);
  }

  /* The same without an operation to be asked: the cheapest way. */
  void post(work work) const {
    detail::check(put(std::move(work), nullptr), "post");
  }
  void post(work work, operation_options options) const {
    detail::check(put(std::move(work), options, nullptr), "post");
  }

  /* The same, where a refusal is expected: gives errc::full, errc::closed and
     so on, and no error when the operation was accepted. That goes to `out`,
     which is left alone when there is an error. */
  [[nodiscard]] std::error_code try_post(work work) const {
    return detail::code_of(put(std::move(work), nullptr));
  }
  [[nodiscard]] std::error_code try_post(work work,
                                         operation_options options) const {
    return detail::code_of(put(std::move(work), options, nullptr));
  }
  [[nodiscard]] std::error_code
  try_enqueue(operation &out, work work, operation_options options = {}) const {
    inturn_operation raw{};
    const inturn_status status = put(std::move(work), options, &raw);
    if (status == INTURN_OK)
      out = operation::adopt(raw);
    return detail::code_of(status);
  }

  /* Enqueues a function that is the whole operation, and gives what it returns
     or throws; not_finished when there is neither. The function
     takes nothing, or a token_ref that says when to stop; what it returns is
     told when the operation has ended. With C++20 it may be a coroutine that
     gives a task, whose result it is. The future's destructor does not wait,
     and a wait for it inside the queue's own work never ends. Throws as
     enqueue. */
  template <class F>
  auto run(F &&function, operation_options options = {},
           const char *file = __builtin_FILE(),
           unsigned line = __builtin_LINE(),
           const char *caller = __builtin_FUNCTION()) const;

#if defined(__cpp_impl_coroutine)
  /* For co_await: takes a turn of the queue, which lasts until the inturn::turn
     that it gives is gone. Throws there as enqueue, and not_finished when the
     turn never came: it was cancelled, too late, skipped, or has joined
     another. No retry. What is given is awaited once, as a task is. */
  [[nodiscard]] detail::turn_awaitable
  turn(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE(),
       const char *caller = __builtin_FUNCTION()) const;
  [[nodiscard]] detail::turn_awaitable
  turn(operation_options &&options, const char *file = __builtin_FILE(),
       unsigned line = __builtin_LINE(),
       const char *caller = __builtin_FUNCTION()) const;
#endif

  /* Enqueues a batch: all of its operations, with none of others between them,
     or none. */
  [[nodiscard]] batch
  enqueue_batch(std::vector<work> works, batch_options options = {},
                const char *file = __builtin_FILE(),
                unsigned line = __builtin_LINE(),
                const char *caller = __builtin_FUNCTION()) const;

  /* Suspends are counted, for each reason by itself. */
  void suspend(const char *file = __builtin_FILE(),
               unsigned line = __builtin_LINE(),
               const char *caller = __builtin_FUNCTION()) const {
    inturn_site site{file, caller, line, 0};
    detail::check(inturn_queue_suspend_at(&site, raw_), "suspend");
  }
  void resume() const { detail::check(inturn_queue_resume(raw_), "resume"); }
  void suspend_for(const char *reason, const char *file = __builtin_FILE(),
                   unsigned line = __builtin_LINE(),
                   const char *caller = __builtin_FUNCTION()) const {
    inturn_site site{file, caller, line, 0};
    detail::check(inturn_queue_suspend_for_at(&site, raw_, reason),
                  "suspend_for");
  }
  void resume_for(const char *reason) const {
    detail::check(inturn_queue_resume_for(raw_, reason), "resume_for");
  }

  void view_did_appear() const {
    detail::check(inturn_queue_view_did_appear(raw_), "view_did_appear");
  }
  void view_will_disappear() const {
    detail::check(inturn_queue_view_will_disappear(raw_),
                  "view_will_disappear");
  }

  void set_executor(executor_ref executor) const {
    detail::check(inturn_queue_set_executor(raw_, executor.raw()),
                  "set_executor");
  }
  void set_max_concurrent(std::uint32_t count) const {
    detail::check(inturn_queue_set_max_concurrent(raw_, count),
                  "set_max_concurrent");
  }

  /* Empty: no rate from now on. */
  void set_rate(std::optional<inturn::rate> rate) const {
    const inturn_rate raw = detail::c_rate(rate.value_or(inturn::rate()));
    detail::check(inturn_queue_set_rate(raw_, &raw), "set_rate");
  }

  void cancel_all() const {
    detail::check(inturn_queue_cancel_all(raw_), "cancel_all");
  }
  /* The same for what has not started; nothing else is asked to end. */
  void cancel_pending() const {
    detail::check(inturn_queue_cancel_pending(raw_), "cancel_pending");
  }

  /* Give how many operations of the key there were. */
  std::uint64_t cancel_key(const char *key) const {
    std::uint64_t count = 0;
    detail::check(inturn_queue_cancel_key(raw_, key, &count), "cancel_key");
    return count;
  }
  std::uint64_t resolve_key(const char *key) const {
    std::uint64_t count = 0;
    detail::check(inturn_queue_resolve_key(raw_, key, &count), "resolve_key");
    return count;
  }

  /* Refuses new operations from now on; false when it did already. */
  bool close() const {
    return detail::succeeded(inturn_queue_close(raw_), INTURN_E_CLOSED,
                             "close");
  }

  /* Waits until nothing is pending, running or to be delivered.
     Throws error(deadlock): see section 9 of inturn.h. */
  void drain(detail::caller from = {}) const {
    detail::check(inturn_queue_drain(raw_, from.waits(-1)), "drain");
  }

  /* The same, for so long at most: false when the time is over. */
  bool drain_for(time_limit limit, detail::caller from = {}) const {
    return detail::succeeded(
        inturn_queue_drain(raw_, from.waits(limit.nanoseconds())),
        INTURN_E_TIMED_OUT, "drain_for");
  }

  /* The same; when the time is over, gives what had not ended just then, as
     list does. */
  std::optional<std::vector<inturn_operation_info>>
  drain_or_list(time_limit limit, std::size_t room,
                detail::caller from = {}) const {
    std::vector<inturn_operation_info> infos(room, INTURN_OPERATION_INFO_INIT);
    std::size_t count = 0;
    if (detail::succeeded(
            inturn_queue_drain_or_list(raw_, from.waits(limit.nanoseconds()),
                                       infos.data(), room, &count),
            INTURN_E_TIMED_OUT, "drain_or_list"))
      return std::nullopt;
    infos.resize(count);
    return infos;
  }

  inturn_queue_statistics statistics() const {
    inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
    detail::check(inturn_queue_get_statistics(raw_, &statistics), "statistics");
    return statistics;
  }

  /* The operations that have not ended, running ones first, then pending ones
     in order; at most so many. */
  std::vector<inturn_operation_info> list(std::size_t room) const {
    std::vector<inturn_operation_info> infos(room, INTURN_OPERATION_INFO_INIT);
    std::size_t count = 0;
    detail::check(inturn_queue_list(raw_, infos.data(), room, &count), "list");
    infos.resize(count);
    return infos;
  }

  /* How many operations are pending, how many run, whether at least one suspend
     is in force, how many have ended of all that were ever accepted, and the
     moment of the queue's clock before which its rate or a delay lets nothing
     start (0: none), as observed values. */
  [[nodiscard]] observed<std::int64_t> observed_pending() const;
  [[nodiscard]] observed<std::int64_t> observed_running() const;
  [[nodiscard]] observed<bool> observed_suspended() const;
  [[nodiscard]] observed<progress> observed_progress() const;
  [[nodiscard]] observed<nanoseconds> observed_next_start() const;

private:
  inturn_status put(work &&work, inturn_operation *out) const;
  inturn_status put(work &&work, operation_options &options,
                    inturn_operation *out) const;
};

/* A queue of one's own. The destructor, reset() and a move to the queue let the
   work end, also what that adds, as drain() does: as long as a suspend or a
   token that nobody finishes keeps it, so cancel_all() before, or
   when_destroyed::cancel, where that may be. They end the rest as cancelled:
   with when_destroyed::cancel; when the scope is left by an exception, which
   others should hear of soon; inside a callback of the same queue, where they
   do not wait; of a queue that was adopted. What is ended so is reported,
   unless when_destroyed::cancel has said it. Calls that are under way are
   waited for in any case: afterwards no callback of the queue runs or will run,
   so that work may refer to what lives longer than the queue. */
class queue : public owned<queue_ref, inturn_queue_destroy> {
public:
  explicit queue(queue_kind kind = queue_kind::fifo,
                 queue_options options = {});
  queue(owned &&other) noexcept : owned(std::move(other)) {}
  queue(queue &&other) noexcept
      : owned(std::move(other)), ending_(other.ending_) {}
  queue &operator=(queue &&other) noexcept {
    if (this != &other) {
      reset();
      raw_ = other.release();
      ending_ = other.ending_;
    }
    return *this;
  }
  ~queue() { reset(); }

  /* As queue_ref's, which does not change what the destructor does: here,
     when_destroyed::automatic goes by the new executor; but for good by one of
     one's own, where work may wait when the queue leaves it.
     Threads: one at a time. */
  void set_executor(executor_ref executor) {
    queue_ref::set_executor(executor);
    if (ending_.goes_by_executor)
      ending_.drains =
          executor == pool() && (ending_.drains || work_left() == 0);
  }

  /* Destroys the queue now, as the destructor does. */
  void reset() noexcept {
    /* In what may be the queue's own last call, with nothing left to end, the
       wait would be refused and reported. */
    const bool ends = ending_.drains &&
                      std::uncaught_exceptions() <= ending_.exceptions &&
                      ((detail::call_scope::is_on() && work_left() == 0) ||
                       inturn_queue_drain(raw_, -1) == INTURN_OK);
    if (!ends && !ending_.cancels && work_left() > 0)
      report_dropped();
    owned::reset();
  }

private:
  std::uint64_t work_left() const noexcept {
    inturn_queue_statistics counts = INTURN_QUEUE_STATISTICS_INIT;
    inturn_queue_get_statistics(raw_, &counts);
    return counts.pending + counts.running;
  }

  void report_dropped() const noexcept {
    inturn_operation_info first = INTURN_OPERATION_INFO_INIT;
    std::size_t listed = 0;
    inturn_queue_list(raw_, &first, 1, &listed);
    char text[200];
    std::snprintf(text, sizeof text,
                  "a queue has gone with %llu operations left, which end as "
                  "cancelled; the first is \"%s\"",
                  static_cast<unsigned long long>(work_left()), first.label);
    detail::send_report(INTURN_REPORT_DROPPED, text);
  }

  struct {
    bool drains = false;
    bool cancels = false; /* as its options say */
    bool goes_by_executor = false;
    /* How many were on their way when it was made. */
    int exceptions = std::uncaught_exceptions();
  } ending_;

  using event_callback = callback<void(const event &)>;

  static void tell_event(void *context, const inturn_event *told) noexcept {
    const detail::call_scope call;
    (*static_cast<event_callback *>(context))(*told);
  }
};

} // namespace inturn

#include <inturn/cxx/queue_inline.hpp>

#endif /* INTURN_CXX_QUEUE_HPP */
