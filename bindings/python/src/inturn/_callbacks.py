"""How the library calls Python, and how Python waits for the library.

The library holds no Python object: the context of a callback is a key, and what it stands for is
an entry of a table. An entry is added before the library is given its key, and goes when the
library destroys the context, which it does exactly once. What only listens is kept alive by what
the user holds, and the table has a weak reference: so who listens to its own is collected.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import MutableMapping
from concurrent.futures import Future
from ctypes import byref, c_void_p
from types import CoroutineType, FrameType
from typing import Any, Callable, NoReturn

from ._arguments import MAX_NS, limit_of
from ._errors import TimedOutError
from ._library import interrupts, on_main_thread, prepared, quick
from ._prototypes import (
    inturn_batch_end_fn,
    inturn_condition_fn,
    inturn_destroy_fn,
    inturn_end_fn,
    inturn_event_fn,
    inturn_retry_fn,
)

# How long a wait in the library lasts at once on the main thread, which handles no signal
# meanwhile, and on a loop's thread, which is to see a turn of the loop that comes.
_SLICE_NS = 50_000_000


# What stands for an operation, or a segment of one: called as the work, once for each attempt, is
# `_start(token)`; and `_dropped()` when the library is done with it, whether it was started or not.
entries: dict[int, Any] = {}
listeners: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
# Operations that have failed: those of which nobody was told are named at the interpreter's exit.
failures: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
new_key: Callable[[], int] = itertools.count(1).__next__

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    _unlocked, _key_lock = new_key, threading.Lock()  # the lock protects the counter

    def new_key() -> int:
        with _key_lock:
            return _unlocked()

    def _renew_after_fork() -> None:
        global _key_lock
        _key_lock = threading.Lock()

    os.register_at_fork(after_in_child=_renew_after_fork)


# Where the library writes a handle, prepared for a call. They are used again, as an object of
# ctypes for each operation would cost more than the call; never by two at a time, be the second one
# a finaliser or a signal handler of the same thread.
_outs: list[tuple[Any, c_void_p]] = []


def take_out() -> tuple[Any, c_void_p]:
    """A place for a handle, to be given back."""
    try:
        return _outs.pop()
    except IndexError:
        handle = c_void_p()
        return byref(handle), handle


give_back: Callable[[tuple[Any, c_void_p]], None] = _outs.append

# Threads that drain an executor just now and must not be kept: work is handed on from there.
borrowed: set[int] = set()


# Threads that wait inside a callback for an event loop.
waits_for_loop: set[int] = set()


def register(item: object, table: MutableMapping[int, Any] = entries) -> int:
    """A number for the library, which knows nothing of objects."""
    key = new_key()
    table[key] = item
    return key


def call(function: Callable[[Any], object], argument: Any) -> None:
    """Calls what a callback stands for. What it raises, ctypes reports as unraisable, so that it
    never reaches the library; but an interrupt of the main thread is kept for `raise_interrupt`."""
    try:
        function(argument)
    except BaseException as error:
        if not keep_interrupt(error):
            raise


def tell_of(error: BaseException, what: str) -> None:
    """Prints an exception that nobody gets as that of a thread is, with what it is of."""
    args = type(error), error, error.__traceback__, threading.Thread(name=what)
    threading.excepthook(threading.ExceptHookArgs(args))


def refuse_coroutine(coroutine: CoroutineType[Any, Any, Any], function: object) -> NoReturn:
    """A function has returned a coroutine, which nobody would run."""
    coroutine.close()
    raise TypeError(f"a coroutine function can only be passed to `run`: {function!r}")


def keep_interrupt(error: BaseException) -> bool:
    """Keeps an interrupt of the main thread for `raise_interrupt`; whether it is one."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
        interrupts.append(error)
        return True
    return False


# None of these keeps what it calls: an exception leads to its frames, and is not to lead to more.
def _start(key: int, token: int) -> None:
    try:
        entries[key]._start(token)
    except BaseException as error:
        if not _fail(key, token, error):
            raise


def _start_where_it_may_stay(key: int, token: int) -> None:
    try:
        if borrowed and threading.get_ident() in borrowed:
            entries[key]._queue._pool.hand_on(entries[key]._start, token)
        else:
            entries[key]._start(token)
    except BaseException as error:
        if not _fail(key, token, error):
            raise


def _post(key: int, token: int) -> None:
    try:
        queue, function = entries[key]
        if borrowed and threading.get_ident() in borrowed:
            queue._pool.hand_on(_post_here, key, function, token)
            return
        del queue
        # The same as `_post_here`, without a call.
        result = function()
        if type(result) is CoroutineType:
            refuse_coroutine(result, function)
        _finish(token)
    except BaseException as error:
        if not _fail(key, token, error):
            raise


