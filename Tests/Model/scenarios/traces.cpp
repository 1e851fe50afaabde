// The recorder, which is read while it is written.
#include "../checker/checker.hpp"
#include "../seam/written.hpp"

#include <memory>
#include <string>

using namespace model;

namespace {

std::string written(const char *what) {
  (void)model_take_written();
  expect(what, inturn_trace_write(0), {INTURN_OK});
  std::string text = model_take_written();
  CHECK(text.size() > 2 && text[text.size() - 2] == '}');
  return text;
}

int countOf(const std::string &part, const std::string &text) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at++)
    count++;
  return count;
}

// How often it says that the only queue was suspended. That has no label, so
// the name of another one would be from a record that nobody made.
int suspensions(const char *what) {
  std::string text = written(what);
  CHECK(countOf("\"queue 2\"", text) == 0);
  return countOf("\"suspended\"", text);
}

void startWith(size_t bytes) {
  expect("start", inturn_trace_start(bytes), {INTURN_OK});
}

void suspend(Queue &queue, int times) {
  for (int i = 0; i < times; i++) {
    expect("suspend", inturn_queue_suspend(queue.handle), {INTURN_OK});
    expect("resume", inturn_queue_resume(queue.handle), {INTURN_OK});
  }
}

} // namespace

// Two blocks are all there is, and each turns over while it is read.
SCENARIO(a_trace_is_read_while_its_oldest_records_go) {
  Queue queue(INTURN_QUEUE_FIFO);
  startWith(1);
  suspend(queue, 250);
  together(
      {[&] { suspend(queue, 20); }, [&] { CHECK(suspensions("read") > 0); }});
  expect("stop", inturn_trace_stop(), {INTURN_OK});
}

// Whoever is in the middle of a record completes it.
SCENARIO(a_recorder_stops_and_starts_while_threads_record) {
  Queue queue(INTURN_QUEUE_FIFO);
  startWith(1);
  together({[&] {
              expect("stop", inturn_trace_stop(), {INTURN_OK});
              startWith(0);
            },
            [&] { suspend(queue, 2); }, [&] { (void)suspensions("read"); }});
  CHECK(suspensions("read at last") <= 2);
  expect("stop", inturn_trace_stop(), {INTURN_OK});
}

// Once the start has returned, all queues are recorded: those that were there,
// and one that was made meanwhile.
SCENARIO(a_queue_is_made_while_the_recorder_starts) {
  Queue first(INTURN_QUEUE_FIFO);
  std::unique_ptr<Queue> second;
  together({[] { startWith(16 * 8192); },
            [&] { second = std::make_unique<Queue>(INTURN_QUEUE_FIFO); }});
  for (Queue *queue : {&first, second.get()})
    expect("enqueue",
           inturn_queue_enqueue(
               queue->handle,
               [](void *, inturn_token token) { inturn_token_finish(token); },
               nullptr, nullptr, nullptr),
           {INTURN_OK});
  first.drain();
  second->drain();
  CHECK(countOf("\"name\":\"enqueue queue ", written("write")) == 2);
  expect("stop", inturn_trace_stop(), {INTURN_OK});
}
