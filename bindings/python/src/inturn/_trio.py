"""Coroutines that run in turn under trio.

A trio task belongs to a nursery, and a queue has none. So the task that awaits a coroutine in a
queue runs it; the coroutine has its place in the queue from the call on.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable

import trio

from ._asyncio_runs import called
from ._awaits import Bell, awaiting, begin, here, tokens_around
from ._callbacks import register, start_again
from ._ends import End, error_of
from ._errors import AlreadyFinishedError, UnsupportedError
from ._handles import NotCopied
from ._library import quick

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from ._awaits import Await
    from ._enqueuing import Enqueuing
    from ._queues import Queue
    from ._tokens import Token

# The turns that tasks have, each task's innermost last; of the runs of all threads.
_turns: dict[Any, list[Turn]] = {}
# All turns, also those that no task has, or has yet; looked through as `homes` of asyncio are.
_all: weakref.WeakValueDictionary[int, Turn] = weakref.WeakValueDictionary()


def tokens_here() -> list[int]:
    """`_awaits.tokens_here`."""
    turns = _turns.get(trio.lowlevel.current_task(), ())
    tokens = [turn._token._bits for turn in reversed(turns) if turn._token is not None]
    return tokens + tokens_around()


def _turns_of_thread() -> list[Turn]:
    """The turns that go on only on the calling thread."""
    turns = [turn for each in _all.valuerefs() if (turn := each()) is not None]
    return [turn for turn in turns if turn._home.is_here() and not turn._over]


def _tokens_of_thread() -> list[int]:
    """Their tokens, also of those that have come and that no task has seen yet."""
    told = [each for turn in _turns_of_thread() for each in (turn._token, *turn._news)]
    return [each._bits for each in told if each is not None and not isinstance(each, End)]


def look(awaited: Callable[[], int | None]) -> Callable[[], Await] | None:
    """`Queue._look`: while this thread waits, no turn of its tasks goes on, whoever has it."""
    return (lambda: begin(awaited(), _tokens_of_thread())) if _turns_of_thread() else None


class Turn(NotCopied):
    """A task's operation; the task waits for its attempts and its end."""

    _scope: Any = None  # the attempt's cancel scope
    _task: Any = None  # the task that has the turn or waits for it
    _token: Token | None = None  # while it has its turn

    def __init__(self, face: Enqueuing, caller: FrameType) -> None:
        self._queue = face._queue
        mark = here.mark
        self._home = SimpleNamespace(is_here=lambda: here.mark is mark)
        self._bell = Bell()
        self._news: deque[Token | End] = deque()
        # If nobody awaits a turn, it is collected, and its token is lost.
        tell = weakref.WeakMethod(self._tell)
        on_end = face._given.get("on_end")

        # Once it has an item, nobody waits for it any more.
        over: deque[None] = deque(maxlen=1)
        self._over = over

        def come(news: Token | End) -> None:
            told = tell()
            if told is not None:
                told(news)
            elif over and not isinstance(news, End):
                with suppress(AlreadyFinishedError):
                    news.cancel()

        def end(end: End) -> None:
            try:
                if on_end is not None:
                    on_end(end)
            finally:
                come(end)

        register(self, _all)
        self._operation = face._enqueue(come, end, caller, start_again)

    def _tell(self, news: Token | End) -> None:
        self._news.append(news)
        self._bell.ring()
        if self._over:  # ended a moment ago
            self._give_up()
        if isinstance(news, End) and (scope := self._scope) is not None:
            _cancel(self._bell, scope)

    def _give_up(self) -> None:
        """Nobody waits for it any more: tokens that have come meanwhile are given back."""
        self._over.append(None)
        quick.operation_cancel(self._operation._handle)  # does nothing if it has ended
        with suppress(IndexError):  # nothing is left
            while True:
                news = self._news.popleft()
                if not isinstance(news, End):
                    with suppress(AlreadyFinishedError):
                        news.cancel()

    async def come(self) -> Token | End:
        """Waits for the next attempt or the end."""
        self._task = trio.lowlevel.current_task()
        try:
            if self._news:
                await trio.lowlevel.checkpoint()
            else:
                with awaiting(self._operation._handle):
                    await self._bell.wait(lambda: self._news)
        except BaseException:
            self._give_up()
            raise
        return self._news.popleft()

    def hold(self, token: Token) -> None:
        """The task has its turn."""
        self._token = token
        self._queue._holders[self] = None  # type: ignore[index]
        _turns.setdefault(self._task, []).append(self)

    def give(self, error: BaseException | None, result: object = None) -> bool:
        """The turn is over: its body has raised or returned.  True if the result is the end's."""
        token, self._token = self._token, None
        self._queue._holders.pop(self, None)  # type: ignore[call-overload]
        if token is None:
            return False
        turns = _turns.get(self._task, [self])  # a forked child has forgotten them
        if self in turns:
            turns.remove(self)
        if not turns:
            _turns.pop(self._task, None)
        with suppress(AlreadyFinishedError):  # it was cut off
            if error is None:
                token.finish(result)
                return True
            if _is_cancelled(error):
                token.cancel()
            else:
                token.fail(error)
        return False

    def _heed(self) -> None:
        """Nothing to do: the token itself says that it should end."""

    def _let_go(self) -> None:
        """Nothing to do: nobody waits for it."""


