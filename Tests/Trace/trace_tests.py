"""Tests of the writer of traces, and of what Perfetto makes of what it writes.

    trace_tests.py --out DIR

DIR has the program of records.c, and gets the traces. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import errno
import json
import random
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path

from recordings import (
    CANCELLED,
    ENDED,
    ENQUEUED,
    FINISHED,
    GONE,
    LABEL,
    MOVED,
    RELEASED,
    RESUMED,
    RETURNED,
    STARTED,
    SUSPENDED,
    TURN,
    Recording,
    Writer,
    arrows,
    operations,
    tracks,
)
from traces import Trace

UPLOADS, SAVES, OLD = 0x1000, 0x2000, 0x3000
POOL, LOOP = 0x40000001, 0x80000001
A, B, C, D = (index << 30 | 1 for index in range(1, 5))


def recording() -> Recording:
    made = Recording()
    made.queues = {UPLOADS: 'up"loads\\ é', SAVES: "saves"}
    made.executors = {POOL: "worker pool", LOOP: "main loop"}
    made.sites = {1: (41, "src/upload.c", "upload"), 2: (7, "src/save.c", "")}
    return made


def everything() -> Recording:
    """Two operations of a full queue, one of another executor's that waits for the first."""
    made = recording()
    main, worker = made.thread(100, "main"), made.thread(101, "inturn-worker")
    main.note(1000, ENQUEUED, UPLOADS, 0, 5, site=1)
    main.note(2000, ENQUEUED, UPLOADS, B, site=1)
    main.note(2001, LABEL, UPLOADS, B, label="größe \x01 is cut here: 12345678")
    main.note(3000, ENQUEUED, SAVES, C, site=2)
    worker.note(4000, TURN, UPLOADS, 1, POOL)
    worker.note(5000, STARTED, UPLOADS, A, 5)
    worker.note(8000, RETURNED, UPLOADS, A)
    main.note(10000, ENDED, 0, A, outcome=FINISHED)
    main.note(10500, RELEASED, SAVES, C, A)
    worker.note(11000, STARTED, UPLOADS, B)
    main.note(12000, TURN, SAVES, 1, LOOP)
    main.note(13000, STARTED, SAVES, C)
    main.note(14000, ENDED, 0, C, outcome=CANCELLED)
    main.note(15000, RETURNED, SAVES, C)
    return made


def test_slices_and_arrows_tell_an_operations_life(writer: Writer) -> None:
    events = writer.events(everything(), "everything")
    queue, label = 'up"loads\\ é', "größe \x01 is cut here: 12345678"
    assert operations(events) == [
        (queue, "upload", 5.0, 5.0, "finished"),
        (queue, label, 11.0, 989.0, "unfinished"),
        ("saves", "save.c:7", 13.0, 1.0, "cancelled"),
    ]
    assert arrows(events) == [
        ("ended", 5.0, 10.0),
        ("ended", 13.0, 14.0),
        ("enqueued", 1.0, 5.0),
        ("enqueued", 2.0, 11.0),
        ("enqueued", 3.0, 13.0),
        ("next", 10.0, 11.0),
        ("released", 10.0, 13.0),
    ]
    first = next(e for e in events if e["name"] == "upload" and "outcome" in e["args"])
    assert first["args"]["waited_us"] == 4.0
    assert first["args"]["at"] == "src/upload.c:41"
    assert first["args"]["thread"] == "inturn-worker 101"
    assert first["args"]["id"] == hex(A)


def test_perfetto_reads_what_is_written(writer: Writer) -> None:
    with Trace(writer.write(everything(), "everything")) as trace:
        trace.check()
        # It shows a control character as it is written.
        label = "größe \\u0001 is cut here: 12345678"
        queue = 'up"loads\\ é'
        found = {(s.process, s.thread, s.name, s.ts, s.dur) for s in trace.slices()}
        assert found == {
            ("main loop", "main", f"enqueue {queue}", 1000, 0),
            ("main loop", "main", f"enqueue {queue}", 2000, 0),
            ("main loop", "main", "enqueue saves", 3000, 0),
            ("main loop", "main", "finish upload", 10000, 0),
            ("main loop", "main", "save.c:7", 13000, 2000),
            ("main loop", "main", "cancel save.c:7", 14000, 0),
            ("queues", queue, "upload", 5000, 5000),
            ("queues", queue, label, 11000, 989000),
            ("queues", "saves", "save.c:7", 13000, 1000),
            ("worker pool", "inturn-worker", "upload", 5000, 3000),
            ("worker pool", "inturn-worker", label, 11000, 989000),
        }
        assert {s.tid for s in trace.slices() if s.process != "queues"} == {100, 101}
        assert Counter((a.ts, b.ts) for a, b in trace.arrows()) == Counter(
            [
                (1000, 5000),
                (2000, 11000),
                (3000, 13000),
                (5000, 10000),
                (13000, 14000),
                (10000, 11000),
                (10000, 13000),
            ]
        )


