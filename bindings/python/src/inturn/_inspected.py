"""What a queue tells of itself."""

from __future__ import annotations

from ctypes import byref, c_size_t
from typing import TYPE_CHECKING

from . import _prototypes as c
from ._arguments import checked, whole
from ._diagnosis import Info, Statistics, fields, infos_of, room_for
from ._errors import UnsupportedError
from ._handles import NeverMade
from ._library import lib
from ._turn_takers import TurnTaker

if TYPE_CHECKING:
    from ._events import Events, Hub
    from ._states import QueueStates


class Inspected(TurnTaker):
    """The base of `Queue`, too."""

    _hub: Hub | None = None
    _states: QueueStates | None = None
    _handle: c.inturn_queue = NeverMade()  # type: ignore[assignment]

    @property
    def states(self) -> QueueStates:
        """Its states, to be observed: see `QueueStates`."""
        if self._states is None:
            from ._states import QueueStates

            self._states = QueueStates(self)
        return self._states

    def statistics(self) -> Statistics:
        """How many operations there are and have been, by state and outcome."""
        counts = c.inturn_queue_statistics()
        lib.inturn_queue_get_statistics(self._handle, byref(counts))
        return Statistics(**fields(counts))

    def operations(self, limit: int = 1_000) -> list[Info]:
        """Lists operations that have not ended: running ones first, then pending ones in order.

        :raises ValueError: the limit is negative.
        """
        checked(self, "limit", limit, "a number of operations, from 0 on", whole(0, 2**32))
        infos, count = room_for(limit), c_size_t()
        lib.inturn_queue_list(self._handle, infos, limit, byref(count))
        return infos_of(infos[: count.value])

    def events(self) -> Events:
        """The queue's events from now on, for ``async for``, until the queue is destroyed.

        Any number of readers may read them, in any loops; each keeps what it has not read yet.
        They are for queues that were made with ``events`` or ``on_event``: either costs memory and
        a call of Python's for each event, so that an operation takes several times as long.

        :raises UnsupportedError: the queue was made with neither.
        """
        if self._hub is None:
            raise UnsupportedError(f"{self!r} was made without events=True")
        return self._hub.read()
