/*
 * handle.hpp - handles, callbacks and times of inturn.hpp; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_HANDLE_HPP
#define INTURN_CXX_HANDLE_HPP

#include <inturn/cxx/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace inturn {

/* A handle that owns nothing: it is copied freely, may outlive its object, and
   is refused then. */
template <class Raw> class basic_ref {
public:
  using raw_type = Raw;

  constexpr basic_ref() noexcept = default;
  constexpr explicit basic_ref(Raw raw) noexcept : raw_(raw) {}

  /* What the functions of inturn.h take. */
  constexpr Raw raw() const noexcept { return raw_; }

  /* Whether it is not the null handle. */
  constexpr explicit operator bool() const noexcept { return raw_.bits != 0; }

  friend constexpr bool operator==(basic_ref a, basic_ref b) noexcept {
    return a.raw_.bits == b.raw_.bits;
  }
  friend constexpr bool operator!=(basic_ref a, basic_ref b) noexcept {
    return a.raw_.bits != b.raw_.bits;
  }

protected:
  Raw raw_{};
};

/* A handle that owns its object, and destroys it or gives it back. It can be
   moved, not copied; where it is copied to its Ref, that owns nothing.

   The destructor throws nothing. What could not be destroyed, as a ring of
   waits would close or the object is in use, ends the process by
   std::terminate, with an inturn::error as the reason. Nothing happens when
   the object is gone already, or was made before a fork, in the parent. */
template <class Ref, inturn_status (*Destroy)(typename Ref::raw_type)>
class owned : public Ref {
public:
  using raw_type = typename Ref::raw_type;

  owned() noexcept = default;
  owned(owned &&other) noexcept : Ref(other.release()) {}
  owned &operator=(owned &&other) noexcept {
    if (this != &other) {
      reset();
      this->raw_ = other.release();
    }
    return *this;
  }
  ~owned() { reset(); }

  /* Takes an object over from its owner in C. */
  static owned adopt(raw_type raw) noexcept { return owned(raw); }

  /* Leaves the object to the caller, who destroys it. */
  [[nodiscard]] raw_type release() noexcept {
    return std::exchange(this->raw_, raw_type{});
  }

  /* Destroys the object now, as the destructor does. */
  void reset() noexcept {
    if (this->raw_.bits == 0)
      return;
    /* The handle stays until the calls that may read it have returned. */
    const inturn_status status = Destroy(this->raw_);
    this->raw_ = {};
    if (status == INTURN_E_DEADLOCK || status == INTURN_E_BUSY)
      detail::check(status, "destroying an object");
  }

protected:
  explicit owned(raw_type raw) noexcept : Ref(raw) {}
};

namespace detail {

template <class F, class = void> struct may_be_null : std::false_type {};
template <class F>
struct may_be_null<F,
                   std::void_t<decltype(std::declval<const F &>() == nullptr)>>
    : std::is_constructible<F, std::nullptr_t> {};

/* Whether a callable is none: a null pointer, an empty callback or
   std::function. */
template <class F> bool is_nothing(const F &function) noexcept {
  if constexpr (may_be_null<F>::value)
    return function == nullptr;
  else
    return (void)function, false;
}

} // namespace detail

/* A callable of any type with this signature, move-only ones included; itself
   move-only. Empty when it is made of nothing, of a null pointer, or of an
   empty callback or std::function; then it is not to be called. */
template <class Signature> class callback;

template <class Result, class... Arguments>
class callback<Result(Arguments...)> {
  template <class F>
  using if_callable = std::enable_if_t<
      !std::is_same_v<std::decay_t<F>, callback> &&
      std::is_invocable_r_v<Result, std::decay_t<F> &, Arguments...>>;

public:
  callback() noexcept = default;
  callback(std::nullptr_t) noexcept {}

  template <class F, class = if_callable<F>> callback(F &&function) {
    using function_type = std::decay_t<F>;
    if (detail::is_nothing<function_type>(function))
      return;
    context_ = new function_type(std::forward<F>(function));
    call_ = [](void *context, Arguments... arguments) -> Result {
      auto &callee = *static_cast<function_type *>(context);
      if constexpr (std::is_void_v<Result>)
        std::invoke(callee, std::forward<Arguments>(arguments)...);
      else
        return std::invoke(callee, std::forward<Arguments>(arguments)...);
    };
    destroy_ = [](void *context) {
      delete static_cast<function_type *>(context);
    };
  }

