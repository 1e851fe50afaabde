"""Asynchronous work, in turn.

A queue starts one operation, and the next when the first says that it is over::

    import inturn

    def upload(token):
        start_upload(file, when_done=token.finish)  # returns at once

    with inturn.FIFOQueue("uploads") as queue:
        queue.enqueue(upload)
        queue.enqueue(upload)  # starts when the first has been finished
"""

from ._clocks import ManualClock, now
from ._diagnosis import (
    LibraryStatistics,
    Report,
    ReportHandler,
    ReportKind,
    Statistics,
    set_report_handler,
    statistics,
)
from ._errors import (
    AlreadyFinishedError,
    BusyError,
    CancelledError,
    ClosedError,
    DeadlockError,
    Error,
    ForkedError,
    FullError,
    InvalidArgumentError,
    NoMemoryError,
    NotSuspendedError,
    NullHandleError,
    StaleError,
    TimedOutError,
    UnsupportedError,
    WrongKindError,
    WrongThreadError,
)
from ._executors import Executor, run_main, stop_main
from ._futures import Future
from ._library import path as library_path
from ._library import version
from ._operations import Cause, End, OnEnd, Operation, Outcome, State, Token, Work
from ._queues import ActorQueue, FIFOQueue, Info, InteractionQueue, OperationQueue, Queue
from ._values import Change, ChangeKind, Observation, Value

__all__ = [
    "ActorQueue",
    "AlreadyFinishedError",
    "BusyError",
    "CancelledError",
    "Cause",
    "Change",
    "ChangeKind",
    "ClosedError",
    "DeadlockError",
    "End",
    "Error",
    "Executor",
    "FIFOQueue",
    "ForkedError",
    "FullError",
    "Future",
    "Info",
    "InteractionQueue",
    "InvalidArgumentError",
    "LibraryStatistics",
    "ManualClock",
    "NoMemoryError",
    "NotSuspendedError",
    "NullHandleError",
    "Observation",
    "OnEnd",
    "Operation",
    "OperationQueue",
    "Outcome",
    "Queue",
    "Report",
    "ReportHandler",
    "ReportKind",
    "StaleError",
    "State",
    "Statistics",
    "TimedOutError",
    "Token",
    "UnsupportedError",
    "Value",
    "Work",
    "WrongKindError",
    "WrongThreadError",
    "library_path",
    "now",
    "run_main",
    "set_report_handler",
    "statistics",
    "stop_main",
    "version",
]

__version__ = "0.1.0"
