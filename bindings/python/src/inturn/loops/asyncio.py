"""Work on asyncio's loop.

::

    async def main():
        with inturn.loops.asyncio.attach():
            ...
"""

from __future__ import annotations

import asyncio

from .._errors import WrongThreadError
from ._attachment import Attachment, Source

__all__ = ["AsyncioAttachment", "attach"]


class AsyncioAttachment(Attachment):
    """See `attach`."""

    _loop = "asyncio"

    def __init__(self, source: Source | None, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        super().__init__(source)

    def _begin(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Remaining work keeps the descriptor readable for the next turn.
        self.loop.add_reader(descriptor, self._turn)

    def _end(self) -> None:
        if not self.loop.is_closed():
            self.loop.remove_reader(self._descriptor)


def attach(
    source: Source | None = None, *, loop: asyncio.AbstractEventLoop | None = None
) -> AsyncioAttachment:
    """Makes the running loop, or one that this thread is going to run, drain an executor.

    `source` is the main executor by default.  The loop must be able to watch a descriptor; on Unix
    all can.  A KeyboardInterrupt or SystemExit in work leaves the loop, as in any callback.

    :raises BusyError: the executor is already attached to a loop.
    :raises WrongThreadError: another thread runs the loop or drains the executor; or it is the main
        executor, and the caller is not the main thread.
    :raises RuntimeError: no loop is given, and none is running.
    """
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        if loop is None:
            raise
        if loop.is_running():
            raise WrongThreadError("another thread runs the loop") from None
    else:
        if loop not in (None, running):
            raise WrongThreadError("this thread runs another loop")
        loop = running
    return AsyncioAttachment(source, loop)
