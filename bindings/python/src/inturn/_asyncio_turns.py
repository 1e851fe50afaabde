"""Turns: what a task of asyncio waits for, has, and gives back."""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from collections.abc import Awaitable, Coroutine, Generator, Iterator
from concurrent.futures._base import RUNNING
from contextvars import copy_context
from ctypes import byref, c_bool
from inspect import CORO_CREATED, getcoroutinestate
from threading import get_ident
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Callable

from . import _executors
from ._asyncio_rings import refuse
from ._callbacks import drop, entries, give_back, new_key, start_anywhere, take_out
from ._errors import DeadlockError
from ._futures import Future
from ._handles import NotCopied
from ._library import quick, refusal

if TYPE_CHECKING:
    from ._asyncio_home import Home
    from ._queues import Queue


release = quick.operation_release


def is_cancelled(token: int) -> bool:
    """Whether the library has been told to cancel an operation, or has cut it off."""
    cancelled = c_bool()
    return token != 0 and (quick.token_is_cancelled(token, byref(cancelled)) or cancelled.value)


def enqueue(queue: Queue, home: Home, entry: object) -> int:
    """Enqueues an entry, and returns the operation's handle."""
    if _executors.exiting:
        _executors.refuse_at_exit(queue._pool)
    if queue._home is not home and queue._is_movable:
        home.take_over(queue)
    out = take_out()
    key = new_key()
    entries[key] = entry
    status = quick.queue_enqueue(queue._bits, start_anywhere, key, drop, out[1])
    if status:
        raise refusal("inturn_queue_enqueue", status)
    operation = out[0].value or 0
    give_back(out)
    return operation


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

    # Called by the library, on any thread ----------------------------------------------------

    def _start(self, token: int) -> None:
        self._token = token
        queue, home = self._queue, self._home
        # Added first, and then looked; who cancels the queue says so first, and then looks who is
        # there: one of them sees the other.
        queue._holders[self] = None
        if queue._is_cut:
            self._heed()
        if home.is_draining and home.thread == get_ident():  # then there is a loop
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
        if get_ident() != home.thread:
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
            if self._waiter is not None:
                # It waits already, when its caller had no chance to; so that is seen later.
                self._home.call(self._look)
            if self._queue._is_cut:
                self._heed()

    def _look(self) -> None:
        """Refuses a wait that can never end, of who waits for its task."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            try:
                self._refuse_awaiting()
            except DeadlockError as error:
                waiter.set_exception(error)

    def _refuse_awaiting(self) -> None:
        refuse(self._queue, None, lambda holder: holder._awaited is self)

    def _refuse_ring(self) -> None:
        """Refuses that the calling task waits for it, when that can never end.

        :raises DeadlockError: it cannot.
        """
        task = asyncio.current_task()
        if task in self._home.turns or self._home.blocks:
            refuse(self._queue, self if self._token else None, lambda holder: holder._task is task)

    def _finish(self) -> None:
        """The operation is over, as finished; the next one has its turn."""
        token = self._give_token()
        home = self._home
        if get_ident() == home.thread and not home.closed:
            home.advance(token)
        else:
            quick.token_finish(token)

    def _end(self, error: BaseException | None) -> bool:
        """The operation is over, unless it has been before: then false."""
        if self._is_over:
            return False
        if error is None:
            self._finish()
            return True
        token = self._give_token()
        if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            quick.token_cancel(token)
        else:
            quick.token_fail(token, 1)
        if get_ident() == self._home.thread and not self._home.closed:
            self._home.drain()
        return True

    def _lose(self) -> None:
        """There is nobody who would run in it."""
        quick.token_cancel(self._give_token())

    def _close(self) -> None:
        """The loop is closed."""
        self._lose()

    def _give_token(self) -> int:
        """It is over: who gets the token ends the operation; if there is none, it was cancelled."""
        self._is_over = True
        token, self._token = self._token, 0
        self._queue._holders.pop(self, None)
        self._leave_home()
        operation, self._operation = self._operation, 0
        if operation:
            if not token:
                quick.operation_cancel(operation)
            quick.operation_release(operation)
        return token

    def _leave_home(self) -> None:
        # What a task raises leads to this, and this is not to lead to the task.
        future, self._future, self._task = self._future, None, None
        self._home.turns.pop(future, None)
        if self._is_block:
            self._home.blocks.discard(self)

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
        task = self._task
        if task is None or self._is_block or self._has_heeded or not is_cancelled(self._token):
            return
        self._has_heeded = True
        if get_ident() != self._home.thread:
            self._home.call(task.cancel)
        elif not self._home.is_gone():
            task.cancel()


class Run(Turn, asyncio.Task[Any]):
    """What `Queue.run` returns, where the loop has no factory of its own: the task is the turn."""

    __slots__ = ("_home", "_is_over", "_operation", "_queue", "_token", "_waiter")

    @property
    def _task(self) -> asyncio.Task[Any]:  # type: ignore[override]
        return self

    def cancel(self, msg: Any = None) -> bool:
        """A pending one never runs, and leaves its queue; into a running one, `CancelledError` is
        raised."""
        if not super().cancel(msg):
            return False
        coroutine: Any = self.get_coro()
        if getcoroutinestate(coroutine) == CORO_CREATED:  # which it stays
            self._end(asyncio.CancelledError())
        elif not self._token:
            quick.operation_cancel(self._operation)
        return True

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            self._refuse_ring()
        return super().__await__()

    __iter__ = __await__

    def _leave_home(self) -> None:
        self._home.turns.pop(self, None)

    def _close(self) -> None:
        # The coroutine and the task refer to each other, so that one would outlive the turn.
        try:
            self.get_coro().close()
        except BaseException as error:
            told = {"message": "a coroutine raised when it was closed", "exception": error}
            self.get_loop().call_exception_handler({**told, "task": self})
        if not self._is_over:  # it had not begun
            self._lose()

    def _finish(self) -> None:
        # As the base does it, and all at once.
        home = self._home
        if self._is_over or home.thread != get_ident() or home.closed:
            super()._finish()
            return
        self._is_over = True
        del self._queue._holders[self], home.turns[self]
        token = self._token
        self._token = 0
        release(self._operation)
        home.advance(token)


class _FirstStep:
    """Waits for the first step of the task."""

    __slots__ = ()

    def __await__(self) -> Iterator[None]:
        return iter((None,))


FIRST_STEP: Any = _FirstStep()


def begun(coroutine: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    """Runs a coroutine to its `FIRST_STEP`, and then it is for a task.

    Whatever becomes of the task, cancelled or destroyed before it runs, the coroutine sees it.
    """
    coroutine.send(None)
    return coroutine


async def in_turn(turn: Turn, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """What a task runs: waits for the turn, calls a coroutine function in it, and ends it."""
    try:
        if not turn._token:
            await turn._wait()
        coroutine = function(*arguments, **keywords)
        if type(coroutine) is not CoroutineType and not isinstance(coroutine, Awaitable):
            raise TypeError(f"not a coroutine function: {function!r}")
        result = await coroutine
    except BaseException as error:
        turn._end(error)
        # The exception leads here, and a task to its exception.
        turn = None  # type: ignore[assignment]
        raise
    turn._finish()
    return result


async def in_turn_from_first_step(turn: Turn, *call: Any) -> Any:
    """The same for a task that a factory makes, and that knows nothing of the turn."""
    try:
        await FIRST_STEP
        if not turn._token:
            turn._refuse_awaiting()
    except BaseException as error:
        turn._end(error)
        raise
    return await in_turn(turn, *call)


def run_by_factory(loop: asyncio.AbstractEventLoop, turn: Turn, *call: Any) -> asyncio.Task[Any]:
    """`Queue.run`, where something else than asyncio makes the loop's tasks."""
    turn._operation = enqueue(turn._queue, turn._home, turn)
    coroutine = begun(in_turn_from_first_step(turn, *call))
    if not turn._queue._holders:
        turn._home.drain()  # it may come at once
    task = loop.create_task(coroutine)
    turn._adopt(task)
    return task


