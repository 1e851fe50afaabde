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

uint64_t aliveOperations() {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  inturn_get_statistics(&statistics);
  return statistics.operations;
}

uint64_t aliveQueues() {
  inturn_library_statistics statistics = INTURN_LIBRARY_STATISTICS_INIT;
  inturn_get_statistics(&statistics);
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
  // One that is cut off may be told of in the middle of its call.
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
  // What it was when the call began: by its end it may be another attempt.
  uint32_t attempt = calls;
  bool mayHaveEnded = finishesBegun > 0 || mayBeCutOff || cancelsBegun > 0;
  finishesBegun++;
  // What its own work does before the finish is there for the next one. (Who is
  // second to finish is ordered with nobody.)
  if (isInCall && queue->kind == INTURN_QUEUE_FIFO && !hasOptions)
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

void Operation::awaitDestroyed() {
  await(("the end of " + name).c_str(), [&] { return isOver(); });
  model_acquire(this);
}

// Executors ----------------------------------------------------------------

Host::Host(uint32_t threads) : running(new uint32_t(0)) {
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.host_threads = threads;
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
  // A stop that nobody runs to see is the next run's.
  model_settle(false);
  expect("executor_stop", inturn_executor_stop(executor), {INTURN_OK});
  await("the host's threads", [&] { return *running == 0; });
  // Lets go of what lanes that are gone have left.
  expect("executor_drain", inturn_executor_drain(executor, 0, nullptr),
         {INTURN_OK});
  expect("executor_destroy", inturn_executor_destroy(executor), {INTURN_OK});
  executor.bits = 0;
}

Host::~Host() { stop(); }

// Queues -------------------------------------------------------------------

Queue::Queue(inturn_queue_kind kind, inturn_executor executor,
             const std::function<void(inturn_queue_options &)> &set)
    : kind(kind) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  if (set)
    set(options);
  if (kind == INTURN_QUEUE_CONCURRENT) {
    limit = options.max_concurrent ? options.max_concurrent : 2;
    options.max_concurrent = limit;
  }
  bool isPlain = executor.bits == 0 && !set;
  expect("queue_create",
         inturn_queue_create(kind, isPlain ? nullptr : &options, &handle),
         {INTURN_OK});
}

static uint64_t order;

Operation &Queue::make(const char *name,
                       std::function<void(Operation &)> body) {
  operations.emplace_back(new Operation);
  Operation &operation = *operations.back();
  operation.name = name;
  operation.queue = this;
  operation.body = std::move(body);
  operation.mayBeCutOff = destroysBegun > 0;
  operation.cancelsBegun = uint32_t(cancelsUnderWay);
  operation.isAccepted = true; // its callbacks may come before the return
  operation.enqueueBegan = ++order;
  model_touch(&operation.payload);
  return operation;
}

Operation &Queue::add(const char *name, std::function<void(Operation &)> body,
                      const With &with) {
  Operation &operation = make(name, std::move(body));
  operation.hasOnEnd = with.onEnd;
  operation.hasOptions = bool(with.set);
  operation.cancelsBegun += with.endsWithOthers;
  operation.mayBeCutOff = operation.mayBeCutOff || with.hasDeadline;
  bool wasClosed = isClosed, wasDestroyed = isDestroyed;
  inturn_operation *out = with.handle ? &operation.handle : nullptr;
  inturn_status status;
  if (with.isBare()) {
    status = inturn_queue_enqueue(handle, Operation::work, &operation,
                                  Operation::destroyed, out);
  } else {
    inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
    if (with.onEnd) {
      options.on_end = Operation::ended;
      options.end_context = &operation;
      options.end_destroy = Operation::endDestroyed;
    }
    if (with.set)
      with.set(options);
    status = inturn_queue_enqueue_with(handle, &options, Operation::work,
                                       &operation, Operation::destroyed, out);
  }
  operation.enqueuedAt = ++order;
  operation.isBeingEnqueued = false;
  model_note("enqueue of %s: %s", name, inturn_status_name(status));
  if (status == INTURN_OK) {
    if (wasClosed || wasDestroyed)
      model_fail("%s is accepted by a queue that was closed", name);
    return operation;
  }
  operation.isAccepted = false;
  operation.isRefusedByQueue = true;
  if (operation.destroys != 1)
    model_fail("%s was refused, and destroyed %u times", name,
               operation.destroys);
  if (operation.calls > 0)
    model_fail("%s was refused, and called", name);
  if (!((status == INTURN_E_CLOSED && closesBegun > 0) ||
        (status == INTURN_E_STALE && destroysBegun > 0) ||
        (status == INTURN_E_CLOSED && destroysBegun > 0)))
    model_fail("enqueue of %s gives %s", name, inturn_status_name(status));
  return operation;
}

