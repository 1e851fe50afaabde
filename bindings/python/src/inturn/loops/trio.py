"""Work on trio's loop, as a task of a nursery.

::

    async with trio.open_nursery() as nursery:
        with inturn.loops.trio.attach(nursery):
            ...

Coroutines need none of this: they run in any queue, wherever they are awaited.
"""

from __future__ import annotations

import trio

from .._errors import WrongThreadError
from ._attachment import Attachment, Source

__all__ = ["TrioAttachment", "attach"]


class TrioAttachment(Attachment):
    """See `attach`."""

    _loop = "trio"

    def __init__(self, source: Source | None, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self._scope = trio.CancelScope()
        super().__init__(source)

    def _begin(self, descriptor: int) -> None:
        try:
            trio.lowlevel.current_task()
        except RuntimeError as error:
            raise WrongThreadError("trio runs on another thread, or not at all") from error
        self.nursery.start_soon(self._watch, descriptor, name=repr(self))

    async def _watch(self, descriptor: int) -> None:
        try:
            with self._scope:
                while self._attached:
                    # Remaining work keeps it readable; other tasks come first.
                    await trio.lowlevel.wait_readable(descriptor)
                    self._turn()
        finally:
            self.detach()  # the nursery may have been cancelled

    def _end(self) -> None:
        self._scope.cancel()


def attach(nursery: trio.Nursery, source: Source | None = None) -> TrioAttachment:
    """Makes a task of a nursery drain an executor: by default the main one.

    The task ends with the attachment, or when the nursery is cancelled.  Until then it keeps the
    nursery open.  A KeyboardInterrupt or SystemExit in work leaves the nursery.

    :raises BusyError: the executor is already attached to a loop.
    :raises WrongThreadError: the caller is not a task of trio, or another thread drains the
        executor; or it is the main executor, and the caller is not the main thread.
    :raises RuntimeError: the nursery is closed.
    """
    return TrioAttachment(source, nursery)
