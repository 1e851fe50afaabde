// What only the Swift modules ask of the engine.
#include "../hosted/hosted.hpp"

using namespace model;
using Form = HostedQueue::Form;
using Body = HostedQueue::Body;

static void doNothing(void *, inturn_token token) {
  expect("finish", inturn_token_finish(token), {INTURN_OK});
}

// One of them gets all events.
SCENARIO(two_observers_of_events_come_at_once) {
  struct Events {
    uint32_t enqueued = 0, ended = 0;
    uint64_t numbers = 0;
  } events[2];
  auto told = [](void *context, uint32_t kind, uint64_t operation) {
    Events &self = *static_cast<Events *>(context);
    self.enqueued += kind == INTURN_EVENT_ENQUEUED;
    self.ended += kind == INTURN_EVENT_ENDED;
    self.numbers += kind == INTURN_EVENT_ENDED ? operation : 0;
  };
  Queue queue(INTURN_QUEUE_CONCURRENT);
  auto observe = [&](Events &events) {
    expect("observe",
           inturn_status(model_observe(queue.handle.bits, &events, told)),
           {INTURN_OK});
  };
  together({[&] { observe(events[0]); }, [&] { observe(events[1]); }});
  for (int i = 0; i < 2; i++) {
    inturn_operation operation;
    expect("enqueue",
           inturn_status(model_enqueue_without_options(
               queue.handle.bits, nullptr, doNothing, &operation.bits)),
           {INTURN_OK});
    expect("wait", inturn_operation_wait(operation, -1, nullptr), {INTURN_OK});
    expect("release", inturn_operation_release(operation), {INTURN_OK});
  }
  queue.drain();
  Events &heard = events[events[0].ended > 0 ? 0 : 1];
  Events &others = events[events[0].ended > 0 ? 1 : 0];
  CHECK(heard.enqueued == 2 && heard.ended == 2 && heard.numbers == 1 + 2);
  CHECK(others.enqueued == 0 && others.ended == 0);
}

SCENARIO(the_limit_is_asked_for_while_it_changes) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  queue.suspend();
  queue.add("x", finishes, {.handle = true});
  together(
      {[&] {
         queue.limit = 3;
         expect("set_max_concurrent",
                inturn_queue_set_max_concurrent(queue.handle, 3), {INTURN_OK});
       },
       [&] {
         uint32_t limit = 0;
         expect("limit", inturn_status(model_limit(queue.handle.bits, &limit)),
                {INTURN_OK});
         CHECK(limit == 2 || limit == 3);
       }});
}

SCENARIO(a_question_whether_it_has_joined_meets_the_end) {
  HostedQueue queue(INTURN_QUEUE_FIFO);
  auto &first = queue.join("first", Body::keeps);
  auto &second = queue.join("second");
  together({[&] {
              first.awaitBegin();
              first.finish();
            },
            [&] { CHECK(model_has_joined(second.handle.bits)); }});
}

SCENARIO(two_hosted_queues_of_one_clock_come_and_go) {
  inturn_clock clock;
  expect("clock_create", inturn_clock_create_manual(&clock), {INTURN_OK});
  auto use = [&] {
    inturn_queue queue = {model_queue_on_clock(clock.bits)};
    expect("queue_destroy", inturn_queue_destroy(queue), {INTURN_OK});
  };
  together({use, use});
  expect("clock_destroy", inturn_clock_destroy(clock), {INTURN_OK});
}

SCENARIO(two_tasks_waits_are_over_at_once) {
  together(
      {[] { CHECK(model_task_waits()); }, [] { CHECK(model_task_waits()); }});
}

SCENARIO(a_value_of_two_words_is_read_as_it_changes) {
  void *pair = model_pair_make();
  together({[&] {
              model_pair_set(pair, 1);
              model_pair_set(pair, 2);
            },
            [&] {
              uint64_t first = model_pair_get(pair);
              CHECK(first <= 2);
              uint64_t second = model_pair_get(pair);
              CHECK(first <= second && second <= 2);
            }});
  model_pair_release(pair);
}
