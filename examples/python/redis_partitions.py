"""The streams of redis_streams.py, shared with other consumers.

Messages are distributed over several streams, the partitions, by their key.  A partition belongs to
one consumer at a time: the one that holds its lease, see ../redis_streams.lua.  All consumers have
the same name in the streams' group, so whoever takes over a partition first reads what the previous
one has read but not acknowledged.  So each key's messages come in order, whoever reads them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import redis

GROUP, MEMBERS = "workers", "consumers"
PARTITIONS, AT_ONCE = 6, 32
# How long the others have to wait for a dead consumer's partitions.
LEASE_MILLISECONDS = 3_000


class LostLease(Exception):
    """Another consumer may have read the partition already: going on would do harm."""


class Partition:
    """One of the streams."""

    def __init__(self, number: int) -> None:
        self.stream = f"orders:{number}"
        self.lease = f"lease:{number}"
        self.is_read = False  # false if it is not held, or has to be given back
        self.next = ">"  # the id to read after; ">" for what nobody has read
        self._lock = threading.Lock()  # protects the rest
        self._in_flight = 0  # read but not acknowledged

    @property
    def in_flight(self) -> int:
        with self._lock:
            return self._in_flight

    def count(self, change: int) -> None:
        with self._lock:
            self._in_flight += change


@dataclass(frozen=True)
class Message:
    partition: Partition
    id: str
    key: str
    number: str
    seconds: float  # how long handling takes


class Partitions:
    """Used by one thread."""

    def __init__(self, port: int, name: str) -> None:
        self._name = name
        self._client = redis.Redis(port=port, decode_responses=True)
        self._all = [Partition(number) for number in range(PARTITIONS)]
        self._leases = [MEMBERS, *(each.lease for each in self._all)]

    def read(self) -> Iterator[Message]:
        """Renews the leases, takes or gives back partitions, and reads what there is, or waits a
        moment."""
        self._hold()
        chosen = [each for each in self._all if each.is_read and each.in_flight < AT_ONCE]
        keys = [each.lease for each in chosen] + [each.stream for each in chosen]
        streams = self._call("inturn_read", keys, GROUP, *(each.next for each in chosen))
        if not streams:
            time.sleep(0.01)
        by_name = {each.stream: each for each in chosen}
        for name, entries in streams:
            partition = by_name[name]
            if not entries:
                partition.next = ">"
            elif partition.next != ">":
                partition.next = entries[-1][0]
            for identity, words in entries:
                partition.count(+1)
                fields = dict(zip(words[::2], words[1::2]))
                seconds = int(fields["milliseconds"]) / 1_000
                yield Message(partition, identity, fields["key"], fields["number"], seconds)

    def leave(self) -> None:
        """Gives the leases back.  Everything must be acknowledged."""
        self._call("inturn_leave", self._leases)

    def _hold(self) -> None:
        idle = [number for number, each in enumerate(self._all) if each.in_flight == 0]
        share, kept, taken = self._call("inturn_hold", self._leases, LEASE_MILLISECONDS, *idle)
        for number, partition in enumerate(self._all):
            if number not in idle and number not in kept:
                raise LostLease(f"{self._name} has lost a lease")
            if number in taken:
                partition.next = "0"  # first what the previous holder left
            partition.is_read = number in taken or number in kept[:share]

    def _call(self, function: str, keys: list[str], *arguments: object) -> Any:
        words: Any = (*keys, self._name, *arguments)
        return self._client.fcall(function, len(keys), *words)
