"""Coroutines with options: they may be run more than once, or not at all, or be cut off."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ._asyncio_runs import called
from ._asyncio_turns import Turn
from ._callbacks import start_again
from ._ends import Outcome, error_of
from ._errors import AlreadyFinishedError, StaleError

if TYPE_CHECKING:
    from types import FrameType

    from ._asyncio_home import Home
    from ._ends import End
    from ._enqueuing import Enqueuing
    from ._operations import Operation
    from ._tokens import Token


class AttemptsTurn(Turn):
    """The turn of an operation, which comes with each attempt, until the operation's end."""

    _made: Operation | None = None
    _attempt: Token | None = None
    _ending: End | None = None
    _begun = 0  # the token of the attempt that the coroutine is run for
    _has_cancelled = False  # the task, since that attempt was cancelled
    _cancels = 0  # how often the task had been cancelled before

    def __init__(self, face: Enqueuing, home: Home) -> None:
        super().__init__(face._queue, home)
        self._face = face
        self._on_end = face._given.get("on_end")

    def _enqueue(self, caller: FrameType) -> None:
        self._home.take_over(self._queue)
        self._made = self._face._enqueue(self._come, self._told, caller, start_again)
        del self._face  # it keeps the owner, whose loss is to cancel this

    @property
    def _bits(self) -> int:
        return self._token or (self._made and self._made._handle) or 0

    # Called by the library, on any thread ----------------------------------------------------

    def _come(self, token: Token) -> None:
        try:
            token.on_cancel(lambda _: self._heed())
        except AlreadyFinishedError:  # it was cut off: the next attempt comes, or the end is told
            with suppress(AlreadyFinishedError):
                token.cancel()  # which gives its place back
            return
        self._attempt, self._has_heeded = token, False
        self._start(token._bits)

    def _told(self, end: End) -> None:
        on_end, self._on_end = self._on_end, None
        try:
            if on_end is not None:
                on_end(end)
        finally:
            self._ending = end
            self._tell()
            if end.outcome is Outcome.TIMED_OUT:
                self._heed()

    # On the loop's thread --------------------------------------------------------------------

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _begin(self, attempt: Token) -> None:
        """The coroutine is run for the attempt from now on."""
        self._begun, self._has_cancelled = attempt._bits, False
        self._cancels = getattr(self._task, "cancelling", int)()

    def _cancel_task(self, token: int) -> None:
        if self._task is not None and self._begun == token and not self._has_cancelled:
            self._has_cancelled = True
            self._task.cancel()

    def _takes_cancel_back(self) -> bool:
        """Whether the task was cancelled since the attempt was, and for no other reason."""
        if not self._has_cancelled:
            return False
        self._has_cancelled = False
        uncancel = getattr(self._task, "uncancel", int)
        return uncancel() <= self._cancels

    def _leave(self, attempt: Token) -> None:
        """The attempt is over, and the next one may have come."""
        self._begun = 0
        if self._token == attempt._bits:
            self._token = 0
            self._queue._holders.pop(self, None)

    def _let_go_of(self, token: int) -> None:
        super()._let_go_of(token)
        attempt, self._attempt = self._attempt, None
        # There is none, where an interrupt has kept `_enqueue` from its end.
        if self._made is not None and (attempt is not None or not token):
            with suppress(StaleError):  # it has ended, and was collected with this
                self._made.cancel()
        if attempt is not None:  # which nobody has begun: it is not lost
            with suppress(AlreadyFinishedError):
                attempt.cancel()

    def _result(self) -> Any:
        end = self._ending
        assert end is not None
        error = error_of(end)
        try:
            if error is None:
                return end.result
            if end.outcome is Outcome.CANCELLED:
                raise asyncio.CancelledError(*error.args)
            raise error
        finally:
            del self, end, error  # see `in_turns`


async def in_turns(turn: AttemptsTurn, function: Any, arguments: Any, keywords: Any) -> Any:
    """What a task runs: the attempts of an operation, each in its turn."""
    try:
        while turn._ending is None:
            if not turn._token:
                await turn._wait()
                continue
            attempt, turn._attempt = turn._attempt, None
            assert attempt is not None
            turn._begin(attempt)
            is_finished, result = False, None
            with suppress(AlreadyFinishedError):  # it was cut off
                try:
                    if attempt.cancelled:  # before the coroutine could begin
                        turn._cancel_task(attempt._bits)
                        await asyncio.sleep(0)
                    result = await called(function, arguments, keywords)
                except asyncio.CancelledError:
                    if not turn._takes_cancel_back():
                        raise
                    attempt.cancel()  # the operation's end says why
                except GeneratorExit:
                    raise
                except BaseException as error:
                    with suppress(AlreadyFinishedError):
                        attempt.fail(error)
                    if not isinstance(error, Exception):
                        raise
                else:
                    attempt.finish(result)
                    is_finished = True
            if turn._has_cancelled:  # and the coroutine may have ended without seeing it
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    if not turn._takes_cancel_back():
                        raise
                turn._takes_cancel_back()
            turn._leave(attempt)
            turn._home.drain()
            if is_finished:  # whoever cancels from now on is too late, also before the end is told
                return result
        return turn._result()
    except BaseException as error:
        turn._end(error)
        raise
    finally:
        turn._lose()  # what is left
        # The exception leads here, and a task to its exception.
        turn = attempt = None  # type: ignore[assignment]
