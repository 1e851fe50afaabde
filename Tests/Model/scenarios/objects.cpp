// Handles that outlive their objects, and reads during changes.
#include "../checker/checker.hpp"

using namespace model;

// A new queue has the old one's place, but not its handle.
SCENARIO(a_stale_queue_meets_a_new_one) {
  inturn_queue old, next;
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &old),
         {INTURN_OK});
  expect("destroy", inturn_queue_destroy(old), {INTURN_OK});
  together({[&] {
              expect("create",
                     inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &next),
                     {INTURN_OK});
            },
            [&] {
              expect("suspend", inturn_queue_suspend(old), {INTURN_E_STALE});
              expect("drain", inturn_queue_drain(old, 0), {INTURN_E_STALE});
            }});
  expect("resume", inturn_queue_resume(next), {INTURN_E_NOT_SUSPENDED});
  expect("destroy", inturn_queue_destroy(next), {INTURN_OK});
}

SCENARIO(a_stale_value_meets_a_new_one) {
  inturn_datum initial = INTURN_INTEGER(0);
  inturn_value old, next;
  expect("create", inturn_value_create(nullptr, &initial, &old), {INTURN_OK});
  expect("destroy", inturn_value_destroy(old), {INTURN_OK});
  together({[&] {
              expect("create", inturn_value_create(nullptr, &initial, &next),
                     {INTURN_OK});
            },
            [&] {
              expect("add", inturn_value_add(old, 1, nullptr),
                     {INTURN_E_STALE});
              expect("destroy", inturn_value_destroy(old), {INTURN_E_STALE});
            }});
  int64_t is = -1;
  expect("get", inturn_value_get_integer(next, &is), {INTURN_OK});
  CHECK(is == 0);
  expect("destroy", inturn_value_destroy(next), {INTURN_OK});
}

// The second call is too late for the old value, and must not reach the new.
SCENARIO(two_destructions_meet_a_new_value) {
  inturn_datum initial = INTURN_INTEGER(0);
  inturn_value old, next;
  expect("create", inturn_value_create(nullptr, &initial, &old), {INTURN_OK});
  int destroyed = 0;
  auto destroy = [&] {
    inturn_status status = inturn_value_destroy(old);
    expect("destroy", status, {INTURN_OK, INTURN_E_STALE});
    destroyed += status == INTURN_OK;
  };
  together({destroy, [&] {
              destroy();
              expect("create", inturn_value_create(nullptr, &initial, &next),
                     {INTURN_OK});
            }});
  CHECK(destroyed == 1);
  expect("destroy", inturn_value_destroy(next), {INTURN_OK});
}

// A lost token is reported once, and only if that was the end.
SCENARIO(abandon_meets_finish) {
  static int reports;
  reports = 0;
  auto told = [](void *, const inturn_report *report) {
    CHECK(report->kind == INTURN_REPORT_LOST_TOKEN);
    reports++;
  };
  expect("handler", inturn_report_set_handler(told, nullptr, nullptr),
         {INTURN_OK});
  int lost = 0;
  {
    Queue queue(INTURN_QUEUE_FIFO);
    Operation &x = queue.add("x", keeps, {.handle = true});
    together(
        {[&] {
           x.awaitCall();
           x.finishesBegun++;
           inturn_status status = inturn_token_abandon(x.token);
           expect("abandon", status, {INTURN_OK, INTURN_E_ALREADY_FINISHED});
           lost += status == INTURN_OK;
         },
         x.finisher(), [&] { queue.add("y", finishes); }});
  }
  expect("handler", inturn_report_set_handler(nullptr, nullptr, nullptr),
         {INTURN_OK});
  CHECK(reports == lost);
}

SCENARIO(progress_is_read_while_it_is_made) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  x.awaitCall();
  together({[&] {
              for (int64_t i = 1; i <= 3; i++)
                inturn_token_set_progress(x.token, i, 3);
              x.finish();
              inturn_token_set_progress(x.token, 9, 9);
            },
            [&] {
              int64_t last = 0;
              for (int i = 0; i < 3; i++) {
                int64_t completed = 0, total = 0;
                inturn_operation_get_progress(x.handle, &completed, &total);
                CHECK(completed >= last && completed <= 3);
                CHECK(total == (completed > 0 ? 3 : 0));
                last = completed;
              }
            }});
}

