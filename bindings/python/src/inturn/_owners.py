"""Owners: the objects that operations are for."""

from __future__ import annotations

from contextlib import suppress
from ctypes import byref, c_uint64

from . import _prototypes as c
from ._arguments import checked, whole
from ._errors import StaleError
from ._handles import Closing
from ._library import lib


class Owner(Closing):
    """A window, a document, a connection: when it goes away, its operations are cancelled.

    `close`, the end of ``with``, or the loss of the last reference cancels each operation that was
    enqueued with this owner, in any queue, with `Cause.OWNER`.  A running one continues until it
    responds.  At most ``capacity`` of them may be pending or running (0: no limit).  One more is
    refused with `FullError`.

    >>> from inturn import FIFOQueue, Owner
    >>> with FIFOQueue() as queue:
    ...     queue.suspend()
    ...     with Owner() as window:
    ...         operation = queue.options(owner=window).enqueue(print)
    ...     queue.resume()
    >>> operation.wait().cause.name
    'OWNER'
    """

    def __init__(self, capacity: int = 0) -> None:
        """At most ``capacity`` of its operations may not have ended (0: no limit)."""
        self._handle = c.inturn_owner()
        checked(self, "capacity", capacity, "a number of operations, 0 or more", whole(0, 2**64))
        lib.inturn_owner_create(capacity, byref(self._handle))

    @property
    def count(self) -> int:
        """How many of its operations have not ended.

        :raises StaleError: it is closed.
        """
        count = c_uint64()
        lib.inturn_owner_get_count(self._handle, byref(count))
        return count.value

    def close(self) -> None:
        """Cancels its operations, and accepts no more.  A second call does nothing."""
        with suppress(StaleError):
            lib.inturn_owner_destroy(self._handle)

    def __repr__(self) -> str:
        return f"<inturn.Owner {self._handle.bits:#x}>"
