"""Queues as executors of `concurrent.futures`, and the futures that they return."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
import time
import weakref
from contextlib import nullcontext
from functools import partial
from typing import Callable, Union

import pytest

import inturn
from support import LIMIT, Gate, finish, join, until

QUEUES = [inturn.FIFOQueue, inturn.OperationQueue]


@pytest.fixture(params=QUEUES, ids=lambda kind: kind.__name__)
def queue(request: pytest.FixtureRequest) -> inturn.FIFOQueue | inturn.OperationQueue:
    kind: type[inturn.FIFOQueue] | type[inturn.OperationQueue] = request.param
    return kind()


AnyQueue = Union[inturn.FIFOQueue, inturn.OperationQueue]


def both(first: Callable[[], object], second: Callable[[], object]) -> None:
    first()
    second()


def test_a_queue_is_an_executor(queue: AnyQueue) -> None:
    assert isinstance(queue, concurrent.futures.Executor)
    with queue:
        future = queue.submit(divmod, 7, 3)
        assert isinstance(future, concurrent.futures.Future)
        assert future.result(LIMIT) == (2, 1)
        assert future.exception(LIMIT) is None
        assert list(queue.map(pow, [1, 2, 3], [2, 2, 2])) == [1, 4, 9]
        assert queue.submit(dict, a=1).result(LIMIT) == {"a": 1}


def test_the_results_of_a_map_keep_the_options_by_which_they_add_more(queue: AnyQueue) -> None:
    """Python 3.14's ``map`` with a ``buffersize`` keeps a weak reference to its executor."""
    with queue:
        options = queue.options(label="a call")
        kept = weakref.ref(options)
        results = options.map(abs, [-1, -2])
        del options
        assert next(results) == 1
        assert kept() is not None
        assert list(results) == [2]
        assert kept() is None


def test_an_exception_keeps_its_traceback(queue: AnyQueue) -> None:
    def divide() -> float:
        return 1 / 0

    with queue, pytest.raises(ZeroDivisionError) as caught:
        queue.submit(divide).result(LIMIT)
    assert caught.traceback[-1].name == "divide"


def test_submits_from_one_thread_run_in_order() -> None:
    trace: list[int] = []
    with inturn.FIFOQueue() as queue:
        futures = [queue.submit(trace.append, number) for number in range(1_000)]
        assert not concurrent.futures.wait(futures, LIMIT).not_done
    assert trace == list(range(1_000))


def test_cancel_takes_a_pending_operation_out_of_the_queue(queue: AnyQueue) -> None:
    ran: list[int] = []
    with queue:
        queue.suspend()
        futures = [queue.submit(ran.append, number) for number in range(3)]
        assert queue.statistics().pending == 3
        assert futures[1].cancel()
        assert futures[1].cancel()
        assert queue.statistics().pending == 2
        assert queue.statistics().cancelled == 1
        assert futures[1].cancelled()
        assert futures[1].done()
        with pytest.raises(concurrent.futures.CancelledError):
            futures[1].result(0)
        queue.resume()
    assert sorted(ran) == [0, 2]
    assert not futures[0].cancel()
    assert not futures[0].cancelled()


def test_a_running_future_cannot_be_cancelled(queue: AnyQueue) -> None:
    begun, release = Gate("the function"), Gate("the release")
    with queue:
        future = queue.submit(both, begun.open, release.wait)
        begun.wait()
        assert future.running()
        assert not future.cancel()
        release.open()
        future.result(LIMIT)
    assert not future.running()


def test_a_future_is_ended_by_its_queue_alone(queue: AnyQueue) -> None:
    release = Gate("the release")
    with queue:
        running, ended = queue.submit(both, release.wait, release.wait), queue.submit(int)
        for future in (running, ended):
            with pytest.raises(concurrent.futures.InvalidStateError):
                future.set_result(None)  # type: ignore[arg-type]
            with pytest.raises(concurrent.futures.InvalidStateError):
                future.set_exception(OSError())
            with pytest.raises(concurrent.futures.InvalidStateError):
                future.set_running_or_notify_cancel()
            release.open()
            assert future.exception(LIMIT) is None
        assert ended.result() == 0
        with pytest.raises(concurrent.futures.InvalidStateError):
            ended.set_result(2)
        assert ended.result() == 0