SCENARIO(empty_batches_meet_enqueue_and_destruction) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  together({[&] { queue.addBatch({}); },
            [&] {
              queue.add("x", finishes);
              queue.addBatch({{"a", finishes}});
            },
            [&] { queue.destroy(); }});
}

static void batchesWithOptions(inturn_queue_kind kind) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.condition = [](void *) { return INTURN_START; };
  Queue queue(kind);
  auto set = [&](auto &o) { o.operation = &options; };
  auto add = [&] { queue.addBatch({{"a", finishes}, {"b", finishes}}, set); };
  together({add, add, [&] { queue.add("x", finishes); }});
}

SCENARIO(batches_with_options_meet_in_a_fifo_queue) {
  batchesWithOptions(INTURN_QUEUE_FIFO);
}

SCENARIO(batches_with_options_meet_in_a_concurrent_queue) {
  batchesWithOptions(INTURN_QUEUE_CONCURRENT);
}

// An operation whose work has returned, and that has nothing to destroy, goes
// at once.
SCENARIO(what_has_returned_meets_the_destruction) {
  BareQueue queue(INTURN_QUEUE_ACTOR);
  queue.add();
  queue.add();
  queue.awaitCall();
  together({[&] { inturn_token_finish(queue.token); }, [&] { queue.destroy(); },
            [&] { inturn_queue_suspend(queue.handle); }});
}

SCENARIO(a_watched_queue_meets_enqueue_and_destruction) {
  Queue queue(INTURN_QUEUE_CONCURRENT);
  inturn_value pending;
  expect(
      "create_value",
      inturn_queue_create_value(queue.handle, INTURN_QUEUE_PENDING, &pending),
      {INTURN_OK});
  together({[&] {
              queue.add("x", finishes);
              queue.add("y", finishes);
            },
            [&] { queue.destroy(); }});
  int64_t count = -1;
  expect("get", inturn_value_get_integer(pending, &count), {INTURN_OK});
  CHECK(count == 0);
  expect("destroy", inturn_value_destroy(pending), {INTURN_OK});
}

// The main thread, which alone drains queues without another executor, waits.
SCENARIO(the_main_executors_queues_come_and_go_during_a_wait) {
  Queue queue(INTURN_QUEUE_FIFO);
  queue.add("x", [](Operation &it) {
    inturn_queue other;
    expect("create",
           inturn_queue_create(INTURN_QUEUE_INTERACTION, nullptr, &other),
           {INTURN_OK});
    expect("destroy", inturn_queue_destroy(other), {INTURN_OK});
    it.finish();
  });
  queue.drain();
}

SCENARIO(a_wait_meets_another_executor) {
  Host host(1);
  Queue a(INTURN_QUEUE_FIFO, host.executor),
      b(INTURN_QUEUE_FIFO, host.executor);
  inturn_executor pool;
  inturn_executor_pool(&pool);
  a.add("a", [&](Operation &it) {
    expect("drain", inturn_queue_drain(b.handle, 1000),
           {INTURN_OK, INTURN_E_DEADLOCK, INTURN_E_TIMED_OUT});
    it.finish();
  });
  b.add("b", finishes);
  together({[&] { b.setExecutor(pool); }});
}

// The token of an earlier attempt does nothing to the next one.
SCENARIO(an_old_token_gives_way) {
  Host host(1);
  Queue queue(INTURN_QUEUE_INTERACTION, host.executor);
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  x.mayRestart = true;
  queue.appear();
  x.awaitCall();
  inturn_token old = x.token;
  expect("yield", x.yield(), {INTURN_OK});
  auto again = [&] {
    expect("yield", inturn_token_yield(old), {INTURN_E_ALREADY_FINISHED});
  };
  together({again, [&] {
              x.awaitCall(2);
              again();
              x.finish();
            }});
  CHECK(x.calls == 2);
}

// An operation that is enqueued while its owner ends is refused, or cancelled
// with the others.
SCENARIO(enqueue_meets_an_owners_end) {
  inturn_owner owner;
  inturn_queue queue;
  inturn_operation x = {0};
  inturn_status status = INTURN_OK;
  expect("owner_create", inturn_owner_create(0, &owner), {INTURN_OK});
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &queue),
         {INTURN_OK});
  expect("suspend", inturn_queue_suspend(queue), {INTURN_OK});
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.owner = owner;
  auto never = [](void *, inturn_token) { model_fail("called"); };
  together({[&] {
              status = inturn_queue_enqueue_with(queue, &options, never,
                                                 nullptr, nullptr, &x);
              expect("enqueue", status, {INTURN_OK, INTURN_E_STALE});
            },
            [&] {
              expect("owner_destroy", inturn_owner_destroy(owner), {INTURN_OK});
            }});
  if (status == INTURN_OK) {
    inturn_end end = {};
    expect("wait", inturn_operation_wait(x, -1, &end), {INTURN_OK});
    CHECK(end.outcome == INTURN_CANCELLED);
    expect("release", inturn_operation_release(x), {INTURN_OK});
  }
  expect("destroy", inturn_queue_destroy(queue), {INTURN_OK});
}

