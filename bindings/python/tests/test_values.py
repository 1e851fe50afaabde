"""Values and their observers: the trail, delivery, ends, and callers' mistakes."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from typing import Any, Callable

import pytest

import inturn
from inturn import Change, ChangeKind, _callbacks, _values
from support import LIMIT, Gate, join, run_python


class Item:
    """An object that allows weak references."""


def pairs(log: list[Change]) -> list[tuple[Any, Any]]:
    return [(change.old, change.new) for change in log]


def start(body: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=body)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    yield
    gc.collect()
    assert not _values._objects
    assert not _callbacks.listeners


def test_any_object_is_read_as_it_was_set() -> None:
    with inturn.Value[Any]("text") as value:
        for item in [None, 0, "", b"\xff", [1], {"a": 1}, Item(), value, 10**30]:
            value.value = item
            assert value.value is item
            assert value.get() is item
        value.value = None


def test_an_object_is_let_go_of_when_it_is_replaced_and_when_the_value_goes() -> None:
    first, second = Item(), Item()
    references = [weakref.ref(first), weakref.ref(second)]
    value = inturn.Value(first)
    del first
    assert references[0]() is value.exchange(second)
    del second
    gc.collect()
    assert references[0]() is None
    assert references[1]() is not None
    del value
    gc.collect()
    assert references[1]() is None


def test_each_change_is_told_with_its_old_and_new_object() -> None:
    log: list[Change] = []
    with inturn.Value(1) as value, value.observe(log.append):
        value.value = 2
        value.set(2)
        assert value.exchange(3) == 2
        assert value.update(lambda number: number + 1) == 4
        assert value.compare_exchange(4, 5)
        assert not value.compare_exchange(4, 6)
    assert pairs(log) == [(1, 2), (2, 2), (2, 3), (3, 4), (4, 5)]
    assert [change.number for change in log] == [1, 2, 3, 4, 5]
    assert {change.kind for change in log} == {ChangeKind.SET}


def test_initial_prior_and_latest_are_told_so() -> None:
    log: list[tuple[str, ChangeKind, Any, Any]] = []

    def note(name: str) -> Callable[[Change], None]:
        return lambda change: log.append((name, change.kind, change.old, change.new))

    def answer(change: Change) -> None:
        if change.new == 1:
            value.value = 2

    with inturn.Value(0) as value:
        observations = [
            value.observe(note("a"), initial=True),
            value.observe(note("b"), prior=True),
            value.observe(answer),
            value.observe(note("c"), latest=True),
        ]
        value.value = 1
        with pytest.raises(inturn.InvalidArgumentError):
            value.observe(note("d"), prior=True, latest=True)
    assert log == [
        ("a", ChangeKind.INITIAL, None, 0),
        ("b", ChangeKind.PRIOR, 0, 1),
        ("a", ChangeKind.SET, 0, 1),
        ("b", ChangeKind.SET, 0, 1),
        ("b", ChangeKind.PRIOR, 1, 2),
        ("a", ChangeKind.SET, 1, 2),
        ("b", ChangeKind.SET, 1, 2),
        ("c", ChangeKind.SET, 0, 2),
    ]
    del observations


def test_a_set_inside_an_observer_is_told_after_the_round() -> None:
    log: list[str] = []

    def answer(change: Change) -> None:
        log.append(f"begin {change.new}")
        if change.new == 1:
            value.value = 2
            log.append(f"reads {value.value}")
        log.append(f"end {change.new}")

    with inturn.Value(0) as value, value.observe(answer):
        value.value = 1
    assert log == ["begin 1", "reads 2", "end 1", "begin 2", "end 2"]


def test_updates_from_several_threads_are_not_lost_and_leave_no_gap() -> None:
    log: list[Change] = []
    with inturn.Value(0) as value, value.observe(log.append):

        def count() -> None:
            for _ in range(1000):
                value.update(lambda number: number + 1)

        join(*[start(count) for _ in range(4)])
        value.drain(LIMIT)
        assert value.value == 4000
    assert pairs(log) == [(number, number + 1) for number in range(4000)]


def test_an_executor_calls_the_observer_when_it_is_drained() -> None:
    log: list[Change] = []
    executor = inturn.Executor()
    with inturn.Value(0) as value:
        with value.observe(log.append, executor=executor, initial=True):
            value.value = 1
            assert log == []
            with pytest.raises(inturn.TimedOutError):
                value.drain(0.001)
            executor.drain()
            assert pairs(log) == [(None, 0), (0, 1)]
            value.drain(LIMIT)
        value.value = 2
        executor.drain()
        assert len(log) == 2
    executor.close()


def test_a_queue_calls_the_observer_in_its_turn() -> None:
    log: list[Any] = []
    with inturn.FIFOQueue() as queue, inturn.Value(0) as value:

        def work(token: inturn.Token) -> None:
            log.append("work")
            token.finish()

        with value.observe(lambda change: log.append(change.new), queue=queue):
            queue.enqueue(work)
            value.value = 1
            queue.enqueue(work)
            value.drain(LIMIT)
            queue.drain(LIMIT)
    assert log == ["work", 1, "work"]


def test_cancel_waits_for_the_observer_and_it_is_not_called_again() -> None:
    begun, go = Gate("the call"), Gate("the word to return")
    calls: list[Change] = []

    def block(change: Change) -> None:
        calls.append(change)
        begun.open()
        go.wait()

    with inturn.Value(0) as value:
        observation = value.observe(block)
        setter = start(lambda: value.set(1))
        begun.wait()
        value.value = 2
        for timeout in (0, 0.001):
            with pytest.raises(inturn.TimedOutError):
                observation.cancel(timeout)
        canceller = start(observation.cancel)
        go.open()
        join(canceller, setter)
        observation.cancel()
        value.value = 3
        assert pairs(calls) == [(0, 1)]


def test_an_observation_ends_when_it_is_dropped() -> None:
    log: list[Change] = []
    with inturn.Value(0) as value:
        observation = value.observe(log.append)
        value.value = 1
        del observation
        gc.collect()
        value.value = 2
    assert pairs(log) == [(0, 1)]


def test_an_observer_may_cancel_itself_and_destroy_its_value() -> None:
    log: list[Change] = []
    observations: list[inturn.Observation] = []

    def cancel(change: Change) -> None:
        log.append(change)
        observations[0].cancel()

    def destroy(change: Change) -> None:
        log.append(change)
        value.destroy()

    with inturn.Value(0) as value:
        observations.append(value.observe(cancel))
        value.value = 1
        value.value = 2
        observations.append(value.observe(destroy))
        value.value = 3
        with pytest.raises(inturn.StaleError):
            value.value = 4
    assert pairs(log) == [(0, 1), (2, 3)]
    observations.clear()


def test_an_observer_that_throws_is_reported_and_called_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported: list[Any] = []
    log: list[Change] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: reported.append(error.exc_type))

    def throw(change: Change) -> None:
        log.append(change)
        raise ValueError(change.new)

    with inturn.Value(0) as value, value.observe(throw), value.observe(log.append):
        value.value = 1
        value.value = 2
    assert pairs(log) == [(0, 1), (0, 1), (1, 2), (1, 2)]
    assert reported == [ValueError, ValueError]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_inside_an_observer_leaves_the_call_that_made_the_change(
    error: type[BaseException],
) -> None:
    def interrupt(_change: Change) -> None:
        raise error

    with inturn.Value(0) as value, value.observe(interrupt):
        with pytest.raises(error):
            value.value = 1
        assert value.value == 1


def test_an_update_that_throws_changes_nothing() -> None:
    with inturn.Value(1) as value:
        with pytest.raises(ZeroDivisionError):
            value.update(lambda number: number // 0)
        assert value.value == 1


def test_a_wait_is_for_what_is_so_already_or_becomes_so_for_a_moment() -> None:
    with inturn.Value(0) as value:
        assert value.wait_for(lambda number: number == 0) == 0
        asked = Gate("the first question")
        found: list[int] = []

        def is_five_hundred(number: int) -> bool:
            asked.open()
            return number == 500

        waiter = start(lambda: found.append(value.wait_for(is_five_hundred, LIMIT)))
        asked.wait()
        for number in range(1, 1001):
            value.value = number
        join(waiter)
        assert found == [500]
        with pytest.raises(inturn.TimedOutError):
            value.wait_for(lambda number: number < 0, 0.001)
        with pytest.raises(ValueError, match="a time"):
            value.wait_for(lambda number: True, -1)


def test_a_value_that_is_destroyed_leaves_nobody_waiting() -> None:
    value = inturn.Value(0)
    asked, told = Gate("the question"), Gate("the refusal")

    def wait() -> None:
        with pytest.raises(inturn.StaleError):
            value.wait_for(asked.open, LIMIT)
        told.open()

    waiter = start(wait)
    asked.wait()
    value.destroy()
    told.wait()
    join(waiter)
    for call in (value.get, lambda: value.set(1), lambda: value.observe(print)):
        with pytest.raises(inturn.StaleError):
            call()
    value.destroy()


def test_waiting_inside_an_observer_is_refused() -> None:
    refused: list[type[inturn.Error]] = []

    def wait(_change: Change) -> None:
        for call in (lambda: value.wait_for(lambda _: False), value.drain):
            try:
                call()
            except inturn.DeadlockError as error:
                refused.append(type(error))

    with inturn.Value(0) as value, value.observe(wait):
        value.value = 1
    assert refused == [inturn.DeadlockError, inturn.DeadlockError]


def test_async_for_gives_the_object_and_each_change_until_the_value_is_destroyed() -> None:
    value = inturn.Value(0)

    async def follow() -> list[int]:
        seen = []
        async for number in value:
            seen.append(number)
            if number < 3:
                value.value = number + 1
            else:
                value.destroy()
        return seen

    assert asyncio.run(asyncio.wait_for(follow(), LIMIT)) == [0, 1, 2, 3]
    assert asyncio.run(asyncio.wait_for(follow(), LIMIT)) == []  # also before its first step


def test_async_for_sees_changes_of_other_threads_without_a_gap() -> None:
    value = inturn.Value(0)

    def count() -> None:
        for number in range(1, 501):
            value.value = number

    async def follow(latest: bool) -> list[Change]:
        seen = []
        async for change in value.changes(latest=latest):
            seen.append(change)
            if change.kind is ChangeKind.INITIAL:
                setter = start(count)
            if change.new == 500:
                break
        join(setter)
        return seen

    with value:
        for latest in (False, True):
            seen = asyncio.run(asyncio.wait_for(follow(latest), LIMIT))
            assert [change.old for change in seen[1:]] == [change.new for change in seen[:-1]]
            assert latest or len(seen) == 501
            value.value = 0


def test_a_step_that_is_cancelled_takes_no_change() -> None:
    async def main() -> None:
        value = inturn.Value(0)
        changes, objects = value.changes(latest=True), value.__aiter__()
        assert (await changes.__anext__()).kind is ChangeKind.INITIAL
        assert await objects.__anext__() == 0
        for each in (changes, objects):
            step: Any = asyncio.ensure_future(each.__anext__())
            await asyncio.sleep(0)
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
        value.value = 1
        value.value = 2
        assert (await changes.__anext__())[2:] == (0, 2)
        assert [await objects.__anext__(), await objects.__anext__()] == [1, 2]
        value.destroy()
        for each in (changes, objects):
            with pytest.raises(StopAsyncIteration):
                await each.__anext__()

    asyncio.run(asyncio.wait_for(main(), LIMIT))


def test_an_async_for_that_is_cancelled_ends_its_observation() -> None:
    async def follow() -> None:
        task = asyncio.ensure_future(anext_of(value.changes()))
        await task
        waiting = asyncio.ensure_future(forever())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    async def anext_of(changes: Any) -> None:
        await changes.__anext__()
        await changes.aclose()

    async def forever() -> None:
        async for _ in value:
            pass

    with inturn.Value(0) as value:
        asyncio.run(asyncio.wait_for(follow(), LIMIT))
        gc.collect()
        assert not _callbacks.listeners


@pytest.mark.parametrize("follow", ["changes", "__aiter__"])
def test_a_closed_iteration_leaves_no_observation(follow: str) -> None:
    async def main() -> None:
        before = inturn.statistics().observations
        with inturn.Value(0) as value:
            iterator = getattr(value, follow)()
            await iterator.__anext__()
            assert inturn.statistics().observations == before + 1
            await iterator.aclose()
            assert inturn.statistics().observations == before

    asyncio.run(main())


def test_an_observer_that_is_not_callable_is_refused() -> None:
    with inturn.Value(0) as value, pytest.raises(TypeError, match="must be a function"):
        value.observe(42)  # type: ignore[arg-type]


def test_a_run_away_loop_is_reported() -> None:
    ended = run_python(
        """
import inturn
with inturn.Value(2000, label="loop") as value:
    observation = value.observe(lambda change: change.new and value.set(change.new - 1))
    value.value = 1999
    print(value.value)
"""
    )
    assert (ended.returncode, ended.stdout) == (0, "0\n")
    assert ended.stderr.count('value "loop" was changed 1000 times') == 1


@pytest.mark.parametrize("rest", ["", "import sys; sys.exit(0)", "del value", "del observation"])
def test_exit_neither_hangs_nor_crashes_nor_calls_anything(rest: str) -> None:
    ended = run_python(
        f"""
import inturn, threading
value = inturn.Value([0])
queue = inturn.FIFOQueue()
queue.suspend()
observation = value.observe(print, queue=queue)
threading.Thread(target=lambda: value.wait_for(lambda item: False), daemon=True).start()
for number in range(100):
    value.value = [number]
{rest}
""",
        "-W",
        "error",
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
