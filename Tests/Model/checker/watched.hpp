// A watchdog in a scenario, and what it reports.
#pragma once

#include "checker.hpp"

#include <algorithm>

namespace model {

// Runs the watchdog while it is in scope. It has to be destroyed before the
// queues: time passes as long as something is pending.
class Watched {
public:
  uint32_t told = 0;
  std::vector<std::string> messages;
  std::function<void()> onReport = [] {};

  explicit Watched(int64_t limit = 1000000) {
    expect("set_report_handler", inturn_report_set_handler(take, this, nullptr),
           {INTURN_OK});
    setLimit(limit);
  }
  ~Watched() {
    setLimit(-1);
    model_settle(false);
    expect("set_report_handler",
           inturn_report_set_handler(nullptr, nullptr, nullptr), {INTURN_OK});
  }
  static void setLimit(int64_t limit) {
    expect("set_stall_limit", inturn_report_set_stall_limit(limit),
           {INTURN_OK});
  }
  void awaitReport(uint32_t count = 1) {
    await("a report", [&, count] { return told >= count; });
  }
  // How many reports contain this text.
  long saying(const std::string &text) const {
    return std::count_if(messages.begin(), messages.end(), [&](auto &message) {
      return message.find(text) != std::string::npos;
    });
  }
  void awaitSaying(const char *text) {
    await(text, [=, this] { return saying(text) > 0; });
  }

private:
  static void take(void *context, const inturn_report *report) {
    if (report->kind != INTURN_REPORT_STALL)
      return;
    Watched &self = *static_cast<Watched *>(context);
    model_note("report: %s", report->message);
    CHECK(report->chain_count > 0 && report->stalled_ns > 0);
    self.messages.push_back(report->message);
    self.told++;
    self.onReport();
  }
};

} // namespace model