// What is running gives in at once, and makes room for nothing of the owner's.
SCENARIO(an_owners_end_starts_nothing_of_its_own) {
  static bool isHeld;
  isHeld = false;
  inturn_queue queue;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  expect("owner_create", inturn_owner_create(0, &options.owner), {INTURN_OK});
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &queue),
         {INTURN_OK});
  auto holds = [](void *, inturn_token token) {
    auto givesIn = [](void *, inturn_token token) {
      expect("token_cancel", inturn_token_cancel(token), {INTURN_OK});
    };
    expect("on_cancel",
           inturn_token_on_cancel(token, givesIn, nullptr, nullptr),
           {INTURN_OK});
    isHeld = true;
  };
  auto never = [](void *, inturn_token) { model_fail("called"); };
  for (inturn_work_fn work : {+holds, +never, +never})
    expect("enqueue",
           inturn_queue_enqueue_with(queue, &options, work, nullptr, nullptr,
                                     nullptr),
           {INTURN_OK});
  await("the running one", [] { return isHeld; });
  expect("owner_destroy", inturn_owner_destroy(options.owner), {INTURN_OK});
  expect("drain", inturn_queue_drain(queue, -1), {INTURN_OK});
  expect("destroy", inturn_queue_destroy(queue), {INTURN_OK});
}

// Reported once, until a thread could be started again.
SCENARIO(each_lack_of_threads_is_reported) {
  static int reports;
  reports = 0;
  auto told = [](void *, const inturn_report *report) {
    reports += report->kind == INTURN_REPORT_NO_THREAD;
  };
  expect("handler", inturn_report_set_handler(told, nullptr, nullptr),
         {INTURN_OK});
  inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
  options.workers = 2;
  inturn_executor pool;
  expect("executor_create", inturn_executor_create(&options, &pool),
         {INTURN_OK});
  {
    Queue a(INTURN_QUEUE_FIFO, pool), b(INTURN_QUEUE_FIFO, pool);
    model_failing_starts = 1;
    a.add("a", finishes);
    a.drain();
    CHECK(reports == 1);
    bool hasRun = false;
    model_failing_starts = 1;
    a.add("waits", [&](Operation &it) {
      await("the other", [&] { return hasRun; });
      it.finish();
    });
    b.add("other", [&](Operation &it) {
      hasRun = true;
      it.finish();
    });
    a.drain();
    CHECK(reports == 2);
  }
  expect("executor_destroy", inturn_executor_destroy(pool), {INTURN_OK});
  expect("handler", inturn_report_set_handler(nullptr, nullptr, nullptr),
         {INTURN_OK});
}

// A destruction does not look like a completed drain.
SCENARIO(drain_meets_a_destruction_that_cuts_off) {
  BareQueue queue(INTURN_QUEUE_FIFO);
  queue.add();
  queue.awaitCall();
  together({[&] {
              expect("drain", inturn_queue_drain(queue.handle, -1),
                     {INTURN_E_STALE});
            },
            [&] { queue.destroy(); }});
}

namespace {

void countUp(void *context) { ++*static_cast<int *>(context); }

// A host whose executor reports when nothing refers to it any more, including
// what is left of a queue.
struct Scope {
  int released = 0;
  std::unique_ptr<Host> host = std::make_unique<Host>(2);
  Scope() {
    expect("set_wake",
           inturn_executor_set_wake(
               host->executor, [](void *) {}, &released, countUp),
           {INTURN_OK});
  }
  ~Scope() {
    host.reset();
    CHECK(released == 1);
  }
};

void destroyOwn(void *queue, inturn_token token) {
  expect("destroy", inturn_queue_destroy(*static_cast<inturn_queue *>(queue)),
         {INTURN_OK});
  inturn_token_finish(token);
}

} // namespace

