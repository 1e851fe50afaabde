// Queues that their hosts drain, as those of the Swift modules.
#include "../hosted/hosted.hpp"

using namespace model;
using Form = HostedQueue::Form;
using Body = HostedQueue::Body;

static void enqueueMeetsTheDrainer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  queue.add("a", Form::closure);
  together({[&] {
              queue.add("b", Form::closure);
              queue.add("c", Form::task);
            },
            [&] {
              queue.add("d", Form::turn);
              queue.add("e", Form::closure);
            }});
  queue.drain();
}

SCENARIO(enqueue_meets_a_fifo_queues_drainer) {
  enqueueMeetsTheDrainer(INTURN_QUEUE_FIFO);
}

SCENARIO(enqueue_meets_an_actor_queues_drainer) {
  enqueueMeetsTheDrainer(INTURN_QUEUE_ACTOR);
}

// Who ends it goes on with the drainer.
static void finishMeetsTheDrainer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  auto &a = queue.add("a", Form::closure, Body::keeps);
  auto &b = queue.add("b", Form::task, Body::keeps);
  auto &c = queue.add("c", Form::turn, Body::keeps);
  auto finish = [](HostedQueue::Item &item) {
    return [&item] {
      item.awaitBegin();
      item.finish();
    };
  };
  together({finish(a), finish(b), finish(c),
            [&] { queue.add("d", Form::closure, Body::fails); }});
}

SCENARIO(finish_meets_a_fifo_queues_drainer) {
  finishMeetsTheDrainer(INTURN_QUEUE_FIFO);
}

SCENARIO(finish_meets_an_actor_queues_drainer) {
  finishMeetsTheDrainer(INTURN_QUEUE_ACTOR);
}

static void cancelMeetsTheDrainer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  queue.add("a", Form::closure);
  auto &b = queue.add("b", Form::turn, Body::keeps);
  together({[&] {
              queue.add("c", Form::closure);
              queue.add("d", Form::task);
              queue.add("e", Form::guarded);
            },
            [&] { b.cancel(); }, [&] { queue.cancelAll(); },
            [&] {
              b.awaitBegin();
              b.finish();
            }});
  queue.add("f", Form::closure);
}

SCENARIO(cancel_meets_a_fifo_queues_drainer) {
  cancelMeetsTheDrainer(INTURN_QUEUE_FIFO);
}

SCENARIO(cancel_meets_an_actor_queues_drainer) {
  cancelMeetsTheDrainer(INTURN_QUEUE_ACTOR);
}

static void suspendMeetsTheDrainer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  queue.add("a", Form::closure, Body::fails);
  together({[&] {
              queue.suspend();
              queue.add("b", Form::closure);
              queue.resume();
            },
            [&] {
              queue.add("c", Form::task);
              queue.suspend();
              queue.resume();
            }});
  queue.drain();
}

SCENARIO(suspend_meets_a_fifo_queues_drainer) {
  suspendMeetsTheDrainer(INTURN_QUEUE_FIFO);
}

SCENARIO(suspend_meets_an_actor_queues_drainer) {
  suspendMeetsTheDrainer(INTURN_QUEUE_ACTOR);
}

// The destruction waits for the drainer, which what runs may hold.
static void destructionMeetsTheDrainer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  auto &a = queue.add("a", Form::closure, Body::keeps);
  together({[&] {
              queue.add("b", Form::task);
              queue.add("c", Form::turn);
            },
            [&] { queue.destroy(); },
            [&] {
              a.awaitBegin();
              a.finish();
            }});
}

SCENARIO(the_destruction_meets_a_fifo_queues_drainer) {
  destructionMeetsTheDrainer(INTURN_QUEUE_FIFO);
}

SCENARIO(the_destruction_meets_an_actor_queues_drainer) {
  destructionMeetsTheDrainer(INTURN_QUEUE_ACTOR);
}

// As a queue is destroyed that nobody uses any more: nothing is left of it but
// drainers that are about to leave.
SCENARIO(a_drainer_leaves_as_its_queue_goes) {
  HostedQueue queue(INTURN_QUEUE_FIFO);
  auto &a = queue.add("a", Form::closure);
  auto &b = queue.add("b", Form::turn);
  together({[&] {
    await("all", [&] { return a.isOver() && b.isOver(); });
    queue.destroy();
  }});
}

SCENARIO(two_drains_meet_a_drainer) {
  HostedQueue queue(INTURN_QUEUE_FIFO);
  auto &a = queue.add("a", Form::task, Body::keeps);
  queue.add("b", Form::closure);
  together({[&] { queue.drain(); }, [&] { queue.drain(); },
            [&] {
              a.awaitBegin();
              a.finish();
            }});
}

SCENARIO(a_visit_meets_a_drainer) {
  HostedQueue queue(INTURN_QUEUE_FIFO);
  together({[&] { queue.visit(); }, [&] { queue.visit(); },
            [&] {
              queue.add("a", Form::closure);
              queue.add("b", Form::turn);
            }});
}

SCENARIO(a_look_at_a_queue_that_goes_meets_a_new_one) {
  HostedQueue queue(INTURN_QUEUE_ACTOR);
  auto &a = queue.add("a", Form::turn, Body::keeps);
  std::unique_ptr<HostedQueue> next;
  together({[&] { queue.look(); }, [&] { a.finish(); },
            [&] {
              queue.destroy();
              next.reset(new HostedQueue(INTURN_QUEUE_ACTOR));
              next->add("b", Form::turn, Body::keeps);
            }});
}