class Run(NotCopied, Coroutine[Any, Any, Any]):
    """What `Queue.run` returns under trio: it has its place, and runs in the task that awaits.

    It is a coroutine, so a nursery starts `Queue.run` like any other coroutine function.
    """

    _steps: Generator[Any, Any, Any] | None = None  # of the wait for it, once that has begun

    def __init__(self, turn: Turn, call: Callable[[], Any]) -> None:
        self._turn = turn
        self._call: Callable[[], Any] | None = call

    def send(self, value: Any) -> Any:
        """Goes on with the wait for it."""
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Ends the wait for it, or gives up its place before that has begun."""
        if self._steps is None:
            self._turn._give_up()
            self._steps = self.__await__()
        return self._steps.throw(*error)

    close = Coroutine.close  # by throwing

    def __await__(self) -> Generator[Any, Any, Any]:
        call, self._call = self._call, None
        if call is None:
            raise RuntimeError("it can be awaited only once")
        return self._run(call).__await__()

    async def _run(self, call: Callable[[], Any]) -> Any:
        turn, is_finished, result = self._turn, False, None
        try:
            while not isinstance(news := await turn.come(), End):
                turn.hold(news)
                with trio.CancelScope() as turn._scope:
                    try:
                        news.on_cancel(partial(_cancel, turn._bell, turn._scope))
                    except AlreadyFinishedError:  # it was cut off, and nothing would cancel it
                        turn.give(None)
                    else:
                        is_finished, result = await _attempt(turn, call)
                turn._scope = None
                del news
                if is_finished:  # who is cancelled from now on, is too late for it
                    return result
            error = error_of(news)
            if error is not None:
                raise error
            return news.result
        finally:
            turn._give_up()  # a token may come after the end
            # The exception leads here, and must not lead to what leads to the exception.
            self = turn = call = news = error = None  # type: ignore[assignment]


def _cancel(bell: Bell, scope: trio.CancelScope, _: object = None) -> None:
    """Cancels a scope from any thread; it keeps no turn, as an operation may keep this call."""
    with suppress(trio.RunFinishedError):  # all tasks have left
        bell._call(scope.cancel)


def _is_cancelled(error: BaseException) -> bool:
    """Whether a task leaves as trio's cancellation: a nursery raises a group of them."""
    inside = getattr(error, "exceptions", ())
    if isinstance(inside, tuple) and inside:
        return all(map(_is_cancelled, inside))
    return isinstance(error, trio.Cancelled)


async def _attempt(turn: Turn, call: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether the result is the operation's, and the result."""
    try:
        result = await call()
    except BaseException as error:
        turn.give(error)
        # The exception leads here, and must not lead to the turn, which leads to the exception.
        turn = None  # type: ignore[assignment]
        if not isinstance(error, Exception):
            raise
        return False, None
    return turn.give(None, result), result


def run(face: Enqueuing, function: Callable[..., Any], arguments: Any, keywords: Any) -> Run:
    """`Queue.run`."""
    if face._queue._is_actor:
        # trio, not the queue, decides when a task goes on: its segments would overlap others.
        raise UnsupportedError(
            f"{face._queue!r} runs no coroutines under trio: use a FIFOQueue, or enqueue and resume"
        )
    return Run(Turn(face, sys._getframe(2)), partial(called, function, arguments, keywords))


async def enter(queue: Queue) -> Queue:
    """``async with queue`` begins."""
    turn = Turn(queue, sys._getframe(1))
    news = await turn.come()
    if isinstance(news, End):
        error = error_of(news)
        assert error is not None
        raise error
    turn.hold(news)
    return queue


def leave(queue: Queue, error: BaseException | None) -> None:
    """``async with queue`` ends, no matter which task has entered it."""
    for turn in reversed(_turns.get(trio.lowlevel.current_task(), ())):
        if turn._queue is queue and turn._scope is None:  # the last one that the caller has entered
            turn.give(error)
            return
    for holder in reversed(list(queue._holders)):
        if isinstance(holder, Turn) and holder._scope is None:
            holder.give(error)
            return
    raise RuntimeError(f"no task is inside {queue!r}")


def _forget_turns() -> None:
    """In a forked child: they are the parent's, and no wait of the child's is inside them."""
    _turns.clear()
    _all.clear()


os.register_at_fork(after_in_child=_forget_turns)
