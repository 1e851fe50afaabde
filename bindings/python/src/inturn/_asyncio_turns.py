"""Turns: coroutines and blocks that wait for their turn of a queue, and have it."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Awaitable, Coroutine, Generator
from concurrent.futures._base import RUNNING
from contextlib import suppress
from contextvars import Context, copy_context
from ctypes import byref, c_bool
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from ._asyncio_rings import refuse
from ._futures import Future
from ._handles import NotCopied
from ._library import quick

if TYPE_CHECKING:
    from ._asyncio_home import Driver, Home
    from ._queues import Queue


# The drivers, by their tasks. A driver refers to its task, so that it must not be kept here.
drivers: weakref.WeakKeyDictionary[asyncio.Task[Any], weakref.ref[Driver]]
drivers = weakref.WeakKeyDictionary()
# Who is inside ``async with queue``, by task: the innermost last.
held: weakref.WeakKeyDictionary[asyncio.Task[Any], list[Hold]] = weakref.WeakKeyDictionary()


_finish = quick.token_finish
_release = quick.operation_release


def is_cancelled(token: int) -> bool:
    """Whether the library has been told to cancel an operation, or has cut it off."""
    cancelled = c_bool()
    return token != 0 and (quick.token_is_cancelled(token, byref(cancelled)) or cancelled.value)


def turns_of_caller() -> list[Turn]:
    """Those that the calling task has."""
    task = asyncio.current_task()
    if task is None:
        return []
    turns: list[Turn] = [*held.get(task, ())]
    reference = drivers.get(task)
    driver = None if reference is None else reference()
    if driver is not None and driver.turn is not None:
        turns.append(driver.turn)
    return [turn for turn in turns if turn._token]


class Turn(NotCopied):
    """A coroutine, or a block, that waits for its turn of a queue, has it, or had it."""

    _home: Home
    _queue: Queue
    _operation: int  # the handle, from when it is known to the end; else zero
    _token: int  # while it has its turn; else zero

    # Few turns have one of these of their own.
    _is_granted = False  # by a call of the library's
    _awaited: Turn | None = None  # what its coroutine waits for, where it is known

    _needs_driver = True

    def _take(self, token: int) -> bool:
        """Has the turn from now on; false if that is not so."""
        self._token = token
        queue = self._queue
        # Added first, and then looked; who cancels the queue says so first, and then looks who is
        # there: one of them sees the other.
        queue._holders.add(self)
        if queue._is_cut:
            self._heed()
        return True

    def _start(self, token: int) -> None:
        """What the library calls as the work, on any thread."""
        self._is_granted = True
        if self._take(token):
            self._go_home()

    def _go_home(self) -> None:
        """The turn has come: goes to its loop."""
        home = self._home
        if get_ident() == home.thread:
            home.grant(self)
            return
        home.coming.append(self)
        with suppress(RuntimeError):  # the loop is closed
            home.loop.call_soon_threadsafe(home.arrive)
        if home.is_gone():
            home.lose_coming()

    def _dropped(self) -> None:
        """The library is done with it: it had its turn, or never will."""
        self._release()
        if not self._is_granted:
            self._is_granted = True
            home = self._home
            if get_ident() == home.thread:
                self._give_up()
            else:
                with suppress(RuntimeError):  # the loop is closed, and nobody there to be told
                    home.loop.call_soon_threadsafe(self._give_up)

    def _begin(self) -> None:
        """Uses the turn, on the loop's thread, where no driver is needed."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """The turn will never come."""
        raise NotImplementedError

    def _lose(self) -> None:
        """The turn came, but its loop has gone."""
        self._end_turn(quick.token_cancel)

    def _give_token(self) -> int:
        """The turn is over: who gets the token, unless it is zero, ends the operation."""
        token, self._token = self._token, 0
        self._queue._holders.discard(self)
        return token

    def _end_turn(self, how: Callable[..., int], *code: int) -> None:
        """Ends the operation: the first call does."""
        token = self._give_token()
        if token:
            how(token, *code)
        self._release()

    def _hold_operation(self, operation: int) -> None:
        """Keeps the operation's handle, to cancel it with, until its end."""
        self._operation = operation
        if self._is_granted and not self._token:  # that has come already, on another thread
            self._release()

    def _release(self) -> None:
        operation, self._operation = self._operation, 0
        if operation:
            _release(operation)

    def _refuse_ring(self) -> list[Turn]:
        """The turns that the calling task has; it is about to wait for this one.

        :raises DeadlockError: this one can never begin, or end, while the caller waits.
        """
        callers = turns_of_caller()
        if callers:
            refuse(self._queue, self if self._token else None, callers.__contains__)
        return callers

    # What a queue asks of its holders ---------------------------------------------------------

    @property
    def _is_in_place(self) -> bool:
        """Whether it takes a place of its queue, in which others could run."""
        return not self._queue._is_actor

    def _let_go(self) -> None:
        """The queue is about to be destroyed, and waits for no holder."""

    def _heed(self) -> None:
        """Some of the queue's operations were cancelled: this one's may be."""


