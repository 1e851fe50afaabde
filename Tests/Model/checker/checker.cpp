#include "checker.hpp"

#include <cstring>

namespace model {

Scenario *Scenario::first;

Scenario::Scenario(const char *name, void (*body)(), bool isDeliberate)
    : name(name), body(body), isDeliberate(isDeliberate), next(first) {
  first = this;
}

void together(std::initializer_list<std::function<void()>> bodies) {
  struct Part {
    const std::function<void()> *body;
    int *left;
  };
  int left = int(bodies.size());
  std::vector<Part> parts;
  for (const auto &body : bodies)
    parts.push_back({&body, &left});
  char name[2] = "A";
  for (Part &part : parts) {
    model_start(
        name, false,
        [](void *context) {
          Part part = *static_cast<Part *>(context);
          (*part.body)();
          model_release(part.left);
          --*part.left;
        },
        &part);
    ++*name;
  }
  await("the others", [&] { return left == 0; });
  model_acquire(&left);
}

void await(const char *what, const std::function<bool()> &condition) {
  model_await(
      what,
      [](void *context) {
        return (*static_cast<const std::function<bool()> *>(context))();
      },
      const_cast<std::function<bool()> *>(&condition));
}

void expect(const char *call, inturn_status status,
            std::initializer_list<inturn_status> allowed) {
  model_note("%s: %s", call, inturn_status_name(status));
  for (inturn_status one : allowed)
    if (one == status)
      return;
  model_fail("%s gives %s", call, inturn_status_name(status));
}

void keeps(Operation &) {}
void finishes(Operation &operation) { operation.finish(); }

With with(std::function<void(inturn_operation_options &)> set) {
  return {.handle = true, .onEnd = true, .set = std::move(set)};
}

With after(const Operation &other, inturn_after_policy policy) {
  auto earlier = std::make_shared<inturn_operation>(other.handle);
  return with([earlier, policy](inturn_operation_options &options) {
    options.after = earlier.get();
    options.after_count = 1;
    options.after_policy = policy;
  });
}

uint64_t aliveOperations() {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  inturn_library_get_statistics(&statistics);
  return statistics.operations;
}

uint64_t aliveQueues() {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  inturn_library_get_statistics(&statistics);
  return statistics.queues;
}

// Operations ---------------------------------------------------------------

void Operation::work(void *context, inturn_token token) {
  Operation &self = *static_cast<Operation *>(context);
  model_note("work of %s", self.name.c_str());
  self.queue->checkCall(self);
  self.token = token;
  self.calls++;
  self.finishesBegun = self.finishesDone = 0;
  model_touch(&self.payload);
  if (self.queue->kind == INTURN_QUEUE_FIFO && !self.hasOptions)
    model_touch(&self.queue->payload);
  model_release(&self);
  self.isInCall = true;
  self.body(self);
  self.isInCall = false;
}

void Operation::ended(void *context, const inturn_end *end) {
  Operation &self = *static_cast<Operation *>(context);
  model_note("end of %s: %d, cause %d", self.name.c_str(), end->outcome,
             end->cause);
  self.ends++;
  self.end = *end;
  if (self.ends > 1)
    model_fail("the end of %s is told twice", self.name.c_str());
  if (self.destroys > 0)
    model_fail("%s is destroyed before its end", self.name.c_str());
  if (!self.isAccepted && self.isRefusedByQueue)
    model_fail("%s was refused, and ends", self.name.c_str());
  if (self.queue->isDestroyed)
    model_fail("the end of %s comes after the queue", self.name.c_str());
  // An operation that is cut off may end in the middle of its call.
  if (!self.hasOptions)
    model_touch(&self.payload);
  bool isExplained = false;
  switch (end->outcome) {
  case INTURN_FINISHED:
    isExplained = self.finishesBegun > 0 || end->cause != INTURN_CAUSE_NONE;
    break;
  case INTURN_FAILED:
    isExplained = self.finishesBegun > 0 || end->cause == INTURN_CAUSE_JOINED;
    break;
  case INTURN_CANCELLED:
    isExplained = self.finishesBegun > 0 || self.cancelsBegun > 0 ||
                  self.mayBeCutOff || end->cause == INTURN_CAUSE_DEPENDENCY;
    break;
  case INTURN_TIMED_OUT:
    isExplained = self.mayBeCutOff;
    break;
  case INTURN_ABANDONED:
    break;
  }
  if (!isExplained)
    model_fail("%s ends as %d, cause %d, which nobody asked for",
               self.name.c_str(), end->outcome, end->cause);
  if (self.finishesDone > 0 && self.finishedAs != 0 && !self.mayRestart &&
      end->outcome != self.finishedAs)
    model_fail("%s was ended as %d, and its end says %d", self.name.c_str(),
               self.finishedAs, end->outcome);
  if ((end->started_ns != 0) < (self.calls > 0))
    model_fail("%s was called, and its end says that it never started",
               self.name.c_str());
}

void Operation::destroyed(void *context) {
  Operation &self = *static_cast<Operation *>(context);
  model_note("destroys %s", self.name.c_str());
  self.destroys++;
  if (self.destroys > 1)
    model_fail("%s is destroyed twice", self.name.c_str());
  bool mayBeRefused = self.isBeingEnqueued && self.calls == 0 && self.ends == 0;
  if (!mayBeRefused && self.hasOnEnd && self.ends == 0)
    model_fail("%s is destroyed before its end is told", self.name.c_str());
  if (!mayBeRefused && self.queue->isDestroyed)
    model_fail("%s is destroyed after the queue", self.name.c_str());
  if (!mayBeRefused && !self.mayBeEnded() && !self.mayRestart)
    model_fail("%s is destroyed, and nobody has ended it", self.name.c_str());
  model_touch(&self.payload);
  model_release(&self);
}

void Operation::endDestroyed(void *context) {
  Operation &self = *static_cast<Operation *>(context);
  self.endDestroys++;
  if (self.endDestroys > 1)
    model_fail("the end's context of %s is destroyed twice", self.name.c_str());
}

inturn_status
Operation::endBy(const char *call, inturn_outcome outcome,
                 const std::function<inturn_status(inturn_token)> &act) {
  if (calls == 0)
    return INTURN_E_NULL_HANDLE;
  model_acquire(this);
  // Read now: by the end of the call, another attempt may have begun.
  uint32_t attempt = calls;
  bool mayHaveEnded = finishesBegun > 0 || mayBeCutOff || cancelsBegun > 0;
  finishesBegun++;
  // What its work does before the finish happens before the next work. (A
  // second finish is not ordered with anything.)
  if (!mayHaveEnded && isInCall && queue->kind == INTURN_QUEUE_FIFO &&
      !hasOptions)
    model_touch(&queue->payload);
  inturn_status status = act(token);
  model_note("%s of %s: %s", call, name.c_str(), inturn_status_name(status));
  if (status == INTURN_OK) {
    if (attempt == calls && ++finishesDone > 1)
      model_fail("%s is ended twice", name.c_str());
    if (attempt == calls)
      finishedAs = outcome;
  } else if (status == INTURN_E_ALREADY_FINISHED) {
    if (!mayHaveEnded && finishesBegun < 2 && !mayBeCutOff && attempt == calls)
      model_fail("%s of %s gives E_ALREADY_FINISHED, and nobody has ended it",
                 call, name.c_str());
  } else {
    model_fail("%s of %s gives %s", call, name.c_str(),
               inturn_status_name(status));
  }
  return status;
}

inturn_status Operation::finish() {
  return endBy("finish", INTURN_FINISHED, inturn_token_finish);
}

inturn_status Operation::fail(int32_t code) {
  return endBy("fail", INTURN_FAILED, [code](inturn_token token) {
    return inturn_token_fail(token, code);
  });
}

inturn_status Operation::giveIn() {
  return endBy("token_cancel", INTURN_CANCELLED, inturn_token_cancel);
}

inturn_status Operation::yield() {
  mayRestart = true;
  return endBy("yield", inturn_outcome(0), inturn_token_yield);
}

bool Operation::isCancelled() {
  bool is = false;
  model_acquire(this);
  bool explained = cancelsBegun > 0 || mayBeCutOff;
  inturn_status status = inturn_token_is_cancelled(token, &is);
  explained = explained || cancelsBegun > 0 || mayBeCutOff;
  if (status == INTURN_OK && is && !explained)
    model_fail("%s is told that it is cancelled, and nobody has", name.c_str());
  return status == INTURN_OK && is;
}

inturn_status Operation::cancel() {
  bool wasAsked = cancelsBegun > 0;
  cancelsBegun++;
  inturn_status status = inturn_operation_cancel(handle);
  model_note("cancel of %s: %s", name.c_str(), inturn_status_name(status));
  if (status == INTURN_E_CANCELLED
          ? !wasAsked && cancelsBegun < 2 && !mayBeCutOff
      : status == INTURN_E_ALREADY_FINISHED
          ? finishesBegun == 0 && !mayBeCutOff && cancelsBegun < 2 && !wasAsked
          : status != INTURN_OK)
    model_fail("cancel of %s gives %s", name.c_str(),
               inturn_status_name(status));
  return status;
}

inturn_status Operation::wait(int64_t timeout) {
  inturn_end got = {};
  inturn_status status = inturn_operation_wait(handle, timeout, &got);
  model_note("wait for %s: %s", name.c_str(), inturn_status_name(status));
  if (status == INTURN_OK) {
    if (!mayBeEnded())
      model_fail("%s has ended, and nobody has ended it", name.c_str());
  } else if (status != INTURN_E_TIMED_OUT || timeout < 0) {
    model_fail("wait for %s gives %s", name.c_str(),
               inturn_status_name(status));
  }
  return status;
}

void Operation::release() {
  if (handle.bits == 0)
    return;
  expect("release", inturn_operation_release(handle), {INTURN_OK});
  handle.bits = 0;
}

void Operation::awaitCall(uint32_t count) {
  await(("a call of " + name).c_str(),
        [&] { return calls >= count || isOver() || isRefusedByQueue; });
  model_acquire(this);
}

std::function<void()> Operation::finisher() {
  return [this] {
    awaitCall();
    finish();
  };
}

void Operation::awaitDestroyed() {
  await(("the end of " + name).c_str(), [&] { return isOver(); });
  model_acquire(this);
}

// Executors ----------------------------------------------------------------

Host::Host(uint32_t threads, uint32_t guests) : running(new uint32_t(0)) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.host_threads = threads + guests;
  expect("executor_create", inturn_executor_create(&options, &executor),
         {INTURN_OK});
  for (uint32_t i = 0; i < threads; i++) {
    ++*running;
    model_start(
        "host", false,
        [](void *context) {
          Host &self = *static_cast<Host *>(context);
          expect("executor_run", inturn_executor_run(self.executor),
                 {INTURN_OK});
          --*self.running;
        },
        this);
  }
}

void Host::stop() {
  if (executor.bits == 0)
    return;
  // A stop that no thread is there to see applies to the next run.
  model_settle(false);
  expect("executor_stop", inturn_executor_stop(executor), {INTURN_OK});
  await("the host's threads", [&] { return *running == 0; });
  // Releases what destroyed lanes have left.
  expect("executor_drain", inturn_executor_drain(executor, 0, nullptr),
         {INTURN_OK});
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
  executor.bits = 0;
}

Host::~Host() { stop(); }

} // namespace model
