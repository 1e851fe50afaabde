/*
 * value.hpp - observed values of inturn.hpp; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_VALUE_HPP
#define INTURN_CXX_VALUE_HPP

#include <inturn/cxx/queue.hpp>

namespace inturn {

enum class change_kind {
  set = INTURN_CHANGE_SET,
  initial = INTURN_CHANGE_INITIAL,
  prior = INTURN_CHANGE_PRIOR
};

namespace detail {

/* How a T is held in a datum: any T that can be copied is on the heap, each
   change a new one that is never written again. `view` is how observers see
   it. */
template <class T> struct datum_of {
  using view = const T &;
  static constexpr bool is_plain = false;

  static inturn_datum make(T from) {
    return INTURN_POINTER(new T(std::move(from)));
  }
  /* After a call that did not take the datum over. */
  static void drop(const inturn_datum &datum) noexcept {
    destroy<T>(datum.pointer);
  }
  static view read(const inturn_datum &datum) noexcept {
    return *static_cast<const T *>(datum.pointer);
  }
  static constexpr inturn_destroy_fn release = destroy<T>;
};

/* What numbers, truths and strings share: they have nothing to give back. */
template <class View> struct plain_datum {
  using view = View;
  static constexpr bool is_plain = true;
  static void drop(const inturn_datum &) noexcept {}
  static constexpr inturn_destroy_fn release = nullptr;
};

template <> struct datum_of<std::int64_t> : plain_datum<std::int64_t> {
  static inturn_datum make(std::int64_t from) { return INTURN_INTEGER(from); }
  static view read(const inturn_datum &datum) noexcept { return datum.integer; }
};

template <> struct datum_of<double> : plain_datum<double> {
  static inturn_datum make(double from) { return INTURN_DOUBLE(from); }
  static view read(const inturn_datum &datum) noexcept { return datum.real; }
};

template <> struct datum_of<bool> : plain_datum<bool> {
  static inturn_datum make(bool from) { return INTURN_BOOLEAN(from); }
  static view read(const inturn_datum &datum) noexcept { return datum.boolean; }
};

template <> struct datum_of<nanoseconds> : plain_datum<nanoseconds> {
  static inturn_datum make(nanoseconds from) {
    return INTURN_INTEGER(from.count());
  }
  static view read(const inturn_datum &datum) noexcept {
    return nanoseconds(datum.integer);
  }
};

/* UTF-8. */
template <> struct datum_of<std::string> : plain_datum<std::string_view> {
  /* Refers to the string, which the library copies. */
  static inturn_datum make(const std::string &from) {
    return INTURN_STRING(from.data(), from.size());
  }
  static view read(const inturn_datum &datum) noexcept {
    return {static_cast<const char *>(datum.bytes), datum.length};
  }
};

template <> struct datum_of<progress> : plain_datum<progress> {
  static inturn_datum make(progress from) {
    return INTURN_PROGRESS(from.completed, from.total);
  }
  static view read(const inturn_datum &datum) noexcept {
    return {datum.integer, datum.total};
  }
};

template <> struct datum_of<operation_state> : plain_datum<operation_state> {
  static inturn_datum make(operation_state from) {
    return INTURN_INTEGER(static_cast<std::int64_t>(from));
  }
  static view read(const inturn_datum &datum) noexcept {
    return static_cast<operation_state>(datum.integer);
  }
};

/* A datum that the library gave. */
struct given_datum {
  given_datum() noexcept = default;
  given_datum(const given_datum &) = delete;
  given_datum &operator=(const given_datum &) = delete;
  ~given_datum() { inturn_datum_release(&raw); }

  inturn_datum raw{};
};

inline inturn_status end_observation(inturn_observation raw) noexcept {
  return inturn_observation_cancel(raw, -1);
}

} // namespace detail

/* One change of a value; valid during the callback that gets it. */
template <class T> class change {
  using datum = detail::datum_of<T>;

public:
  /* What observers see of the T: a T, a std::string_view, a const T &. */
  using view = typename datum::view;

  explicit change(const inturn_change &raw) noexcept : raw_(&raw) {}

  change_kind kind() const noexcept {
    return static_cast<change_kind>(raw_->kind);
  }
  /* From 1; of an initial value that of the change that made it, or 0. */
  std::uint64_t number() const noexcept { return raw_->number; }
  /* What it held before; an initial value has none. */
  bool has_before() const noexcept {
    return raw_->before.type != INTURN_DATUM_NONE;
  }
  view before() const noexcept { return datum::read(raw_->before); }
  view after() const noexcept { return datum::read(raw_->after); }

private:
  const inturn_change *raw_;
};

/* As inturn_observe_options. */
struct observe_options {
  bool initial = false;
  bool prior = false;
  bool latest = false;
  executor_ref executor{};
  queue_ref queue{};
};