class CoroutineTurn(Turn):
    """A turn that a coroutine is run in."""

    _function: Callable[..., Coroutine[Any, Any, Any]]
    _arguments: tuple[Any, ...]
    _keywords: dict[str, Any] | None
    _context: Context | None  # none for an empty one
    _driver: Driver | None

    _is_asked = False  # to end, before there was a driver
    _has_heeded = False  # its operation was cancelled, and so it was asked to end

    def _prepare_call(
        self, queue: Queue, home: Home, function: Any, arguments: Any, keywords: Any
    ) -> None:
        self._queue = queue
        self._home = home
        self._operation = self._token = 0
        self._function = function
        self._arguments = arguments
        self._keywords = keywords
        self._context = copy_context()
        self._driver = None

    def _first_step(self) -> tuple[Coroutine[Any, Any, Any], Any]:
        """In its context: makes the coroutine, and runs it until it waits."""
        keywords = self._keywords
        if keywords:
            coroutine = self._function(*self._arguments, **keywords)
        else:
            coroutine = self._function(*self._arguments)
        try:
            send = coroutine.send
        except AttributeError:
            raise TypeError(f"not a coroutine function: {self._function!r}") from None
        return coroutine, send(None)

    async def _rest(self, steps: Awaitable[Any]) -> None:
        """What is left of the coroutine."""
        try:
            result = await steps
        except BaseException as error:
            self._fail(error)
        else:
            token = self._conclude(result)
            if token:
                _finish(token)

    def _conclude(self, result: Any) -> int:
        """The coroutine has ended well; returns the token if the operation is still to be ended."""
        self._driver = self._context = None
        self._end_turn(_finish)
        self._set_result(result)
        return 0

    def _fail(self, error: BaseException) -> None:
        driver, self._driver, self._context = self._driver, None, None
        if isinstance(error, GeneratorExit):  # the driver is destroyed
            self._lose()
            raise error
        if isinstance(error, asyncio.CancelledError):
            self._end_turn(quick.token_cancel)
            self._set_cancelled()
            if driver is not None and not driver.asked:
                raise error  # the driver itself was cancelled: the loop ends
            return
        self._end_turn(quick.token_fail, 1)
        self._set_exception(error)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error

    def _ask_to_end(self) -> bool:
        """Cancels the coroutine that runs; whether there is one."""
        if not self._token:
            return False
        driver = self._driver
        if driver is None:
            self._is_asked = True
            return False
        driver.asked += 1
        return driver.task.cancel()

    def _heed(self) -> None:
        if not self._has_heeded and is_cancelled(self._token):
            self._has_heeded = True
            with suppress(RuntimeError):  # the loop is closed
                if get_ident() == self._home.thread:
                    self._ask_to_end()
                else:
                    self._home.loop.call_soon_threadsafe(self._ask_to_end)

    def _is_unwanted(self) -> bool:
        """Whether it is not to be begun."""
        return self._is_asked

    def _set_result(self, result: Any) -> None:
        raise NotImplementedError

    def _set_exception(self, error: BaseException) -> None:
        raise NotImplementedError

    def _set_cancelled(self) -> None:
        raise NotImplementedError


