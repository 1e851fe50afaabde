// Deliberate defects, to see that they are noticed. They run on request only.
#include "../checker/checker.hpp"

#include <cstdlib>

extern "C" {
#include "../seam/CInturnSystem.h"
}

using namespace model;

// Checks, then sleeps, with a gap in between for the wake.
DELIBERATE(deliberate_lost_wakeup) {
  static uint32_t word;
  static bool isSet;
  word = 0;
  isSet = false;
  together({[] {
              if (!isSet) {
                model_point(&word);
                inturn_system_wait(&word, 0, -1);
              }
            },
            [] {
              isSet = true;
              inturn_system_wake_one(&word);
            }});
}

// Two queues whose works wait for each other's ends, unseen by the library.
DELIBERATE(deliberate_deadlock) {
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  Operation *x = nullptr, *y = nullptr;
  x = &one.add(
      "x", [&](Operation &) { await("y", [&] { return y && y->isOver(); }); });
  y = &other.add("y",
                 [&](Operation &) { await("x", [&] { return x->isOver(); }); });
  one.drain();
}

DELIBERATE(deliberate_leak) {
  static void *volatile lost;
  lost = malloc(1);
  CHECK(lost != nullptr);
}

DELIBERATE(deliberate_use_after_free) {
  int *number = new int(0);
  together({[&] {
              model_point(number);
              model_touch(number);
            },
            [&] { delete number; }});
}

DELIBERATE(deliberate_race) {
  static int number;
  together({[] { model_touch(&number); }, [] { model_touch(&number); }});
}
