"""Operations that are started more than once, by retries and pre-emption; and their progress."""

from __future__ import annotations

import asyncio
import gc
import queue
import sys
import warnings

import pytest

import inturn
from support import LIMIT, Gate, each, finish, run, until

Cause = inturn.Cause
Outcome = inturn.Outcome


def failing(times: int, tokens: list[int]) -> inturn.Work:
    """Work that fails this many times, and then finishes."""

    def work(token: inturn.Token) -> None:
        tokens.append(token._bits)
        if len(tokens) <= times:
            raise LookupError(f"attempt {len(tokens)}")
        token.finish(len(tokens))

    return work


@pytest.mark.parametrize(
    "kind", [inturn.FIFOQueue, inturn.ActorQueue, inturn.OperationQueue], ids=lambda k: k.__name__
)
def test_a_failed_operation_is_started_again_with_a_new_token(
    kind: type[inturn.FIFOQueue],
) -> None:
    tokens: list[int] = []
    with kind() as queue:
        end = queue.options(retry=inturn.Retry(5)).enqueue(failing(2, tokens)).wait(LIMIT)
    assert (end.outcome, end.attempts, end.result, end.exception) == (Outcome.FINISHED, 3, 3, None)
    assert len(set(tokens)) == 3


def test_attempts_are_limited_and_the_last_failure_is_the_operations() -> None:
    tokens: list[int] = []
    with inturn.FIFOQueue() as queue:
        end = queue.options(retry=inturn.Retry(3)).enqueue(failing(9, tokens)).wait(LIMIT)
    assert (end.outcome, end.attempts, str(end.exception)) == (Outcome.FAILED, 3, "attempt 3")


def test_a_failure_that_another_attempt_makes_good_is_not_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with inturn.FIFOQueue() as queue:
        queue.options(retry=inturn.Retry()).enqueue(failing(1, []))
    gc.collect()
    assert seen == []


class CutOff:
    """An operation whose first attempt was cut off, while the second one runs."""

    def __init__(self) -> None:
        clock, self.executor = inturn.ManualClock(), inturn.Executor()
        queue = inturn.OperationQueue(executor=self.executor, clock=clock, max_concurrent=2)
        tokens: list[inturn.Token] = []
        retried = queue.options(
            retry=inturn.Retry(2), max_run=1, free_at_max_run=True, key="key", join=True
        )
        self.operation, self.joined = (retried.enqueue(tokens.append) for _ in range(2))
        self.executor.drain()
        clock.advance(1.5)
        self.executor.drain()
        self.late, self.token = tokens

    def ends(self) -> list[inturn.End]:
        self.executor.drain()
        return [operation.wait(0) for operation in (self.operation, self.joined)]


def test_a_late_token_gives_nothing_to_the_next_attempt() -> None:
    begun = CutOff()
    with pytest.raises(inturn.AlreadyFinishedError):
        begun.late.finish("late")
    begun.token.finish()
    assert [end.result for end in begun.ends()] == [None, None]


def test_a_late_token_takes_nothing_from_the_next_attempt() -> None:
    finished, failed = CutOff(), CutOff()
    finished.token.finish("in time")
    failed.token.fail(ValueError("in time"))
    for begun in finished, failed:
        with pytest.raises(inturn.AlreadyFinishedError):
            begun.late.fail(KeyError("late"))
    assert [end.result for end in finished.ends()] == ["in time", "in time"]
    assert [str(end.exception) for end in failed.ends()] == ["in time", "in time"]


def test_decide_is_asked_of_each_failure_with_its_exception() -> None:
    asked: list[tuple[str, int]] = []

    def decide(error: BaseException, attempts: int) -> bool:
        asked.append((str(error), attempts))
        return attempts < 2

    with inturn.FIFOQueue() as queue:
        end = queue.options(retry=inturn.Retry(decide=decide)).enqueue(failing(9, [])).wait(LIMIT)
    assert asked == [("attempt 1", 1), ("attempt 2", 2)]
    assert (end.attempts, str(end.exception)) == (2, "attempt 2")


