"""Options: how functions, coroutines and work are added, without losing keywords of their own."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Any, Callable

import pytest

import inturn
from support import LIMIT, Gate, each, finish, run

Outcome = inturn.Outcome


def keywords(**given: object) -> dict[str, object]:
    return given


async def keywords_later(**given: object) -> dict[str, object]:
    await asyncio.sleep(0)
    return given


# Each of these names is also an option.
TAKEN = {"label": 1, "timeout": 2, "retry": 3, "key": 4, "priority": 5, "fn": 6, "queue": 7}


class Fails:
    """Fails this many times, and then returns how often it was called."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.times:
            raise ValueError(self.calls)
        return self.calls

    async def later(self) -> int:
        await asyncio.sleep(0)
        return self()


def test_a_function_keeps_its_own_keywords() -> None:
    posted: list[object] = []
    with inturn.OperationQueue() as queue:
        faced = queue.options(label="a", priority=1, retry=inturn.Retry(2), key="k", max_run=LIMIT)
        assert faced.submit(keywords, **TAKEN).result(LIMIT) == TAKEN
        assert queue.submit(keywords, **TAKEN).result(LIMIT) == TAKEN
        faced.post(lambda **given: posted.append(given), **TAKEN)
        assert list(faced.map(pow, [2, 3], [4, 2])) == [16, 9]
    assert posted == [TAKEN]


def test_a_coroutine_function_keeps_its_own_keywords() -> None:
    async def main() -> None:
        with inturn.OperationQueue() as queue:
            faced = queue.options(label="a", retry=inturn.Retry(2), key="k", max_run=LIMIT)
            assert await faced.run(keywords_later, **TAKEN) == TAKEN
            assert await queue.run(keywords_later, **TAKEN) == TAKEN

    run(main)


def test_options_are_added_to_options() -> None:
    ends: list[inturn.End] = []
    with inturn.FIFOQueue() as queue:
        labelled = queue.options(label="a", on_end=ends.append)
        labelled.enqueue(finish)
        labelled.options(label="b").enqueue(finish)
        labelled.options(on_end=None).enqueue(finish)
        labelled.post(int)
        assert labelled.submit(int).result(LIMIT) == 0
    assert [end.label for end in ends] == ["a", "b", "a", "a"]


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_function_that_fails_is_called_again(attempts: int) -> None:
    function = Fails(2)
    with inturn.FIFOQueue() as queue:
        future = queue.options(retry=inturn.Retry(attempts)).submit(function)
        if attempts == 2:
            assert str(future.exception(LIMIT)) == "2"
        else:
            assert future.result(LIMIT) == 3
    assert (future.done(), function.calls) == (True, attempts)


@pytest.mark.parametrize("has_factory", [False, True])
@pytest.mark.parametrize("attempts", [2, 3])
def test_a_coroutine_that_fails_is_run_again(attempts: int, has_factory: bool) -> None:
    function = Fails(2)

    async def main() -> None:
        if has_factory:
            loop = asyncio.get_running_loop()
            loop.set_task_factory(
                lambda loop, coroutine, **given: asyncio.Task(coroutine, loop=loop, **given)
            )
        with inturn.FIFOQueue() as queue:
            running = queue.options(retry=inturn.Retry(attempts)).run(function.later)
            behind = queue.run(keywords_later)
            if attempts == 2:
                with pytest.raises(ValueError, match="2"):
                    await running
            else:
                assert await running == 3
            assert function.calls == attempts
            await behind

    run(main)


def test_functions_and_coroutines_of_a_key_are_joined() -> None:
    function = Fails(0)

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            joining = queue.options(key="k", join=True)
            queue.suspend()
            runs = [joining.run(function.later) for _ in range(3)]
            futures = [joining.submit(function) for _ in range(3)]
            queue.resume()
            assert await asyncio.gather(*runs) == [1, 1, 1]
            assert [await asyncio.wrap_future(future) for future in futures] == [1, 1, 1]

    run(main)
    assert function.calls == 1


def test_a_condition_skips_functions_and_coroutines() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            skipping = queue.options(condition=lambda: False)
            assert await skipping.run(keywords_later) is None
            assert await asyncio.wrap_future(skipping.submit(keywords)) is None
            hopeless = queue.options(condition=lambda: inturn.Verdict.GIVE_UP)
            for waiting in (
                asyncio.wrap_future(hopeless.submit(keywords)),
                hopeless.run(keywords_later),
            ):
                with pytest.raises(asyncio.CancelledError):
                    await waiting

    run(main)


