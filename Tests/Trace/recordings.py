"""Made-up records, and what the writer makes of them."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path
from typing import Any

(
    ENQUEUED,
    STARTED,
    RETURNED,
    ENDED,
    RELEASED,
    TURN,
    MOVED,
    SUSPENDED,
    RESUMED,
    LABEL,
    GONE,
) = range(1, 12)
FINISHED, FAILED, CANCELLED = 1, 2, 3
TEXT = 128

Words = tuple[int, int, int, int]


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def text(value: str, size: int) -> bytes:
    return value.encode()[: size - 1].ljust(size, b"\0")


class Thread:
    """One block of a thread's records."""

    def __init__(self, number: int, name: str, sequence: int) -> None:
        self.number, self.name, self.sequence = number, name, sequence
        self.records: list[bytes] = []

    def note(
        self,
        time: int,
        kind: int,
        lane: int = 0,
        operation: int = 0,
        other: int = 0,
        *,
        site: int = 0,
        outcome: int = 0,
        label: str | None = None,
    ) -> None:
        self.records.append(
            words(time, lane | kind << 56, operation | outcome << 56, other | site << 48)
        )
        if label is not None:
            self.records.append(text(label, 32))


class Recording:
    """A tick is a nanosecond, unless the clocks are changed."""

    def __init__(self) -> None:
        self.clocks = (0, 1_000_000, 0, 1_000_000)
        self.since = self.complete = self.lost = 0
        self.queues: dict[int, str] = {}
        self.executors: dict[int, str] = {}
        self.sites: dict[int, tuple[int, str, str]] = {}
        self.threads: list[Thread] = []

    def thread(self, number: int, name: str = "worker") -> Thread:
        self.threads.append(Thread(number, name, len(self.threads)))
        return self.threads[-1]

    def packed(self) -> bytes:
        parts = [words(*self.clocks, self.since, self.complete, self.lost)]
        for names in (self.queues, self.executors):
            parts.append(words(len(names)))
            parts += [words(key) + text(name, TEXT) for key, name in names.items()]
        parts.append(words(len(self.sites)))
        for number, (line, file, function) in self.sites.items():
            parts.append(words(number, line) + text(file, TEXT) + text(function, TEXT))
        parts.append(words(len(self.threads)))
        for thread in self.threads:
            parts.append(words(thread.sequence, thread.number) + text(thread.name, 16))
            parts += [words(len(thread.records)), *thread.records]
        return b"".join(parts)


class Writer:
    """The program made of records.c."""

    def __init__(self, program: Path, out: Path) -> None:
        self.program, self.out = program, out

    def status(self, recording: Recording, *arguments: str, output: str = "/dev/null") -> int:
        with Path(output).open("wb") as file:
            run = subprocess.run(
                [self.program, *arguments], input=recording.packed(), stdout=file, check=False
            )
        return run.returncode

    def write(self, recording: Recording, name: str) -> Path:
        path = self.out / f"{name}.json"
        assert self.status(recording, output=str(path)) == 0
        return path

    def events(self, recording: Recording, name: str = "trace") -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = json.loads(self.write(recording, name).read_bytes())[
            "traceEvents"
        ]
        return events


def arrows(events: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """The kind of each arrow, and from when to when it goes; each has both ends."""
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = [event for event in events if event["ph"] == "f"]
    assert len(starts) == len(ends) == sum(event["ph"] == "s" for event in events)
    assert all(end["bp"] == "e" for end in ends)
    slices = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    for event in [*starts.values(), *ends]:
        assert (event["pid"], event["tid"], event["ts"]) in slices, event
    return sorted((end["name"], starts[end["id"]]["ts"], end["ts"]) for end in ends)


def tracks(events: list[dict[str, Any]]) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}


def operations(events: list[dict[str, Any]]) -> list[tuple[str, str, float, float, str]]:
    """Of each slice on a queue's track: track, name, start, length, outcome."""
    names = tracks(events)
    return [
        (names[e["tid"]], e["name"], e["ts"], e["dur"], e["args"]["outcome"])
        for e in sorted(events, key=lambda e: e.get("ts", 0))
        if e["ph"] == "X" and "outcome" in e["args"]
    ]
