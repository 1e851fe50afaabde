"""Each of many costs as much as one of few."""

from __future__ import annotations

import time
from typing import Callable

import pytest

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


@pytest.mark.parametrize("spend", [end_those_of_one_key, cancel_observations])
def test_sixteen_times_as_many_do_not_cost_fifty_times_as_much(
    spend: Callable[[int], float],
) -> None:
    few, many = (min(spend(count) for _ in range(3)) for count in (500, 8_000))
    assert many < 50 * few
