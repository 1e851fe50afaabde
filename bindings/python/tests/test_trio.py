"""Coroutines in turn under trio, and under anyio with either of its backends."""

from __future__ import annotations

import gc
import types
import warnings
from collections.abc import Awaitable, Generator
from importlib.metadata import version
from typing import Any

import anyio
import anyio.abc
import pytest
import trio
import trio.testing

import inturn
from support import LIMIT, finish, run_trio as run

Outcome = inturn.Outcome

# Before anyio 4.14, its task groups start nothing of asyncio's but coroutines of Python's own type.
TAKES_RUNS = tuple(map(int, version("anyio").split(".")[:2])) >= (4, 14)


async def give(result: object = None) -> object:
    await trio.sleep(0)
    return result


def test_coroutines_run_in_the_order_of_the_calls() -> None:
    log: list[int] = []

    async def note(number: int) -> None:
        log.append(number)
        await trio.sleep(0)
        log.append(-number)

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            runs: list[Any] = [queue.run(note, number) for number in range(1, 20)]
            queue.post(log.append, 0)
            async with trio.open_nursery() as nursery:
                for each in reversed(runs):
                    nursery.start_soon(_await, each)
            await queue.drained()

    run(main)
    assert log == [*(sign * number for number in range(1, 20) for sign in (1, -1)), 0]


async def _await(waited: Awaitable[object]) -> None:
    await waited


def test_a_result_and_an_exception_come_to_who_awaits() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            assert await queue.run(give, 1) == 1
            with pytest.raises(ZeroDivisionError):
                await queue.run(_divide)
            with pytest.raises(TypeError, match="not a coroutine function"):
                await queue.run(int)  # type: ignore[arg-type]
            once = queue.run(give)
            await once
            with pytest.raises(RuntimeError, match="awaited only once"):
                await once
            assert (await queue.enqueue(finish)).outcome is Outcome.FINISHED

    run(main)


async def _divide() -> float:
    return 1 / 0


def test_options_are_the_same() -> None:
    calls = 0
    ends: list[inturn.End] = []

    async def fail_once() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError
        return "done"

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            patient = queue.options(retry=inturn.Retry(2), on_end=ends.append)
            assert await patient.run(fail_once) == "done"
            with pytest.raises(inturn.TimedOutError):
                await queue.options(max_run=0.01).run(trio.sleep, LIMIT)
            assert await queue.run(give, "after") == "after"

    run(main)
    assert (calls, [end.result for end in ends]) == (2, ["done"])


@pytest.mark.parametrize("where", ["pending", "running", "block", "by its key"])
def test_who_is_cancelled_leaves_the_queue(where: str) -> None:
    async def enter(queue: inturn.FIFOQueue) -> None:
        async with queue:
            pass

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            async with trio.open_nursery() as nursery:
                if where in ("pending", "block"):
                    nursery.start_soon(_await, queue.run(trio.sleep, LIMIT))
                if where == "by its key":
                    running: Any = queue.options(key="k").run(trio.sleep, LIMIT)

                    async def refused() -> None:
                        with pytest.raises(inturn.CancelledError):
                            await running

                    async with trio.open_nursery() as inner:
                        inner.start_soon(refused)
                        await trio.testing.wait_all_tasks_blocked()
                        queue.cancel("k")
                else:
                    with trio.move_on_after(0.02) as scope:
                        await (enter(queue) if where == "block" else queue.run(trio.sleep, LIMIT))
                    assert scope.cancelled_caught
                nursery.cancel_scope.cancel()
            assert await queue.run(give, "after") == "after"

    run(main)


def test_a_block_has_the_queue_for_itself() -> None:
    inside = 0

    async def enter(queue: inturn.FIFOQueue) -> None:
        nonlocal inside
        async with queue:
            inside += 1
            assert inside == 1
            await trio.sleep(0)
            inside -= 1

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(enter, queue)
            with pytest.raises(ValueError, match="inside"):
                async with queue:
                    raise ValueError("inside")
            counts = queue.statistics()
            assert (counts.finished, counts.failed) == (20, 1)

    run(main)


