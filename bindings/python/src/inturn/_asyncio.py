"""The queues' part of asyncio: coroutines that run in turn.

A turn is an operation like any other. When it starts, the library calls `_start`, which hands the
turn to its loop; there a *driver*, a task, runs the coroutine and ends the operation. While a loop
uses a queue, the queue's executor is the loop's own, which the loop's thread drains: so a turn goes
to the next coroutine without another thread. Functions that come up there are handed on to the
pool, and an enqueue from elsewhere gives the queue back to the pool.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from contextvars import Token as ContextToken
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from ._callbacks import (
    borrowed,
    drop,
    entries,
    give_back,
    new_key,
    start_anywhere,
    take_out,
)
from ._errors import DeadlockError, Error, UnsupportedError
from ._executors import Executor
from ._futures import Future
from ._library import quick, refusal

if TYPE_CHECKING:
    from ._queues import Queue

# How many coroutines that never wait are run before the loop gets to do something else.
_PATIENCE = 32
# How many calls a loop makes for its queues before it does something else.
_CALLS = 32

# The turn in which the running code is, or was when its task was made.
_current: ContextVar[Turn | None] = ContextVar("inturn_turn", default=None)


_SLOTS = (
    "_arguments",
    "_awaited",
    "_context",
    "_driver",
    "_function",
    "_home",
    "_is_asked",
    "_is_granted",
    "_keywords",
    "_operation",
    "_queue",
    "_token",
)


class Turn:
    """A coroutine, or a block, that waits for its turn of a queue, has it, or had it."""

    _home: Home
    _queue: Queue
    _operation: int  # the handle, as soon as it is known; zero before
    _token: int  # while it has its turn; else zero
    _is_granted: bool
    _awaited: Turn | None  # what its coroutine waits for, where it is known

    _needs_driver = True

    def _prepare(self, queue: Queue, home: Home) -> None:
        self._queue = queue
        self._home = home
        self._awaited = None
        self._operation = self._token = 0
        self._is_granted = False

    def _start(self, token: int) -> None:
        """What the library calls as the work, on any thread."""
        self._token = token
        self._is_granted = True
        if self._queue._is_serial:
            self._queue._holder = self
        home = self._home
        if get_ident() == home.thread:
            home.grant(self)
            return
        home.coming.append(self)
        with suppress(RuntimeError):  # the loop is closed
            home.loop.call_soon_threadsafe(home.arrive)
        if home.is_gone():
            home.lose_coming()

    def _dropped(self) -> None:
        """The library is done with it: it had its turn, or never will."""
        if not self._is_granted:
            self._is_granted = True
            home = self._home
            if get_ident() == home.thread:
                self._give_up()
            else:
                with suppress(RuntimeError):  # the loop is closed, and nobody there to be told
                    home.loop.call_soon_threadsafe(self._give_up)

    def _begin(self, driver: Driver | None) -> Coroutine[Any, Any, None] | None:
        """Uses the turn, on the loop's thread; returns what is left to wait for."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """The turn will never come."""
        raise NotImplementedError

    def _lose(self) -> None:
        """The turn came, but its loop has gone."""
        self._end_turn(quick.token_cancel)

    def _end_turn(self, how: Callable[..., int], *code: int) -> None:
        """Ends the operation: the first call does."""
        token, self._token = self._token, 0
        if token:
            queue = self._queue
            if queue._holder is self:
                queue._holder = None
            how(token, *code)

    def _is_of(self, task: object) -> bool:
        """Whether the turn is used by this very task."""
        raise NotImplementedError

    def _refuse_ring(self) -> Turn | None:
        """The turn that the calling task has; it is about to wait for this one.

        :raises DeadlockError: this one can never begin, or end, while the caller waits.
        """
        caller = _current.get()
        if caller is None or not caller._token or not caller._is_of(asyncio.current_task()):
            return None
        path = [caller]
        awaited: Turn | None = self
        while awaited is not None:
            # Who must go on first: the coroutine itself, or who has the turn before it.
            blocker = awaited if awaited._token else awaited._queue._holder
            if blocker is None or blocker in path[1:]:
                return caller
            path.append(blocker)
            if blocker is caller:
                ring = " -> ".join(repr(turn._queue.label or "") for turn in path)
                error = DeadlockError(f"the wait for a turn would never end: {ring}")
                error.ring = ring
                raise error
            awaited = blocker._awaited
        return caller


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

    def take(self, turn: _Coroutine, error: BaseException) -> None:
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