Batch &
Queue::addBatch(std::initializer_list<
                    std::pair<const char *, std::function<void(Operation &)>>>
                    items,
                const std::function<void(inturn_batch_options &)> &set) {
  batches.emplace_back(new Batch);
  Batch &batch = *batches.back();
  batch.queue = this;
  std::vector<inturn_batch_item> list;
  for (const auto &[name, body] : items) {
    Operation &operation = make(name, body);
    operation.hasOptions = true;
    batch.operations.push_back(&operation);
    list.push_back({Operation::work, &operation, Operation::destroyed});
  }
  inturn_batch_options options = INTURN_BATCH_OPTIONS_INIT;
  options.on_end = Batch::ended;
  options.end_context = &batch;
  options.end_destroy = Batch::endDestroyed;
  if (set)
    set(options);
  inturn_status status = inturn_queue_enqueue_batch(
      handle, &options, list.data(), list.size(), &batch.handle);
  expect("enqueue_batch", status,
         {INTURN_OK, closesBegun > 0 ? INTURN_E_CLOSED : INTURN_OK,
          destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK,
          destroysBegun > 0 ? INTURN_E_CLOSED : INTURN_OK});
  for (Operation *operation : batch.operations) {
    operation->enqueuedAt = ++order;
    operation->isBeingEnqueued = false;
    operation->isAccepted = status == INTURN_OK;
    operation->isRefusedByQueue = status != INTURN_OK;
    if (status != INTURN_OK && operation->destroys != 1)
      model_fail("a refused batch's %s is destroyed %u times",
                 operation->name.c_str(), operation->destroys);
  }
  return batch;
}

void Batch::ended(void *context, const inturn_batch_end *end) {
  Batch &self = *static_cast<Batch *>(context);
  model_note("the batch ends as %d", end->outcome);
  self.end = *end;
  if (++self.ends > 1)
    model_fail("a batch's end is told twice");
  for (Operation *operation : self.operations)
    if (!operation->isOver())
      model_fail("a batch's end is told before %s is over",
                 operation->name.c_str());
}

void Batch::endDestroyed(void *context) {
  Batch &self = *static_cast<Batch *>(context);
  if (++self.endDestroys > 1)
    model_fail("a batch's context is destroyed twice");
}

inturn_status Batch::cancel() {
  for (Operation *operation : operations)
    operation->cancelsBegun++;
  inturn_status status = inturn_batch_cancel(handle);
  expect("batch_cancel", status,
         {INTURN_OK, INTURN_E_CANCELLED, INTURN_E_ALREADY_FINISHED});
  return status;
}

inturn_status Batch::wait(int64_t timeout) {
  inturn_status status = inturn_batch_wait(handle, timeout, nullptr);
  expect("batch_wait", status,
         {INTURN_OK, timeout >= 0 ? INTURN_E_TIMED_OUT : INTURN_OK});
  if (status == INTURN_OK && ends != 1)
    model_fail("a batch was waited for, and its end was told %u times", ends);
  return status;
}

void Batch::release() {
  if (handle.bits == 0)
    return;
  expect("batch_release", inturn_batch_release(handle), {INTURN_OK});
  handle.bits = 0;
}

// What has to be true when the work of an operation is called.
void Queue::checkCall(const Operation &operation) const {
  const char *name = operation.name.c_str();
  if (operation.isRefusedByQueue)
    model_fail("%s was refused, and is called", name);
  if (operation.destroys > 0)
    model_fail("%s is called after it was destroyed", name);
  if (operation.ends > 0 && !operation.mayBeCutOff)
    model_fail("%s is called after its end", name);
  if (operation.calls > 0 && !operation.mayRestart)
    model_fail("%s is called twice", name);
  if (isDestroyed)
    model_fail("%s is called after the queue was destroyed", name);
  uint32_t running = 1;
  for (const auto &other : operations) {
    if (other.get() == &operation || !other->isAccepted)
      continue;
    bool mayHaveLeft = other->mayBeEnded();
    if (other->calls > 0 && !other->isOver() && !mayHaveLeft)
      running++;
    if (other->enqueuedAt == 0 || other->enqueuedAt > operation.enqueueBegan)
      continue;
    // `other` was enqueued before.
    switch (kind) {
    case INTURN_QUEUE_ACTOR:
      if (other->calls == 0 && !mayHaveLeft)
        model_fail("%s begins before %s", name, other->name.c_str());
      break;
    case INTURN_QUEUE_FIFO:
      if (!mayHaveLeft)
        model_fail("%s begins before %s has ended", name, other->name.c_str());
      if (other->cancelsBegun == 0 && !other->mayBeCutOff && !other->isOver() &&
          !other->mayRestart)
        model_fail("%s begins before %s was destroyed", name,
                   other->name.c_str());
      break;
    default:
      break;
    }
  }
  uint32_t most = kind == INTURN_QUEUE_ACTOR ? UINT32_MAX : limit;
  if (running > most)
    model_fail("%u operations run, of at most %u", running, most);
}

