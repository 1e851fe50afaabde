"""Tokens: whoever holds one ends the operation."""

from __future__ import annotations

import sys
import warnings
import weakref
from contextlib import suppress
from ctypes import byref, c_bool
from typing import TYPE_CHECKING, Any, Callable

from ._arguments import checked, function, one_of, whole
from ._callbacks import (
    call_with_token,
    drop,
    failures,
    forget_listener,
    listeners,
    new_key,
    register,
    start,
)
from ._errors import AlreadyFinishedError, WrongKindError
from ._handles import NotCopied
from ._library import NOTHING, must, quick, refusal

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from ._ends import Work
    from ._operations import Operation


class Handler:
    """Calls a handler with a token while the token exists; the token keeps it alive."""

    __slots__ = ("__weakref__", "_current", "_handler")

    def __init__(self, current: Callable[[], Token | None], handler: Work) -> None:
        self._current = current
        self._handler = handler

    def _tell(self, _bits: int) -> None:
        if (token := self._current()) is not None:
            with suppress(AlreadyFinishedError):  # it ended before the request
                self._handler(token)

    def _end(self) -> None:
        """The handler will not be called any more."""


class Segment:
    """A further segment of an operation: it keeps the token while it waits."""

    __slots__ = ("_token", "_work")

    def __init__(self, token: Token, work: Work) -> None:
        self._token: Token | None = token
        self._work = work

    def _start(self, _bits: int) -> None:
        token, self._token = self._token, None
        assert token is not None
        try:
            self._work(token)
        except BaseException as error:
            token._operation._fail_by(token, error)
            token = None  # see `Operation._start`

    def _dropped(self) -> None:
        self._token = None


