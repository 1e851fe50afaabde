// Several operations of a queue run at a time, and wait for each other.
#include "../checker/checker.hpp"

using namespace model;

static With needing(const char *name) {
  auto names = std::make_shared<const char *>(name);
  return with([names](inturn_operation_options &options) {
    options.exclusive = names.get();
    options.exclusive_count = 1;
  });
}

SCENARIO(places_are_given_on) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps);
  Operation &y = queue.add("y", keeps);
  queue.add("z", finishes);
  together({x.finisher(), y.finisher(), [&] { queue.add("w", finishes); }});
}

SCENARIO(the_limit_changes) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  queue.limit = 2;
  Operation &x = queue.add("x", keeps);
  Operation &y = queue.add("y", keeps);
  queue.add("z", finishes);
  together({[&] { inturn_queue_set_max_concurrent(queue.handle, 1); },
            x.finisher(), y.finisher()});
}

// What can start does not wait for the queue's calls: one of them may wait for
// it.
SCENARIO(a_place_is_taken_while_an_event_is_told) {
  struct Events {
    Queue *queue = nullptr;
    bool isTold = false;
    static void told(void *context, const inturn_event *event) {
      Events &self = *static_cast<Events *>(context);
      if (event->kind != INTURN_EVENT_STARTED || self.isTold)
        return;
      self.isTold = true;
      self.queue->all()[1]->awaitCall();
    }
  } events;
  Queue queue(INTURN_QUEUE_CONCURRENT, {0}, [&](auto &options) {
    options.max_concurrent = 2;
    options.on_event = Events::told;
    options.event_context = &events;
  });
  events.queue = &queue;
  queue.limit = 2;
  queue.suspend();
  queue.add("x", finishes);
  queue.add("y", finishes);
  queue.resume();
}

// What an end makes startable is there before the place is given away.
SCENARIO(an_end_gives_its_place_to_what_is_more_important) {
  Queue queue(INTURN_QUEUE_CONCURRENT, {0},
              [](auto &options) { options.max_concurrent = 1; });
  Operation &x = queue.add("x", keeps, {.handle = true});
  Operation &y = queue.add("y", finishes, with([&](auto &options) {
                             options.priority = 1;
                             options.after = &x.handle;
                             options.after_count = 1;
                           }));
  queue.add("z", [&](Operation &it) {
    CHECK(y.calls == 1);
    it.finish();
  });
  x.awaitCall();
  together({[&] { x.finish(); }, [&] { queue.add("w", finishes); }});
}

SCENARIO(a_barrier_meets_finish_and_enqueue) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps);
  Operation *barrier = nullptr;
  together({x.finisher(),
            [&] {
              barrier = &queue.add(
                  "barrier",
                  [&](Operation &it) {
                    CHECK(x.mayBeEnded());
                    it.finish();
                  },
                  with([](auto &o) { o.barrier = true; }));
            },
            [&] { queue.add("y", finishes); }});
}

SCENARIO(a_barrier_is_cancelled) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps);
  Operation &barrier =
      queue.add("barrier", finishes, with([](auto &o) { o.barrier = true; }));
  queue.add("y", finishes);
  together({x.finisher(), [&] { barrier.cancel(); }});
}

SCENARIO(what_comes_after_meets_finish) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps, {.handle = true});
  together(
      {x.finisher(),
       [&] {
         queue.add(
             "y",
             [&](Operation &y) {
               CHECK(x.mayBeEnded());
               y.finish();
             },
             after(x));
       },
       [&] { queue.add("z", finishes, after(x, INTURN_AFTER_FINISHED)); }});
}

SCENARIO(what_comes_after_meets_cancel) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps, {.handle = true});
  Operation &y = queue.add("y", finishes, after(x, INTURN_AFTER_FINISHED));
  y.cancelsBegun++; // it may end with x
  together({x.finisher(), [&] { x.cancel(); }, [&] { y.cancel(); }});
}

SCENARIO(what_comes_after_another_queues_meets_its_destruction) {
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  Operation &x = one.add("x", keeps, {.handle = true});
  Operation &y = other.add("y", finishes, after(x));
  other.add("z", finishes);
  together({x.finisher(), [&] { one.destroy(); }, [&] { y.cancel(); }});
}

SCENARIO(two_queues_come_after_each_other) {
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  Operation &x = one.add("x", keeps, {.handle = true});
  Operation &y = other.add("y", keeps, {.handle = true});
  together({[&] {
              other.add("after x", finishes, after(x));
              y.awaitCall();
              y.finish();
            },
            [&] {
              one.add("after y", finishes, after(y));
              x.awaitCall();
              x.finish();
            }});
}

SCENARIO(what_comes_after_meets_both_destructions) {
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_CONCURRENT);
  Operation &x = one.add("x", keeps, {.handle = true});
  other.add("y", finishes, after(x));
  together({[&] { one.destroy(); }, [&] { other.destroy(); }});
}

SCENARIO(names_are_handed_on) {
  uint32_t users = 0;
  auto use = [&](Operation &) { CHECK(++users == 1); };
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  Operation &x = one.add("x", use, needing("name"));
  Operation &y = other.add("y", use, needing("name"));
  auto end = [&](Operation &it) {
    it.awaitCall();
    --users;
    it.finish();
  };
  together({[&] { end(x); }, [&] { end(y); }});
}

SCENARIO(names_meet_cancel_and_destruction) {
  Queue one(INTURN_QUEUE_FIFO), other(INTURN_QUEUE_FIFO);
  Operation &x = one.add("x", keeps, needing("name"));
  Operation &y = other.add("y", keeps, needing("name"));
  one.add("z", finishes, needing("name"));
  together({x.finisher(), [&] { y.cancel(); }, [&] { other.destroy(); }});
}

SCENARIO(names_meet_suspend) {
  Queue one(INTURN_QUEUE_CONCURRENT), other(INTURN_QUEUE_FIFO);
  Operation &x = one.add("x", keeps, needing("name"));
  other.add("y", finishes, needing("name"));
  together({x.finisher(), [&] {
              other.suspend();
              other.resume();
            }});
}

SCENARIO(priorities_meet_cancel_all) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps);
  queue.add("low", finishes, with([](auto &o) { o.priority = -1; }));
  queue.add("high", finishes, with([](auto &o) { o.priority = 5; }));
  together({x.finisher(), [&] { queue.cancelAll(); },
            [&] {
              queue.add("more", finishes,
                        with([](auto &o) { o.priority = 5; }));
            }});
}

SCENARIO(a_concurrent_queue_is_destroyed) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  Operation &x = queue.add("x", keeps);
  queue.add("y", finishes);
  queue.add("z", finishes);
  together({x.finisher(), [&] { queue.add("w", finishes); },
            [&] { queue.destroy(); }});
}

SCENARIO(an_owner_goes_away) {
  inturn_owner owner;
  expect("owner_create", inturn_owner_create(0, &owner), {INTURN_OK});
  bool isGone = false;
  Queue queue(INTURN_QUEUE_FIFO);
  auto owned = with([&](auto &o) {
    if (!isGone)
      o.owner = owner;
  });
  Operation &x = queue.add("x", keeps, owned);
  Operation &y = queue.add("y", finishes, owned);
  x.cancelsBegun = y.cancelsBegun = 1; // by the owner
  together({x.finisher(),
            [&] {
              inturn_owner_destroy(owner);
              isGone = true;
            },
            [&] { queue.add("z", finishes); }});
}
