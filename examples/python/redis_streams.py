#!/usr/bin/env python3
"""Past one machine: consumers of Redis Streams share the load, keep the order of each key, and lose
nothing when one of them dies.

    redis_streams.py PORT NAME      (until it is terminated: kill, Ctrl-C; needs redis from PyPI)

What to look at: the messages with the same key go through that key's queue, so that they are
handled one after another, and those with other keys at the same time.  A message is acknowledged
when its operation's token is finished, not before: what a dead consumer has not finished is handled
again by another.  redis_partitions.py explains how consumers share the streams.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

import redis
from redis_partitions import GROUP, Message, Partitions


@contextlib.contextmanager
def no_errors() -> Iterator[None]:
    """An error ends the program, whatever its threads are doing: another consumer handles what is
    not acknowledged."""
    try:
        yield
    except Exception as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)


class Consumer:
    """One of several."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.partitions = Partitions(port, name)
        self.keys: dict[str, inturn.FIFOQueue] = {}
        # Everything below is only used by the work of this queue.
        self.redis = inturn.FIFOQueue("redis")
        self.client = redis.Redis(port=port)
        self.acknowledged = 0

    def run(self, terminated: threading.Event) -> None:
        while not terminated.is_set():
            for message in self.partitions.read():
                self.receive(message)
        for queue in self.keys.values():
            queue.drain()
        self.redis.drain()
        self.partitions.leave()
        print(f"{self.acknowledged} messages acknowledged, of {len(self.keys)} keys")

    def receive(self, message: Message) -> None:
        if message.key not in self.keys:
            self.keys[message.key] = inturn.FIFOQueue(message.key)
        self.keys[message.key].options(on_end=functools.partial(self.on_end, message)).enqueue(
            functools.partial(self.handle, message)
        )

    def handle(self, message: Message, token: inturn.Token) -> None:
        """The work: it takes a while, and is over when the list has the line."""
        timer = threading.Timer(message.seconds, self.redis.post, (self.record, message, token))
        timer.start()

    def record(self, message: Message, token: inturn.Token) -> None:
        """What handling a message finally does: here, add a line to a list."""
        words = (message.partition.stream, message.id, message.key, message.number, self.name)
        with token:
            self.client.rpush("handled", "/".join(words))

    def on_end(self, message: Message, end: inturn.End) -> None:
        with no_errors():
            if end.outcome is not inturn.Outcome.FINISHED:
                raise RuntimeError(f"{message.id}: {end.outcome.name.lower()}: {end.exception}")
            self.redis.post(self.acknowledge, message)

    def acknowledge(self, message: Message) -> None:
        with no_errors():
            self.client.xack(message.partition.stream, GROUP, message.id)
        message.partition.count(-1)
        self.acknowledged += 1


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: redis_streams.py PORT NAME")
    terminated = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: terminated.set())
    with no_errors():
        Consumer(int(sys.argv[1]), sys.argv[2]).run(terminated)


if __name__ == "__main__":
    main()
