"""Queues: they accept operations and decide when each may start."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import byref, c_size_t, c_uint64
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from . import _prototypes as c
from ._arguments import checked, function, handle_of, label_of, limit_of, name_of, one_of, whole
from ._awaits import awaiting, begin, tokens_here
from ._callbacks import (
    drop,
    entries,
    forget_event,
    give_back,
    listeners,
    new_key,
    register,
    take_out,
    wait,
)
from ._enqueuing import Enqueuing
from ._errors import ClosedError, Error, StaleError, TimedOutError, UnsupportedError
from ._futures import cancel_pending
from ._handles import NeverMade, close_unused
from ._interrupts import let_call
from ._library import lib, prepared, quick, refusal
from ._operations import room_for
from ._sites import Called
from ._turn_takers import TurnTaker

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Self

    from ._asyncio_home import Home
    from ._clocks import ManualClock, Rate
    from ._diagnosis import Info, Statistics
    from ._events import Events, Hub, OnEvent
    from ._executors import Executor
    from ._options import Peers
    from ._sites import Site
    from ._states import QueueStates
    from ._values import Value

    class QueueOptions(TypedDict, total=False):
        """The keyword arguments of every `Queue`, besides its executor."""

        capacity: int
        rate: Rate | None
        clock: ManualClock | None
        on_event: OnEvent | None
        events: bool
        stall: float | None


_NO_FIELDS: dict[str, int] = {}
_LEFT = 100  # how many operations a drain lists at most


class Queue(Enqueuing, TurnTaker, Called):
    """What all kinds of queues share.

    The executor calls the work.  Without one, threads of Python do, which all such queues share;
    there are as many of them as are busy at a time.  Every method may be called from any thread.
    """

    _kind = 0
    _fields = _NO_FIELDS  # of the library's struct, for this kind of queue
    # Class attributes, for objects that were never initialised, as when a subclass forgets to.
    label: str | None = None
    _peers: Peers  # set once an operation needs them
    _hub: Hub | None = None
    _states: QueueStates | None = None
    _handle: c.inturn_queue = NeverMade()
    _may_yield = False  # whether its operations may call `Token.yield_`
    _is_closed = False
    _closing: Value[bool] | None = None  # observed by those who wait for it

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        if cls._kind == 0:
            raise TypeError(f"{cls.__name__} is abstract: make a FIFOQueue or another kind")
        return super().__new__(cls)

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        capacity: int = 0,
        rate: Rate | None = None,
        clock: ManualClock | None = None,
        on_event: OnEvent | None = None,
        events: bool = False,
        stall: float | None = 0,
    ) -> None:
        """``label`` is what reports call the queue, and ``executor`` calls its work.  At most
        ``capacity`` operations may be pending (0: no limit), and so many start in a time as its
        ``rate`` allows.  Delays and deadlines are of the ``clock``, by default the system's.
        ``on_event`` is told each `Event`, and with ``events`` there is `Queue.events`.  It is
        reported as stuck after ``stall`` seconds; 0: as `set_stall_limit` says, None: never.

        :raises TypeError: an argument is not of its type.
        :raises ValueError: an argument is out of range.
        """
        options: dict[str, Any] = {**self._fields, "label": label_of(self, label)}
        self.label = label
        options["capacity"] = checked(
            self, "capacity", capacity, "a number of operations, 0 or more", whole(0, 2**64)
        )
        options["stall_ns"] = limit_of(self, stall, "stall")
        # Kept alive by the queue.
        self._executor, self._clock, self._rate = executor, clock, rate
        handle = c.inturn_queue()
        if executor is not None:
            take = handle_of(c.inturn_executor)
            options["executor"] = checked(self, "executor", executor, "an Executor", take)
        if clock is not None:
            take = handle_of(c.inturn_clock)
            options["clock"] = checked(self, "clock", clock, "a ManualClock", take)
        if rate is not None:
            options["rate"] = self._structure_of_rate(rate)
        if on_event is not None or events:
            from ._events import Hub, call_with_event

            if on_event is not None:
                checked(self, "on_event", on_event, "a function of an Event", function)
            self._hub = Hub(on_event)
            options["event_context"] = register(self._hub, listeners)
            options["on_event"], options["event_destroy"] = call_with_event, forget_event
        lib.inturn_queue_create(self._kind, byref(c.inturn_queue_options(**options)), byref(handle))
        self._handle = handle
        self._prepared = prepared(handle.bits)

    @property
    def _queue(self) -> Queue:  # type: ignore[override]  # not an attribute, which would be a circle
        return self

    def _add(
        self, work: Any, entry: object, structure: Any, site: Site, taker: Home | None = None
    ) -> int:
        """Enqueues an entry, and returns the operation's handle; zero if it was taken."""
        queue = self._prepared
        out = take_out()
        key = new_key()
        entries[key] = entry
        if taker is not None:
            status = taker.enqueue_and_take(site, queue, work, key, drop, out)
        elif structure is None:
            status = quick.queue_enqueue_at(site, queue, work, key, drop, out)
        else:
            options = byref(structure)
            status = quick.queue_enqueue_with_at(site, queue, options, work, key, drop, out)
        if status:
            raise refusal(repr(self), status)
        handle = out[1].value or 0
        give_back(out)
        return handle

    def _refused_function(self, given: object) -> TypeError:
        """The exception for something that cannot be work."""
        if type(given) is CoroutineType:
            given.close()
            return TypeError(
                f"{self!r} takes a coroutine function and its arguments, as in run(f, x), not the"
                f" coroutine that f(x) makes: {given!r}"
            )
        if callable(given):
            return TypeError(
                f"a coroutine function can only be passed to `run` of {self!r}: {given!r}"
            )
        return TypeError(f"work for {self!r} must be a function, not {given!r}")

    def suspend(self, reason: str | None = None) -> None:
        """Starts no further operation from now on.  Suspends are counted, separately for each
        reason.

        The queue continues when every suspend, with any reason or none, has been resumed.
        """
        site = self._site_of(sys._getframe(1))[1]
        if reason is None:
            lib.inturn_queue_suspend_at(site, self._handle)
        else:
            lib.inturn_queue_suspend_for_at(site, self._handle, name_of(self, "reason", reason))

    def resume(self, reason: str | None = None) -> None:
        """Takes back one suspend with the same reason.

        :raises NotSuspendedError: there is none.
        """
        if reason is None:
            lib.inturn_queue_resume(self._handle)
        else:
            lib.inturn_queue_resume_for(self._handle, name_of(self, "reason", reason))

    @property
    def rate(self) -> Rate | None:
        """How many operations may start in a period of time; None means any number.

        When one rate replaces another, starts that the old bucket lacked are missing from the new
        one too.

        :raises ValueError: the new value is not a valid rate.
        """
        return self._rate

    @rate.setter
    def rate(self, rate: Rate | None) -> None:
        lib.inturn_queue_set_rate(self._handle, byref(self._structure_of_rate(rate)))
        self._rate = rate

    def _structure_of_rate(self, rate: Rate | None) -> c.inturn_rate:
        from ._clocks import Rate, structure_of

        return structure_of(checked(self, "rate", rate, "a Rate", one_of(Rate, type(None))))

    def resolve(self, key: str) -> int:
        """Ends the pending operations with a key as finished, because they are no longer needed.

        Their work is never called.  Running ones are not affected.  Returns how many it has ended.
        """
        count = c_uint64()
        lib.inturn_queue_resolve_key(self._handle, name_of(self, "key", key), byref(count))
        return count.value

    def cancel(self, key: str) -> int:
        """Cancels the operations with a key, also the running ones, and returns how many there
        were.
        """
        count = c_uint64()
        lib.inturn_queue_cancel_key(self._handle, name_of(self, "key", key), byref(count))
        return count.value

    def cancel_all(self) -> None:
        """Cancels all operations that have been enqueued so far.

        ``asyncio.CancelledError`` is raised in coroutines that are running.  A task inside ``async
        with`` is not affected.
        """
        self._is_cut = True
        lib.inturn_queue_cancel_all(self._handle)
        self._ask_holders()

    def cancel_pending(self) -> None:
        """The same for those that have not started; no other is asked to end."""
        cancel_pending(self)

    def close(self) -> None:
        """Refuses new operations from now on.  Operations that were accepted still run."""
        with suppress(ClosedError, StaleError):
            lib.inturn_queue_close(self._handle)
        self._say_closed()

    def _say_closed(self) -> None:
        self._is_closed = True
        if self._closing is not None:
            with suppress(StaleError):
                self._closing.set(True)

    async def closed(self) -> None:
        """Waits until the queue has been closed or destroyed and all operations have ended.

        :raises DeadlockError: the caller is inside a coroutine that has a turn of the queue.
        """
        from ._values import Value

        if tokens := tokens_here():
            begin(self._handle.bits, tokens).end()
        if self._closing is None:
            self.__dict__.setdefault("_closing", Value(False))
        assert self._closing is not None
        await self._closing._reaches(lambda is_closed: is_closed or self._is_closed)
        await self.drained()

    async def drained(self) -> None:
        """Waits until all operations have ended.  End callbacks may not have been called yet.

        From then on, the queue starts each operation under its lock, as it does once its states are
        used.

        :raises DeadlockError: the caller is inside a coroutine that has a turn of the queue.
        """
        with awaiting(self._handle.bits), suppress(StaleError):  # a destroyed queue is drained
            await self.states.progress._reaches(lambda it: it.completed == it.total)

    def drain(self, timeout: float | None = None) -> None:
        """Waits until all operations have ended and all end callbacks have returned.

        Like all blocking waits for operations, it is refused on the thread of a loop if a coroutine
        of that loop would have to continue first.  Await `drained` instead.

        :raises TimedOutError: the timeout, in seconds, has passed; its ``left`` lists what has not
            ended.
        :raises DeadlockError: they cannot end while the caller waits.
        """
        infos, count = room_for(_LEFT), c_size_t()

        def drain(ns: int) -> None:
            lib.inturn_queue_drain_or_list(self._handle, ns, infos, _LEFT, byref(count))

        try:
            wait(self, drain, timeout, self._look(lambda: self._handle.bits))
        except TimedOutError as error:
            from ._diagnosis import infos_of

            error.left = tuple(infos_of(infos[: count.value]))
            left = ", ".join(
                f"{info.label!r} is {info.state.name.lower()}" for info in error.left[:3]
            )
            error.args = (f"{self!r} is not drained: {left or 'a callback has not returned'}",)
            raise

    def destroy(self) -> None:
        """Cancels what has not ended, and ends the queue.  A second call does nothing.

        Running coroutines are cancelled as by `cancel_all`.

        :raises DeadlockError: it would wait for itself, round a ring; turns of coroutines on the
            calling thread are not seen.
        """
        self._say_closed()
        self._is_cut = self._is_ending = True
        for holder in list(self._holders):
            holder._let_go()
        with suppress(StaleError):
            let_call(lib.inturn_queue_destroy, self._handle)
        self._ask_holders()
        self._close_thread()

    @property
    def states(self) -> QueueStates:
        """Its observable states: see `QueueStates`."""
        if self._states is None:
            from ._states import QueueStates

            self._states = QueueStates(self)
        return self._states

    def statistics(self) -> Statistics:
        """How many operations there are and have been, by state and outcome."""
        from ._diagnosis import Statistics, said

        counts = c.inturn_queue_statistics()
        lib.inturn_queue_get_statistics(self._handle, byref(counts))
        return said(Statistics, counts)

    def operations(self, limit: int = 1_000) -> list[Info]:
        """Lists the operations that have not ended: first those that are running, then those that
        are pending, in order.

        :raises ValueError: the limit is negative.
        """
        from ._diagnosis import infos_of

        checked(self, "limit", limit, "a number of operations, 0 or more", whole(0, 2**32))
        there = self.statistics()
        limit = min(limit, there.pending + there.running)
        infos, count = room_for(limit), c_size_t()
        lib.inturn_queue_list(self._handle, infos, limit, byref(count))
        return infos_of(infos[: count.value])

    def events(self) -> Events:
        """The queue's events from now on, for ``async for``, until the queue is destroyed.

        There may be any number of readers, in any loops.  Each keeps the events that it has not
        read yet.  The queue must have been made with ``events`` or ``on_event``.  Either costs
        memory and a Python call for each event, so an operation takes several times as long.

        :raises UnsupportedError: the queue was made with neither.
        """
        if self._hub is None:
            raise UnsupportedError(f"{self!r} was made without events=True")
        return self._hub.read()

    # ----------------------------------------------------------------------------------------

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"<inturn.{type(self).__name__} {self.label or ''!r}>"

    def __del__(self) -> None:
        if "_handle" in self.__dict__ and not sys.is_finalizing():
            with suppress(Error):
                self.destroy()
            close_unused()