def test_what_decide_raises_is_the_operations_failure_and_keeps_its_cause() -> None:
    def decide(error: BaseException, attempts: int) -> bool:
        raise KeyError(attempts)

    with inturn.FIFOQueue() as queue:
        end = queue.options(retry=inturn.Retry(decide=decide)).enqueue(failing(9, [])).wait(LIMIT)
        assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    assert isinstance(end.exception, KeyError)
    assert isinstance(end.exception.__cause__, LookupError)
    assert end.attempts == 1


def test_what_a_condition_raises_can_be_retried() -> None:
    asked: list[int] = []

    def condition() -> bool:
        asked.append(1)
        return bool(1 // (len(asked) - 1))

    with inturn.FIFOQueue() as queue:
        end = queue.options(condition=condition, retry=inturn.Retry(2)).enqueue(finish).wait(LIMIT)
    assert (end.outcome, end.attempts, len(asked)) == (Outcome.FINISHED, 2, 2)


def interrupt(*_: object) -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["condition", "decide"])
def test_an_interrupt_in_a_condition_or_in_decide_leaves_the_drain(where: str) -> None:
    executor = inturn.Executor()
    with inturn.FIFOQueue(executor=executor) as queue:
        if where == "condition":
            operation = queue.options(condition=interrupt).enqueue(finish)
        else:
            operation = queue.options(retry=inturn.Retry(decide=interrupt)).enqueue(failing(1, []))
        with pytest.raises(KeyboardInterrupt):
            executor.drain()
        executor.drain()
        assert isinstance(operation.wait(0).exception, KeyboardInterrupt)
    executor.close()


def test_delays_grow_up_to_a_limit() -> None:
    tokens: list[int] = []
    executor = inturn.Executor()
    with inturn.ManualClock() as clock:
        with inturn.FIFOQueue(executor=executor, clock=clock) as queue:
            retry = inturn.Retry(delay=1, factor=3, max_delay=5)
            operation = queue.options(retry=retry).enqueue(failing(3, tokens))
            at: list[float] = []
            while operation.state is not inturn.State.ENDED:
                begun = len(tokens)
                executor.drain()
                if len(tokens) > begun:
                    at.append(clock.now)
                clock.advance(0.5)
                assert clock.now < 60, "waited for the attempts"
        executor.close()
    assert at == [0, 1, 4, 9]


@pytest.mark.parametrize(
    "retry",
    [
        inturn.Retry(attempts=-1),
        inturn.Retry(attempts=2**32),
        inturn.Retry(delay=-1),
        inturn.Retry(factor=0.5),
        inturn.Retry(factor=0),
        inturn.Retry(factor=float("nan")),
        inturn.Retry(max_delay=float("nan")),
        inturn.Retry(jitter=2),
    ],
    ids=repr,
)
def test_a_retry_that_makes_no_sense_is_refused(retry: inturn.Retry) -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(ValueError):  # noqa: PT011
        queue.options(retry=retry).enqueue(finish)


def test_a_lost_token_is_found_though_work_and_token_refer_to_each_other() -> None:
    class Screen:
        token: inturn.Token

        def show(self, token: inturn.Token) -> None:
            self.token = token

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with inturn.FIFOQueue() as queue:
            operation = queue.options(retry=inturn.Retry()).enqueue(Screen().show)
            after = queue.enqueue(finish)
            until("the end", lambda: gc.collect() >= 0 and operation.state is inturn.State.ENDED)
            assert after.wait(LIMIT).outcome is Outcome.FINISHED
        assert operation.wait(LIMIT).outcome is Outcome.ABANDONED
    assert [each.category for each in caught] == [RuntimeWarning]


