"""Turns that trio's tasks have: how they end, whatever ends them, and what may wait for that."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Callable

import anyio
import pytest
import trio
import trio.testing

import inturn
from inturn import _trio as inturn_trio
from inturn._tokens import Handler
from support import LIMIT, Gate, finish, run_python, run_trio as run, until

Outcome = inturn.Outcome


async def give(result: object = None) -> object:
    await trio.sleep(0)
    return result


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
        begun = trio.Event()

        async def begin() -> None:
            begun.set()
            await leave()

        async def cancel(scope: trio.CancelScope) -> None:
            await begun.wait()
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()

        left = queue.options(retry=retry, on_end=ends.append).run(begin)
        async with trio.open_nursery() as nursery:
            with trio.move_on_after(LIMIT) as scope, suppress(SystemExit):
                nursery.start_soon(cancel, scope)
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


def test_a_turn_whose_operation_ended_after_it_was_dropped_reports_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    token_came, ended = Gate("the token"), Gate("the end")

    def tell() -> None:  # as a weak method does whose object is gone
        token_came.open()
        ended.wait()

    async def main() -> None:
        with inturn.ManualClock() as clock:
            queue = inturn.FIFOQueue(clock=clock)
            with monkeypatch.context() as patch:
                patch.setattr(weakref, "WeakMethod", lambda _: tell)
                late: Any = queue.options(max_run=1).run(give)
            await trio.to_thread.run_sync(token_came.wait)
            with trio.move_on_after(0):
                await late
            clock.advance(1)
            operation = late._turn._operation
            until("the end of its time", lambda: operation.state is inturn.State.ENDED)
            ended.open()
            assert await queue.run(give, "next") == "next"
            await trio.to_thread.run_sync(queue.drain, LIMIT)
            queue.destroy()

    run(main)
    assert seen == []


def test_an_end_that_is_told_when_the_run_is_over_reports_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    run_is_over = Gate("the end of trio.run")
    kept: list[object] = []
    queue = inturn.FIFOQueue()

    async def main() -> None:
        async def leave() -> None:
            scope.cancel()
            await trio.sleep_forever()

        left: Any = queue.options(on_end=run_is_over.wait).run(leave)
        kept.append(left)
        with trio.CancelScope() as scope:
            await left

    run(main)
    run_is_over.open()
    queue.drain(LIMIT)
    assert seen == []


def test_a_request_to_end_that_is_told_when_the_task_has_left_reports_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    request_came, has_left = Gate("the request"), Gate("the task to leave")

    def tell_late(handler: Handler, _bits: int) -> None:
        token = handler._current()
        request_came.open()
        has_left.wait()
        assert token is not None
        handler._handler(token)

    monkeypatch.setattr(Handler, "_tell", tell_late)

    async def main() -> None:
        queue = inturn.FIFOQueue()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_await, queue.options(key="k").run(trio.sleep_forever))
            while not queue._holders:
                await trio.sleep(0)
            queue.cancel("k")
            await trio.to_thread.run_sync(request_came.wait)
            nursery.cancel_scope.cancel()
        has_left.open()
        await trio.to_thread.run_sync(queue.drain, LIMIT)

    run(main)
    assert seen == []


async def _await(waited: Awaitable[object]) -> None:
    await waited


def wait_for_drain(queue: inturn.FIFOQueue) -> None:
    queue.drain(LIMIT / 3)


def wait_for_result(queue: inturn.FIFOQueue) -> None:
    queue.submit(int).result(LIMIT / 3)


def wait_for_end(queue: inturn.FIFOQueue) -> None:
    queue.enqueue(finish).wait(LIMIT / 3)


@pytest.mark.parametrize("wait", [wait_for_drain, wait_for_result, wait_for_end])
@pytest.mark.parametrize(
    "where", ["in a run", "in a block", "beside a block", "before one", "in none"]
)
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
            elif where == "in none":
                left = queue.run(give)  # its turn comes, and no task is there
                await refused()
                await left
            elif where == "before one":
                queue.suspend()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(stay)
                    while queue.statistics().pending == 0:
                        await trio.sleep(0)
                    queue.resume()  # the turn comes now, or while the thread waits
                    await refused()
                    nursery.cancel_scope.cancel()
            else:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(stay)
                    while not queue._holders:
                        await trio.sleep(0)
                    await refused()
                    nursery.cancel_scope.cancel()
            await trio.to_thread.run_sync(wait, queue)

    run(main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_actor_queue_has_no_block_as_it_would_exclude_nothing(backend: str) -> None:
    async def main() -> None:
        with inturn.ActorQueue("actor") as queue:
            with pytest.raises(inturn.UnsupportedError, match="'actor'> goes on at each await"):
                async with queue:
                    pytest.fail("it has entered")
            assert queue.submit(int).result(LIMIT) == 0

    anyio.run(main, backend=backend)


def test_an_actor_queue_refuses_coroutines_as_their_segments_would_overlap_others() -> None:
    async def main() -> None:
        with inturn.ActorQueue("actor") as queue:
            for face in (queue, queue.options(label="labelled")):
                with pytest.raises(inturn.UnsupportedError, match="'actor'> runs no coroutines"):
                    await face.run(give)
            assert (await queue.enqueue(finish)).outcome is Outcome.FINISHED

    run(main)


@pytest.mark.parametrize("attempts", [1, 2])
def test_an_attempt_that_is_cut_off_before_it_begins_is_not_begun(
    attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    comes: list[inturn.Token] = []
    on_cancel = inturn.Token.on_cancel

    async def main() -> None:
        calls = 0

        async def fetch() -> int:
            nonlocal calls
            calls += 1
            await trio.sleep(0)
            return calls

        def cut_off_the_first(token: inturn.Token, handler: Any) -> None:
            comes.append(token)
            if len(comes) == 1:
                clock.advance(1)
            on_cancel(token, handler)

        monkeypatch.setattr(inturn.Token, "on_cancel", cut_off_the_first)
        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
            patient = queue.options(max_run=1, retry=inturn.Retry(attempts))
            if attempts == 1:
                with pytest.raises(inturn.TimedOutError):
                    await patient.run(fetch)
            else:
                assert await patient.run(fetch) == 1
            await queue.drained()
            assert calls == attempts - 1

    run(main)
    assert len(comes) == attempts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_that_is_forked_in_a_turn_waits_for_what_it_makes() -> None:
    ended = run_python("""
import inturn, os, trio, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
async def main():
    queue = inturn.FIFOQueue()
    async with queue:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                with inturn.FIFOQueue() as new:
                    status = new.submit(lambda: 4).result(30)
                    new.drain(30)
                try:
                    await queue.__aexit__(None, None, None)
                except inturn.ForkedError:
                    status += 1
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
trio.run(main)
""")
    assert (ended.stderr, ended.returncode) == ("", 0)


def test_a_result_is_not_lost_to_who_is_cancelled_before_the_end_is_told() -> None:
    async def main() -> None:
        with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
            waiting = queue.run(give, "the result")
            executor.drain()  # the turn comes; nobody drains for the end
            assert await waiting == "the result"
            executor.drain()

    run(main)


def test_who_is_cancelled_takes_no_turn_that_has_come() -> None:
    async def main() -> None:
        called: list[bool] = []

        async def call() -> None:
            called.append(True)

        with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
            waiting = queue.run(call)
            executor.drain()
            with trio.CancelScope() as scope:
                scope.cancel()
                await waiting
            assert scope.cancelled_caught
            executor.drain()
        assert not called

    run(main)
