"""Coroutines of several loops and threads in one queue, and loops that are closed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import sys
import threading
from typing import Callable

import pytest

import inturn
from inturn._asyncio_home import Home
from support import LIMIT, Gate, each, finish, join, run, until


def test_loops_of_several_threads_share_an_order() -> None:
    inside: list[int] = []
    counts: list[int] = []
    queue = inturn.FIFOQueue()

    async def work(number: int) -> None:
        inside.append(number)
        await asyncio.sleep(0)
        assert inside == [number]
        inside.pop()
        counts.append(number)

    async def main() -> None:
        await asyncio.gather(*(queue.run(work, number) for number in range(100)))

    threads = [threading.Thread(target=run, args=(main,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    queue.drain(LIMIT)
    queue.destroy()
    assert len(counts) == 400


def test_coroutines_from_other_threads_run_in_their_order() -> None:
    trace: list[int] = []

    async def work(number: int) -> int:
        trace.append(number)
        await asyncio.sleep(0)
        return number

    async def fail() -> None:
        raise LookupError

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with inturn.FIFOQueue() as queue:

            def produce() -> None:
                futures = [queue.run_on(loop, work, number) for number in range(500)]
                assert [future.result(LIMIT) for future in futures] == list(range(500))
                assert isinstance(queue.run_on(loop, fail).exception(LIMIT), LookupError)

            await asyncio.gather(asyncio.get_running_loop().run_in_executor(None, produce))
        assert trace == list(range(500))

    run(main)


def test_cancelling_from_another_thread() -> None:
    begun = Gate("the coroutine")
    cleaned: list[bool] = []

    async def forever() -> None:
        begun.open()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with inturn.FIFOQueue() as queue:

            def produce() -> None:
                running, pending = queue.run_on(loop, forever), queue.run_on(loop, forever)
                begun.wait()
                assert pending.cancel()
                assert running.cancel()
                for future in (running, pending):
                    with pytest.raises(Exception) as caught:  # noqa: PT011
                        future.result(LIMIT)
                    assert type(caught.value).__name__ == "CancelledError"
                    assert future.cancelled()

            await loop.run_in_executor(None, produce)
        assert cleaned == [True]

    run(main)


def test_a_closed_loop_is_refused() -> None:
    async def nothing() -> None:
        pass

    loop = asyncio.new_event_loop()
    loop.close()
    with inturn.FIFOQueue() as queue:
        with pytest.raises(RuntimeError):
            queue.run_on(loop, nothing)
        with pytest.raises(RuntimeError):
            queue.run(nothing)
        assert queue.submit(int).result(LIMIT) == 0


@pytest.mark.parametrize("has_run", [False, True])
def test_a_loop_that_closes_before_it_knows_the_queue_ends_what_it_was_to_run(
    has_run: bool,
) -> None:
    async def nothing() -> None:
        pass

    loop = asyncio.new_event_loop()
    if has_run:
        loop.run_until_complete(nothing())
    with inturn.FIFOQueue() as queue:
        futures = [queue.run_on(loop, nothing) for _ in range(2)]
        until("the first has its turn", futures[0].running)
        loop.close()
        for future in futures:
            with pytest.raises(concurrent.futures.CancelledError):
                future.result(LIMIT)
        assert queue.submit(int).result(LIMIT) == 0


def test_a_loop_that_goes_leaves_the_queue_to_others() -> None:
    queue = inturn.FIFOQueue()

    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        queue.run(forever)
        for _ in range(10):
            queue.run(forever)
        await begun.wait()

    for _ in range(3):
        run(main)
        assert queue.submit(int).result(LIMIT) == 0
    statistics = queue.statistics()
    assert (statistics.pending, statistics.running) == (0, 0)
    queue.destroy()


def test_what_was_enqueued_before_a_loop_went_runs_all_the_same() -> None:
    queue = inturn.FIFOQueue()
    done = Gate("the function")

    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        queue.run(forever)
        queue.post(done.open)
        queue.run(forever)
        await begun.wait()

    run(main)
    done.wait()
    queue.drain(LIMIT)
    queue.destroy()


def test_queues_that_are_equal_to_each_other_are_each_left_to_others() -> None:
    class Named(inturn.FIFOQueue):  # which cannot be hashed
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and self.label == other.label

    queues = [Named("name"), Named("name")]
    gates = [Gate("the first queue's function"), Gate("the second queue's function")]

    async def main() -> None:
        for queue, gate in zip(queues, gates):
            queue.suspend()
            queue.post(gate.open)
            queue.run(asyncio.sleep, 0)  # so that the queue comes to this loop

    asyncio.run(main())
    for queue, gate in zip(queues, gates):
        queue.resume()
        gate.wait()
        queue.destroy()


def test_many_loops_leave_nothing_behind() -> None:
    async def nothing() -> None:
        pass

    queue = inturn.FIFOQueue()

    async def main() -> None:
        await queue.run(nothing)

    run(main)
    gc.collect()
    executors = inturn.statistics().executors
    for _ in range(20):
        run(main)
    gc.collect()
    assert inturn.statistics().executors == executors
    queue.destroy()


def test_a_loop_that_is_closed_ends_its_own_blocks_and_their_turns_last_until_then() -> None:
    queue = inturn.OperationQueue(max_concurrent=3)
    running: list[int] = []  # recorded when a block of the closed loop ends

    async def block() -> None:
        me = asyncio.current_task()  # so that the coroutine outlives its last reference
        assert me is not None
        async with queue, queue:
            try:
                await asyncio.Event().wait()
            finally:
                running.append(queue.statistics().running)
                await asyncio.sleep(0)  # never returns

    async def enter() -> None:
        tasks.append(asyncio.ensure_future(block()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def main() -> None:
        async with queue:
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # silences destroyed tasks
            thread = threading.Thread(target=lambda: loop.run_until_complete(enter()))
            thread.start()
            thread.join()
            assert queue.statistics().running == 3
            loop.close()
            assert running == [3]
            assert queue.statistics().running == 1

    tasks: list[asyncio.Future[None]] = []
    run(main)
    assert queue.statistics().running == 0
    tasks.clear()
    gc.collect()
    queue.destroy()


def test_a_block_gives_back_its_own_turn_whatever_loop_has_its_queue_by_then() -> None:
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    queue = inturn.OperationQueue(max_concurrent=2)

    async def block(over: asyncio.Future[None]) -> None:
        async with queue:
            await over

    async def take_queue_over() -> None:
        queue.run(asyncio.sleep, 0).cancel()

    blocks = []
    for loop in (first, second):
        over = loop.create_future()
        blocks.append((loop.create_task(block(over)), over))
        loop.run_until_complete(asyncio.sleep(0))
    first.run_until_complete(take_queue_over())
    (earlier, ends_earlier), (later, ends_later) = blocks
    ends_later.set_result(None)
    second.run_until_complete(later)
    second.close()
    assert queue.statistics().running == 1
    ends_earlier.set_result(None)
    first.run_until_complete(earlier)
    first.close()
    assert queue.statistics().running == 0
    queue.destroy()


def test_a_loop_may_go_on_on_another_thread() -> None:
    """The thread that ran it before waits for it there, and nothing is refused."""
    queue = inturn.FIFOQueue()
    loop = asyncio.new_event_loop()
    begun, asked = Gate("the coroutine"), threading.Event()

    async def one() -> int:
        return await queue.run(asyncio.sleep, 0, 1)

    async def slow() -> str:
        begun.open()
        await loop.run_in_executor(None, asked.wait, 0.1)
        return "slow"

    async def forever() -> None:
        begun.open()
        await asyncio.Event().wait()

    assert loop.run_until_complete(one()) == 1
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    waits: list[Callable[[], object]] = [
        lambda: queue.drain(LIMIT),
        lambda: queue.submit(int).result(LIMIT),
        lambda: queue.enqueue(finish).wait(LIMIT),
    ]
    for wait in waits:
        begun = Gate("the coroutine")
        future = queue.run_on(loop, slow)
        begun.wait()
        wait()
        assert future.result(LIMIT) == "slow"
    begun = Gate("the coroutine")
    endless = queue.run_on(loop, forever)
    begun.wait()
    queue.cancel_all()
    with pytest.raises(concurrent.futures.CancelledError):
        endless.result(LIMIT)
    loop.call_soon_threadsafe(loop.stop)
    join(thread)
    loop.close()
    queue.destroy()


def test_a_coroutine_that_is_collected_with_its_operation_raises_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: raised.append(told.exc_value))
    queue = inturn.FIFOQueue()

    async def main() -> None:
        queue.options(label="left").run(asyncio.sleep, 0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    queue.suspend()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    loop.run_until_complete(main())
    gc.disable()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Home, "close", lambda _: None)  # its turn comes just before
            loop.close()
            queue.submit(int)
            queue.resume()
            queue.drain(LIMIT)
        del loop
        gc.collect()
    finally:
        gc.enable()
    assert raised == []
    queue.destroy()


def test_a_coroutine_that_a_stopped_loop_was_to_begin_is_cancelled_when_that_closes() -> None:
    async def number() -> int:
        return 1

    async def main() -> None:
        await queue.run(number)

    async def behind() -> None:
        following = queue.run(number)  # so that the queue comes to this loop
        queue.resume()
        while queue.statistics().running == 0:
            await asyncio.sleep(0)
        stopped.close()
        assert await following == 1

    queue = inturn.FIFOQueue()
    stopped = asyncio.new_event_loop()
    thread = threading.Thread(target=stopped.run_until_complete, args=(main(),))
    thread.start()
    join(thread)
    queue.suspend()
    future = queue.run_on(stopped, number)
    run(behind)
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(LIMIT)
    queue.destroy()


def test_a_loop_that_stands_still_keeps_no_function_from_others() -> None:
    queue = inturn.FIFOQueue()
    tokens: list[inturn.Token] = []

    async def number() -> int:
        return 1

    async def leave_a_function() -> concurrent.futures.Future[int]:
        begun = Gate("the operation")
        queue.enqueue(each(tokens.append, begun.open))
        begun.wait()
        future = queue.submit(int)
        queue.run(number)  # so that the queue comes to this loop
        return future

    async def by_enqueuing(_: object) -> None:
        assert await asyncio.wrap_future(queue.submit(int)) == 0

    async def by_running(left: concurrent.futures.Future[int]) -> None:
        queue.run(number).cancel()
        assert await asyncio.wrap_future(left) == 0

    async def by_waiting(left: concurrent.futures.Future[int]) -> None:
        assert await asyncio.to_thread(left.result, LIMIT) == 0

    for way in (by_enqueuing, by_running, by_waiting):
        stopped = asyncio.new_event_loop()
        left = stopped.run_until_complete(leave_a_function())
        if way is by_enqueuing:
            queue.cancel_all()  # the coroutine, too, which nobody would run
        tokens.pop().finish()
        run(functools.partial(way, left))
        stopped.close()
    queue.destroy()


def test_what_is_ahead_of_a_coroutine_for_a_loop_that_stands_still_does_not_wait_for_it() -> None:
    async def number() -> int:
        return 1

    async def bring_it_here() -> None:
        assert await queue.run(number) == 1

    queue = inturn.FIFOQueue()
    loop, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    for way in ("never run", "stopped", "of another"):
        if way == "stopped":
            loop.run_until_complete(bring_it_here())
        elif way == "of another":
            other.run_until_complete(bring_it_here())
        queue.suspend()
        ahead = Gate(f"the function ahead, where the loop was {way}")
        queue.post(ahead.open)
        future = queue.run_on(loop, number)
        queue.resume()
        ahead.wait()
        assert not future.done()
        loop.run_until_complete(asyncio.wrap_future(future, loop=loop))
        assert future.result() == 1
    other.close()
    loop.close()
    queue.destroy()
