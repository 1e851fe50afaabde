"""README's tables of speed and memory, made of the committed benchmark results.

    speed.py            fails when README says anything else than the results
    speed.py --write    writes the tables

The results are the newest file of Tests/Benchmarks/results, by its date.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "Tests" / "Benchmarks" / "results"
BEGIN = "<!-- figures: Tests/Readme/speed.py writes what is between these two lines -->\n"
END = "<!-- figures: end -->\n"

# What is shown, and in which case and metric it is found.
C_PEERS = {"libdispatch": "libdispatch", "mutex, deque, thread": "mutex_deque"}
C_ROWS = (
    ("1 producer, 1 M no-op operations, each", "one_producer", "ns_per_operation", "ns"),
    ("4 producers, the same", "four_producers", "ns_per_operation", "ns"),
    ("each ended by work on another queue", "ended_elsewhere", "ns_per_operation", "ns"),
    ("into a queue that sleeps, until it starts: median", "latency_asleep", "median_ns", "ns"),
    ("the same, 99th percentile", "latency_asleep", "p99_ns", "ns"),
    ("into a queue that has just been used: median", "latency_back_to_back", "median_ns", "ns"),
    ("memory of a pending operation", "pending_memory", "resident_bytes", "bytes"),
    ("memory of an idle queue", "idle_queues", "resident_bytes", "bytes"),
    ("creating and destroying a queue", "idle_queues", "create_and_destroy_ns", "ns"),
    (
        "heap allocations of an operation, steady state",
        "allocations_steady",
        "allocations_per_operation",
        "",
    ),
    ("cost with 10 M pending, in parts of that with 10 k", "depth", "many_to_few", ""),
)
# The same in Swift and Python, each against what the language itself has for it.
OTHER_ROWS = (
    ("Swift: enqueue a closure", "swift_fifo_enqueue", "task", "`Task {}`, which has no order"),
    ("Swift: the same", "swift_fifo_enqueue", "async_stream", "an `AsyncStream` of closures"),
    ("Swift: `run`", "swift_round_trip", "actor_method", "`await` of an actor's method"),
    ("Python: `submit`", "python_submit", "thread_pool_executor", "`ThreadPoolExecutor(1)`"),
    ("Python: coroutines in turn", "python_in_order", "asyncio_lock", "`asyncio.Lock`"),
    ("Python: finished elsewhere", "python_token", "simple_queue", "two `queue.SimpleQueue`s"),
)


@dataclass(frozen=True)
class Results:
    """One file of results."""

    path: Path
    about: dict[str, str]
    # By case, metric, peer ("": its own figure) and subject.
    rows: dict[tuple[str, str, str, str], dict[str, str]]

    @property
    def date(self) -> str:
        return self.about["date"]

    def row(
        self, case: str, metric: str, peer: str = "", subject: str = "inturn"
    ) -> dict[str, str] | None:
        """The row of a subject's own figure, or of a peer's and the ratio to it."""
        return self.rows.get((case, metric, peer, subject))


def read(path: Path) -> Results:
    """Reads a file of results."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return Results(
        path,
        dict(comments),
        {(r["case"], r["metric"], r["peer"], r["subject"]): r for r in rows},
    )


def show(number: float, unit: str) -> str:
    """Two digits at least, in a unit in which they are few."""
    if not unit:
        return f"{number:.2g}"
    if unit == "ns" and number >= 1000:
        number, unit = number / 1000, "us"
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"


def cells(results: Results, case: str, metric: str, unit: str, peers: list[str]) -> list[str]:
    """Inturn's figure, and each peer's with the ratio to it."""
    own = results.row(case, metric)
    if own is None:
        sys.exit(f"speed.py: {results.path.name} has no {metric} of {case}")
    found = [show(float(own["figure"]), unit)]
    for peer in peers:
        row = results.row(case, metric, peer)
        if row is None:
            found.append("")
            continue
        figure = show(float(row["figure"]), unit)
        found.append(f"{figure} ({float(row['median']):.2f})" if unit else figure)
    return found


def line(*fields: str) -> str:
    """One line of a table."""
    return f"| {' | '.join(fields)} |\n"


def tables(results: Results) -> str:
    """What README shows."""
    path = results.path.relative_to(ROOT)
    text = (
        f"\nOn {results.about['machine']}, {results.about['rounds']} rounds"
        f" ([all of it]({path})),\n"
        "through the C API, every token finished and every status checked. In brackets, what Inturn"
        " takes in parts of what\nthe other takes: the median of rounds in which they alternate;"
        " below 1, Inturn takes less.\n\n"
    )
    text += line("", "Inturn", *C_PEERS) + "|---|---|" + "---|" * len(C_PEERS) + "\n"
    for title, case, metric, unit in C_ROWS:
        text += line(title, *cells(results, case, metric, unit, list(C_PEERS.values())))
    cases = [case for _, case, _, _ in OTHER_ROWS]
    if any(results.row(case, "ns_per_operation") for case in cases):
        text += "\nIn Swift and Python, against what the language has for the same:\n\n"
        text += line("", "Inturn", "the other", "") + "|---|---|---|---|\n"
        for title, case, peer, name in OTHER_ROWS:
            text += line(title, *cells(results, case, "ns_per_operation", "ns", [peer]), name)
    handle = [
        results.row(case, metric, subject="inturn_with_handle")
        for case, metric in (
            ("one_producer", "ns_per_operation"),
            ("pending_memory", "resident_bytes"),
        )
    ]
    floor = [
        results.row(case, "ns_per_operation", "floor")
        for case in ("one_producer", "four_producers")
    ]
    time, memory, one, four = (float(row["figure"]) if row else None for row in handle + floor)
    if time is None or memory is None or one is None or four is None:
        sys.exit(f"speed.py: {results.path.name} has no handles or no floor")
    text += (
        f"\nAn operation with a handle takes {show(time, 'ns')} and {show(memory, 'bytes')}. A"
        " preallocated ring between two threads, which does\nnothing else and never sleeps, takes"
        f" {show(one, 'ns')} with one producer and {show(four, 'ns')} with four: what the\n"
        "processor's caches allow.\n"
    )
    return text + "\n"


def main() -> int:
    """The command."""
    files = [read(path) for path in RESULTS.glob("*.csv")]
    if not files:
        sys.exit("speed.py: there are no results")
    results = max(files, key=lambda found: (found.date, found.path.name))
    readme = README.read_text(encoding="utf-8")
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        sys.exit("speed.py: README.md has no place for the figures")
    right = head + BEGIN + tables(results) + END + tail
    if "--write" in sys.argv[1:]:
        README.write_text(right, encoding="utf-8")
    elif right != readme:
        print(f"README.md's figures are not those of {results.path.name}: run speed.py --write")
        return 1
    else:
        print(f"the figures are those of {results.path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
