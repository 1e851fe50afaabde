// Calls on a queue meet its operations.
#include "../checker/checker.hpp"
#include "../seam/CInturnSystem.h"

using namespace model;

static const With handled{.handle = true};
static const With observed{.handle = true, .onEnd = true};

SCENARIO(two_producers) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes);
            },
            [&] {
              queue.add("c", finishes);
              queue.add("d", finishes);
            }});
}

SCENARIO(enqueue_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  together({x.finisher(), [&] {
              queue.add("y", finishes);
              queue.add("z", finishes, observed);
            }});
}

SCENARIO(enqueue_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", keeps, observed);
            },
            [&] { queue.destroy(); }});
}

// A worker may still be about to leave it.
SCENARIO(a_destroyed_queue_is_not_counted) {
  uint64_t before = aliveQueues();
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("x", finishes);
  queue.destroy();
  for (int i = 0; i < 3; i++)
    CHECK(aliveQueues() == before);
}

SCENARIO(enqueue_meets_close) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes, observed);
            },
            [&] { queue.close(); }});
}

SCENARIO(enqueue_meets_suspend) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes);
            },
            [&] {
              queue.suspend();
              queue.resume();
            }});
}

// Nothing starts while a queue is suspended: what is pending stays pending.
SCENARIO(suspend_meets_a_burst) {
  Queue queue(INTURN_QUEUE_FIFO);
  for (const char *name : {"a", "b", "c", "d"})
    queue.add(name, finishes);
  together({[&] {
              queue.suspend();
              inturn_queue_statistics before = INTURN_QUEUE_STATISTICS_INIT;
              inturn_queue_get_statistics(queue.handle, &before);
              model_settle(false);
              inturn_queue_statistics after = INTURN_QUEUE_STATISTICS_INIT;
              inturn_queue_get_statistics(queue.handle, &after);
              CHECK(before.pending == after.pending);
              CHECK(after.running == 0);
              queue.resume();
            },
            [&] { model_settle(false); }});
}

SCENARIO(two_suspends) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("a", finishes);
  together({[&] {
              queue.suspend();
              queue.resume();
            },
            [&] {
              queue.suspend();
              queue.resume();
            },
            [&] { queue.add("b", finishes); }});
}

SCENARIO(suspend_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes, handled);
  together({x.finisher(), [&] {
              queue.suspend();
              queue.resume();
            }});
}

SCENARIO(suspend_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("a", finishes);
  together({[&] {
              queue.suspend();
              queue.resume();
            },
            [&] { queue.destroy(); }});
}

SCENARIO(cancel_all_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  queue.add("z", finishes, observed);
  together({x.finisher(), [&] { queue.cancelAll(); }});
}

SCENARIO(cancel_all_meets_enqueue) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes, observed);
            },
            [&] { queue.cancelAll(); }});
}

SCENARIO(cancel_all_meets_resume) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.suspend();
  queue.add("a", finishes);
  queue.add("b", finishes, observed);
  together({[&] { queue.resume(); }, [&] { queue.cancelAll(); }});
}

SCENARIO(drain_meets_finish) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes, observed);
  together(
      {x.finisher(), [&] { queue.drain(-1); }, [&] { queue.drain(1000); }});
}

SCENARIO(drain_meets_enqueue) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.drain(-1);
            },
            [&] {
              queue.add("b", finishes);
              queue.drain(-1);
            }});
}

SCENARIO(drain_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("a", keeps);
  together({[&] { queue.drain(-1); }, [&] { queue.destroy(); }});
}

SCENARIO(close_meets_drain) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps);
  together({[&] {
              queue.close();
              queue.drain(-1);
            },
            x.finisher(), [&] { queue.add("y", finishes); }});
}

SCENARIO(close_meets_the_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("a", finishes);
  together({[&] { queue.close(); }, [&] { queue.destroy(); }});
}

SCENARIO(two_destructions) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("a", keeps);
  queue.add("b", finishes, observed);
  together({[&] { queue.destroy(); }, [&] { queue.destroy(); }});
}

SCENARIO(a_full_queue_has_room_again) {
  Queue queue(INTURN_QUEUE_FIFO, {0}, [](auto &o) { o.capacity = 1; });
  Operation &x = queue.add("x", keeps);
  x.awaitCall();
  queue.add("y", finishes);
  together({[&] { x.finish(); }, [&] { queue.drain(-1); }});
  queue.add("z", finishes);
}

