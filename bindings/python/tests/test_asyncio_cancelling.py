"""Coroutines that are cancelled by their waiter, by their queue, or by a time-out."""

from __future__ import annotations

import asyncio
import sys
from typing import Callable

import pytest

import inturn
from inturn._asyncio_turns import Turn
from support import LIMIT, Gate, run

Kind = Callable[[], inturn.Queue]
KINDS = [inturn.FIFOQueue, inturn.OperationQueue, inturn.ActorQueue]
ENDS = [inturn.Queue.cancel_all, inturn.Queue.destroy]


def test_a_cancelled_caller_cancels_the_coroutine_and_waits_for_its_end() -> None:
    async def main() -> None:
        trace: list[str] = []
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                trace.append("cleaned")

        async def caller() -> None:
            try:
                await queue.run(work)
            except asyncio.CancelledError:
                trace.append("caller")
                raise

        async def after() -> None:
            trace.append("after")

        with inturn.FIFOQueue() as queue:
            task = asyncio.ensure_future(caller())
            await begun.wait()
            next_one = queue.run(after)
            task.cancel()
            await next_one
            with pytest.raises(asyncio.CancelledError):
                await task
            assert trace[0] == "cleaned"
            assert sorted(trace) == ["after", "caller", "cleaned"]
            assert queue.statistics().cancelled == 1

    run(main)


def test_what_is_cancelled_before_there_is_a_task_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = Turn._start

    def cancel_first(turn: Turn, token: int) -> None:
        turn._queue.cancel_all()  # as another thread might
        start(turn, token)

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            with monkeypatch.context() as patch:
                patch.setattr(Turn, "_start", cancel_first)
                task = queue.run(asyncio.sleep, 0)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await queue.run(asyncio.sleep, 0, "after") == "after"

    run(main)


def test_a_coroutine_may_refuse_to_be_cancelled() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def stubborn() -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "not me"
            return ""

        async def after() -> str:
            await asyncio.sleep(0)
            return "after"

        with inturn.FIFOQueue() as queue:
            result, later = queue.run(stubborn), queue.run(after)
            await begun.wait()
            assert result.cancel()
            assert await result == "not me"
            assert await later == "after"
            assert not result.cancel()

    run(main)


def test_a_pending_coroutine_that_is_cancelled_never_runs() -> None:
    async def main() -> None:
        ran: list[int] = []

        async def work(number: int) -> None:
            ran.append(number)

        with inturn.FIFOQueue() as queue:
            queue.suspend()
            runs = [queue.run(work, number) for number in range(3)]
            assert runs[1].cancel()
            assert queue.statistics().pending == 2
            queue.resume()
            await asyncio.gather(runs[0], runs[2])
            with pytest.raises(asyncio.CancelledError):
                await runs[1]
        assert ran == [0, 2]

    run(main)


def test_what_its_queue_cancels_is_cancelled() -> None:
    async def main() -> None:
        async def nothing() -> None:
            pass

        queue = inturn.FIFOQueue()
        queue.suspend()
        runs = [queue.run(nothing) for _ in range(3)]
        queue.cancel_all()
        for result in runs:
            with pytest.raises(asyncio.CancelledError):
                await result
        last = queue.run(nothing)
        queue.destroy()
        with pytest.raises(asyncio.CancelledError):
            await last
        with pytest.raises(inturn.StaleError):
            queue.run(nothing)

    run(main)


def test_a_timeout_inside_a_coroutine_is_its_own() -> None:
    async def main() -> None:
        async def slow() -> str:
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.001)
            except asyncio.TimeoutError:
                return "timeout"
            return ""

        if sys.version_info >= (3, 11):

            async def inner() -> str:
                try:
                    async with asyncio.timeout(0.001):
                        await asyncio.Event().wait()
                except TimeoutError:
                    return "timeout"
                return ""
        else:
            inner = slow
        with inturn.FIFOQueue() as queue:
            runs = [queue.run(work) for work in (slow, inner, slow, inner)]
            assert await asyncio.gather(*runs) == ["timeout"] * 4

    run(main)


def test_who_is_cancelled_while_it_waits_for_the_lock_leaves_no_trace() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:

            async def use() -> None:
                async with queue:
                    pass

            async with queue:
                waiting = asyncio.ensure_future(use())
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            # Cancelled when its turn has just come
            async with queue:
                waiting = asyncio.ensure_future(use())
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await use()

    run(main)