def test_a_callback_that_raises_an_exit_keeps_no_place(queue: AnyQueue) -> None:
    def leave(_: object) -> None:
        raise SystemExit

    raised = Gate("the report")
    before, sys.unraisablehook = sys.unraisablehook, raised.open
    release = Gate("the release")
    try:
        with queue:
            for failing in (int, Mistake.make):
                future = queue.submit(both, release.wait, failing)
                future.add_done_callback(leave)
            release.open()
            raised.wait()
            assert queue.submit(int).result(LIMIT) == 0
    finally:
        sys.unraisablehook = before


class Mistake(Exception):
    @staticmethod
    def make() -> None:
        raise Mistake


def test_what_its_queue_cancels_is_cancelled(queue: AnyQueue) -> None:
    queue.suspend()
    futures = [queue.submit(int) for _ in range(10)]
    called: list[concurrent.futures.Future[int]] = []
    futures[0].add_done_callback(called.append)
    waiting = threading.Thread(target=concurrent.futures.wait, args=(futures[:5],))
    waiting.start()
    queue.cancel_all()
    queue.drain(LIMIT)
    join(waiting)
    assert all(future.cancelled() for future in futures)
    assert called == futures[:1]
    last = queue.submit(int)
    queue.destroy()
    assert last.cancelled()


def test_what_a_done_callback_enqueues_is_not_cancelled_with_its_future() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        new: list[tuple[inturn.Future[int], inturn.Operation]] = []

        def replace(_: object) -> None:
            new.append((queue.submit(int, "7"), queue.enqueue(finish)))

        futures = [queue.submit(int) for _ in range(10)]
        for future in futures:
            future.add_done_callback(replace)
        queue.cancel_pending()
        assert all(future.cancelled() for future in futures), "at once"
        queue.resume()
        ends = [(one.result(LIMIT), other.wait(LIMIT).outcome) for one, other in new]
        assert ends == [(7, inturn.Outcome.FINISHED)] * 10


def test_a_done_callback_finds_all_cancelled_and_what_it_raises_spares_none() -> None:
    called: list[int] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()

        def leave(_: object) -> None:
            with pytest.raises(concurrent.futures.CancelledError):
                futures[-1].result(LIMIT / 10)
            called.append(queue.statistics().pending)
            raise SystemExit

        futures = [queue.submit(int) for _ in range(3)]
        for future in futures:
            future.add_done_callback(leave)
        operation = queue.enqueue(finish)
        with pytest.raises(SystemExit):
            queue.cancel_pending()
        assert called == [0, 0, 0]
        assert all(future.cancelled() for future in futures)
        assert operation.wait(LIMIT).outcome is inturn.Outcome.CANCELLED
        queue.resume()


def test_a_race_of_cancel_and_start_has_one_winner(queue: AnyQueue) -> None:
    ran: list[int] = []
    cancelled = 0
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that it happens
    try:
        with queue:
            for number in range(2_000):
                future = queue.submit(ran.append, number)
                cancelled += future.cancel()
            queue.drain(LIMIT)
    finally:
        sys.setswitchinterval(interval)
    assert len(ran) + cancelled == 2_000
    assert ran == sorted(ran) or isinstance(queue, inturn.OperationQueue)


def test_a_result_that_comes_too_late_is_a_timeout(queue: AnyQueue) -> None:
    with queue:
        queue.suspend()
        future = queue.submit(int)
        for wait in (future.result, future.exception):
            with pytest.raises(concurrent.futures.TimeoutError):
                wait(0.001)
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(-1)
        queue.resume()


def test_waiting_for_ones_own_queue_is_refused_and_names_the_ring() -> None:
    with inturn.FIFOQueue("mine") as queue:

        def work() -> str:
            later = queue.submit(int)
            with pytest.raises(inturn.DeadlockError) as caught:
                later.result(LIMIT)
            return str(caught.value.ring)

        assert '"mine"' in queue.submit(work).result(LIMIT)


