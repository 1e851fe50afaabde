/*
 * features.cpp - as features.c, in C++.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../Cxx/harness.hpp"

#include <cstdio>

using namespace inturn;

/* A queue, what has been called on it, and the last token and end. */
struct trial : stage {
  using stage::stage;

  std::string called;
  kept_token held;
  end last;
  static inline int told; /* events */

  work say(const char *name) {
    return [this, name] { called += name; };
  }
  work hold(const char *name) {
    return [this, name](token given) {
      called += name;
      held.token = std::move(given);
    };
  }
  operation_options with_end() {
    operation_options options;
    options.on_end = [this](const end &end) { last = end; };
    return options;
  }
  void finish() {
    held.token.finish();
    drain();
  }
};

/* One by itself, and one with options that bring it before that. */
static void comes_first(trial &it, operation_options options) {
  it.queue.suspend();
  it.queue.post(it.say("a"));
  it.queue.post(it.say("b"), std::move(options));
  it.queue.resume();
  it.drain();
  CHECK_EQUAL(it.called, "ba");
}

/* Waits, as it was told, until something else is over. */
static void waits_for(trial &it, trial &other, operation_options options) {
  it.queue.post(it.say("b"), std::move(options));
  it.drain();
  CHECK_EQUAL(it.called, "");
  other.finish();
  it.drain();
  CHECK_EQUAL(it.called, "b");
}

static batch put_batch(trial &it, batch_options options) {
  std::vector<work> works;
  works.push_back(it.hold("a"));
  works.push_back(it.say("b"));
  batch batch = it.queue.enqueue_batch(std::move(works), std::move(options));
  it.drain();
  return batch;
}

