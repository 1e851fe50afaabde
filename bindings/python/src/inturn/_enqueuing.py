"""Objects that accept operations: a queue, and a queue with options."""

from __future__ import annotations

import concurrent.futures
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _executors, _prototypes as c
from ._arguments import checked, function
from ._callbacks import entries, forget, new_key, start, start_post
from ._ends import OnEnd, Work
from ._errors import StaleError, UnsupportedError
from ._futures import Attempts, Future, call_as_work
from ._handles import NotCopied
from ._library import NOTHING, quick, refusal
from ._operations import Operation
from ._options import extras_of, structure_of, with_end, with_lists
from ._turn_takers import loop_part

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Iterable
    from types import FrameType

    from typing_extensions import ParamSpec, Unpack

    from ._batches import Batch, BatchPolicy, OnBatchEnd
    from ._policies import OperationOptions
    from ._queues import Queue

    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class Run(asyncio.Task[R_co], Coroutine[Any, Any, R_co]):
        """What `Queue.run` returns: a task that is also accepted where a coroutine is required."""


T = TypeVar("T")

_NOTHING: OperationOptions = {}
_IS_COROUTINE = 0x80  # of a code's flags


class Enqueuing(NotCopied, concurrent.futures.Executor):
    """The base of queues, and of a queue with options.

    It is a ``concurrent.futures.Executor``: `submit`, ``map`` and `shutdown` behave as they do
    there.
    """

    _given = _NOTHING
    # The options in the library's form; None if it needs none.
    _structure: c.inturn_operation_options | None = None

    _queue: Queue

    def options(self, **options: Unpack[OperationOptions]) -> Options:
        """This queue with options.  They apply to each operation that is added through the result.

        >>> from inturn import FIFOQueue, Retry
        >>> with FIFOQueue("saves") as queue:
        ...     patient = queue.options(label="a save", retry=Retry(3), max_run=10)
        ...     future = patient.submit(int, "ff", base=16)
        >>> future.result()
        255

        Each option may be left out.  The function that you pass to `submit` keeps all of its own
        keywords.

        * ``label``: the name of the operation in reports and lists.
        * ``on_end``: called exactly once, with the `End`.
        * ``priority`` (interaction and operation queues): higher ones start first, equal ones in
          order.
        * ``after``: operations of any queue that must have ended before this one starts.  In a FIFO
          or actor queue, those behind it wait, too; an interaction or operation queue goes on with
          others.  ``after_policy``: with `AfterPolicy.FINISHED`, or True, this one is cancelled if
          one of them does not finish.
        * ``barrier`` (operation queues): it starts when all operations before it have ended, and
          nothing behind it starts before it has ended.
        * ``urgent`` (interaction queues): it comes before all that are not urgent, and asks the one
          that is shown to give way: see `Token.on_preempt`.
        * ``exclusive``: names of what it needs for itself.  Of all operations of all queues that
          have a name in common, one runs at a time.
        * ``condition``: called by the executor just before each call of the work.  It returns a
          `Verdict`, or a bool, where False means `Verdict.SKIP`.  An exception in it fails the
          operation.
        * ``retry``: a `Retry`.  After a failure the function is called again, as long as it allows
          another attempt.
        * ``key``: see `Queue.resolve` and `Queue.cancel`.  ``join``: if the queue has an operation
          with the same key that has not ended, this one does not run.  It ends when that one does,
          in the same way and with the same result.
        * ``owner``: the operation is cancelled when this `Owner` goes away.

        Times are in seconds of the queue's clock, and zero means none.  ``max_wait`` limits the
        time from this call to the start, and ``max_run`` the time from there to the end.  After
        either, the operation has timed out.  If its work is still running then, it keeps its place
        until the work is over, or gives it up at once with ``free_at_max_run``.  ``stall``: the
        report handler is called when the operation has been pending or running for so long.
        ``cancel_grace``: how long the operation may continue after it was asked to end.

        A call that returns a result raises `TimedOutError` for an operation that has timed out, and
        returns None for one that was skipped or resolved.

        :raises TypeError: an option is of the wrong type, or there is no option of that name.
        :raises ValueError: an option is out of range.
        :raises UnsupportedError: the option is for queues of another kind.
        """
        return Options(self._queue, {**self._given, **options})

    def post(self, fn: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Adds a call of a plain function, and returns nothing: the fastest way.

        The operation has ended when the function returns.  An exception fails the operation, and
        ``threading.excepthook`` prints it with the name of the queue, except ``SystemExit``, which
        it ignores as in any thread.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        """
        if not callable(fn):
            raise self._queue._refused_function(fn)
        call = partial(fn, *args, **kwargs) if args or kwargs else fn
        given, caller = self._given, sys._getframe(1)
        if given is not _NOTHING:
            self._enqueue(partial(call_as_work, call), given.get("on_end"), caller)
            return
        queue: Queue = self  # type: ignore[assignment]  # which alone is given nothing
        if queue._home is not None or _executors.exiting:
            queue._prepare()
        site, to, key = queue._site_of(caller), queue._prepared, new_key()
        # The queue is alive for as long as it has operations.
        entries[key] = queue, call
        status = quick.queue_enqueue_at(site, to, start_post, key, forget, NOTHING)
        if status:
            raise refusal(repr(queue), status)

    def enqueue(self, work: Work) -> Operation:
        """Adds an operation, and returns at once.

        The queue's executor calls ``work(token)``.  The operation lasts until its token is
        finished, failed or cancelled: before the work returns or later, from any thread.  An
        exception in the work fails the operation.  If the token is lost, the operation ends as
        abandoned.

        :raises TypeError: the work is not callable, or is a coroutine function.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity, or the owner's, allows.
        :raises StaleError: the owner is closed.
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
            structure = with_end(structure, operation._deliver)
        if how is start and (queue._home is not None or _executors.exiting):
            queue._prepare()
        operation._handle = queue._add(how, operation, structure, queue._site_of(caller))
        return operation

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Adds a call of a plain function.  The operation has ended when the function returns.

        :raises TypeError: the function is not callable.
        :raises ClosedError: the queue accepts no more operations; a ``RuntimeError``.
        :raises FullError: as many are pending as the capacity allows.
        """
        if not callable(fn):
            raise self._queue._refused_function(fn)
        given, caller = self._given, sys._getframe(1)
        if given is _NOTHING:
            queue: Queue = self  # type: ignore[assignment]  # which alone is given nothing
            if queue._home is not None or _executors.exiting:
                queue._prepare()
            future: Future[T] = Future(queue, fn, args, kwargs)
            future._handle = queue._add(start, future, None, queue._site_of(caller))
            return future
        attempts: Attempts[T] = Attempts(self._queue, partial(fn, *args, **kwargs))
        attempts._on_end = given.get("on_end")
        attempts._operation = self._enqueue(attempts._attempt, attempts._ended, caller)
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
        """Adds all of the works as operations with one completion, or none of them if this raises.

        They are adjacent in the queue, and run like any other operations of it.  ``policy``, by
        default `BatchPolicy.ALL`, says when the rest is cancelled; with `BatchPolicy.ENOUGH`, when
        ``enough`` of them have finished.  ``on_end(end)`` is called exactly once, with the
        `BatchEnd`.  Each of the ``edges`` is a pair ``(place, after)`` of indices in the list: the
        work at ``place`` starts when the one at the smaller index ``after`` has ended.  Options
        apply to each operation.  ``after_policy`` applies to the edges as well, and ``join`` and
        ``on_end`` are not allowed.

        :raises TypeError: a work is not callable, or is a coroutine function.
        :raises ValueError: an edge is not a pair of indices in the right order.
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
            raise UnsupportedError("operations of a batch have no on_end: pass it to batch")
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
            queue._site_of(caller),
        )
        return batch

    def run(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Run[T]:
        """Adds a coroutine, which the running loop runs in its turn.  Await the result.

        This call enqueues it, not the await.  It is a task of the loop, and its first step waits
        for the turn.  So it runs in a copy of the caller's context, and is cancelled like any other
        task.  Its turn lasts until it ends, also while its loop is stopped; a loop that is closed
        ends it, one that is only dropped does not.  On an actor queue the turn lasts until the
        coroutine is suspended, and the coroutine continues in a later turn.

        The loop then starts the queue's functions, too.  One whose turn comes while the loop is
        stopped is called when the loop runs or closes, or when somebody adds to the queue from
        elsewhere, or blocks for it.

        Under trio, only a nursery could make a task.  So the coroutine runs in the task that awaits
        the result, once, and waits for its turn until then; ``nursery.start_soon(queue.run, fn)``
        starts one that does.

        Under asyncio, the result is also accepted as a coroutine, by ``asyncio.create_task`` and
        ``TaskGroup.create_task``, and from anyio 4.14 on by its task groups, unless the loop has a
        task factory: then it is the task that the factory makes.  ``asyncio.wait`` accepts only
        what these return.

        :raises TypeError: the function is not callable, or is a coroutine already.
        :raises RuntimeError: no loop runs on this thread.
        :raises ClosedError: the queue accepts no more operations.
        :raises FullError: as many are pending as the capacity allows.
        :raises UnsupportedError: an actor queue has no ``retry``, ``condition``, ``join`` and
            ``on_end`` for coroutines, and takes none under trio.  Raised by the await if the loop's
            own thread calls an actor queue's executor, which calls that wait for the loop.
        :raises DeadlockError: raised by the await inside a coroutine that has the turn itself; if a
            task factory of the loop makes the task, a moment later.  And by that of the main task
            of a loop that the queue's own work runs, as by ``asyncio.run``.
            Not by ``asyncio.gather`` and others that wait by a callback, as they may be called long
            before anybody waits: such a wait is reported when the queue is stuck.
        """
        if not callable(fn):
            raise self._queue._refused_function(fn)
        result: Run[T] = loop_part().run(self, fn, args, kwargs)
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses new operations, cancels pending ones if asked to, and waits for the rest.

        The queue is not destroyed: running operations end as usual, and are not asked to end.

        :raises DeadlockError: it would wait for the caller.
        """
        with suppress(StaleError):
            self._queue.close()
            if cancel_futures:
                self._queue.cancel_pending()
            if wait:
                self._queue.drain()


class Options(Enqueuing):
    """A queue with options, made by `Queue.options`.  They apply to what is added through it."""

    def __init__(self, queue: Queue, given: OperationOptions) -> None:
        self._queue = queue
        self._given = given = with_lists(given)
        self._structure = structure_of(queue, given)

    if not TYPE_CHECKING:  # for a type checker it is the base's

        def map(self, *call, **how):
            """As that of the queue.  The base keeps nobody alive, so this is kept by the results:
            with a ``buffersize`` they add further calls."""

            def kept(_by, results):
                yield from results

            return kept(self, super().map(*call, **how))

    def __repr__(self) -> str:
        return f"<inturn.Options of {self._queue!r}: {', '.join(self._given)}>"
