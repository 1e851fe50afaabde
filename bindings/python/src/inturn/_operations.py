"""Operations, their tokens and their ends."""

from __future__ import annotations

import sys
import warnings
import weakref
from ctypes import byref, c_bool, c_int, c_int64
from enum import IntEnum
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _prototypes as c
from ._callbacks import (
    call_with_token,
    drop,
    forget_listener,
    refuse_coroutine,
    register,
    register_listener,
    start,
    wait,
)
from ._errors import AlreadyFinishedError, CancelledError, Error, WrongKindError
from ._handles import NotCopied
from ._library import on_main_thread, quick, refusal, waiting
from ._segments import Handler, LatestToken, Segment

if TYPE_CHECKING:
    from types import CodeType, TracebackType

    from typing_extensions import Self

    from ._options import Extras
    from ._queues import Queue
    from ._states import OperationStates


class Outcome(IntEnum):
    """How an operation ended."""

    FINISHED = 1
    FAILED = 2
    CANCELLED = 3
    TIMED_OUT = 4
    ABANDONED = 5


class Cause(IntEnum):
    """Why an operation ended otherwise than by its token alone."""

    NONE = 0
    REQUEST = 1
    GRACE = 2
    DESTROYED = 3
    MAX_WAIT = 4
    MAX_RUN = 5
    DEPENDENCY = 6
    SKIPPED = 7
    CONDITION = 8
    RESOLVED = 9
    JOINED = 10
    OWNER = 11


class State(IntEnum):
    """Where an operation is."""

    PENDING = 1
    RUNNING = 2
    ENDED = 3


class Progress(NamedTuple):
    """How far something has come: so many of so many units; a total of 0 is not known."""

    completed: int
    total: int


_ALREADY_FINISHED = AlreadyFinishedError.status
_MAX_UNITS = 2**63


class End(NamedTuple):
    """How an operation ended, why it was cancelled, and what its token was given.

    `attempts` is how often it was started; of one that has joined another, how often that was.
    """

    outcome: Outcome
    cause: Cause
    result: Any
    exception: BaseException | None
    label: str | None
    started: bool
    attempts: int = 0


Work = Callable[["Token"], object]
"""Starts an operation, or does something about one; what it returns is not looked at."""

OnEnd = Callable[[End], object]
"""What is told of an operation's end; what it returns is not looked at."""


class Operation(NotCopied):
    """One unit of asynchronous work, made by a queue's `enqueue`.

    It goes on when this object is dropped; if it then fails and nobody was told, by `wait` or
    by an end callback, its exception is reported as unraisable.
    """

    __slots__ = (
        "__weakref__",
        "_code",
        "_exception",
        "_extras",
        "_handle",
        "_handlers",
        "_line",
        "_on_end",
        "_queue",
        "_result",
        "_states",
        "_told",
        "_work",
        "label",
    )

    def __init__(
        self, queue: Queue, work: Work, label: str | None, code: CodeType, line: int
    ) -> None:
        self.label = label
        # Where it was enqueued.
        self._code = code
        self._line = line
        self._queue = queue  # alive for as long as it has operations
        self._work: Work | None = work
        self._on_end: OnEnd | None = None
        self._states: weakref.ref[OperationStates] | None = None  # which keep this one
        self._extras: Extras | None = None
        self._handlers: list[Handler] | None = None  # for the next attempt's token
        self._handle: int | None = None  # as soon as it is known
        # What its token was given, set before the library is told.
        self._result: Any = None
        self._exception: BaseException | None = None
        self._told = False

    @property
    def state(self) -> State:
        """Pending, running or ended."""
        state = c_int()
        status = quick.operation_get_state(self._handle, byref(state))
        if status:
            raise refusal("inturn_operation_get_state", status)
        return State(state.value)

    @property
    def progress(self) -> Progress:
        """How far it has come, as its work has said by `Token.progress`; zeros before that."""
        completed, total = c_int64(), c_int64()
        status = quick.operation_get_progress(self._handle, byref(completed), byref(total))
        if status:
            raise refusal("inturn_operation_get_progress", status)
        return Progress(completed.value, total.value)

    @property
    def states(self) -> OperationStates:
        """Its states, to be observed: ``state`` and ``progress``."""
        from ._states import OperationStates

        states = None if self._states is None else self._states()
        if states is None:
            states = OperationStates(self)
            self._states = weakref.ref(states)
        return states

    def cancel(self) -> bool:
        """Cancels a pending operation, asks a running one to end; whether this call did it."""
        status = quick.operation_cancel(self._handle)
        if status in (_ALREADY_FINISHED, CancelledError.status):
            return False
        if status:
            raise refusal("inturn_operation_cancel", status)
        return True

    def wait(self, timeout: float | None = None) -> End:
        """Waits until the operation has ended; its end callback may be yet to come.

        :raises TimedOutError: it has not ended after so many seconds.
        :raises DeadlockError: it cannot end while the caller waits.
        :raises ValueError: the time is negative or not a number.
        """
        end = c.inturn_end()
        look = self._queue._look(lambda: self.state is State.PENDING)
        wait(lambda ns: self._wait(ns, end), timeout, look)
        return self._end(end)

    def _wait(self, ns: int, end: c.inturn_end) -> None:
        status = waiting.operation_wait(self._handle, ns, byref(end))
        if status:
            raise refusal("inturn_operation_wait", status)

    def _start(self, bits: int) -> None:
        """What the library calls as the work."""
        # Not kept here: work that refers to its token would keep that from being lost.
        work, self._work = self._work, None
        token = Token(bits, self)
        try:
            if self._extras is not None:
                self._extras.begin(self, token, work)
            if work is not None:
                result = work(token)
                if type(result) is CoroutineType:
                    refuse_coroutine(result, work)
        except BaseException as error:
            self._fail_by(token, error)
            # The traceback's frame is not to keep what keeps the exception.
            self = token = work = None  # type: ignore[assignment]

    def _fail_by(self, token: Token, error: BaseException) -> None:
        """Work has raised."""
        try:
            token.fail(error)
        except Error:
            if self._exception is not error:  # else it is known already
                raise error from None  # too late for a failure, yet it does not vanish
        if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
            raise error

    def _failed(self, error: BaseException) -> None:
        """Something came between, maybe before there was a token."""
        if self._exception is None:
            self._exception = error

    def _dropped(self) -> None:
        """The library will not call the work any more."""
        self._work = None
        if self._extras is not None:
            self._extras.drop()

    def _ask_condition(self) -> int:
        assert self._extras is not None
        return self._extras.ask()

    def _is_worth(self, attempts: int) -> bool:
        assert self._extras is not None
        return self._extras.is_worth(self, attempts)

    def _deliver(self, end: c.inturn_end) -> None:
        """What the library calls at the end."""
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(self._end(end))

    def _end(self, end: c.inturn_end) -> End:
        self._told = True
        outcome, cause, started = Outcome(end.outcome), Cause(end.cause), end.started_ns != 0
        result, error = self._result, self._exception
        if cause is Cause.JOINED and self._extras is not None:
            number = end.result if outcome is Outcome.FINISHED else end.code
            result, error = self._extras.told.get(number, (None, None))
        result = result if outcome is Outcome.FINISHED else None
        error = error if outcome is Outcome.FAILED else None
        return End(outcome, cause, result, error, self.label, started, end.attempts)

    def __repr__(self) -> str:
        place = f"{self._code.co_filename}:{self._line}"
        return f"<inturn.Operation {self.label or ''!r} enqueued at {place}>"

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        if self._handle:
            quick.operation_release(self._handle)
        if self._exception is not None and not self._told:
            raise RuntimeError(f"nobody was told that {self!r} failed") from self._exception


