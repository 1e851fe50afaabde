"""The lines that add operations and suspend queues, as the library's reports name them."""

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

# By file and line, for as long as the process lives, as the library's own. Not by code, which a
# program may make and drop again and again.
_sites: dict[tuple[str, int], Site] = {}

# What calls for somebody else: the package, and what its futures inherit.
_INSIDE = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, concurrent.futures.__file__)
)


# Whether a file, by its name, is one of these.
_is_inside: dict[str, bool] = {}

# By the address of an instruction, the code and the site of what has called from there lately: to
# find an instruction's line takes the longer, the further down in its function it is. Other code
# may have come to be at the same address.
_recent: dict[int, tuple[weakref.ref[CodeType], Site]] = {}
_MOST_RECENT = 4096


def site_of(frame: FrameType) -> Site:
    """The site of the line that a frame is at: for a call of ``quick``, and one of ``lib``.

    Of one of the package itself it is that of whoever has called it.
    """
    code = frame.f_code
    try:
        reference, site = _recent[id(code) + frame.f_lasti]
    except KeyError:
        return _found(frame)
    return site if reference() is code else _found(frame)


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
    if site is None:  # of two threads that make it, one is the first
        site = _sites.setdefault((file, line), _made(file, line, code.co_name))
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    _recent[id(code) + frame.f_lasti] = weakref.ref(code), site
    return site


class Called:
    """What remembers from where it was called last: mostly it is called from there again, and then
    nothing is looked up. So it keeps that code, while it lives."""

    _last: tuple[CodeType | None, int, Site] = (None, 0, NOTHING)

    def _site_of(self, frame: FrameType) -> Site:
        """The same as `site_of`."""
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
