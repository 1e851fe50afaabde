"""The library's own states, observed like values."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import inturn
from support import LIMIT, until


def told(log: list[Any]) -> Any:
    return lambda change: log.append((change.old, change.new))


def test_a_queues_states_are_told_in_order() -> None:
    pending: list[Any] = []
    suspended: list[Any] = []
    with inturn.FIFOQueue() as queue:
        kept = [
            queue.states.pending.observe(told(pending)),
            queue.states.suspended.observe(told(suspended)),
        ]
        queue.suspend()
        queue.suspend()
        queue.post(lambda: pending.append("work"))
        queue.post(lambda: None)
        queue.resume()
        queue.resume()
        queue.drain(LIMIT)
        assert queue.states.pending.value == 0
        assert queue.states.pending.wait_for(lambda count: count == 0, LIMIT) == 0
        assert pending == [(0, 1), (1, 2), (2, 1), "work", (1, 0)]
        assert suspended == [(False, True), (True, False)]
        assert all(type(truth) is bool for change in suspended for truth in change)
    del kept


@pytest.mark.parametrize("kind", [inturn.FIFOQueue, inturn.ActorQueue, inturn.OperationQueue])
def test_progress_ends_at_all_of_all(kind: Any) -> None:
    steps: list[Any] = []
    with kind() as queue:
        with queue.states.progress.observe(told(steps)):
            for _ in range(300):
                queue.post(lambda: None)
            queue.drain(LIMIT)
            queue.states.progress.drain(LIMIT)
        assert queue.states.progress.value == inturn.Progress(300, 300)
        assert queue.states.running.value == 0
    assert steps[0] == (inturn.Progress(0, 0), inturn.Progress(0, 1))
    assert all(one[1] == two[0] for one, two in zip(steps, steps[1:]))
    assert steps[-1][1] == inturn.Progress(300, 300)


def test_an_operations_state_and_progress_are_told() -> None:
    states: list[Any] = []
    tokens: list[inturn.Token] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        operation = queue.enqueue(tokens.append)
        with operation.states.state.observe(told(states)):
            queue.resume()
            assert operation.states.state.wait_for(
                lambda state: state is inturn.State.RUNNING, LIMIT
            )
            progress = operation.states.progress
            assert progress.value == inturn.Progress(0, 0)
            queue.states.running.wait_for(lambda count: count == 1, LIMIT)
            # The state changes just before the work is called.
            until("the work is called", lambda: bool(tokens))
            tokens[0].progress(2, 5)
            assert progress.value == inturn.Progress(2, 5)
            tokens[0].finish()
            operation.wait(LIMIT)
            assert operation.states.state.wait_for(lambda state: state == inturn.State.ENDED, LIMIT)
            assert states == [
                (inturn.State.PENDING, inturn.State.RUNNING),
                (inturn.State.RUNNING, inturn.State.ENDED),
            ]
        with pytest.raises(inturn.ClosedError):
            operation.states.state.wait_for(lambda state: state == inturn.State.PENDING)


def test_a_batchs_progress_is_told() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        batch = queue.batch([lambda token: token.finish()] * 3)
        steps: list[Any] = []
        with batch.states.progress.observe(told(steps)):
            queue.resume()
            batch.wait(LIMIT)
            batch.states.progress.drain(LIMIT)
        assert [new for _, new in steps] == [(1, 3), (2, 3), (3, 3)]


def test_a_state_outlives_its_queue() -> None:
    queue = inturn.FIFOQueue()
    queue.suspend()
    queue.post(lambda: None)
    pending = queue.states.pending
    late = queue.states
    assert pending.value == 1
    queue.destroy()
    assert pending.value == 0
    assert pending.wait_for(lambda count: count == 0, LIMIT) == 0
    with pytest.raises(inturn.ClosedError):
        pending.wait_for(lambda count: count == 1)
    with pytest.raises(inturn.StaleError):
        _ = late.progress
    del queue
    gc.collect()
    assert pending.value == 0
    pending.destroy()
    with pytest.raises(inturn.StaleError):
        pending.get()
    with pytest.raises(inturn.StaleError):
        pending.wait_for(lambda _: False)


def test_async_for_gives_each_state_and_ends_with_the_queue() -> None:
    async def collect() -> list[int]:
        queue = inturn.FIFOQueue()
        queue.suspend()
        for _ in range(2):
            queue.post(lambda: None)
        seen = []
        async for count in queue.states.pending:
            seen.append(count)
            if len(seen) == 1:
                queue.destroy()
        return seen

    assert asyncio.run(asyncio.wait_for(collect(), LIMIT)) == [2, 0]


def test_nobody_else_changes_a_state() -> None:
    with inturn.FIFOQueue() as queue:
        assert not hasattr(queue.states.pending, "set")
        with pytest.raises(AttributeError):
            queue.states.pending.value = 1  # type: ignore[misc]


def test_an_observer_on_an_executor_is_told_later() -> None:
    executor = inturn.Executor()
    counts: list[Any] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        with queue.states.pending.observe(told(counts), executor=executor):
            queue.post(lambda: None)
            assert counts == []
            executor.drain()
            assert counts == [(0, 1)]
        queue.resume()
