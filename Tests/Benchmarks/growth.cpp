/* Whether the cost of a call grows with what there is: its time per object that
   it touches, at several sizes, and the exponent of the line through these: 0
   if it does not grow, 1 if it grows like the number. Also for how long others
   are kept out of the queue meanwhile: another thread repeats a call that only
   takes the queue's lock.

   The time is this thread's own. If the system preempts a thread during a call,
   a lock is not to blame: so a wait only counts up to what the one thread has
   run meanwhile, and what the other one has spun and napped, and the median of
   several rounds counts.

   Fails if an exponent or a wait is above its limit.

   Arguments: the smallest size, how many times larger each further size is, how
   many sizes there are, rounds in which waits are measured. */
#include "growth.hpp"
#include PEER_HEADER

#include <string>

using bench::Meter;
using peers::PEER::check;

namespace {

constexpr double most_exponent = 0.4;
constexpr double most_wait_us = 1'000;
/* A call that takes longer at one size is not tried at a larger one. */
constexpr double enough_ns = 2e9;

void finish(void *, inturn_token token) { check(inturn_token_finish(token)); }
/* For operations that never start. */
void unexpected(void *, inturn_token) {
  bench::require(false, "nothing of a queue that is suspended is started");
}
/* Runs until its queue is destroyed. */
void keep(void *, inturn_token) {}

/* A queue on a host-driven executor, so that no other thread takes part. */
struct Stage {
  inturn_executor executor;
  inturn_queue queue;
  std::vector<inturn_operation> held;

  explicit Stage(inturn_queue_kind kind = INTURN_QUEUE_FIFO,
                 inturn_event_fn on_event = nullptr) {
    check(inturn_executor_create(nullptr, &executor));
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    options.executor = executor;
    options.on_event = on_event;
    if (kind == INTURN_QUEUE_CONCURRENT)
      options.max_concurrent = 1'000'000'000;
    check(inturn_queue_create(kind, &options, &queue));
  }
  Stage(const Stage &) = delete;
  ~Stage() {
    for (auto operation : held)
      check(inturn_operation_release(operation));
    check(inturn_queue_destroy(queue));
    check(inturn_executor_destroy(executor));
  }
  void suspend() { check(inturn_queue_suspend(queue)); }
  void drain() { check(inturn_executor_drain(executor, 0, nullptr)); }

  void add(std::size_t count, const inturn_operation_options *options = nullptr,
           inturn_work_fn work = unexpected, bool is_held = false) {
    if (is_held)
      held.resize(held.size() + count);
    for (std::size_t i = 0; i < count; i++)
      check(inturn_queue_enqueue_with(queue, options, work, nullptr, nullptr,
                                      is_held ? &held[held.size() - count + i]
                                              : nullptr));
  }
  void cancel_in_order() {
    for (auto operation : held)
      check(inturn_operation_cancel(operation));
  }
};

inturn_operation_options joining(inturn_owner owner = {0}) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.key = "key";
  options.join = true;
  options.owner = owner;
  return options;
}

/* How many objects a call touches: all, or a fixed number. */
enum class Touches { all, some };

struct Case {
  const char *name;
  Touches touches;
  void (*run)(std::size_t size, Meter &meter);
};

void cancel(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  stage.add(size, nullptr, unexpected, true);
  meter.measure(stage.queue, [&] { stage.cancel_in_order(); });
}

void cancel_joined(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.suspend();
  auto options = joining();
  stage.add(size, &options, unexpected, true);
  meter.measure(stage.queue, [&] { stage.cancel_in_order(); });
}

void destroy_owner_of_joined(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  inturn_owner owner;
  check(inturn_owner_create(0, &owner));
  auto options = joining(owner);
  stage.add(size, &options);
  meter.measure(stage.queue, [&] { check(inturn_owner_destroy(owner)); });
}

void end_joined(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  auto options = joining();
  stage.add(size, &options, finish);
  check(inturn_queue_resume(stage.queue));
  meter.measure(stage.queue, [&] { stage.drain(); });
}

void cancel_batch_among_others(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  for (std::size_t i = 0; i < size; i++)
    check(inturn_queue_enqueue(stage.queue, unexpected, nullptr, nullptr,
                               nullptr));
  std::vector<inturn_batch_item> items(16, {unexpected, nullptr, nullptr});
  std::vector<inturn_batch> batches(64);
  for (auto &batch : batches)
    check(inturn_queue_enqueue_batch(stage.queue, nullptr, items.data(),
                                     items.size(), &batch));
  meter.measure(stage.queue, [&] {
    for (auto batch : batches)
      check(inturn_batch_cancel(batch));
  });
  for (auto batch : batches)
    check(inturn_batch_release(batch));
}

void cancel_batch(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  std::vector<inturn_batch_item> items(size, {unexpected, nullptr, nullptr});
  inturn_batch batch;
  check(inturn_queue_enqueue_batch(stage.queue, nullptr, items.data(),
                                   items.size(), &batch));
  meter.measure(stage.queue, [&] {
    check(inturn_batch_cancel(batch));
    stage.drain();
  });
  check(inturn_batch_release(batch));
}

