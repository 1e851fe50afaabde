"""Where work is called: always on threads that Python has started itself."""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
import weakref
from contextlib import suppress
from ctypes import byref, c_int, c_uint32
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _callbacks, _prototypes as c
from ._arguments import checked, label_of, whole
from ._callbacks import HandedOn, drop, register, start_anywhere, wait
from ._errors import ClosedError, Error, NoMemoryError, TimedOutError
from ._handles import Closing
from ._interrupts import let_work
from ._library import NOTHING, lib, must, prepared, quick, waiting

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from typing_extensions import Self

K = TypeVar("K")
V = TypeVar("V")

# How many threads the pool may have, and how long an idle one stays.
_MAX_THREADS = 1024
_IDLE_NS = 10_000_000_000
_MAX_POLL_MS = 2**31 - 1
# After how many calls a pool thread checks whether the interpreter is exiting.
_CALLS = 4096
# How long the interpreter's exit waits for running work of daemon queues, and how often it checks
# whether the other queues are done.
_EXIT_SECONDS = 0.1
_EXIT_LOOK_SECONDS = 0.005


class Executor(Closing):
    """Calls the work of its queues on the threads that drain or run it.

    At most ``threads`` threads may do so at a time.
    """

    label: str | None = None
    _owned = False  # and to be destroyed

    def __init__(self, label: str | None = None, *, threads: int = 1) -> None:
        """``label`` is its name in reports; ``threads`` is how many may drain it at a time."""
        self._handle = c.inturn_executor()
        what = f"a number of threads, from 1 to {_MAX_THREADS}"
        options = c.inturn_executor_options(
            label=label_of(self, label),
            host_threads=checked(self, "threads", threads, what, whole(1, _MAX_THREADS + 1)),
        )
        self.label = label
        lib.inturn_executor_create(byref(options), byref(self._handle))
        self._owned = True

    @classmethod
    def main(cls) -> Self:
        """The executor of the process's main thread, which `run_main` runs."""
        executor = cls.__new__(cls)
        executor.label, executor._handle = "main", c.inturn_executor()
        lib.inturn_executor_main(byref(executor._handle))
        return executor

    def fileno(self) -> int:
        """A descriptor that is readable while work is waiting.  It is only for polling."""
        descriptor = c_int()
        lib.inturn_executor_fd(self._handle, byref(descriptor))
        return descriptor.value

    def drain(self, max_calls: int = 0) -> int:
        """Calls the waiting work, and returns the number of calls.  It never blocks.

        It makes at most ``max_calls`` calls; 0 means no limit.

        :raises WrongThreadError: as many threads as are allowed drain it already.
        :raises ValueError: the number of calls is not valid.
        """
        checked(self, "max_calls", max_calls, "a number of calls, 0 or more", whole(0, 2**32))
        calls = c_uint32()
        let_work(lib.inturn_executor_drain, self._handle, max_calls, byref(calls))
        return calls.value

    def wait(self, timeout: float | None = None) -> None:
        """Waits until there is work to call, and calls nothing.

        :raises TimedOutError: the timeout, in seconds, has passed.
        """
        handle = self._handle
        wait(self, lambda ns: lib.inturn_executor_wait(handle, ns, None), timeout, rest=self._poll)

    def _poll(self, _: object, ns: int) -> bool:
        """Sleeps until work waits, without a helper thread, which would be woken instead."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        poll.poll(min(ns // 1_000_000 + 1, _MAX_POLL_MS))
        return False

    def run(self) -> None:
        """Drains until `stop`, and sleeps while there is nothing to call.  Signals wait until then.

        :raises WrongThreadError: as many threads as are allowed drain it already.
        """
        let_work(lib.inturn_executor_run, self._handle)

    def stop(self) -> None:
        """Makes `run` return after its current call; if none is active, the next one."""
        lib.inturn_executor_stop(self._handle)

    def close(self) -> None:
        """Destroys the executor; a second call does nothing.

        :raises BusyError: a queue uses it.
        """
        if self._owned:
            lib.inturn_executor_destroy(self._handle)
            self._owned = False

    def __repr__(self) -> str:
        return f"<inturn.Executor {self.label or ''!r}>"


class Pool:
    """An executor and its threads: one more than are busy at a time.

    The threads are daemons, so that a token that nobody finishes does not keep the interpreter
    alive. The interpreter's exit waits until the pool `is_at_rest`.
    """

    def __init__(self, is_daemon: bool, max_threads: int = _MAX_THREADS) -> None:
        self._is_daemon = is_daemon
        self._max_threads = max_threads
        self.is_single = max_threads == 1  # belongs to one queue, which closes it
        self.executor = Executor("python", threads=max_threads)
        self._prepared = prepared(self.executor._handle.bits)
        self._lock = threading.Lock()  # protects _threads, _starting
        self._threads: set[threading.Thread] = set()
        self._starting = False  # a thread that is not waiting for work yet
        self._stopping = False
        # Work that must not run on the thread that called it goes through this queue.
        self._handed_on = c.inturn_queue()
        options = c.inturn_queue_options(
            label=b"python", max_concurrent=max_threads, executor=self.executor._handle
        )
        lib.inturn_queue_create(c.INTURN_QUEUE_CONCURRENT, byref(options), byref(self._handed_on))
        self._handing_on = prepared(self._handed_on.bits)
        try:
            self._start_thread()
        except NoMemoryError:
            self._destroy()
            raise
        if self.is_single:
            _single_pools.add(self)

    def hand_on(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function on a thread of the pool."""
        key = register(HandedOn(function, arguments))
        to = self._handing_on
        must(quick.queue_enqueue_at, NOTHING, to, start_anywhere, key, drop, NOTHING)

    def _start_thread(self) -> None:
        """Starts another thread, unless one is starting.

        :raises NoMemoryError: it cannot be started, and there is no other.
        """
        thread = threading.Thread(target=self._work, name="inturn", daemon=True)
        with self._lock:
            if self._starting or self._stopping or len(self._threads) == self._max_threads:
                return
            self._starting = True
            self._threads.add(thread)
        try:
            thread.start()
        except (RuntimeError, MemoryError) as error:  # or the interpreter is exiting
            with self._lock:
                self._starting = False
                self._threads.remove(thread)
            if not self._threads:  # else those go on, and each tries again
                raise NoMemoryError(f"no thread can be started: {error}") from None

    def _work(self) -> None:
        """The body of a pool thread. Before it calls anything, it makes sure that another thread is
        there for what comes meanwhile, so that blocking work only holds up its own queue."""
        executor, drain, ask = self._prepared, quick.executor_drain, quick.executor_wait
        wait_for_work = waiting.executor_wait
        others = c_uint32()
        out = byref(others)
        if not self._is_daemon:
            # Inherited by threads that work starts: they are waited for, as work is.
            threading.current_thread()._daemonic = False  # type: ignore[attr-defined]
        _callbacks.calling.add(threading.get_ident())
        self._starting = False
        while not self._stopping:
            status = wait_for_work(executor, _IDLE_NS, out)
            if status == 0:
                if others.value == 0 and ask(executor, 0, None) == 0:
                    self._start_thread()
                # Nothing may come between this and the next wait, which releases the interpreter:
                # threads that the work has woken are waiting for it.
                drain(executor, _CALLS, None)
            elif status != TimedOutError.status or others.value:
                break  # the executor is a forked parent's, or this thread is not needed
        _callbacks.calling.discard(threading.get_ident())
        with self._lock:
            self._threads.discard(threading.current_thread())
        if self.is_single:
            self._destroy()

    def _destroy(self) -> None:
        with suppress(Error):  # the interpreter is exiting, or this is a forked child
            lib.inturn_queue_destroy(self._handed_on)
            self.executor.close()

    def is_at_rest(self) -> bool:
        """Whether nothing waits to be called, and nothing is being called.

        Ignores what no call of this pool can cause: a resume, a view, a time, a token that somebody
        else holds, and the loops of coroutines.
        """
        others = c_uint32()
        status = waiting.executor_wait(self._prepared, 0, byref(others))
        with self._lock:
            threads = [thread.ident for thread in self._threads if thread.is_alive()]
            is_starting = self._starting
        idle = others.value + sum(ident in _callbacks.waits_for_loop for ident in threads)
        is_at_rest = status == TimedOutError.status and idle >= len(threads)
        return not is_starting and (is_at_rest or not threads)

    def close(self) -> None:
        """Called by the queue that owns the pool: its thread ends when its present call returns."""
        if not self._stopping:
            self._stopping = True
            with suppress(Error):
                self.hand_on(lambda: None)  # wakes the thread

    def stop(self) -> None:
        """Begins no further calls, and waits a moment for running ones."""
        self._stopping = True
        others = c_uint32()
        waiting.executor_wait(self._prepared, 0, byref(others))
        with self._lock:
            started = [thread for thread in self._threads if thread.is_alive()]
        if others.value < len(started):
            for thread in started:
                thread.join(_EXIT_SECONDS / len(started))


