/*
 * token.hpp - tokens and work of inturn.hpp; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_TOKEN_HPP
#define INTURN_CXX_TOKEN_HPP

#include <inturn/cxx/diagnosis.hpp>

#include <cstdio>
#include <cstring>
#include <memory>

namespace inturn {

class work;

/* Names an operation's token, and may end the operation as well; but losing it
   means nothing. The functions that end an operation give true when they did,
   and false when it had ended before: by another call, by a deadline, a grace
   time, or its queue's destruction.
   Throws error(null_handle), error(stale), error(forked). */
class token_ref : public basic_ref<inturn_token> {
public:
  using basic_ref::basic_ref;

  /* Ends the operation as finished. */
  bool finish() const { return ends(inturn_token_finish(raw_), "finish"); }

  /* Ends it as finished with a result, which the operation owns from now on;
     when it had ended before, the result is destroyed. */
  template <class T> bool finish_with(std::unique_ptr<T> result) const {
    return ends(
        inturn_token_finish_with(raw_, result.release(), detail::destroy<T>),
        "finish_with");
  }

  /* Ends it as failed. */
  bool fail(std::int32_t code) const {
    return ends(inturn_token_fail(raw_, code), "fail");
  }

  /* Ends it as cancelled: for work that gives in to a request. */
  bool cancel() const { return ends(inturn_token_cancel(raw_), "cancel"); }

  /* Gives way to an urgent interaction: this one is presented again later. */
  bool yield() const { return ends(inturn_token_yield(raw_), "yield"); }

  /* Whether to stop: the operation was asked to end, or has ended. */
  bool is_cancelled() const {
    bool cancelled = true;
    detail::succeeded(inturn_token_is_cancelled(raw_, &cancelled),
                      INTURN_E_ALREADY_FINISHED, "is_cancelled");
    return cancelled;
  }

  /* Says how far the operation has come; a total of 0: not known. */
  bool set_progress(std::int64_t completed, std::int64_t total) const {
    return ends(inturn_token_set_progress(raw_, completed, total),
                "set_progress");
  }

  /* Calls `handler` when the operation is asked to end, soon when it was asked
     already. Not called when this gives false. It throws nothing.
     Threads: the handler's is that of the queue's executor; on a pool it may
     overlap the work. */
  bool on_cancel(callback<void(token_ref)> handler) const {
    return handle(inturn_token_on_cancel, std::move(handler), "on_cancel");
  }

  /* Calls `handler` when an urgent interaction wants the place of this one. It
     throws nothing. Throws error(wrong_kind), too: not an interaction queue. */
  bool on_preempt(callback<void(token_ref)> handler) const {
    return handle(inturn_token_on_preempt, std::move(handler), "on_preempt");
  }

protected:
  static bool ends(inturn_status status, const char *call) {
    return detail::succeeded(status, INTURN_E_ALREADY_FINISHED, call);
  }

private:
  using handler_type = callback<void(token_ref)>;

  static void call_handler(void *context, inturn_token raw) noexcept {
    const detail::call_scope call;
    (*static_cast<handler_type *>(context))(token_ref(raw));
  }

  template <class Set>
  bool handle(Set *set, handler_type &&handler, const char *call) const {
    detail::for_c<handler_type> c(std::move(handler));
    return ends(set(raw_, c.function(call_handler), c.context, c.destroy),
                call);
  }
};

namespace detail {

/* Where work was written. */
struct place {
  const char *file = nullptr;
  unsigned line = 0;
};

/* "file.cpp:12" */
struct place_text {
  char text[160];

