"""Turns: what a task of asyncio waits for, has, and gives back."""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from contextlib import suppress
from ctypes import byref, c_bool
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ._awaits import here, tokens_around
from ._errors import DeadlockError
from ._handles import NotCopied
from ._library import quick

if TYPE_CHECKING:
    from types import FrameType

    from ._asyncio_home import Home
    from ._queues import Queue


# How often a coroutine is closed that awaits something instead of coming to its end.
_TIMES = 8
# By thread, the task whose coroutine it closes: it runs then, though it is no loop's current one.
closing: dict[int, asyncio.Task[Any]] = {}
# By the task that has entered, the turns of ``async with``, of all loops: who leaves finds its own,
# wherever the queue is by then.
inside: dict[asyncio.Task[Any] | None, list[Turn]] = {}


def tokens_in(home: Home, task: asyncio.Task[Any]) -> list[int]:
    """The tokens of what ends only when the calling task goes on, the innermost first: the turns
    that it is in, and the work that its loop is run in."""
    turns = [*reversed(inside.get(task, ())), home.turns.get(task)]
    tokens = [turn._token for turn in turns if turn is not None and turn._token]
    return tokens + tokens_around()


def is_cancelled(token: int) -> bool:
    """Whether the library has been told to cancel an operation, or has cut it off."""
    cancelled = c_bool()
    return token != 0 and (quick.token_is_cancelled(token, byref(cancelled)) or cancelled.value)


def _is_closed(coroutine: Any, task: asyncio.Task[Any]) -> bool:
    """Closes a coroutine; false when it raised, or awaited something, which its loop is told."""
    try:
        coroutine.close()
    except BaseException as error:
        told = {"message": "a coroutine raised when it was closed", "exception": error}
        task.get_loop().call_exception_handler({**told, "task": task})
        return False
    return True


