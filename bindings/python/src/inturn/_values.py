"""Values that are observed: any object, and the true trail of its changes."""

from __future__ import annotations

import itertools
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from ctypes import byref, c_bool
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, TypeVar

from . import _prototypes as c
from ._callbacks import nanoseconds, wait
from ._errors import Error, StaleError, TimedOutError
from ._library import lib

if TYPE_CHECKING:
    from ._executors import Executor
    from ._queues import Queue

T = TypeVar("T")
_Self = TypeVar("_Self", bound="Observation")


class ChangeKind(IntEnum):
    """What an observer is told of: a change, the first object, or a change that is coming."""

    SET = 1
    INITIAL = 2
    PRIOR = 3


class Change(NamedTuple):
    """What an observer is told: the value was `old` and is `new`.

    Changes are numbered from 1.  An initial value has no old one; `old` is None then.
    """

    kind: ChangeKind
    number: int
    old: Any
    new: Any


Observer = Callable[[Change], object]

# What the library holds, by keys from 1 on: objects until it releases them, observers until it
# destroys their contexts.  An entry is added before the library is given its key.
_objects: dict[int, Any] = {}
_observers: dict[int, _ObserverEntry] = {}
_keys = itertools.count(1)
_keys_lock = threading.RLock()  # one key at a time; a finaliser may run while it is held


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


_interrupts = _Interrupts()


class _ObserverEntry:
    """An observer, and what is called when it is over."""

    def __init__(self, observer: Observer, on_end: Callable[[], object] | None, keeps: object):
        self.observer = observer
        self.on_end = on_end
        self.keeps = keeps


def _new_key() -> int:
    with _keys_lock:
        return next(_keys)


def _keep(item: Any) -> int:
    key = _new_key()
    _objects[key] = item
    return key


def _object_of(datum: c.inturn_datum) -> Any:
    return _objects[datum.pointer] if datum.pointer else None


def _tell(key: int, change: Any) -> None:
    # What is raised from here, ctypes reports as unraisable: it never reaches the library.
    told = change.contents
    try:
        _observers[key].observer(
            Change(
                ChangeKind(told.kind), told.number, _object_of(told.before), _object_of(told.after)
            )
        )
    except (KeyboardInterrupt, SystemExit) as error:
        if not _interrupts.calls:
            raise
        _interrupts.raised.append(error)


def _end(key: int) -> None:
    entry = _observers.pop(key, None)
    if entry is not None and entry.on_end is not None:
        entry.on_end()


# The trampolines.
_call_observer = c.inturn_change_fn(_tell)
_forget_observer = c.inturn_destroy_fn(_end)
_forget_object = c.inturn_destroy_fn(lambda key: _objects.pop(key, None) and None)
_never = c.inturn_predicate_fn(lambda _context, _datum: False)


