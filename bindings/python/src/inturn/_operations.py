"""Operations, made by `Queue.enqueue`."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from ctypes import byref, c_int, c_int64, sizeof
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from . import _prototypes as c
from ._awaits import awaiting
from ._callbacks import failures, refuse_coroutine, tell_end, tell_of, wait
from ._ends import Cause, End, Given, OnEnd, Outcome, Progress, State, Work, has_started
from ._errors import AlreadyFinishedError, CancelledError, Error
from ._handles import NotCopied
from ._library import must, on_main_thread, quick, waiting
from ._prototypes import inturn_end
from ._tokens import Token

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import CodeType

    from ._options import Extras
    from ._queues import Queue
    from ._states import OperationStates
    from ._tokens import Handler


class Operation(NotCopied):
    """One unit of asynchronous work, made by `Queue.enqueue`.

    The operation continues when this object is dropped.  If it then fails and nobody has received
    its end, by `wait`, an await or an end callback, ``threading.excepthook`` prints the exception
    with the queue, the label and the line that enqueued it.  In a coroutine, ``await operation``
    waits for the `End`, as `wait` does.  Cancelling the await does not affect the operation.
    """

    __slots__ = (
        "__weakref__",
        "_code",
        "_extras",
        "_given",
        "_handle",
        "_handlers",
        "_line",
        "_on_end",
        "_queue",
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
        self._states: weakref.ref[OperationStates] | None = None  # they keep this operation
        self._extras: Extras | None = None
        self._handlers: list[Handler] | None = None  # for the next attempt's token
        self._handle: int | None = None  # once it is known
        self._given = Given()  # of the latest attempt
        self._told = False

    @property
    def state(self) -> State:
        """Pending, running or ended."""
        state = c_int()
        must(quick.operation_get_state, self._handle, byref(state))
        return State(state.value)

    @property
    def progress(self) -> Progress:
        """How far it has come, as reported by its work with `Token.progress`; zeros before that."""
        completed, total = c_int64(), c_int64()
        must(quick.operation_get_progress, self._handle, byref(completed), byref(total))
        return Progress(completed.value, total.value)

    @property
    def states(self) -> OperationStates:
        """Its observable states: ``state`` and ``progress``."""
        from ._states import OperationStates

        states = None if self._states is None else self._states()
        if states is None:
            states = OperationStates(self)
            self._states = weakref.ref(states)
        return states

    def cancel(self) -> bool:
        """Cancels a pending operation, or asks a running one to end.  Returns whether this call did
        so.
        """
        try:
            must(quick.operation_cancel, self._handle)
        except (AlreadyFinishedError, CancelledError):
            return False
        return True

    def wait(self, timeout: float | None = None) -> End:
        """Waits until the operation has ended.  Its end callback may not have been called yet.

        :raises TimedOutError: the timeout, in seconds, has passed.
        :raises DeadlockError: it cannot end while the caller waits.
        :raises ValueError: the timeout is negative or not a number.
        """
        end = inturn_end()
        look = self._queue._look(lambda: self._handle)
        wait(self, lambda ns: self._wait(ns, end), timeout, look)
        return self._end(end)

    def __await__(self) -> Generator[Any, None, End]:
        return self._ended().__await__()

    async def _ended(self) -> End:
        with awaiting(self._handle):
            await self.states.state._reaches(lambda state: state is State.ENDED)
        return self.wait()

    def _wait(self, ns: int, end: c.inturn_end) -> None:
        must(waiting.operation_wait, self._handle, ns, byref(end))

    def _start(self, bits: int) -> None:
        """Called by the library as the work."""
        # Not kept here: work that refers to its token would hide the token's loss.
        work, self._work = self._work, None
        token = Token(bits, self)
        try:
            if self._extras is not None:
                work = self._extras.begin(self, token, work)
            if work is not None:
                result = work(token)
                if type(result) is CoroutineType:
                    refuse_coroutine(result, work)
        except BaseException as error:
            self._fail_by(token, error)
            # The traceback keeps this frame, which must not keep what keeps the exception.
            self = token = work = None  # type: ignore[assignment]

    def _fail_by(self, token: Token, error: BaseException) -> None:
        """The work has raised."""
        try:
            token.fail(error)
        except Error:
            if token._given.exception is not error:  # otherwise it is known already
                raise error from None  # too late to fail the operation, but it must not vanish
        if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
            raise error

    def _failed(self, error: BaseException) -> None:
        """The call was interrupted, perhaps before there was a token."""
        if self._given.exception is None:
            self._given.exception = error

    def _dropped(self) -> None:
        """The library will not call the work again."""
        self._work = self._handlers = None
        if self._extras is not None:
            self._extras.drop()

    def _deliver(self, end: c.inturn_end) -> None:
        """Called by the library at the end."""
        if self._on_end is not None:
            tell_end(self, self._end(end))

    def _end(self, end: c.inturn_end) -> End:
        self._told = True
        outcome, cause, started = Outcome(end.outcome), Cause(end.cause), has_started(end)
        given = self._given
        if cause is Cause.JOINED and self._extras is not None:
            number = end.result if outcome is Outcome.FINISHED else end.code
            given = self._extras.given_to(number)
        result = given.result if outcome is Outcome.FINISHED else None
        error = given.exception if outcome is Outcome.FAILED else None
        return End(outcome, cause, result, error, self.label, started, end.attempts)

    def __repr__(self) -> str:
        place = f"{self._code.co_filename}:{self._line}"
        return f"<inturn.Operation {self.label or ''!r} of {self._queue!r}, enqueued at {place}>"

    def __del__(self) -> None:
        if not hasattr(self, "_told") or sys.is_finalizing():  # or it was never created
            return
        if self._handle:
            quick.operation_release(self._handle)
        self._tell_failure()

    def _tell_failure(self) -> None:
        """Prints the failure, if nobody was told of it."""
        error = self._given.exception
        if error is not None and not self._told:
            self._told = True
            tell_of(error, f"inturn, of {self!r}")


def _tell_failures() -> None:
    for operation in list(failures.values()):
        operation._tell_failure()


atexit.register(_tell_failures)
os.register_at_fork(after_in_child=failures.clear)  # the parent reports its own


def room_for(count: int) -> Any:
    """An array for ``count`` operations of a list; the first element states the size."""
    infos = (c.inturn_operation_info * count)()
    if count:
        infos[0].size = sizeof(c.inturn_operation_info)
    return infos
