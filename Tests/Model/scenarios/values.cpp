// Observed values: changes, observers, waits, and their ends.
#include "../checker/checker.hpp"

using namespace model;

namespace {

// Checks that an observer sees a trail without gaps, and nothing after its end.
struct Observer {
  inturn_observation handle = {0};
  uint64_t last = 0;
  int64_t holds = 0;
  bool isCalled = false;
  uint32_t destroys = 0;

  static void told(void *context, const inturn_change *change) {
    Observer &self = *static_cast<Observer *>(context);
    CHECK(!self.isCalled);
    CHECK(self.destroys == 0);
    self.isCalled = true;
    if (self.last != 0) {
      CHECK(change->number == self.last + 1);
      CHECK(change->before.integer == self.holds);
    }
    self.last = change->number;
    self.holds = change->after.integer;
    model_point(nullptr);
    self.isCalled = false;
  }
  static void destroyed(void *context) {
    static_cast<Observer *>(context)->destroys++;
  }
};

struct Value {
  inturn_value handle = {0};
  bool isDestroyed = false;
  Value() {
    inturn_datum initial = INTURN_INTEGER(0);
    expect("value_create", inturn_value_create(nullptr, &initial, &handle),
           {INTURN_OK});
  }
  void observe(Observer &observer, bool onPool = false) {
    inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
    options.initial = true;
    if (onPool)
      inturn_executor_pool(&options.executor);
    expect("observe",
           inturn_value_observe(handle, &options, Observer::told, &observer,
                                Observer::destroyed, &observer.handle),
           {INTURN_OK});
  }
  void add(int64_t difference) {
    expect("value_add", inturn_value_add(handle, difference, nullptr),
           {INTURN_OK, isDestroyed ? INTURN_E_STALE : INTURN_OK});
  }
  void destroy() {
    isDestroyed = true;
    expect("value_destroy", inturn_value_destroy(handle), {INTURN_OK});
  }
  ~Value() {
    if (!isDestroyed) {
      expect("value_drain", inturn_value_drain(handle, -1), {INTURN_OK});
      destroy();
    }
    model_settle(true);
  }
};

void cancel(Observer &observer) {
  expect("observation_cancel", inturn_observation_cancel(observer.handle, -1),
         {INTURN_OK});
  CHECK(observer.destroys == 1);
  CHECK(!observer.isCalled);
}

} // namespace

SCENARIO(two_threads_change_a_value) {
  Observer observer;
  {
    Value value;
    value.observe(observer);
    together({[&] {
                value.add(1);
                value.add(1);
              },
              [&] {
                value.add(10);
                value.add(10);
              }});
    expect("drain", inturn_value_drain(value.handle, -1), {INTURN_OK});
    CHECK(observer.last == 4 && observer.holds == 22);
  }
  CHECK(observer.destroys == 1);
}

SCENARIO(a_change_meets_a_new_observer) {
  Observer first, second;
  Value value;
  value.observe(first);
  together({[&] {
              value.add(1);
              value.add(1);
            },
            [&] { value.observe(second); }});
  expect("drain", inturn_value_drain(value.handle, -1), {INTURN_OK});
  CHECK(first.last == 2 && second.last == 2);
}

SCENARIO(a_change_meets_the_end_of_an_observation) {
  Observer first, second;
  Value value;
  value.observe(first);
  value.observe(second);
  together({[&] {
              value.add(1);
              value.add(1);
            },
            [&] { cancel(first); }, [&] { cancel(second); }});
}

SCENARIO(a_change_meets_the_end_of_an_observation_on_a_pool) {
  Observer first, second;
  Value value;
  value.observe(first, true);
  value.observe(second, true);
  together({[&] {
              value.add(1);
              value.add(1);
            },
            [&] { cancel(first); }});
}

SCENARIO(a_change_meets_the_destruction_of_its_value) {
  Observer first, second;
  {
    Value value;
    value.observe(first);
    value.observe(second, true);
    together({[&] {
                inturn_status status =
                    inturn_value_add(value.handle, 1, nullptr);
                expect("add", status, {INTURN_OK, INTURN_E_STALE});
              },
              [&] {
                value.destroy();
                CHECK(first.destroys == 1);
              }});
  }
  CHECK(first.destroys == 1 && second.destroys == 1);
}

