"""Reports of what is stuck name the task or the thread that is to end it, and its place."""

from __future__ import annotations

import asyncio
import functools
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import pytest
import trio
import trio.testing

import holding
import inturn
from holding import at, hold, holders
from inturn import _diagnosis, _holders
from support import LIMIT, Gate, each, finish, run, run_trio, until


async def waits_for(future: asyncio.Future[None], *kept: Any) -> None:
    await future
    for token in kept:
        token.finish()


def test_a_task_that_has_the_token_is_named() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        with inturn.FIFOQueue("uploads") as queue:
            operation, tokens = hold(queue, lambda token: [token])

            async def outer() -> None:
                await waits_for(future, tokens.pop())

            task = asyncio.create_task(outer(), name="loading")
            await asyncio.sleep(0)
            assert f'task "loading" at {at(waits_for, 1)}' in holders(operation)
            future.set_result(None)
            await task

    run(main)


def test_a_timer_of_a_loop_is_named() -> None:
    async def main() -> None:
        with inturn.FIFOQueue("uploads") as queue:
            operation, tokens = hold(queue, lambda token: [token])
            timer = asyncio.get_running_loop().call_later(LIMIT, tokens[0].finish)
            token = weakref.ref(tokens.pop())
            assert "a bound method in a timer of an event loop" in holders(operation)
            token().finish()  # type: ignore[union-attr]
            timer.cancel()

    run(main)


@pytest.mark.parametrize("kind", [inturn.FIFOQueue, inturn.ActorQueue])
def test_a_coroutine_that_hangs_is_named_with_its_place(kind: type[inturn.Queue]) -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        with kind("saves") as queue:
            begins = asyncio.Event()

            async def hangs() -> None:
                begins.set()
                if kind is inturn.ActorQueue:
                    behind.append(queue.submit(int))
                    said.append(holders(behind[0]))
                await waits_for(future)

            behind: list[inturn.Future[int]] = []
            said: list[tuple[str, ...]] = []
            task = queue.run(hangs)
            task.set_name("saving")
            await begins.wait()
            if kind is inturn.ActorQueue:  # while a segment of it runs
                places = [f'task "saving" at {at(holders, 1)}']
            else:
                behind.append(queue.submit(int))
                await asyncio.sleep(0)  # it waits for the future
                said.append(holders(behind[0]))
                places = [f'task "saving" at {at(waits_for, 1)}']
            future.set_result(None)
            await task
            await asyncio.wrap_future(behind[0])
            assert said == [tuple(places)]

    run(main)


def test_a_coroutine_of_an_actor_queue_is_named_with_the_place_where_it_waits() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        with inturn.ActorQueue("saves") as queue, inturn.FIFOQueue("others") as others:
            task = queue.options(exclusive=["disk"]).run(waits_for, future)
            task.set_name("saving")
            behind = others.options(exclusive=["disk"]).submit(int)
            while holders(behind) != (f'task "saving" at {at(waits_for, 1)}',):
                await asyncio.sleep(0)
            future.set_result(None)
            await task
            await asyncio.wrap_future(behind)

    run(main)


async def sleeps(begins: trio.Event) -> None:
    begins.set()
    await trio.sleep_forever()


@pytest.mark.parametrize("how", ["block", "run", "nursery"])
def test_a_task_of_trio_is_named(how: str) -> None:
    async def enter(begins: trio.Event) -> None:
        async with queue:
            await sleeps(begins)

    async def wait(begins: trio.Event) -> None:
        await queue.run(sleeps, begins)

    async def main() -> None:
        begins = trio.Event()
        async with trio.open_nursery() as nursery:
            if how == "nursery":
                nursery.start_soon(queue.run, sleeps, begins, name="saving")
            else:
                nursery.start_soon(enter if how == "block" else wait, begins, name="saving")
            await begins.wait()
            await trio.testing.wait_all_tasks_blocked()
            behind = queue.submit(int)
            said = holders(behind)
            nursery.cancel_scope.cancel()
        assert len(said) == 1
        assert said[0].startswith('task "saving" at ')
        assert said[0].endswith(f", called from {at(sleeps, 2)}")
        assert behind.result(LIMIT) == 0

    with inturn.FIFOQueue("saves") as queue:
        run_trio(main)


def test_a_task_with_options_is_named() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        with inturn.FIFOQueue("saves") as queue:
            task = queue.options(retry=inturn.Retry(2)).run(waits_for, future)
            behind = queue.submit(int)
            task.set_name("saving")
            expected = f'task "saving" at {at(waits_for, 1)}'
            while holders(behind) != (expected,):
                await asyncio.sleep(0)
            future.set_result(None)
            await task
            await asyncio.wrap_future(behind)

    run(main)


def test_the_task_that_has_entered_a_queue_is_named() -> None:
    async def main() -> None:
        with inturn.FIFOQueue("saves") as queue:
            task = asyncio.current_task()
            assert task is not None
            task.set_name("entered")
            async with queue:
                behind = queue.submit(int)
                # It is running, in this call.
                assert holders(behind) == (f'task "entered" at {at(holders, 1)}',)
            await asyncio.wrap_future(behind)

    run(main)


