"""What orders operations: priorities, dependencies, barriers, names, keys, owners, suspensions."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import inturn
from inturn import _callbacks
from support import LIMIT, Gate, each, finish, join

Cause = inturn.Cause
Outcome = inturn.Outcome


def noting(log: list[str], name: str) -> Callable[[inturn.Token], None]:
    return each(lambda _: log.append(name), finish)


def test_higher_priorities_start_first_and_equal_ones_in_order() -> None:
    log: list[str] = []
    with inturn.OperationQueue(max_concurrent=1) as queue:
        queue.suspend()
        for name, priority in (("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)):
            queue.options(priority=priority).enqueue(noting(log, name))
        queue.resume()
    assert log == ["b", "d", "a", "e", "c"]


@pytest.mark.parametrize("priority", [-(2**31) - 1, 2**31])
def test_a_priority_that_is_no_32_bit_number_is_refused(priority: int) -> None:
    with inturn.OperationQueue() as queue, pytest.raises(ValueError, match="priority"):
        queue.options(priority=priority).enqueue(finish)


def test_an_operation_starts_after_those_of_other_queues_and_futures() -> None:
    log: list[str] = []
    with inturn.FIFOQueue() as first, inturn.FIFOQueue() as second:
        first.suspend()
        operation = first.enqueue(noting(log, "operation"))
        future = first.submit(log.append, "future")
        last = second.options(after=[operation, future]).enqueue(noting(log, "last"))
        assert last.state is inturn.State.PENDING
        first.resume()
        assert last.wait(LIMIT).outcome is Outcome.FINISHED
    assert log == ["operation", "future", "last"]


@pytest.mark.parametrize(
    ("policy", "outcome", "cause"),
    [
        (inturn.AfterPolicy.ENDED, Outcome.FINISHED, Cause.NONE),
        (False, Outcome.FINISHED, Cause.NONE),
        (inturn.AfterPolicy.FINISHED, Outcome.CANCELLED, Cause.DEPENDENCY),
        (True, Outcome.CANCELLED, Cause.DEPENDENCY),
    ],
)
def test_the_policy_says_what_a_failure_before_it_means(
    policy: bool, outcome: Outcome, cause: Cause
) -> None:
    with inturn.OperationQueue() as queue:
        failing = queue.enqueue(lambda token: 1 // 0)
        end = queue.options(after=[failing], after_policy=policy).enqueue(finish).wait(LIMIT)
        assert isinstance(failing.wait(LIMIT).exception, ZeroDivisionError)
    assert (end.outcome, end.cause) == (outcome, cause)


def test_a_barrier_starts_alone() -> None:
    log: list[str] = []
    tokens: list[inturn.Token] = []
    begun = Gate("the first")
    with inturn.OperationQueue(max_concurrent=4) as queue:
        queue.enqueue(each(tokens.append, begun.open))
        barrier = queue.options(barrier=True).enqueue(noting(log, "barrier"))
        behind = queue.enqueue(noting(log, "behind"))
        begun.wait()
        assert (barrier.state, behind.state) == (inturn.State.PENDING, inturn.State.PENDING)
        tokens.pop().finish()
        behind.wait(LIMIT)
    assert log == ["barrier", "behind"]


def test_of_operations_that_share_a_name_one_runs_at_a_time() -> None:
    lock, overlaps, ran = threading.Lock(), 0, 0

    def work(token: inturn.Token) -> None:
        nonlocal overlaps, ran
        overlaps += not lock.acquire(blocking=False)
        ran += 1
        lock.release()
        token.finish()

    with inturn.OperationQueue() as one, inturn.OperationQueue() as other:
        for _ in range(200):
            one.options(exclusive=["disk", "camera"]).enqueue(work)
            other.options(exclusive=("camera", "disk")).enqueue(work)
    assert (overlaps, ran) == (0, 400)


def test_one_name_instead_of_names_is_refused() -> None:
    with inturn.OperationQueue() as queue, pytest.raises(TypeError, match="'disk'"):
        queue.options(exclusive="disk").enqueue(finish)


@pytest.mark.parametrize(
    ("answer", "outcome", "cause"),
    [
        (True, Outcome.FINISHED, Cause.NONE),
        (inturn.Verdict.START, Outcome.FINISHED, Cause.NONE),
        (False, Outcome.FINISHED, Cause.SKIPPED),
        (inturn.Verdict.SKIP, Outcome.FINISHED, Cause.SKIPPED),
        (inturn.Verdict.GIVE_UP, Outcome.CANCELLED, Cause.CONDITION),
    ],
)
def test_a_condition_decides_when_the_turn_has_come(
    answer: inturn.Verdict | bool, outcome: Outcome, cause: Cause
) -> None:
    ran: list[str] = []
    with inturn.FIFOQueue() as queue:
        end = queue.options(condition=lambda: answer).enqueue(noting(ran, "work")).wait(LIMIT)
    assert (end.outcome, end.cause) == (outcome, cause)
    assert ran == (["work"] if cause is Cause.NONE else [])


def test_what_a_condition_raises_or_wrongly_returns_fails_the_operation() -> None:
    ran: list[str] = []
    with inturn.FIFOQueue() as queue:
        raising = (
            queue.options(condition=lambda: bool(1 // 0)).enqueue(noting(ran, "work")).wait(LIMIT)
        )
        answer: Any = None
        wrong = queue.options(condition=lambda: answer).enqueue(noting(ran, "work")).wait(LIMIT)
        assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    assert isinstance(raising.exception, ZeroDivisionError)
    assert isinstance(wrong.exception, ValueError)
    assert ran == []


def test_those_that_join_end_with_the_same_result() -> None:
    ran: list[str] = []
    ends: list[inturn.End] = []

    def work(token: inturn.Token) -> None:
        ran.append("work")
        token.finish({"answer": 42})

    with inturn.FIFOQueue() as queue:
        queue.suspend()
        first = queue.options(key="question", join=True).enqueue(work)
        second = queue.options(key="question", join=True, on_end=ends.append).enqueue(work)
        other = queue.options(key="other", join=True).enqueue(lambda token: token.finish("other"))
        queue.resume()
        assert second.wait(LIMIT).result is first.wait(LIMIT).result
        assert other.wait(LIMIT).result == "other"
    assert ran == ["work"]
    assert (ends[0].cause, ends[0].attempts, ends[0].result) == (Cause.JOINED, 1, {"answer": 42})


def test_those_that_join_fail_with_the_same_exception_though_the_first_was_dropped() -> None:
    error = LookupError("none")
    told: list[inturn.End] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        queue.options(key="k", on_end=told.append).enqueue(lambda token: token.fail(error))
        second = queue.options(key="k", join=True).enqueue(finish)
        queue.resume()
        queue.drain(LIMIT)
        gc.collect()
        # It does not affect a later one with the key.
        assert queue.options(key="k").enqueue(lambda token: token.finish(1)).wait(LIMIT).result == 1
        assert second.wait(LIMIT).exception is error
    assert second.wait(LIMIT).cause is Cause.JOINED


def test_one_that_has_joined_stands_in_for_the_first_with_its_own_result() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        first = queue.options(key="k").enqueue(lambda token: token.finish("first"))
        second = queue.options(key="k", join=True).enqueue(lambda token: token.finish("second"))
        third = queue.options(key="k", join=True).enqueue(lambda token: token.finish("third"))
        first.cancel()
        queue.resume()
        assert [second.wait(LIMIT).result, third.wait(LIMIT).result] == ["second", "second"]
    assert first.wait(LIMIT).cause is Cause.REQUEST


def test_joining_without_a_key_is_refused() -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(ValueError, match="key"):
        queue.options(join=True).enqueue(finish)


def test_a_key_is_resolved_or_cancelled() -> None:
    ran: list[str] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        asked = [queue.options(key="a").enqueue(noting(ran, "a")) for _ in range(3)]
        dropped = [queue.options(key="b").enqueue(noting(ran, "b")) for _ in range(2)]
        queue.enqueue(noting(ran, "c"))
        assert (queue.resolve("a"), queue.cancel("b"), queue.resolve("a")) == (3, 2, 0)
        queue.resume()
    assert {operation.wait(LIMIT)[:2] for operation in asked} == {
        (Outcome.FINISHED, Cause.RESOLVED)
    }
    assert {operation.wait(LIMIT)[:2] for operation in dropped} == {
        (Outcome.CANCELLED, Cause.REQUEST)
    }
    assert ran == ["c"]


def test_an_owner_takes_its_operations_with_it() -> None:
    begun = Gate("the running one")
    tokens: list[inturn.Token] = []
    with inturn.FIFOQueue() as one, inturn.OperationQueue() as other:
        other.suspend()
        with inturn.Owner(capacity=2) as owner:
            running = one.options(owner=owner).enqueue(each(tokens.append, begun.open))
            pending = other.options(owner=owner).enqueue(finish)
            with pytest.raises(inturn.FullError):
                one.options(owner=owner).enqueue(finish)
            begun.wait()
            assert owner.count == 2
        owner.close()
        assert pending.wait(LIMIT)[:2] == (Outcome.CANCELLED, Cause.OWNER)
        assert tokens[0].cancelled
        tokens.pop().cancel()
        assert running.wait(LIMIT)[:2] == (Outcome.CANCELLED, Cause.OWNER)
        with pytest.raises(inturn.StaleError):
            one.options(owner=owner).enqueue(finish)
        with pytest.raises(inturn.StaleError):
            _ = owner.count
        other.resume()


def test_a_lost_owner_is_gone() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        operation = queue.options(owner=inturn.Owner()).enqueue(finish)
        gc.collect()
        assert operation.wait(LIMIT).cause is Cause.OWNER
        queue.resume()


def test_reasons_to_suspend_are_counted_by_themselves() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend("call")
        queue.suspend("call")
        queue.suspend()
        operation = queue.enqueue(finish)
        with pytest.raises(inturn.NotSuspendedError):
            queue.resume("lock screen")
        queue.resume("call")
        queue.resume()
        with pytest.raises(inturn.NotSuspendedError):
            queue.resume()
        assert operation.state is inturn.State.PENDING
        queue.resume("call")
        assert operation.wait(LIMIT).outcome is Outcome.FINISHED


def test_max_concurrent_is_changed_while_operations_wait() -> None:
    begun = threading.Barrier(3)

    def work(token: inturn.Token) -> None:
        begun.wait(LIMIT)
        token.finish()

    with inturn.OperationQueue(max_concurrent=1) as queue:
        operations = [queue.enqueue(work) for _ in range(3)]
        queue.max_concurrent = 3  # otherwise, they would wait for each other until the limit
        assert queue.max_concurrent == 3
        assert {each.wait(LIMIT).outcome for each in operations} == {Outcome.FINISHED}
        for number in (0, -1, 2**32):
            with pytest.raises(ValueError, match=str(number)):
                queue.max_concurrent = number


def test_options_are_refused_where_they_are_not_for() -> None:
    kept = len(_callbacks.entries)
    with inturn.FIFOQueue() as queue:
        with pytest.raises(inturn.UnsupportedError):
            queue.options(priority=1, key="k", condition=lambda: True).enqueue(finish)
        with pytest.raises(inturn.UnsupportedError):
            queue.options(barrier=True).enqueue(finish)
        with pytest.raises(inturn.UnsupportedError):
            queue.options(urgent=True).enqueue(finish)
        with pytest.raises(TypeError, match="'prio'"):
            queue.options(prio=1).enqueue(finish)  # type: ignore[call-arg]
        for options in ({"condition": 1}, {"retry": 3}):
            with pytest.raises(TypeError):
                queue.options(**options).enqueue(finish)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="null character"):
            queue.options(label="a\0b").enqueue(finish)
        assert "_peers" not in vars(queue)
    assert len(_callbacks.entries) == kept


def test_nothing_is_kept_of_operations_with_options() -> None:
    kept = len(_callbacks.entries)
    alive: weakref.WeakSet[object] = weakref.WeakSet()
    with inturn.FIFOQueue() as queue:
        for number in range(100):
            operation = queue.options(
                key=f"key {number % 3}",
                join=number % 2 == 0,
                condition=lambda: True,
                retry=inturn.Retry(3, decide=lambda error, attempts: True),
                owner=inturn.Owner() if number % 5 == 0 else None,
            ).enqueue(finish)
            alive.add(operation)
        del operation
        queue.drain(LIMIT)
        assert queue._peers._by_key == {}
    alive.add(queue)
    del queue
    gc.collect()
    assert list(alive) == []
    assert len(_callbacks.entries) == kept


def test_whoever_is_joined_by_threads_gives_each_its_result() -> None:
    lock = threading.Lock()  # protects ran
    ran = 0
    ends: list[inturn.End] = []

    def work(token: inturn.Token) -> None:
        nonlocal ran
        with lock:
            ran += 1
            number = ran
        if number % 2:
            token.fail(LookupError(number))
        else:
            token.finish(number)

    def produce(queue: inturn.OperationQueue) -> None:
        for number in range(500):
            queue.options(key=f"key {number % 3}", join=True, on_end=ends.append).enqueue(work)

    with inturn.OperationQueue(max_concurrent=4) as queue:
        threads = [threading.Thread(target=produce, args=(queue,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        join(*threads)
        queue.drain(LIMIT)
        assert queue._peers._by_key == {}
    own = [end for end in ends if end.cause is Cause.NONE]
    given = {end.result if end.exception is None else end.exception for end in own}
    assert (len(ends), len(own), len(given)) == (2_000, ran, ran)
    assert {end.result if end.exception is None else end.exception for end in ends} == given
