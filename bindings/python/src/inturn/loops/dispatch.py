"""Swift's main queue in a Python program.

Swift code that the program has loaded expects somebody to drain libdispatch's main queue: on it run
``DispatchQueue.main`` and ``@MainActor``.  On Linux a Python program does not, unless it attaches
the queue to its loop::

    swift = ctypes.CDLL("libswiftcode.so")
    with inturn.loops.asyncio.attach(inturn.loops.dispatch.MainQueue()):
        ...
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import threading
from contextlib import suppress
from typing import Callable

from .._errors import BusyError, UnsupportedError, WrongThreadError
from .._handles import NotCopied

__all__ = ["MainQueue"]


class MainQueue(NotCopied):
    """libdispatch's main queue: a `Source` for the loops' ``attach``.

    It is the queue of the libdispatch that the process has loaded, for whatever reason.

    :raises UnsupportedError: there is none, or the system drains it itself, as Apple's systems do.
    """

    _lock = threading.Lock()  # protects _attached
    _attached = False  # there is only one main queue, however many objects

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise UnsupportedError("the system drains the main queue itself")
        try:
            library = ctypes.CDLL("libdispatch.so", mode=os.RTLD_NOLOAD)
            handle = library._dispatch_get_main_queue_handle_4CF
            self._drain = library._dispatch_main_queue_callback_4CF
        except (OSError, AttributeError) as error:
            raise UnsupportedError("no libdispatch yet: load the Swift library first") from error
        handle.restype, handle.argtypes = ctypes.c_int, []
        self._drain.restype, self._drain.argtypes = None, [ctypes.c_void_p]
        self._descriptor = int(handle())

    def fileno(self) -> int:
        """A descriptor that is readable while something is waiting.  It is only for polling."""
        return self._descriptor

    def drain(self, max_calls: int = 0) -> int:
        """Calls what is waiting.  What is added meanwhile is left to the next drain.

        libdispatch does not report the number of calls, and has no limit for it.  Returns 1 if
        something is waiting again, otherwise 0.

        :raises WrongThreadError: the caller is not the main thread.
        """
        del max_calls
        if threading.current_thread() is not threading.main_thread():
            raise WrongThreadError("only the main thread drains the main queue")
        # Cleared first, so that later work is signalled again.
        with suppress(BlockingIOError):
            os.read(self._descriptor, 8)
        self._drain(None)
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        return len(waiting.poll(0))

    @staticmethod
    def _claim() -> Callable[[], object]:
        """Claims the queue for a loop; returns a function that gives it back."""
        if threading.current_thread() is not threading.main_thread():
            raise WrongThreadError("only the main thread can attach the main queue")
        with MainQueue._lock:
            if MainQueue._attached:
                raise BusyError("the main queue is already attached to a loop")
            MainQueue._attached = True
        return MainQueue._release

    @staticmethod
    def _release() -> None:
        MainQueue._attached = False

    def __repr__(self) -> str:
        return "<inturn.loops.dispatch.MainQueue>"
