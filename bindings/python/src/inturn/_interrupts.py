"""Callbacks that an interrupt has kept from their first instruction.

A signal handler may raise before a function that C calls has reached its first ``try``. The
function has then done nothing, nobody else knows the token that it was given, and Python calls the
unraisable hook. So while the main thread lets the library make calls, that hook makes such a call
again, and the interrupt is raised by the call into the library.
"""

from __future__ import annotations

import sys
from threading import get_ident
from types import CodeType
from typing import Any, Callable, TypeVar

from ._callbacks import calling, first_called
from ._library import interrupts, on_main_thread
from ._tokens import Token

T = TypeVar("T")

# What the hook calls again, by its code.
called: dict[CodeType, Callable[..., None]] = {
    each.__code__: each for each in (*first_called, Token.__del__)
}
# How deep a callback's own calls go before code that may raise.
_ROOM = 24

_usual_hook: Callable[[Any], object] = sys.unraisablehook


def _call_again(told: Any) -> None:
    traceback, error = told.exc_traceback, told.exc_value
    frame: Any = getattr(traceback, "tb_frame", None)
    code: Any = getattr(frame, "f_code", None)
    function = called.get(code)
    if (
        function is None
        or traceback.tb_lasti > 0
        or isinstance(error, (RecursionError, MemoryError))
    ):
        _usual_hook(told)
        return
    if on_main_thread():
        interrupts.append(error)
    else:
        _usual_hook(told)
    function(*[frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]])


def ask_for_room(calls: int = _ROOM) -> None:
    """Checks the recursion limit before the library makes calls.

    :raises RecursionError: there is no room for calls of this depth.
    """
    if calls:
        ask_for_room(calls - 1)


def let_call(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function of the library that makes the waiting calls."""
    global _usual_hook
    if not on_main_thread() or sys.unraisablehook is _call_again:
        return function(*arguments)
    usual = _usual_hook = sys.unraisablehook
    try:
        sys.unraisablehook = _call_again
        return function(*arguments)
    finally:
        if sys.unraisablehook is _call_again:
            sys.unraisablehook = usual


def let_work(function: Callable[..., T], *arguments: Any) -> T:
    """The same for an executor's function, which calls work.

    :raises RecursionError: there is no room for it.
    """
    ask_for_room()
    begun = {get_ident()} - calling  # none inside another executor's work
    calling.update(begun)
    try:
        return let_call(function, *arguments)
    finally:
        calling.difference_update(begun)
