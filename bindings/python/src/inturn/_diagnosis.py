"""What the library notices and counts."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import byref, c_void_p, cast
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from . import _prototypes as c
from ._arguments import checked, one_of
from ._ends import State
from ._errors import AlreadyFinishedError
from ._futures import Future
from ._library import lib
from ._operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator


class ReportKind(IntEnum):
    """What a report is about."""

    STALL = 1
    DEADLOCK = 2
    LOST_TOKEN = 3
    RUNAWAY = 4
    LOST_OBSERVER = 5
    NO_THREAD = 6
    INVALID_ARGUMENT = 7
    EXCEPTION = 8
    DROPPED = 9
    REFUSED = 10


class StallCause(IntEnum):
    """Why an operation or a queue is stuck; see ``inturn_stall_cause`` in ``inturn.h``."""

    NONE = 0
    AFTER = 1
    NAME = 2
    TURN = 3
    TOKEN = 4
    CALL = 5
    TASK = 6
    PLACE = 7
    CALLBACK = 8
    SUSPENDED = 9
    VIEW = 10
    CLOCK = 11
    DELAY = 12
    EXECUTOR = 13
    POOL = 14
    WAIT = 15
    OBSERVER = 16  # the link is a value, and queue_label its label


class StallLink(NamedTuple):
    """One link of the chain from what is stuck to its cause."""

    cause: StallCause
    queue_label: str | None
    operation_label: str | None
    is_operation: bool  # else it is the queue as a whole
    file: str | None = None
    line: int = 0
    function: str | None = None
    thread: int = 0  # the native id of the one that is in its call, or 0


class Report(NamedTuple):
    """Something that the library noticed, in one line, with the queue and the operation it is
    about.

    A report about something stuck also has the chain from it to the cause, how long it has been
    stuck (at least), and how many operations are waiting besides those of the chain.

    ``file`` and ``line`` are the line that enqueued the operation or suspended the queue, and
    ``function`` is the function it is in.  They are None and 0 if they are unknown.

    ``steps`` is the last that the chain's queues did, a line each, if `start_trace` was called
    before.

    ``holders`` says who is to end the last operation of the chain, once its work has been called:
    the task or the thread that runs it, and where that stands, or else what refers to its token,
    such as a variable of a module, an attribute, a closure or a timer.  Three are named at most.
    The search calls no code of the program, ends after about a tenth of a second, and keeps nothing
    alive after that; what the program drops meanwhile may be finalised by the search's thread.  Not
    all is found: local variables of functions that run, and what C code holds, are out of sight.
    If nothing is found, it is empty.
    """

    kind: ReportKind
    message: str
    queue_label: str | None
    operation_label: str | None
    chain: tuple[StallLink, ...] = ()
    stalled_ns: int = 0
    waiting: int = 0
    file: str | None = None
    line: int = 0
    function: str | None = None
    steps: str | None = None
    holders: tuple[str, ...] = ()


ReportHandler = Callable[[Report], object]
"""Called with each report. Its result is ignored."""


T = TypeVar("T")


def said(kind: type[T], structure: Any, /, **made: Callable[[Any], Any]) -> T:
    """A named tuple of a library struct's fields with the same names; ``made`` converts some of
    them, or makes what the struct does not have."""
    values: dict[str, Any] = {}
    for name in kind._fields:  # type: ignore[attr-defined]
        value = getattr(structure, name, None)
        text = value.decode() if isinstance(value, bytes) else value
        values[name] = made[name](text) if name in made else text
    return kind(**values)


class Statistics(NamedTuple):
    """Counts of one queue: a snapshot, exact if nothing changes meanwhile.

    ``next_start_ns`` is the time of the queue's clock before which its rate or a delay lets nothing
    start.  It is 0 if there is none.
    """

    suspends: int
    pending: int
    running: int
    finished: int
    failed: int
    cancelled: int
    timed_out: int
    abandoned: int
    next_start_ns: int


class Info(NamedTuple):
    """An operation that has not ended, as `Queue.operations` lists it."""

    state: State
    cancelled: bool
    label: str
    enqueued_ns: int
    started_ns: int


def infos_of(infos: list[c.inturn_operation_info]) -> list[Info]:
    """The library's structs as `Info`."""
    return [said(Info, info, state=State) for info in infos]


class LibraryStatistics(NamedTuple):
    """Counts of the whole library: the objects that are alive."""

    workers: int
    queues: int
    operations: int
    executors: int
    clocks: int
    values: int
    observations: int


def statistics() -> LibraryStatistics:
    """How many objects of the library are alive."""
    counts = c.inturn_library_statistics()
    lib.inturn_library_get_statistics(byref(counts))
    return said(LibraryStatistics, counts)


def write(report: Report) -> None:
    """The default report handler."""
    # A refused wait raises and a lost token warns, so these need no line.
    is_known = report.kind in (ReportKind.DEADLOCK, ReportKind.LOST_TOKEN)
    if not is_known and sys.stderr is not None:
        lines = [f"inturn: {report.message}", *(f"  held by {each}" for each in report.holders)]
        print("\n".join(lines), file=sys.stderr)


def _links(told: Any) -> Iterator[Any]:
    place = cast(told.chain, c_void_p).value or 0
    for _ in range(told.chain_count):
        link = c.inturn_stall_link.from_address(place)
        place += link.size
        yield link


def _report(told: Any) -> tuple[Report, int]:
    """A report without holders, and the token whose holders are to be named, or zero."""
    links = list(_links(told))
    chain = tuple(said(StallLink, link, cause=StallCause) for link in links)
    report = said(Report, told, kind=ReportKind, chain=lambda _: chain, holders=lambda _: ())
    is_held = report.kind is ReportKind.STALL and chain and chain[-1].cause in _HELD
    return report, links[-1].token.bits if is_held else 0


# The causes where the work was called, and what it was called for is not over.
_HELD = (StallCause.TOKEN, StallCause.CALL, StallCause.PLACE)


def _with_holders(report: Report, token: int) -> Report:
    if not token:
        return report
    try:
        from ._holders import holders  # only when something is stuck
    except ImportError:  # the interpreter ends
        return report
    return report._replace(holders=holders(token))


def read(told: Any) -> Report:
    """A report with its holders."""
    return _with_holders(*_report(told))


def why(operation: Operation | Future[Any]) -> Report | None:
    """Says what keeps an operation from ending right now, no matter how long it has done so.

    The report has the chain from the operation to the cause, and describes it in one line.  Its
    ``holders`` say who is to end the last one.  The result is ``None`` if the operation has ended.

    :raises TypeError: it is neither an operation nor a future of a queue.
    """
    what = "an operation or a future of a queue"
    operation = checked("inturn.why", "operation", operation, what, one_of(Operation, Future))
    answers: list[tuple[Report, int]] = []

    def tell(_context: int | None, pointer: Any) -> None:
        answers.append(_report(pointer.contents))

    with suppress(AlreadyFinishedError):
        handle = c.inturn_operation(operation._handle or 0)
        lib.inturn_why(handle, c.inturn_report_fn(tell), None)
    return _with_holders(*answers[0]) if answers else None
