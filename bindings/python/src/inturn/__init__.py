"""Asynchronous work, in order.

A queue starts the next operation when the previous one says that it is done::

    import inturn

    def upload(token):
        start_upload(file, when_done=token.finish)  # returns at once

    with inturn.FIFOQueue("uploads") as queue:
        queue.enqueue(upload)
        queue.enqueue(upload)  # starts when the first has been finished
"""

from typing import TYPE_CHECKING

from ._ends import (
    Cause as Cause,
    End as End,
    OnEnd as OnEnd,
    Outcome as Outcome,
    Progress as Progress,
    State as State,
    Work as Work,
)
from ._enqueuing import Options as Options
from ._errors import (
    AlreadyFinishedError as AlreadyFinishedError,
    BusyError as BusyError,
    CancelledError as CancelledError,
    ClosedError as ClosedError,
    DeadlockError as DeadlockError,
    Error as Error,
    ForkedError as ForkedError,
    FullError as FullError,
    InvalidArgumentError as InvalidArgumentError,
    NoMemoryError as NoMemoryError,
    NotSuspendedError as NotSuspendedError,
    NullHandleError as NullHandleError,
    StaleError as StaleError,
    TimedOutError as TimedOutError,
    UnsupportedError as UnsupportedError,
    WrongKindError as WrongKindError,
    WrongThreadError as WrongThreadError,
)
from ._executors import Executor as Executor, run_main as run_main, stop_main as stop_main
from ._futures import Future as Future
from ._kinds import (
    ActorQueue as ActorQueue,
    FIFOQueue as FIFOQueue,
    InteractionQueue as InteractionQueue,
    OperationQueue as OperationQueue,
)
from ._library import library_path as library_path, version as version
from ._operations import Operation as Operation
from ._queues import Queue as Queue
from ._reports import set_report_handler as set_report_handler, set_stall_limit as set_stall_limit
from ._tokens import Token as Token

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ._batches import (
        Batch as Batch,
        BatchEnd as BatchEnd,
        BatchPolicy as BatchPolicy,
        OnBatchEnd as OnBatchEnd,
    )
    from ._clocks import ManualClock as ManualClock, Rate as Rate, now as now
    from ._diagnosis import (
        Info as Info,
        LibraryStatistics as LibraryStatistics,
        Report as Report,
        ReportHandler as ReportHandler,
        ReportKind as ReportKind,
        StallCause as StallCause,
        StallLink as StallLink,
        Statistics as Statistics,
        statistics as statistics,
        why as why,
    )
    from ._events import (
        Event as Event,
        EventKind as EventKind,
        Events as Events,
        OnEvent as OnEvent,
    )
    from ._observed import (
        Change as Change,
        ChangeKind as ChangeKind,
        Observation as Observation,
        Observed as Observed,
    )
    from ._policies import (
        AfterPolicy as AfterPolicy,
        Condition as Condition,
        OperationOptions as OperationOptions,
        Owner as Owner,
        Retry as Retry,
        Verdict as Verdict,
    )
    from ._snapshots import (
        Entry as Entry,
        EntryFlag as EntryFlag,
        EntryKind as EntryKind,
        dump as dump,
        snapshot as snapshot,
        start_trace as start_trace,
        stop_trace as stop_trace,
        write_trace as write_trace,
    )
    from ._states import (
        BatchStates as BatchStates,
        ObservedState as ObservedState,
        OperationStates as OperationStates,
        QueueStates as QueueStates,
    )
    from ._values import Value as Value
else:
    # Modules that not every program needs; each is imported when one of its names is first used.
    _LATER = {
        "_batches": "Batch BatchEnd BatchPolicy OnBatchEnd",
        "_clocks": "ManualClock Rate now",
        "_diagnosis": (
            "Info LibraryStatistics Report ReportHandler ReportKind StallCause StallLink "
            "Statistics statistics why"
        ),
        "_events": "Event EventKind Events OnEvent",
        "_observed": "Change ChangeKind Observation Observed",
        "_policies": "AfterPolicy Condition OperationOptions Owner Retry Verdict",
        "_snapshots": "Entry EntryFlag EntryKind dump snapshot start_trace stop_trace write_trace",
        "_states": "BatchStates ObservedState OperationStates QueueStates",
        "_values": "Value",
    }
    _LATER = {name: module for module, names in _LATER.items() for name in names.split()}

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = __import__(f"{__name__}.{_LATER[name]}", fromlist=[name])
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})

    __all__ = sorted({name for name in (*globals(), *_LATER) if name[0] != "_"} - {"TYPE_CHECKING"})
