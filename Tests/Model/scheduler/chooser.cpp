#include "chooser.hpp"

#include <algorithm>

namespace model {

static uint64_t step(uint64_t &state) { // splitmix64
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

RandomChooser::RandomChooser(uint64_t seed) : state(seed) {
  static const uint32_t frequencies[] = {4, 16, 64, 128, 256, 512};
  often = frequencies[next() % 6];
  static const uint32_t times[] = {0, 0, 2, 64};
  timeOften = times[next() % 4];
}

uint32_t RandomChooser::next() { return uint32_t(step(state) >> 32); }

uint32_t RandomChooser::choose(uint32_t, const Question &question) {
  if (question.kind == Question::weakly)
    return next() % 16 == 0;
  if (question.kind == Question::picked)
    return next() % question.options;
  if (question.kind == Question::point && next() % 1024 >= often)
    return 0;
  uint32_t option = next() % question.options;
  if (question.threads[option] == timePasses && next() % 1024 >= timeOften)
    return 0;
  return option;
}

PriorityChooser::PriorityChooser(uint64_t seed, uint32_t depth, uint32_t length)
    : state(seed) {
  for (uint32_t i = 1; i < depth; i++)
    changes.push_back(next() % std::max(length, 1u));
  std::sort(changes.begin(), changes.end());
}

uint32_t PriorityChooser::next() { return uint32_t(step(state) >> 32); }

uint64_t &PriorityChooser::priorityOf(int thread) {
  size_t place = size_t(thread + 1);
  while (priorities.size() <= place)
    priorities.push_back(1000000 + next());
  return priorities[place];
}

uint32_t PriorityChooser::choose(uint32_t decision, const Question &question) {
  if (question.kind == Question::weakly)
    return 0;
  if (question.kind == Question::picked)
    return next() % question.options;
  bool changed = false;
  while (!changes.empty() && changes.front() <= decision) {
    changes.erase(changes.begin());
    changed = true;
  }
  // At a point, the running thread is the first option.
  if (changed && question.kind == Question::point)
    priorityOf(question.threads[0]) = low--;
  uint32_t best = 0;
  for (uint32_t i = 1; i < question.options; i++)
    if (priorityOf(question.threads[i]) > priorityOf(question.threads[best]))
      best = i;
  // Once time has passed, it has the lowest priority.
  if (question.threads[best] == timePasses)
    priorityOf(timePasses) = low--;
  return best;
}

uint32_t ReplayChooser::choose(uint32_t decision, const Question &question) {
  while (place < deviations.size() && deviations[place].decision < decision)
    place++;
  if (place == deviations.size() || deviations[place].decision != decision)
    return 0;
  uint32_t option = deviations[place].option;
  return option < question.options ? option : 0;
}

} // namespace model
