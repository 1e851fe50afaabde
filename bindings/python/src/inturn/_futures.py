"""What ``submit`` returns."""

from __future__ import annotations

import concurrent.futures
import sys
import threading
import time
from concurrent.futures._base import (
    CANCELLED,
    CANCELLED_AND_NOTIFIED,
    FINISHED,
    PENDING,
    RUNNING,
)
from typing import TYPE_CHECKING, Any, TypeVar

from ._callbacks import on_main_thread, wait
from ._errors import DeadlockError, ForkedError, TimedOutError
from ._library import quick, refusal, waiting

T = TypeVar("T")

if TYPE_CHECKING:
    from ._queues import Queue

_DONE = (CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED)


class Future(concurrent.futures.Future[T]):
    """The result of a function that a queue calls; a ``concurrent.futures.Future``.

    `cancel` takes a pending operation out of the queue at once.  `result` and `exception` raise
    `DeadlockError` where the operation cannot end while the caller waits.
    """

    # A condition costs more than all the rest, and few futures are waited for before they are
    # done.  So it is made for the first who needs it.  Who ends a future sets its state first and
    # then looks for a condition; who waits makes the condition first and then looks at the state:
    # one of them sees the other.

    def __init__(self, queue: Queue, *call: Any) -> None:
        self._state = PENDING
        self._result: T | None = None
        self._exception: BaseException | None = None
        # The function, its arguments and keywords. Who takes them, out of `__dict__` in one step,
        # decides what becomes of it: it is started, cancelled, or dropped by the library.
        self._call = call
        self._kept: Queue | None = queue  # alive for as long as it has operations
        self._handle: int | None = None  # of its operation, as soon as that is known

    if not TYPE_CHECKING:  # for a type checker it is the base's attribute

        @property
        def _condition(self):
            made = self.__dict__.get("_made")
            if made is None:
                self.__dict__.setdefault("_waiters", [])
                self.__dict__.setdefault("_done_callbacks", [])
                made = self.__dict__.setdefault("_made", threading.Condition())
            return made

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._state in (CANCELLED, CANCELLED_AND_NOTIFIED)

    def running(self) -> bool:
        """Whether its function is being called."""
        return self._state == RUNNING

    def done(self) -> bool:
        """Whether it was cancelled or has ended."""
        return self._state in _DONE

    def cancel(self) -> bool:
        """Cancels a pending operation: it never runs, and leaves its queue."""
        if not self._claim():
            return self.cancelled()
        super().cancel()
        if self._handle:
            quick.operation_cancel(self._handle)
        self.set_running_or_notify_cancel()
        return True

    def result(self, timeout: float | None = None) -> T:
        """Waits for the result, and raises the exception that the function has raised.

        :raises concurrent.futures.TimeoutError: it has not ended after so many seconds.
        :raises concurrent.futures.CancelledError: it was cancelled.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        if self._state == FINISHED and self._exception is None:
            return self._result  # type: ignore[return-value]
        return super().result(self._wait(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the end, and returns the exception that the function has raised, or None.

        :raises concurrent.futures.TimeoutError: it has not ended after so many seconds.
        :raises concurrent.futures.CancelledError: it was cancelled.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        return super().exception(self._wait(timeout))

    def set_result(self, result: T) -> None:
        """Ends it with a result; for who made it."""
        self._result = result
        self._settle()

    def set_exception(self, exception: BaseException | None) -> None:
        """Ends it with an exception; for who made it."""
        self._exception = exception
        self._settle()

    def _end_cancelled(self) -> None:
        """Ends it as cancelled though it was running."""
        self._settle(CANCELLED_AND_NOTIFIED)

    def _settle(self, state: str = FINISHED) -> None:
        if self._state in _DONE:
            raise concurrent.futures.InvalidStateError(f"{self._state}: {self!r}")
        self._state = state
        condition = self.__dict__.get("_made")
        if condition is not None:
            with condition:
                for waiter in self._waiters:
                    if state != FINISHED:
                        waiter.add_cancelled(self)
                    elif self._exception is None:
                        waiter.add_result(self)
                    else:
                        waiter.add_exception(self)
                condition.notify_all()
            self._invoke_callbacks()  # type: ignore[attr-defined]

    def _wait(self, timeout: float | None) -> float | None:
        """Waits for the operation; returns what is left of the time."""
        if self._state in _DONE or not self._handle:
            return timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            wait(self._wait_for_operation, None if timeout is None else max(0.0, timeout))
        except TimedOutError:
            raise concurrent.futures.TimeoutError from None
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def _wait_for_operation(self, ns: int) -> None:
        status = waiting.operation_wait(self._handle, ns, None)
        if status in (TimedOutError.status, DeadlockError.status, ForkedError.status):
            raise refusal("inturn_operation_wait", status)

    def _claim(self) -> bool:
        """Whether the caller is the first who asks: what is to become of it is the caller's."""
        if self.__dict__.pop("_call", None) is None:
            return False
        self._kept = None
        return True

    def _begin_running(self) -> None:
        self._state = RUNNING

    def _start(self, token: int) -> None:
        """What the library calls as the work."""
        call = self.__dict__.pop("_call", None)
        if call is None:
            quick.token_cancel(token)
            return
        function, arguments, keywords = call
        del call
        self._state = RUNNING
        try:
            result = function(*arguments, **keywords)
        except BaseException as error:
            self.set_exception(error)
            quick.token_fail(token, 1)
            self._kept = None
            if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
                raise
            # The traceback's frame, of this call, is not to keep the future that keeps it.
            self = None  # type: ignore[assignment]
        else:
            self.set_result(result)
            quick.token_finish(token)
            self._kept = None

    def _dropped(self) -> None:
        """The library is done with it: it was started, or never will be."""
        if self._claim():
            super().cancel()
            self.set_running_or_notify_cancel()

    def __del__(self) -> None:
        if self._handle and not sys.is_finalizing():
            quick.operation_release(self._handle)
