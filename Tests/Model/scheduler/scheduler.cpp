#include "scheduler.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "fiber.hpp"
#include "trace.hpp"

extern "C" {
#include "../seam/CInturnSystem.h"
}

int model_failing_starts = 0;

namespace model {
namespace {

constexpr int mostThreads = 40;
// A schedule with more decisions than this is in an endless loop.
constexpr uint32_t mostDecisions = 400000;

enum class State : uint8_t {
  none,     // no thread has this place
  ready,    // can go on
  spinning, // can go on, but only after somebody has changed something
  asleep,   // on a word, or until a moment
  awaiting, // until a condition holds
  settling, // until nobody else can go on
};

struct Thread {
  Fiber fiber;
  State state = State::none;
  bool isEngines = false;
  bool letsTimePass = false;
  char name[24];
  void *frame = nullptr; // the engine's thread-locals
  void *block = nullptr;
  void (*body)(void *) = nullptr;
  void *context = nullptr;
  const uint32_t *word = nullptr;
  int64_t deadline = -1;    // below zero: none
  const void *pretended[8]; // locks
  int pretendedCount = 0;
  const char *what = nullptr;
  bool (*condition)(void *) = nullptr;
  void *conditionContext = nullptr;
};

Thread threads[mostThreads];
int places;       // how many have ever been used
int current = -1; // -1: no schedule runs
int64_t now = 1000000000;
uint32_t fruitlessRounds;
Settings settings;
Fiber home;

struct Used {
  Thread *begin() const { return threads; }
  Thread *end() const { return threads + places; }
} const used;

void wakeSpinners() {
  for (Thread &thread : used)
    if (thread.state == State::spinning)
      thread.state = State::ready;
}

void updateAwaiting() {
  for (Thread &thread : used)
    if (thread.state == State::awaiting &&
        thread.condition(thread.conditionContext))
      thread.state = State::ready;
}

// The next moment that a thread sleeps until; negative if there is none.
int64_t nextMoment() {
  int64_t next = -1;
  for (Thread &thread : used)
    if (thread.state == State::asleep && thread.deadline >= 0 &&
        (next < 0 || thread.deadline < next))
      next = thread.deadline;
  return next;
}

bool letTimePass() {
  int64_t next = nextMoment();
  if (next < 0)
    return false;
  if (next > now)
    now = next;
  for (Thread &thread : used)
    if (thread.state == State::asleep && thread.deadline >= 0 &&
        thread.deadline <= now)
      thread.state = State::ready;
  if (settings.isTraced)
    traceTime(now);
  return true;
}

uint32_t ask(Question::Kind kind, const int *options, uint32_t count) {
  Record &record = *settings.record;
  uint32_t decision = record.decisions++;
  if (record.decisions > mostDecisions)
    model_fail("goes on for ever: %u decisions", mostDecisions);
  Question question{kind, count, options};
  uint32_t option = settings.chooser->choose(decision, question);
  if (settings.asked)
    settings.asked->push_back({kind, count});
  if (option != 0) {
    if (record.count < Record::mostDeviations)
      record.deviations[record.count] = {decision, option,
                                         kind == Question::point};
    record.count++;
  }
  return option;
}

void switchTo(int next) {
  if (next == current)
    return;
  settings.record->switches++;
  if (settings.isTraced)
    traceSwitch(threads[current].name, threads[next].name);
  int from = current;
  threads[from].frame = inturn_system_innermost_frame;
  threads[from].block = inturn_system_recording_block;
  current = next;
  inturn_system_innermost_frame = threads[next].frame;
  inturn_system_recording_block = threads[next].block;
  fruitlessRounds = 0;
  threads[from].fiber.switchTo(threads[next].fiber);
}

[[noreturn]] void failAllBlocked() {
  char text[1024];
  int length = 0;
  for (Thread &thread : used) {
    const char *how = thread.state == State::asleep     ? "sleeps"
                      : thread.state == State::awaiting ? "waits for"
                      : thread.state == State::settling ? "settles"
                                                        : nullptr;
    if (!how || (thread.isEngines && thread.state == State::asleep))
      continue;
    length +=
        snprintf(text + length, sizeof text - size_t(length), "; %s %s%s%s",
                 thread.name, how, thread.state == State::awaiting ? " " : "",
                 thread.state == State::awaiting ? thread.what : "");
    if (length > 900)
      break;
  }
  model_fail("all are blocked%s", text);
}

// The running thread's state says that it cannot continue. Returns when it can,
// and has been chosen.
void block() {
  int self = current;
  for (;;) {
    updateAwaiting();
    int options[mostThreads + 1];
    uint32_t count = 0;
    // In turn, beginning with the next one.
    for (int i = 1; i <= places; i++) {
      int place = (self + i) % places;
      if (threads[place].state == State::ready)
        options[count++] = place;
    }
    if (count > 0) {
      uint32_t option = count > 1 ? ask(Question::blocked, options, count) : 0;
      switchTo(options[option]);
      return;
    }
    bool spins = false;
    for (Thread &thread : used)
      spins = spins || thread.state == State::spinning;
    if (spins) {
      // Spinning is bounded, and they get nearer to the bounds.
      if (++fruitlessRounds > 20000 && !letTimePass())
        model_fail("threads spin for what nobody will change");
      wakeSpinners();
      continue;
    }
    bool settled = false;
    for (Thread &thread : used)
      if (thread.state == State::settling && !thread.letsTimePass) {
        thread.state = State::ready;
        settled = true;
      }
    if (settled || letTimePass())
      continue;
    for (Thread &thread : used)
      if (thread.state == State::settling) {
        thread.state = State::ready;
        settled = true;
      }
    if (!settled)
      failAllBlocked();
  }
}

void finishCurrent() {
  Thread &self = threads[current];
  self.state = State::none;
  block();
  abort();
}

void entry() {
  Thread &self = threads[current];
  model_acquire(&self);
  self.body(self.context);
  if (current == 0) {
    // The schedule is over; the engine's threads keep their places.
    threads[0].state = State::none;
    self.fiber.switchTo(home);
  }
  finishCurrent();
}

int freePlace() {
  // The first thread keeps its place, even in the child of a fork: others refer
  // to it.
  for (int i = 1; i < mostThreads; i++)
    if (threads[i].state == State::none)
      return i;
  return -1;
}

void prepare(int place, const char *name, bool isEngines, void (*body)(void *),
             void *context) {
  Thread &thread = threads[place];
  if (place >= places)
    places = place + 1;
  thread.isEngines = isEngines;
  snprintf(thread.name, sizeof thread.name, "%s", name);
  thread.frame = nullptr;
  // What the thread that ended would have done.
  if (thread.block)
    inturn_system_give_up_block(static_cast<uint64_t *>(thread.block));
  thread.block = nullptr;
  thread.pretendedCount = 0;
  thread.body = body;
  thread.context = context;
  thread.fiber.prepare(entry);
  thread.state = State::ready;
}

bool isActive() { return current >= 0; }

} // namespace

void runSchedule(const Settings &newSettings, void (*body)()) {
  settings = newSettings;
  settings.record->decisions = settings.record->switches = 0;
  settings.record->count = 0;
  model_failing_starts = 0;
  static void (*run)();
  run = body;
  prepare(
      0, "main", false, [](void *) { run(); }, nullptr);
  current = 0;
  fruitlessRounds = 0;
  void *frame = inturn_system_innermost_frame;
  inturn_system_innermost_frame = nullptr;
  inturn_system_recording_block = nullptr;
  home.switchTo(threads[0].fiber);
  current = -1;
  inturn_system_innermost_frame = frame;
  threads[0].block = inturn_system_recording_block;
  inturn_system_recording_block = nullptr;
}

} // namespace model

