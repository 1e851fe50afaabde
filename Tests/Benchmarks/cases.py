"""What is measured: the cases, their sizes, their peers, and their limits."""

from dataclasses import dataclass

INTURN = "inturn"
HANDLE = "inturn_with_handle"
DEADLINE = "inturn_with_deadline"
KEY = "inturn_with_key"
DISPATCH = "libdispatch"
MUTEX = "mutex_deque"
FLOOR = "floor"
FOUNDATION = "foundation"


@dataclass(frozen=True)
class Target:
    """A limit on the median of a metric, or of its ratio to a peer's."""

    metric: str
    peer: str | None = None
    must: float | None = None
    aim: float | None = None
    subject: str = INTURN


@dataclass(frozen=True)
class Case:
    """One program for each peer, run with the same numbers."""

    name: str
    title: str
    program: str
    peers: tuple[str, ...]
    full: tuple[int, ...]
    quick: tuple[int, ...]
    targets: tuple[Target, ...]

    def programs(self) -> list[str]:
        """The names of the programs to build."""
        return [f"{self.program}-{peer}" for peer in self.peers]


TASK = "task"
STREAM = "async_stream"
ENQUEUE_AND_WAIT = "inturn_enqueue_and_wait"
ACTOR_METHOD = "actor_method"
TASK_VALUE = "task_value"

# The subjects, which are measured; the peers are what they are measured against.
SUBJECTS = (INTURN, HANDLE, DEADLINE, KEY, ENQUEUE_AND_WAIT)

THROUGHPUT = (
    *(INTURN, DISPATCH, MUTEX, FLOOR),
    *("boost_asio", "libuv", "glib_async_queue", "glib_main_loop"),
)
PENDING = (INTURN, HANDLE, DISPATCH, MUTEX)
LATENCY_TARGETS = tuple(
    target
    for metric in ("median_ns", "p99_ns")
    for target in (Target(metric, DISPATCH, must=1.0), Target(metric, MUTEX, must=1.0, aim=0.7))
)
NO_ALLOCATION = tuple(
    Target("allocations_per_operation", must=0, aim=0, subject=subject)
    for subject in (INTURN, HANDLE)
)


def throughput(name: str, producers: int, *targets: Target) -> Case:
    """A million no-op operations; handles need a single producer."""
    return Case(
        name,
        f"no-op operations, {name.replace('_', ' ')}",
        "throughput",
        (*THROUGHPUT, HANDLE) if producers == 1 else THROUGHPUT,
        (1_000_000, producers),
        (20_000, producers),
        targets,
    )


def alone(
    name: str, title: str, full: tuple[int, ...], quick: tuple[int, ...], *targets: Target
) -> Case:
    """Without a peer; the program has the case's name."""
    return Case(name, title, name, (INTURN,), full, quick, targets)


def python(
    name: str, title: str, peer: str, full: int, quick: int, must: float, aim: float
) -> Case:
    """The Python package against Python's own counterparts."""
    target = Target("ns_per_operation", peer, must=must, aim=aim)
    program = f"python_{name}"
    return Case(program, title, program, (INTURN, peer), (full,), (quick,), (target,))


LOCK = "asyncio_lock"

PYTHON = (
    python("post", "Python: plain functions", "thread_pool_executor", 200_000, 5_000, 0.2, 0.08),
    python(
        "submit", "Python: functions, futures", "thread_pool_executor", 200_000, 5_000, 0.35, 0.25
    ),
    Case(
        "python_in_order",
        "Python: coroutines of a loop; bare futures are run in a row by one callback",
        "python_in_order",
        (INTURN, LOCK, "bare_futures"),
        (200_000,),
        (5_000,),
        (Target("ns_per_operation", LOCK, must=0.5, aim=0.25),),
    ),
    python(
        "from_thread",
        "Python: coroutines from another thread",
        "run_coroutine_threadsafe",
        200_000,
        5_000,
        0.3,
        0.15,
    ),
    python("token", "Python: ended by another thread", "simple_queue", 20_000, 1_000, 0.7, 0.5),
    python("turn", "Python: a turn that nobody waits for", LOCK, 100_000, 2_000, 1.0, 0.7),
    python("contended_turn", "Python: turns of 1,000 tasks", LOCK, 100_000, 2_000, 0.9, 0.7),
    python("run", "Python: coroutines, each awaited", LOCK, 50_000, 1_000, 1.0, 0.7),
    alone(
        "python_import",
        "Python: import, beyond that of asyncio",
        (9,),
        (3,),
        Target("import_ns", must=8_000_000),
    ),
)


