"""Everything that exists can be listed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import inturn
from support import LIMIT, finish

Kind = inturn.EntryKind


@contextmanager
def scene() -> Iterator[tuple[inturn.FIFOQueue, inturn.Operation]]:
    """A queue with a running operation and another one that comes after it."""
    with inturn.FIFOQueue('<net> "work"') as queue:
        tokens: list[inturn.Token] = []
        queue.options(label="login").enqueue(tokens.append)
        load = queue.options(label="load").enqueue(finish)
        save = queue.options(label="s\u00e4ve", after=[load]).enqueue(finish)
        while "token" not in str(inturn.why(save)):
            pass
        yield queue, save
        tokens.pop().finish()
        save.wait(LIMIT)


def test_a_snapshot_has_each_queue_with_its_operations() -> None:
    with scene():
        entries = inturn.snapshot()
        place = next(i for i, entry in enumerate(entries) if entry.label == '<net> "work"')
        queue, login, load, save, after = entries[place : place + 5]
        assert (queue.kind, queue.pending, queue.running) == (Kind.QUEUE, 2, 1)
        assert queue.cause is inturn.StallCause.TURN
        assert (login.label, login.state) == ("login", inturn.State.RUNNING)
        assert (load.label, load.state, load.queue) == ("load", inturn.State.PENDING, queue.id)
        assert (save.label, save.cause) == ("s\u00e4ve", inturn.StallCause.AFTER)
        assert (after.kind, after.operation, after.other) == (Kind.AFTER, save.id, load.id)
        assert str(load).startswith("operation state=pending cause=turn line=")
        assert load.file == __file__
        assert str(load).endswith("label='load'")
        assert any(
            entry.kind is Kind.EXECUTOR and inturn.EntryFlag.POOL in entry.flags
            for entry in entries
        )


def test_a_dump_is_returned_or_written(tmp_path: Path) -> None:
    with scene():
        text = inturn.dump()
        assert ' "<net> \\"work\\"" fifo turn id=0x' in text
        assert " pending=2 running=1 executor=0x" in text
        for path in (tmp_path / "dump.txt", os.fsencode(tmp_path / "dump of bytes.txt")):
            inturn.dump(path)
            assert '"s\u00e4ve" pending after id=' in Path(os.fsdecode(path)).read_text()
        with tempfile.TemporaryFile("w+") as file:
            file.write("first\n")
            inturn.dump(file)
            file.seek(0)
            assert file.read().startswith("first\nclock")
        with pytest.raises(inturn.InvalidArgumentError):
            inturn.dump(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(ValueError, match="format of 'inturn' must be one of text, json"):
            inturn.dump(format="xml")
        with pytest.raises(ValueError, match="not a file: dump\\(format='html'\\)"):
            inturn.dump("html")


def test_a_dump_in_json_has_the_fields_of_the_entries() -> None:
    with scene() as (_, save):
        told = json.loads(inturn.dump(format="json"))
        by_label = {entry.get("label"): entry for entry in told["entries"]}
        entry = by_label["s\u00e4ve"]
        assert entry["state"] == "pending"
        assert entry["cause"] == "after"
        assert entry["file"] == __file__
        assert entry["line"] > 0
        assert int(entry["id"], 16) == save._handle
        assert by_label['<net> "work"']["queue_kind"] == "fifo"
        assert told["now_ns"] > entry["enqueued_ns"] > 0


@pytest.mark.skipif(shutil.which("dot") is None, reason="there is no Graphviz")
def test_a_dump_in_dot_is_a_graph() -> None:
    with scene():
        graph = inturn.dump(format="dot")
        drawn = subprocess.run(
            ["dot", "-Tplain"], input=graph, capture_output=True, text=True, check=True
        )
    assert drawn.stderr == ""
    assert " login " in drawn.stdout


def test_a_dump_in_html_has_what_it_shows() -> None:
    with scene():
        page = inturn.dump(format="html")
        _, _, data = page.partition('<script type="application/json" id="data">')
        assert json.loads(data[: data.index("</script>")])["entries"]


def test_a_trace_has_what_was_recorded_between_its_start_and_its_stop(tmp_path: Path) -> None:
    inturn.stop_trace()
    with inturn.FIFOQueue(label="uploads") as queue:
        queue.submit(int).result()
        inturn.start_trace(1 << 20)
        inturn.start_trace()
        queue.options(label="photo").enqueue(finish)
        queue.drain()
        tokens: list[inturn.Token] = []
        held = queue.enqueue(tokens.append)
        steps = getattr(inturn.why(held), "steps", None) or ""
        assert 'before: enqueued "photo" (' in steps
        assert 'before: finished "photo" (' in steps
        assert steps.count(', queue "uploads", thread ') == steps.count("\n") >= 4
        while not tokens:
            pass
        tokens.pop().finish()
        queue.drain()
        inturn.stop_trace()
        queue.submit(int).result()
    path = tmp_path / "trace.json"
    inturn.write_trace(path)
    with path.with_suffix(".again").open("wb") as again:
        inturn.write_trace(again)
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["name"] for event in events if event["ph"] == "X"]
    assert names.count("enqueue uploads") == 2
    assert "finish photo" in names
    assert any(event.get("args", {}).get("outcome") == "finished" for event in events)
    again_events = json.loads(path.with_suffix(".again").read_text())["traceEvents"]
    assert [event["name"] for event in again_events] == [event["name"] for event in events]


@pytest.mark.parametrize("size", [-1, 2**40 + 1, 2**70])
def test_a_trace_is_not_of_any_size(size: int) -> None:
    with pytest.raises(ValueError, match=r"size of 'inturn' must be 0 to 2\*\*40 bytes, not"):
        inturn.start_trace(size)


def test_a_trace_that_cannot_be_written_says_so() -> None:
    with pytest.raises(TypeError):
        inturn.start_trace("1 MB")  # type: ignore[arg-type]
    with pytest.raises(inturn.InvalidArgumentError, match="inturn_trace_write"):
        inturn.write_trace(10**6)