using namespace model;

void model_point(const void *) {
  if (!isActive())
    return;
  updateAwaiting();
  int options[mostThreads + 2];
  uint32_t count = 0;
  options[count++] = current;
  for (int place = current + 1; place != current; place++) {
    if (place == places) {
      place = -1;
      continue;
    }
    if (threads[place].state == State::ready)
      options[count++] = place;
  }
  if (nextMoment() >= 0)
    options[count++] = timePasses;
  if (count == 1)
    return;
  int next = options[ask(Question::point, options, count)];
  if (next == timePasses)
    letTimePass();
  else
    switchTo(next);
}

void model_wrote(const void *) {
  if (isActive())
    wakeSpinners();
}

bool model_start(const char *name, bool isEngines, void (*body)(void *),
                 void *context) {
  if (isEngines && model_failing_starts != 0) {
    if (model_failing_starts > 0)
      model_failing_starts--;
    return false;
  }
  int place = freePlace();
  if (place < 0)
    model_fail("more than %d threads", mostThreads);
  prepare(place, name, isEngines, body, context);
  model_release(&threads[place]);
  model_point(nullptr);
  return true;
}

uint32_t model_pick(uint32_t count) {
  return ask(Question::picked, nullptr, count);
}

void model_await(const char *what, bool (*condition)(void *), void *context) {
  Thread &self = threads[current];
  if (condition(context))
    return;
  self.what = what;
  self.condition = condition;
  self.conditionContext = context;
  self.state = State::awaiting;
  block();
}