void get_statistics(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.add(size, nullptr, keep);
  stage.drain();
  meter.measure(stage.queue, [&] {
    for (int i = 0; i < 1024; i++) {
      inturn_queue_statistics statistics = INTURN_QUEUE_STATISTICS_INIT;
      check(inturn_queue_get_statistics(stage.queue, &statistics));
      bench::require(statistics.running == size, "all run");
    }
  });
}

void list(std::size_t size, std::size_t room, Stage &stage, Meter &meter) {
  std::vector<inturn_operation_info> infos(room, INTURN_OPERATION_INFO_INIT);
  /* A few calls take too little time to be measured. */
  int calls = room < size ? 1024 : 1;
  meter.measure(stage.queue, [&] {
    for (int i = 0; i < calls; i++) {
      size_t count;
      check(inturn_queue_list(stage.queue, infos.data(), room, &count));
      bench::require(count == std::min(room, size), "all that fit are listed");
    }
  });
}

void list_running(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.add(size, nullptr, keep);
  stage.drain();
  list(size, size, stage, meter);
}

void list_some_of_running(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.add(size, nullptr, keep);
  stage.drain();
  list(size, 16, stage, meter);
}

void list_pending(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  stage.add(size);
  list(size, size, stage, meter);
}

/* Entries of other queues are not there any more. */
void look(std::size_t size, Stage &stage, Meter &meter) {
  std::uint64_t told = 0;
  meter.measure(stage.queue, [&] {
    check(inturn_snapshot(
        [](void *told, const inturn_entry *entry) {
          if (entry->kind == INTURN_ENTRY_OPERATION)
            *static_cast<std::uint64_t *>(told) += entry->count;
          return true;
        },
        &told));
  });
  bench::require(told == size, "each is told once");
}

void snapshot_plain(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  stage.add(size);
  look(size, stage, meter);
}

void snapshot_pending(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.suspend();
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = "an operation";
  stage.add(size, &options);
  look(size, stage, meter);
}

void snapshot_running(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.add(size, nullptr, keep);
  stage.drain();
  look(size, stage, meter);
}

void snapshot_waiting(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT);
  stage.add(1, nullptr, keep, true);
  stage.drain();
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = stage.held.data();
  options.after_count = 1;
  stage.add(size, &options);
  look(size + 1, stage, meter);
}

void create_values(std::size_t size, Meter &meter) {
  Stage stage;
  std::vector<inturn_value> values(size);
  meter.measure(stage.queue, [&] {
    for (auto &value : values)
      check(
          inturn_queue_create_value(stage.queue, INTURN_QUEUE_PENDING, &value));
  });
  for (auto value : values)
    check(inturn_value_destroy(value));
}

void tell_events(std::size_t size, Meter &meter) {
  Stage stage(INTURN_QUEUE_FIFO, [](void *, const inturn_event *) {});
  stage.suspend();
  meter.measure(stage.queue, [&] {
    stage.add(size);
    stage.drain();
  });
}

struct Observed {
  inturn_value value;

  Observed() {
    inturn_datum zero = INTURN_INTEGER(0);
    check(inturn_value_create(nullptr, &zero, &value));
  }
  Observed(const Observed &) = delete;
  ~Observed() { check(inturn_value_destroy(value)); }

  inturn_observation observe(const inturn_observe_options *options = nullptr) {
    inturn_observation observation;
    check(inturn_value_observe(
        value, options, [](void *, const inturn_change *) {}, nullptr, nullptr,
        &observation));
    return observation;
  }
};

void begin_observations(std::size_t size, Meter &meter) {
  Observed observed;
  meter.measure(observed.value, [&] {
    for (std::size_t i = 0; i < size; i++)
      observed.observe();
  });
}

void cancel_observations(std::size_t size, Meter &meter) {
  Observed observed;
  std::vector<inturn_observation> observations(size);
  for (auto &observation : observations)
    observation = observed.observe();
  meter.measure(observed.value, [&] {
    for (auto observation : observations)
      check(inturn_observation_cancel(observation, -1));
  });
}

/* Changes that an executor takes a long time to tell. */
void change_untold(std::size_t size, Meter &meter) {
  Stage stage;
  Observed observed;
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  options.executor = stage.executor;
  observed.observe(&options);
  meter.measure(observed.value, [&] {
    std::int64_t sum;
    for (std::size_t i = 0; i < size; i++)
      check(inturn_value_add(observed.value, 1, &sum));
    stage.drain();
  });
}

void suspend_for_reasons(std::size_t size, Meter &meter) {
  Stage stage;
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < size; i++)
    reasons.push_back("reason " + std::to_string(i));
  meter.measure(stage.queue, [&] {
    for (auto &reason : reasons)
      check(inturn_queue_suspend_for(stage.queue, reason.c_str()));
    for (auto &reason : reasons) {
      stage.suspend();
      check(inturn_queue_resume(stage.queue));
      check(inturn_queue_resume_for(stage.queue, reason.c_str()));
    }
  });
}

