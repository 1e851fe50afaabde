"""What one task reads of what any thread tells."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator
from typing import TypeVar

from ._awaits import Bell
from ._handles import NotCopied

T = TypeVar("T")


class Reader(NotCopied, AsyncIterator[T]):
    """Keeps what it is told until a task reads it; a step that is cancelled takes nothing."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # protects the rest; a finaliser may come while it is held
        self._told: deque[T] = deque()
        self._waiter: Bell | None = None
        self._is_over = False

    def _push(self, told: T) -> None:
        with self._lock:
            if self._is_over:
                return
            self._told.append(told)
            self._wake()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            self._waiter.ring()

    def _begin(self) -> None:
        """Called with each step, before its wait."""

    async def __anext__(self) -> T:
        """The next one; waits for it.

        :raises StopAsyncIteration: nothing follows, or this was closed.
        :raises RuntimeError: another task waits here.
        """
        bell = Bell()
        with self._lock:
            if self._waiter is not None:
                raise RuntimeError("another task waits for the next one")
            self._waiter = bell
        try:
            self._begin()
            await bell.wait(lambda: self._told or self._is_over)
        finally:
            self._waiter = None
        with self._lock:
            if self._told:
                return self._told.popleft()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stops reading.  A task that waits for the next one gets the end."""
        with self._lock:
            self._told.clear()
            self._end()
