/* What an operation costs more with one option: a deadline that does not pass,
   an exclusive name, a key. What an event of its queue costs, a record of the
   recorder, and a deadline that passes, in order and shuffled.

   Timed: rounds of 1,000 no-op operations on a suspended queue, resumed and
   drained, alternating without and with each option; and the advance of a
   manual clock past the deadlines of all, until they have ended.

   Arguments: operations of each kind, deadlines that pass. */
#include "bench.hpp"
#include PEER_HEADER

using peers::PEER::check;
using peers::PEER::run;

namespace {

constexpr std::size_t ROUND = 1000;

/* For each operation: enqueued, started, ended. */
constexpr std::size_t EVENTS = 3;
/* The same. */
constexpr std::size_t RECORDS = 3;

using Change = void (*)(inturn_operation_options &, std::size_t number);

void plain(inturn_operation_options &, std::size_t) {}

void deadline(inturn_operation_options &options, std::size_t) {
  options.max_wait_ns = INT64_C(3600'000'000'000);
}

constexpr std::uint64_t LONGEST = 1 << 30;

void ordered(inturn_operation_options &options, std::size_t number) {
  options.max_wait_ns = static_cast<std::int64_t>(number) + 1;
}

void shuffled(inturn_operation_options &options, std::size_t number) {
  options.max_wait_ns =
      static_cast<std::int64_t>(number * 2'654'435'761 % LONGEST) + 1;
}

void name(inturn_operation_options &options, std::size_t) {
  static const char *const names[] = {"org.example.file"};
  options.exclusive = names;
  options.exclusive_count = 1;
}

void key(inturn_operation_options &options, std::size_t number) {
  static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  options.key = keys[number % 8];
}

void count_event(void *context, const inturn_event *) { bench::count(context); }

/* A queue with an event handler, or without. */
class Queue {
public:
  explicit Queue(inturn_queue_options options) {
    check(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue));
    check(inturn_queue_suspend(queue));
  }
  Queue(const Queue &) = delete;
  ~Queue() { check(inturn_queue_destroy(queue)); }

  void enqueue(std::size_t count, Change change, std::uint64_t *ran) {
    for (std::size_t i = 0; i < count; i++) {
      inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
      change(options, i);
      check(inturn_queue_enqueue_with(queue, &options, run<bench::count>, ran,
                                      nullptr, nullptr));
    }
  }
  void enqueue(std::size_t count, std::uint64_t *ran) {
    for (std::size_t i = 0; i < count; i++)
      check(inturn_queue_enqueue(queue, run<bench::count>, ran, nullptr,
                                 nullptr));
  }
  void resume() { check(inturn_queue_resume(queue)); }
  void drain() { check(inturn_queue_drain(queue, -1)); }

private:
  inturn_queue queue;
};

/* A kind of operation, and the times of its rounds. */
struct Kind {
  Change change;
  bool has_events = false;
  std::vector<double> times = {};

  void measure() {
    std::uint64_t ran = 0, told = 0;
    inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
    if (has_events) {
      options.on_event = count_event;
      options.event_context = &told;
    }
    {
      Queue queue(options);
      auto start = bench::now_ns();
      queue.enqueue(ROUND, change, &ran);
      queue.resume();
      queue.drain();
      times.push_back(static_cast<double>(bench::now_ns() - start) / ROUND);
    }
    bench::require(ran == ROUND, "each operation ran once");
    bench::require(!has_events || told >= EVENTS * ROUND,
                   "all events were told");
  }
};

/* What each record of the recorder costs: rounds of operations without options,
   with the recorder off and on in turn. */
double record_ns(std::size_t count) {
  constexpr std::size_t MANY = 10 * ROUND;
  std::vector<double> times[2];
  for (std::size_t i = 0; i < count; i += ROUND)
    for (bool is_on : {false, true}) {
      if (is_on)
        check(inturn_trace_start(0));
      std::uint64_t ran = 0;
      {
        Queue queue(INTURN_QUEUE_OPTIONS_INIT);
        auto start = bench::now_ns();
        queue.enqueue(MANY, &ran);
        queue.resume();
        queue.drain();
        times[is_on].push_back(static_cast<double>(bench::now_ns() - start) /
                               MANY);
      }
      check(inturn_trace_stop());
      bench::require(ran == MANY, "each operation ran once");
    }
  return (bench::median(times[1]) - bench::median(times[0])) / RECORDS;
}

/* All limits pass at once: in the order of the operations, like equal ones, or
   in another order. */
double pass_ns(std::size_t deadlines, Change limit) {
  inturn_clock clock;
  check(inturn_clock_create_manual(&clock));
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.clock = clock;
  std::uint64_t ran = 0;
  double elapsed;
  {
    Queue queue(options);
    queue.enqueue(deadlines, limit, &ran);
    auto start = bench::now_ns();
    check(inturn_clock_advance(clock, LONGEST));
    queue.resume();
    queue.drain();
    elapsed = static_cast<double>(bench::now_ns() - start);
  }
  check(inturn_clock_destroy(clock));
  bench::require(ran == 0, "no operation ran whose deadline had passed");
  return elapsed / deadlines;
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments(argc, argv, 2);
  Kind without{plain}, with_deadline{deadline}, with_name{name}, with_key{key},
      with_events{plain, true};
  for (std::size_t i = 0; i < arguments[0]; i += ROUND)
    for (auto *kind :
         {&without, &with_deadline, &with_name, &with_key, &with_events})
      kind->measure();
  auto more = [&](const Kind &kind) {
    return bench::median(kind.times) - bench::median(without.times);
  };
  arguments.print("plain_ns", bench::median(without.times));
  arguments.print("deadline_more_ns", more(with_deadline));
  arguments.print("name_more_ns", more(with_name));
  arguments.print("key_more_ns", more(with_key));
  arguments.print("event_ns", more(with_events) / EVENTS);
  arguments.print("record_ns", record_ns(arguments[0]));
  arguments.print("deadline_passes_ns", pass_ns(arguments[1], ordered));
  arguments.print("shuffled_deadline_passes_ns",
                  pass_ns(arguments[1], shuffled));
}
