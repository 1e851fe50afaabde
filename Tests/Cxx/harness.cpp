/*
 * harness.cpp - see harness.hpp. Runs the tests whose name contains argv[1], or
 * all of them; prints lines as each begins and passes, and `N passed, 0
 * failed`.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace {

struct test {
  const char *name;
  void (*run)();
};

std::vector<test> &tests() {
  static std::vector<test> all;
  return all;
}

const char *current = "?";

/* A worker may be a moment behind with what a test has seen the end of, so this
   asks until it has caught up. */
void check_nothing_is_left(const inturn_library_statistics &before) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto now = inturn::statistics();
    if (now.queues <= before.queues && now.operations <= before.operations &&
        now.executors <= before.executors && now.clocks <= before.clocks &&
        now.values <= before.values && now.observations <= before.observations)
      return;
    if (std::chrono::steady_clock::now() > until)
      FAIL("the test leaves objects behind");
    std::this_thread::yield();
  }
}

} // namespace

void fail_at(const char *file, int line, const std::string &what) {
  std::cerr << file << ':' << line << ": " << what << "\nFAILED " << current
            << std::endl;
  std::cout.flush();
  std::_Exit(1);
}

void gate::pass() {
  const std::lock_guard<std::mutex> guard(mutex);
  passed++;
  grown.notify_all();
}

long gate::count() {
  const std::lock_guard<std::mutex> guard(mutex);
  return passed;
}

void gate::wait(long count) {
  std::unique_lock<std::mutex> guard(mutex);
  /* The system's clock: ThreadSanitizer knows its wait. */
  if (!grown.wait_until(guard, std::chrono::system_clock::now() + limit,
                        [&] { return passed >= count; }))
    FAIL("a gate was passed " + std::to_string(passed) + " times, not " +
         std::to_string(count));
}

void trace::say(const std::string &word) {
  const std::lock_guard<std::mutex> guard(mutex);
  words += words.empty() ? word : ", " + word;
}

std::string trace::take() {
  const std::lock_guard<std::mutex> guard(mutex);
  return std::exchange(words, {});
}

stage::stage(inturn::queue_kind kind, inturn::queue_options options) {
  options.executor = executor;
  options.clock = clock;
  options.settle = options.gap = {};
  if (kind == inturn::queue_kind::concurrent && options.max_concurrent == 0)
    options.max_concurrent = 4;
  queue = inturn::queue(kind, std::move(options));
  if (kind == inturn::queue_kind::interaction)
    queue.view_did_appear();
}

void stage::advance(inturn::nanoseconds by) {
  clock.advance(by);
  drain();
}

reports::reports() {
  inturn::set_report_handler(
      [this](const inturn::report &report) { said.say(report.message); });
}

reports::~reports() { inturn::set_report_handler({}); }

bool list_test(const char *name, void (*run)()) {
  tests().push_back({name, run});
  return true;
}

int in_child(const std::function<void()> &body) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);
    alarm(static_cast<unsigned>(limit.count()));
    body();
    std::_Exit(0);
  }
  int status = 0;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv) {
  /* The library's own executors exist from now on. */
  inturn::main_executor();
  inturn::pool();
  int passed = 0;
  for (const test &test : tests()) {
    if (argc > 1 && std::string(test.name).find(argv[1]) == std::string::npos)
      continue;
    current = test.name;
    std::cout << "begin " << test.name << std::endl;
    const auto before = inturn::statistics();
    try {
      test.run();
    } catch (const std::exception &exception) {
      FAIL(std::string("an exception: ") + exception.what());
    }
    check_nothing_is_left(before);
    std::cout << "ok " << test.name << std::endl;
    passed++;
  }
  std::cout << passed << " passed, 0 failed" << std::endl;
}