def test_the_time_of_a_function_or_a_coroutine_is_over() -> None:
    clock = inturn.ManualClock()
    gate, begun = Gate("the end"), Gate("the function")
    cancelled: list[str] = []

    def stay_here() -> None:
        begun.open()
        gate.wait()

    async def stay() -> None:
        clock.advance(2)
        try:
            await asyncio.sleep(LIMIT)
        except asyncio.CancelledError:
            cancelled.append("stay")
            raise

    async def main() -> None:
        with inturn.FIFOQueue(clock=clock) as queue:
            limited = queue.options(label="limited", max_run=1)
            future = limited.submit(stay_here)
            begun.wait()
            clock.advance(2)
            with pytest.raises(inturn.TimedOutError, match="limited"):
                future.result(LIMIT)
            gate.open()
            with pytest.raises(inturn.TimedOutError, match="limited"):
                await limited.run(stay)
            assert await queue.run(keywords_later, after=1) == {"after": 1}

    run(main)
    assert cancelled == ["stay"]


def test_priorities_order_functions_and_coroutines() -> None:
    log: list[int] = []

    async def note(number: int) -> None:
        log.append(number)

    async def main() -> None:
        with inturn.OperationQueue(max_concurrent=1) as queue:
            queue.suspend()
            tasks = [queue.options(priority=each).run(note, each) for each in (1, 3, 2)]
            for each in (5, 4):
                queue.options(priority=each).post(log.append, each)
            queue.resume()
            await asyncio.gather(*tasks)

    run(main)
    assert log == [5, 4, 3, 2, 1]


def test_an_owner_takes_its_coroutines_along() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue, inturn.Owner() as owner:
            owned = queue.options(owner=owner)
            running, pending = owned.run(asyncio.sleep, LIMIT), owned.run(keywords_later)
            future = owned.submit(keywords)
            await asyncio.sleep(0)
            owner.close()
            for task in (running, pending):
                with pytest.raises(asyncio.CancelledError):
                    await task
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wrap_future(future)
            assert await queue.run(keywords_later) == {}

    run(main)


def test_a_cancelled_coroutine_with_options_leaves_its_queue() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            faced = queue.options(label="a")
            running, pending = faced.run(asyncio.sleep, LIMIT), faced.run(asyncio.sleep, LIMIT)
            await asyncio.sleep(0)
            for task in (pending, running):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await faced.run(keywords_later) == {}
            assert queue.statistics().cancelled == 2

    run(main)


def test_a_future_with_options_is_cancelled_before_it_begins() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        future = queue.options(label="a").submit(keywords)
        assert future.cancel()
        assert future.cancelled()
        queue.resume()
        queue.drain(LIMIT)
        assert queue.statistics().cancelled == 1


def test_a_wait_inside_of_a_turn_with_options_is_refused() -> None:
    async def main() -> None:
        with inturn.FIFOQueue("mine") as queue:
            faced = queue.options(label="a")

            async def nested() -> None:
                pending = faced.run(keywords_later)
                with pytest.raises(inturn.DeadlockError):
                    await pending
                pending.cancel()
                with pytest.raises(inturn.DeadlockError):
                    await queue.drained()
                with pytest.raises(inturn.DeadlockError):
                    await queue.enqueue(finish)

            await faced.run(nested)
            await queue.run(nested)

    run(main)


def test_an_actors_coroutines_have_what_lets_them_begin_once() -> None:
    async def main() -> None:
        with inturn.ActorQueue() as queue:
            assert await queue.options(label="a", max_run=LIMIT).run(keywords_later) == {}
            for options in ({"retry": inturn.Retry(2)}, {"on_end": print}):
                with pytest.raises(inturn.UnsupportedError, match=next(iter(options))):
                    queue.options(**options).run(keywords_later)

    run(main)


