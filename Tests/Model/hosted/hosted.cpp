#include "hosted.hpp"

extern "C" {
uint64_t model_hosted_create(uint8_t kind, void (*ready)(void *, void *),
                             void *context);
int32_t model_hosted_enqueue_plain(uint64_t queue, uintptr_t context,
                                   bool isObstinate, void (*destroy)(void *));
int32_t model_hosted_enqueue(uint64_t queue, void *context, bool isObstinate,
                             void (*destroy)(void *), uint64_t *handle);
bool model_hosted_enter(uint64_t queue);
void model_hosted_leave(uint64_t queue);
void model_hosted_look(uint64_t queue, void *asker,
                       void (*told)(void *, void *));
void *model_drainer_make(void *turn);
int32_t model_drainer_next(void *drainer, uintptr_t tag, bool isPatient,
                           uintptr_t *context, uint64_t *token);
void model_drainer_plain_returned(void *drainer);
bool model_drainer_operation_returned(void *drainer);
}

namespace model {

// What model_drainer_next says.
enum : int32_t { stepLeft, stepPlain, stepOperation, stepWentBack };

// Tags of plain operations, in the lowest bits of their contexts.
constexpr uintptr_t closureTag = 0, taskTag = 7, tagMask = 7, noTag = 8;

// What who is told of a turn can begin without a session.
static uintptr_t tagAtOnce(inturn_queue_kind kind) {
  return kind == INTURN_QUEUE_ACTOR ? taskTag : noTag;
}

HostedQueue::HostedQueue(inturn_queue_kind kind) : kind(kind) {
  handle.bits = model_hosted_create(
      uint8_t(kind),
      [](void *context, void *turn) {
        auto &self = *static_cast<HostedQueue *>(context);
        self.drive(model_drainer_make(turn), tagAtOnce(self.kind), false);
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
    if (item->begins + item->drops != 1)
      model_fail("%s has begun %u times and was dropped %u times", name,
                 item->begins, item->drops);
    if (item->begins > 0 && item->finishes != 1)
      model_fail("%s was finished %u times", name, item->finishes);
    if (item->handle.bits != 0)
      expect("release", inturn_operation_release(item->handle), {INTURN_OK});
  }
  await("the sessions", [&] { return sessions == 0; });
}

void HostedQueue::checkCounts() {
  inturn_queue_statistics counts = INTURN_QUEUE_STATISTICS_INIT;
  expect("statistics", inturn_queue_get_statistics(handle, &counts),
         {INTURN_OK});
  uint64_t begun = 0, dropped = 0;
  for (auto &item : items) {
    begun += item->begins;
    dropped += item->isAccepted && item->drops > 0;
  }
  CHECK(counts.pending == 0 && counts.running == 0);
  CHECK(counts.finished + counts.failed + counts.cancelled ==
        begun + dropped + visits);
  CHECK(counts.failed == failures && counts.cancelled >= dropped);
}

// Enqueueing ---------------------------------------------------------------

HostedQueue::Item &HostedQueue::add(const char *name, Form form, Body body) {
  items.emplace_back(new Item);
  Item &item = *items.back();
  item.queue = this;
  item.name = name;
  item.form = form;
  item.body = body;
  item.isAskedToEnd = isDestroying || cancelsUnderWay > 0;
  item.enqueueBegan = ++order;
  bool wasDestroyed = isDestroyed;
  auto context = reinterpret_cast<uintptr_t>(&item);
  int32_t status =
      item.isPlain()
          ? model_hosted_enqueue_plain(
                handle.bits,
                context | (form == Form::task ? taskTag : closureTag),
                form == Form::task, dropped)
          : model_hosted_enqueue(handle.bits, &item, form == Form::guarded,
                                 dropped, &item.handle.bits);
  item.enqueuedAt = ++order;
  model_note("enqueue of %s: %d", name, status);
  if (status == INTURN_OK) {
    if (wasDestroyed)
      model_fail("%s is accepted by a queue that is gone", name);
    return item;
  }
  item.isAccepted = false;
  if (!isDestroying || (status != INTURN_E_CLOSED && status != INTURN_E_STALE))
    model_fail("enqueue of %s gives %d", name, status);
  if (item.begins + item.drops > 0)
    model_fail("%s was refused, and is used", name);
  item.drops = 1; // what is refused is its caller's
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
    uintptr_t wanted = context & tagMask;
    context -= wanted;
    if (step == stepWentBack) {
      auto turn = reinterpret_cast<void *>(context);
      if (wanted != tagAtOnce(kind)) {
        startSession(turn, wanted);
        return;
      }
      drainer = model_drainer_make(turn);
      tag = wanted;
      isSession = false;
      continue;
    }
    Item &item = *reinterpret_cast<Item *>(context);
    if (step == stepOperation) {
      // A body may be long, and it has the place until it ends.
      bool isFirst = kind == INTURN_QUEUE_FIFO, goesOn = true;
      if (isFirst)
        goesOn = model_drainer_operation_returned(drainer);
      begin(item, token);
      if (!isFirst)
        goesOn = model_drainer_operation_returned(drainer);
      if (!goesOn)
        return;
      continue;
    }
    begin(item, token);
    if (!item.hasEnded && kind == INTURN_QUEUE_FIFO) {
      item.drainer = drainer;
      model_release(&item);
      return;
    }
    model_drainer_plain_returned(drainer);
  }
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
        queue.drive(model_drainer_make(session->turn), session->tag, true);
        queue.sessions--;
      },
      new Session{*this, turn, tag});
}