/* Names an observation. */
class observation_ref : public basic_ref<inturn_observation> {
public:
  using basic_ref::basic_ref;

  /* Ends it: the observer is never called again. False when another thread is
     still in the middle of a call after so long.
     Throws error(stale): it is over; error(deadlock). */
  bool cancel_for(time_limit limit, detail::caller from = {}) const {
    return detail::succeeded(
        inturn_observation_cancel(raw_, from.waits(limit.nanoseconds())),
        INTURN_E_TIMED_OUT, "cancel_for");
  }
};

/* Ends when it is destroyed. When the destructor has returned, the observer is
   not being called either, unless the caller is inside it. */
using observation = owned<observation_ref, detail::end_observation>;

/* Names an observed value of T: std::int64_t, double, bool, std::string
   (UTF-8), progress, operation_state, or any type that can be copied. Any
   thread reads it. */
template <class T> class observed_ref : public basic_ref<inturn_value> {
  using datum = detail::datum_of<T>;

public:
  using basic_ref<inturn_value>::basic_ref;
  using view = typename datum::view;

  T get() const {
    detail::given_datum now;
    detail::check(inturn_value_get(raw_, &now.raw), "get");
    return T(datum::read(now.raw));
  }

  /* Tells all changes from now on, as long as the observation lives. The
     observer throws nothing. */
  [[nodiscard]] observation observe(callback<void(const change<T> &)> observer,
                                    const observe_options &options = {}) const {
    using observer_type = callback<void(const change<T> &)>;
    inturn_observe_options c_options = INTURN_OBSERVE_OPTIONS_INIT;
    c_options.initial = options.initial;
    c_options.prior = options.prior;
    c_options.latest = options.latest;
    c_options.executor = options.executor.raw();
    c_options.queue = options.queue.raw();
    inturn_observation raw{};
    const detail::for_c<observer_type> c(std::move(observer));
    detail::check(inturn_value_observe(raw_, &c_options, c.function(tell),
                                       c.context, c.destroy, &raw),
                  "observe");
    return observation::adopt(raw);
  }

  /* Waits until the value holds what `predicate` takes, now or after a change
     from now on, none of which is left out; gives it. What the predicate throws
     arrives here.
     Throws error(stale): the value was destroyed; error(closed): it tells a
     state that will not change any more; error(deadlock). */
  template <class Predicate>
  T wait(Predicate predicate, detail::caller from = {}) const {
    return *wait_ns(predicate, from.waits(-1), "wait");
  }

  /* The same, for so long at most: nothing when the time is over. */
  template <class Predicate>
  std::optional<T> wait_for(Predicate predicate, time_limit limit,
                            detail::caller from = {}) const {
    return wait_ns(predicate, from.waits(limit.nanoseconds()), "wait_for");
  }

  /* Waits until each change so far has been told to each observer. */
  void drain(detail::caller from = {}) const {
    detail::check(inturn_value_drain(raw_, from.waits(-1)), "drain");
  }
  bool drain_for(time_limit limit, detail::caller from = {}) const {
    return detail::succeeded(
        inturn_value_drain(raw_, from.waits(limit.nanoseconds())),
        INTURN_E_TIMED_OUT, "drain_for");
  }

private:
  static void tell(void *context, const inturn_change *raw) noexcept {
    const detail::call_scope call;
    (*static_cast<callback<void(const change<T> &)> *>(context))(
        change<T>(*raw));
  }

  template <class Predicate>
  std::optional<T> wait_ns(Predicate &predicate, std::int64_t limit_ns,
                           const char *call) const {
    struct question {
      Predicate &predicate;
      std::exception_ptr thrown;
    } question{predicate, nullptr};
    const auto ask = +[](void *context, const inturn_datum *raw) noexcept {
      auto *self = static_cast<struct question *>(context);
      try {
        return static_cast<bool>(self->predicate(datum::read(*raw)));
      } catch (...) {
        self->thrown = std::current_exception();
        return true;
      }
    };
    detail::given_datum now;
    const bool held = detail::succeeded(
        inturn_value_wait(raw_, ask, &question, limit_ns, &now.raw),
        INTURN_E_TIMED_OUT, call);
    if (question.thrown != nullptr)
      std::rethrow_exception(question.thrown);
    return held ? std::optional<T>(T(datum::read(now.raw))) : std::nullopt;
  }
};

