"""Operations, their tokens and their ends."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import warnings
import weakref
from collections.abc import Awaitable
from typing import Callable

import pytest

import inturn
from inturn import _callbacks, _library, _prototypes
from support import LIMIT, Gate, each, finish, join, run_python

Outcome = inturn.Outcome


def test_a_token_ends_its_operation_once_and_says_who_won() -> None:
    ends: list[inturn.End] = []
    won: list[int] = []
    lost: list[int] = []
    tokens: list[inturn.Token] = []
    begun, start = Gate("the work"), threading.Barrier(8)

    def race(number: int) -> None:
        start.wait(LIMIT)
        try:
            tokens[0].finish(number)
        except inturn.AlreadyFinishedError:
            lost.append(number)
        else:
            won.append(number)

    with inturn.FIFOQueue() as queue:
        queue.options(on_end=ends.append).enqueue(each(tokens.append, begun.open))
        begun.wait()
        threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        join(*threads)
    assert (len(won), len(lost), len(ends)) == (1, 7, 1)
    assert ends[0].result == won[0]


@pytest.mark.parametrize("again", ["finish", "cancel", "fail"])
def test_a_token_refuses_a_second_end(again: str) -> None:
    refused: list[bool] = []

    def work(token: inturn.Token) -> None:
        token.finish()
        with pytest.raises(inturn.AlreadyFinishedError):
            token.fail(KeyError()) if again == "fail" else getattr(token, again)()
        refused.append(not token.cancelled)

    with inturn.FIFOQueue() as queue:
        queue.enqueue(work)
    assert refused == [True]


def test_an_exception_in_work_is_the_operations_failure_and_the_queue_goes_on() -> None:
    ends: list[inturn.End] = []
    with inturn.FIFOQueue() as queue:
        queue.options(label="division", on_end=ends.append).enqueue(lambda token: 1 // 0)
        after = queue.enqueue(finish)
        assert after.wait(LIMIT).outcome is Outcome.FINISHED
    assert (ends[0].outcome, ends[0].label) == (Outcome.FAILED, "division")
    assert isinstance(ends[0].exception, ZeroDivisionError)
    assert ends[0].exception.__traceback__ is not None


def test_wait_carries_the_exception_that_a_token_was_given() -> None:
    error = LookupError("no such file")
    with inturn.FIFOQueue() as queue:
        operation = queue.enqueue(lambda token: token.fail(error))
        assert operation.wait(LIMIT).exception is error


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt])
def test_work_that_raises_an_exit_on_the_background_thread_just_fails(
    stop: type[BaseException],
) -> None:
    def work(token: inturn.Token) -> None:
        raise stop

    with inturn.FIFOQueue() as queue:
        assert isinstance(queue.enqueue(work).wait(LIMIT).exception, stop)
        assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED


def test_an_exception_that_nobody_is_told_does_not_vanish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[type[BaseException], str]] = []

    def hook(told: threading.ExceptHookArgs) -> None:
        assert told.thread is not None
        seen.append((told.exc_type, told.thread.name))

    monkeypatch.setattr(threading, "excepthook", hook)
    with inturn.FIFOQueue("mine") as queue:
        operation = queue.options(label="forgotten").enqueue(lambda token: 1 // 0)
        queue.options(label="told").enqueue(lambda token: 1 // 0).wait(LIMIT)
    said = repr(operation)
    del operation
    gc.collect()
    assert seen == [(ZeroDivisionError, f"inturn, of {said}")]


def test_what_nobody_looks_at_is_printed() -> None:
    ended = run_python(
        """
