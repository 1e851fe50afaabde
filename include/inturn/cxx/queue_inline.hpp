/*
 * queue_inline.hpp - how queue.hpp does it; include inturn.hpp.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_QUEUE_INLINE_HPP
#define INTURN_CXX_QUEUE_INLINE_HPP

#include <inturn/cxx/queue.hpp>

namespace inturn {

namespace detail {

/* None is none here, and less than that is refused. */
inline std::int64_t c_delay(std::chrono::nanoseconds delay) noexcept {
  if (delay.count() == 0)
    return INTURN_NO_DELAY;
  return delay.count() < 0 ? INT64_MIN : delay.count();
}

} // namespace detail

inline queue::queue(queue_kind kind, queue_options options) {
  inturn_queue_options raw = INTURN_QUEUE_OPTIONS_INIT;
  raw.label = detail::text_or_null(options.label);
  const detail::for_c<event_callback> c(std::move(options.on_event));
  raw.max_concurrent = options.max_concurrent;
  raw.executor = options.executor.raw();
  raw.capacity = options.capacity;
  raw.clock = options.clock.raw();
  raw.settle_ns = detail::c_delay(options.settle);
  raw.gap_ns = detail::c_delay(options.gap);
  raw.rate = detail::c_rate(options.rate.value_or(rate()));
  raw.on_event = c.function(tell_event);
  raw.event_context = c.context;
  raw.event_destroy = c.destroy;
  raw.stall_ns = options.stall.count();
  detail::check(
      inturn_queue_create(static_cast<inturn_queue_kind>(kind), &raw, &raw_),
      "queue");
  ending_.cancels = options.when_destroyed == when_destroyed::cancel;
  ending_.goes_by_executor =
      options.when_destroyed == when_destroyed::automatic &&
      kind != queue_kind::interaction;
  ending_.drains = options.when_destroyed == when_destroyed::drain ||
                   (ending_.goes_by_executor &&
                    (!options.executor || options.executor == pool()));
}

namespace detail {

/* Whether the options have a callback, which shares the work's context. */
inline bool has_callbacks(const operation_options &options) noexcept {
  return options.on_end || options.condition ||
         (options.retry && options.retry->decide);
}

/* A result as it is kept: a reference is not an object. */
template <class T>
using kept =
    std::conditional_t<std::is_lvalue_reference_v<T>,
                       std::reference_wrapper<std::remove_reference_t<T>>, T>;

/* What queue_ref::run shares between the work and its end, which delivers it. A
   task, not a promise: that bears what moving the result throws. */
template <class Result> struct run_state {
  std::optional<kept<Result>> result;
  std::exception_ptr thrown;
  std::packaged_task<Result()> deliver{[this]() -> Result {
    if (thrown)
      std::rethrow_exception(thrown);
    return std::move(*result);
  }};

  template <class Call> void keep(Call call) { result.emplace(call()); }
  bool is_kept() const noexcept { return result.has_value(); }
};

template <> struct run_state<void> {
  bool kept = false;
  std::exception_ptr thrown;
  std::packaged_task<void()> deliver{[this] {
    if (thrown)
      std::rethrow_exception(thrown);
  }};

  template <class Call> void keep(Call call) { call(), kept = true; }
  bool is_kept() const noexcept { return kept; }
};

} // namespace detail

inline inturn_status queue_ref::put(work &&work, inturn_operation *out) const {
  const inturn_work_fn function = work.function();
  const inturn_destroy_fn destroy = work.destroy();
  return inturn_queue_enqueue_at(work.site(), raw_, function, work.release(),
                                 destroy, out);
}

