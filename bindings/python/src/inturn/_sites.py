"""The lines that add operations and suspend queues, as the library's reports name them."""

from __future__ import annotations

import concurrent.futures
import os
import weakref
from ctypes import addressof
from typing import TYPE_CHECKING

from . import _prototypes as c

if TYPE_CHECKING:
    from types import CodeType, FrameType

# By file and line, the addresses of the library's structs: for as long as the process lives, as
# the library's own. Not by code, which a program may make and drop again and again.
_addresses: dict[tuple[str, int], int] = {}
_kept: list[c.inturn_site] = []

# What calls for somebody else: the package, and what its futures inherit.
_INSIDE = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, concurrent.futures.__file__)
)


# Whether a file, by its name, is one of these.
_is_inside: dict[str, bool] = {}

# The sites of instructions that were called from lately: to find an instruction's line takes the
# longer, the further down in its function it is. Other code may have got the identity in a key.
_recent: dict[tuple[int, int], tuple[weakref.ref[CodeType], int]] = {}
_MOST_RECENT = 4096


def site_of(frame: FrameType | None) -> int:
    """The site of the line that a frame is at, for a call of ``quick``.

    Of one of the package itself it is that of whoever has called it.
    """
    while frame is not None:
        code = frame.f_code
        instruction = (id(code), frame.f_lasti)
        known = _recent.get(instruction)
        if known is not None and known[0]() is code:
            return known[1]
        file = code.co_filename
        is_inside = _is_inside.get(file)
        if is_inside is None:
            is_inside = _is_inside[file] = file.startswith(_INSIDE)
        if not is_inside:
            line = frame.f_lineno
            address = _addresses.get((file, line)) or _make(file, line, code.co_name)
            if len(_recent) >= _MOST_RECENT:
                _recent.clear()
            _recent[instruction] = weakref.ref(code), address
            return address
        frame = frame.f_back
    return 0


def _make(file: str, line: int, function: str) -> int:
    site = c.inturn_site(
        file=file.encode(errors="replace"), function=function.encode(errors="replace"), line=line
    )
    _kept.append(site)
    address = _addresses[file, line] = addressof(site)
    return address


def struct_of(site: int) -> c.inturn_site | None:
    """The same for a call of ``lib``."""
    return c.inturn_site.from_address(site) if site else None