def test_a_wait_that_would_never_end_is_refused() -> None:
    async def main() -> None:
        with inturn.FIFOQueue("a") as a, inturn.FIFOQueue("b") as b:

            async def nested() -> None:
                with pytest.raises(inturn.DeadlockError, match='"a"'):
                    await a.run(give)
                async with b:
                    with pytest.raises(inturn.DeadlockError):
                        async with a:
                            pass

            await a.run(nested)
            assert await a.run(give, 1) == 1

    run(main)


def test_a_turn_that_nobody_awaits_is_lost_and_said_to_be() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            queue.run(give)
            gc.collect()
            assert await queue.run(give, 1) == 1
            assert [each.category for each in caught] == [RuntimeWarning]

    run(main)


def test_a_run_goes_on_like_a_coroutine_and_is_closed_like_one() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            by_hand = queue.run(give, 1)
            closed, unbegun = queue.run(give, 2), queue.run(give, 3)

            @types.coroutine
            def drive() -> Generator[Any, Any, Any]:
                sent = None
                while True:
                    try:
                        waited = by_hand.send(sent)
                    except StopIteration as stop:
                        return stop.value
                    sent = yield waited

            assert await drive() == 1
            unbegun.close()
            closed.close()
            with pytest.raises(RuntimeError):
                await closed
            assert await queue.run(give, 4) == 4
            assert queue.statistics().cancelled == 2

    run(main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio_runs_on_either(backend: str) -> None:
    log: list[int] = []

    async def note(number: int) -> int:
        await anyio.sleep(0)
        log.append(number)
        return number

    async def main() -> None:
        with anyio.fail_after(LIMIT), inturn.FIFOQueue() as queue:

            async def one(number: int) -> None:
                assert await queue.run(note, number) == number

            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(one, number)
                for number in range(10, 20):
                    if backend == "trio" or TAKES_RUNS:
                        group.start_soon(queue.run, note, number)
                    else:
                        group.start_soon(one, number)
            assert sorted(log) == list(range(20))
            with anyio.move_on_after(0.02) as scope:
                await queue.run(anyio.sleep, LIMIT)
            assert scope.cancelled_caught
            async with queue:
                log.append(20)
            await queue.drained()

    anyio.run(main, backend=backend)
    assert log[-1] == 20


async def limited_by(limiter: Any, log: list[str]) -> None:
    """A script: a waiter is cancelled, the code inside fails, and all others get their places."""
    most = inside = 0

    async def take(name: str) -> None:
        nonlocal most, inside
        async with limiter:
            inside += 1
            most = max(most, inside)
            log.append(f"{name} begins")
            try:
                for _ in range(20):
                    await anyio.sleep(0)
                if name == "b":
                    raise ValueError(name)
            finally:
                inside -= 1
                log.append(f"{name} ends")

    async def fail() -> None:
        with pytest.raises(ValueError, match="b"):
            await take("b")

    async with anyio.create_task_group() as group:
        group.start_soon(take, "a")
        group.start_soon(fail)
        while len(log) < 2:
            await anyio.sleep(0)
        with anyio.move_on_after(0) as scope:
            await take("cancelled")
        assert scope.cancelled_caught
        for name in "cde":
            group.start_soon(take, name)
    assert (most, inside) == (2, 0)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_queue_limits_as_anyios_limiter_does(backend: str) -> None:
    ours: list[str] = []
    theirs: list[str] = []

    async def main() -> None:
        with anyio.fail_after(LIMIT):
            with inturn.OperationQueue(max_concurrent=2) as queue:
                await limited_by(queue, ours)
            await limited_by(anyio.CapacityLimiter(2), theirs)

    anyio.run(main, backend=backend)
    assert sorted(ours) == sorted(theirs)
    assert len(ours) == 10
