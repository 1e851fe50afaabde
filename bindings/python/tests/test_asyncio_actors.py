"""Coroutines of actor queues: how they end, what they may be, and whom they keep."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Callable

import pytest

import inturn
from inturn import EntryKind, snapshot
from support import LIMIT, Gate, join, run, until

KINDS: list[type[inturn.FIFOQueue] | type[inturn.OperationQueue] | type[inturn.ActorQueue]] = [
    inturn.FIFOQueue,
    inturn.OperationQueue,
    inturn.ActorQueue,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_coroutine_that_is_resolved_returns_none(kind: type[inturn.FIFOQueue]) -> None:
    async def never() -> str:
        raise AssertionError

    async def main() -> None:
        with kind() as queue:
            queue.suspend()
            resolved = queue.options(key="a").run(never)
            cancelled = queue.options(key="b").run(never)
            await asyncio.sleep(0)
            assert queue.resolve("a") == queue.cancel("b") == 1
            queue.resume()
            assert await resolved is None
            with pytest.raises(asyncio.CancelledError):
                await cancelled

    run(main)


@pytest.mark.parametrize("fails", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_end_that_was_told_first_is_a_coroutines_end(
    kind: type[inturn.FIFOQueue], fails: bool
) -> None:
    async def main() -> None:
        async def stubborn(begun: asyncio.Event, heeds: asyncio.Event) -> str:
            try:
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heeds.set()
                await is_over.wait()
            if fails:
                raise LookupError
            return "late"

        with inturn.ManualClock() as clock, kind(clock=clock) as queue:
            limits: dict[str, tuple[inturn.Options, type[BaseException]]] = {
                "cancel_grace": (
                    queue.options(key="key", cancel_grace=1),
                    asyncio.CancelledError,
                ),
                "max_run": (queue.options(max_run=1), inturn.TimedOutError),
            }
            for name, (limited, error) in limits.items():
                begun, heeds, is_over = asyncio.Event(), asyncio.Event(), asyncio.Event()
                task = limited.run(stubborn, begun, heeds)
                await begun.wait()
                if name == "cancel_grace":
                    queue.cancel("key")
                    await heeds.wait()
                clock.advance(1)
                await heeds.wait()
                is_over.set()
                with pytest.raises(error):
                    await task
                await queue.drained()

    run(main)


class Number:
    """What has no `send`, and is awaited by an iterator that has none."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_a_function_returns_may_be_anything_that_can_be_awaited(
    kind: type[inturn.FIFOQueue],
) -> None:
    async def main() -> None:
        async def three() -> int:
            await asyncio.sleep(0)
            return 3

        def later() -> asyncio.Task[int]:
            return asyncio.ensure_future(three())

        with kind() as queue, inturn.FIFOQueue() as another:
            run: Any = queue.run  # for type checkers, a function makes a coroutine
            assert await run(later) == 3
            assert await run(Number) is None
            assert await run(lambda: another.run(three)) == 3
            with pytest.raises(TypeError, match="not a coroutine function: <class 'int'>"):
                await run(int)

    run(main)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_loss_of_an_owner_cancels_its_coroutines(kind: type[inturn.FIFOQueue]) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        with kind() as queue:
            options = queue.options(owner=inturn.Owner())
            running = options.run(forever)
            await begun.wait()
            queue.suspend()
            pending = options.run(forever)
            await asyncio.sleep(0)
            del options
            queue.resume()
            for task in running, pending:
                with pytest.raises(asyncio.CancelledError):
                    await task

    run(main)


@pytest.mark.parametrize("is_pending", [False, True], ids=["suspended", "about to go on"])
def test_what_is_left_of_a_coroutine_after_its_time_limit_overlaps_nothing(
    is_pending: bool,
) -> None:
    inside: list[str] = []
    trace: list[str] = []

    def segment(name: str) -> None:
        inside.append(name)
        trace.append(name)
        time.sleep(0)  # the others come now, if they can
        assert inside.pop() == name
        assert inside == []

    async def main() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await go_on.wait()
                await asyncio.Event().wait()
            finally:
                for number in range(20):
                    segment(f"coroutine {number}")
                    await asyncio.sleep(0)

        with inturn.ManualClock() as clock, inturn.ActorQueue(clock=clock) as queue:
            task = queue.options(max_run=1).run(work)
            await begun.wait()
            gate = Gate("the end of the time")
            queue.post(gate.wait)
            if is_pending:
                go_on.set()
                await asyncio.sleep(0)
                await asyncio.sleep(0)  # its segment is behind the gate
            functions = [queue.submit(segment, f"function {number}") for number in range(500)]
            clock.advance(1)
            gate.open()
            with pytest.raises(inturn.TimedOutError):
                await task
            for future in functions:
                await asyncio.wrap_future(future)
            await queue.drained()
            assert queue.statistics().timed_out == 1
        assert [name for name in trace if name.startswith("c")] == [
            f"coroutine {number}" for number in range(20)
        ]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that the threads meet everywhere
    try:
        run(main)
    finally:
        sys.setswitchinterval(interval)


