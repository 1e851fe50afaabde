"""Waits that a loop could never end are refused: the coroutine's own, and those of its thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Callable, Union

import pytest

import inturn
from support import LIMIT, Gate, ring_of, run

OneAtATime = Union[inturn.FIFOQueue, inturn.OperationQueue]


@pytest.fixture(params=["FIFOQueue", "OperationQueue"])
def one(request: pytest.FixtureRequest) -> OneAtATime:
    """A queue that runs one operation at a time."""
    if request.param == "FIFOQueue":
        return inturn.FIFOQueue("one")
    return inturn.OperationQueue("one", max_concurrent=1)


async def nothing() -> None:
    pass


async def enter(queue: inturn.Queue) -> None:
    async with queue:
        pass


def test_a_turn_of_the_queue_is_refused_to_who_has_its_only_place(one: OneAtATime) -> None:
    async def wait_in_executor() -> None:
        await asyncio.get_running_loop().run_in_executor(one, int)

    async def wait_for_future() -> None:
        await asyncio.wrap_future(one.submit(int))

    waits: list[Callable[[], Coroutine[Any, Any, None]]] = [
        lambda: enter(one),
        lambda: _run(one),
        wait_in_executor,
        wait_for_future,
    ]

    async def main() -> None:
        for wait in waits:
            with pytest.raises(inturn.DeadlockError) as caught:
                async with one:
                    await wait()
            assert ring_of(caught.value) == "one -> one"
            with pytest.raises(inturn.DeadlockError):
                await one.run(wait)
            assert one.statistics().pending == 0, "what was refused has left nothing"
        await one.run(nothing)
        await wait_in_executor()

    run(main)
    one.destroy()


async def _run(queue: inturn.Queue) -> None:
    await queue.run(nothing)


def test_a_turn_that_is_awaited_later_is_refused_to_who_has_the_only_place(
    one: OneAtATime,
) -> None:
    async def late() -> None:
        behind = one.run(nothing)
        await asyncio.sleep(0.01)
        with pytest.raises(inturn.DeadlockError) as caught:
            await behind
        assert ring_of(caught.value) == "one -> one"
        assert behind.cancel()

    async def main() -> None:
        await one.run(late)
        async with one:
            await late()
        # A caller without a turn may wait; one with a turn may wait for what is already running.
        behind = one.run(asyncio.sleep, 0.01)
        await asyncio.sleep(0)
        await behind

    run(main)
    one.drain(LIMIT)
    one.destroy()


def test_a_ring_that_two_coroutines_close_late_is_refused() -> None:
    async def main() -> None:
        queues = [inturn.FIFOQueue("one"), inturn.FIFOQueue("two")]
        both = asyncio.Event()

        async def wait(mine: int) -> str:
            behind = queues[1 - mine].run(nothing)
            if mine:
                both.set()
            await both.wait()
            await asyncio.sleep(0.01)
            try:
                await behind
            except inturn.DeadlockError as error:
                behind.cancel()
                return ring_of(error)
            return "ran"

        ended = await asyncio.gather(*(queues[mine].run(wait, mine) for mine in (0, 1)))
        assert sorted(ended) == ["one -> two -> one", "ran"]
        for queue in queues:
            queue.destroy()

    run(main)


def test_a_concurrent_queue_is_refused_when_all_of_its_places_wait_for_it() -> None:
    async def main() -> None:
        queue = inturn.OperationQueue("three", max_concurrent=3)
        inside = 0
        all_inside = asyncio.Event()

        async def nested() -> str:
            nonlocal inside
            inside += 1
            if inside == 3:
                all_inside.set()
            await all_inside.wait()
            try:
                await queue.run(nothing)
            except inturn.DeadlockError:
                return "refused"
            return "ran"

        # The last wait is refused; then there is a place for the others.
        assert sorted(await asyncio.gather(*(queue.run(nested) for _ in range(3)))) == [
            "ran",
            "ran",
            "refused",
        ]
        # One of three places is free
        async with queue, queue:
            await queue.run(nothing)
            queue.max_concurrent = 2
            with pytest.raises(inturn.DeadlockError):
                await queue.run(nothing)
            queue.max_concurrent = 3
            await queue.run(nothing)
        queue.destroy()

    run(main)


def test_a_ring_through_concurrent_queues_is_refused() -> None:
    async def main() -> None:
        one = inturn.OperationQueue("one", max_concurrent=1)
        two = inturn.OperationQueue("two", max_concurrent=1)

        async def inner() -> None:
            await one.run(nothing)

        async def outer() -> None:
            await two.run(inner)

        with pytest.raises(inturn.DeadlockError) as caught:
            await one.run(outer)
        assert ring_of(caught.value) == "two -> one -> two"
        one.destroy()
        two.destroy()

    run(main)


def _leave_with(queue: OneAtATime) -> None:
    with queue:
        queue.run(nothing_but_a_pause)


async def nothing_but_a_pause() -> None:
    await asyncio.sleep(0)


# Each is called on the loop's thread, and needs a turn of the loop.
BLOCKING: dict[str, Callable[[OneAtATime], object]] = {
    "drain": lambda queue: (queue.run(nothing_but_a_pause), queue.drain()),
    "drain with a limit": lambda queue: (queue.run(nothing_but_a_pause), queue.drain(LIMIT)),
    "shutdown": lambda queue: (queue.run(nothing_but_a_pause), queue.shutdown()),
    "with": _leave_with,
    "wait": lambda queue: (queue.run(nothing_but_a_pause), queue.enqueue(_end).wait()),
    "batch": lambda queue: (queue.run(nothing_but_a_pause), queue.batch([_end]).wait()),
    "result": lambda queue: (queue.run(nothing_but_a_pause), queue.submit(int).result()),
    "exception": lambda queue: (queue.run(nothing_but_a_pause), queue.submit(int).exception()),
    "map": lambda queue: (queue.run(nothing_but_a_pause), list(queue.map(int, [1]))),
    "run_on": lambda queue: queue.run_on(asyncio.get_running_loop(), nothing_but_a_pause).result(),
}


def _end(token: inturn.Token) -> None:
    token.finish()


@pytest.mark.parametrize("name", BLOCKING)
def test_a_wait_that_blocks_the_loop_is_refused(name: str, one: OneAtATime) -> None:
    async def main() -> None:
        with pytest.raises(inturn.DeadlockError) as caught:
            BLOCKING[name](one)
        assert ring_of(caught.value) == "one -> one"

    run(main)
    one.drain(LIMIT)
    one.destroy()


@pytest.mark.parametrize("name", ["wait", "batch", "result", "exception", "map"])
def test_a_wait_that_blocks_the_loop_is_refused_inside_a_block(name: str, one: OneAtATime) -> None:
    async def main() -> None:
        async with one:
            with pytest.raises(inturn.DeadlockError):
                BLOCKING[name](one)

    run(main)
    one.drain(LIMIT)
    one.destroy()


def test_a_turn_that_comes_while_the_loop_is_blocked_is_seen(one: OneAtATime) -> None:
    let_go = Gate("the loop to wait")

    async def main() -> None:
        one.submit(let_go.wait)
        one.run(nothing)  # not yet, as the function is running
        behind = one.submit(let_go.open)
        one.resume()
        threading.Thread(target=let_go.open).start()
        with pytest.raises(inturn.DeadlockError):
            behind.result(LIMIT)

    one.suspend()
    run(main)
    one.drain(LIMIT)
    one.destroy()


def test_a_loop_that_does_not_run_any_more_holds_its_thread_up_as_well(one: OneAtATime) -> None:
    loop = asyncio.new_event_loop()

    async def main() -> None:
        one.run(asyncio.sleep, LIMIT)
        await asyncio.sleep(0)

    loop.run_until_complete(main())
    with pytest.raises(inturn.DeadlockError):
        one.drain()
    with pytest.raises(inturn.DeadlockError):
        one.submit(int).result()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    one.drain(LIMIT)
    one.destroy()


def test_a_wait_for_what_needs_no_loop_may_block_it(one: OneAtATime) -> None:
    async def main() -> None:
        await one.run(nothing)
        assert one.submit(int).result(LIMIT) == 0
        assert one.enqueue(_end).wait(LIMIT).outcome is inturn.Outcome.FINISHED
        before = one.submit(int)
        later = one.run(nothing)
        assert before.result(LIMIT) == 0
        await later
        one.drain(LIMIT)
        with inturn.OperationQueue(max_concurrent=2) as two:
            async with two:
                assert two.submit(int).result(LIMIT) == 0
                assert await asyncio.get_running_loop().run_in_executor(two, int) == 0

    run(main)
    one.destroy()


def test_a_wait_without_time_just_asks(one: OneAtATime) -> None:
    async def main() -> None:
        async with one:
            with pytest.raises(inturn.TimedOutError):
                one.drain(0)
            with pytest.raises(inturn.TimedOutError):
                one.enqueue(_end).wait(0)

    run(main)
    one.drain(LIMIT)
    one.destroy()


def test_an_actor_in_a_segment_holds_the_loop_up_and_its_end_does_not() -> None:
    async def main() -> None:
        actor = inturn.ActorQueue("actor")
        running = actor.run(nothing_but_a_pause)
        with pytest.raises(inturn.DeadlockError):
            actor.drain()
        with pytest.raises(inturn.DeadlockError):
            actor.enqueue(_end).wait()
        await running
        actor.run(nothing_but_a_pause)
        actor.destroy()  # waits for no segment that needs the loop

    run(main)


def test_an_actors_coroutine_cannot_wait_for_its_own_end() -> None:
    async def main() -> None:
        async def wait() -> None:
            await asyncio.sleep(0)
            await actor.enqueue(_end)  # runs between two segments
            for all_of_it in (actor.drained, actor.closed):
                with pytest.raises(inturn.DeadlockError):
                    await all_of_it()

        actor = inturn.ActorQueue("actor")
        await actor.run(wait)
        await actor.drained()

    run(main)


@pytest.mark.parametrize("with_options", [False, True])
def test_a_late_await_is_refused_where_a_factory_makes_the_tasks(with_options: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        if not with_options:
            loop.set_task_factory(
                lambda loop, made, **given: asyncio.Task(made, loop=loop, **given)
            )
        with inturn.FIFOQueue("one") as queue:
            face = queue.options(label="a") if with_options else queue

            async def late() -> None:
                pending = face.run(nothing)
                await asyncio.sleep(0.01)
                with pytest.raises(inturn.DeadlockError) as caught:
                    await pending
                assert ring_of(caught.value) == "one -> one"

            await face.run(late)
            await face.run(nothing)

    run(main)


def test_a_thread_that_closes_a_ring_with_a_coroutine_is_refused() -> None:
    async def main() -> None:
        loop, waits = asyncio.get_running_loop(), Gate("the coroutine's wait")
        refused: list[str] = []
        with inturn.FIFOQueue("threads") as threads, inturn.FIFOQueue("tasks") as tasks:

            def wait(token: inturn.Token) -> None:
                waits.wait()
                with pytest.raises(inturn.DeadlockError) as caught:
                    running.result(LIMIT)
                refused.append(ring_of(caught.value))
                token.finish()

            async def await_it() -> None:
                loop.call_soon(waits.open)
                await operation

            operation = threads.enqueue(wait)
            running = tasks.run_on(loop, await_it)
            await asyncio.wrap_future(running)
            assert refused == ["threads -> tasks -> threads"]

    run(main)


async def _enter(queue: inturn.FIFOQueue) -> None:
    async with queue:
        pass


@pytest.mark.parametrize("begin", [lambda it: it.enqueue(_end), lambda it: it.run(nothing), _enter])
def test_a_coroutine_that_closes_a_ring_with_a_thread_is_refused(begin: Any) -> None:
    async def main() -> None:
        with inturn.FIFOQueue("threads") as threads, inturn.FIFOQueue("tasks") as tasks:

            async def await_it() -> str:
                threads.submit(lambda: running.result(LIMIT))
                while all(entry.kind is not inturn.EntryKind.WAIT for entry in inturn.snapshot()):
                    await asyncio.sleep(0)
                with pytest.raises(inturn.DeadlockError) as caught:
                    await begin(threads)
                return ring_of(caught.value)

            running = tasks.run_on(asyncio.get_running_loop(), await_it)
            assert await asyncio.wrap_future(running) == "tasks -> threads -> tasks"
            await threads.drained()

    run(main)
