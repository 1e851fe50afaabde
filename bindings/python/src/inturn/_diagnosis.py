"""What the library notices and counts."""

from __future__ import annotations

import atexit
import os
import sys
from ctypes import byref, sizeof
from enum import IntEnum
from typing import Any, Callable, NamedTuple

from . import _prototypes as c
from ._arguments import checked, function
from ._callbacks import nanoseconds
from ._ends import State
from ._library import lib, ring


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


class Report(NamedTuple):
    """Something that the library noticed: in one line, and about which queue and operation."""

    kind: ReportKind
    message: str
    queue_label: str | None
    operation_label: str | None


ReportHandler = Callable[[Report], object]
"""What is told of a report; what it returns is not looked at."""


class Statistics(NamedTuple):
    """Counts of one queue; a snapshot, exact when nothing changes meanwhile.

    ``next_start_ns`` is the moment of its clock before which its rate or a delay lets nothing
    start; 0: none.
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


def room_for(count: int) -> Any:
    """Makes room for so many operations of a list, whose size the first one says."""
    infos = (c.inturn_operation_info * count)()
    if count:
        infos[0].size = sizeof(c.inturn_operation_info)
    return infos


def infos_of(infos: list[c.inturn_operation_info]) -> list[Info]:
    """What the library's structs say."""
    return [
        Info(
            State(info.state),
            info.cancelled,
            info.label.decode(),
            info.enqueued_ns,
            info.started_ns,
        )
        for info in infos
    ]


class LibraryStatistics(NamedTuple):
    """Counts of the whole library: what is alive."""

    workers: int
    queues: int
    operations: int
    executors: int
    clocks: int
    values: int
    observations: int


def fields(structure: Any) -> dict[str, Any]:
    """The fields of a struct, but for its size."""
    return {name: getattr(structure, name) for name, *_ in structure._fields_ if name != "size"}


def statistics() -> LibraryStatistics:
    """What of the library's objects is alive."""
    counts = c.inturn_library_statistics()
    lib.inturn_library_get_statistics(byref(counts))
    return LibraryStatistics(**fields(counts))


def _write(report: Report) -> None:
    """What is done with a report when nobody has asked for it."""
    # A refused wait raises, and a lost token warns: each says it already.
    is_known = report.kind in (ReportKind.DEADLOCK, ReportKind.LOST_TOKEN)
    if not is_known and sys.stderr is not None:
        print(report.message, file=sys.stderr)


_handler: ReportHandler = _write


def set_report_handler(handler: ReportHandler | None) -> None:
    """Sets what is told of stalls, refused waits, lost tokens, and observers that run away.

    It is called on the thread that noticed it, for a stall on one of the library's own, and must
    not block.  ``None``: each is written as one line to ``sys.stderr``, but for a refused wait,
    which is known by its exception, and a lost token, known by its warning.

    :raises TypeError: the handler is not callable.
    """
    global _handler
    if handler is not None:
        checked("inturn", "handler", handler, "a function of a Report", function)
    _handler = _write if handler is None else handler


def set_stall_limit(seconds: float | None) -> None:
    """Says after how many seconds what stands still is reported as stuck: 0: the default, which is
    one where the standard error is a terminal, and else ten; None: never.

    What the environment's ``INTURN_STALL`` says (such as ``500ms`` or ``off``) comes before the
    default, and this call before both.

    :raises TypeError: it is not a number.
    :raises ValueError: it is negative or not a number.
    """
    limit = -1
    if seconds is not None:
        what = "a time in seconds, from 0 on, or None"
        limit = checked("inturn", "seconds", seconds, what, nanoseconds)
    lib.inturn_report_set_stall_limit(limit)


def _text(string: bytes | None) -> str | None:
    return None if string is None else string.decode()


def _receive(_context: int | None, pointer: Any) -> None:
    told = pointer.contents
    kind, message = ReportKind(told.kind), told.message.decode()
    if kind is ReportKind.DEADLOCK:
        ring.message = message  # for the exception
    _handler(Report(kind, message, _text(told.queue_label), _text(told.operation_label)))


_receive_fn = c.inturn_report_fn(_receive)


def _take_reports() -> None:
    lib.inturn_report_set_handler(_receive_fn, None, c.inturn_destroy_fn())


def _leave_reports() -> None:
    lib.inturn_report_set_handler(c.inturn_report_fn(), None, c.inturn_destroy_fn())


_take_reports()
atexit.register(_leave_reports)  # the library may notice things after the interpreter has gone
os.register_at_fork(after_in_child=_take_reports)
