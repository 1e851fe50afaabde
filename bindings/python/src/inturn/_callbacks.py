"""How the library calls Python, and how Python waits for the library.

The library holds no Python object: a callback's context is a key into a table of entries. An entry
is added before the library gets its key, and removed when the library destroys the context, which
it does exactly once. Listeners are kept alive by objects that the user holds, and their table has
weak references, so that a listener on its own object can still be collected.
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
from opcode import opmap
from types import CoroutineType, FrameType
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from ._arguments import MAX_NS, limit_of
from ._errors import TimedOutError
from ._library import interrupts, on_main_thread, prepared, quick, trampoline
from ._prototypes import inturn_destroy_fn, inturn_end_fn
from ._sites import site_of

if TYPE_CHECKING:
    from ._awaits import Await

# Where a function begins, and may be interrupted.
_RESUME = opmap.get("RESUME")

# How long a single wait in the library may last: on the main thread, which handles no signals
# meanwhile, and on a loop's thread, which has to notice a turn of the loop.
SLICE_NS = 50_000_000


# Entries for operations and segments. `_start(token)` is called as the work, once for each attempt,
# and `_dropped()` when the library is done with the entry, whether it was started or not.
entries: dict[int, Any] = {}
listeners: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
# Failed operations; at the interpreter's exit, those that nobody was told of are named.
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


# Places where the library writes a handle, prepared for a call. They are reused, as a new ctypes
# object for each operation would cost more than the call; but never by two calls at once, not even
# if the second one is in a finaliser or signal handler on the same thread.
_outs: list[tuple[Any, c_void_p]] = []


def take_out() -> tuple[Any, c_void_p]:
    """A place for a handle, to be returned to the list."""
    try:
        return _outs.pop()
    except IndexError:
        handle = c_void_p()
        return byref(handle), handle


give_back: Callable[[tuple[Any, c_void_p]], None] = _outs.append

# Threads that drain an executor and must not be held up: work is handed on to the pool.
borrowed: set[int] = set()


# Threads that let the library call work.
calling: set[int] = set()


# Threads that wait inside a callback for an event loop.
waits_for_loop: set[int] = set()


def register(item: object, table: MutableMapping[int, Any] = entries) -> int:
    """Adds an object to a table, and returns its key for the library."""
    key = new_key()
    table[key] = item
    return key


def has_not_begun(error: BaseException) -> bool:
    """Whether an interrupt has kept the function from beginning that the catcher has called."""
    place = error.__traceback__ and error.__traceback__.tb_next
    return place is not None and (
        place.tb_lasti <= 0 or place.tb_frame.f_code.co_code[place.tb_lasti] == _RESUME
    )


def tell_end(owner: Any, told: object) -> None:
    """Calls the end callback of an operation or a batch, and takes it away. If an interrupt keeps
    it from beginning, it is left to `tell_entry`, which calls this again."""
    on_end, owner._on_end = owner._on_end, None
    try:
        on_end(told)
    except BaseException as error:
        if has_not_begun(error):
            owner._on_end = on_end
        raise


def tell_of(error: BaseException, what: str) -> None:
    """Prints an exception that nobody receives, like one of a thread, and says where it is from."""
    args = type(error), error, error.__traceback__, threading.Thread(name=what)
    threading.excepthook(threading.ExceptHookArgs(args))


def refuse_coroutine(coroutine: CoroutineType[Any, Any, Any], function: object) -> NoReturn:
    """Raises, as a function has returned a coroutine, which nobody would run."""
    coroutine.close()
    raise TypeError(f"a coroutine function can only be passed to `run`: {function!r}")


def keep_interrupt(error: BaseException) -> bool:
    """Keeps an interrupt of the main thread for `raise_interrupt`. Returns whether it is one."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)) and on_main_thread():
        interrupts.append(error)
        return True
    return False


# Exceptions never reach the library: ctypes reports them as unraisable, except that an interrupt of
# the main thread is kept for `raise_interrupt`. None of these keeps a reference to what it calls:
# an exception refers to its frames, and must not keep more alive through them.
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
        # Inlined `_post_here`.
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
    """Work has raised, or was interrupted, perhaps before it had taken its token, which nobody else
    has in that case. Returns whether the error is kept for `raise_interrupt`; ctypes reports other
    errors as unraisable, so they never reach the library."""
    entry = entries.get(key)
    quick.token_fail(token, 1)  # does nothing if it has ended
    if type(entry) is tuple and not isinstance(error, KeyboardInterrupt):
        if not keep_interrupt(error):
            queue, function = map(_named, entry)
            tell_of(error, f"inturn, of {queue}, to which {function} was posted")
        return True
    failed = getattr(entry, "_failed", None)
    if failed is not None:
        failed(error)
    return keep_interrupt(error)


