"""What ``submit`` returns."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import threading
import time
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, PENDING, RUNNING
from contextlib import ExitStack, suppress
from ctypes import byref
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._arguments import checked, number
from ._awaits import awaiting
from ._callbacks import entries, refuse_coroutine, wait
from ._ends import Outcome, error_of, has_started
from ._errors import AlreadyFinishedError, DeadlockError, ForkedError, TimedOutError
from ._handles import NotCopied
from ._library import lib, on_main_thread, quick, refusal, waiting
from ._prototypes import inturn_end

T = TypeVar("T")

if TYPE_CHECKING:
    from ._ends import End, OnEnd
    from ._operations import Operation
    from ._queues import Queue
    from ._tokens import Token


_DONE = (CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED)
# Protects the step in which a future without a condition ends or gets one. Nothing is called or
# allocated while it is held. Reentrant, as a signal handler may run.
_lock = threading.RLock()


def _renew_after_fork() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_after_fork)


class Future(NotCopied, concurrent.futures.Future[T]):
    """The result of a function that a queue calls; a ``concurrent.futures.Future``.

    Only its queue can end it.  `cancel` removes a pending operation from the queue at once.
    `result` and `exception` raise `DeadlockError` if the operation cannot end while the caller
    waits.
    """

    # A condition costs more than everything else, and few futures are waited for before they are
    # done.  So it is created for the first waiter; from then on, the base class's rules apply.

    _made: threading.Condition | None = None
    _handle: int | None = None  # the operation's, once it is known

    def __init__(self, queue: Queue, *call: Any) -> None:
        self._state = PENDING
        self._result: T | None = None
        self._exception: BaseException | None = None
        # The function, its arguments and keywords. Only one caller can take them, and decides the
        # outcome: the future is started, cancelled, or dropped by the library.
        self._call = [call]
        self._queue = queue  # alive for as long as it has operations

    if not TYPE_CHECKING:  # for a type checker it is the base's attribute

        @property
        def _condition(self):
            made = self._made
            if made is None:
                waiters, callbacks, new = [], [], threading.Condition()
                with _lock:
                    made = self._made
                    if made is None:
                        self._waiters, self._done_callbacks = waiters, callbacks
                        made = self._made = new  # last, as others read it without the lock
            return made

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._state in (CANCELLED, CANCELLED_AND_NOTIFIED)

    def running(self) -> bool:
        """Whether its function is running."""
        return self._state == RUNNING

    def done(self) -> bool:
        """Whether it was cancelled or has ended."""
        return self._state in _DONE

    def cancel(self) -> bool:
        """Cancels a pending operation: it never runs, and leaves the queue."""
        if not self._claim():
            return self.cancelled()
        try:
            self._end_cancelled()
        finally:  # whatever a callback raises
            if self._handle:
                quick.operation_cancel(self._handle)
        return True

    def result(self, timeout: float | None = None) -> T:
        """Waits for the result, and raises the exception that the function raised.

        :raises concurrent.futures.TimeoutError: the timeout, in seconds, has passed.
        :raises concurrent.futures.CancelledError: it was cancelled.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        if self._state == FINISHED and self._exception is None:
            return self._result  # type: ignore[return-value]
        try:
            return super().result(self._wait(timeout))
        finally:
            del self  # see `_start`

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the end, and returns the exception that the function raised, or None.

        :raises concurrent.futures.TimeoutError: the timeout, in seconds, has passed.
        :raises concurrent.futures.CancelledError: it was cancelled.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        return super().exception(self._wait(timeout))

    def add_done_callback(self, fn: Callable[[concurrent.futures.Future[T]], object]) -> None:
        """Calls a function with this future when it has ended, or at once if it has ended already.

        It is called on whichever thread ends the future.  That may be an event loop's, even for a
        plain function, so it must not block.

        :raises DeadlockError: asyncio waits for it, in ``run_in_executor`` or ``wrap_future``,
            inside a coroutine that has the turn itself.  The future is cancelled then.
        """
        if getattr(fn, "__module__", None) == "asyncio.futures":
            try:
                if self._handle:
                    awaiting(self._handle).end()
            except DeadlockError:
                self.cancel()
                raise
        super().add_done_callback(fn)

    def set_running_or_notify_cancel(self) -> bool:
        """Always refused, like `set_result`."""
        raise concurrent.futures.InvalidStateError(f"only its queue starts and ends {self!r}")

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
        """Whether the caller is the first to ask, and so decides the outcome."""
        try:
            self._call.pop()
        except IndexError:
            return False
        return True

    def _give(self, result: T) -> None:
        self._result = result
        self._settle(FINISHED)

    def _give_exception(self, error: BaseException) -> None:
        self._exception = error
        self._settle(FINISHED)

    def _settle(self, state: str) -> None:
        """Ends the future for its claimer; even a running one may end cancelled."""
        if self._enter(state):
            self._invoke_callbacks()  # type: ignore[attr-defined]

    def _enter(self, state: str) -> bool:
        """The same without its done callbacks; returns whether there may be any."""
        with _lock:
            made = self._made
            if made is None:
                self._state = state
                made = self._made  # may be set by a signal handler in between
                if made is None:
                    return False
        with made:
            self._state = state
            for waiter in self._waiters:
                if state != FINISHED:
                    waiter.add_cancelled(self)
                elif self._exception is None:
                    waiter.add_result(self)
                else:
                    waiter.add_exception(self)
            made.notify_all()
        return True

    def _end_cancelled(self) -> None:
        self._settle(CANCELLED_AND_NOTIFIED)

    def _wait(self, timeout: float | None) -> float | None:
        """Waits for the operation, and returns the remaining time."""
        if not self._handle or self.done():
            return timeout
        deadline = None
        if timeout is not None:
            timeout = max(0.0, checked(self, "timeout", timeout, "a time in seconds", number))
            deadline = time.monotonic() + timeout
        try:
            wait(self, self._wait_for_operation, timeout, self._queue._look(lambda: self._handle))
        except TimedOutError:
            raise concurrent.futures.TimeoutError from None
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def _wait_for_operation(self, ns: int) -> None:
        status = waiting.operation_wait(self._handle, ns, None)
        if status in (TimedOutError.status, DeadlockError.status, ForkedError.status):
            raise refusal("inturn_operation_wait", status)
        # The executor may be one that nobody drains meanwhile, and it would tell the end.
        if not self.done():
            self._take_end()

    def _take_end(self) -> None:
        """The operation has ended: so does this, unless its work was called and is to say how."""
        end = inturn_end()
        if waiting.operation_wait(self._handle, 0, byref(end)) or has_started(end):
            return
        if self._claim():
            self._end_cancelled()

    def _start(self, token: int) -> None:
        """Called by the library as the work."""
        try:
            function, arguments, keywords = self._call.pop()
        except IndexError:
            quick.token_cancel(token)
            return
        self._state = RUNNING
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
            # The traceback keeps this frame, which must not keep the future that keeps it.
            self = None  # type: ignore[assignment]
        else:
            try:
                self._give(result)
            finally:  # whatever a callback raises
                quick.token_finish(token)

    def _failed(self, error: BaseException) -> None:
        """The call was interrupted, perhaps before the function began."""
        self._claim()
        if not self.done():
            self._give_exception(error)

    def _dropped(self) -> None:
        """The library is done with it: it was started or never will be."""
        if self._call and self._claim():
            self._end_cancelled()

    def __del__(self) -> None:
        if self._handle and not sys.is_finalizing():
            quick.operation_release(self._handle)


