"""Coroutines in turn."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import traceback
from typing import Any, Callable

import pytest

import inturn
from support import LIMIT, Gate, join, ring_of, run


def test_coroutines_run_one_at_a_time_to_their_end_in_order() -> None:
    trace: list[tuple[str, int]] = []

    async def work(number: int) -> int:
        trace.append(("begin", number))
        for _ in range(number % 3):
            await asyncio.sleep(0)
        trace.append(("end", number))
        return number

    async def main() -> None:
        with inturn.FIFOQueue(stall=None) as queue:  # all are enqueued in one turn of the loop
            results = await asyncio.gather(*(queue.run(work, number) for number in range(1_000)))
        assert results == list(range(1_000))
        assert trace == [(what, n) for n in range(1_000) for what in ("begin", "end")]

    run(main)


def test_coroutines_and_functions_keep_one_order() -> None:
    trace: list[int] = []

    async def note(number: int) -> None:
        await asyncio.sleep(0)
        trace.append(number)

    async def main() -> None:
        last: asyncio.Future[None] | None = None
        queue = inturn.FIFOQueue()
        for number in range(0, 300, 3):
            queue.post(trace.append, number)
            last = queue.run(note, number + 1)
            queue.submit(trace.append, number + 2)
        assert last is not None
        await last
        await asyncio.get_running_loop().run_in_executor(queue, int)
        queue.destroy()

    run(main)
    assert trace == list(range(300))


def test_functions_do_not_run_on_the_loops_thread() -> None:
    threads: list[int] = []

    async def nothing() -> None:
        pass

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            for _ in range(50):
                queue.post(lambda: threads.append(threading.get_ident()))
                await queue.run(nothing)
        assert len(threads) == 50
        assert threading.get_ident() not in threads

    run(main)


def test_an_exception_keeps_its_traceback() -> None:
    async def divide() -> float:
        await asyncio.sleep(0)
        return 1 / 0

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            with pytest.raises(ZeroDivisionError) as caught:
                await queue.run(divide)
            assert "divide" in {frame.name for frame in traceback.extract_tb(caught.tb)}
            assert queue.statistics().failed == 1

    run(main)


def test_context_variables_travel_with_the_work() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    async def work(name: str) -> str:
        assert variable.get() == name
        variable.set(name + "!")
        await asyncio.sleep(0)
        assert variable.get() == name + "!"
        return await asyncio.ensure_future(sub())

    async def sub() -> str:
        return variable.get()

    async def main() -> None:
        for kind in (inturn.FIFOQueue, inturn.OperationQueue, inturn.ActorQueue):
            with kind() as queue:
                runs = []
                for name in "abc":
                    variable.set(name)
                    runs.append(queue.run(work, name))
                assert await asyncio.gather(*runs) == ["a!", "b!", "c!"]
                assert variable.get() == "c"

    run(main)


def test_coroutines_do_not_see_each_others_variables() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")

    async def work(number: int) -> None:
        assert variable.get(None) is None
        variable.set(number)
        if number % 2:
            await asyncio.sleep(0)
        assert variable.get() == number

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            await asyncio.gather(*(queue.run(work, number) for number in range(100)))
        assert variable.get(None) is None

    # Nothing is set there, so the coroutines have nothing of their own.
    contextvars.Context().run(run, main)


def test_what_runs_counts_as_running_and_the_rest_as_pending() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:

            async def look(before: int) -> None:
                told = queue.statistics()
                assert (told.finished, told.running, told.pending) == (before, 1, 99 - before)

            await asyncio.gather(*(queue.run(look, number) for number in range(100)))
            told = queue.statistics()
            assert (told.finished, told.running, told.pending) == (100, 0, 0)

    run(main)


def test_turns_leave_nothing_in_the_library() -> None:
    async def nothing() -> None:
        pass

    async def pause() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            before = inturn.statistics().operations
            runs = [queue.run(work) for work in (nothing, pause) * 100]
            cancelled = [queue.run(nothing) for _ in range(10)]
            for each in cancelled:
                each.cancel()
            await asyncio.gather(*runs)
            async with queue:
                pass
            assert inturn.statistics().operations == before, "handles are kept"

    run(main)


def test_awaiting_ones_own_queue_is_refused_and_names_the_ring() -> None:
    async def nothing() -> None:
        pass

    async def main() -> None:
        with inturn.FIFOQueue("one") as one, inturn.FIFOQueue("two") as two:

            async def own() -> str:
                with pytest.raises(inturn.DeadlockError) as caught:
                    await one.run(nothing)
                return ring_of(caught.value)

            async def ring() -> str:
                return await two.run(own)

            async def across(queue: inturn.FIFOQueue, work: Callable[[], Any]) -> str:
                async with queue:
                    return str(await work())

            async def hold() -> str:
                with pytest.raises(inturn.DeadlockError) as caught:
                    async with one:
                        pass
                return ring_of(caught.value)

            assert await one.run(own) == "one -> one"
            assert await one.run(ring) == "two -> one -> two"
            assert await one.run(hold) == "one -> one"
            async with one:
                assert await own() == "one -> one"
            # Any one of several blocks may be waited for.
            async with one, two:
                assert await own() == "one -> one"
                with pytest.raises(inturn.DeadlockError) as caught:
                    await two.run(nothing)
                assert ring_of(caught.value) == "two -> two"
            assert await two.run(across, one, own) == "one -> one"
            # A coroutine that is not awaited there runs later, and another task may wait for it.
            later: list[asyncio.Future[None]] = []

            async def enqueue() -> None:
                later.append(one.run(nothing))

            await one.run(enqueue)
            await later[0]
            tasks: list[asyncio.Future[None]] = []

            async def spawn() -> None:
                async def wait() -> None:
                    await one.run(nothing)

                tasks.append(asyncio.ensure_future(wait()))
                await asyncio.sleep(0)

            await one.run(spawn)
            await tasks[0]

    run(main)


def test_a_queue_is_an_ordered_lock() -> None:
    async def main() -> None:
        trace: list[int] = []
        with inturn.FIFOQueue() as queue:

            async def use(number: int) -> None:
                async with queue as entered:
                    assert entered is queue
                    trace.append(number)
                    await asyncio.sleep(0)
                    trace.append(number)

            await asyncio.gather(*(use(number) for number in range(100)))
            assert trace == [number for number in range(100) for _ in range(2)]
            with pytest.raises(LookupError):
                async with queue:
                    raise LookupError
            statistics = queue.statistics()
            assert (statistics.finished, statistics.failed) == (100, 1)

    run(main)


def test_coroutines_of_a_concurrent_queue_run_so_many_at_a_time() -> None:
    async def main() -> None:
        running = most = 0

        async def work() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

        with inturn.OperationQueue(max_concurrent=5) as queue:
            await asyncio.gather(*(queue.run(work) for _ in range(50)))
        assert most == 5

    run(main)


def test_coroutines_of_an_actor_queue_begin_in_order_and_their_segments_do_not_overlap() -> None:
    queue = inturn.ActorQueue()
    inside: list[object] = []

    def alone() -> None:
        inside.append(1)
        assert len(inside) == 1
        inside.pop()

    async def main() -> None:
        begun: list[int] = []

        async def work(number: int) -> int:
            begun.append(number)
            for _ in range(3):
                alone()
                await asyncio.sleep(0)
            alone()
            return number

        runs = []
        for number in range(30):
            runs.append(queue.run(work, number))
            queue.post(alone)
        assert await asyncio.gather(*runs) == list(range(30))
        assert begun == list(range(30))

    threads = [threading.Thread(target=run, args=(main,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    join(*threads)
    queue.drain(LIMIT)
    queue.destroy()


def test_a_segment_that_is_dropped_late_is_not_taken_for_the_next_one() -> None:
    async def work() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def main() -> None:
        for _ in range(50):
            with inturn.ActorQueue() as queue:
                await asyncio.gather(*(queue.run(work) for _ in range(3)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that the threads meet everywhere
    try:
        run(main)
    finally:
        sys.setswitchinterval(interval)


def test_a_task_that_is_destroyed_while_it_waits_for_its_segment_keeps_no_thread() -> None:
    async def work() -> None: ...

    async def main() -> None:
        with inturn.ActorQueue() as queue:
            gate = Gate("the task's end")
            queue.post(gate.wait)
            task: Any = queue.run(work)
            await asyncio.sleep(0)  # it is waiting
            task.get_coro().close()
            gate.open()
            task.cancel()
            with pytest.raises(RuntimeError, match="cannot reuse"):
                await task

    run(main)


def test_an_interaction_may_be_a_coroutine() -> None:
    async def main() -> None:
        shown: list[str] = []

        async def show(name: str) -> str:
            shown.append(name)
            await asyncio.sleep(0)
            return name

        executor = inturn.Executor()
        loop = asyncio.get_running_loop()
        loop.add_reader(executor.fileno(), executor.drain)
        with inturn.InteractionQueue(settle=0, gap=0, executor=executor) as queue:
            runs = [queue.run(show, name) for name in "ab"]
            await asyncio.sleep(0)
            assert shown == []
            queue.view_did_appear()
            assert await asyncio.gather(*runs) == ["a", "b"]
        loop.remove_reader(executor.fileno())
        executor.close()

    run(main)


def test_what_is_not_a_coroutine_function_is_refused() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            with pytest.raises(TypeError, match="a function"):
                queue.run(42)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="not a coroutine function"):
                await queue.run(int)  # type: ignore[arg-type]
            queue.close()
            with pytest.raises(inturn.ClosedError):
                queue.run(asyncio.sleep, 0)

    run(main)
