"""Coroutines whose attempts have a time limit: which cancel is meant for whom."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any, Callable

import pytest

import inturn
import inturn.loops.asyncio
from support import LIMIT, join, run


def test_who_cancels_a_coroutine_that_heeds_its_time_limit_is_heeded_too() -> None:
    async def main() -> None:
        calls = 0
        begun, cleans_up = asyncio.Event(), asyncio.Event()

        async def fetch() -> str:
            nonlocal calls
            calls += 1
            if calls > 1:
                return "run again"
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                cleans_up.set()
                await asyncio.Event().wait()
            return "never"

        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
            task = queue.options(max_run=1, retry=inturn.Retry(3)).run(fetch)
            await begun.wait()
            clock.advance(1)
            await cleans_up.wait()
            assert task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await queue.drained()
        assert calls == 1

    run(main)


@contextlib.contextmanager
def of_the_loop() -> Iterator[tuple[inturn.Executor, Callable[[], object]]]:
    """An executor, and what lets it call all that waits."""
    with inturn.Executor() as executor, inturn.loops.asyncio.attach(executor):
        yield executor, executor.drain


@contextlib.contextmanager
def of_a_thread() -> Iterator[tuple[inturn.Executor, Callable[[], object]]]:
    """The same for one that another thread runs, so that a cancel comes to the loop later."""
    with inturn.Executor() as executor:
        thread = threading.Thread(target=executor.run)
        thread.start()
        last = inturn.FIFOQueue(executor=executor)
        try:
            yield executor, lambda: last.submit(int).result(LIMIT)
        finally:
            last.destroy()
            executor.stop()
            join(thread)


@pytest.mark.parametrize("drained", [of_the_loop, of_a_thread])
@pytest.mark.parametrize("fails", [False, True])
def test_the_time_limit_of_an_attempt_that_ends_without_a_pause_leaves_the_next_one_alone(
    fails: bool, drained: Any
) -> None:
    async def main() -> None:
        calls = 0

        async def fetch() -> int:
            nonlocal calls
            calls += 1
            if calls == 1:
                clock.advance(1)
                call_what_waits()
                if fails:
                    raise LookupError
            else:
                await asyncio.sleep(0.01)
            return calls

        with inturn.ManualClock() as clock, drained() as (executor, call_what_waits):
            queue = inturn.FIFOQueue(clock=clock, executor=executor)
            patient = queue.options(max_run=1, retry=inturn.Retry(3))
            assert await patient.run(fetch) == 2
            await queue.drained()
            queue.destroy()

    run(main)


def test_an_attempt_whose_time_is_over_before_it_begins_is_followed_by_another() -> None:
    async def main() -> None:
        calls = 0

        async def fetch() -> int:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0)
            return calls

        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
            async with queue:
                task = queue.options(max_run=1, retry=inturn.Retry(3)).run(fetch)
                await asyncio.sleep(0)
            clock.advance(1)  # it has its turn, but has not begun
            assert await task == 1

    run(main)


@pytest.mark.parametrize("attempts", [1, 2])
def test_an_attempt_that_is_cut_off_while_it_comes_is_not_begun(
    attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unraisable: list[object] = []
    comes: list[inturn.Token] = []
    on_cancel = inturn.Token.on_cancel

    async def main() -> None:
        calls = 0

        async def fetch() -> int:
            nonlocal calls
            calls += 1
            return calls

        def cut_off_the_first(token: inturn.Token, handler: Any) -> None:
            comes.append(token)
            if len(comes) == 1:
                clock.advance(1)
            on_cancel(token, handler)

        monkeypatch.setattr(inturn.Token, "on_cancel", cut_off_the_first)
        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
            task = queue.options(max_run=1, retry=inturn.Retry(attempts)).run(fetch)
            if attempts == 1:
                with pytest.raises(inturn.TimedOutError):
                    await task
            else:
                assert await task == 1
            await queue.drained()
            assert calls == attempts - 1

    monkeypatch.setattr(sys, "unraisablehook", lambda told: unraisable.append(told.exc_value))
    run(main)
    assert len(comes) == attempts
    assert unraisable == []


@pytest.mark.parametrize("kind", [LookupError, BaseException, SystemExit])
def test_an_end_has_what_the_coroutine_raised(kind: type[BaseException]) -> None:
    raised = kind("raised")
    ends: list[inturn.End] = []

    async def fail() -> None:
        raise raised

    async def main() -> None:
        task = queue.options(on_end=ends.append, retry=inturn.Retry(3, decide=decide)).run(fail)
        await asyncio.wait([asyncio.create_task(task)])

    def decide(error: BaseException, _: int) -> bool:
        return not isinstance(error, Exception)  # which is not asked about another one

    queue = inturn.FIFOQueue()
    with contextlib.suppress(SystemExit):
        run(main)
    queue.drain(LIMIT)
    queue.destroy()
    assert [(end.outcome.name, end.exception, end.attempts) for end in ends] == [
        ("FAILED", raised, 1)
    ]


def test_a_result_is_not_lost_to_who_cancels_before_the_end_is_told() -> None:
    async def give() -> str:
        return "the result"

    async def main() -> None:
        with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
            task = queue.options(label="a turn").run(give)
            executor.drain()  # the turn comes; nobody drains for the end
            for _ in range(10):
                await asyncio.sleep(0)
            task.cancel()
            assert await asyncio.wait_for(task, LIMIT) == "the result"
            executor.drain()

    run(main)
