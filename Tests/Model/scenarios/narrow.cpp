// Narrow gaps: between a check and what follows from it, and where something
// already belongs to the next operation.
#include "../checker/checker.hpp"
#include "../seam/CInturnSystem.h"

#include <cstdlib>

using namespace model;

namespace {

const With handled = {.handle = true, .onEnd = true};

With withOptions(std::function<void(inturn_operation_options &)> set) {
  return {.handle = true, .onEnd = true, .set = std::move(set)};
}

int64_t integer(inturn_value value) {
  int64_t is = -1;
  expect("get", inturn_value_get_integer(value, &is), {INTURN_OK});
  return is;
}

void doNothing(void *, inturn_token token) { inturn_token_finish(token); }

void count(void *context, inturn_token) { ++*static_cast<int *>(context); }

// Restores the state of a new process.
void forgetLines() {
  constexpr size_t most = 1 << 16;
  void **lines = reinterpret_cast<void **>(inturn_system_this_process.sites);
  inturn_system_this_process.sites = 0;
  for (size_t i = 0; lines != nullptr && i < most; i++)
    free(lines[i]);
  free(lines);
}

} // namespace

// The gate passes to the next operation without the lock.
SCENARIO(a_handler_is_not_for_the_next_one) {
  int called = 0;
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", finishes);
  Operation &y = queue.add("y", keeps);
  together({[&] {
    x.awaitCall();
    expect("on_cancel",
           inturn_token_on_cancel(x.token, count, &called, nullptr),
           {INTURN_OK, INTURN_E_ALREADY_FINISHED});
  }});
  y.awaitCall();
  queue.cancelAll();
  model_settle(false);
  CHECK(called == 0);
}

// The handlers that are about to be called are in a list.
SCENARIO(handlers_are_replaced_while_all_are_cancelled) {
  int called[3] = {};
  Queue queue(INTURN_QUEUE_CONCURRENT);
  queue.limit = 3;
  expect("set_max_concurrent", inturn_queue_set_max_concurrent(queue.handle, 3),
         {INTURN_OK});
  Operation *all[] = {&queue.add("x", keeps), &queue.add("y", keeps),
                      &queue.add("z", keeps)};
  auto handle = [&](int i) {
    expect("on_cancel",
           inturn_token_on_cancel(all[i]->token, count, &called[i], nullptr),
           {INTURN_OK});
  };
  for (int i = 0; i < 3; i++) {
    all[i]->awaitCall();
    handle(i);
  }
  together({[&] { queue.cancelAll(); },
            [&] {
              handle(0);
              handle(1);
              handle(2);
            }});
  model_settle(false);
  for (int times : called)
    CHECK(times >= 1);
}

// The delay of an interaction queue ends when its lane is another queue's.
SCENARIO(a_delay_is_over_as_its_queue_goes) {
  inturn_clock clock;
  expect("clock_create", inturn_clock_create_manual(&clock), {INTURN_OK});
  {
    Host host(1);
    Queue queue(INTURN_QUEUE_INTERACTION, host.executor,
                [&](auto &options) { options.clock = clock; });
    queue.appear();
    together({[&] {
                expect("advance", inturn_clock_advance(clock, 1000000000),
                       {INTURN_OK});
              },
              [&] {
                queue.destroy();
                Queue next(INTURN_QUEUE_FIFO);
                next.add("x", finishes);
              }});
  }
  expect("clock_destroy", inturn_clock_destroy(clock), {INTURN_OK});
}

// The delays of two queues end when their lanes are free.
SCENARIO(delays_are_over_as_their_queues_go) {
  inturn_clock clock;
  expect("clock_create", inturn_clock_create_manual(&clock), {INTURN_OK});
  {
    Host host(1);
    auto timed = [&](auto &options) { options.clock = clock; };
    Queue one(INTURN_QUEUE_INTERACTION, host.executor, timed),
        other(INTURN_QUEUE_INTERACTION, host.executor, timed);
    one.appear();
    other.appear();
    together({[&] {
                expect("advance", inturn_clock_advance(clock, 1000000000),
                       {INTURN_OK});
              },
              [&] {
                one.destroy();
                other.destroy();
              }});
    Queue next(INTURN_QUEUE_FIFO), last(INTURN_QUEUE_FIFO);
    next.add("x", finishes);
    last.add("y", finishes);
  }
  expect("clock_destroy", inturn_clock_destroy(clock), {INTURN_OK});
}

