// scheduler.hpp - what runs schedules needs of the scheduler.
//
// SPDX-License-Identifier: MIT
#ifndef MODEL_SCHEDULER_HPP
#define MODEL_SCHEDULER_HPP

#include "chooser.hpp"
#include "scheduler.h"

namespace model {

// What is known of a schedule while it runs and after it has failed. It lies
// in memory that the process shares with the one that started it.
struct Record {
  static constexpr uint32_t mostDeviations = 4096;
  uint32_t decisions;
  uint32_t switches;
  uint32_t count; // of deviations; more than fit are not kept
  Deviation deviations[mostDeviations];
  char failure[2048];
};

// One question as the exhaustive search wants to see it.
struct Asked {
  Question::Kind kind;
  uint32_t options;
};

struct Settings {
  Chooser *chooser;
  Record *record;
  std::vector<Asked> *asked = nullptr; // gets all questions
  bool isTraced = false;               // prints what happens
};

// Runs one schedule: `body` on the thread that the schedule begins with, and
// whatever threads that starts. Threads of the engine stay for the next one.
void runSchedule(const Settings &settings, void (*body)());

} // namespace model

#endif