  explicit place_text(place from) noexcept {
    const char *slash = std::strrchr(from.file, '/');
    std::snprintf(text, sizeof text, "%s:%u",
                  slash == nullptr ? from.file : slash + 1, from.line);
  }
};

/* The site of a callable, which all of its type share as long as they are of
   one line, as those of a lambda are. Null for one of another line. */
template <class F>
inline inturn_site *shared_site(const inturn_site &own) noexcept {
  static inturn_site first = own;
  const bool is_same = first.file == own.file && first.line == own.line;
  return is_same ? &first : nullptr;
}

inline void abandon(inturn_token token, place from) noexcept {
  if (from.file == nullptr)
    inturn_token_abandon(token);
  else
    inturn_token_abandon_at(token, place_text(from).text);
}

/* Who gets what work throws. It is there until the work's call returns, and for
   a coroutine, which may outlast its operation, as long as that holds it. */
struct thrown_sink {
  /* False when nobody is told: a later attempt is under way. */
  bool (*take)(void *context, inturn_token attempt,
               const std::exception_ptr &thrown) = nullptr;
  void *context = nullptr;
  void (*hold)(void *context) = nullptr;
  void (*let_go)(void *context) = nullptr;
};

inline void report_thrown(const std::exception_ptr &thrown,
                          place from) noexcept {
  const auto tell = [from](const char *what) {
    char text[512];
    std::snprintf(text, sizeof text,
                  "the work at %s has thrown, and nobody is told: %s",
                  place_text(from).text, what);
    send_report(INTURN_REPORT_EXCEPTION, text);
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const failure &) {
    /* Its code is the operation's end. */
  } catch (const std::exception &exception) {
    tell(exception.what());
  } catch (...) {
    tell("something that is no std::exception");
  }
}

/* Gives the sink, or a report, what work has thrown, before its operation ends.
   Returns the code with which that fails. */
inline std::int32_t give_thrown(const std::exception_ptr &thrown,
                                thrown_sink sink, inturn_token attempt,
                                place from) noexcept {
  if (sink.take == nullptr || !sink.take(sink.context, attempt, thrown))
    report_thrown(thrown, from);
  return failure_code(thrown);
}

/* Whether work of this result is a coroutine; see coroutine.hpp. */
template <class> struct is_task : std::false_type {};

/* What a task gives in the end; else the type itself. */
template <class T> struct result_of { using type = T; };

/* Calls work that is a whole operation: it may ask its token when to stop. */
template <class F> decltype(auto) call_with(F &function, token_ref token) {
  if constexpr (std::is_invocable_v<F &, token_ref>)
    return std::invoke(function, token);
  else
    return (void)token, function();
}

/* A call of work that is under way on this thread. A token that is lost while
   an exception leaves the work is left to this, so that the operation fails by
   the exception. */
class INTURN_CXX_SHARED running_work {
public:
  explicit running_work(inturn_token token) noexcept
      : token_(token), outer_(innermost) {
    innermost = this;
  }
  running_work(const running_work &) = delete;
  running_work &operator=(const running_work &) = delete;
  ~running_work() { innermost = outer_; }

  /* Whether the token is that of a call that an exception is leaving; the call
     sees to it then. */
  static bool takes(inturn_token token) noexcept {
    for (auto *call = innermost; call != nullptr; call = call->outer_) {
      if (call->token_.bits == token.bits)
        return call->lost = std::uncaught_exceptions() > call->exceptions_;
    }
    return false;
  }

  /* Its token was lost to an exception. */
  bool lost = false;

private:
  static inline thread_local running_work *innermost = nullptr;

  const call_scope call_;
  inturn_token token_;
  int exceptions_ = std::uncaught_exceptions();
  running_work *outer_;
};

} // namespace detail

/* The finish token: who holds it ends the operation, from any thread. It can be
   moved, not copied. A token that is destroyed unfinished ends its operation as
   abandoned, and the report handler is told so, with the file and the line of
   the work that got it. A token that has been moved from is null: its functions
   throw error(null_handle). */
class token : public token_ref {
public:
  token() noexcept = default;
  explicit token(inturn_token raw, detail::place from = {}) noexcept
      : token_ref(raw), from_(from) {}
  token(token &&other) noexcept
      : token_ref(other.release()), from_(other.from_) {}
  token &operator=(token &&other) noexcept {
    if (this != &other) {
      reset();
      raw_ = other.release();
      from_ = other.from_;
    }
    return *this;
  }
  ~token() { reset(); }

  bool finish() { return over(token_ref::finish()); }
  template <class T> bool finish_with(std::unique_ptr<T> result) {
    return over(token_ref::finish_with(std::move(result)));
  }
  bool fail(std::int32_t code) { return over(token_ref::fail(code)); }
  bool cancel() { return over(token_ref::cancel()); }
  bool yield() { return over(token_ref::yield()); }

