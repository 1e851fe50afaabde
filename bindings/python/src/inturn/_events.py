"""Events: what happens in a queue, in order."""

from __future__ import annotations

import threading
import weakref
from enum import IntEnum
from typing import Any, Callable, NamedTuple

from . import _prototypes as c
from ._callbacks import listen
from ._ends import Cause, Outcome
from ._library import trampoline
from ._readers import Reader


class EventKind(IntEnum):
    """What has happened in a queue."""

    ENQUEUED = 1
    JOINED = 2
    STARTED = 3
    RESTARTING = 4
    ENDED = 5
    SUSPENDED = 6
    RESUMED = 7
    CLOSED = 8
    IDLE = 9


class Event(NamedTuple):
    """What has happened in a queue.

    ``operation`` numbers the queue's operations from 1, in the order in which they were accepted;
    it is 0 for an event of the queue. ``outcome`` and ``cause`` are those of `EventKind.ENDED`.
    """

    kind: EventKind
    operation: int
    label: str | None
    outcome: Outcome | None
    cause: Cause | None
    at_ns: int


OnEvent = Callable[[Event], object]
"""Called with each event of a queue: see ``on_event``."""


call_with_event = trampoline(c.inturn_event_fn, listen)


class Hub:
    """Receives the events of one queue and passes them on."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self._on_event = on_event
        self._lock = threading.RLock()  # protects the rest; a finaliser may come while it is held
        self._readers: weakref.WeakSet[Events] = weakref.WeakSet()
        self._is_over = False

    def _tell(self, pointer: Any) -> None:
        told = pointer.contents
        kind, label = EventKind(told.kind), told.label
        event = Event(
            kind,
            told.operation,
            None if label is None else label.decode(),
            Outcome(told.outcome) if kind is EventKind.ENDED else None,
            Cause(told.cause) if kind is EventKind.ENDED else None,
            told.at_ns,
        )
        with self._lock:
            readers = list(self._readers)
        for reader in readers:
            reader._push(event)
        if self._on_event is not None:
            self._on_event(event)

    def _end(self) -> None:
        """The queue is gone and its last event has been delivered."""
        self._on_event = None
        with self._lock:
            self._is_over = True
            readers = list(self._readers)
        for reader in readers:
            reader._end()

    def read(self) -> Events:
        reader = Events(self)
        with self._lock:
            self._readers.add(reader)
            is_over = self._is_over
        if is_over:
            reader._end()
        return reader


class Events(Reader[Event]):
    """The events of a queue from a certain moment on, for one task; see `Queue.events`."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub = hub  # alive, to tell of the end