void model_settle(bool letsTimePass) {
  threads[current].letsTimePass = letsTimePass;
  threads[current].state = State::settling;
  block();
}

// Does what Process.c does, so that the engine notices a fork here, too.
void model_become_child() {
  inturn_system_process &process = inturn_system_this_process;
  process.state = (process.state & ~INTURN_SYSTEM_EXITING) + 1;
  if (process.engine)
    process.inherited = process.engine;
  process.engine = 0;
  process.recording = process.recorder = 0;
  inturn_system_innermost_frame = nullptr;
  inturn_system_recording_block = nullptr;
  for (int i = 0; i < mostThreads; i++)
    if (i != current) {
      threads[i].state = State::none;
      if (i != 0)
        threads[i].fiber.discard();
    }
}

int64_t model_now() { return now; }

int model_self() { return current; }

void model_fail(const char *format, ...) {
  Record *record = settings.record;
  va_list arguments;
  va_start(arguments, format);
  if (record)
    vsnprintf(record->failure, sizeof record->failure, format, arguments);
  va_end(arguments);
  if (settings.isTraced)
    traceFailure(current >= 0 ? threads[current].name : "?");
  _exit(1);
}

void model_note(const char *format, ...) {
  if (!settings.isTraced)
    return;
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  traceNote(current >= 0 ? threads[current].name : "?", text);
}

// The engine's system ------------------------------------------------------

extern "C" {

void inturn_system_pause(void) {
  if (!isActive())
    return;
  // Without other threads, it continues at once.
  updateAwaiting();
  bool isAlone = true;
  for (Thread &thread : used)
    isAlone =
        isAlone &&
        (&thread == &threads[current] ||
         (thread.state != State::ready && thread.state != State::spinning));
  if (isAlone && ++fruitlessRounds < 20000)
    return;
  threads[current].state = State::spinning;
  block();
}

bool inturn_model_fails_weakly(void) {
  return isActive() && ask(Question::weakly, nullptr, 2) == 1;
}

void inturn_model_sleep(int64_t nanoseconds) {
  Thread &self = threads[current];
  self.word = nullptr;
  self.deadline = now + nanoseconds;
  self.state = State::asleep;
  block();
}

void inturn_system_wait(const uint32_t *word, uint32_t expected,
                        int64_t timeout) {
  model_point(word);
  if (*word != expected || timeout == 0)
    return;
  // A wait may return spuriously.
  if (inturn_model_fails_weakly())
    return;
  Thread &self = threads[current];
  self.word = word;
  self.deadline = timeout < 0                 ? -1
                  : timeout > INT64_MAX - now ? INT64_MAX
                                              : now + timeout;
  self.state = State::asleep;
  block();
}

static void wake(const uint32_t *word, bool all) {
  model_point(word);
  int sleepers[mostThreads];
  uint32_t count = 0;
  for (int i = 0; i < places; i++)
    if (threads[i].state == State::asleep && threads[i].word == word)
      sleepers[count++] = i;
  if (count == 0)
    return;
  if (!all) {
    uint32_t which = count > 1 ? ask(Question::blocked, sleepers, count) : 0;
    threads[sleepers[which]].state = State::ready;
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    threads[sleepers[i]].state = State::ready;
}

void inturn_system_wake_one(const uint32_t *word) { wake(word, false); }
void inturn_system_wake_all(const uint32_t *word) { wake(word, true); }

int64_t inturn_system_now(void) { return now; }
void inturn_system_spin(int64_t) { inturn_system_pause(); }
uintptr_t inturn_system_thread(void) { return uintptr_t(current + 1); }
bool inturn_system_is_main_thread(void) { return current <= 0; }

void inturn_system_write_error(const char *bytes, uintptr_t count) {
  if (settings.isTraced)
    (void)!write(STDOUT_FILENO, bytes, count);
}

bool inturn_system_start_thread(const char *name, void (*body)(void *),
                                void *context) {
  return model_start(name, true, body, context);
}

int32_t inturn_model_mutant;
uint8_t *inturn_model_reached;

void inturn_model_lock_nothing(const void *lock) {
  model_point(lock);
  Thread &self = threads[current < 0 ? 0 : current];
  if (self.pretendedCount < 8)
    self.pretended[self.pretendedCount++] = lock;
}

bool inturn_model_unlocks_nothing(const void *lock) {
  Thread &self = threads[current < 0 ? 0 : current];
  for (int i = self.pretendedCount; i-- > 0;)
    if (self.pretended[i] == lock) {
      self.pretended[i] = self.pretended[--self.pretendedCount];
      return true;
    }
  return false;
}
}