SCENARIO(what_would_come_after_a_handle_that_is_gone_is_refused) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps, {.handle = true});
  inturn_operation old = x.handle;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.after = &old;
  options.after_count = 1;
  auto enqueue = [&] {
    expect("enqueue",
           inturn_queue_enqueue_with(queue.handle, &options, doNothing, nullptr,
                                     nullptr, nullptr),
           {INTURN_E_STALE});
  };
  x.awaitCall();
  x.release();
  enqueue();
  x.finish();
  model_settle(false);
  // It gets the same slot.
  Operation &y = queue.add("y", finishes, {.handle = true});
  y.awaitDestroyed();
  enqueue();
}

SCENARIO(those_with_a_priority_come_in_at_once) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  auto add = [&](const char *name, bool wantsHandle) {
    queue.add(name, finishes, {.handle = wantsHandle, .set = [](auto &options) {
                                 options.priority = 1;
                               }});
  };
  together({[&] { add("x", false); }, [&] { add("y", false); },
            [&] { add("z", true); }});
}

// An attempt is not asked to give way to what wanted the previous one's place.
SCENARIO(an_attempt_is_not_asked_for_the_one_before) {
  int asked = 0;
  Host host(1);
  Queue queue(INTURN_QUEUE_INTERACTION, host.executor);
  Operation &x = queue.add("x", keeps, handled);
  x.mayRestart = true;
  auto addUrgent = [&](const char *name) {
    queue.add(name, finishes,
              withOptions([](auto &options) { options.urgent = true; }));
  };
  queue.appear();
  x.awaitCall();
  addUrgent("urgent");
  x.yield();
  x.awaitCall(2);
  queue.disappear();
  addUrgent("later");
  expect("on_preempt", inturn_token_on_preempt(x.token, count, &asked, nullptr),
         {INTURN_OK});
  model_settle(false);
  CHECK(asked == 0);
  queue.appear();
  model_settle(true);
  CHECK(asked == 1);
}

SCENARIO(one_that_is_cut_off_does_not_run_for_who_looks_later) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x =
      queue.add("x", keeps,
                withOptions([](auto &options) { options.max_run_ns = 1000; }));
  x.awaitCall();
  model_settle(true);
  CHECK(x.ends == 1);
  inturn_value running;
  expect(
      "create_value",
      inturn_queue_create_value(queue.handle, INTURN_QUEUE_RUNNING, &running),
      {INTURN_OK});
  CHECK(integer(running) == 0);
  x.finish();
  model_settle(false);
  CHECK(integer(running) == 0);
  expect("destroy", inturn_value_destroy(running), {INTURN_OK});
}

// Between a burst's beginning and its first start, the gate has no operation.
SCENARIO(who_looks_as_a_burst_begins_is_told_that_nothing_has_ended) {
  Queue queue(INTURN_QUEUE_FIFO);
  inturn_value progress;
  together({[&] { queue.add("x", keeps); },
            [&] {
              expect("create_value",
                     inturn_queue_create_value(
                         queue.handle, INTURN_QUEUE_PROGRESS, &progress),
                     {INTURN_OK});
              inturn_datum is;
              expect("get", inturn_value_get(progress, &is), {INTURN_OK});
              CHECK(is.integer == 0);
            }});
  expect("destroy", inturn_value_destroy(progress), {INTURN_OK});
}

// The call has returned, but the lane does not know yet.
SCENARIO(one_that_is_not_finished_runs_for_who_looks_as_its_call_returns) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  inturn_value running;
  together({[&] {
    x.awaitCall();
    expect(
        "create_value",
        inturn_queue_create_value(queue.handle, INTURN_QUEUE_RUNNING, &running),
        {INTURN_OK});
  }});
  CHECK(integer(running) == 1);
  x.finish();
  model_settle(false);
  CHECK(integer(running) == 0);
  expect("destroy", inturn_value_destroy(running), {INTURN_OK});
}

// Work that finishes its own token has reported the end when the call returns.
SCENARIO(the_end_is_told_to_who_has_just_come) {
  inturn_value state = {0};
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x",
                           [&](Operation &it) {
                             it.finish();
                             await("a value", [&] { return state.bits != 0; });
                             CHECK(integer(state) == INTURN_ENDED);
                           },
                           {.handle = true});
  together({[&] {
    x.awaitCall();
    inturn_value made;
    expect(
        "create_value",
        inturn_operation_create_value(x.handle, INTURN_OPERATION_STATE, &made),
        {INTURN_OK});
    state = made;
  }});
  queue.drain();
  expect("destroy", inturn_value_destroy(state), {INTURN_OK});
}