inline inturn_status queue_ref::put(work &&work, operation_options &options,
                                    inturn_operation *out) const {
  const inturn_work_fn function = work.function();
  const inturn_destroy_fn destroy = work.destroy();
  const detail::c_operation_options c(options);
  inturn_site *const site = work.site();
  if (!detail::has_callbacks(options))
    return inturn_queue_enqueue_with_at(site, raw_, &c.raw, function,
                                        work.release(), destroy, out);

  /* One context for all: it is destroyed after the last of its callbacks. */
  auto *context = new detail::equipped_work(std::move(work), options);
  inturn_operation_options raw = c.raw;
  raw.end_context = raw.on_end == nullptr ? nullptr : context;
  return inturn_queue_enqueue_with_at(
      site, raw_, &raw,
      function == nullptr ? nullptr : detail::equipped_work::run, context,
      detail::equipped_work::let_go, out);
}

template <class F>
auto queue_ref::run(F &&function, operation_options options, const char *file,
                    unsigned line, const char *caller) const {
  using function_type = std::decay_t<F>;
  using given_type = decltype(detail::call_with(std::declval<function_type &>(),
                                                std::declval<token_ref>()));
  using result_type = typename detail::result_of<given_type>::type;
  using state_type = detail::run_state<result_type>;

  if (detail::is_nothing<function_type>(function))
    throw error(errc::invalid_argument, "work");
  const auto state = std::make_shared<state_type>();
  std::future<result_type> future = state->deliver.get_future();
  options.on_end = [state,
                    also = std::move(options.on_end)](const end &end) mutable {
    if (also)
      also(end);
    /* One that was skipped, or has joined another, finished without a call. */
    if (end.outcome != outcome::finished || !state->is_kept()) {
      state->thrown = end.exception;
      try {
        if (!state->thrown)
          throw not_finished(end);
      } catch (...) {
        state->thrown = std::current_exception();
      }
    }
    state->deliver();
  };
  auto kept = [state, function = function_type(std::forward<F>(function))](
                  token_ref token) mutable {
    if constexpr (detail::is_task<given_type>::value)
      return keep(*state, function, token);
    else
      state->keep([&]() -> decltype(auto) {
        return detail::call_with(function, token);
      });
  };
  if constexpr (detail::is_task<given_type>::value)
    post(work(std::move(kept), file, line, caller), std::move(options));
  else
    post(work(
             [kept = std::move(kept)](token token) mutable {
               kept(token);
               token.finish();
             },
             file, line, caller),
         std::move(options));
  return future;
}

inline batch queue_ref::enqueue_batch(std::vector<work> works,
                                      batch_options options, const char *file,
                                      unsigned line, const char *caller) const {
  using end_callback = callback<void(batch_ref, const batch_end &)>;
  if (detail::has_callbacks(options.operation))
    throw error(errc::invalid_argument, "enqueue_batch");
  const detail::c_operation_options each(options.operation);

  std::vector<inturn_batch_item> items(works.size());
  for (std::size_t i = 0; i < works.size(); i++)
    items[i] = {works[i].function(), nullptr, works[i].destroy()};
  const detail::for_c<end_callback> c(std::move(options.on_end));

  inturn_batch_options raw = INTURN_BATCH_OPTIONS_INIT;
  raw.policy = static_cast<inturn_batch_policy>(options.policy);
  raw.enough = options.enough;
  raw.operation = &each.raw;
  raw.on_end =
      c.function(+[](void *context, const inturn_batch_end *end) noexcept {
        const detail::call_scope call;
        (*static_cast<end_callback *>(context))(batch_ref(end->batch),
                                                batch_end(*end));
      });
  raw.end_context = c.context;
  raw.end_destroy = c.destroy;
  raw.edges = options.edges.data();
  raw.edge_count = options.edges.size();

  /* Nothing throws from here on. */
  for (std::size_t i = 0; i < works.size(); i++)
    items[i].context = works[i].release();
  inturn_batch out{};
  inturn_site site{file, caller, line, 0};
  detail::check(inturn_queue_enqueue_batch_at(&site, raw_, &raw, items.data(),
                                              items.size(), &out),
                "enqueue_batch");
  return batch::adopt(out);
}

} // namespace inturn

#endif /* INTURN_CXX_QUEUE_INLINE_HPP */