def test_operations_that_overlap_have_tracks_of_their_own(writer: Writer) -> None:
    made = recording()
    worker = made.thread(100)
    for time, kind, operation in [
        (1000, STARTED, A),
        (2000, STARTED, B),
        (3000, ENDED, A),
        (4000, STARTED, C),
        (5000, ENDED, C),
        (6000, ENDED, B),
        (7000, STARTED, D),
        (8000, ENDED, D),
    ]:
        lane = SAVES if kind == STARTED else 0
        worker.note(time, kind, lane, operation, outcome=FINISHED if kind == ENDED else 0)
    events = writer.events(made, "overlapping")
    assert [(each[0], each[2]) for each in operations(events)] == [
        ("saves", 1.0),
        ("saves 2", 2.0),
        ("saves", 4.0),
        ("saves", 7.0),
    ]
    with Trace(writer.out / "overlapping.json") as trace:
        trace.check()


def test_a_place_is_known_until_it_is_moved(writer: Writer) -> None:
    made = recording()
    worker = made.thread(100)
    worker.note(1000, ENQUEUED, UPLOADS, 0, 7)
    worker.note(2000, MOVED, UPLOADS)
    worker.note(3000, STARTED, UPLOADS, A, 7)
    worker.note(4000, ENQUEUED, UPLOADS, 0, 7)
    worker.note(4500, ENQUEUED, SAVES, 0, 7)
    worker.note(5000, STARTED, UPLOADS, B, 7)
    worker.note(6000, STARTED, UPLOADS, C, 7)
    assert arrows(writer.events(made)) == [("enqueued", 4.0, 5.0)]


def test_no_arrow_from_an_end_that_let_nothing_start(writer: Writer) -> None:
    def with_middle(*middle: tuple[int, int, int], limit: int = 1) -> list[str]:
        made = recording()
        worker = made.thread(100)
        worker.note(500, TURN, SAVES, limit, POOL)
        worker.note(1000, STARTED, SAVES, A)
        worker.note(1500, ENQUEUED, SAVES, B)
        worker.note(2000, ENDED, 0, A, outcome=FINISHED)
        for time, kind, operation in middle:
            worker.note(time, kind, SAVES, operation, D if kind == RELEASED else 0)
        worker.note(3000, STARTED, SAVES, B)
        return [kind for kind, _, _ in arrows(writer.events(made))]

    assert "next" in with_middle()
    assert "next" not in with_middle(limit=0)
    assert "next" not in with_middle(limit=2)
    assert "next" not in with_middle((2500, RELEASED, B))
    assert "next" not in with_middle((2500, SUSPENDED, 0), (2600, RESUMED, 0))
    assert "next" not in with_middle((2500, ENQUEUED, B))


def test_what_is_lost_is_not_made_up(writer: Writer) -> None:
    made = recording()
    made.complete, made.lost = 5000, 3
    worker = made.thread(100)
    worker.note(1000, ENQUEUED, SAVES, 0, 7)
    worker.note(2000, STARTED, SAVES, A, 7)
    worker.note(3000, RETURNED, SAVES, D)
    worker.note(6000, ENDED, 0, B, outcome=FINISHED)
    worker.note(7000, STARTED, SAVES, C)
    events = writer.events(made, "lost")
    assert operations(events) == [
        ("saves", "operation", 2.0, 0.0, "not recorded"),
        ("saves", "operation", 7.0, 993.0, "unfinished"),
    ]
    assert arrows(events) == []
    about = json.loads((writer.out / "lost.json").read_bytes())["otherData"]
    assert about == {"producer": "Inturn", "lost": 3, "complete_from_us": 5.0}
    with Trace(writer.out / "lost.json") as trace:
        trace.check()


