"""Where work is called: always on threads that Python has started itself."""

from __future__ import annotations

import atexit
import os
import selectors
import sys
import threading
from contextlib import suppress
from ctypes import byref, c_int, c_uint32

from . import _prototypes as c
from ._callbacks import raise_interrupt
from ._errors import Error
from ._library import lib

# How long the interpreter's exit waits for the work that is just being called.
_EXIT_SECONDS = 0.1


class Executor:
    """Calls the work of its queues on the thread that drains or runs it."""

    def __init__(self, label: str | None = None) -> None:
        self.label = label
        self._handle = c.inturn_executor()
        self._owned = False
        options = c.inturn_executor_options(label=None if label is None else label.encode())
        lib.inturn_executor_create(byref(options), byref(self._handle))
        self._owned = True

    @classmethod
    def main(cls) -> Executor:
        """The executor of the process's main thread, which `run_main` runs."""
        executor = cls.__new__(cls)
        executor.label, executor._handle, executor._owned = "main", c.inturn_executor(), False
        lib.inturn_executor_main(byref(executor._handle))
        return executor

    def fileno(self) -> int:
        """A descriptor that is readable while work waits; only to be polled."""
        descriptor = c_int()
        lib.inturn_executor_fd(self._handle, byref(descriptor))
        return descriptor.value

    def drain(self, max_calls: int = 0) -> int:
        """Calls what waits, at most so many calls (0: all), never blocks; returns their number.

        :raises WrongThreadError: another thread drains it.
        """
        calls = c_uint32()
        lib.inturn_executor_drain(self._handle, max_calls, byref(calls))
        raise_interrupt()
        return calls.value

    def run(self) -> None:
        """Drains, and sleeps when nothing waits, until `stop`; signals wait until then.

        :raises WrongThreadError: another thread drains it.
        """
        lib.inturn_executor_run(self._handle)
        raise_interrupt()

    def stop(self) -> None:
        """Makes `run` return after the call that it is in; when none runs, the next one."""
        lib.inturn_executor_stop(self._handle)

    def close(self) -> None:
        """Destroys the executor; a second call does nothing.

        :raises BusyError: a queue uses it.
        """
        if self._owned:
            lib.inturn_executor_destroy(self._handle)
            self._owned = False

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<inturn.Executor {self.label or ''!r}>"

    def __del__(self) -> None:
        if not sys.is_finalizing():
            with suppress(Error):
                self.close()


class _Background:
    """An executor and the daemon thread that runs it."""

    def __init__(self) -> None:
        self.executor = Executor("python")
        self._thread = threading.Thread(target=self.executor.run, name="inturn", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.executor.stop()
        self._thread.join(_EXIT_SECONDS)


class _MainLoop:
    """Runs the main executor, and lets Python handle signals meanwhile."""

    def __init__(self) -> None:
        self._stopped = False
        self._reader, self._writer = os.pipe()  # readable when there is a stop to look at
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def run(self) -> None:
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


_lock = threading.Lock()  # protects _background
_background: _Background | None = None
_main_loop = _MainLoop()


def background() -> Executor:
    """The executor of the FIFO queues that are given none; made when it is first needed."""
    global _background
    with _lock:
        if _background is None:
            _background = _Background()
        return _background.executor


def run_main() -> None:
    """Calls the work of queues on the main executor until `stop_main`.

    KeyboardInterrupt is raised as usual, also one that arrives inside work.

    :raises WrongThreadError: the caller is not the main thread.
    """
    _main_loop.run()


def stop_main() -> None:
    """Makes `run_main` return after the call that it is in; when none runs, the next one.

    It may be called from any thread and from signal handlers.
    """
    _main_loop.stop()


def _stop_at_exit() -> None:
    if _background is not None:
        with suppress(Error):
            _background.stop()


def _renew_after_fork() -> None:
    global _lock, _background, _main_loop
    _lock, _background, _main_loop = threading.Lock(), None, _MainLoop()


atexit.register(_stop_at_exit)
os.register_at_fork(after_in_child=_renew_after_fork)
