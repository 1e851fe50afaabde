/*
 * coroutine.hpp - coroutines in turn; what inturn.hpp has with C++20.
 *
 * SPDX-License-Identifier: MIT
 *
 *     inturn::task<> upload(inturn::queue_ref uploads, file file) {
 *       auto turn = co_await uploads.turn(); // the queue's, until it is gone
 *       co_await send(file);                 // meanwhile the others wait
 *     }
 *     auto operation = uploads.enqueue([&] { return send(first); });
 *     auto end = co_await operation;
 *
 * A coroutine goes on where that resumes it which it has awaited: a turn inside
 * a call of the queue's executor, so that it blocks on nothing there that the
 * queue has to do first (see section 9 of inturn.h); an operation's end on the
 * library's pool. A coroutine that waits for one of the two is resumed in any
 * case, and must not be destroyed before that. Tasks that are over without a
 * wait, one after another in a loop, take no more stack than one; with GCC from
 * -O2 on (or -foptimize-sibling-calls), below which some 50,000 overflow it.
 *
 * Deadlock: inside of a task that is work, and of the tasks that it awaits,
 * both throw errc::deadlock when the wait could never end, also round a ring of
 * threads and other tasks.
 */
#ifndef INTURN_CXX_COROUTINE_HPP
#define INTURN_CXX_COROUTINE_HPP

#include <inturn/cxx/queue.hpp>
#include <inturn/cxx/value.hpp>

#if defined(__cpp_impl_coroutine)

#include <atomic>
#include <coroutine>

namespace inturn {

/* A turn of a queue: the queue waits until this is gone, on whatever thread.
   The functions that end it before that are a token's. Move-only. */
class [[nodiscard]] turn {
public:
  explicit turn(inturn_token token) noexcept : token_(token) {}
  turn(turn &&) = default;
  turn &operator=(turn &&other) noexcept {
    if (this != &other) {
      end();
      token_ = std::move(other.token_);
    }
    return *this;
  }
  ~turn() { end(); }

  bool finish() { return token_ && token_.finish(); }
  bool fail(std::int32_t code) { return token_ && token_.fail(code); }
  bool cancel() { return token_ && token_.cancel(); }

  /* Whether to stop: it was asked to end, or has ended. */
  bool is_cancelled() const { return !token_ || token_.is_cancelled(); }
  bool on_cancel(callback<void(token_ref)> handler) const {
    return token_ && token_.on_cancel(std::move(handler));
  }

private:
  /* Throws nothing: one from before a fork is the parent's. */
  void end() noexcept {
    if (token_)
      inturn_token_finish(token_.release());
  }

  token token_;
};

namespace detail {

/* What the promise of a task has: the operation that it is the work of. */
struct work_promise {
  inturn_token inside{};
};

/* The operation that a coroutine is the work of; null if it is not known. */
template <class Promise>
inturn_token work_of(std::coroutine_handle<Promise> waiting) {
  if constexpr (std::is_base_of_v<work_promise, Promise>)
    return waiting.promise().inside;
  else
    return {};
}

/* Begins a wait of that operation's task. Throws errc::deadlock. */
inline inturn_await begin_task_await(std::uint64_t awaited, inturn_token inside,
                                     inturn_site *site) {
  inturn_await begun{};
  if (!inside.bits) {
    inturn_report_set_awaited(awaited); /* for reports alone */
    return begun;
  }
  inturn_report_wait_at(site);
  const inturn_status status = inturn_await_begin(awaited, &inside, 1, &begun);
  if (status == INTURN_E_DEADLOCK)
    detail::check(status, "co_await");
  return begun; /* null where the wait is over, or holds nothing up */
}

inline void end_await(inturn_await begun) noexcept {
  if (begun.bits)
    inturn_await_end(begun);
}

/* What co_await of a turn waits with. */
class turn_awaiter {
public:
  turn_awaiter(queue_ref queue, operation_options &&options, const char *file,
               unsigned line, const char *caller)
      : state_(std::make_shared<shared>()) {
    /* A coroutine does not go through its turn again. */
    if (options.retry)
      throw error(errc::invalid_argument, "turn");
    state_->queue = queue;
    state_->site = {file, caller, line, 0};
    state_->options = std::move(options);
  }

