"""Turns: coroutines and blocks that wait for their turn of a queue, and have it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from contextvars import Token as ContextToken
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from ._callbacks import borrowed
from ._errors import DeadlockError
from ._futures import Future
from ._library import quick

if TYPE_CHECKING:
    from ._asyncio_home import Driver, Home
    from ._queues import Queue


# The turn in which the running code is, or was when its task was made.
current: ContextVar[Turn | None] = ContextVar("inturn_turn", default=None)


_SLOTS = (
    "_arguments",
    "_awaited",
    "_context",
    "_driver",
    "_function",
    "_home",
    "_is_asked",
    "_is_granted",
    "_keywords",
    "_operation",
    "_queue",
    "_token",
)


class Turn:
    """A coroutine, or a block, that waits for its turn of a queue, has it, or had it."""

    _home: Home
    _queue: Queue
    _operation: int  # the handle, as soon as it is known; zero before
    _token: int  # while it has its turn; else zero
    _is_granted: bool
    _awaited: Turn | None  # what its coroutine waits for, where it is known

    _needs_driver = True

    def _prepare(self, queue: Queue, home: Home) -> None:
        self._queue = queue
        self._home = home
        self._awaited = None
        self._operation = self._token = 0
        self._is_granted = False

    def _start(self, token: int) -> None:
        """What the library calls as the work, on any thread."""
        self._token = token
        self._is_granted = True
        if self._queue._is_serial:
            self._queue._holder = self
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
        if not self._is_granted:
            self._is_granted = True
            home = self._home
            if get_ident() == home.thread:
                self._give_up()
            else:
                with suppress(RuntimeError):  # the loop is closed, and nobody there to be told
                    home.loop.call_soon_threadsafe(self._give_up)

    def _begin(self, driver: Driver | None) -> Coroutine[Any, Any, None] | None:
        """Uses the turn, on the loop's thread; returns what is left to wait for."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """The turn will never come."""
        raise NotImplementedError

    def _lose(self) -> None:
        """The turn came, but its loop has gone."""
        self._end_turn(quick.token_cancel)

    def _end_turn(self, how: Callable[..., int], *code: int) -> None:
        """Ends the operation: the first call does."""
        token, self._token = self._token, 0
        if token:
            queue = self._queue
            if queue._holder is self:
                queue._holder = None
            how(token, *code)

    def _is_of(self, task: object) -> bool:
        """Whether the turn is used by this very task."""
        raise NotImplementedError

    def _refuse_ring(self) -> Turn | None:
        """The turn that the calling task has; it is about to wait for this one.

        :raises DeadlockError: this one can never begin, or end, while the caller waits.
        """
        caller = current.get()
        if caller is None or not caller._token or not caller._is_of(asyncio.current_task()):
            return None
        path = [caller]
        awaited: Turn | None = self
        while awaited is not None:
            # Who must go on first: the coroutine itself, or who has the turn before it.
            blocker = awaited if awaited._token else awaited._queue._holder
            if blocker is None or blocker in path[1:]:
                return caller
            path.append(blocker)
            if blocker is caller:
                ring = " -> ".join(repr(turn._queue.label or "") for turn in path)
                error = DeadlockError(f"the wait for a turn would never end: {ring}")
                error.ring = ring
                raise error
            awaited = blocker._awaited
        return caller


class CoroutineTurn(Turn):
    """A turn that a coroutine is run in."""

    _function: Callable[..., Coroutine[Any, Any, Any]]
    _arguments: tuple[Any, ...]
    _keywords: dict[str, Any]
    _context: Context | None
    _driver: Driver | None
    _is_asked: bool  # to end, before there was a driver

    def _prepare_call(
        self, queue: Queue, home: Home, function: Any, arguments: Any, keywords: Any
    ) -> None:
        self._queue = queue
        self._home = home
        self._awaited = None
        self._operation = self._token = 0
        self._is_granted = False
        self._function = function
        self._arguments = arguments
        self._keywords = keywords
        self._context = copy_context()
        self._driver = None
        self._is_asked = False

    def _is_of(self, task: object) -> bool:
        return self._driver is not None and self._driver.task is task

    def _first_step(self) -> tuple[Coroutine[Any, Any, Any], Any]:
        """In its context: makes the coroutine, and runs it until it waits."""
        current.set(self)
        coroutine = self._function(*self._arguments, **self._keywords)
        try:
            send = coroutine.send
        except AttributeError:
            raise TypeError(f"not a coroutine function: {self._function!r}") from None
        return coroutine, send(None)

    def _begin(self, driver: Driver | None) -> Coroutine[Any, Any, None] | None:
        if self._is_unwanted():
            self._end_turn(quick.token_cancel)
            self._set_cancelled()
            return None
        self._driver = driver
        try:
            assert self._context is not None
            coroutine, waited = self._context.run(self._first_step)
        except StopIteration as stop:
            self._succeed(stop.value)
        except BaseException as error:
            self._fail(error)
        else:
            return self._rest(coroutine, waited)
        return None

    async def _rest(self, coroutine: Coroutine[Any, Any, Any], waited: Any) -> None:
        assert self._context is not None
        try:
            result = await _Steps(self._context, coroutine, waited)
        except BaseException as error:
            self._fail(error)
        else:
            self._succeed(result)

    def _succeed(self, result: Any) -> None:
        self._driver = self._context = None  # it refers to this turn
        self._end_turn(quick.token_finish)
        self._set_result(result)

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
        driver = self._driver
        if driver is None:
            self._is_asked = True
            return False
        driver.asked += 1
        return driver.task.cancel()

    def _is_unwanted(self) -> bool:
        raise NotImplementedError

    def _set_result(self, result: Any) -> None:
        raise NotImplementedError

    def _set_exception(self, error: BaseException) -> None:
        raise NotImplementedError

    def _set_cancelled(self) -> None:
        raise NotImplementedError