/* Each uses a feature; what is refused throws. */
static const std::pair<const char *, void (*)(trial &)> features[] = {
    {"result",
     [](trial &it) {
       auto seven = it.queue.run([] { return 7; });
       it.drain();
       CHECK_EQUAL(seven.get(), 7);
     }},
    {"priority",
     [](trial &it) {
       operation_options options;
       options.priority = 1;
       comes_first(it, std::move(options));
     }},
    {"urgent",
     [](trial &it) {
       operation_options options;
       options.urgent = true;
       comes_first(it, std::move(options));
     }},
    {"preempt",
     [](trial &it) {
       operation_options urgent;
       urgent.urgent = true;
       it.queue.post(it.hold("a"));
       it.drain();
       it.held.token.on_preempt([](token_ref token) { token.yield(); });
       it.queue.post(it.say("b"), std::move(urgent));
       it.drain();
       CHECK_EQUAL(it.called, "aba");
     }},
    {"barrier",
     [](trial &it) {
       operation_options barrier;
       barrier.barrier = true;
       it.queue.post(it.hold("a"));
       it.queue.post(it.say("b"), std::move(barrier));
       it.drain();
       CHECK_EQUAL(it.called, "a");
       it.finish();
       CHECK_EQUAL(it.called, "ab");
     }},
    {"after",
     [](trial &it) {
       trial other;
       operation_options options;
       const operation first = other.queue.enqueue(other.hold("a"));
       other.drain();
       options.after.push_back(first);
       waits_for(it, other, std::move(options));
     }},
    {"exclusive",
     [](trial &it) {
       trial other;
       operation_options first, second;
       first.exclusive = second.exclusive = {"the printer"};
       other.queue.post(other.hold("a"), std::move(first));
       other.drain();
       waits_for(it, other, std::move(second));
     }},
    {"condition",
     [](trial &it) {
       operation_options options = it.with_end();
       options.condition = [] { return verdict::skip; };
       it.queue.post(it.say("a"), std::move(options));
       it.drain();
       CHECK_EQUAL(it.last.cause, cause::skipped);
     }},
    {"retry",
     [](trial &it) {
       operation_options options = it.with_end();
       options.retry = retry();
       options.retry->max_attempts = 3;
       it.queue.post([](token token) { token.fail(1); }, std::move(options));
       it.drain();
       CHECK_EQUAL(it.last.attempts, 3u);
     }},
    {"key",
     [](trial &it) {
       operation_options options;
       options.key = "key";
       it.queue.suspend();
       it.queue.post(it.say("a"), std::move(options));
       CHECK_EQUAL(it.queue.cancel_key("key"), 1u);
     }},
    {"join",
     [](trial &it) {
       operation_options first, options = it.with_end();
       first.key = options.key = "key";
       options.join = true;
       it.queue.post(it.hold("a"), std::move(first));
       it.queue.post(it.say("b"), std::move(options));
       it.drain();
       it.finish();
       CHECK_EQUAL(it.last.cause, cause::joined);
     }},
    {"owner",
     [](trial &it) {
       operation_options options = it.with_end();
       owner owner;
       options.owner = owner;
       it.queue.suspend();
       it.queue.post(it.say("a"), std::move(options));
       owner.reset();
       it.drain();
       CHECK_EQUAL(it.last.cause, cause::owner);
     }},
    {"max_wait",
     [](trial &it) {
       operation_options options = it.with_end();
       options.max_wait = nanoseconds(5);
       it.queue.suspend();
       it.queue.post(it.say("a"), std::move(options));
       it.advance(nanoseconds(5));
       CHECK_EQUAL(it.last.cause, cause::max_wait);
     }},
    {"max_run",
     [](trial &it) {
       operation_options options = it.with_end();
       options.max_run = nanoseconds(5);
       it.queue.post(it.hold("a"), std::move(options));
       it.drain();
       it.advance(nanoseconds(5));
       CHECK_EQUAL(it.last.cause, cause::max_run);
     }},
    {"stall",
     [](trial &it) {
       reports reports;
       operation_options options;
       options.stall = nanoseconds(5);
       it.queue.post(it.hold("a"), std::move(options));
       it.drain();
       it.advance(nanoseconds(5));
       CHECK(!reports.take().empty());
     }},
    {"cancel_grace",
     [](trial &it) {
       operation_options options = it.with_end();
       options.cancel_grace = nanoseconds(5);
       it.queue.post(it.hold("a"), std::move(options));
       it.drain();
       it.queue.cancel_all();
       it.advance(nanoseconds(5));
       CHECK_EQUAL(it.last.cause, cause::grace);
     }},
    {"cancel",
     [](trial &it) {
       const operation operation = it.queue.enqueue(it.hold("a"));
       it.drain();
       it.held.token.on_cancel([](token_ref token) { token.cancel(); });
       CHECK(operation.cancel());
       it.drain();
       CHECK_EQUAL(operation.wait().outcome, outcome::cancelled);
     }},
    {"progress",
     [](trial &it) {
       const operation operation = it.queue.enqueue(it.hold("a"));
       it.drain();
       it.held.token.set_progress(3, 7);
       CHECK(operation.progress() == (progress{3, 7}));
     }},
    {"segment",
     [](trial &it) {
       it.queue.post(it.hold("a"));
       it.drain();
       CHECK(it.held.token.resume(it.say("b")));
       it.drain();
       CHECK_EQUAL(it.called, "ab");
     }},
    {"batch",
     [](trial &it) {
       const batch batch = put_batch(it, {});
       it.finish();
       CHECK_EQUAL(batch.wait().finished, 2u);
     }},
    {"edges",
     [](trial &it) {
       batch_options options;
       options.edges = {{1, 0}};
       const batch batch = put_batch(it, std::move(options));
       CHECK_EQUAL(it.called, "a");
       it.finish();
       CHECK_EQUAL(batch.wait().finished, 2u);
     }},
    {"suspend",
     [](trial &it) {
       it.queue.suspend();
       it.queue.post(it.say("a"));
       it.drain();
       CHECK_EQUAL(it.called, "");
       it.queue.resume();
       it.drain();
       CHECK_EQUAL(it.called, "a");
     }},
    {"reason",
     [](trial &it) {
       it.queue.suspend_for("no network");
       it.queue.post(it.say("a"));
       it.drain();
       CHECK_EQUAL(it.called, "");
       it.queue.resume_for("no network");
       it.drain();
       CHECK_EQUAL(it.called, "a");
     }},
    {"capacity",
     [](trial &it) {
       it.queue.post(it.say("a"));
       CHECK(it.queue.try_post(it.say("b")) == errc::full);
     }},
    {"rate",
     [](trial &it) {
       rate one;
       one.max_starts = 1;
       one.interval = nanoseconds(10);
       it.queue.set_rate(one);
       it.queue.post(it.say("a"));
       it.queue.post(it.say("b"));
       it.drain();
       CHECK_EQUAL(it.called, "a");
       it.advance(nanoseconds(10));
       CHECK_EQUAL(it.called, "ab");
     }},
    {"max_concurrent",
     [](trial &it) {
       it.queue.set_max_concurrent(1);
       it.queue.post(it.hold("a"));
       it.queue.post(it.say("b"));
       it.drain();
       CHECK_EQUAL(it.called, "a");
     }},
    {"view",
     [](trial &it) {
       it.queue.view_will_disappear();
       it.queue.post(it.say("a"));
       it.drain();
       CHECK_EQUAL(it.called, "");
       it.queue.view_did_appear();
       it.drain();
       CHECK_EQUAL(it.called, "a");
     }},
    {"events",
     [](trial &it) {
       it.queue.post(it.say("a"));
       it.drain();
       CHECK(it.told >= 3); /* enqueued, started, ended */
     }},
    {"states",
     [](trial &it) {
       const auto pending = it.queue.observed_pending();
       it.queue.post(it.say("a"));
       CHECK_EQUAL(pending.get(), 1);
       it.drain();
       CHECK_EQUAL(pending.get(), 0);
     }},
    {"list",
     [](trial &it) {
       it.queue.post(it.say("a"));
       CHECK_EQUAL(it.queue.list(7).size(), 1u);
     }},
    {"drain",
     [](trial &it) {
       it.queue.post(it.say("a"));
       CHECK_EQUAL(it.queue.drain_or_list(nanoseconds(0), 7)->size(), 1u);
       it.drain();
       CHECK(it.queue.drain_for(nanoseconds(0)));
     }},
    {"close",
     [](trial &it) {
       CHECK(it.queue.close());
       CHECK(it.queue.try_post(it.say("a")) == errc::closed);
     }},
    {"clock",
     [](trial &it) {
       operation_options options = it.with_end();
       options.max_run = nanoseconds(5);
       it.queue.post(it.hold("a"), std::move(options));
       it.drain();
       it.advance(nanoseconds(4));
       CHECK_EQUAL(static_cast<int>(it.last.outcome), 0);
       it.advance(nanoseconds(1));
       CHECK_EQUAL(it.last.outcome, outcome::timed_out);
     }},
    {"deadlock",
     [](trial &it) {
       reports reports;
       it.queue.post([&it] { CHECK_REFUSED(deadlock, it.queue.drain()); });
       it.drain();
       CHECK(!reports.take().empty());
     }},
};

/* The harness has a main function, which runs tests. */
TEST(each_feature_is_used_with_each_kind) {
  static const char *kinds[] = {"fifo", "actor", "interaction", "concurrent"};
  for (const auto &[name, use] : features)
    for (int kind = 0; kind < 4; kind++) {
      trial::told = 0;
      bool is_refused = false;
      {
        queue_options options;
        options.capacity = std::string(name) == "capacity" ? 1 : 0;
        options.max_concurrent = kind == 3 ? 2 : 0;
        options.when_destroyed = when_destroyed::cancel;
        if (std::string(name) == "events")
          options.on_event = [](const event &) { trial::told++; };
        trial it(static_cast<queue_kind>(kind + 1), std::move(options));
        try {
          use(it);
        } catch (const error &error) {
          if (error.status() != errc::unsupported &&
              error.status() != errc::wrong_kind)
            FAIL(std::string(name) + ": " + error.what());
          is_refused = true;
        }
        if (it.held.token)
          it.held.token.finish();
      }
      std::printf("%s\t%s\t%s\n", name, kinds[kind], is_refused ? "no" : "yes");
    }
}