  bool await_ready() const noexcept { return false; }

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> suspended) {
    const std::coroutine_handle<> waiting = suspended;
    const inturn_token inside = detail::work_of(suspended);
    /* The coroutine may have gone on, and this be gone, before the queue's
       function has returned. */
    const auto state = state_;
    operation_options options = std::move(state->options);
    options.on_end = [state, waiting, also = std::move(options.on_end)](
                         const end &end) mutable {
      if (also)
        also(end);
      if (state->is_resumed.exchange(true))
        return;
      /* It has ended before its work was called. */
      state->end = end;
      state->end->label = {};
      waiting.resume();
    };
    work come(
        [state, waiting](token token) {
          if (state->is_resumed.exchange(true)) {
            token.cancel(); /* the turn was refused, and comes all the same */
            return;
          }
          state->token = token.release();
          waiting.resume();
        },
        state->site.file, state->site.line, state->site.function);
    if (!inside.bits)
      return state->queue.post(std::move(come), std::move(options));
    const operation made =
        state->queue.enqueue(std::move(come), std::move(options));
    try {
      const inturn_await begun =
          detail::begin_task_await(made.raw().bits, inside, &state->site);
      /* If it has gone on since, nobody else ends the wait. */
      if (state->begun.exchange(begun.bits) == shared::over)
        detail::end_await(begun);
    } catch (const error &) {
      if (!state->is_resumed.exchange(true)) { /* it is not to go on */
        made.cancel();
        throw;
      }
    }
  }

  /* Throws not_finished: the turn never came. */
  inturn::turn await_resume() {
    detail::end_await({state_->begun.exchange(shared::over)});
    if (state_->end)
      throw not_finished(*state_->end);
    return inturn::turn(state_->token);
  }

private:
  struct shared {
    queue_ref queue;
    operation_options options;            /* until it waits */
    inturn_site site{};                   /* of the turn */
    std::atomic<bool> is_resumed = false; /* by the work, or by the end */
    /* The wait's, once it has begun; `over` once the coroutine goes on. */
    static constexpr std::uint64_t over = ~std::uint64_t{};
    std::atomic<std::uint64_t> begun{0};
    inturn_token token{};
    std::optional<inturn::end> end;
  };

  /* All of it: awaiters are moved by their bytes by some compilers. */
  std::shared_ptr<shared> state_;
};

/* What queue_ref::turn gives, to be awaited once. */
struct turn_awaitable {
  turn_awaiter awaiter;

  turn_awaiter operator co_await() &&noexcept { return std::move(awaiter); }
};

/* What co_await of an operation waits with. */
class end_awaiter {
public:
  explicit end_awaiter(operation_ref awaited) : operation_(awaited) {}

  bool await_ready() {
    return (end_ = operation_.wait_for(nanoseconds(0))).has_value();
  }

  /* The line of the co_await, of which this is called. */
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> waiting, caller from = {}) {
    begun_ = detail::begin_task_await(operation_.raw().bits,
                                      detail::work_of(waiting), from.site());
    try {
      watch(waiting);
    } catch (...) {
      detail::end_await(begun_);
      throw;
    }
  }

  end await_resume() {
    detail::end_await(begun_);
    return end_ ? *end_ : operation_.wait();
  }

private:
  void watch(std::coroutine_handle<> waiting) {
    auto watch = std::make_unique<watcher>();
    watch->state = operation_.observed_state();
    watch->waiting = waiting;
    inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
    options.initial = true;
    detail::check(inturn_executor_pool(&options.executor), "co_await");
    const inturn_value value = watch->state.raw();
    /* The observation is over once it has told that the operation has ended; or
       when this fails, and throws. */
    detail::check(inturn_value_observe(value, &options, watcher::tell,
                                       watch.release(), destroy<watcher>,
                                       nullptr),
                  "co_await");
  }

  struct watcher {
    observed<operation_state> state;
    std::coroutine_handle<> waiting;

    static void tell(void *context, const inturn_change *change) noexcept {
      const call_scope call;
      if (change->after.integer == INTURN_ENDED)
        static_cast<watcher *>(context)->waiting.resume();
    }
  };

  operation_ref operation_;
  std::optional<end> end_;
  inturn_await begun_{};
};

} // namespace detail

/* Waits until the operation has ended, and gives its end. */
inline detail::end_awaiter operator co_await(operation_ref awaited) {
  return detail::end_awaiter(awaited);
}

inline detail::turn_awaitable queue_ref::turn(const char *file, unsigned line,
                                              const char *caller) const {
  return {{*this, operation_options(), file, line, caller}};
}

inline detail::turn_awaitable queue_ref::turn(operation_options &&options,
                                              const char *file, unsigned line,
                                              const char *caller) const {
  return {{*this, std::move(options), file, line, caller}};
}

