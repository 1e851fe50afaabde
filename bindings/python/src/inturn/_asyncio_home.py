"""What the library has of an asyncio loop: an executor, and the tasks that run its coroutines."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import suppress
from contextvars import Context
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from ._asyncio_turns import drivers
from ._callbacks import borrowed, entries, start_anywhere
from ._errors import Error
from ._executors import Executor, give_back_at_exit
from ._library import quick, refusal

if TYPE_CHECKING:
    from ._asyncio_turns import CoroutineTurn, Turn
    from ._queues import Queue


# How many coroutines that never wait are run before the loop gets to do something else.
_PATIENCE = 32
# How many calls a loop makes for its queues before it does something else.
_CALLS = 32


def _finish(token: int) -> int:
    """Ends an operation, if there is one; zero."""
    if token:
        quick.token_finish(token)
    return 0


class _Steps:
    """Runs a coroutine in a context, as far as it waits for the same as the driver's task."""

    __slots__ = ("_context", "_coroutine", "_waited")

    def __init__(self, context: Context, coroutine: Coroutine[Any, Any, Any], waited: Any) -> None:
        self._context = context
        self._coroutine = coroutine
        self._waited = waited

    def __await__(self) -> Generator[Any, Any, Any]:
        run, coroutine, waited = self._context.run, self._coroutine, self._waited
        while True:
            try:
                sent = yield waited
            except BaseException as error:
                step: Callable[[Any], Any] = coroutine.throw
                given: Any = error
            else:
                step, given = coroutine.send, sent
            try:
                waited = run(step, given)
            except StopIteration as stop:
                return stop.value


class Driver:
    """A task that runs coroutines one after the other, each in its own context."""

    __slots__ = ("__weakref__", "asked", "task", "turn")

    def __init__(self, home: Home) -> None:
        self.turn: CoroutineTurn | None = None
        self.asked = 0  # how often a turn's owner has cancelled the task
        self.task = home.loop.create_task(self._drive(home), name="inturn")
        drivers[self.task] = weakref.ref(self)

    async def _drive(self, home: Home) -> None:
        ready = home.ready
        token = 0  # of a turn that is over, which the library is told when it is asked for more
        left = _PATIENCE
        try:
            while True:
                turn = home.next(token)
                token = 0
                if turn is None:
                    break
                if turn._is_unwanted():
                    turn._end_turn(quick.token_cancel)
                    turn._set_cancelled()
                    continue
                self.turn = turn
                turn._driver = self
                context = turn._context or Context()
                try:
                    coroutine, waited = context.run(turn._first_step)
                except StopIteration as stop:
                    token = turn._conclude(stop.value)
                except BaseException as error:
                    turn._fail(error)
                else:
                    if ready and not home.is_driven():
                        home.drive()
                    await turn._rest(_Steps(context, coroutine, waited))
                self.turn = None
                left -= 1
                if self.asked or getattr(self.task, "_must_cancel", False):
                    token = _finish(token)
                    await self._absorb()
                if not left:
                    token = _finish(token)
                    await asyncio.sleep(0)
                    left = _PATIENCE
        finally:
            _finish(token)
            turn, self.turn = self.turn, None
            home.drivers.discard(self)
            if turn is not None:  # the task is destroyed, or something got through
                turn._lose()
            if ready and not home.is_gone():
                home.drive()

    def leave(self) -> None:
        """The loop goes, and the coroutine will not get to its end."""
        turn = self.turn
        self.task.cancel()
        self.task._log_destroy_pending = False  # type: ignore[attr-defined]
        if turn is not None:
            turn._lose()

    async def _absorb(self) -> None:
        """The cancelling was meant for the turn that has ended, not for the next one."""
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        self.asked = 0
        task: Any = self.task
        while hasattr(task, "uncancel") and task.cancelling():
            task.uncancel()


# Executors of loops that have gone. They are used again, since a queue that had one keeps it.
_spare_executors: list[Executor] = []


