#!/usr/bin/env python3
"""Many producers, one writer: a queue in front of SQLite.

    database_writer.py [FILE]

What to look at: threads share the connection without a lock, as the queue never runs two writes at
once.  The queue has a capacity: a producer that is faster than the database is told so
(`inturn.FullError`), and waits until there is room, so that memory does not fill up with rows.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import threading
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


class Writer:
    """The queue, and what only its work touches."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.queue = inturn.FIFOQueue("writer", capacity=CAPACITY)
        self.most_pending = 0

    def write(self, producer: int, number: int) -> None:
        """The work."""
        self.most_pending = max(self.most_pending, self.queue.statistics().pending)
        self.database.execute("INSERT INTO log VALUES (?, ?)", (producer, number))


class Producer(threading.Thread):
    """Has rows to write, and no wish to wait for them."""

    def __init__(self, name: int, writer: Writer) -> None:
        super().__init__()
        self.number = name
        self.writer = writer
        self.waits = 0

    def run(self) -> None:
        for number in range(ROWS):
            while not self.try_to_post(number):
                self.waits += 1
                self.writer.queue.drain()

    def try_to_post(self, number: int) -> bool:
        try:
            self.writer.queue.post(self.writer.write, self.number, number)
        except inturn.FullError:
            return False
        return True


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else ""  # none: a temporary one
    with contextlib.closing(sqlite3.connect(file, check_same_thread=False)) as database:
        database.execute("DROP TABLE IF EXISTS log")
        database.execute("CREATE TABLE log (producer INTEGER, number INTEGER)")
        writer = Writer(database)
        producers = [Producer(name, writer) for name in range(PRODUCERS)]
        with writer.queue:
            for producer in producers:
                producer.start()
            for producer in producers:
                producer.join()
        database.commit()

        (count,) = database.execute("SELECT count(*) FROM log").fetchone()
        (out_of_order,) = database.execute(OUT_OF_ORDER).fetchone()
        had_to_wait = any(producer.waits for producer in producers)
        was_kept = writer.most_pending <= CAPACITY
    print(f"{count} rows written")
    print(f"{out_of_order} out of their producer's order")
    print(f"producers had to wait: {'yes' if had_to_wait else 'no'}")
    print(f"rows in memory never exceeded the capacity: {'yes' if was_kept else 'no'}")


if __name__ == "__main__":
    main()