/* A coroutine that begins when it is awaited, and gives what it returns, which
   may be a reference, or throws to the one that awaits it. As work, it is an
   operation that lasts until it is over. Move-only; awaited once. */
template <class T = void> class [[nodiscard]] task;

namespace detail {

template <class T> struct is_task<task<T>> : std::true_type {};

/* What a task's promise has whatever it gives. */
struct task_promise_base : work_promise {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr thrown;

  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct to_continuation {
      std::coroutine_handle<> continuation;
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        return continuation;
      }
      void await_resume() noexcept {}
    };
    return to_continuation{continuation};
  }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
};

template <class T> struct task_promise : task_promise_base {
  static_assert(!std::is_rvalue_reference_v<T>,
                "a task gives a T or a T &, as a std::future does");
  std::optional<kept<T>> result;

  task<T> get_return_object();
  template <class U = T> void return_value(U &&value) {
    result.emplace(std::forward<U>(value));
  }
  T take() { return std::move(*result); }
};

template <> struct task_promise<void> : task_promise_base {
  task<void> get_return_object();
  void return_void() noexcept {}
  void take() noexcept {}
};

/* What co_await of a task waits with: the task begins. */
template <class Promise> struct task_awaiter {
  std::coroutine_handle<Promise> coroutine;

  bool await_ready() const noexcept { return false; }
  template <class Waiting>
  std::coroutine_handle<>
  await_suspend(std::coroutine_handle<Waiting> waiting) {
    coroutine.promise().continuation = waiting;
    coroutine.promise().inside = detail::work_of(waiting);
    return coroutine;
  }
  decltype(auto) await_resume() {
    if (coroutine.promise().thrown)
      std::rethrow_exception(coroutine.promise().thrown);
    return coroutine.promise().take();
  }
};

} // namespace detail

template <class T> class [[nodiscard]] task {
public:
  using promise_type = detail::task_promise<T>;

  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept
      : coroutine_(coroutine) {}
  task(task &&other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  task &operator=(task &&) = delete;
  ~task() {
    if (coroutine_)
      coroutine_.destroy();
  }

  auto operator co_await() &&noexcept {
    return detail::task_awaiter<promise_type>{coroutine_};
  }

private:
  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T> task<T> task_promise<T>::get_return_object() {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

template <class T> struct result_of<task<T>> { using type = T; };

/* Keeps what the task gives that `function` gives, for queue_ref::run. Both
   stay until the operation has ended. */
template <class State, class F>
task<void> keep(State &state, F &function, token_ref token) {
  using result =
      typename result_of<decltype(detail::call_with(function, token))>::type;
  if constexpr (std::is_void_v<result>) {
    co_await detail::call_with(function, token);
    state.keep([] {});
  } else {
    result value = co_await detail::call_with(function, token);
    state.keep([&]() -> result && { return static_cast<result &&>(value); });
  }
}

/* A coroutine that nobody awaits. */
struct on_its_own {
  struct promise_type : work_promise {
    template <class F>
    promise_type(const std::shared_ptr<F> &, inturn_token token,
                 const thrown_sink &, const place &) noexcept
        : work_promise{token} {}

    on_its_own get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/* Holds who gets what a coroutine throws. */
struct held_sink {
  explicit held_sink(thrown_sink to) noexcept : sink(to) {
    if (sink.hold != nullptr)
      sink.hold(sink.context);
  }
  held_sink(const held_sink &) = delete;
  held_sink &operator=(const held_sink &) = delete;
  ~held_sink() {
    if (sink.let_go != nullptr)
      sink.let_go(sink.context);
  }

  thrown_sink sink;
};

/* Performs the task that work gives, and ends its operation, unless that was
   cut off meanwhile. The function and the sink stay until the task is over, and
   not until the end: what they hold is the operation's, which destroys it. */
template <class F>
on_its_own perform(std::shared_ptr<F> function, inturn_token token,
                   thrown_sink sink, place from) {
  std::optional<std::int32_t> failed;
  {
    const held_sink held(sink);
    try {
      co_await detail::call_with(*function, token_ref(token));
    } catch (...) {
      failed = give_thrown(std::current_exception(), sink, token, from);
    }
    function.reset();
  }
  if (failed)
    inturn_token_fail(token, *failed);
  else
    inturn_token_finish(token);
}

} // namespace detail

} // namespace inturn

#endif
#endif /* INTURN_CXX_COROUTINE_HPP */
