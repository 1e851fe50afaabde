"""Tasks, of asyncio or of trio, that wait for what happens on other threads."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, Callable


def running_trio() -> Any:
    """The module trio, where one of its tasks calls; else None."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


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
