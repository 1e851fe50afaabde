/*
 * operation.hpp - operations, their options and ends, and owners of inturn.hpp;
 * include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_OPERATION_HPP
#define INTURN_CXX_OPERATION_HPP

#include <inturn/cxx/token.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace inturn {

using std::chrono::nanoseconds;

/* The numbers of inturn.h, whose comments say what they mean. */
enum class outcome {
  finished = INTURN_FINISHED,
  failed = INTURN_FAILED,
  cancelled = INTURN_CANCELLED,
  timed_out = INTURN_TIMED_OUT,
  abandoned = INTURN_ABANDONED
};

enum class cause {
  none = INTURN_CAUSE_NONE,
  request = INTURN_CAUSE_REQUEST,
  grace = INTURN_CAUSE_GRACE,
  destroyed = INTURN_CAUSE_DESTROYED,
  max_wait = INTURN_CAUSE_MAX_WAIT,
  max_run = INTURN_CAUSE_MAX_RUN,
  dependency = INTURN_CAUSE_DEPENDENCY,
  skipped = INTURN_CAUSE_SKIPPED,
  condition = INTURN_CAUSE_CONDITION,
  resolved = INTURN_CAUSE_RESOLVED,
  joined = INTURN_CAUSE_JOINED,
  owner = INTURN_CAUSE_OWNER
};

enum class operation_state {
  pending = INTURN_PENDING,
  running = INTURN_RUNNING,
  ended = INTURN_ENDED
};

enum class max_run_policy {
  hold = INTURN_MAX_RUN_HOLD,
  free = INTURN_MAX_RUN_FREE
};

enum class after_policy {
  ended = INTURN_AFTER_ENDED,
  finished = INTURN_AFTER_FINISHED
};

enum class verdict {
  start = INTURN_START,
  skip = INTURN_SKIP,
  give_up = INTURN_GIVE_UP
};

/* The end of an operation. Times are of the queue's clock; the start is zero
   for one that never started. `result` and `label` are valid during the
   callback that gets the end; where a handle gives it, until that is gone. */
struct end {
  inturn::outcome outcome{};
  inturn::cause cause{};
  std::int32_t code = 0;      /* of a failure */
  std::uint32_t attempts = 0; /* how often it was started */
  void *result = nullptr;     /* of token::finish_with */
  std::string_view label;     /* empty when it has none */
  nanoseconds enqueued{}, started{}, ended{};
  /* What the work threw, in its last attempt, for on_end of an operation that
     has failed; null when it threw nothing, or in a segment (token::resume). */
  std::exception_ptr exception;

  end() noexcept = default;
  explicit end(const inturn_end &from)
      : outcome(static_cast<inturn::outcome>(from.outcome)),
        cause(static_cast<inturn::cause>(from.cause)), code(from.code),
        attempts(from.attempts), result(from.result),
        label(from.label == nullptr ? "" : from.label),
        enqueued(from.enqueued_ns), started(from.started_ns),
        ended(from.ended_ns) {}
};

/* How far something has come; of an operation, as token_ref::set_progress has
   said. A total of zero is not known. */
struct progress {
  std::int64_t completed = 0, total = 0;

  friend constexpr bool operator==(progress a, progress b) noexcept {
    return a.completed == b.completed && a.total == b.total;
  }
  friend constexpr bool operator!=(progress a, progress b) noexcept {
    return !(a == b);
  }
};

template <class T> class observed; /* see value.hpp */

/* Names an operation. Throws error(stale) when its handle was given back. */
class operation_ref : public basic_ref<inturn_operation> {
public:
  using basic_ref::basic_ref;

  operation_state state() const {
    inturn_operation_state state{};
    detail::check(inturn_operation_get_state(raw_, &state), "state");
    return static_cast<operation_state>(state);
  }

  /* Asks it to end; a pending one never runs. False when it was asked before,
     or has ended. */
  bool cancel() const {
    const inturn_status status = inturn_operation_cancel(raw_);
    return status != INTURN_E_CANCELLED &&
           detail::succeeded(status, INTURN_E_ALREADY_FINISHED, "cancel");
  }

  /* Waits until it has ended. Its on_end may still be to come.
     Throws error(deadlock): see section 9 of inturn.h. */
  end wait(detail::caller from = {}) const {
    inturn_end end{};
    detail::check(inturn_operation_wait(raw_, from.waits(-1), &end), "wait");
    return inturn::end(end);
  }

