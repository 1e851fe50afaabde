"""What adds operations: a queue, and a queue with options."""

from __future__ import annotations

import concurrent.futures
import sys
from contextlib import suppress
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _executors
from . import _prototypes as c
from ._arguments import checked, function
from ._callbacks import (
    call_with_end,
    entries,
    forget,
    forget_end,
    new_key,
    refuse_coroutine,
    register,
    start,
    start_post,
)
from ._ends import OnEnd, Work
from ._errors import AlreadyFinishedError, UnsupportedError
from ._futures import Attempts, Future
from ._handles import NotCopied
from ._library import quick
from ._operations import Operation
from ._options import extras_of, structure_of
from ._sites import site_of
from ._turn_takers import loop_part

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Iterable
    from types import FrameType

    from typing_extensions import ParamSpec, Unpack

    from ._batches import Batch, BatchPolicy, OnBatchEnd
    from ._options import OperationOptions
    from ._queues import Queue
    from ._tokens import Token

    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class Run(asyncio.Task[R_co], Coroutine[Any, Any, R_co]):
        """What `Queue.run` returns: a task, and what asks for a coroutine takes it for one."""


T = TypeVar("T")

_NOTHING: OperationOptions = {}
_IS_COROUTINE = 0x80  # of a code's flags


class Enqueuing(NotCopied, concurrent.futures.Executor):
    """The base of queues, and of a queue with options.

    It is a ``concurrent.futures.Executor``: `submit`, ``map`` and `shutdown` are what they are
    there.
    """

    _given = _NOTHING
    # The same for the library; none: what it does without.
    _structure: c.inturn_operation_options | None = None

    @property
    def _queue(self) -> Queue:
        raise NotImplementedError

    def options(self, **options: Unpack[OperationOptions]) -> Options:
        """This queue with options, for what is added through the result, once or many times.

        >>> from inturn import FIFOQueue, Retry
        >>> with FIFOQueue("saves") as queue:
        ...     patient = queue.options(label="a save", retry=Retry(3), max_run=10)
        ...     future = patient.submit(int, "ff", base=16)
        >>> future.result()
        255

        A function keeps all of its own keywords.  Each may be left out:

        * ``label``: what reports and lists call the operation.
        * ``on_end``: is called exactly once, with the `End`.
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
          the function is called again.
        * ``key``: see `Queue.resolve` and `Queue.cancel`. ``join``: if the queue has an operation
          of the same key that has not ended, this one does not run and ends as that does, with the
          same result.
        * ``owner``: the operation is cancelled when this `Owner` goes away.

        Times are in seconds of the queue's clock, and zero means none: ``max_wait`` from here to
        the start and ``max_run`` from there to the end, after which the operation has timed out
        (its place is held until it is over, or freed with ``free_at_max_run``); after ``stall`` in
        the queue, or running, the report handler is told; ``cancel_grace`` is how long the
        operation may go on after it was asked to end.

        What gives a result raises `TimedOutError` for one that has timed out, and gives None for
        one that was skipped or resolved.

        :raises TypeError: an option is not of its type, or there is none of that name.
        :raises ValueError: an option is out of range.
        :raises UnsupportedError: the option is for queues of another kind.
        """
        return Options(self._queue, {**self._given, **options})

    def post(self, fn: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Adds a call of a plain function, which is over when it returns; nothing is told of it.

        The fastest way.  An exception fails the operation; ``threading.excepthook`` prints it, and
        says of which queue it is.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        queue = self._queue
        if not callable(fn):
            raise queue._refused_function(fn)
        call = partial(fn, *args, **kwargs) if args or kwargs else fn
        if self._given:
            self._enqueue(partial(_call, call), self._given.get("on_end"), sys._getframe(1))
            return
        if queue._home is not None or _executors.exiting:
            queue._prepare()
        bits, key = queue._bits, new_key()
        # The queue is alive for as long as it has operations.
        entries[key] = queue, call
        site = site_of(sys._getframe(1))
        status = quick.queue_enqueue_at(site, bits, start_post, key, forget, None)
        if status:
            raise queue._refusal(status)

    def enqueue(self, work: Work) -> Operation:
        """Adds an operation, and returns at once.

        The queue's executor calls ``work(token)``.  The operation is over when its token is
        finished, failed or cancelled: by then or later, from any thread.  An exception in work
        fails it; a lost token abandons it.

        :raises TypeError: the work is not callable, or a coroutine function.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity, or the owner's, allows.
        :raises StaleError: the owner has gone.
        """
        self._check_work(work)
        return self._enqueue(work, self._given.get("on_end"), sys._getframe(1))

    def _check_work(self, work: Work) -> None:
        code = getattr(work, "__code__", None)
        if not callable(work) or (code is not None and code.co_flags & _IS_COROUTINE):
            raise self._queue._refused_function(work)

    def _enqueue(
        self, work: Work, on_end: OnEnd | None, caller: FrameType, how: Any = start
    ) -> Operation:
        queue, given, structure = self._queue, self._given, self._structure
        operation = Operation(queue, work, given.get("label"), caller.f_code, caller.f_lineno)
        if given or queue._may_yield:
            operation._extras = extras_of(queue, given)
        if on_end is not None:
            operation._on_end = on_end
            if structure is None:
                structure = c.inturn_operation_options()
            else:  # that of all the others has no end
                structure = c.inturn_operation_options.from_buffer_copy(structure)
            structure.on_end = call_with_end
            structure.end_context = register(operation._deliver)
            structure.end_destroy = forget_end
        if how is start and (queue._home is not None or _executors.exiting):
            queue._prepare()
        operation._handle = queue._add(how, operation, structure, site_of(caller))
        return operation

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Adds a call of a plain function, which is over when it returns.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations; a ``RuntimeError``.
        :raises FullError: as many are pending as the capacity allows.
        """
        queue = self._queue
        if not callable(fn):
            raise queue._refused_function(fn)
        if not self._given:
            if queue._home is not None or _executors.exiting:
                queue._prepare()
            future: Future[T] = Future(queue, fn, args, kwargs)
            future._handle = queue._add(start, future, None, site_of(sys._getframe(1)))
            return future
        attempts: Attempts[T] = Attempts(queue, partial(fn, *args, **kwargs))
        attempts._on_end = self._given.get("on_end")
        attempts._operation = self._enqueue(attempts._attempt, attempts._ended, sys._getframe(1))
        attempts._handle = attempts._operation._handle
        return attempts

    def batch(
        self,
        works: Iterable[Work],
        *,
        policy: BatchPolicy | None = None,
        enough: int = 0,
        on_end: OnBatchEnd | None = None,
        edges: Iterable[tuple[int, int]] = (),
    ) -> Batch:
        """Adds all of the works as operations with one completion, or none when this fails.

        They come one after the other, with none of others between them, and run as any operations
        of the queue do. ``policy``, by default `BatchPolicy.ALL`, says when the rest is cancelled
        (with `BatchPolicy.ENOUGH`, when so many as ``enough`` have finished); ``on_end(end)`` is
        called exactly once, with the `BatchEnd`. Each of the ``edges``, ``(place, after)``, lets
        the work at that place of the list start when the one at the smaller place ``after`` has
        ended. Options are each operation's; ``after_policy`` is for the edges, too, and ``join``
        and ``on_end`` are none of them.

        :raises TypeError: a work is not callable, or a coroutine function.
        :raises ValueError: an edge names no two places in order.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: more would be pending than the capacity, or the owner's, allows.
        :raises UnsupportedError: the options have an ``on_end``.
        """
        from ._batches import Batch, BatchPolicy

        queue, given = self._queue, self._given
        if on_end is not None:
            checked(queue, "on_end", on_end, "a function of a BatchEnd", function)
        works = list(works)
        for work in works:
            self._check_work(work)
        if given.get("on_end") is not None:
            raise UnsupportedError("a batch has its own on_end, and no operation of it has one")
        if queue._home is not None or _executors.exiting:
            queue._prepare()
        caller = sys._getframe(1)
        place = caller.f_code, caller.f_lineno
        operations = [Operation(queue, work, given.get("label"), *place) for work in works]
        for operation in operations:
            operation._extras = extras_of(queue, given)
        batch = Batch(queue, operations, on_end)
        batch._enqueue(
            self._structure or c.inturn_operation_options(),
            BatchPolicy.ALL if policy is None else BatchPolicy(policy),
            enough,
            edges,
            site_of(caller),
        )
        return batch

    def run(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Run[T]:
        """Adds a coroutine, which the running loop runs when its turn comes; await the result.

        It is enqueued by this call, not by the await, and is a task of the loop's own, whose first
        step waits for the turn: so it runs in a copy of the caller's context, and is cancelled as
        any task is.  Its turn lasts until it has ended; on an actor queue, until it is suspended,
        and it goes on in another turn.

        Under trio a nursery would have to make the task: so the coroutine runs in the task that
        awaits it, once, and its turn is waited for until then.

        Where asyncio makes the task, it is taken for a coroutine, too: by ``asyncio.create_task``
        and ``TaskGroup.create_task``, and no more by ``asyncio.wait``, which wants what these give.

        :raises TypeError: the function is not callable, or is a coroutine already.
        :raises RuntimeError: no loop runs on this thread.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        :raises UnsupportedError: an actor queue has no ``retry``, ``condition``, ``join`` and
            ``on_end`` for coroutines.
        :raises DeadlockError: by the await, inside a coroutine that has the turn itself; where a
            factory of the loop's makes the task, a moment later.
        """
        if not callable(fn):
            raise self._queue._refused_function(fn)
        result: Run[T] = loop_part().run(self, fn, args, kwargs)
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses new operations, cancels what is pending where asked to, and waits for the rest.

        The queue is not destroyed: what runs ends as usual.

        :raises DeadlockError: it would wait for the caller.
        """
        self._queue._shut_down(wait, cancel_futures)


def _call(call: Callable[[], object], token: Token) -> None:
    """The work that a plain function is."""
    result = call()
    if type(result) is CoroutineType:
        refuse_coroutine(result, call)
    with suppress(AlreadyFinishedError):  # it was cut off
        token.finish(result)


class Options(Enqueuing):
    """A queue with options, made by `Queue.options`: what is added through it has them."""

    def __init__(self, queue: Queue, given: OperationOptions) -> None:
        self._of = queue
        self._bits = queue._bits  # which there are
        self._given = given
        self._structure = structure_of(queue, given)

    @property
    def _queue(self) -> Queue:
        return self._of

    def __repr__(self) -> str:
        return f"<inturn.Options of {self._of!r}: {', '.join(self._given)}>"
