"""Operations, their tokens and their ends."""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from contextlib import suppress
from ctypes import byref, c_bool, c_int
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _prototypes as c
from ._callbacks import call_with_token, forget, on_main_thread, register, wait
from ._errors import AlreadyFinishedError, CancelledError, Error
from ._library import lib

if TYPE_CHECKING:
    from ._queues import Queue

# The header's, from 1, but for the causes, which are from 0.
Outcome = IntEnum("Outcome", "FINISHED FAILED CANCELLED TIMED_OUT ABANDONED")
Cause = IntEnum(
    "Cause",
    "NONE REQUEST GRACE DESTROYED MAX_WAIT MAX_RUN DEPENDENCY SKIPPED CONDITION "
    "RESOLVED JOINED OWNER",
    start=0,
)
State = IntEnum("State", "PENDING RUNNING ENDED")


class End(NamedTuple):
    """How an operation ended, why it was cancelled, and what its token was given."""

    outcome: Outcome
    cause: Cause
    result: Any
    exception: BaseException | None
    label: str | None
    started: bool


Work = Callable[["Token"], object]
OnEnd = Callable[[End], object]


class Operation:
    """One unit of asynchronous work, made by a queue's `enqueue`.

    It goes on when this object is dropped; if it then fails and nobody was told, by `wait` or
    by an end callback, its exception is reported as unraisable.
    """

    def __init__(self, queue: Queue, work: Work, on_end: OnEnd | None, label: str | None) -> None:
        caller = sys._getframe(2)
        self.label = label
        self._place = (caller.f_code.co_filename, caller.f_lineno)
        self._queue = queue  # alive for as long as it has operations
        self._work: Work | None = work
        self._on_end = on_end
        self._handle = c.inturn_operation()
        # What its token was given, set before the library is told.
        self._result: Any = None
        self._exception: BaseException | None = None
        self._told = False

    @property
    def state(self) -> State:
        """Pending, running or ended."""
        state = c_int()
        lib.inturn_operation_get_state(self._handle, byref(state))
        return State(state.value)

    def cancel(self) -> bool:
        """Cancels a pending operation, asks a running one to end; whether this call did it."""
        try:
            lib.inturn_operation_cancel(self._handle)
        except (AlreadyFinishedError, CancelledError):
            return False
        return True

    def wait(self, timeout: float | None = None) -> End:
        """Waits until the operation has ended; its end callback may be yet to come.

        :raises TimedOutError: it has not ended after so many seconds.
        :raises DeadlockError: it cannot end while the caller waits.
        """
        end = c.inturn_end()
        wait(lambda ns: lib.inturn_operation_wait(self._handle, ns, byref(end)), timeout)
        return self._end(end)

    def _start(self, handle: c.inturn_token) -> None:
        """What the library calls as the work."""
        work, self._work = self._work, None
        token = Token(handle, self)
        try:
            if work is not None:
                work(token)
        except BaseException as error:
            try:
                token.fail(error)
            except Error:
                raise error from None  # too late for a failure, yet it does not vanish
            if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
                raise

    def _deliver(self, end: c.inturn_end) -> None:
        """What the library calls at the end."""
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(self._end(end))

    def _end(self, end: c.inturn_end) -> End:
        self._told = True
        result = self._result if end.outcome == Outcome.FINISHED else None
        error = self._exception if end.outcome == Outcome.FAILED else None
        outcome, cause, started = Outcome(end.outcome), Cause(end.cause), end.started_ns != 0
        return End(outcome, cause, result, error, self.label, started)

    def __repr__(self) -> str:
        file, line = self._place
        return f"<inturn.Operation {self.label or ''!r} enqueued at {file}:{line}>"

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        if self._handle.bits:
            with suppress(Error):
                lib.inturn_operation_release(self._handle)
        if self._exception is not None and not self._told:
            raise RuntimeError(f"nobody was told that {self!r} failed") from self._exception


class Token:
    """Ends the operation whose work it was given to: once, from any thread.

    When its last reference goes before that, the operation ends as abandoned.
    """

    def __init__(self, handle: c.inturn_token, operation: Operation) -> None:
        self._handle = handle
        self._operation = operation
        self._lock = threading.Lock()  # protects _used
        self._used = False

    @property
    def cancelled(self) -> bool:
        """Whether the operation was asked to end."""
        cancelled = c_bool()
        with suppress(AlreadyFinishedError):
            lib.inturn_token_is_cancelled(self._handle, byref(cancelled))
        return cancelled.value

    def finish(self, result: object = None) -> None:
        """Ends the operation as finished.

        :raises AlreadyFinishedError: it has ended before.
        """
        self._use()
        self._operation._result = result
        lib.inturn_token_finish(self._handle)

    def fail(self, exception: BaseException) -> None:
        """Ends the operation as failed.

        :raises AlreadyFinishedError: it has ended before.
        """
        if not isinstance(exception, BaseException):
            raise TypeError(f"not an exception: {exception!r}")
        self._use()
        self._operation._exception = exception
        try:
            lib.inturn_token_fail(self._handle, 1)
        except Error:
            self._operation._exception = None
            raise

    def cancel(self) -> None:
        """Ends the operation as cancelled: its work gives in.

        :raises AlreadyFinishedError: it has ended before.
        """
        self._use()
        lib.inturn_token_cancel(self._handle)

    def on_cancel(self, handler: Work) -> None:
        """Sets what is called, with this token, when the operation is asked to end.

        :raises AlreadyFinishedError: it has ended before.
        """
        reference = weakref.ref(self)  # a handler alone does not keep a token

        def call(_handle: c.inturn_token) -> None:
            if (token := reference()) is not None:
                with suppress(AlreadyFinishedError):  # the end was faster than the request
                    handler(token)

        lib.inturn_token_on_cancel(self._handle, call_with_token, register(call), forget)

    def _use(self) -> None:
        with self._lock:
            if self._used:
                raise AlreadyFinishedError(f"{self._operation!r} has ended already")
            self._used = True

    def __repr__(self) -> str:
        return f"<inturn.Token of {self._operation!r}>"

    def __del__(self) -> None:
        if self._used or sys.is_finalizing():
            return
        try:
            self._use()
            lib.inturn_token_abandon(self._handle)
        except Error:
            return  # it has been ended
        message = f"the token of {self._operation!r} was lost"
        warnings.warn_explicit(message, ResourceWarning, *self._operation._place)
