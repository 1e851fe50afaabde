"""What the library has of an asyncio loop: an executor, and the tasks that run its coroutines."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ._callbacks import borrowed
from ._errors import Error
from ._executors import Executor
from ._library import quick, refusal

if TYPE_CHECKING:
    from ._asyncio_turns import CoroutineTurn, Turn
    from ._queues import Queue


# How many coroutines that never wait are run before the loop gets to do something else.
_PATIENCE = 32
# How many calls a loop makes for its queues before it does something else.
_CALLS = 32


class Driver:
    """A task that runs coroutines one after the other, each in its own context.

    Most of them it begins inside of the library's call that grants the turn: one that ends there
    ends its operation there, and the library goes on to the next.
    """

    def __init__(self, home: Home) -> None:
        self.turn: Turn | None = None
        self.asked = 0  # how often a turn's owner has cancelled the task
        self.begun = 0  # turns
        self.rest: Coroutine[Any, Any, None] | None = None  # of the turn
        self._raised: BaseException | None = None
        self.task = home.loop.create_task(self._drive(home), name="inturn")

    def begin(self, turn: Turn) -> None:
        """Inside the library's call: uses the turn."""
        self.turn = turn
        self.begun += 1
        try:
            self.rest = turn._begin(self)
        except BaseException as error:  # it is raised where the library is not in between
            self._raised = error
        else:
            if self.rest is None:
                self.turn = None

    def take(self, turn: CoroutineTurn, error: BaseException) -> None:
        """Inside the library's call: the turn's first step has raised."""
        try:
            turn._fail(error)
        except BaseException as raised:
            self._raised = raised
        else:
            self.turn = None

    @property
    def is_free(self) -> bool:
        """Whether it can begin a turn."""
        return self.rest is None and self._raised is None

    async def _drive(self, home: Home) -> None:
        ready = home.ready
        pause = _PATIENCE
        try:
            while True:
                begun = self.begun
                if ready:
                    self.begin(ready.popleft())
                else:
                    home.drain(driver=self)
                if self._raised is not None:
                    raise self._raised
                rest, self.rest = self.rest, None
                if rest is not None:
                    if ready and not home.is_driven():
                        home.drive()
                    await rest
                    self.turn = None
                if self.asked or getattr(self.task, "_must_cancel", False):
                    await self._absorb()
                if self.begun == begun:
                    break  # there is no more
                if self.begun >= pause:
                    await asyncio.sleep(0)
                    pause = self.begun + _PATIENCE
        finally:
            turn, self.turn, self._raised = self.turn, None, None
            if turn is not None:  # the task is destroyed, or something got through
                turn._lose()
            home.drivers.discard(self)
            if ready and not home.closed:
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
        self.ready: deque[Turn] = deque()
        self.drivers: set[Driver] = set()
        self.closed = False
        # Whom to tell when the loop goes.
        self.gates: set[threading.Event] = set()
        self._lock = threading.Lock()  # protects _queues
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()  # that have this executor
        self._is_draining = False
        self.inside: Driver | None = None  # who drains, and may begin turns at once
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

    def take(self, queue: Queue) -> None:
        """The queue's turns come to this loop's thread from now on."""
        if not self.closed:
            status = quick.queue_set_executor(queue._bits, self.bits)
            if status:
                raise refusal("inturn_queue_set_executor", status)
            queue._home = self
            with self._lock:
                self._queues.add(queue)

    def drain(self, calls: int = _CALLS, driver: Driver | None = None) -> None:
        """On the loop's thread: lets the library call what waits, for a driver that is in its
        step, or just to grant the turns."""
        if self._is_draining:
            return
        self._is_draining = True
        self.inside = driver
        thread = get_ident()
        borrowed.add(thread)
        try:
            quick.executor_drain(self.bits, calls, None)
        finally:
            borrowed.discard(thread)
            self.inside = None
            self._is_draining = False

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
            turn._begin(None)
            return
        driver = self.inside
        if driver is not None and driver.is_free:
            borrowed.discard(self.thread)  # the coroutine may drain an executor of its own
            driver.begin(turn)
            borrowed.add(self.thread)
            return
        self.ready.append(turn)
        if not self.is_driven():
            self.drive()

    def is_driven(self) -> bool:
        """Whether a driver is between two turns, or begins: it takes what is ready."""
        return any(driver.turn is None for driver in self.drivers)

    def drive(self) -> None:
        self.drivers.add(Driver(self))


_homes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Home] = weakref.WeakKeyDictionary()
_homes_lock = threading.Lock()  # protects _homes


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


def _forget_homes() -> None:
    """In a forked child: loops and executors are the parent's."""
    global _homes_lock
    _homes_lock = threading.Lock()
    for home in list(_homes.values()):
        home.closed = True
    _homes.clear()
    _spare_executors.clear()


os.register_at_fork(after_in_child=_forget_homes)


def open_home(home: Home) -> None:
    if not home.is_open:
        home.open()
