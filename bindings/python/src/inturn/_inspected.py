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
        """Its observable states: see `QueueStates`."""
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
        """Lists the operations that have not ended: first those that are running, then those that
        are pending, in order.

        :raises ValueError: the limit is negative.
        """
        checked(self, "limit", limit, "a number of operations, 0 or more", whole(0, 2**32))
        infos, count = room_for(limit), c_size_t()
        lib.inturn_queue_list(self._handle, infos, limit, byref(count))
        return infos_of(infos[: count.value])

    def events(self) -> Events:
        """The queue's events from now on, for ``async for``, until the queue is destroyed.

        There may be any number of readers, in any loops.  Each keeps the events that it has not
        read yet.  The queue must have been made with ``events`` or ``on_event``.  Either costs
        memory and a Python call for each event, so an operation takes several times as long.

        :raises UnsupportedError: the queue was made with neither.
        """
        if self._hub is None:
            raise UnsupportedError(f"{self!r} was made without events=True")
        return self._hub.read()
