"""What the classes of handles have in common."""

from __future__ import annotations

from typing import NoReturn


class NotCopied:
    """Stands for one object of the library, which its end destroys: so there is no copy of it."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot copy or pickle {self!r}: it stands for an object of this process")