def test_what_is_left_after_the_time_limit_runs_to_its_end_where_the_queue_takes_no_more() -> None:
    async def main() -> None:
        cleaned: list[int] = []

        async def work(begun: asyncio.Event, ends: Callable[[], object]) -> None:
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                ends()
                await asyncio.sleep(0)
                cleaned.append(1)

        with inturn.ManualClock() as clock:
            for name in ("close", "destroy", "cancel_all"):
                queue, begun = inturn.ActorQueue(clock=clock), asyncio.Event()
                task = queue.options(max_run=1).run(work, begun, getattr(queue, name))
                await begun.wait()
                clock.advance(1)
                with pytest.raises(inturn.TimedOutError):
                    await task
                await queue.drained()
                queue.destroy()
        assert cleaned == [1, 1, 1]

    run(main)


@pytest.mark.parametrize("way", ["free_at_max_run", "closed", "full"])
def test_what_is_left_may_run_outside_of_the_turns_where_it_gets_none(way: str) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                gate.open()

        with inturn.ManualClock() as clock:
            queue = inturn.ActorQueue(clock=clock, capacity=1)
            task = queue.options(max_run=1, free_at_max_run=way == "free_at_max_run").run(work)
            await begun.wait()
            gate = Gate("what is left")
            begins = Gate("the function")

            def wait() -> None:
                begins.open()
                gate.wait()

            others: list[inturn.Future[Any]] = [queue.submit(wait)]
            await asyncio.to_thread(begins.wait)
            if way == "full":
                others.append(queue.submit(int))
            elif way == "closed":
                queue.close()
            clock.advance(1)
            with pytest.raises(inturn.TimedOutError):
                await task
            for other in others:
                await asyncio.wrap_future(other)
            await queue.drained()
            queue.destroy()

    run(main)


def test_a_queue_that_is_destroyed_ends_no_segment_of_another() -> None:
    inside: list[str] = []

    async def main() -> None:
        async def nothing() -> None: ...

        async def work() -> None:
            assert not inside
            inside.append("the coroutine")

        returns = Gate("the function's end")

        def function() -> None:
            inside.append("the function")
            returns.wait()
            inside.remove("the function")

        with inturn.ActorQueue() as queue, inturn.ActorQueue() as other:
            runs = [queue.run(work), other.run(nothing)]
            until("both segments are called", lambda: bool(queue._holders and other._holders))
            queue.post(function)
            other.destroy()
            await runs[0]
            assert inside[0] == "the coroutine"
            returns.open()
            with suppress(asyncio.CancelledError):
                await runs[1]

    run(main)


def test_a_segment_of_a_task_that_is_destroyed_keeps_nothing_from_who_blocks_the_loop() -> None:
    async def work() -> None: ...

    async def main() -> None:
        with inturn.ActorQueue() as queue:
            task: Any = queue.run(work)
            until("its segment is called", lambda: bool(queue._holders))
            task.get_coro().close()
            assert queue.submit(int).result(LIMIT) == 0
            task.cancel()
            with pytest.raises(RuntimeError, match="cannot reuse"):
                await task

    run(main)


def test_a_loop_that_is_closed_leaves_no_coroutine_with_its_queue() -> None:
    class Kept:
        pass

    async def work(_kept: Kept) -> None:
        await asyncio.Event().wait()

    def begin(queue: inturn.ActorQueue) -> weakref.ref[Kept]:
        async def main() -> None:
            for _ in range(2):
                queue.run(work, kept)
            until("a segment is called", lambda: bool(queue._holders))
            await asyncio.sleep(0)

        loop, kept = asyncio.new_event_loop(), Kept()
        loop.set_exception_handler(lambda *_: None)  # silences destroyed tasks
        loop.run_until_complete(main())
        loop.close()
        return weakref.ref(kept)

    with inturn.ActorQueue() as queue:
        gone = begin(queue)
        queue.drain(LIMIT)
        gc.collect()
        assert gone() is None
        assert not queue._holders


@pytest.mark.parametrize("last", ["one", "other"])
def test_a_segment_whose_loop_is_blocked_is_part_of_a_ring(last: str) -> None:
    """One loop has the queue's only place, and the other the actor's segment; each blocks for the
    other."""
    told: list[str] = []

    def block(who: str, queue: inturn.FIFOQueue | inturn.ActorQueue) -> None:
        future = queue.submit(int)
        if who == last:
            until("the other waits", lambda: any(e.kind is EntryKind.WAIT for e in snapshot()))
        try:
            assert future.result(LIMIT) == 0
        except inturn.DeadlockError:
            told.append(who)
            future.cancel()

    def other() -> None:
        async def main() -> None:
            running = actor.run(asyncio.sleep, 0)
            until("its segment is called", lambda: bool(actor._holders))
            is_called.open()
            block("other", queue)
            await running

        run(main)

    async def one() -> None:
        thread.start()
        is_called.wait()
        block("one", actor)

    async def main() -> None:
        await queue.run(one)

    is_called, thread = Gate("the segment"), threading.Thread(target=other)
    with inturn.FIFOQueue() as queue, inturn.ActorQueue() as actor:
        run(main)
        join(thread)
    assert len(told) == 1


def test_a_suspended_coroutine_keeps_no_function_from_who_blocks_the_loop() -> None:
    async def nothing() -> None: ...

    async def main() -> None:
        with inturn.FIFOQueue() as queue, inturn.ActorQueue() as actor:
            is_waiting = asyncio.Event()

            async def wait() -> None:
                asyncio.get_running_loop().call_soon(is_waiting.set)
                await queue.run(nothing)

            async def block() -> Any:
                waiting = actor.run(wait)
                await is_waiting.wait()
                assert actor.submit(int).result(LIMIT) == 0
                return waiting

            waiting = await queue.run(block)
            await waiting

    run(main)