SCENARIO(nothing_is_left_of_a_queue_that_somebody_waits_for) {
  Scope scope;
  BareQueue queue(INTURN_QUEUE_FIFO, scope.host->executor);
  queue.add();
  queue.awaitCall();
  together({[&] { inturn_queue_drain(queue.handle, -1); },
            [&] { queue.destroy(); }});
}

static void destroyInsideBeside(inturn_status (*cancel)(inturn_queue)) {
  Scope scope;
  BareQueue queue(INTURN_QUEUE_CONCURRENT, scope.host->executor);
  queue.add();
  queue.awaitCall();
  together({[&] {
              inturn_queue_enqueue(queue.handle, destroyOwn, &queue.handle,
                                   nullptr, nullptr);
            },
            [&] { inturn_token_finish(queue.token); },
            [&] { cancel(queue.handle); }});
  model_settle(true);
  // Unless the operation that was to do it has been cancelled.
  expect("destroy", inturn_queue_destroy(queue.handle),
         {INTURN_OK, INTURN_E_STALE});
}

SCENARIO(nothing_is_left_of_a_queue_that_is_destroyed_inside) {
  destroyInsideBeside(inturn_queue_cancel_all);
}

SCENARIO(nothing_is_left_of_a_queue_whose_pending_are_cancelled) {
  destroyInsideBeside(inturn_queue_cancel_pending);
}

SCENARIO(who_sleeps_until_an_end_is_woken_by_a_failure) {
  Queue queue(INTURN_QUEUE_FIFO);
  Operation &x = queue.add("x", keeps, {.handle = true, .onEnd = true});
  together({[&] {
              x.awaitCall();
              model_settle(false); // the other thread sleeps
              x.fail(1);
            },
            [&] { x.wait(-1); }});
}

// A handle is also released by one of two callers if its operation was retried.
SCENARIO(two_releases_after_a_retry) {
  inturn_retry retry = INTURN_RETRY_INIT;
  retry.max_attempts = 2;
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.retry = &retry;
  inturn_queue queue;
  inturn_operation x;
  expect("create", inturn_queue_create(INTURN_QUEUE_FIFO, nullptr, &queue),
         {INTURN_OK});
  auto fail = [](void *, inturn_token token) { inturn_token_fail(token, 1); };
  expect("enqueue",
         inturn_queue_enqueue_with(queue, &options, fail, nullptr, nullptr, &x),
         {INTURN_OK});
  expect("drain", inturn_queue_drain(queue, -1), {INTURN_OK});
  int released = 0;
  auto release = [&] {
    inturn_status status = inturn_operation_release(x);
    expect("release", status, {INTURN_OK, INTURN_E_STALE});
    released += status == INTURN_OK;
  };
  together({release, release});
  CHECK(released == 1);
  expect("destroy", inturn_queue_destroy(queue), {INTURN_OK});
}

// Of two operations that are cancelled together, the second notice may come
// after the executor is gone.
SCENARIO(cancel_notices_meet_the_end_of_their_executor) {
  static int destroyed;
  destroyed = 0;
  inturn_executor executor;
  expect("executor_create", inturn_executor_create(nullptr, &executor),
         {INTURN_OK});
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  options.executor = executor;
  options.max_concurrent = 2;
  inturn_queue queue;
  expect("create",
         inturn_queue_create(INTURN_QUEUE_CONCURRENT, &options, &queue),
         {INTURN_OK});
  inturn_operation_options each = INTURN_OPERATION_OPTIONS_INIT;
  each.key = "both";
  auto hold = [](void *, inturn_token token) {
    expect("on_cancel",
           inturn_token_on_cancel(
               token, [](void *, inturn_token) {}, nullptr,
               [](void *) { destroyed += 1; }),
           {INTURN_OK});
  };
  for (int i = 0; i < 2; i++)
    expect("enqueue",
           inturn_queue_enqueue_with(queue, &each, hold, nullptr, nullptr,
                                     nullptr),
           {INTURN_OK});
  inturn_executor_drain(executor, 0, nullptr);
  together({[&] {
              expect("cancel_key",
                     inturn_queue_cancel_key(queue, "both", nullptr),
                     {INTURN_OK, INTURN_E_STALE});
            },
            [&] {
              inturn_executor_drain(executor, 0, nullptr);
              expect("destroy", inturn_queue_destroy(queue), {INTURN_OK});
              expect("executor_destroy", inturn_executor_destroy(executor),
                     {INTURN_OK});
            }});
  CHECK(destroyed == 2);
}
