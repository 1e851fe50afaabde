"""What is kept alive, and by whom: a callback lives as long as what the user holds."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
import weakref
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any, Callable

import pytest

import inturn
from inturn import _callbacks
from support import LIMIT, Gate, finish, until


class OfValue:
    """Observes its own value."""

    def __init__(self) -> None:
        self.value = inturn.Value(0)
        self.observation = self.value.observe(self.told)
        self.changes: list[inturn.Change] = []

    def told(self, change: inturn.Change) -> None:
        self.changes.append(change)


class OfQueue:
    """Receives the events of its own queue."""

    def __init__(self) -> None:
        self.queue = inturn.FIFOQueue(on_event=self.told)

    def told(self, _event: inturn.Event) -> None:
        pass


class OfStates:
    """Observes its own queue."""

    def __init__(self) -> None:
        self.queue = inturn.FIFOQueue()
        self.observation = self.queue.states.pending.observe(self.told)

    def told(self, _change: inturn.Change) -> None:
        pass


class OfToken:
    """Notices its own token's cancelling, and loses the token when it is collected."""

    def __init__(self) -> None:
        self.queue = inturn.FIFOQueue()
        begun = Gate("the work")

        def work(token: inturn.Token) -> None:
            self.token = token
            token.on_cancel(self.told)
            begun.open()

        self.operation = self.queue.enqueue(work)
        begun.wait()

    def told(self, _token: inturn.Token) -> None:
        pass


@pytest.mark.parametrize("make", [OfValue, OfQueue, OfStates, OfToken])
def test_who_listens_to_its_own_is_collected(make: Callable[[], Any]) -> None:
    gc.collect()
    entries, listeners = len(_callbacks.entries), len(_callbacks.listeners)

    def one() -> weakref.ref[Any]:
        return weakref.ref(make())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # from a lost token
        gone = [one() for _ in range(20)]

        def nothing_is_left() -> bool:
            gc.collect()
            return (
                all(each() is None for each in gone)
                and len(_callbacks.entries) <= entries
                and len(_callbacks.listeners) <= listeners
            )

        until("the collection", nothing_is_left)


def test_an_observer_is_told_for_as_long_as_its_observation_is_held() -> None:
    model = OfValue()
    model.value.set(1)
    assert [change.new for change in model.changes] == [1]
    del model.observation
    gc.collect()
    model.value.set(2)
    assert [change.new for change in model.changes] == [1]


def test_a_handler_stays_for_the_next_attempt() -> None:
    told: list[bool] = []
    attempts: list[inturn.Token] = []

    def hear(token: inturn.Token) -> None:
        told.append(token is attempts[1])
        token.finish()

    def work(token: inturn.Token) -> None:
        attempts.append(token)
        if len(attempts) == 1:
            token.on_cancel(hear)
            token.fail(LookupError())

    with inturn.FIFOQueue() as queue:
        operation = queue.options(retry=inturn.Retry(attempts=2)).enqueue(work)
        until("the second attempt", lambda: len(attempts) == 2)
        operation.cancel()
        assert operation.wait(LIMIT).attempts == 2
    assert told == [True]


def test_the_states_of_an_operation_outlive_the_callers_reference_to_it() -> None:
    with inturn.FIFOQueue() as queue:
        for _ in range(200):
            queue.enqueue(finish).states.state.wait_for(lambda state: state is inturn.State.ENDED)
        operation = queue.enqueue(finish)
        states = operation.states
        assert operation.states is states
        operation.wait(LIMIT)
        del operation
        assert states.state.value is inturn.State.ENDED


class Payload:
    pass


failed: list[weakref.ref[Payload]] = []


def fail(*arguments: object) -> None:
    del arguments  # such as the token, which leads to the exception
    payload = Payload()
    failed.append(weakref.ref(payload))
    raise LookupError


async def fail_in_turn() -> None:
    fail()


def resume(_queue: inturn.Queue) -> None:
    with inturn.ActorQueue() as actor:
        actor.enqueue(lambda token: token.resume(fail)).wait(LIMIT)


def in_loop(ask: Callable[[inturn.Queue], Awaitable[Any]]) -> Callable[[inturn.Queue], None]:
    async def main(queue: inturn.Queue) -> None:
        with suppress(LookupError):
            await ask(queue)

    return lambda queue: asyncio.run(main(queue))