class _Coroutine(Turn):
    """A turn that a coroutine is run in."""

    _function: Callable[..., Coroutine[Any, Any, Any]]
    _arguments: tuple[Any, ...]
    _keywords: dict[str, Any]
    _context: Context | None
    _driver: Driver | None
    _is_asked: bool  # to end, before there was a driver

    def _prepare_call(
        self, queue: Queue, home: Home, function: Any, arguments: Any, keywords: Any
    ) -> None:
        self._queue = queue
        self._home = home
        self._awaited = None
        self._operation = self._token = 0
        self._is_granted = False
        self._function = function
        self._arguments = arguments
        self._keywords = keywords
        self._context = copy_context()
        self._driver = None
        self._is_asked = False

    def _is_of(self, task: object) -> bool:
        return self._driver is not None and self._driver.task is task

    def _first_step(self) -> tuple[Coroutine[Any, Any, Any], Any]:
        """In its context: makes the coroutine, and runs it until it waits."""
        _current.set(self)
        coroutine = self._function(*self._arguments, **self._keywords)
        try:
            send = coroutine.send
        except AttributeError:
            raise TypeError(f"not a coroutine function: {self._function!r}") from None
        return coroutine, send(None)

    def _begin(self, driver: Driver | None) -> Coroutine[Any, Any, None] | None:
        if self._is_unwanted():
            self._end_turn(quick.token_cancel)
            self._set_cancelled()
            return None
        self._driver = driver
        try:
            assert self._context is not None
            coroutine, waited = self._context.run(self._first_step)
        except StopIteration as stop:
            self._succeed(stop.value)
        except BaseException as error:
            self._fail(error)
        else:
            return self._rest(coroutine, waited)
        return None

    async def _rest(self, coroutine: Coroutine[Any, Any, Any], waited: Any) -> None:
        assert self._context is not None
        try:
            result = await _Steps(self._context, coroutine, waited)
        except BaseException as error:
            self._fail(error)
        else:
            self._succeed(result)

    def _succeed(self, result: Any) -> None:
        self._driver = self._context = None  # it refers to this turn
        self._end_turn(quick.token_finish)
        self._set_result(result)

    def _fail(self, error: BaseException) -> None:
        driver, self._driver, self._context = self._driver, None, None
        if isinstance(error, GeneratorExit):  # the driver is destroyed
            self._lose()
            raise error
        if isinstance(error, asyncio.CancelledError):
            self._end_turn(quick.token_cancel)
            self._set_cancelled()
            if driver is not None and not driver.asked:
                raise error  # the driver itself was cancelled: the loop ends
            return
        self._end_turn(quick.token_fail, 1)
        self._set_exception(error)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error

    def _ask_to_end(self) -> bool:
        """Cancels the coroutine that runs; whether there is one."""
        driver = self._driver
        if driver is None:
            self._is_asked = True
            return False
        driver.asked += 1
        return driver.task.cancel()

    def _is_unwanted(self) -> bool:
        raise NotImplementedError

    def _set_result(self, result: Any) -> None:
        raise NotImplementedError

    def _set_exception(self, error: BaseException) -> None:
        raise NotImplementedError

    def _set_cancelled(self) -> None:
        raise NotImplementedError


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


