/*
 * sites.cpp - the lines that reports name: of each way in, and of suspends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness.hpp"

#include <cstring>
#include <future>

using namespace inturn;

namespace {

/* Where the last lost token's operation was enqueued: such as
   "sites.cpp:12 in function". */
class lost_sites {
public:
  lost_sites() {
    set_report_handler([this](const report &told) {
      if (told.kind != INTURN_REPORT_LOST_TOKEN || told.file == nullptr)
        return;
      const char *slash = std::strrchr(told.file, '/');
      last = std::string(slash == nullptr ? told.file : slash + 1) + ":" +
             std::to_string(told.line) + " in " + told.function;
    });
  }
  ~lost_sites() { set_report_handler({}); }

  std::string take(stage &stage) {
    last.clear();
    stage.drain();
    return std::move(last);
  }

private:
  std::string last;
};

std::string here(int line, const char *function) {
  return "sites.cpp:" + std::to_string(line) + " in " + function;
}

void lose(token_ref token) { inturn_token_abandon(token.raw()); }

} // namespace

TEST(the_site_of_each_way_in_is_known) {
  lost_sites lost;
  stage stage;
  queue &queue = stage.queue;
  operation kept;
  operation_options labelled, told;
  labelled.label = told.label = "labelled";
  told.on_end = [](const end &) {};

  queue.post([](token) {});
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
  queue.post([](token) {}, std::move(labelled));
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
  queue.post([](token) {}, std::move(told));
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
  queue.enqueue([](token) {});
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
  CHECK(!queue.try_post([](token) {}));
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
  CHECK(!queue.try_enqueue(kept, [](token) {}));
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
  auto future = queue.run(lose);
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));

  std::vector<work> works;
  works.emplace_back([](token) {});
  const batch batch = queue.enqueue_batch(std::move(works));
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 1, __func__));
}

/* What has one type may be written on many lines. */
TEST(callables_of_one_type_have_their_own_sites) {
  lost_sites lost;
  stage stage;
  const auto forgets = [](token) {};
  const std::function<void()> others[] = {
      [&] { stage.queue.post(forgets); },
      [&] { stage.queue.post(forgets); },
  };
  const int line = __LINE__ - 3;
  for (int i = 0; i < 4; i++) {
    others[i % 2]();
    CHECK_EQUAL(lost.take(stage), here(line + i % 2, "operator()"));
  }
}

/* Work that is moved about, as in a list, is still that of its line. */
TEST(a_site_moves_with_its_work) {
  lost_sites lost;
  stage stage;
  work written([](token) {});
  const int line = __LINE__ - 1;
  work moved(std::move(written));
  stage.queue.post(std::move(moved));
  CHECK_EQUAL(lost.take(stage), here(line, __func__));
  std::vector<work> works;
  works.push_back([](token) {});
  stage.queue.post(std::move(works.front()));
  CHECK_EQUAL(lost.take(stage), here(__LINE__ - 2, __func__));
}

TEST(a_suspend_has_a_site) {
  std::mutex mutex;
  std::condition_variable told;
  std::string message;
  set_report_handler([&](const report &report) {
    const std::lock_guard<std::mutex> guard(mutex);
    message = report.message;
    told.notify_all();
  });
  set_stall_limit(std::chrono::milliseconds(20));
  for (const bool has_reason : {false, true}) {
    queue queue;
    has_reason ? queue.suspend_for("offline") : queue.suspend();
    const std::string site = "sites.cpp:" + std::to_string(__LINE__ - 1) + ")";
    queue.post([] {});
    std::unique_lock<std::mutex> lock(mutex);
    message.clear();
    CHECK(told.wait_for(lock, limit, [&] {
      return message.find("it is suspended") != std::string::npos;
    }));
    CHECK(message.find(site) != std::string::npos);
    CHECK((message.find("for \"offline\" (") != std::string::npos) ==
          has_reason);
    lock.unlock();
    has_reason ? queue.resume_for("offline") : queue.resume();
  }
  set_stall_limit({});
  set_report_handler({});
}

TEST(a_queue_has_a_limit_of_its_own) {
  std::promise<std::string> told;
  set_report_handler(
      [&](const report &report) { told.set_value(report.queue_label); });
  set_stall_limit(nanoseconds(-1));
  queue_options options;
  options.label = "network";
  options.stall = std::chrono::milliseconds(20);
  queue network(queue_kind::fifo, std::move(options));
  kept_token held;
  network.post(held.keep());
  network.post([] {});
  CHECK_EQUAL(told.get_future().get(), "network");
  held.is_kept.wait(1);
  held.token.finish();
  set_stall_limit({});
  set_report_handler({});
}

namespace {

/* What work waits for, and in which line. */
struct waiter {
  queue network;
  kept_token held;
  operation load = network.enqueue(held.keep());
  batch next = network.enqueue_batch(one_work());
  value<std::int64_t> number{0};
  int line = 0;

  static std::vector<work> one_work() {
    std::vector<work> works;
    works.emplace_back([] {});
    return works;
  }
};

/* Calls that in another queue, where a snapshot tells its line. */
void check_line(void (*wait)(waiter &waiter)) {
  waiter waiter;
  waiter.held.is_kept.wait(1);
  {
    queue database;
    database.post([&] { wait(waiter); });
    bool is_told = false;
    while (!is_told)
      snapshot([&](const inturn_entry &entry) {
        if (entry.kind != INTURN_ENTRY_WAIT)
          return true;
        is_told = true;
        CHECK(entry.file != nullptr &&
              std::strstr(entry.file, "sites.cpp") != nullptr);
        CHECK_EQUAL(int(entry.line), waiter.line);
        return false;
      });
    waiter.held.token.finish();
    waiter.number.set(1);
  }
  waiter.network.drain();
}

constexpr std::chrono::minutes a_minute(1);

bool is_one(std::int64_t number) { return number == 1; }

} // namespace

TEST(a_wait_has_a_site) {
  check_line([](waiter &w) { w.line = __LINE__, w.load.wait(); });
  check_line([](waiter &w) { w.line = __LINE__, w.load.wait_for(a_minute); });
  check_line([](waiter &w) { w.line = __LINE__, w.next.wait(); });
  check_line([](waiter &w) { w.line = __LINE__, w.next.wait_for(a_minute); });
  check_line([](waiter &w) { w.line = __LINE__, w.network.drain(); });
  check_line(
      [](waiter &w) { w.line = __LINE__, w.network.drain_for(a_minute); });
  check_line([](waiter &w) {
    w.line = __LINE__, w.network.drain_or_list(a_minute, 1);
  });
  check_line([](waiter &w) { w.line = __LINE__, w.number.wait(is_one); });
  check_line([](waiter &w) {
    w.line = __LINE__, w.number.wait_for(is_one, a_minute);
  });
}
