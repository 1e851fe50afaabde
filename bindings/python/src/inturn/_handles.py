"""What the classes of handles have in common."""

from __future__ import annotations

from typing import Any, NoReturn

from ._errors import NullHandleError


class NotCopied:
    """Stands for one object of the library, which its end destroys: so there is no copy of it."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot copy or pickle {self!r}, which stands for an object of this process: give it"
            " to other threads as it is, and let another process make its own"
        )


class NeverMade:
    """In the place of a handle while there is none, as in a subclass that forgets to make it."""

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NullHandleError(f"{owner.__name__}.__init__ has not called super().__init__()")
