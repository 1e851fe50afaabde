/*
 * error.hpp - what inturn.hpp throws; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_ERROR_HPP
#define INTURN_CXX_ERROR_HPP

#include <inturn.h>

#include <cstdint>
#include <exception>
#include <string>
#include <system_error>

/* What a process has once, also when its shared objects hide the rest. */
#if defined(__GNUC__) && !defined(_WIN32)
#define INTURN_CXX_SHARED __attribute__((visibility("default")))
#else
#define INTURN_CXX_SHARED
#endif

namespace inturn {

/* The statuses of inturn.h, whose comments say what they mean, as error codes:
   `code == inturn::errc::full`. */
enum class errc : int {
  invalid_argument = INTURN_E_INVALID_ARGUMENT,
  null_handle = INTURN_E_NULL_HANDLE,
  stale = INTURN_E_STALE,
  wrong_kind = INTURN_E_WRONG_KIND,
  already_finished = INTURN_E_ALREADY_FINISHED,
  closed = INTURN_E_CLOSED,
  full = INTURN_E_FULL,
  not_suspended = INTURN_E_NOT_SUSPENDED,
  timed_out = INTURN_E_TIMED_OUT,
  cancelled = INTURN_E_CANCELLED,
  deadlock = INTURN_E_DEADLOCK,
  wrong_thread = INTURN_E_WRONG_THREAD,
  forked = INTURN_E_FORKED,
  no_memory = INTURN_E_NO_MEMORY,
  unsupported = INTURN_E_UNSUPPORTED,
  busy = INTURN_E_BUSY
};

namespace detail {

class INTURN_CXX_SHARED status_category final : public std::error_category {
public:
  const char *name() const noexcept override { return "inturn"; }

  std::string message(int status) const override {
    return inturn_status_message(static_cast<inturn_status>(status));
  }

  std::error_condition
  default_error_condition(int status) const noexcept override {
    switch (static_cast<inturn_status>(status)) {
    case INTURN_E_INVALID_ARGUMENT:
      return std::errc::invalid_argument;
    case INTURN_E_TIMED_OUT:
      return std::errc::timed_out;
    case INTURN_E_CANCELLED:
      return std::errc::operation_canceled;
    case INTURN_E_DEADLOCK:
      return std::errc::resource_deadlock_would_occur;
    case INTURN_E_NO_MEMORY:
      return std::errc::not_enough_memory;
    case INTURN_E_UNSUPPORTED:
      return std::errc::not_supported;
    case INTURN_E_BUSY:
      return std::errc::device_or_resource_busy;
    default:
      return {status, *this};
    }
  }
};

} // namespace detail

/* The category of errc. Those of its codes that have a counterpart in
   std::errc are equivalent to it: timed_out, deadlock, and so on. */
INTURN_CXX_SHARED inline const std::error_category &category() noexcept {
  static const detail::status_category only;
  return only;
}

inline std::error_code make_error_code(errc status) noexcept {
  return {static_cast<int>(status), category()};
}

/* A call was refused, and nothing has changed. */
class INTURN_CXX_SHARED error : public std::system_error {
public:
  error(errc status, const char *call)
      : std::system_error(make_error_code(status), call) {}

  errc status() const noexcept { return static_cast<errc>(code().value()); }
};

/* For work to throw: its operation ends as failed with this code. Any other
   exception ends it with the code 1. */
class INTURN_CXX_SHARED failure : public std::exception {
public:
  explicit failure(std::int32_t code) noexcept : code_(code) {}

  std::int32_t code() const noexcept { return code_; }
  const char *what() const noexcept override { return "the work has failed"; }

private:
  std::int32_t code_;
};

namespace detail {

inline std::error_code code_of(inturn_status status) noexcept {
  return {static_cast<int>(status), category()};
}

/* Throws unless the call has succeeded. */
inline void check(inturn_status status, const char *call) {
  if (status != INTURN_OK)
    throw error(static_cast<errc>(status), call);
}

/* Whether the call has succeeded; false with the one status that the caller
   expects. Throws with any other. */
inline bool succeeded(inturn_status status, inturn_status expected,
                      const char *call) {
  if (status == expected)
    return false;
  detail::check(status, call);
  return true;
}

/* The code with which this exception fails an operation. */
inline std::int32_t failure_code(const std::exception_ptr &thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const failure &failure) {
    return failure.code();
  } catch (...) {
    return 1;
  }
}

} // namespace detail

} // namespace inturn

template <> struct std::is_error_code_enum<inturn::errc> : std::true_type {};

#endif /* INTURN_CXX_ERROR_HPP */