class Token(NotCopied):
    """Ends the operation whose work received it: once, from any thread.

    If its last reference goes away before that, the operation ends as abandoned, and a
    ``RuntimeWarning`` names the line that enqueued it.

    ``with token:`` finishes the operation when the block ends.  If the block raises an exception,
    the operation fails with it; an ``Exception`` is not raised further.
    """

    __slots__ = ("__weakref__", "_bits", "_given", "_handlers", "_operation", "_unused", "_work")

    def __init__(self, bits: int, operation: Operation) -> None:
        self._bits = bits
        self._operation = operation
        self._given = operation._given
        # Popping it gives one thread the right to end the operation, even without a global lock.
        self._unused = [True]
        self._work: Work | None = None  # for another attempt
        self._handlers: list[Handler] | None = None  # called while this token exists

    @property
    def cancelled(self) -> bool:
        """Whether the operation was asked to end or was cut off."""
        cancelled = c_bool()
        try:
            must(quick.token_is_cancelled, self._bits, byref(cancelled))
        except AlreadyFinishedError:
            return bool(self._unused)  # ended, but not by this token: it was cut off
        return cancelled.value

    def finish(self, result: object = None) -> None:
        """Ends the operation as finished.

        :raises AlreadyFinishedError: it has already ended.
        """
        self._use()
        if result is not None:
            self._given.result = result
        extras = self._operation._extras
        if extras is None or extras.key is None:
            status = quick.token_finish(self._bits)
        else:  # others may have joined it
            extras.tell_peers()
            status = quick.token_finish_with(self._bits, extras.number, NOTHING)
        if status:
            raise refusal("inturn_token_finish", status)

    def fail(self, exception: BaseException) -> None:
        """Ends the operation as failed; if a `Retry` allows another attempt, only this attempt.

        The next attempt has a token of its own.

        :raises AlreadyFinishedError: it has already ended.
        :raises TypeError: it is not an exception.
        """
        checked(self, "exception", exception, "an exception", one_of(BaseException))
        self._use()
        operation = self._operation
        self._given.exception = exception
        failures[new_key()] = operation
        code = 1
        if operation._extras is not None:
            operation._extras.tell_peers()
            code = operation._extras.number
        status = quick.token_fail(self._bits, code)
        if status:
            self._given.exception = None
            raise refusal("inturn_token_fail", status)

    def cancel(self) -> None:
        """Ends the operation as cancelled, for work that was asked to end.

        :raises AlreadyFinishedError: it has already ended.
        """
        self._use()
        must(quick.token_cancel, self._bits)

    def on_cancel(self, handler: Work) -> None:
        """Sets the function that is called, with this token, when the operation is asked to end.

        The queue's executor calls it at most once, and soon if the operation was asked already.  It
        stays set for further attempts, and is called with their token.

        :raises AlreadyFinishedError: the operation has already ended.
        :raises TypeError: the handler is not callable.
        """
        current: Callable[[], Token | None] = weakref.ref(self)  # it does not keep a token
        extras = self._operation._extras
        if extras is not None and extras.restarts:
            current = extras.latest
        self._listen(quick.token_on_cancel, current, handler)

    def progress(self, completed: int, total: int = 0) -> None:
        """Reports how far the work has come: so many of so many units.  A total of 0 means unknown.

        :raises ValueError: a number is negative, or more is completed than the total.
        :raises AlreadyFinishedError: the operation has already ended.
        """
        for name, units in (("completed", completed), ("total", total)):
            checked(self, name, units, "a number of units, 0 or more", whole(0, 2**63))
        must(quick.token_set_progress, self._bits, completed, total)

    def on_preempt(self, handler: Work) -> None:
        """Sets the function that is called, with this token, when an urgent interaction wants its
        place.

        The queue's executor calls it at most once for each attempt, and soon if one wants it
        already.  The handler may close what is shown and call `yield_`, end the operation, or do
        nothing.

        :raises WrongKindError: the queue is not an interaction queue.
        :raises AlreadyFinishedError: the operation has already ended.
        :raises TypeError: the handler is not callable.
        """
        self._listen(quick.token_on_preempt, weakref.ref(self), handler)

    def yield_(self) -> None:
        """Ends this attempt of an interaction, which is presented again after the urgent ones.

        This token is no longer valid then, and the work is called again with a new one.  If the
        interaction was asked to end, it ends as cancelled instead.

        :raises WrongKindError: the queue is not an interaction queue; the token is still valid.
        :raises AlreadyFinishedError: the operation has already ended.
        """
        if not self._operation._queue._may_yield:
            raise WrongKindError(f"{self._operation._queue!r} is not an interaction queue")
        self._use()
        must(quick.token_yield, self._bits)

    def _listen(self, call: Any, current: Callable[[], Token | None], handler: Work) -> None:
        """Sets a handler, which lives as long as this token, or the next attempt's."""
        checked(self, "handler", handler, "a function of a Token", function)
        listener = Handler(current, handler)
        self._handlers = [*(self._handlers or ()), listener]
        must(call, self._bits, call_with_token, register(listener, listeners), forget_listener)

    def _give_work_back(self) -> None:
        """Keeps the work for another attempt; called before the library learns of this end."""
        if self._work is None:
            return
        self._operation._work, self._work = self._work, None
        self._operation._handlers, self._handlers = self._handlers, None

    def resume(self, work: Work) -> None:
        """Runs a further segment of an operation of an actor queue.  Segments of one queue never
        overlap.

        :raises WrongKindError: the queue is not an actor queue.
        :raises AlreadyFinishedError: the operation has already ended.
        :raises TypeError: the work is not callable.
        """
        checked(self, "work", work, "a function of a Token", function)
        key = register(Segment(self, work))
        must(quick.token_resume, self._bits, start, key, drop)

    def hand_over(self) -> int:
        """Hands the token to code in another language: returns the bits of ``inturn_token``.

        That code ends the operation.  This object can no longer do so, and losing it does not
        abandon the operation.

        :raises AlreadyFinishedError: the operation has already ended.
        """
        self._use()
        extras = self._operation._extras
        if extras is not None:
            extras.is_handed_over = True
        return self._bits

    def _use(self) -> None:
        try:
            self._unused.pop()
        except IndexError:
            raise AlreadyFinishedError(f"{self._operation!r} has already ended") from None
        self._give_work_back()

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
        if not getattr(self, "_unused", None) or sys.is_finalizing():  # or it was never created
            return
        self._give_work_back()
        if quick.token_abandon(self._bits):
            return  # it has been ended
        operation = self._operation
        message = f"the token of {operation!r} was lost"
        place = (operation._code.co_filename, operation._line)
        warnings.warn_explicit(message, RuntimeWarning, *place)