def test_a_ring_of_two_queues_is_refused() -> None:
    with inturn.FIFOQueue("one") as one, inturn.FIFOQueue("two") as two:
        both = threading.Barrier(2)
        refused: list[str] = []

        def work(other: inturn.FIFOQueue) -> None:
            both.wait(LIMIT)
            try:
                other.submit(int).result(LIMIT)
            except inturn.DeadlockError as error:
                refused.append(str(error.ring))

        futures = [one.submit(work, two), two.submit(work, one)]
        for future in futures:
            future.result(LIMIT)
    assert len(refused) == 1
    assert '"one"' in refused[0]
    assert '"two"' in refused[0]


def test_as_completed_and_callbacks_see_every_end(queue: AnyQueue) -> None:
    called: list[int] = []
    with queue:
        queue.suspend()
        futures = [queue.submit(int, number) for number in range(100)]
        for future in futures[:50]:
            future.add_done_callback(lambda done: called.append(done.result()))
        futures[99].cancel()
        queue.resume()
        done: list[concurrent.futures.Future[int]] = []
        done += concurrent.futures.as_completed(futures, LIMIT)
    assert len(done) == len(set(done)) == 100
    assert sorted(called) == list(range(50))


def test_waiters_that_come_while_it_ends_are_not_forgotten(queue: AnyQueue) -> None:
    with queue:
        for _ in range(500):
            called = Gate("the callback")
            future = queue.submit(int)
            future.add_done_callback(called.open)
            assert not concurrent.futures.wait([future], LIMIT).not_done
            called.wait()


def test_run_in_executor_runs_on_the_queue(queue: AnyQueue) -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            *(loop.run_in_executor(queue, partial(int, n)) for n in range(100))
        )

    with queue:
        assert asyncio.run(main()) == list(range(100))


def test_a_cancelled_wrapped_future_takes_its_operation_out(queue: AnyQueue) -> None:
    async def main() -> None:
        waiting = asyncio.wrap_future(queue.submit(int))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        for _ in range(10):  # the loop passes the cancelling on in a separate turn
            await asyncio.sleep(0)
        assert queue.statistics().pending == 0

    with queue:
        queue.suspend()
        asyncio.run(main())
        queue.resume()


def test_shutdown_refuses_waits_and_cancels(queue: AnyQueue) -> None:
    begun, release = Gate("the function"), Gate("the release")
    running = [queue.submit(both, begun.open, release.wait) for _ in range(32)]
    begun.wait()
    pending = queue.submit(int)
    queue.shutdown(wait=False)
    with pytest.raises(RuntimeError):
        queue.submit(int)
    if isinstance(queue, inturn.FIFOQueue):
        queue.shutdown(wait=False, cancel_futures=True)
        assert pending.cancelled(), "at once, not when its queue comes to it"
        assert running[1].cancelled()
    release.open()
    queue.shutdown()
    assert running[0].done()
    assert not running[0].cancelled()
    queue.shutdown()
    queue.destroy()
    queue.shutdown()


def test_what_runs_is_not_asked_to_end_by_a_shutdown() -> None:
    tokens: list[inturn.Token] = []
    asked: list[str] = []
    with inturn.FIFOQueue() as queue:
        running = queue.enqueue(tokens.append)
        until("it runs", lambda: bool(tokens))
        tokens[0].on_cancel(lambda _: asked.append("work"))
        pending = queue.enqueue(tokens.append)
        queue.shutdown(wait=False, cancel_futures=True)
        assert pending.wait(LIMIT).outcome is inturn.Outcome.CANCELLED
        assert not tokens[0].cancelled
        tokens[0].finish()
        assert running.wait(LIMIT).outcome is inturn.Outcome.FINISHED
    assert (asked, len(tokens)) == ([], 1)


