"""Queues: they accept operations and decide when each may start."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import byref
from typing import Any, TypeVar

from . import _prototypes as c
from ._callbacks import call_with_end, call_with_token, forget, nanoseconds, register, wait
from ._errors import ClosedError, Error, StaleError
from ._executors import Executor, background
from ._library import lib
from ._operations import OnEnd, Operation, Work

_Self = TypeVar("_Self", bound="Queue")


class Queue:
    """What all kinds of queues share."""

    _handle = c.inturn_queue()  # null until there is one

    def __init__(
        self, kind: int, executor: Executor | None, label: str | None, **options: Any
    ) -> None:
        self.label = label
        self._handle = c.inturn_queue()
        self._executor = executor  # alive for as long as the queue
        if label is not None:
            options["label"] = label.encode()
        if executor is not None:
            options["executor"] = executor._handle
        lib.inturn_queue_create(kind, byref(c.inturn_queue_options(**options)), byref(self._handle))

    def enqueue(
        self, work: Work, *, label: str | None = None, on_end: OnEnd | None = None
    ) -> Operation:
        """Adds an operation, and returns at once.

        The queue's executor calls ``work(token)``.  The operation is over when its token is
        finished, failed or cancelled: by then or later, from any thread.  An exception in work
        fails it; a lost token abandons it.  ``on_end(end)`` is called exactly once.

        :raises TypeError: the work is not callable.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        if not callable(work):
            raise TypeError(f"not callable: {work!r}")
        operation = Operation(self, work, on_end, label)
        name = None if label is None else label.encode()
        options = c.inturn_operation_options(label=name, on_end=call_with_end, end_destroy=forget)
        options.end_context = register(operation._deliver)
        lib.inturn_queue_enqueue_with(
            self._handle,
            byref(options),
            call_with_token,
            register(operation._start),
            forget,
            byref(operation._handle),
        )
        return operation

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

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"<inturn.{type(self).__name__} {self.label or ''!r}>"

    def __del__(self) -> None:
        if self._handle.bits and not sys.is_finalizing():
            with suppress(Error):
                self.destroy()


class FIFOQueue(Queue):
    """Operations begin and end in the order in which they were enqueued.

    Work is called by the executor; without one, on a background thread that all such queues
    share.  ``with`` waits for all operations, or cancels them when its block raises.
    """

    def __init__(
        self, label: str | None = None, *, executor: Executor | None = None, capacity: int = 0
    ) -> None:
        if not 0 <= capacity < 2**64:
            raise ValueError(f"not a capacity: {capacity!r}")
        super().__init__(c.INTURN_QUEUE_FIFO, executor or background(), label, capacity=capacity)

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.close()
            self.drain()
        self.destroy()


class InteractionQueue(Queue):
    """Interactions with a user, one at a time, while a view is visible.

    Work is called by the executor; without one, by `run_main`.  `settle` is the time in seconds
    from the view's appearing to the first start, `gap` the one from one end to the next start.
    ``with`` cancels what has not ended.
    """

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        settle: float = 0.5,
        gap: float = 0.25,
    ) -> None:
        delays = {"settle_ns": nanoseconds(settle), "gap_ns": nanoseconds(gap)}
        super().__init__(c.INTURN_QUEUE_INTERACTION, executor, label, **delays)

    def view_did_appear(self) -> None:
        """Says that the view is visible: the queue goes on when it has settled."""
        lib.inturn_queue_view_did_appear(self._handle)

    def view_will_disappear(self) -> None:
        """Says that the view disappears: no interaction starts until it is back."""
        lib.inturn_queue_view_will_disappear(self._handle)
