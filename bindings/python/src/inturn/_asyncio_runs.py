"""Coroutines that are run in a turn: the loop's tasks, and those that another thread asks for."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Coroutine, Generator
from concurrent.futures._base import RUNNING
from contextvars import copy_context
from inspect import CORO_CREATED, getcoroutinestate
from threading import get_ident
from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any, Callable

from ._asyncio_turns import Turn, inside as inside_blocks, tokens_in
from ._awaits import Await, begin
from ._callbacks import calling
from ._errors import DeadlockError
from ._futures import Future
from ._library import quick

if TYPE_CHECKING:
    from ._asyncio_actor import Actor
    from ._asyncio_home import Home
    from ._queues import Queue


class CoroutineTask(asyncio.Task[Any]):
    """A task that `asyncio.create_task` and a TaskGroup's accept, which ask for a coroutine."""

    __slots__ = ()

    _steps: Generator[Any, None, Any] | None = None  # of the wait for it, once that has begun

    def send(self, value: Any) -> Any:
        """Goes on with the wait for it."""
        return self._go_on(lambda steps: steps.send(value))

    def throw(self, *error: Any) -> Any:
        """Ends the wait for it.  Before the wait has begun, this cancels the task as well, and who
        is cancelled waits for its end, as in a later step."""
        if self._steps is None:
            first = error[0]
            is_cancel = isinstance(first, asyncio.CancelledError)
            if self.cancel(*first.args[:1] if is_cancel else ()) and is_cancel:
                return self.send(None)
        return self._go_on(lambda steps: steps.throw(*error))

    def close(self) -> None:
        """Nobody is going to wait for it: it is cancelled, as the coroutine would never run."""
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()
        if not self.get_loop().is_closed():
            self.cancel()

    def _go_on(self, go_on: Callable[[Generator[Any, None, Any]], Any]) -> Any:
        if self._steps is None:
            self._steps = self.__await__()
        try:
            return go_on(self._steps)
        except BaseException:
            self._steps = None  # for another wait, as a task may be awaited again
            raise


class Run(Turn, CoroutineTask):
    """What `Queue.run` returns, where the loop has no factory of its own: the task is the turn."""

    _steps: Generator[Any, None, Any] | None

    __slots__ = ("_home", "_is_over", "_operation", "_queue", "_steps", "_token", "_waiter")

    @property
    def _task(self) -> asyncio.Task[Any] | None:  # type: ignore[override]
        return None if self._loop is None else self  # a task that is not made yet has no coroutine

    def cancel(self, msg: Any = None) -> bool:
        """A pending one never runs, and leaves its queue; into a running one, `CancelledError` is
        raised."""
        if not self.done():
            coroutine: Any = self.get_coro()
            # First, since nobody else would do it; and this raises where there is no room for it.
            if getcoroutinestate(coroutine) == CORO_CREATED:  # which it stays
                self._end(asyncio.CancelledError())
            elif not self._token:
                quick.operation_cancel(self._operation)
        return super().cancel(msg)

    def __await__(self) -> Generator[Any, None, Any]:
        if self.done():
            return super().__await__()
        return awaited(self, super().__await__())

    __iter__ = __await__

    def _leave_home(self) -> None:
        self._home.turns.pop(self, None)


def awaited(turn: Turn | Actor, steps: Generator[Any, None, Any]) -> Generator[Any, None, Any]:
    """The wait of the calling task for a turn's.

    :raises DeadlockError: it could never end.
    """
    home, task = turn._home, asyncio.current_task()
    is_inside = task in home.turns or task in inside_blocks or get_ident() in calling
    if task is None or not is_inside:
        quick.report_set_awaited(turn._bits)  # reports are to come sooner
        return steps

    def inside(begun: Await) -> Generator[Any, None, Any]:
        with begun:
            return (yield from steps)

    return inside(begin(turn._bits, tokens_in(home, task)))


@coroutine
def yielded(waited: object = None) -> Generator[Any, Any, Any]:
    """Waits for what a future does, as another coroutine would; without one, for the first step of
    the task."""
    return (yield waited)


