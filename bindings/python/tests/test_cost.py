"""Each of many costs as much as one of few."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest
import trio

import inturn
from support import LIMIT, finish


def end_those_of_one_key(count: int) -> float:
    with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
        keyed = queue.options(key="one")
        begin = time.thread_time()
        operations = [keyed.enqueue(finish) for _ in range(count)]
        executor.drain()
        spent = time.thread_time() - begin
        assert all(operation.state is inturn.State.ENDED for operation in operations)
        queue.drain(LIMIT)
        return spent


def cancel_observations(count: int) -> float:
    with inturn.Value(0) as value:
        observations = [value.observe(id) for _ in range(count)]
        begin = time.thread_time()
        for observation in observations:
            observation.cancel()
        return time.thread_time() - begin


def leave_blocks_of_trio(count: int) -> float:
    spent = 0.0

    async def main() -> None:
        nonlocal spent
        inside = 0
        leave = trio.Event()

        async def enter(queue: inturn.OperationQueue) -> None:
            nonlocal inside
            async with queue:
                inside += 1
                await leave.wait()

        options: Any = {"max_concurrent": count, "stall": None}  # it takes its time
        with trio.fail_after(LIMIT), inturn.OperationQueue(**options) as queue:
            async with trio.open_nursery() as nursery:
                for _ in range(count):
                    nursery.start_soon(enter, queue)
                while inside < count:
                    await trio.sleep(0.001)
                leave.set()
                begin = time.thread_time()
            spent = time.thread_time() - begin

    trio.run(main)
    return spent


@pytest.mark.parametrize(
    "spend",
    [end_those_of_one_key, cancel_observations, lambda count: leave_blocks_of_trio(count // 2)],
    ids=["end_those_of_one_key", "cancel_observations", "leave_blocks_of_trio"],
)
def test_sixteen_times_as_many_do_not_cost_fifty_times_as_much(
    spend: Callable[[int], float],
) -> None:
    # In turn, so that what else the machine does concerns both.
    few, many = map(min, zip(*((spend(500), spend(8_000)) for _ in range(5))))
    assert many < 50 * few, f"{many / few:.0f} times as much"