import inturn
with inturn.FIFOQueue("mine") as queue:
    kept = queue.options(label="kept").enqueue(lambda token: 1 // 0)
    queue.options(label="lost").enqueue(lambda token: None)
    queue.post(divmod, 1, 0)
"""
    )
    lines = ended.stderr.splitlines()
    kept, lost = (
        f"<inturn.Operation '{label}' of <inturn.FIFOQueue 'mine'>, enqueued at <string>:{line}>"
        for label, line in (("kept", 4), ("lost", 5))
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert f"Exception in thread inturn, of {kept}:" in lines
    assert f"<string>:5: RuntimeWarning: the token of {lost} was lost" in lines
    assert any(
        "to which functools.partial(<built-in function divmod>, 1, 0)" in line for line in lines
    )
    assert lines.count("ZeroDivisionError: integer division or modulo by zero") == 2


def test_an_exception_after_the_finish_does_not_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))

    def work(token: inturn.Token) -> None:
        token.finish()
        raise ValueError

    with inturn.FIFOQueue() as queue:
        assert queue.enqueue(work).wait(LIMIT).outcome is Outcome.FINISHED
    assert seen == [ValueError]


def test_an_exception_in_an_end_callback_does_not_stop_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))
    with inturn.FIFOQueue() as queue:
        queue.options(on_end=lambda end: 1 // 0).enqueue(finish)
        assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    assert seen == [ZeroDivisionError]


def test_a_lost_token_abandons_its_operation_and_names_the_enqueuing_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with inturn.FIFOQueue() as queue:
            line = sys._getframe().f_lineno + 1
            lost = queue.options(label="lost").enqueue(lambda token: None)
            end = lost.wait(LIMIT)
            assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    assert end.outcome is Outcome.ABANDONED
    assert [(each.category, each.filename, each.lineno) for each in caught] == [
        (RuntimeWarning, __file__, line)
    ]
    assert f"'lost' of <inturn.FIFOQueue ''>, enqueued at {__file__}:{line}" in str(
        caught[0].message
    )


def test_a_token_that_was_handed_over_is_ended_by_its_number_alone() -> None:
    ends: list[inturn.End] = []
    numbers: list[int] = []
    begun = Gate("the work")

    def work(token: inturn.Token) -> None:
        numbers.append(token.hand_over())
        for end in (token.finish, token.cancel, token.hand_over):
            with pytest.raises(inturn.AlreadyFinishedError):
                end()
        begun.open()

    with inturn.FIFOQueue() as queue, warnings.catch_warnings():
        warnings.simplefilter("error")
        operation = queue.options(on_end=ends.append).enqueue(work)
        begun.wait()
        gc.collect()
        assert operation.state is inturn.State.RUNNING
        _library.lib.inturn_token_finish(_prototypes.inturn_token(bits=numbers[0]))
    assert [end.outcome for end in ends] == [Outcome.FINISHED]


def test_a_lost_token_with_a_cancel_handler_is_lost_all_the_same() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with inturn.FIFOQueue() as queue:
            lost = queue.enqueue(lambda token: token.on_cancel(inturn.Token.cancel))
            assert lost.wait(LIMIT).outcome is Outcome.ABANDONED
    assert len(caught) == 1


def test_a_cancelled_pending_operation_never_runs() -> None:
    ran: list[str] = []
    ends: list[inturn.End] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        operation = queue.options(on_end=ends.append).enqueue(
            each(lambda _: ran.append("cancelled"), finish)
        )
        queue.enqueue(each(lambda _: ran.append("next"), finish))
        assert operation.state is inturn.State.PENDING
        assert operation.cancel()
        assert not operation.cancel()
        queue.resume()
    assert ran == ["next"]
    assert ends == [operation.wait(LIMIT)]
    assert ends[0][:2] == (Outcome.CANCELLED, inturn.Cause.REQUEST)
    assert not ends[0].started


@pytest.mark.parametrize("begin", [0, 1])
def test_an_end_says_whether_the_operation_has_started_whatever_the_clock_says(begin: int) -> None:
    with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
        clock.advance(begin)
        queue.suspend()
        keyed = queue.options(key="k")
        runs = [queue.enqueue(finish), keyed.enqueue(finish)]
        joins, cancelled = keyed.options(join=True).enqueue(finish), queue.enqueue(finish)
        cancelled.cancel()
        queue.resume()
        assert [run.wait(LIMIT).started for run in runs] == [True, True]
        assert [end.started for end in queue.batch([finish])] == [True]
        assert [end.wait(LIMIT).started for end in (joins, cancelled)] == [False, False]
        assert joins.wait(LIMIT).attempts == 1


def test_running_work_sees_at_once_that_it_is_asked_to_end() -> None:
    tokens: list[inturn.Token] = []
    begun, asked = Gate("the work"), Gate("the cancel handler")

    def work(token: inturn.Token) -> None:
        tokens.append(token)
        token.on_cancel(asked.open)
        begun.open()

    with inturn.FIFOQueue() as queue:
        operation = queue.enqueue(work)
        begun.wait()
        assert not tokens[0].cancelled
        assert operation.cancel()
        assert not operation.cancel()
        assert tokens[0].cancelled
        asked.wait()
        assert operation.state is inturn.State.RUNNING
        tokens[0].cancel()
        assert operation.wait(LIMIT).outcome is Outcome.CANCELLED
        assert operation.wait(LIMIT).started


def test_nothing_is_kept_of_operations_that_have_ended_or_were_refused() -> None:
    kept = len(_callbacks.entries)
    tokens: list[inturn.Token] = []
    with inturn.FIFOQueue() as queue:
        for _ in range(100):
            queue.options(on_end=lambda end: None).enqueue(finish)
            queue.enqueue(each(lambda token: token.on_cancel(print), finish))
        queue.suspend()
        queue.enqueue(finish).cancel()
        queue.resume()
        queue.close()
        with pytest.raises(inturn.ClosedError):
            queue.enqueue(finish)
    queue = inturn.FIFOQueue()
    queue.enqueue(tokens.append)
    queue.destroy()
    alive: weakref.WeakSet[object] = weakref.WeakSet([queue, *tokens])
    del queue, tokens
    assert len(_callbacks.entries) == kept
    gc.collect()
    assert list(alive) == []


class Stop(BaseException):
    """Not an ``Exception``: whoever raises it wants an end."""


@pytest.mark.parametrize("how", ["enqueue", "submit", "run"])
@pytest.mark.parametrize("asks", [False, True])
def test_only_an_exception_is_worth_another_attempt(how: str, asks: bool) -> None:
    asked: list[BaseException] = []
    ends: list[inturn.End] = []

    def decide(error: BaseException, attempts: int) -> bool:
        asked.append(error)
        return True

    def stop(*_: object) -> None:
        raise Stop

    async def stop_later() -> None:
        raise Stop

    retry = inturn.Retry(3, decide=decide if asks else None)
    with inturn.FIFOQueue() as queue:
        patient = queue.options(retry=retry, on_end=ends.append)
        if how == "run":
            with pytest.raises(Stop):
                asyncio.run(_awaited(lambda: patient.run(stop_later)))
        elif how == "submit":
            with pytest.raises(Stop):
                patient.submit(stop).result(LIMIT)
        else:
            patient.enqueue(stop).wait(LIMIT)
    assert ([(end.outcome, end.attempts) for end in ends], asked) == ([(Outcome.FAILED, 1)], [])


async def _awaited(made: Callable[[], Awaitable[object]]) -> None:
    await made()


@pytest.mark.parametrize("asks", [False, True])
def test_a_failure_that_has_no_exception_is_never_asked_about(asks: bool) -> None:
    asked: list[BaseException] = []

    def decide(error: BaseException, attempts: int) -> bool:
        asked.append(error)
        return True

    def fail_elsewhere(token: inturn.Token) -> None:
        _library.lib.inturn_token_fail(_prototypes.inturn_token(token.hand_over()), 7)

    retry = inturn.Retry(3, decide=decide if asks else None)
    with inturn.FIFOQueue() as queue:
        end = queue.options(retry=retry).enqueue(fail_elsewhere).wait(LIMIT)
    assert (end.outcome, end.exception, end.attempts) == (Outcome.FAILED, None, 1 if asks else 3)
    assert asked == []