class Run(CoroutineTurn, asyncio.Future[Any]):
    """What `Queue.run` returns."""

    __slots__ = (
        "_arguments",
        "_context",
        "_driver",
        "_function",
        "_home",
        "_keywords",
        "_operation",
        "_queue",
        "_token",
    )

    def cancel(self, msg: Any = None) -> bool:
        """A pending one never runs; a running one is cancelled, and its end is waited for."""
        if self.done():
            return False
        if self._driver is not None:
            return self._ask_to_end()
        if self._operation:
            quick.operation_cancel(self._operation)
        return super().cancel()

    def _conclude(self, result: Any) -> int:
        # All at once, and nobody but this loop's code sees that the operation ends a little later.
        self._driver = self._context = None
        token, self._token = self._token, 0
        self._queue._holders.discard(self)
        operation, self._operation = self._operation, 0
        if operation:
            _release(operation)
        if not self.done():
            self.set_result(result)
        return token

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            callers = self._refuse_ring()
            if callers:
                return self._await_in(callers)
        return super().__await__()

    def _await_in(self, callers: list[Turn]) -> Generator[Any, None, Any]:
        for caller in callers:
            caller._awaited = self
        try:
            return (yield from super().__await__())
        finally:
            for caller in callers:
                caller._awaited = None

    __iter__ = __await__

    def _give_up(self) -> None:
        if not self.done():
            super().cancel()

    def _is_unwanted(self) -> bool:
        return self._is_asked or self.done()

    def _set_result(self, result: Any) -> None:
        if not self.done():
            self.set_result(result)

    def _set_exception(self, error: BaseException) -> None:
        if not self.done():
            if isinstance(error, StopIteration):
                wrapped = RuntimeError("coroutine raised StopIteration")
                wrapped.__cause__ = error
                error = wrapped
            self.set_exception(error)

    def _set_cancelled(self) -> None:
        if not self.done():
            super().cancel()


class ThreadRun(CoroutineTurn, Future[Any]):
    """What `Queue.run_on` returns: the future of a coroutine in another thread's loop."""

    def cancel(self) -> bool:
        """A pending one never runs; a running one is asked to end, and may take it or not."""
        if Future.cancel(self):
            return True
        if self.done():
            return self.cancelled()
        try:
            self._home.loop.call_soon_threadsafe(self._ask_to_end)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _wait(self, timeout: float | None) -> float | None:
        if not self.done() and get_ident() == self._home.thread and timeout != 0:
            refuse(self._queue, self, lambda _: True)
        return super()._wait(timeout)

    def _take(self, token: int) -> bool:
        if self._claim():
            self._state = RUNNING
            return super()._take(token)
        quick.token_cancel(token)
        return False

    def _start(self, token: int) -> None:
        Turn._start(self, token)

    def _dropped(self) -> None:
        Future._dropped(self)

    def _lose(self) -> None:
        super()._lose()
        self._set_cancelled()

    def _is_unwanted(self) -> bool:
        return self._is_asked or self.done()

    def _set_result(self, result: Any) -> None:
        self._give(result)

    def _set_exception(self, error: BaseException) -> None:
        self._give_exception(error)

    def _set_cancelled(self) -> None:
        if not self.done():
            self._end_cancelled()


class Hold(Turn, asyncio.Future[Any]):
    """The turn that ``async with queue`` waits for and has."""

    _needs_driver = False

    def __init__(self, queue: Queue, home: Home) -> None:
        super().__init__(loop=home.loop)
        self._queue = queue
        self._home = home
        self._operation = self._token = 0

    def _begin(self) -> None:
        if self.done():  # nobody waits for it any more
            self._end_turn(quick.token_cancel)
        else:
            self.set_result(None)

    def _give_up(self) -> None:
        if not self.done():
            super().cancel()

    def cancel(self, msg: Any = None) -> bool:
        if not self.done() and self._operation:
            quick.operation_cancel(self._operation)
        return super().cancel()

    def __del__(self) -> None:
        if self._token and not sys.is_finalizing():  # its task was destroyed
            self._end_turn(quick.token_abandon)
        super().__del__()
