"""The types of an operation's options."""

# Without `annotations` of the future: named tuples compile each one that is a string.
from enum import IntEnum
from typing import Callable, NamedTuple, Optional, Union


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