void HostedQueue::begin(Item &item, inturn_token token) {
  const char *name = item.name.c_str();
  model_note("%s begins", name);
  if (++item.begins > 1 || item.drops > 0)
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
  if (++inCall > 1)
    model_fail("%s begins in the middle of another one's call", name);
  model_touch(&payload);
  item.token = token;
  model_release(&item);
  if (item.body != Body::keeps)
    item.finish(item.body == Body::fails);
  inCall--;
}

void HostedQueue::Item::awaitBegin() {
  await(("the beginning of " + name).c_str(),
        [&] { return begins > 0 || drops > 0 || !isAccepted; });
  model_acquire(this);
}

// By one thread, as a task ends once.
void HostedQueue::Item::finish(bool fails) {
  if (begins == 0)
    return;
  finishes++;
  bool mayHaveEnded = isAskedToEnd;
  inturn_status status =
      fails ? inturn_token_fail(token, 1) : inturn_token_finish(token);
  mayHaveEnded = mayHaveEnded || isAskedToEnd;
  model_note("finish of %s: %s", name.c_str(), inturn_status_name(status));
  if (status != INTURN_OK &&
      !(mayHaveEnded && status == INTURN_E_ALREADY_FINISHED))
    model_fail("finish of %s gives %s", name.c_str(),
               inturn_status_name(status));
  queue->failures += fails && status == INTURN_OK;
  hasEnded = true;
  if (!drainer)
    return;
  model_acquire(this);
  model_drainer_plain_returned(drainer);
  queue->drive(drainer, tagAtOnce(queue->kind), false);
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

void HostedQueue::look() {
  model_hosted_look(handle.bits, this, [](void *asker, void *context) {
    const Item &item = *static_cast<Item *>(context);
    if (item.queue != asker)
      model_fail("%s is another queue's", item.name.c_str());
    if (item.hasEnded)
      model_fail("%s has ended, and is said to run", item.name.c_str());
  });
}

void HostedQueue::suspend() {
  expect("suspend", inturn_queue_suspend(handle),
         {INTURN_OK, isDestroying ? INTURN_E_STALE : INTURN_OK});
  suspends++;
}

void HostedQueue::resume() {
  suspends--;
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
    if (!item->isOver())
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
