"""The library's own states, which can be observed like values."""

from __future__ import annotations

from ctypes import byref
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _prototypes as c
from ._ends import Progress, State
from ._handles import NotCopied
from ._library import lib
from ._observed import Observed

if TYPE_CHECKING:
    from ._operations import Operation
    from ._queues import Queue

T = TypeVar("T")


class ObservedState(Observed[T]):
    """A state of the library, such as the number of pending operations of a queue.

    It can be observed like a `Value`, but only the library changes it.  Observers see every change
    from the first time that the state was asked for.  Observers that have no executor and no queue
    are called by the thread that causes the change, before it continues: it enqueues, suspends,
    cancels, finishes or starts an operation.  While another thread is telling them of an earlier
    change of the same state, that one tells them of this one, too, and nobody waits for it: the
    next operation may then run before its start is told.

    A state may outlive the object that it describes, and then keeps its last value: observations
    and ``async for`` end, and `wait_for` another value raises `ClosedError`.  A queue whose states
    are used starts each operation under its lock.
    """

    def __init__(self, label: str, read: Callable[[c.inturn_datum], T]) -> None:
        self.label = label
        self._handle = c.inturn_value()
        self._reader = read

    def _read(self, datum: c.inturn_datum) -> T:
        return self._reader(datum)


_number: Callable[[c.inturn_datum], int] = attrgetter("integer")
_truth: Callable[[c.inturn_datum], bool] = attrgetter("boolean")


def _progress(datum: c.inturn_datum) -> Progress:
    return Progress(datum.integer, datum.total)


def _state(datum: c.inturn_datum) -> State:
    return State(datum.integer)


def _made(
    label: str, read: Callable[[c.inturn_datum], T], call: Callable[..., object], *arguments: Any
) -> ObservedState[T]:
    state = ObservedState(label, read)
    call(*arguments, byref(state._handle))
    return state


class QueueStates(NotCopied):
    """The observable states of a queue; each is made when it is first used.

    :raises StaleError: the queue was destroyed before that.
    """

    def __init__(self, queue: Queue) -> None:
        self._handle = queue._handle

    @cached_property
    def pending(self) -> ObservedState[int]:
        """How many operations have neither started nor ended."""
        return _made("pending", _number, lib.inturn_queue_create_value, self._handle, 1)

    @cached_property
    def running(self) -> ObservedState[int]:
        """How many have started and not ended.  An operation counts until its work has returned."""
        return _made("running", _number, lib.inturn_queue_create_value, self._handle, 2)

    @cached_property
    def suspended(self) -> ObservedState[bool]:
        """Whether at least one suspend is in force."""
        return _made("suspended", _truth, lib.inturn_queue_create_value, self._handle, 3)

    @cached_property
    def progress(self) -> ObservedState[Progress]:
        """How many operations have ended, out of all that were accepted."""
        return _made("progress", _progress, lib.inturn_queue_create_value, self._handle, 4)

    @cached_property
    def next_start_ns(self) -> ObservedState[int]:
        """The time of its clock before which its rate or a delay lets nothing start; 0 if there is
        none.
        """
        return _made("next start", _number, lib.inturn_queue_create_value, self._handle, 5)


class OperationStates(NotCopied):
    """The observable states of an operation; each is made when it is first used."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation  # its handle is good for as long as this
        self._handle = c.inturn_operation(operation._handle or 0)

    @cached_property
    def state(self) -> ObservedState[State]:
        """Pending, running or ended."""
        return _made("state", _state, lib.inturn_operation_create_value, self._handle, 1)

    @cached_property
    def progress(self) -> ObservedState[Progress]:
        """How far it has come, as reported by its work with `Token.progress`."""
        return _made("progress", _progress, lib.inturn_operation_create_value, self._handle, 2)


class BatchStates(NotCopied):
    """The observable progress of a batch; it is made when it is first used."""

    def __init__(self, handle: int) -> None:
        self._handle = c.inturn_batch(handle)

    @cached_property
    def progress(self) -> ObservedState[Progress]:
        """How many of its operations have ended, and how many there are."""
        return _made("progress", _progress, lib.inturn_batch_create_value, self._handle)