class Turn(NotCopied):
    """A turn of a queue that a task waits for, has or had."""

    # Few turns have all of these of their own.
    _is_block = False  # ``async with``; not a coroutine of the queue's own
    _operation = 0  # the handle, until the end
    _token = 0  # while it has its turn; else zero
    _task: asyncio.Task[Any] | None = None  # that waits for it and has it, until the end
    _future: object = None  # under which its home has it
    _waiter: asyncio.Future[None] | None = None  # its task waits for this one
    _is_refused = False  # it will never come
    _is_over = False
    _has_heeded = False  # its operation was cancelled, and so its task was

    def __init__(self, queue: Queue, home: Home) -> None:
        self._queue = queue  # alive for as long as it has operations
        self._home = home

    def _enqueue(self, caller: FrameType) -> None:
        self._operation = self._home.add(self._queue, self, caller)

    # Called by the library, on any thread ----------------------------------------------------

    def _start(self, token: int) -> None:
        self._token = token
        queue, home = self._queue, self._home
        # Added first, and then looked; who cancels the queue says so first, and then looks who is
        # there: one of them sees the other.
        queue._holders[self] = None
        if queue._is_cut:
            self._heed()
        if home.is_draining and home.thread is here.mark:  # then there is a loop
            self._wake()
        else:
            self._tell()
            if home.is_gone():
                self._lose()
        if self._is_over and self._token:  # nobody waits for it any more
            self._lose()

    def _failed(self, _error: BaseException) -> None:
        self._token = 0
        self._dropped()

    def _dropped(self) -> None:
        if not (self._token or self._is_over):
            self._is_refused = True
            self._tell()

    def _tell(self) -> None:
        """It has come, or never will: says so to its loop, if there is one."""
        home = self._home
        if not home.is_here():
            home.call(self._wake)
        elif not home.is_gone():
            self._wake()

    # On the loop's thread --------------------------------------------------------------------

    def _wake(self) -> None:
        """It has come, or never will."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            if self._token:
                waiter.set_result(None)
            else:
                waiter.cancel()

    def _wait(self) -> asyncio.Future[None]:
        """What to await before the turn is there; it is cancelled when that will never be."""
        waiter = self._waiter = get_running_loop().create_future()
        if self._is_refused or self._is_over:
            waiter.cancel()
        elif self._token:  # since a moment ago, from another thread
            waiter.set_result(None)
        return waiter

    def _keep(self, future: object) -> None:
        """It is its home's, until it is over."""
        if not self._is_over:
            self._future = future
            self._home.turns[future] = self

    def _adopt(self, task: asyncio.Task[Any]) -> None:
        """The task that is run in the turn, where a factory has made it."""
        if not self._is_over:  # in its first step, by an eager factory
            self._task = task
            self._keep(task)
            if not self._token:
                # Nothing tells when a task is awaited that a factory has made.
                self._home.look_later()
            if self._queue._is_cut:
                self._heed()

    @property
    def _bits(self) -> int:
        """Names the operation for the library."""
        return self._token or self._operation

    def _refuse(self, error: DeadlockError) -> None:
        """Who waits for its task does so for ever."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)

    def _end(self, error: BaseException | None) -> bool:
        """The operation is over, unless it has been before: then false."""
        if self._is_over:
            return False
        self._is_over = True  # first, since the token may come meanwhile: see `_start`
        token, home = self._token, self._home
        if token:  # one that comes from now on stays, for `_start` to see
            self._token = 0
        try:
            self._let_go_of(token)
            is_here = home.thread is here.mark and not home.closed
            if error is None:
                if is_here:
                    home.advance(token, self._is_block)  # a coroutine ends where it began
                else:
                    quick.token_finish(token)
                return True
            if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
                quick.token_cancel(token)
            else:
                quick.token_fail(token, 1)
        except BaseException:  # what interrupts that
            try:
                quick.token_cancel(token)
            except BaseException:
                if token:  # there is no room for that call: it may be ended again, further up
                    self._token, self._is_over, self._queue._holders[self] = token, False, None
                raise
            self._let_go_of(token)
            raise
        if is_here:
            with suppress(RecursionError):  # the loop does it later
                home.drain()
        return True

    def _lose(self) -> None:
        """There is nobody who would run in it."""
        self._is_over = True
        token = self._token
        if token:
            self._token = 0
        self._let_go_of(token)
        quick.token_cancel(token)

    def _close(self) -> None:
        """The loop is closed: its task's coroutine comes to its end, and then the next has its
        turn."""
        task, thread = self._task, get_ident()
        if task is not None and not task.done():
            coroutine: Any = task.get_coro()
            outer = closing.get(thread)
            closing[thread] = task
            try:
                for _ in range(_TIMES):
                    if _is_closed(coroutine, task):
                        break
            finally:
                del closing[thread]
                if outer is not None:
                    closing[thread] = outer
        self._lose()  # it had not begun, or does not leave by itself

    def _let_go_of(self, token: int) -> None:
        """It is over. Where there is no token, the operation is cancelled."""
        self._queue._holders.pop(self, None)
        self._leave_home()
        operation, self._operation = self._operation, 0
        if operation:
            if not token:
                quick.operation_cancel(operation)
            quick.operation_release(operation)

    def _leave_home(self) -> None:
        self._home.turns.pop(self._future, None)
        if self._is_block and (entered := inside.get(self._task)) is not None:
            if self in entered:
                entered.remove(self)
            if not entered:
                del inside[self._task]
        # What a task raises leads to this, and this is not to lead to the task.
        self._future = self._task = None

    # What a queue asks of its holders --------------------------------------------------------

    @property
    def _is_in_place(self) -> bool:
        """Whether it takes a place of its queue, in which others could run."""
        return not self._queue._is_actor

    @property
    def _awaited(self) -> Turn | None:
        """The turn that its task waits for, or whose task it waits for, as far as is known."""
        future = getattr(self._task, "_fut_waiter", None)
        if future is None or future.done():  # then it goes on
            return None
        turn = self._home.turns.get(future)
        # Its own has come from another thread, and the news of it is on its way.
        return turn if isinstance(turn, Turn) and turn is not self else None

    def _let_go(self) -> None:
        """The queue is about to be destroyed, and waits for no holder."""

    def _heed(self) -> None:
        """Some of the queue's operations were cancelled: this one's may be."""
        token = self._token
        if self._task is None or self._is_block or self._has_heeded or not is_cancelled(token):
            return
        self._has_heeded = True
        if not self._home.is_here():
            self._home.call(self._cancel_task, token)
        elif not self._home.is_gone():
            self._cancel_task(token)

    def _cancel_task(self, token: int) -> None:
        """On the loop's thread: cancels its task, unless what was cancelled is over by now."""
        if self._task is not None and self._token == token:
            self._task.cancel()
