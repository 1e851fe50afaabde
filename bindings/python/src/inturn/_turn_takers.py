"""The coroutines that take a queue's turns, and the threads that drain it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _awaits, _executors
from ._arguments import checked, one_of
from ._awaits import running_trio
from ._errors import UnsupportedError
from ._handles import NeverMade, NotCopied
from ._library import quick

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

    from typing_extensions import ParamSpec, Self

    from ._asyncio_actor import Actor
    from ._asyncio_home import Home
    from ._asyncio_turns import Turn
    from ._executors import Pool
    from ._futures import Future

    P = ParamSpec("P")

T = TypeVar("T")


def loop_part() -> Any:
    """The part for asyncio or, when called by a trio task, for trio."""
    if "trio" in sys.modules and running_trio() is not None:
        from . import _trio

        _awaits.trio_part = _trio
        return _trio
    return _awaits.asyncio_part or asyncio_part()


def asyncio_part() -> Any:
    """The part for asyncio, imported when first needed, as importing asyncio takes long."""
    if _awaits.asyncio_part is None:
        from . import _asyncio

        _awaits.asyncio_part = _asyncio
    return _awaits.asyncio_part


class TurnTaker(NotCopied):
    """The base of `Queue`."""

    _prepared: Any = NeverMade()
    _home: Home | None
    _holders: dict[Turn | Actor, None]  # the coroutines and blocks that have begun and not ended
    _places = 1  # how many operations run at a time
    _is_cut = False  # some holders were, or will be, asked to end
    _is_ending = False  # it is being, or was, destroyed
    _pool: Pool | None = None  # its threads call the work
    _is_movable = False  # can move from the pool to a loop's executor, and back
    _is_actor = False

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        self = super().__new__(cls)
        self._holders = {}
        self._home = None
        return self

    def _prepare(self) -> None:
        """Called before an enqueue that may be refused, or when the queue is on a loop's thread."""
        if _executors.exiting:
            _executors.refuse_at_exit(self._pool)
        if self._home is not None:
            self._leave_home()

    def _leave_home(self) -> None:
        """Lets the executor's threads start the queue's operations again."""
        home, self._home = self._home, None
        assert self._pool is not None
        quick.queue_set_executor(self._prepared, self._pool._prepared)
        if home is not None:
            home.let_go()

    def _close_thread(self) -> None:
        """The queue's own thread ends, if it has one."""
        if self._pool is not None and self._pool.is_single:
            self._pool.close()

    def _ask_holders(self) -> None:
        """Cancels the coroutines whose operations the library has cancelled."""
        for holder in list(self._holders):
            holder._heed()

    def _look(self, awaited: Callable[[], int | None]) -> Callable[[], _awaits.Await] | None:
        """For a blocking wait on a loop's thread, for what has these bits: what begins it, as
        `_awaits.begin` does.  Otherwise None."""
        trio, asyncio = _awaits.trio_part, _awaits.asyncio_part
        if trio is not None and (look := trio.look(awaited)) is not None:
            return look  # type: ignore[no-any-return]
        return None if asyncio is None else asyncio.look(self, awaited)

    # What users call -------------------------------------------------------------------------

    def run_on(
        self,
        loop: asyncio.AbstractEventLoop,
        fn: Callable[P, Coroutine[Any, Any, T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """`Queue.run` for the loop of another thread, like ``asyncio.run_coroutine_threadsafe``.

        :raises TypeError: the function is not callable, or the loop is none.
        :raises RuntimeError: the loop is closed.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        :raises UnsupportedError: it is an actor queue, whose coroutines run in the caller's loop.
        """
        result: Future[T]
        part = asyncio_part()
        checked(self, "loop", loop, "an event loop", one_of(part.asyncio.AbstractEventLoop))
        result = part.run_on(self, loop, fn, args, kwargs)
        return result

    def __aenter__(self) -> Coroutine[Any, Any, Self]:
        """Waits for a turn of the queue, which lasts until the block ends, in whatever task.

        :raises DeadlockError: inside a coroutine that has the turn itself.
        :raises UnsupportedError: it is an actor queue, which goes on at each await inside a block.
        """
        if self._is_actor:
            raise UnsupportedError(
                f"{self!r} goes on at each await, so a block would exclude nothing: use a FIFOQueue"
            )
        entering: Coroutine[Any, Any, Self] = loop_part().enter(self)
        return entering

    async def __aexit__(self, kind: object, error: BaseException | None, _: object) -> None:
        loop_part().leave(self, error)
