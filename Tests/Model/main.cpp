// Runs the scenarios: many schedules of each, in processes of their own.
//
// SPDX-License-Identifier: MIT
//
//   model list
//   model run [--filter TEXT | --scenario NAME | --deliberate NAME]
//             [--schedules N] [--seed FIRST] [--seconds S]
//   model search [--filter TEXT] [--preemptions N] [--seconds S]
//   model replay SCENARIO SEED
//   model score --mutants N,N... [--filter TEXT] [--schedules N]
//
// `run` chooses schedules at random, half of them with few changes of priority;
// `search` tries all with at most N preemptions. A schedule that fails is named
// by its seed, shrunk as far as possible, and printed. `score` needs a build
// with mutants: it takes one thing at a time away from the engine, and says
// which scenario notices. Last comes `N passed, N failed`, of scenarios.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checker/checker.hpp"
#include "scheduler/scheduler.hpp"

extern "C" int32_t inturn_model_mutant;
extern "C" uint8_t *inturn_model_reached;

using namespace model;

namespace {

// What a process that runs schedules tells its parent.
struct Shared {
  Record record;
  uint64_t seed;      // of the schedule that is running or has failed
  uint64_t schedules; // that have ended
  uint64_t decisions; // in them
  uint32_t longest;   // the most decisions of one
  bool isDone;
};

Shared *shared;

// How many schedules a process runs before it is replaced by a fresh one.
constexpr uint64_t batch = 512;

// Forks without the library's handlers: the child continues like the parent.
pid_t forkBare() {
  fflush(stdout);
  return pid_t(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// Runs `body` in a child; returns whether it reached its end.
template <class Body> bool isolated(Body body) {
  memset(&shared->record, 0, sizeof shared->record);
  shared->isDone = false;
  pid_t child = forkBare();
  if (child == 0) {
    body();
    shared->isDone = true;
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (!shared->isDone && shared->record.failure[0] == 0) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      snprintf(shared->record.failure, sizeof shared->record.failure,
               "goes round in circles without a point");
    else if (WIFSIGNALED(status))
      snprintf(shared->record.failure, sizeof shared->record.failure,
               "ended by signal %d", WTERMSIG(status));
    else
      snprintf(shared->record.failure, sizeof shared->record.failure,
               "ended with status %d", WEXITSTATUS(status));
  }
  return shared->isDone;
}

// A schedule hangs if it reaches no point for this long.
unsigned hangSeconds = 20;

void runOne(const Scenario &scenario, Chooser &chooser, bool isTraced = false,
            std::vector<Asked> *asked = nullptr) {
  static void (*body)();
  body = scenario.body;
  alarm(hangSeconds);
  runSchedule({&chooser, &shared->record, asked, isTraced}, [] {
    body();
    model_settle(true);
    if (aliveOperations() != 0 || aliveQueues() != 0)
      model_fail("%lu operations and %lu queues are left behind",
                 (unsigned long)aliveOperations(),
                 (unsigned long)aliveQueues());
  });
  alarm(0);
}

// The first schedule of a process is the plain one: it creates the engine.
void warmUp(const Scenario &scenario) {
  ReplayChooser plain({});
  runOne(scenario, plain);
  shared->longest = shared->record.decisions;
}

void runSeed(const Scenario &scenario, uint64_t seed) {
  shared->seed = seed;
  // The length is that of a schedule without interference.
  if (seed % 2 == 0) {
    RandomChooser chooser(seed);
    runOne(scenario, chooser);
  } else {
    PriorityChooser chooser(seed, 1 + uint32_t(seed / 2 % 4),
                            shared->longest * 2);
    runOne(scenario, chooser);
  }
  shared->schedules++;
  shared->decisions += shared->record.decisions;
}

// Runs these schedules. Losing a block of memory in each of them is a failure,
// too.
void runSeeds(const Scenario &scenario, uint64_t first, uint64_t end) {
  int64_t blocks = 0; // after half of the schedules
  for (uint64_t seed = first; seed < end; seed++) {
    if (seed == first + (end - first) / 2)
      blocks = model_blocks();
    runSeed(scenario, seed);
  }
  // By then, everything that is kept for later has been allocated.
  if (end - first >= 64 && model_blocks() - blocks >= int64_t(end - first) / 2)
    snprintf(shared->record.failure, sizeof shared->record.failure,
             "%ld blocks of memory more after %lu schedules",
             long(model_blocks() - blocks), (unsigned long)(end - first) / 2);
}

bool follows(const Scenario &scenario, const Deviations &deviations,
             bool isTraced = false) {
  return isolated([&] {
    warmUp(scenario);
    ReplayChooser chooser(deviations);
    runOne(scenario, chooser, isTraced);
  });
}

// Leaves out what the failure does not need: first halves, then smaller parts.
Deviations shrunk(const Scenario &scenario, Deviations deviations) {
  for (size_t part = (deviations.size() + 1) / 2; part > 0; part /= 2) {
    for (size_t from = 0; from < deviations.size();) {
      Deviations fewer(deviations);
      fewer.erase(fewer.begin() + long(from),
                  fewer.begin() +
                      long(std::min(from + part, deviations.size())));
      if (!follows(scenario, fewer)) {
        // The rest of the old list keeps its numbers.
        deviations = fewer;
      } else {
        from += part;
      }
    }
  }
  return deviations;
}

Deviations recorded() {
  uint32_t count = std::min(shared->record.count, Record::mostDeviations);
  return Deviations(shared->record.deviations,
                    shared->record.deviations + count);
}

// Prints a failure whose decisions are known.
void explain(const Scenario &scenario, const std::string &name,
             const Deviations &deviations) {
  printf("FAILED %s, %s: %s\n", scenario.name, name.c_str(),
         shared->record.failure);
  if (follows(scenario, deviations)) {
    printf("    (not by itself: after other schedules of its process only)\n");
    return;
  }
  Deviations few = shrunk(scenario, deviations);
  printf("    %zu decisions of %zu are needed:\n", few.size(),
         deviations.size());
  follows(scenario, few, true);
  printf("    %s\n", shared->record.failure);
}

struct Limits {
  const char *filter = "";
  const char *only = nullptr; // this one scenario
  bool isDeliberate = false;
  bool takes(const Scenario &scenario) const {
    return scenario.isDeliberate == isDeliberate &&
           (only ? strcmp(scenario.name, only) == 0
                 : strstr(scenario.name, filter) != nullptr);
  }
  uint64_t schedules = 2000;
  uint64_t first = 1;
  double seconds = 1e9;
  uint32_t preemptions = 2;
};

double clockSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool runScenario(const Scenario &scenario, const Limits &limits) {
  double begin = clockSeconds();
  shared->schedules = shared->decisions = 0;
  for (uint64_t seed = limits.first; seed < limits.first + limits.schedules &&
                                     clockSeconds() - begin < limits.seconds;
       seed += batch) {
    uint64_t end = std::min(seed + batch, limits.first + limits.schedules);
    bool isGood = isolated([&] {
      shared->seed = 0;
      warmUp(scenario);
      runSeeds(scenario, seed, end);
    });
    if (isGood && shared->record.failure[0] != 0) {
      printf("FAILED %s, seeds %lu to %lu: %s\n", scenario.name,
             (unsigned long)seed, (unsigned long)end - 1,
             shared->record.failure);
      return false;
    }
    if (!isGood) {
      std::string name = shared->seed ? "seed " + std::to_string(shared->seed)
                                      : "the plain schedule";
      explain(scenario, name, recorded());
      return false;
    }
  }
  double took = clockSeconds() - begin;
  printf("ok %s: %lu schedules, %lu decisions each, %.1f s\n", scenario.name,
         (unsigned long)shared->schedules,
         (unsigned long)(shared->decisions /
                         std::max<uint64_t>(shared->schedules, 1)),
         took);
  return true;
}

// Tries all schedules with at most so many preemptions: first `prefix` alone,
// then with one more decision that is not the plain one, and so on.
struct Search {
  const Scenario &scenario;
  const Limits &limits;
  double begin = clockSeconds();
  uint64_t inProcess = 0;
  bool isCut = false;

  bool isOver() {
    isCut = isCut || clockSeconds() - begin > limits.seconds;
    return isCut;
  }

  void from(const Deviations &prefix, uint32_t preemptions, uint32_t others) {
    if (isOver())
      return;
    std::vector<Asked> asked;
    ReplayChooser chooser(prefix);
    runOne(scenario, chooser, false, &asked);
    shared->schedules++;
    shared->decisions += asked.size();
    uint32_t next = prefix.empty() ? 0 : prefix.back().decision + 1;
    for (uint32_t i = next; i < asked.size() && !isCut; i++) {
      bool isPoint = asked[i].kind == Question::point;
      bool isOther = !isPoint && asked[i].kind != Question::picked;
      if ((isPoint && preemptions == 0) || (isOther && others == 0))
        continue;
      for (uint32_t option = 1; option < asked[i].options; option++) {
        Deviations more(prefix);
        more.push_back({i, option, isPoint});
        from(more, preemptions - isPoint, others - isOther);
      }
    }
  }
};

bool searchScenario(const Scenario &scenario, const Limits &limits) {
  shared->schedules = shared->decisions = 0;
  bool *isCut = reinterpret_cast<bool *>(&shared->seed);
  bool isGood = isolated([&] {
    warmUp(scenario);
    Search search{scenario, limits};
    search.from({}, limits.preemptions, 2);
    *isCut = search.isCut;
  });
  if (!isGood) {
    explain(scenario, "search", recorded());
    return false;
  }
  printf("ok %s: %lu schedules with %u preemptions%s\n", scenario.name,
         (unsigned long)shared->schedules, limits.preemptions,
         *isCut ? ", cut short" : ", all");
  return true;
}

bool replay(const Scenario &scenario, uint64_t seed) {
  bool isGood = isolated([&] {
    warmUp(scenario);
    runSeed(scenario, seed);
  });
  if (isGood)
    printf("ok %s, seed %lu\n", scenario.name, (unsigned long)seed);
  else
    explain(scenario, "seed " + std::to_string(seed), recorded());
  return isGood;
}

// How many schedules each scenario runs before the next one is tried, as what
// is easy to notice is noticed early.
constexpr uint64_t rounds[] = {16, 128, 1024};

// Which mutants a scenario reaches, and how long it takes.
struct Reach {
  const Scenario *scenario;
  std::vector<uint8_t> reached;
  double cost;
};

// Takes the mutants away one at a time; prints what notices each.
void score(const std::vector<Scenario *> &scenarios, const Limits &limits,
           const std::vector<int> &mutants, int &passed, int &failed) {
  constexpr size_t size = 4096;
  auto *reached =
      static_cast<uint8_t *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto runSome = [&](const Scenario &scenario, uint64_t count) {
    bool isGood = isolated([&] {
      hangSeconds = 3;
      warmUp(scenario);
      runSeeds(scenario, 1, count + 1);
    });
    return isGood && shared->record.failure[0] == 0;
  };
  std::vector<Reach> reaches;
  for (Scenario *scenario : scenarios) {
    if (!limits.takes(*scenario))
      continue;
    memset(reached, 0, size);
    inturn_model_reached = reached;
    double begin = clockSeconds();
    if (!runSome(*scenario, 128))
      printf("%s fails by itself: left out\n", scenario->name);
    else
      reaches.push_back({scenario,
                         std::vector<uint8_t>(reached, reached + size),
                         clockSeconds() - begin});
    inturn_model_reached = nullptr;
  }
  std::sort(reaches.begin(), reaches.end(),
            [](const Reach &a, const Reach &b) { return a.cost < b.cost; });
  for (int mutant : mutants) {
    const Scenario *noticed = nullptr;
    bool isReached = false;
    inturn_model_mutant = mutant;
    for (uint64_t count : rounds) {
      if (count > limits.schedules)
        break;
      for (const Reach &reach : reaches) {
        if (!reach.reached[size_t(mutant)])
          continue;
        isReached = true;
        if (!runSome(*reach.scenario, count)) {
          noticed = reach.scenario;
          break;
        }
      }
      if (noticed)
        break;
    }
    inturn_model_mutant = 0;
    if (noticed)
      printf("%d\tnoticed\t%s\t%s\n", mutant, noticed->name,
             shared->record.failure);
    else
      printf("%d\t%s\n", mutant, isReached ? "survived" : "unreached");
    (noticed ? passed : failed)++;
  }
}

[[noreturn]] void usage() {
  fprintf(stderr, "usage: model list | run | search | replay; see main.cpp\n");
  exit(2);
}

} // namespace

int main(int count, char **arguments) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  // Time passes as the scheduler decides: scenarios start a watchdog if they
  // want one.
  setenv("INTURN_STALL", "off", 1);
  // Before the engine's own handler, which the child already runs alone.
  pthread_atfork(nullptr, nullptr, model_become_child);
  shared = static_cast<Shared *>(mmap(nullptr, sizeof(Shared),
                                      PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::string verb = count > 1 ? arguments[1] : "";
  std::vector<Scenario *> scenarios;
  for (Scenario *one = Scenario::first; one; one = one->next)
    scenarios.insert(scenarios.begin(), one);
  if (verb == "list") {
    for (Scenario *one : scenarios)
      if (!one->isDeliberate)
        puts(one->name);
    return 0;
  }
  int passed = 0, failed = 0;
  if (verb == "replay" && count == 4) {
    for (Scenario *one : scenarios)
      if (strcmp(one->name, arguments[2]) == 0)
        (replay(*one, strtoull(arguments[3], nullptr, 10)) ? passed : failed)++;
    if (passed + failed == 0)
      usage();
  } else if (verb == "run" || verb == "search" || verb == "score") {
    Limits limits;
    std::vector<int> mutants;
    for (int i = 2; i < count; i += 2) {
      std::string option = arguments[i];
      if (i + 1 == count)
        usage();
      const char *value = arguments[i + 1];
      if (option == "--filter")
        limits.filter = value;
      else if (option == "--scenario")
        limits.only = value;
      else if (option == "--deliberate") {
        limits.only = value;
        limits.isDeliberate = true;
      } else if (option == "--schedules")
        limits.schedules = strtoull(value, nullptr, 10);
      else if (option == "--seed")
        limits.first = strtoull(value, nullptr, 10);
      else if (option == "--mutants")
        for (const char *at = value; at;
             at = strchr(at, ',') ? strchr(at, ',') + 1 : nullptr)
          mutants.push_back(atoi(at));
      else if (option == "--seconds")
        limits.seconds = strtod(value, nullptr);
      else if (option == "--preemptions")
        limits.preemptions = uint32_t(strtoul(value, nullptr, 10));
      else
        usage();
    }
    if (verb == "score")
      score(scenarios, limits, mutants, passed, failed);
    for (Scenario *one : scenarios) {
      if (verb == "score" || !limits.takes(*one))
        continue;
      bool isGood = verb == "run" ? runScenario(*one, limits)
                                  : searchScenario(*one, limits);
      (isGood ? passed : failed)++;
    }
  } else {
    usage();
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
