"""Who gets the reports that the library makes by itself."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from ctypes import CFUNCTYPE, c_void_p
from typing import TYPE_CHECKING

from . import _prototypes as c
from ._arguments import checked, function, limit_of
from ._library import NOTHING, lib, must, prepared, ring, trampoline, waiting

if TYPE_CHECKING:
    from ._diagnosis import ReportHandler

_handler: ReportHandler | None = None  # the default one


def set_report_handler(handler: ReportHandler | None) -> None:
    """Sets the function that gets reports of stalls, refused waits, lost tokens and runaway
    observers.

    It is called on the thread that noticed the problem; for a stall, that is a thread of the
    library.  It must not block.  With ``None``, each report is written to ``sys.stderr``, as one
    line and one for each holder, except a refused wait, which raises an exception, and a lost
    token, which issues a warning.

    :raises TypeError: the handler is not callable.
    """
    global _handler
    if handler is not None:
        checked("inturn", "handler", handler, "a function of a Report", function)
    _handler = handler


def set_stall_limit(seconds: float | None) -> None:
    """Sets after how many seconds something that makes no progress is reported as stuck.

    0 is the default: one second if the standard error is a terminal, if a debugger is attached, or
    in a test under pytest or unittest; otherwise ten.  None turns these reports off.  The
    environment variable ``INTURN_STALL`` (such as ``500ms`` or ``off``) overrides the default, this
    call overrides both, and a queue's ``stall`` overrides them all.  What may be meant to stand
    still, such as a suspended queue, is reported after ten times as long, unless a thread or a task
    waits for it; so is what these wait for in a queue that gets on with other operations, and what
    an interaction queue shows, as people take their time.

    :raises TypeError: it is not a number.
    :raises ValueError: it is negative or not a number.
    """
    lib.inturn_report_set_stall_limit(limit_of("inturn", seconds, "seconds"))


def _receive(_context: int | None, address: int) -> None:
    from ._diagnosis import ReportKind, read, write  # only when there is a report

    report = read(c.inturn_report.from_address(address))
    if report.kind is ReportKind.DEADLOCK:
        ring.message = report.message  # for the exception
    (write if _handler is None else _handler)(report)


# With addresses, as the type of a report takes long to make.
_receive_fn = prepared(trampoline(CFUNCTYPE(None, c_void_p, c_void_p), _receive))


def _take_reports() -> None:
    must(waiting.report_set_handler, _receive_fn, None, NOTHING)


def _leave_reports() -> None:
    must(waiting.report_set_handler, NOTHING, None, NOTHING)


def _write_trace() -> None:
    """Writes what INTURN_TRACE asks for where Ctrl-C ends the interpreter, which then raises the
    signal again, so that the library's own exit handler is not called."""
    # Nothing is imported: what runs a string, as named tuples do, makes the interpreter forget
    # that it was interrupted.
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        with suppress(Exception):  # where nothing asks
            lib.inturn_trace_write(-1)


_take_reports()
atexit.register(_write_trace)
atexit.register(_leave_reports)  # the library may report after the interpreter is gone
os.register_at_fork(after_in_child=_take_reports)
