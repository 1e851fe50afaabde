"""Mistakes are refused, and the refusal says what is wrong."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
from functools import partial
from typing import Any, Callable

import pytest

import inturn
from support import LIMIT, Gate, each, finish, run


async def _coroutine(*_: object) -> None:
    pass


MADE: dict[str, Callable[[inturn.FIFOQueue], Any]] = {
    "queue": lambda queue: queue,
    "operation": lambda queue: queue.enqueue(finish),
    "batch": lambda queue: queue.batch([finish]),
    "future": lambda queue: queue.submit(int),
    "token": lambda queue: _token(queue),
    "executor": lambda _: inturn.Executor(),
    "owner": lambda _: inturn.Owner(),
    "clock": lambda _: inturn.ManualClock(),
    "value": lambda _: inturn.Value(1),
    "observation": lambda _: inturn.Value(1).observe(print),
    "state": lambda queue: queue.states.pending,
}


def _token(queue: inturn.FIFOQueue) -> inturn.Token:
    tokens: list[inturn.Token] = []
    given = Gate("the token")
    queue.enqueue(each(tokens.append, given.open))
    given.wait()
    return tokens.pop()


@pytest.mark.parametrize("name", MADE)
def test_what_stands_for_an_object_of_the_library_is_not_copied(name: str) -> None:
    with inturn.FIFOQueue("mine") as queue:
        made = MADE[name](queue)
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot copy or pickle"):
                copied(made)
        gc.collect()
        if isinstance(made, inturn.Token):
            made.finish()
        # Nothing was destroyed along with a copy.
        assert queue.submit(int).result(LIMIT) == 0


def test_what_a_coroutine_waits_for_is_not_copied() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            running = queue.run(_coroutine)
            with pytest.raises(TypeError, match="cannot copy or pickle"):
                copy.copy(running)
            await running

    run(main)


def test_a_coroutine_function_is_for_run() -> None:
    reported: list[object] = []
    with inturn.FIFOQueue() as queue:
        with pytest.raises(TypeError, match="is for `run`"):
            queue.submit(_coroutine).result(LIMIT)  # type: ignore[unused-coroutine]
        end = queue.enqueue(_coroutine).wait(LIMIT)
        assert end.outcome is inturn.Outcome.FAILED
        assert "is for `run`" in str(end.exception)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sys.unraisablehook", lambda told: reported.append(told.exc_value))
            queue.post(_coroutine)
            queue.drain(LIMIT)
        assert "is for `run`" in str(reported[0])
        assert queue.statistics().failed == 3
    assert asyncio.iscoroutinefunction(_coroutine)


def test_an_argument_of_another_type_is_named() -> None:
    with inturn.FIFOQueue() as queue:
        with pytest.raises(TypeError, match="not a time in seconds: '3'"):
            queue.enqueue(finish, max_run="3")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not a time in seconds: '3'"):
            queue.drain("3")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not a string: 3"):
            queue.enqueue(finish, label=3)  # type: ignore[arg-type]
    for kind in (inturn.FIFOQueue, inturn.Executor, partial(inturn.Value, 1)):
        with pytest.raises(TypeError, match="not a string: 3"):
            kind(label=3)  # type: ignore[arg-type]


def test_what_queues_share_is_no_queue() -> None:
    with pytest.raises(TypeError, match="make one of a kind"):
        inturn.Queue()  # type: ignore[call-arg]


def test_a_queue_that_was_never_made_says_so() -> None:
    class Mine(inturn.FIFOQueue):
        def __init__(self) -> None:
            pass

    queue = Mine()
    assert repr(queue) == "<inturn.Mine ''>"
    calls = (lambda: queue.enqueue(finish), lambda: queue.submit(int), queue.drain, queue.destroy)
    for call in calls:
        with pytest.raises(inturn.NullHandleError):
            call()


class Falsy:
    """Something that a truth test takes for nothing, and a comparison for an error."""

    def __call__(self, *_: object) -> None:
        self.called = True

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        raise ValueError

    __hash__ = object.__hash__


def test_an_end_callback_that_is_false_is_called() -> None:
    told = Falsy()
    with inturn.FIFOQueue() as queue:
        queue.enqueue(finish, on_end=told)
        queue.drain(LIMIT)
        assert told.called
        wrong: Any = 0
        with pytest.raises(TypeError, match="not callable: 0"):
            queue.enqueue(finish, on_end=wrong)


def test_a_value_is_exchanged_for_the_very_object_whatever_that_is_equal_to() -> None:
    for item in (float("nan"), Falsy()):
        with inturn.Value[Any](item) as value:
            assert value.compare_exchange(item, 1)
            assert value.get() == 1


def test_a_number_of_calls_does_not_wrap() -> None:
    with inturn.Executor() as executor:
        for number in (-1, 2**32):
            with pytest.raises(ValueError, match="not a number of calls"):
                executor.drain(number)