def test_a_cancel_handler_stays_for_further_attempts_and_gets_their_token() -> None:
    tokens: list[inturn.Token] = []
    begun, asked = Gate("the second attempt"), Gate("the handler")

    def handler(token: inturn.Token) -> None:
        assert token is tokens[1]
        token.cancel()
        asked.open()

    def work(token: inturn.Token) -> None:
        tokens.append(token)
        if len(tokens) == 1:
            token.on_cancel(handler)
            token.fail(LookupError())
        else:
            begun.open()

    with inturn.FIFOQueue() as queue:
        operation = queue.options(retry=inturn.Retry()).enqueue(work)
        begun.wait()
        operation.cancel()
        asked.wait()
        assert operation.wait(LIMIT).outcome is Outcome.CANCELLED


class Stage:
    """An interaction queue without delays, on an executor that the test drains."""

    def __init__(self) -> None:
        self.executor = inturn.Executor()
        self.queue = inturn.InteractionQueue(executor=self.executor, settle=0, gap=0)
        self.queue.view_did_appear()
        self.log: list[str] = []

    def enqueue(self, name: str, work: inturn.Work, urgent: bool = False) -> inturn.Operation:
        return self.queue.options(label=name, urgent=urgent).enqueue(
            each(lambda _: self.log.append(name), work)
        )

    def close(self) -> None:
        self.queue.destroy()
        self.executor.close()


def test_an_urgent_interaction_takes_the_place_which_comes_back_with_a_new_token() -> None:
    stage = Stage()
    tokens: list[inturn.Token] = []

    def give_way(token: inturn.Token) -> None:
        stage.log.append("asked")
        token.yield_()
        with pytest.raises(inturn.AlreadyFinishedError):
            token.finish()

    dialog = stage.enqueue("dialog", each(tokens.append, lambda token: token.on_preempt(give_way)))
    next_one = stage.enqueue("next", finish)
    stage.executor.drain()
    notice = stage.enqueue("notice", finish, urgent=True)
    stage.executor.drain()
    assert stage.log == ["dialog", "asked", "notice", "dialog"]
    tokens[1].finish("answer")
    stage.executor.drain()
    assert dialog.wait(0)[:3] == (Outcome.FINISHED, Cause.NONE, "answer")
    assert (dialog.wait(0).attempts, notice.wait(0).attempts, next_one.wait(0).attempts) == (
        2,
        1,
        1,
    )
    stage.close()


def test_an_interaction_that_is_asked_to_end_and_yields_is_cancelled() -> None:
    stage = Stage()
    tokens: list[inturn.Token] = []
    dialog = stage.enqueue("dialog", tokens.append)
    stage.executor.drain()
    dialog.cancel()
    tokens[0].yield_()
    stage.executor.drain()
    assert dialog.wait(0)[:2] == (Outcome.CANCELLED, Cause.REQUEST)
    assert stage.log == ["dialog"]
    stage.close()


def test_only_interactions_yield_and_the_token_stays_good() -> None:
    refused: list[str] = []

    def work(token: inturn.Token) -> None:
        with pytest.raises(inturn.WrongKindError):
            token.yield_()
        with pytest.raises(inturn.WrongKindError):
            token.on_preempt(print)
        refused.append("both")
        token.finish()

    with inturn.FIFOQueue() as queue:
        assert queue.enqueue(work).wait(LIMIT).outcome is Outcome.FINISHED
    assert refused == ["both"]


def test_progress_is_told() -> None:
    seen: list[inturn.Progress] = []
    operations: list[inturn.Operation] = []

    def work(token: inturn.Token) -> None:
        for completed in range(3):
            token.progress(completed, 2)
            seen.append(operations[0].progress)
        token.progress(7)
        seen.append(operations[0].progress)
        for completed, total in ((-1, 0), (3, 2), (0, -1), (2**63, 0)):
            with pytest.raises(ValueError):  # noqa: PT011
                token.progress(completed, total)
        token.finish()
        with pytest.raises(inturn.AlreadyFinishedError):
            token.progress(1)

    with inturn.FIFOQueue() as queue:
        queue.suspend()
        operations.append(queue.enqueue(work))
        assert operations[0].progress == (0, 0)
        queue.resume()
        assert operations[0].wait(LIMIT).outcome is Outcome.FINISHED
    assert seen == [(0, 2), (1, 2), (2, 2), (7, 0)]