  /* Runs a further segment of an operation of an actor queue, which gets the
     token; work without a token ends the operation when it returns. False, and
     `segment` is never called, when the operation had ended before. What it
     throws fails the operation, with its code, and is reported as of work whose
     exception nobody gets: on_end does not get it.
     Throws error(wrong_kind), too: not an actor queue. */
  inline bool resume(work segment);

  /* Leaves the token to the caller, who ends the operation. */
  [[nodiscard]] inturn_token release() noexcept {
    return std::exchange(raw_, inturn_token{});
  }

  /* Loses the token now, as the destructor does. */
  void reset() noexcept {
    const inturn_token lost = release();
    if (lost.bits != 0 && !detail::running_work::takes(lost))
      detail::abandon(lost, from_);
  }

private:
  bool over(bool won) noexcept {
    raw_ = {};
    return won;
  }

  detail::place from_;
};

namespace detail {

/* Whether it is called with a token, where that is the choice. What std::bind
   has made takes any arguments, and drops those that it has no place for. */
template <class F>
inline constexpr bool takes_token =
    std::is_invocable_v<F &, token> &&
    !(std::is_bind_expression_v<F> && std::is_invocable_v<F &>);

/* Whether a callable gives a task. One for tokens of any type gets a token if
   it gives none, and is not looked at with another. */
template <class F> constexpr bool gives_task() {
  if constexpr (!std::is_invocable_v<F &, token>)
    return is_task<std::invoke_result_t<F &>>::value;
  else if constexpr (is_task<std::invoke_result_t<F &, token>>::value)
    return std::is_invocable_v<F &, token_ref>;
  else
    return false;
}

/* Whether it takes a token_ref, by the one signature that it has. */
template <class F, class = void> struct takes_ref : std::false_type {};
template <class F>
struct takes_ref<F, std::void_t<decltype(&F::operator())>>
    : std::is_invocable<F &, token_ref> {};
template <class F>
struct takes_ref<F *, std::void_t<>> : std::is_invocable<F *, token_ref> {};
template <class F>
struct takes_ref<std::reference_wrapper<F>, std::void_t<>>
    : takes_ref<std::decay_t<F>> {};

/* Work as its box has it. A coroutine shares it with that, as it may outlast
   its operation. */
template <class F>
using boxed = std::conditional_t<gives_task<F>(), std::shared_ptr<F>, F>;

template <class F, class From> boxed<F> put_in_box(From &&function) {
  if (detail::is_nothing<F>(function))
    throw error(errc::invalid_argument, "work");
  if constexpr (gives_task<F>())
    return std::make_shared<F>(std::forward<From>(function));
  else
    return std::forward<From>(function);
}

} // namespace detail

/* What an operation does: any callable that takes a token, or nothing.

   One that takes a token starts the operation, which lasts until the token is
   finished. One that takes nothing is the whole operation: it has finished when
   it returns; with C++20 it may take a token_ref and give an inturn::task, and
   has finished when that has. (What takes a token_ref and gives no task does
   not compile, as nothing would own the token.) When any of them throws, the
   operation fails, with the exception's code (see failure); the token may have
   gone elsewhere already. An exception that no on_end, future or task gets is
   reported, with the place.

   Callables that can only be moved are fine. A null pointer and an empty
   callback or std::function are refused, and so is work that was moved from:
   error(invalid_argument). The callable is destroyed exactly once, after its
   last call; when it is refused, before the call that takes it returns. `file`,
   `line` and `caller` say where it was written, for reports; leave them alone.
   What the standard library makes, as in works.emplace_back([] {}), has a line
   of that: push_back has the caller's. */
class work {
  template <class F>
  using if_work = std::enable_if_t<!std::is_same_v<std::decay_t<F>, work> &&
                                   (detail::takes_token<std::decay_t<F>> ||
                                    std::is_invocable_v<std::decay_t<F> &>)>;

public:
  template <class F, class = if_work<F>>
  work(F &&function, const char *file = __builtin_FILE(),
       unsigned line = __builtin_LINE(),
       const char *caller = __builtin_FUNCTION())
      : context_(new box<std::decay_t<F>>{
            detail::put_in_box<std::decay_t<F>>(std::forward<F>(function)),
            {file, line}}),
        call_(call<std::decay_t<F>>), c_call_(call_in_c<std::decay_t<F>>),
        destroy_(detail::destroy<box<std::decay_t<F>>>), site_{file, caller,
                                                               line, 0},
        shared_site_(detail::shared_site<std::decay_t<F>>(site_)) {}