def value(
    name: str, title: str, which: int, count: int, peers: tuple[str, ...], *targets: Target
) -> Case:
    """A measurement in the Swift program `swift_values`."""
    return Case(
        f"swift_value_{name}",
        title,
        "swift_values",
        (INTURN, *peers),
        (which, count),
        (which, count // 100),
        targets,
    )


def swift_enqueue(queue: str, number: int, *targets: Target) -> Case:
    """Async closures enqueued from synchronous code; all queues have the same peers."""
    return Case(
        f"swift_{queue}_enqueue",
        f"no-op async closures enqueued on a {queue.replace('_', ' ')} queue",
        "swift_enqueue",
        (INTURN, DISPATCH, TASK, STREAM),
        (200_000, number),
        (10_000, number),
        targets,
    )


def swift_tasks(queue: str, number: int) -> Case:
    """Tasks that take turns on a queue."""
    return Case(
        f"swift_{queue}_tasks",
        f"no-op tasks on a {queue.replace('_', ' ')} queue",
        "swift_tasks",
        (INTURN, TASK),
        (200_000, number),
        (5_000, number),
        (Target("ns_per_operation", TASK, must=1.1, aim=1.0),),
    )


def swift_pending(queue: str, number: int) -> Case:
    """The memory of pending closures."""
    return Case(
        f"swift_{queue}_pending_memory",
        f"bytes of each closure that is pending on a {queue.replace('_', ' ')} queue",
        "swift_pending",
        (INTURN,),
        (1_000_000, number),
        (100_000, number),
        (Target("resident_bytes", must=128, aim=64),),
    )


SWIFT_CASES = (
    swift_enqueue(
        "fifo",
        0,
        Target("ns_per_operation", DISPATCH, must=0.4, aim=0.3),
        Target("ns_per_operation", STREAM, must=0.2),
    ),
    swift_enqueue("actor", 1, Target("ns_per_operation", DISPATCH, must=1.4, aim=0.9)),
    swift_enqueue("main_actor", 2, Target("ns_per_operation", DISPATCH, must=1.4, aim=0.9)),
    swift_tasks("fifo", 0),
    swift_tasks("actor", 1),
    swift_tasks("main_actor", 2),
    Case(
        "swift_round_trip",
        "round trips of one task to what nobody else uses",
        "swift_round_trip",
        (INTURN, ENQUEUE_AND_WAIT, ACTOR_METHOD, TASK_VALUE),
        (200_000,),
        (10_000,),
        (
            Target("ns_per_operation", ACTOR_METHOD, must=0.3, aim=0.2),
            Target("ns_per_operation", TASK_VALUE, must=1.2, aim=0.8, subject=ENQUEUE_AND_WAIT),
        ),
    ),
    swift_pending("fifo", 0),
    swift_pending("actor", 1),
    swift_pending("main_actor", 2),
)

CASES = (
    *PYTHON,
    *SWIFT_CASES,
    throughput(
        "one_producer",
        1,
        Target("ns_per_operation", DISPATCH, must=0.45),
        Target("ns_per_operation", FLOOR, must=1.0, aim=0.5),
    ),
    throughput(
        "four_producers",
        4,
        Target("ns_per_operation", DISPATCH, must=0.7),
        Target("ns_per_operation", MUTEX, must=0.3, aim=0.25),
        Target("ns_per_operation", FLOOR, aim=1.1),
    ),
    Case(
        "worst_enqueue",
        "the longest single enqueue, four producers",
        "worst",
        (INTURN, DISPATCH, MUTEX, FLOOR),
        (1_000_000, 4),
        (20_000, 4),
        (
            Target("worst_ns", must=2_000_000, aim=200_000),
            Target("p9999_ns", MUTEX, must=1.0),
        ),
    ),
    Case(
        "ended_elsewhere",
        "operations that work on another queue ends",
        "elsewhere",
        (INTURN, DISPATCH),
        (200_000,),
        (5_000,),
        (Target("ns_per_operation", DISPATCH, must=0.25, aim=0.15),),
    ),
    Case(
        "latency_asleep",
        "one operation into an idle queue whose worker sleeps",
        "latency",
        (INTURN, DISPATCH, MUTEX),
        (20_000, 200),
        (200, 200),
        LATENCY_TARGETS,
    ),
    Case(
        "latency_back_to_back",
        "one operation into an idle queue, one after the other",
        "latency",
        (INTURN, DISPATCH, MUTEX),
        (20_000, 0),
        (2_000, 0),
        (),
    ),
    Case(
        "pending_memory",
        "bytes of each pending operation",
        "pending",
        (INTURN, HANDLE, DEADLINE, KEY, DISPATCH, MUTEX),
        (1_000_000,),
        (100_000,),
        (
            Target("resident_bytes", must=40, aim=24),
            Target("resident_bytes", must=96, aim=80, subject=HANDLE),
            Target("resident_bytes", must=160, aim=128, subject=DEADLINE),
        ),
    ),
    Case(
        "idle_queues",
        "idle queues, all alive at once",
        "queues",
        (INTURN, DISPATCH),
        (1_000_000, 0),
        (50_000, 0),
        (
            Target("resident_bytes", must=128, aim=64),
            Target("create_and_destroy_ns", DISPATCH, must=0.5, aim=0.3),
        ),
    ),
    Case(
        "idle_queues_labelled",
        "idle queues with a label, all alive at once",
        "queues",
        (INTURN, DISPATCH),
        (1_000_000, 1),
        (50_000, 1),
        (Target("create_and_destroy_ns", DISPATCH, must=0.8, aim=0.5),),
    ),
    # There is no counterpart: these limits are on times.
    alone(
        "options",
        "what an operation costs more with an option; a deadline that passes",
        (100_000, 1_000_000),
        (5_000, 10_000),
        Target("deadline_more_ns", must=150),
        Target("name_more_ns", must=400),
        Target("key_more_ns", must=300),
        Target("event_ns", must=200),
        Target("record_ns", must=15),
        Target("deadline_passes_ns", must=1_000),
    ),
    Case(
        "depth",
        "cost of an operation with many pending, against few",
        "depth",
        (INTURN, DISPATCH, MUTEX),
        (10_000, 10_000_000),
        (1_000, 200_000),
        (Target("many_to_few", must=1.3, aim=1.1),),
    ),
    alone(
        "cancel",
        "cost of cancelling in the middle of many pending, against few",
        (1_000_000, 10, 2_000),
        (100_000, 10, 2_000),
        Target("many_to_few", must=1.1, aim=1.1),
    ),
    # Fails if a cost grows, or if others wait for too long.
    alone(
        "growth",
        "cost of calls for each thing that they touch, at several sizes",
        (1_000, 8, 3, 5),
        (1_000, 4, 3, 0),
    ),
    alone(
        "watchdog",
        "parts of a processor that the watchdog takes, by idle and busy queues and seconds",
        (1_000, 100, 8),
        (100, 10, 1),
        Target("parts_per_million", must=1_000),
    ),
    Case(
        "concurrent",
        "no-op operations on a concurrent queue, one at a time",
        "concurrent",
        (INTURN, FOUNDATION),
        (100_000,),
        (5_000,),
        (Target("ns_per_operation", FOUNDATION, must=0.1, aim=0.03),),
    ),
    Case(
        "swift_concurrent",
        "the same in Swift, with closures",
        "swift_concurrent",
        (INTURN, FOUNDATION, "inturn_token"),
        (100_000,),
        (5_000,),
        (Target("ns_per_operation", FOUNDATION, must=0.15, aim=0.06),),
    ),
    # Foundation's time for each of these grows with their number: they are separate, and fewer.
    *(
        Case(
            f"{shape}_foundation",
            f"a {shape} of operations, against Foundation's, {count:,} as that takes long",
            "graph",
            (INTURN, FOUNDATION),
            (count, number),
            (500, number),
            (Target("ns_per_operation", FOUNDATION, must=0.1, aim=0.03),),
        )
        for shape, number, count in (("chain", 0, 10_000), ("fan", 1, 10_000))
    ),
    alone(
        "batch",
        "a batch of no-op operations, against the same without a batch",
        (100_000,),
        (5_000,),
        Target("batch_to_single", must=1.5, aim=1.1),
    ),
    Case(
        "chain",
        "operations that come each after the one before",
        "graph",
        (INTURN, HANDLE, "onetbb"),
        (100_000, 0),
        (5_000, 0),
        (Target("ns_per_operation", "onetbb", must=1.0, aim=0.5),),
    ),
    Case(
        "fan",
        "operations that all come after one, and one after all",
        "graph",
        (INTURN, HANDLE, "onetbb"),
        (100_000, 1),
        (5_000, 1),
        (Target("ns_per_operation", "onetbb", must=0.7, aim=0.4),),
    ),
    *(
        Case(
            f"busy_{microseconds}_us",
            f"work of {microseconds} us on two processors",
            "busy",
            (INTURN,),
            (200_000 // microseconds, 1_000 * microseconds),
            (1_000, 1_000 * microseconds),
            (Target("idle_share", must=0.10, aim=0.03),),
        )
        for microseconds in (1, 10)
    ),
    Case(
        "priorities",
        "cost of an operation with a priority, with many pending, against few",
        "priority",
        (INTURN,),
        (1_000_000, 10, 100),
        (20_000, 10, 100),
        (Target("many_to_few", must=3.0, aim=2.0),),
    ),
    Case(
        "interactions",
        "cost of an interaction among 10,000 that are pending, against ten",
        "interactions",
        (INTURN,),
        (10_000, 10, 2_000),
        (1_000, 10, 200),
        tuple(
            Target(f"{what}_many_to_few", must=1.3, aim=1.1)
            for what in ("add", "resolve", "cancel", "cancel_owner")
        ),
    ),
    Case(
        "allocations_steady",
        "heap allocations of an operation, few in flight",
        "allocations",
        PENDING,
        (1_000_000, 1_000),
        (50_000, 1_000),
        NO_ALLOCATION,
    ),
    Case(
        "allocations_burst",
        "heap allocations of an operation, all in flight",
        "allocations",
        PENDING,
        (1_000_000, 1_000_000),
        (50_000, 50_000),
        NO_ALLOCATION,
    ),
    value(
        "read",
        "uncontended reads of an integer",
        0,
        10_000_000,
        ("inturn_rw_locked", "mutex", "atomic"),
        Target("ns_per_read", "mutex", must=1.5),
        Target("ns_per_read", "atomic", aim=1.0),
    ),
    value(
        "read_text",
        "uncontended reads of a string",
        1,
        3_000_000,
        ("inturn_rw_locked", "mutex"),
        Target("ns_per_read", "mutex", must=1.5),
    ),
    value(
        "set",
        "uncontended changes of an integer, no observer",
        2,
        10_000_000,
        ("inturn_rw_locked", "mutex"),
        Target("ns_per_set", "mutex", must=1.5),
    ),
    value(
        "read_shared",
        "reads by eight threads while another one changes the value",
        3,
        400_000,
        ("inturn_rw_locked", "dispatch_rw_lock"),
        Target("ns_per_read", "dispatch_rw_lock", must=1 / 3),
    ),
    value(
        "set_observed",
        "changes with one inline observer, against a change and its work by hand",
        4,
        3_000_000,
        ("by_hand", "by_hand_twice"),
        Target("ns_per_set", "by_hand", must=2.0),
        Target("ns_per_set", "by_hand_twice", aim=1.0),
    ),
)
