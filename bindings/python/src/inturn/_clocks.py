"""Clocks: where delays and deadlines come from."""

from __future__ import annotations

from ctypes import byref, c_int64

from . import _prototypes as c
from ._arguments import TIME, checked, nanoseconds
from ._handles import Closing
from ._library import lib


class ManualClock(Closing):
    """Stands at zero until it is advanced, so that time can be tested without waiting.

    >>> with ManualClock() as clock:
    ...     clock.advance(1.5)
    ...     clock.now
    1.5
    """

    def __init__(self) -> None:
        self._handle = c.inturn_clock()
        lib.inturn_clock_create_manual(byref(self._handle))

    @property
    def now(self) -> float:
        """The clock's time in seconds."""
        now = c_int64()
        lib.inturn_clock_now(self._handle, byref(now))
        return now.value / 1e9

    def advance(self, seconds: float) -> None:
        """Advances the clock.  When this returns, whatever became due has been handed to its
        executor.

        :raises ValueError: the time is negative or not a number.
        """
        lib.inturn_clock_advance(self._handle, checked(self, "seconds", seconds, TIME, nanoseconds))

    def close(self) -> None:
        """Destroys the clock; a second call does nothing.

        :raises BusyError: a queue uses it.
        """
        if self._handle.bits:
            lib.inturn_clock_destroy(self._handle)
            self._handle = c.inturn_clock()

    def __repr__(self) -> str:
        return f"<inturn.ManualClock{'' if self._handle.bits else ' (closed)'}>"


def now() -> float:
    """The system clock's time in seconds: monotonic, as operations' times are."""
    time = c_int64()
    lib.inturn_clock_now(c.inturn_clock(), byref(time))
    return float(time.value / 1e9)
