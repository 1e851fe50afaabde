"""FIFO queues, operations and tokens."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from functools import partial

import pytest

import inturn
from support import LIMIT, Gate, each, finish, join

Outcome = inturn.Outcome


def test_operations_begin_and_end_in_the_order_of_the_enqueues() -> None:
    # Given work that its own thread finishes
    trace: list[tuple[str, int]] = []

    def work(number: int, token: inturn.Token) -> None:
        trace.append(("begin", number))
        if number % 50:
            token.finish()
        else:
            threading.Thread(target=token.finish).start()

    def note_end(end: inturn.End) -> None:
        trace.append(("end", int(end.label or "")))

    with inturn.FIFOQueue() as queue:
        for number in range(1_000):
            queue.enqueue(partial(work, number), label=str(number), on_end=note_end)
    # Then it is as if one had been called after the other
    assert trace == [(what, n) for n in range(1_000) for what in ("begin", "end")]


def test_each_threads_enqueues_keep_their_order() -> None:
    begun: list[tuple[int, int]] = []
    running: list[int] = []
    most: list[int] = []
    with inturn.FIFOQueue() as queue:

        def produce(producer: int) -> None:
            for number in range(250):

                def work(token: inturn.Token, number: int = number) -> None:
                    running.append(producer)
                    most.append(len(running))
                    begun.append((producer, number))
                    running.pop()
                    token.finish()

                queue.enqueue(work)

        threads = [threading.Thread(target=produce, args=(each,)) for each in range(4)]
        for thread in threads:
            thread.start()
        join(*threads)
    assert len(begun) == 1_000
    assert max(most) == 1
    for producer in range(4):
        assert [n for p, n in begun if p == producer] == list(range(250))


def test_the_next_operation_waits_for_a_finish_from_another_thread() -> None:
    tokens: list[inturn.Token] = []
    begun, second = Gate("the first work"), Gate("the second work")
    with inturn.FIFOQueue() as queue:
        first = queue.enqueue(each(tokens.append, begun.open))
        queue.enqueue(each(second.open, finish))
        begun.wait()
        assert first.state is inturn.State.RUNNING
        assert not second.is_open
        thread = threading.Thread(target=tokens.pop().finish, args=("done",))
        thread.start()
        end = first.wait(LIMIT)
        second.wait()
        join(thread)
    assert (end.outcome, end.result, first.state) == (Outcome.FINISHED, "done", inturn.State.ENDED)


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
        queue.enqueue(each(tokens.append, begun.open), on_end=ends.append)
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
        queue.enqueue(lambda token: 1 // 0, label="division", on_end=ends.append)
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
    seen: list[str] = []

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        error = unraisable.exc_value
        seen.append(f"{error} because of {error and error.__cause__!r}")

    monkeypatch.setattr(sys, "unraisablehook", hook)
    with inturn.FIFOQueue() as queue:
        queue.enqueue(lambda token: 1 // 0, label="forgotten")
    gc.collect()
    assert len(seen) == 1
    assert "'forgotten'" in seen[0]
    assert "ZeroDivisionError" in seen[0]


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
        queue.enqueue(finish, on_end=lambda end: 1 // 0)
        assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    assert seen == [ZeroDivisionError]


def test_a_lost_token_abandons_its_operation_and_names_the_enqueuing_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with inturn.FIFOQueue() as queue:
            line = sys._getframe().f_lineno + 1
            lost = queue.enqueue(lambda token: None, label="lost")
            end = lost.wait(LIMIT)
            assert queue.enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    assert end.outcome is Outcome.ABANDONED
    assert [(each.category, each.filename, each.lineno) for each in caught] == [
        (ResourceWarning, __file__, line)
    ]
    assert f"'lost' enqueued at {__file__}:{line}" in str(caught[0].message)


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
        operation = queue.enqueue(
            each(lambda _: ran.append("cancelled"), finish), on_end=ends.append
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


def test_cancel_all_ends_what_is_pending() -> None:
    ends: list[inturn.End] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        for _ in range(100):
            queue.enqueue(finish, on_end=ends.append)
        queue.cancel_all()
        queue.drain(LIMIT)
    assert [end.outcome for end in ends] == [Outcome.CANCELLED] * 100


def test_a_queue_is_closed_as_often_as_one_likes() -> None:
    queue = inturn.FIFOQueue()
    last = queue.enqueue(finish)
    queue.close()
    queue.close()
    with pytest.raises(inturn.ClosedError):
        queue.enqueue(finish)
    assert last.wait(LIMIT).outcome is Outcome.FINISHED
    queue.destroy()
    queue.destroy()
    queue.close()
    with pytest.raises(inturn.StaleError):
        queue.enqueue(finish)


def test_destroy_tells_the_end_of_all_that_has_not_ended() -> None:
    ends: list[inturn.End] = []
    tokens: list[inturn.Token] = []
    begun = Gate("the work")
    queue = inturn.FIFOQueue()
    queue.enqueue(each(tokens.append, begun.open), on_end=ends.append)
    queue.enqueue(finish, on_end=ends.append)
    begun.wait()
    queue.destroy()
    assert [end[:2] for end in ends] == [(Outcome.CANCELLED, inturn.Cause.DESTROYED)] * 2
    assert [end.started for end in ends] == [True, False]
    with pytest.raises(inturn.Error):
        tokens[0].finish()


def test_a_block_that_raises_cancels_the_rest() -> None:
    ends: list[inturn.End] = []
    with pytest.raises(KeyError), inturn.FIFOQueue() as queue:  # noqa: PT012
        queue.suspend()
        queue.enqueue(finish, on_end=ends.append)
        raise KeyError
    assert [end.outcome for end in ends] == [Outcome.CANCELLED]


def test_a_dropped_queue_goes_on_until_its_operations_have_ended() -> None:
    release, done = Gate("the release"), Gate("the second work")
    queue = inturn.FIFOQueue()
    queue.enqueue(each(release.wait, finish))
    queue.enqueue(each(done.open, finish))
    del queue
    gc.collect()
    release.open()
    done.wait()


def test_a_queue_is_full_at_its_capacity() -> None:
    with inturn.FIFOQueue(capacity=2) as queue:
        queue.suspend()
        queue.enqueue(finish)
        queue.enqueue(finish)
        with pytest.raises(inturn.FullError):
            queue.enqueue(finish)
        queue.resume()


def test_waiting_for_ones_own_queue_is_refused() -> None:
    refused: list[str] = []

    def work(token: inturn.Token) -> None:
        for call in (queue.drain, later.wait):
            with pytest.raises(inturn.DeadlockError):
                call(LIMIT)
            refused.append(call.__name__)
        token.finish()

    with inturn.FIFOQueue() as queue:
        queue.suspend()
        queue.enqueue(work)
        later = queue.enqueue(finish)
        queue.resume()
    assert refused == ["drain", "wait"]


def test_work_runs_on_a_thread_of_python() -> None:
    threads: list[threading.Thread] = []
    with inturn.FIFOQueue() as queue:
        queue.enqueue(each(lambda _: threads.append(threading.current_thread()), finish))
    assert threads[0].name == "inturn"
    assert threads[0] in threading.enumerate()


def test_an_executor_of_ones_own_is_drained_by_hand() -> None:
    ran: list[int] = []
    with inturn.Executor("mine") as executor:
        queue = inturn.FIFOQueue(executor=executor)
        queue.enqueue(each(lambda _: ran.append(threading.get_ident()), finish))
        with pytest.raises(inturn.BusyError):
            executor.close()
        while not ran:
            assert executor.drain(1) == 1
        executor.drain()
        queue.destroy()
    executor.close()
    assert ran == [threading.get_ident()]
    assert repr(executor) == "<inturn.Executor 'mine'>"


def test_objects_say_what_they_are() -> None:
    with inturn.FIFOQueue("uploads") as queue:
        operation = queue.enqueue(finish, label="a.txt")
        line = sys._getframe().f_lineno - 1
        assert repr(queue) == "<inturn.FIFOQueue 'uploads'>"
        assert repr(operation) == f"<inturn.Operation 'a.txt' enqueued at {__file__}:{line}>"