// More observers than one look at them takes.
SCENARIO(a_change_meets_the_end_of_many_observations) {
  Observer observers[34];
  // By the third thread, which then also destroys their contexts.
  auto isCancelled = [&](Observer &observer) {
    return &observer == &observers[0] || &observer == &observers[33];
  };
  {
    Value value;
    for (auto &observer : observers)
      value.observe(observer);
    together({[&] {
                expect("add", inturn_value_add(value.handle, 1, nullptr),
                       {INTURN_OK, INTURN_E_STALE});
              },
              [&] {
                expect("drain", inturn_value_drain(value.handle, -1),
                       {INTURN_OK, INTURN_E_STALE});
                value.destroy();
                for (auto &observer : observers)
                  CHECK(observer.destroys == 1 || isCancelled(observer));
              },
              [&] {
                for (auto *observer : {&observers[33], &observers[0]})
                  expect("observation_cancel",
                         inturn_observation_cancel(observer->handle, -1),
                         {INTURN_OK, INTURN_E_STALE});
              }});
  }
  for (auto &observer : observers)
    CHECK(observer.destroys == 1);
}

SCENARIO(waiting_for_a_value_meets_its_change) {
  Value value;
  auto isTwo = [](void *, const inturn_datum *datum) {
    return datum->integer == 2;
  };
  together({[&] {
              value.add(1);
              value.add(1);
            },
            [&] {
              expect(
                  "value_wait",
                  inturn_value_wait(value.handle, isTwo, nullptr, -1, nullptr),
                  {INTURN_OK});
            }});
}

SCENARIO(a_queues_state_meets_its_changes) {
  {
    Queue queue(INTURN_QUEUE_FIFO);
    queue.add("x", finishes);
    inturn_value pending;
    together({[&] {
                expect("create_value",
                       inturn_queue_create_value(
                           queue.handle, INTURN_QUEUE_PENDING, &pending),
                       {INTURN_OK});
              },
              [&] {
                queue.add("y", finishes);
                queue.add("z", finishes);
              }});
    queue.drain();
    int64_t count = -1;
    expect("get", inturn_value_get_integer(pending, &count), {INTURN_OK});
    CHECK(count == 0);
    expect("destroy", inturn_value_destroy(pending), {INTURN_OK});
  }
}

SCENARIO(an_operations_state_meets_its_end) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  inturn_value state = {0};
  together({x.finisher(), [&] {
              expect("create_value",
                     inturn_operation_create_value(
                         x.handle, INTURN_OPERATION_STATE, &state),
                     {INTURN_OK});
            }});
  queue.drain();
  int64_t is = 0;
  expect("get", inturn_value_get_integer(state, &is), {INTURN_OK});
  CHECK(is == INTURN_ENDED);
  expect("destroy", inturn_value_destroy(state), {INTURN_OK});
}

SCENARIO(waiting_for_a_value_meets_its_destruction) {
  Value value;
  together({[&] {
              expect("value_wait",
                     inturn_value_wait(
                         value.handle,
                         [](void *, const inturn_datum *datum) {
                           return datum->integer == 5;
                         },
                         nullptr, -1, nullptr),
                     {INTURN_E_STALE});
            },
            [&] { value.destroy(); }});
}

SCENARIO(two_exchanges_of_a_value) {
  Observer observer;
  Value value;
  value.observe(observer);
  int done = 0;
  auto exchange = [&] {
    inturn_datum zero = INTURN_INTEGER(0), one = INTURN_INTEGER(1);
    bool exchanged = false;
    expect("compare_exchange",
           inturn_value_compare_exchange(value.handle, &zero, &one, &exchanged,
                                         nullptr),
           {INTURN_OK});
    done += exchanged;
  };
  together({exchange, exchange});
  CHECK(done == 1);
}

SCENARIO(an_observer_on_a_queue_meets_changes) {
  Observer observer;
  Queue queue(INTURN_QUEUE_FIFO);
  Value value;
  inturn_observe_options options = INTURN_OBSERVE_OPTIONS_INIT;
  options.initial = true;
  options.queue = queue.handle;
  expect("observe",
         inturn_value_observe(value.handle, &options, Observer::told, &observer,
                              Observer::destroyed, &observer.handle),
         {INTURN_OK});
  together({[&] {
              value.add(1);
              value.add(1);
            },
            [&] {
              queue.suspend();
              queue.resume();
            }});
  expect("value_drain", inturn_value_drain(value.handle, -1), {INTURN_OK});
  CHECK(observer.last == 2);
  cancel(observer);
}

SCENARIO(an_observer_changes_its_value) {
  struct Again {
    inturn_value value;
    int calls = 0;
    static void told(void *context, const inturn_change *change) {
      Again &self = *static_cast<Again *>(context);
      self.calls++;
      if (change->after.integer < 3)
        inturn_value_add(self.value, 1, nullptr);
    }
  };
  Value value;
  Again again{value.handle};
  expect("observe",
         inturn_value_observe(value.handle, nullptr, Again::told, &again,
                              nullptr, nullptr),
         {INTURN_OK});
  together({[&] { value.add(1); }, [&] { value.add(1); }});
  expect("value_drain", inturn_value_drain(value.handle, -1), {INTURN_OK});
  CHECK(again.calls >= 3);
}
