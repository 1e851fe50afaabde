"""How many operations of a queue start in a time."""

from __future__ import annotations

from typing import NamedTuple

from . import _prototypes as c
from ._arguments import checked, whole
from ._callbacks import nanoseconds


class Rate(NamedTuple):
    """So many starts in each interval, a time in seconds: a token bucket.

    It holds ``burst`` starts, or as many as ``max_starts``, and is full in the beginning.  Each
    start takes one, that of a further attempt, too; what an actor queue's operation does after it
    was suspended takes none.  Each ``interval / max_starts`` of the queue's clock one comes back.
    So in no time of an ``interval`` do more than ``max_starts + burst - 1`` start, and what starts
    late is made up for, up to a bucket.

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
    """The rate as the library takes it."""
    if rate is None:
        return c.inturn_rate()
    burst = rate.max_starts if rate.burst is None else rate.burst
    for name, number in (("max_starts", rate.max_starts), ("burst", burst)):
        checked(rate, name, number, "a number of starts, from 1 on", whole(1, 2**32))
    what = f"a time in seconds for {burst} starts"
    interval = checked(rate, "interval", rate.interval, what, nanoseconds)
    checked(rate, "interval", rate.interval, what, lambda _: whole(1, 2**62)(interval * burst))
    return c.inturn_rate(rate.max_starts, burst, interval)
