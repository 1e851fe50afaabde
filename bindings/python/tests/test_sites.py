"""The lines that reports name: for each way to enqueue, and for suspends."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Callable

import pytest

import inturn
from inturn import FIFOQueue, Report, ReportKind, StallCause, Token
from inturn._library import NOTHING
from support import LIMIT

HERE = Path(__file__).read_text("utf-8").splitlines()


class Reports:
    """The reports of stalls and of lost tokens."""

    def __init__(self) -> None:
        self.is_told = threading.Event()
        self.told: list[Report] = []

    def tell(self, report: Report) -> None:
        # On a busy machine, a thread may come to its executor later than the limit.
        if any(link.cause is StallCause.EXECUTOR for link in report.chain):
            return
        if report.kind in (ReportKind.STALL, ReportKind.LOST_TOKEN):
            self.told.append(report)
            self.is_told.set()

    def line(self) -> str:
        """The text of the line that the next report names."""
        assert self.is_told.wait(LIMIT)
        report = self.told.pop(0)
        self.is_told.clear()
        assert report.file == __file__
        assert report.function == "way_in"
        # For a lost token there is also a warning, with a message of its own.
        assert report.kind is ReportKind.LOST_TOKEN or f"{report.file}:{report.line}" in (
            report.message
        )
        return HERE[report.line - 1].strip()


@pytest.fixture
def reports() -> Iterator[Reports]:
    reports = Reports()
    inturn.set_report_handler(reports.tell)
    inturn.set_stall_limit(0.05)
    yield reports
    inturn.set_stall_limit(0)
    inturn.set_report_handler(None)


@contextmanager
def blocked(
    reports: Reports, way_in: Callable[[FIFOQueue, Callable[[], object]], object]
) -> Iterator[str]:
    """Blocks a queue with work that other work waits for; yields the line that is named."""
    go_on = threading.Event()
    with FIFOQueue("blocked") as queue:
        kept = way_in(queue, lambda: go_on.wait(LIMIT))
        queue.post(str)
        try:
            yield reports.line()
        finally:
            go_on.set()
        del kept


def test_the_line_of_a_post_is_named(reports: Reports) -> None:
    def way_in(queue: FIFOQueue, wait: Callable[[], object]) -> None:
        queue.post(wait)

    with blocked(reports, way_in) as line:
        assert line == "queue.post(wait)"


def test_the_line_of_a_submit_is_named(reports: Reports) -> None:
    def way_in(queue: FIFOQueue, wait: Callable[[], object]) -> object:
        return queue.submit(wait)

    with blocked(reports, way_in) as line:
        assert line == "return queue.submit(wait)"


def test_the_line_of_a_submit_with_options_is_named(reports: Reports) -> None:
    def way_in(queue: FIFOQueue, wait: Callable[[], object]) -> object:
        return queue.options(label="labelled").submit(wait)

    with blocked(reports, way_in) as line:
        assert line == 'return queue.options(label="labelled").submit(wait)'


def test_the_line_of_a_map_is_named(reports: Reports) -> None:
    def way_in(queue: FIFOQueue, wait: Callable[[], object]) -> object:
        return queue.map(lambda _: wait(), range(2))

    with blocked(reports, way_in) as line:
        assert line == "return queue.map(lambda _: wait(), range(2))"


def test_the_line_of_a_batch_is_named(reports: Reports) -> None:
    def way_in(queue: FIFOQueue, wait: Callable[[], object]) -> object:
        def work(token: Token) -> None:
            wait()
            token.finish()

        return queue.batch([work])

    with blocked(reports, way_in) as line:
        assert line == "return queue.batch([work])"


@pytest.mark.filterwarnings("ignore")
def test_the_line_of_a_lost_token_is_named(reports: Reports) -> None:
    def way_in(queue: FIFOQueue) -> None:
        queue.enqueue(lambda token: None)

    with FIFOQueue() as queue:
        way_in(queue)
        assert reports.line() == "queue.enqueue(lambda token: None)"


@pytest.mark.parametrize("reason", [None, "offline"])
def test_the_line_of_a_suspend_is_named(reports: Reports, reason: str | None) -> None:
    def way_in(queue: FIFOQueue) -> None:
        queue.suspend(reason)

    with FIFOQueue("stopped") as queue:
        way_in(queue)
        future = queue.submit(str)
        threading.Thread(target=future.result, args=(LIMIT,)).start()
        assert reports.line() == "queue.suspend(reason)"
        queue.resume(reason)


def test_the_line_of_a_coroutine_is_named(reports: Reports) -> None:
    async def way_in(queue: FIFOQueue, is_block: bool) -> None:
        go_on = asyncio.Event()

        async def named() -> str:
            line = await asyncio.get_running_loop().run_in_executor(None, reports.line)
            go_on.set()
            return line

        naming = asyncio.create_task(named())
        if is_block:
            async with queue:
                waiting = queue.run(asyncio.sleep, 0)
                await go_on.wait()
        else:
            running = queue.run(go_on.wait)
            waiting = queue.run(asyncio.sleep, 0)
            await running
        await waiting
        wanted = "async with queue:" if is_block else "running = queue.run(go_on.wait)"
        assert await naming == wanted

    for is_block in (False, True):
        with FIFOQueue("loop's") as queue:
            asyncio.run(way_in(queue, is_block))


def test_a_line_is_kept_once_and_its_code_is_not() -> None:
    from inturn import _sites

    def run_once() -> weakref.ref[CodeType]:
        code = compile("queue.post(str)", "made.py", "exec")
        exec(code, {"queue": queue})
        return weakref.ref(code)

    with FIFOQueue() as queue:
        run_once()
        before = len(_sites._sites)
        codes = [run_once() for _ in range(100)]
        assert len(_sites._sites) == before
        gc.collect()
        # The queue remembers its last callers.
        assert [code() is None for code in codes] == [True] * 99 + [False]


def test_what_takes_the_place_of_dropped_code_has_a_line_of_its_own() -> None:
    from inturn import _sites

    def sites_of(code: CodeType) -> list[_sites.Site]:
        _sites._recent.clear()
        sites: list[_sites.Site] = []
        names = {"site_of": _sites.site_of, "frame": sys._getframe, "sites": sites}
        exec(code, names)
        # As if there had been other code at these addresses.
        for instruction in _sites._recent:
            _sites._recent[instruction] = weakref.ref(sites_of.__code__), NOTHING
        exec(code, names)
        return sites

    first, second = sites_of(compile("sites.append(site_of(frame()))", "placed.py", "exec"))
    assert first is second is not NOTHING


def test_the_lines_of_more_calls_than_are_remembered_are_right() -> None:
    from inturn import _sites

    source = "\n".join("sites.append(site_of(frame()))" for _ in range(_sites._MOST_RECENT + 10))
    sites: list[_sites.Site] = []
    code = compile(source, "long.py", "exec")
    for _ in range(2):
        sites.clear()
        exec(code, {"site_of": _sites.site_of, "frame": sys._getframe, "sites": sites})
        assert len(_sites._recent) <= _sites._MOST_RECENT
        lines = [site[1]._obj.line for site in sites]
        assert lines == list(range(1, len(sites) + 1))
