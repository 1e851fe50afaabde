// The recorder, which is read while it is written.
#include "../checker/checker.hpp"
#include "../scheduler/scheduler.hpp"
#include "../seam/CInturnSystem.h"

#include <string>

using namespace model;

namespace {

// What the recorder has, of one queue without a label and nothing else: so a
// name of another queue is a record that nobody made.
int readTrace(const char *what) {
  (void)model_take_written();
  expect(what, inturn_trace_write(0), {INTURN_OK});
  std::string text = model_take_written();
  CHECK(text.size() > 2 && text[text.size() - 2] == '}');
  CHECK(text.find("\"queue 2\"") == std::string::npos);
  int slices = 0;
  for (size_t at = 0;
       (at = text.find("\"suspended\"", at)) != std::string::npos; at++)
    slices++;
  return slices;
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
      {[&] { suspend(queue, 20); }, [&] { CHECK(readTrace("read") > 0); }});
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
            [&] { suspend(queue, 2); }, [&] { (void)readTrace("read"); }});
  CHECK(readTrace("read at last") <= 2);
  expect("stop", inturn_trace_stop(), {INTURN_OK});
}

// A lane that is made meanwhile is recorded, too.
SCENARIO(a_queue_is_made_while_the_recorder_starts) {
  Queue first(INTURN_QUEUE_FIFO);
  together({[] { startWith(16 * 8192); },
            [] {
              Queue queue(INTURN_QUEUE_FIFO);
              queue.add("x", finishes);
              queue.drain();
            }});
  first.add("y", finishes);
  first.drain();
  (void)model_take_written();
  expect("write", inturn_trace_write(0), {INTURN_OK});
  CHECK(model_take_written().find("\"enqueue ") != std::string::npos);
  expect("stop", inturn_trace_stop(), {INTURN_OK});
}