class Token(NotCopied):
    """Ends the operation whose work it was given to: once, from any thread.

    When its last reference goes before that, the operation ends as abandoned, with a
    ``ResourceWarning`` that names the line which enqueued it.

    ``with token:`` finishes it when the block ends, and fails it with the exception that the
    block raises; an ``Exception`` is then the operation's and goes no further.
    """

    __slots__ = ("__weakref__", "_bits", "_handlers", "_operation", "_unused", "_work")

    def __init__(self, bits: int, operation: Operation) -> None:
        self._bits = bits
        self._operation = operation
        # Who pops it may end the operation: one thread, with or without a global lock.
        self._unused = [True]
        self._work: Work | None = None  # for another attempt
        self._handlers: list[Handler] | None = None  # what is called while this one is there

    @property
    def cancelled(self) -> bool:
        """Whether the operation was asked to end, or was cut off."""
        cancelled = c_bool()
        status = quick.token_is_cancelled(self._bits, byref(cancelled))
        if status == _ALREADY_FINISHED:
            return bool(self._unused)  # not by this token, so it was cut off
        if status:
            raise refusal("inturn_token_is_cancelled", status)
        return cancelled.value

    def finish(self, result: object = None) -> None:
        """Ends the operation as finished.

        :raises AlreadyFinishedError: it has ended before.
        """
        self._use()
        operation = self._operation
        if result is not None:
            operation._result = result
        extras = operation._extras
        if extras is None or extras.key is None:
            status = quick.token_finish(self._bits)
        else:  # others may have joined it
            extras.give(result, None)
            status = quick.token_finish_with(self._bits, extras.number, None)
        if status:
            raise refusal("inturn_token_finish", status)

    def fail(self, exception: BaseException) -> None:
        """Ends the operation as failed, or the attempt, when a `Retry` allows another one.

        The next attempt has a token of its own.

        :raises AlreadyFinishedError: it has ended before.
        :raises TypeError: it is not an exception.
        """
        if not isinstance(exception, BaseException):
            raise TypeError(f"not an exception: {exception!r}")
        self._use()
        operation = self._operation
        operation._exception = exception
        code = 1
        if operation._extras is not None:
            operation._extras.give(None, exception)
            code = operation._extras.number
            self._give_work_back()
        status = quick.token_fail(self._bits, code)
        if status:
            operation._exception = operation._work = None
            raise refusal("inturn_token_fail", status)

    def cancel(self) -> None:
        """Ends the operation as cancelled: its work gives in.

        :raises AlreadyFinishedError: it has ended before.
        """
        self._use()
        status = quick.token_cancel(self._bits)
        if status:
            raise refusal("inturn_token_cancel", status)

    def on_cancel(self, handler: Work) -> None:
        """Sets what is called, with this token, when the operation is asked to end.

        The queue's executor calls it, at most once, and soon when it was asked already.  It stays
        for further attempts, and is then called with their token.

        :raises AlreadyFinishedError: it has ended before.
        :raises TypeError: the handler is not callable.
        """
        if not callable(handler):
            raise TypeError(f"not callable: {handler!r}")
        current: Callable[[], Token | None] = weakref.ref(self)  # it does not keep a token
        if self._operation._extras is not None and self._operation._extras.restarts:
            current = LatestToken(self._operation)
        key = self._keep(Handler(current, handler))
        status = quick.token_on_cancel(self._bits, call_with_token, key, forget_listener)
        if status:
            raise refusal("inturn_token_on_cancel", status)

    def progress(self, completed: int, total: int = 0) -> None:
        """Says how far the work has come: so many of so many units; a total of 0 is not known.

        :raises ValueError: a number is negative, or more is completed than there is.
        :raises AlreadyFinishedError: the operation has ended.
        """
        if not (0 <= completed < _MAX_UNITS and 0 <= total < _MAX_UNITS):
            raise ValueError(f"not a progress: {completed!r} of {total!r}")
        status = quick.token_set_progress(self._bits, completed, total)
        if status:
            raise refusal("inturn_token_set_progress", status)

    def on_preempt(self, handler: Work) -> None:
        """Sets what is called, with this token, when an urgent interaction wants the place.

        The queue's executor calls it, at most once for each attempt, and soon when that is so
        already.  The handler may take down what is shown and `yield_`; or end; or go on.

        :raises WrongKindError: the queue is not an interaction queue.
        :raises AlreadyFinishedError: the operation has ended.
        :raises TypeError: the handler is not callable.
        """
        if not callable(handler):
            raise TypeError(f"not callable: {handler!r}")
        key = self._keep(Handler(weakref.ref(self), handler))
        status = quick.token_on_preempt(self._bits, call_with_token, key, forget_listener)
        if status:
            raise refusal("inturn_token_on_preempt", status)

    def yield_(self) -> None:
        """Ends this attempt of an interaction, which is presented again after the urgent ones.

        This token is used up then; the work is called again with a new one.  An interaction that
        was asked to end ends cancelled instead.

        :raises WrongKindError: the queue is not an interaction queue; the token is still good.
        :raises AlreadyFinishedError: the operation has ended.
        """
        if not self._operation._queue._may_yield:
            raise WrongKindError(f"{self._operation._queue!r} is not an interaction queue")
        self._use()
        self._give_work_back()
        status = quick.token_yield(self._bits)
        if status:
            self._operation._work = None
            raise refusal("inturn_token_yield", status)

    def _keep(self, handler: Handler) -> int:
        """A context for a handler that is there as long as this token, or the next attempt's."""
        self._handlers = [*(self._handlers or ()), handler]
        return register_listener(handler)

    def _give_work_back(self) -> None:
        """The operation may be started again; before the library is told."""
        self._operation._work, self._work = self._work, None
        self._operation._handlers, self._handlers = self._handlers, None

    def resume(self, work: Work) -> None:
        """Runs a further segment of an operation of an actor queue, overlapping no other one.

        :raises WrongKindError: the queue is not an actor queue.
        :raises AlreadyFinishedError: the operation has ended.
        :raises TypeError: the work is not callable.
        """
        if not callable(work):
            raise TypeError(f"not callable: {work!r}")
        key = register(Segment(self, work))
        status = quick.token_resume(self._bits, start, key, drop)
        if status:
            raise refusal("inturn_token_resume", status)

    def hand_over(self) -> int:
        """Gives the token to code in another language: its number, the bits of ``inturn_token``.

        That code ends the operation.  This object cannot any more, and when it goes, the
        operation is not abandoned.

        :raises AlreadyFinishedError: it has ended before.
        """
        self._use()
        return self._bits

    def _use(self) -> None:
        try:
            self._unused.pop()
        except IndexError:
            raise AlreadyFinishedError(f"{self._operation!r} has ended already") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not self._unused:  # the block has ended it
            return False
        if error is None:
            self.finish()
            return False
        self.fail(error)
        return isinstance(error, Exception)

    def __repr__(self) -> str:
        return f"<inturn.Token of {self._operation!r}>"

    def __del__(self) -> None:
        if not getattr(self, "_unused", None) or sys.is_finalizing():  # or it was never made
            return
        if quick.token_abandon(self._bits):
            return  # it has been ended
        operation = self._operation
        message = f"the token of {operation!r} was lost"
        place = (operation._code.co_filename, operation._line)
        warnings.warn_explicit(message, ResourceWarning, *place)