  work(work &&other) noexcept
      : context_(std::exchange(other.context_, nullptr)), call_(other.call_),
        c_call_(std::exchange(other.c_call_, nullptr)),
        destroy_(other.destroy_), site_(other.site_),
        shared_site_(other.shared_site_) {}
  work &operator=(work &&other) = delete;
  ~work() {
    if (context_ != nullptr)
      destroy_(context_);
  }

  /* Calls it for an operation, and ends that as is due. */
  void operator()(inturn_token raw, detail::thrown_sink thrown) noexcept {
    call_(context_, raw, thrown);
  }

  /* What inturn.h takes; the context is C's from release() on. The site is good
     as long as this object is. */
  inturn_site *site() noexcept {
    return shared_site_ != nullptr ? shared_site_ : &site_;
  }
  inturn_work_fn function() const noexcept { return c_call_; }
  inturn_destroy_fn destroy() const noexcept { return destroy_; }
  [[nodiscard]] void *release() noexcept {
    return std::exchange(context_, nullptr);
  }

private:
  template <class F> struct box {
    detail::boxed<F> function;
    detail::place from;
  };

  template <class F>
  static void call(void *context, inturn_token raw,
                   detail::thrown_sink thrown) noexcept {
    auto &[function, from] = *static_cast<box<F> *>(context);
    detail::running_work running(raw);
    try {
      if constexpr (detail::gives_task<F>()) {
        perform(function, raw, thrown, from);
      } else if constexpr (detail::takes_token<F>) {
        static_assert(
            !detail::is_task<std::invoke_result_t<F &, token>>::value,
            "work that gives a task ends with it: it takes a token_ref");
        static_assert(
            !detail::takes_ref<F>::value,
            "a token_ref does not own the operation's end: work takes "
            "a token, or nothing; run takes a token_ref");
        std::invoke(function, token(raw, from));
        if (running.lost)
          detail::abandon(raw, from);
      } else {
        function();
        inturn_token_finish(raw);
      }
    } catch (...) {
      inturn_token_fail(raw, detail::give_thrown(std::current_exception(),
                                                 thrown, raw, from));
    }
  }

  template <class F>
  static void call_in_c(void *context, inturn_token raw) noexcept {
    call<F>(context, raw, {});
  }

  void *context_;
  void (*call_)(void *, inturn_token, detail::thrown_sink) noexcept;
  inturn_work_fn c_call_;
  inturn_destroy_fn destroy_;
  inturn_site site_;
  inturn_site *shared_site_;
};

/* A wait that a task makes in no call of the library, for as long as this is
   there: see inturn_await_begin. Null where nothing is held up. Move-only. */
using await_ref = basic_ref<inturn_await>;
using await = owned<await_ref, inturn_await_end>;

/* Begins a wait for an operation, a token, a queue or a batch, of a task that
   is inside of the token's operation. The coroutines of this header do it
   themselves. Throws error: deadlock when it could never end. */
template <class Ref>
[[nodiscard]] await begin_await(const Ref &awaited, token_ref inside) {
  const inturn_token raw = inside.raw();
  inturn_await begun{};
  detail::check(inturn_await_begin(awaited.raw().bits, &raw, 1, &begun),
                "begin_await");
  return await::adopt(begun);
}

inline bool token::resume(work segment) {
  const inturn_work_fn function = segment.function();
  const inturn_destroy_fn destroy = segment.destroy();
  /* The segment may begin, and end the operation, before the call returns. */
  const inturn_token raw = release();
  const inturn_status status =
      inturn_token_resume(raw, function, segment.release(), destroy);
  if (status != INTURN_OK && status != INTURN_E_ALREADY_FINISHED)
    raw_ = raw;
  return ends(status, "resume");
}

} // namespace inturn

#endif /* INTURN_CXX_TOKEN_HPP */