class _Steps:
    """Runs a coroutine in a context, as far as it waits for the same as the driver's task."""

    __slots__ = ("_context", "_coroutine", "_waited")

    def __init__(self, context: Context, coroutine: Coroutine[Any, Any, Any], waited: Any) -> None:
        self._context = context
        self._coroutine = coroutine
        self._waited = waited

    def __await__(self) -> Generator[Any, Any, Any]:
        run, coroutine, waited = self._context.run, self._coroutine, self._waited
        while True:
            try:
                sent = yield waited
            except BaseException as error:
                step: Callable[[Any], Any] = coroutine.throw
                given: Any = error
            else:
                step, given = coroutine.send, sent
            try:
                waited = run(step, given)
            except StopIteration as stop:
                return stop.value


class Run(CoroutineTurn, asyncio.Future[Any]):
    """What `Queue.run` returns."""

    __slots__ = _SLOTS

    def _start(self, token: int) -> None:
        home = self._home
        driver = home.inside
        if (
            driver is None
            or not driver.is_free
            or self._is_asked
            or self.done()
            or get_ident() != home.thread
        ):
            super()._start(token)
            return
        # The same in one: a driver is there to begin it in this very call.
        queue = self._queue
        self._token = token
        self._is_granted = True
        if queue._is_serial:
            queue._holder = self
        self._driver = driver
        driver.turn = self
        driver.begun += 1
        borrowed.discard(home.thread)
        try:
            assert self._context is not None
            coroutine, waited = self._context.run(self._first_step)
        except StopIteration as stop:
            self._succeed(stop.value)
            driver.turn = None
        except BaseException as error:
            driver.take(self, error)
        else:
            driver.rest = self._rest(coroutine, waited)
        borrowed.add(home.thread)

    def cancel(self, msg: Any = None) -> bool:
        """A pending one never runs; a running one is cancelled, and its end is waited for."""
        if self.done():
            return False
        if self._driver is not None:
            return self._ask_to_end()
        if self._operation:
            quick.operation_cancel(self._operation)
        return super().cancel()

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            caller = self._refuse_ring()
            if caller is not None:
                return self._await_in(caller)
        return super().__await__()

    def _await_in(self, caller: Turn) -> Generator[Any, None, Any]:
        caller._awaited = self
        try:
            return (yield from super().__await__())
        finally:
            caller._awaited = None

    __iter__ = __await__

    def _give_up(self) -> None:
        if not self.done():
            super().cancel()

    def _is_unwanted(self) -> bool:
        return self.done()

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

    def __del__(self) -> None:
        _release(self)
        super().__del__()


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

    def _start(self, token: int) -> None:
        if self._claim():
            self._begin_running()
            Turn._start(self, token)
        else:
            quick.token_cancel(token)

    def _dropped(self) -> None:
        Future._dropped(self)

    def _lose(self) -> None:
        super()._lose()
        self._set_cancelled()

    def _is_unwanted(self) -> bool:
        return self._is_asked or self.done()

    def _set_result(self, result: Any) -> None:
        self.set_result(result)

    def _set_exception(self, error: BaseException) -> None:
        self.set_exception(error)

    def _set_cancelled(self) -> None:
        if not self.done():
            self._end_cancelled()


class Hold(Turn, asyncio.Future[Any]):
    """The turn that ``async with queue`` waits for and has."""

    _needs_driver = False
    _reset: ContextToken[Turn | None]
    _task: asyncio.Task[Any] | None

    def _is_of(self, task: object) -> bool:
        return self._task is task

    def __init__(self, queue: Queue, home: Home) -> None:
        super().__init__(loop=home.loop)
        self._prepare(queue, home)
        self._task = asyncio.current_task()

    def _begin(self, driver: Driver | None) -> None:
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
        _release(self)
        super().__del__()


def _release(turn: Turn) -> None:
    """A turn has gone; nobody has ended it if its task was destroyed."""
    if sys.is_finalizing():
        return
    if turn._token:
        turn._end_turn(quick.token_abandon)
    if turn._operation:
        quick.operation_release(turn._operation)
