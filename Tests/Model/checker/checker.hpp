// checker.hpp - classes that scenarios are written with, and that check them.
//
// SPDX-License-Identifier: MIT
//
// A scenario says which threads do what to which queue. Each call goes through
// the classes below, a small reference model of what the library guarantees.
// They check each status and each callback, and at the end that nothing was
// lost, called twice or left behind.
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
  bool isDeliberate; // meant to fail; runs only when asked for
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

// Runs each body on a thread of its own, and waits for all of them.
void together(std::initializer_list<std::function<void()>> bodies);

// Waits until the condition holds. `what` is for the report of a hang.
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
  inturn_token token = {0}; // of the last attempt that was called
  bool isAccepted = false;

  // What has happened to it.
  uint32_t calls = 0; // of its work
  uint32_t ends = 0;  // on_end
  uint32_t destroys = 0;
  uint32_t endDestroys = 0;
  inturn_end end = {};
  // What was done to it, counted before the call, and what came of it.
  uint32_t finishesBegun = 0,
           finishesDone = 0; // of this attempt, any token call
  uint32_t cancelsBegun = 0;
  bool mayBeCutOff = false; // by a deadline, a grace time or its queue's end
  bool mayRestart = false;  // by a retry or a yield
  bool isRefusedByQueue = false;
  bool isBeingEnqueued = true; // whether it is accepted is not known yet

  // Calls with its token, which the work has kept. They do nothing before it
  // has one.
  inturn_status finish();
  inturn_status fail(int32_t code);
  inturn_status giveIn(); // inturn_token_cancel
  inturn_status yield();
  bool isCancelled(); // according to its token
  // Calls with its handle.
  inturn_status cancel();
  inturn_status wait(int64_t timeout);
  void release();

  void awaitCall(uint32_t count = 1); // until its work has been called
  std::function<void()> finisher();   // awaits its call, and finishes it
  void awaitDestroyed();
  bool isOver() const { return destroys > 0; }
  // Its token was finished, or is being finished.
  bool mayBeEnded() const {
    return finishesBegun > 0 || cancelsBegun > 0 || mayBeCutOff;
  }

private:
  friend class Queue;
  friend class Batch;
  std::function<void(Operation &)> body;
  bool hasOnEnd = false;
  bool isInCall = false;
  bool hasOptions = false; // may end in the middle of a call
  inturn_outcome finishedAs = inturn_outcome(0);
  uint64_t enqueueBegan = 0, enqueuedAt = 0; // positions in one order of all
  int payload = 0;
  inturn_status endBy(const char *call, inturn_outcome outcome,
                      const std::function<inturn_status(inturn_token)> &act);
  static void work(void *context, inturn_token token);
  static void ended(void *context, const inturn_end *end);
  static void destroyed(void *context);
  static void endDestroyed(void *context);
};

// Bodies: one returns and keeps its token, the other finishes it first.
void keeps(Operation &);
void finishes(Operation &);

// Executors ----------------------------------------------------------------

// A host's executor and threads that run it; `guests` more may drain it.
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

// A deadline that does not pass while any thread can run.
enum : int64_t { FAR_NS = 1000000000 };

// How an operation is enqueued, unless by inturn_queue_enqueue.
struct With {
  bool handle = false;
  bool onEnd = false;
  std::function<void(inturn_operation_options &)> set = {};
  // Something that the checker does not see may end it, such as another's end.
  bool endsWithOthers = false;
  // One of its deadlines may pass at any time.
  bool hasDeadline = false;
  // It may be called more than once.
  bool mayRestart = false;
  bool isBare() const { return !onEnd && !set; }
};

// With a handle, an end callback, and these options.
With with(std::function<void(inturn_operation_options &)> set);
// After another operation, which has a handle.
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
  // Ends all operations, destroys the queue and checks everything.
  ~Queue();

  // Enqueues. The reference is valid while the queue is in scope.
  Operation &add(const char *name, std::function<void(Operation &)> body,
                 const With &with = {});

  // Enqueues a batch of operations, each with its name and work.
  Batch &addBatch(std::initializer_list<
                      std::pair<const char *, std::function<void(Operation &)>>>
                      items,
                  const std::function<void(inturn_batch_options &)> &set = {});

  inturn_status suspend();
  inturn_status resume();
  inturn_status close();
  inturn_status cancelAll();
  inturn_status drain(int64_t timeout = -1);
  // `isInside`: called from one of its callbacks, so that it is complete later.
  inturn_status destroy(bool isInside = false);
  void appear();
  void disappear();
  void setExecutor(inturn_executor executor);

  // Has to be called before something cuts operations off, such as a deadline.
  void mayCutOff();
  // Finishes operations that keep their tokens, until none is left.
  void finishAll();
  // Checks all promises, once nothing happens any more.
  void check();

  const std::vector<std::unique_ptr<Operation>> &all() const {
    return operations;
  }

  bool isDestroyed = false; // the call has returned
  int destroysBegun = 0;
  bool isClosed = false;
  int closesBegun = 0;
  int cancelsUnderWay = 0; // calls of cancelAll
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

// A queue whose operations have nothing to destroy or tell, so that the checker
// does not see them. The scenario destroys it.
struct BareQueue {
  inturn_queue handle = {0};
  inturn_token token = {0}; // of the last operation that was called
  explicit BareQueue(inturn_queue_kind kind, inturn_executor executor = {0});
  // Enqueues an operation that keeps its token.
  void add(const inturn_operation_options *options = nullptr);
  void awaitCall();
  void destroy();
};

// Forks; the child checks that old handles are refused, and uses the library.
void forkAndUse(const Queue &queue);

// How many operations are alive in the library.
uint64_t aliveOperations();
uint64_t aliveQueues();

} // namespace model

#endif
