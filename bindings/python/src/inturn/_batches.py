"""Batches: operations of one queue with one completion."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from ctypes import byref, c_size_t, cast
from enum import IntEnum
from operator import index
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _prototypes as c
from ._arguments import checked, whole
from ._awaits import Bell, awaiting
from ._callbacks import drop_end, forget_end, register, start, tell_end, tell_entry, wait
from ._ends import End, Outcome, Progress
from ._errors import AlreadyFinishedError, BusyError, CancelledError
from ._handles import NotCopied
from ._library import lib, must, quick, trampoline
from ._operations import Operation
from ._prototypes import inturn_end
from ._states import BatchStates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._queues import Queue
    from ._sites import Site

_start = cast(start[1], c.inturn_work_fn)
_call_with_end = trampoline(c.inturn_batch_end_fn, tell_entry)


class BatchPolicy(IntEnum):
    """When the rest of a batch is cancelled, and which operation's end is the batch's."""

    ALL = 0  # never; of those that did not finish, the first in the list
    FIRST_ERROR = 1  # as soon as one ends otherwise than finished; that one
    COLLECT = 2  # never; none, unless the batch was cancelled
    ENOUGH = 3  # as soon as enough have finished; none, or the first that did not


class BatchEnd(NamedTuple):
    """How a batch ended.

    ``outcome`` is `Outcome.FINISHED`, or the outcome of the operation that decided the batch.
    ``decided_by`` is the index of that operation in the list, and ``exception`` is its exception.
    ``finished`` is the number of operations that finished.  ``ends`` has the ends of all
    operations, in the order of the list.
    """

    outcome: Outcome
    exception: BaseException | None
    decided_by: int | None
    finished: int
    ends: list[End]


OnBatchEnd = Callable[[BatchEnd], object]
"""Called once, with a batch's end."""


class Batch(NotCopied):
    """Operations of one queue with one completion, made by `Queue.batch`.

    The operations continue when this object is dropped.  In a coroutine, ``await batch`` waits for
    the `BatchEnd`, as `wait` does.  Cancelling the await does not affect the batch.  One that
    could never return, as the batch waits for the caller, raises `DeadlockError`.
    """

    _handle = 0

    def __init__(
        self, queue: Queue, operations: list[Operation], on_end: OnBatchEnd | None
    ) -> None:
        self._queue = queue  # alive for as long as it has operations
        self._operations = operations
        self._on_end = on_end
        self._states: BatchStates | None = None
        self._lock = threading.RLock()  # protects the rest; a finaliser may run while it is held
        self._is_over = False
        self._waiters: list[Bell] = []

    def _enqueue(
        self,
        structure: c.inturn_operation_options,
        policy: BatchPolicy,
        enough: int,
        edges: Iterable[tuple[int, int]],
        site: Site,
    ) -> None:
        checked(self, "enough", enough, "a number of operations, 0 or more", whole(0, 2**64))
        count = len(self._operations)
        pairs = _checked(edges, count)
        items = (c.inturn_batch_item * count)()
        for item, operation in zip(items, self._operations):
            item.work, item.context, item.destroy = _start, register(operation), drop_end
        options = c.inturn_batch_options(
            policy=policy,
            enough=enough,
            operation=c.type_of("*operation_options")(structure),
            end_context=register(self._deliver),
            on_end=_call_with_end,
            end_destroy=forget_end,
            edges=(c.inturn_batch_edge * len(pairs))(*pairs),
            edge_count=len(pairs),
        )
        handle = c.inturn_batch()
        lib.inturn_queue_enqueue_batch_at(
            site[1], self._queue._handle, byref(options), items, count, byref(handle)
        )
        self._handle = handle.bits

    def wait(self, timeout: float | None = None) -> BatchEnd:
        """Waits until every operation has ended and the end callback has returned.

        :raises TimedOutError: the timeout, in seconds, has passed.
        :raises DeadlockError: the batch cannot end while the caller waits.
        :raises ValueError: the timeout is negative or not a number.
        """
        end, handle = c.inturn_batch_end(), c.inturn_batch(self._handle)
        look = self._queue._look(lambda: self._handle)
        wait(self, lambda ns: lib.inturn_batch_wait(handle, ns, byref(end)), timeout, look)
        return self._end(end, self._handle)

    def cancel(self) -> bool:
        """Cancels the operations that have not ended, and returns whether this call did so."""
        try:
            must(quick.batch_cancel, self._handle)
        except (AlreadyFinishedError, CancelledError):
            return False
        return True

    @property
    def progress(self) -> Progress:
        """How many of its operations have ended, and how many there are."""
        ended, count = c_size_t(), c_size_t()
        must(quick.batch_get_progress, self._handle, byref(ended), byref(count))
        return Progress(ended.value, count.value)

    @property
    def states(self) -> BatchStates:
        """Its observable states: ``progress``."""
        if self._states is None:
            self._states = BatchStates(self._handle)
        return self._states

    @property
    def ends(self) -> list[End | None]:
        """The ends so far, in the order of the list; None for an operation that has not ended."""
        return [self._end_at(place, self._handle) for place in range(len(self))]

    def _end_at(self, place: int, handle: int) -> End | None:
        end = inturn_end()
        try:
            must(quick.batch_get_end, handle, place, byref(end))
        except BusyError:
            return None
        return self._operations[place]._end(end)

    def _end(self, end: c.inturn_batch_end, handle: int) -> BatchEnd:
        ends: list[End] = []
        for place in range(len(self)):
            one = self._end_at(place, handle)
            assert one is not None
            ends.append(one)
        decided_by = None if end.decided_by == end.count else end.decided_by
        error = None if decided_by is None else ends[decided_by].exception
        return BatchEnd(Outcome(end.outcome), error, decided_by, end.finished, ends)

    def _deliver(self, end: c.inturn_batch_end) -> None:
        """Called by the library at the end."""
        try:
            if self._on_end is not None:
                tell_end(self, self._end(end, end.batch.bits))
        finally:
            with self._lock:
                self._is_over = True
                waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                waiter.ring()

    def __iter__(self) -> Iterator[End]:
        """Waits for the batch's end; then its operations' ends, in the order of the list."""
        return iter(self.wait().ends)

    def __len__(self) -> int:
        """How many operations it has."""
        return len(self._operations)

    def __await__(self) -> Generator[Any, None, BatchEnd]:
        return self._awaited().__await__()

    async def _awaited(self) -> BatchEnd:
        waiter = Bell()
        with self._lock:
            self._waiters.append(waiter)
        try:
            with awaiting(self._handle):
                await waiter.wait(lambda: self._is_over)
        finally:
            with self._lock, suppress(ValueError):
                self._waiters.remove(waiter)
        return self.wait()  # only until the library's call has returned

    def __repr__(self) -> str:
        return f"<inturn.Batch of {len(self)} in {self._queue!r}>"

    def __del__(self) -> None:
        if self._handle and not sys.is_finalizing():
            quick.batch_release(self._handle)


def _checked(edges: Iterable[tuple[int, int]], count: int) -> list[c.inturn_batch_edge]:
    checked = []
    for place, after in ((index(place), index(after)) for place, after in edges):
        if not 0 <= after < place < count:
            raise ValueError(f"{place} cannot come after {after} in a batch of {count}")
        checked.append(c.inturn_batch_edge(place, after))
    return checked
