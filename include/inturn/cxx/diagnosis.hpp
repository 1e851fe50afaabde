/*
 * diagnosis.hpp - reports and counts of inturn.hpp; include that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INTURN_CXX_DIAGNOSIS_HPP
#define INTURN_CXX_DIAGNOSIS_HPP

#include <inturn/cxx/handle.hpp>

#include <cstddef>
#include <exception>
#include <type_traits>

namespace inturn {

/* What the library noticed; valid during the call. */
using report = inturn_report;

/* Sets the process's report handler, in place of the one it had; an empty one:
   the default, which writes a line to the standard error. It is called on any
   thread, by several at once; it must not block, and throws nothing. */
inline void set_report_handler(callback<void(const report &)> handler) {
  using handler_type = callback<void(const report &)>;
  const detail::for_c<handler_type> c(std::move(handler));
  const auto call = +[](void *context, const inturn_report *told) noexcept {
    (*static_cast<handler_type *>(context))(*told);
  };
  detail::check(
      inturn_report_set_handler(c.function(call), c.context, c.destroy),
      "set_report_handler");
}

namespace detail {

inline void send_report(inturn_report_kind kind, const char *message) noexcept {
  inturn_report report = INTURN_REPORT_INIT;
  report.kind = kind;
  report.message = message;
  inturn_report_send(&report);
}

} // namespace detail

/* After how long what stands still is reported as stuck. Zero: the default;
   below zero: never. */
inline void set_stall_limit(std::chrono::nanoseconds limit) {
  detail::check(inturn_report_set_stall_limit(limit.count()),
                "set_stall_limit");
}

/* Calls a visitor with each inturn_entry of a snapshot, on this thread, until
   it returns false: see inturn_snapshot. An entry is valid during the call.
   What the visitor throws ends the snapshot and comes out of this call. */
template <typename Visitor> void snapshot(Visitor &&visitor) {
  struct visit {
    std::remove_reference_t<Visitor> &visitor;
    std::exception_ptr thrown;
  } all{visitor, nullptr};
  const auto call = +[](void *context, const inturn_entry *entry) noexcept {
    auto &self = *static_cast<visit *>(context);
    try {
      return bool(self.visitor(*entry));
    } catch (...) {
      self.thrown = std::current_exception();
      return false;
    }
  };
  detail::check(inturn_snapshot(call, &all), "snapshot");
  if (all.thrown)
    std::rethrow_exception(all.thrown);
}

/* Writes a snapshot of all that there is to a descriptor: see inturn_dump. */
inline void dump(int fd, inturn_dump_format format = INTURN_DUMP_TEXT) {
  detail::check(inturn_dump(fd, format), "dump");
}

/* Records from now on what threads do with queues, in memory of this size; 0
   stands for 16 MiB. See inturn_trace_start. */
inline void start_trace(std::size_t bytes = 0) {
  detail::check(inturn_trace_start(bytes), "start_trace");
}

/* Stops that. What was recorded can still be written. */
inline void stop_trace() { detail::check(inturn_trace_stop(), "stop_trace"); }

/* Writes what was recorded to a descriptor, for Perfetto and Chrome. */
inline void write_trace(int fd) {
  detail::check(inturn_trace_write(fd), "write_trace");
}

/* Counts of the whole library. */
inline inturn_library_statistics statistics() {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  detail::check(inturn_library_get_statistics(&statistics), "statistics");
  return statistics;
}

} // namespace inturn

#endif /* INTURN_CXX_DIAGNOSIS_HPP */
