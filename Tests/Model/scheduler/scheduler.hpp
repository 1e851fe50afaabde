// scheduler.hpp - the scheduler for code that runs schedules.
//
// SPDX-License-Identifier: MIT
#ifndef MODEL_SCHEDULER_HPP
#define MODEL_SCHEDULER_HPP

#include "chooser.hpp"
#include "scheduler.h"

namespace model {

// What is known of a schedule while it runs and after it has failed. It is in
// memory that the process shares with its parent.
struct Record {
  static constexpr uint32_t mostDeviations = 4096;
  uint32_t decisions;
  uint32_t switches;
  uint32_t count; // of deviations; those that do not fit are not kept
  Deviation deviations[mostDeviations];
  char failure[2048];
};

// One question, as the exhaustive search needs it.
struct Asked {
  Question::Kind kind;
  uint32_t options;
};

struct Settings {
  Chooser *chooser;
  Record *record;
  std::vector<Asked> *asked = nullptr; // receives all questions
  bool isTraced = false;               // prints what happens
};

// Runs one schedule: `body` on the thread that the schedule begins with, and
// all threads that it starts. Threads of the engine stay for the next schedule.
void runSchedule(const Settings &settings, void (*body)());

} // namespace model

#endif