class Run(_Coroutine, asyncio.Future[Any]):
    """What `Queue.run` returns."""

    __slots__ = _SLOTS

    def _start(self, token: int) -> None:
        home = self._home
        driver = home.inside
        if (
            driver is None
            or not driver.is_free
            or self._is_asked
            or self.done()
            or get_ident() != home.thread
        ):
            super()._start(token)
            return
        # The same in one: a driver is there to begin it in this very call.
        queue = self._queue
        self._token = token
        self._is_granted = True
        if queue._is_serial:
            queue._holder = self
        self._driver = driver
        driver.turn = self
        driver.begun += 1
        borrowed.discard(home.thread)
        try:
            assert self._context is not None
            coroutine, waited = self._context.run(self._first_step)
        except StopIteration as stop:
            self._succeed(stop.value)
            driver.turn = None
        except BaseException as error:
            driver.take(self, error)
        else:
            driver.rest = self._rest(coroutine, waited)
        borrowed.add(home.thread)

    def cancel(self, msg: Any = None) -> bool:
        """A pending one never runs; a running one is cancelled, and its end is waited for."""
        if self.done():
            return False
        if self._driver is not None:
            return self._ask_to_end()
        if self._operation:
            quick.operation_cancel(self._operation)
        return super().cancel()

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            caller = self._refuse_ring()
            if caller is not None:
                return self._await_in(caller)
        return super().__await__()

    def _await_in(self, caller: Turn) -> Generator[Any, None, Any]:
        caller._awaited = self
        try:
            return (yield from super().__await__())
        finally:
            caller._awaited = None

    __iter__ = __await__

    def _give_up(self) -> None:
        if not self.done():
            super().cancel()

    def _is_unwanted(self) -> bool:
        return self.done()

    def _set_result(self, result: Any) -> None:
        if not self.done():
            self.set_result(result)

    def _set_exception(self, error: BaseException) -> None:
        if not self.done():
            if isinstance(error, StopIteration):
                wrapped = RuntimeError("coroutine raised StopIteration")
                wrapped.__cause__ = error
                error = wrapped
            self.set_exception(error)

    def _set_cancelled(self) -> None:
        if not self.done():
            super().cancel()

    def __del__(self) -> None:
        _release(self)
        super().__del__()


class ThreadRun(_Coroutine, Future[Any]):
    """What `Queue.run_on` returns: the future of a coroutine in another thread's loop."""

    def cancel(self) -> bool:
        """A pending one never runs; a running one is asked to end, and may take it or not."""
        if Future.cancel(self):
            return True
        if self.done():
            return self.cancelled()
        try:
            self._home.loop.call_soon_threadsafe(self._ask_to_end)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _start(self, token: int) -> None:
        if self._claim():
            self._begin_running()
            Turn._start(self, token)
        else:
            quick.token_cancel(token)

    def _dropped(self) -> None:
        Future._dropped(self)

    def _lose(self) -> None:
        super()._lose()
        self._set_cancelled()

    def _is_unwanted(self) -> bool:
        return self._is_asked or self.done()

    def _set_result(self, result: Any) -> None:
        self.set_result(result)

    def _set_exception(self, error: BaseException) -> None:
        self.set_exception(error)

    def _set_cancelled(self) -> None:
        if not self.done():
            self._end_cancelled()


class Hold(Turn, asyncio.Future[Any]):
    """The turn that ``async with queue`` waits for and has."""

    _needs_driver = False
    _reset: ContextToken[Turn | None]
    _task: asyncio.Task[Any] | None

    def _is_of(self, task: object) -> bool:
        return self._task is task

    def __init__(self, queue: Queue, home: Home) -> None:
        super().__init__(loop=home.loop)
        self._prepare(queue, home)
        self._task = asyncio.current_task()

    def _begin(self, driver: Driver | None) -> None:
        if self.done():  # nobody waits for it any more
            self._end_turn(quick.token_cancel)
        else:
            self.set_result(None)

    def _give_up(self) -> None:
        if not self.done():
            super().cancel()

    def cancel(self, msg: Any = None) -> bool:
        if not self.done() and self._operation:
            quick.operation_cancel(self._operation)
        return super().cancel()

    def __del__(self) -> None:
        _release(self)
        super().__del__()


