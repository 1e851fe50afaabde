"""How the library calls Python, and how Python waits for the library.

The library holds no Python object: the context of a callback is a key, and what it stands for is
an entry of a table. An entry is added before the library is given its key, and goes when the
library destroys the context, which it does exactly once.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import time
from ctypes import byref, c_void_p, cast
from types import CoroutineType
from typing import Any, Callable, NoReturn, Protocol

from ._errors import TimedOutError
from ._library import quick
from ._prototypes import (
    inturn_batch_end_fn,
    inturn_condition_fn,
    inturn_destroy_fn,
    inturn_end_fn,
    inturn_event_fn,
    inturn_retry_fn,
)

# Waiting on the main thread is cut into slices, so that Python handles signals in between; on a
# loop's thread, so that a turn of the loop that comes meanwhile is seen.
_SLICE_NS = 50_000_000
_MAX_NS = 2**63 - 1


class Entry(Protocol):
    """What stands for an operation, or a segment of one."""

    def _start(self, token: int) -> None:
        """Called as the work, once for each attempt."""

    def _dropped(self) -> None:
        """Called when the library is done with it, whether it was started or not."""


entries: dict[int, Any] = {}
new_key: Callable[[], int] = itertools.count(1).__next__

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    _unlocked, _key_lock = new_key, threading.Lock()  # the lock protects the counter

    def new_key() -> int:
        with _key_lock:
            return _unlocked()


# Where the library writes a handle, each with the reference that it is given. They are used again,
# as an object of ctypes for each operation would cost more than the call; never by two at a time,
# be the second one a finaliser or a signal handler of the same thread.
_outs: list[tuple[c_void_p, Any]] = []


def take_out() -> tuple[c_void_p, Any]:
    """A place for a handle, to be given back."""
    try:
        return _outs.pop()
    except IndexError:
        handle = c_void_p()
        return handle, byref(handle)


give_back: Callable[[tuple[c_void_p, Any]], None] = _outs.append

# Threads that drain an executor just now and must not be kept: work is handed on from there.
borrowed: set[int] = set()


# Threads that wait inside a callback for an event loop.
waits_for_loop: set[int] = set()


# The KeyboardInterrupt or SystemExit that left a callback on the main thread, to be raised
# again by the call that the callback was in.
_interrupts: list[BaseException] = []


def register(entry: object) -> int:
    """A context for a callback."""
    key = new_key()
    entries[key] = entry
    return key


def on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def call(function: Callable[[Any], object], argument: Any) -> None:
    """Calls what a callback stands for. What it raises, ctypes reports as unraisable, so that it
    never reaches the library; but an interrupt of the main thread is kept for `raise_interrupt`."""
    try:
        function(argument)
    except (KeyboardInterrupt, SystemExit) as error:
        if not on_main_thread():
            raise
        _interrupts.append(error)


def refuse_coroutine(coroutine: CoroutineType[Any, Any, Any], function: object) -> NoReturn:
    """A function has returned a coroutine, which nobody would run."""
    coroutine.close()
    raise TypeError(f"a coroutine function is for `run`, not for this: {function!r}")


def keep_interrupt(error: BaseException) -> None:
    """Keeps an interrupt of the main thread for `raise_interrupt`."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
        _interrupts.append(error)


def raise_interrupt() -> None:
    """Raises what interrupted a callback on the main thread, if anything did."""
    if _interrupts and on_main_thread():
        raise _interrupts.pop(0)


# The trampolines, made once and never freed. A token comes as its bits: see `_library`.
_work_fn = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
_destroy_fn = ctypes.CFUNCTYPE(None, c_void_p)


def _start(key: int, token: int) -> None:
    call(entries[key]._start, token)


def _start_where_it_may_stay(key: int, token: int) -> None:
    if borrowed and threading.get_ident() in borrowed:
        entry = entries[key]
        entry._queue._pool.hand_on(entry._start, token)
    else:
        call(entries[key]._start, token)


