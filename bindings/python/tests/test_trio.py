"""Coroutines in turn under trio, and under anyio with either of its backends."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Callable

import anyio
import anyio.abc
import pytest
import trio
import trio.testing

import inturn
from inturn import _trio as inturn_trio
from support import LIMIT, Gate, finish

Outcome = inturn.Outcome


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        with trio.fail_after(LIMIT):
            await main()

    trio.run(limited)


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


async def _leave_by_an_exit() -> None:
    raise SystemExit(3)


async def _leave_by_a_nursery() -> None:
    """Leaves as a nursery does that is cancelled: by a group of its tasks' cancellations."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(trio.sleep_forever)


@pytest.mark.parametrize("retry", [None, inturn.Retry(3)], ids=["once", "retry"])
@pytest.mark.parametrize(
    ("leave", "outcome"),
    [(_leave_by_an_exit, Outcome.FAILED), (_leave_by_a_nursery, Outcome.CANCELLED)],
)
def test_a_task_that_leaves_for_good_gives_its_turn_to_the_next(
    leave: Callable[[], Any], outcome: Outcome, retry: inturn.Retry | None
) -> None:
    ends: list[inturn.End] = []

    async def main() -> None:
        queue = inturn.FIFOQueue()
        left = queue.options(retry=retry, on_end=ends.append).run(leave)
        with trio.move_on_after(0.02), suppress(SystemExit):
            await left
        with trio.move_on_after(LIMIT / 3) as scope:
            assert await queue.run(give, "next") == "next"
        assert not scope.cancelled_caught, f"the next waits for its turn: {queue.statistics()}"
        await queue.drained()

    run(main)
    assert [(end.outcome, end.attempts) for end in ends] == [(outcome, 1)]


def test_a_turn_that_comes_after_its_end_goes_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    token_came, end_came = Gate("the token"), Gate("the end")
    tell = inturn_trio.Turn._tell

    def tell_the_end_first(turn: inturn_trio.Turn, news: inturn.Token | inturn.End) -> None:
        if isinstance(news, inturn.End):
            tell(turn, news)
            end_came.open()
        else:
            token_came.open()
            end_came.wait()
            tell(turn, news)

    async def main() -> None:
        with inturn.ManualClock() as clock:
            queue = inturn.FIFOQueue(clock=clock)
            with monkeypatch.context() as patch:
                patch.setattr(inturn_trio.Turn, "_tell", tell_the_end_first)
                late = queue.options(max_run=1).run(give)
                await trio.to_thread.run_sync(token_came.wait)
                clock.advance(1)
                with pytest.raises(inturn.TimedOutError):
                    await late
            with trio.move_on_after(LIMIT / 3) as scope:
                assert await queue.run(give, "next") == "next"
            assert not scope.cancelled_caught, f"the next waits for its turn: {queue.statistics()}"
            await queue.drained()
            queue.destroy()

    run(main)


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


def wait_for_drain(queue: inturn.FIFOQueue) -> None:
    queue.drain(LIMIT / 3)


def wait_for_result(queue: inturn.FIFOQueue) -> None:
    queue.submit(int).result(LIMIT / 3)


def wait_for_end(queue: inturn.FIFOQueue) -> None:
    queue.enqueue(finish).wait(LIMIT / 3)


@pytest.mark.parametrize("wait", [wait_for_drain, wait_for_result, wait_for_end])
@pytest.mark.parametrize("where", ["in a run", "in a block", "beside a block"])
def test_a_blocking_wait_that_keeps_a_turn_from_its_end_is_refused(
    wait: Callable[[inturn.FIFOQueue], None], where: str
) -> None:
    async def main() -> None:
        with inturn.FIFOQueue("a") as queue:

            async def refused() -> None:
                with pytest.raises(inturn.DeadlockError, match='"a"'):
                    wait(queue)

            async def stay() -> None:
                async with queue:
                    await trio.sleep_forever()

            if where == "in a run":
                await queue.run(refused)
            elif where == "in a block":
                async with queue:
                    await refused()
            else:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(stay)
                    while not queue._holders:
                        await trio.sleep(0)
                    await refused()
                    nursery.cancel_scope.cancel()
            await trio.to_thread.run_sync(wait, queue)

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
            assert sorted(log) == list(range(10))
            with anyio.move_on_after(0.02) as scope:
                await queue.run(anyio.sleep, LIMIT)
            assert scope.cancelled_caught
            async with queue:
                log.append(10)
            await queue.drained()

    anyio.run(main, backend=backend)
    assert log[-1] == 10


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