def _release(turn: Turn) -> None:
    """A turn has gone; nobody has ended it if its task was destroyed."""
    if sys.is_finalizing():
        return
    if turn._token:
        turn._end_turn(quick.token_abandon)
    if turn._operation:
        quick.operation_release(turn._operation)


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
    home = _homes.get(loop) or _home_of(loop)
    if not home.is_open:
        home.open()
    home.thread = get_ident()
    return home


def _home_of(loop: asyncio.AbstractEventLoop) -> Home:
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


def _enqueue(queue: Queue, turn: Turn) -> None:
    home = turn._home
    if queue._home is not home and queue._is_movable:
        home.take(queue)
    out = take_out()
    key = new_key()
    entries[key] = turn
    status = quick.queue_enqueue(queue._bits, start_anywhere, key, drop, out[1])
    if status:
        turn._is_granted = True
        raise refusal("inturn_queue_enqueue", status)
    turn._operation = out[0].value or 0
    give_back(out)


def run(queue: Queue, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """`Queue.run`."""
    if not callable(function):
        raise TypeError(f"not callable: {function!r}")
    loop = asyncio.get_running_loop()
    home = queue._home
    if home is None or home.reference() is not loop or home.thread != get_ident():
        home = home_here()
    if queue._is_actor:
        from ._asyncio_actor import act

        return act(queue, home, function, arguments, keywords)
    turn = Run(loop=loop)
    turn._prepare_call(queue, home, function, arguments, keywords)
    _enqueue(queue, turn)
    if not home.drivers:
        home.drain()
    return turn


def run_on(
    queue: Queue,
    loop: asyncio.AbstractEventLoop,
    function: Callable[..., Any],
    arguments: Any,
    keywords: Any,
) -> ThreadRun:
    """`Queue.run_on`."""
    if not callable(function):
        raise TypeError(f"not callable: {function!r}")
    if queue._is_actor:
        raise UnsupportedError("an actor queue's coroutines are run by their own loop: use run")
    home = _homes.get(loop)
    if home is None:
        loop.call_soon_threadsafe(_open, _home_of(loop))
        home = _home_of(loop)
    elif loop.is_closed():
        raise RuntimeError("Event loop is closed")
    turn = ThreadRun(queue, None, None, None)
    turn._prepare_call(queue, home, function, arguments, keywords)
    _enqueue(queue, turn)
    turn._handle = turn._operation
    return turn


def _open(home: Home) -> None:
    if not home.is_open:
        home.open()


# Who is inside ``async with queue``, by task: the innermost last.
_held: weakref.WeakKeyDictionary[asyncio.Task[Any], list[Hold]] = weakref.WeakKeyDictionary()


async def enter(queue: Queue) -> None:
    """``async with queue`` begins."""
    task = asyncio.current_task()
    assert task is not None
    home = home_here()
    hold = Hold(queue, home)
    caller = hold._refuse_ring()
    _enqueue(queue, hold)
    home.drain()
    if caller is not None:
        caller._awaited = hold
    try:
        await hold
    except BaseException:
        hold._end_turn(quick.token_cancel)
        home.drain()
        raise
    finally:
        if caller is not None:
            caller._awaited = None
    _held.setdefault(task, []).append(hold)
    hold._reset = _current.set(hold)


def leave(queue: Queue, error: BaseException | None) -> None:
    """``async with queue`` ends."""
    task = asyncio.current_task()
    assert task is not None
    holds = _held[task]
    hold = next(hold for hold in reversed(holds) if hold._queue is queue)
    holds.remove(hold)
    with suppress(ValueError):  # left in another context than it was entered in
        _current.reset(hold._reset)
    if error is None:
        hold._end_turn(quick.token_finish)
    elif isinstance(error, asyncio.CancelledError):
        hold._end_turn(quick.token_cancel)
    else:
        hold._end_turn(quick.token_fail, 1)
    hold._home.drain()
