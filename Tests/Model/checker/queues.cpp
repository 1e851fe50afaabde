// Queues and batches of checker.hpp.
#include "checker.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace model {

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
  operation.isAccepted = true; // its callbacks may come before the call returns
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
  operation.mayBeCutOff |= with.hasDeadline;
  operation.mayRestart = with.mayRestart;
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
    // Set first, as it may be cut off before the call returns.
    for (int64_t limit : {options.max_wait_ns, options.max_run_ns})
      operation.mayBeCutOff |= limit > 0 && limit < FAR_NS;
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

// What must hold when the work of an operation is called.
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
    // `other` was enqueued earlier.
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
  // Also those that are enqueued meanwhile: see make.
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
        // If a place was held, the next attempt begins now.
        found = found || status == INTURN_OK ||
                (operation->mayRestart && operation->finishesBegun == 1);
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
        !(one.hasOnEnd && one.end.cause != INTURN_CAUSE_NONE))
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

// Queues without a checker --------------------------------------------------

BareQueue::BareQueue(inturn_queue_kind kind, inturn_executor executor) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  expect("queue_create",
         inturn_queue_create(kind, executor.bits ? &options : nullptr, &handle),
         {INTURN_OK});
}

void BareQueue::add(const inturn_operation_options *options) {
  auto keep = [](void *context, inturn_token got) {
    static_cast<BareQueue *>(context)->token = got;
  };
  expect("enqueue",
         options ? inturn_queue_enqueue_with(handle, options, keep, this,
                                             nullptr, nullptr)
                 : inturn_queue_enqueue(handle, keep, this, nullptr, nullptr),
         {INTURN_OK});
}

void BareQueue::awaitCall() {
  await("a call", [&] { return token.bits != 0; });
}

void BareQueue::destroy() {
  expect("destroy", inturn_queue_destroy(handle), {INTURN_OK});
}

// Forks --------------------------------------------------------------------

void forkAndUse(const Queue &queue) {
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    if (inturn_queue_close(queue.handle) != INTURN_E_FORKED)
      _exit(3);
    Queue own(INTURN_QUEUE_FIFO);
    own.add("in the child", finishes, {.handle = true, .onEnd = true});
    own.drain();
    _exit(own.all()[0]->ends == 1 ? 0 : 4);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
    model_fail("the child ends with status %x", unsigned(status));
  if (status != 0)
    _exit(1); // it has said why
}

} // namespace model
