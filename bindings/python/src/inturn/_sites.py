"""The lines that add operations and suspend queues, as the library's reports name them."""

from __future__ import annotations

import concurrent.futures
import os
from ctypes import addressof
from typing import TYPE_CHECKING

from . import _prototypes as c

if TYPE_CHECKING:
    from types import FrameType

# By file and line, the addresses of the library's structs: for as long as the process lives, as
# the library's own. Not by code, which a program may make and drop again and again.
_addresses: dict[tuple[str, int], int] = {}
_kept: list[c.inturn_site] = []

# What calls for somebody else: the package, and what its futures inherit.
_INSIDE = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, concurrent.futures.__file__)
)


def site_of(frame: FrameType) -> int:
    """The site of the line that a frame is at, for a call of ``quick``.

    Of one of the package itself it is that of whoever has called it.
    """
    return _addresses.get((frame.f_code.co_filename, frame.f_lineno)) or _find(frame)


def _find(frame: FrameType) -> int:
    caller: FrameType | None = frame
    while caller is not None and caller.f_code.co_filename.startswith(_INSIDE):
        caller = caller.f_back
    if caller is None:
        return 0
    key = caller.f_code.co_filename, caller.f_lineno
    address = _addresses.get(key, 0)
    if not address:
        file, line = key
        site = c.inturn_site(
            file=file.encode(errors="replace"),
            function=caller.f_code.co_name.encode(),
            line=line,
        )
        _kept.append(site)
        address = _addresses[key] = addressof(site)
    return address


def struct_of(site: int) -> c.inturn_site | None:
    """The same for a call of ``lib``."""
    return c.inturn_site.from_address(site) if site else None
