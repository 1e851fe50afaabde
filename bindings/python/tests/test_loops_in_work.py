"""A loop that work runs: the work ends only when the loop's main task goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Callable

import pytest
import trio

import inturn
from inturn import FIFOQueue, Queue
from support import LIMIT, Gate, each, finish, ring_of


async def number() -> int:
    return 1


async def run(queue: Queue) -> None:
    await queue.run(number)


async def run_with_options(queue: Queue) -> None:
    await queue.options(label="number").run(number)


async def block(queue: Queue) -> None:
    async with queue:
        pass


async def operation(queue: Queue) -> None:
    await queue.enqueue(finish)


async def drained(queue: Queue) -> None:
    await queue.drained()


async def future(queue: Queue) -> None:
    await asyncio.wrap_future(queue.submit(int))


async def through_a_turn(queue: Queue) -> None:
    with FIFOQueue("other") as other:
        await other.run(run, queue)


WAYS = [run, run_with_options, block, operation, drained]
ASYNCIO = [future, through_a_turn]
RINGS: dict[Any, str] = {through_a_turn: "other -> queue -> other"}
Way = Callable[[Queue], Coroutine[Any, Any, None]]


def by_asyncio(way: Way, queue: Queue) -> None:
    asyncio.run(way(queue))


def by_a_loop_that_has_run_before(way: Way, queue: Queue) -> None:
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(number())
        loop.run_until_complete(way(queue))
    finally:
        loop.close()


def by_uvloop(way: Way, queue: Queue) -> None:
    pytest.importorskip("uvloop").run(way(queue))


def by_a_loop_of_uvloop(way: Way, queue: Queue) -> None:
    loop = pytest.importorskip("uvloop").new_event_loop()
    try:
        loop.run_until_complete(way(queue))
    finally:
        loop.close()


def by_trio(way: Way, queue: Queue) -> None:
    trio.run(way, queue)


RUNNERS = [
    by_asyncio,
    by_a_loop_that_has_run_before,
    by_uvloop,
    by_a_loop_of_uvloop,
    by_trio,
]
CASES = [(runner, way) for way in WAYS for runner in RUNNERS] + [
    (by_asyncio, way) for way in ASYNCIO
]


@pytest.mark.parametrize(("runner", "way"), CASES)
def test_what_waits_for_its_own_queue_is_refused(
    runner: Callable[[Way, Queue], None], way: Way
) -> None:
    queue = FIFOQueue("queue")
    error = queue.submit(runner, way, queue).exception(LIMIT)
    assert error is not None
    assert ring_of(error) == RINGS.get(way, "queue -> queue")
    queue.destroy()


@pytest.mark.parametrize("way", [Queue.post, Queue.submit, "enqueue", "a coroutine's queue"])
def test_work_of_each_kind_is_known(way: Any) -> None:
    queue, told = FIFOQueue("queue"), Gate("the refusal")
    errors: list[BaseException] = []

    def work(*_: object) -> None:
        try:
            asyncio.run(run(queue))
        except inturn.DeadlockError as error:
            errors.append(error)
        told.open()

    async def hand_on() -> None:
        queue.run(number).cancel()  # so that the queue is this loop's, which hands the function on
        queue.post(work)
        await asyncio.to_thread(told.wait)

    if way == "enqueue":
        queue.enqueue(each(work, finish))
    elif callable(way):
        way(queue, work)
    else:
        asyncio.run(hand_on())
    told.wait()
    assert ring_of(*errors) == "queue -> queue"
    queue.drain(LIMIT)
    queue.destroy()


def test_work_that_a_thread_drains_is_known() -> None:
    with inturn.Executor() as executor, FIFOQueue("queue", executor=executor) as queue:
        future = queue.submit(by_asyncio, run, queue)
        executor.drain()
        assert isinstance(future.exception(LIMIT), inturn.DeadlockError)
        queue.destroy()


def test_a_task_that_the_run_does_not_wait_for_may_wait() -> None:
    queue = FIFOQueue("queue")

    async def main() -> str:
        waiting = asyncio.create_task(run(queue))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "waits" if not waiting.done() else repr(waiting)

    assert queue.submit(asyncio.run, main()).result(LIMIT) == "waits"
    queue.drain(LIMIT)
    queue.destroy()


def test_work_may_wait_for_another_queue() -> None:
    with FIFOQueue("queue") as queue, FIFOQueue("other") as other:
        for runner in RUNNERS:
            queue.submit(runner, run, other).result(LIMIT)
