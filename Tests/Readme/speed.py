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

# What is shown: its case and metric, and the peer that it is compared with.
ROWS = (
    ("an operation, one after the other", "one_producer", "ns_per_operation", "libdispatch"),
    ("one that ends on another queue", "ended_elsewhere", "ns_per_operation", "libdispatch"),
    ("start in a sleeping queue", "latency_asleep", "median_ns", "mutex_deque"),
    ("a pending operation", "pending_memory", "resident_bytes", "libdispatch"),
    ("a queue, created and destroyed", "idle_queues", "create_and_destroy_ns", "libdispatch"),
    ("Swift: `enqueue`", "swift_fifo_enqueue", "ns_per_operation", "task"),
    ("Python: `submit`", "python_submit", "ns_per_operation", "thread_pool_executor"),
    ("Python: coroutines in turn", "python_in_order", "ns_per_operation", "asyncio_lock"),
)
PEERS = {
    "libdispatch": "libdispatch's serial queue",
    "mutex_deque": "mutex, deque and condition variable",
    "task": "`Task {}`, which has no order",
    "thread_pool_executor": "`ThreadPoolExecutor(1)`",
    "asyncio_lock": "`asyncio.Lock`",
}


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


def show(figure: str, metric: str) -> str:
    """Two digits at least, in a unit in which they are few."""
    number, unit = float(figure), "bytes" if metric.endswith("bytes") else "ns"
    if unit == "ns" and number >= 1000:
        number, unit = number / 1000, "µs"
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"


def tables(results: Results) -> str:
    """What README shows."""
    path = results.path.relative_to(ROOT)
    text = (
        f"Medians of {results.about['rounds']} rounds on {results.about['machine']}"
        f" ([all results]({path})).\nBelow 1, Inturn takes less (median of ratios). "
        "`Tests/Benchmarks/run` measures [these cases](Tests/Benchmarks/README.md) on your"
        " machine.\n\n"
        "| | Inturn | the other | ratio | the other is |\n|---|---|---|---|---|\n"
    )
    for title, case, metric, peer in ROWS:
        own, other = results.row(case, metric), results.row(case, metric, peer)
        if own is None or other is None:
            sys.exit(f"speed.py: {path.name} has no {metric} of {case}")
        cells = (
            title,
            show(own["figure"], metric),
            show(other["figure"], metric),
            f"{float(other['median']):.2f}",
            PEERS[peer],
        )
        text += f"| {' | '.join(cells)} |\n"
    return text


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