def _named(one: object) -> str:
    """Its representation, which may raise where an exception is being told already."""
    try:
        return repr(one)
    except Exception:
        return object.__repr__(one)


_finish = quick.token_finish


class HandedOn:
    """The entry of a call that was handed on to the pool."""

    __slots__ = ("_arguments", "_function")

    def __init__(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._function = function
        self._arguments = arguments

    def _start(self, token: int) -> None:
        quick.token_finish(token)
        self._function(*self._arguments)

    def _dropped(self) -> None:
        pass


def listen(key: int, told: Any) -> None:
    """For an entry that is a listener."""
    listener = None
    try:
        listener = listeners.get(key)
        if listener is not None:
            listener._tell(told)
    except BaseException as error:
        if not keep_interrupt(error):
            raise
        if listener is None or has_not_begun(error):
            listener = listeners.get(key)
            if listener is not None:
                listener._tell(told)


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
        entries[key]._dropped()  # does whatever has not been done yet
    finally:
        del entries[key]


def tell_entry(key: int, end: Any) -> None:
    """For an entry that is a function of a struct."""
    try:
        entries[key](end.contents)
    except BaseException as error:
        if not keep_interrupt(error):
            raise
        entries[key](end.contents)  # does whatever has not been done yet


# Functions that C calls and that return nothing: if an interrupt keeps a call of one of these from
# beginning, the call is made again.
first_called = (_start, _start_where_it_may_stay, _post, listen, _end_listener, _drop, tell_entry)


# The trampolines, created once and never freed. A token is passed as its bits: see `_library`.
_work_fn = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)

# Work, in this order: that runs wherever it is called; the same, for work that may be called again
# and so is never taken; that may block, and so runs on a thread that may; a plain function.
start_anywhere = prepared(trampoline(_work_fn, _start))
start_again = prepared(trampoline(_work_fn, _start))
start = prepared(trampoline(_work_fn, _start_where_it_may_stay))
start_post = prepared(trampoline(_work_fn, _post))
# Destroy functions: one only forgets the entry, without running Python code; one tells the entry.
forget = prepared(trampoline(inturn_destroy_fn, entries.pop))
drop = prepared(trampoline(inturn_destroy_fn, _drop))
# For callbacks whose entry is a function of one argument.
call_with_end = trampoline(inturn_end_fn, tell_entry)
forget_end = forget[1]
# For listeners.
call_with_token = prepared(trampoline(_work_fn, listen))
forget_listener = prepared(trampoline(inturn_destroy_fn, _end_listener))
forget_event = forget_listener[1]
drop_end = drop[1]


def _wait_beside(call: Callable[[int], object], ns: int) -> bool:
    """Makes the call on another thread, while the main one waits in a way that signals can
    interrupt; the other thread is then left behind.  False if no thread can be started."""
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
    """Whether the waiting code was called by the library, which then finds rings itself."""
    while frame is not None and frame.f_globals is not _names:
        frame = frame.f_back
    return frame is not None


_names = globals()


def wait(
    owner: object,
    call: Callable[[int], object],
    timeout: float | None,
    look: Callable[[], Await | None] | None = None,
    rest: Callable[[Callable[[int], object], int], bool] = _wait_beside,
) -> None:
    """Repeats a blocking call on an object, which takes nanoseconds, until the time-out.

    On the main thread, ``rest`` continues a longer wait and returns whether it is over.  A caller
    on a loop's thread passes a function that is called before each part of the wait, and raises
    when that can never end.
    """
    limit = limit_of(owner, timeout)
    site = site_of(sys._getframe(1))

    def wait_there(ns: int) -> object:
        quick.report_wait_at(site)
        return call(ns)

    if look is None and not on_main_thread():
        wait_there(limit)
        return
    if timeout is None:
        limit = MAX_NS
    begin = time.monotonic_ns()
    while True:
        left = limit - (time.monotonic_ns() - begin)
        begun = look() if look is not None and left > 0 else None
        try:
            wait_there(max(0, min(left, SLICE_NS)))
            return
        except TimedOutError:
            if left <= SLICE_NS:
                raise
        finally:
            if begun is not None:
                begun.end()
        if (
            look is None
            and not _is_called(sys._getframe(1))
            and rest(wait_there, max(0, limit - (time.monotonic_ns() - begin)))
        ):
            return
