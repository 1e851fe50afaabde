// checker.hpp - what a scenario is written with, and what checks it.
//
// SPDX-License-Identifier: MIT
//
// A scenario says which threads do what to which queue. Each call goes through
// the classes below, which know what the library guarantees: a small reference
// model of it. They check each status, each callback, and in the end that
// nothing was lost, called twice or left behind.
#ifndef MODEL_CHECKER_HPP
#define MODEL_CHECKER_HPP

#include "inturn.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "../scheduler/scheduler.h"

namespace model {

// Scenarios ----------------------------------------------------------------

struct Scenario {
  const char *name;
  void (*body)();
  bool isDeliberate; // fails, as it should, and runs only when asked for
  Scenario *next;
  static Scenario *first;
  Scenario(const char *name, void (*body)(), bool isDeliberate = false);
};

#define SCENARIO(name)                                                         \
  static void name();                                                          \
  static model::Scenario name##_scenario(#name, name);                         \
  static void name()

#define DELIBERATE(name)                                                       \
  static void name();                                                          \
  static model::Scenario name##_scenario(#name, name, true);                   \
  static void name()

// Runs each on a thread of its own, and waits for all of them.
void together(std::initializer_list<std::function<void()>> bodies);

// Waits until it holds. `what` is for the report of a hang.
void await(const char *what, const std::function<bool()> &condition);

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition))                                                          \
      model_fail("%s:%d: %s does not hold", __FILE__, __LINE__, #condition);   \
  } while (0)

// Fails unless the status is one of these.
void expect(const char *call, inturn_status status,
            std::initializer_list<inturn_status> allowed);

// Operations ---------------------------------------------------------------

class Queue;
class Batch;

class Operation {
public:
  std::string name;
  Queue *queue = nullptr;
  inturn_operation handle = {0};
  inturn_token token = {0}; // of the attempt that was last called
  bool isAccepted = false;

  // What has happened to it.
  uint32_t calls = 0; // of its work
  uint32_t ends = 0;  // on_end
  uint32_t destroys = 0;
  uint32_t endDestroys = 0;
  inturn_end end = {};
  // What was done to it: begun, before the call; and come of it.
  uint32_t finishesBegun = 0,
           finishesDone = 0; // of this attempt, any token call
  uint32_t cancelsBegun = 0;
  bool mayBeCutOff = false; // by a deadline, a grace time or its queue's end
  bool mayRestart = false;  // by a retry or a yield
  bool isRefusedByQueue = false;
  bool isBeingEnqueued = true; // whether it is accepted is not known yet

  // Of its token, which the work has kept. Nothing happens before it has one.
  inturn_status finish();
  inturn_status fail(int32_t code);
  inturn_status giveIn(); // inturn_token_cancel
  inturn_status yield();
  bool isCancelled(); // as its token says
  // Of its handle.
  inturn_status cancel();
  inturn_status wait(int64_t timeout);
  void release();

  void awaitCall(uint32_t count = 1); // until its work has been called
  void awaitDestroyed();
  bool isOver() const { return destroys > 0; }
  // Its token was finished, or is just being finished.
  bool mayBeEnded() const {
    return finishesBegun > 0 || cancelsBegun > 0 || mayBeCutOff;
  }

private:
  friend class Queue;
  friend class Batch;
  std::function<void(Operation &)> body;
  bool hasOnEnd = false;
  bool isInCall = false;
  bool hasOptions = false; // which may end it in the middle of a call
  inturn_outcome finishedAs = inturn_outcome(0);
  uint64_t enqueueBegan = 0, enqueuedAt = 0; // in one count of all
  int payload = 0;
  inturn_status endBy(const char *call, inturn_outcome outcome,
                      const std::function<inturn_status(inturn_token)> &act);
  static void work(void *context, inturn_token token);
  static void ended(void *context, const inturn_end *end);
  static void destroyed(void *context);
  static void endDestroyed(void *context);
};

// What work does: returns and keeps its token, or finishes it before.
void keeps(Operation &);
void finishes(Operation &);

// Executors ----------------------------------------------------------------

