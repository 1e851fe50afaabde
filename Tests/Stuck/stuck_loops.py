"""Programs that are stuck in loops of coroutines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import anyio
import inturn
import trio
from stuck_fixture import (
    IN_CALL,
    LATER,
    NOT_FINISHED,
    forever,
    kept,
    new,
    nothing,
    runs,
    sleep,
    stuck,
)


@stuck(f"?@network: {NOT_FINISHED}")
@runs
async def coroutine_awaits_for_ever() -> None:
    await inturn.FIFOQueue("network").run(forever)


@stuck(f"?@network: {NOT_FINISHED}")
@runs
async def turn_of_async_with_is_not_given_back() -> None:
    network = inturn.FIFOQueue("network")
    async with network:
        await forever()


@stuck(f"?@network: {NOT_FINISHED}")
@runs
async def another_waits_for_a_coroutine() -> None:
    network = inturn.FIFOQueue("network")
    kept.append(network.run(forever))
    await network.run(nothing)


@new(f"load@network: {NOT_FINISHED}")
@runs
async def coroutine_is_never_awaited() -> None:
    network = inturn.FIFOQueue("network")

    async def load(token: inturn.Token) -> None:
        token.finish()

    network.options(label="load").enqueue(lambda token: kept.append(load(token)))
    await network.drained()


@stuck(f"load@network: {NOT_FINISHED}")
@runs
async def kept_token_is_awaited() -> None:
    network = inturn.FIFOQueue("network")
    await network.options(label="load").enqueue(kept.append)


@stuck(f"load@network: {NOT_FINISHED}")
@runs
async def drained_is_awaited() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(kept.append)
    await network.drained()


@stuck("@uploads: it is suspended")
@runs
async def run_of_a_suspended_queue_is_awaited() -> None:
    uploads = inturn.FIFOQueue("uploads")
    uploads.suspend()
    await uploads.run(nothing)


@stuck(LATER)
@runs
async def loop_is_blocked() -> None:
    network = inturn.FIFOQueue("network")
    kept.append(network.run(nothing))
    sleep()


@stuck("refused: DeadlockError")
@runs
async def loop_drains_what_it_has_to_run() -> None:
    network = inturn.FIFOQueue("network")
    kept.append(network.run(forever))
    await asyncio.sleep(0)
    network.drain()


@stuck("refused: DeadlockError")
@runs
async def turn_waits_for_the_next_turn() -> None:
    network = inturn.FIFOQueue("network")
    async with network:
        await network.run(nothing)


@stuck("refused: DeadlockError")
@runs
async def two_turns_wait_for_each_other() -> None:
    left, right = inturn.FIFOQueue("left"), inturn.FIFOQueue("right")
    both = asyncio.Barrier(2)

    async def take(first: inturn.Queue, second: inturn.Queue) -> None:
        async with first:
            await both.wait()
            async with second:
                pass

    await asyncio.gather(take(left, right), take(right, left))


@new(f"?@left: {NOT_FINISHED}")
@runs
async def turn_waits_for_a_task_that_wants_it() -> None:
    left = inturn.FIFOQueue("left")

    async def want() -> None:
        async with left:
            pass

    async with left:
        await asyncio.create_task(want())


@new(f"?@left: {NOT_FINISHED}")
@runs
async def task_group_inside_a_turn() -> None:
    left = inturn.FIFOQueue("left")

    async def want() -> None:
        async with left:
            pass

    async with left, asyncio.TaskGroup() as group:
        group.create_task(want())


@new(f"?@network: {NOT_FINISHED}")
@runs
async def coroutine_gathers_what_comes_after_it() -> None:
    network = inturn.FIFOQueue("network")

    async def all_at_once() -> None:
        await asyncio.gather(network.run(nothing), asyncio.sleep(0))

    await network.run(all_at_once)


@new("refused: DeadlockError")
@runs
async def generator_is_not_closed_in_its_turn() -> None:
    network = inturn.FIFOQueue("network")

    async def pages() -> AsyncIterator[int]:
        async with network:
            yield 1

    generator = pages()
    async for _ in generator:
        break
    await network.run(nothing)


@new(f"?@network: {IN_CALL}")
@runs
async def thread_of_the_loop_waits_in_a_call() -> None:
    network = inturn.FIFOQueue("network")
    loop = asyncio.get_running_loop()

    def ask() -> None:
        asyncio.run_coroutine_threadsafe(forever(), loop).result()

    await asyncio.wrap_future(network.submit(ask))


@new(f"?@room >> ?@hall: {NOT_FINISHED}")
@runs
async def actor_awaits_another_one_for_ever() -> None:
    room, hall = inturn.ActorQueue("room"), inturn.ActorQueue("hall")

    async def talk() -> None:
        await hall.run(forever)

    await room.run(talk)


@new(f"?@network: {NOT_FINISHED}")
@runs
async def cancelled_coroutine_goes_on() -> None:
    network = inturn.FIFOQueue("network")

    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await forever()

    task = network.run(stubborn)
    await asyncio.sleep(0.01)
    task.cancel()
    await network.run(nothing)


@new(f"?@network: {NOT_FINISHED}")
def turn_of_trio_is_not_given_back() -> None:
    async def main() -> None:
        network = inturn.FIFOQueue("network")
        async with network:
            await trio.sleep_forever()

    trio.run(main)


@new(f"?@network: {NOT_FINISHED}")
def nursery_waits_for_a_turn() -> None:
    async def main() -> None:
        network = inturn.FIFOQueue("network")

        async def want() -> None:
            async with network:
                pass

        async with network, trio.open_nursery() as nursery:
            nursery.start_soon(want)

    trio.run(main)


@new(f"?@network: {NOT_FINISHED}")
def anyio_task_waits_for_a_turn() -> None:
    async def main() -> None:
        network = inturn.FIFOQueue("network")

        async def want() -> None:
            async with network:
                pass

        async with network, anyio.create_task_group() as group:
            group.start_soon(want)

    anyio.run(main)
