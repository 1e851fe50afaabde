#!/usr/bin/env python3
"""Many producers, one writer: a queue in front of SQLite.

    database_writer.py [FILE]

What to look at: SQLite wants one thread per connection, and the queue has one, on which it calls
all writes.  It also has a capacity: a producer that is faster than the database gets
`inturn.FullError`, and waits until there is room, so that memory does not fill up with rows.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

PRODUCERS, ROWS, CAPACITY = 8, 1_000, 64

OUT_OF_ORDER = """
    SELECT count(*) FROM (
        SELECT number - lag(number, 1, -1) OVER (PARTITION BY producer ORDER BY rowid) AS step
        FROM log)
    WHERE step <> 1
"""


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else ""  # a temporary one if there is none
    most_pending = 0

    def write(producer: int, number: int) -> None:
        nonlocal most_pending
        most_pending = max(most_pending, writer.statistics().pending)
        database.execute("INSERT INTO log VALUES (?, ?)", (producer, number))

    def count(query: str) -> int:
        return int(database.execute(query).fetchone()[0])

    def produce(producer: int) -> int:
        """Returns how often it had to wait."""
        waits = 0
        for number in range(ROWS):
            while True:
                try:
                    writer.post(write, producer, number)
                    break
                except inturn.FullError:
                    waits += 1
                    writer.drain()
        return waits

    with inturn.FIFOQueue("writer", thread=True, capacity=CAPACITY) as writer:
        database = writer.submit(sqlite3.connect, file).result()
        writer.post(database.execute, "DROP TABLE IF EXISTS log")
        writer.post(database.execute, "CREATE TABLE log (producer INTEGER, number INTEGER)")
        with inturn.OperationQueue("producers", max_concurrent=PRODUCERS) as producers:
            had_to_wait = any(list(producers.map(produce, range(PRODUCERS))))
        rows = writer.submit(count, "SELECT count(*) FROM log").result()
        out_of_order = writer.submit(count, OUT_OF_ORDER).result()
        writer.post(database.commit)
        writer.post(database.close)
    print(f"{rows} rows written")
    print(f"{out_of_order} out of their producer's order")
    print(f"producers had to wait: {'yes' if had_to_wait else 'no'}")
    was_kept = most_pending <= CAPACITY
    print(f"rows in memory never exceeded the capacity: {'yes' if was_kept else 'no'}")


if __name__ == "__main__":
    main()
