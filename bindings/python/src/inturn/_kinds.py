"""The kinds of queues."""

from __future__ import annotations

import concurrent.futures
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _prototypes as c
from ._callbacks import nanoseconds
from ._errors import DeadlockError, StaleError
from ._executors import Executor, pool
from ._futures import Future, cancel_pending
from ._library import lib
from ._queues import Queue

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from ._clocks import ManualClock
    from ._events import OnEvent
    from ._rates import Rate

    P = ParamSpec("P")

T = TypeVar("T")


class _Pooled(Queue):
    """Queues whose work Python's threads call, unless they are given an executor.

    ``with`` waits for all operations, or cancels them when its block raises.

    As with the executors of ``concurrent.futures``, the interpreter's exit waits while their
    threads have something to do, or threads that are no daemons may give them some; not for a
    suspended queue, or a token that nobody finishes.  An interrupt ends the wait.
    """

    def __init__(
        self,
        label: str | None,
        executor: Executor | None,
        capacity: int,
        rate: Rate | None,
        clock: ManualClock | None,
        on_event: OnEvent | None,
        events: bool,
        daemon: bool,
        **options: Any,
    ) -> None:
        if executor is None:
            self._pool = pool(daemon)
            executor = self._pool.executor
        elif daemon:
            raise TypeError("daemon is for queues without an executor of their own")
        super().__init__(label, executor, capacity, rate, clock, on_event, events, **options)

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None:
            self.close()
            try:
                with suppress(StaleError):  # it was destroyed in the block
                    self.drain()
            except DeadlockError:
                raise
            except BaseException:  # what interrupts that cancels the rest
                self.destroy()
                raise
        self.destroy()


class _Submitting(_Pooled, concurrent.futures.Executor):
    """Queues that are a ``concurrent.futures.Executor``, too."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_movable = self._pool is not None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Adds a call of a plain function, which is over when it returns.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations; a ``RuntimeError``.
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
                cancel_pending(self)
                lib.inturn_queue_cancel_all(self._handle)  # a coroutine that runs goes on
            if wait:
                self.drain()


class FIFOQueue(_Submitting):
    """Operations begin and end in the order in which they were enqueued.

    It is a ``concurrent.futures.Executor``.  ``with`` waits for all operations, or cancels them
    when its block raises; the interpreter's exit waits for those that still come to their turn,
    unless it is a ``daemon``.

    >>> with FIFOQueue("sums") as queue:
    ...     future = queue.submit(sum, [1, 2, 3])
    >>> future.result()
    6
    """

    _kind = c.INTURN_QUEUE_FIFO

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        capacity: int = 0,
        rate: Rate | None = None,
        clock: ManualClock | None = None,
        on_event: OnEvent | None = None,
        events: bool = False,
        daemon: bool = False,
    ) -> None:
        super().__init__(label, executor, capacity, rate, clock, on_event, events, daemon)


class OperationQueue(_Submitting):
    """At most ``max_concurrent`` operations run at a time; they are taken up in order.

    It is a ``concurrent.futures.Executor``.  ``with`` waits for all operations, or cancels them
    when its block raises; the interpreter's exit waits for those that still come to their turn,
    unless it is a ``daemon``.

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
        rate: Rate | None = None,
        clock: ManualClock | None = None,
        on_event: OnEvent | None = None,
        events: bool = False,
        daemon: bool = False,
    ) -> None:
        if max_concurrent is None:
            max_concurrent = min(32, (os.cpu_count() or 1) + 4)  # as of a ThreadPoolExecutor
        self._places = _checked(max_concurrent)
        super().__init__(
            label,
            executor,
            capacity,
            rate,
            clock,
            on_event,
            events,
            daemon,
            max_concurrent=max_concurrent,
        )

    @property
    def max_concurrent(self) -> int:
        """How many operations run at most.

        When fewer are allowed than run, none is stopped, and none starts until that is so.

        :raises ValueError: by setting it: less than 1, or more than 32 bits.
        """
        return self._places

    @max_concurrent.setter
    def max_concurrent(self, number: int) -> None:
        lib.inturn_queue_set_max_concurrent(self._handle, _checked(number))
        self._places = number


def _checked(number: int) -> int:
    if not 1 <= number < 2**32:
        raise ValueError(f"not a number of operations: {number!r}")
    return number


class ActorQueue(_Pooled):
    """Operations begin in order, and the next one when one has returned without ending.

    Its segments (`Token.resume`) come in the order of the resumes and never overlap.  ``with``
    waits for all operations, or cancels them when its block raises; the interpreter's exit waits
    for those that still come to their turn, unless it is a ``daemon``.
    """

    _kind = c.INTURN_QUEUE_ACTOR
    _is_actor = True

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        capacity: int = 0,
        rate: Rate | None = None,
        clock: ManualClock | None = None,
        on_event: OnEvent | None = None,
        events: bool = False,
        daemon: bool = False,
    ) -> None:
        super().__init__(label, executor, capacity, rate, clock, on_event, events, daemon)


class InteractionQueue(Queue):
    """Interactions with a user, one at a time, while a view is visible.

    Work is called by the executor; without one, by `run_main`.  ``settle`` is the time in seconds
    from the view's appearing to the first start, ``gap`` the one from one end to the next start.
    ``with`` cancels what has not ended.
    """

    _kind = c.INTURN_QUEUE_INTERACTION
    _may_yield = True

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        settle: float = 0.5,
        gap: float = 0.25,
        capacity: int = 0,
        rate: Rate | None = None,
        clock: ManualClock | None = None,
        on_event: OnEvent | None = None,
        events: bool = False,
    ) -> None:
        # To C, 0 is the default, and -1 is none.
        delays = {
            "settle_ns": nanoseconds(settle) or -1,
            "gap_ns": nanoseconds(gap) or -1,
        }
        super().__init__(label, executor, capacity, rate, clock, on_event, events, **delays)

    def view_did_appear(self) -> None:
        """Says that the view is visible: the queue goes on when it has settled."""
        lib.inturn_queue_view_did_appear(self._handle)

    def view_will_disappear(self) -> None:
        """Says that the view disappears: no interaction starts until it is back."""
        lib.inturn_queue_view_will_disappear(self._handle)
