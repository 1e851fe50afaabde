// Every pair of things that can be done to a queue, at once. The scenario is
// one of them; the schedule picks the other one and the kind of queue.
#include "../checker/checker.hpp"

using namespace model;

namespace {

enum What : uint32_t {
  enqueues,
  finishing,
  failing,
  cancels,
  deadlines,
  destroys,
  closes,
  suspends,
  drains,
  changesExecutor,
  cancelsBatch,
  retries,
  needsName,
  comesAfter,
  joins,
  preempts,
  changesView,
  forks,
  drainsHost,
  submitsToPool,
  threadsEnd,
  countOfThem
};

// A running operation that keeps its token, one behind it, and their options.
class Meeting {
public:
  explicit Meeting(What one)
      : one(one), other(What(model_pick(countOfThem))), kind(pickKind()),
        host(1, 2), otherHost(1), pool(makePool()),
        queue(kind, isHosted() ? host.executor : pool.executor),
        neighbour(INTURN_QUEUE_FIFO, pool.executor) {}

  void run() {
    if (has(threadsEnd))
      warmUp();
    Operation &x = queue.add("x", work(), options(true));
    queue.add("y", finishes, options(false));
    if (has(cancelsBatch))
      batch = &queue.addBatch({{"b", keeps}, {"c", finishes}});
    if (kind == INTURN_QUEUE_INTERACTION)
      queue.appear();
    // Or they meet its start.
    if (model_pick(2) == 0)
      x.awaitCall();
    together({[&] { act(one, x); }, [&] { act(other, x); }});
  }

private:
  struct Pool {
    inturn_executor executor = {0};
    ~Pool() {
      expect("executor_destroy", inturn_executor_destroy(executor),
             {INTURN_OK});
    }
  };

  What one, other;
  inturn_queue_kind kind;
  Host host, otherHost;
  Pool pool;
  Queue queue, neighbour;
  Batch *batch = nullptr;
  // Objects that options point to.
  inturn_retry retry = INTURN_RETRY_INIT;
  const char *name = "name";

  bool has(What what) const { return one == what || other == what; }

  bool isHosted() const {
    return kind == INTURN_QUEUE_INTERACTION || has(drainsHost);
  }

  inturn_queue_kind pickKind() const {
    return has(preempts) || has(changesView)
               ? INTURN_QUEUE_INTERACTION
               : inturn_queue_kind(1 + model_pick(4));
  }

  static Pool makePool() {
    inturn_executor_options options = INTURN_EXECUTOR_OPTIONS_INIT;
    options.workers = 1;
    options.max_workers = 3;
    inturn_executor executor;
    expect("executor_create", inturn_executor_create(&options, &executor),
           {INTURN_OK});
    return Pool{executor};
  }

  // Two operations that need a thread each: one thread is soon superfluous.
  void warmUp() {
    Queue left(INTURN_QUEUE_FIFO, pool.executor);
    Queue right(INTURN_QUEUE_FIFO, pool.executor);
    int arrived = 0;
    auto meet = [&](Operation &it) {
      arrived++;
      await("the other", [&] { return arrived == 2; });
      it.finish();
    };
    left.add("left", meet);
    right.add("right", meet);
    left.drain();
    right.drain();
  }

  std::function<void(Operation &)> work() const {
    if (!has(preempts))
      return keeps;
    return [](Operation &it) {
      auto giveWay = [](void *context, inturn_token) {
        static_cast<Operation *>(context)->yield();
      };
      expect("on_preempt",
             inturn_token_on_preempt(it.token, giveWay, &it, nullptr),
             {INTURN_OK, INTURN_E_ALREADY_FINISHED});
    };
  }

  With options(bool isFirst) {
    return {.handle = true,
            .onEnd = true,
            .set =
                [this, isFirst](auto &options) {
                  if (has(deadlines))
                    (isFirst ? options.max_run_ns : options.max_wait_ns) = 1000;
                  if (!isFirst)
                    return;
                  retry.max_attempts = 2;
                  if (has(retries))
                    options.retry = &retry;
                  if (has(needsName))
                    setName(options);
                  if (has(joins))
                    setKey(options);
                },
            .endsWithOthers = has(joins),
            .hasDeadline = has(deadlines),
            .mayRestart = isFirst && (has(retries) || has(preempts))};
  }

  void setName(inturn_operation_options &options) {
    options.exclusive = &name;
    options.exclusive_count = 1;
  }

  static void setKey(inturn_operation_options &options) {
    options.key = "key";
    options.join = true;
  }

  void add(const std::function<void(inturn_operation_options &)> &set) {
    queue.add("z", finishes,
              {.handle = true,
               .onEnd = true,
               .set = set,
               .endsWithOthers = has(joins),
               .hasDeadline = has(joins) && has(deadlines)});
  }

  void act(What what, Operation &x) {
    switch (what) {
    case enqueues:
      queue.add("z", finishes);
      break;
    case finishing:
      x.finish();
      break;
    case failing:
    case retries:
      x.fail(1);
      break;
    case cancels:
      x.cancel();
      queue.all()[1]->cancel();
      break;
    case deadlines:
    case threadsEnd:
      model_settle(true);
      break;
    case destroys:
      queue.destroy();
      break;
    case closes:
      queue.close();
      break;
    case suspends:
      queue.suspend();
      queue.resume();
      break;
    case drains:
      queue.drain(1000);
      break;
    case changesExecutor:
      queue.setExecutor(otherHost.executor);
      break;
    case cancelsBatch:
      batch->cancel();
      break;
    case needsName:
      add([&](auto &options) { setName(options); });
      break;
    case comesAfter:
      queue.add("z", finishes, after(x));
      break;
    case joins:
      add(setKey);
      break;
    case preempts:
      add([](auto &options) { options.urgent = true; });
      break;
    case changesView:
      queue.disappear();
      queue.appear();
      break;
    case forks:
      forkAndUse(queue);
      break;
    case drainsHost:
      expect("executor_drain", inturn_executor_drain(host.executor, 1, nullptr),
             {INTURN_OK});
      break;
    case submitsToPool:
      neighbour.add("n", finishes);
      break;
    case countOfThem:
      break;
    }
  }
};

} // namespace

#define MEETS(name, what)                                                      \
  SCENARIO(name##_meets_each) { Meeting(what).run(); }

MEETS(enqueue, enqueues)
MEETS(finish, finishing)
MEETS(failure, failing)
MEETS(cancel, cancels)
MEETS(deadline, deadlines)
MEETS(destroy, destroys)
MEETS(close, closes)
MEETS(suspend, suspends)
MEETS(drain, drains)
MEETS(set_executor, changesExecutor)
MEETS(batch_cancel, cancelsBatch)
MEETS(retry, retries)
MEETS(name, needsName)
MEETS(edge, comesAfter)
MEETS(join, joins)
MEETS(preempt, preempts)
MEETS(view_change, changesView)
MEETS(fork, forks)
MEETS(host_drain, drainsHost)
MEETS(pool_submit, submitsToPool)
MEETS(thread_end, threadsEnd)