SCENARIO(a_destruction_from_inside) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("x", [&](Operation &x) {
    queue.destroy(true);
    x.finish();
  });
  together(
      {[&] { queue.add("y", finishes, observed); }, [&] { queue.drain(-1); }});
}

SCENARIO(events_meet_the_destruction) {
  struct Events {
    static void told(void *context, const inturn_event *) {
      CHECK(*static_cast<int *>(context) == 0);
    }
    static void destroyed(void *context) { ++*static_cast<int *>(context); }
  };
  int destroys = 0;
  Queue queue(INTURN_QUEUE_FIFO, {0}, [&](auto &o) {
    o.on_event = Events::told;
    o.event_context = &destroys;
    o.event_destroy = Events::destroyed;
  });
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes);
            },
            [&] {
              queue.destroy();
              CHECK(destroys == 1);
            }});
}

// Waiting events are delivered in one turn, even if one destroys the queue.
SCENARIO(the_first_of_several_events_destroys_the_queue) {
  struct Events {
    Queue *queue = nullptr;
    int ended = 0, destroys = 0;
    static void told(void *context, const inturn_event *event) {
      Events &self = *static_cast<Events *>(context);
      CHECK(self.destroys == 0);
      if (event->kind == INTURN_EVENT_ENDED && self.ended++ == 0)
        self.queue->destroy(true);
    }
    static void destroyed(void *context) {
      ++static_cast<Events *>(context)->destroys;
    }
  } events;
  Queue queue(INTURN_QUEUE_FIFO, {0}, [&](auto &o) {
    o.on_event = Events::told;
    o.event_context = &events;
    o.event_destroy = Events::destroyed;
  });
  events.queue = &queue;
  queue.suspend();
  for (auto name : {"a", "b", "c"})
    queue.add(name, finishes);
  together({[&] { queue.cancelAll(); }, [&] { queue.add("d", finishes); }});
  model_settle(true);
  int accepted = 0;
  for (const auto &operation : queue.all())
    accepted += operation->isAccepted;
  CHECK(events.ended == accepted && events.destroys == 1);
}

SCENARIO(an_actor_takes_segments_and_operations) {
  struct Segment {
    static void run(void *context, inturn_token token) {
      static_cast<Operation *>(context)->finish();
      (void)token;
    }
  };
  Queue queue(INTURN_QUEUE_ACTOR);
  Operation &x = queue.add("x", keeps);
  x.awaitCall();
  together({[&] {
              expect("resume",
                     inturn_token_resume(x.token, Segment::run, &x, nullptr),
                     {INTURN_OK});
            },
            [&] {
              queue.add("y", finishes);
              queue.add("z", finishes);
            }});
}

SCENARIO(an_actor_is_suspended_and_cancelled) {
  Queue queue(INTURN_QUEUE_ACTOR);
  Operation &x = queue.add("x", keeps, handled);
  queue.add("y", finishes);
  together({[&] {
              queue.suspend();
              queue.resume();
            },
            [&] { x.cancel(); }, x.finisher()});
}

// The table of sites belongs to the process: each schedule begins without it.
static void forgetSites() {
  auto **lines = reinterpret_cast<void **>(inturn_system_this_process.sites);
  for (int i = 0; i < 1 << 16; i++)
    free(lines[i]);
  free(lines);
  inturn_system_this_process.sites = 0;
}

// A line has one number, whoever uses it first; two lines never share one.
SCENARIO(two_threads_enqueue_from_one_line) {
  inturn_queue queue;
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &queue),
         {INTURN_OK});
  inturn_site shared = {"model.cpp", "shared", 1, 0};
  inturn_site copy = shared, other = {"model.cpp", "other", 2, 0};
  together(
      {[&] {
         expect("suspend", inturn_queue_suspend_at(&shared, queue),
                {INTURN_OK});
         expect("suspend", inturn_queue_suspend_at(&other, queue), {INTURN_OK});
       },
       [&] {
         expect("suspend", inturn_queue_suspend_at(&shared, queue),
                {INTURN_OK});
       },
       [&] {
         expect("suspend", inturn_queue_suspend_at(&copy, queue), {INTURN_OK});
       }});
  CHECK(shared.number != 0 && shared.number == copy.number);
  CHECK(other.number != 0 && other.number != shared.number);
  expect("destroy", inturn_queue_destroy(queue), {INTURN_OK});
  forgetSites();
}