class Home:
    """What the library has of one loop: an executor which the loop's thread drains."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.reference = weakref.ref(loop)
        self.thread = 0
        try:
            self.executor = _spare_executors.pop()
        except IndexError:
            self.executor = Executor("asyncio")
        self.bits = self.executor._handle.bits
        # Turns on their way from other threads, and those that wait for a driver.
        self.coming: deque[Turn] = deque()
        self.ready: deque[CoroutineTurn] = deque()
        self.drivers: set[Driver] = set()
        self.closed = False
        # Whom to tell when the loop goes.
        self.gates: set[threading.Event] = set()
        self._lock = threading.Lock()  # protects _queues
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()  # that have this executor
        self._is_draining = False
        # What the library gives: a key and a token.
        self._given = (ctypes.c_uint64 * 2)()
        self._given_at = ctypes.c_void_p(ctypes.addressof(self._given))
        self._hook: AsyncGenerator[None, None] | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        loop = self.reference()
        if loop is None:
            raise RuntimeError("Event loop is gone")
        return loop

    @property
    def is_open(self) -> bool:
        return self._hook is not None

    def is_gone(self) -> bool:
        loop = self.reference()
        return self.closed or loop is None or loop.is_closed()

    async def _watch(self) -> AsyncGenerator[None, None]:
        """The loop closes its asynchronous generators before it closes."""
        try:
            yield
        finally:
            self.close()

    def open(self) -> None:
        """On the loop's thread: drains from now on, until the loop closes."""
        self.thread = get_ident()
        self.loop.add_reader(self.executor.fileno(), self.drain)
        self._hook = self._watch()
        # Its first step, which comes to the yield at once.
        with suppress(StopIteration):
            self._hook.asend(None).send(None)

    def close(self) -> None:
        """The loop goes: its queues go on without it."""
        if self.closed:
            return
        self.closed = True
        loop = self.reference()
        if loop is not None:
            _homes.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self.executor.fileno())
        with self._lock:
            queues = list(self._queues)
        for queue in queues:
            if queue._home is self:
                with suppress(Error):  # it was destroyed
                    queue._leave_home()
        self.drain(0)
        self.lose_coming()
        while self.ready:
            self.ready.popleft()._lose()
        for driver in list(self.drivers):
            driver.leave()
        for gate in list(self.gates):
            gate.set()
        _spare_executors.append(self.executor)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self.close()

    def take_over(self, queue: Queue) -> None:
        """The queue's turns come to this loop's thread from now on."""
        if not self.closed:
            status = quick.queue_set_executor(queue._bits, self.bits)
            if status:
                raise refusal("inturn_queue_set_executor", status)
            queue._home = self
            with self._lock:
                self._queues.add(queue)

    def drain(self, calls: int = _CALLS) -> None:
        """On the loop's thread: lets the library call what waits, which grants turns."""
        if self._is_draining:
            return
        self._is_draining = True
        thread = get_ident()
        borrowed.add(thread)
        try:
            quick.executor_drain(self.bits, calls, None)
        finally:
            borrowed.discard(thread)
            self._is_draining = False

    def next(self, token: int) -> CoroutineTurn | None:
        """For a driver: ends the operation of a token, if there is one, and takes the next turn."""
        ready = self.ready
        given = self._given
        while not ready:
            self._is_draining = True
            thread = get_ident()
            borrowed.add(thread)
            try:
                status = quick.executor_take(self.bits, start_anywhere, token, self._given_at)
            finally:
                borrowed.discard(thread)
                self._is_draining = False
            if status:
                break
            token = given[1]
            if not token:
                return ready.popleft() if ready else None
            turn: Turn = entries.pop(given[0])
            if turn._take(token):
                if turn._home is not self:  # the queue has come from there
                    turn._go_home()
                elif turn._needs_driver:
                    return turn  # type: ignore[return-value]
                else:
                    turn._begin()
            token = 0
        _finish(token)
        return ready.popleft() if ready else None

    def arrive(self) -> None:
        """On the loop's thread: a turn has come from another one."""
        with suppress(IndexError):
            self.grant(self.coming.popleft())

    def lose_coming(self) -> None:
        """The loop has gone: nobody takes what is on its way, but for who gets it here."""
        with suppress(IndexError):
            while True:
                self.coming.popleft()._lose()

    def grant(self, turn: Turn) -> None:
        """On the loop's thread: a turn has come."""
        if self.closed:
            turn._lose()
            return
        if not turn._needs_driver:
            turn._begin()
            return
        self.ready.append(turn)  # type: ignore[arg-type]
        if not self.is_driven():
            self.drive()

    def is_driven(self) -> bool:
        """Whether a driver is between two turns, or begins: it takes what is ready."""
        return any(driver.turn is None for driver in self.drivers)

    def drive(self) -> None:
        self.drivers.add(Driver(self))


_homes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Home] = weakref.WeakKeyDictionary()
_homes_lock = threading.RLock()  # protects _homes; a signal handler may come while it is held


def has_home(thread: int) -> bool:
    """Whether a thread is that of a loop, or was when the loop ran."""
    with _homes_lock:
        return any(home.thread == thread for home in _homes.values())


def home_here() -> Home:
    """The running loop's."""
    loop = asyncio.get_running_loop()
    home = _homes.get(loop) or home_of(loop)
    if not home.is_open:
        home.open()
    home.thread = get_ident()
    return home


def find_home(loop: asyncio.AbstractEventLoop) -> Home | None:
    """A loop's, if it has one."""
    return _homes.get(loop)


def home_of(loop: asyncio.AbstractEventLoop) -> Home:
    """A loop's, from any thread."""
    with _homes_lock:
        home = _homes.get(loop)
        if home is None:
            home = _homes[loop] = Home(loop)
        return home


def _leave_stopped_loops() -> None:
    """The interpreter exits, and nobody is left to run them."""
    with _homes_lock:
        homes = list(_homes.items())
    for loop, home in homes:
        if not loop.is_running():
            home.close()


give_back_at_exit.append(_leave_stopped_loops)


def _forget_homes() -> None:
    """In a forked child: loops and executors are the parent's."""
    global _homes_lock
    _homes_lock = threading.RLock()
    for home in list(_homes.values()):
        home.closed = True
    _homes.clear()
    _spare_executors.clear()


os.register_at_fork(after_in_child=_forget_homes)


def open_home(home: Home) -> None:
    if not home.is_open:
        home.open()
