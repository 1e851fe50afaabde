"""Coroutines in turn."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import traceback
from collections.abc import Coroutine
from typing import Any, Callable

import pytest

import inturn
from support import LIMIT, Gate, join


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Runs a test's coroutine, with a limit, in asyncio's debug mode."""

    async def limited() -> None:
        await asyncio.wait_for(main(), LIMIT)

    asyncio.run(limited(), debug=True)


def test_coroutines_run_one_at_a_time_to_their_end_in_order() -> None:
    trace: list[tuple[str, int]] = []

    async def work(number: int) -> int:
        trace.append(("begin", number))
        for _ in range(number % 3):
            await asyncio.sleep(0)
        trace.append(("end", number))
        return number

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
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

    # Nothing is set there, so that there is nothing for the coroutines to have of their own.
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
                return str(caught.value.ring)

            async def ring() -> str:
                return await two.run(own)

            async def across(queue: inturn.FIFOQueue, work: Callable[[], Any]) -> str:
                async with queue:
                    return str(await work())

            async def hold() -> str:
                with pytest.raises(inturn.DeadlockError) as caught:
                    async with one:
                        pass
                return str(caught.value.ring)

            assert await one.run(own) == "'one' -> 'one'"
            assert await one.run(ring) == "'two' -> 'one' -> 'two'"
            assert await one.run(hold) == "'one' -> 'one'"
            async with one:
                assert await own() == "'one' -> 'one'"
            # Each of several blocks may be the one that is waited for.
            async with one, two:
                assert await own() == "'one' -> 'one'"
                with pytest.raises(inturn.DeadlockError) as caught:
                    await two.run(nothing)
                assert caught.value.ring == "'two' -> 'two'"
            assert await two.run(across, one, own) == "'one' -> 'one'"
            # What is not awaited there comes later, and another task may wait for it.
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


def test_many_loops_leave_nothing_behind() -> None:
    async def nothing() -> None:
        pass

    queue = inturn.FIFOQueue()

    async def main() -> None:
        await queue.run(nothing)

    run(main)
    executors = inturn.statistics().executors
    for _ in range(20):
        run(main)
    gc.collect()
    assert inturn.statistics().executors == executors
    queue.destroy()


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
            with pytest.raises(TypeError, match="not callable"):
                queue.run(42)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="not a coroutine function"):
                await queue.run(int)  # type: ignore[arg-type]
            queue.close()
            with pytest.raises(inturn.ClosedError):
                queue.run(asyncio.sleep, 0)

    run(main)