// A host-driven executor and threads that run it. So many more may drain it.
class Host {
public:
  explicit Host(uint32_t threads, uint32_t guests = 0);
  ~Host();
  inturn_executor executor = {0};
  void stop();

private:
  std::shared_ptr<uint32_t> running;
};

// Queues -------------------------------------------------------------------

// A deadline that does not pass while anything else can be done.
enum : int64_t { FAR_NS = 1000000000 };

// How an operation is enqueued, when not by inturn_queue_enqueue.
struct With {
  bool handle = false;
  bool onEnd = false;
  std::function<void(inturn_operation_options &)> set = {};
  // Something that the checker does not see may end it: another's end, say.
  bool endsWithOthers = false;
  // One of its deadlines may pass at any time.
  bool hasDeadline = false;
  // It may be called more than once.
  bool mayRestart = false;
  bool isBare() const { return !onEnd && !set; }
};

// With a handle, its end, and these options.
With with(std::function<void(inturn_operation_options &)> set);
// After another one of which there is a handle.
With after(const Operation &other,
           inturn_after_policy policy = INTURN_AFTER_ENDED);

// A list of operations of one queue with one completion.
class Batch {
public:
  inturn_batch handle = {0};
  std::vector<Operation *> operations;
  uint32_t ends = 0, endDestroys = 0;
  inturn_batch_end end = {};

  inturn_status cancel();
  inturn_status wait(int64_t timeout = -1);
  void release();

private:
  friend class Queue;
  Queue *queue = nullptr;
  static void ended(void *context, const inturn_batch_end *end);
  static void endDestroyed(void *context);
};

class Queue {
public:
  inturn_queue handle = {0};
  inturn_queue_kind kind;
  uint32_t limit = 1;

  explicit Queue(inturn_queue_kind kind, inturn_executor executor = {0},
                 const std::function<void(inturn_queue_options &)> &set = {});
  // Gets everything to its end, destroys the queue and checks all of it.
  ~Queue();

  // Enqueues. The reference is good as long as the queue is in scope.
  Operation &add(const char *name, std::function<void(Operation &)> body,
                 const With &with = {});

  // Enqueues a batch of such operations, each named and with its work.
  Batch &addBatch(std::initializer_list<
                      std::pair<const char *, std::function<void(Operation &)>>>
                      items,
                  const std::function<void(inturn_batch_options &)> &set = {});

  inturn_status suspend();
  inturn_status resume();
  inturn_status close();
  inturn_status cancelAll();
  inturn_status drain(int64_t timeout = -1);
  // `isInside`: from one of its own callbacks, so that it is over later.
  inturn_status destroy(bool isInside = false);
  void appear();
  void disappear();
  void setExecutor(inturn_executor executor);

  // Says before something that cuts operations off: a deadline's passing.
  void mayCutOff();
  // Finishes what keeps its token, until nothing is left to be finished.
  void finishAll();
  // All that was promised, when nothing happens any more.
  void check();

  const std::vector<std::unique_ptr<Operation>> &all() const {
    return operations;
  }

  bool isDestroyed = false; // the call has returned
  int destroysBegun = 0;
  bool isClosed = false;
  int closesBegun = 0;
  int cancelsUnderWay = 0; // of all
  int suspends = 0;
  bool isVisible = false;

private:
  friend class Operation;
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<std::unique_ptr<Batch>> batches;
  int payload = 0;
  Operation &make(const char *name, std::function<void(Operation &)> body);
  void checkCall(const Operation &operation) const;
};

// A queue whose operations have nothing to be destroyed or told, so that the
// checker sees nothing of them. Its scenario destroys it.
struct BareQueue {
  inturn_queue handle = {0};
  inturn_token token = {0}; // of the operation that was last called
  explicit BareQueue(inturn_queue_kind kind, inturn_executor executor = {0});
  // Enqueues one that keeps its token.
  void add(const inturn_operation_options *options = nullptr);
  void awaitCall();
  void destroy();
};

// Forks; the child refuses what it has inherited, and uses the library.
void forkAndUse(const Queue &queue);

// The count of operations that the library has alive.
uint64_t aliveOperations();
uint64_t aliveQueues();

} // namespace model

#endif
