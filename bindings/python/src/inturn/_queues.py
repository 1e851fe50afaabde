"""Queues: they accept operations and decide when each may start."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import byref, c_uint64, c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _executors
from . import _prototypes as c
from ._callbacks import (
    call_with_end,
    call_with_event,
    drop,
    entries,
    forget,
    forget_end,
    forget_event,
    give_back,
    new_key,
    register,
    register_listener,
    start,
    start_post,
    take_out,
    text,
    wait,
)
from ._ends import OnEnd, Work
from ._errors import ClosedError, Error, StaleError
from ._executors import Executor
from ._futures import Future
from ._inspected import Inspected
from ._interrupts import let_call
from ._library import lib, quick, refusal
from ._operations import Operation
from ._options import extras_of, structure_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import ParamSpec, Self, Unpack

    from ._batches import Batch, BatchPolicy, OnBatchEnd
    from ._clocks import ManualClock
    from ._events import OnEvent
    from ._options import OperationOptions, Peers
    from ._rates import Rate

    P = ParamSpec("P")

T = TypeVar("T")


class Queue(Inspected):
    """What all kinds of queues share.

    Work is called by the executor; without one, on threads of Python that all such queues share,
    of which there are as many as have something to do at a time.  Every method may be called
    from any thread.
    """

    _kind = 0
    # Of one that has not been made, too, such as when a subclass forgets to.
    label: str | None = None
    _peers: Peers  # once an operation has needed them
    _may_yield = False  # its operations, by `Token.yield_`

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        if cls._kind == 0:
            raise TypeError(f"{cls.__name__} is what queues share: make one of a kind, a FIFOQueue")
        return super().__new__(cls)

    def __init__(
        self,
        label: str | None,
        executor: Executor | None,
        capacity: int,
        rate: Rate | None,
        clock: ManualClock | None,
        on_event: OnEvent | None,
        events: bool,
        **options: Any,
    ) -> None:
        if not 0 <= capacity < 2**64:
            raise ValueError(f"not a capacity: {capacity!r}")
        if on_event is not None and not callable(on_event):
            raise TypeError(f"not callable: {on_event!r}")
        self.label = label
        # Alive for as long as the queue.
        self._executor = executor
        self._clock = clock
        self._rate = rate
        handle = c.inturn_queue()
        if label is not None:
            options["label"] = text(label)
        if executor is not None:
            options["executor"] = executor._handle
        if clock is not None:
            options["clock"] = clock._handle
        if rate is not None:
            from ._rates import structure_of as structure_of_rate

            options["rate"] = structure_of_rate(rate)
        if on_event is not None or events:
            from ._events import Hub

            self._hub = Hub(on_event)
            options["event_context"] = register_listener(self._hub)
            options["on_event"], options["event_destroy"] = call_with_event, forget_event
        structure = c.inturn_queue_options(capacity=capacity, **options)
        lib.inturn_queue_create(self._kind, byref(structure), byref(handle))
        self._handle = handle
        self._bits = c_void_p(handle.bits)

    def post(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Adds a call of a plain function, which is over when it returns; nothing is told of it.

        The fastest way.  An exception fails the operation and is reported as unraisable.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        if not callable(function):
            raise TypeError(f"not callable: {function!r}")
        if self._home is not None or _executors.exiting:
            self._prepare()
        key = new_key()
        # The queue is alive for as long as it has operations.
        entries[key] = self, partial(function, *args, **kwargs) if args or kwargs else function
        status = quick.queue_enqueue(self._bits, start_post, key, forget, None)
        if status:
            raise refusal("inturn_queue_enqueue", status)

    def enqueue(
        self,
        work: Work,
        *,
        label: str | None = None,
        on_end: OnEnd | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Adds an operation, and returns at once.

        The queue's executor calls ``work(token)``.  The operation is over when its token is
        finished, failed or cancelled: by then or later, from any thread.  An exception in work
        fails it; a lost token abandons it.  ``on_end(end)`` is called exactly once.

        By keyword, each may be left out:

        * ``priority`` (interaction and operation queues): higher ones start first, equal ones in
          order.
        * ``after``: operations, of any queues, that have ended before this one starts; it waits in
          its place.  ``after_policy``: with `AfterPolicy.FINISHED`, or True, this one is cancelled
          when one of them does not finish.
        * ``barrier`` (operation queues): it starts when all before it have ended, and nothing
          behind it starts before it has ended.
        * ``urgent`` (interaction queues): it comes before all that are not, and asks the one that
          is shown to give way: see `Token.on_preempt`.
        * ``exclusive``: names of what it needs for itself: of all operations of all queues that
          have a name in common, one runs at a time.
        * ``condition``: called by the executor just before each call of the work; it returns a
          `Verdict`, or a bool, where False is `Verdict.SKIP`.  What it raises fails the operation.
        * ``retry``: a `Retry`; a failure is not the end while that allows another attempt, in which
          the work is called again, with a new token.
        * ``key``: see `resolve` and `cancel`. ``join``: if the queue has an operation of the same
          key that has not ended, this one does not run and ends as that does, with the same result.
        * ``owner``: the operation is cancelled when this `Owner` goes away.

        Times are in seconds of the queue's clock, and zero means none: ``max_wait`` from here to
        the start and ``max_run`` from there to the end, after which the operation has timed out
        (its place is held until the token is finished, or freed with ``free_at_max_run``); after
        ``stall`` in the queue, or running, the report handler is told; ``cancel_grace`` is how long
        the operation may go on after it was asked to end.

        :raises TypeError: the work is not callable, or an option is not of its type.
        :raises ValueError: a time is negative or not a number; an option is out of range.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity, or the owner's, allows.
        :raises UnsupportedError: the option is for queues of another kind.
        :raises StaleError: the owner has gone.
        """
        if not callable(work):
            raise TypeError(f"not callable: {work!r}")
        if self._home is not None or _executors.exiting:
            self._prepare()
        caller = sys._getframe(1)
        operation = Operation(self, work, label, caller.f_code, caller.f_lineno)
        if label is None and on_end is None and not (options or self._may_yield):
            out = take_out()
            key = new_key()
            entries[key] = operation
            status = quick.queue_enqueue(self._bits, start, key, drop, out[1])
        else:
            if on_end is not None and not callable(on_end):
                raise TypeError(f"not callable: {on_end!r}")
            structure = structure_of(label, options)
            if on_end is not None:
                operation._on_end = on_end
                structure.on_end = call_with_end
                structure.end_context = register(operation._deliver)
                structure.end_destroy = forget_end
            operation._extras = extras_of(self, options)
            key = register(operation)
            out = take_out()
            status = quick.queue_enqueue_with(
                self._bits, byref(structure), start, key, drop, out[1]
            )
        if status:
            raise refusal("inturn_queue_enqueue", status)
        operation._handle = out[0].value
        give_back(out)
        return operation

    def batch(
        self,
        works: Iterable[Work],
        *,
        policy: BatchPolicy | None = None,
        enough: int = 0,
        on_end: OnBatchEnd | None = None,
        edges: Iterable[tuple[int, int]] = (),
        label: str | None = None,
        **options: Unpack[OperationOptions],
    ) -> Batch:
        """Adds all of the works as operations with one completion, or none when this fails.

        They come one after the other, with none of others between them, and run as any operations
        of the queue do. ``policy``, by default `BatchPolicy.ALL`, says when the rest is cancelled
        (with `BatchPolicy.ENOUGH`, when so many as ``enough`` have finished); ``on_end(end)`` is
        called exactly once, with the `BatchEnd`. Each of the ``edges``, ``(place, after)``, lets
        the work at that place of the list start when the one at the smaller place ``after`` has
        ended. The options are each operation's, as for `enqueue`; ``after_policy`` is for the
        edges, too, and ``join`` is none of them.

        :raises TypeError: a work is not callable, or an option is not of its type.
        :raises ValueError: an option is out of range, or an edge names no two places in order.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: more would be pending than the capacity, or the owner's, allows.
        :raises UnsupportedError: the option is for queues of another kind.
        """
        from ._batches import Batch, BatchPolicy

        works = list(works)
        for work in works:
            if not callable(work):
                raise TypeError(f"not callable: {work!r}")
        if on_end is not None and not callable(on_end):
            raise TypeError(f"not callable: {on_end!r}")
        if self._home is not None or _executors.exiting:
            self._prepare()
        structure = structure_of(label, options)
        caller = sys._getframe(1)
        place = caller.f_code, caller.f_lineno
        operations = [Operation(self, work, label, *place) for work in works]
        for operation in operations:
            operation._extras = extras_of(self, options)
        batch = Batch(self, operations, on_end)
        batch._enqueue(
            structure, BatchPolicy.ALL if policy is None else BatchPolicy(policy), enough, edges
        )
        return batch

    def _submit(self, function: Callable[..., T], args: Any, kwargs: Any) -> Future[T]:
        if not callable(function):
            raise TypeError(f"not callable: {function!r}")
        if self._home is not None or _executors.exiting:
            self._prepare()
        future: Future[T] = Future(self, function, args, kwargs)
        out = take_out()
        key = new_key()
        entries[key] = future
        status = quick.queue_enqueue(self._bits, start, key, drop, out[1])
        if status:
            raise refusal("inturn_queue_enqueue", status)
        future._handle = out[0].value
        give_back(out)
        return future

    def suspend(self, reason: str | None = None) -> None:
        """Starts no further operation from now on; suspends are counted, for each reason by itself.

        The queue goes on when each suspend of each reason, and each without one, is taken back.
        """
        if reason is None:
            lib.inturn_queue_suspend(self._handle)
        else:
            lib.inturn_queue_suspend_for(self._handle, text(reason))

    def resume(self, reason: str | None = None) -> None:
        """Takes one suspend back, of the same reason.

        :raises NotSuspendedError: there is none.
        """
        if reason is None:
            lib.inturn_queue_resume(self._handle)
        else:
            lib.inturn_queue_resume_for(self._handle, text(reason))

    @property
    def rate(self) -> Rate | None:
        """How many operations may start in a time; None: any number.

        Where one rate replaces another, its bucket lacks as many starts as the other's.

        :raises ValueError: by setting it: a number that makes no rate.
        """
        return self._rate

    @rate.setter
    def rate(self, rate: Rate | None) -> None:
        from ._rates import structure_of as structure_of_rate

        lib.inturn_queue_set_rate(self._handle, byref(structure_of_rate(rate)))
        self._rate = rate

    def resolve(self, key: str) -> int:
        """Ends the pending operations of a key as finished: what they were to ask is answered.

        Their work is never called; the running one is not touched.  Returns how many they are.
        """
        count = c_uint64()
        lib.inturn_queue_resolve_key(self._handle, text(key), byref(count))
        return count.value

    def cancel(self, key: str) -> int:
        """Cancels the operations of a key, running ones as well; returns how many they are."""
        count = c_uint64()
        lib.inturn_queue_cancel_key(self._handle, text(key), byref(count))
        return count.value

    def cancel_all(self) -> None:
        """Cancels each operation that was enqueued so far.

        In a coroutine that runs, ``asyncio.CancelledError`` is raised; who is inside
        ``async with`` goes on.
        """
        self._is_cut = True
        lib.inturn_queue_cancel_all(self._handle)
        self._ask_holders()

    def close(self) -> None:
        """Refuses new operations from now on; what was accepted goes on."""
        with suppress(ClosedError, StaleError):
            lib.inturn_queue_close(self._handle)

    def drain(self, timeout: float | None = None) -> None:
        """Waits until every operation has ended and every end was delivered.

        As all waits that block, it is refused on a loop's thread while a coroutine of that loop has
        to go on first: a coroutine awaits instead.

        :raises TimedOutError: that is not so after so many seconds.
        :raises DeadlockError: it cannot be so while the caller waits.
        """
        wait(lambda ns: lib.inturn_queue_drain(self._handle, ns), timeout, self._look())

    def destroy(self) -> None:
        """Cancels what has not ended, and ends the queue; a second call does nothing.

        A coroutine that runs is cancelled as by `cancel_all`.

        :raises DeadlockError: it would wait for itself, round a ring.
        """
        self._is_cut = self._is_ending = True
        for holder in list(self._holders):
            holder._let_go()
        with suppress(StaleError):
            let_call(lib.inturn_queue_destroy, self._handle)
        self._ask_holders()

    # ----------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"<inturn.{type(self).__name__} {self.label or ''!r}>"

    def __del__(self) -> None:
        if self._handle.bits and not sys.is_finalizing():
            with suppress(Error):
                self.destroy()
