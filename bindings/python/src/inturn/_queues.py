"""Queues: they accept operations and decide when each may start."""

from __future__ import annotations

import concurrent.futures
import os
import sys
from contextlib import suppress
from ctypes import byref, c_size_t, c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from . import _prototypes as c
from ._callbacks import (
    call_with_end,
    drop,
    entries,
    forget,
    forget_end,
    give_back,
    nanoseconds,
    new_key,
    register,
    start,
    start_post,
    take_out,
    wait,
)
from ._clocks import ManualClock
from ._diagnosis import Statistics, fields
from ._errors import ClosedError, Error, StaleError
from ._executors import Executor, pool
from ._futures import Future
from ._library import lib, quick, refusal
from ._operations import OnEnd, Operation, State, Work

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

    from typing_extensions import ParamSpec, Self

    from ._asyncio import Home, Turn

    P = ParamSpec("P")

T = TypeVar("T")


# The part for asyncio, when it is first needed: importing asyncio takes long.
_asyncio: Any = None


def _import_asyncio() -> Any:
    global _asyncio
    from . import _asyncio as module

    _asyncio = module
    return module


class Info(NamedTuple):
    """An operation that has not ended, as `Queue.operations` lists it."""

    state: State
    cancelled: bool
    label: str
    enqueued_ns: int
    started_ns: int