/* Names a value that any thread changes, too. */
template <class T> class value_ref : public observed_ref<T> {
  using datum = detail::datum_of<T>;

public:
  using observed_ref<T>::observed_ref;

  void set(const T &to) const {
    const inturn_datum next = datum::make(to);
    const inturn_status status = inturn_value_set(this->raw_, &next);
    if (status != INTURN_OK)
      datum::drop(next);
    detail::check(status, "set");
  }

  /* Changes the value and gives what it held, in one step. */
  T exchange(const T &to) const {
    detail::given_datum before;
    const inturn_datum next = datum::make(to);
    const inturn_status status =
        inturn_value_exchange(this->raw_, &next, &before.raw);
    if (status != INTURN_OK)
      datum::drop(next);
    detail::check(status, "exchange");
    return T(datum::read(before.raw));
  }

  /* Changes the value if it holds `expected`, in one step; else gives what it
     holds to `expected`. For numbers, truths and strings. */
  bool compare_exchange(T &expected, const T &desired) const {
    static_assert(datum::is_plain, "the type is compared by its address");
    bool exchanged = false;
    detail::given_datum before;
    const inturn_datum from = datum::make(expected), to = datum::make(desired);
    detail::check(inturn_value_compare_exchange(this->raw_, &from, &to,
                                                &exchanged, &before.raw),
                  "compare_exchange");
    if (!exchanged)
      expected = T(datum::read(before.raw));
    return exchanged;
  }

  /* Adds to a number in one step, and gives the sum. */
  T add(T difference) const {
    static_assert(std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>,
                  "only std::int64_t and double can be added to");
    T sum{};
    if constexpr (std::is_same_v<T, double>)
      detail::check(inturn_value_add_double(this->raw_, difference, &sum),
                    "add");
    else
      detail::check(inturn_value_add(this->raw_, difference, &sum), "add");
    return sum;
  }
};

/* An observed value of one's own; ends its observations when it is destroyed.
   The label is for reports. */
template <class T>
class value : public owned<value_ref<T>, inturn_value_destroy> {
  using owner = owned<value_ref<T>, inturn_value_destroy>;

public:
  explicit value(const T &initial, const std::string &label = {}) {
    inturn_value_options options = INTURN_VALUE_OPTIONS_INIT;
    options.label = detail::text_or_null(label);
    options.release = detail::datum_of<T>::release;
    const inturn_datum first = detail::datum_of<T>::make(initial);
    const inturn_status status =
        inturn_value_create(&options, &first, &this->raw_);
    if (status != INTURN_OK)
      detail::datum_of<T>::drop(first);
    detail::check(status, "value");
  }
  value(owner &&other) noexcept : owner(std::move(other)) {}
};

/* A state of the library's, which it alone changes. It may outlive what it
   tells of: then it keeps the last state, and its observations end. */
template <class T>
class observed : public owned<observed_ref<T>, inturn_value_destroy> {
  using owner = owned<observed_ref<T>, inturn_value_destroy>;

public:
  observed() noexcept = default;
  observed(owner &&other) noexcept : owner(std::move(other)) {}
};

inline observed<operation_state> operation_ref::observed_state() const {
  inturn_value raw{};
  detail::check(
      inturn_operation_create_value(raw_, INTURN_OPERATION_STATE, &raw),
      "observed_state");
  return observed<operation_state>::adopt(raw);
}

inline observed<progress> operation_ref::observed_progress() const {
  inturn_value raw{};
  detail::check(
      inturn_operation_create_value(raw_, INTURN_OPERATION_PROGRESS, &raw),
      "observed_progress");
  return observed<inturn::progress>::adopt(raw);
}

inline observed<progress> batch_ref::observed_progress() const {
  inturn_value raw{};
  detail::check(inturn_batch_create_value(raw_, &raw), "observed_progress");
  return observed<progress>::adopt(raw);
}

namespace detail {

template <class T>
observed<T> state_of(inturn_queue queue, inturn_queue_aspect aspect) {
  inturn_value raw{};
  detail::check(inturn_queue_create_value(queue, aspect, &raw), "observed");
  return observed<T>::adopt(raw);
}

} // namespace detail

inline observed<std::int64_t> queue_ref::observed_pending() const {
  return detail::state_of<std::int64_t>(raw_, INTURN_QUEUE_PENDING);
}
inline observed<std::int64_t> queue_ref::observed_running() const {
  return detail::state_of<std::int64_t>(raw_, INTURN_QUEUE_RUNNING);
}
inline observed<bool> queue_ref::observed_suspended() const {
  return detail::state_of<bool>(raw_, INTURN_QUEUE_SUSPENDED);
}
inline observed<progress> queue_ref::observed_progress() const {
  return detail::state_of<progress>(raw_, INTURN_QUEUE_PROGRESS);
}
inline observed<nanoseconds> queue_ref::observed_next_start() const {
  return detail::state_of<nanoseconds>(raw_, INTURN_QUEUE_NEXT_START);
}

} // namespace inturn

#endif /* INTURN_CXX_VALUE_HPP */