class ThreadRun(Future[Any]):
    """What `Queue.run_on` returns: the future of a coroutine in another thread's loop."""

    def __init__(
        self, queue: Queue, home: Home, function: Any, arguments: Any, keywords: Any
    ) -> None:
        super().__init__(queue, function, arguments, keywords, copy_context())
        self._turn = _Sent(queue, home)

    def cancel(self) -> bool:
        """A pending one never runs; a running one is asked to end, and may take it or not."""
        if super().cancel():
            return True
        if self.done() or self._turn._home.is_gone():
            return self.cancelled()
        self._turn._home.call(self._turn._ask_to_end)
        return True

    def _wait(self, timeout: float | None) -> float | None:
        turn = self._turn
        if not self.done() and get_ident() == turn._home.thread and timeout != 0:
            refuse(self._queue, turn, lambda _: True)
        return super()._wait(timeout)

    def _start(self, token: int) -> None:
        call = self.__dict__.pop("_call", None)
        if call is None:
            quick.token_cancel(token)
            return
        self._state = RUNNING
        self._turn._run, self._turn._call = self, call
        self._turn._start(token)

    async def _run(self, function: Any, arguments: Any, keywords: Any) -> None:
        """The task."""
        turn = self._turn
        try:
            await FIRST_STEP
            result = await in_turn(turn, function, arguments, keywords)
        except (asyncio.CancelledError, GeneratorExit) as error:
            turn._end(error)  # if it has not begun
            if not self.done():
                self._end_cancelled()
            raise
        except BaseException as error:
            self._give_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self._give(result)


class _Sent(Turn):
    """A turn whose task is made when it has come."""

    _run: ThreadRun | None = None  # from when it has come, until its end
    _call: Any = None
    _is_asked = False  # to end, before there was a task

    def _wake(self) -> None:
        loop = self._home.reference()
        if loop is None or self._call is None:
            return
        context = self._call[-1]
        if loop.get_task_factory() is None:
            context.run(self._make_task, loop)
        else:  # it may run the task at once
            loop.call_soon(self._make_task, loop, context=context)

    def _make_task(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._run is not None:
            function, arguments, keywords, _context = self._call
            self._call = None
            coroutine = begun(self._run._run(function, arguments, keywords))
            self._adopt(loop.create_task(coroutine))
            if self._is_asked:
                self._ask_to_end()

    def _ask_to_end(self) -> None:
        self._is_asked = True
        if self._task is not None:
            self._task.cancel()

    def _lose(self) -> None:
        run = self._run
        super()._lose()
        if run is not None and not run.done():
            run._end_cancelled()

    def _give_token(self) -> int:
        self._run = None
        return super()._give_token()