def test_what_is_older_than_since_is_not_told(writer: Writer) -> None:
    made = everything()
    made.since = 12000
    events = writer.events(made)
    assert min(event["ts"] for event in events if "ts" in event) == 13.0


def test_names_of_what_is_gone_or_cut(writer: Writer) -> None:
    made = recording()
    worker = made.thread(100)
    worker.note(1000, STARTED, OLD, A)
    worker.note(1001, LABEL, OLD, A, label="x" * 30 + "é")
    worker.note(2000, ENDED, 0, A, outcome=FINISHED)
    worker.note(3000, GONE, OLD, label="old")
    worker.note(4000, STARTED, OLD + 1, B)
    found = [(each[0], each[1]) for each in operations(writer.events(made))]
    assert found == [("old", "x" * 30 + "\ufffd"), ("queue 2", "operation")]


def test_calls_end_at_the_next_start_and_nest(writer: Writer) -> None:
    made = recording()
    worker = made.thread(100)
    worker.note(500, TURN, SAVES, 0, POOL)
    worker.note(1000, STARTED, SAVES, A)
    worker.note(2000, STARTED, SAVES, B)
    worker.note(3000, TURN, UPLOADS, 0, LOOP)
    worker.note(3500, STARTED, UPLOADS, C)
    worker.note(4000, RETURNED, UPLOADS, C)
    worker.note(4500, ENQUEUED, SAVES, D)
    worker.note(5000, RETURNED, SAVES, B)
    path = writer.write(made, "calls")
    with Trace(path) as trace:
        trace.check()
        calls = [(s.process, s.name, s.ts, s.dur) for s in trace.slices() if s.process != "queues"]
    assert calls == [
        ("worker pool", "operation", 1000, 1000),
        ("worker pool", "operation", 2000, 3000),
        ("main loop", "operation", 3500, 500),
        ("worker pool", "enqueue saves", 4500, 0),
    ]


def test_a_call_in_a_turn_within_a_call_is_within_it(writer: Writer) -> None:
    made = recording()
    thread = made.thread(100)
    thread.note(500, TURN, SAVES, 0, LOOP)
    thread.note(1000, STARTED, SAVES, A)
    thread.note(1500, TURN, SAVES, 0, LOOP)
    thread.note(2000, STARTED, SAVES, B)
    thread.note(3000, RETURNED, SAVES, B)
    thread.note(4000, RETURNED, SAVES, A)
    calls = [
        (event["args"]["id"], event["ts"], event["dur"])
        for event in writer.events(made)
        if "queue" in event.get("args", {})
    ]
    assert calls == [(hex(B), 2.0, 1.0), (hex(A), 1.0, 3.0)]


def test_a_suspended_queue_says_so(writer: Writer) -> None:
    made = recording()
    thread = made.thread(100)
    thread.note(1000, SUSPENDED, SAVES, site=1)
    thread.note(2000, RESUMED, SAVES)
    thread.note(3000, STARTED, SAVES, A)
    events = writer.events(made)
    instants = [(e["name"], e["ts"]) for e in events if e["ph"] == "i"]
    assert instants == [("suspended", 1.0), ("resumed", 2.0)]
    assert operations(events)[0][0] == "saves"


def test_records_are_in_the_order_of_time(writer: Writer) -> None:
    """Blocks in any order; no two at one time; an enqueue before a start."""
    made = recording()
    later, starter, earlier = made.thread(100), made.thread(101), made.thread(100, "early")
    later.sequence, earlier.sequence = 9, 1
    earlier.note(1000, ENQUEUED, SAVES, A)
    later.note(1000, ENQUEUED, SAVES, B)
    starter.note(1000, STARTED, SAVES, A)
    starter.note(1000, STARTED, SAVES, B)
    events = writer.events(made)
    assert len(arrows(events)) == 2
    times = [e["ts"] for e in events if e["ph"] == "X" and e["dur"] == 0]
    assert len(set(times)) == len(times) == 2
    assert "worker" in tracks(events).values()


