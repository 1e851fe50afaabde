#include "hosted.hpp"

extern "C" {
uint64_t model_hosted_create(uint8_t kind, uint64_t capacity,
                             void (*ready)(void *, void *),
                             void (*kept)(uintptr_t), void *context);
int32_t model_hosted_enqueue_plain(uint64_t queue, uintptr_t context,
                                   bool isObstinate, void (*destroy)(void *));
int32_t model_hosted_enqueue(uint64_t queue, void *context, bool isObstinate,
                             int64_t maxWait, uint64_t after, bool joins,
                             uint32_t attempts, void (*destroy)(void *),
                             uint64_t *handle);
bool model_hosted_enter(uint64_t queue);
void model_hosted_leave(uint64_t queue);
void model_hosted_look(uint64_t queue, void *asker,
                       void (*told)(void *, void *));
void *model_drainer_make(void *turn);
int32_t model_drainer_next(void *drainer, uintptr_t tag, bool isPatient,
                           uintptr_t *context, uint64_t *token);
void model_drainer_plain_returned(void *drainer);
int32_t model_claim(uint64_t queue, uintptr_t context, uint64_t *token,
                    uintptr_t *next, void (*begun)(uintptr_t));
}

namespace model {

// The results of model_drainer_next.
enum : int32_t { stepLeft, stepPlain, stepOffered, stepWentBack };

// Tags of plain operations, in the lowest bits of their contexts.
constexpr uintptr_t closureTag = 0, claimedTag = 6, taskTag = 7, tagMask = 7,
                    noTag = 8;

static HostedQueue::Item &itemOf(uintptr_t context) {
  return *reinterpret_cast<HostedQueue::Item *>(context & ~tagMask);
}

HostedQueue::HostedQueue(inturn_queue_kind kind, uint64_t capacity)
    : kind(kind) {
  handle.bits = model_hosted_create(
      uint8_t(kind), capacity,
      [](void *context, void *turn) {
        auto &self = *static_cast<HostedQueue *>(context);
        self.drive(model_drainer_make(turn), noTag, false);
      },
      [](uintptr_t context) {
        Item &item = itemOf(context);
        if (item.begins >= item.attempts || item.drops > 0)
          model_fail("%s is offered, and was used", item.name.c_str());
      },
      this);
}

HostedQueue::~HostedQueue() {
  if (!isDestroying) {
    finishAll();
    drain();
    checkCounts();
    destroy();
  }
  finishAll();
  for (auto &item : items) {
    const char *name = item->name.c_str();
    if (!(item->drops == 1 && item->begins == 0) &&
        !(item->drops == 0 && item->begins > 0 &&
          (item->begins == item->attempts || item->isAskedToEnd)))
      model_fail("%s has begun %u times and was dropped %u times", name,
                 item->begins, item->drops);
    if (item->begins != item->finishes)
      model_fail("%s was finished %u times", name, item->finishes);
    if (item->handle.bits != 0)
      expect("release", inturn_operation_release(item->handle), {INTURN_OK});
    // Nothing else orders the last access to a destroyed queue's payload before
    // the next schedule, whose queue has the same address.
    if (item->begins > 0)
      model_acquire(item.get());
  }
  await("the sessions", [&] { return sessions == 0; });
}

void HostedQueue::checkCounts() {
  inturn_queue_statistics counts = INTURN_QUEUE_STATISTICS_INIT;
  expect("statistics", inturn_queue_get_statistics(handle, &counts),
         {INTURN_OK});
  uint64_t begun = 0, dropped = 0, joined = 0;
  for (auto &item : items) {
    begun += item->begins > 0;
    uint64_t isDropped = item->isAccepted && item->drops > 0;
    dropped += isDropped;
    joined += isDropped && item->joins; // and may have ended with the other one
  }
  CHECK(counts.pending == 0 && counts.running == 0);
  CHECK(counts.finished + counts.failed + counts.cancelled + counts.timed_out ==
        begun + dropped + visits);
  CHECK(counts.failed >= failures && counts.failed <= failures + lastFailures &&
        counts.cancelled + counts.timed_out + joined >= dropped);
}

// Enqueueing ---------------------------------------------------------------

HostedQueue::Item &HostedQueue::add(const char *name, Form form, Body body,
                                    int64_t maxWait, const Item *after,
                                    bool joins, uint32_t attempts) {
  items.emplace_back(new Item);
  Item &item = *items.back();
  item.queue = this;
  item.name = name;
  item.form = form;
  item.body = body;
  item.joins = joins;
  item.attempts = attempts;
  item.isAskedToEnd =
      isDestroying || cancelsUnderWay > 0 || maxWait > 0 || joins;
  item.enqueueBegan = ++order;
  bool wasDestroyed = isDestroyed;
  auto context = reinterpret_cast<uintptr_t>(&item);
  int32_t status =
      item.isPlain()
          ? model_hosted_enqueue_plain(
                handle.bits,
                context | (form != Form::task           ? closureTag
                           : kind == INTURN_QUEUE_ACTOR ? claimedTag
                                                        : taskTag),
                form == Form::task, dropped)
          : model_hosted_enqueue(handle.bits, &item, form == Form::guarded,
                                 maxWait, after ? after->handle.bits : 0, joins,
                                 attempts, dropped, &item.handle.bits);
  item.enqueuedAt = ++order;
  model_note("enqueue of %s: %d", name, status);
  if (status == INTURN_OK) {
    if (wasDestroyed)
      model_fail("%s is accepted by a queue that is gone", name);
    return item;
  }
  item.isAccepted = false;
  item.drops = 1; // a refused operation stays its caller's
  if (status == INTURN_E_FULL && item.begins == 0)
    return item;
  if (!isDestroying || (status != INTURN_E_CLOSED && status != INTURN_E_STALE))
    model_fail("enqueue of %s gives %d", name, status);
  if (item.begins > 0 || item.drops > 1)
    model_fail("%s was refused, and is used", name);
  return item;
}

void HostedQueue::dropped(void *context) {
  Item &item = *reinterpret_cast<Item *>(uintptr_t(context) & ~tagMask);
  model_note("drops %s", item.name.c_str());
  if (++item.drops > 1 || item.begins > 0)
    model_fail("%s is dropped, and was already used", item.name.c_str());
  if (!item.isAskedToEnd)
    model_fail("%s is dropped, and nobody has asked for that",
               item.name.c_str());
  if (item.queue->isDestroyed)
    model_fail("%s is dropped after the queue", item.name.c_str());
  if (++item.queue->inDrop > 1)
    model_fail("%s is dropped beside another one", item.name.c_str());
  model_touch(&item.queue->dropPayload);
  item.queue->inDrop--;
}

// Draining -----------------------------------------------------------------

void HostedQueue::drive(void *drainer, uintptr_t tag, bool isSession) {
  for (;;) {
    uintptr_t context = 0;
    inturn_token token = {0};
    int32_t step = model_drainer_next(drainer, tag, isSession && tag == taskTag,
                                      &context, &token.bits);
    if (step == stepLeft)
      return;
    if (step == stepOffered)
      return offer(context);
    if (step == stepWentBack) {
      uintptr_t wanted = context & tagMask;
      return startSession(reinterpret_cast<void *>(context - wanted), wanted);
    }
    Item &item = itemOf(context);
    begin(item, token);
    if (!item.hasEnded && kind == INTURN_QUEUE_FIFO) {
      item.drainer = drainer;
      model_release(&item);
      return;
    }
    model_drainer_plain_returned(drainer);
  }
}

// Its task may come at any time, and then learns whether it may begin.
void HostedQueue::offer(uintptr_t context) {
  sessions++;
  model_start(
      "task", false,
      [](void *context) {
        Item &item = itemOf(uintptr_t(context));
        item.queue->claim(item, uintptr_t(context));
        item.queue->sessions--;
      },
      reinterpret_cast<void *>(context));
}

void HostedQueue::claim(Item &item, uintptr_t context) {
  takeActor();
  bool wasSuspended = suspends > 0;
  int resumesBefore = resumes;
  uintptr_t next = 0;
  int32_t status = model_claim(
      handle.bits, context, &item.token.bits, &next, [](uintptr_t own) {
        Item &item = itemOf(own);
        if (item.begins + item.drops > 0)
          model_fail("%s is claimed, and was used", item.name.c_str());
        item.isOverWhenClaimed = true;
      });
  if (status == 0) {
    model_note("%s is not claimed", item.name.c_str());
  } else {
    if (wasSuspended && resumes == resumesBefore)
      model_fail("%s begins in a queue that is suspended", item.name.c_str());
    begin(item, item.token);
  }
  leaveActor();
  if (next != 0)
    offer(next);
}

// Work that begins on an actor has the actor to itself meanwhile.
void HostedQueue::takeActor() {
  if (kind != INTURN_QUEUE_ACTOR)
    return;
  // Several threads may have waited for the same moment.
  while (isActorTaken)
    await("the actor", [&] { return !isActorTaken; });
  isActorTaken = true;
  model_acquire(&isActorTaken);
}

void HostedQueue::leaveActor() {
  if (kind != INTURN_QUEUE_ACTOR)
    return;
  model_release(&isActorTaken);
  isActorTaken = false;
}

void HostedQueue::startSession(void *turn, uintptr_t tag) {
  struct Session {
    HostedQueue &queue;
    void *turn;
    uintptr_t tag;
  };
  sessions++;
  model_start(
      "session", false,
      [](void *context) {
        std::unique_ptr<Session> session(static_cast<Session *>(context));
        HostedQueue &queue = session->queue;
        queue.takeActor();
        queue.drive(model_drainer_make(session->turn), session->tag, true);
        queue.leaveActor();
        queue.sessions--;
      },
      new Session{*this, turn, tag});
}

void HostedQueue::begin(Item &item, inturn_token token) {
  const char *name = item.name.c_str();
  model_note("%s begins", name);
  if (++item.begins > item.attempts || item.drops > 0)
    model_fail("%s begins, and was already used", name);
  if (isDestroyed)
    model_fail("%s begins after the queue was destroyed", name);
  for (const auto &other : items) {
    if (!other->isAccepted || other->enqueuedAt == 0 ||
        other->enqueuedAt > item.enqueueBegan)
      continue;
    bool mayHaveLeft = other->isOver() || other->isAskedToEnd;
    if (kind == INTURN_QUEUE_FIFO ? !mayHaveLeft
                                  : !mayHaveLeft && other->begins == 0)
      model_fail("%s begins before its turn, after %s", name,
                 other->name.c_str());
  }
  for (const auto &other : items)
    if (item.joins && other->joins && other.get() != &item &&
        other->begins > other->finishes)
      model_fail("%s begins, and has joined %s", name, other->name.c_str());
  if (++inCall > 1)
    model_fail("%s begins in the middle of another one's call", name);
  model_touch(&payload);
  item.token = token;
  model_release(&item);
  // A FIFO queue's next operation may begin as soon as this one has ended.
  bool isOverBefore = kind == INTURN_QUEUE_FIFO && !item.isPlain();
  inCall -= isOverBefore;
  if (item.body != Body::keeps)
    item.finish(item.begins < item.attempts ? Body::fails : item.body);
  inCall -= !isOverBefore;
}

void HostedQueue::Item::awaitBegin() {
  await(("the beginning of " + name).c_str(),
        [&] { return begins > 0 || drops > 0 || !isAccepted; });
  model_acquire(this);
}

// Called by one thread, as a task ends once.
void HostedQueue::Item::finish(Body how) {
  if (begins == 0)
    return;
  finishes++;
  if (isOverWhenClaimed)
    return;
  bool mayHaveEnded = isAskedToEnd;
  inturn_status status = how == Body::fails     ? inturn_token_fail(token, 1)
                         : how == Body::givesIn ? inturn_token_cancel(token)
                                                : inturn_token_finish(token);
  mayHaveEnded = mayHaveEnded || isAskedToEnd;
  model_note("finish of %s: %s", name.c_str(), inturn_status_name(status));
  if (status != INTURN_OK &&
      !(mayHaveEnded && status == INTURN_E_ALREADY_FINISHED))
    model_fail("finish of %s gives %s", name.c_str(),
               inturn_status_name(status));
  // If the operation is attempted again, an earlier failure is its end only
  // after a cancel.
  if (attempts == 1)
    queue->failures += how == Body::fails && status == INTURN_OK;
  else if (how == Body::fails && isAskedToEnd)
    queue->lastFailures++;
  hasEnded = begins == attempts;
  if (!drainer)
    return;
  model_acquire(this);
  model_drainer_plain_returned(drainer);
  queue->drive(drainer, noTag, false);
}

void HostedQueue::Item::cancel() {
  isAskedToEnd = true;
  expect("cancel", inturn_operation_cancel(handle),
         {INTURN_OK, INTURN_E_CANCELLED, INTURN_E_ALREADY_FINISHED});
}

// Control ------------------------------------------------------------------

bool HostedQueue::visit() {
  if (!model_hosted_enter(handle.bits))
    return false;
  if (++inCall > 1)
    model_fail("a visit begins in the middle of a call");
  model_touch(&payload);
  model_point(&payload);
  inCall--;
  visits++;
  model_hosted_leave(handle.bits);
  return true;
}

int HostedQueue::look() {
  struct Look {
    HostedQueue *asker;
    int count;
  } look = {this, 0};
  model_hosted_look(handle.bits, &look, [](void *context, void *told) {
    Look &look = *static_cast<Look *>(context);
    const Item &item = itemOf(uintptr_t(told));
    if (item.queue != look.asker)
      model_fail("%s is another queue's", item.name.c_str());
    if (item.hasEnded)
      model_fail("%s has ended, and is said to run", item.name.c_str());
    look.count++;
  });
  return look.count;
}

void HostedQueue::suspend() {
  expect("suspend", inturn_queue_suspend(handle),
         {INTURN_OK, isDestroying ? INTURN_E_STALE : INTURN_OK});
  suspends++;
}

void HostedQueue::resume() {
  suspends--;
  resumes++;
  expect("resume", inturn_queue_resume(handle),
         {INTURN_OK, isDestroying ? INTURN_E_STALE : INTURN_OK});
}

void HostedQueue::cancelAll() {
  for (auto &item : items)
    item->isAskedToEnd = true;
  cancelsUnderWay++;
  inturn_status status = inturn_queue_cancel_all(handle);
  cancelsUnderWay--;
  expect("cancel_all", status,
         {INTURN_OK, isDestroying ? INTURN_E_STALE : INTURN_OK});
}

void HostedQueue::drain() {
  std::vector<Item *> before;
  for (auto &item : items)
    if (item->enqueuedAt != 0 && item->isAccepted)
      before.push_back(item.get());
  inturn_status status = inturn_queue_drain(handle, -1);
  expect("drain", status,
         {INTURN_OK, isDestroying ? INTURN_E_STALE : INTURN_OK});
  if (status != INTURN_OK)
    return;
  for (Item *item : before)
    if (!item->isOver() && !item->isOverWhenClaimed &&
        !(item->attempts > 1 && item->isAskedToEnd))
      model_fail("drained, and %s is not over", item->name.c_str());
}

void HostedQueue::destroy() {
  isDestroying = true;
  for (auto &item : items)
    item->isAskedToEnd = true;
  expect("destroy", inturn_queue_destroy(handle), {INTURN_OK});
  isDestroyed = true;
}

void HostedQueue::finishAll() {
  while (!isDestroying && suspends > 0)
    resume();
  for (bool found = true; found;) {
    model_settle(false);
    found = false;
    for (auto &item : items)
      if (item->begins > 0 && item->finishes == 0) {
        item->finish();
        found = true;
      }
  }
}

} // namespace model
