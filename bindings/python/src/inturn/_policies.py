"""What the options of operations take."""

# Without `annotations` of the future: named tuples compile each one that is a string.
from collections.abc import Iterable
from contextlib import suppress
from ctypes import byref, c_uint64
from enum import IntEnum
from typing import Any, Callable, NamedTuple, Optional, TypedDict, Union

from . import _prototypes as c
from ._arguments import checked, whole
from ._ends import OnEnd
from ._errors import StaleError
from ._futures import Future
from ._handles import Closing
from ._library import lib
from ._operations import Operation


class AfterPolicy(IntEnum):
    """What happens to an operation if one that it waits for does not finish."""

    ENDED = 0  # nothing: it starts when all have ended
    FINISHED = 1  # it ends cancelled, `Cause.DEPENDENCY`


class Verdict(IntEnum):
    """What a condition decides about its operation."""

    START = 0
    SKIP = 1  # it ends finished, `Cause.SKIPPED`
    GIVE_UP = 2  # it ends cancelled, `Cause.CONDITION`


class Retry(NamedTuple):
    """How often, and when, an operation is started again after it has failed or exceeded its
    ``max_run``.  With ``only_failures``, it is not started again after ``max_run``; nor is it with
    ``free_at_max_run`` while its call has not returned, as that of a submitted function.

    There are at most ``attempts`` attempts, the first one included (0: no limit).  ``delay`` is the
    time in seconds before the second attempt.  Each further delay is ``factor`` times as long, up
    to ``max_delay`` (0: no limit).  ``jitter``, 0 to 1, is the largest part of each delay that is
    left out at random.  ``decide(exception, attempts)``, called by the queue's executor, returns
    whether a failure is worth another attempt; after ``max_run`` the exception is a
    `TimedOutError`.  If it raises, the operation fails with that exception, whose cause is the
    failure.  Only an ``Exception`` is worth another attempt: after an interrupt, for example, there
    is none, and ``decide`` is not called.
    """

    attempts: int = 0
    delay: float = 0
    factor: float = 1
    max_delay: float = 0
    jitter: float = 0
    decide: Optional[Callable[[BaseException, int], bool]] = None
    only_failures: bool = False


Condition = Callable[[], Union[Verdict, bool]]
"""Says whether work is to be called: False is ``Verdict.SKIP``; what it raises fails it."""


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


class OperationOptions(TypedDict, total=False):
    """The options that `Queue.options` takes and explains."""

    label: Optional[str]
    on_end: Optional[OnEnd]
    priority: int
    after: Iterable[Union[Operation, Future[Any]]]
    after_policy: Union[AfterPolicy, bool]
    barrier: bool
    urgent: bool
    exclusive: Iterable[str]
    condition: Optional[Condition]
    retry: Optional[Retry]
    key: Optional[str]
    join: bool
    owner: Optional[Owner]
    max_wait: float
    max_run: float
    free_at_max_run: bool
    stall: float
    cancel_grace: float