def test_ticks_are_converted_exactly(writer: Writer) -> None:
    made = recording()
    first, last = 1 << 50, (1 << 50) + 3_000_000_000_001
    made.clocks = (first, last, 10**15, 10**15 + 10**12)
    worker = made.thread(100)
    times = [first, first + 1_234_567_890_123, last - 1]
    for time in times:
        worker.note(time, ENQUEUED, SAVES, A)
    events = writer.write(made, "clocks").read_text()
    for time in times:
        ns = 10**15 + (time - first) * 10**12 // (last - first)
        assert f'"ts":{ns // 1000}.{ns % 1000:03}' in events
    with Trace(writer.out / "clocks.json") as trace:
        assert [s.ts for s in trace.slices()] == [
            10**15 + (time - first) * 10**12 // (last - first) for time in times
        ]


def test_an_empty_trace_is_one(writer: Writer) -> None:
    assert writer.events(Recording(), "empty") == []


def test_failures_are_told(writer: Writer) -> None:
    assert writer.status(everything(), output="/dev/full") == errno.ENOSPC
    results = [writer.status(everything(), str(number)) for number in range(6)]
    assert results == [errno.ENOMEM] * 4 + [0, 0]


def test_any_part_of_a_trace_is_a_trace(writer: Writer) -> None:
    """As of a ring that has lost its oldest records: every end of every thread's."""
    whole = everything()
    for number, thread in enumerate(whole.threads):
        for lost in range(len(thread.records)):
            part = everything()
            # Not between a label and its text.
            if len(thread.records[lost]) == 32 and number == 0 and lost == 3:
                continue
            part.threads[number].records = thread.records[lost:]
            part.complete = 5000
            events = writer.events(part, "part")
            arrows(events)
    with Trace(writer.out / "part.json") as trace:
        trace.check()


def test_any_records_make_a_trace(writer: Writer) -> None:
    """Whatever is in them, it is well formed, and each arrow is between slices."""
    for seed in range(40):
        dice = random.Random(seed)
        made = recording()
        made.complete = dice.choice([0, 20_000])
        threads = [made.thread(number) for number in (1, 2, 100)]
        for time in range(1000, 60_000, 100):
            kind = dice.choice([*range(1, 12), STARTED, ENDED, ENQUEUED, RETURNED])
            lane = dice.choice([UPLOADS, SAVES, OLD])
            operation = dice.choice([A, B, C, D, *([0] * (kind == ENQUEUED))])
            other = dice.choice([A, B]) if kind == RELEASED else dice.randrange(4)
            if kind == TURN:
                other, operation = dice.choice([0, POOL, LOOP]), dice.randrange(3)
            outcome = dice.randrange(8) if kind == ENDED else 0
            label = dice.choice(["", "label"]) if kind in (LABEL, GONE) else None
            dice.choice(threads).note(
                time - dice.randrange(300),
                kind,
                lane,
                operation,
                other,
                outcome=outcome,
                label=label,
            )
        arrows(writer.events(made, "any"))
        if seed % 10 == 0:
            with Trace(writer.out / "any.json") as trace:
                trace.check()


def test_perfetto_reads_what_the_library_records(writer: Writer) -> None:
    path = writer.out / "recorded.json"
    subprocess.run([writer.out / "recorded", path], check=True)
    with Trace(path) as trace:
        trace.check()
        slices = list(trace.slices())
        # Operations of a FIFO queue have one track, as they never overlap.
        assert not {"database 2", "network 2"} & {s.thread for s in slices}
        told = Counter((s.process, s.thread.removesuffix(" 2"), s.name) for s in slices)
        assert told["queues", "database", "main"] == 100
        assert told["queues", "network", "save"] == 100
        assert told["queues", "uploads", "photo"] == 50
        assert told["queues", "uploads", "thumbnail"] == 50
        assert told["worker pool", "inturn-worker", "thumbnail"] == 50
        assert sum(s.name.startswith("enqueue ") for s in slices) == 300
        assert sum(s.name.startswith("finish ") for s in slices) == 300
    names = Counter(e["name"] for e in json.loads(path.read_text())["traceEvents"])
    # Two ends of each arrow.
    assert names["enqueued"] == names["ended"] == 600
    assert names["next"] > 0
    assert 0 < names["released"] <= 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    writer = Writer(out / "records", out)
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            test(writer)
            passed += 1
            print(f"{name}: passed", flush=True)
        except Exception:
            failed += 1
            print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
