"""Base classes for objects with handles."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from ._errors import BusyError, Error, NullHandleError

if TYPE_CHECKING:
    from typing_extensions import Self


class NotCopied:
    """Owns one object of the library and destroys it in the end, so it cannot be copied."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot copy or pickle {self!r}, which belongs to this process: pass it to other"
            " threads as it is, and make another one in another process"
        )


# Objects that were dropped while in use, as happens in garbage, which is collected in any order.
_in_use: list[Closing] = []


def close_unused() -> None:
    """Closes dropped objects that are no longer in use; called when something that may have used
    them is gone."""
    for closing in _in_use.copy():
        try:
            closing.close()
        except BusyError:
            continue
        except Error:  # it belongs to a forked child's parent
            pass
        with suppress(ValueError):  # another thread was faster
            _in_use.remove(closing)


class Closing(NotCopied):
    """An object that is closed by ``with``, and when it is dropped."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            try:
                self.close()
            except BusyError:
                _in_use.append(self)
            except (Error, AttributeError):  # it was never made
                pass


class NeverMade:
    """Replaces a handle while there is none, as in a subclass that forgets to create it."""

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NullHandleError(f"{owner.__name__}.__init__ has not called super().__init__()")
