"""Mistakes are refused, and the error says what is wrong."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import queue
from decimal import Decimal
from io import StringIO
from typing import Any, Callable

import pytest

import inturn
from inturn import _callbacks
from support import LIMIT, Gate, each, finish, run, until

NAN = float("nan")


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
    "states": lambda queue: queue.states,
    "states of an operation": lambda queue: queue.enqueue(finish).states,
    "options": lambda queue: queue.options(label="a"),
    "future with options": lambda queue: queue.options(label="a").submit(int),
    "events": lambda _: inturn.FIFOQueue(events=True).events(),
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
            with pytest.raises(TypeError, match=r"cannot copy or pickle .* pass it to"):
                copied(made)
        gc.collect()
        if isinstance(made, inturn.Token):
            made.finish()
        # Nothing was destroyed with a copy.
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
        with pytest.raises(TypeError, match="passed to `run`"):
            queue.submit(_coroutine).result(LIMIT)  # type: ignore[unused-coroutine]
        end = queue.enqueue(lambda _: _coroutine()).wait(LIMIT)
        assert end.outcome is inturn.Outcome.FAILED
        assert "passed to `run`" in str(end.exception)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("threading.excepthook", lambda told: reported.append(told.exc_value))
            queue.post(_coroutine)
            queue.drain(LIMIT)
        assert "passed to `run`" in str(reported[0])
        assert queue.statistics().failed == 3
    assert asyncio.iscoroutinefunction(_coroutine)


class Forgets(inturn.FIFOQueue):
    def __init__(self) -> None:
        pass


# Without its types, as these arguments are wrong.
loose: Any = inturn
Null, Unsupported = inturn.NullHandleError, inturn.UnsupportedError
WRONG: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "label": (lambda _: loose.FIFOQueue(3), TypeError, "label of .*FIFOQueue.* a string.* not 3"),
    "label with a zero": (lambda _: loose.FIFOQueue("a\0"), ValueError, "label of .*not 'a"),
    "option label": (lambda q: q.options(label=3), TypeError, "label of .*'mine'.* not 3"),
    "max_run": (lambda q: q.options(max_run="3"), TypeError, "max_run of .*'mine'.*time.* not '3'"),
    "NaN": (lambda q: q.options(max_run=NAN), ValueError, "max_run of .*'mine'.*time.* not nan"),
    "negative": (lambda q: q.options(stall=-1), ValueError, "stall of .*'mine'.*time.* not -1"),
    "executor": (lambda _: loose.FIFOQueue(executor="3"), TypeError, "executor of .* an Executor"),
    "clock": (lambda _: loose.FIFOQueue(clock=3), TypeError, "clock of .* a ManualClock.* not 3"),
    "rate": (lambda _: loose.FIFOQueue(rate=3), TypeError, "rate of .* a Rate.* not 3"),
    "on_event": (lambda _: loose.FIFOQueue(on_event=3), TypeError, "on_event of .* an Event"),
    "capacity": (lambda _: loose.FIFOQueue("q", capacity=-1), ValueError, "capacity of .*'q'.* -1"),
    "thread": (lambda _: loose.FIFOQueue(thread=True, name=1), TypeError, "name"),
    "settle": (lambda _: loose.InteractionQueue(settle="1"), TypeError, "settle of .* not '1'"),
    "places": (lambda _: loose.OperationQueue(max_concurrent=0), ValueError, "max_concurrent of"),
    "after": (lambda q: q.options(after=q), TypeError, "after of .*'mine'.* a list of operations"),
    "after an object": (lambda q: q.options(after=[q]), TypeError, "after of .* a list of operat"),
    "exclusive": (lambda q: q.options(exclusive="a"), TypeError, "exclusive of .*list.* not 'a'"),
    "priority": (lambda q: q.options(priority=1), Unsupported, "priority is for .*mine"),
    "barrier": (lambda q: q.options(barrier=True), Unsupported, "barrier is for .*mine"),
    "urgent": (lambda q: q.options(urgent=True), Unsupported, "urgent is for .*mine"),
    "retry": (lambda q: q.options(retry=3), TypeError, "retry of .*'mine'.* a Retry.* not 3"),
    "condition": (lambda q: q.options(condition=1), TypeError, "condition of .* a function"),
    "owner": (lambda q: q.options(owner=q), TypeError, "owner of .*'mine'.* an Owner"),
    "join": (lambda q: q.options(join=True), ValueError, "'mine'.* needs a key"),
    "unknown": (lambda q: q.options(prio=1), TypeError, "'mine'.* option 'prio', but .*priority"),
    "on_end": (lambda q: q.options(on_end=0), TypeError, "on_end of .*'mine'.* a function.* not 0"),
    "on_end of a batch": (lambda q: q.batch([], on_end=0), TypeError, "on_end of .*'mine'.* not 0"),
    "enough": (lambda q: q.batch([finish], enough=-1), ValueError, "enough of .* not -1"),
    "kind": (lambda _: loose.Queue(), TypeError, "is abstract"),
    "post": (lambda q: q.post(3), TypeError, "work for .*'mine'.* a function, not 3"),
    "submit": (lambda q: q.submit(3), TypeError, "work for .*'mine'.* a function, not 3"),
    "enqueue": (lambda q: q.enqueue(3), TypeError, "work for .*'mine'.* a function, not 3"),
    "coroutine function": (lambda q: q.enqueue(_coroutine), TypeError, "to `run` of .*'mine'"),
    "in a batch": (lambda q: q.batch([_coroutine]), TypeError, "passed to `run` of .*'mine'"),
    "run": (lambda q: q.run(3), TypeError, "work for .*'mine'.* a function, not 3"),
    "coroutine": (lambda q: q.run(_coroutine()), TypeError, "'mine'.* takes a coroutine function"),
    "submitted coroutine": (lambda q: q.submit(_coroutine()), TypeError, "takes a coroutine funct"),
    "coroutine, twice": (lambda q: _twice(q), TypeError, "'mine'.* takes a coroutine function"),
    "subclass": (lambda _: Forgets().submit(int), Null, "Forgets.__init__ has not"),
    "drain of one": (lambda _: Forgets().drain(), Null, "Forgets.__init__ has not"),
    "timeout": (lambda q: q.drain("3"), TypeError, "a time in seconds.* '3'"),
    "decimal timeout": (lambda q: q.drain(Decimal(3)), TypeError, "timeout of .*'mine'.* not Dec"),
    "decimal NaN": (lambda q: q.drain(Decimal("NaN")), ValueError, "timeout of .*'mine'.*'NaN'"),
    "future's": (lambda q: _wait_wrongly(q), TypeError, "timeout of .*Future.* a time.* '3'"),
    "reason": (lambda q: q.suspend(3), TypeError, "reason of .*'mine'.* a string.* not 3"),
    "key": (lambda q: q.resolve(3), TypeError, "key of .*'mine'.* a string.* not 3"),
    "seconds": (lambda _: loose.ManualClock().advance("1"), TypeError, "seconds of .*ManualClock"),
    "factor": (lambda q: q.options(retry=loose.Retry(factor="2")), TypeError, "factor of .*Retry"),
    "jitter": (lambda q: q.options(retry=loose.Retry(jitter="1")), TypeError, "jitter of .*Retry"),
    "threads": (lambda _: loose.Executor(threads=0), ValueError, "threads of .* from 1"),
    "executor's label": (lambda _: loose.Executor(3), TypeError, "label of .*Executor.* not 3"),
    "calls": (lambda _: loose.Executor().drain(-1), ValueError, "max_calls of .*Executor.* not -1"),
    "value's label": (lambda _: loose.Value(1, label=3), TypeError, "label of .*Value.* not 3"),
    "observer": (lambda _: loose.Value(1).observe(3), TypeError, "observer of .*Value.* not 3"),
    "observer's": (lambda _: loose.Value(1).observe(print, executor=3), TypeError, "executor of"),
    "owner's": (lambda _: loose.Owner(capacity=-1), ValueError, "capacity of .*Owner.* not -1"),
    "loop": (lambda q: q.run_on(3, _coroutine), TypeError, "loop of .*'mine'.* a.* loop, not 3"),
    "why": (lambda _: loose.why(3), TypeError, "operation of .*why.* or a future.*, not 3"),
    "why a queue": (lambda q: loose.why(q), TypeError, "operation of .*why.* or a future.*'mine'"),
    "dump": (lambda _: loose.dump([]), TypeError, r"file of .* a path, .* has one, not \[\]"),
    "dump to text": (lambda _: loose.dump(StringIO()), ValueError, "file of .* a path, .*StringIO"),
    "trace": (lambda _: loose.write_trace(None), TypeError, "file of .* a path, .*, not None"),
    "limit": (lambda q: q.operations(-1), ValueError, "limit of .*'mine'.* not -1"),
}  # fmt: skip


def _twice(queue: inturn.FIFOQueue) -> None:
    made: Any = _coroutine()
    for _ in range(2):
        with pytest.raises(TypeError):
            queue.run(made)
    queue.run(made)


def _wait_wrongly(queue: inturn.FIFOQueue) -> None:
    queue.suspend()
    pending: Any = queue.submit(int)
    try:
        pending.result("3")
    finally:
        queue.resume()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named_with_what_it_may_be_and_whose_it_is(name: str) -> None:
    call, kind, said = WRONG[name]
    kept = len(_callbacks.entries)
    with inturn.FIFOQueue("mine") as queue:
        with pytest.raises(kind, match=said):
            call(queue)
        assert queue.submit(int).result(LIMIT) == 0
    until("nothing to be left", lambda: len(_callbacks.entries) == kept)


def test_a_coroutine_that_is_run_a_second_time_fails() -> None:
    async def main() -> None:
        made = _coroutine()
        with inturn.FIFOQueue() as queue:
            await queue.run(lambda: made)
            with pytest.raises(RuntimeError, match="reuse"):
                await queue.run(lambda: made)

    run(main)


def test_a_queue_that_was_never_made_says_so() -> None:
    queue = Forgets()
    assert repr(queue) == "<inturn.Forgets ''>"
    calls = (lambda: queue.enqueue(finish), lambda: queue.post(int), queue.close, queue.destroy)
    for call in calls:
        with pytest.raises(inturn.NullHandleError, match=r"super\(\)"):
            call()


@pytest.mark.parametrize("name", ["Batch", "Future", "Observation", "Operation", "Token"])
def test_what_only_the_library_makes_says_what_it_lacks_and_is_dropped_in_silence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    with pytest.raises(TypeError, match="missing"):
        getattr(loose, name)()
    gc.collect()
    assert not told


class Falsy:
    """Is false in a truth test, and raises in a comparison."""

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
        queue.options(on_end=told).enqueue(finish)
        queue.drain(LIMIT)
        assert told.called
        wrong: Any = 0
        with pytest.raises(TypeError, match="function of an End, not 0"):
            queue.options(on_end=wrong).enqueue(finish)


def test_a_value_is_exchanged_for_the_very_object_whatever_that_is_equal_to() -> None:
    for item in (float("nan"), Falsy()):
        with inturn.Value[Any](item) as value:
            assert value.compare_exchange(item, 1)
            assert value.get() == 1


def test_a_number_of_calls_does_not_wrap() -> None:
    with inturn.Executor() as executor:
        for number in (-1, 2**32):
            with pytest.raises(ValueError, match="a number of calls"):
                executor.drain(number)


class Array:
    """Is neither true nor false, and neither equal nor unequal, like an array."""

    def __bool__(self) -> bool:
        raise ValueError("the truth of an array is ambiguous")

    def __eq__(self, other: object) -> bool:
        raise ValueError("the equality of an array is ambiguous")

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, *_: object) -> Array:
        return self

    async def run(self, *_: object) -> Array:
        return self


def test_what_is_handed_through_is_not_asked_whether_it_is_true_or_equal() -> None:
    given, ends = Array(), queue.SimpleQueue[inturn.End]()

    async def main() -> None:
        with inturn.FIFOQueue() as fifo, inturn.Value[Any](given) as value:
            keyed = fifo.options(key="k", join=True, retry=inturn.Retry(2, decide=lambda *_: True))
            for face in (fifo, keyed):
                assert await face.run(given.run, given) is given
                assert await asyncio.wrap_future(face.submit(given, given)) is given
                assert (await face.enqueue(lambda token: token.finish(given))).result is given
                face.post(given, given)
            batch = await fifo.batch([lambda token: token.finish(given)])
            assert [end.result for end in batch.ends] == [given]
            fifo.options(on_end=ends.put).enqueue(lambda token: token.finish(given))
            assert (await asyncio.to_thread(ends.get)).result is given
            changes: list[Any] = []
            with value.observe(changes.append, prior=True):
                value.set(given)
                assert value.exchange(given) is given
                assert value.compare_exchange(given, given)
                assert value.update(given) is given
            assert all(change.new is given for change in changes if change.kind.name != "PRIOR")
            assert value.wait_for(lambda item: item is given, LIMIT) is given

    run(main)
