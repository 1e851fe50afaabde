"""What `Queue.run` returns is accepted where asyncio asks for a coroutine, and behaves like one."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Callable, Union

import pytest

import inturn
from support import run

Face = Union[inturn.Queue, inturn.Options]
FACES: dict[str, Callable[[inturn.Queue], Face]] = {
    "FIFOQueue": lambda queue: queue,
    "FIFOQueue with options": lambda queue: queue.options(label="a save"),
    "ActorQueue": lambda queue: queue,
}


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> Face:
    """A queue that runs coroutines, with and without options."""
    kind = request.param.split()[0]
    return FACES[request.param](getattr(inturn, kind)(kind))


async def number(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def forever() -> None:
    await asyncio.Event().wait()


def test_a_task_is_made_of_what_run_returns(face: Face) -> None:
    async def main() -> None:
        running = face.run(number, 1)
        assert await asyncio.create_task(running) == 1
        assert await asyncio.create_task(running) == 1, "as a task, it may be awaited again"
        ends = asyncio.create_task(face.run(forever))
        await asyncio.sleep(0)
        ends.cancel("because")
        with pytest.raises(asyncio.CancelledError):
            await ends

    run(main)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no groups before Python 3.11")
def test_a_group_takes_what_run_returns(face: Face) -> None:
    async def main() -> None:
        Group: Any = getattr(asyncio, "TaskGroup", None)
        async with Group() as group:
            tasks = [group.create_task(face.run(number, value)) for value in range(3)]
        assert [task.result() for task in tasks] == [0, 1, 2]

    run(main)


def test_a_task_that_is_cancelled_before_its_first_step_cancels_the_coroutine(face: Face) -> None:
    ended: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await forever()
            finally:
                await asyncio.sleep(0)  # cleans up
                ended.append("cleaned up")

        running = face.run(work)
        await begun.wait()
        task = asyncio.create_task(running)
        task.cancel("because")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["cleaned up"], "the task has waited for it"
        assert running.cancelled()

    run(main)


def test_a_pending_coroutine_that_is_closed_never_runs(face: Face) -> None:
    async def main() -> None:
        face._queue.suspend()
        pending = face.run(number, 1)
        await asyncio.sleep(0)
        pending.close()
        with pytest.raises(asyncio.CancelledError):
            await pending
        assert face._queue.statistics().pending == 0
        face._queue.resume()
        over = face.run(number, 2)
        assert await over == 2
        over.close()
        assert over.result() == 2

    run(main)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no groups before Python 3.11")
def test_a_group_that_fails_leaves_nothing_in_the_queue(face: Face) -> None:
    ran: list[int] = []

    async def append() -> None:
        ran.append(1)

    async def fail() -> None:
        raise LookupError

    async def begin_all() -> None:
        Group: Any = getattr(asyncio, "TaskGroup", None)
        async with Group() as group:
            group.create_task(fail())
            await asyncio.sleep(0)
            for _ in range(2):
                group.create_task(face.run(append))

    async def main() -> None:
        face._queue.suspend()
        with pytest.raises(Exception, match="errors in a TaskGroup") as caught:
            await begin_all()
        assert [type(each) for each in getattr(caught.value, "exceptions", ())] == [LookupError]
        assert face._queue.statistics().pending == 0
        face._queue.resume()
        await face.run(number, 1)
        assert ran == []

    run(main)
