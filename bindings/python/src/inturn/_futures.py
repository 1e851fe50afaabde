"""What ``submit`` returns."""

from __future__ import annotations

import concurrent.futures
import sys
import time
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, PENDING
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._callbacks import on_main_thread, refuse_coroutine, wait
from ._errors import DeadlockError, ForkedError, TimedOutError
from ._handles import NotCopied
from ._library import quick, refusal, waiting

T = TypeVar("T")

if TYPE_CHECKING:
    from ._queues import Queue


class Future(NotCopied, concurrent.futures.Future[T]):
    """The result of a function that a queue calls; a ``concurrent.futures.Future``.

    Its queue alone ends it.  `cancel` takes a pending operation out of the queue at once.
    `result` and `exception` raise `DeadlockError` where the operation cannot end while the caller
    waits.
    """

    def __init__(self, queue: Queue, *call: Any) -> None:
        super().__init__()
        # The function, its arguments and keywords, until it is started, or never will be.
        self._call: Any = call
        self._queue = queue  # alive for as long as it has operations
        self._handle: int | None = None  # of its operation, as soon as that is known

    def cancel(self) -> bool:
        """Cancels a pending operation: it never runs, and leaves its queue."""
        if not super().cancel():
            return False
        self._claim()
        if self._handle:
            quick.operation_cancel(self._handle)
        return True

    def result(self, timeout: float | None = None) -> T:
        """Waits for the result, and raises the exception that the function has raised.

        :raises concurrent.futures.TimeoutError: it has not ended after so many seconds.
        :raises concurrent.futures.CancelledError: it was cancelled.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        return super().result(self._wait(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the end, and returns the exception that the function has raised, or None.

        :raises concurrent.futures.TimeoutError: it has not ended after so many seconds.
        :raises concurrent.futures.CancelledError: it was cancelled.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        return super().exception(self._wait(timeout))

    def add_done_callback(self, fn: Callable[[concurrent.futures.Future[T]], object]) -> None:
        """Calls a function with this future when that has ended, or now when it has.

        :raises DeadlockError: asyncio waits for it, in ``run_in_executor`` or ``wrap_future``,
            inside a coroutine that has the turn itself; then it is cancelled.
        """
        if getattr(fn, "__module__", None) == "asyncio.futures":
            try:
                self._queue._refuse_await(self)
            except DeadlockError:
                self.cancel()
                raise
        super().add_done_callback(fn)

    def set_running_or_notify_cancel(self) -> bool:
        """Refused, as `set_result` is."""
        raise concurrent.futures.InvalidStateError(f"its queue starts and ends {self!r}")

    def set_result(self, result: T) -> None:
        """Refused.

        :raises concurrent.futures.InvalidStateError: always.
        """
        self.set_running_or_notify_cancel()

    def set_exception(self, exception: BaseException | None) -> None:
        """Refused.

        :raises concurrent.futures.InvalidStateError: always.
        """
        self.set_running_or_notify_cancel()

    def _claim(self) -> bool:
        """Whether it runs from now on; who waits is told when it was cancelled before that."""
        with self._condition:
            begins = self._state in (PENDING, CANCELLED) and super().set_running_or_notify_cancel()
            if not begins:
                self._call = None
            return begins

    def _give(self, result: T) -> None:
        super().set_result(result)

    def _give_exception(self, error: BaseException) -> None:
        super().set_exception(error)

    def _end_cancelled(self) -> None:
        """Ends it as cancelled though it was running."""
        with self._condition:
            self._state = CANCELLED_AND_NOTIFIED
            for waiter in self._waiters:
                waiter.add_cancelled(self)
            self._condition.notify_all()
        self._invoke_callbacks()  # type: ignore[attr-defined]

    def _wait(self, timeout: float | None) -> float | None:
        """Waits for the operation; returns what is left of the time."""
        if not self._handle or self.done():
            return timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            wait(
                self._wait_for_operation,
                None if timeout is None else max(0.0, timeout),
                self._queue._look(lambda: self._state == PENDING),
            )
        except TimedOutError:
            raise concurrent.futures.TimeoutError from None
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def _wait_for_operation(self, ns: int) -> None:
        status = waiting.operation_wait(self._handle, ns, None)
        if status in (TimedOutError.status, DeadlockError.status, ForkedError.status):
            raise refusal("inturn_operation_wait", status)

    def _start(self, token: int) -> None:
        """What the library calls as the work."""
        if not self._claim():
            quick.token_cancel(token)
            return
        (function, arguments, keywords), self._call = self._call, None
        try:
            result = function(*arguments, **keywords)
            if type(result) is CoroutineType:
                refuse_coroutine(result, function)
        except BaseException as error:
            try:
                self._give_exception(error)
            finally:
                quick.token_fail(token, 1)
            if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
                raise
            # The traceback's frame, of this call, is not to keep the future that keeps it.
            self = None  # type: ignore[assignment]
        else:
            try:
                self._give(result)
            finally:  # whatever a callback raises
                quick.token_finish(token)

    def _dropped(self) -> None:
        """The library is done with it: it was started, or never will be."""
        if super().cancel():
            self._claim()

    def __del__(self) -> None:
        if self._handle and not sys.is_finalizing():
            quick.operation_release(self._handle)
