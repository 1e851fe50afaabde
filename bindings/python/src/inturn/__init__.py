"""Asynchronous work, in turn.

A queue starts one operation, and the next when the first says that it is over::

    import inturn

    def upload(token):
        start_upload(file, when_done=token.finish)  # returns at once

    with inturn.FIFOQueue("uploads") as queue:
        queue.enqueue(upload)
        queue.enqueue(upload)  # starts when the first has been finished
"""

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
from ._operations import Cause, End, Operation, Outcome, State, Token
from ._queues import FIFOQueue, InteractionQueue

__all__ = [
    "AlreadyFinishedError",
    "BusyError",
    "CancelledError",
    "Cause",
    "ClosedError",
    "DeadlockError",
    "End",
    "Error",
    "Executor",
    "FIFOQueue",
    "ForkedError",
    "FullError",
    "InteractionQueue",
    "InvalidArgumentError",
    "NoMemoryError",
    "NotSuspendedError",
    "NullHandleError",
    "Operation",
    "Outcome",
    "StaleError",
    "State",
    "TimedOutError",
    "Token",
    "UnsupportedError",
    "WrongKindError",
    "WrongThreadError",
    "run_main",
    "stop_main",
]

__version__ = "0.1.0"