void cancel_key(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.key = "key";
  stage.add(size, &options);
  meter.measure(stage.queue, [&] {
    std::uint64_t count;
    check(inturn_queue_cancel_key(stage.queue, "key", &count));
    bench::require(count == size, "all have the key");
  });
}

void add_keys(std::size_t size, Meter &meter) {
  Stage stage;
  stage.suspend();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < size; i++)
    keys.push_back("key " + std::to_string(i));
  meter.measure(stage.queue, [&] {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    for (auto &key : keys) {
      options.key = key.c_str();
      stage.add(1, &options);
    }
    for (auto &key : keys)
      check(inturn_queue_cancel_key(stage.queue, key.c_str(), nullptr));
  });
}

void come_after(std::size_t size, bool is_elsewhere, Meter &meter) {
  Stage stage(INTURN_QUEUE_CONCURRENT), other(INTURN_QUEUE_CONCURRENT);
  Stage &target = is_elsewhere ? other : stage;
  target.suspend();
  target.add(size, nullptr, finish, true);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = target.held.data();
  options.after_count = size;
  meter.measure(target.queue, [&] { stage.add(1, &options, finish); });
  check(inturn_queue_resume(target.queue));
  target.drain();
  stage.drain();
}

void come_after_all(std::size_t size, Meter &meter) {
  come_after(size, false, meter);
}

void come_after_others(std::size_t size, Meter &meter) {
  come_after(size, true, meter);
}

constexpr Case cases[] = {
    {"cancel", Touches::all, cancel},
    {"cancel_joined", Touches::all, cancel_joined},
    {"destroy_owner_of_joined", Touches::all, destroy_owner_of_joined},
    {"end_joined", Touches::all, end_joined},
    {"cancel_batch_among_others", Touches::some, cancel_batch_among_others},
    {"cancel_batch", Touches::all, cancel_batch},
    {"get_statistics", Touches::some, get_statistics},
    {"list_running", Touches::all, list_running},
    {"list_some_of_running", Touches::some, list_some_of_running},
    {"list_pending", Touches::all, list_pending},
    {"snapshot_plain", Touches::all, snapshot_plain},
    {"snapshot_pending", Touches::all, snapshot_pending},
    {"snapshot_running", Touches::all, snapshot_running},
    {"snapshot_waiting", Touches::all, snapshot_waiting},
    {"create_values", Touches::all, create_values},
    {"tell_events", Touches::all, tell_events},
    {"begin_observations", Touches::all, begin_observations},
    {"cancel_observations", Touches::all, cancel_observations},
    {"change_untold", Touches::all, change_untold},
    {"suspend_for_reasons", Touches::all, suspend_for_reasons},
    {"cancel_key", Touches::all, cancel_key},
    {"add_keys", Touches::all, add_keys},
    {"come_after_all", Touches::all, come_after_all},
    {"come_after_others", Touches::all, come_after_others},
};

/* Lowers `best` to the least time per object of three rounds. Returns how long
   they took. */
double measure(const Case &which, std::size_t size, double &best) {
  double total = 0;
  for (int round = 0; round < 3 && total < enough_ns; round++) {
    Meter meter{false};
    which.run(size, meter);
    total += meter.time_ns;
    best = std::min<double>(
        best, meter.time_ns / (which.touches == Touches::all ? size : 1));
  }
  return total;
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 4);
  auto watched_rounds = arguments[3];
  bool is_good = true;
  auto judge = [&](const Case &which, const char *what, double value,
                   double most) {
    arguments.print((std::string(which.name) + what).c_str(), value);
    if (value <= most)
      return;
    std::fprintf(stderr, "%s%s is %.2f, and at most %.2f is allowed\n",
                 which.name, what, value, most);
    is_good = false;
  };
  for (auto &which : cases) {
    std::vector<std::size_t> sizes;
    std::vector<double> bests;
    std::size_t size = arguments[0];
    double total = 0;
    for (std::size_t step = 0; step < arguments[2] && total < enough_ns;
         step++, size *= arguments[1]) {
      sizes.push_back(size);
      bests.push_back(HUGE_VAL);
      total = measure(which, size, bests.back());
    }
    /* What else the machine does costs time at one size and not at another;
       a cost that grows does so however often it is measured. */
    for (int again = 0; again < 5 && bench::slope(sizes, bests) > most_exponent;
         again++)
      for (std::size_t i = 0; i < sizes.size(); i++)
        measure(which, sizes[i], bests[i]);
    for (std::size_t i = 0; i < sizes.size(); i++)
      arguments.print(
          (std::string(which.name) + "_ns_" + std::to_string(sizes[i])).c_str(),
          bests[i]);
    std::size_t largest = sizes.back();
    judge(which, "_exponent", bench::slope(sizes, bests), most_exponent);
    std::vector<double> waits_us;
    for (std::size_t round = 0; round < watched_rounds; round++) {
      Meter meter{true};
      which.run(largest, meter);
      waits_us.push_back(meter.wait_ns / 1e3);
    }
    if (watched_rounds > 0)
      judge(which, "_wait_us", bench::median(waits_us), most_wait_us);
  }
  return is_good ? 0 : 1;
}
