// Queues that are drained by their hosts, as those of the Swift modules are.
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

// An operation's dependency ends while the operation is being offered, and
// others are added. It is neither offered too early nor left behind.
static void earlierEndMeetsTheOffer(inturn_queue_kind kind) {
  HostedQueue other(INTURN_QUEUE_FIFO), queue(kind);
  auto &first = other.add("first", Form::turn, Body::keeps);
  together({[&] {
              first.awaitBegin();
              first.finish();
            },
            [&] {
              auto &later =
                  queue.add("later", Form::turn, Body::keeps, 0, &first);
              queue.add("behind", Form::turn);
              later.awaitBegin();
              if (first.finishes == 0)
                model_fail("later has begun before the end of first");
              later.finish();
            },
            [&] { queue.add("beside", Form::task); }});
}

SCENARIO(an_earlier_end_meets_the_offer_of_a_fifo_queue) {
  earlierEndMeetsTheOffer(INTURN_QUEUE_FIFO);
}

SCENARIO(an_earlier_end_meets_the_offer_of_an_actor_queue) {
  earlierEndMeetsTheOffer(INTURN_QUEUE_ACTOR);
}

// An operation is cancelled while its dependency ends: the next one is offered.
SCENARIO(a_cancel_meets_the_end_that_is_waited_for) {
  HostedQueue other(INTURN_QUEUE_FIFO), queue(INTURN_QUEUE_FIFO);
  auto &first = other.add("first", Form::turn, Body::keeps);
  auto &later = queue.add("later", Form::turn, Body::finishes, 0, &first);
  queue.add("behind", Form::turn);
  together({[&] {
              first.awaitBegin();
              first.finish();
            },
            [&] { later.cancel(); }});
  queue.drain();
}

// An operation that has joined another ends with it, or stands in for it if
// that is cancelled before its start; what is behind them is offered.
static void joinMeetsTheEnd(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  queue.add("before", Form::closure);
  auto &first = queue.join("first", Body::keeps);
  together({[&] {
              queue.join("second");
              queue.add("behind", Form::turn);
              queue.join("third");
            },
            [&] {
              first.awaitBegin();
              first.finish();
            },
            [&] { first.cancel(); }});
  queue.drain();
}

SCENARIO(joining_meets_the_end_in_a_fifo_queue) {
  joinMeetsTheEnd(INTURN_QUEUE_FIFO);
}

SCENARIO(joining_meets_the_end_in_an_actor_queue) {
  joinMeetsTheEnd(INTURN_QUEUE_ACTOR);
}

// A running operation is cancelled, and others stand in for it: they begin,
// though they were passed over.
static void standingInMeetsTheOffer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  auto &first = queue.join("first", Body::keeps);
  auto &second = queue.join("second");
  queue.join("third");
  together({[&] { queue.add("behind", Form::turn); },
            [&] {
              first.awaitBegin();
              first.cancel();
              first.finish(Body::givesIn);
            },
            [&] { second.cancel(); },
            [&] { queue.add("closure", Form::closure); }});
  queue.drain();
}

SCENARIO(standing_in_meets_the_offer_of_a_fifo_queue) {
  standingInMeetsTheOffer(INTURN_QUEUE_FIFO);
}

SCENARIO(standing_in_meets_the_offer_of_an_actor_queue) {
  standingInMeetsTheOffer(INTURN_QUEUE_ACTOR);
}

// Each attempt is offered and claimed; a FIFO queue starts nothing else between
// two attempts.
static void retryMeetsTheOffer(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  together({[&] {
              queue.retry("first", 3);
              queue.add("behind", Form::turn);
            },
            [&] {
              queue.add("closure", Form::closure);
              queue.retry("second", 2);
            },
            [&] {
              queue.suspend();
              queue.resume();
            }});
  queue.drain();
}

SCENARIO(retries_meet_the_offers_of_a_fifo_queue) {
  retryMeetsTheOffer(INTURN_QUEUE_FIFO);
}

SCENARIO(retries_meet_the_offers_of_an_actor_queue) {
  retryMeetsTheOffer(INTURN_QUEUE_ACTOR);
}

static void cancelMeetsTheNextAttempt(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  auto &first = queue.retry("first", 3);
  together({[&] { first.cancel(); },
            [&] {
              queue.add("behind", Form::turn);
              queue.add("closure", Form::closure);
            },
            [&] { queue.cancelAll(); }});
  queue.drain();
}

SCENARIO(a_cancel_meets_the_next_attempt_in_a_fifo_queue) {
  cancelMeetsTheNextAttempt(INTURN_QUEUE_FIFO);
}

SCENARIO(a_cancel_meets_the_next_attempt_in_an_actor_queue) {
  cancelMeetsTheNextAttempt(INTURN_QUEUE_ACTOR);
}

// Whoever ends an operation continues with the drainer.
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