@pytest.mark.parametrize("package", ["asyncio", "uvloop"])
def test_a_task_of_a_loop_that_was_stopped_is_named_as_such(package: str) -> None:
    async def leaves_it() -> asyncio.Task[None]:
        task = queue.run(waits_for, loop.create_future())
        await asyncio.sleep(0)
        task.set_name("left")
        return task

    loop: asyncio.AbstractEventLoop = pytest.importorskip(package).new_event_loop()
    with inturn.FIFOQueue("saves") as queue:
        loop.run_until_complete(leaves_it())
        behind = queue.submit(int)
        place = f'task "left" at {at(waits_for, 1)}'
        assert holders(behind) == (f"{place}, of a loop that does not run",)
        loop.close()
        assert behind.result(LIMIT) == 0


@contextmanager
def worker(name: str) -> Iterator[inturn.Executor]:
    with inturn.Executor() as executor:
        thread = threading.Thread(target=executor.run, name=name)
        thread.start()
        try:
            yield executor
        finally:
            executor.stop()
            thread.join(LIMIT)


def blocks(begun: Gate, event: threading.Event, *_: Any) -> None:
    begun.open()
    event.wait(LIMIT)


@pytest.mark.parametrize("how", ["submit", "post", "enqueue"])
def test_a_call_that_blocks_is_named_with_its_thread_and_place(how: str) -> None:
    event, begun = threading.Event(), [Gate("the first call"), Gate("the second call")]
    with worker("Worker-1") as one, worker("Worker-2") as two:
        queues = [inturn.FIFOQueue(executor=executor) for executor in (one, two)]
        for queue, begins in zip(queues, begun):
            call = functools.partial(blocks, begins, event)
            if how == "enqueue":
                queue.enqueue(each(call, finish))
            else:
                getattr(queue, how)(call)
            begins.wait()
        behind = [queue.submit(int) for queue in queues]
        for number, operation in enumerate(behind, 1):
            who, where = f'thread "Worker-{number}" at wait (', f"called from {at(blocks, 2)}"

            def is_named(operation: Any = operation, who: str = who, where: str = where) -> bool:
                said = holders(operation)
                return len(said) == 1 and said[0].startswith(who) and said[0].endswith(where)

            until("the call in which it waits", is_named)
        event.set()
        for queue in queues:
            queue.drain(LIMIT)
            queue.destroy()


def test_what_a_thread_is_in_lives_no_longer() -> None:
    class Work:
        def __call__(self) -> None:
            blocks(begins, event)

    with inturn.FIFOQueue("uploads") as queue:
        begins, event = Gate("the call"), threading.Event()
        gc.collect()
        gc.disable()
        try:
            work = Work()
            dead = weakref.ref(work)
            queue.post(work)
            del work
            begins.wait()
            behind = queue.submit(int)
            assert len(holders(behind)) == 1
            event.set()
            behind.result(LIMIT)
            until("the end of the call", lambda: dead() is None)
        finally:
            gc.enable()


# Where it is said ------------------------------------------------------------------------------


@contextmanager
def stalled(tell: Callable[[inturn.Report], None]) -> Iterator[None]:
    """While the handler is set, something is stuck whose token a module has."""
    told = Gate("the report")

    def tell_once(report: inturn.Report) -> None:
        if report.queue_label == "stands" and not told.is_open:
            try:
                tell(report)
            finally:
                told.open()

    inturn.set_report_handler(tell_once)
    inturn.set_stall_limit(0.05)
    try:
        with inturn.FIFOQueue("stands") as queue:
            queue.enqueue(lambda token: holding.held.update(token=token))
            queue.enqueue(finish)
            told.wait()
            yield
            holding.held.pop("token").finish()
    finally:
        inturn.set_stall_limit(0)
        inturn.set_report_handler(None)


SAID = 'a dict in variable "held" of module holding'


def test_the_report_of_a_stall_says_it() -> None:
    reports: list[inturn.Report] = []
    with stalled(reports.append):
        assert reports[0].kind is inturn.ReportKind.STALL
        assert reports[0].holders == (SAID,)
        assert SAID not in reports[0].message


def test_each_holder_is_written_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with stalled(_diagnosis.write):
        lines = capsys.readouterr().err.splitlines()
        assert lines[0].startswith("inturn: stuck for ")
        assert lines[1:] == [f"  held by {SAID}"]


def fail(*_: object) -> None:
    raise ZeroDivisionError


def test_a_report_goes_out_when_the_search_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_holders, "_search", fail)
    reports: list[inturn.Report] = []
    with stalled(reports.append):
        assert reports[0].holders == ()


def test_a_handler_that_raises_is_reported_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    seen = Gate("the exception")

    def see(told: Any) -> None:
        raised.append(told.exc_type)
        seen.open()

    monkeypatch.setattr(sys, "unraisablehook", see)
    with stalled(fail):
        seen.wait()
    assert raised == [ZeroDivisionError]
