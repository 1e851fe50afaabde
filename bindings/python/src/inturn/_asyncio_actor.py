"""Coroutines on actor queues: what is between two suspensions is a segment of the operation.

While the library calls a segment, on a thread of the pool, the loop runs it: that thread waits for
it, so that no other segment of the queue, be it a function or of another loop, comes meanwhile.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from ctypes import byref
from queue import SimpleQueue
from threading import get_ident
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from . import _prototypes as c
from ._asyncio_home import Home
from ._asyncio_runs import begun, called, task_of, yielded
from ._asyncio_turns import is_cancelled
from ._callbacks import (
    call_with_token,
    drop,
    forget_listener,
    listeners,
    register,
    start_anywhere,
    waits_for_loop,
)
from ._ends import Cause, End, Outcome, error_of, has_started
from ._errors import Error, TimedOutError, UnsupportedError
from ._library import quick, waiting
from ._options import with_end

if TYPE_CHECKING:
    from ._enqueuing import Enqueuing


class _Segment:
    """What the library calls; or only drops, when the operation was cancelled, or cut off, before.

    Each has its own: one that is over is dropped while the next one is on its way.
    """

    __slots__ = ("_actor", "_has_come")

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._has_come = False

    def _start(self, token: int) -> None:
        self._has_come = True
        self._actor._enter(token)

    def _dropped(self) -> None:
        if not self._has_come:
            self._actor._miss()


class Actor:
    """A coroutine's operation, and the segment that it is in or waits for."""

    _awaited = _task = None  # it has no place while it waits
    _bits = 0  # the operation's handle; also of one whose making was interrupted
    _coroutine: Any = None  # once it has begun

    def __init__(self, face: Enqueuing, home: Home) -> None:
        self._queue = face._queue  # alive for as long as it has operations
        # Not the options themselves: they keep the owner, whose loss is to cancel this.
        self._has_options, self._label = bool(face._given), face._given.get("label")
        self._structure = face._structure
        self._frees_place = bool(face._given.get("free_at_max_run"))
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._token = 0
        # Each has an item when its segment is over: that which the library calls, and the same
        # once the loop knows of it. An interrupt could leave an event's lock taken.
        self._entered: SimpleQueue[None] | None = None
        self._gate: SimpleQueue[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._runner: asyncio.Task[Any] | None = None
        self._is_in_place = False  # while the library calls a segment, or will for all we know
        self._has_heeded = False  # its operation was cancelled, and so it was asked to end
        self._has_missed = False  # a segment never came
        self._refused: UnsupportedError | None = None  # a segment came where it cannot run
        self._is_unwanted = False
        self._is_cut_off = False  # what is left has an operation of its own
        self._is_over = False

    # Called by the library, on any thread ----------------------------------------------------

    def _enter(self, token: int) -> None:
        # By its key or its owner it may be cancelled alone.
        if self._has_options and not self._token:
            key = register(self, listeners)
            quick.token_on_cancel(token, call_with_token, key, forget_listener)
        self._token = token
        if self._is_unwanted:
            quick.token_cancel(token)
            return
        if self._home.is_here():  # where the loop would wait for itself
            self._refused = UnsupportedError(
                f"a coroutine of {self._queue!r} needs an executor that its own loop does not run"
            )
            quick.token_fail(token, 1)
            self._home.call(self._wake)
            return
        self._is_in_place = True
        self._queue._holders[self] = None
        gate = self._entered = SimpleQueue()
        if self._queue._is_cut:
            self._heed()
        try:
            self._loop.call_soon_threadsafe(self._admit, gate)
        except RuntimeError:  # the loop is closed
            quick.token_cancel(token)
        else:
            if self._is_over or self._home.is_gone() or self._queue._is_ending:
                gate.put(None)
            waits_for_loop.add(get_ident())
            gate.get()
            waits_for_loop.discard(get_ident())
        if self._is_over:  # since a moment ago
            self._queue._holders.pop(self, None)

    def _miss(self) -> None:
        self._has_missed = True
        self._home.call(self._wake)

    def _tell(self, _token: int) -> None:
        """It was asked to end."""
        self._heed()

    def _end(self) -> None:
        """It will not be asked any more."""

    def _ended(self, end: c.inturn_end) -> None:
        if end.outcome == Outcome.TIMED_OUT:
            self._heed()

    # What the queue asks of it ---------------------------------------------------------------

    def _let_go(self) -> None:
        if self._home.is_here():  # which opens no gate while it destroys the queue
            self._open()

    def _heed(self) -> None:
        task = self._runner
        if task is not None and not self._has_heeded and is_cancelled(self._token):
            self._has_heeded = True
            self._home.call(task.cancel)

    # On the loop's thread --------------------------------------------------------------------

    def _adopt(self, task: asyncio.Task[Any]) -> None:
        if not self._is_over:
            self._runner = task
            self._home.turns[task] = self
            self._heed()

    def _lose(self) -> None:
        """The loop has gone."""
        self._is_over = self._is_unwanted = True
        if self._token:
            quick.token_cancel(self._token)
        else:
            quick.operation_cancel(self._bits)

    def _close(self) -> None:
        self._lose()
        self._open()
        self._queue._holders.pop(self, None)  # through which it would keep its task

    def _admit(self, gate: SimpleQueue[None]) -> None:
        if self._is_over:  # its task was destroyed while it waited
            gate.put(None)
        self._gate = gate
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _segment(self) -> asyncio.CancelledError | UnsupportedError | None:
        """Waits for the segment; returns that the task was cancelled meanwhile, or why it cannot
        run."""
        cancelled = None
        while self._gate is None:
            if self._refused is not None:
                return self._refused
            if self._has_missed:
                if not self._token:
                    self._raise_end()
                elif self._goes_on_apart():
                    continue
                return cancelled
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            except asyncio.CancelledError as error:
                cancelled = error
                if not self._token:  # it never runs
                    raise
        return cancelled

    def _goes_on_apart(self) -> bool:
        """The operation was cut off, and what is left gets its segments as one of its own, so that
        they do not overlap others. False where its queue takes none: then it runs all the same."""
        if self._frees_place:
            return False
        last, segment = self._token, _Segment(self)
        self._has_missed = False
        try:
            site = self._queue._site_of(self._coroutine.cr_frame)  # where it stands
            operation = self._queue._add(start_anywhere, segment, None, site)
        except Error:
            return False
        self._is_cut_off = True
        quick.operation_release(operation)
        quick.token_cancel(last)
        return True

    def _leave(self) -> None:
        self._gate = None
        self._is_in_place = False
        self._open()

    def _open(self) -> None:
        """Lets the library's call of a segment return, if there is one."""
        gate, self._entered = self._entered, None  # one that comes meanwhile sees why by itself
        if gate is not None:
            gate.put(None)

    def _raise_end(self, kind: type[BaseException] = BaseException) -> None:
        """Of the operation, where not the coroutine has decided it; nothing if it was resolved.

        :raises TimedOutError: a deadline has ended it.
        :raises asyncio.CancelledError: it was cancelled, or cut off.
        """
        error: BaseException | None = asyncio.CancelledError()
        end = c.inturn_end()
        if waiting.operation_wait(self._bits, 0, byref(end)) == 0:
            told = Outcome(end.outcome), Cause(end.cause), None, None, self._label
            error = error_of(End(*told, has_started(end)))
            if error is not None and end.outcome == Outcome.CANCELLED:
                error = asyncio.CancelledError(*error.args)
        try:
            if isinstance(error, kind):
                raise error
        finally:
            del self, error  # the exception leads here

    def _finish(self, status: int) -> None:
        """The coroutine has ended, which the library has taken or not."""
        # Without options, its own end counts also when its queue has cut it off.
        if (status or self._is_cut_off) and self._has_options:
            self._raise_end()

    async def run(self, function: Callable[..., Coroutine[Any, Any, Any]], call: Any) -> Any:
        """The task."""
        try:
            structure = with_end(self._structure, self._ended) if self._has_options else None
            self._bits = self._home.add(self._queue, _Segment(self), sys._getframe(1), structure)
            await yielded()
            cancelled = await self._segment()
            if cancelled is not None:
                raise cancelled
            if not self._token:
                return None  # it was resolved
            made = called(function, *call)
            coroutine = self._coroutine = made if isinstance(made, CoroutineType) else _wait(made)
            step: Callable[[Any], Any] = coroutine.send
            given: Any = None
            while True:
                try:
                    waited = step(given)
                except StopIteration as stop:
                    result = stop.value
                    break
                except Exception:
                    self._finish(quick.token_fail(self._token, 1))
                    raise
                self._leave()
                try:
                    given = await yielded(waited)
                    step = coroutine.send
                except BaseException as error:
                    given, step = error, coroutine.throw
                    if isinstance(error, GeneratorExit):  # the task is destroyed
                        coroutine.close()
                        raise
                segment = register(_Segment(self))
                if (
                    quick.token_resume(self._token, start_anywhere, segment, drop)
                    and not self._goes_on_apart()
                ):
                    continue
                cancelled = await self._segment()
                if cancelled is not None:
                    given, step = cancelled, coroutine.throw
            self._finish(quick.token_finish(self._token))
            return result
        except (asyncio.CancelledError, GeneratorExit) as error:
            self._lose()
            if not isinstance(error, GeneratorExit):
                self._raise_end(TimedOutError)
            raise
        except BaseException:
            self._is_unwanted = True  # without a token yet, it is cancelled when it comes
            quick.token_fail(self._token, 1)
            raise
        finally:
            self._is_over = True
            self._leave()  # first: if that is interrupted, the loop's end finds it among its turns
            self._queue._holders.pop(self, None)
            self._home.turns.pop(self._runner, None)
            self._runner = None
            # The exception leads here, and must not lead back to itself.
            cancelled = given = None

    def __del__(self) -> None:
        if self._bits:
            quick.operation_release(self._bits)


async def _wait(made: Awaitable[Any]) -> Any:
    """What is no coroutine need not have a coroutine's methods."""
    return await made


# What would have it begin again, or not begin.
_NOT_FOR_ACTORS = {"condition", "join", "on_end", "retry"}


def act(
    face: Enqueuing, home: Home, function: Callable[..., Any], arguments: Any, keywords: Any
) -> asyncio.Task[Any]:
    """`Queue.run` of an actor queue."""
    if refused := sorted(_NOT_FOR_ACTORS & face._given.keys()):
        raise UnsupportedError(f"coroutines of {face._queue!r} have no {', '.join(refused)}")
    actor = Actor(face, home)
    try:
        coroutine = begun(actor.run(function, (arguments, keywords)))
        task = task_of(actor, actor._loop, coroutine)
        actor._adopt(task)
    except BaseException:  # the loop's end would not find it
        actor._close()
        raise
    return task
