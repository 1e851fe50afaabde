"""What arguments may be, and the errors that say so."""

from __future__ import annotations

from operator import index
from typing import Any, Callable, TypeVar

from ._callbacks import text

T = TypeVar("T")


def checked(owner: object, name: str, value: Any, what: str, convert: Callable[[Any], T]) -> T:
    """What a function makes of an argument; where it raises, the error says what is wrong.

    :raises TypeError: the argument is of another type.
    :raises ValueError: it is out of range.
    """
    try:
        return convert(value)
    except TypeError:
        error: type[Exception] = TypeError
    except (ValueError, OverflowError):
        error = ValueError
    raise error(f"{name} of {owner!r} must be {what}, not {value!r}")


def whole(least: int, beyond: int) -> Callable[[Any], int]:
    """Takes integers in a range."""

    def take(value: Any) -> int:
        number = index(value)
        if not least <= number < beyond:
            raise ValueError
        return number

    return take


def one_of(*kinds: type) -> Callable[[Any], Any]:
    """Takes objects of these classes."""

    def take(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError
        return value

    return take


def handle_of(kind: type) -> Callable[[Any], Any]:
    """Takes objects that have a handle of this type, for that."""

    def take(value: Any) -> Any:
        return one_of(kind)(getattr(value, "_handle", None))

    return take


def function(value: Any) -> Any:
    """Takes what can be called."""
    if not callable(value):
        raise TypeError
    return value


def label_of(owner: object, label: str | None) -> bytes | None:
    """A label for the library."""
    what = "a string without null characters"
    return None if label is None else checked(owner, "label", label, what, text)