def test_an_actors_coroutine_can_be_cancelled() -> None:
    async def main() -> None:
        begun = asyncio.Event()
        cleaned: list[bool] = []

        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(True)

        async def fail() -> None:
            await asyncio.sleep(0)
            raise LookupError

        with inturn.ActorQueue() as queue:
            running = queue.run(work)
            await begun.wait()
            queue.suspend()
            pending = queue.run(work)
            await asyncio.sleep(0)
            pending.cancel()
            running.cancel()
            queue.resume()
            for result in (running, pending):
                with pytest.raises(asyncio.CancelledError):
                    await result
            with pytest.raises(LookupError):
                await queue.run(fail)
            while queue.statistics().running:
                await asyncio.sleep(0)
        assert cleaned == [True]

    run(main)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["loop", "thread"])
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_cancels_the_queue_cancels_a_coroutine_that_runs(
    kind: Kind, end: Callable[[inturn.Queue], None], elsewhere: bool
) -> None:
    async def main() -> None:
        begun = asyncio.Event()
        cleaned: list[bool] = []

        async def forever() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                cleaned.append(True)

        queue = kind()
        running = queue.run(forever)
        await begun.wait()
        if elsewhere:
            await asyncio.get_running_loop().run_in_executor(None, end, queue)
        else:
            end(queue)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert cleaned == [True]
        queue.destroy()

    run(main)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_comes_after_a_cancel_is_not_cancelled(kind: Kind) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def work() -> str:
            begun.set()
            await asyncio.sleep(0)
            return "ran"

        queue = kind()
        queue.cancel_all()
        later = queue.run(work)
        await begun.wait()
        queue.cancel("a key")
        assert await later == "ran"
        queue.cancel_all()
        running, begun = queue.run(work), asyncio.Event()
        await begun.wait()
        queue.cancel_all()
        behind = queue.run(work)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await behind == "ran"
        while queue.statistics().running:
            await asyncio.sleep(0)
        queue.destroy()

    run(main)


def test_who_is_inside_a_block_goes_on_when_its_queue_is_cancelled() -> None:
    async def main() -> None:
        for end in ENDS:
            queue = inturn.FIFOQueue()
            async with queue:
                end(queue)
                await asyncio.sleep(0)
            queue.destroy()

    run(main)


def test_what_cancels_the_queue_cancels_a_coroutine_of_another_threads_loop() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        queue = inturn.FIFOQueue()
        loop = asyncio.get_running_loop()
        future = await loop.run_in_executor(None, queue.run_on, loop, forever)
        await begun.wait()
        queue.cancel_all()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wrap_future(future)
        assert future.cancelled()
        queue.destroy()

    run(main)


def test_an_actors_coroutine_that_is_cut_off_between_its_segments_gets_to_its_end() -> None:
    async def main() -> None:
        begun = asyncio.Event()
        go_on = asyncio.Event()

        async def work() -> str:
            begun.set()
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
            return "end"

        queue = inturn.ActorQueue()
        running = queue.run(work)
        await begun.wait()
        queue.suspend()  # so that its next segment does not run
        go_on.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        queue.destroy()
        assert await running == "end"

    run(main)


def test_an_actor_queue_that_nobody_keeps_runs_its_coroutine() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "ran"

    async def main() -> None:
        assert await inturn.ActorQueue().run(work) == "ran"

    run(main)


def test_a_turn_that_comes_while_its_task_gives_up_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_come, has_given_up = Gate("the turn"), Gate("the task's end")
    tell, let_go = Turn._tell, Turn._let_go_of
    queue = inturn.FIFOQueue()

    def tell_late(turn: Turn) -> None:
        has_come.open()
        has_given_up.wait()
        tell(turn)

    def let_go_late(turn: Turn, token: int) -> None:
        monkeypatch.setattr(Turn, "_let_go_of", let_go)
        queue._leave_home()  # so that another thread starts it
        queue.resume()
        has_come.wait()
        let_go(turn, token)
        has_given_up.open()

    async def main() -> None:
        queue.suspend()
        entering = asyncio.ensure_future(queue.__aenter__())
        await asyncio.sleep(0)
        monkeypatch.setattr(Turn, "_tell", tell_late)
        monkeypatch.setattr(Turn, "_let_go_of", let_go_late)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering

    run(main)
    queue.drain(LIMIT)
    queue.destroy()


@pytest.mark.parametrize("kind", KINDS)
def test_a_coroutine_is_cancelled_by_its_key_and_its_owner(kind: Kind) -> None:
    async def main() -> None:
        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(True)

        cleaned: list[bool] = []
        with kind() as queue, inturn.Owner() as owner:
            cancels: list[tuple[inturn.Options, Callable[[], object]]] = [
                (queue.options(key="key"), lambda: queue.cancel("key")),
                (queue.options(owner=owner), owner.close),
            ]
            for options, cancel in cancels:
                begun = asyncio.Event()
                running = options.run(work)
                await begun.wait()
                cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
        assert cleaned == [True, True]

    run(main)


@pytest.mark.parametrize("kind", KINDS)
def test_a_coroutine_that_takes_too_long_is_cancelled_and_has_timed_out(kind: Kind) -> None:
    async def main() -> None:
        async def work(is_stubborn: bool) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not is_stubborn:
                    raise
            return "end"

        with kind() as queue:
            for is_stubborn in (False, True):
                with pytest.raises(inturn.TimedOutError):
                    await queue.options(max_run=0.01).run(work, is_stubborn)
            queue.suspend()
            with pytest.raises(inturn.TimedOutError):
                await queue.options(max_wait=0.01).run(work, False)
            queue.resume()
            assert queue.statistics().timed_out == 3

    run(main)
