"""Observing, for values and for the library's own states."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from ctypes import byref
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, TypeVar

from . import _prototypes as c
from ._arguments import MAX_NS, checked, function, handle_of, limit_of
from ._awaits import leaving_loops
from ._callbacks import SLICE_NS, forget_event, has_not_begun, listeners, register, wait
from ._errors import ClosedError, Error, StaleError, TimedOutError
from ._handles import NotCopied, close_unused
from ._interrupts import called, let_call
from ._library import keeping, lib, trampoline
from ._prototypes import inturn_datum
from ._readers import Reader

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._executors import Executor
    from ._queues import Queue

T = TypeVar("T")


class ChangeKind(IntEnum):
    """What a `Change` is: one that was made, the initial object, or one about to be made."""

    SET = 1
    INITIAL = 2
    PRIOR = 3


class Change(NamedTuple):
    """What an observer receives: the value was ``old`` and is ``new``.

    Changes are numbered from 1.  The initial value has no old one: ``old`` is None then.
    """

    kind: ChangeKind
    number: int
    old: Any
    new: Any


Observer = Callable[[Change], object]

# The longest that one wait of a queue is, in seconds; what is longer is cut.
_LONGEST = 3600.0


class _Interrupts(threading.local):
    """KeyboardInterrupt and SystemExit that left an observer, to be raised by the call that the
    observer was in."""

    def __init__(self) -> None:
        self.calls = 0  # how many calls that may call observers this thread is in
        self.raised: list[BaseException] = []

    def __enter__(self) -> None:
        self.calls += 1

    def __exit__(self, *_: object) -> None:
        self.calls -= 1
        if self.raised and self.calls == 0:
            raise self.raised.pop(0)


interrupts = _Interrupts()


class _Listener:
    """Tells an observer, and of the end; kept by who wants it told. It keeps the value."""

    def __init__(
        self, value: Observed[Any], observer: Observer, end: Callable[[], object] = lambda: None
    ) -> None:
        self._value, self._observer, self._end = value, observer, end

    def _change_of(self, told: c.inturn_change) -> Change:
        read = self._value._read
        before = read(told.before) if told.before.type else None
        return Change(ChangeKind(told.kind), told.number, before, read(told.after))


def _tell(key: int, change: Any) -> None:
    # Exceptions never reach the library: ctypes reports them as unraisable.
    told = None
    try:
        entry = listeners.get(key)
        if entry is not None:  # its observation was not dropped
            told = entry._change_of(change.contents)
            entry._observer(told)
    except (KeyboardInterrupt, SystemExit) as error:
        if not interrupts.calls:
            raise
        interrupts.raised.append(error)
        if told is None or has_not_begun(error):
            entry = listeners.get(key)
            if entry is not None:
                entry._observer(entry._change_of(change.contents))


called[_tell.__code__] = _tell
_call_observer = trampoline(c.inturn_change_fn, _tell)
_never = trampoline(c.inturn_predicate_fn, lambda _context, _datum: False)


class Observed(NotCopied, Generic[T]):
    """What any thread may read, and whose observers receive every change in order.

    All observers receive the same changes in the same order.  The old object of each change is the
    new one of the change before.  None is missing, and none comes twice.

    ``with`` destroys it.
    """

    _handle = c.inturn_value()  # null until there is one
    label: str | None = None

    def _read(self, datum: c.inturn_datum) -> T:
        raise NotImplementedError

    @property
    def value(self) -> T:
        """The current object."""
        return self.get()

    def get(self) -> T:
        """The current object.

        :raises StaleError: it is destroyed.
        """
        datum = self._get()
        try:
            return self._read(datum)
        finally:
            keeping.inturn_datum_release(byref(datum))

    def observe(
        self,
        observer: Observer,
        *,
        initial: bool = False,
        prior: bool = False,
        latest: bool = False,
        executor: Executor | None = None,
        queue: Queue | None = None,
    ) -> Observation:
        """Calls ``observer(change)`` with each change, until the observation is cancelled or
        dropped, or the value is destroyed.

        ``initial``: it is first called with the current object.  ``prior``: it is also called
        before each change, before any observer gets the change itself.  ``latest``: changes that
        are due at the same time are combined into one.  With an executor or a queue, these call the
        observer, later.  The observation keeps the value alive.

        :raises TypeError: the observer is not callable.
        :raises InvalidArgumentError: both ``prior`` and ``latest``, or both an executor and a
            queue.
        :raises StaleError: the value is destroyed.
        """
        checked(self, "observer", observer, "a function of a Change", function)
        options = c.inturn_observe_options(initial=initial, prior=prior, latest=latest)
        if executor is not None:
            take = handle_of(c.inturn_executor)
            options.executor = checked(self, "executor", executor, "an Executor", take)
        if queue is not None:
            options.queue = checked(self, "queue", queue, "a Queue", handle_of(c.inturn_queue))
        listener = _Listener(self, observer)
        return self._observe(listener, options, listener)

    def _observe(
        self, listener: _Listener, options: c.inturn_observe_options, kept: _Listener | None = None
    ) -> Observation:
        observation = Observation(kept)
        key = register(listener, listeners)
        with interrupts:
            let_call(
                keeping.inturn_value_observe,
                self._handle,
                byref(options),
                _call_observer,
                key,
                forget_event,
                byref(observation._handle),
            )
        return observation

    def wait_for(self, predicate: Callable[[T], object], timeout: float | None = None) -> T:
        """Waits until the predicate accepts an object, and returns that: the current one, or one
        that the value changes to.  It sees each of them.

        :raises TimedOutError: the timeout, in seconds, has passed.
        :raises DeadlockError: the caller is inside an observer of this value, which must return
            first.
        :raises StaleError: the value is destroyed, before the call or during it.
        :raises ClosedError: it is a state that cannot change any more.
        """
        limit = limit_of(self, timeout)
        with suppress(TimedOutError, ClosedError):
            lib.inturn_value_wait(self._handle, _never, None, 1, None)  # may be refused
        told: queue.SimpleQueue[Change | None] = queue.SimpleQueue()
        listener = _Listener(self, told.put, lambda: told.put(None))
        observation = self._observe(listener, c.inturn_observe_options(initial=True))
        deadline = time.monotonic() + (MAX_NS if limit < 0 else limit) / 1e9
        leave = leaving_loops()
        longest = _LONGEST if leave is None else SLICE_NS / 1e9
        try:
            while True:
                if leave is not None:
                    leave()
                left = max(0.0, deadline - time.monotonic())
                try:
                    change = told.get(timeout=min(left, longest))
                except queue.Empty:
                    if left <= longest:
                        raise TimedOutError("inturn_value_wait: timed out") from None
                    continue
                if change is None:
                    keeping.inturn_datum_release(byref(self._get()))  # refused if it was destroyed
                    raise ClosedError("inturn_value_wait: the state cannot change any more")
                if predicate(change.new):
                    return change.new  # type: ignore[no-any-return]
        finally:
            observation._end()

    async def _reaches(self, predicate: Callable[[T], object]) -> None:
        """Waits, in a task, until the predicate accepts the object or no change will follow."""
        changes = _Following(self, False, attrgetter("new"))
        try:
            async for new in changes:
                if predicate(new):
                    return
        finally:
            await changes.aclose()

    def changes(self, *, latest: bool = False) -> AsyncIterator[Change]:
        """The current object and each change, for ``async for``, until the value is destroyed.

        ``latest``: changes that have not been read yet are combined into one.  A step that is
        cancelled, as by a timeout, takes none: the next one gives it.
        """
        return _Following(self, latest, lambda change: change)

    def __aiter__(self) -> AsyncIterator[T]:
        """The current object, and each one that the value changes to."""
        return _Following(self, False, attrgetter("new"))

    def drain(self, timeout: float | None = None) -> None:
        """Waits until each observer has received each change made so far.

        :raises TimedOutError: the timeout, in seconds, has passed.
        :raises DeadlockError: the caller is inside an observer of this value, or part of a ring;
            turns of coroutines on its thread are not seen.
        """
        look = leaving_loops()
        wait(self, lambda ns: lib.inturn_value_drain(self._handle, ns), timeout, look)

    def destroy(self) -> None:
        """Ends the value, its observations and all waits for it.  A second call does nothing.

        When it has returned, no observer is running, except one that this call is made in.

        :raises DeadlockError: it would wait for itself, round a ring; turns of coroutines on the
            calling thread are not seen.
        """
        with suppress(StaleError):
            lib.inturn_value_destroy(self._handle)

    def _get(self) -> c.inturn_datum:
        datum = inturn_datum()
        keeping.inturn_value_get(self._handle, byref(datum))
        return datum

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"<inturn.{type(self).__name__} {self.label or ''!r}>"

    def __del__(self) -> None:
        if self._handle.bits and not sys.is_finalizing():
            with suppress(Error):
                self.destroy()


class Observation(NotCopied):
    """An observation, for as long as it lasts.  If it is dropped, it ends without a wait for its
    observer.
    """

    _handle = c.inturn_observation()  # null until there is one

    def __init__(self, kept: _Listener | None) -> None:
        self._kept = kept  # alive for as long as this object
        self._handle = c.inturn_observation()

    def cancel(self, timeout: float | None = None) -> None:
        """Ends it.  When this has returned, the observer is not running and never runs again,
        unless the caller is inside it.  A second call does nothing.

        :raises TimedOutError: it is cancelled, but the observer is still running after the timeout.
        :raises DeadlockError: it is cancelled, but a wait for the observer would never end; turns
            of coroutines on the calling thread are not seen.
        """
        if self._handle.bits:
            cancel, look = lib.inturn_observation_cancel, leaving_loops()
            with suppress(StaleError):
                wait(self, lambda ns: cancel(self._handle, ns), timeout, look)

    def _end(self) -> None:
        if self._handle.bits:
            with suppress(Error):
                lib.inturn_observation_cancel(self._handle, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._end()
            close_unused()


class _Following(Reader[T], _Listener):
    """What a value changes to; it is observed from the first step on, until this is dropped."""

    _observation: Observation | None = None

    def __init__(self, value: Observed[Any], latest: bool, made: Callable[[Change], T]) -> None:
        super().__init__()
        self._value, self._latest, self._made = value, latest, made

    def _begin(self) -> None:
        if self._observation is None and not self._is_over:
            options = c.inturn_observe_options(initial=True)
            try:
                self._observation = self._value._observe(self, options)
            except StaleError:  # it was destroyed before the first step
                self._end()

    def _observer(self, change: Change) -> None:
        """Keeps a change until it is read."""
        with self._lock:
            if self._latest and self._told:  # they are changes themselves
                first: Any = self._told.pop()
                change = change._replace(kind=first.kind, old=first.old)
            self._push(self._made(change))

    async def aclose(self) -> None:
        """Stops reading, and the observation."""
        await super().aclose()
        if self._observation is not None:
            self._observation._end()
