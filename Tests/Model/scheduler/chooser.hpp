// chooser.hpp - which thread runs next: the decisions that make up a schedule.
//
// SPDX-License-Identifier: MIT
#ifndef MODEL_CHOOSER_HPP
#define MODEL_CHOOSER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace model {

// A question of the scheduler. Options are numbered; 0 is what happens without
// interference: the running thread continues, or the next one does.
struct Question {
  enum Kind : uint8_t {
    point,   // the running thread could continue; others may go first
    blocked, // it cannot; another one continues
    weakly,  // does a weak exchange fail spuriously?
    picked,  // which of its forms does the scenario get?
  };
  Kind kind;
  // The number of options.
  uint32_t options;
  // The threads that the options stand for, or timePasses for the clock.
  const int *threads;
};

constexpr int timePasses = -1;

// A decision that is not option 0.
struct Deviation {
  uint32_t decision; // the number of the question in the schedule
  uint32_t option;
  bool isPreemption; // the question was a point
};

using Deviations = std::vector<Deviation>;

class Chooser {
public:
  virtual ~Chooser() = default;
  virtual uint32_t choose(uint32_t decision, const Question &question) = 0;
};

// Switches threads at random moments, more or less often.
class RandomChooser : public Chooser {
public:
  explicit RandomChooser(uint64_t seed);
  uint32_t choose(uint32_t decision, const Question &question) override;

private:
  uint64_t state;
  uint32_t often;     // of 1,024 points
  uint32_t timeOften; // of 1,024 points at which time could pass
  uint32_t next();
};

// Runs the thread with the highest priority, which changes at a few moments.
// After Burckhardt, Kothari, Musuvathi, Nagarakatti: A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs (ASPLOS 2010).
class PriorityChooser : public Chooser {
public:
  // `depth` is how many orderings a defect may need; `length` is roughly how
  // many questions a schedule has.
  PriorityChooser(uint64_t seed, uint32_t depth, uint32_t length);
  uint32_t choose(uint32_t decision, const Question &question) override;

private:
  uint64_t state;
  uint64_t low = 1000;
  std::vector<uint32_t> changes;
  std::vector<uint64_t> priorities;
  uint32_t next();
  uint64_t &priorityOf(int thread);
};

// Follows a list of deviations, and otherwise does not interfere.
class ReplayChooser : public Chooser {
public:
  explicit ReplayChooser(Deviations deviations)
      : deviations(std::move(deviations)) {}
  uint32_t choose(uint32_t decision, const Question &question) override;

private:
  Deviations deviations;
  std::size_t place = 0;
};

} // namespace model

#endif
