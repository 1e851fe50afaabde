"""Coroutines on actor queues: what is between two suspensions is a segment of the operation.

While the library calls a segment, on a thread of the pool, the loop runs it: that thread waits for
it, so that no other segment of the queue, be it a function or of another loop, comes meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ._asyncio_home import Home
from ._callbacks import drop, give_back, register, start_anywhere, take_out
from ._library import quick, refusal

if TYPE_CHECKING:
    from ._queues import Queue


class _Wait:
    """Waits for what a coroutine waits for."""

    __slots__ = ("_waited",)

    def __init__(self, waited: Any) -> None:
        self._waited = waited

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self._waited)


class _Actor:
    """A coroutine's operation, and the segment that it is in or waits for."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._loop = home.loop
        self._operation = 0
        self._token = 0
        self._gate: threading.Event | None = None  # opened when the segment is over
        self._waiter: asyncio.Future[None] | None = None
        self._is_dropped = False
        self._is_unwanted = False

    # Called by the library, on any thread ----------------------------------------------------

    def _start(self, token: int) -> None:
        self._token = token
        if self._is_unwanted:
            quick.token_cancel(token)
            return
        gate = threading.Event()
        self._home.gates.add(gate)
        try:
            self._loop.call_soon_threadsafe(self._admit, gate)
        except RuntimeError:  # the loop is closed
            quick.token_cancel(token)
        else:
            if self._home.is_gone():
                gate.set()
            gate.wait()
        self._home.gates.discard(gate)

    def _dropped(self) -> None:
        """A segment is over; or the operation was cancelled before its first."""
        if not self._token:
            self._is_dropped = True
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake)

    # On the loop's thread --------------------------------------------------------------------

    def _admit(self, gate: threading.Event) -> None:
        self._gate = gate
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _segment(self) -> asyncio.CancelledError | None:
        """Waits for the segment; returns that the task was cancelled meanwhile."""
        cancelled = None
        while self._gate is None:
            if self._is_dropped:
                raise asyncio.CancelledError
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            except asyncio.CancelledError as error:
                cancelled = error
                if not self._token:  # it never runs
                    self._is_unwanted = True
                    quick.operation_cancel(self._operation)
                    raise
        return cancelled

    def _leave(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set()

    async def run(self, function: Callable[..., Coroutine[Any, Any, Any]], call: Any) -> Any:
        """The task."""
        try:
            cancelled = await self._segment()
            if cancelled is not None:
                raise cancelled
            coroutine = function(*call[0], **call[1])
            step: Callable[[Any], Any] = coroutine.send
            given: Any = None
            while True:
                try:
                    waited = step(given)
                except StopIteration as stop:
                    quick.token_finish(self._token)
                    return stop.value
                self._leave()
                try:
                    given = await _Wait(waited)
                    step = coroutine.send
                except BaseException as error:
                    given, step = error, coroutine.throw
                    if isinstance(error, GeneratorExit):  # the task is destroyed
                        coroutine.close()
                        raise
                if quick.token_resume(self._token, start_anywhere, register(self), drop):
                    # It was cut off, by its queue's end: what is left runs all the same.
                    continue
                cancelled = await self._segment()
                if cancelled is not None:
                    given, step = cancelled, coroutine.throw
        except asyncio.CancelledError:
            quick.token_cancel(self._token)
            raise
        except BaseException:
            quick.token_fail(self._token, 1)
            raise
        finally:
            self._leave()

    def __del__(self) -> None:
        if self._operation:
            quick.operation_release(self._operation)


def act(
    queue: Queue, home: Home, function: Callable[..., Any], arguments: Any, keywords: Any
) -> asyncio.Task[Any]:
    """`Queue.run` of an actor queue."""
    actor = _Actor(home)
    out = take_out()
    status = quick.queue_enqueue(queue._bits, start_anywhere, register(actor), drop, out[1])
    if status:
        raise refusal("inturn_queue_enqueue", status)
    actor._operation = out[0].value or 0
    give_back(out)
    return home.loop.create_task(actor.run(function, (arguments, keywords)))
