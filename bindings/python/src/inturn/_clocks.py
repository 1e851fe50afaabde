"""Clocks, where delays and deadlines come from; and rates of starts."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import NamedTuple

from . import _prototypes as c
from ._arguments import TIME, checked, nanoseconds, whole
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


class Rate(NamedTuple):
    """At most ``max_starts`` starts in each ``interval``, in seconds: a token bucket.

    The bucket holds ``burst`` starts, by default ``max_starts``, and is full at first.  Each start
    takes one, including those of further attempts.  An operation of an actor queue that continues
    after it was suspended takes none.  One start comes back each ``interval / max_starts`` of the
    queue's clock.  So no more than ``max_starts + burst - 1`` operations start in any ``interval``,
    and a queue that was idle or late catches up by at most a bucket.

    At most 5 requests a second:

    >>> import asyncio, inturn
    >>> async def fetch(page):
    ...     return f"page {page}"
    >>> async def main():
    ...     with inturn.OperationQueue(rate=inturn.Rate(5, 1, burst=1)) as requests:
    ...         return await asyncio.gather(*(requests.run(fetch, page) for page in (1, 2)))
    >>> asyncio.run(main())
    ['page 1', 'page 2']
    """

    max_starts: int
    interval: float
    burst: int | None = None


def structure_of(rate: Rate | None) -> c.inturn_rate:
    """The rate in the library's form."""
    if rate is None:
        return c.inturn_rate()
    burst = rate.max_starts if rate.burst is None else rate.burst
    for name, number in (("max_starts", rate.max_starts), ("burst", burst)):
        checked(rate, name, number, "a number of starts, 1 or more", whole(1, 2**32))
    what = f"a time in seconds for {burst} starts"
    interval = checked(rate, "interval", rate.interval, what, nanoseconds)
    checked(rate, "interval", rate.interval, what, lambda _: whole(1, 2**62)(interval * burst))
    return c.inturn_rate(rate.max_starts, burst, interval)
