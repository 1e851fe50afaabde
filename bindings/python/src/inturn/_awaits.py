"""Waits of tasks, of asyncio or of trio: for what happens on other threads, and for operations, of
which the library is told: it refuses one that would close a ring."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import byref
from threading import get_ident, local
from typing import TYPE_CHECKING, Any, Callable

from . import _prototypes as c
from ._callbacks import calling
from ._errors import AlreadyFinishedError, StaleError
from ._library import quick, refusal
from ._sites import site_of_await

if TYPE_CHECKING:
    from collections.abc import Sequence

# The wait is over already.
_OVER = AlreadyFinishedError.status, StaleError.status
# The parts for asyncio and trio, once those are used.
asyncio_part: Any = None
trio_part: Any = None


class _Thread(local):
    def __init__(self) -> None:
        # Only this thread has it. Its ident goes to another thread once it has ended.
        self.mark = object()


here = _Thread()


def running_trio() -> Any:
    """The module trio, where one of its tasks calls; else None."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_task() else None


class Bell:
    """Wakes the task that waits for it."""

    def __init__(self) -> None:
        trio = running_trio()
        self._call: Callable[[Callable[[], None]], object]
        if trio is not None:
            self._new_event = trio.Event
            self._call = trio.lowlevel.current_trio_token().run_sync_soon
        else:
            import asyncio  # importing it takes long

            self._new_event = asyncio.Event
            self._call = asyncio.get_running_loop().call_soon_threadsafe
        self._event: Any = None

    def ring(self) -> None:
        """Lets the task look again, from any thread."""
        with suppress(RuntimeError):  # its loop has gone
            self._call(self._set)

    def _set(self) -> None:
        if self._event is not None:
            self._event.set()

    async def wait(self, is_so: Callable[[], object]) -> None:
        """Waits until something is so; whoever makes it so rings."""
        while not is_so():
            self._event = self._new_event()
            if is_so():  # since a moment ago
                return
            await self._event.wait()


class Await(c.inturn_await):  # type: ignore[misc]  # whose type is made from a table
    """A wait that has begun, until it ends or is dropped, as by an interrupt.

    Its bits are zero where nothing is held up, or the wait was over already.
    """

    bits: int

    def end(self, *_: object) -> None:
        """The wait is over, or was given up."""
        bits, self.bits = self.bits, 0
        if bits:
            quick.await_end(bits)

    __del__ = __exit__ = end

    def __enter__(self) -> None: ...


def tokens_here() -> Sequence[int]:
    """The tokens of the turns that the calling task is in, the innermost first."""
    part = asyncio_part if trio_part is None or running_trio() is None else trio_part
    tokens: Sequence[int] = tokens_around() if part is None else part.tokens_here()
    return tokens


def leaving_loops() -> Callable[[], None] | None:
    """For a blocking wait on a loop's thread, for no operation: what lets the loop's queues go on
    meanwhile."""
    part = asyncio_part
    return part.leave_loops if part is not None and part.homes_here() else None


# What calls work has its token in one of these.
STARTS = {"_start", "_start_where_it_may_stay", "_post", "_post_here"}
_NAMES = "token", "bits", "_bits"
# What asyncio's loops and uvloop's have called when the task has ended that they are run for.
_STOPS = ("asyncio.base_events", "_run_until_complete_cb"), ("uvloop.loop", "done_cb")


def _asyncio_task() -> tuple[object, bool]:
    """The frame that the calling task of asyncio begins with, and whether its loop is run for it.

    Not all loops have frames, but all tasks have coroutines.
    """
    asyncio: Any = sys.modules.get("asyncio")
    loop = asyncio and asyncio._get_running_loop()
    task = loop and asyncio.current_task(loop)
    if task is None:
        return None, False
    called = [function for function, _ in getattr(task, "_callbacks", None) or ()]
    names = [(each.__module__, getattr(each, "__name__", "")) for each in called]
    return getattr(task.get_coro(), "cr_frame", None), any(name in _STOPS for name in names)


def tokens_around() -> list[int]:
    """The tokens of the work that runs a loop until the calling task has ended."""
    tokens: list[int] = []
    if get_ident() not in calling:
        return tokens
    first, is_run_for = _asyncio_task()
    frame: Any = sys._getframe(1)
    is_awaited = False
    while frame is not None:
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__")
        if frame is first:
            is_awaited = is_run_for
        elif name == "unrolled_run" and module == "trio._core._run":
            told = frame.f_locals
            is_awaited = told["runner"].main_task is told["task"]
        elif is_awaited and name in STARTS and frame.f_globals.get("__package__") == __package__:
            told = frame.f_locals
            tokens += [told[each] for each in _NAMES if isinstance(told.get(each), int)]
        frame = frame.f_back
    return tokens


def begin(awaited: int | None, tokens: Sequence[int]) -> Await:
    """Begins a wait, inside the operations of these tokens, for what has these bits, if any.

    :raises DeadlockError: it could never end.
    """
    begun = Await()
    if not awaited:
        return begun
    inside: Any
    if len(tokens) == 1:
        inside = byref(c.inturn_token(tokens[0]))
    else:
        inside = (c.inturn_token * len(tokens))(*map(c.inturn_token, tokens))
    quick.report_wait_at(site_of_await(sys._getframe(1)))
    status = quick.await_begin(awaited, inside, len(tokens), byref(begun))
    if status and status not in _OVER:
        raise refusal("inturn_await_begin", status)
    return begun


def awaiting(awaited: int | None) -> Await:
    """Begins a wait of the calling task, if it is in a turn; and else, it is known to wait.

    :raises DeadlockError: it could never end.
    """
    if tokens := tokens_here():
        return begin(awaited, tokens)
    quick.report_set_awaited(awaited)
    return Await()
