"""Asynchronous work, in turn.

A queue starts one operation, and the next when the first says that it is over::

    import inturn

    def upload(token):
        start_upload(file, when_done=token.finish)  # returns at once

    with inturn.FIFOQueue("uploads") as queue:
        queue.enqueue(upload)
        queue.enqueue(upload)  # starts when the first has been finished
"""

from ._batches import Batch, BatchEnd, BatchPolicy, OnBatchEnd
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
from ._events import Event, EventKind, Events, OnEvent
from ._executors import Executor, run_main, stop_main
from ._futures import Future
from ._kinds import ActorQueue, FIFOQueue, InteractionQueue, OperationQueue
from ._library import path as library_path
from ._library import version
from ._observed import Change, ChangeKind, Observation, Observed
from ._operations import Cause, End, OnEnd, Operation, Outcome, Progress, State, Token, Work
from ._options import AfterPolicy, Condition, OperationOptions, Retry, Verdict
from ._owners import Owner
from ._queues import Info, Queue
from ._states import BatchStates, ObservedState, OperationStates, QueueStates
from ._values import Value

__all__ = [
    "ActorQueue",
    "AfterPolicy",
    "AlreadyFinishedError",
    "Batch",
    "BatchEnd",
    "BatchPolicy",
    "BatchStates",
    "BusyError",
    "CancelledError",
    "Cause",
    "Change",
    "ChangeKind",
    "ClosedError",
    "Condition",
    "DeadlockError",
    "End",
    "Error",
    "Event",
    "EventKind",
    "Events",
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
    "Observed",
    "ObservedState",
    "OnBatchEnd",
    "OnEnd",
    "OnEvent",
    "Operation",
    "OperationOptions",
    "OperationQueue",
    "OperationStates",
    "Outcome",
    "Owner",
    "Progress",
    "Queue",
    "QueueStates",
    "Report",
    "ReportHandler",
    "ReportKind",
    "Retry",
    "StaleError",
    "State",
    "Statistics",
    "TimedOutError",
    "Token",
    "UnsupportedError",
    "Value",
    "Verdict",
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