  callback(callback &&other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        call_(std::exchange(other.call_, nullptr)), destroy_(other.destroy_) {}
  callback &operator=(callback &&other) noexcept {
    callback moved(std::move(other));
    std::swap(context_, moved.context_);
    std::swap(call_, moved.call_);
    std::swap(destroy_, moved.destroy_);
    return *this;
  }
  ~callback() {
    if (context_ != nullptr)
      destroy_(context_);
  }

  explicit operator bool() const noexcept { return call_ != nullptr; }
  friend bool operator==(const callback &one, std::nullptr_t) noexcept {
    return !one;
  }

  Result operator()(Arguments... arguments) {
    return call_(context_, std::forward<Arguments>(arguments)...);
  }

private:
  void *context_ = nullptr;
  Result (*call_)(void *, Arguments...) = nullptr;
  void (*destroy_)(void *) = nullptr;
};

/* How long to wait: any duration, and what is longer than 292 years is as long
   as that. Below zero, or not a number, is zero, for which a wait just asks. */
class time_limit {
public:
  template <class Rep, class Period>
  constexpr time_limit(std::chrono::duration<Rep, Period> time) noexcept {
    using seconds = std::chrono::duration<double>;
    constexpr std::int64_t longest = INT64_MAX;
    if (!(time > time.zero()))
      ns_ = 0;
    else if (std::chrono::duration_cast<seconds>(time).count() >=
             static_cast<double>(longest) / 1e9)
      ns_ = longest;
    else
      ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  }

  constexpr std::int64_t nanoseconds() const noexcept { return ns_; }

private:
  std::int64_t ns_ = 0;
};

namespace detail {

/* The line that calls a function, as the default of its last argument. */
class caller {
public:
  caller(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE(),
         const char *function = __builtin_FUNCTION()) noexcept
      : site_{file, function, line, 0} {}

  /* The C function that is called next waits there, for so long. */
  std::int64_t waits(std::int64_t limit_ns) noexcept {
    if (limit_ns != 0)
      inturn_report_wait_at(&site_);
    return limit_ns;
  }

  inturn_site *site() noexcept { return &site_; }

private:
  inturn_site site_;
};

/* A call of the library's into the program, on this thread: it may be the last
   one of a queue. */
class INTURN_CXX_SHARED call_scope {
public:
  call_scope() noexcept { depth++; }
  call_scope(const call_scope &) = delete;
  call_scope &operator=(const call_scope &) = delete;
  ~call_scope() { depth--; }

  static bool is_on() noexcept { return depth > 0; }

private:
  static inline thread_local unsigned depth = 0;
};

/* Destroys a context that is a T. */
template <class T> void destroy(void *context) noexcept {
  const call_scope call;
  delete static_cast<T *>(context);
}

/* Gives a callback to C as a function, a context and a destroy function:
   `call(context)` is what the function in C calls with. An empty callback is
   three times NULL. */
template <class Callback> struct for_c {
  explicit for_c(Callback &&callback)
      : context(callback ? new Callback(std::move(callback)) : nullptr),
        destroy(context == nullptr ? nullptr : detail::destroy<Callback>) {}

  /* The function itself, or NULL when there is no callback. */
  template <class Function> Function *function(Function *call) const noexcept {
    return context == nullptr ? nullptr : call;
  }

  Callback *context;
  inturn_destroy_fn destroy;
};

/* A text as C takes it. Throws invalid_argument for one that C would cut. */
inline const char *c_text(const std::string &text) {
  if (text.find('\0') != text.npos)
    throw error(errc::invalid_argument, "a text with a zero byte");
  return text.c_str();
}

inline const char *text_or_null(const std::string &text) {
  return text.empty() ? nullptr : c_text(text);
}

} // namespace detail

} // namespace inturn

#endif /* INTURN_CXX_HANDLE_HPP */