def test_a_run_is_taken_for_a_task_and_for_a_coroutine() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            made = asyncio.create_task(queue.run(keywords_later, a=1))
            assert await made == {"a": 1}
            both = await asyncio.gather(*[queue.run(keywords_later) for _ in range(2)])
            assert list(both) == [{}, {}]
            assert await asyncio.wait_for(queue.run(keywords_later), LIMIT) == {}
            failing = asyncio.create_task(queue.run(Fails(1).later))
            with pytest.raises(ValueError, match="1"):
                await failing
            first, second = queue.run(asyncio.sleep, LIMIT), queue.run(asyncio.sleep, LIMIT)
            task = asyncio.create_task(second)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert second.cancelled()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            group_of: Any = getattr(asyncio, "TaskGroup", None)
            if group_of is not None:
                async with group_of() as group:
                    tasks = [group.create_task(queue.run(keywords_later, n=n)) for n in range(3)]
                assert [each.result()["n"] for each in tasks] == [0, 1, 2]

    run(main)


def test_operations_are_awaited() -> None:
    tokens: list[inturn.Token] = []

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            assert (await queue.enqueue(lambda token: token.finish(1))).result == 1
            begun = Gate("the work")
            operation = queue.enqueue(each(tokens.append, begun.open))
            begun.wait()
            timer = threading.Timer(0.01, lambda: tokens.pop().finish(2))
            timer.start()
            assert (await operation).result == 2
            assert (await operation).outcome is Outcome.FINISHED
            timer.join()

    run(main)


def test_the_end_of_all_is_awaited() -> None:
    log: list[str] = []

    async def main() -> None:
        queue = inturn.FIFOQueue()
        await queue.drained()
        tasks = [queue.run(keywords_later) for _ in range(3)]
        queue.post(log.append, "last")
        await queue.drained()
        assert log == ["last"]
        assert all(task.done() for task in tasks)
        closed = asyncio.create_task(queue.closed())
        await asyncio.sleep(0)
        assert not closed.done()
        queue.run(keywords_later).add_done_callback(lambda _: log.append("run"))
        queue.close()
        await closed
        assert log == ["last", "run"]
        queue.destroy()
        await queue.closed()
        await queue.drained()

    run(main)


def test_a_queue_with_a_thread_calls_all_its_functions_there() -> None:
    with inturn.FIFOQueue("sqlite", thread=True) as queue:
        database = queue.submit(sqlite3.connect, ":memory:").result(LIMIT)
        execute: Callable[..., Any] = database.execute
        queue.post(execute, "CREATE TABLE log (number INTEGER)")
        for number in range(100):
            queue.post(execute, "INSERT INTO log VALUES (?)", (number,))
        rows = queue.submit(lambda: execute("SELECT count(*), max(number) FROM log").fetchone())
        assert rows.result(LIMIT) == (100, 99)
        with pytest.raises(sqlite3.ProgrammingError):  # here, it would be another thread
            execute("SELECT 1")
        queue.submit(database.close).result(LIMIT)


def test_a_queues_thread_stays_the_same_and_goes_with_the_queue() -> None:
    threads: set[threading.Thread] = set()

    def note(*_: object) -> None:
        threads.add(threading.current_thread())

    async def main() -> None:
        with inturn.FIFOQueue(thread=True) as queue:
            loop = asyncio.get_running_loop()
            for _ in range(20):
                assert await queue.run(keywords_later) == {}
                await loop.run_in_executor(queue, note)
                queue.options(on_end=note).post(note)
            queue.enqueue(each(note, finish))
            await queue.drained()

    run(main)
    (thread,) = threads
    thread.join(LIMIT)
    assert not thread.is_alive()
    with inturn.Executor() as executor, pytest.raises(TypeError, match="has an executor"):
        inturn.FIFOQueue(executor=executor, thread=True)


def test_an_iterator_of_an_option_is_for_all_that_is_made_of_it() -> None:
    running = 0
    at_once: list[int] = []

    def work() -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        begun.wait(0.01)
        running -= 1

    begun = threading.Event()
    with inturn.FIFOQueue() as other, inturn.OperationQueue() as queue:
        held: list[inturn.Token] = []
        is_held = Gate("the one before")

        def hold(token: inturn.Token) -> None:
            held.append(token)
            is_held.open()

        first = other.enqueue(hold)
        is_held.wait()
        after = queue.options(after=iter([first])).options(label="after")
        waiting = [after.submit(int), queue.options(after=iter([first])).submit(int)]
        alone = queue.options(exclusive=iter(["name"])).options(label="alone")
        for future in [alone.submit(work) for _ in range(4)]:
            future.result(LIMIT)
        assert at_once == [1, 1, 1, 1]
        assert not any(future.done() for future in waiting)
        held.pop().finish()
        assert [future.result(LIMIT) for future in waiting] == [0, 0]