// What runs waits for the end of another operation of its queue: that end does
// not wait for the drainer, which belongs to what runs.
static void endIsWaitedFor(HostedQueue::Form form) {
  HostedQueue queue(INTURN_QUEUE_FIFO);
  auto &running = queue.add("running", form, Body::keeps);
  auto &first = queue.add("first", Form::turn);
  auto &second = queue.add("second", Form::turn);
  together({[&] {
              running.awaitBegin();
              first.cancel();
              await("the end of first", [&] { return first.drops > 0; });
              running.finish();
            },
            [&] {
              second.cancel();
              queue.add("closure", Form::closure);
              queue.add("task", Form::task);
            },
            [&] {
              queue.suspend();
              queue.resume();
              queue.add("turn", Form::turn);
            }});
  queue.drain();
}

SCENARIO(a_closure_waits_for_an_end_behind_it) {
  endIsWaitedFor(Form::closure);
}

SCENARIO(a_task_waits_for_an_end_behind_it) { endIsWaitedFor(Form::task); }

// The same, where all that is behind it is cancelled, more than once.
SCENARIO(an_operation_waits_for_the_end_of_all_behind_it) {
  HostedQueue queue(INTURN_QUEUE_FIFO);
  auto &running = queue.add("running", Form::closure, Body::keeps);
  auto &first = queue.add("first", Form::closure);
  auto &second = queue.add("second", Form::turn);
  together({[&] {
              running.awaitBegin();
              queue.cancelAll();
              await("their ends",
                    [&] { return first.drops > 0 && second.drops > 0; });
              running.finish();
            },
            [&] {
              queue.add("closure", Form::closure);
              queue.cancelAll();
            },
            [&] { queue.add("task", Form::task); }});
  queue.drain();
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

// Offer and claim -----------------------------------------------------------

// An offer is not a start: what happens before the claim counts.
static void suspendMeetsTheClaim(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  together({[&] {
              queue.add("a", Form::turn);
              queue.add("b", Form::task);
              queue.add("c", Form::guarded);
            },
            [&] {
              queue.suspend();
              queue.resume();
            }});
  queue.suspend();
  queue.add("d", Form::turn);
  model_settle(false);
  queue.resume();
  queue.drain();
}

SCENARIO(suspend_meets_the_claim_of_a_fifo_queue) {
  suspendMeetsTheClaim(INTURN_QUEUE_FIFO);
}

SCENARIO(suspend_meets_the_claim_of_an_actor_queue) {
  suspendMeetsTheClaim(INTURN_QUEUE_ACTOR);
}

static void cancelMeetsTheClaim(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  auto &a = queue.add("a", Form::turn);
  together({[&] { a.cancel(); }, [&] { queue.cancelAll(); },
            [&] {
              queue.add("b", Form::task);
              queue.add("c", Form::closure);
              queue.add("d", Form::turn);
            }});
  queue.drain();
}

SCENARIO(cancel_meets_the_claim_of_a_fifo_queue) {
  cancelMeetsTheClaim(INTURN_QUEUE_FIFO);
}

SCENARIO(cancel_meets_the_claim_of_an_actor_queue) {
  cancelMeetsTheClaim(INTURN_QUEUE_ACTOR);
}

// It begins in time or never.
static void deadlineMeetsTheClaim(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  queue.suspend();
  queue.add("a", Form::turn, Body::finishes, 1000);
  together({[] { model_settle(true); }, [&] { queue.resume(); },
            [&] {
              queue.add("b", Form::task);
              queue.add("c", Form::turn, Body::finishes, 1);
            }});
  queue.drain();
}

SCENARIO(a_deadline_meets_the_claim_of_a_fifo_queue) {
  deadlineMeetsTheClaim(INTURN_QUEUE_FIFO);
}

SCENARIO(a_deadline_meets_the_claim_of_an_actor_queue) {
  deadlineMeetsTheClaim(INTURN_QUEUE_ACTOR);
}

// An offered operation keeps its place in the queue until it is claimed.
SCENARIO(room_meets_the_claim) {
  HostedQueue queue(INTURN_QUEUE_FIFO, 1);
  together({[&] { queue.add("a", Form::turn); },
            [&] { queue.add("b", Form::turn); },
            [&] { queue.add("c", Form::closure); }});
  queue.drain();
  if (!queue.add("d", Form::turn).isAccepted)
    model_fail("an empty queue has room");
}

// The queue's actor is gone: nobody claims what was offered.
static void destructionMeetsTheClaim(inturn_queue_kind kind) {
  HostedQueue queue(kind);
  queue.add("a", Form::turn);
  together({[&] {
              queue.add("b", Form::turn);
              queue.add("c", Form::task);
            },
            [&] { queue.destroy(); }});
}

SCENARIO(the_destruction_meets_the_claim_of_a_fifo_queue) {
  destructionMeetsTheClaim(INTURN_QUEUE_FIFO);
}

SCENARIO(the_destruction_meets_the_claim_of_an_actor_queue) {
  destructionMeetsTheClaim(INTURN_QUEUE_ACTOR);
}

// The destruction waits for the drainer, which running work may hold.
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

// A queue is destroyed that is no longer used: only drainers that are about to
// leave are left.
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

// So an escalation reaches a task that has not begun.
SCENARIO(a_look_sees_what_is_offered) {
  HostedQueue queue(INTURN_QUEUE_ACTOR);
  queue.takeActor();
  queue.add("a", Form::turn);
  model_settle(false);
  CHECK(queue.look() == 1);
  queue.leaveActor();
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
