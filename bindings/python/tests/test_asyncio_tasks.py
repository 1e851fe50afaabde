"""A coroutine in a queue is a task of its own, like those that asyncio makes."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
import weakref
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Callable

import pytest

import inturn
from support import LIMIT, run

Kind = Callable[[], inturn.Queue]
KINDS = [inturn.FIFOQueue, inturn.OperationQueue, inturn.ActorQueue]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Kind:
    """A kind of queue that runs coroutines."""
    made: Kind = request.param
    return made


async def number(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def forever() -> None:
    await asyncio.Event().wait()


class Waiting:
    """A task that waits for something, and what it was cancelled with."""

    def __init__(self, wait: Callable[[], Any]) -> None:
        self.task = asyncio.ensure_future(self._wait(wait))
        self.told: Any = None

    async def _wait(self, wait: Callable[[], Any]) -> None:
        try:
            await wait()
        except asyncio.CancelledError as error:
            self.told = error.args
            raise

    async def cancel(self, *message: str) -> Any:
        await asyncio.sleep(0.01)
        self.task.cancel(*message)
        await asyncio.wait([self.task])
        return self.told


def test_the_loops_own_factory_makes_the_task(kind: Kind) -> None:
    class Task(asyncio.Task):  # type: ignore[type-arg]
        pass

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda loop, coroutine, **more: Task(coroutine, loop=loop, **more))
        seen: list[object] = []

        async def work() -> None:
            seen.append(asyncio.current_task())

        with kind() as queue:
            tasks: list[asyncio.Task[None]] = [queue.run(work) for _ in range(3)]
            await asyncio.gather(*tasks)
            while queue.statistics().running:
                await asyncio.sleep(0)
        assert seen == tasks
        assert {type(task) for task in tasks} == {Task}

    run(main)


def test_a_factory_that_fails_leaves_nothing_in_the_queue(kind: Kind) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise LookupError

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with kind() as queue:
            loop.set_task_factory(fail)
            with pytest.raises(LookupError):
                queue.run(number, 1)
            loop.set_task_factory(None)
            assert await queue.run(number, 2) == 2
            while queue.statistics().running:
                await asyncio.sleep(0)

    run(main)


def test_in_debug_mode_a_task_names_the_line_that_made_it() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            task: Any = queue.run(number, 1)
            assert task._source_traceback[-1].filename == __file__
            await task

    run(main)


def eager(loop: Any, coroutine: Any, **options: Any) -> Any:
    """Like asyncio's own, which does not accept uvloop's arguments in Python 3.13.0 to 3.13.2."""
    return asyncio.Task(coroutine, loop=loop, **{**options, "eager_start": True})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no eager tasks before Python 3.12")
def test_a_factory_may_be_eager(kind: Kind) -> None:
    async def at_once(value: int) -> int:
        return value

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(eager)
        with kind() as queue:
            for function in (at_once, number):
                tasks = [queue.run(function, value) for value in range(30)]
                for task in tasks[::3]:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                assert ended[1::3] == list(range(1, 30, 3))
            loop.set_task_factory(None)
            while queue.statistics().running:
                await asyncio.sleep(0)

    run(main)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no eager tasks before Python 3.12")
def test_a_ring_of_eager_tasks_is_refused() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(eager)
        with inturn.FIFOQueue("one") as queue:

            async def outer() -> None:
                await queue.run(number, 1)

            with pytest.raises(inturn.DeadlockError):
                await queue.run(outer)
            assert queue.statistics().pending == 0

    run(main)


def test_a_task_that_is_cancelled_before_its_first_step_never_runs(kind: Kind) -> None:
    async def main() -> None:
        with kind() as queue:
            task = queue.run(number, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await queue.run(number, 2) == 2
            while queue.statistics().running:
                await asyncio.sleep(0)

    run(main)


def test_what_who_cancels_says_comes_through(kind: Kind) -> None:
    async def main() -> None:
        inside: list[Any] = []
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await forever()
            except asyncio.CancelledError as error:
                inside.append(error.args)
                raise

        async def enter() -> None:
            async with queue:
                pass

        # The messages of a task that waits for another one, which are lost before Python 3.11.
        usual = await Waiting(lambda: asyncio.ensure_future(forever())).cancel("because")
        queue = kind()
        running = Waiting(lambda: queue.run(work))
        await begun.wait()
        assert await running.cancel("because") == usual
        assert inside == [("because",)]
        queue.suspend()
        assert await Waiting(lambda: queue.run(work)).cancel("because") == usual
        if kind is not inturn.ActorQueue:
            assert await Waiting(enter).cancel("because") == ("because",)
        queue.destroy()

    run(main)


def test_a_late_cancel_of_a_task_that_is_over_concerns_nobody_else() -> None:
    async def main() -> None:
        async def first() -> str:
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_later(0.02, task.cancel)
            return "first"

        async def second() -> str:
            await asyncio.sleep(0.05)
            return "second"

        with inturn.FIFOQueue() as queue:
            ended = await asyncio.gather(queue.run(first), queue.run(second))
            assert list(ended) == ["first", "second"]

    run(main)


def test_a_stop_iteration_of_the_function_is_no_result(kind: Kind) -> None:
    async def main() -> None:
        empty: Any = iter(())
        loop = asyncio.get_running_loop()
        with kind() as queue:
            waits: list[Any] = [queue.run(lambda: number(next(empty)))]
            if kind is not inturn.ActorQueue:
                sent = queue.run_on(loop, lambda: number(next(empty)))
                waits.append(asyncio.wrap_future(sent))
            for wait in waits:
                with pytest.raises(RuntimeError, match="StopIteration"):
                    await wait
            while queue.statistics().failed != len(waits):
                await asyncio.sleep(0)

    run(main)


def test_a_coroutine_may_raise_what_ends_generators(kind: Kind) -> None:
    async def leave() -> None:
        await asyncio.sleep(0)
        raise GeneratorExit

    async def main() -> None:
        with kind() as queue:
            task = queue.run(leave)
            ended = asyncio.Event()
            task.add_done_callback(lambda _: ended.set())
            await ended.wait()  # awaiting the task would also end this coroutine
            assert isinstance(task.exception(), GeneratorExit)
            assert await queue.run(number, 1) == 1
            while queue.statistics().running:
                await asyncio.sleep(0)

    run(main)


def test_a_block_may_be_left_in_another_task_than_it_was_entered_in() -> None:
    async def main() -> None:
        queue = inturn.FIFOQueue()
        others: list[str] = []

        async def session() -> AsyncIterator[int]:
            async with queue:
                yield 1
                yield 2

        async def other() -> None:
            async with queue:
                others.append("in")

        async def step() -> int:
            item: int = await steps.__anext__()
            return item

        steps: Any = session()
        assert await asyncio.ensure_future(step()) == 1
        gc.collect()  # the task that has entered the block is gone
        waiting = asyncio.ensure_future(other())
        await asyncio.sleep(0.01)
        assert others == []
        await steps.aclose()
        await waiting
        with pytest.raises(RuntimeError, match="no task is inside"):
            await queue.__aexit__(None, None, None)
        queue.drain(LIMIT)
        queue.destroy()

    run(main)


def test_each_task_leaves_its_own_block() -> None:
    async def main() -> None:
        with inturn.OperationQueue(max_concurrent=3) as queue:
            failing = asyncio.Event()

            async def fail() -> None:
                async with queue:
                    await failing.wait()
                    raise LookupError

            async def enter() -> None:
                async with queue:
                    pass

            task = asyncio.ensure_future(fail())
            await asyncio.sleep(0)
            await enter()
            assert queue.statistics().running == 1
            failing.set()
            with pytest.raises(LookupError):
                await task
            told = queue.statistics()
            assert (told.finished, told.failed) == (1, 1)

    run(main)


def test_the_end_of_a_loop_starts_nothing_more(kind: Kind) -> None:
    started: list[int] = []
    queue = kind()
    if isinstance(queue, inturn.OperationQueue):
        queue.max_concurrent = 1

    async def work(number: int) -> None:
        started.append(number)
        await forever()

    async def main() -> None:
        for number in range(8):
            queue.run(work, number)
        while not started:
            await asyncio.sleep(0)

    run(main)
    before = len(started)
    queue.drain(LIMIT)
    queue.destroy()
    assert len(started) == before
    assert isinstance(queue, inturn.ActorQueue) or before == 1


def test_a_loop_that_is_closed_while_a_coroutine_runs_leaves_the_queue_to_others(
    kind: Kind,
) -> None:
    queue = kind()
    begun: list[int] = []

    async def work(number: int) -> None:
        begun.append(number)
        await forever()

    async def main() -> None:
        for number in range(3):
            queue.run(work, number)
        if not isinstance(queue, inturn.ActorQueue):
            task = asyncio.ensure_future(queue.__aenter__())  # nobody will leave it
            await asyncio.sleep(0)
            task.add_done_callback(lambda _: None)
        while not begun:
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loop.set_exception_handler(lambda *_: None)  # silences destroyed tasks
        loop.close()
        queue.drain(LIMIT)
        del loop
        gc.collect()
    assert queue.enqueue(lambda token: token.finish()).wait(LIMIT).outcome == 1
    told = queue.statistics()
    assert (told.pending, told.running) == (0, 0)
    queue.destroy()


def test_what_a_coroutine_raised_goes_with_who_was_told() -> None:
    class Payload:
        pass

    async def fail(payload: Payload) -> None:
        raise LookupError

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            for first in (True, False):
                payload = Payload()
                gone = weakref.ref(payload)
                if not first:
                    other = queue.run(number, 1)
                with suppress(LookupError):
                    await queue.run(fail, payload)
                del payload
                if not first:
                    await other
                await asyncio.sleep(0.01)
                assert gone() is None

    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()