def test_a_result_of_any_kind_is_a_result(queue: AnyQueue) -> None:
    lock = threading.Lock()  # cannot be pickled

    def deep(depth: int) -> int:
        return 0 if depth == 0 else 1 + deep(depth - 1)

    with queue:
        assert queue.submit(lambda: lock).result(LIMIT) is lock
        assert queue.submit(deep, 900).result(LIMIT) == 900
        with pytest.raises(RecursionError):
            queue.submit(deep, 100_000).result(LIMIT)


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_an_exit_is_an_exception_like_others(queue: AnyQueue, stop: type[BaseException]) -> None:
    def leave() -> None:
        raise stop

    with queue:
        assert isinstance(queue.submit(leave).exception(LIMIT), stop)
        assert queue.submit(int).result(LIMIT) == 0


def test_nothing_of_a_future_stays(queue: AnyQueue) -> None:
    class Argument:
        pass

    argument = Argument()
    gone = weakref.ref(argument)
    with queue:
        future = queue.submit(id, argument)
        future.result(LIMIT)
        queue.drain(LIMIT)
        del argument
        deadline = time.monotonic() + LIMIT
        while gone() is not None and time.monotonic() < deadline:
            queue.submit(int).result(LIMIT)
    assert gone() is None


def test_a_refused_submit_raises_and_keeps_nothing(queue: AnyQueue) -> None:
    queue.close()
    with pytest.raises(inturn.ClosedError):
        queue.submit(int)
    with pytest.raises(TypeError, match="a function"):
        queue.submit(42)  # type: ignore[arg-type]
    queue.destroy()


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_cancel_is_told_to_all_who_wait_whatever_a_callback_raises(
    error: type[BaseException],
) -> None:
    def fail(_future: object) -> None:
        raise error

    with inturn.FIFOQueue() as queue:
        queue.suspend()
        future = queue.submit(int)
        future.add_done_callback(fail)
        with pytest.raises(error):
            future.cancel()
        assert queue.statistics().pending == 0
        assert concurrent.futures.wait([future], LIMIT).not_done == set()
        queue.resume()


def test_an_end_callback_may_ask_its_future_for_the_result() -> None:
    results: list[int] = []
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        future = queue.options(on_end=lambda _: results.append(future.result())).submit(int, "7")
        queue.resume()
        assert future.result(LIMIT) == 7
    assert results == [7]


Cancelled = concurrent.futures.CancelledError


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("key", Cancelled),
        ("owner", Cancelled),
        ("max_wait", inturn.TimedOutError),
        ("resolve", None),
    ],
)
def test_a_future_ends_with_its_operation_though_nobody_drains_the_executor(
    how: str, error: type[BaseException] | None
) -> None:
    ends: list[inturn.End] = []
    done: list[object] = []
    executor, owner = inturn.Executor(), inturn.Owner()
    with inturn.ManualClock() as clock, inturn.FIFOQueue(executor=executor, clock=clock) as queue:
        future = queue.options(key="k", owner=owner, max_wait=1, on_end=ends.append).submit(int)
        future.add_done_callback(done.append)
        if how == "max_wait":
            clock.advance(1)
        elif how == "owner":
            owner.close()
        else:
            {"key": queue.cancel, "resolve": queue.resolve}[how]("k")
        with nullcontext() if error is None else pytest.raises(error):
            assert future.result(LIMIT / 10) is None
        assert (done, ends) == ([future], [])
        executor.drain()
        assert (done, len(ends)) == ([future], 1)
    executor.close()


def test_all_waits_end_at_a_cancel_though_nobody_drains_the_executor() -> None:
    done: list[object] = []
    with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
        futures = [queue.submit(int) for _ in range(3)]
        futures[0].add_done_callback(done.append)
        queue.cancel_pending()
        assert done == futures[:1]
        assert not concurrent.futures.wait(futures, LIMIT / 10).not_done
        executor.drain()
    assert done == futures[:1]


@pytest.mark.parametrize("ask", [inturn.Future.result, inturn.Future.exception])
def test_a_future_ends_for_who_waits_though_nobody_drains_the_executor(
    ask: Callable[..., object],
) -> None:
    done: list[object] = []
    with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
        future = queue.submit(int)
        future.add_done_callback(done.append)
        queue.cancel_all()
        assert not future.done()
        with pytest.raises(Cancelled):
            ask(future, LIMIT / 10)
        assert done == [future]
        executor.drain()
    assert done == [future]
