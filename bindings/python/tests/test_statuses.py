"""Each status that can occur becomes its exception, which says where it comes from."""

from __future__ import annotations

import threading

import pytest

import inturn
from inturn import _prototypes as c
from inturn._library import lib
from support import LIMIT, Gate, each, finish, join


def test_the_null_handle() -> None:
    with pytest.raises(inturn.NullHandleError, match="inturn_queue_suspend"):
        lib.inturn_queue_suspend(c.inturn_queue())


def test_a_stale_handle() -> None:
    queue = inturn.FIFOQueue()
    queue.destroy()
    with pytest.raises(inturn.StaleError, match="inturn_queue_suspend"):
        queue.suspend()


def test_a_queue_of_another_kind() -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(inturn.WrongKindError):
        lib.inturn_queue_view_did_appear(queue._handle)


def test_a_missing_out_parameter() -> None:
    with pytest.raises(inturn.InvalidArgumentError) as caught:
        lib.inturn_executor_create(None, None)
    assert isinstance(caught.value, ValueError)


def test_a_resume_without_a_suspend() -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(inturn.NotSuspendedError):
        queue.resume()


def test_a_time_that_is_over() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        operation = queue.enqueue(finish)
        for call in (operation.wait, queue.drain):
            with pytest.raises(inturn.TimedOutError) as caught:
                call(0.001)
            assert isinstance(caught.value, TimeoutError)
        queue.resume()


def test_a_second_cancel() -> None:
    tokens: list[inturn.Token] = []
    begun = Gate("the work")
    with inturn.FIFOQueue() as queue:
        operation = queue.enqueue(each(tokens.append, begun.open))
        begun.wait()
        operation.cancel()
        with pytest.raises(inturn.CancelledError):
            lib.inturn_operation_cancel(c.inturn_operation(operation._handle))
        tokens.pop().cancel()


def test_a_second_thread_that_drains() -> None:
    begun, release = Gate("the work"), Gate("the release")
    executor = inturn.Executor()
    queue = inturn.FIFOQueue(executor=executor)
    queue.enqueue(each(begun.open, release.wait, finish))
    thread = threading.Thread(target=executor.run)
    thread.start()
    begun.wait()
    with pytest.raises(inturn.WrongThreadError):
        executor.drain()
    release.open()
    queue.drain(LIMIT)
    executor.stop()
    join(thread)
    queue.destroy()
    executor.close()


def test_the_main_executor_on_another_thread() -> None:
    refused = Gate("the refusal")

    def drain() -> None:
        with pytest.raises(inturn.WrongThreadError):
            inturn.Executor.main().drain()
        with pytest.raises(inturn.WrongThreadError):
            inturn.run_main()
        refused.open()

    thread = threading.Thread(target=drain)
    thread.start()
    refused.wait()
    join(thread)


def test_the_main_executor_cannot_be_destroyed() -> None:
    with pytest.raises(inturn.UnsupportedError):
        lib.inturn_executor_destroy(inturn.Executor.main()._handle)


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(ValueError, match="a time"):
        queue.drain(seconds)
    with pytest.raises(ValueError, match="a time"):
        inturn.InteractionQueue(settle=seconds)


@pytest.mark.parametrize("seconds", [1e300, float("inf"), None])
def test_a_time_that_is_very_long_is_just_that(seconds: float | None) -> None:
    with inturn.FIFOQueue() as queue:
        queue.enqueue(finish)
        queue.drain(seconds)


@pytest.mark.parametrize("capacity", [-1, 2**64])
def test_a_capacity_that_is_out_of_range_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match="capacity of"):
        inturn.FIFOQueue(capacity=capacity)


def test_work_that_is_not_callable_is_refused() -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(TypeError, match="must be a function"):
        queue.enqueue(42)  # type: ignore[arg-type]


def test_a_failure_that_is_not_an_exception_is_refused() -> None:
    def work(token: inturn.Token) -> None:
        with pytest.raises(TypeError, match="an exception"):
            token.fail("it was nothing")  # type: ignore[arg-type]
        token.finish()

    with inturn.FIFOQueue() as queue:
        assert queue.enqueue(work).wait(LIMIT).outcome is inturn.Outcome.FINISHED
