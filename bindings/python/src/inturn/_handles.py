"""What the classes of handles have in common."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from ._errors import BusyError, Error, NullHandleError

if TYPE_CHECKING:
    from typing_extensions import Self


class NotCopied:
    """Stands for one object of the library, which its end destroys: so there is no copy of it."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot copy or pickle {self!r}, which belongs to this process: pass it to other"
            " threads as it is, and make another one in another process"
        )


# What was dropped while it was in use, as in garbage that is collected in any order.
_in_use: list[Closing] = []


def close_unused() -> None:
    """Closes what was dropped while it was in use, and is not any more: something that may have
    used it has gone."""
    for closing in _in_use.copy():
        try:
            closing.close()
        except BusyError:
            continue
        except Error:  # it is of a forked child's parent
            pass
        with suppress(ValueError):  # another thread was faster
            _in_use.remove(closing)


class Closing(NotCopied):
    """What ``with`` closes, and what is closed when it is dropped."""

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
    """In the place of a handle while there is none, as in a subclass that forgets to make it."""

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NullHandleError(f"{owner.__name__}.__init__ has not called super().__init__()")