def test_an_attempt_that_takes_too_long_is_followed_by_another() -> None:
    attempts: list[inturn.Token] = []
    decided: list[tuple[BaseException, int]] = []

    def give_in(token: inturn.Token) -> None:
        with pytest.raises(inturn.AlreadyFinishedError):
            token.cancel()

    def work(token: inturn.Token) -> None:
        attempts.append(token)
        if len(attempts) == 3:
            token.finish("third")
        elif len(attempts) == 1:
            token.on_cancel(give_in)
        begun.put(len(attempts))

    def decide(error: BaseException, attempt: int) -> bool:
        decided.append((error, attempt))
        return True

    begun: queue.SimpleQueue[int] = queue.SimpleQueue()
    with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as fifo:
        operation = fifo.options(max_run=1, retry=inturn.Retry(decide=decide)).enqueue(work)
        assert begun.get(timeout=LIMIT) == 1
        clock.advance(1)
        assert begun.get(timeout=LIMIT) == 2
        clock.advance(1)
        attempts.pop(1)  # a lost token also ends its attempt
        attempts.append(attempts[0])
        assert operation.wait(LIMIT).result == "third"
    assert [type(error) for error, _ in decided] == [inturn.TimedOutError] * 2


def test_a_function_that_raises_when_its_time_is_over_is_called_again() -> None:
    begun, release = Gate("the function"), Gate("the time")
    calls: list[int] = []

    def function() -> int:
        calls.append(1)
        if len(calls) == 1:
            begun.open()
            release.wait()
            raise ValueError("too late")
        return len(calls)

    with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as fifo:
        future = fifo.options(max_run=1, retry=inturn.Retry(2)).submit(function)
        begun.wait()
        clock.advance(1)
        with pytest.MonkeyPatch.context() as patched:
            reported: list[object] = []
            patched.setattr("sys.unraisablehook", lambda told: reported.append(told.exc_value))
            release.open()
            assert future.result(LIMIT) == 2
        assert [str(error) for error in reported] == ["too late"]


def test_a_coroutine_that_takes_too_long_is_run_again() -> None:
    async def main() -> None:
        calls = 0
        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as fifo:

            async def fetch() -> str:
                nonlocal calls
                calls += 1
                if calls < 3:
                    clock.advance(1)
                    await asyncio.sleep(LIMIT)
                return "third"

            patient = fifo.options(max_run=1, retry=inturn.Retry(3))
            assert await patient.run(fetch) == "third"
            calls = 0
            strict = fifo.options(max_run=1, retry=inturn.Retry(3, only_failures=True))
            with pytest.raises(inturn.TimedOutError):
                await strict.run(fetch)
            assert calls == 1

    run(main)


def test_a_coroutine_that_fails_behind_another_one_is_run_again() -> None:
    async def main() -> None:
        calls = 0

        async def fail_once() -> int:
            nonlocal calls
            calls += 1
            if calls % 2:
                raise LookupError
            return calls

        with inturn.FIFOQueue() as fifo:
            patient = fifo.options(retry=inturn.Retry(2))
            before = fifo.run(asyncio.sleep, 0)  # whose end leads to its first attempt
            assert await patient.run(fail_once) == 2
            await before
            async with fifo:
                after = patient.run(fail_once)
            assert await after == 4

    run(main)


def test_a_coroutine_that_is_cancelled_as_its_turn_comes_is_not_lost(
    recwarn: pytest.WarningsRecorder,
) -> None:
    async def number() -> int:
        return 1

    async def main() -> None:
        with inturn.FIFOQueue() as queue:
            options = queue.options(key="key", join=True)
            first, second = options.run(number), options.run(number)
            first.cancel()  # it has its turn, but has not begun
            with pytest.raises(asyncio.CancelledError):
                await first
            assert await second == 1
            assert queue.statistics().cancelled == 1

    run(main)
    assert not recwarn.list
