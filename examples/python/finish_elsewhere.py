#!/usr/bin/env python3
"""Python enqueues, C finishes: pages for a printer whose driver is written in C.

    finish_elsewhere.py LIBRARY      (built from examples/c/finish_elsewhere.c)

What to look at: the work passes its token to C and returns.  The printer takes one page at a time,
and would refuse a second one: the next page's work is called when one of the printer's threads,
which Python does not know, has ended the previous one.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

PAGES = ("page 1", "page 2", "torn page", "page 4")


def load(path: str) -> ctypes.CDLL:
    """The C half.  A token is only valid in the library that has created it."""
    printing, own = ctypes.CDLL(path), ctypes.CDLL(inturn.library_path)
    where = {ctypes.cast(each.inturn_version, ctypes.c_void_p).value for each in (printing, own)}
    if len(where) > 1:
        sys.exit(f"{path} is linked with another library: set INTURN_LIBRARY to its path")
    return printing


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: finish_elsewhere.py LIBRARY")
    printing = load(sys.argv[1])
    # A token is a struct of one 64-bit number, and is passed like that number.
    printing.print_page.argtypes = (ctypes.c_char_p, ctypes.c_uint64)
    printing.print_page.restype = None

    def start(page: str, token: inturn.Token) -> None:
        print(f"{page}: to the printer")
        printing.print_page(page.encode(), token.hand_over())

    def on_end(end: inturn.End) -> None:
        """Called before the next page's work."""
        print(f"{end.label}: {'printed' if end.outcome is inturn.Outcome.FINISHED else 'failed'}")

    with inturn.FIFOQueue("printer") as printer:
        for page in PAGES:
            printer.options(label=page, on_end=on_end).enqueue(functools.partial(start, page))


if __name__ == "__main__":
    main()
