"""The kinds of queues."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from . import _prototypes as c
from ._arguments import TIME, checked, nanoseconds, whole
from ._errors import DeadlockError, StaleError
from ._executors import Executor, Pool, pool
from ._library import lib
from ._queues import Queue

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._queues import QueueOptions

    class PooledOptions(QueueOptions, total=False):
        """The further keyword arguments of queues that run on Python's threads."""

        executor: Executor | None
        daemon: bool
        thread: bool


class _Pooled(Queue):
    """Queues whose work Python's threads call, unless they are given an executor.

    ``with`` waits for all operations, or cancels them when its block raises.

    As with the executors of ``concurrent.futures``, the interpreter's exit waits while their
    threads are busy, or while non-daemon threads may give them work; but not for a suspended queue
    or a token that nobody finishes.  An interrupt ends the wait.
    """

    def __init__(
        self,
        label: str | None = None,
        *,
        executor: Executor | None = None,
        daemon: bool = False,
        thread: bool = False,
        **options: Unpack[QueueOptions],
    ) -> None:
        """The interpreter's exit does not wait for the operations of a ``daemon``.

        With ``thread``, the queue's own thread calls all of its functions, for libraries that tie
        an object to the thread that created it; coroutines still run on their loop.  Other options
        are those of every `Queue`.

        :raises TypeError: with an executor, there is neither.
        :raises NoMemoryError: the first thread cannot be started.
        """
        if executor is not None and (daemon or thread):
            raise TypeError(f"{self!r} has an executor, so it takes neither daemon nor thread")
        if executor is None:
            self._pool = Pool(daemon, 1) if thread else pool(daemon)
            self._is_movable = not (thread or self._is_actor)
        try:
            super().__init__(
                label, executor=self._pool.executor if self._pool else executor, **options
            )
        except BaseException:
            self._close_thread()
            raise

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None:
            self.close()
            try:
                with suppress(StaleError):  # it was destroyed in the block
                    self.drain()
            except DeadlockError:
                raise
            except BaseException:  # an interrupt cancels the rest
                self.destroy()
                raise
        self.destroy()


class FIFOQueue(_Pooled):
    """Operations start and end in the order in which they were enqueued.

    ``with`` waits for all operations, or cancels them if its block raises.  At exit, the
    interpreter waits for the operations that can still get their turn, unless the queue is a
    ``daemon``.  All kinds but `InteractionQueue` do so.

    >>> with FIFOQueue("sums") as queue:
    ...     future = queue.submit(sum, [1, 2, 3])
    >>> future.result()
    6
    """

    _kind = c.INTURN_QUEUE_FIFO


class OperationQueue(_Pooled):
    """At most ``max_concurrent`` operations run at a time.  They start in order.

    >>> with OperationQueue(max_concurrent=4) as queue:
    ...     list(queue.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    _kind = c.INTURN_QUEUE_CONCURRENT

    def __init__(
        self,
        label: str | None = None,
        *,
        max_concurrent: int | None = None,
        **options: Unpack[PooledOptions],
    ) -> None:
        """``max_concurrent`` defaults to the number of threads of a ``ThreadPoolExecutor``."""
        if max_concurrent is None:
            max_concurrent = min(32, (os.cpu_count() or 1) + 4)
        self._places = self._checked_places(max_concurrent)
        self._fields = {"max_concurrent": self._places}
        super().__init__(label, **options)

    @property
    def max_concurrent(self) -> int:
        """How many operations may run at a time.

        Lowering the limit stops no operation.  None starts until fewer than the new limit are
        running.

        :raises ValueError: the new limit is less than 1, or has more than 32 bits.
        """
        return self._places

    @max_concurrent.setter
    def max_concurrent(self, number: int) -> None:
        self._places = self._checked_places(number)
        lib.inturn_queue_set_max_concurrent(self._handle, number)

    def _checked_places(self, number: int) -> int:
        what = "a number of operations, 1 or more"
        return checked(self, "max_concurrent", number, what, whole(1, 2**32))


class ActorQueue(_Pooled):
    """Operations start in order: the next one starts when the one before it has returned, ended or
    not.

    Further segments (`Token.resume`) run in the order of the resumes.  Segments never overlap.
    A coroutine is made of segments too, from one await to the next; under asyncio, not under trio.
    So there is no ``async with``: other segments would run at each await of its block.
    What is left of a coroutine whose operation was cut off, such as by ``max_run``, continues as an
    operation of its own.  It runs outside of the queue's turns, and may overlap others, with
    ``free_at_max_run`` and where the queue is closed or full.
    """

    _kind = c.INTURN_QUEUE_ACTOR
    _is_actor = True


class InteractionQueue(Queue):
    """Interactions with a user: one at a time, while a view is visible.

    The executor calls the work; without one, `run_main` does.  ``with`` cancels what has not ended.
    """

    _kind = c.INTURN_QUEUE_INTERACTION
    _may_yield = True

    def __init__(
        self,
        label: str | None = None,
        *,
        settle: float = 0.5,
        gap: float = 0.25,
        executor: Executor | None = None,
        **options: Unpack[QueueOptions],
    ) -> None:
        """``settle`` is the time in seconds from the view's appearing to the first start, ``gap``
        the one from one end to the next start.

        Other options are those of every `Queue`.
        """
        self._fields = {}
        for name, delay in (("settle", settle), ("gap", gap)):
            ns = checked(self, name, delay, TIME, nanoseconds)
            self._fields[f"{name}_ns"] = ns or -1  # to C, 0 is the default, and -1 is none
        super().__init__(label, executor=executor, **options)

    def view_did_appear(self) -> None:
        """Says that the view is visible.  The queue continues once the view has settled."""
        lib.inturn_queue_view_did_appear(self._handle)

    def view_will_disappear(self) -> None:
        """Says that the view disappears.  No interaction starts until it is back."""
        lib.inturn_queue_view_will_disappear(self._handle)
