"""The lines that add operations, suspend queues and wait, as the library's reports name them."""

from __future__ import annotations

import concurrent.futures
import os
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _prototypes as c
from ._library import NOTHING, prepared

if TYPE_CHECKING:
    from types import CodeType, FrameType

    Site = tuple[Any, Any]

# By file and line, and never removed, like the library's own table. Not by code object, which a
# program may create and drop again and again.
_sites: dict[tuple[str, int], Site] = {}

# Files that call on somebody else's behalf: the package, the base of its futures, and asyncio.
_INSIDE = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, concurrent.futures.__file__, f"{os.path.dirname(os.__file__)}/asyncio/")  # noqa: PTH120
)


# inspect.CO_COROUTINE and CO_ASYNC_GENERATOR; importing it takes long.
_IS_COROUTINE = 0x80 | 0x200

# Whether a file name is in one of these.
_is_inside: dict[str, bool] = {}

# Recent callers by the address of their instruction: the code and its site. Finding the line of an
# instruction takes longer the further down in its function it is. The code is compared, as other
# code may be at the same address by now.
_recent: dict[int, tuple[weakref.ref[CodeType], Site]] = {}
_MOST_RECENT = 4096


def site_of(frame: FrameType) -> Site:
    """The site of a frame's current line, in the forms for ``quick`` and for ``lib``.

    For a frame of the package itself, it is the site of the code that called the package.
    """
    code = frame.f_code
    try:
        reference, site = _recent[id(code) + frame.f_lasti]
    except KeyError:
        return _found(frame)
    return site if reference() is code else _found(frame)


def site_of_await(frame: FrameType) -> Site:
    """The site of the program's coroutine that awaits the package's code of this frame; of nothing
    where that is a task by itself."""
    caller: FrameType | None = frame
    while caller is not None and caller.f_code.co_filename.startswith(_INSIDE):
        caller = caller.f_back
    is_found = caller is not None and caller.f_code.co_flags & _IS_COROUTINE
    return site_of(caller) if is_found else NOTHING  # type: ignore[arg-type]


def _found(frame: FrameType) -> Site:
    code = frame.f_code
    file = code.co_filename
    is_inside = _is_inside.get(file)
    if is_inside is None:
        is_inside = _is_inside[file] = file.startswith(_INSIDE)
    if is_inside:
        return NOTHING if frame.f_back is None else site_of(frame.f_back)
    line = frame.f_lineno
    site = _sites.get((file, line))
    if site is None:  # if two threads create it, the first one wins
        site = _sites.setdefault((file, line), _made(file, line, code.co_name))
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    _recent[id(code) + frame.f_lasti] = weakref.ref(code), site
    return site


class Called:
    """Remembers the line that called it last, as the next call usually comes from the same line
    and then needs no lookup. It keeps that code alive."""

    _last: tuple[CodeType | None, int, Site] = (None, 0, NOTHING)

    def _site_of(self, frame: FrameType) -> Site:
        """Like `site_of`."""
        code, instruction, site = self._last
        if frame.f_code is code and frame.f_lasti == instruction:
            return site
        site = site_of(frame)
        code = frame.f_code
        if not _is_inside[code.co_filename]:
            self._last = code, frame.f_lasti, site
        return site


def _made(file: str, line: int, function: str) -> Site:
    site = c.inturn_site(
        file=file.encode(errors="replace"), function=function.encode(errors="replace"), line=line
    )
    return prepared(byref(site))