  /* The same, for so long at most: nothing when the time is over. */
  std::optional<end> wait_for(time_limit limit,
                              detail::caller from = {}) const {
    inturn_end end{};
    if (!detail::succeeded(
            inturn_operation_wait(raw_, from.waits(limit.nanoseconds()), &end),
            INTURN_E_TIMED_OUT, "wait_for"))
      return std::nullopt;
    return inturn::end(end);
  }

  inturn::progress progress() const {
    inturn::progress now;
    detail::check(
        inturn_operation_get_progress(raw_, &now.completed, &now.total),
        "progress");
    return now;
  }

  /* What keeps it from ending, now, in a line; empty when it has ended. See
     inturn_why, which tells the chain, too. */
  [[nodiscard]] std::string why() const {
    struct answer {
      std::string line;
      std::exception_ptr thrown;
    } answer;
    const auto tell = +[](void *context, const inturn_report *told) noexcept {
      auto *self = static_cast<struct answer *>(context);
      try {
        self->line = told->message;
      } catch (...) {
        self->thrown = std::current_exception();
      }
    };
    detail::succeeded(inturn_why(raw_, tell, &answer),
                      INTURN_E_ALREADY_FINISHED, "why");
    if (answer.thrown)
      std::rethrow_exception(answer.thrown);
    return std::move(answer.line);
  }

  /* Its state and its progress as observed values. */
  [[nodiscard]] observed<operation_state> observed_state() const;
  [[nodiscard]] observed<inturn::progress> observed_progress() const;
};

/* Owns the handle, not the operation: that goes on when this is destroyed. */
using operation = owned<operation_ref, inturn_operation_release>;

/* Whoever operations are for. */
class owner_ref : public basic_ref<inturn_owner> {
public:
  using basic_ref::basic_ref;

  /* How many of its operations have not ended. */
  std::uint64_t count() const {
    std::uint64_t count = 0;
    detail::check(inturn_owner_get_count(raw_, &count), "count");
    return count;
  }
};

/* Cancels its operations, in whatever queues they are, when it is destroyed. */
class owner : public owned<owner_ref, inturn_owner_destroy> {
public:
  /* At most so many operations which have not ended; 0: no limit. */
  explicit owner(std::uint64_t capacity = 0) {
    detail::check(inturn_owner_create(capacity, &raw_), "owner");
  }
  owner(owned &&other) noexcept : owned(std::move(other)) {}
};

/* How often an operation is attempted again, and when; as inturn_retry. */
struct retry {
  std::uint32_t max_attempts = 0; /* the first one included; 0: no limit */
  nanoseconds delay{};            /* before the second attempt */
  double factor = 1;              /* each further delay: so many times longer */
  nanoseconds max_delay{};        /* none is longer; 0: no limit */
  double jitter = 0;          /* 0 to 1: part of each that may be left out */
  bool only_failures = false; /* not after an attempt that exceeds max_run */
  /* Whether a failure with this code, after so many attempts, is worth another
     one; empty: each is. It throws nothing. */
  callback<bool(std::int32_t code, std::uint32_t attempts)> decide{};
};

/* As inturn_operation_options, whose comments say what each means. Zero, empty
   and null mean none. A text with a zero byte is refused, here and in all other
   options: error(invalid_argument). */
struct operation_options {
  std::string label{};
  std::int32_t priority = 0;
  std::vector<operation_ref> after{};
  inturn::after_policy after_policy = inturn::after_policy::ended;
  inturn::max_run_policy max_run_policy = inturn::max_run_policy::hold;
  std::vector<std::string> exclusive{};
  /* What it throws counts as verdict::give_up. */
  callback<inturn::verdict()> condition{};
  std::optional<inturn::retry> retry{};
  nanoseconds max_wait{}, max_run{}, stall{}, cancel_grace{};
  /* Told the end, exactly once when the operation was accepted, and never when
     it was refused; before the next operation of a FIFO or interaction queue
     begins. It throws nothing. */
  callback<void(const end &)> on_end{};
  bool barrier = false;
  bool urgent = false;
  bool join = false;
  std::string key{};
  owner_ref owner{};
};

namespace detail {

/* Work with callbacks of its own: the context of an operation with options. */
struct equipped_work {
  equipped_work(inturn::work &&function, operation_options &options)
      : work(std::move(function)), condition(std::move(options.condition)),
        on_end(std::move(options.on_end)) {
    if (options.retry)
      decide = std::move(options.retry->decide);
  }