class _MainLoop:
    """Runs the main executor while Python can handle signals."""

    def __init__(self) -> None:
        self._stopped = False
        self._reader, self._writer = os.pipe()  # readable after a stop
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def run(self) -> None:
        import selectors

        executor = Executor.main()
        with selectors.DefaultSelector() as selector:
            selector.register(executor, selectors.EVENT_READ)
            selector.register(self._reader, selectors.EVENT_READ)
            while not self._stopped:
                # One call at a time, so that a stop or an interrupt takes effect after it.
                if executor.drain(1) == 0:
                    selector.select()
        self._stopped = False
        with suppress(BlockingIOError):
            os.read(self._reader, 65_536)

    def stop(self) -> None:
        self._stopped = True
        with suppress(BlockingIOError):  # it is full, so it is readable
            os.write(self._writer, b"\0")


# Protects the tables of `once`. Reentrant, as a signal handler may run while it is held.
_lock = threading.RLock()
_pools: dict[bool, Pool] = {}  # one for daemon queues, and one for the others
_single_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_main_loops: dict[str, _MainLoop] = {}  # at most one

exiting = False  # the main thread has ended


def once(table: MutableMapping[K, V], key: K, make: Callable[[], V]) -> V:
    """The table's object for a key; created when it is first needed."""
    made = table.get(key)
    if made is None:
        with _lock:
            made = table.get(key)
            if made is None:
                made = table[key] = make()
    return made


