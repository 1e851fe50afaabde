// hosted.hpp - a queue that is drained step by step, as by the Swift modules.
//
// SPDX-License-Identifier: MIT
//
// Its host takes each turn inside the engine's call that announces it. Plain
// operations go back to a session, which is a thread of its own. An operation
// that has not ended when its call returns holds a FIFO queue's drainer, and
// whoever ends it continues with that drainer; an actor queue's drainer
// continues at once. An operation with a task of its own is offered, and a
// thread claims it: in an actor queue, once nothing else has the actor.
#ifndef MODEL_HOSTED_HPP
#define MODEL_HOSTED_HPP

#include "../checker/checker.hpp"

namespace model {

class HostedQueue {
public:
  enum class Form {
    closure, // plain; a cancel of all ends it before its start
    task,    // plain; a cancel of all only marks it; an actor's is claimed
    turn,    // with a slot, so that it can be cancelled alone
    guarded, // with a slot; a cancel of all only asks it to end
  };
  // What it does: one that keeps its token suspends until it is ended.
  enum class Body { finishes, fails, givesIn, keeps };

  struct Item {
    HostedQueue *queue;
    std::string name;
    Form form;
    Body body;
    inturn_operation handle = {0};
    inturn_token token = {0};
    bool joins = false;     // joins the joining item that has not ended
    uint32_t attempts = 1;  // all but the last fail
    bool isAccepted = true; // it may begin before this is known
    uint64_t enqueueBegan = 0, enqueuedAt = 0;
    uint32_t begins = 0, finishes = 0, drops = 0; // drops: by the engine
    bool isAskedToEnd = false;
    bool hasEnded = false;          // the engine knows of it
    bool isOverWhenClaimed = false; // for the engine
    void *drainer = nullptr;        // continues at the end
    bool isPlain() const { return form == Form::closure || form == Form::task; }
    bool isOver() const { return finishes == attempts || drops > 0; }
    void awaitBegin();
    void finish(Body how = Body::finishes);
    void cancel();
  };

  inturn_queue handle = {0};

  explicit HostedQueue(inturn_queue_kind kind, uint64_t capacity = 0);
  // Finishes what is left, drains, destroys and checks everything.
  ~HostedQueue();

  Item &add(const char *name, Form form, Body body = Body::finishes,
            int64_t maxWait = 0, const Item *after = nullptr,
            bool joins = false, uint32_t attempts = 1);
  // These have slots.
  Item &join(const char *name, Body body = Body::finishes) {
    return add(name, Form::turn, body, 0, nullptr, true);
  }
  Item &retry(const char *name, uint32_t attempts) {
    return add(name, Form::turn, Body::finishes, 0, nullptr, false, attempts);
  }
  // Holds the queue's place for the caller, if it is free; returns whether.
  bool visit();
  // Counts running and offered operations, and checks that they are its own.
  int look();
  void suspend();
  void resume();
  void cancelAll();
  void drain();
  void destroy();
  // Waits for an actor queue's actor, and keeps it until leaveActor.
  void takeActor();
  void leaveActor();

private:
  inturn_queue_kind kind;
  std::vector<std::unique_ptr<Item>> items;
  uint64_t order = 0;
  int inCall = 0, inDrop = 0, dropPayload = 0;
  uint64_t visits = 0, failures = 0, lastFailures = 0;
  int sessions = 0; // threads that run operations
  int suspends = 0, resumes = 0;
  bool isActorTaken = false;
  int cancelsUnderWay = 0;
  bool isDestroying = false, isDestroyed = false;
  int payload = 0; // of everything that is serialised
  void drive(void *drainer, uintptr_t tag, bool isSession);
  void begin(Item &item, inturn_token token);
  void startSession(void *turn, uintptr_t tag);
  void offer(uintptr_t context);
  void claim(Item &item, uintptr_t context);
  void finishAll();
  void checkCounts();
  static void dropped(void *context);
};

} // namespace model

// What the Swift modules ask of the library's own queues; Asked.swift has the
// other side.
extern "C" {
int32_t model_observe(uint64_t queue, void *context,
                      void (*told)(void *, uint32_t kind, uint64_t operation));
int32_t model_enqueue_without_options(uint64_t queue, void *context,
                                      inturn_work_fn work, uint64_t *operation);
int32_t model_limit(uint64_t queue, uint32_t *limit);
bool model_task_waits(void);
bool model_has_joined(uint64_t operation);
uint64_t model_queue_on_clock(uint64_t clock);
// A value of two words that are set together.
void *model_pair_make(void);
void model_pair_release(void *pair);
void model_pair_set(void *pair, uint64_t value);
uint64_t model_pair_get(void *pair);
}

#endif