SCENARIO(a_queue_needs_no_second_thread_for_the_clock) {
  inturn_queue one, other;
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &one),
         {INTURN_OK});
  model_failing_starts = -1;
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &other),
         {INTURN_OK});
  model_failing_starts = 0;
  expect("destroy", inturn_queue_destroy(one), {INTURN_OK});
  expect("destroy", inturn_queue_destroy(other), {INTURN_OK});
}

// There is nothing to destroy or report.
SCENARIO(who_has_joined_and_asks_for_nothing_goes) {
  BareQueue queue(INTURN_QUEUE_FIFO);
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.key = "key";
  options.join = true;
  queue.add(&options);
  queue.add(&options);
  queue.awaitCall();
  expect("finish", inturn_token_finish(queue.token), {INTURN_OK});
  expect("drain", inturn_queue_drain(queue.handle, -1), {INTURN_OK});
  model_settle(false);
  CHECK(aliveOperations() == 0);
  queue.destroy();
}

// The table of lines is created by the first two sites. They have no numbers
// stored in the program, as this is not its first schedule.
SCENARIO(the_first_two_lines_come_at_once) {
  forgetLines();
  Queue queue(INTURN_QUEUE_FIFO);
  queue.suspend();
  auto enqueue = [&](uint32_t line) {
    inturn_site site = {"lines.c", nullptr, line, 0};
    inturn_operation operation;
    expect("enqueue",
           inturn_queue_enqueue_at(&site, queue.handle, doNothing, nullptr,
                                   nullptr, &operation),
           {INTURN_OK});
    expect("release", inturn_operation_release(operation), {INTURN_OK});
  };
  together({[&] { enqueue(1); }, [&] { enqueue(2); }});
  uint32_t told = 0;
  const auto visit = [](void *told, const inturn_entry *entry) {
    if (entry->kind == INTURN_ENTRY_OPERATION)
      *static_cast<uint32_t *>(told) += entry->line;
    return true;
  };
  expect("snapshot", inturn_snapshot(visit, &told), {INTURN_OK});
  CHECK(told == 3);
  queue.resume();
  queue.drain();
}

// A wait for all calls does not wait for calls that will never be made.
SCENARIO(a_drain_meets_a_values_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
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
  together({[&] {
              expect("drain", inturn_value_drain(value, -1),
                     {INTURN_OK, INTURN_E_STALE});
            },
            [&] {
              model_settle(false);
              expect("destroy", inturn_value_destroy(value), {INTURN_OK});
            }});
  queue.resume();
}

// Once the token is finished, the rest of the call blocks nobody.
SCENARIO(who_has_finished_waits_for_who_waited_for_it) {
  bool hasBegun = false, isThere = false;
  inturn_operation other = {0};
  Host host(2);
  Queue one(INTURN_QUEUE_FIFO, host.executor),
      two(INTURN_QUEUE_FIFO, host.executor);
  auto wait = [](inturn_operation operation) {
    expect("wait", inturn_operation_wait(operation, -1, nullptr), {INTURN_OK});
  };
  Operation &x = one.add("x",
                         [&](Operation &it) {
                           await("y", [&] { return hasBegun && isThere; });
                           it.finish();
                           wait(other);
                         },
                         {.handle = true});
  Operation &y = two.add("y",
                         [&](Operation &it) {
                           hasBegun = true;
                           wait(x.handle);
                           it.finish();
                         },
                         {.handle = true});
  other = y.handle;
  isThere = true;
  one.drain();
  two.drain();
}

// A handler does not use up a drainer.
SCENARIO(a_handler_waits_for_the_next_one) {
  struct Both {
    Operation *first, *next;
  } both;
  Host host(2);
  Queue queue(INTURN_QUEUE_FIFO, host.executor);
  both.first = &queue.add("x", keeps, {.handle = true});
  both.next = &queue.add("y", finishes, {.handle = true});
  both.first->awaitCall();
  auto endAndWait = [](void *context, inturn_token) {
    Both &both = *static_cast<Both *>(context);
    both.first->finish();
    expect("wait", inturn_operation_wait(both.next->handle, -1, nullptr),
           {INTURN_OK});
  };
  expect("on_cancel",
         inturn_token_on_cancel(both.first->token, endAndWait, &both, nullptr),
         {INTURN_OK});
  together({[&] { both.first->cancel(); }});
  queue.drain();
}
