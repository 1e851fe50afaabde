"""One exception for each status except ``INTURN_OK``, in the header's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._diagnosis import Info


class Error(Exception):
    """A call of the library was refused, and has changed nothing."""

    status = 0


class InvalidArgumentError(Error, ValueError):
    """An argument is out of range."""


class NullHandleError(Error):
    """The object was never made."""


class StaleError(Error, RuntimeError):
    """The object no longer exists."""


class WrongKindError(Error, TypeError):
    """The object is of another kind."""


class AlreadyFinishedError(Error):
    """The operation has already ended."""


class ClosedError(Error, RuntimeError):
    """The queue accepts no more operations."""


class FullError(Error):
    """As many operations are pending as the queue's capacity allows."""


class NotSuspendedError(Error):
    """A resume without a suspend."""


class TimedOutError(Error, TimeoutError):
    """The time ran out before the wait was over.

    After a drain, ``left`` has the first operations that had not ended.
    """

    left: tuple[Info, ...] = ()


class CancelledError(Error):
    """It has been cancelled before, or what the call waited for was cancelled."""


class DeadlockError(Error):
    """The call would wait for itself.  `ring` describes the ring of queues, if it is known."""

    ring: str | None = None


class WrongThreadError(Error):
    """Another thread drains the executor, or only the main thread may."""


class ForkedError(Error):
    """The object was made in the parent process, before a fork."""


class NoMemoryError(Error, MemoryError):
    """Out of memory, threads or file descriptors."""


class UnsupportedError(Error):
    """Not available for this object or on this system."""


class BusyError(Error):
    """The object is in use, or what was asked for does not exist yet."""


BY_STATUS: dict[int, type[Error]] = {}
for _number, _error in enumerate(Error.__subclasses__(), 1):
    _error.status = -_number
    BY_STATUS[-_number] = _error