def _post_here(key: int, function: Callable[[], object], token: int) -> None:
    try:
        result = function()
        if type(result) is CoroutineType:
            refuse_coroutine(result, function)
        _finish(token)
    except BaseException as error:
        if not _fail(key, token, error):
            raise


def _fail(key: int, token: int, error: BaseException) -> bool:
    """Work has raised, or something came between, maybe before the work had taken its token: then
    nobody else has that. Whether the error is kept for `raise_interrupt`; what is not, ctypes
    reports as unraisable, so that it never reaches the library."""
    entry = entries.get(key)
    quick.token_fail(token, 1)  # which does nothing to what has ended
    if type(entry) is tuple and isinstance(error, Exception):
        tell_of(error, f"inturn, of {entry[0]!r}, to which {entry[1]!r} was posted")
        return True
    failed = getattr(entry, "_failed", None)
    if failed is not None:
        failed(error)
    return keep_interrupt(error)


_finish = quick.token_finish


def _listen(key: int, told: Any) -> None:
    listener = listeners.get(key)
    if listener is not None:
        call(listener._tell, told)


def _end_listener(key: int) -> None:
    listener = listeners.pop(key, None)
    if listener is not None:
        listener._end()


def _drop(key: int) -> None:
    try:
        entries[key]._dropped()
    except BaseException as error:
        if not keep_interrupt(error):
            raise
        entries[key]._dropped()  # which does what was not done before
    finally:
        del entries[key]


def _end(key: int, end: Any) -> None:
    call(entries[key], end.contents)


def _event(key: int, event: Any) -> None:
    _listen(key, event.contents)


# What C calls, and what gives no answer: a call of these is made again if it has not begun.
first_called = (
    _start,
    _start_where_it_may_stay,
    _post,
    _listen,
    _end_listener,
    _drop,
    _end,
    _event,
)


# The trampolines, made once and never freed. A token comes as its bits: see `_library`.
_work_fn = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)

# Work: that runs wherever it is called; the same for one that may be called again, and so is never
# taken; that may block, and so runs on a thread that may; a plain function.
start_anywhere = prepared(_work_fn(_start))
start_again = prepared(_work_fn(_start))
start = prepared(_work_fn(_start_where_it_may_stay))
start_post = prepared(_work_fn(_post))
# Destroy functions: that just forget, and that tell the entry. The first has no line of Python.
forget = prepared(inturn_destroy_fn(entries.pop))
drop = prepared(inturn_destroy_fn(_drop))
# For callbacks whose entry is a function of one argument.
call_with_end = inturn_end_fn(_end)
call_with_batch_end = inturn_batch_end_fn(_end)
forget_end = forget[1]
# For listeners.
call_with_token = prepared(_work_fn(_listen))
call_with_event = inturn_event_fn(_event)
forget_listener = prepared(inturn_destroy_fn(_end_listener))
forget_event = forget_listener[1]
drop_end = drop[1]
# These are asked of an operation; neither raises.
ask_condition = inturn_condition_fn(lambda key: entries[key]._ask_condition())
ask_decide = inturn_retry_fn(lambda key, *told: entries[key]._is_worth(*told))


def _wait_beside(call: Callable[[int], object], ns: int) -> bool:
    """The same call on another thread, for which the main one waits in a way that a signal
    interrupts; then the other one is left behind.  False where there are no more threads."""
    told: Future[object] = Future()

    def wait_beside() -> None:
        try:
            told.set_result(call(ns))
        except BaseException as error:
            told.set_exception(error)

    try:
        threading.Thread(target=wait_beside, name="inturn waits", daemon=True).start()
    except RuntimeError:  # the interpreter exits
        return False
    told.result()
    return True


def _is_called(frame: FrameType | None) -> bool:
    """Whether the library has called what waits: who waits inside of work is the library's to see,
    for rings."""
    while frame is not None and frame.f_globals is not _names:
        frame = frame.f_back
    return frame is not None


_names = globals()


def wait(
    owner: object,
    call: Callable[[int], object],
    timeout: float | None,
    look: Callable[[], None] | None = None,
    rest: Callable[[Callable[[int], object], int], bool] = _wait_beside,
) -> None:
    """Repeats a waiting call of an object, which is given nanoseconds, until the time is over.

    On the main thread ``rest`` is how a longer wait goes on; true, when it is over.  Who waits on
    a loop's thread gives what raises when the wait can never end.
    """
    limit = limit_of(owner, timeout)
    if look is None and not on_main_thread():
        call(limit)
        return
    if timeout is None:
        limit = MAX_NS
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
        if (
            look is None
            and not _is_called(sys._getframe(1))
            and rest(call, max(0, limit - (time.monotonic_ns() - begin)))
        ):
            return
