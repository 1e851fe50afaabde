"""Asynchronous work, in order.

A queue starts the next operation when the previous one says that it is done::

    import inturn

    def upload(token):
        start_upload(file, when_done=token.finish)  # returns at once

    with inturn.FIFOQueue("uploads") as queue:
        queue.enqueue(upload)
        queue.enqueue(upload)  # starts when the first has been finished
"""

from typing import TYPE_CHECKING, Any

from ._ends import Cause, End, OnEnd, Outcome, Progress, State, Work
from ._enqueuing import Options
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
from ._kinds import ActorQueue, FIFOQueue, InteractionQueue, OperationQueue
from ._library import path as library_path, version
from ._operations import Operation
from ._queues import Queue
from ._reports import set_report_handler, set_stall_limit
from ._tokens import Token

if TYPE_CHECKING:
    from ._batches import Batch, BatchEnd, BatchPolicy, OnBatchEnd
    from ._clocks import ManualClock, Rate, now
    from ._diagnosis import (
        Info,
        LibraryStatistics,
        Report,
        ReportHandler,
        ReportKind,
        StallCause,
        StallLink,
        Statistics,
        statistics,
        why,
    )
    from ._events import Event, EventKind, Events, OnEvent
    from ._keywords import OperationOptions
    from ._observed import Change, ChangeKind, Observation, Observed
    from ._options import AfterPolicy, Condition, Retry, Verdict
    from ._owners import Owner
    from ._snapshots import (
        Entry,
        EntryFlag,
        EntryKind,
        dump,
        snapshot,
        start_trace,
        stop_trace,
        write_trace,
    )
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
    "Entry",
    "EntryFlag",
    "EntryKind",
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
    "Options",
    "Outcome",
    "Owner",
    "Progress",
    "Queue",
    "QueueStates",
    "Rate",
    "Report",
    "ReportHandler",
    "ReportKind",
    "Retry",
    "StaleError",
    "StallCause",
    "StallLink",
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
    "dump",
    "library_path",
    "now",
    "run_main",
    "set_report_handler",
    "set_stall_limit",
    "snapshot",
    "start_trace",
    "statistics",
    "stop_main",
    "stop_trace",
    "version",
    "why",
    "write_trace",
]

__version__ = "0.1.0"

# Modules that not every program needs; each is imported when one of its names is first used.
_LATER = {
    "_batches": ("Batch", "BatchEnd", "BatchPolicy", "OnBatchEnd"),
    "_clocks": ("ManualClock", "Rate", "now"),
    "_diagnosis": (
        "Info",
        "LibraryStatistics",
        "Report",
        "ReportHandler",
        "ReportKind",
        "StallCause",
        "StallLink",
        "Statistics",
        "statistics",
        "why",
    ),
    "_events": ("Event", "EventKind", "Events", "OnEvent"),
    "_keywords": ("OperationOptions",),
    "_observed": ("Change", "ChangeKind", "Observation", "Observed"),
    "_options": ("AfterPolicy", "Condition", "Retry", "Verdict"),
    "_owners": ("Owner",),
    "_snapshots": (
        "Entry",
        "EntryFlag",
        "EntryKind",
        "dump",
        "snapshot",
        "start_trace",
        "stop_trace",
        "write_trace",
    ),
    "_states": ("BatchStates", "ObservedState", "OperationStates", "QueueStates"),
    "_values": ("Value",),
}


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            value = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
