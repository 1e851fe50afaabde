"""A limit on how many operations of a queue start in a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import inturn
from inturn import Rate
from support import LIMIT, Gate, run

KINDS = [inturn.FIFOQueue, inturn.ActorQueue, inturn.OperationQueue, inturn.InteractionQueue]


class Rated:
    """A queue whose clock and executor the test controls, and what it has started."""

    def __init__(self, queue: inturn.Queue, clock: inturn.ManualClock, executor: inturn.Executor):
        self.queue, self.clock, self.executor = queue, clock, executor
        self.started: list[float] = []  # the times

    def post(self, number: int) -> None:
        for _ in range(number):
            self.queue.post(lambda: self.started.append(self.clock.now))

    def count_after(self, seconds: float) -> int:
        self.clock.advance(seconds)
        self.executor.drain()
        return len(self.started)


@contextmanager
def rated(rate: Rate | None, kind: Any = inturn.FIFOQueue) -> Iterator[Rated]:
    options = {"settle": 0, "gap": 0} if kind is inturn.InteractionQueue else {}
    executor, clock = inturn.Executor(), inturn.ManualClock()
    queue = kind(executor=executor, clock=clock, rate=rate, **options)
    if isinstance(queue, inturn.InteractionQueue):
        queue.view_did_appear()
    yield Rated(queue, clock, executor)
    queue.destroy()
    clock.close()
    executor.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_burst_starts_at_once_and_the_rest_at_the_rate(kind: Any) -> None:
    with rated(Rate(4, 1.0, burst=2), kind) as all_of_it:
        all_of_it.post(5)
        assert all_of_it.count_after(0) == 2
        assert all_of_it.count_after(0.249) == 2
        assert all_of_it.count_after(0.75) == 4
        assert all_of_it.count_after(1) == 5


def test_without_a_burst_as_many_as_an_interval_has_start_at_once() -> None:
    with rated(Rate(3, 60)) as all_of_it:
        all_of_it.post(5)
        assert all_of_it.count_after(0) == 3
        assert all_of_it.count_after(20) == 4


def test_a_rate_is_set_and_taken_away() -> None:
    with rated(None) as all_of_it:
        queue = all_of_it.queue
        assert queue.rate is None
        queue.rate = Rate(1, 1)
        assert queue.rate == Rate(max_starts=1, interval=1, burst=None)
        all_of_it.post(9)
        assert all_of_it.count_after(0) == 1
        queue.rate = Rate(1, 1, burst=3)  # one of three is missing
        assert all_of_it.count_after(0) == 3
        assert all_of_it.count_after(1) == 4
        queue.rate = None
        assert all_of_it.count_after(0) == 9


def test_the_next_start_is_told() -> None:
    with rated(Rate(1, 0.5)) as all_of_it:
        queue = all_of_it.queue
        next_start = queue.states.next_start_ns
        assert (next_start.value, queue.statistics().next_start_ns) == (0, 0)
        all_of_it.post(2)
        assert all_of_it.count_after(0) == 1
        assert next_start.value == queue.statistics().next_start_ns == 500_000_000
        assert all_of_it.count_after(0.5) == 2
        assert next_start.value == queue.statistics().next_start_ns == 1_000_000_000


WRONG = [
    (Rate(0, 1), "must be a number of starts, 1 or more, not 0"),
    (Rate(2**32, 1), "max_starts of .* starts, 1 or more, not 4294967296"),
    (Rate(1, 1, burst=0), "must be a number of starts, 1 or more, not 0"),
    (Rate(1, 0), "interval of .* a time in seconds for 1 starts, not 0"),
    (Rate(1, 1e-10), "interval of .* a time in seconds for 1 starts, not 1e-10"),
    (Rate(2, 3e9), "interval of .* a time in seconds for 2 starts, not 3000000000.0"),
    (Rate(1, -1), "interval of .* not -1"),
    (Rate(1, float("nan")), "interval of .* not nan"),
]


@pytest.mark.parametrize(("rate", "message"), WRONG)
def test_a_rate_that_makes_no_sense_is_refused(rate: Rate, message: str) -> None:
    for kind in KINDS:
        with pytest.raises(ValueError, match=message):
            kind(rate=rate)
    with inturn.FIFOQueue(rate=Rate(1, 2.3e9, burst=2)) as queue:
        with pytest.raises(ValueError, match=message):
            queue.rate = rate
        assert queue.rate == Rate(1, 2.3e9, burst=2)


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a Rate, not \(5, 1\)"):
        inturn.FIFOQueue(rate=(5, 1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a time in seconds for 1 starts, not '1'"):
        inturn.FIFOQueue(rate=Rate(1, "1"))  # type: ignore[arg-type]
    with inturn.FIFOQueue() as queue, pytest.raises(TypeError, match="a Rate, not 5"):
        queue.rate = 5  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [inturn.FIFOQueue, inturn.ActorQueue, inturn.OperationQueue])
def test_coroutines_start_at_the_rate_and_go_on_without_it(kind: Any) -> None:
    started: list[int] = []

    async def work(number: int) -> int:
        started.append(number)
        for _ in range(3):
            await asyncio.sleep(0)
        return number

    async def main() -> None:
        with inturn.ManualClock() as clock, kind(clock=clock, rate=Rate(1, 2)) as queue:
            runs = [queue.run(work, number) for number in range(3)]
            for number in range(3):
                assert await runs[number] == number
                for _ in range(10):
                    await asyncio.sleep(0)
                assert started == list(range(number + 1))
                clock.advance(2)

    run(main)


def test_a_block_waits_for_the_rate() -> None:
    async def main() -> None:
        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock, rate=Rate(1, 2)) as queue:
            async with queue:
                pass

            async def enter() -> float:
                async with queue:
                    return clock.now

            entered = asyncio.ensure_future(enter())
            for _ in range(10):
                await asyncio.sleep(0)
            assert not entered.done()
            clock.advance(2)
            assert await entered == 2

    run(main)


def test_a_rate_needs_nobody_to_look_at_the_clock() -> None:
    done = Gate("the last of them")
    before = inturn.now()
    with inturn.OperationQueue(rate=Rate(1000, 1, burst=1)) as queue:
        for _ in range(20):
            queue.post(int)
        queue.submit(done.open).result(LIMIT)
    assert inturn.now() - before >= 0.02