class Value(Generic[T]):
    """An object that any thread may read and exchange, and whose observers see its true trail.

    All observers are told the same changes in the same order: the old object of each is the new
    one of the change before, none is missing and none comes twice.  Each set is a change, even to
    the same object.  Objects are told and read as they are, so better not changed themselves.

    A change calls the observers that have no executor and no queue before it returns, unless
    another thread is telling them of an earlier one, or it is made inside an observer: then it is
    told afterwards.  An exception in an observer is reported as unraisable, and the observation
    goes on.  ``value.value += 1`` is two calls; `update` is one.

    ``with`` destroys the value.
    """

    _handle = c.inturn_value()  # null until there is one

    def __init__(self, value: T, *, label: str | None = None) -> None:
        self.label = label
        self._handle = c.inturn_value()
        name = None if label is None else label.encode()
        options = c.inturn_value_options(label=name, release=_forget_object)
        self._give(
            value, lambda datum: lib.inturn_value_create(byref(options), datum, byref(self._handle))
        )

    @property
    def value(self) -> T:
        """The object as it is; setting it is a change."""
        return self.get()

    @value.setter
    def value(self, new: T) -> None:
        self.set(new)

    def get(self) -> T:
        """The object as it is.

        :raises StaleError: the value is destroyed.
        """
        datum = self._get()
        try:
            return _object_of(datum)  # type: ignore[no-any-return]
        finally:
            lib.inturn_datum_release(byref(datum))

    def set(self, new: T) -> None:
        """Changes the value.

        :raises StaleError: the value is destroyed.
        """
        with _interrupts:
            self._give(new, lambda datum: lib.inturn_value_set(self._handle, datum))

    def exchange(self, new: T) -> T:
        """Changes the value, and returns the old object.

        :raises StaleError: the value is destroyed.
        """
        before = c.inturn_datum()
        with _interrupts:
            self._give(
                new, lambda datum: lib.inturn_value_exchange(self._handle, datum, byref(before))
            )
        try:
            return _object_of(before)  # type: ignore[no-any-return]
        finally:
            lib.inturn_datum_release(byref(before))

    def compare_exchange(self, expected: T, new: T) -> bool:
        """Changes the value if its object equals ``expected``; whether it did.

        :raises StaleError: the value is destroyed.
        """
        while True:
            datum = self._get()
            try:
                if _object_of(datum) != expected:
                    return False
                if self._replace(datum, new):
                    return True
            finally:
                lib.inturn_datum_release(byref(datum))

    def update(self, function: Callable[[T], T]) -> T:
        """Changes the value to what the function makes of its object, and returns that.

        The function is called again when another change came between; it gets the object, and
        returns another one.

        :raises StaleError: the value is destroyed.
        """
        while True:
            datum = self._get()
            try:
                new = function(_object_of(datum))
                if self._replace(datum, new):
                    return new
            finally:
                lib.inturn_datum_release(byref(datum))

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

        ``initial``: with the object as it is, first of all.  ``prior``: before any observer is told
        of a change, too.  ``latest``: when several changes are due, with all of them as one.  With
        an executor or a queue, these call it, later, and the observation keeps the value.

        :raises TypeError: the observer is not callable.
        :raises InvalidArgumentError: ``prior`` and ``latest``, or an executor and a queue.
        :raises StaleError: the value is destroyed.
        """
        if not callable(observer):
            raise TypeError(f"not callable: {observer!r}")
        options = c.inturn_observe_options(initial=initial, prior=prior, latest=latest)
        if executor is not None:
            options.executor = executor._handle
        if queue is not None:
            options.queue = queue._handle
        keeps = None if executor is None and queue is None else self
        return self._observe(_ObserverEntry(observer, None, keeps), options)

    def _observe(self, entry: _ObserverEntry, options: c.inturn_observe_options) -> Observation:
        key = _new_key()
        _observers[key] = entry
        observation = Observation()
        with _interrupts:
            lib.inturn_value_observe(
                self._handle,
                byref(options),
                _call_observer,
                key,
                _forget_observer,
                byref(observation._handle),
            )
        return observation

    def wait_for(self, predicate: Callable[[T], object], timeout: float | None = None) -> T:
        """Waits until the predicate takes the object, and returns that: the one that there is, or
        one that it is changed to, none of which is left out.

        :raises TimedOutError: that is not so after so many seconds.
        :raises DeadlockError: inside an observer of this value, which would have to return first.
        :raises StaleError: the value is destroyed, before or meanwhile.
        """
        limit = None if timeout is None else nanoseconds(timeout) / 1e9
        with suppress(TimedOutError):
            lib.inturn_value_wait(self._handle, _never, None, 1, None)  # may be refused
        told: queue.SimpleQueue[Change | None] = queue.SimpleQueue()
        entry = _ObserverEntry(told.put, lambda: told.put(None), None)
        observation = self._observe(entry, c.inturn_observe_options(initial=True))
        deadline = None if limit is None else time.monotonic() + limit
        try:
            while True:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                try:
                    change = told.get(timeout=_cut(left))
                except queue.Empty:
                    if left is not None and left <= _LONGEST:
                        raise TimedOutError("inturn_value_wait: the time is over") from None
                    continue
                if change is None:
                    raise StaleError("inturn_value_wait: the value was destroyed")
                if predicate(change.new):
                    return change.new  # type: ignore[no-any-return]
        finally:
            observation._end()

    def changes(self, *, latest: bool = False) -> AsyncIterator[Change]:
        """The object as it is and each change, for ``async for``, until the value is destroyed.

        ``latest``: changes that have not been asked for yet are joined.
        """
        return _follow(self, latest)

    async def __aiter__(self) -> AsyncIterator[T]:
        """The object as it is, and each one that the value is changed to."""
        async for change in self.changes():
            yield change.new

    def drain(self, timeout: float | None = None) -> None:
        """Waits until each change that was made so far has been told to each observer.

        :raises TimedOutError: that is not so after so many seconds.
        :raises DeadlockError: inside an observer of this value, and round a ring.
        """
        wait(lambda ns: lib.inturn_value_drain(self._handle, ns), timeout)

    def destroy(self) -> None:
        """Ends the value, its observations and all waits for it; a second call does nothing.

        When it has returned, no observer is being called, but for one that it is called in.

        :raises DeadlockError: it would wait for itself, round a ring.
        """
        with suppress(StaleError):
            lib.inturn_value_destroy(self._handle)

    def _get(self) -> c.inturn_datum:
        datum = c.inturn_datum()
        lib.inturn_value_get(self._handle, byref(datum))
        return datum

    def _give(self, item: Any, call: Callable[[Any], object]) -> None:
        """Hands an object over; it stays here when the call fails."""
        key = _keep(item)
        try:
            call(byref(c.inturn_datum(type=c.INTURN_DATUM_POINTER, pointer=key)))
        except Error:
            del _objects[key]
            raise

    def _replace(self, datum: c.inturn_datum, new: T) -> bool:
        """Changes the value if it still holds this datum."""
        exchanged = c_bool()
        key = _keep(new)
        desired = c.inturn_datum(type=c.INTURN_DATUM_POINTER, pointer=key)
        try:
            with _interrupts:
                lib.inturn_value_compare_exchange(
                    self._handle, byref(datum), byref(desired), byref(exchanged), None
                )
        finally:
            if not exchanged:
                del _objects[key]
        return exchanged.value

    def __enter__(self) -> Value[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"<inturn.Value {self.label or ''!r}>"

    def __del__(self) -> None:
        if self._handle.bits and not sys.is_finalizing():
            with suppress(Error):
                self.destroy()


class Observation:
    """An observation, as long as it lasts; dropped, it ends without waiting for its observer."""

    def __init__(self) -> None:
        self._handle = c.inturn_observation()

    def cancel(self, timeout: float | None = None) -> None:
        """Ends it.  When this has returned, the observer is not running and never runs again,
        unless the caller is inside it.  A second call does nothing.

        :raises TimedOutError: it is cancelled, but still running after so many seconds.
        :raises DeadlockError: it is cancelled, but waiting for it would never end.
        """
        if self._handle.bits:
            with suppress(StaleError):
                wait(lambda ns: lib.inturn_observation_cancel(self._handle, ns), timeout)

    def _end(self) -> None:
        if self._handle.bits:
            with suppress(Error):
                lib.inturn_observation_cancel(self._handle, 0)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._end()


# The longest that one wait of a queue is, in seconds; what is longer is cut.
_LONGEST = 3600.0


def _cut(seconds: float | None) -> float:
    return _LONGEST if seconds is None else min(seconds, _LONGEST)


async def _follow(value: Value[Any], latest: bool) -> AsyncIterator[Change]:
    import asyncio  # importing it takes long

    loop = asyncio.get_running_loop()
    pending: deque[Change] = deque()
    woken = asyncio.Event()
    lock = threading.Lock()  # protects the joining of changes
    is_over = False

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(woken.set)

    def told(change: Change) -> None:
        with lock:
            if latest and pending:
                first = pending.pop()
                change = change._replace(kind=first.kind, old=first.old)
            pending.append(change)
        wake()

    def over() -> None:
        nonlocal is_over
        is_over = True
        wake()

    options = c.inturn_observe_options(initial=True)
    observation = value._observe(_ObserverEntry(told, over, None), options)
    try:
        while True:
            woken.clear()
            ended = is_over  # read before the last look
            while pending:
                with lock:
                    change = pending.popleft()
                yield change
            if ended:
                return
            await woken.wait()
    finally:
        observation._end()