FAILURES: dict[str, Callable[[inturn.Queue], object]] = {
    "exception": lambda queue: queue.submit(fail).exception(LIMIT),
    "result": lambda queue: queue.submit(fail).result(LIMIT),
    "map": lambda queue: list(queue.map(fail, [1])),
    "enqueue": lambda queue: queue.enqueue(fail).wait(LIMIT),
    "resume": resume,
    "post": lambda queue: queue.post(fail),
    "post with options": lambda queue: queue.options(label="a").post(fail),
    "exception with options": lambda queue: queue.options(label="a").submit(fail).exception(LIMIT),
    "result with options": lambda queue: queue.options(label="a").submit(fail).result(LIMIT),
    "run": in_loop(lambda queue: queue.run(fail_in_turn)),
    "run with options": in_loop(lambda queue: queue.options(label="a").run(fail_in_turn)),
    "run with a retry": in_loop(
        lambda queue: queue.options(retry=inturn.Retry(2)).run(fail_in_turn)
    ),
    "run_on": in_loop(
        lambda queue: asyncio.wrap_future(queue.run_on(asyncio.get_running_loop(), fail_in_turn))
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_a_function_had_that_failed_goes_without_a_collection(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    gc.disable()
    try:
        with inturn.FIFOQueue() as queue:
            with suppress(LookupError):
                FAILURES[name](queue)
            queue.drain(LIMIT)
            gone = failed.pop()
            until("the end of the exception", lambda: gone() is None)
    finally:
        gc.enable()


def test_what_joins_nobody_is_told_nothing() -> None:
    """So that many operations with a key cost no more than as many without."""
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        operations = [queue.options(key="key").enqueue(finish) for _ in range(100)]
        joined = queue.options(key="key", join=True).enqueue(finish)
        queue.resume()
        joined.wait(LIMIT)
        queue.drain(LIMIT)
        for operation in operations:
            assert operation._extras is not None
            assert operation._extras.leaders == {}


async def goes(gone: weakref.ref[Any]) -> None:
    """Waits until it has gone, of which a thread or a callback may still have a part."""
    while gone() is not None:
        await asyncio.sleep(0)


def run_without_collector(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    gc.disable()
    try:
        asyncio.run(asyncio.wait_for(main(), LIMIT))
    finally:
        gc.enable()


def test_a_run_on_leaves_no_cycle() -> None:
    async def number() -> int:
        return 1

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with inturn.FIFOQueue() as queue:

            def ask() -> weakref.ref[Any]:
                future = queue.run_on(loop, number)
                assert future.result(LIMIT) == 1
                return weakref.ref(future)

            gone = await loop.run_in_executor(None, ask)
            await goes(gone)

    run_without_collector(main)


@pytest.mark.parametrize("kind", [inturn.FIFOQueue, inturn.ActorQueue])
def test_a_coroutine_that_was_cancelled_leaves_no_cycle(kind: type[inturn.FIFOQueue]) -> None:
    async def forever(begun: asyncio.Event) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def main() -> None:
        with kind() as queue:

            async def cancel() -> weakref.ref[Any]:
                begun = asyncio.Event()
                task = queue.run(forever, begun)
                await begun.wait()
                await asyncio.sleep(0)
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                return weakref.ref(task)

            gone = await cancel()
            await goes(gone)

    run_without_collector(main)


@pytest.mark.parametrize("what", ["executor", "clock"])
def test_garbage_gives_back_what_its_queue_has_used(what: str) -> None:
    """In whichever order it is collected."""

    class Owner:
        def __init__(self) -> None:
            self.me = self
            if what == "executor":
                self.used: Any = inturn.Executor()
                self.queue = inturn.FIFOQueue(executor=self.used)
            else:
                self.used = inturn.ManualClock()
                self.queue = inturn.FIFOQueue(clock=self.used)

    def alive() -> tuple[int, int]:
        gc.collect()
        counts = inturn.statistics()
        return counts.executors, counts.clocks

    inturn.FIFOQueue()
    before = alive()
    for _ in range(3):
        Owner()
    # Others' objects may go meanwhile.
    assert all(now <= then for now, then in zip(alive(), before))


def test_an_executor_that_was_dropped_goes_with_the_last_observation_that_uses_it() -> None:
    value = inturn.Value(0)
    gc.collect()
    before = inturn.statistics().executors
    executor = inturn.Executor()
    observations = [value.observe(print, executor=executor) for _ in range(2)]
    del executor
    observations.pop()
    assert inturn.statistics().executors == before + 1
    observations.pop()
    assert inturn.statistics().executors == before
