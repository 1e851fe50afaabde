"""Finds and loads the C library, and gives its functions their types."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

from ._errors import BY_STATUS, Error
from ._prototypes import HEADER_VERSION, PROTOTYPES, inturn_status

_NAME = "libinturn.dylib" if sys.platform == "darwin" else "libinturn.so"


def _candidates() -> list[str]:
    """What to try, best first; only what INTURN_LIBRARY names, when it is set."""
    if named := os.environ.get("INTURN_LIBRARY"):
        return [named]
    here = Path(__file__).resolve().parent
    candidates = [str(here / _NAME)]
    for folder in here.parents:
        if (folder / "include" / "inturn.h").is_file():
            built = [folder / ".build" / kind / _NAME for kind in ("release", "debug")]
            # The one that was built last comes first: it is never an old one.
            built.sort(key=lambda file: -file.stat().st_mtime if file.exists() else 0)
            candidates += map(str, built)
            break
    return [*candidates, f"{_NAME}.{HEADER_VERSION[0]}", _NAME]


def _check(status: int, function: Any, _arguments: object) -> int:
    if status != 0:
        message = lib.inturn_status_message(status).decode()
        raise BY_STATUS.get(status, Error)(f"{function.__name__}: {message}")
    return status


def _declare(library: ctypes.CDLL) -> None:
    for name, (result, arguments) in PROTOTYPES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"it has no {name}") from None
        function.restype = result
        function.argtypes = arguments
        if result is inturn_status:
            function.errcheck = _check
    major, minor = divmod(library.inturn_version() // 1_000, 1_000)
    if major != HEADER_VERSION[0] or minor < HEADER_VERSION[1]:
        raise ImportError(f"it has version {major}.{minor}, for {HEADER_VERSION} is needed")


def _load() -> ctypes.CDLL:
    tried = ""
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
            _declare(library)
        except (OSError, ImportError) as error:
            tried += f"\n  {candidate}: {error}"
        else:
            return library
    raise ImportError(f"cannot load the Inturn library; tried{tried}")


lib = _load()
