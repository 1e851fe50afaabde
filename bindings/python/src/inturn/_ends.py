"""An operation's states and ends."""

# Without `annotations` of the future: named tuples compile each one that is a string.
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from ._errors import CancelledError, Error, TimedOutError

if TYPE_CHECKING:
    from ._prototypes import inturn_end
    from ._tokens import Token


class Outcome(IntEnum):
    """How an operation ended."""

    FINISHED = 1
    FAILED = 2
    CANCELLED = 3
    TIMED_OUT = 4
    ABANDONED = 5


class Cause(IntEnum):
    """Why an operation ended, if its token alone did not decide it."""

    NONE = 0
    REQUEST = 1
    GRACE = 2
    DESTROYED = 3
    MAX_WAIT = 4
    MAX_RUN = 5
    DEPENDENCY = 6
    SKIPPED = 7
    CONDITION = 8
    RESOLVED = 9
    JOINED = 10
    OWNER = 11


class State(IntEnum):
    """The state of an operation."""

    PENDING = 1
    RUNNING = 2
    ENDED = 3


class Progress(NamedTuple):
    """How far something has come, in units of its own.  A total of 0 means unknown."""

    completed: int
    total: int


class End(NamedTuple):
    """How an operation ended, why it was cancelled, and what its token was given.

    `attempts` is how often the operation was started.  If it joined another operation, it is how
    often that one was started, and ``started`` is False.
    """

    outcome: Outcome
    cause: Cause
    result: Any
    exception: Optional[BaseException]
    label: Optional[str]
    started: bool
    attempts: int = 0


def has_started(end: "inturn_end") -> bool:
    """Whether the operation was started itself, also at the time 0 of a manual clock."""
    return bool(end.attempts and end.cause != Cause.JOINED)


class Given:
    """What an attempt's token was given, noted before the library is told."""

    __slots__ = ("exception", "result")

    def __init__(self) -> None:
        self.result: Any = None
        self.exception: Optional[BaseException] = None


def error_of(end: End) -> Optional[BaseException]:
    """The exception that a call raises for this end; None if it returns the result."""
    if end.outcome is Outcome.FINISHED or end.exception is not None:
        return end.exception
    what = f"{end.label or 'the operation'!r} has ended: {end.outcome.name}, {end.cause.name}"
    if end.outcome is Outcome.TIMED_OUT:
        return TimedOutError(what)
    return CancelledError(what) if end.outcome is Outcome.CANCELLED else Error(what)


Work = Callable[["Token"], object]
"""Starts an operation, or does something about one; what it returns is not looked at."""

OnEnd = Callable[[End], object]
"""Called with the end of an operation. Its result is ignored."""
