"""Finds and loads the C library, and gives its functions their types.

There are four ways to call it. ``lib`` has every function, typed as in the table; it releases the
interpreter during the call and raises the exception for a status. ``keeping`` is like ``lib``, but
keeps the interpreter, which may be gone when a callback needs it. ``quick`` has the functions that
are called for each operation and never block: it keeps the interpreter, so that no other thread is
woken for nothing, takes handles as numbers and `prepared` arguments, and returns the status.
``waiting`` is like ``quick``, but releases the interpreter.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, Callable

from ._errors import BY_STATUS, DeadlockError, Error
from ._prototypes import CALLBACKS, HANDLES, HEADER_VERSION, inturn_status, prototype, type_of

_NAME = "libinturn.dylib" if sys.platform == "darwin" else "libinturn.so"

# The functions in `quick`. None of these waits for another thread's Python code. When they refuse a
# context, they destroy it at once, which is fine while the interpreter is held.
_QUICK = (
    "executor_drain executor_take executor_enqueue_and_take executor_wait queue_set_executor "
    "queue_enqueue_at queue_enqueue_with_at operation_get_state operation_cancel "
    "operation_get_progress operation_release token_finish token_finish_with token_fail "
    "token_cancel token_abandon token_is_cancelled token_on_cancel token_set_progress "
    "token_on_preempt token_yield token_resume batch_cancel batch_get_progress batch_get_end "
    "batch_release report_set_awaited report_wait_at await_begin await_end"
)
# The functions in `waiting`.
_WAITING = "executor_wait operation_wait report_set_handler"


class _Ring(threading.local):
    """The library's report to this thread of a refused wait, until that is raised."""

    message: str | None = None


ring = _Ring()


def _candidates() -> list[str]:
    """The paths to try, best first; only INTURN_LIBRARY's, if that is set."""
    if named := os.environ.get("INTURN_LIBRARY"):
        return [named]
    # Not by pathlib, which takes longer to import than all of this.
    folder = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120
    candidates = [os.path.join(folder, _NAME)]  # noqa: PTH118
    while (parent := os.path.dirname(folder)) != folder:  # noqa: PTH120
        folder = parent
        if os.path.isfile(os.path.join(folder, "include", "inturn.h")):  # noqa: PTH113, PTH118
            build = os.path.join(folder, ".build")  # noqa: PTH118
            built = [os.path.join(build, kind, _NAME) for kind in ("release", "debug")]  # noqa: PTH118
            # The latest build comes first, so that an old one is never used.
            built.sort(key=_age)
            candidates += built
            break
    return [*candidates, f"{_NAME}.{HEADER_VERSION[0]}", _NAME]


def _age(path: str) -> float:
    try:
        return -os.stat(path).st_mtime  # noqa: PTH116
    except OSError:
        return 0


def refusal(name: str, status: int) -> Error:
    """The exception for a function's status."""
    message = f"{name}: {lib.inturn_status_message(status).decode()}"
    kind = BY_STATUS.get(status, Error)
    if kind is not DeadlockError:
        return kind(message)
    told, ring.message = ring.message, None
    error = DeadlockError(f"{message} ({told})" if told else message)
    error.ring = told
    return error


def must(function: Any, *arguments: Any) -> None:
    """Calls a function of ``quick`` or ``waiting``, and raises if it refuses the call."""
    status = function(*arguments)
    if status:
        raise refusal(function.__name__, status)


# The KeyboardInterrupt or SystemExit that left a callback on the main thread, to be raised
# again by the call that the callback was in.
interrupts: list[BaseException] = []


def on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def raise_interrupt() -> None:
    """Raises the interrupt that left a callback on the main thread, if there was one."""
    if interrupts and on_main_thread():
        raise interrupts.pop(0)


def _check(status: int, function: Any, _arguments: object) -> int:
    if interrupts:
        raise_interrupt()
    if status != 0:
        raise refusal(function.__name__, status)
    return status


class _Library(ctypes.CDLL):
    """The library, whose functions get their types when they are first used."""

    def __getattr__(self, name: str) -> Any:
        function: Any = self[name]
        result, function.argtypes = prototype(name)
        function.restype = result
        if result is inturn_status:
            function.errcheck = _check
        setattr(self, name, function)
        return function


class _Keeping(_Library, ctypes.PyDLL):
    """For functions that never wait."""


def _check_version(library: Any) -> None:
    try:
        version = library.inturn_version()
    except AttributeError:
        raise ImportError("it has no inturn_version") from None
    major, minor = divmod(version // 1_000, 1_000)
    if major != HEADER_VERSION[0] or minor < HEADER_VERSION[1]:
        raise ImportError(f"it has version {major}.{minor}, but {HEADER_VERSION} is needed")


def _load() -> tuple[_Library, str]:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise ImportError("inturn needs a 64-bit system")
    tried = ""
    for candidate in _candidates():
        try:
            library = _Library(candidate)
            _check_version(library)
        except (OSError, ImportError) as error:
            tried += f"\n  {candidate}: {error}"
        else:
            return library, candidate
    raise ImportError(f"cannot load the Inturn library; tried{tried}")


def prepared(passed: Any) -> tuple[Any, Any]:
    """Converts a queue, executor, callback or reference for ``quick``; returns both forms.

    These are passed again and again, and converting one takes a sixth of a call.
    """
    return ctypes.c_void_p.from_param(passed), passed


NOTHING = prepared(None)


def trampoline(kind: Any, function: Callable[..., object]) -> Any:
    """A function that C may call for ever, even when the interpreter has freed its modules."""
    made = kind(function)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


class _Prepared:
    from_param = itemgetter(0)


_PREPARED = {"queue", "executor", "*operation", "*site", "*taken", *CALLBACKS}


def _quick_type_of(name: str) -> Any:
    if name in _PREPARED:
        return _Prepared
    # A struct of one 64-bit number is passed like that number; ctypes converts addresses fastest.
    return ctypes.c_void_p if name[0] == "*" or name in (*HANDLES, "u64") else type_of(name)


def _numeric(library: ctypes.CDLL, names: str) -> SimpleNamespace:
    # Indexing creates a new function object, so those of the library keep their types.
    functions = SimpleNamespace()
    for name in names.split():
        function = library[f"inturn_{name}"]
        function.restype, function.argtypes = prototype(f"inturn_{name}", _quick_type_of)
        setattr(functions, name, function)
    return functions


lib, _file = _load()
keeping = _Keeping(lib._name, handle=lib._handle)

library_path: str = _file
"""The library that was loaded, as it was named to the system's loader."""

quick: Any = _numeric(ctypes.PyDLL(lib._name, handle=lib._handle), _QUICK)
waiting: Any = _numeric(lib, _WAITING)


def version() -> tuple[int, int, int]:
    """The version of the loaded library."""
    number = lib.inturn_version()
    return number // 1_000_000, number // 1_000 % 1_000, number % 1_000
