"""A stall that a task awaits is reported as early as one that a thread waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, Callable

import pytest

import inturn
from inturn import FIFOQueue, Queue, Report, Retry
from support import LIMIT, finish

STALL = 0.1
# A stall that nobody waits for is reported after this many times as long.
PATIENCE = 10

kept: list[inturn.Token] = []


class Reports:
    """The first report for each queue."""

    def __init__(self) -> None:
        self._told = threading.Condition()
        self._reports: dict[str, Report] = {}

    def tell(self, report: Report) -> None:
        with self._told:
            self._reports.setdefault(report.queue_label or "", report)
            self._told.notify_all()

    def seconds(self, queue: Queue) -> float:
        """How long the queue was stalled before the report."""
        label = queue.label or ""
        with self._told:
            assert self._told.wait_for(lambda: label in self._reports, LIMIT), label
            return self._reports[label].stalled_ns / 1e9


@pytest.fixture
def reports() -> Iterator[Reports]:
    reports = Reports()
    inturn.set_report_handler(reports.tell)
    inturn.set_stall_limit(STALL)
    yield reports
    inturn.set_stall_limit(0)
    inturn.set_report_handler(None)
    kept.clear()  # their queues have been destroyed


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def run(queue: Queue) -> None:
    await queue.run(forever)


async def run_with_options(queue: Queue) -> None:
    await queue.options(label="load", retry=Retry(2)).run(forever)


async def run_later(queue: Queue) -> None:
    queue.suspend()
    await queue.run(forever)


async def block(queue: Queue) -> None:
    async with queue:
        await forever()


async def operation(queue: Queue) -> None:
    await queue.enqueue(kept.append)


async def drained(queue: Queue) -> None:
    queue.enqueue(kept.append)
    await queue.drained()


async def batch(queue: Queue) -> None:
    await queue.batch([kept.append])


async def future(queue: Queue) -> None:
    queue.suspend()
    await asyncio.wrap_future(queue.submit(int))


async def in_a_group(queue: Queue) -> None:
    await asyncio.create_task(queue.run(forever))


WAYS = [run, run_with_options, run_later, block, operation, drained, batch, future, in_a_group]


def seconds_of(
    way: Callable[[Queue], Coroutine[Any, Any, None]], queue: Queue, reports: Reports
) -> float:
    async def main() -> float:
        task = asyncio.create_task(way(queue))
        try:
            return await asyncio.to_thread(reports.seconds, queue)
        finally:
            task.cancel()
            await asyncio.wait([task])

    try:
        return asyncio.run(main())
    finally:
        queue.destroy()


@pytest.mark.parametrize("way", WAYS)
def test_what_is_awaited_is_told_soon(
    way: Callable[[Queue], Coroutine[Any, Any, None]], reports: Reports
) -> None:
    assert STALL <= seconds_of(way, FIFOQueue(way.__name__), reports) < PATIENCE * STALL


def test_what_an_actor_awaits_is_told_soon(reports: Reports) -> None:
    assert seconds_of(run, inturn.ActorQueue("actor"), reports) < PATIENCE * STALL


def test_what_nobody_awaits_is_told_later(reports: Reports) -> None:
    tasks = []

    async def leave_alone(queue: Queue) -> None:
        tasks.append(queue.run(forever))

    assert seconds_of(leave_alone, FIFOQueue("alone"), reports) >= PATIENCE * STALL


def test_a_queue_is_awaited_until_it_is_drained(reports: Reports) -> None:
    async def drain_and_go_on(queue: Queue) -> None:
        inturn.set_stall_limit(None)  # on a busy machine, that may take longer than it may
        queue.enqueue(finish)
        await queue.drained()
        inturn.set_stall_limit(STALL)
        queue.enqueue(kept.append)

    assert seconds_of(drain_and_go_on, FIFOQueue("again"), reports) >= PATIENCE * STALL


def test_what_trio_awaits_is_told_soon(reports: Reports) -> None:
    trio = pytest.importorskip("trio")

    async def ask(way: str) -> float:
        queue = FIFOQueue(f"trio {way}")

        async def stay() -> None:
            if way == "block":
                async with queue:
                    await trio.sleep_forever()
            elif way == "run":
                await queue.run(trio.sleep_forever)
            else:
                await queue.enqueue(kept.append)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stay)
            seconds = await trio.to_thread.run_sync(reports.seconds, queue)
            nursery.cancel_scope.cancel()
        queue.destroy()
        return float(seconds)

    for way in ("block", "run", "operation"):
        assert trio.run(ask, way) < PATIENCE * STALL