  static void run(void *context, inturn_token token) noexcept {
    auto *self = static_cast<equipped_work *>(context);
    {
      const std::lock_guard<std::mutex> guard(self->lock);
      self->attempt = token.bits;
      self->thrown = nullptr;
    }
    self->work(token, self->on_end ? thrown_sink{keep, self, hold, let_go}
                                   : thrown_sink{});
  }

  static void hold(void *context) noexcept {
    static_cast<equipped_work *>(context)->holders++;
  }

  static void let_go(void *context) noexcept {
    auto *self = static_cast<equipped_work *>(context);
    if (--self->holders == 0)
      destroy<equipped_work>(self);
  }

  static bool keep(void *context, inturn_token attempt,
                   const std::exception_ptr &exception) {
    auto *self = static_cast<equipped_work *>(context);
    const std::lock_guard<std::mutex> guard(self->lock);
    if (attempt.bits != self->attempt)
      return false;
    self->thrown = exception;
    return true;
  }

  static inturn_verdict ask_condition(void *context) noexcept {
    try {
      return static_cast<inturn_verdict>(
          static_cast<equipped_work *>(context)->condition());
    } catch (...) {
      return INTURN_GIVE_UP;
    }
  }

  static bool ask_retry(void *context, std::int32_t code,
                        std::uint32_t attempts) noexcept {
    return static_cast<equipped_work *>(context)->decide(code, attempts);
  }

  static void tell_end(void *context, const inturn_end *end) noexcept {
    const call_scope call;
    auto *self = static_cast<equipped_work *>(context);
    inturn::end told(*end);
    if (told.outcome == outcome::failed) {
      const std::lock_guard<std::mutex> guard(self->lock);
      told.exception = self->thrown;
    }
    self->on_end(told);
  }

  inturn::work work;
  callback<verdict()> condition;
  callback<bool(std::int32_t, std::uint32_t)> decide;
  callback<void(const end &)> on_end;
  std::atomic<unsigned> holders = 1; /* the operation, and coroutines */
  std::mutex lock;                   /* protects what follows */
  std::uint64_t attempt = 0;         /* the token of the last one */
  std::exception_ptr thrown;         /* by that */
};

/* operation_options as C takes them; refers to them, and to itself. The
   callbacks are those of equipped_work. */
class c_operation_options {
public:
  /* The callbacks' flags are read before equipped_work takes them. */
  explicit c_operation_options(const operation_options &options) {
    for (const operation_ref &operation : options.after)
      after_.push_back(operation.raw());
    for (const std::string &name : options.exclusive)
      exclusive_.push_back(c_text(name));
    raw.priority = options.priority;
    raw.label = text_or_null(options.label);
    raw.after = after_.data();
    raw.after_count = after_.size();
    raw.after_policy = static_cast<inturn_after_policy>(options.after_policy);
    raw.max_run_policy =
        static_cast<inturn_max_run_policy>(options.max_run_policy);
    raw.exclusive = exclusive_.data();
    raw.exclusive_count = exclusive_.size();
    if (options.condition)
      raw.condition = equipped_work::ask_condition;
    if (options.retry)
      take_retry(*options.retry);
    raw.max_wait_ns = options.max_wait.count();
    raw.max_run_ns = options.max_run.count();
    raw.stall_ns = options.stall.count();
    raw.cancel_grace_ns = options.cancel_grace.count();
    if (options.on_end)
      raw.on_end = equipped_work::tell_end;
    raw.barrier = options.barrier;
    raw.urgent = options.urgent;
    raw.join = options.join;
    raw.key = text_or_null(options.key);
    raw.owner = options.owner.raw();
  }
  c_operation_options(const c_operation_options &) = delete;
  c_operation_options &operator=(const c_operation_options &) = delete;

  inturn_operation_options raw = INTURN_OPERATION_OPTIONS_INIT;

private:
  void take_retry(const retry &retry) {
    retry_.max_attempts = retry.max_attempts;
    retry_.delay_ns = retry.delay.count();
    // To C, 0 is the default; here it is as wrong as any below 1.
    retry_.factor = retry.factor == 0 ? -1 : retry.factor;
    retry_.max_delay_ns = retry.max_delay.count();
    retry_.jitter = retry.jitter;
    retry_.only_failures = retry.only_failures;
    if (retry.decide)
      retry_.decide = equipped_work::ask_retry;
    raw.retry = &retry_;
  }

  std::vector<inturn_operation> after_;
  std::vector<const char *> exclusive_;
  inturn_retry retry_ = INTURN_RETRY_INIT;
};

} // namespace detail

} // namespace inturn

#endif /* INTURN_CXX_OPERATION_HPP */