def call_as_work(function: Callable[[], object], token: Token) -> None:
    """Calls a plain function with options as work."""
    try:
        result = function()
        if type(result) is CoroutineType:
            refuse_coroutine(result, function)
        with suppress(AlreadyFinishedError):  # it was cut off
            token.finish(result)
    finally:
        del token  # see `Future._start`


class Attempts(Future[T]):
    """The result of a function with options: it may be called more than once, or not at all."""

    _operation: Operation | None = None  # the one whose end this reports
    _on_end: OnEnd | None = None
    _end: End | None = None  # once it is known

    def __init__(self, queue: Queue, function: Callable[[], T]) -> None:
        super().__init__(queue, function)
        self._function: Callable[[], T] | None = function
        self._unended = [True]  # popped by the one who ends it

    def _attempt(self, token: Token) -> None:
        """Called as the work, once for each attempt."""
        if self._state != RUNNING:  # the first attempt
            if not self._claim():
                token.cancel()
                return
            self._state = RUNNING
            if self._end is not None:  # a moment ago, when it was neither pending nor running
                self._end_with(self._end)
        function = self._function
        if function is None:  # the end was faster
            with suppress(AlreadyFinishedError):
                token.cancel()
            return
        try:
            call_as_work(function, token)
        finally:
            del self, token  # see `Future._start`

    def _ended(self, end: End) -> None:
        on_end, self._on_end, self._function = self._on_end, None, None
        try:  # first, as the end callback may ask for the result
            self._end_with(end)
        finally:
            if on_end is not None:
                on_end(end)

    def _take_end(self) -> None:
        if self._operation is not None:
            self._end_with(self._operation.wait(0))

    def _end_with(self, end: End) -> None:
        """Ends it like its operation, unless `cancel` or another caller has done so."""
        self._end = end
        if not self._claim() and self._state != RUNNING:
            return
        try:
            self._unended.pop()
        except IndexError:
            return
        error = error_of(end)
        if error is None:
            self._give(end.result)
        elif end.outcome is Outcome.CANCELLED:
            self._end_cancelled()
        else:
            self._give_exception(error)

    def __del__(self) -> None:
        """Nothing to do: the operation owns the handle."""


def cancel_pending(queue: Queue) -> None:
    """Cancels a queue's operations that have not begun, and their futures at once, even if nobody
    drains its executor."""
    claimed: list[Future[Any]] = []
    try:
        for entry in list(entries.values()):
            # With options, an operation leads to its future by its work.
            future = getattr(getattr(entry, "_work", None), "__self__", entry)
            if isinstance(future, Future) and future._queue is queue and future._claim():
                claimed.append(future)
        lib.inturn_queue_cancel_pending(queue._handle)
    finally:
        called = [future for future in claimed if future._enter(CANCELLED_AND_NOTIFIED)]
        # Only now, as done callbacks may enqueue more, or ask another of these for its result.
        with ExitStack() as callbacks:  # calls all of them, whatever one raises
            for future in reversed(called):
                callbacks.callback(future._invoke_callbacks)  # type: ignore[attr-defined]