def begun(coroutine: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    """Runs a coroutine until its `yielded`, and then it is for a task.

    Whatever becomes of the task, cancelled or destroyed before it runs, the coroutine sees it.
    """
    coroutine.send(None)
    return coroutine


def called(function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """What a coroutine function makes."""
    made = function(*arguments, **keywords)
    if type(made) is not CoroutineType and not isinstance(made, Awaitable):
        raise TypeError(f"not a coroutine function: {function!r}")
    return made


async def in_turn(turn: Turn, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """What a task runs: waits for the turn, calls a coroutine function in it, and ends it."""
    try:
        while not turn._token:
            await turn._wait()
        result = await called(function, arguments, keywords)
        turn._end(None)
    except BaseException as error:
        turn._end(error)
        # The exception leads here, and a task to its exception.
        turn = None  # type: ignore[assignment]
        raise
    return result


async def from_first_step(turn: Turn, body: Callable[..., Any], *call: Any) -> Any:
    """The same for a task that a factory makes, and that knows nothing of the turn."""
    try:
        await yielded()
    except BaseException as error:
        turn._end(error)
        raise
    running = body(turn, *call)
    del turn  # see `in_turn`
    return await running


class AwaitedTask(CoroutineTask):
    """A task that tells its turn when it is awaited."""

    _turn: Turn | Actor

    if sys.version_info < (3, 11):  # which has these itself
        _cancels = 0

        def cancel(self, msg: Any = None) -> bool:
            is_asked = super().cancel(msg)
            self._cancels += is_asked
            return is_asked

        def cancelling(self) -> int:
            return self._cancels

        def uncancel(self) -> int:
            self._cancels -= 1
            return self._cancels

    def __await__(self) -> Generator[Any, None, Any]:
        if self.done():
            return super().__await__()
        return awaited(self._turn, super().__await__())

    __iter__ = __await__


def task_of(
    turn: Turn | Actor, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]
) -> asyncio.Task[Any]:
    """A task, which only a loop's own factory can make otherwise."""
    if not turn._home.makes_plain_tasks or loop.get_task_factory() is not None:
        return loop.create_task(coroutine)
    task = AwaitedTask(coroutine, loop=loop)
    task._turn = turn
    return task


def run_by_factory(
    loop: asyncio.AbstractEventLoop, turn: Turn, body: Callable[..., Any], *call: Any
) -> asyncio.Task[Any]:
    """`Queue.run`, where the loop makes the task as it makes all others."""
    coroutine = begun(from_first_step(turn, body, *call))
    if not turn._queue._holders:
        turn._home.drain()  # it may come at once
    task = task_of(turn, loop, coroutine)
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
        if not self.done() and self._turn._home.is_here() and timeout != 0:
            name = f'queue "{self._queue.label or ""}"'
            error = DeadlockError("the coroutine runs in the loop that would wait for it")
            error.ring = f"{name} waits for {name}"
            raise error
        return super()._wait(timeout)

    def _start(self, token: int) -> None:
        try:
            call = self._call.pop()
        except IndexError:
            quick.token_cancel(token)
            return
        self._state = RUNNING
        self._turn._run, self._turn._call = self, call
        self._turn._start(token)

    async def _run(self, function: Any, arguments: Any, keywords: Any) -> None:
        """The task."""
        turn = self._turn
        try:
            await yielded()
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
        finally:
            del self, turn  # see `in_turn`


class _Sent(Turn):
    """A turn whose task is made when it has come."""

    _run: ThreadRun | None = None  # from when it has come, until its end
    _call: Any = None
    _is_asked = False  # to end, before there was a task

    def _start(self, token: int) -> None:
        self._keep(self)  # for the loop's end to find, as long as there is no task
        super()._start(token)

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
            self._home.turns.pop(self, None)
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

    def _let_go_of(self, token: int) -> None:
        self._run = None
        super()._let_go_of(token)