def _post(key: int, token: int) -> None:
    queue, function = entries[key]
    if borrowed and threading.get_ident() in borrowed:
        queue._pool.hand_on(_run_post, function, token)
        return
    try:
        result = function()
        if type(result) is CoroutineType:
            refuse_coroutine(result, function)
    except BaseException as error:
        _fail_post(token, error)
    else:
        _finish(token)


def _run_post(function: Callable[[], object], token: int) -> None:
    try:
        result = function()
        if type(result) is CoroutineType:
            refuse_coroutine(result, function)
    except BaseException as error:
        _fail_post(token, error)
    else:
        _finish(token)


def _fail_post(token: int, error: BaseException) -> None:
    """Nobody is told of this end, so the exception is reported as unraisable."""
    quick.token_fail(token, 1)
    if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
        _interrupts.append(error)
    else:
        raise error


_finish = quick.token_finish


def _address(trampoline: Any) -> c_void_p:
    _kept.append(trampoline)
    return cast(trampoline, c_void_p)


_kept: list[Any] = []

# Work: that runs wherever it is called; that may block, and so runs on a thread that may; a plain
# function.
start_anywhere = _address(_work_fn(_start))
start = _address(_work_fn(_start_where_it_may_stay))
start_post = _address(_work_fn(_post))
# Destroy functions: that just forget, and that tell the entry. The first has no line of Python.
forget = _address(_destroy_fn(entries.pop))
drop = _address(_destroy_fn(lambda key: entries.pop(key)._dropped()))
# For callbacks whose entry is a function of one argument.
call_with_token = _address(_work_fn(lambda key, token: call(entries[key], token)))
call_with_end = inturn_end_fn(lambda key, end: call(entries[key], end.contents))
call_with_batch_end = inturn_batch_end_fn(lambda key, end: call(entries[key], end.contents))
call_with_event = inturn_event_fn(lambda key, event: call(entries[key]._tell, event.contents))
forget_end = cast(forget, inturn_destroy_fn)
drop_end = cast(drop, inturn_destroy_fn)
# These are asked of an operation; neither raises.
ask_condition = inturn_condition_fn(lambda key: entries[key]._ask_condition())
ask_decide = inturn_retry_fn(lambda key, _code, attempts: entries[key]._is_worth(attempts))


def text(string: str) -> bytes:
    """A string for the library.

    :raises TypeError: it is not a string.
    :raises ValueError: it has a zero in it.
    """
    if not isinstance(string, str):
        raise TypeError(f"not a string: {string!r}")
    encoded = string.encode()
    if b"\0" in encoded:
        raise ValueError(f"a string with a zero: {string!r}")
    return encoded


def nanoseconds(seconds: float) -> int:
    """A time for the library; one that is too long for it is cut.

    :raises TypeError: it is not a number.
    :raises ValueError: the time is negative or not a number.
    """
    try:
        is_time = seconds >= 0
    except TypeError:
        raise TypeError(f"not a time in seconds: {seconds!r}") from None
    if not is_time:
        raise ValueError(f"not a time: {seconds!r}")
    return int(seconds * 1e9) if seconds < 9e9 else _MAX_NS


def wait(
    call: Callable[[int], object],
    timeout: float | None,
    look: Callable[[], None] | None = None,
) -> None:
    """Repeats a waiting call, which is given nanoseconds, until the time is over.

    Who waits on a loop's thread gives what raises when the wait can never end.
    """
    if look is None and not on_main_thread():
        call(-1 if timeout is None else nanoseconds(timeout))
        return
    limit = _MAX_NS if timeout is None else nanoseconds(timeout)
    begin = time.monotonic_ns()
    while True:
        left = limit - (time.monotonic_ns() - begin)
        if look is not None and left > 0:
            look()
        try:
            call(max(0, min(left, _SLICE_NS)))
            return
        except TimedOutError:
            if left <= _SLICE_NS:
                raise
