"""How the library calls Python, and how Python waits for the library."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, Callable

from ._errors import TimedOutError
from ._prototypes import inturn_destroy_fn, inturn_end_fn, inturn_work_fn

# Waiting is cut into slices, so that Python handles signals in between.
_SLICE_NS = 50_000_000
_MAX_NS = 2**63 - 1

# What the contexts of callbacks stand for, by keys from 1 on.  An entry is added before the
# library is given its key, and goes when the library destroys the context.
_entries: dict[int, Callable[[Any], object]] = {}
_keys = itertools.count(1)
_keys_lock = threading.RLock()  # one key at a time; a finaliser may run while it is held

# The KeyboardInterrupt or SystemExit that left a callback on the main thread, to be raised
# again by the call that the callback was in.
_interrupts: list[BaseException] = []


def register(entry: Callable[[Any], object]) -> int:
    """A context for a callback that calls `entry` with its argument."""
    with _keys_lock:
        key = next(_keys)
    _entries[key] = entry
    return key


def on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _call(key: int, argument: Any) -> None:
    # What is raised from here, ctypes reports as unraisable: it never reaches the library.
    try:
        _entries[key](argument)
    except (KeyboardInterrupt, SystemExit) as error:
        if not on_main_thread():
            raise
        _interrupts.append(error)


# The trampolines: of work and cancel handlers, of end callbacks, and of all destroy functions.
call_with_token = inturn_work_fn(_call)
call_with_end = inturn_end_fn(lambda key, end: _call(key, end.contents))
forget = inturn_destroy_fn(lambda key: _entries.pop(key, None) and None)


def raise_interrupt() -> None:
    """Raises what interrupted a callback on the main thread, if anything did."""
    if _interrupts and on_main_thread():
        raise _interrupts.pop(0)


def nanoseconds(seconds: float) -> int:
    """A time for the library; one that is too long for it is cut.

    :raises ValueError: the time is negative or not a number.
    """
    if not seconds >= 0:
        raise ValueError(f"not a time: {seconds!r}")
    return int(seconds * 1e9) if seconds < 9e9 else _MAX_NS


def wait(call: Callable[[int], object], timeout: float | None) -> None:
    """Repeats a waiting call, which is given nanoseconds, until the time is over."""
    limit = _MAX_NS if timeout is None else nanoseconds(timeout)
    start = time.monotonic_ns()
    while True:
        left = limit - (time.monotonic_ns() - start)
        try:
            call(max(0, min(left, _SLICE_NS)))
            return
        except TimedOutError:
            if left <= _SLICE_NS:
                raise
