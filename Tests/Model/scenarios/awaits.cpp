// Waits without a call of the library, and what the watchdog sees of waits.
#include "../checker/watched.hpp"

using namespace model;

// The awaited token's operation may end, and the next one take its place.
static void tellAwaited(const char *what, uint64_t id) {
  expect(what, inturn_report_set_awaited(id),
         {INTURN_OK, INTURN_E_ALREADY_FINISHED});
}

SCENARIO(an_await_by_a_token_meets_finish_and_a_burst) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  queue.add("z", finishes);
  x.awaitCall();
  const uint64_t token = x.token.bits;
  together({[&] { x.finish(); }, [&] { tellAwaited("token", token); },
            [&] { queue.drain(); }});
}

SCENARIO(an_await_by_a_token_meets_finish_and_the_next_beside) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps);
  x.awaitCall();
  const uint64_t token = x.token.bits;
  together({[&] { x.finish(); }, [&] { tellAwaited("token", token); },
            [&] { queue.add("y", finishes); }});
}

// A caller that waits on its own until a queue is quiet is woken, too.
SCENARIO(an_await_of_a_queue_meets_a_drain_and_the_last_end) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  x.awaitCall();
  together({[&] { x.finish(); }, [&] { queue.drain(); },
            [&] {
              expect("queue", inturn_report_set_awaited(queue.handle.bits),
                     {INTURN_OK});
              tellAwaited("operation", x.handle.bits);
            }});
}

// A queue's calls for a value's observers are read under the lane's lock.
SCENARIO(a_look_meets_a_drain_of_a_value_behind_a_suspended_queue) {
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched;
  queue.suspend();
  inturn_datum initial = INTURN_INTEGER(0);
  inturn_value value;
  expect("create", inturn_value_create(nullptr, &initial, &value), {INTURN_OK});
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  options.queue = queue.handle;
  expect("observe",
         inturn_value_observe(
             value, &options, [](void *, const inturn_change *) {}, nullptr,
             nullptr, nullptr),
         {INTURN_OK});
  expect("add", inturn_value_add(value, 1, nullptr), {INTURN_OK});
  together(
      {[&] { expect("drain", inturn_value_drain(value, -1), {INTURN_OK}); },
       [&] { expect("add", inturn_value_add(value, 1, nullptr), {INTURN_OK}); },
       [&] {
         watched.awaitSaying("it is suspended");
         queue.resume();
       }});
  expect("destroy", inturn_value_destroy(value), {INTURN_OK});
}

// The watchdog reads who waits for a batch while drainers take its jobs without
// the lane's lock.
SCENARIO(a_look_meets_a_batch_that_somebody_waits_for) {
  for (auto kind : {INTURN_QUEUE_FIFO, INTURN_QUEUE_CONCURRENT}) {
    Queue queue(kind);
    Watched watched;
    Batch &batch = queue.addBatch({{"a", finishes}, {"x", keeps}});
    Operation &x = *batch.operations[1];
    together({[&] { batch.wait(); },
              [&] {
                x.awaitCall();
                watched.awaitReport();
                x.finish();
              }});
    Batch &next = queue.addBatch({{"b", finishes}, {"c", finishes}});
    together({[&] { next.wait(); }, [&] { queue.add("d", finishes); }});
  }
}

// A thread waits for an observer that does not return, and no queue says so.
static void checkThatItIsTold(bool cannotStart) {
  static bool isCalled, mayReturn;
  isCalled = mayReturn = false;
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value;
  Queue queue(INTURN_QUEUE_FIFO);
  Watched watched(cannotStart ? -1 : 1000000);
  expect("value_create", inturn_value_create(nullptr, &zero, &value),
         {INTURN_OK});
  expect("observe",
         inturn_value_observe(
             value, nullptr,
             [](void *, const inturn_change *) {
               isCalled = true;
               await("the report", [] { return mayReturn; });
             },
             nullptr, nullptr, nullptr),
         {INTURN_OK});
  if (cannotStart) {
    // For the new limit, and for the wait.
    model_failing_starts = 2;
    Watched::setLimit(1000000);
  } else {
    // It finds nothing more, or is about to.
    queue.add("first", finishes);
  }
  together({[&] {
              expect("value_add", inturn_value_add(value, 1, nullptr),
                     {INTURN_OK});
            },
            [&] {
              await("the observer", [] { return isCalled; });
              expect("value_destroy", inturn_value_destroy(value), {INTURN_OK});
            },
            [&] {
              watched.awaitSaying("a call of one has not returned");
              mayReturn = true;
            }});
}

SCENARIO(a_wait_for_an_observer_meets_the_end_of_the_watchdog) {
  checkThatItIsTold(false);
}

SCENARIO(a_wait_for_an_observer_starts_the_watchdog_later) {
  checkThatItIsTold(true);
}
