"""FIFO queues."""

from __future__ import annotations

import gc
import sys
import threading
from functools import partial

import pytest

import inturn
from support import LIMIT, Gate, each, finish, join, run_python

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
            queue.options(label=str(number), on_end=note_end).enqueue(partial(work, number))
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


def test_cancel_all_ends_what_is_pending() -> None:
    ends: list[inturn.End] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        for _ in range(100):
            queue.options(on_end=ends.append).enqueue(finish)
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
    queue.options(on_end=ends.append).enqueue(each(tokens.append, begun.open))
    queue.options(on_end=ends.append).enqueue(finish)
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
        queue.options(on_end=ends.append).enqueue(finish)
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
        operation = queue.options(label="a.txt").enqueue(finish)
        line = sys._getframe().f_lineno - 1
        assert repr(queue) == "<inturn.FIFOQueue 'uploads'>"
        assert repr(operation) == (
            f"<inturn.Operation 'a.txt' of {queue!r}, enqueued at {__file__}:{line}>"
        )


@pytest.mark.parametrize("thread", [False, True])
def test_a_queue_whose_first_thread_cannot_be_started_is_refused_and_the_next_one_runs(
    thread: bool,
) -> None:
    ended = run_python(
        f"""
import threading, inturn
start, before = threading.Thread.start, inturn.statistics()
for error in RuntimeError("can't start new thread"), MemoryError():
    def refuse(_):
        raise error
    threading.Thread.start = refuse
    try:
        inturn.FIFOQueue(thread={thread})
    except inturn.NoMemoryError as refused:
        assert "no thread can be started" in str(refused), refused
    else:
        raise SystemExit("a queue was made that nobody would run")
    threading.Thread.start = start
    assert inturn.statistics() == before, inturn.statistics()
with inturn.FIFOQueue(thread={thread}) as queue:
    assert queue.submit(int).result({LIMIT} / 3) == 0
"""
    )
    assert (ended.returncode, ended.stderr) == (0, "")
