/*
 * executor.hpp - executors and clocks of inturn.hpp; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_EXECUTOR_HPP
#define INTURN_CXX_EXECUTOR_HPP

#include <inturn/cxx/handle.hpp>

namespace inturn {

/* Names an executor: where work is called. */
class executor_ref : public basic_ref<inturn_executor> {
public:
  using basic_ref::basic_ref;

  /* Calls what waits, at most so many calls (0: until nothing waits), and gives
     their number. Never blocks. Work's exceptions do not arrive here.
     Throws error(unsupported) for a pool, error(wrong_thread). */
  std::uint32_t drain(std::uint32_t max_calls = 0) const {
    std::uint32_t calls = 0;
    detail::check(inturn_executor_drain(raw_, max_calls, &calls), "drain");
    return calls;
  }

  /* Drains, and sleeps when nothing waits, until stop(). */
  void run() const { detail::check(inturn_executor_run(raw_), "run"); }

  /* Makes run() return. */
  void stop() const { detail::check(inturn_executor_stop(raw_), "stop"); }

  /* Waits until work waits, and calls nothing. False when the time is over. */
  bool wait_for(time_limit limit) const {
    return detail::succeeded(
        inturn_executor_wait(raw_, limit.nanoseconds(), nullptr),
        INTURN_E_TIMED_OUT, "wait_for");
  }

  /* Readable while work waits; stays the executor's. */
  int fd() const {
    int fd = -1;
    detail::check(inturn_executor_fd(raw_, &fd), "fd");
    return fd;
  }

  /* Sets what is called, from any thread, when it has work where it had none;
     an empty callback: nothing. It only wakes the thread that drains, and
     throws nothing. */
  void set_wake(callback<void()> wake) const {
    detail::for_c<callback<void()>> c(std::move(wake));
    detail::check(inturn_executor_set_wake(raw_, c.function(call_wake),
                                           c.context, c.destroy),
                  "set_wake");
  }

  /* For event loops that have no adapter in include/inturn: see inturn.h. */
  void attach(const char *loop, void *data = nullptr) const {
    detail::check(inturn_executor_attach(raw_, loop, data), "attach");
  }
  void *attached(const char *loop) const {
    void *data = nullptr;
    detail::check(inturn_executor_get_attached(raw_, loop, &data), "attached");
    return data;
  }
  void detach(const char *loop) const {
    detail::check(inturn_executor_detach(raw_, loop), "detach");
  }

protected:
  static void call_wake(void *context) noexcept {
    (*static_cast<callback<void()> *>(context))();
  }
};

/* The executor of the process's main thread. */
inline executor_ref main_executor() {
  inturn_executor raw{};
  detail::check(inturn_executor_main(&raw), "main_executor");
  return executor_ref(raw);
}

/* The library's own pool. */
inline executor_ref pool() {
  inturn_executor raw{};
  detail::check(inturn_executor_pool(&raw), "pool");
  return executor_ref(raw);
}

/* As inturn_executor_options. */
struct executor_options {
  std::uint32_t workers = 0; /* 0: driven by the host; else a pool of its own */
  std::uint32_t max_workers = 0;
  std::uint32_t host_threads = 0;
  std::string label{};
  callback<void()> wake{}; /* see executor_ref::set_wake */
};

/* An executor of one's own. It is destroyed after the queues that use it:
   declare it before them. */
class executor : public owned<executor_ref, inturn_executor_destroy> {
public:
  explicit executor(executor_options options = {}) {
    inturn_executor_options raw = INTURN_EXECUTOR_OPTIONS_INIT;
    raw.label = detail::text_or_null(options.label);
    const detail::for_c<callback<void()>> c(std::move(options.wake));
    raw.workers = options.workers;
    raw.max_workers = options.max_workers;
    raw.host_threads = options.host_threads;
    raw.wake = c.function(call_wake);
    raw.wake_context = c.context;
    raw.wake_destroy = c.destroy;
    detail::check(inturn_executor_create(&raw, &raw_), "executor");
  }
  executor(owned &&other) noexcept : owned(std::move(other)) {}
};

/* Names a clock; null is the system's, which is monotonic and does not count
   while the machine sleeps. */
class clock_ref : public basic_ref<inturn_clock> {
public:
  using basic_ref::basic_ref;

  std::chrono::nanoseconds now() const {
    std::int64_t now = 0;
    detail::check(inturn_clock_now(raw_, &now), "now");
    return std::chrono::nanoseconds(now);
  }

  /* Advances a manual clock. When this returns, what fell due has been handed
     to its executors. */
  void advance(std::chrono::nanoseconds by) const {
    detail::check(inturn_clock_advance(raw_, by.count()), "advance");
  }
};

/* A clock that stands still until it is advanced. It is destroyed after the
   queues that use it: declare it before them. */
class manual_clock : public owned<clock_ref, inturn_clock_destroy> {
public:
  manual_clock() {
    detail::check(inturn_clock_create_manual(&raw_), "manual_clock");
  }
  manual_clock(owned &&other) noexcept : owned(std::move(other)) {}
};

} // namespace inturn

#endif /* INTURN_CXX_EXECUTOR_HPP */