def pool(daemon: bool = False) -> Pool:
    """The pool for queues without an executor of their own."""
    return once(_pools, daemon, lambda: Pool(daemon))


def refuse_at_exit(pool: Pool | None) -> None:
    """Keeps the work that the interpreter's exit waits for from growing.

    :raises ClosedError: the caller is not a thread that the interpreter waits for anyway.
    """
    if pool is None or pool._is_daemon:
        return
    thread = threading.current_thread()
    if thread.daemon or thread in pool._threads:
        raise ClosedError("the interpreter is exiting, and work can no longer add work")


def _main() -> _MainLoop:
    return once(_main_loops, "main", _MainLoop)


def run_main() -> None:
    """Calls the work of queues on the main executor until `stop_main`.

    KeyboardInterrupt is raised as usual, even if it arrives inside work.

    :raises WrongThreadError: the caller is not the main thread.
    """
    _main().run()


def stop_main() -> None:
    """Makes `run_main` return after its current call.  If none is active, the next one returns.

    It may be called from any thread and from signal handlers.
    """
    _main().stop()


# Functions that return work to the pools that nobody else would call any more.
give_back_at_exit: list[Callable[[], None]] = []


def _all_pools() -> list[Pool]:
    return [*_pools.values(), *_single_pools]


def _finish_at_exit() -> None:
    global exiting
    exiting = True
    try:
        # Twice, as a pool may have given work to one that was at rest.
        while not all(each.is_at_rest() for each in _all_pools() * 2 if not each._is_daemon):
            time.sleep(_EXIT_LOOK_SECONDS)
    except BaseException:  # an interrupt ends the wait
        atexit.unregister(_finish_what_is_left)
        raise


def _finish_what_is_left() -> None:
    """Runs once all non-daemon threads have ended, and finishes what they have left."""
    for give_back in give_back_at_exit:
        give_back()
    _finish_at_exit()


def _stop_at_exit() -> None:
    for each in _all_pools():
        with suppress(Error):
            each.stop()


def _renew_after_fork() -> None:
    global _lock, exiting
    _lock, exiting = threading.RLock(), False
    _main_loops.clear()
    _pools.clear()
    _single_pools.clear()
    for threads in (_callbacks.borrowed, _callbacks.calling, _callbacks.waits_for_loop):
        threads.clear()


atexit.register(_stop_at_exit)
atexit.register(_finish_what_is_left)
with suppress(AttributeError, RuntimeError):  # no such function, or already exiting
    # Like the standard library's executors: before any atexit handler.
    threading._register_atexit(_finish_at_exit)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_renew_after_fork)