class Queue:
    """What all kinds of queues share.

    Work is called by the executor; without one, on threads of Python that all such queues share,
    of which there are as many as have something to do at a time.  Every method may be called
    from any thread.
    """

    _kind = 0
    _handle = c.inturn_queue()  # null until there is one
    _home: Home | None = None
    _holder: Turn | None = None  # of a serial queue: the turn that a coroutine has
    _is_movable = False  # to the executor of a loop, and back
    _is_serial = False  # the next operation starts when the one before it has ended
    _is_actor = False

    def __init__(
        self,
        label: str | None,
        executor: Executor | None,
        capacity: int,
        clock: ManualClock | None,
        **options: Any,
    ) -> None:
        if not 0 <= capacity < 2**64:
            raise ValueError(f"not a capacity: {capacity!r}")
        self.label = label
        # Alive for as long as the queue.
        self._executor = executor
        self._clock = clock
        handle = c.inturn_queue()
        if label is not None:
            options["label"] = label.encode()
        if executor is not None:
            options["executor"] = executor._handle
        if clock is not None:
            options["clock"] = clock._handle
        structure = c.inturn_queue_options(capacity=capacity, **options)
        lib.inturn_queue_create(self._kind, byref(structure), byref(handle))
        self._handle = handle
        self._bits = c_void_p(handle.bits)

    def post(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Adds a call of a plain function, which is over when it returns; nothing is told of it.

        The fastest way.  An exception fails the operation and is reported as unraisable.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        if not callable(function):
            raise TypeError(f"not callable: {function!r}")
        if self._home is not None:
            self._leave_home()
        key = new_key()
        # The queue is alive for as long as it has operations.
        entries[key] = self, partial(function, *args, **kwargs) if args or kwargs else function
        status = quick.queue_enqueue(self._bits, start_post, key, forget, None)
        if status:
            raise refusal("inturn_queue_enqueue", status)

    def enqueue(
        self,
        work: Work,
        *,
        label: str | None = None,
        on_end: OnEnd | None = None,
        max_wait: float = 0,
        max_run: float = 0,
        free_at_max_run: bool = False,
        stall: float = 0,
        cancel_grace: float = 0,
    ) -> Operation:
        """Adds an operation, and returns at once.

        The queue's executor calls ``work(token)``.  The operation is over when its token is
        finished, failed or cancelled: by then or later, from any thread.  An exception in work
        fails it; a lost token abandons it.  ``on_end(end)`` is called exactly once.

        Times are in seconds of the queue's clock, and zero means none: `max_wait` from here to
        the start and `max_run` from there to the end, after which the operation has timed out
        (its place is held until the token is finished, or freed `free_at_max_run`); after
        `stall` in the queue, or running, the report handler is told; `cancel_grace` is how long
        the operation may go on after it was asked to end.

        :raises TypeError: the work is not callable.
        :raises ValueError: a time is negative or not a number.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        if not callable(work):
            raise TypeError(f"not callable: {work!r}")
        if self._home is not None:
            self._leave_home()
        caller = sys._getframe(1)
        operation = Operation(self, work, label, caller.f_code, caller.f_lineno)
        out = take_out()
        if not (label or on_end or max_wait or max_run or stall or cancel_grace):
            key = new_key()
            entries[key] = operation
            status = quick.queue_enqueue(self._bits, start, key, drop, out[1])
        else:
            options = c.inturn_operation_options(
                label=None if label is None else label.encode(),
                max_run_policy=free_at_max_run,
                max_wait_ns=nanoseconds(max_wait),
                max_run_ns=nanoseconds(max_run),
                stall_ns=nanoseconds(stall),
                cancel_grace_ns=nanoseconds(cancel_grace),
            )
            if on_end is not None:
                if not callable(on_end):
                    raise TypeError(f"not callable: {on_end!r}")
                operation._on_end = on_end
                options.on_end = call_with_end
                options.end_context = register(operation._deliver)
                options.end_destroy = forget_end
            key = register(operation)
            status = quick.queue_enqueue_with(self._bits, byref(options), start, key, drop, out[1])
        if status:
            raise refusal("inturn_queue_enqueue", status)
        operation._handle = out[0].value
        give_back(out)
        return operation

    def _submit(self, function: Callable[..., T], args: Any, kwargs: Any) -> Future[T]:
        if not callable(function):
            raise TypeError(f"not callable: {function!r}")
        if self._home is not None:
            self._leave_home()
        future: Future[T] = Future(self, function, args, kwargs)
        out = take_out()
        key = new_key()
        entries[key] = future
        status = quick.queue_enqueue(self._bits, start, key, drop, out[1])
        if status:
            raise refusal("inturn_queue_enqueue", status)
        future._handle = out[0].value
        give_back(out)
        return future

    def suspend(self) -> None:
        """Starts no further operation from now on; suspends are counted."""
        lib.inturn_queue_suspend(self._handle)

    def resume(self) -> None:
        """Takes one suspend back.

        :raises NotSuspendedError: there is none.
        """
        lib.inturn_queue_resume(self._handle)

    def cancel_all(self) -> None:
        """Cancels each operation that was enqueued so far."""
        lib.inturn_queue_cancel_all(self._handle)

    def close(self) -> None:
        """Refuses new operations from now on; what was accepted goes on."""
        with suppress(ClosedError, StaleError):
            lib.inturn_queue_close(self._handle)

    def drain(self, timeout: float | None = None) -> None:
        """Waits until every operation has ended and every end was delivered.

        :raises TimedOutError: that is not so after so many seconds.
        :raises DeadlockError: it cannot be so while the caller waits.
        """
        wait(lambda ns: lib.inturn_queue_drain(self._handle, ns), timeout)

    def destroy(self) -> None:
        """Cancels what has not ended, and ends the queue; a second call does nothing.

        :raises DeadlockError: it would wait for itself, round a ring.
        """
        with suppress(StaleError):
            lib.inturn_queue_destroy(self._handle)

    # Inspecting -----------------------------------------------------------------------------

    def statistics(self) -> Statistics:
        """How many operations there are and have been, by state and outcome."""
        counts = c.inturn_queue_statistics()
        lib.inturn_queue_get_statistics(self._handle, byref(counts))
        return Statistics(**fields(counts))

    def operations(self, limit: int = 1_000) -> list[Info]:
        """Lists operations that have not ended: running ones first, then pending ones in order.

        :raises ValueError: the limit is negative.
        """
        if limit < 0:
            raise ValueError(f"not a limit: {limit!r}")
        infos, count = (c.inturn_operation_info * limit)(), c_size_t()
        lib.inturn_queue_list(self._handle, infos, limit, byref(count))
        return [
            Info(
                State(info.state),
                info.cancelled,
                info.label.decode(),
                info.enqueued_ns,
                info.started_ns,
            )
            for info in infos[: count.value]
        ]

    # asyncio --------------------------------------------------------------------------------

    def run(
        self, function: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Adds a coroutine, which the running loop runs when its turn comes; await the result.

        It is enqueued by this call, not by the await, and runs in a copy of the caller's context.
        Its turn lasts until it has ended; on an actor queue, until it is suspended, and it goes
        on in another turn.  Cancelling what this returns cancels it: it never runs, or
        `asyncio.CancelledError` is raised in it; then its end is still waited for.

        :raises TypeError: the function is not callable.
        :raises RuntimeError: no loop runs on this thread.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        :raises DeadlockError: by the await, inside a coroutine that has the turn itself.
        """
        result: asyncio.Future[T]
        result = (_asyncio or _import_asyncio()).run(self, function, args, kwargs)
        return result

    def run_on(
        self,
        loop: asyncio.AbstractEventLoop,
        function: Callable[P, Coroutine[Any, Any, T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """`run` for a loop of another thread, like `asyncio.run_coroutine_threadsafe`.

        :raises TypeError: the function is not callable.
        :raises RuntimeError: the loop is closed.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        result: Future[T]
        result = (_asyncio or _import_asyncio()).run_on(self, loop, function, args, kwargs)
        return result

    async def __aenter__(self) -> Self:
        """Waits for a turn of the queue, which lasts until the block ends.

        :raises DeadlockError: inside a coroutine that has the turn itself.
        """
        await (_asyncio or _import_asyncio()).enter(self)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, _: object) -> None:
        (_asyncio or _import_asyncio()).leave(self, error)

    def _leave_home(self) -> None:
        """The executor's threads take part again in starting the queue's operations."""
        home, self._home = self._home, None
        quick.queue_set_executor(self._bits, pool().executor._handle.bits)
        if home is not None and home.is_gone():
            home.close()

    # ----------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"<inturn.{type(self).__name__} {self.label or ''!r}>"

    def __del__(self) -> None:
        if self._handle.bits and not sys.is_finalizing():
            with suppress(Error):
                self.destroy()


class _Waiting(Queue):
    """Queues whose ``with`` waits for all operations, or cancels them when its block raises."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None:
            self.close()
            with suppress(StaleError):  # it was destroyed in the block
                self.drain()
        self.destroy()


class _Submitting(_Waiting, concurrent.futures.Executor):
    """Queues that are a `concurrent.futures.Executor`, too."""

    def __init__(
        self,
        label: str | None,
        executor: Executor | None,
        capacity: int,
        clock: ManualClock | None,
        **options: Any,
    ) -> None:
        super().__init__(label, executor or pool().executor, capacity, clock, **options)
        self._is_movable = executor is None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Adds a call of a plain function, which is over when it returns.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations; a `RuntimeError`.
        :raises FullError: as many are pending as the capacity allows.
        """
        return self._submit(fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses new operations, cancels what is pending where asked to, and waits for the rest.

        The queue is not destroyed: what runs ends as usual.

        :raises DeadlockError: it would wait for the caller.
        """
        with suppress(StaleError):
            self.close()
            if cancel_futures:
                self.cancel_all()
            if wait:
                self.drain()


class FIFOQueue(_Submitting):
    """Operations begin and end in the order in which they were enqueued.

    It is a `concurrent.futures.Executor`.  ``with`` waits for all operations, or cancels them
    when its block raises.

    >>> with FIFOQueue("sums") as queue:
    ...     future = queue.submit(sum, [1, 2, 3])
    >>> future.result()
    6
    """

    _kind = c.INTURN_QUEUE_FIFO
    _is_serial = True

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        capacity: int = 0,
        clock: ManualClock | None = None,
    ) -> None:
        super().__init__(label, executor, capacity, clock)


class OperationQueue(_Submitting):
    """At most `max_concurrent` operations run at a time; they are taken up in order.

    It is a `concurrent.futures.Executor`.  ``with`` waits for all operations, or cancels them
    when its block raises.

    >>> with OperationQueue(max_concurrent=4) as queue:
    ...     list(queue.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    _kind = c.INTURN_QUEUE_CONCURRENT

    def __init__(
        self,
        label: str | None = None,
        *,
        max_concurrent: int | None = None,
        executor: Executor | None = None,
        capacity: int = 0,
        clock: ManualClock | None = None,
    ) -> None:
        if max_concurrent is None:
            max_concurrent = min(32, (os.cpu_count() or 1) + 4)  # as of a ThreadPoolExecutor
        if not 1 <= max_concurrent < 2**32:
            raise ValueError(f"not a number of operations: {max_concurrent!r}")
        super().__init__(label, executor, capacity, clock, max_concurrent=max_concurrent)


class ActorQueue(_Waiting):
    """Operations begin in order, and the next one when one has returned without ending.

    Its segments (`Token.resume`) come in the order of the resumes and never overlap.  ``with``
    waits for all operations, or cancels them when its block raises.
    """

    _kind = c.INTURN_QUEUE_ACTOR
    _is_actor = True

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        capacity: int = 0,
        clock: ManualClock | None = None,
    ) -> None:
        super().__init__(label, executor or pool().executor, capacity, clock)


class InteractionQueue(Queue):
    """Interactions with a user, one at a time, while a view is visible.

    Work is called by the executor; without one, by `run_main`.  `settle` is the time in seconds
    from the view's appearing to the first start, `gap` the one from one end to the next start.
    ``with`` cancels what has not ended.
    """

    _kind = c.INTURN_QUEUE_INTERACTION
    _is_serial = True

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        settle: float = 0.5,
        gap: float = 0.25,
        capacity: int = 0,
        clock: ManualClock | None = None,
    ) -> None:
        delays = {"settle_ns": nanoseconds(settle), "gap_ns": nanoseconds(gap)}
        super().__init__(label, executor, capacity, clock, **delays)

    def view_did_appear(self) -> None:
        """Says that the view is visible: the queue goes on when it has settled."""
        lib.inturn_queue_view_did_appear(self._handle)

    def view_will_disappear(self) -> None:
        """Says that the view disappears: no interaction starts until it is back."""
        lib.inturn_queue_view_will_disappear(self._handle)