void Queue::mayCutOff() {
  for (auto &operation : operations)
    operation->mayBeCutOff = true;
}

inturn_status Queue::suspend() {
  inturn_status status = inturn_queue_suspend(handle);
  expect("suspend", status,
         {INTURN_OK, destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
  if (status == INTURN_OK)
    suspends++;
  return status;
}

inturn_status Queue::resume() {
  int before = suspends;
  if (suspends > 0)
    suspends--;
  inturn_status status = inturn_queue_resume(handle);
  if (before > 0)
    expect("resume", status,
           {INTURN_OK, destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
  return status;
}

inturn_status Queue::close() {
  closesBegun++;
  inturn_status status = inturn_queue_close(handle);
  expect("close", status,
         {INTURN_OK, closesBegun > 1 ? INTURN_E_CLOSED : INTURN_OK,
          destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
  isClosed = true;
  return status;
}

inturn_status Queue::cancelAll() {
  // Those that come in the meantime, too: see make.
  for (auto &operation : operations)
    operation->cancelsBegun++;
  cancelsUnderWay++;
  inturn_status status = inturn_queue_cancel_all(handle);
  cancelsUnderWay--;
  expect("cancel_all", status,
         {INTURN_OK, destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
  return status;
}

inturn_status Queue::drain(int64_t timeout) {
  std::vector<Operation *> before;
  for (auto &operation : operations)
    if (operation->enqueuedAt != 0)
      before.push_back(operation.get());
  inturn_status status = inturn_queue_drain(handle, timeout);
  expect("drain", status,
         {INTURN_OK, timeout >= 0 ? INTURN_E_TIMED_OUT : INTURN_OK,
          destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
  if (status == INTURN_OK)
    for (Operation *operation : before)
      if (operation->isAccepted && !operation->isOver())
        model_fail("drained, and %s is not over", operation->name.c_str());
  return status;
}

inturn_status Queue::destroy(bool isInside) {
  destroysBegun++;
  mayCutOff();
  inturn_status status = inturn_queue_destroy(handle);
  expect("destroy", status,
         {INTURN_OK, destroysBegun > 1 ? INTURN_E_STALE : INTURN_OK});
  if (status == INTURN_OK && !isInside)
    isDestroyed = true;
  return status;
}

void Queue::appear() {
  isVisible = true;
  expect("view_did_appear", inturn_queue_view_did_appear(handle),
         {INTURN_OK, destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
}

void Queue::disappear() {
  expect("view_will_disappear", inturn_queue_view_will_disappear(handle),
         {INTURN_OK, destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
  isVisible = false;
}

void Queue::setExecutor(inturn_executor executor) {
  expect("set_executor", inturn_queue_set_executor(handle, executor),
         {INTURN_OK, destroysBegun > 0 ? INTURN_E_STALE : INTURN_OK});
}

void Queue::finishAll() {
  if (kind == INTURN_QUEUE_INTERACTION && !isVisible && destroysBegun == 0)
    appear();
  while (suspends > 0)
    resume();
  for (bool found = true; found;) {
    model_settle(kind == INTURN_QUEUE_INTERACTION);
    found = false;
    for (auto &operation : operations) {
      if (operation->isAccepted && !operation->isOver() &&
          operation->calls > 0 && operation->finishesDone == 0) {
        inturn_status status = operation->finish();
        found = found || status == INTURN_OK;
      }
    }
  }
}

void Queue::check() {
  for (auto &operation : operations) {
    const Operation &one = *operation;
    const char *name = one.name.c_str();
    if (!one.isAccepted)
      continue;
    if (one.destroys != 1)
      model_fail("%s was accepted, and destroyed %u times", name, one.destroys);
    if (one.hasOnEnd && (one.ends != 1 || one.endDestroys != 1))
      model_fail("%s was accepted; its end was told %u times, and that context "
                 "destroyed %u times",
                 name, one.ends, one.endDestroys);
    if (one.calls == 0 && one.cancelsBegun == 0 && !one.mayBeCutOff &&
        one.isCallDue && !(one.hasOnEnd && one.end.cause != INTURN_CAUSE_NONE))
      model_fail("%s was accepted, and never called", name);
  }
  for (auto &batch : batches)
    if (batch->handle.bits != 0 &&
        (batch->ends != 1 || batch->endDestroys != 1))
      model_fail("a batch's end was told %u times, and its context destroyed "
                 "%u times",
                 batch->ends, batch->endDestroys);
}

Queue::~Queue() {
  if (destroysBegun == 0) {
    finishAll();
    drain(-1);
    check();
    destroy();
  }
  model_settle(true);
  check();
  for (auto &operation : operations)
    operation->release();
  for (auto &batch : batches)
    batch->release();
}

} // namespace model
