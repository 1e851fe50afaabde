"""A queue compared with a simple model: a list, and a few lines.

Every call is made on one of several threads, and so is the drain after it; the queue's executor is
drained by hand, so that both queues are compared after each step.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

import inturn

Outcome = inturn.Outcome
THREADS = 3
threads = st.integers(0, THREADS - 1)
places = st.integers(0, 1_000)
# What work does before it returns: it keeps its token, or ends its operation.
behaviours = st.sampled_from(["keep", "finish", "fail", "raise", "cancel", "lose"])
AT_ONCE = {
    "finish": Outcome.FINISHED,
    "fail": Outcome.FAILED,
    "raise": Outcome.FAILED,
    "cancel": Outcome.CANCELLED,
    "lose": Outcome.ABANDONED,
}


@dataclass(eq=False)
class Item:
    """An operation of the model, with the real one."""

    behaviour: str
    operation: Any = None
    started: bool = False
    asked: bool = False
    outcome: Any = None
    token: inturn.Token | None = None
    ends: list[inturn.End] = field(default_factory=list)


class Model(RuleBasedStateMachine):
    kind: type[inturn.FIFOQueue] | type[inturn.OperationQueue] | type[inturn.ActorQueue]
    options: ClassVar[dict[str, Any]] = {}
    limit = 1

    def __init__(self) -> None:
        super().__init__()
        self.pools = [ThreadPoolExecutor(1) for _ in range(THREADS)]
        self.executor = inturn.Executor()
        self.queue = self.kind(executor=self.executor, **self.options)
        self.items: list[Item] = []  # all, in order
        self.suspends = 0
        self.closed = False
        self.starts: list[Item] = []
        self.real_starts: list[Item] = []

    # On both queues -------------------------------------------------------------------------

    def call(self, thread: int, function: Callable[[], Any]) -> Any:
        """Calls a function on a thread; returns its result or its exception."""
        try:
            return self.pools[thread].submit(function).result(30)
        except Exception as error:
            return error

    def settle(self, thread: int) -> None:
        """Lets both queues start and end what they can."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # from lost tokens
            self.call(thread, self.executor.drain)
        while not self.suspends:
            item = next((i for i in self.items if not i.started and not i.outcome), None)
            if item is None or not self.has_place():
                break
            item.started = True
            self.starts.append(item)
            if item.behaviour != "keep":
                item.outcome = AT_ONCE[item.behaviour]

    def has_place(self) -> bool:
        return sum(item.started and not item.outcome for item in self.items) < self.limit

    def work(self, item: Item) -> Callable[[inturn.Token], None]:
        def work(token: inturn.Token) -> None:
            self.real_starts.append(item)
            if item.behaviour == "keep":
                item.token = token
            elif item.behaviour == "finish":
                token.finish(item.behaviour)
            elif item.behaviour == "fail":
                token.fail(LookupError())
            elif item.behaviour == "raise":
                raise LookupError
            elif item.behaviour == "cancel":
                token.cancel()

        return work

    # Rules ----------------------------------------------------------------------------------

    @rule(thread=threads, behaviour=behaviours, watched=st.booleans())
    def enqueue(self, thread: int, behaviour: str, watched: bool) -> None:
        item = Item(behaviour)
        end = item.ends.append if watched else None
        got = self.call(thread, lambda: self.queue.options(on_end=end).enqueue(self.work(item)))
        if self.closed:
            assert isinstance(got, inturn.ClosedError)
            return
        item.operation = got
        self.items.append(item)
        self.settle(thread)

    @rule(thread=threads)
    def post(self, thread: int) -> None:
        item = Item("finish")
        got = self.call(thread, lambda: self.queue.post(self.real_starts.append, item))
        if self.closed:
            assert isinstance(got, inturn.ClosedError)
            return
        self.items.append(item)
        self.settle(thread)

    @precondition(lambda self: any(item.token for item in self.items))
    @rule(thread=threads, place=places, how=st.sampled_from(["finish", "fail", "cancel"]))
    def end(self, thread: int, place: int, how: str) -> None:
        having = [item for item in self.items if item.token]
        item = having[place % len(having)]
        token = item.token
        assert token is not None
        argument = (LookupError(),) if how == "fail" else ()
        got = self.call(thread, lambda: getattr(token, how)(*argument))
        assert got is None
        again = self.call(thread, token.finish)
        assert isinstance(again, inturn.AlreadyFinishedError)
        item.token = None
        item.outcome = AT_ONCE[how]
        self.settle(thread)

    @precondition(lambda self: any(item.token for item in self.items))
    @rule(thread=threads, place=places)
    def lose(self, thread: int, place: int) -> None:
        having = [item for item in self.items if item.token]
        item = having[place % len(having)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            item.token = None
        item.outcome = Outcome.ABANDONED
        self.settle(thread)

    @precondition(lambda self: any(item.operation for item in self.items))
    @rule(thread=threads, place=places)
    def cancel(self, thread: int, place: int) -> None:
        having = [item for item in self.items if item.operation]
        item = having[place % len(having)]
        did = self.call(thread, item.operation.cancel)
        assert did is (item.outcome is None and not item.asked)
        self.ask(item)
        self.settle(thread)

    def ask(self, item: Item) -> None:
        if item.outcome is None:
            item.asked = True
            if not item.started:
                item.outcome = Outcome.CANCELLED

    @rule(thread=threads)
    def cancel_all(self, thread: int) -> None:
        assert self.call(thread, self.queue.cancel_all) is None
        for item in self.items:
            self.ask(item)
        self.settle(thread)

    @rule(thread=threads)
    def suspend(self, thread: int) -> None:
        self.call(thread, self.queue.suspend)
        self.suspends += 1

    @rule(thread=threads)
    def resume(self, thread: int) -> None:
        got = self.call(thread, self.queue.resume)
        if not self.suspends:
            assert isinstance(got, inturn.NotSuspendedError)
            return
        self.suspends -= 1
        self.settle(thread)

    @precondition(lambda self: len(self.items) > 10)
    @rule(thread=threads)
    def close(self, thread: int) -> None:
        self.call(thread, self.queue.close)
        self.closed = True

    # What must hold after each rule ---------------------------------------------------------

    @invariant()
    def the_same_has_started_in_the_same_order(self) -> None:
        assert self.real_starts == self.starts

    @invariant()
    def the_same_has_ended_in_the_same_way(self) -> None:
        for item in self.items:
            if item.operation is None:
                continue
            if item.outcome is None:
                state = inturn.State.RUNNING if item.started else inturn.State.PENDING
                assert item.operation.state is state
                assert item.ends == []
                assert item.token is None or item.token.cancelled is item.asked
            else:
                assert item.operation.state is inturn.State.ENDED
                assert item.operation.wait(0).outcome is item.outcome
                assert len(item.ends) <= 1

    @invariant()
    def the_counts_are_the_same(self) -> None:
        counts = self.queue.statistics()
        assert counts.suspends == self.suspends
        ended = [item.outcome for item in self.items if item.outcome]
        assert counts.finished == ended.count(Outcome.FINISHED)
        assert counts.failed == ended.count(Outcome.FAILED)
        assert counts.cancelled == ended.count(Outcome.CANCELLED)
        assert counts.abandoned == ended.count(Outcome.ABANDONED)
        alive = [item for item in self.items if item.outcome is None]
        assert counts.running == sum(item.started for item in alive)
        assert counts.pending == sum(not item.started for item in alive)
        states = [info.state for info in self.queue.operations()]
        assert states.count(inturn.State.PENDING) == counts.pending

    def teardown(self) -> None:
        self.queue.destroy()
        self.executor.drain()
        self.executor.close()
        for item in self.items:
            item.token = None
        for pool in self.pools:
            pool.shutdown()


class FIFO(Model):
    kind = inturn.FIFOQueue


class Concurrent(Model):
    kind = inturn.OperationQueue
    options: ClassVar[dict[str, Any]] = {"max_concurrent": 3}
    limit = 3


class Actor(Model):
    kind = inturn.ActorQueue
    limit = 1_000_000


@pytest.mark.parametrize("model", [FIFO, Concurrent, Actor])
def test_a_queue_does_what_a_simple_one_does(model: type[Model]) -> None:
    state_machine = model.TestCase
    state_machine.settings = settings(
        max_examples=60,
        stateful_step_count=50,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    state_machine().runTest()
    gc.collect()
